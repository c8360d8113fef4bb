//! Questions to the person, who may be at the terminal, behind a pipe, or not there.

use std::io::Write;
use std::process::Stdio;

use crate::chain::{CLARIFY, GOAL, WORK, rules};
use crate::house::{House, ends_with, stdout, tool_results};

const ASKS: &str = concat!(
    "  - match: {step: clarify, turn: 0}\n    reply:\n      tools:\n",
    "        - {name: mcp__human__ask, input: {question: Which colour?, options: [red, blue]}}\n",
);

#[test]
fn an_answer_through_a_pipe_reaches_the_model_and_the_log() {
    let house = House::new();
    let gate = house.gate(&rules(&[ASKS, CLARIFY]));
    let mut run = house
        .flower_at(&gate, &["go", "paint it", "--clarify-only"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    // The pipe stays open until the run has ended: it is an answer, not the end of the input, that counts.
    let mut input = run.stdin.take().unwrap();
    let mut lines = std::io::BufRead::lines(std::io::BufReader::new(run.stdout.take().unwrap()));
    assert!(lines.any(|line| line.unwrap() == "? Which colour?"));
    writeln!(input, "2").unwrap();
    lines.for_each(|line| drop(line.unwrap()));
    assert_eq!(run.wait().unwrap().code(), Some(0));
    let (name, is_error, text) = tool_results(&gate.requests()[1]).pop().unwrap();
    assert_eq!((name.as_str(), is_error), ("mcp__human__ask", false));
    assert!(text.contains("blue"), "{text}");
    let log = house.read(".flower/notes/questions.md");
    assert!(log.contains("Which colour?") && log.contains("blue"), "{log}");
}

#[test]
fn the_log_stays_in_the_language_in_which_the_work_began() {
    let house = House::new();
    let gate = house
        .gate("  - match: {}\n    error: {status: 401, type: authentication_error, message: no}\n");
    ends_with(&mut house.flower_at(&gate, &["go", "paint it", "--lang", "ru"]), 1);
    let gate = house.gate(&rules(&[ASKS, CLARIFY]));
    let words = ["go", "paint it", "--clarify-only", "--lang", "en"];
    ends_with(&mut house.flower_at(&gate, &words), 0);
    let log = house.read(".flower/notes/questions.md");
    assert!(log.contains("Варианты") && !log.contains("Options"), "{log}");
}

#[test]
fn nobody_there_is_not_an_error_and_is_not_waited_for() {
    let house = House::new();
    let gate = house.gate(&rules(&[ASKS, CLARIFY, ASKS, CLARIFY]));
    ends_with(&mut house.flower_at(&gate, &["go", "paint it", "--clarify-only"]), 0);
    let (_, is_error, text) = tool_results(&gate.requests()[1]).pop().unwrap();
    assert!(!is_error && !text.contains("blue"), "{text}");

    let other = House::new();
    let words = ["go", "paint it", "--clarify-only", "--timeout", "0"];
    ends_with(other.flower_at(&gate, &words).stdin(Stdio::piped()), 0);
    assert!(other.exists(".flower/notes/questions.md"));
}

#[test]
fn no_questions_left_is_told_at_once() {
    let house = House::new();
    let gate = house.gate(&rules(&[ASKS, CLARIFY]));
    let words = ["go", "paint it", "--clarify-only", "--asks", "0"];
    let mut run = house.flower_at(&gate, &words);
    // An open input without a word in it: without the quota this would wait.
    let (reader, _writer) = std::io::pipe().unwrap();
    ends_with(run.stdin(reader), 0);
    let (_, is_error, _) = tool_results(&gate.requests()[1]).pop().unwrap();
    assert!(!is_error);
}

#[test]
fn judged_unreachable_with_nobody_to_decide_ends_with_code_4() {
    let house = House::new();
    let gate = house.gate(&rules(&[
        CLARIFY,
        GOAL,
        WORK,
        "  - match: {step: work.judge}\n    reply: {text: \"## Conclusion\\nunreachable\\n## Reason\\nno network here\"}\n",
    ]));
    let output = ends_with(&mut house.flower_at(&gate, &["go", "do it"]), 4);
    assert!(stdout(&output).contains("no network here"));
    assert_eq!(house.steps(), ["clarify", "goal", "work", "work.judge#1"]);
}

#[test]
fn a_person_who_accepts_ends_it_and_one_who_disagrees_gets_another_round() {
    let unreachable = "  - match: {step: work.judge}\n    repeat: true\n    reply: {text: \"## Conclusion\\nunreachable\\n## Reason\\nno network here\"}\n";
    for (answers, code, rounds) in [("1\n", 0, 1), ("it is reachable\n1\n", 0, 2)] {
        let house = House::new();
        let gate = house.gate(&rules(&[CLARIFY, GOAL, WORK, unreachable]));
        let mut run = house
            .flower_at(&gate, &["go", "do it", "--rounds", "1"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = run.stdin.take().unwrap();
        let mut answers = answers.lines();
        for line in std::io::BufRead::lines(std::io::BufReader::new(run.stdout.take().unwrap())) {
            if line.unwrap().starts_with("? ") {
                writeln!(input, "{}", answers.next().unwrap()).unwrap();
            }
        }
        assert_eq!(run.wait().unwrap().code(), Some(code));
        let works =
            house.steps().iter().filter(|s| s.starts_with("work") && !s.contains("judge")).count();
        assert_eq!(works, rounds, "a person's word is worth a round of its own");
    }
}
