//! flower as process 1 of a container, without a container: a PID namespace is all that it takes.
#![allow(clippy::unwrap_used)]
#![allow(dead_code)] // Not everything that stories share is used here.

#[path = "support/group.rs"]
mod group;
#[path = "story/house.rs"]
mod house;
#[path = "support/mod.rs"]
mod support;

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use house::{Gate, House, ends_with, tool_results};
use rustix::process::{Pid, Signal, kill_process};

/// True where a PID namespace can be made.
fn can() -> bool {
    let made = Command::new("unshare").args(["--pid", "--fork", "--mount-proc", "true"]).output();
    let can = made.is_ok_and(|output| output.status.success());
    if !can {
        support::skip("process 1", "no PID namespace can be made here");
    }
    can
}

/// flower as process 1 of a namespace of its own.
fn first(house: &House, words: &[&str]) -> Command {
    let mut command = house.command("unshare");
    command
        .args(["--pid", "--fork", "--mount-proc", env!("CARGO_BIN_EXE_flower")])
        .args(words)
        .env("FLOWER_RETRY_BASE", "0.01");
    command
}

fn first_at(house: &House, gate: &Gate, words: &[&str]) -> Command {
    let mut command = first(house, words);
    command.env("FLOWER_GATE", &gate.url);
    command
}

/// The only child of a process.
fn child_of(pid: Pid) -> Pid {
    let pid = pid.as_raw_nonzero();
    loop {
        let text = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap();
        if let Some(child) = text.split_whitespace().next() {
            return Pid::from_raw(child.parse().unwrap()).unwrap();
        }
        std::thread::yield_now();
    }
}

/// Process 1 and the flower that does the work.
fn both(unshare: &Child) -> (Pid, Pid) {
    let first = child_of(Pid::from_child(unshare));
    (first, child_of(first))
}

#[test]
fn its_exit_code_is_that_of_the_work() {
    if !can() {
        return;
    }
    let house = House::new();
    ends_with(&mut first(&house, &["--version"]), 0);
    ends_with(&mut first(&house, &["once"]), 2);
    ends_with(&mut first(&house, &["gate", "--check", "http://127.0.0.1:1"]), 1);
}

#[test]
fn signals_reach_the_work() {
    if !can() {
        return;
    }
    let house = House::new();
    let text = "format: flower-cassette/1\nrules:\n  - match: {}\n    reply: {text: hello}\n";
    std::fs::write(house.home.join("c.yaml"), text).unwrap();
    let cassette = house.home.join("c.yaml").display().to_string();
    let words = ["gate", "--listen", "127.0.0.1:0", "--replay", &cassette];
    for (signal, code) in
        [(Signal::TERM, 0), (Signal::INT, 0), (Signal::HUP, 129), (Signal::QUIT, 131)]
    {
        let mut command = first(&house, &words);
        let mut unshare = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(unshare.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert!(line.starts_with("listening"), "{line}");
        kill_process(both(&unshare).0, signal).unwrap();
        assert_eq!(unshare.wait().unwrap().code(), Some(code), "{signal:?}");
    }
    let mut command = first(&house, &words);
    let mut unshare = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(unshare.stdout.take().unwrap()).read_line(&mut line).unwrap();
    kill_process(both(&unshare).1, Signal::KILL).unwrap();
    assert_eq!(unshare.wait().unwrap().code(), Some(137), "what ended the work is told");
}

#[test]
fn a_work_that_the_memory_limit_ended_says_so() {
    if !can() {
        return;
    }
    let group = match group::Group::new("memory", 80 << 20) {
        Ok(group) => group,
        Err(why) => return support::skip("limits of a control group", &why),
    };
    let house = House::new();
    let gate = house.gate(concat!(
        "  - match: {turn: 0}\n    reply: {tools: [{name: Bash, input: {command: \"head -c 200000000 /dev/zero | tail\"}}]}\n",
        "  - match: {turn: 1}\n    reply: {text: never}\n    delay_ms: 60000\n",
    ));
    let run = first_at(&house, &gate, &["once", "x", "--tools", "Bash"]);
    let mut unshare = group.within(&run).stderr(Stdio::piped()).spawn().unwrap();
    while gate.requests().len() < 2 && unshare.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    // The system has taken the command; had it taken flower, this is what would be seen of it.
    kill_process(both(&unshare).1, Signal::KILL).unwrap();
    let output = unshare.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("flower: Memory is full") && said.contains("80 MiB"), "{said}");
}

#[test]
fn a_terminated_run_ends_with_143_and_saved_records() {
    if !can() {
        return;
    }
    let house = House::new();
    let gate =
        house.gate("  - match: {step: ad-hoc}\n    reply: {text: never}\n    delay_ms: 60000\n");
    let mut unshare = first_at(&house, &gate, &["once", "x"]).spawn().unwrap();
    while gate.requests().is_empty() && unshare.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    kill_process(both(&unshare).0, Signal::TERM).unwrap();
    assert_eq!(unshare.wait().unwrap().code(), Some(143));
    assert_eq!(house.manifest()[0]["error"], "killed-by-signal");
}

/// Two hundred processes that lose their parent and end later. Zombies are processes too, so the count comes
/// down only when they are collected; the command's own status must not be taken by whoever does that.
const ORPHANS: &str = r#"  - match: {step: ad-hoc, turn: 0}
    reply:
      tools:
        - name: Bash
          input:
            command: |
              count() { ls -d /proc/[0-9]* | wc -l; }
              mkfifo end && mkdir started
              before=$(count)
              exec 3<>end
              for n in $(seq 200); do
                  (sh -c 'exec 4<end; : >started/$0; read x <&4' $n 3>&- >/dev/null 2>&1 &)
              done
              while [ "$(ls started | wc -l)" -lt 200 ]; do :; done
              exec 3>&-
              while [ "$(count)" -gt "$before" ]; do :; done
              echo all collected
              exit 7
  - match: {step: ad-hoc, turn: 1}
    reply: {text: done}
"#;

#[test]
fn two_hundred_orphans_leave_no_zombie_and_take_no_status() {
    if !can() {
        return;
    }
    let house = House::new();
    let gate = house.gate(ORPHANS);
    ends_with(&mut first_at(&house, &gate, &["once", "x", "--tools", "Bash"]), 0);
    let requests = gate.requests();
    let (_, _, said) = tool_results(&requests[1]).remove(0);
    assert!(said.contains("Exit code 7") && said.contains("all collected"), "{said}");
}
