//! Compares the judge of "a glance" with recorded verdicts, and names every difference.

use flower::guard::is_ephemeral;
use serde_json::Value;

/// Why a recorded "not a glance" that is not marked as suspect is one here.
const ALLOWED: &[(&str, &str)] = &[
    ("cd /repo && git status", "a folder changed for the glance that follows, and only for it"),
    ("which python", "it only names where a program is"),
    ("which node npm", "it only names where a program is"),
    ("command -v jq", "it only names where a program is"),
    ("type ls", "it only names where a program is"),
    ("true", "it does nothing"),
    ("ls || true", "`true` does nothing"),
    ("ls 2>/dev/null || true", "`true` does nothing"),
    ("git tag", "without arguments it lists"),
    ("git tag -l 'v1*'", "with `-l` it lists"),
    ("uname -a", "it only names the system"),
    ("nproc", "it only counts processors"),
];

/// Why a recorded "glance" that is not marked as suspect is none here.
const REFUSED: &[(&str, &str)] = &[
    ("tail -f server.log", "it never ends"),
    ("tail -F log | grep --line-buffered x", "it never ends"),
    ("top", "it never ends"),
    ("ls\"", "a quote that is never closed: nothing about the line is certain"),
];

/// Recorded as needlessly refused, and still refused here.
const STILL_REFUSED: &[(&str, &str)] = &[
    (
        "wc -l < data.txt",
        "input redirection is refused as a whole, as in `cat < f`: a pipe or device blocks",
    ),
    (
        "tr -d '\\n' < f.txt",
        "input redirection is refused as a whole, as in `cat < f`: a pipe or device blocks",
    ),
];

fn reason<'a>(list: &'a [(&str, &str)], command: &str) -> Option<&'a str> {
    list.iter().find(|(known, _)| *known == command).map(|(_, reason)| *reason)
}

#[test]
fn every_difference_from_the_recorded_verdicts_has_a_reason() {
    let mut wrong = Vec::new();
    let mut used = 0;
    for line in include_str!("fixtures/ephemeral.jsonl").lines() {
        let row: Value = serde_json::from_str(line).unwrap();
        let command = row["cmd"].as_str().unwrap();
        let recorded = row["ephemeral"].as_bool().unwrap();
        let suspect = row["suspect"].as_bool().unwrap_or_default();
        let list = match (recorded, suspect) {
            (false, false) => ALLOWED,
            (true, false) => REFUSED,
            (false, true) => STILL_REFUSED,
            (true, true) => &[],
        };
        let listed = reason(list, command).is_some();
        used += usize::from(listed);
        let want = (recorded != suspect) != listed;
        if is_ephemeral(command) != want {
            wrong.push(format!("{command:?} should be {want}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(used, ALLOWED.len() + REFUSED.len() + STILL_REFUSED.len(), "a reason is not needed");
}
