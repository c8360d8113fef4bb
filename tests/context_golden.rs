//! What the model sees of damaged transcripts, compared with the reference program where it was right.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking")]

use flower::context::view;
use flower::transcript::Entry;
use serde_json::Value;

/// Cases where ours is the reference's view, but for the made-up ids.
const SAME: &[&str] = &[
    "01_plain_chat",
    "28_api_error_middle",
    "32_synthetic_without_flag",
    "34_leaf_pointer_to_error",
    "35_logical_parent_to_error",
    "39_interrupt_variants",
    "50_orphan_at_leaf",
    "51_orphan_then_prompt",
    "52_orphan_parallel",
    "56_orphan_several_messages",
    "60_duplicate_result",
    "61_result_not_adjacent",
    "65_no_uuid_entries",
    "69_odd_tool_input",
    "72_fork_below_error",
];

/// Cases where ours differs on purpose, with the parents that ours gives: each line is `uuid parent`,
/// by the last digit of the uuid, `h` for a made-up entry and `-` for none.
const BETTER: &[(&str, &str, &str)] = &[
    (
        "54_orphan_sibling_results",
        "1-,21,h2,3h,4h,54",
        "all children follow the made-up entry, not only the first",
    ),
    (
        "55_orphan_split_assistant_entries",
        "1-,21,32,h3,4h,54",
        "the parts of one message stay together",
    ),
    ("57_orphan_without_uuid", "1-,-1,h-,--,21", "who has no parent gets none"),
    ("62_orphan_sidechain", "1-,21,h2,3h,43,h4,5h", "as the reference; two made-up entries"),
    ("68_null_text_block", "1-,21,32", "a null text is no reason to fail"),
    ("70_self_parent_error", "1-,21,42", "a circle of errors does not cut the past off"),
    ("71_error_cycle", "1-,21,52", "a circle of errors does not cut the past off"),
];

fn read(case: &str, file: &str) -> Vec<Entry> {
    let path = format!("{}/tests/fixtures/transcripts/{case}/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(path).unwrap();
    text.lines().map(|line| Entry::parse(line).unwrap()).collect()
}

/// Entries as JSON with the made-up ids numbered in order of appearance, as in the golden files.
fn numbered(record: &[Entry], view: &[Entry]) -> Vec<Value> {
    let stored: Vec<_> = record.iter().filter_map(|entry| entry.uuid.as_deref()).collect();
    let mut text: Vec<String> = view.iter().map(|entry| entry.raw().to_owned()).collect();
    let made: Vec<_> = view
        .iter()
        .filter_map(|entry| entry.uuid.clone())
        .filter(|uuid| !stored.contains(&uuid.as_str()))
        .collect();
    for (index, uuid) in made.iter().enumerate() {
        for line in &mut text {
            *line = line.replace(uuid, &format!("heal-{:04}", index + 1));
        }
    }
    text.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn damaged_transcripts_are_seen_as_the_reference_saw_them() {
    for case in SAME {
        let record = read(case, "entries.jsonl");
        let want: Vec<Value> = read(case, "pruned.jsonl")
            .iter()
            .map(|entry| serde_json::from_str(entry.raw()).unwrap())
            .collect();
        assert_eq!(numbered(&record, &view(&record)), want, "{case}");
    }
}

#[test]
fn where_the_reference_broke_the_chain_ours_holds() {
    for (case, want, why) in BETTER {
        let record = read(case, "entries.jsonl");
        let short = |id: Option<&str>| match id {
            None => '-',
            Some(id) if id.starts_with("00000000-") => id.chars().last().unwrap(),
            Some(_) => 'h',
        };
        let got: Vec<String> = view(&record)
            .iter()
            .map(|entry| {
                [short(entry.uuid.as_deref()), short(entry.parent.as_deref())].iter().collect()
            })
            .collect();
        assert_eq!(got.join(","), *want, "{case}: {why}");
    }
}

#[test]
fn the_same_record_gives_the_same_bytes_and_a_view_stays_as_it_is() {
    let cases = SAME.iter().chain(BETTER.iter().map(|(case, _, _)| case));
    for case in cases {
        let record = read(case, "entries.jsonl");
        let before: Vec<String> = record.iter().map(|entry| entry.raw().to_owned()).collect();
        let texts = |entries: &[Entry]| -> Vec<String> {
            entries.iter().map(|entry| entry.raw().to_owned()).collect()
        };
        let first = view(&record);
        assert_eq!(texts(&first), texts(&view(&record)), "{case}");
        assert_eq!(texts(&first), texts(&view(&first)), "{case}");
        assert_eq!(before, texts(&record), "{case}: the record is not touched");
    }
}
