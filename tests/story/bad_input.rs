//! Bad input ends with one sentence, the right exit code, and nothing half written.

use crate::chain::{CLARIFY, rules};
use crate::house::{House, ends_with, stderr};

fn one_sentence(said: &str, mentions: &[&str]) {
    assert_eq!(said.trim().lines().count(), 1, "{said}");
    for word in mentions {
        assert!(said.contains(word), "{word} in {said}");
    }
    assert!(!said.contains("panicked") && !said.contains("Backtrace"), "{said}");
}

#[test]
fn an_invalid_cassette_is_refused_with_line_and_column() {
    let house = House::new();
    house.write(
        "bad.yaml",
        "format: flower-cassette/1\nrules:\n  - match: {stepp: x}\n    reply: {text: a}\n",
    );
    let output = ends_with(&mut house.flower(&["gate", "--replay", "bad.yaml"]), 1);
    one_sentence(&stderr(&output), &["bad.yaml", "stepp", "3"]);
    house.write("worse.yaml", "format: [\n");
    let output = ends_with(&mut house.flower(&["gate", "--replay", "worse.yaml"]), 1);
    assert!(stderr(&output).contains("worse.yaml"));
}

#[test]
fn a_port_in_use_is_said() {
    let house = House::new();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    house.write("c.yaml", "format: flower-cassette/1\nrules:\n  - reply: {text: a}\n");
    let output =
        ends_with(&mut house.flower(&["gate", "--replay", "c.yaml", "--listen", &address]), 1);
    one_sentence(&stderr(&output), &[&address]);
}

#[test]
fn a_run_folder_that_cannot_be_written_stops_before_any_request() {
    let house = House::new();
    let gate = house.gate(CLARIFY);
    house.write("runs", "a file in the way");
    for words in [&["go", "x"][..], &["once", "x"][..]] {
        let output = ends_with(&mut house.flower_at(&gate, words), 1);
        one_sentence(&stderr(&output), &["runs"]);
    }
    assert!(gate.requests().is_empty());
    assert_eq!(house.read("runs"), "a file in the way");
}

#[test]
fn a_damaged_manifest_is_left_alone() {
    let house = House::new();
    let gate = house.gate(CLARIFY);
    house.write("runs/manifest.json", "[{\"step\": \"wo");
    for words in [&["go", "x"][..], &["once", "x"][..]] {
        let output = ends_with(&mut house.flower_at(&gate, words), 1);
        one_sentence(&stderr(&output), &["manifest.json", "damaged"]);
    }
    assert!(gate.requests().is_empty());
    assert_eq!(house.read("runs/manifest.json"), "[{\"step\": \"wo");
}

#[test]
fn an_empty_request_is_refused_without_a_request() {
    let house = House::new();
    let gate = house.gate(CLARIFY);
    for words in [&["go", ""][..], &["go", "  "][..], &["go"][..], &["once", " "][..], &[][..]] {
        let output = ends_with(&mut house.flower_at(&gate, words), 1);
        one_sentence(&stderr(&output), &["asked"]);
    }
    assert!(gate.requests().is_empty());
    assert!(!house.exists("runs") && !house.exists(".flower"), "nothing is made for nothing");
}

#[test]
fn a_clarifier_that_leaves_out_a_section_is_asked_once_more_and_then_the_run_ends() {
    let house = House::new();
    let half =
        "  - match: {step: clarify}\n    repeat: true\n    reply: {text: \"## Goal\\nhalf\"}\n";
    let gate = house.gate(half);
    let output = ends_with(&mut house.flower_at(&gate, &["go", "x"]), 1);
    assert_eq!(house.steps(), ["clarify", "clarify#retry1"]);
    let said = crate::house::stdout(&output);
    assert!(said.contains("Boundaries"), "{said}");
    assert!(!house.exists(".flower/notes/brief.md"));

    let gate = house.gate(&rules(&[
        "  - match: {step: clarify, turn: 0}\n    reply: {text: \"## Goal\\nhalf\"}\n",
        CLARIFY,
    ]));
    let house = House::new();
    ends_with(&mut house.flower_at(&gate, &["go", "x", "--clarify-only"]), 0);
    assert!(house.exists(".flower/notes/brief.md"));
}

#[test]
fn a_flag_without_effect_says_where_it_belongs() {
    let house = House::new();
    let output = ends_with(&mut house.flower(&["go", "x", "-W"]), 2);
    one_sentence(&stderr(&output), &["-W", "once"]);
    let output = ends_with(&mut house.flower(&["go", "x", "-T"]), 2);
    one_sentence(&stderr(&output), &["-T", "once"]);
    let output = ends_with(&mut house.flower(&["once", "x", "--no-trim"]), 2);
    one_sentence(&stderr(&output), &["--no-trim", "go"]);
    let output = ends_with(&mut house.flower(&["demo", "-w", "x"]), 2);
    one_sentence(&stderr(&output), &["-w", "go"]);
    ends_with(&mut house.flower(&["report"]), 2);
    ends_with(&mut house.flower(&["go", "--no-such-flag"]), 2);
    ends_with(&mut house.flower(&["run"]), 2);
    let mut other = house.flower(&["once", "x"]);
    let output = ends_with(other.env("FLOWER_ENGINE", "claude"), 2);
    one_sentence(&stderr(&output), &["claude", "native"]);
}

#[test]
fn a_file_that_is_no_database_is_refused() {
    let house = House::new();
    let gate = house.gate(CLARIFY);
    house.write("runs/sessions.db", "this is no database, it only has the name of one".repeat(40));
    let output = ends_with(&mut house.flower_at(&gate, &["once", "x"]), 1);
    one_sentence(&stderr(&output), &["sessions.db"]);
}
