//! The prompts that flower sends, rendered from the files beside this one.

use minijinja::{Environment, UndefinedBehavior, Value, context};

use crate::language::Language;

/// The files of one prompt, one a language.
pub(super) struct Prompt {
    name: &'static str,
    en: &'static str,
    zh: &'static str,
    ru: &'static str,
}

macro_rules! prompts {
    ($($constant:ident = $name:literal;)*) => {
        $(pub(super) const $constant: Prompt = Prompt {
            name: $name,
            en: include_str!(concat!("prompt/en/", $name, ".md")),
            zh: include_str!(concat!("prompt/zh/", $name, ".md")),
            ru: include_str!(concat!("prompt/ru/", $name, ".md")),
        };)*
        #[cfg(test)]
        const ALL: &[Prompt] = &[$($constant),*];
    };
}

prompts! {
    COORDINATOR = "coordinator";
    WORKER = "worker";
    CODER = "coder";
    CLARIFIER = "clarifier";
    JUDGE = "judge";
    ORACLE = "oracle";
    GOAL_SETTING = "goal_setting";
    VERDICT = "verdict";
    FIRST_WORK = "first_work";
    WAKE_WORK = "wake_work";
    CLARIFY = "clarify";
    CLARIFY_RESUMED = "clarify_resumed";
    MISSING_SECTIONS = "missing_sections";
    INTERRUPT = "interrupt";
    RESUME = "resume";
    HANDOFF = "handoff";
    ORACLE_QUESTION = "oracle_question";
    HANDOVER = "handover";
}

impl Prompt {
    fn source(&self, language: Language) -> &'static str {
        match language {
            Language::English => self.en,
            Language::Chinese => self.zh,
            Language::Russian => self.ru,
        }
    }

    /// Fills the prompt in. Values are never read as templates.
    pub(super) fn render(&self, language: Language, values: Value) -> String {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment
            .render_named_str(self.name, self.source(language), values)
            .expect("the files are built in, and tests render each with the names given here")
            .trim()
            .to_owned()
    }
}

/// Asks the judge for a goal; `brief` is the brief's block, empty when there is none.
pub fn goal_setting(language: Language, brief: &str) -> String {
    let none = language.text("role.no_brief", &[]);
    let brief = if brief.trim().is_empty() { &none } else { brief };
    GOAL_SETTING.render(language, context! { brief })
}

/// Asks the judge for a verdict; `goal` is the goal's block, `report` the worker's last words.
pub fn verdict(language: Language, goal: &str, report: &str) -> String {
    let none = language.text("role.no_report", &[]);
    let report = if report.trim().is_empty() { &none } else { report };
    VERDICT.render(language, context! { goal, report })
}

/// The coordinator's first task; without a goal nobody will judge it.
pub fn first_work(language: Language, brief: &str, goal: Option<&str>) -> String {
    FIRST_WORK.render(language, context! { brief, goal })
}

/// Takes up work again with a person's words (empty: just go on) and a goal if it was renewed.
pub fn wake_work(language: Language, words: &str, new_goal: Option<&str>) -> String {
    WAKE_WORK.render(language, context! { words => words.trim(), new_goal })
}

/// The clarifier's first message: the request as it was said.
pub fn clarify(language: Language, ask: &str) -> String {
    CLARIFY.render(language, context! { ask })
}

/// Continues a clarification that was cut off; `new_words` may be empty.
pub fn clarify_resumed(language: Language, new_words: &str) -> String {
    CLARIFY_RESUMED.render(language, context! { new_words => new_words.trim() })
}

/// After a person interrupted; without words this is [`resume`].
pub fn interrupted(language: Language, words: &str) -> String {
    match words.trim() {
        "" => resume(language),
        words => INTERRUPT.render(language, context! { words }),
    }
}

/// Continues a session that was cut off.
pub fn resume(language: Language) -> String {
    RESUME.render(language, context! {})
}

/// Asks a session whose context is nearly full for a handoff; both numbers are tokens.
pub fn handoff(language: Language, context: u64, window: u64) -> String {
    HANDOFF.render(language, context! { context, window })
}

/// To a reply that lacks sections; `missing` are their names.
pub fn missing_sections(language: Language, missing: &[String]) -> String {
    MISSING_SECTIONS.render(language, context! { missing => missing.join(", ") })
}

/// A question to the oracle, with the newest events (newest last) and the workbench's place.
pub fn oracle_question(
    language: Language,
    question: &str,
    events: &str,
    workbench: &str,
) -> String {
    ORACLE_QUESTION.render(language, context! { question, events, workbench })
}

/// Asks for the hand-over to another tool; `outcome` says how the run ended, `workbench` where it lies.
pub fn handover(language: Language, outcome: &str, workbench: &str) -> String {
    HANDOVER.render(language, context! { outcome, workbench })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::document::{Bequest, Brief, Goal, Handoff, Verdict, VerdictState};

    fn placeholders(source: &str) -> BTreeSet<&str> {
        let parts = source.split('{').skip(1).filter(|part| part.starts_with(['%', ' ']));
        parts.filter_map(|part| part.split_once('}').map(|(inner, _)| inner.trim())).collect()
    }

    #[test]
    fn every_language_has_the_same_files_and_placeholders() {
        for prompt in ALL {
            let english = placeholders(prompt.en);
            for language in Language::ALL {
                let source = prompt.source(language);
                assert_eq!(placeholders(source), english, "{} {language:?}", prompt.name);
                assert!(!source.trim().is_empty());
            }
        }
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/role/prompt");
        let names: BTreeSet<String> = ALL.iter().map(|p| format!("{}.md", p.name)).collect();
        for language in Language::ALL {
            let files = std::fs::read_dir(folder.join(language.code())).unwrap();
            let files: BTreeSet<String> =
                files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
            assert_eq!(files, names);
        }
    }

    #[test]
    fn every_prompt_renders_and_takes_values_as_they_are() {
        let odd = "{{ x }} {% if %} <b> & \"q\"";
        for language in Language::ALL {
            for text in [
                goal_setting(language, odd),
                verdict(language, odd, odd),
                first_work(language, odd, Some(odd)),
                wake_work(language, odd, Some(odd)),
                clarify(language, odd),
                clarify_resumed(language, odd),
                interrupted(language, odd),
                oracle_question(language, odd, odd, odd),
                handover(language, odd, odd),
            ] {
                assert!(text.contains(odd), "{text}");
            }
            let rest = [
                goal_setting(language, ""),
                verdict(language, "g", ""),
                first_work(language, "b", None),
                wake_work(language, "", None),
                clarify_resumed(language, ""),
                resume(language),
                handoff(language, 150_000, 200_000),
            ];
            for text in rest {
                assert!(
                    !text.is_empty() && !text.contains("{{") && !text.contains("role."),
                    "{text}"
                );
            }
            assert_eq!(interrupted(language, " "), resume(language));
        }
    }

    #[test]
    fn the_headings_that_are_asked_for_are_those_that_are_read() {
        for language in Language::ALL {
            let brief = Brief::parse(CLARIFIER.source(language));
            assert!(brief.complete(), "{brief:?}");
            let handoff = Handoff::parse(HANDOFF.source(language));
            let parts =
                [handoff.doing, handoff.decided, handoff.dead_ends, handoff.next, handoff.scene];
            assert!(parts.iter().all(|part| !part.is_empty()), "{parts:?}");
            let paper = Bequest::parse(HANDOVER.source(language));
            let parts =
                [paper.what, paper.acceptance, paper.generated, paper.dead_ends, paper.workbench];
            assert!(parts.iter().all(|part| !part.is_empty()), "{parts:?}");
            let source = GOAL_SETTING.source(language);
            let goal = Goal::parse(source);
            assert!(goal.complete(), "{goal:?}");
            let text = VERDICT.source(language);
            for state in ["document.achieved", "document.not_yet", "document.unreachable"] {
                assert!(text.contains(&language.text(state, &[])), "{language:?} {state}");
            }
            for heading in ["document.conclusion", "document.reason", "document.failed"] {
                assert!(text.contains(&format!("\n## {}\n", language.text(heading, &[]))));
            }
            // The prompt itself, sent back, is no verdict.
            assert_ne!(Verdict::parse(text).state, VerdictState::Achieved);
            let mark = source.split('`').find(|part| part.starts_with('[')).unwrap();
            let goal = Goal { statement: "x".into(), checks: vec![mark.to_owned()] };
            assert_eq!(goal.unverifiable().len(), 1, "{mark}");
        }
    }

    #[test]
    fn the_english_prompts_are_these() {
        let language = Language::English;
        insta::assert_snapshot!("goal_setting", goal_setting(language, "## Goal\nG"));
        insta::assert_snapshot!("verdict", verdict(language, "## Goal\nG", "Done."));
        insta::assert_snapshot!(
            "first_work",
            first_work(language, "## Goal\nG", Some("## Goal\nX"))
        );
        insta::assert_snapshot!("wake_work", wake_work(language, "", Some("## Goal\nX")));
        insta::assert_snapshot!("clarify_resumed", clarify_resumed(language, "also Windows"));
        insta::assert_snapshot!("interrupted", interrupted(language, "use tabs"));
        insta::assert_snapshot!("resume", resume(language));
        insta::assert_snapshot!(
            "oracle_question",
            oracle_question(language, "Why?", "e1\ne2", ".flower")
        );
    }
}
