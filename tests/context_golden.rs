//! The view of every golden transcript, compared with what the reference program made of it.

#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "a test fails by panicking")]

use std::path::PathBuf;

use flower::context::{EphemeralPolicy, Policy, PrunePolicy, TrimPolicy, View, view};
use flower::language::Language;
use flower::transcript::Entry;
use serde_json::Value;

/// Where ours differs on purpose. The shape is the parents that ours gives: `uuid parent` for each entry,
/// by the last digit of the uuid, `h` for a made-up entry and `-` for none.
struct Better {
    case: &'static str,
    shape: &'static str,
    why: &'static str,
}

const BETTER: &[Better] = &[
    Better {
        case: "08_block_list_and_images",
        shape: "1-,21,32,43,54,65,76,87,98,09,10,21,32,43,54",
        why: "an image of eight bytes is refused by the API; a line of text takes its place",
    },
    Better {
        case: "20_ephemeral_errors_and_lists",
        shape: "1-,21,32,43,54,65,76,87,98,09,10",
        why: "an image of eight bytes is refused by the API; a line of text takes its place",
    },
    Better {
        case: "25_ephemeral_newline_commit",
        shape: "1-,21,32,43,54,65,76",
        why: "a commit on a second line is no glance, so its result does not expire",
    },
    Better {
        case: "47_denial_leaves_thinking_only",
        shape: "1-,41,54,65",
        why: "a message of thinking alone is refused by the API",
    },
    Better {
        case: "48_denial_without_uuid",
        shape: "1-,h1,hh,3h,43,54",
        why: "an entry without a uuid gets one, so that the chain leads through it",
    },
    Better {
        case: "54_orphan_sibling_results",
        shape: "1-,21,h2,32,42,54",
        why: "several answers stay side by side below their call, where clients look for them",
    },
    Better {
        case: "55_orphan_split_assistant_entries",
        shape: "1-,21,32,h3,4h,54",
        why: "the parts of one message stay together",
    },
    Better {
        case: "57_orphan_without_uuid",
        shape: "1-,h1,hh,--,2h",
        why: "an entry without a uuid gets one, so that the chain leads through it",
    },
    Better {
        case: "60_duplicate_result",
        shape: "1-,21,32,53",
        why: "a second result is refused by the API",
    },
    Better {
        case: "61_result_not_adjacent",
        shape: "1-,21,42,34,53",
        why: "a result that is not right behind its call is refused by the API",
    },
    Better {
        case: "68_null_text_block",
        shape: "1-,21,32",
        why: "a null text is no reason to fail",
    },
    Better {
        case: "69_odd_tool_input",
        shape: "1-,21,32,43,54,65",
        why: "an input that is no object and a block that is a bare string are refused by the API",
    },
    Better {
        case: "70_self_parent_error",
        shape: "1-,21,42",
        why: "a circle of errors does not cut the past off",
    },
    Better {
        case: "71_error_cycle",
        shape: "1-,21,52",
        why: "a circle of errors does not cut the past off",
    },
];

/// What the reference mends only where it prunes, ours always: a view is never refused.
const DAMAGED: &[&str] = &[
    "50_orphan_at_leaf",
    "51_orphan_then_prompt",
    "52_orphan_parallel",
    "56_orphan_several_messages",
    "62_orphan_sidechain",
];

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/transcripts")
}

fn cases() -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

fn read(case: &str, file: &str) -> Option<Vec<Entry>> {
    let text = std::fs::read_to_string(folder().join(case).join(file)).ok()?;
    Some(text.lines().map(|line| Entry::parse(line).unwrap()).collect())
}

fn about(case: &str) -> Value {
    let text = std::fs::read_to_string(folder().join(case).join("case.json")).unwrap();
    serde_json::from_str(&text).unwrap()
}

fn policy(about: &Value, pruning: bool) -> Policy {
    let number =
        |at: &str| usize::try_from(about.pointer(at).unwrap().as_i64().unwrap().max(0)).unwrap();
    let flag = |at: &str| about.pointer(at).unwrap().as_bool().unwrap();
    Policy {
        trim: TrimPolicy {
            enabled: flag("/policies/trim/enabled"),
            keep_recent: number("/policies/trim/keep_recent"),
            min_chars: number("/policies/trim/min_chars"),
            spill_dirname: about["policies"]["trim"]["spill_dirname"].as_str().unwrap().to_owned(),
        },
        ephemeral: EphemeralPolicy {
            enabled: flag("/policies/ephemeral/enabled"),
            keep_recent: number("/policies/ephemeral/keep_recent"),
            max_chars: number("/policies/ephemeral/max_chars"),
        },
        prune: if pruning {
            PrunePolicy {
                drop_api_errors: flag("/policies/prune/drop_api_errors"),
                neutralize_interrupts: flag("/policies/prune/neutralize_interrupts"),
                keep_denials: number("/policies/prune/keep_denials"),
            }
        } else {
            Policy::whole().prune
        },
        ..Policy::default()
    }
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
    text.iter().map(|line| json(line)).collect()
}

/// Half a surrogate pair is none in either of the two.
fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|_| Value::from(line))
}

fn shape(view: &View) -> String {
    let short = |id: Option<&str>| match id {
        None => '-',
        Some(id) if id.starts_with("00000000-") => id.chars().last().unwrap(),
        Some(_) => 'h',
    };
    let rows = view.entries.iter().map(|entry| {
        [short(entry.uuid.as_deref()), short(entry.parent.as_deref())].iter().collect::<String>()
    });
    rows.collect::<Vec<_>>().join(",")
}

#[test]
fn every_transcript_is_seen_as_the_reference_saw_it_or_better() {
    let mut wrong = Vec::new();
    for case in cases() {
        let (about, record) = (about(&case), read(&case, "entries.jsonl").unwrap());
        for (file, pruning) in [("trimmed", false), ("pruned", true)] {
            let seen = view(record.clone(), &policy(&about, pruning));
            if !pruning && DAMAGED.contains(&case.as_str()) {
                continue;
            }
            if let Some(better) = BETTER.iter().find(|better| better.case == case) {
                if pruning && shape(&seen) != better.shape {
                    wrong.push(format!(
                        "{case}: {} instead of {} ({})",
                        shape(&seen),
                        better.shape,
                        better.why
                    ));
                }
                continue;
            }
            let want = read(&case, &format!("{file}.jsonl")).unwrap_or_default();
            let want: Vec<Value> = want.iter().map(|entry| json(entry.raw())).collect();
            let got = numbered(&record, &seen.entries);
            if got != want {
                let other: Vec<String> = got
                    .iter()
                    .zip(&want)
                    .filter(|(got, want)| got != want)
                    .map(|(got, want)| format!("   got {got}\n  want {want}"))
                    .collect();
                wrong.push(format!(
                    "{case}, {file}: {} {:?}\n{}",
                    shape(&seen),
                    seen.report.mended,
                    other.join("\n")
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reports_and_archives_are_those_of_the_reference() {
    for case in cases() {
        let (about, record) = (about(&case), read(&case, "entries.jsonl").unwrap());
        // A newline is no blank between words; see the list above.
        if about["pruned"]["error"].is_string() || case == "25_ephemeral_newline_commit" {
            continue;
        }
        let seen = view(record, &policy(&about, true));
        let want = &about["pruned"];
        let report = &seen.report;
        let number =
            |name: &str| want["report"].get(name).and_then(Value::as_u64).unwrap_or(0) as usize;
        assert_eq!(
            (report.expired, report.cleared, report.kept, report.chars_saved),
            (number("expired"), number("cleared"), number("kept"), number("chars_saved")),
            "{case}"
        );
        assert_eq!(
            report.denials_dropped,
            want["denials_dropped"].as_u64().unwrap() as usize,
            "{case}"
        );
        assert_eq!(report.pruned, want["removed_entries"].as_u64().unwrap() as usize, "{case}");
        let values = report.values();
        let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        assert_eq!(
            Language::Chinese.text(report.key(), &values),
            want["report_text"].as_str().unwrap(),
            "{case}"
        );
        let mut files: Vec<(String, usize)> = seen
            .archived
            .iter()
            .map(|file| (format!(".flower/spill/{}", file.name()), file.text().len()))
            .collect();
        files.sort();
        files.dedup();
        let wanted: Vec<(String, usize)> = want["archive_files"]
            .as_array()
            .unwrap()
            .iter()
            .map(|file| {
                let path = file["path"].as_str().unwrap().to_owned();
                (path, file["bytes"].as_u64().or(file["size"].as_u64()).unwrap() as usize)
            })
            .collect();
        assert_eq!(files, wanted, "{case}");
    }
}

#[test]
fn the_same_record_gives_the_same_bytes_and_a_view_stays_as_it_is() {
    for case in cases() {
        let (about, record) = (about(&case), read(&case, "entries.jsonl").unwrap());
        let policy = policy(&about, true);
        let texts = |view: &View| -> Vec<String> {
            view.entries.iter().map(|entry| entry.raw().to_owned()).collect()
        };
        let first = view(record.clone(), &policy);
        assert_eq!(texts(&first), texts(&view(record.clone(), &policy)), "{case}");
        let again = view(first.entries.clone(), &Policy::whole());
        assert_eq!(texts(&first), texts(&again), "{case}");
        assert_eq!(again.report.findings().count(), 0, "{case}: {:?}", again.report);
    }
}
