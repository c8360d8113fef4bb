//! A conversation that is full hands over to a fresh one, and the step goes on.

use std::process::Stdio;

use serde_json::Value;

use crate::chain::{ACHIEVED, CLARIFY, GOAL, rules};
use crate::house::{Gate, House, ends_with, stdout, step_of};

/// A reply that fills a window of 60,000 tokens; conversations are handed over from 10,000 on.
const FULL: &str = concat!(
    "  - match: {step: work, agent: main, last_user_contains: \"/Write done.txt|taking over/\"}\n    repeat: true\n    reply:\n",
    "      tools: [{name: TodoWrite, input: {todos: []}}]\n",
    "      usage: {input_tokens: 20000}\n",
);
/// The paper.
const PAPER: &str = concat!(
    "  - match: {step: work, last_user_contains: \"Write the handoff\"}\n    repeat: true\n    reply:\n      text: |-\n",
    "        ## Doing now\n        Writing done.txt.\n",
    "        ## Dead ends\n        Asking a builder.\n",
    "        ## Next\n        Look at done.txt.\n",
);
/// The successor.
const SUCCESSOR: &str = "  - match: {step: work, last_user_contains: \"taking over\"}\n    repeat: true\n    reply: {text: I took over.}\n";

fn once(rule: &str) -> String {
    rule.replace("    repeat: true\n", "")
}

fn go(house: &House, gate: &Gate) -> std::process::Command {
    let mut go = house.flower_at(gate, &["go", "do it"]);
    go.env("FLOWER_WINDOW", "60000");
    go
}

/// The newest words of each request of the work's main thread.
fn newest(gate: &Gate) -> Vec<String> {
    let requests = gate.requests();
    let work = requests.iter().filter(|request| step_of(request) == "work");
    work.map(|request| request["body"]["messages"].as_array().unwrap().last().unwrap().to_string())
        .collect()
}

#[test]
fn a_full_conversation_hands_over_and_the_step_goes_on() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY, GOAL, &once(FULL), PAPER, SUCCESSOR, ACHIEVED]));
    let output = ends_with(&mut go(&house, &gate), 0);
    let row = &house.manifest()[2];
    assert_eq!(row["step"], "work");
    assert_eq!(row["attempts"], 1);
    assert_eq!(row["retired"].as_array().unwrap().len(), 1);
    assert_ne!(row["session_id"], row["retired"][0]);
    assert_eq!(row["num_turns"], 3, "the writing of the paper is counted");
    let lineage: Value = serde_json::from_str(&house.read("runs/lineage.json")).unwrap();
    assert!(lineage.to_string().contains(row["session_id"].as_str().unwrap()), "{lineage}");
    let words = newest(&gate);
    let last = words.last().unwrap();
    assert!(last.contains("You are taking over") && last.contains("Asking a builder."), "{last}");
    assert!(!last.contains("nothing else is touched"), "the brief is read from the notes: {last}");
    let paper = house.read(".flower/notes/handoff-work.md");
    assert!(paper.starts_with("# Handoff (work)\n") && paper.contains("Asking a builder."));
    let said = stdout(&output);
    for line in ["20.0K of 60.0K", "A fresh session takes over", "Look at done.txt."] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn a_conversation_that_is_too_long_for_the_model_hands_over_what_is_known() {
    let house = House::new();
    let overflow = "  - match: {step: work, agent: main}\n    error: {status: 400, type: invalid_request_error, message: \"prompt is too long: 205012 tokens > 200000 maximum\"}\n";
    let first = FULL.replace("20000", "9000");
    let gate = house.gate(&rules(&[CLARIFY, GOAL, &once(&first), overflow, SUCCESSOR, ACHIEVED]));
    ends_with(&mut go(&house, &gate), 0);
    let row = &house.manifest()[2];
    assert_eq!(row["retired"].as_array().unwrap().len(), 1);
    assert!(row["errors"][0].as_str().unwrap().contains("prompt is too long"), "{row}");
    assert!(newest(&gate).last().unwrap().contains("[degraded: no handoff was written]"));
    let windows = house.home.join(".config/flower/.windows");
    let windows: Value = serde_json::from_slice(&std::fs::read(windows).unwrap()).unwrap();
    assert_eq!(windows.as_object().unwrap().values().next().unwrap(), 9000);
}

#[test]
fn a_window_that_every_session_fills_ends_the_step_and_says_what_to_do() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY, GOAL, FULL, PAPER]));
    let output = ends_with(&mut go(&house, &gate), 1);
    let row = &house.manifest()[2];
    assert_eq!(row["retired"].as_array().unwrap().len(), 8);
    assert!(row["error"].as_str().unwrap().contains("--window"), "{row}");
    assert!(stdout(&output).contains("--no-handoff"), "{}", stdout(&output));
}

#[test]
fn two_papers_in_a_row_that_nobody_could_write_end_the_step() {
    let house = House::new();
    let silent = "  - match: {step: work, last_user_contains: \"Write the handoff\"}\n    repeat: true\n    reply: {text: I would rather not.}\n";
    let gate = house.gate(&rules(&[CLARIFY, GOAL, FULL, silent]));
    ends_with(&mut go(&house, &gate), 1);
    let row = &house.manifest()[2];
    assert_eq!(row["retired"].as_array().unwrap().len(), 1);
    assert!(row["errors"][0].as_str().unwrap().contains("Doing now, Next"), "{row}");
}

#[test]
fn what_a_person_writes_into_the_paper_counts() {
    let house = House::new();
    let down = "  - match: {step: work, last_user_contains: \"taking over\"}\n    error: {status: 503, type: api_error, message: later, headers: {retry-after: \"2\"}}\n";
    let gate = house.gate(&rules(&[CLARIFY, GOAL, &once(FULL), PAPER, down, SUCCESSOR, ACHIEVED]));
    let mut run = go(&house, &gate).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    // The successor's first request is refused; it is made again only after two seconds.
    while !newest(&gate).last().is_some_and(|words| words.contains("You are taking over")) {
        std::thread::yield_now();
    }
    let paper = house.read(".flower/notes/handoff-work.md");
    let edited = paper.replace("Look at done.txt.", "Look at done.txt twice.");
    house.write(".flower/notes/handoff-work.md", edited);
    assert!(run.wait().unwrap().success());
    let words = newest(&gate);
    assert!(words.last().unwrap().contains("twice"), "{words:#?}");
}

#[test]
fn without_handoff_a_full_conversation_is_just_long() {
    let house = House::new();
    let after =
        "  - match: {step: work, agent: main}\n    repeat: true\n    reply: {text: I went on.}\n";
    let gate = house.gate(&rules(&[CLARIFY, GOAL, &once(FULL), after, ACHIEVED]));
    let mut run = house.flower_at(&gate, &["go", "do it", "--no-handoff", "--window", "60000"]);
    ends_with(&mut run, 0);
    assert_eq!(house.manifest()[2]["retired"].as_array().unwrap().len(), 0);
}
