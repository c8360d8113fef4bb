//! The same call with the same result again and again: the model is told, then the person.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use crate::chain::{CLARIFY, rules};
use crate::house::{House, ends_with, stdout, tool_results};

const TOLD: &str = "same result 5 times in a row";

/// A coordinator that looks `times` times, then ends.
fn looks(times: usize) -> String {
    let call = |turn: usize| {
        format!(
            "  - match: {{step: work, turn: {turn}}}\n    reply: {{tools: [{{name: Bash, input: {{command: git status --short}}}}]}}\n"
        )
    };
    let calls: String = (0..times).map(call).collect();
    format!("{calls}  - match: {{step: work, turn: {times}}}\n    reply: {{text: I give up.}}\n")
}

#[test]
fn the_model_is_told_at_the_fifth_time_and_unattended_the_run_goes_on() {
    let house = House::new();
    house.git(&["init", "-q"]);
    let gate = house.gate(&rules(&[CLARIFY, &looks(11)]));
    let words = ["go", "look", "--no-goal", "--timeout", "0"];
    let said = stdout(&ends_with(&mut house.flower_at(&gate, &words), 0));
    let results = tool_results(gate.requests().last().unwrap());
    assert_eq!(results.len(), 11);
    let told = |at: usize| results[at].2.contains("times in a row");
    assert!(results[4].2.contains(TOLD), "{results:?}");
    assert!((0..4).all(|at| !told(at)) && (4..11).all(told), "{results:?}");
    assert_eq!(said.matches("10 times in a row").count(), 1, "the person hears it once: {said}");
}

#[test]
fn a_person_who_is_there_can_stop_it() {
    let house = House::new();
    house.git(&["init", "-q"]);
    let gate = house.gate(&rules(&[CLARIFY, &looks(11)]));
    let mut run = house
        .flower_at(&gate, &["go", "look", "--no-goal"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = run.stdin.take().unwrap();
    let mut lines = BufReader::new(run.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("Stop this step")));
    writeln!(input, "2").unwrap();
    let rest: Vec<String> = lines.map(|line| line.unwrap()).collect();
    assert_eq!(run.wait().unwrap().code(), Some(1), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("stopped by the person")), "{rest:?}");
    let row = house.manifest().pop().unwrap();
    assert_eq!((row["step"].as_str(), row["num_turns"].as_u64()), (Some("work"), Some(10)));
}
