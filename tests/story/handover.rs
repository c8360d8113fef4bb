//! What a run leaves in the project for whoever goes on with another tool.

use std::os::unix::fs::symlink;
use std::process::Command;

use crate::house::{Gate, House, ends_with, stdout};

const CLARIFY: &str = r###"
  - match: {step: clarify}
    repeat: true
    reply: {text: "## Goal\nG\n## Acceptance criteria\n- a\n## Boundaries\n- b\n## Unknowns and assumptions\n- c\n"}
  - match: {step: work}
    repeat: true
    reply: {text: Done.}
"###;

const PAPER: &str = r###"
  - match: {step: handover}
    repeat: true
    reply: {text: "## What this is\nA thing.\n## Acceptance: met and not met\nAll met.\n## Generated files and their sources\n`a.c` by `make a.c`\n## Dead ends\n(none)\n## Workbench\n`.flower`\n"}
"###;

/// The chain without a judge, with the hand-over on.
fn go(house: &House, gate: &Gate, more: &[&str]) -> Command {
    let mut command = house.flower_at(gate, &["go", "--no-goal", "--timeout", "0"]);
    command.args(more).env_remove("FLOWER_NO_HANDOVER");
    command
}

#[test]
fn a_run_that_worked_leaves_the_same_block_in_both_files_and_a_persons_words_stay() {
    let house = House::new();
    house.write("CLAUDE.md", "# Mine\n\nUse tabs.\n");
    let gate = house.gate(&format!("{CLARIFY}{PAPER}"));
    let said = stdout(&ends_with(&mut go(&house, &gate, &["do it"]), 0));
    assert_eq!(house.steps(), ["clarify", "work", "handover"]);
    let line: Vec<&str> =
        said.lines().filter(|line| line.contains("in CLAUDE.md, AGENTS.md")).collect();
    assert_eq!(line.len(), 1, "said once: {said}");
    let (mine, agents) = (house.read("CLAUDE.md"), house.read("AGENTS.md"));
    assert_eq!(mine, format!("# Mine\n\nUse tabs.\n\n{agents}"));
    assert!(agents.starts_with("<!-- flower:begin ") && agents.ends_with("<!-- flower:end -->\n"));
    assert!(agents.contains("`make a.c`") && !agents.contains("Dead ends"), "{agents}");
    let asked = gate.requests();
    let tools = asked.last().unwrap()["body"]["tools"].to_string();
    assert!(tools.contains("\"Read\"") && !tools.contains("Write") && !tools.contains("Bash"));

    // The same again: not a byte differs.
    ends_with(&mut go(&house, &gate, &["and more"]), 0);
    assert_eq!((house.read("CLAUDE.md"), house.read("AGENTS.md")), (mine, agents));
}

#[test]
fn a_run_that_is_told_so_leaves_nothing() {
    let house = House::new();
    let gate = house.gate(&format!("{CLARIFY}{PAPER}"));
    ends_with(&mut go(&house, &gate, &["do it", "--no-handover"]), 0);
    ends_with(go(&house, &gate, &["more"]).env("FLOWER_NO_HANDOVER", "1"), 0);
    ends_with(&mut go(&house, &gate, &["only the brief", "--clarify-only", "--new"]), 0);
    assert!(!house.steps().contains(&"handover".to_owned()));
    assert!(!house.exists("CLAUDE.md") && !house.exists("AGENTS.md"));
}

#[test]
fn where_nobody_can_write_it_a_short_one_says_where_to_look() {
    for (reply, why) in [
        ("reply: {text: That went well.}", "its reply lacks"),
        (
            "error: {status: 400, type: invalid_request_error, message: no such thing}",
            "no such thing",
        ),
    ] {
        let house = House::new();
        let gate = house.gate(&format!(
            "{CLARIFY}  - match: {{step: handover}}\n    repeat: true\n    {reply}\n"
        ));
        ends_with(&mut go(&house, &gate, &["count the words"]), 0);
        let block = house.read("CLAUDE.md");
        assert!(block.contains("[degraded: no hand-over was written]"), "{block}");
        assert!(block.contains(why) && block.contains("count the words"), "{block}");
        assert!(block.contains("`.flower/notes`"), "{block}");
    }
}

#[test]
fn a_used_up_limit_pays_for_no_closing_request() {
    let house = House::new();
    let gate = house.gate(&format!("{CLARIFY}{PAPER}"));
    ends_with(&mut go(&house, &gate, &["do it", "--max-turns", "2"]), 0);
    assert_eq!(house.steps(), ["clarify", "work"]);
    assert!(house.read("AGENTS.md").contains("[degraded"));
}

#[test]
fn a_file_that_is_a_link_stays_one_and_the_run_ends_as_it_would() {
    let house = House::new();
    house.write("TEAM.md", "ours\n");
    symlink("TEAM.md", house.project.join("CLAUDE.md")).unwrap();
    let gate = house.gate(&format!("{CLARIFY}{PAPER}"));
    let said = stdout(&ends_with(&mut go(&house, &gate, &["do it"]), 0));
    assert!(said.contains("CLAUDE.md got no hand-over: it is a link"), "{said}");
    assert_eq!(house.read("TEAM.md"), "ours\n");
    assert!(house.read("AGENTS.md").contains("A thing."));
}

#[test]
fn the_demo_shows_it() {
    let house = House::new();
    ends_with(house.flower(&["demo"]).env_remove("FLOWER_NO_HANDOVER"), 0);
    let base = house.project.join("flower-demo");
    let here = house.at(base);
    assert_eq!(here.steps().last().map(String::as_str), Some("handover"));
    assert!(here.read("wordcount/AGENTS.md").contains("promises.md"));
}
