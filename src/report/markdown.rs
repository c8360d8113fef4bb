//! A conversation as Markdown, for a page that others render or for reading as it is.

use std::fmt::Write;

use crate::language::Language;

use super::conversation::{Agent, Call, Conversation, Part, Said};
use super::{clock, cut, notes};

/// The text.
pub fn markdown(conversation: &Conversation, language: Language) -> String {
    let mut sheet = Sheet { out: String::new(), language, conversation };
    sheet.whole();
    sheet.out
}

struct Sheet<'a> {
    out: String,
    language: Language,
    conversation: &'a Conversation,
}

impl Sheet<'_> {
    fn say(&self, key: &str) -> String {
        self.language.text(key, &[])
    }

    fn whole(&mut self) {
        let conversation = self.conversation;
        let about = &conversation.about;
        let title = match about.title.as_str() {
            "" => self.say("sessions.untitled"),
            title => title.to_owned(),
        };
        let _ = writeln!(self.out, "# {}\n", harmless(&one_line(&title), false).trim_end());
        if let Some(step) = &about.step {
            let _ = writeln!(self.out, "- {}: {}", self.say("sessions.step"), escape(step));
        }
        for (name, value) in about.rows(conversation.agents.len(), self.language) {
            let _ = writeln!(self.out, "- {name}: {}", escape(&value));
        }
        self.thread(&conversation.parts, "##");
        let strays: Vec<&Agent> = conversation.strays().collect();
        strays.into_iter().for_each(|agent| self.agent(agent));
    }

    fn thread(&mut self, parts: &[Part], level: &str) {
        let mut speaker = "";
        let mut at = 0;
        while let Some(part) = parts.get(at) {
            let notes = notes(&parts[at..]);
            if notes.len() > 1 {
                let text: Vec<String> =
                    notes.iter().map(|(kind, text)| format!("{kind}: {text}")).collect();
                let count = notes.len().to_string();
                let name = self.language.text("sessions.notes", &[("count", &count)]);
                self.fold(&name, &text.join("\n"));
                at += notes.len();
                continue;
            }
            at += 1;
            let (name, text) = match &part.said {
                Said::Reply(text) => ("reply", text),
                Said::Prompt(text) => ("prompt", text),
                Said::Failure(text) => ("failure", text),
                Said::Summary(text) => ("summary", text),
                Said::Call(call) => {
                    self.call(call);
                    continue;
                }
                Said::Thinking(Some(text)) => {
                    self.fold(&self.say("sessions.thinking"), text);
                    continue;
                }
                Said::Thinking(None) => continue,
                Said::Instructions(text) => {
                    self.fold(&self.say("sessions.instructions"), text);
                    continue;
                }
                Said::Note(kind, text) => {
                    self.fold(&escape(kind), text);
                    continue;
                }
            };
            if name != "reply" || speaker != name {
                let time = part.time.as_deref().map(|time| format!(" ({})", clock(time)));
                let head = self.say(&format!("sessions.{name}"));
                let _ = write!(self.out, "\n{level} {head}{}\n", time.unwrap_or_default());
            }
            speaker = name;
            let text = harmless(&self.shortened(text), name == "reply");
            self.out.push('\n');
            for line in text.trim_end().lines() {
                // A quotation cannot be taken for our text.
                let _ = match name {
                    "reply" => writeln!(self.out, "{line}"),
                    _ if line.is_empty() => writeln!(self.out, ">"),
                    _ => writeln!(self.out, "> {line}"),
                };
            }
        }
    }

    /// The text itself, or its ends with a word between them where it is too long.
    fn shortened(&self, text: &str) -> String {
        match cut(text) {
            None => text.to_owned(),
            Some((start, left_out, end)) => {
                let count = left_out.to_string();
                let gap = self.language.text("sessions.cut", &[("count", &count)]);
                format!("{start}\n[{gap}]\n{end}")
            }
        }
    }

    /// Something that few want to read.
    fn fold(&mut self, name: &str, text: &str) {
        let _ = write!(self.out, "\n<details><summary>{name}</summary>\n\n");
        self.fenced(text, "");
        self.out.push_str("\n</details>\n");
    }

    /// Text between marks that do not occur in it.
    fn fenced(&mut self, text: &str, kind: &str) {
        let text = self.shortened(text);
        let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
        let marks = "`".repeat(longest.max(2) + 1);
        let _ = writeln!(self.out, "{marks}{kind}\n{}\n{marks}", text.trim_end_matches('\n'));
    }

    fn call(&mut self, call: &Call) {
        let agents = &self.conversation.agents;
        let state = match &call.result {
            None => format!(" ({})", self.say("sessions.no_result")),
            Some(result) if result.is_error => format!(" ({})", self.say("sessions.failed")),
            Some(_) => String::new(),
        };
        let about: String = call.summary().chars().take(120).collect();
        let _ = write!(
            self.out,
            "\n<details><summary><b>{}</b> {}{state}</summary>\n\n",
            escape(call.short_tool()),
            escape(&about),
        );
        let edit = call.field("old_string").zip(call.field("new_string"));
        for field in &call.input {
            match (field.name.as_str(), edit) {
                ("new_string", Some(_)) => {}
                ("old_string", Some((old, new))) => {
                    let lines = |mark: char, text: &str| -> String {
                        text.lines().map(|line| format!("{mark}{line}\n")).collect()
                    };
                    let change = lines('-', old) + &lines('+', new);
                    self.fenced(&change, "diff");
                    self.out.push('\n');
                }
                (name, _) => {
                    let _ = write!(self.out, "{}:\n\n", escape(name));
                    self.fenced(&field.value, "");
                    self.out.push('\n');
                }
            }
        }
        if let Some(result) = &call.result {
            let _ = write!(self.out, "{}:\n\n", self.say("sessions.result"));
            self.fenced(&result.text, "");
            self.out.push('\n');
        }
        self.out.push_str("</details>\n");
        if let Some(agent) = call.agent.and_then(|at| agents.get(at)) {
            self.agent(agent);
        }
    }

    fn agent(&mut self, agent: &Agent) {
        let kind = if agent.kind.is_empty() { &agent.id } else { &agent.kind };
        let name = self.say("sessions.agent");
        let _ = write!(
            self.out,
            "\n<details><summary>{name}: <b>{}</b> {}</summary>\n",
            escape(kind),
            escape(&agent.description)
        );
        self.thread(&agent.parts, "####");
        self.out.push_str("\n</details>\n");
    }
}

/// Prose whose tags are text and whose fences end, so that what follows stays ours; `lowered`, its headings
/// stand below ours.
fn harmless(text: &str, lowered: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut fence: Option<&str> = None;
    for line in text.lines() {
        let start = line.trim_start();
        let marks = &start[..start.len() - start.trim_start_matches(['`', '~']).len()];
        match fence {
            Some(open) if marks.starts_with(open) && marks == start.trim_end() => fence = None,
            None if marks.len() >= 3 => fence = Some(marks),
            _ => {}
        }
        if fence.is_some() || marks.len() >= 3 {
            out.push_str(line);
        } else {
            out.push_str(if lowered && line.starts_with('#') { "##" } else { "" });
            // Between two backticks is code, in which nothing is a tag.
            let last = line.matches('`').count();
            for (at, piece) in line.split('`').enumerate() {
                let code = at % 2 == 1 && at < last;
                out.push_str(if at > 0 { "`" } else { "" });
                out.push_str(&if code { piece.to_owned() } else { piece.replace('<', "&lt;") });
            }
        }
        out.push('\n');
    }
    if let Some(open) = fence {
        out.push_str(open);
    }
    out
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Text within the few tags that we write.
fn escape(text: &str) -> String {
    one_line(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::Tidy;
    use crate::transcript::Entry;

    fn sheet(rows: &[&str]) -> String {
        let entries: Vec<Entry> = rows.iter().map(|row| Entry::parse(*row).unwrap()).collect();
        markdown(&Conversation::read(&entries, &Tidy::default()), Language::English)
    }

    #[test]
    fn headings_of_a_model_stay_below_ours_and_prompts_are_quotations() {
        let text = sheet(&[
            r##"{"type":"user","message":{"content":"# do\n\nit"}}"##,
            r##"{"type":"assistant","message":{"role":"assistant","content":[{"type":"text","text":"# Done\nyes"}]}}"##,
        ]);
        assert!(text.contains("> # do\n>\n> it\n"), "{text}");
        assert!(text.contains("\n### Done\nyes\n"), "{text}");
    }

    #[test]
    fn tags_are_text_and_fences_end() {
        for (text, expected) in [
            ("a <b> `<c>` <d", "a &lt;b> `<c>` &lt;d\n"),
            ("an odd ` <b>", "an odd ` &lt;b>\n"),
            ("```x\n<a>\n~~~\n```\n<b>", "```x\n<a>\n~~~\n```\n&lt;b>\n"),
            ("~~~~\n# <a>", "~~~~\n# <a>\n~~~~"),
            ("# a\n```\n# b\n```", "### a\n```\n# b\n```\n"),
        ] {
            assert_eq!(harmless(text, true), expected);
        }
    }

    #[test]
    fn a_fence_in_a_result_does_not_end_ours() {
        let text = sheet(&[
            r#"{"type":"assistant","message":{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"Read","input":{"file_path":"<x>"}}]}}"#,
            r#"{"type":"user","message":{"content":[{"type":"tool_result","tool_use_id":"a","content":"```\n````x"}]}}"#,
        ]);
        assert!(text.contains("`````\n```\n````x\n`````\n"), "{text}");
        assert!(text.contains("<b>Read</b> &lt;x&gt;</summary>"), "{text}");
    }
}
