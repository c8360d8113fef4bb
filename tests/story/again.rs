//! The same command again goes on; a new request is a remark; `--new` begins anew.

use crate::chain::{ACHIEVED, CLARIFY, GOAL, REFUSED, WORK, rules};
use crate::house::{House, ends_with, shown, stdout, step_of};

#[test]
fn what_was_achieved_is_said_again_without_a_request() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY, GOAL, WORK, ACHIEVED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it"]), 0);
    for name in ["brief.md", "goal.md", "questions.md"] {
        assert!(house.exists(&format!(".flower/notes/{name}")), "{name}");
    }
    let before = gate.requests().len();
    for words in [&["go", "do it"][..], &["go"][..]] {
        let output = ends_with(&mut house.flower_at(&gate, words), 0);
        assert!(stdout(&output).contains("achieved before"), "{}", stdout(&output));
    }
    assert_eq!(gate.requests().len(), before);
    assert_eq!(house.steps(), ["clarify", "goal", "work", "work.judge#1"]);
}

#[test]
fn what_was_not_achieved_goes_on_in_the_same_conversation() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY, GOAL, WORK, REFUSED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--rounds", "1"]), 3);
    let gate = house.gate(&rules(&[WORK, ACHIEVED]));
    let output = ends_with(&mut house.flower_at(&gate, &["go", "do it", "--rounds", "1"]), 0);
    assert!(stdout(&output).contains("Going on in"), "the wake line: {}", stdout(&output));
    let request = &gate.requests()[0];
    assert!(request["body"]["messages"].as_array().unwrap().len() >= 3, "the old conversation");
    let rows = house.manifest();
    assert_eq!(rows[2]["session_id"], rows[4]["session_id"]);
    assert_eq!(rows[4]["resumed"], true);
    let lineage: serde_json::Value =
        serde_json::from_str(&house.read("runs/lineage.json")).unwrap();
    assert_eq!(lineage["asks"], serde_json::json!(["do it"]));
    assert_eq!(lineage["woke"], 2);
}

#[test]
fn what_a_model_reads_stays_in_the_language_in_which_the_work_began() {
    let house = House::new();
    let gate = house.gate(CLARIFY);
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--clarify-only", "--lang", "ru"]), 0);
    let broken = "  - match: {step: goal}\n    error: {status: 529, type: overloaded_error, message: later}\n";
    let gate = house.gate(&rules(&[broken, GOAL, WORK, ACHIEVED]));
    let output = ends_with(&mut house.flower_at(&gate, &["go", "do it", "--lang", "en"]), 0);
    assert!(stdout(&output).contains("trying again"), "the person's own: {}", stdout(&output));
    let again = &gate.requests()[1];
    assert!(shown(again).contains("Работа была прервана"), "{}", shown(again));
}

#[test]
fn a_rejected_round_is_sent_back_with_the_reason_and_only_so_often() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY, GOAL, WORK, REFUSED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--rounds", "2"]), 3);
    assert_eq!(
        house.steps(),
        ["clarify", "goal", "work", "work.judge#1", "work#round2", "work.judge#2"]
    );
    let sent_back = gate
        .requests()
        .into_iter()
        .find(|r| r["headers"]["x-flower-step"] == "work#round2")
        .unwrap();
    assert!(shown(&sent_back).contains("it is missing"));
    assert!(shown(&sent_back).contains("done.txt exists"));
}

#[test]
fn a_new_request_is_a_remark_in_three_places() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY, GOAL, WORK, ACHIEVED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it"]), 0);
    let before = gate.requests().len();
    ends_with(&mut house.flower_at(&gate, &["go", "also write more.txt"]), 0);
    assert!(house.read(".flower/notes/brief.md").contains("also write more.txt"));
    let requests = gate.requests();
    let of = |step: &str| {
        requests[before..]
            .iter()
            .find(|request| step_of(request) == step)
            .map(shown)
            .unwrap_or_else(|| panic!("no request of {step}"))
    };
    assert!(of("goal").contains("also write more.txt"), "the goal is derived again");
    assert!(of("work").contains("also write more.txt"), "the coordinator is told");
    assert!(requests[before..].iter().all(|r| step_of(r) != "clarify"));
    let lineage: serde_json::Value =
        serde_json::from_str(&house.read("runs/lineage.json")).unwrap();
    assert_eq!(lineage["asks"], serde_json::json!(["do it", "also write more.txt"]));
}

#[test]
fn a_remark_that_a_failed_run_did_not_pass_on_is_not_lost() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY, GOAL, WORK, ACHIEVED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it"]), 0);
    // The goal cannot be derived again: this gate knows nothing of it.
    let gate = house.gate(CLARIFY);
    ends_with(&mut house.flower_at(&gate, &["go", "also write more.txt"]), 1);
    let gate = house.gate(&rules(&[GOAL, WORK, ACHIEVED]));
    ends_with(&mut house.flower_at(&gate, &["go", "also write more.txt"]), 0);
    assert_eq!(house.read(".flower/notes/brief.md").matches("also write more.txt").count(), 1);
    for step in ["goal", "work"] {
        let request = gate.requests().into_iter().find(|r| step_of(r) == step).unwrap();
        let messages = request["body"]["messages"].as_array().unwrap().clone();
        let newest = messages.last().unwrap().to_string();
        assert!(newest.contains("also write more.txt"), "{step}: {newest}");
    }
}

#[test]
fn two_first_runs_at_once_keep_to_their_own_sessions() {
    let house = House::new();
    let slow = CLARIFY.replace("    reply:\n", "    times: 2\n    delay_ms: 1500\n    reply:\n");
    let gate = house.gate(&rules(&[&slow, GOAL, WORK, ACHIEVED]));
    let mut first = house.flower_at(&gate, &["go", "do it"]).spawn().unwrap();
    while gate.requests().is_empty() && first.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let second = ends_with(&mut house.flower_at(&gate, &["go", "do it"]), 0);
    assert!(stdout(&second).contains("fresh one"), "{}", stdout(&second));
    assert_eq!(first.wait().unwrap().code(), Some(0));
    let sessions: std::collections::BTreeSet<String> = house
        .manifest()
        .iter()
        .filter(|row| row["step"] == "clarify")
        .map(|row| row["session_id"].to_string())
        .collect();
    assert_eq!(sessions.len(), 2);
}

#[test]
fn new_archives_and_begins_anew() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY, CLARIFY, GOAL, WORK, ACHIEVED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it"]), 0);
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--new"]), 0);
    let archive = house.project.join(".flower/notes/archive");
    let stamp = std::fs::read_dir(archive).unwrap().next().unwrap().unwrap().path();
    for name in ["brief.md", "goal.md", "lineage.json"] {
        assert!(stamp.join(name).exists(), "{name}");
    }
    assert_eq!(house.steps().iter().filter(|step| *step == "clarify").count(), 2);
}

#[test]
fn a_second_run_does_not_adopt_a_session_in_use() {
    let house = House::new();
    let slow = "  - match: {step: work, agent: main}\n    repeat: true\n    reply: {text: slowly}\n    delay_ms: 3000\n";
    let gate = house.gate(&rules(&[CLARIFY, GOAL, WORK, REFUSED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--rounds", "1"]), 3);
    let gate = house.gate(&rules(&[slow, ACHIEVED]));
    let mut first = house.flower_at(&gate, &["go", "do it"]).spawn().unwrap();
    while gate.requests().is_empty() && first.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let second = house.flower_at(&gate, &["go", "do it"]).output().unwrap();
    assert!(stdout(&second).contains("fresh one"), "{}", stdout(&second));
    assert_eq!(first.wait().unwrap().code(), Some(0));
    let rows = house.manifest();
    let works: Vec<_> = rows.iter().filter(|row| row["step"] == "work").collect();
    assert_eq!(works.len(), 3);
    assert_ne!(works[1]["session_id"], works[2]["session_id"]);
}

#[test]
fn a_killed_run_is_continued_by_the_same_command() {
    let house = House::new();
    let hang =
        "  - match: {step: work, agent: main}\n    reply: {text: never}\n    delay_ms: 60000\n";
    let gate = house.gate(&rules(&[CLARIFY, GOAL, hang]));
    let mut run = house.flower_at(&gate, &["go", "do it"]).spawn().unwrap();
    while gate.requests().len() < 3 && run.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let gate = house.gate(&rules(&[WORK, ACHIEVED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it"]), 0);
    assert!(gate.requests().iter().all(|request| step_of(request).starts_with("work")));
    assert_eq!(house.steps(), ["clarify", "goal", "work", "work.judge#1"]);
    let db = rusqlite::Connection::open(house.project.join("runs/sessions.db")).unwrap();
    let check: String = db.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(check, "ok");
}

#[test]
fn a_terminated_run_saves_its_records_and_dies_by_the_signal() {
    use std::os::unix::process::ExitStatusExt;
    let house = House::new();
    let gate = house.gate(&rules(&[
        CLARIFY,
        "  - match: {step: work, agent: main}\n    reply: {text: never}\n    delay_ms: 60000\n",
    ]));
    let mut run = house.flower_at(&gate, &["go", "do it", "--no-goal"]).spawn().unwrap();
    while gate.requests().len() < 2 && run.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(run.wait().unwrap().signal(), Some(15));
    let rows = house.manifest();
    assert_eq!(rows[0]["step"], "clarify");
    assert_eq!(rows[1]["step"], "work");
    assert_eq!(rows[1]["error"], "killed-by-signal");
    assert!(rows[1]["session_id"].is_string());
}

/// anthropics/anthropic-sdk-python#1598: thinking that was made elsewhere is refused for ever.
#[test]
fn a_conversation_whose_thinking_is_refused_goes_on_without_it() {
    let house = House::new();
    let refused = "  - match: {step: work, agent: main}\n    error: {status: 400, type: invalid_request_error, message: \"messages.1.content.0: Invalid `signature` in `thinking` block\"}\n";
    let thinks =
        "  - match: {step: work, agent: main}\n    reply: {thinking: hm, text: I have thought.}\n";
    let gate = house.gate(&rules(&[CLARIFY, GOAL, thinks, REFUSED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--rounds", "1"]), 3);
    let gate = house.gate(&rules(&[refused, WORK, ACHIEVED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--rounds", "1"]), 0);
    let bodies: Vec<String> =
        gate.requests().iter().map(|request| request["body"].to_string()).collect();
    assert!(bodies[0].contains("\"thinking\":\"hm\""), "{}", bodies[0]);
    assert!(!bodies[1].contains("\"thinking\":\"hm\""), "{}", bodies[1]);
    let row = &house.manifest()[4];
    assert_eq!((&row["step"], &row["attempts"]), (&"work".into(), &1.into()));
}
