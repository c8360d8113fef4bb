//! Who: each role's instructions, tools, workers and limits, as plain data.

mod worker;

pub mod prompt;

use minijinja::context;

use crate::language::Language;

pub use worker::{Worker, WorkerOptions, coder, isolated_coder, worker};

/// The tool that asks a person.
pub const ASK: &str = "mcp__human__ask";
/// The tool that reads a person's messages.
pub const INBOX: &str = "mcp__human__inbox";

/// Where a session ends even if the model would go on; nothing means no limit.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Limits {
    /// Turns of the model.
    pub turns: Option<u32>,
    /// US dollars.
    pub budget_usd: Option<f64>,
}

/// What makes a session the one it is.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Role {
    /// `coordinator`, `clarifier`, `judge`, `oracle` or `once`.
    pub name: String,
    /// Appended to the engine's own prompt.
    pub instructions: String,
    /// The closed list of the session's tools.
    pub tools: Vec<String>,
    /// Whether `Bash` on the main thread is held to commands that only look.
    pub glance: bool,
    /// Whether hands-on tools on the main thread are refused: only subagents have them.
    pub delegate_only: bool,
    /// Whether file edits are accepted without asking.
    pub accept_edits: bool,
    /// Whether the workbench's index belongs to the instructions.
    pub workbench_index: bool,
    /// The subagents it may start; without any it has none.
    pub workers: Vec<Worker>,
    /// Limits of one session.
    pub limits: Limits,
}

/// How a coordinator is made.
#[derive(Debug, Clone, PartialEq)]
pub struct CoordinatorOptions {
    /// The language of its instructions.
    pub language: Language,
    /// Its subagents.
    pub workers: Vec<Worker>,
    /// Whether a person can be reached: gives both tools, since one alone is of no use.
    pub channel: bool,
    /// Whether it may read files.
    pub can_read: bool,
    /// Whether it may look around with `Bash`.
    pub glance: bool,
    /// The caller's own instructions, put after the role's.
    pub instructions: String,
}

impl CoordinatorOptions {
    /// A coordinator that can read, glance and reach a person.
    pub fn new(language: Language, workers: Vec<Worker>) -> Self {
        let instructions = String::new();
        Self { language, workers, channel: true, can_read: true, glance: true, instructions }
    }
}

/// Splits the goal, delegates and decides; cannot write or run.
pub fn coordinator(options: CoordinatorOptions) -> Role {
    let CoordinatorOptions { language, workers, channel, can_read, glance, instructions } = options;
    let mut tools = list(&["Agent", "TodoWrite"]);
    let mut add = |wanted: bool, names: &[&str]| {
        if wanted {
            tools.extend(list(names));
        }
    };
    add(can_read, &["Read"]);
    add(glance, &["Bash"]);
    add(channel, &[INBOX, ASK]);
    // A web tool that the session lacks is refused to its subagents too, and a model then tries
    // again and again. Hands-on tools are never taken over.
    for web in ["WebFetch", "WebSearch"] {
        add(workers.iter().any(|worker| worker.tools.iter().any(|tool| tool == web)), &[web]);
    }
    let rules = prompt::COORDINATOR.render(language, context! { glance, channel });
    Role {
        name: "coordinator".to_owned(),
        instructions: join(&rules, &instructions),
        tools,
        glance,
        delegate_only: true,
        accept_edits: true,
        workbench_index: true,
        workers,
        limits: Limits::default(),
    }
}

/// Asks until the request is clear, then writes the brief. Turns stay unlimited, since every
/// question is one.
pub fn clarifier(language: Language, can_read: bool, instructions: &str) -> Role {
    let mut tools = list(&[ASK]);
    if can_read {
        tools.extend(list(&["Read", "Glob", "Grep", "WebFetch", "WebSearch"]));
    }
    let rules = prompt::CLARIFIER.render(language, context! { can_read });
    role("clarifier", join(&rules, instructions), tools)
}

/// Sets the goal and gives the verdict; with `can_run` it works in a throw-away copy.
pub fn judge(language: Language, can_run: bool, instructions: &str) -> Role {
    let mut tools = list(&[ASK, "Read", "Glob", "Grep"]);
    if can_run {
        tools.extend(list(&["Bash"]));
    }
    let rules = prompt::JUDGE.render(language, context! { can_run });
    role("judge", join(&rules, instructions), tools)
}

/// Answers a question beside a run, reading only.
pub fn oracle(language: Language) -> Role {
    let rules = prompt::ORACLE.render(language, context! {});
    let limits = Limits { turns: Some(12), budget_usd: Some(0.5) };
    let role = role("oracle", rules, list(&["Read", "Glob", "Grep"]));
    Role { workbench_index: true, limits, ..role }
}

/// Writes what a run leaves to whoever goes on with another tool, reading only.
pub fn closing(language: Language) -> Role {
    Role { instructions: language.text("role.closing", &[]), ..oracle(language) }
}

/// One agent for one task, with the caller's instructions and tools.
pub fn once(instructions: &str, tools: Vec<String>) -> Role {
    Role { accept_edits: true, ..role("once", instructions.trim().to_owned(), tools) }
}

fn role(name: &str, instructions: String, tools: Vec<String>) -> Role {
    Role { name: name.to_owned(), instructions, tools, ..Role::default() }
}

fn list(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

fn join(first: &str, second: &str) -> String {
    format!("{}\n\n{}", first.trim(), second.trim()).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANGUAGE: Language = Language::English;

    #[test]
    fn a_coordinator_has_no_hands_and_takes_over_only_web_tools() {
        let alone = coordinator(CoordinatorOptions::new(LANGUAGE, vec![]));
        assert_eq!(alone.tools, ["Agent", "TodoWrite", "Read", "Bash", INBOX, ASK]);
        assert!(alone.delegate_only && alone.glance && alone.workbench_index);
        let both = coordinator(CoordinatorOptions::new(LANGUAGE, vec![coder(LANGUAGE)]));
        assert_eq!(both.tools[6..], ["WebFetch", "WebSearch"]);
        assert!(!both.tools.contains(&"Write".to_owned()));
    }

    #[test]
    fn a_coordinator_is_told_only_of_what_it_has() {
        for language in Language::ALL {
            let bare = coordinator(CoordinatorOptions {
                channel: false,
                can_read: false,
                glance: false,
                instructions: " Use make. ".to_owned(),
                ..CoordinatorOptions::new(language, vec![])
            });
            assert_eq!(bare.tools, ["Agent", "TodoWrite"]);
            assert!(
                !bare.instructions.contains("mcp__human") && !bare.instructions.contains("Bash")
            );
            assert!(bare.instructions.ends_with("\n\nUse make."));
            let full = coordinator(CoordinatorOptions::new(language, vec![]));
            assert!(full.instructions.contains(INBOX) && full.instructions.contains("Bash"));
        }
    }

    #[test]
    fn nobody_but_workers_can_write() {
        for language in Language::ALL {
            for role in [
                clarifier(language, true, ""),
                judge(language, true, ""),
                judge(language, false, ""),
                oracle(language),
                closing(language),
            ] {
                assert!(
                    role.tools.iter().all(|t| !["Write", "Edit", "Agent"].contains(&t.as_str()))
                );
                assert!(role.workers.is_empty() && !role.accept_edits);
                assert!(!role.instructions.contains("{"));
            }
        }
        assert_eq!(clarifier(LANGUAGE, false, "").tools, [ASK]);
        assert!(!judge(LANGUAGE, false, "").tools.contains(&"Bash".to_owned()));
        assert_eq!(oracle(LANGUAGE).limits.turns, Some(12));
        assert_eq!(clarifier(LANGUAGE, true, "").limits, Limits::default());
    }

    #[test]
    fn the_english_instructions_are_these() {
        insta::assert_snapshot!(
            "coordinator",
            coordinator(CoordinatorOptions::new(LANGUAGE, vec![])).instructions
        );
        insta::assert_snapshot!("clarifier", clarifier(LANGUAGE, true, "").instructions);
        insta::assert_snapshot!("judge", judge(LANGUAGE, true, "").instructions);
        insta::assert_snapshot!("oracle", oracle(LANGUAGE).instructions);
        insta::assert_snapshot!("coder", coder(LANGUAGE).prompt);
    }
}
