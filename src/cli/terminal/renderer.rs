//! One event, some lines. Icons are ASCII, since terminals have crashed over others; colour says who speaks.

use std::time::Instant;

use super::text::{clean, one_line, wrap};
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
}

#[derive(Clone, Copy)]
enum Style {
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
        Self { language, width, colored, verbose, started: Instant::now(), cost: 0.0 }
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
                self.line(self.gutter(speaker), "x ", text, Style::Red)
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
            Event::Retry { text, .. } => self.paragraph("~ ", text, Style::Yellow),
            Event::Verdict { round, state, reason, failed } => {
                self.verdict(*round, state, reason, failed)
            }
            Event::Thinking { .. }
            | Event::Prompt { .. }
            | Event::ToolResult { .. }
            | Event::System { .. }
            | Event::Task { .. } => String::new(),
        }
    }

    fn step(&self, name: &str, count: &str, woke: Option<u64>) -> String {
        let mut head = format!("== {} ", clean(name));
        let fill = 40usize.saturating_sub(head.len());
        head.push_str(&"=".repeat(fill));
        let woke = woke.map(|woke| format!(" <- {woke}")).unwrap_or_default();
        let head = self.paint(&head, Style::Cyan);
        format!("\n{head} {}\n", self.paint(&format!("{count}{woke}"), Style::Dim))
    }

    fn prose(&self, text: &str, context: Option<u64>, speaker: &Speaker) -> String {
        if !speaker.is_main() {
            if !self.verbose {
                return String::new();
            }
            return self.lines(text, "  | ", "  | ", Style::Dim);
        }
        let mut out = self.lines(text, "  ", "  ", Style::Plain);
        if let Some(context) = context {
            let status = format!("  {} ctx  ${:.4}  {}", short(context), self.cost, self.elapsed());
            out.push_str(&self.paint(&status, Style::Dim));
            out.push('\n');
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
        if !self.colored || style.code().is_empty() {
            return text.to_owned();
        }
        format!("{}{text}\u{1b}[0m", style.code())
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
    use super::*;
    use crate::document::VerdictState;
    use crate::human::AskState;

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
