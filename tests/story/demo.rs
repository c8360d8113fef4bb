//! The first command of a newcomer, and that its result cannot be faked.

use std::path::Path;

use crate::house::{Gate, House, ends_with, stdout};

const CASSETTE: &str = include_str!("../../flowerbox/demo/cassette.yaml");

/// The demo's repository, committed, in the project of a house.
fn planted() -> House {
    let house = House::new();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("flowerbox/demo/repository");
    copy(&source, &house.project);
    house.git(&["init", "-q", "-b", "main"]);
    house.git(&["add", "-A"]);
    house.git(&["commit", "-q", "-m", "first"]);
    house
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap().is_dir() {
            true => copy(&entry.path(), &target),
            false => {
                std::fs::copy(entry.path(), target).unwrap();
            }
        }
    }
}

/// The cassette's rules, by name.
fn rule<'a>(cassette: &'a str, name: &str) -> &'a str {
    let head = format!("  - name: {name}\n");
    let start = cassette.find(&head).unwrap_or_else(|| panic!("no rule {name}"));
    let rest = &cassette[start + head.len()..];
    let end = rest.find("\n  - name: ").map_or(cassette.len(), |end| start + head.len() + end + 1);
    &cassette[start..end]
}

/// Plays a changed cassette to the whole chain, with a judge that may run commands unless denied.
fn play(house: &House, cassette: &str, judge_can_run: bool, code: i32) -> Gate {
    let path = house.home.join("changed.yaml");
    std::fs::write(&path, cassette).unwrap();
    let gate = house.gate_of(&path);
    let mut words = vec!["go", "Make the tests of this word counter pass."];
    if judge_can_run {
        words.push("--judge-can-run");
    }
    ends_with(&mut house.flower_at(&gate, &words), code);
    gate
}

fn suite_passes(house: &House, folder: &Path) -> bool {
    house.command("sh").arg("test.sh").current_dir(folder).output().unwrap().status.success()
}

const TWO_ROUNDS: [&str; 6] =
    ["clarify", "goal", "work", "work.judge#1", "work#round2", "work.judge#2"];

#[test]
fn the_demo_brings_a_failing_suite_home() {
    let house = House::new();
    let output = ends_with(&mut house.flower(&["demo"]), 0);
    let base = house.project.join("flower-demo");
    let said = stdout(&output);
    assert!(said.contains(base.to_str().unwrap()), "says where the results are: {said}");

    let repository = base.join("wordcount");
    let before = house.project.join("before");
    house.git(&["clone", "-q", repository.to_str().unwrap(), before.to_str().unwrap()]);
    assert!(!suite_passes(&house, &before), "the suite failed before");
    assert!(suite_passes(&house, &repository), "and passes after");
    let changed = house.git(&["-C", repository.to_str().unwrap(), "diff", "--name-only"]);
    assert_eq!(changed, "lib/count.sh\nlib/layout.sh\n");

    let here = house.at(base);
    assert_eq!(here.steps(), TWO_ROUNDS);
    let rows = here.manifest();
    assert!(rows.iter().all(|row| row["ok"] == true && row["error"].is_null()));
    assert_eq!(rows[2]["session_id"], rows[4]["session_id"], "sent back to the same session");
    assert_ne!(rows[3]["session_id"], rows[5]["session_id"], "a fresh judge each time");
    let keys: std::collections::BTreeSet<String> =
        here.entries().into_iter().map(|(key, _)| key).collect();
    let subagents = keys.iter().filter(|key| key.contains("/subagents/agent-")).count();
    assert_eq!((keys.len() - subagents, subagents), (5, 3));
    for paper in ["brief.md", "goal.md", "questions.md"] {
        assert!(here.exists(&format!("wordcount/.flower/notes/{paper}")), "{paper}");
    }
}

#[test]
fn the_demo_may_ask_a_gate_that_runs_elsewhere() {
    let house = House::new();
    let cassette = Path::new(env!("CARGO_MANIFEST_DIR")).join("flowerbox/demo/cassette.yaml");
    let gate = house.gate_of(&cassette);
    ends_with(&mut house.flower(&["demo", "--gate", &gate.url]), 0);
    assert!(!gate.requests().is_empty() && !house.exists("flower-demo/gate.jsonl"));
    ends_with(&mut house.flower(&["demo", "--gate", "nowhere"]), 1);
}

#[test]
fn a_second_demo_finds_a_folder_of_its_own_and_every_language_plays_it() {
    let house = House::new();
    for (language, folder) in
        [("en", "flower-demo"), ("zh", "flower-demo-2"), ("ru", "flower-demo-3")]
    {
        ends_with(&mut house.flower(&["demo", "--lang", language]), 0);
        assert!(suite_passes(&house, &house.project.join(folder).join("wordcount")), "{folder}");
    }
    ends_with(&mut house.flower(&["demo", "flower-demo"]), 1);
}

#[test]
fn with_the_second_edit_withheld_it_is_never_achieved() {
    let house = planted();
    let withheld = CASSETTE.replace(rule(CASSETTE, "the layout worker mends the total"), "");
    let gate = play(&house, &withheld, true, 3);
    assert!(!suite_passes(&house, &house.project));
    assert_eq!(house.steps().last().map(String::as_str), Some("work.judge#3"));
    assert_eq!(gate.end(), Some(0), "no request without a rule");
}

#[test]
fn with_the_first_edit_complete_it_is_achieved_in_round_one() {
    let house = planted();
    let second = rule(CASSETTE, "the layout worker mends the total");
    let call = &second[second.find("        - name: Edit").unwrap()..];
    let first = rule(CASSETTE, "the counting worker mends the counting");
    let complete = CASSETTE.replace(first, &format!("{}\n{call}", first.trim_end()));
    play(&house, &complete, true, 0);
    assert!(suite_passes(&house, &house.project));
    assert_eq!(house.steps(), TWO_ROUNDS[..4]);
}

#[test]
fn with_the_judges_bash_denied_it_is_not_achieved() {
    let house = planted();
    play(&house, CASSETTE, false, 3);
    assert!(suite_passes(&house, &house.project), "though the work was done");
}

#[test]
fn a_worker_that_replaces_the_suite_is_refused() {
    let house = planted();
    let second = rule(CASSETTE, "the layout worker mends the total");
    let read = "        - {name: Read, input: {file_path: lib/layout.sh}}";
    let cheat = second.replace(
        &second[second.find("        - name: Edit").unwrap()..],
        concat!(
            "        - name: Write\n          input:\n            file_path: test.sh\n",
            "            content: \"#!/bin/sh\\nexit 0\\n\"\n\n",
        ),
    );
    let reads = rule(CASSETTE, "the layout worker reads the layout");
    let also_suite = "        - {name: Read, input: {file_path: test.sh}}";
    let cheating = CASSETTE
        .replace(second, &cheat)
        .replace(reads, &reads.replace(read, &format!("{also_suite}\n{read}")));
    play(&house, &cheating, true, 3);
    assert_eq!(house.read("test.sh"), "#!/bin/sh\nexit 0\n", "the worker did replace it");
}
