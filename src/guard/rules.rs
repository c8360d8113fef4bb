//! The rules of a role: closed lists of tools, asked before every call.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::shell::is_ephemeral;

/// The tool that starts a subagent.
pub const AGENT: &str = "Agent";

const SHELL: &str = "Bash";

/// Stands in every denial that tells a coordinator to delegate, so that a reader of transcripts can
/// count them. It is data, the same in every language and in older records.
pub const DELEGATE_MARKER: &str = "协调者不直接使用";

/// A call that the model wants to make.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool's name as the model wrote it.
    pub tool: &'a str,
    /// The input as the model wrote it.
    pub input: &'a Value,
    /// Where the call comes from.
    pub thread: Thread<'a>,
}

/// Where a call comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Thread<'a> {
    /// The session itself.
    Main,
    /// A subagent.
    Subagent {
        /// The name that [`Rules::agents`] knows it by.
        kind: &'a str,
    },
    /// Nobody can say; such a call is denied.
    Unclear,
}

/// What a role may do. Nothing listed means nothing allowed.
#[derive(Debug, Clone, Default)]
pub struct Rules {
    /// The role's name, for the denials.
    pub role: String,
    /// The main thread only delegates: it neither runs nor writes anything itself.
    pub delegate_only: bool,
    /// With `delegate_only`: it may still run shell commands that only look.
    pub glance: bool,
    /// The tools of the main thread, all of them.
    pub tools: Vec<String>,
    /// The kinds of subagent, each with all of its tools.
    pub agents: BTreeMap<String, Vec<String>>,
    /// The kinds of subagent that work in a worktree of their own.
    pub isolated: BTreeSet<String>,
}

/// The answer to a call.
#[derive(Debug, Clone, PartialEq)]
pub enum Decision {
    /// Yes, as it is.
    Allow,
    /// Yes, with this input instead.
    AllowWith(Value),
    /// No.
    Deny(Denial),
}

/// Why not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Denial {
    /// What the model is told: what was refused, that it is meant so, what to do instead.
    pub text: String,
    /// Which rule it was.
    pub kind: DenialKind,
}

/// The rule that a denial comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DenialKind {
    /// It is not known whose call it is.
    Unclear,
    /// The tool is not on the list.
    NotListed,
    /// The main thread should delegate this.
    Delegate,
    /// There is no such kind of subagent.
    UnknownAgent,
}

impl Rules {
    /// May this call happen?
    pub fn decide(&self, call: &Call<'_>) -> Decision {
        let tools = match call.thread {
            Thread::Main => &self.tools,
            Thread::Subagent { kind } => match self.agents.get(kind) {
                Some(tools) => tools,
                None => return self.unknown_caller(call.tool, kind),
            },
            Thread::Unclear => return self.unclear(call.tool),
        };
        let is_main = call.thread == Thread::Main;
        if is_main && self.delegate_only && is_hands_on(call.tool) {
            let may_look = self.glance && call.tool == SHELL && listed(tools, SHELL);
            let command = call.input.get("command").and_then(Value::as_str);
            return if may_look && command.is_some_and(is_ephemeral) {
                Decision::Allow
            } else {
                self.delegate(call.tool)
            };
        }
        if !listed(tools, call.tool) {
            return if is_main && self.delegate_only && !self.agents.is_empty() {
                self.delegate(call.tool)
            } else {
                self.not_listed(call, tools)
            };
        }
        if call.tool == AGENT { self.dispatch(call) } else { Decision::Allow }
    }

    /// A subagent is started: its kind must be known, and a marked kind gets its own worktree.
    fn dispatch(&self, call: &Call<'_>) -> Decision {
        if self.agents.is_empty() {
            return self.not_listed(call, &[]);
        }
        let Some(input) = call.input.as_object() else {
            return self.unknown_agent("The input of `Agent` is not an object");
        };
        let given = match input.get("subagent_type") {
            None | Some(Value::Null) => None,
            Some(Value::String(kind)) => Some(kind.as_str()),
            Some(_) => return self.unknown_agent("`subagent_type` is not a text"),
        };
        let kind = match (given, self.agents.len()) {
            (Some(kind), _) if self.agents.contains_key(kind) => kind,
            (Some(kind), _) => {
                return self.unknown_agent(&format!("There is no subagent `{kind}`"));
            }
            (None, 1) => self.agents.keys().next().map_or("", String::as_str),
            (None, _) => return self.unknown_agent("`subagent_type` is missing"),
        };
        let mut wanted = input.clone();
        if given.is_none() {
            wanted.insert("subagent_type".into(), json!(kind));
        }
        // A folder and a worktree exclude each other, so whichever the model chose stays.
        let chosen = |key| input.get(key).is_some_and(|value| !is_blank(value));
        if self.isolated.contains(kind) && !chosen("cwd") && !chosen("isolation") {
            wanted.insert("isolation".into(), json!("worktree"));
        }
        if wanted == *input { Decision::Allow } else { Decision::AllowWith(Value::Object(wanted)) }
    }

    fn delegate(&self, tool: &str) -> Decision {
        let looking = if self.glance && tool == SHELL {
            " Here it is only for commands that merely look, such as `git status`, `ls` or `cat`; this \
             one acts, or it cannot be told that it does not."
        } else {
            ""
        };
        deny(
            DenialKind::Delegate,
            format!(
                "The role {role} does not use `{tool}` itself ({DELEGATE_MARKER} {tool}). This is intentional, \
                 not a fault.{looking} Dispatch a subagent with the `Agent` tool instead: give it the goal \
                 and how to tell that it is reached, have long output written to the workbench's \
                 artifacts/, and ask it to reply only with the path and the conclusion.",
                role = self.role,
            ),
        )
    }

    fn not_listed(&self, call: &Call<'_>, tools: &[String]) -> Decision {
        let who = match call.thread {
            Thread::Subagent { kind } => format!("the subagent `{kind}` of the role {}", self.role),
            Thread::Main | Thread::Unclear => format!("the role {}", self.role),
        };
        let has = if tools.is_empty() { "none".to_owned() } else { tools.join(", ") };
        deny(
            DenialKind::NotListed,
            format!(
                "`{}` is not among the tools of {who} (it has: {has}). This is intentional, not a \
                 fault; there is no way around it. Put your conclusion in the reply instead.",
                call.tool
            ),
        )
    }

    fn unknown_agent(&self, why: &str) -> Decision {
        let kinds: Vec<&str> = self.agents.keys().map(String::as_str).collect();
        deny(
            DenialKind::UnknownAgent,
            format!(
                "{why}. This is intentional: the role {} has only these: {}. Call `Agent` again with \
                 `subagent_type` set to one of them.",
                self.role,
                kinds.join(", ")
            ),
        )
    }

    fn unknown_caller(&self, tool: &str, kind: &str) -> Decision {
        deny(
            DenialKind::UnknownAgent,
            format!(
                "`{tool}` was refused: the role {} has no subagent `{kind}`, so it may use no tool. This \
                 is intentional. Put your conclusion in the reply instead.",
                self.role
            ),
        )
    }

    fn unclear(&self, tool: &str) -> Decision {
        deny(
            DenialKind::Unclear,
            format!(
                "`{tool}` was refused: it is not clear whether the role {} or one of its subagents calls \
                 it. This is intentional. Put your conclusion in the reply instead.",
                self.role
            ),
        )
    }
}

/// Tools that change something; a role that only delegates never uses them, listed or not.
fn is_hands_on(tool: &str) -> bool {
    matches!(tool, SHELL | "Write" | "Edit" | "MultiEdit" | "NotebookEdit")
}

fn listed(tools: &[String], tool: &str) -> bool {
    tools.iter().any(|known| known == tool)
}

fn is_blank(value: &Value) -> bool {
    value.is_null() || value.as_str() == Some("")
}

fn deny(kind: DenialKind, text: String) -> Decision {
    Decision::Deny(Denial { text, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(tools: &[&str]) -> Vec<String> {
        tools.iter().map(|tool| (*tool).to_owned()).collect()
    }

    fn coordinator() -> Rules {
        Rules {
            role: "coordinator".into(),
            delegate_only: true,
            glance: true,
            tools: names(&["Agent", "TodoWrite", "Read", "Bash", "mcp__human__ask"]),
            agents: BTreeMap::from([("coder".into(), names(&["Read", "Write", "Bash"]))]),
            isolated: BTreeSet::new(),
        }
    }

    fn clarifier() -> Rules {
        Rules {
            role: "clarifier".into(),
            tools: names(&["mcp__human__ask", "Read", "Glob", "Grep"]),
            ..Rules::default()
        }
    }

    fn ask(rules: &Rules, tool: &str, input: Value, thread: Thread<'_>) -> Decision {
        rules.decide(&Call { tool, input: &input, thread })
    }

    fn main(rules: &Rules, tool: &str, input: Value) -> Decision {
        ask(rules, tool, input, Thread::Main)
    }

    fn kind(decision: Decision) -> DenialKind {
        match decision {
            Decision::Deny(denial) => denial.kind,
            other => panic!("{other:?}"),
        }
    }

    fn text(decision: Decision) -> String {
        match decision {
            Decision::Deny(denial) => denial.text,
            other => panic!("{other:?}"),
        }
    }

    const CODER: Thread<'static> = Thread::Subagent { kind: "coder" };

    #[test]
    fn a_coordinator_may_glance_but_not_act() {
        let rules = coordinator();
        assert_eq!(main(&rules, "Bash", json!({"command": "git status"})), Decision::Allow);
        for input in [json!({"command": "make"}), json!({}), json!(null), json!({"command": 1})] {
            assert_eq!(kind(main(&rules, "Bash", input)), DenialKind::Delegate);
        }
        for tool in ["Write", "Edit", "NotebookEdit", "MultiEdit"] {
            assert_eq!(kind(main(&rules, tool, json!({}))), DenialKind::Delegate);
        }
    }

    #[test]
    fn a_tool_that_acts_is_refused_even_where_it_is_listed() {
        let mut rules = coordinator();
        rules.tools.push("Write".into());
        assert_eq!(kind(main(&rules, "Write", json!({}))), DenialKind::Delegate);
    }

    #[test]
    fn without_glances_not_even_a_look_passes() {
        let off = Rules { glance: false, ..coordinator() };
        assert_eq!(kind(main(&off, "Bash", json!({"command": "ls"}))), DenialKind::Delegate);
        let unlisted = Rules { tools: names(&["Agent"]), ..coordinator() };
        assert_eq!(kind(main(&unlisted, "Bash", json!({"command": "ls"}))), DenialKind::Delegate);
    }

    #[test]
    fn the_denial_says_what_to_do_instead() {
        let denial = text(main(&coordinator(), "Write", json!({})));
        for part in [
            "Write",
            "coordinator",
            "intentional",
            "Agent",
            "goal",
            "artifacts/",
            "path",
            "conclusion",
            DELEGATE_MARKER,
        ] {
            assert!(denial.contains(part), "{part}: {denial}");
        }
        let denial = text(main(&clarifier(), "Bash", json!({"command": "ls"})));
        for part in ["Bash", "clarifier", "intentional", "conclusion", "reply"] {
            assert!(denial.contains(part), "{part}: {denial}");
        }
        assert!(!denial.contains(DELEGATE_MARKER));
    }

    #[test]
    fn a_list_is_closed_to_every_other_name() {
        let rules = clarifier();
        assert_eq!(main(&rules, "Read", json!({})), Decision::Allow);
        for tool in [
            "Bash",
            "Write",
            "Edit",
            "NotebookEdit",
            "WebFetch",
            "read",
            "Read ",
            "",
            "Frobnicate",
            "mcp__x__y",
        ] {
            assert_eq!(
                kind(main(&rules, tool, json!({"command": "ls"}))),
                DenialKind::NotListed,
                "{tool}"
            );
        }
        assert_eq!(kind(main(&coordinator(), "Frobnicate", json!({}))), DenialKind::Delegate);
    }

    #[test]
    fn a_judge_that_may_run_runs_anything() {
        let rules =
            Rules { role: "judge".into(), tools: names(&["Read", "Bash"]), ..Rules::default() };
        assert_eq!(main(&rules, "Bash", json!({"command": "make test"})), Decision::Allow);
    }

    #[test]
    fn a_subagent_has_its_own_list() {
        let rules = coordinator();
        assert_eq!(ask(&rules, "Bash", json!({"command": "make"}), CODER), Decision::Allow);
        assert_eq!(ask(&rules, "Write", json!({}), CODER), Decision::Allow);
        for tool in ["Agent", "mcp__human__ask", "TodoWrite", "Frobnicate"] {
            assert_eq!(kind(ask(&rules, tool, json!({}), CODER)), DenialKind::NotListed, "{tool}");
        }
    }

    #[test]
    fn an_unknown_place_is_denied() {
        let rules = coordinator();
        let stranger = Thread::Subagent { kind: "stranger" };
        assert_eq!(kind(ask(&rules, "Read", json!({}), stranger)), DenialKind::UnknownAgent);
        assert_eq!(kind(ask(&rules, "Read", json!({}), Thread::Unclear)), DenialKind::Unclear);
        let of_clarifier = Thread::Subagent { kind: "coder" };
        assert_eq!(
            kind(ask(&clarifier(), "Read", json!({}), of_clarifier)),
            DenialKind::UnknownAgent
        );
    }

    #[test]
    fn rules_without_anything_allow_nothing() {
        let rules = Rules::default();
        for tool in ["Read", "Agent", "", "Bash"] {
            assert_eq!(kind(main(&rules, tool, json!({"command": "ls"}))), DenialKind::NotListed);
        }
    }

    #[test]
    fn a_dispatch_names_a_known_subagent() {
        let rules = coordinator();
        let named = json!({"subagent_type": "coder", "prompt": "x"});
        assert_eq!(main(&rules, "Agent", named), Decision::Allow);
        for input in [
            json!({"subagent_type": "general-purpose"}),
            json!({"subagent_type": 1}),
            json!({"subagent_type": ""}),
            json!([]),
        ] {
            assert_eq!(kind(main(&rules, "Agent", input)), DenialKind::UnknownAgent);
        }
    }

    #[test]
    fn a_missing_kind_is_filled_in_where_there_is_no_choice() {
        let mut rules = coordinator();
        assert_eq!(
            main(&rules, "Agent", json!({"prompt": "x"})),
            Decision::AllowWith(json!({"prompt": "x", "subagent_type": "coder"}))
        );
        rules.agents.insert("tester".into(), Vec::new());
        assert_eq!(kind(main(&rules, "Agent", json!({"prompt": "x"}))), DenialKind::UnknownAgent);
    }

    #[test]
    fn a_role_without_subagents_starts_none() {
        let rules = Rules { agents: BTreeMap::new(), ..coordinator() };
        let decision = main(&rules, "Agent", json!({"subagent_type": "coder"}));
        assert_eq!(kind(decision), DenialKind::NotListed);
    }

    #[test]
    fn a_marked_subagent_gets_a_worktree_unless_the_model_chose() {
        let mut rules = coordinator();
        rules.isolated.insert("coder".into());
        rules.agents.insert("reader".into(), Vec::new());
        let input = json!({"subagent_type": "coder", "cwd": "", "isolation": null});
        let Decision::AllowWith(with) = main(&rules, "Agent", input) else { panic!("not changed") };
        assert_eq!(with["isolation"], "worktree");
        for input in [
            json!({"subagent_type": "coder", "cwd": "/x"}),
            json!({"subagent_type": "coder", "isolation": "none"}),
            json!({"subagent_type": "reader"}),
        ] {
            assert_eq!(main(&rules, "Agent", input), Decision::Allow);
        }
    }
}
