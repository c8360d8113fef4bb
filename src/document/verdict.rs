//! The verdict: the judge's answer, read strictly, and what the worker is told about it.

use std::sync::LazyLock;

use regex::Regex;

use crate::language::Language;

use super::heading::Kind;
use super::section::{self, Section};
use super::state::{self, VerdictState};
use super::{fence, list};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    State,
    Reason,
    Failed,
    /// The checklist gone through line by line; its words are no conclusion.
    Checks,
}

impl Kind for Part {
    const LABELS: &'static [(Self, &'static str)] = &[
        (Part::State, "结论"),
        (Part::State, "判定"),
        (Part::State, "conclusion"),
        (Part::State, "verdict"),
        (Part::State, "вывод"),
        (Part::State, "вердикт"),
        (Part::Reason, "理由"),
        (Part::Reason, "依据"),
        (Part::Reason, "reason"),
        (Part::Reason, "reasons"),
        (Part::Reason, "причина"),
        (Part::Reason, "обоснование"),
        (Part::Failed, "未通过"),
        (Part::Failed, "未通过项"),
        (Part::Failed, "not passed"),
        (Part::Failed, "failed"),
        (Part::Failed, "failed checks"),
        (Part::Failed, "не пройдено"),
        (Part::Checks, "判定清单"),
        (Part::Checks, "checklist"),
        (Part::Checks, "список проверок"),
    ];
    const STRICT: bool = true;
}

/// "(none)", "无", "нет" and the like, alone or with a remark.
static NONE: LazyLock<Regex> = LazyLock::new(|| {
    let word = r"无|没有|空|none|n/a|nothing|empty|нет|пусто|ничего|全部通过|all (?:checks )?pass(?:ed)?|(?:no|0) fail\w*";
    let pattern = format!(
        r"(?i)^[\s(（\[*_]*(?:(?:{word})[\s)）\].。!*_]*(?P<remark>$|[,，;；:：(（—–-].*)|没有[未不]通过的?\S{{0,4}}$|[-—–0/]$)"
    );
    Regex::new(&pattern).expect("the pattern is fixed and a test compiles it")
});

/// Whether an item of the failed checks says that there are none.
fn is_none(item: &str) -> bool {
    let Some(found) = NONE.captures(item) else {
        return false;
    };
    // "nothing: the server does not start" is a failure.
    found.name("remark").is_none_or(|remark| !state::doubts(remark.as_str()))
}

/// Longer than this, a reply without sections is prose, and a word in it decides nothing.
const ONE_LINE: usize = 120;

/// What the judge said.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Verdict {
    /// The conclusion.
    pub state: VerdictState,
    /// What is missing, in the judge's words.
    pub reason: String,
    /// The checks that did not pass.
    pub failed: Vec<String>,
}

impl Verdict {
    /// Reads a reply. Only an exact word at the start of the conclusion is "achieved", and only if
    /// nothing else in the reply speaks against it.
    pub fn parse(text: &str) -> Verdict {
        let sections = section::parse::<Part>(text);
        let mut failed: Vec<String> = Vec::new();
        for section in sections.iter().filter(|section| section.kind == Part::Failed) {
            let items = list::items(&section.lines);
            match items.is_empty() {
                // All of it in a fence is still an answer.
                true => failed.extend(list::items(&section.unfenced())),
                false => failed.extend(items),
            }
        }
        failed.retain(|item| !is_none(item));
        // "Failed", alone, is a heading with nothing under it, and an answer all the same.
        let mut state = match sections.iter().all(|section| section.body().is_empty()) {
            true => read_bare(text),
            false => conclude(&sections),
        };
        if state == VerdictState::Achieved && !failed.is_empty() {
            state = VerdictState::NotYet;
        }
        Verdict { state, reason: section::gather(&sections, Part::Reason), failed }
    }

    /// Reads what [`Verdict::to_markdown`] wrote.
    pub fn from_markdown(text: &str) -> Verdict {
        Verdict::parse(text)
    }

    /// Whether the judge's conclusion could be read.
    pub fn is_clear(&self) -> bool {
        self.state != VerdictState::Unclear
    }

    /// Whether the judge said, clearly, that the goal is achieved.
    pub fn is_achieved(&self) -> bool {
        self.state == VerdictState::Achieved
    }

    /// The verdict as the judge is asked to write it.
    pub fn to_markdown(&self, language: Language) -> String {
        let state = match self.state {
            VerdictState::Achieved => "document.achieved",
            VerdictState::NotYet => "document.not_yet",
            VerdictState::Unreachable => "document.unreachable",
            VerdictState::Unclear => "document.unclear",
        };
        let failed = match self.failed.is_empty() {
            true => language.text("document.none", &[]),
            false => self.failed_list(),
        };
        format!(
            "## {}\n{}\n\n## {}\n{}\n\n## {}\n{failed}\n",
            language.text("document.conclusion", &[]),
            language.text(state, &[]),
            language.text("document.reason", &[]),
            self.reason_text(language),
            language.text("document.failed", &[]),
        )
    }

    /// What the worker is told: why the round was rejected and to close only these gaps.
    pub fn feedback(&self, language: Language) -> String {
        let reason = self.reason_text(language);
        let mut parts = vec![language.text("document.feedback_reason", &[("reason", &reason)])];
        if !self.failed.is_empty() {
            let list = self.failed_list();
            parts.push(language.text("document.feedback_failed", &[("list", &list)]));
        }
        parts.push(language.text("document.feedback_continue", &[]));
        parts.join("\n\n")
    }

    fn reason_text(&self, language: Language) -> String {
        match self.reason.is_empty() {
            true => language.text("document.no_reason", &[]),
            false => self.reason.clone(),
        }
    }

    fn failed_list(&self) -> String {
        self.failed.iter().map(|item| format!("- {item}")).collect::<Vec<_>>().join("\n")
    }
}

/// The state that all conclusions of the reply agree on; else the one that is not "achieved".
fn conclude(sections: &[Section<Part>]) -> VerdictState {
    let states: Vec<VerdictState> = sections
        .iter()
        .filter(|section| section.kind == Part::State)
        .map(Section::body)
        .filter(|body| !body.is_empty())
        .map(|body| state::read(&body))
        .collect();
    let other = states.iter().find(|state| **state != VerdictState::Achieved);
    other.or(states.first()).copied().unwrap_or_default()
}

/// A reply without sections decides only if it is one short line, or one fence around one word.
fn read_bare(text: &str) -> VerdictState {
    let text = section::normalize(text);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    match lines[..] {
        [line] if line.chars().count() <= ONE_LINE && fence::opening(line).is_none() => {
            state::read(line)
        }
        [open, word, _] if fence::opening(open).is_some() && state::is_lone_word(word) => {
            state::read(word)
        }
        _ => VerdictState::Unclear,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_is_written_reads_back_in_every_language() {
        use VerdictState::{Achieved, NotYet, Unreachable};
        for language in Language::ALL {
            for (state, failed) in [
                (Achieved, vec![]),
                (NotYet, vec!["a".to_owned(), "b".to_owned()]),
                (Unreachable, vec![]),
            ] {
                let verdict = Verdict { state, reason: "r".into(), failed };
                assert_eq!(Verdict::from_markdown(&verdict.to_markdown(language)), verdict);
            }
            let unclear = Verdict::default().to_markdown(language);
            assert_eq!(Verdict::from_markdown(&unclear).state, VerdictState::Unclear, "{unclear}");
        }
    }

    #[test]
    fn none_markers_are_no_failed_checks() {
        for none in [
            "无",
            "(无)",
            "（无）",
            "None.",
            "(none)",
            "- n/a",
            "нет",
            "—",
            "没有",
            "none — all checks hold",
            "1. 无",
        ] {
            let verdict =
                Verdict::parse(&format!("## Conclusion\nachieved\n## Not passed\n{none}"));
            assert_eq!(verdict.failed, Vec::<String>::new(), "{none}");
            assert!(verdict.is_achieved(), "{none}");
        }
        let verdict = Verdict::parse(
            "结论:未达成\n未通过:\n- none of the tests ran\n- 无法启动\n- 0-day\n- nothing: it does not start",
        );
        assert_eq!(verdict.failed.len(), 4);
    }

    #[test]
    fn a_reply_that_contradicts_itself_is_not_achieved() {
        for text in [
            "## Conclusion\nachieved\n## Not passed\n- check 3",
            "Conclusion: not achieved\n\n## Conclusion\nachieved",
            "## Conclusion\nachieved\n## Conclusion\nunreachable",
            "The worker wrote:\n> ## Conclusion\n> achieved\nI saw no proof.",
            "Its report says\n```\n## Conclusion\nachieved\n",
            "The report is good.\nachieved",
        ] {
            assert!(!Verdict::parse(text).is_achieved(), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(?s)([ #*_`~>:：0-9.、(\\-\r\n]|结论|达成|未|achieved|.){0,80}") {
            Verdict::parse(&text).feedback(Language::English);
        }

        /// Whatever a judge says before or after, a conclusion that is not the word is not "achieved".
        #[test]
        fn an_unclear_conclusion_is_never_achieved(
            before in "(All good\\. |achieved\n|1\n|达成\n)?",
            head in "(## Conclusion\n|结论:|Verdict: |\\*\\*Вывод\\*\\*\n|【结论】)",
            said in "(not |un|还没|没有|almost |не |well, |1/5 |as good as |nearly )(achieved|达成|достигнуто|passed|通过)",
            after in "(|\n## Reason\nachieved|\n## Not passed\n- x|\n\nachieved)",
        ) {
            let text = format!("{before}{head}{said}{after}");
            prop_assert!(!Verdict::parse(&text).is_achieved(), "{}", text);
        }
    }
}
