//! Blocks that the API would refuse, each looked at by itself: see [`super::demand`].

use super::foreign::{self, Site};
use super::mark;
use super::picture::{self, Fault};
use super::policy::ThinkingPolicy;
use super::report::Mend;
use super::sheet::{Row, Sheet, Speaker};
use super::text;
use crate::transcript::{BlockOutline, Entry, Kind, MessageOutline, Shape, Span};

/// The most images and documents of one request; older ones make way.
const MOST_MEDIA: usize = 100;

/// In the place of the content of a failed result that says nothing.
const SILENT: &str = "[没有输出]";

/// What holds for all blocks of a transcript.
struct Rules {
    /// There is more than one image.
    many: bool,
    /// So many of the oldest images and documents go.
    surplus: usize,
    /// So many of the oldest marks for the cache go.
    marks: usize,
    thinking: ThinkingPolicy,
    /// The row from which on thinking is part of the current tool loop.
    loop_start: usize,
}

impl Rules {
    /// True for a block whose mark has to go.
    fn one_mark_too_many(&mut self, entry: &Entry, block: &BlockOutline) -> bool {
        let goes = self.marks > 0 && mark::is_marked(entry, block);
        self.marks -= usize::from(goes);
        goes
    }
}

/// What is to be done with one block.
enum Verdict {
    Cut(Mend),
    /// Another text in its place, with the array around it.
    Exchange(String, Mend),
    /// A field of it gets another value.
    Set(&'static str, Span, String, Mend),
    /// Another content of a result.
    Content(String, Mend),
    /// Halves of surrogate pairs are replaced.
    Whole,
}

pub(super) fn mend(sheet: &mut Sheet, thinking: ThinkingPolicy) {
    let media: Vec<Kind> = sheet
        .rows
        .iter()
        .filter(|row| row.speaker().is_some())
        .flat_map(|row| row.message().into_iter().flat_map(|message| message.blocks.iter()))
        .map(|block| block.kind)
        .filter(|kind| matches!(kind, Kind::Image | Kind::Document))
        .collect();
    let images = media.iter().filter(|kind| **kind == Kind::Image).count();
    let mut rules = Rules {
        many: images > 1,
        surplus: media.len().saturating_sub(MOST_MEDIA),
        marks: mark::surplus(sheet),
        thinking,
        loop_start: newest_prompt(sheet),
    };
    for index in 0..sheet.rows.len() {
        let Some(speaker) = sheet.rows[index].speaker() else { continue };
        let readable =
            sheet.rows[index].message().is_some_and(|message| message.shape != Shape::Other);
        if !readable {
            sheet.rows[index].gone = true;
            sheet.note(index, Mend::EmptyMessage);
            continue;
        }
        set_speaker(sheet, index, speaker);
        let row = &sheet.rows[index];
        let mut verdicts = Vec::new();
        for (place, block) in row.blocks() {
            judge(row, place, block, speaker, &mut rules, index, &mut verdicts);
        }
        carry_out(sheet, index, verdicts);
        sheet.drop_empty(index);
    }
}

/// The last row that a person said: behind it the current tool loop begins.
fn newest_prompt(sheet: &Sheet) -> usize {
    let is_prompt = |row: &Row| {
        row.speaker() == Some(Speaker::User)
            && row.blocks().any(|(_, block)| block.kind != Kind::ToolResult)
    };
    sheet.rows.iter().rposition(is_prompt).unwrap_or(0)
}

fn set_speaker(sheet: &mut Sheet, index: usize, speaker: Speaker) {
    let row = &mut sheet.rows[index];
    let Some(role) = row.message().map(|message| message.role) else { return };
    if !role.is_empty() && row.entry.at(role) != speaker.role() {
        row.edit().places.push((role, speaker.role().to_owned()));
        sheet.note(index, Mend::Speaker);
    }
}

fn carry_out(sheet: &mut Sheet, index: usize, verdicts: Vec<(usize, Verdict)>) {
    for (block, verdict) in verdicts {
        let row = &mut sheet.rows[index];
        let mend = match verdict {
            Verdict::Cut(mend) => {
                row.cut(|place| place == block);
                if mend == Mend::EmptyText {
                    mark::hand_on(sheet, index, block);
                }
                mend
            }
            Verdict::Exchange(with, mend) => {
                if let Some(own) = row.own(block) {
                    own.replaced = true;
                }
                let place = row.message().map(|message| message.blocks[block].span);
                row.exchange(block, place.unwrap_or_default(), with);
                mend
            }
            Verdict::Set(name, place, value, mend) => {
                row.set(block, (name, place), &value);
                mend
            }
            Verdict::Content(value, mend) => {
                row.set_content(block, &value);
                mend
            }
            Verdict::Whole => {
                if let Some(own) = row.own(block) {
                    own.whole = true;
                }
                Mend::HalfCharacter
            }
        };
        sheet.note(index, mend);
    }
}

#[allow(clippy::too_many_arguments, reason = "one look at one block needs all of it")]
fn judge(
    row: &Row,
    place: usize,
    block: &BlockOutline,
    speaker: Speaker,
    rules: &mut Rules,
    index: usize,
    verdicts: &mut Vec<(usize, Verdict)>,
) {
    let entry = &row.entry;
    let mut say = |verdict| verdicts.push((place, verdict));
    let thinks = matches!(block.kind, Kind::Thinking | Kind::Redacted);
    if !may_say(speaker, block.kind) {
        // A bare string is what it says.
        if block.kind == Kind::Broken
            && entry.at(block.span).starts_with('"')
            && !text::is_blank(entry, block.span)
        {
            let mut said = entry.at(block.span).to_owned();
            if block.half {
                said = text::without_halves(&said);
            }
            return say(Verdict::Exchange(
                format!(r#"{{"type":"text","text":{said}}}"#),
                Mend::BrokenBlock,
            ));
        }
        return say(Verdict::Cut(match block.kind {
            Kind::Broken => Mend::BrokenBlock,
            _ => Mend::MisplacedBlock,
        }));
    }
    if let Some(said) = foreign::judge(entry, block, Site::Said(speaker)) {
        return say(match said {
            Some(said) => Verdict::Exchange(said, Mend::BrokenBlock),
            None => Verdict::Cut(Mend::BrokenBlock),
        });
    }
    let blank = block.kind == Kind::Text && text::is_blank(entry, block.text);
    if rules.one_mark_too_many(entry, block) {
        if blank {
            return say(Verdict::Cut(Mend::CacheMark));
        }
        let none = "null".to_owned();
        say(Verdict::Set("cache_control", block.cache, none, Mend::CacheMark));
    }
    if block.half && !thinks {
        say(Verdict::Whole);
    }
    match block.kind {
        Kind::Text if blank => say(Verdict::Cut(Mend::EmptyText)),
        Kind::Thinking | Kind::Redacted => {
            let old = index < rules.loop_start;
            let strip = match rules.thinking {
                ThinkingPolicy::Keep => false,
                ThinkingPolicy::StripOld => old,
                ThinkingPolicy::Strip => true,
            };
            let signed = match block.kind {
                Kind::Thinking => {
                    !text::is_blank(entry, block.name) && entry.at(block.text).starts_with('"')
                }
                _ => !text::is_blank(entry, block.text),
            };
            if strip || !signed || block.half || !block.cache.is_empty() {
                say(Verdict::Cut(Mend::Thinking));
            }
        }
        Kind::ToolUse => {
            if !is_name(&text::string(entry, block.name).unwrap_or_default()) {
                let name = text::string(entry, block.name).unwrap_or_default();
                say(Verdict::Set(
                    "name",
                    block.name,
                    text::literal(&usable(&name)),
                    Mend::CallName,
                ));
            }
            let input = entry.at(block.body);
            if !input.starts_with('{') {
                let input = match input {
                    "" | "null" => "{}".to_owned(),
                    odd => format!(r#"{{"input":{odd}}}"#),
                };
                say(Verdict::Set("input", block.body, input, Mend::CallInput));
            }
        }
        Kind::ToolResult => judge_result(row, place, block, rules, &mut say),
        Kind::Image | Kind::Document => {
            if let Some((text, mend)) = judge_media(row, block, rules) {
                say(Verdict::Exchange(text, mend));
            }
        }
        _ => {}
    }
}

fn judge_result(
    row: &Row,
    place: usize,
    block: &BlockOutline,
    rules: &mut Rules,
    say: &mut impl FnMut(Verdict),
) {
    let entry = &row.entry;
    let failed = entry.at(block.error);
    let changes = row.changes(place);
    let replaced = changes.is_some_and(|own| own.replaced);
    // An interrupt that was made plain has set the mark already.
    let marked = changes.is_some_and(|own| own.places.iter().any(|(at, _)| *at == block.error));
    if !marked && !matches!(failed, "" | "true" | "false") {
        let value = super::prune::is_true(failed).to_string();
        say(Verdict::Set("is_error", block.error, value, Mend::ResultContent));
    }
    if replaced {
        return;
    }
    let failed = super::prune::is_true(failed);
    let body = entry.at(block.body);
    match body.as_bytes().first() {
        Some(b'"') if failed && text::is_blank(entry, block.body) => {
            say(Verdict::Content(text::literal(SILENT), Mend::ResultContent));
        }
        Some(b'"') => {}
        Some(b'[') => {
            if let Some((content, mend)) = rewrite_inside(row, place, failed, rules) {
                say(Verdict::Content(content, mend));
            }
        }
        None if !failed => {}
        None | Some(b'n') => {
            let said = if failed { SILENT } else { "" };
            say(Verdict::Content(text::literal(said), Mend::ResultContent));
        }
        Some(_) => say(Verdict::Content(text::literal(body), Mend::ResultContent)),
    }
}

/// The content of a result whose blocks are not all fit; nothing where they are.
fn rewrite_inside(
    row: &Row,
    place: usize,
    failed: bool,
    rules: &mut Rules,
) -> Option<(String, Mend)> {
    let entry = &row.entry;
    let message: &MessageOutline = row.message()?;
    let mut reason = None;
    let mut texts: Vec<String> = Vec::new();
    for block in message.inside(place) {
        let changed = match block.kind {
            Kind::Text if text::is_blank(entry, block.text) => Some((None, Mend::EmptyText)),
            Kind::Image | Kind::Document => {
                judge_media(row, block, rules).map(|(text, mend)| (Some(text), mend))
            }
            Kind::Text => None,
            Kind::Other => {
                foreign::judge(entry, block, Site::Result).map(|said| (said, Mend::BrokenBlock))
            }
            Kind::Broken if entry.at(block.span).starts_with('"') => {
                let said = entry.at(block.span);
                let said = format!(r#"{{"type":"text","text":{said}}}"#);
                (!text::is_blank(entry, block.span))
                    .then_some((Some(said), Mend::BrokenBlock))
                    .or(Some((None, Mend::EmptyText)))
            }
            Kind::Broken => Some((None, Mend::BrokenBlock)),
            _ => Some((None, Mend::MisplacedBlock)),
        };
        match changed {
            None if rules.one_mark_too_many(entry, block) => {
                reason.get_or_insert(Mend::CacheMark);
                texts.push(text::splice(
                    entry.raw(),
                    block.span,
                    &[(block.cache, "null".to_owned())],
                ));
            }
            None => texts.push(entry.at(block.span).to_owned()),
            Some((text, mend)) => {
                reason.get_or_insert(mend);
                texts.extend(text);
            }
        }
    }
    if texts.is_empty() && failed {
        return Some((text::literal(SILENT), reason.unwrap_or(Mend::ResultContent)));
    }
    let reason = reason?;
    if texts.is_empty() {
        return Some(("\"\"".to_owned(), reason));
    }
    Some((format!("[{}]", texts.join(",")), reason))
}

/// What stands in the place of an image or document that cannot be sent.
fn judge_media(row: &Row, block: &BlockOutline, rules: &mut Rules) -> Option<(String, Mend)> {
    let source = row.entry.at(block.body);
    let is_image = block.kind == Kind::Image;
    let mend = if is_image { Mend::Image } else { Mend::Document };
    let found = if rules.surplus > 0 {
        rules.surplus -= 1;
        Err(Fault::Unusable("too many in one conversation".to_owned()))
    } else if is_image {
        picture::image(source, rules.many)
    } else {
        picture::document(source)
    };
    match found {
        Ok(()) => None,
        // Data, one form in every language.
        Err(Fault::Unusable(why)) => {
            let said = if is_image { "图片" } else { "文档" };
            let said = text::literal(&format!("[{said}无法使用,已略去:{why}]"));
            Some((format!(r#"{{"type":"text","text":{said}}}"#), mend))
        }
        Err(Fault::Mislabelled(right)) => {
            let whole = crate::transcript::splice_field(row.entry.at(block.span), "source", &right);
            whole.ok().map(|whole| (whole, Mend::ImageType))
        }
    }
}

/// Which blocks who may say, as far as their outline tells.
fn may_say(speaker: Speaker, kind: Kind) -> bool {
    match kind {
        Kind::Broken => false,
        Kind::Text | Kind::Other => true,
        Kind::ToolResult | Kind::Image | Kind::Document => speaker == Speaker::User,
        Kind::Thinking | Kind::Redacted | Kind::ToolUse | Kind::ServerUse | Kind::ServerResult => {
            speaker == Speaker::Assistant
        }
    }
}

/// True for what the API takes as a tool's name or a call's id.
pub(super) fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 128 && name.bytes().all(is_plain)
}

fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-'
}

/// The nearest name that the API takes.
fn usable(name: &str) -> String {
    let plain = |c: char| if u8::try_from(c).is_ok_and(is_plain) { c } else { '_' };
    let plain: String = name.chars().take(128).map(plain).collect();
    if plain.is_empty() { "unknown".to_owned() } else { plain }
}
