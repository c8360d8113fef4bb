//! Holds a request against a rule and says, in words, where they differ.

use super::cassette::{Agent, Match, ResultMatch, Rule};
use super::pattern::Pattern;
use super::request::Asked;
use super::template;

/// What came of holding a request against a rule's matchers.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    /// How many given matchers hold.
    pub(super) held: usize,
    /// One clause for each that does not, in the order of the fields.
    pub(super) differences: Vec<String>,
}

impl Comparison {
    pub(super) fn of(rule: &Rule, asked: &Asked) -> Self {
        let mut comparison = Self::default();
        comparison.compare_headers(&rule.when, asked);
        comparison.compare_body(&rule.when, asked);
        let tools = rule.reply.as_ref().map(|reply| reply.tools.as_slice()).unwrap_or_default();
        if let Some(name) = template::missing(tools, asked) {
            let why = format!("its reply uses a result of {name}, and the request has none");
            comparison.differences.push(why);
        }
        comparison
    }

    fn compare_headers(&mut self, when: &Match, asked: &Asked) {
        self.equal("step", when.step.as_deref(), asked.step.as_deref());
        self.equal("role", when.role.as_deref(), asked.role.as_deref());
        self.equal("round", when.round, asked.round);
        if let Some(agent) = &when.agent {
            let (holds, wanted) = match agent {
                Agent::Main => (!asked.is_subagent, "main"),
                Agent::Sub => (asked.is_subagent, "sub"),
                Agent::Type(kind) => (asked.is_agent_type(kind), kind.as_str()),
            };
            self.note(holds, || format!("its agent is {wanted}, the request's is {}", who(asked)));
        }
    }

    fn compare_body(&mut self, when: &Match, asked: &Asked) {
        let conversation = &asked.conversation;
        self.equal("turn", when.turn, Some(conversation.turn));
        let last_user = &conversation.last_user;
        self.contains("the last user message", when.last_user_contains.as_ref(), last_user);
        self.contains("the system prompt", when.system_contains.as_ref(), &conversation.system);
        if let Some(result) = &when.tool_result {
            self.compare_result(result, asked);
        }
        self.equal("model", when.model.as_deref(), Some(conversation.model.as_str()));
        self.equal("stream", when.stream, Some(conversation.stream));
    }

    fn compare_result(&mut self, wanted: &ResultMatch, asked: &Asked) {
        let name = &wanted.name;
        let Some(result) = asked.result(name) else {
            self.note(false, || format!("it wants a result of {name}, and the request has none"));
            return;
        };
        self.note(true, String::new);
        let what = format!("the last result of {name}");
        self.contains(&what, wanted.contains.as_ref(), &result.text);
        if let Some(is_error) = wanted.is_error {
            let word = |is_error| if is_error { "an error" } else { "no error" };
            self.note(result.is_error == is_error, || {
                format!("it wants {what} to be {}, it is {}", word(is_error), word(result.is_error))
            });
        }
    }

    fn equal<T: PartialEq + std::fmt::Display>(
        &mut self,
        name: &str,
        want: Option<T>,
        is: Option<T>,
    ) {
        let Some(want) = want else { return };
        self.note(is.as_ref() == Some(&want), || match is {
            Some(is) => format!("its {name} is {want}, the request's is {is}"),
            None => format!("its {name} is {want}, the request names none"),
        });
    }

    fn contains(&mut self, what: &str, pattern: Option<&Pattern>, text: &str) {
        let Some(pattern) = pattern else { return };
        self.note(pattern.holds(text), || {
            format!(
                "it wants {what} to contain \"{}\", it is \"{}\"",
                pattern.source(),
                start(text)
            )
        });
    }

    fn note(&mut self, holds: bool, difference: impl FnOnce() -> String) {
        if holds {
            self.held += 1;
        } else {
            self.differences.push(difference());
        }
    }
}

/// `main`, the type, or `sub`.
pub(super) fn who(asked: &Asked) -> &str {
    match (asked.is_subagent, asked.agent_type.as_deref()) {
        (false, _) => "main",
        (true, Some(kind)) => kind,
        (true, None) => "sub",
    }
}

/// Enough of a text to recognise it.
fn start(text: &str) -> String {
    const LENGTH: usize = 80;
    let mut out: String = text.chars().take(LENGTH).collect();
    if out.len() < text.len() {
        out.push('…');
    }
    out
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::cassette::Cassette;
    use super::*;

    fn asked(headers: &[(&'static str, &str)], body: &Value) -> Asked {
        let mut map = hyper::HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, value.parse().unwrap());
        }
        Asked::read(&map, body)
    }

    fn rule(when: &str) -> Rule {
        let text = format!(
            "format: flower-cassette/1\nrules: [{{name: r, match: {when}, reply: {{text: x}}}}]"
        );
        Cassette::parse(&text).unwrap().rules.remove(0)
    }

    fn body() -> Value {
        json!({"model": "demo-1", "stream": true, "system": [{"type": "text", "text": "You judge."}],
            "messages": [
                {"role": "user", "content": "worker: count words"},
                {"role": "assistant", "content": [
                    {"type": "tool_use", "id": "1", "name": "Bash", "input": {}}]},
                {"role": "user", "content": [
                    {"type": "tool_result", "tool_use_id": "1", "is_error": true, "content": "2 failed"},
                    {"type": "text", "text": "go on"}]}]})
    }

    #[test]
    fn each_matcher_holds_and_fails_by_itself() {
        let headers = [
            ("x-flower-step", "work#round2"),
            ("x-flower-role", "judge"),
            ("x-flower-agent-id", "a1"),
        ];
        let asked = asked(&headers, &body());
        for (holds, fails) in [
            ("{step: work}", "{step: goal}"),
            ("{role: judge}", "{role: worker}"),
            ("{round: 2}", "{round: 1}"),
            ("{agent: sub}", "{agent: main}"),
            ("{agent: worker}", "{agent: oracle}"),
            ("{turn: 1}", "{turn: 0}"),
            ("{last_user_contains: go on}", "{last_user_contains: 2 failed}"),
            ("{last_user_contains: /^go/}", "{last_user_contains: /^on/}"),
            ("{system_contains: judge}", "{system_contains: work}"),
            ("{tool_result: {name: Bash}}", "{tool_result: {name: Read}}"),
            (
                "{tool_result: {name: Bash, is_error: true}}",
                "{tool_result: {name: Bash, is_error: false}}",
            ),
            (
                "{tool_result: {name: Bash, contains: failed}}",
                "{tool_result: {name: Bash, contains: passed}}",
            ),
            ("{model: demo-1}", "{model: demo-2}"),
            ("{stream: true}", "{stream: false}"),
            ("{}", "{turn: 1, stream: false}"),
        ] {
            let differences = Comparison::of(&rule(holds), &asked).differences;
            assert!(differences.is_empty(), "{holds}: {differences:?}");
            assert_eq!(Comparison::of(&rule(fails), &asked).differences.len(), 1, "{fails}");
        }
    }

    #[test]
    fn a_request_without_headers_meets_only_rules_without_step_role_and_round() {
        let asked = asked(&[], &body());
        for when in ["{step: work}", "{role: judge}", "{round: 1}", "{agent: worker}"] {
            assert_eq!(Comparison::of(&rule(when), &asked).differences.len(), 1, "{when}");
        }
        assert!(Comparison::of(&rule("{agent: main}"), &asked).differences.is_empty());
    }

    #[test]
    fn the_header_wins_over_the_brief() {
        let headers = [("x-claude-code-agent-id", "a1"), ("x-flower-agent-type", "oracle")];
        let asked = asked(&headers, &body());
        assert!(Comparison::of(&rule("{agent: oracle}"), &asked).differences.is_empty());
        assert!(!Comparison::of(&rule("{agent: worker}"), &asked).differences.is_empty());
    }

    #[test]
    fn a_difference_is_a_clause_with_both_sides() {
        let differences =
            Comparison::of(&rule("{step: work, turn: 3}"), &asked(&[], &body())).differences;
        assert_eq!(
            differences,
            ["its step is work, the request names none", "its turn is 3, the request's is 1"]
        );
    }
}
