//! Picks the rule for a request and counts how often each has served.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::cassette::{Cassette, Rule};
use super::matching::{Comparison, who};
use super::request::Asked;

/// A cassette that is being played.
#[derive(Debug)]
pub(super) struct Script {
    cassette: Cassette,
    served: Mutex<Vec<u64>>,
}

/// What a request asks for: rules with `count_tokens` serve the one, all others the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Message,
    Count,
}

/// The rule that serves, and which serving of which rule this is; both count from 0.
#[derive(Debug, Clone, Copy)]
pub(super) struct Serving<'a> {
    pub(super) rule: &'a Rule,
    pub(super) index: usize,
    pub(super) count: u64,
}

impl Script {
    pub(super) fn new(cassette: Cassette) -> Self {
        let served = Mutex::new(vec![0; cassette.rules.len()]);
        Self { cassette, served }
    }

    pub(super) fn cassette(&self) -> &Cassette {
        &self.cassette
    }

    /// The first rule in file order that holds and may still serve; else why none does.
    pub(super) fn choose(&self, kind: Kind, asked: &Asked) -> Result<Serving<'_>, String> {
        let mut served = self.counts();
        // Fewest differences first, then most matchers that hold, then file order.
        let mut closest: Option<((usize, isize), usize, String)> = None;
        for (index, rule) in self.cassette.rules.iter().enumerate() {
            if kind != kind_of(rule) {
                continue;
            }
            let Comparison { held, mut differences } = Comparison::of(rule, asked);
            let count = served[index];
            if count >= limit(rule) {
                differences.push(exhausted(limit(rule)));
            }
            if differences.is_empty() {
                served[index] += 1;
                return Ok(Serving { rule, index, count });
            }
            let rank = (differences.len(), -(held as isize));
            if closest.as_ref().is_none_or(|(best, ..)| rank < *best) {
                closest = Some((rank, index, differences.swap_remove(0)));
            }
        }
        let nearest = closest.map(|(_, index, difference)| {
            let Rule { name, line, .. } = &self.cassette.rules[index];
            let number = index + 1;
            format!("; closest is rule {number} \"{name}\" (line {line}): {difference}")
        });
        Err(format!("no rule matches {}{}", describe(asked), nearest.unwrap_or_default()))
    }

    /// Names of the rules that have not served at all.
    pub(super) fn unused(&self) -> Vec<String> {
        let served = self.counts();
        let rules = self.cassette.rules.iter().zip(served.iter());
        rules.filter(|(_, count)| **count == 0).map(|(rule, _)| rule.name.clone()).collect()
    }

    fn counts(&self) -> MutexGuard<'_, Vec<u64>> {
        // Counts are whole at any moment, also after a panic elsewhere.
        self.served.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn kind_of(rule: &Rule) -> Kind {
    if rule.count_tokens.is_some() { Kind::Count } else { Kind::Message }
}

fn limit(rule: &Rule) -> u64 {
    match (rule.repeat, rule.times) {
        (true, _) => u64::MAX,
        (false, Some(times)) => u64::from(times.get()),
        (false, None) => 1,
    }
}

fn exhausted(limit: u64) -> String {
    match limit {
        1 => "it has served once already, and neither repeat nor times allows more".to_owned(),
        _ => format!("it has served its {limit} times"),
    }
}

fn describe(asked: &Asked) -> String {
    let label = |value: Option<&str>| value.unwrap_or("none").to_owned();
    format!(
        "this request (step {}, round {}, role {}, agent {}, turn {}, model {}, stream {})",
        label(asked.step.as_deref()),
        asked.round.map_or("none".to_owned(), |round| round.to_string()),
        label(asked.role.as_deref()),
        who(asked),
        asked.conversation.turn,
        asked.conversation.model,
        asked.conversation.stream,
    )
}

#[cfg(test)]
mod tests {
    use super::super::request::Conversation;
    use super::*;

    fn script(rules: &str) -> Script {
        Script::new(
            Cassette::parse(&format!("format: flower-cassette/1\nrules:\n{rules}")).unwrap(),
        )
    }

    fn asked(step: &str, turn: u64) -> Asked {
        let conversation = Conversation { turn, model: "m".to_owned(), ..Conversation::default() };
        Asked { step: Some(step.to_owned()), round: Some(1), conversation, ..Asked::default() }
    }

    fn name(script: &Script, asked: &Asked) -> Option<(String, u64)> {
        let serving = script.choose(Kind::Message, asked).ok()?;
        Some((serving.rule.name.clone(), serving.count))
    }

    #[test]
    fn the_first_in_file_order_serves_once_then_the_next() {
        let script = script(
            "  - {name: a, match: {step: work}, reply: {text: x}}
  - {name: b, times: 2, reply: {text: x}}
  - {name: c, repeat: true, reply: {text: x}}
",
        );
        let mut names = Vec::new();
        for _ in 0..6 {
            names.push(name(&script, &asked("work", 0)).unwrap());
        }
        let want = [("a", 0), ("b", 0), ("b", 1), ("c", 0), ("c", 1), ("c", 2)];
        assert_eq!(names, want.map(|(name, count)| (name.to_owned(), count)));
    }

    #[test]
    fn the_closest_rule_and_the_first_difference_are_named() {
        let script = script(
            "  - {name: far, match: {step: goal, turn: 0}, reply: {text: x}}
  - {name: near, match: {step: work, turn: 2}, reply: {text: x}}
",
        );
        assert_eq!(
            script.choose(Kind::Message, &asked("work", 1)).unwrap_err(),
            "no rule matches this request (step work, round 1, role none, agent main, turn 1, \
             model m, stream false); closest is rule 2 \"near\" (line 4): its turn is 2, the request's is 1"
        );
        assert_eq!(script.unused(), ["far", "near"]);
    }

    #[test]
    fn a_rule_that_has_served_says_so() {
        let script = script("  - {name: a, match: {turn: 0}, reply: {text: x}}\n");
        assert!(name(&script, &asked("work", 0)).is_some());
        let error = script.choose(Kind::Message, &asked("work", 0)).unwrap_err();
        assert!(
            error.ends_with("it has served once already, and neither repeat nor times allows more")
        );
        assert!(script.unused().is_empty());
    }

    #[test]
    fn a_rule_whose_reply_needs_a_missing_result_does_not_serve() {
        let script = script(
            "  - {name: a, reply: {tools: [{name: Write, input: {x: \"${tool_result.Bash}\"}}]}}\n",
        );
        let error = script.choose(Kind::Message, &asked("work", 0)).unwrap_err();
        assert!(error.contains("uses a result of Bash"), "{error}");
    }

    #[test]
    fn counting_and_messages_do_not_meet_each_others_rules() {
        let script = script("  - {name: a, count_tokens: 7}\n  - {name: b, reply: {text: x}}\n");
        assert_eq!(name(&script, &asked("work", 0)).unwrap().0, "b");
        let serving = script.choose(Kind::Count, &asked("work", 0)).unwrap();
        assert_eq!(serving.rule.count_tokens, Some(7));
    }
}
