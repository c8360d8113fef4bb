//! What a view left out and what it mended, counted.

use std::collections::BTreeMap;

/// Counts of one view.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Results of look-only commands that were marked as stale.
    pub expired: usize,
    /// Large results that were archived.
    pub cleared: usize,
    /// Large results that stayed because they are new.
    pub kept: usize,
    /// Characters of the archived results.
    pub chars_saved: usize,
    /// Entries that went because they told of an error or a refusal only.
    pub pruned: usize,
    /// Calls that a guard had refused and that went.
    pub denials_dropped: usize,
    /// Results of interrupts that became a plain marker.
    pub interrupts: usize,
    /// Damage by kind.
    pub mended: BTreeMap<Mend, usize>,
    /// How much of that was in entries that are otherwise never touched (summaries, meta).
    pub protected: usize,
}

impl Report {
    /// Damage that was mended: kind and how often, in the order of [`Mend`].
    pub fn findings(&self) -> impl Iterator<Item = (Mend, usize)> + '_ {
        self.mended.iter().map(|(mend, count)| (*mend, *count))
    }

    /// The key of the line that tells people how much smaller the view is (core.md T-9).
    pub fn key(&self) -> &'static str {
        match (self.cleared, self.expired) {
            (0, 0) => "view.untrimmed",
            (0, _) => "view.expired",
            _ => "view.trimmed",
        }
    }

    /// The values for the placeholders of that line.
    pub fn values(&self) -> Vec<(&'static str, String)> {
        match self.key() {
            "view.untrimmed" => Vec::new(),
            "view.expired" => vec![("count", self.expired.to_string())],
            _ => vec![
                ("count", self.cleared.to_string()),
                ("kept", self.kept.to_string()),
                ("tokens", (self.chars_saved / 4).to_string()),
            ],
        }
    }
}

macro_rules! mends {
    ($($(#[doc = $doc:literal])+ $name:ident = $text:literal,)+) => {
        /// A kind of damage; the view mends it and the report counts it.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Mend {
            $($(#[doc = $doc])+ $name,)+
        }

        impl Mend {
            /// Every kind.
            pub const ALL: &'static [Mend] = &[$(Mend::$name,)+];

            /// Its name, the same for ever.
            pub fn name(self) -> &'static str {
                self.key().trim_start_matches("view.")
            }

            /// The key of its text in the language catalogues.
            pub fn key(self) -> &'static str {
                match self { $(Mend::$name => $text,)+ }
            }
        }
    };
}

mends! {
    /// A call without a result; it got one that says so.
    UnansweredCall = "view.unanswered_call",
    /// A result without a call; it went.
    OrphanResult = "view.orphan_result",
    /// A second result for the same call; it went.
    SecondResult = "view.second_result",
    /// A result that did not stand right behind its call; it was put there.
    MovedResult = "view.moved_result",
    /// A call that was recorded twice; the second went.
    RepeatedCall = "view.repeated_call",
    /// A call's id that stood twice, was empty or has characters the API refuses; it got another.
    CallId = "view.call_id",
    /// A call whose tool has no name that the API takes.
    CallName = "view.call_name",
    /// A call whose input is no object.
    CallInput = "view.call_input",
    /// A result whose content or error mark is nothing that a result has.
    ResultContent = "view.result_content",
    /// A call or result of a tool that the server runs, without its other half; it went.
    ServerTool = "view.server_tool",
    /// A text with nothing in it; it went.
    EmptyText = "view.empty_text",
    /// A mark for the cache on something that cannot be cached; it was moved or went.
    CacheMark = "view.cache_mark",
    /// A message with nothing in it; it went.
    EmptyMessage = "view.empty_message",
    /// A message that names another speaker than its entry.
    Speaker = "view.speaker",
    /// The conversation began with a reply; a line says that its beginning is missing.
    MissingStart = "view.missing_start",
    /// A block that is none; it went, or became a text.
    BrokenBlock = "view.broken_block",
    /// A block that this speaker cannot say; it went.
    MisplacedBlock = "view.misplaced_block",
    /// Half of a character; U+FFFD stands in its place.
    HalfCharacter = "view.half_character",
    /// Thinking that is unsigned, damaged, or has nothing behind it; it went whole.
    Thinking = "view.thinking",
    /// An image that the API refuses; a line says why.
    Image = "view.image",
    /// An image that is of another kind than it says.
    ImageType = "view.image_type",
    /// A document that the API refuses; a line says why.
    Document = "view.document",
    /// The entry before it was never written; it hangs under the one before it in order.
    LostParent = "view.lost_parent",
    /// It says that nothing was before it, in the middle of a conversation.
    MissingParent = "view.missing_parent",
    /// It names itself as the entry before it.
    OwnParent = "view.own_parent",
    /// It names an entry behind it as the one before it; it was put behind that one, or bridged.
    ParentBehind = "view.parent_behind",
    /// An entry without a usable uuid; it got one.
    MissingUuid = "view.missing_uuid",
    /// Two entries with one uuid; the second went or got another.
    SharedUuid = "view.shared_uuid",
    /// A compaction without a summary; it does not count.
    NoSummary = "view.no_summary",
    /// A compaction that kept a part that is not there.
    LostKept = "view.lost_kept",
}
