//! Rules for the parts of a chain that a story is not about.

/// A clarifier that asks nothing.
pub(crate) const CLARIFY: &str = concat!(
    "  - match: {step: clarify}\n    reply:\n      text: |-\n",
    "        ## Goal\n        Write done.txt.\n",
    "        ## Acceptance criteria\n        - done.txt exists\n",
    "        ## Boundaries\n        - nothing else is touched\n",
    "        ## Unknowns and assumptions\n        - none\n",
);

/// A judge that sets one check.
pub(crate) const GOAL: &str = concat!(
    "  - match: {step: goal}\n    repeat: true\n    reply:\n      text: |-\n",
    "        ## Goal\n        done.txt is there.\n        ## Checklist\n        - done.txt exists\n",
);

/// A coordinator that reports at once.
pub(crate) const WORK: &str = "  - match: {step: work, agent: main}\n    repeat: true\n    reply: {text: I have looked after it.}\n";

/// A judge that agrees at once.
pub(crate) const ACHIEVED: &str = concat!(
    "  - match: {step: work.judge}\n    repeat: true\n",
    "    reply: {text: \"## Conclusion\\nachieved\\n## Reason\\nit is there\"}\n",
);

/// A judge that never agrees.
pub(crate) const REFUSED: &str = concat!(
    "  - match: {step: work.judge}\n    repeat: true\n",
    "    reply: {text: \"## Conclusion\\nnot achieved\\n## Reason\\nit is missing\\n## Not passed\\n- done.txt exists\"}\n",
);

/// Several parts as one list of rules.
pub(crate) fn rules(parts: &[&str]) -> String {
    parts.concat()
}

/// A coordinator whose first reply gives out these tasks.
pub(crate) fn dispatch(inputs: &[&str]) -> String {
    let calls: Vec<String> = inputs
        .iter()
        .map(|input| {
            format!(
                "          - {{name: Agent, input: {{subagent_type: coder, description: d, {input}}}}}\n"
            )
        })
        .collect();
    let head = "  - match: {step: work, agent: main, turn: 0}\n    reply:\n      tools:\n";
    format!("{head}{}", calls.concat())
}

/// A worker that runs one command, as often as it is asked to, and says so.
pub(crate) fn worker(command: &str) -> String {
    format!(
        "  - match: {{step: work, agent: coder, turn: 0}}\n    repeat: true\n    reply:\n      tools:\n        - name: Bash\n          input: {{command: {command:?}}}\n  - match: {{step: work, agent: coder, turn: 1}}\n    repeat: true\n    reply: {{text: My part is done.}}\n"
    )
}
