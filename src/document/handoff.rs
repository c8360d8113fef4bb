//! The handoff: what a session whose context is full leaves to the one that takes its place.

use crate::language::Language;

use super::heading::Kind;
use super::section::{self, Section};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Doing,
    Decided,
    DeadEnds,
    Next,
    Scene,
}

impl Kind for Part {
    const LABELS: &'static [(Self, &'static str)] = &[
        (Part::Doing, "现在在做什么"),
        (Part::Doing, "现在在做"),
        (Part::Doing, "当前进度"),
        (Part::Doing, "进度"),
        (Part::Doing, "doing now"),
        (Part::Doing, "current work"),
        (Part::Doing, "progress"),
        (Part::Doing, "что делается сейчас"),
        (Part::Doing, "прогресс"),
        (Part::Decided, "已经定下的"),
        (Part::Decided, "已定的事"),
        (Part::Decided, "决策"),
        (Part::Decided, "decided"),
        (Part::Decided, "decisions"),
        (Part::Decided, "что решено"),
        (Part::Decided, "решения"),
        (Part::DeadEnds, "走不通的路"),
        (Part::DeadEnds, "试过不行的"),
        (Part::DeadEnds, "排除的路"),
        (Part::DeadEnds, "dead ends"),
        (Part::DeadEnds, "тупики"),
        (Part::Next, "下一步"),
        (Part::Next, "next step"),
        (Part::Next, "next steps"),
        (Part::Next, "next"),
        (Part::Next, "следующий шаг"),
        (Part::Next, "дальше"),
        (Part::Scene, "现场"),
        (Part::Scene, "文件"),
        (Part::Scene, "scene"),
        (Part::Scene, "files"),
        (Part::Scene, "на месте"),
        (Part::Scene, "файлы"),
    ];
    const STRICT: bool = false;
}

/// What an empty part looks like in a file, in every language.
const EMPTY: [&str; 4] = ["(空)", "（空）", "(empty)", "(пусто)"];

/// How much of the original task a handoff that nobody wrote repeats, in characters.
const TASK: usize = 1200;

/// What the next session is told, since it remembers nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Handoff {
    /// What is being done at the moment.
    pub doing: String,
    /// Decisions, with their reasons.
    pub decided: String,
    /// What was tried and does not work.
    pub dead_ends: String,
    /// The next concrete step.
    pub next: String,
    /// Paths and other pointers.
    pub scene: String,
}

impl Handoff {
    /// Reads a reply or a file, also one that a person has changed.
    pub fn parse(text: &str) -> Handoff {
        let sections = section::parse::<Part>(text);
        let part = |part| {
            let mut body = section::gather(&sections, part);
            if body.is_empty() {
                // The next step is often nothing but a command in a fence.
                let mut own = sections.iter().filter(|section| section.kind == part);
                body = own.find_map(whole).unwrap_or_default();
            }
            let body = section::unescape::<Part>(&body);
            if EMPTY.contains(&body.as_str()) { String::new() } else { body }
        };
        Handoff {
            doing: part(Part::Doing),
            decided: part(Part::Decided),
            dead_ends: part(Part::DeadEnds),
            next: part(Part::Next),
            scene: part(Part::Scene),
        }
    }

    /// What can be said where the session could not write it: where to look, and what the task was.
    pub fn degraded(step: &str, why: &str, task: &str, language: Language) -> Handoff {
        let mark = language.text("document.handoff_degraded", &[]);
        let why = match why {
            "" => String::new(),
            why => language.text("document.handoff_why", &[("why", why)]),
        };
        let task: String = task.trim().chars().take(TASK).collect();
        let text = |key: &str, values: &[(&str, &str)]| language.text(key, values);
        Handoff {
            doing: format!(
                "{mark} {}",
                text("document.handoff_lost", &[("step", step), ("why", &why)])
            ),
            next: text("document.handoff_look", &[]),
            scene: text("document.handoff_task", &[("task", &task)]),
            ..Handoff::default()
        }
    }

    /// Whether the two parts are there without which nobody can go on.
    pub fn complete(&self) -> bool {
        !self.doing.is_empty() && !self.next.is_empty()
    }

    /// True for one that [`Handoff::degraded`] made, in whatever language.
    pub fn is_degraded(&self) -> bool {
        Language::ALL
            .iter()
            .any(|language| self.doing.contains(&language.text("document.handoff_degraded", &[])))
    }

    /// The names of the required parts that are empty.
    pub fn missing(&self, language: Language) -> Vec<String> {
        let required = [("document.doing", &self.doing), ("document.next", &self.next)];
        let empty = required.into_iter().filter(|(_, body)| body.is_empty());
        empty.map(|(key, _)| language.text(key, &[])).collect()
    }

    /// The file, which says that it may be changed.
    pub fn to_markdown(&self, step: &str, language: Language) -> String {
        let mut out = language.text("document.handoff_head", &[("step", step)]);
        for (key, body) in self.parts() {
            let body = match body.is_empty() {
                true => language.text("document.empty", &[]),
                false => section::escape_body::<Part>(body),
            };
            out.push_str(&format!("\n## {}\n\n{body}\n", language.text(key, &[])));
        }
        out
    }

    /// The first words of the next session.
    pub fn block(&self, language: Language) -> String {
        let filled = self.parts().into_iter().filter(|(_, body)| !body.is_empty());
        let parts: Vec<String> =
            filled.map(|(key, body)| format!("## {}\n{body}", language.text(key, &[]))).collect();
        let opening = language.text("document.handoff_opening", &[]);
        let closing = language.text("document.handoff_closing", &[]);
        format!("{opening}\n\n{}\n\n---\n\n{closing}", parts.join("\n\n"))
    }

    fn parts(&self) -> [(&'static str, &str); 5] {
        [
            ("document.doing", &self.doing),
            ("document.decided", &self.decided),
            ("document.dead_ends", &self.dead_ends),
            ("document.next", &self.next),
            ("document.scene", &self.scene),
        ]
    }
}

/// Everything that stands under a heading, fences included.
fn whole(section: &Section<Part>) -> Option<String> {
    Some(section.verbatim().trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_nobody_wrote_says_where_to_look() {
        for language in Language::ALL {
            let handoff = Handoff::degraded("work", "the model was away", " do it ", language);
            assert!(handoff.complete() && handoff.is_degraded());
            assert!(handoff.doing.contains("(the model was away)"), "{}", handoff.doing);
            assert!(handoff.scene.ends_with("do it"), "{}", handoff.scene);
            assert_eq!(Handoff::parse(&handoff.to_markdown("work", language)), handoff);
        }
    }

    #[test]
    fn an_empty_part_of_a_file_is_empty() {
        for language in Language::ALL {
            let read = Handoff::parse(&Handoff::default().to_markdown("work", language));
            assert_eq!(read, Handoff::default());
            assert_eq!(read.missing(language).len(), 2);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(?s)([ #*_`~>:0-9.、(\\[\\]\\-\r\n]|下一步|现场|next|.){0,80}") {
            let handoff = Handoff::parse(&text);
            handoff.block(Language::Russian);
            handoff.is_degraded();
        }

        #[test]
        fn a_written_handoff_reads_back(
            parts in prop::collection::vec("[a-z下一步#`\\\\]{1,9}( [a-z]{1,5}|\n[a-z#` 现场:]{0,9}x){0,4}", 5),
        ) {
            let [doing, decided, dead_ends, next, scene] = <[String; 5]>::try_from(parts).unwrap();
            let handoff = Handoff { doing, decided, dead_ends, next, scene };
            for language in Language::ALL {
                prop_assert_eq!(&Handoff::parse(&handoff.to_markdown("work", language)), &handoff);
            }
        }
    }
}
