//! However a run ends: the right exit code, one line for machines, and nothing lost or left behind.

use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Stdio};

use serde_json::Value;

use crate::chain::{ACHIEVED, CLARIFY, GOAL, WORK, rules};
use crate::house::{Gate, House, ends_with, shown, stderr, stdout};

/// The only line of stdout under `--output json`.
fn last_line(text: &str) -> Value {
    assert_eq!(text.lines().count(), 1, "{text:?}");
    serde_json::from_str(text).unwrap()
}

fn until(gate: &Gate, requests: usize, run: &mut Child) {
    while gate.requests().len() < requests && run.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
}

fn signal(run: &Child, signal: rustix::process::Signal) {
    rustix::process::kill_process(rustix::process::Pid::from_child(run), signal).unwrap();
}

#[test]
fn a_run_that_cannot_begin_ends_with_one_line_for_machines_too() {
    let house = House::new();
    let gate = house.gate(CLARIFY);
    for (file, text, class, words) in [
        ("none", "", "nothing_asked", &["go", ""][..]),
        ("none", "", "no_session", &["once", "x", "--resume", "nope"]),
        ("runs/manifest.json", "[{", "environment", &["go", "x"]),
        ("runs/manifest.json", "[{", "environment", &["once", "x"]),
        ("runs/lineage.json", "{\"steps\":", "records", &["go", "x"]),
    ] {
        let _ = std::fs::remove_dir_all(house.project.join("runs"));
        house.write(file, text);
        for format in ["json", "stream-json"] {
            let mut run = house.flower_at(&gate, words);
            let output = ends_with(run.args(["--output", format]).env("RUST_BACKTRACE", "1"), 1);
            let end = last_line(&stdout(&output));
            assert_eq!(end["kind"], "end", "{words:?}");
            assert_eq!(end["class"], class, "{words:?}");
            assert_eq!(end["exit_code"], 1);
            assert!(!stderr(&output).contains("backtrace"), "{}", stderr(&output));
            assert_eq!(house.read(file), text, "left alone");
        }
    }
    let output = ends_with(&mut house.flower(&["once", "x", "--output", "json"]), 1);
    assert_eq!(last_line(&stdout(&output))["class"], "credentials");
    assert_eq!(stderr(&output).lines().count(), 4, "{}", stderr(&output));
    let output = ends_with(&mut house.flower(&["go", "x", "-W", "--output", "json"]), 2);
    assert_eq!(last_line(&stdout(&output))["class"], "usage");
    assert!(gate.requests().is_empty());
}

#[test]
fn a_damaged_lineage_is_kept_by_beginning_anew() {
    let house = House::new();
    let gate = house.gate(CLARIFY);
    house.write("runs/lineage.json", "{\"steps\":");
    let words = ["go", "x", "--clarify-only"];
    let output = ends_with(&mut house.flower_at(&gate, &words), 1);
    assert!(stderr(&output).contains("lineage.json is damaged"), "{}", stderr(&output));
    ends_with(house.flower_at(&gate, &words).arg("--new"), 0);
    let archive = house.project.join(".flower/notes/archive");
    let stamp = std::fs::read_dir(archive).unwrap().next().unwrap().unwrap().path();
    assert_eq!(std::fs::read_to_string(stamp.join("lineage.json")).unwrap(), "{\"steps\":");
}

#[test]
fn an_interrupted_run_says_so_keeps_what_was_paid_and_leaves_no_process() {
    for (signal_sent, code) in [
        (rustix::process::Signal::TERM, 15),
        (rustix::process::Signal::HUP, 1),
        (rustix::process::Signal::INT, 2),
    ] {
        let house = House::new();
        let gate = house.gate(&rules(&[
            CLARIFY,
            "  - match: {step: work, agent: main}\n    reply:\n      tools: [{name: Agent, input: {subagent_type: coder, description: d, prompt: p}}]\n      usage: {input_tokens: 100, output_tokens: 10}\n",
            "  - match: {step: work, agent: coder}\n    reply: {tools: [{name: Bash, input: {command: 'echo $$ > pid.part; mv pid.part pid; sleep 600; true'}}]}\n",
        ]));
        let words = ["go", "do it", "--no-goal", "--output", "json"];
        let mut run = house.flower_at(&gate, &words).stdout(Stdio::piped()).spawn().unwrap();
        while !house.exists("pid") && run.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        signal(&run, signal_sent);
        let output = run.wait_with_output().unwrap();
        assert_eq!(output.status.signal(), Some(code));
        let end = last_line(&stdout(&output));
        assert_eq!(end["outcome"], "interrupted");
        assert_eq!(end["exit_code"], 128 + code);
        let row = house.manifest().pop().unwrap();
        assert_eq!(row["error"], "killed-by-signal");
        assert_eq!(row["num_turns"], 1, "the reply that was paid for is booked");
        let shell: i32 = house.read("pid").trim().parse().unwrap();
        let pid = rustix::process::Pid::from_raw(shell).unwrap();
        // A killed process is a zombie until whoever adopted it has looked.
        while rustix::process::test_kill_process(pid).is_ok() {
            let state = std::fs::read_to_string(format!("/proc/{shell}/stat")).unwrap_or_default();
            if state.contains(") Z") {
                break;
            }
            std::thread::yield_now();
        }
    }
}

#[test]
fn what_patience_cannot_outlast_ends_with_code_75() {
    let house = House::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let words = ["once", "x", "--output", "json"];
    let mut run = house.flower(&words);
    run.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_BASE_URL", &url);
    let output = ends_with(&mut run, 75);
    assert_eq!(last_line(&stdout(&output))["class"], "network");
    let row = &house.manifest()[0];
    assert_eq!(row["attempts"], 1, "nothing is tried that cannot be reached");
    assert!(row["error"].as_str().unwrap().contains(" could not be reached for "), "{row}");
    for (status, kind, class) in
        [(529, "overloaded_error", "overloaded"), (429, "rate_limit_error", "rate_limited")]
    {
        let gate = house.gate(&format!(
            "  - match: {{step: ad-hoc}}\n    repeat: true\n    error: {{status: {status}, type: {kind}, message: later}}\n"
        ));
        let output = ends_with(&mut house.flower_at(&gate, &words), 75);
        assert_eq!(last_line(&stdout(&output))["class"], class);
    }
}

#[test]
fn a_network_lost_while_judging_is_given_up_once_not_three_times() {
    let house = House::new();
    let gate = house.gate(&rules(&[
        CLARIFY,
        GOAL,
        WORK,
        "  - match: {step: work.judge}\n    repeat: true\n    error: {status: 529, type: overloaded_error, message: later}\n",
    ]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it"]), 75);
    assert_eq!(house.steps(), ["clarify", "goal", "work", "work.judge#1"]);
}

#[test]
fn a_limit_counts_all_steps_and_is_said_as_it_was_given() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY, GOAL, WORK, ACHIEVED]));
    let words = ["go", "do it", "--max-turns", "2", "--output", "json"];
    let output = ends_with(&mut house.flower_at(&gate, &words), 5);
    let end = last_line(&stdout(&output));
    assert_eq!(end["class"], "turns");
    assert_eq!(end["num_turns"], 2);
    assert!(end["message"].as_str().unwrap().contains("limit of 2 replies"), "{end}");
    assert_eq!(gate.requests().len(), 2);
    ends_with(&mut house.flower_at(&gate, &["go", "do it"]), 0);
    let work = gate.requests().into_iter().nth(2).unwrap();
    assert_eq!(work["body"]["messages"].as_array().unwrap().len(), 1, "nothing half said before");
    let output = ends_with(&mut house.flower_at(&gate, &["once", "x", "-b", "0"]), 5);
    assert!(stderr(&output).contains("$0.00"), "{}", stderr(&output));
}

#[test]
fn an_unclear_judge_costs_no_round_of_work() {
    let house = House::new();
    let unclear = "  - match: {step: work.judge}\n    repeat: true\n    reply: {text: I have looked at it.}\n";
    let gate = house.gate(&rules(&[CLARIFY, GOAL, WORK, unclear]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it"]), 1);
    let works = house.steps().iter().filter(|step| *step == "work").count();
    assert_eq!((works, house.steps().len()), (1, 6), "{:?}", house.steps());
    assert!(gate.requests().iter().all(|request| !shown(request).contains("round2")));
}

#[test]
fn the_demo_says_what_it_misses() {
    let house = House::new();
    house.write("taken", "a file in the way");
    let output = ends_with(&mut house.flower(&["demo", "taken/demo"]), 1);
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    let output = ends_with(house.flower(&["demo", "new"]).env("PATH", "/nowhere"), 1);
    assert!(stderr(&output).contains("git"), "{}", stderr(&output));
    assert!(!house.exists("new"), "nothing is left behind");
    let output = ends_with(house.flower(&["demo"]).env("TMPDIR", house.project.join("taken")), 1);
    assert!(stderr(&output).contains("taken"), "{}", stderr(&output));
    assert!(!house.exists("flower-demo/runs/manifest.json"), "no model was asked before");
}

#[test]
fn nobody_who_listens_is_no_reason_to_fail() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY]));
    for words in [&["go", "do it", "--clarify-only", "--sandbox", "off"][..], &["config"][..]] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = ends_with(house.flower_at(&gate, words).stdout(writer), 0);
        assert_eq!(stderr(&output), "", "{words:?}");
    }
}

#[test]
fn closed_streams_are_like_nobody_there() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY]));
    let mut run = house.command("sh");
    run.args(["-c", "exec \"$0\" go 'do it' --clarify-only <&- >&- 2>&-"])
        .arg(env!("CARGO_BIN_EXE_flower"))
        .env("FLOWER_GATE", &gate.url);
    ends_with(&mut run, 0);
    assert!(house.exists(".flower/notes/brief.md"));
}

#[test]
fn a_session_in_use_is_not_resumed_by_once() {
    let house = House::new();
    let slow = "  - match: {step: ad-hoc}\n    reply: {text: never}\n    delay_ms: 60000\n";
    let gate = house.gate(slow);
    let mut first = house.flower_at(&gate, &["once", "x"]).spawn().unwrap();
    until(&gate, 1, &mut first);
    let db = rusqlite::Connection::open(house.project.join("runs/sessions.db")).unwrap();
    let id: String =
        db.query_row("SELECT session_id FROM summaries", [], |row| row.get(0)).unwrap();
    let output = ends_with(&mut house.flower_at(&gate, &["once", "y", "--resume", &id]), 1);
    assert!(stderr(&output).contains(&id), "{}", stderr(&output));
    signal(&first, rustix::process::Signal::KILL);
    first.wait().unwrap();
    let gate = house.gate("  - match: {step: ad-hoc}\n    reply: {text: now}\n");
    ends_with(&mut house.flower_at(&gate, &["once", "y", "--resume", &id]), 0);
}
