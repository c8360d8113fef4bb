//! The brief: what was asked for, frozen in four sections, and what was added to it since.

use crate::language::Language;

use super::heading::Kind;
use super::section::{self, Section};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Goal,
    Accept,
    Bounds,
    Unknowns,
    Amendment,
    /// The heading of a file that holds amendments and no brief.
    AmendmentsTitle,
}

impl Kind for Part {
    const LABELS: &'static [(Self, &'static str)] = &[
        (Part::Goal, "目标"),
        (Part::Goal, "goal"),
        (Part::Goal, "goals"),
        (Part::Goal, "objective"),
        (Part::Goal, "objectives"),
        (Part::Goal, "цель"),
        (Part::Goal, "цели"),
        (Part::Accept, "验收标准"),
        (Part::Accept, "验收条件"),
        (Part::Accept, "验收"),
        (Part::Accept, "acceptance criteria"),
        (Part::Accept, "acceptance criterion"),
        (Part::Accept, "acceptance"),
        (Part::Accept, "критерии приемки"),
        (Part::Accept, "критерии готовности"),
        (Part::Accept, "приемка"),
        (Part::Bounds, "边界"),
        (Part::Bounds, "范围边界"),
        (Part::Bounds, "不做什么"),
        (Part::Bounds, "非目标"),
        (Part::Bounds, "boundaries"),
        (Part::Bounds, "boundary"),
        (Part::Bounds, "out of scope"),
        (Part::Bounds, "scope"),
        (Part::Bounds, "non-goals"),
        (Part::Bounds, "границы"),
        (Part::Bounds, "вне рамок"),
        (Part::Bounds, "что не делаем"),
        (Part::Unknowns, "未知与假设"),
        (Part::Unknowns, "未知项与假设"),
        (Part::Unknowns, "未知项"),
        (Part::Unknowns, "已知未知"),
        (Part::Unknowns, "未知"),
        (Part::Unknowns, "假设"),
        (Part::Unknowns, "unknowns and assumptions"),
        (Part::Unknowns, "unknowns & assumptions"),
        (Part::Unknowns, "unknowns"),
        (Part::Unknowns, "assumptions"),
        (Part::Unknowns, "неизвестное и допущения"),
        (Part::Unknowns, "неизвестное"),
        (Part::Unknowns, "допущения"),
        (Part::Amendment, "运行中补充"),
        (Part::Amendment, "唤醒时追加"),
        (Part::Amendment, "added during the run"),
        (Part::Amendment, "added on resuming"),
        (Part::Amendment, "добавлено во время работы"),
        (Part::Amendment, "добавлено при возобновлении"),
        (Part::AmendmentsTitle, "运行中的补充"),
        (Part::AmendmentsTitle, "additions during the run"),
        (Part::AmendmentsTitle, "дополнения во время работы"),
    ];
    const STRICT: bool = false;

    fn verbatim(self) -> bool {
        matches!(self, Part::Amendment | Part::AmendmentsTitle)
    }
}

/// What a body says when there is nothing in it, in every language.
const UNFILLED: [&str; 4] = ["(未填)", "（未填）", "(not filled in)", "(не заполнено)"];

/// Something a person added after the brief was frozen; it overrides what it contradicts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Amendment {
    /// Its heading: when and on what occasion it was said.
    pub label: String,
    /// The person's words, unchanged.
    pub text: String,
}

/// When an amendment was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Occasion {
    /// A message while a run was going on.
    Running,
    /// The words with which a finished or stopped run was taken up again.
    Waking,
}

/// What was asked for: the frozen result of clarification.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Brief {
    /// What, and for whom.
    pub goal: String,
    /// Conditions that can be decided, usually one a line.
    pub accept: String,
    /// What is not to be done.
    pub bounds: String,
    /// What was not asked, not answered or guessed.
    pub unknowns: String,
    /// Added later, oldest first.
    pub amendments: Vec<Amendment>,
}

impl Brief {
    /// Reads a reply. Missing sections stay empty; words after the last section are left out.
    pub fn parse(text: &str) -> Brief {
        let mut sections = section::parse::<Part>(text);
        if let Some(last) = sections.last_mut().filter(|last| !last.kind.verbatim()) {
            last.drop_epilogue();
        }
        Brief::collect(&sections)
    }

    /// Reads a file that [`Brief::to_markdown`] wrote and people may have changed.
    pub fn from_markdown(text: &str) -> Brief {
        let mut brief = Brief::collect(&section::parse::<Part>(text));
        for body in [&mut brief.goal, &mut brief.accept, &mut brief.bounds, &mut brief.unknowns] {
            *body = match UNFILLED.contains(&body.as_str()) {
                true => String::new(),
                false => section::unescape::<Part>(body),
            };
        }
        brief
    }

    fn collect(sections: &[Section<Part>]) -> Brief {
        let amendments = sections
            .iter()
            .filter(|section| section.kind == Part::Amendment)
            .map(|section| Amendment {
                label: section.title.clone(),
                text: section::unescape::<Part>(&section.verbatim()),
            })
            .filter(|amendment| !amendment.text.is_empty())
            .collect();
        Brief {
            goal: section::gather(sections, Part::Goal),
            accept: section::gather(sections, Part::Accept),
            bounds: section::gather(sections, Part::Bounds),
            unknowns: section::gather(sections, Part::Unknowns),
            amendments,
        }
    }

    /// Whether all four sections say something.
    pub fn complete(&self) -> bool {
        self.parts().iter().all(|(_, body)| !body.is_empty())
    }

    /// The names of the sections that are empty, in order.
    pub fn missing(&self, language: Language) -> Vec<String> {
        let empty = self.parts().into_iter().filter(|(_, body)| body.is_empty());
        empty.map(|(key, _)| language.text(key, &[])).collect()
    }

    /// The file, with a note on how to change it.
    pub fn to_markdown(&self, language: Language) -> String {
        let mut out = language.text("document.brief_head", &[]);
        for (key, body) in self.parts() {
            let body = match body.is_empty() {
                true => language.text("document.unfilled", &[]),
                false => section::escape_body::<Part>(body),
            };
            out.push_str(&format!("\n## {}\n\n{body}\n", language.text(key, &[])));
        }
        for Amendment { label, text } in &self.amendments {
            out.push_str(&write_amendment(label, text));
        }
        out
    }

    /// What later steps are told: what is known, then what overrides it.
    pub fn block(&self, language: Language) -> String {
        let filled = self.parts().into_iter().filter(|(_, body)| !body.is_empty());
        let mut blocks: Vec<String> =
            filled.map(|(key, body)| format!("## {}\n{body}", language.text(key, &[]))).collect();
        if !self.amendments.is_empty() {
            blocks.push(language.text("document.overriding", &[]));
        }
        for Amendment { label, text } in &self.amendments {
            blocks.push(format!("### {label}\n{text}"));
        }
        blocks.join("\n\n")
    }

    fn parts(&self) -> [(&'static str, &str); 4] {
        [
            ("document.goal", &self.goal),
            ("document.accept", &self.accept),
            ("document.bounds", &self.bounds),
            ("document.unknowns", &self.unknowns),
        ]
    }
}

/// What to append to the brief's file so that `text` is read back as an amendment.
///
/// `time` is shown as it is given, usually `HH:MM:SS`.
pub fn amend(text: &str, occasion: Occasion, time: &str, language: Language) -> String {
    let key = match occasion {
        Occasion::Running => "document.added_running",
        Occasion::Waking => "document.added_waking",
    };
    write_amendment(&language.text(key, &[("time", time)]), section::normalize(text).trim())
}

/// The first lines of a file that is made for an amendment when there is no brief.
pub fn amendments_title(language: Language) -> String {
    format!("# {}\n", language.text("document.additions", &[]))
}

fn write_amendment(label: &str, text: &str) -> String {
    format!("\n## {label}\n{}\n", section::escape::<Part>(text))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn brief() -> Brief {
        let word = str::to_owned;
        Brief {
            goal: word("G"),
            accept: word("A"),
            bounds: word("B"),
            unknowns: word("U"),
            amendments: vec![],
        }
    }

    #[test]
    fn an_amendment_is_no_assumption_and_loses_no_word() {
        let said = "目标: use Postgres\n## Goal\n# all of it\n```sh\nmake\n```\n\\# odd\nend";
        for language in Language::ALL {
            let mut file = brief().to_markdown(language);
            file += &amend(said, Occasion::Running, "12:00:00", language);
            file += &amend("and no Redis", Occasion::Waking, "12:30:00", language);
            let read = Brief::from_markdown(&file);
            assert_eq!(read.unknowns, "U");
            assert_eq!(read.goal, "G");
            assert_eq!(read.amendments.len(), 2, "{file}");
            assert_eq!(read.amendments[0].text, said);
            assert!(read.amendments[0].label.contains("12:00:00"));
            assert_eq!(read.amendments[1].text, "and no Redis");
            assert_eq!(Brief::from_markdown(&read.to_markdown(language)), read);
            assert!(read.block(language).ends_with("and no Redis"));
        }
    }

    #[test]
    fn the_chinese_amendment_has_its_known_form() {
        let text = amend(" x ", Occasion::Running, "09:08:07", Language::Chinese);
        assert_eq!(text, "\n## 运行中补充(09:08:07)\nx\n");
        assert_eq!(amendments_title(Language::Chinese), "# 运行中的补充\n");
    }

    #[test]
    fn an_open_fence_in_an_amendment_does_not_swallow_the_next() {
        let mut file = brief().to_markdown(Language::English);
        file += &amend("```\n~~~\nmake", Occasion::Running, "1", Language::English);
        file += &amend("later\n~~~", Occasion::Running, "2", Language::English);
        let read = Brief::from_markdown(&file);
        assert_eq!(
            read.amendments.iter().map(|a| a.text.as_str()).collect::<Vec<_>>(),
            ["```\n~~~\nmake", "later\n~~~"]
        );
    }

    #[test]
    fn an_amendment_without_a_brief_is_read() {
        let file = amendments_title(Language::Chinese)
            + &amend("x", Occasion::Running, "1", Language::Chinese);
        assert_eq!(Brief::from_markdown(&file).amendments.len(), 1);
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(?s)([ #*_`~>:：0-9.、(（\\-\\\\\r\n]|目标|边界|goal|假设|Ё|运行中补充|.){0,80}") {
            let brief = Brief::parse(&text);
            brief.to_markdown(Language::English);
            Brief::from_markdown(&text);
        }

        /// Every body comes back once it is in the parser's own form. Left out: open tilde fences,
        /// which stay text and would pair up, and bodies that are the sign for "empty".
        #[test]
        fn a_written_brief_reads_back(bodies in prop::collection::vec(
            "(([#>*`:0-9 \\\\-]{0,4}|目标|Goal: |```|- |## |验收|假设)[a-zà-ÿ目标 :#`]{0,9}\n){1,5}x", 4)) {
            let clean = |text: &str| section::gather(
                &[Section::text(Part::Goal, text)], Part::Goal);
            let brief = Brief {
                goal: clean(&bodies[0]),
                accept: clean(&bodies[1]),
                bounds: clean(&bodies[2]),
                unknowns: clean(&bodies[3]),
                amendments: vec![],
            };
            for language in Language::ALL {
                prop_assert_eq!(&Brief::from_markdown(&brief.to_markdown(language)), &brief);
            }
        }
    }
}
