//! A conversation as one HTML page: no scripts, nothing loaded from anywhere, every text escaped.

use std::fmt::Write;

use crate::language::Language;

use super::conversation::{Agent, Call, Conversation, Part, Said};
use super::prose::{escape, inline, prose};
use super::{cut, notes, size};

const STYLE: &str = include_str!("page.css");

/// The page. It may be opened from a disk or served as it is.
pub fn html(conversation: &Conversation, language: Language) -> String {
    let mut page = Page { out: String::new(), language, conversation };
    page.whole();
    page.out
}

struct Page<'a> {
    out: String,
    language: Language,
    conversation: &'a Conversation,
}

impl Page<'_> {
    fn say(&self, key: &str, values: &[(&str, &str)]) -> String {
        escape(&self.language.text(key, values))
    }

    fn add(&mut self, markup: &str) {
        self.out.push_str(markup);
    }

    fn whole(&mut self) {
        let conversation = self.conversation;
        let about = &conversation.about;
        let title = match about.title.as_str() {
            "" => self.say("sessions.untitled", &[]),
            title => escape(title),
        };
        let head = if about.title.is_empty() { title.clone() } else { inline(&about.title) };
        let _ = write!(
            self.out,
            "<!DOCTYPE html>\n<html lang=\"{}\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n\
             <title>{title}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n<header>\n",
            self.language.code(),
        );
        if let Some(step) = &about.step {
            let _ = writeln!(self.out, "<p class=step>{}</p>", escape(step));
        }
        let _ = writeln!(self.out, "<h1>{head}</h1>\n<dl>");
        for (name, value) in about.rows(conversation.agents.len(), self.language) {
            let _ = writeln!(self.out, "<dt>{}</dt><dd>{}</dd>", escape(&name), escape(&value));
        }
        self.add("</dl>\n</header>\n");
        self.thread(&conversation.parts);
        let strays: Vec<&Agent> = conversation.strays().collect();
        strays.into_iter().for_each(|agent| self.agent(agent, None));
        let made = self.say("sessions.made_by", &[("version", env!("CARGO_PKG_VERSION"))]);
        let _ = write!(self.out, "<footer>{made}</footer>\n</main>\n</body>\n</html>\n");
    }

    fn thread(&mut self, parts: &[Part]) {
        // A speaker who goes on speaking is not announced again.
        let mut speaker = "";
        let mut at = 0;
        while let Some(part) = parts.get(at) {
            let notes = notes(&parts[at..]);
            if notes.len() > 1 {
                let name = self.say("sessions.notes", &[("count", &notes.len().to_string())]);
                let _ = writeln!(
                    self.out,
                    "<details class=quiet><summary><span class=kind>{name}</span></summary>\n<div class=inside>"
                );
                for (kind, text) in &notes {
                    self.aside(&escape(kind), text);
                }
                self.add("</div></details>\n");
                at += notes.len();
                continue;
            }
            at += 1;
            let now = match &part.said {
                Said::Reply(text) => {
                    self.section("reply", (speaker != "reply").then_some(part), text);
                    "reply"
                }
                Said::Prompt(text) => {
                    self.section("prompt", Some(part), text);
                    "prompt"
                }
                Said::Failure(text) => {
                    self.section("failure", Some(part), text);
                    "failure"
                }
                Said::Summary(text) => {
                    self.section("summary", Some(part), text);
                    "summary"
                }
                Said::Call(call) => {
                    self.call(call);
                    speaker
                }
                Said::Thinking(text) => {
                    let name = self.say("sessions.thinking", &[]);
                    let hidden = self.language.text("sessions.thinking_hidden", &[]);
                    self.aside(&name, text.as_deref().unwrap_or(&hidden));
                    speaker
                }
                Said::Instructions(text) => {
                    let name = self.say("sessions.instructions", &[]);
                    self.aside(&name, text);
                    speaker
                }
                Said::Note(kind, text) => {
                    self.aside(&escape(kind), text);
                    speaker
                }
            };
            speaker = now;
        }
    }

    /// Something that was said; `head` is the part whose speaker and time stand above it.
    fn section(&mut self, class: &str, head: Option<&Part>, text: &str) {
        let _ = writeln!(self.out, "<section class={class}>");
        if let Some(part) = head {
            let name = self.say(&format!("sessions.{class}"), &[]);
            let time = part.time.as_deref().map(|time| {
                format!(
                    "<time datetime=\"{}\">{}</time>",
                    escape(time),
                    escape(&super::clock(time))
                )
            });
            let _ = writeln!(self.out, "<h2>{name}{}</h2>", time.unwrap_or_default());
        }
        match cut(text) {
            None => prose(&mut self.out, text),
            Some((start, left_out, end)) => {
                prose(&mut self.out, start);
                self.gap(left_out);
                prose(&mut self.out, end);
            }
        }
        self.add("</section>\n");
    }

    fn gap(&mut self, left_out: usize) {
        let text = self.say("sessions.cut", &[("count", &left_out.to_string())]);
        let _ = writeln!(self.out, "<span class=cut>{text}</span>");
    }

    /// Something that few want to read.
    fn aside(&mut self, name: &str, text: &str) {
        let first = text.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
        let first: String = first.chars().take(160).collect();
        let _ = write!(
            self.out,
            "<details class=quiet><summary><span class=kind>{name}</span><span class=what>{}</span></summary>\n<div class=inside>",
            escape(&first)
        );
        self.verbatim(text, "");
        self.add("</div></details>\n");
    }

    fn verbatim(&mut self, text: &str, class: &str) {
        let class = if class.is_empty() { String::new() } else { format!(" class={class}") };
        // A line end right behind the tag is not shown, so one is put there.
        let _ = writeln!(self.out, "<pre{class}>");
        match cut(text) {
            None => self.add(&escape(text)),
            Some((start, left_out, end)) => {
                self.add(&escape(start));
                self.gap(left_out);
                self.add(&escape(end));
            }
        }
        self.add("</pre>\n");
    }

    fn call(&mut self, call: &Call) {
        let agents = &self.conversation.agents;
        if let Some(agent) = call.agent.and_then(|at| agents.get(at)) {
            self.agent(agent, Some(call));
            return;
        }
        let _ = write!(
            self.out,
            "<details><summary><b>{}</b><span class=what>{}</span>{}</summary>\n<div class=inside>\n",
            escape(call.short_tool()),
            escape(&call.summary()),
            self.state(call),
        );
        self.input(call);
        self.result(call);
        self.add("</div></details>\n");
    }

    /// How it went, in a word.
    fn state(&self, call: &Call) -> String {
        let (class, text) = match &call.result {
            None => ("state bad", self.say("sessions.no_result", &[])),
            Some(result) if result.is_error => ("state bad", self.say("sessions.failed", &[])),
            Some(result) => ("state", escape(&size(result.text.len() as u64))),
        };
        format!("<span class=\"{class}\">{text}</span>")
    }

    fn input(&mut self, call: &Call) {
        let edit = call.field("old_string").zip(call.field("new_string"));
        for field in &call.input {
            match (field.name.as_str(), edit) {
                ("new_string", Some(_)) => {}
                ("old_string", Some((old, new))) => self.change(old, new),
                (name, _) => {
                    let _ = writeln!(self.out, "<p class=name>{}</p>", escape(name));
                    self.verbatim(&field.value, "");
                }
            }
        }
    }

    /// An edit as lines that go and lines that come.
    fn change(&mut self, old: &str, new: &str) {
        let name = self.say("sessions.change", &[]);
        let _ = write!(self.out, "<p class=name>{name}</p>\n<pre>");
        for (class, mark, text) in [("del", '-', old), ("ins", '+', new)] {
            let shown = cut(text).map_or(text, |(start, ..)| start);
            for line in shown.lines() {
                let _ = write!(self.out, "<span class={class}>{mark} {}</span>", escape(line));
            }
            if let Some((_, left_out, end)) = cut(text) {
                self.gap(left_out + end.chars().count());
            }
        }
        self.add("</pre>\n");
    }

    fn result(&mut self, call: &Call) {
        let Some(result) = &call.result else { return };
        let name = self.say("sessions.result", &[]);
        let _ = writeln!(self.out, "<p class=name>{name}</p>");
        self.verbatim(&result.text, if result.is_error { "error" } else { "" });
    }

    /// A subagent with everything that it did, behind the call that started it.
    fn agent(&mut self, agent: &Agent, call: Option<&Call>) {
        let kind = if agent.kind.is_empty() { &agent.id } else { &agent.kind };
        let state = call.map(|call| self.state(call)).unwrap_or_default();
        let _ = write!(
            self.out,
            "<details class=agent><summary><b>{}</b><span class=what>{}</span>{state}</summary>\n<div class=inside>\n",
            escape(kind),
            escape(&agent.description),
        );
        self.thread(&agent.parts);
        // What the caller got is mostly what the subagent said last.
        let last = agent.parts.last().map(|part| &part.said);
        let told = |call: &&Call| match (last, &call.result) {
            (Some(Said::Reply(text)), Some(result)) => text.trim() == result.text.trim(),
            _ => false,
        };
        if let Some(call) = call.filter(|call| !told(call)) {
            self.result(call);
        }
        self.add("</div></details>\n");
    }
}
