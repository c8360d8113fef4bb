//! The goal: one sentence that says when the work is done, and the checklist that decides it.

use std::sync::LazyLock;

use regex::Regex;

use crate::language::Language;

use super::heading::Kind;
use super::list;
use super::section;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Statement,
    Checks,
}

impl Kind for Part {
    const LABELS: &'static [(Self, &'static str)] = &[
        (Part::Statement, "目标"),
        (Part::Statement, "完成标志"),
        (Part::Statement, "goal"),
        (Part::Statement, "objective"),
        (Part::Statement, "цель"),
        (Part::Checks, "判定清单"),
        (Part::Checks, "判定条件"),
        (Part::Checks, "验收清单"),
        (Part::Checks, "检查项"),
        (Part::Checks, "判定"),
        (Part::Checks, "checklist"),
        (Part::Checks, "checks"),
        (Part::Checks, "acceptance checklist"),
        (Part::Checks, "список проверок"),
        (Part::Checks, "чек-лист"),
        (Part::Checks, "проверки"),
    ];
    const STRICT: bool = false;
}

/// What an empty list or statement looks like in a file, in every language.
const EMPTY: [&str; 4] = ["(空)", "（空）", "(empty)", "(пусто)"];

static UNVERIFIABLE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"(?i)[\[［【]\s*(?:(?:此环境)?\s*无法验证|(?:cannot|can't|can not) be verified(?: here)?|unverifiable|(?:здесь\s*)?нельзя проверить)\s*[:：]?";
    Regex::new(pattern).expect("the pattern is fixed and a test compiles it")
});

/// When the work is done.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Goal {
    /// The sign of being done.
    pub statement: String,
    /// What is looked at, one by one.
    pub checks: Vec<String>,
}

impl Goal {
    /// Reads a reply or a file.
    pub fn parse(text: &str) -> Goal {
        let sections = section::parse::<Part>(text);
        let mut statement = section::gather(&sections, Part::Statement);
        if EMPTY.contains(&statement.as_str()) {
            statement.clear();
        }
        let lists = sections.iter().filter(|section| section.kind == Part::Checks);
        let mut checks = lists
            .map(|section| list::items(&section.lines))
            .find(|c| !c.is_empty())
            .unwrap_or_default();
        checks.retain(|check| !EMPTY.contains(&check.as_str()));
        Goal { statement, checks }
    }

    /// Reads a file that [`Goal::to_markdown`] wrote and people may have changed.
    pub fn from_markdown(text: &str) -> Goal {
        let mut goal = Goal::parse(text);
        goal.statement = section::unescape::<Part>(&goal.statement);
        goal
    }

    /// Whether there is a statement and at least one check.
    pub fn complete(&self) -> bool {
        !self.statement.is_empty() && !self.checks.is_empty()
    }

    /// The names of the sections that are empty, in order.
    pub fn missing(&self, language: Language) -> Vec<String> {
        let mut missing = Vec::new();
        if self.statement.is_empty() {
            missing.push(language.text("document.goal", &[]));
        }
        if self.checks.is_empty() {
            missing.push(language.text("document.checks", &[]));
        }
        missing
    }

    /// The checks that are marked as not verifiable where the judge runs.
    pub fn unverifiable(&self) -> Vec<&str> {
        let checks = self.checks.iter().map(String::as_str);
        checks.filter(|check| UNVERIFIABLE.is_match(check)).collect()
    }

    /// Adds a person's change to the statement; what was there stays.
    pub fn amend(&mut self, text: &str, language: Language) {
        let text = section::normalize(text);
        self.statement = language.text(
            "document.goal_changed",
            &[("statement", &self.statement), ("text", text.trim())],
        );
    }

    /// The file.
    pub fn to_markdown(&self, language: Language) -> String {
        let list = match self.checks.is_empty() {
            true => language.text("document.empty", &[]),
            false => self.list(),
        };
        format!(
            "# {}\n{}\n\n# {}\n{list}\n",
            language.text("document.goal", &[]),
            section::escape::<Part>(&self.statement),
            language.text("document.checks", &[]),
        )
    }

    /// What the coordinator and the judge are told.
    pub fn block(&self, language: Language) -> String {
        let mut out = format!("## {}\n{}", language.text("document.goal", &[]), self.statement);
        if !self.checks.is_empty() {
            let title = language.text("document.checks", &[]);
            out.push_str(&format!("\n\n## {title}\n{}", self.list()));
        }
        out
    }

    fn list(&self) -> String {
        self.checks.iter().map(|check| format!("- {check}")).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_empty_goal_reads_back_empty() {
        for language in Language::ALL {
            let goal = Goal::default();
            let read = Goal::from_markdown(&goal.to_markdown(language));
            assert_eq!(read, goal);
            assert!(!read.complete());
        }
    }

    #[test]
    fn marks_of_all_languages_are_found() {
        let text = "# Goal\nx\n# Checklist\n- a [cannot be verified here: no GPU]\n- б [здесь нельзя проверить: нет GPU]\n- c";
        assert_eq!(Goal::parse(text).unverifiable().len(), 2);
    }

    #[test]
    fn a_change_is_added_and_survives_the_file() {
        for language in Language::ALL {
            let mut goal = Goal { statement: "x".into(), checks: vec!["a".into()] };
            goal.amend(" only titles\n# 目标\n~~~\nmake\n~~~\nand y ", language);
            assert!(goal.statement.starts_with("x\n\n("), "{}", goal.statement);
            assert_eq!(Goal::from_markdown(&goal.to_markdown(language)), goal);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(?s)([ #*_`~>:0-9.、(\\[\\]\\-\r\n]|目标|判定清单|goal|.){0,80}") {
            let goal = Goal::parse(&text);
            goal.unverifiable();
            Goal::from_markdown(&goal.to_markdown(Language::Russian));
        }

        /// Checks are single lines that start with a letter and are not the sign for "empty".
        #[test]
        fn a_written_goal_reads_back(
            statement in "[a-z目标#`\\\\]{1,9}( [a-z]{1,5}|\n[a-z#` 目标:]{0,9}x){0,4}",
            checks in prop::collection::vec("[a-zа-я目][a-z :`#\\[\\]目标]{0,20}x", 1..5),
        ) {
            let goal = Goal { statement, checks };
            for language in Language::ALL {
                prop_assert_eq!(&Goal::from_markdown(&goal.to_markdown(language)), &goal);
            }
        }
    }
}
