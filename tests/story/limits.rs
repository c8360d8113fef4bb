//! What becomes of commands that run into a limit of the machine, and who is told.

use crate::group::Group;
use crate::house::{House, ends_with, stderr, stdout, tool_results};
use crate::support::skip;

/// Nothing where the machine does not let us make it; that is said.
fn group(kind: &str, limit: u64) -> Option<Group> {
    Group::new(kind, limit).map_err(|why| skip("limits of a control group", &why)).ok()
}

/// A command, the same again, and the end.
fn twice(command: &str) -> String {
    let call = |turn: usize| {
        format!(
            "  - match: {{turn: {turn}}}\n    reply: {{tools: [{{name: Bash, input: {{command: \"{command}\"}}}}]}}\n"
        )
    };
    format!("{}{}  - match: {{turn: 2}}\n    reply: {{text: done}}\n", call(0), call(1))
}

#[test]
fn a_command_that_eats_all_memory_is_ended_and_flower_says_why() {
    let Some(group) = group("memory", 64 << 20) else { return };
    let house = House::new();
    // `tail` keeps all of a line that never ends.
    let gate = house.gate(&twice("head -c 200000000 /dev/zero | tail"));
    let run = house.flower_at(&gate, &["once", "eat", "--tools", "Bash"]);
    let output = ends_with(&mut group.within(&run), 0);
    assert_eq!(stdout(&output), "done\n");
    let results = tool_results(gate.requests().last().unwrap());
    assert_eq!(results.len(), 2);
    for (_, is_error, text) in results {
        let why = "memory is full (all that runs here together may use 64 MiB)";
        assert!(is_error && text.contains(why), "{text}");
    }
    let told = stderr(&output);
    assert_eq!(told.matches("together may use 64 MiB").count(), 1, "once: {told}");
}

#[test]
fn a_command_that_can_start_no_more_processes_hears_which_limit_it_was() {
    let Some(group) = group("pids", 40) else { return };
    let house = House::new();
    let gate = house
        .gate(&twice("sh -c 'n=0; while [ $n -lt 60 ]; do sleep 60 & n=$((n+1)); done; exit 3'"));
    let run = house.flower_at(&gate, &["once", "fork", "--tools", "Bash"]);
    let output = ends_with(&mut group.within(&run), 0);
    for (_, is_error, text) in tool_results(gate.requests().last().unwrap()) {
        let why = "no more processes can be started (the limit is 40)";
        assert!(is_error && text.contains(why), "{text}");
    }
    assert_eq!(stderr(&output).matches("the limit is 40").count(), 1, "{}", stderr(&output));
}

#[test]
fn the_limits_that_were_found_can_be_looked_at() {
    let house = House::new();
    let text = stdout(&ends_with(&mut house.flower(&["config", "limits"]), 0));
    assert_eq!(text.lines().count(), 8, "{text}");
    assert!(text.contains("FLOWER_PARALLEL"), "{text}");
    let mut run = house.flower(&["config", "limits"]);
    let text = stdout(&ends_with(run.env("FLOWER_PARALLEL", "3"), 0));
    assert!(text.lines().last().unwrap().ends_with("\t3"), "{text}");
    let Some(group) = group("memory", 96 << 20) else { return };
    let text = stdout(&ends_with(&mut group.within(&house.flower(&["config", "limits"])), 0));
    assert!(text.starts_with("memory\t96 MiB\t"), "{text}");
}

#[test]
fn a_crash_leaves_no_core_file_unless_the_command_asks_for_one() {
    let house = House::new();
    let gate = house.gate(&twice("ulimit -c"));
    let mut run = house.flower_at(&gate, &["once", "x", "--tools", "Bash"]);
    // The limit of whoever starts flower may already be nothing.
    run.env("LC_ALL", "C");
    ends_with(&mut run, 0);
    for (_, _, text) in tool_results(gate.requests().last().unwrap()) {
        assert_eq!(text.trim(), "0");
    }
}
