//! One event, some lines. Icons are ASCII, since terminals have crashed over others; colour says who speaks.

use std::collections::HashSet;
use std::time::Instant;

use serde_json::Value;
use unicode_width::UnicodeWidthStr;

use super::super::limits::hit_text;
use super::text::{clean, one_line, reflow, wrap};
use crate::event::{Event, Speaker};
use crate::language::Language;

/// Turns events into text, remembering what the status line needs.
pub(crate) struct Renderer {
    language: Language,
    width: usize,
    colored: bool,
    verbose: bool,
    started: Instant,
    cost: f64,
    /// The size of the conversation that was shown last.
    context: String,
    /// Limits of the machine that were told.
    limits: HashSet<String>,
}

/// How a line looks, where colours are wanted.
#[derive(Clone, Copy)]
pub(crate) enum Style {
    Plain,
    Dim,
    Bold,
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
}

impl Style {
    /// The text in this style.
    pub(crate) fn paint(self, text: &str) -> String {
        match self.code() {
            "" => text.to_owned(),
            code => format!("{code}{text}\u{1b}[0m"),
        }
    }

    fn code(self) -> &'static str {
        match self {
            Style::Plain => "",
            Style::Dim => "\u{1b}[2m",
            Style::Bold => "\u{1b}[1m",
            Style::Red => "\u{1b}[31m",
            Style::Green => "\u{1b}[32m",
            Style::Yellow => "\u{1b}[33m",
            Style::Blue => "\u{1b}[34m",
            Style::Magenta => "\u{1b}[35m",
            Style::Cyan => "\u{1b}[36m",
        }
    }
}

impl Renderer {
    pub(crate) fn new(language: Language, width: usize, colored: bool, verbose: bool) -> Self {
        let (started, context) = (Instant::now(), String::new());
        let limits = HashSet::new();
        Self { language, width, colored, verbose, started, cost: 0.0, context, limits }
    }

    /// The lines of an event, each with its line end; empty where it is not shown.
    pub(crate) fn render(&mut self, event: &Event) -> String {
        match event {
            Event::Step { name, index, total, resumed, woke } => {
                self.step(name, &format!("{index}/{total}"), resumed.then_some(*woke))
            }
            Event::Text { text, context, speaker, .. } => self.prose(text, *context, speaker),
            Event::Thinking { text, speaker } if speaker.is_main() => {
                self.paragraph("~ ", text, Style::Cyan)
            }
            Event::Prompt { text, speaker } if self.verbose => {
                let who = speaker.agent_type.as_deref().unwrap_or("main");
                self.paragraph("> ", &format!("[{who}] {text}"), Style::Dim)
            }
            Event::ToolCall { tool, summary, input, speaker, .. } => {
                self.call(tool, summary, input, speaker)
            }
            Event::ToolResult { is_error: true, text, speaker, .. } => {
                self.failure(self.gutter(speaker), text)
            }
            Event::ToolResult { text, speaker, .. } if self.verbose => {
                self.line(self.gutter(speaker), "- ", text, Style::Dim)
            }
            Event::Result { cost_usd, num_turns, is_error, .. } => {
                self.result(*cost_usd, *num_turns, *is_error)
            }
            Event::Error { text } => self.paragraph("! ", text, Style::Red),
            Event::Task { text, .. } if !text.is_empty() => {
                self.paragraph("# ", text, Style::Magenta)
            }
            Event::Ask { state, question, options, answer, remaining, .. } => {
                self.ask(state, question, options, answer, *remaining)
            }
            Event::Mail { state, text, .. } => {
                let said = self.language.text(&format!("cli.mail_{state}"), &[("text", text)]);
                self.paragraph("+ ", &said, Style::Green)
            }
            Event::Retry { text, .. } | Event::Network { text, .. } => {
                self.paragraph("~ ", text, Style::Yellow)
            }
            Event::Handoff { phase, context, window, at, .. } if phase != "done" => {
                let (context, window, at) = (short(*context), short(*window), short(*at));
                let values: [(&str, &str); 3] =
                    [("context", &context), ("window", &window), ("at", &at)];
                let text = self.language.text(&format!("cli.handoff_{phase}"), &values);
                self.paragraph("# ", &text, Style::Yellow)
            }
            Event::Handoff { degraded, path, sections, .. } => {
                self.handed_over(*degraded, path, sections)
            }
            Event::Verdict { round, state, reason, failed } => {
                self.verdict(*round, state, reason, failed)
            }
            Event::System { subtype, data } if subtype == "limit" => self.limit(data),
            Event::Thinking { .. }
            | Event::Prompt { .. }
            | Event::ToolResult { .. }
            | Event::System { .. }
            | Event::Task { .. } => String::new(),
        }
    }

    /// Once for each limit: the model is told every time, and what a person can do stays the same.
    fn limit(&mut self, data: &serde_json::Value) -> String {
        let of = data["of"].as_str().unwrap_or_default();
        if !self.limits.insert(of.to_owned()) {
            return String::new();
        }
        let text = hit_text(of, data["limit"].as_u64(), self.language);
        self.paragraph("! ", &text, Style::Yellow)
    }

    fn step(&self, name: &str, count: &str, woke: Option<u64>) -> String {
        let woke = woke.map(|woke| format!(" <- {woke}")).unwrap_or_default();
        let name = format!("== {} ", clean(name));
        let rule = 40.min(self.width.saturating_sub(count.len() + woke.len() + 1));
        let head = name.clone() + &"=".repeat(rule.saturating_sub(name.width()));
        let head = self.paint(&head, Style::Cyan);
        format!("\n{head} {}\n", self.paint(&format!("{count}{woke}"), Style::Dim))
    }

    fn prose(&mut self, text: &str, context: Option<u64>, speaker: &Speaker) -> String {
        if !speaker.is_main() {
            if !self.verbose {
                return String::new();
            }
            return self.lines(text, "  | ", "  | ", Style::Dim);
        }
        let mut out = self.lines(&reflow(text), "  ", "  ", Style::Plain);
        // Once for each size: the line is for glancing at, not for reading.
        if let Some(context) = context.filter(|n| *n > 0).map(short).filter(|n| *n != self.context)
        {
            let status = format!("  {context} ctx  ${:.4}  {}", self.cost, self.elapsed());
            out.push_str(&self.paint(&status, Style::Dim));
            out.push('\n');
            self.context = context;
        }
        out
    }

    /// The first lines of what a tool complained about, as lines: it is often a compiler's or a suite's.
    fn failure(&self, gutter: &str, text: &str) -> String {
        const SHOWN: usize = 4;
        let text = clean(text);
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let mut out = String::new();
        for (index, line) in lines.iter().take(SHOWN).enumerate() {
            out.push_str(&self.line(
                gutter,
                if index == 0 { "x " } else { "  " },
                line,
                Style::Red,
            ));
        }
        if lines.len() > SHOWN {
            out.push_str(&self.line(gutter, "  ", "...", Style::Red));
        }
        out
    }

    fn call(
        &self,
        tool: &str,
        summary: &str,
        input: &serde_json::Value,
        speaker: &Speaker,
    ) -> String {
        let field = |name: &str| input.get(name).and_then(|v| v.as_str()).unwrap_or_default();
        if tool == "Agent" {
            let who = one_line(&clean(field("subagent_type")), 24);
            let what = one_line(&clean(field("description")), 60);
            let who = self.paint(&format!("> {who}"), Style::Magenta);
            return format!("{who} {}\n", self.paint(&what, Style::Dim));
        }
        let style = if speaker.is_main() { Style::Blue } else { Style::Dim };
        // Which server a tool comes from is nothing to a person.
        let tool = tool.rsplit("__").next().unwrap_or(tool);
        self.line(self.gutter(speaker), "* ", &format!("{tool} {summary}"), style)
    }

    fn result(&mut self, cost: Option<f64>, turns: u32, is_error: bool) -> String {
        self.cost += cost.unwrap_or(0.0);
        let cost = cost.map_or_else(
            || self.language.text("cli.cost_unknown", &[]),
            |usd| format!("${usd:.4}"),
        );
        let text = self.language.text(
            if is_error { "cli.result_failed" } else { "cli.result" },
            &[("turns", &turns.to_string()), ("cost", &cost), ("elapsed", &self.elapsed())],
        );
        match is_error {
            true => self.paragraph("x ", &text, Style::Red),
            false => self.paragraph("+ ", &text, Style::Green),
        }
    }

    fn ask(
        &self,
        state: &str,
        question: &str,
        options: &[String],
        answer: &str,
        remaining: i64,
    ) -> String {
        match state {
            "asked" => {
                let mut out = self.paragraph("? ", question, Style::Yellow);
                for (number, option) in (1..).zip(options) {
                    out.push_str(&self.lines(
                        option,
                        &format!("  {number}) "),
                        "     ",
                        Style::Bold,
                    ));
                }
                if remaining >= 0 {
                    let left =
                        self.language.text("cli.asks_left", &[("count", &remaining.to_string())]);
                    out.push_str(&self.paragraph("  ", &left, Style::Dim));
                }
                out
            }
            "answered" => self.paragraph("+ ", answer, Style::Green),
            "declined" => {
                self.paragraph(". ", &self.language.text("cli.ask_declined", &[]), Style::Dim)
            }
            _ => {
                let key = format!("cli.ask_{state}");
                self.paragraph(
                    "! ",
                    &self.language.text(&key, &[("question", question)]),
                    Style::Yellow,
                )
            }
        }
    }

    fn verdict(&self, round: u32, state: &str, reason: &str, failed: &[String]) -> String {
        let achieved = state == "achieved";
        let (icon, style) = if achieved { ("+ ", Style::Green) } else { ("x ", Style::Red) };
        let text = self.language.text(
            &format!("cli.verdict_{state}"),
            &[("round", &round.to_string()), ("reason", reason)],
        );
        let mut out = self.paragraph(icon, &text, style);
        for item in failed {
            out.push_str(&self.lines(item, "    - ", "      ", Style::Plain));
        }
        out
    }

    fn handed_over(&mut self, degraded: bool, path: &str, sections: &Value) -> String {
        let say = |key: &str| self.language.text(key, &[]);
        let mut out = self.paragraph("# ", &say("cli.handoff_done"), Style::Magenta);
        if degraded {
            out.push_str(&self.paragraph("! ", &say("cli.handoff_degraded"), Style::Red));
        }
        for (name, title) in [
            ("doing", "document.doing"),
            ("decided", "document.decided"),
            ("deadends", "document.dead_ends"),
            ("next", "document.next"),
        ] {
            let body = sections[name].as_str().unwrap_or_default();
            if !body.is_empty() {
                out.push_str(&self.paint(&format!("  {}", say(title)), Style::Bold));
                out.push('\n');
                out.push_str(&self.lines(body, "    ", "    ", Style::Plain));
            }
        }
        if !path.is_empty() {
            let text = self.language.text("cli.handoff_path", &[("path", path)]);
            out.push_str(&self.paragraph("  ", &text, Style::Dim));
        }
        self.context.clear();
        out
    }

    /// What is said of a subagent stands behind a bar.
    fn gutter(&self, speaker: &Speaker) -> &'static str {
        if speaker.is_main() { "" } else { "  | " }
    }

    fn line(&self, gutter: &str, icon: &str, text: &str, style: Style) -> String {
        let room = self.width.saturating_sub(gutter.len() + icon.len());
        let line = format!("{gutter}{icon}{}", one_line(&clean(text), room));
        format!("{}\n", self.paint(&line, style))
    }

    fn paragraph(&self, icon: &str, text: &str, style: Style) -> String {
        self.lines(text, icon, "  ", style)
    }

    fn lines(&self, text: &str, first: &str, rest: &str, style: Style) -> String {
        let lines = wrap(&clean(text), self.width, first, rest);
        lines.iter().map(|line| format!("{}\n", self.paint(line, style))).collect()
    }

    fn paint(&self, text: &str, style: Style) -> String {
        if self.colored { style.paint(text) } else { text.to_owned() }
    }

    fn elapsed(&self) -> String {
        let seconds = self.started.elapsed().as_secs();
        let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
        match hours {
            0 => format!("{minutes}:{seconds:02}"),
            _ => format!("{hours}:{minutes:02}:{seconds:02}"),
        }
    }
}

/// 999, 1.0K, 185.9K.
fn short(number: u64) -> String {
    if number < 1000 {
        return number.to_string();
    }
    format!("{}.{}K", number / 1000, number % 1000 / 100)
}

#[cfg(test)]
mod tests {
    use unicode_width::UnicodeWidthStr;

    use super::*;
    use crate::document::VerdictState;
    use crate::human::AskState;

    fn said(text: &str, context: u64) -> Event {
        let speaker = Speaker::default();
        Event::Text { text: text.into(), context: Some(context), model: None, speaker }
    }

    #[test]
    fn a_step_fits_a_narrow_terminal_in_every_script() {
        for name in ["work", "确认需求"] {
            let mut renderer = Renderer::new(Language::Chinese, 40, false, false);
            let (index, total) = (3, 3);
            let event = Event::Step { name: name.into(), index, total, resumed: true, woke: 12 };
            let line = renderer.render(&event);
            assert_eq!(line.trim().width(), 40, "{line}");
        }
    }

    #[test]
    fn the_status_line_comes_once_for_each_size() {
        let mut renderer = Renderer::new(Language::English, 80, false, false);
        assert!(renderer.render(&said("a", 1200)).contains("1.2K ctx"));
        assert_eq!(renderer.render(&said("b", 1210)), "  b\n");
        assert_eq!(renderer.render(&said("c", 0)), "  c\n");
        assert!(renderer.render(&said("d", 1300)).contains("1.3K ctx"));
    }

    #[test]
    fn a_limit_of_the_machine_is_told_once() {
        let mut renderer = Renderer::new(Language::English, 80, false, false);
        let data = serde_json::json!({"of": "memory", "limit": 64 << 20});
        let event = Event::System { subtype: "limit".to_owned(), data };
        assert!(renderer.render(&event).contains("64 MiB"));
        assert_eq!(renderer.render(&event), "");
    }

    #[test]
    fn what_a_tool_complains_about_keeps_its_first_lines() {
        let mut renderer = Renderer::new(Language::English, 80, false, false);
        let text = "Exit code 1\n\nerror: a\n  --> b\nc\nd".to_owned();
        let speaker = Speaker::default();
        let event = Event::ToolResult { tool_use_id: "t".into(), is_error: true, text, speaker };
        assert_eq!(renderer.render(&event), "x Exit code 1\n  error: a\n  --> b\n  c\n  ...\n");
    }

    /// The keys of these texts are put together, so no search finds one that is missing.
    #[test]
    fn every_state_has_its_words_in_every_language() {
        let verdicts = VerdictState::ALL.map(|state| format!("cli.verdict_{}", state.name()));
        let shown_otherwise = [AskState::Asked, AskState::Answered];
        let asks = AskState::ALL.into_iter().filter(|state| !shown_otherwise.contains(state));
        let asks = asks.map(|state| format!("cli.ask_{}", state.name()));
        let mails = ["queued", "delivered"].map(|state| format!("cli.mail_{state}"));
        let endings = ["limit", "gave_up", "failed"].map(|outcome| format!("cli.{outcome}"));
        for key in verdicts.into_iter().chain(asks).chain(mails).chain(endings) {
            for language in Language::ALL {
                assert_ne!(language.text(&key, &[]), key, "{language:?}");
            }
        }
    }
}
