//! Each role does what it is for, and nothing else, whatever the model tries.

use crate::chain::{ACHIEVED, CLARIFY, GOAL, WORK, rules};
use crate::house::{Gate, House, ends_with, stdout, step_of, tool_results};

/// A rule in which a step's first reply calls all these tools at once.
fn tries(matcher: &str, tools: &[(&str, &str)]) -> String {
    let calls: Vec<String> = tools
        .iter()
        .map(|(name, input)| format!("          - {{name: {name}, input: {input}}}\n"))
        .collect();
    format!("  - match: {{{matcher}, turn: 0}}\n    reply:\n      tools:\n{}", calls.concat())
}

const FORBIDDEN: &[(&str, &str)] = &[
    ("Write", "{file_path: planted.txt, content: x}"),
    ("Edit", "{file_path: kept.txt, old_string: kept, new_string: lost}"),
    ("NotebookEdit", "{notebook_path: kept.txt, new_source: x}"),
    ("Bash", "{command: touch planted.txt}"),
    ("Frobnicate", "{anything: goes}"),
    ("mcp__other__tool", "{}"),
];

fn house() -> House {
    let house = House::new();
    house.write("kept.txt", "kept");
    house
}

/// The last results that a request of this step shows the model.
fn results(gate: &Gate, step: &str, main: bool) -> Vec<(String, bool, String)> {
    let request = gate
        .requests()
        .into_iter()
        .rfind(|request| {
            let headers = &request["headers"];
            step_of(request) == step
                && (headers.get("x-claude-code-agent-id").is_none() == main)
                && request["body"].to_string().contains("tool_result")
        })
        .unwrap_or_else(|| panic!("no request of {step} with results"));
    tool_results(&request)
}

fn all_refused(results: &[(String, bool, String)], tools: &[(&str, &str)]) {
    assert_eq!(results.len(), tools.len(), "{results:?}");
    for ((name, is_error, text), (tool, _)) in results.iter().zip(tools) {
        assert_eq!(name, tool);
        assert!(is_error, "{name} was not refused: {text}");
        assert!(text.contains(name.as_str()), "the refusal names the tool: {text}");
    }
}

fn untouched(house: &House) {
    assert_eq!(house.read("kept.txt"), "kept");
    assert!(!house.exists("planted.txt"));
}

#[test]
fn the_clarifier_cannot_write_run_or_dispatch() {
    let house = house();
    let mut tools = FORBIDDEN.to_vec();
    tools.push(("Agent", "{subagent_type: coder, description: d, prompt: p}"));
    let gate = house.gate(&rules(&[&tries("step: clarify", &tools), CLARIFY]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--clarify-only"]), 0);
    all_refused(&results(&gate, "clarify", true), &tools);
    untouched(&house);
    let kinds: Vec<_> = house
        .entries()
        .iter()
        .filter_map(|(_, row)| row["toolDenialKind"].as_str().map(str::to_owned))
        .collect();
    assert_eq!(kinds.len(), tools.len());
    assert!(kinds.iter().all(|kind| kind == "permission-rule"));
}

#[test]
fn the_judge_cannot_write_or_dispatch_and_runs_nothing_unless_allowed() {
    let house = house();
    let mut tools = FORBIDDEN.to_vec();
    tools.push(("Agent", "{subagent_type: coder, description: d, prompt: p}"));
    let gate =
        house.gate(&rules(&[CLARIFY, GOAL, WORK, &tries("step: work.judge", &tools), ACHIEVED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it"]), 0);
    all_refused(&results(&gate, "work.judge", true), &tools);
    untouched(&house);
}

#[test]
fn a_judge_that_may_run_commands_cannot_change_the_project() {
    let house = house();
    let gate = house.gate(&rules(&[
        CLARIFY,
        GOAL,
        WORK,
        &tries(
            "step: work.judge",
            &[
                ("Bash", "{command: 'echo lost > kept.txt; touch planted.txt; chmod 755 kept.txt; cat kept.txt'}"),
                ("Write", "{file_path: planted.txt, content: x}"),
            ],
        ),
        ACHIEVED,
    ]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--judge-can-run"]), 0);
    let results = results(&gate, "work.judge", true);
    assert!(!results[0].1 && results[0].2.contains("lost"), "its copy may change: {results:?}");
    assert!(results[1].1, "it still has no Write");
    untouched(&house);
}

#[test]
fn a_verdict_on_a_workspace_that_changed_meanwhile_does_not_count() {
    let house = house();
    let victim = house.project.join("kept.txt");
    let command = format!("echo changed > {}", victim.display());
    let gate = house.gate(&rules(&[
        CLARIFY,
        GOAL,
        WORK,
        &format!("  - match: {{step: work.judge, turn: 0}}\n    repeat: true\n    reply: {{tools: [{{name: Bash, input: {{command: 'date +%N > {0}; {1}'}}}}]}}\n", victim.display(), command.replace("echo changed", "date +%N")),
        ACHIEVED,
    ]));
    // In the sandbox the write itself fails; the comparison must hold without it.
    let words = ["go", "do it", "--judge-can-run", "--sandbox", "off"];
    let output = house.flower_at(&gate, &words).output().unwrap();
    assert_eq!(output.status.code(), Some(1), "not achieved by a void verdict");
    assert_eq!(
        house.steps(),
        ["clarify", "goal", "work", "work.judge#1", "work.judge#1#retry1", "work.judge#1#retry2"],
        "the judge is asked again, no round of work is burnt"
    );
}

#[test]
fn modes_and_times_that_a_judge_changed_are_put_back_and_its_verdict_does_not_count() {
    use std::os::unix::fs::PermissionsExt;
    let house = house();
    let victim = house.project.join("kept.txt");
    let state = || {
        let about = std::fs::metadata(&victim).unwrap();
        (about.permissions().mode(), about.modified().unwrap())
    };
    let before = state();
    // What the kernel's fence does not cover.
    let gate = house.gate(&rules(&[
        CLARIFY,
        GOAL,
        WORK,
        &format!("  - match: {{step: work.judge, turn: 0}}\n    reply: {{tools: [{{name: Bash, input: {{command: 'chmod 777 {0}; touch -d @1000 {0}'}}}}]}}\n", victim.display()),
        ACHIEVED,
    ]));
    let output = ends_with(&mut house.flower_at(&gate, &["go", "do it", "--judge-can-run"]), 0);
    assert!(stdout(&output).contains("Modes and times of 1 of them were put back."));
    assert_eq!(state(), before);
    let steps = ["clarify", "goal", "work", "work.judge#1", "work.judge#1#retry1"];
    assert_eq!(house.steps(), steps, "the first verdict is void");
}

#[test]
fn the_coordinator_only_glances_and_delegates() {
    let house = house();
    house.git(&["init", "-q"]);
    let mut tools = FORBIDDEN.to_vec();
    tools.push(("Bash", "{command: 'env rm -rf kept.txt'}"));
    tools.push(("Agent", "{subagent_type: nobody, description: d, prompt: p}"));
    tools.push(("Grep", "{pattern: x}"));
    let gate = house.gate(&rules(&[CLARIFY, &tries("step: work, agent: main", &tools), WORK]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--no-goal"]), 0);
    all_refused(&results(&gate, "work", true), &tools);
    untouched(&house);

    let glances = [("Bash", "{command: git status --short}"), ("Read", "{file_path: kept.txt}")];
    let gate = house.gate(&rules(&[CLARIFY, &tries("step: work, agent: main", &glances), WORK]));
    ends_with(&mut house.flower_at(&gate, &["go", "--new", "do it", "--no-goal"]), 0);
    let results = results(&gate, "work", true);
    assert!(results.iter().all(|(_, is_error, _)| !is_error), "{results:?}");
}

#[test]
fn a_subagent_works_but_neither_dispatches_nor_asks() {
    let house = house();
    let dispatch = [("Agent", "{subagent_type: coder, description: d, prompt: do the thing}")];
    let refused = [
        ("Agent", "{subagent_type: coder, description: d, prompt: p}"),
        ("mcp__human__ask", "{question: what?}"),
        ("Frobnicate", "{}"),
    ];
    let mut tools = refused.to_vec();
    tools.push(("Write", "{file_path: done.txt, content: done}"));
    let gate = house.gate(&rules(&[
        CLARIFY,
        &tries("step: work, agent: main", &dispatch),
        &tries("step: work, agent: coder", &tools),
        "  - match: {step: work, agent: coder, turn: 1}\n    reply: {text: It is done.}\n",
        WORK,
    ]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--no-goal"]), 0);
    let results = results(&gate, "work", false);
    all_refused(&results[..3], &refused);
    assert!(!results[3].1, "{results:?}");
    assert_eq!(house.read("done.txt"), "done");
}

#[test]
fn once_uses_only_the_tools_it_was_given() {
    let house = house();
    let gate = house.gate(&rules(&[
        &tries("step: ad-hoc", FORBIDDEN),
        "  - match: {step: ad-hoc, turn: 1}\n    reply: {text: so be it}\n",
    ]));
    ends_with(&mut house.flower_at(&gate, &["once", "x"]), 0);
    all_refused(&results(&gate, "ad-hoc", true), FORBIDDEN);
    untouched(&house);
}
