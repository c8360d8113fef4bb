//! View: from the record to what the model sees. Pure: entries in, entries out, the same every time.
//!
//! The steps, in order; each is a function from entries to entries, so that others can stand between:
//!
//! 1. replies that only report an error of the API go, and the chain closes over them (`relink`);
//! 2. results that an interrupt left behind become a plain marker (`interrupt`);
//! 3. results without a call go (`pair`);
//! 4. calls without a result get one (`heal`).
//!
//! Expiring, trimming and pruning of refusals belong between 1 and 2: they look at results that are
//! still as the tools gave them. Making anything else acceptable to the API belongs after 4.

pub mod acceptable;
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

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;
    use crate::transcript::Body;

    /// Small transcripts with every kind of damage: few ids, so that they meet.
    fn rows() -> impl Strategy<Value = Vec<Entry>> {
        let id = || prop::sample::select(vec!["a", "b", "c", "d", "e"]);
        let row = (id(), id(), id(), 0..6, any::<bool>()).prop_map(
            |(uuid, parent, other, kind, flag)| {
                let message = match kind {
                    0 => r#"{"role":"user","content":"on"}"#.to_owned(),
                    1 | 2 => format!(
                        r#"{{"role":"assistant","id":"m{other}","content":[{{"type":"tool_use","id":"{parent}","name":"x","input":{{}}}}]}}"#
                    ),
                    3 => format!(
                        r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{other}","content":"[Request interrupted","is_error":{flag}}},{{"type":"text","text":"t"}}]}}"#
                    ),
                    4 => format!(
                        r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{other}","content":"y"}}]}}"#
                    ),
                    _ => r#"{"role":"assistant","model":"<synthetic>","content":[]}"#.to_owned(),
                };
                let uuid = if flag { format!("\"{uuid}\"") } else { format!("\"{uuid}{other}\"") };
                Entry::parse(format!(
                    r#"{{"uuid":{uuid},"parentUuid":"{parent}","message":{message}}}"#
                ))
                .unwrap()
            },
        );
        prop::collection::vec(row, 0..12)
    }

    fn ids(entries: &[Entry], calls: bool) -> BTreeSet<String> {
        let blocks = entries.iter().filter_map(Entry::message).flat_map(|message| message.blocks);
        blocks
            .filter_map(|block| match block.body() {
                Body::ToolUse { id, .. } if calls => Some(id.clone()),
                Body::ToolResult { tool_use_id, .. } if !calls => Some(tool_use_id.clone()),
                _ => None,
            })
            .collect()
    }

    proptest! {
        #[test]
        fn whatever_happened_calls_and_results_match_and_the_view_is_stable(record in rows()) {
            let texts = |entries: &[Entry]| -> Vec<String> {
                entries.iter().map(|entry| entry.raw().to_owned()).collect()
            };
            let seen = view(&record);
            prop_assert_eq!(ids(&seen, true), ids(&seen, false));
            prop_assert!(seen.iter().all(|entry| !entry.api_error));
            prop_assert_eq!(texts(&seen), texts(&view(&record)));
            prop_assert_eq!(texts(&seen), texts(&view(&seen)));
        }
    }
}
