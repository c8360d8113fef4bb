//! What the model is shown: the workbench's index, and which model is asked.

use crate::chain::{ACHIEVED, CLARIFY, GOAL, WORK, rules};
use crate::house::{House, ends_with, step_of};

const DISPATCH: &str = concat!(
    "  - match: {step: work, agent: main, turn: 0}\n    reply: {tools: [{name: Agent, input: {subagent_type: coder, description: d, prompt: p}}]}\n",
    "  - match: {step: work, agent: coder}\n    reply: {text: done}\n",
);

#[test]
fn the_index_is_in_the_system_prompt_stays_the_same_and_no_subagent_has_it() {
    let house = House::new();
    house.write(".flower/scripts/measure.sh", "# desc: measures everything twice\n");
    let gate = house.gate(&rules(&[CLARIFY, DISPATCH, WORK]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--no-goal"]), 0);
    let work: Vec<_> =
        gate.requests().into_iter().filter(|request| step_of(request) == "work").collect();
    let (subagents, main): (Vec<_>, Vec<_>) = work
        .into_iter()
        .partition(|request| request["headers"].get("x-claude-code-agent-id").is_some());
    let system = main[0]["body"]["system"].clone();
    assert!(system.to_string().contains("measures everything twice"), "{system}");
    assert!(main.iter().all(|request| request["body"]["system"] == system));
    assert_eq!(subagents.len(), 1);
    assert!(!subagents[0]["body"].to_string().contains("measures everything twice"));

    house.write(".flower/scripts/later.sh", "# desc: came later\n");
    let gate = house.gate(WORK);
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--no-goal"]), 0);
    let resumed = &gate.requests()[0]["body"];
    assert_eq!(resumed["system"], system, "byte for byte");
    let messages = resumed["messages"].as_array().unwrap();
    assert!(messages.last().unwrap().to_string().contains("came later"), "told in the newest one");
    assert_eq!(
        messages[..messages.len() - 1]
            .iter()
            .filter(|m| m.to_string().contains("came later"))
            .count(),
        0
    );
}

#[test]
fn every_model_variable_is_obeyed() {
    let house = House::new();
    let gate = house.gate(&rules(&[
        &CLARIFY.replace("{step: clarify}", "{step: clarify, model: m-main}"),
        &GOAL.replace("{step: goal}", "{step: goal, model: m-main}"),
        &DISPATCH
            .replace("agent: main,", "agent: main, model: m-main,")
            .replace("agent: coder}", "agent: coder, model: m-sub}"),
        &WORK.replace("agent: main}", "agent: main, model: m-main}"),
        &ACHIEVED.replace("{step: work.judge}", "{step: work.judge, model: m-main}"),
    ]));
    ends_with(
        house
            .flower_at(&gate, &["go", "do it"])
            .env("ANTHROPIC_MODEL", "m-main")
            .env("CLAUDE_CODE_SUBAGENT_MODEL", "m-sub"),
        0,
    );
    let rule = "  - match: {step: ad-hoc, model: MODEL}\n    reply: {text: yes}\n";
    for (key, value, model) in [
        ("ANTHROPIC_DEFAULT_OPUS_MODEL", "m-opus", "opus"),
        ("ANTHROPIC_DEFAULT_SONNET_MODEL", "m-sonnet", "sonnet"),
        ("ANTHROPIC_DEFAULT_HAIKU_MODEL", "m-haiku", "haiku"),
    ] {
        let gate = house.gate(&rule.replace("MODEL", value));
        let mut run = house.flower_at(&gate, &["once", "x"]);
        ends_with(run.env("ANTHROPIC_MODEL", model).env(key, value), 0);
    }
}
