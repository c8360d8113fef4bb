//! The working copy of a record: every layer writes its changes here, and they are carried out once.

use std::collections::HashMap;

use super::archived::Archived;
use super::report::{Mend, Report};
use super::text;
use crate::transcript::{BlockOutline, Entry, Kind, MessageOutline, Shape, Span};

/// All rows with what becomes of them.
pub(super) struct Sheet {
    /// Rows of the record, then rows that were made; their places here never change.
    pub(super) rows: Vec<Row>,
    /// The order in which they are seen.
    pub(super) order: Vec<usize>,
    pub(super) report: Report,
    pub(super) archived: Vec<Archived>,
    /// Rows by the one above; made where it is needed. What it says is checked against the rows.
    below: Option<HashMap<usize, Vec<usize>>>,
}

/// One entry.
pub(super) struct Row {
    pub(super) entry: Entry,
    /// It is not in the view.
    pub(super) gone: bool,
    /// The row before it in the chain.
    pub(super) above: Option<usize>,
    /// Its parent stays as it is written, whatever is above it.
    pub(super) as_written: bool,
    /// It is part of what the model sees.
    pub(super) live: bool,
    /// Which conversation it belongs to; see [`super::chain::set_threads`].
    pub(super) thread: usize,
    pub(super) edit: Option<Box<Edit>>,
}

/// Changes of one entry's text.
#[derive(Default)]
pub(super) struct Edit {
    /// What the message holds now; nothing where its blocks are those of the entry.
    pub(super) pieces: Option<Vec<Own>>,
    /// Exchanged places outside of the blocks.
    pub(super) places: Vec<(Span, String)>,
    /// The tool's own copy of the result goes (core.md R-14).
    pub(super) without_copy: bool,
    /// Another uuid.
    pub(super) uuid: Option<String>,
}

/// A block of the entry with exchanged places in it.
#[derive(Default)]
pub(super) struct Own {
    pub(super) block: usize,
    pub(super) places: Vec<(Span, String)>,
    /// Its content was exchanged, so that what was inside does not matter any more.
    pub(super) replaced: bool,
    /// Halves of surrogate pairs are replaced.
    pub(super) whole: bool,
}

impl Row {
    pub(super) fn new(entry: Entry) -> Self {
        Self {
            entry,
            gone: false,
            above: None,
            as_written: false,
            live: false,
            thread: 0,
            edit: None,
        }
    }

    /// Who speaks in it, where it is part of a conversation. Reports of the API's errors are not: clients
    /// leave them out.
    pub(super) fn speaker(&self) -> Option<Speaker> {
        match self.entry.kind.as_str() {
            _ if self.gone || self.entry.api_error => None,
            "user" => Some(Speaker::User),
            "assistant" => Some(Speaker::Assistant),
            _ => None,
        }
    }

    /// True where a compaction begins.
    pub(super) fn is_boundary(&self) -> bool {
        !self.gone && self.entry.kind == "system" && self.entry.outline().boundary
    }

    pub(super) fn message(&self) -> Option<&MessageOutline> {
        self.entry.outline().message.as_ref()
    }

    /// The API's id of its message, as a literal.
    pub(super) fn message_id(&self) -> Option<&str> {
        let id = self.entry.at(self.message()?.id);
        (id.len() > 2 && id.starts_with('"')).then_some(id)
    }

    /// The blocks that are left of the entry's own, with their places in the outline.
    pub(super) fn blocks(&self) -> impl Iterator<Item = (usize, &BlockOutline)> {
        let message = self.message();
        let pieces = self.edit.as_ref().and_then(|edit| edit.pieces.as_ref());
        let all = message.filter(|_| pieces.is_none()).into_iter().flat_map(MessageOutline::top);
        let left = pieces
            .into_iter()
            .flatten()
            .filter_map(move |own| Some((own.block, message?.blocks.get(own.block)?)));
        all.chain(left)
    }

    pub(super) fn edit(&mut self) -> &mut Edit {
        self.edit.get_or_insert_default()
    }

    /// All blocks, to be changed.
    pub(super) fn pieces(&mut self) -> &mut Vec<Own> {
        let own = |(block, _)| Own { block, ..Own::default() };
        let fresh = match self.edit.as_ref().and_then(|edit| edit.pieces.as_ref()) {
            None => self.message().map(|message| message.top().map(own).collect()),
            Some(_) => None,
        };
        let pieces = &mut self.edit().pieces;
        pieces.get_or_insert_with(|| fresh.unwrap_or_default())
    }

    /// One block, to be changed; it must be left.
    pub(super) fn own(&mut self, block: usize) -> Option<&mut Own> {
        self.pieces().iter_mut().find(|own| own.block == block)
    }

    /// What was changed in one block so far.
    pub(super) fn changes(&self, block: usize) -> Option<&Own> {
        self.edit.as_ref()?.pieces.as_ref()?.iter().find(|own| own.block == block)
    }

    /// Exchanges a place in a block; an empty place is where it is put in.
    pub(super) fn exchange(&mut self, block: usize, place: Span, with: String) {
        if let Some(own) = self.own(block) {
            own.places.push((place, with));
        }
    }

    /// Exchanges a field of a block, or adds it.
    pub(super) fn set(&mut self, block: usize, field: (&str, Span), value: &str) {
        let (name, place) = field;
        if place.is_empty() {
            let Some(start) =
                self.message().and_then(|m| m.blocks.get(block)).map(|b| b.span.start())
            else {
                return;
            };
            // Every block that gets here has a `type`, so that a comma is right.
            let place = Span::new(start + 1, start + 1);
            self.exchange(block, place, format!("{}:{value},", text::literal(name)));
        } else {
            self.exchange(block, place, value.to_owned());
        }
    }

    /// Another content for a result.
    pub(super) fn set_content(&mut self, block: usize, value: &str) {
        let Some(body) = self.message().and_then(|m| m.blocks.get(block)).map(|b| b.body) else {
            return;
        };
        self.set(block, ("content", body), value);
        if let Some(own) = self.own(block) {
            own.replaced = true;
        }
    }

    /// Takes blocks out.
    pub(super) fn cut(&mut self, gone: impl Fn(usize) -> bool) {
        self.pieces().retain(|own| !gone(own.block));
    }

    /// True where the message has nothing left.
    pub(super) fn is_empty(&self) -> bool {
        match self.edit.as_ref().and_then(|edit| edit.pieces.as_ref()) {
            Some(pieces) => pieces.is_empty(),
            None => self.message().is_none_or(|message| message.blocks.is_empty()),
        }
    }

    /// True where its parent is neither a uuid nor null.
    pub(super) fn has_odd_parent(&self) -> bool {
        match self.entry.parent.as_deref() {
            Some(parent) => parent.is_empty(),
            None => !matches!(self.entry.at(self.entry.outline().parent), "" | "null"),
        }
    }

    /// The uuid that it has in the view.
    pub(super) fn uuid(&self) -> Option<&str> {
        let new = self.edit.as_ref().and_then(|edit| edit.uuid.as_deref());
        new.or(self.entry.uuid.as_deref())
    }

    /// A block's text as it is now.
    pub(super) fn block_text(&self, own: &Own) -> String {
        let Some(message) = self.message() else { return String::new() };
        let block = &message.blocks[own.block];
        let mut out = match (message.shape, own.places.is_empty()) {
            (_, false) => text::splice(self.entry.raw(), block.span, &own.places),
            (Shape::Text, true) => {
                format!(r#"{{"type":"text","text":{}}}"#, self.entry.at(block.span))
            }
            _ => self.entry.at(block.span).to_owned(),
        };
        if own.whole {
            out = text::without_halves(&out);
        }
        out
    }

    /// The entry with all changes.
    fn written(&self, parent: Option<Option<&str>>) -> Entry {
        let edit = self.edit.as_deref();
        let outline = self.entry.outline();
        let mut places = edit.map(|edit| edit.places.clone()).unwrap_or_default();
        let quoted = |id: Option<&str>| id.map_or_else(|| "null".to_owned(), text::literal);
        let (mut add_uuid, mut add_parent) = (None, None);
        if let Some(parent) = parent {
            if outline.parent.is_empty() {
                add_parent = Some(quoted(parent));
            } else {
                places.push((outline.parent, quoted(parent)));
            }
        }
        if let Some(uuid) = edit.and_then(|edit| edit.uuid.as_deref()) {
            if outline.uuid.is_empty() {
                add_uuid = Some(text::literal(uuid));
            } else {
                places.push((outline.uuid, text::literal(uuid)));
            }
        }
        if let (Some(pieces), Some(message)) =
            (edit.and_then(|edit| edit.pieces.as_ref()), self.message())
        {
            self.write_pieces(message, pieces, &mut places);
        }
        let whole = Span::new(0, self.entry.raw().len());
        let mut text = text::splice(self.entry.raw(), whole, &places);
        let edited = |text: &str| -> Result<String, serde_json::Error> {
            let mut text = text.to_owned();
            if edit.is_some_and(|edit| edit.without_copy) && outline.has_copy {
                text = crate::transcript::remove_field(&text, "toolUseResult")?;
            }
            for (name, value) in [("parentUuid", &add_parent), ("uuid", &add_uuid)] {
                if let Some(value) = value {
                    text = crate::transcript::splice_field(&text, name, value)?;
                }
            }
            Ok(text)
        };
        if let Ok(done) = edited(&text) {
            text = done;
        }
        // Texts that were spliced into JSON are JSON, so it is one again.
        Entry::parse(text).unwrap_or_else(|_| self.entry.clone())
    }

    /// In place where all blocks are still there in their order, else the whole array anew.
    fn write_pieces(
        &self,
        message: &MessageOutline,
        pieces: &[Own],
        places: &mut Vec<(Span, String)>,
    ) {
        let same = message.top().map(|(block, _)| block).eq(pieces.iter().map(|own| own.block));
        if same {
            for own in pieces {
                if own.whole || !own.places.is_empty() {
                    let place = message.blocks[own.block].span;
                    let text = match message.shape {
                        Shape::Text => text::without_halves(self.entry.at(place)),
                        _ => self.block_text(own),
                    };
                    places.push((place, text));
                }
            }
            return;
        }
        let texts: Vec<String> = pieces.iter().map(|own| self.block_text(own)).collect();
        places.push((message.content, format!("[{}]", texts.join(","))));
    }
}

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Speaker {
    User,
    Assistant,
}

impl Speaker {
    /// As the literal of a message's `role`.
    pub(super) fn role(self) -> &'static str {
        match self {
            Speaker::User => "\"user\"",
            Speaker::Assistant => "\"assistant\"",
        }
    }
}

impl Sheet {
    pub(super) fn new(entries: Vec<Entry>) -> Self {
        let rows: Vec<Row> = entries.into_iter().map(Row::new).collect();
        Self {
            order: (0..rows.len()).collect(),
            rows,
            report: Report::default(),
            archived: Vec::new(),
            below: None,
        }
    }

    /// The rows that hang directly below one.
    pub(super) fn below(&mut self, above: usize) -> Vec<usize> {
        let rows = &self.rows;
        let below = self.below.get_or_insert_with(|| {
            let mut below: HashMap<usize, Vec<usize>> = HashMap::new();
            for (index, row) in rows.iter().enumerate() {
                if let Some(above) = row.above {
                    below.entry(above).or_default().push(index);
                }
            }
            below
        });
        let all = below.get(&above).cloned().unwrap_or_default();
        all.into_iter().filter(|row| rows[*row].above == Some(above)).collect()
    }

    /// Hangs a row below another, or at the top.
    pub(super) fn hang(&mut self, row: usize, above: Option<usize>) {
        if self.rows[row].above != above {
            self.rows[row].above = above;
            // Only what has a name of its own has a place in the chain.
            self.rows[row].as_written &= self.rows[row].uuid().is_none();
            if let (Some(above), Some(below)) = (above, &mut self.below) {
                below.entry(above).or_default().push(row);
            }
        }
    }

    /// Counts what was mended in a row.
    pub(super) fn note(&mut self, row: usize, mend: Mend) {
        *self.report.mended.entry(mend).or_default() += 1;
        self.report.protected += usize::from(self.rows[row].entry.protected);
    }

    /// Takes a row out because nothing is left of it.
    pub(super) fn drop_empty(&mut self, row: usize) {
        if self.rows[row].is_empty() {
            self.rows[row].gone = true;
            self.note(row, Mend::EmptyMessage);
        }
    }

    /// The first row that remains, from this one upwards.
    pub(super) fn climb(&self, from: Option<usize>) -> Option<usize> {
        self.climb_to(from, |row| !row.gone)
    }

    /// The first row of a kind, from this one upwards; nothing where the way leads in a circle.
    pub(super) fn climb_to(
        &self,
        from: Option<usize>,
        wanted: impl Fn(&Row) -> bool,
    ) -> Option<usize> {
        let mut at = from;
        for _ in 0..=self.rows.len() {
            let row = &self.rows[at?];
            if wanted(row) {
                return at;
            }
            at = row.above;
        }
        None
    }

    /// Calls and results, by kind, of all rows in order.
    pub(super) fn each_block(
        &self,
        kind: Kind,
    ) -> impl Iterator<Item = (usize, usize, &BlockOutline)> + '_ {
        self.rows.iter().enumerate().flat_map(move |(row, at)| {
            let top = at.message().into_iter().flat_map(MessageOutline::top);
            top.filter(move |(_, block)| block.kind == kind)
                .map(move |(place, block)| (row, place, block))
        })
    }

    /// Carries everything out: the rows that remain, in order, and which of them are live.
    pub(super) fn finish(self) -> (Vec<Entry>, Vec<bool>, Report, Vec<Archived>) {
        let mut parents: HashMap<usize, Option<String>> = HashMap::new();
        for (index, row) in self.rows.iter().enumerate() {
            if row.as_written || row.gone {
                continue;
            }
            let wanted = self.climb(row.above).and_then(|above| self.rows[above].uuid());
            if wanted != row.entry.parent.as_deref() || row.has_odd_parent() {
                parents.insert(index, wanted.map(str::to_owned));
            }
        }
        let mut rows: Vec<Option<Row>> = self.rows.into_iter().map(Some).collect();
        let (mut entries, mut live) =
            (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
        for index in &self.order {
            let Some(row) = rows[*index].take().filter(|row| !row.gone) else { continue };
            live.push(row.live);
            let parent = parents.get(index).map(Option::as_deref);
            entries.push(if parent.is_none() && row.edit.is_none() {
                row.entry
            } else {
                row.written(parent)
            });
        }
        (entries, live, self.report, self.archived)
    }
}
