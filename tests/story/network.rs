//! The network goes and comes back; nobody has to be there for it.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use crate::chain::{ACHIEVED, CLARIFY, GOAL, WORK, rules};
use crate::house::{House, ends_with, stdout};

const ANSWER: &str = "  - match: {step: ad-hoc}\n    reply: {text: at last}\n";

/// An address on which nobody listens yet.
fn free_address() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

#[test]
fn an_outage_takes_two_lines_and_the_run_goes_on() {
    let house = House::new();
    let address = free_address();
    let cassette = house.home.join("cassette.yaml");
    let text = format!("format: flower-cassette/1\nabout: a story\nrules:\n{ANSWER}");
    std::fs::write(&cassette, text).unwrap();
    let mut flower = house
        .flower(&["once", "x"])
        .env("FLOWER_GATE", format!("http://{address}"))
        .env("FLOWER_MAX_OFFLINE", "50")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(flower.stderr.take().unwrap()).lines().map(Result::unwrap);
    let lost = lines.find(|line| line.contains("cannot be reached")).unwrap();
    assert_eq!(
        lost.trim(),
        format!("~ {address} cannot be reached; waiting until it can (up to 50 s)")
    );
    let _gate = house.gate_at(&address, &cassette, house.home.join("log.jsonl"));
    let rest: Vec<String> = lines.collect();
    let output = flower.wait_with_output().unwrap();
    assert!(output.status.success(), "{rest:#?}");
    let news: Vec<&String> = rest.iter().filter(|line| line.starts_with('~')).collect();
    assert_eq!(news, [&format!("~ {address} can be reached again; going on")]);
    assert_eq!(stdout(&output), "at last\n");
}

#[test]
fn a_network_that_stays_away_ends_the_run_with_75_and_the_same_command_goes_on() {
    let house = House::new();
    let address = free_address();
    let mut away = house.flower(&["go", "do it"]);
    let output = ends_with(away.env("FLOWER_GATE", format!("http://{address}")), 75);
    let said = stdout(&output);
    assert_eq!(said.matches("cannot be reached; waiting").count(), 1, "{said}");
    assert!(said.contains("could not be reached for 0 s"), "{said}");
    let gate = house.gate(&rules(&[CLARIFY, GOAL, WORK, ACHIEVED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it"]), 0);
}

#[test]
fn an_overload_is_outlived_though_it_lasts_longer_than_the_attempts() {
    let house = House::new();
    let gate = house.gate(&format!(
        "  - match: {{step: ad-hoc}}\n    times: 30\n    error: {{status: 529, type: overloaded_error, message: Overloaded}}\n{ANSWER}"
    ));
    let mut run = house.flower_at(&gate, &["once", "x"]);
    let output = ends_with(run.env("FLOWER_MAX_OFFLINE", "60"), 0);
    assert!(stdout(&output).contains("at last"));
    assert_eq!(gate.requests().len(), 31);
}

#[test]
fn a_usage_limit_is_not_waited_for_where_that_is_unwanted() {
    let house = House::new();
    let gate = house.gate(
        "  - match: {step: ad-hoc}\n    error: {status: 429, type: rate_limit_error, message: no more today, headers: {retry-after: \"40000\"}}\n",
    );
    let words = ["once", "x", "--no-limit-wait", "--output", "json"];
    let output = ends_with(&mut house.flower_at(&gate, &words), 75);
    let last: serde_json::Value = serde_json::from_str(&stdout(&output)).unwrap();
    assert_eq!(last["class"], "rate_limited");
    assert_eq!(gate.requests().len(), 1);
}

#[test]
fn a_connection_that_breaks_in_a_subagent_does_not_end_its_work() {
    let house = House::new();
    let work = concat!(
        "  - match: {step: work, agent: main, turn: 0}\n    reply:\n",
        "      tools: [{name: Agent, input: {description: do it, prompt: do it, subagent_type: coder}}]\n",
        "  - match: {step: work, agent: coder}\n    reset: mid\n    reply: {text: half}\n",
        "  - match: {step: work, agent: coder}\n    reply: {text: I did it.}\n",
        "  - match: {step: work, agent: main}\n    reply: {text: It is done.}\n",
    );
    let gate = house.gate(&rules(&[CLARIFY, GOAL, work, ACHIEVED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it"]), 0);
    let told =
        gate.requests().iter().any(|request| request["body"].to_string().contains("I did it."));
    assert!(told, "the coordinator hears of it");
}
