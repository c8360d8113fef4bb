//! What a later run knows: papers that people changed, the last verdict, and whose folder it is.

use crate::chain::{ACHIEVED, CLARIFY, GOAL, REFUSED, WORK, rules};
use crate::house::{Gate, House, ends_with, stdout, step_of};

/// The newest message of the step's first request.
fn newest(gate: &Gate, step: &str) -> String {
    let request = gate.requests().into_iter().find(|request| step_of(request) == step);
    let request = request.unwrap_or_else(|| panic!("no request of {step}"));
    request["body"]["messages"].as_array().unwrap().last().unwrap().to_string()
}

#[test]
fn the_last_verdict_is_told_by_the_run_that_goes_on() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY, GOAL, WORK, REFUSED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--rounds", "0"]), 3);
    let gate = house.gate(&rules(&[WORK, ACHIEVED]));
    ends_with(&mut house.flower_at(&gate, &["go"]), 0);
    assert!(newest(&gate, "work").contains("it is missing"), "{}", newest(&gate, "work"));
    ends_with(&mut house.flower_at(&gate, &["go", "--no-goal"]), 0);
    let again = gate.requests().pop().unwrap()["body"]["messages"].as_array().unwrap().len();
    assert!(again >= 5);
    let last = gate.requests().pop().unwrap();
    let last = last["body"]["messages"].as_array().unwrap().last().unwrap().to_string();
    assert!(!last.contains("it is missing"), "told once: {last}");
}

#[test]
fn a_goal_that_is_set_later_is_told() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY, GOAL, WORK, ACHIEVED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--no-goal"]), 0);
    let gate = house.gate(&rules(&[GOAL, WORK, ACHIEVED]));
    ends_with(&mut house.flower_at(&gate, &["go"]), 0);
    assert!(newest(&gate, "work").contains("done.txt exists"), "{}", newest(&gate, "work"));
}

#[test]
fn papers_that_a_person_changed_are_followed() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY, GOAL, WORK, ACHIEVED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it"]), 0);
    let brief = house.read(".flower/notes/brief.md");
    house.write(".flower/notes/brief.md", brief.replace("done.txt exists", "done.txt is long"));
    let gate = house.gate(&rules(&[GOAL, WORK, ACHIEVED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it"]), 0);
    assert!(newest(&gate, "goal").contains("done.txt is long"), "the goal is derived again");
    assert!(newest(&gate, "work").contains("done.txt is long"), "{}", newest(&gate, "work"));
    let asked = gate.requests().len();
    let output = ends_with(&mut house.flower_at(&gate, &["go", "do it"]), 0);
    assert!(stdout(&output).contains("achieved before"), "{}", stdout(&output));
    assert_eq!(gate.requests().len(), asked);
}

#[test]
fn the_judge_is_shown_what_a_person_added() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY, GOAL, WORK, ACHIEVED]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--clarify-only"]), 0);
    ends_with(&mut house.flower_at(&gate, &["go", "and be brief"]), 0);
    assert!(newest(&gate, "work.judge").contains("and be brief"));
}

#[test]
fn clear_is_clear() {
    let house = House::new();
    let gate = house.gate(CLARIFY);
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--clarify-only"]), 0);
    let output = ends_with(&mut house.flower_at(&gate, &["go", "--clarify-only"]), 0);
    assert!(stdout(&output).contains("clear before"), "{}", stdout(&output));
    assert_eq!(gate.requests().len(), 1);
}

#[test]
fn two_workspaces_share_a_run_folder_and_each_goes_on() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY, CLARIFY, GOAL, WORK, REFUSED]));
    for folder in ["one", "two"] {
        let words = ["go", folder, "-w", folder, "--rounds", "1"];
        ends_with(&mut house.flower_at(&gate, &words), 3);
    }
    let gate = house.gate(&rules(&[WORK, ACHIEVED]));
    for folder in ["one", "two"] {
        ends_with(&mut house.flower_at(&gate, &["go", folder, "-w", folder]), 0);
        let work = gate.requests().into_iter().rfind(|request| step_of(request) == "work");
        assert_eq!(work.unwrap()["body"]["messages"].as_array().unwrap().len(), 3, "{folder}");
    }
}
