//! One agent, one task.

use serde_json::Value;

use crate::house::{House, ends_with, stderr, stdout};

const ANSWER: &str =
    "  - match: {step: ad-hoc}\n    repeat: true\n    reply: {text: The answer is 42.}\n";

#[test]
fn a_pipe_gets_the_answer_and_nothing_else() {
    let house = House::new();
    let gate = house.gate(ANSWER);
    let output = ends_with(&mut house.flower_at(&gate, &["once", "what is it?"]), 0);
    assert_eq!(stdout(&output), "The answer is 42.\n");
    let rows = house.manifest();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0]["ok"], true);
    assert_eq!(rows[0]["text"], "The answer is 42.");
    assert_eq!(gate.end(), Some(0));
}

#[test]
fn records_lie_where_the_flag_says_then_where_the_environment_says() {
    let house = House::new();
    let gate = house.gate(ANSWER);
    house.write(".env", "FLOWER_RUN_DIR=from-the-project\n");
    let mut run = house.flower_at(&gate, &["once", "x"]);
    ends_with(run.env("FLOWER_RUN_DIR", "../elsewhere"), 0);
    assert!(house.exists("../elsewhere/manifest.json") && !house.exists("runs"));
    let mut run = house.flower_at(&gate, &["once", "x", "-r", "here"]);
    ends_with(run.env("FLOWER_RUN_DIR", "../elsewhere"), 0);
    assert!(house.exists("here/manifest.json"));
    ends_with(&mut house.flower_at(&gate, &["once", "x"]), 0);
    assert!(house.exists("runs/manifest.json") && !house.exists("from-the-project"));
}

#[test]
fn the_task_may_come_through_a_pipe() {
    let house = House::new();
    let gate = house.gate(ANSWER);
    house.write("task.txt", "count to three");
    let file = std::fs::File::open(house.project.join("task.txt")).unwrap();
    ends_with(house.flower_at(&gate, &["once", "-"]).stdin(file), 0);
    assert!(gate.log().contains("count to three"));
}

#[test]
fn json_ends_with_one_line_that_says_everything() {
    let house = House::new();
    let gate = house.gate(ANSWER);
    let output = ends_with(&mut house.flower_at(&gate, &["once", "x", "--output", "json"]), 0);
    let text = stdout(&output);
    assert_eq!(text.lines().count(), 1, "{text}");
    let last: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(last["kind"], "end");
    assert_eq!(last["outcome"], "done");
    assert_eq!(last["exit_code"], 0);
    assert_eq!(last["text"], "The answer is 42.");
    assert_eq!(last["num_turns"], 1);
    assert!(last["sessions"][0]["session_id"].is_string());
    let stream =
        ends_with(&mut house.flower_at(&gate, &["once", "x", "--output", "stream-json"]), 0);
    let lines: Vec<Value> =
        stdout(&stream).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let kinds: Vec<&str> = lines.iter().map(|line| line["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["prompt", "text", "result", "end"]);
}

#[test]
fn eight_at_once_in_one_folder_keep_all_their_records() {
    let house = House::new();
    let gate = house.gate(ANSWER);
    let children: Vec<_> = (0..8)
        .map(|n| house.flower_at(&gate, &["once", &format!("task {n}")]).spawn().unwrap())
        .collect();
    for mut child in children {
        assert_eq!(child.wait().unwrap().code(), Some(0));
    }
    let rows = house.manifest();
    assert_eq!(rows.len(), 8);
    let runs: std::collections::BTreeSet<_> = rows.iter().map(|r| r["run"].to_string()).collect();
    assert_eq!(runs.len(), 8);
    let db = rusqlite::Connection::open(house.project.join("runs/sessions.db")).unwrap();
    let check: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
    let sessions: i64 = db.query_row("SELECT count(*) FROM summaries", [], |r| r.get(0)).unwrap();
    assert_eq!(sessions, 8);
}

#[test]
fn a_clean_end_leaves_only_the_one_database_file() {
    let house = House::new();
    let gate = house.gate(ANSWER);
    ends_with(&mut house.flower_at(&gate, &["once", "x"]), 0);
    assert!(house.exists("runs/sessions.db"));
    assert!(!house.exists("runs/sessions.db-wal"));
    assert!(!house.exists("runs/sessions.db-shm"));
}

#[test]
fn a_request_that_no_rule_answers_fails_loudly_on_both_sides() {
    let house = House::new();
    let gate = house.gate("  - match: {step: work}\n    reply: {text: never}\n");
    let output = ends_with(&mut house.flower_at(&gate, &["once", "x"]), 1);
    assert!(stderr(&output).contains("no rule"), "{}", stderr(&output));
    let rows = house.manifest();
    assert_eq!(rows[0]["ok"], false);
    assert_eq!(rows[0]["attempts"], 1, "a refusal is not tried again");
    assert_eq!(gate.end(), Some(1));
}

#[test]
fn an_overloaded_moment_is_waited_out() {
    let house = House::new();
    let gate = house.gate(
        "  - match: {step: ad-hoc}\n    times: 2\n    error: {status: 529, type: overloaded_error, message: Overloaded}\n  - match: {step: ad-hoc}\n    reply: {text: at last}\n",
    );
    let output = ends_with(&mut house.flower_at(&gate, &["once", "x"]), 0);
    assert_eq!(stdout(&output), "at last\n");
    let rows = house.manifest();
    assert_eq!(rows[0]["attempts"], 3);
    assert_eq!(rows[0]["errors"].as_array().unwrap().len(), 2);
    let last = gate.requests().pop().unwrap();
    assert!(!crate::house::shown(&last).contains("Overloaded"), "no error text in any prompt");
}

#[test]
fn a_long_result_is_spilled_and_can_be_read_whole() {
    let house = House::new();
    let long: String = (0..900).map(|n| format!("line number {n}\n")).collect();
    house.write("long.txt", &long);
    let gate = house.gate(concat!(
        "  - match: {step: ad-hoc, turn: 0}\n",
        "    reply: {tools: [{name: Grep, input: {pattern: 'line', path: long.txt, output_mode: content, head_limit: 2000}}]}\n",
        "  - match: {step: ad-hoc, turn: 1, tool_result: {name: Grep, contains: '/runs.workbench.spill.[0-9a-f]{16}.txt/'}}\n",
        "    reply: {text: spilled}\n",
    ));
    let words = ["once", "-W", "look", "--tools", "Read,Grep"];
    ends_with(&mut house.flower_at(&gate, &words), 0);
    let spill = house.project.join("runs/workbench/spill");
    let files: Vec<_> = std::fs::read_dir(&spill).unwrap().map(|f| f.unwrap().path()).collect();
    assert_eq!(files.len(), 1);
    let spilled = std::fs::read_to_string(&files[0]).unwrap();
    assert!(spilled.contains("line number 0") && spilled.contains("line number 899"));

    let path = files[0].to_str().unwrap();
    let gate = house.gate(&format!(
        "  - match: {{step: ad-hoc, turn: 0}}\n    reply: {{tools: [{{name: Read, input: {{file_path: {path}}}}}]}}\n  - match: {{step: ad-hoc, turn: 1}}\n    reply: {{text: read}}\n"
    ));
    ends_with(&mut house.flower_at(&gate, &words), 0);
    let request = gate.requests().pop().unwrap();
    let (_, is_error, text) = crate::house::tool_results(&request).pop().unwrap();
    assert!(!is_error);
    assert!(text.contains("line number 0") && text.contains("line number 899"));
    assert_eq!(std::fs::read_dir(&spill).unwrap().count(), 1, "a spill is not spilled again");
}

#[test]
fn a_stored_session_is_continued_with_the_same_words_before_it() {
    let house = House::new();
    let gate = house.gate(ANSWER);
    ends_with(&mut house.flower_at(&gate, &["once", "first"]), 0);
    let id = house.manifest()[0]["session_id"].as_str().unwrap().to_owned();
    ends_with(&mut house.flower_at(&gate, &["once", "second", "--resume", &id]), 0);
    let requests = gate.requests();
    let (one, two) = (&requests[0]["body"], &requests[1]["body"]);
    assert_eq!(one["system"], two["system"]);
    assert_eq!(two["messages"].as_array().unwrap().len(), 3);
    assert!(two["messages"][0].to_string().contains("first"));
    assert!(two["messages"][2].to_string().contains("second"));
    let fork = ["once", "third", "--resume", &id, "--fork"];
    ends_with(&mut house.flower_at(&gate, &fork), 0);
    let forked = &gate.requests()[2]["body"];
    assert_eq!(forked["messages"].as_array().unwrap().len(), 5);
    assert_ne!(house.manifest()[2]["session_id"], *id);
    ends_with(&mut house.flower_at(&gate, &["once", "fourth", "--resume", &id]), 0);
    assert!(
        !crate::house::shown(&gate.requests()[3]).contains("third"),
        "the old one is as it was"
    );
    let unknown = house.flower_at(&gate, &["once", "x", "--resume", "nope"]).output().unwrap();
    assert_eq!(unknown.status.code(), Some(1));
}

#[test]
fn limits_end_a_run_with_code_5() {
    let house = House::new();
    house.write("a.txt", "a");
    let gate = house.gate(concat!(
        "  - match: {step: ad-hoc}\n    repeat: true\n",
        "    reply: {tools: [{name: Read, input: {file_path: a.txt}}]}\n",
    ));
    let output = ends_with(&mut house.flower_at(&gate, &["once", "loop", "--max-turns", "3"]), 5);
    assert_eq!(gate.requests().len(), 3);
    assert!(!stderr(&output).is_empty());
    assert_eq!(house.manifest()[0]["num_turns"], 3);
}
