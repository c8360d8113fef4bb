//! View: from the record to what the model sees. Pure: entries in, entries out, the same every time.
//!
//! The steps, in order; each is a function from entries to entries, so that others can stand between:
//!
//! 1. replies that only report an error of the API go, and the chain closes over them ([`relink`]);
//! 2. results that an interrupt left behind become a plain marker ([`interrupt`]);
//! 3. results without a call go ([`pair`]);
//! 4. calls without a result get one ([`heal`]).
//!
//! Expiring, trimming and pruning of refusals belong between 1 and 2: they look at results that are
//! still as the tools gave them. Making anything else acceptable to the API belongs after 4.

mod heal;
mod interrupt;
mod pair;
mod relink;

use crate::transcript::Entry;

/// The entries that are fed back to a model when a conversation is resumed.
pub fn view(record: &[Entry]) -> Vec<Entry> {
    let entries = relink::without(record, |entry| entry.api_error);
    let entries = interrupt::neutralise(entries);
    let entries = pair::drop_orphan_results(entries);
    heal::answer_orphan_calls(entries)
}
