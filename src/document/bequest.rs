//! The hand-over for the next tool: what a finished run leaves in the project for whoever goes on.

use crate::language::Language;

use super::fence::{self, Place};
use super::heading::Kind;
use super::section::{self, Section};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    What,
    Acceptance,
    Generated,
    DeadEnds,
    Workbench,
}

impl Kind for Part {
    const LABELS: &'static [(Self, &'static str)] = &[
        (Part::What, "这是什么"),
        (Part::What, "任务"),
        (Part::What, "what this is"),
        (Part::What, "что это"),
        (Part::Acceptance, "验收:达成与未达成"),
        (Part::Acceptance, "验收：达成与未达成"),
        (Part::Acceptance, "达成与未达成"),
        (Part::Acceptance, "验收"),
        (Part::Acceptance, "还差什么"),
        (Part::Acceptance, "acceptance: met and not met"),
        (Part::Acceptance, "acceptance"),
        (Part::Acceptance, "met and not met"),
        (Part::Acceptance, "приемка: что выполнено и что нет"),
        (Part::Acceptance, "приемка"),
        (Part::Generated, "哪些文件是生成的、由什么生成"),
        (Part::Generated, "哪些文件是生成的"),
        (Part::Generated, "生成物与来源"),
        (Part::Generated, "哪些是生成的"),
        (Part::Generated, "生成物"),
        (Part::Generated, "generated files and their sources"),
        (Part::Generated, "generated files"),
        (Part::Generated, "сгенерированные файлы и их источники"),
        (Part::Generated, "сгенерированные файлы"),
        (Part::DeadEnds, "走不通的路"),
        (Part::DeadEnds, "试过不行的"),
        (Part::DeadEnds, "dead ends"),
        (Part::DeadEnds, "тупики"),
        (Part::Workbench, "工作台在哪、怎么读"),
        (Part::Workbench, "工作台在哪"),
        (Part::Workbench, "工作台"),
        (Part::Workbench, "怎么读"),
        (Part::Workbench, "workbench: where it is and how to read it"),
        (Part::Workbench, "workbench"),
        (Part::Workbench, "рабочий стол: где он и как его читать"),
        (Part::Workbench, "рабочий стол"),
    ];
    const STRICT: bool = false;
}

/// What an empty part looks like in a reply, in every language.
const EMPTY: [&str; 6] = ["(无)", "（无）", "(空)", "(none)", "(empty)", "(нет)"];

/// How much of the request a hand-over that nobody wrote repeats, in characters.
const REQUEST: usize = 600;

/// How every line begins that opens or closes a block, in every language.
const MARK: &str = "<!-- flower:";
const BEGIN: &str = "<!-- flower:begin";
const END: &str = "<!-- flower:end -->";

/// What whoever goes on with another tool is told; pointers more than contents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Bequest {
    /// What was wanted, and what there is now.
    pub what: String,
    /// What is met and what is not.
    pub acceptance: String,
    /// Which files are made by something, and by what.
    pub generated: String,
    /// What was tried and does not work.
    pub dead_ends: String,
    /// Where the workbench lies and how it is read.
    pub workbench: String,
}

impl Bequest {
    /// Reads a reply, or a block that was written.
    pub fn parse(text: &str) -> Bequest {
        // The markers around a block are no part of its last section.
        let lines = text.lines().filter(|line| !line.trim_start().starts_with(MARK));
        let sections = section::parse::<Part>(&lines.collect::<Vec<_>>().join("\n"));
        let part = |part| {
            let mut own = sections.iter().filter(|section| section.kind == part);
            let body = own.find_map(body).unwrap_or_default();
            if EMPTY.contains(&body.as_str()) { String::new() } else { body }
        };
        Bequest {
            what: part(Part::What),
            acceptance: part(Part::Acceptance),
            generated: part(Part::Generated),
            dead_ends: part(Part::DeadEnds),
            workbench: part(Part::Workbench),
        }
    }

    /// What can be said where nobody wrote it: what was asked, and where to look. `workbench` is the
    /// folder as a person would name it.
    pub fn degraded(why: &str, request: &str, workbench: &str, language: Language) -> Bequest {
        let text = |key: &str, values: &[(&str, &str)]| language.text(key, values);
        let mut what = text("document.bequest_degraded", &[]);
        if !why.trim().is_empty() {
            what.push_str(&format!(" {}", why.trim()));
        }
        let request: String = request.trim().chars().take(REQUEST).collect();
        if !request.is_empty() {
            what.push_str("\n\n");
            what.push_str(&text("document.bequest_request", &[("request", &request)]));
        }
        let workbench = text("document.bequest_look", &[("folder", workbench)]);
        Bequest { what, workbench, ..Bequest::default() }
    }

    /// Whether the two parts are there without which nobody can go on.
    pub fn complete(&self) -> bool {
        !self.what.is_empty() && !self.workbench.is_empty()
    }

    /// True for one that [`Bequest::degraded`] made, in whatever language.
    pub fn is_degraded(&self) -> bool {
        Language::ALL
            .iter()
            .any(|language| self.what.starts_with(&language.text("document.bequest_degraded", &[])))
    }

    /// The names of the required parts that are empty.
    pub fn missing(&self, language: Language) -> Vec<String> {
        let required = [("document.what", &self.what), ("document.workbench", &self.workbench)];
        let empty = required.into_iter().filter(|(_, body)| body.is_empty());
        empty.map(|(key, _)| language.text(key, &[])).collect()
    }

    /// The block with its markers, without a line end. Empty parts are left out.
    pub fn block(&self, language: Language) -> String {
        let mut out = format!(
            "{}\n{}",
            language.text("document.bequest_begin", &[]),
            language.text("document.bequest_head", &[])
        );
        for (key, body) in self.parts() {
            if !body.is_empty() {
                let heading = language.text(key, &[]);
                out.push_str(&format!("\n\n### {heading}\n\n{}", escaped(body)));
            }
        }
        format!("{out}\n{END}")
    }

    fn parts(&self) -> [(&'static str, &str); 5] {
        [
            ("document.what", &self.what),
            ("document.acceptance", &self.acceptance),
            ("document.generated", &self.generated),
            ("document.dead_ends", &self.dead_ends),
            ("document.workbench", &self.workbench),
        ]
    }
}

/// Puts a block into a file's text: in the place of the one that is there, else at the end.
///
/// What stands outside the markers stays as it is. Where the markers are not exactly one pair in order,
/// nobody can say what of the text is whose, so nothing is replaced.
pub fn weave(text: &str, block: &str) -> String {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = |is: fn(&str) -> bool| -> Vec<usize> {
        (0..lines.len()).filter(|&line| is(lines[line].trim())).collect()
    };
    let begins = at(|line| line.starts_with(BEGIN) && line.ends_with("-->"));
    let ends = at(|line| line == END);
    let breaks: &[char] = &['\n', '\r'];
    let (before, after) = match (begins.as_slice(), ends.as_slice()) {
        ([begin], [end]) if begin < end => (lines[..*begin].concat(), lines[end + 1..].concat()),
        _ if text.trim_end_matches(breaks).ends_with(block) => return text.to_owned(),
        _ => (text.to_owned(), String::new()),
    };
    let before = before.trim_end_matches(breaks);
    let after = after.trim_start_matches(breaks);
    let mut out = String::new();
    if !before.trim_start_matches('\u{feff}').is_empty() {
        out.push_str(before);
        out.push_str("\n\n");
    } else {
        out.push_str(before);
    }
    out.push_str(block);
    out.push('\n');
    if !after.is_empty() {
        out.push('\n');
        out.push_str(after);
    }
    out
}

/// What stands under a heading, code and all.
fn body(section: &Section<Part>) -> Option<String> {
    let text = section.verbatim();
    let text = outside_code(&text, section::unescape::<Part>);
    let text =
        each_line(&text, |line| line.strip_prefix('\\').filter(|rest| rest.starts_with(MARK)));
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

/// Written so that no line of it is read as a heading or as a marker. Whole code stays code.
fn escaped(body: &str) -> String {
    let text = outside_code(body, section::escape::<Part>);
    text.split('\n')
        .map(|line| match line.trim_start_matches('\\').trim_start().starts_with(MARK) {
            true => format!("\\{}", line.trim_start()),
            false => line.to_owned(),
        })
        .collect::<Vec<_>>()
        .join("\n")
}

fn each_line(text: &str, change: impl Fn(&str) -> Option<&str>) -> String {
    text.split('\n').map(|line| change(line).unwrap_or(line)).collect::<Vec<_>>().join("\n")
}

/// Changes the lines that are no code. Text with a fence that nobody closed has no code.
fn outside_code(text: &str, change: impl Fn(&str) -> String) -> String {
    // A line after the end is text, unless a fence swallows it.
    let lines: Vec<&str> = text.split('\n').chain(["."]).collect();
    let places = fence::place(&lines, false, |_| false);
    if places.last() != Some(&Place::Text) {
        return change(text);
    }
    let line = |(line, place): (&&str, Place)| match place {
        Place::Text => change(line),
        Place::Code | Place::Fence => (*line).to_owned(),
    };
    let changed: Vec<String> = lines.iter().zip(places).map(line).collect();
    changed[..changed.len() - 1].join("\n")
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sample() -> Bequest {
        Bequest {
            what: "A word counter.\n\n```sh\n# not a heading\nmake\n```".into(),
            acceptance: "- met: all\n# 下一步 is no heading here".into(),
            dead_ends: "<!-- flower:end -->\nsed".into(),
            workbench: "`.flower/`; read `notes/`.".into(),
            ..Bequest::default()
        }
    }

    #[test]
    fn a_block_reads_back_and_code_in_it_stays_code() {
        for language in Language::ALL {
            let block = sample().block(language);
            assert_eq!(Bequest::parse(&block), sample(), "{block}");
            assert!(block.contains("\n```sh\n# not a heading\nmake\n```\n"), "{block}");
            assert_eq!(block.lines().filter(|line| *line == END).count(), 1);
            assert_eq!(weave(&weave("", &block), &block), format!("{block}\n"));
        }
    }

    #[test]
    fn the_chinese_block_is_the_one_that_is_promised() {
        let block = sample().block(Language::Chinese);
        let (begin, rest) = block.split_once('\n').unwrap();
        assert_eq!(
            begin,
            "<!-- flower:begin 这块由 flower 收尾自动生成,重跑会覆盖;你的内容写在标记外面 -->"
        );
        assert!(rest.starts_with("## flower 运行留下的交接\n\n> "), "{rest}");
        for heading in ["这是什么", "验收:达成与未达成", "走不通的路", "工作台在哪、怎么读"]
        {
            assert!(rest.contains(&format!("\n### {heading}\n")), "{heading}");
        }
        assert!(!rest.contains("哪些文件是生成的"), "an empty part is left out");
        let none = "## 这是什么\nx\n## 生成物\n(无)\n## 工作台\ny";
        assert_eq!(Bequest::parse(none).generated, "");
        let degraded = Bequest::degraded("r", "q", ".flower", Language::Chinese);
        assert!(degraded.what.starts_with("[降级:收尾交接没写成]"));
    }

    #[test]
    fn what_nobody_wrote_says_what_was_asked_and_where_to_look() {
        for language in Language::ALL {
            let made =
                Bequest::degraded("the model was away", " count words ", ".flower", language);
            assert!(made.complete() && made.is_degraded(), "{made:?}");
            assert!(made.what.contains("the model was away") && made.what.contains("count words"));
            for folder in [".flower/notes", ".flower/artifacts", ".flower/scripts"] {
                assert!(made.workbench.contains(folder), "{}", made.workbench);
            }
            assert_eq!(Bequest::parse(&made.block(language)), made);
            assert!(!sample().is_degraded());
        }
        assert_eq!(Bequest::default().missing(Language::English).len(), 2);
    }

    #[test]
    fn a_persons_words_around_the_block_stay() {
        let (one, two) = (
            "<!-- flower:begin a -->\nx\n<!-- flower:end -->",
            "<!-- flower:begin -->\ny\n<!-- flower:end -->",
        );
        assert_eq!(weave("", one), format!("{one}\n"));
        assert_eq!(weave("mine\n\n\n", one), format!("mine\n\n{one}\n"));
        let both = format!("mine\n\n{one}\n\n  also mine\r\n");
        assert_eq!(weave(&both, two), format!("mine\n\n{two}\n\n  also mine\r\n"));
        assert_eq!(weave(&format!("{one}\n\ntail"), two), format!("{two}\n\ntail"));
    }

    #[test]
    fn markers_that_do_not_pair_up_cost_nobody_a_word() {
        let block = "<!-- flower:begin a -->\nx\n<!-- flower:end -->";
        for odd in [
            "<!-- flower:begin a -->\nmine\n",
            "mine\n<!-- flower:end -->\n",
            "<!-- flower:end -->\nmine\n<!-- flower:begin a -->\n",
            "<!-- flower:begin -->\nA\n<!-- flower:end -->\nmine\n<!-- flower:begin -->\nB\n<!-- flower:end -->\n",
            "<!-- flower:begin -->\nA\n<!-- flower:begin -->\nmine\n<!-- flower:end -->\n",
        ] {
            let once = weave(odd, block);
            assert_eq!(once, format!("{odd}\n{block}\n"));
            assert_eq!(weave(&once, block), once, "a second time changes nothing");
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(?s)([ #*_`~>:0-9.、(\\[\\]\\-\r\n]|验收|工作台|workbench|.){0,80}") {
            Bequest::parse(&text).block(Language::Russian);
        }

        #[test]
        fn a_written_hand_over_reads_back(
            parts in prop::collection::vec("[a-z工作台#`\\\\]{1,9}( [a-z]{1,5}|\n[a-z#`~ 验收:]{0,9}x){0,4}", 5),
        ) {
            let [what, acceptance, generated, dead_ends, workbench] = <[String; 5]>::try_from(parts).unwrap();
            let written = Bequest { what, acceptance, generated, dead_ends, workbench };
            for language in Language::ALL {
                let block = written.block(language);
                prop_assert_eq!(&Bequest::parse(&block), &written, "{}", block);
            }
        }

        #[test]
        fn whatever_a_file_holds_outside_the_markers_survives_and_twice_is_once(
            lines in prop::collection::vec("[a-z ]{0,6}|<!-- flower:begin x -->|<!-- flower:end -->", 0..9),
        ) {
            let text = lines.join("\n");
            let block = sample().block(Language::English);
            let once = weave(&text, &block);
            prop_assert_eq!(&weave(&once, &block), &once);
            let begin = lines.iter().position(|line| line.starts_with(BEGIN));
            let end = lines.iter().position(|line| line == END);
            let count = lines.iter().filter(|line| line.starts_with(MARK)).count();
            let inside = match (begin, end) {
                (Some(begin), Some(end)) if count == 2 && begin < end => begin..end + 1,
                _ => 0..0,
            };
            for (at, line) in lines.iter().enumerate() {
                prop_assert!(inside.contains(&at) || once.contains(line.as_str()));
            }
        }
    }
}
