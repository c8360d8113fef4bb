//! View: from the record to what the model sees. Pure: entries in, entries out, the same every time.

use crate::transcript::Entry;

/// The entries that are fed back to a model when a conversation is resumed.
pub fn view(record: &[Entry]) -> Vec<Entry> {
    record.to_vec()
}
