//! `flower sessions show`: a conversation to read in a terminal.

use std::io::{BufWriter, Write};

use anyhow::Result;
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr;

use super::super::terminal::{Style, clean};
use super::look::Look;
use super::shelf::Shelf;
use crate::report::{Agent, Call, Conversation, Outcome, Part, Said, size};

/// Lines of a prompt, and of what a failed tool said, that are shown without -v.
const PROMPT_LINES: usize = 12;
const FAILURE_LINES: usize = 4;

/// Lines of what a subagent reported, where nothing else of it is shown.
const REPORT_LINES: usize = 8;

/// `flower sessions show`
#[derive(Debug, clap::Args)]
#[command(
    after_help = "-v shows everything: instructions, thinking, inputs and results of tools, notes.\n--json: one \
                  object a line; the first is about the session, the others have `kind` (prompt, reply, call, ...), \
                  `time` and `agent` (of a subagent).\n\nExample: flower sessions show 5a55b771 --subagents | less -R"
)]
pub(in crate::cli) struct ShowArgs {
    /// The session, or the beginning of its id
    id: String,
    /// Also what subagents said and did
    #[arg(long)]
    subagents: bool,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(shelf: &Shelf<'_>, args: &ShowArgs) -> Result<bool> {
    let key = shelf.find(&args.id).await?;
    let conversation = shelf.conversation(&key).await?;
    let mut out = BufWriter::new(std::io::stdout().lock());
    if args.json {
        json_lines(&conversation, &mut out)?;
    } else {
        let drawing = Drawing { look: &shelf.look, subagents: args.subagents };
        drawing.whole(&conversation, &mut out)?;
    }
    out.flush()?;
    Ok(true)
}

/// Draws a conversation as lines.
struct Drawing<'a> {
    look: &'a Look,
    subagents: bool,
}

impl Drawing<'_> {
    fn say(&self, key: &str, values: &[(&str, &str)]) -> String {
        self.look.language.text(key, values)
    }

    fn whole(&self, conversation: &Conversation, out: &mut dyn Write) -> std::io::Result<()> {
        let about = &conversation.about;
        let name = about.step.as_deref().unwrap_or(&about.session);
        let head = format!("== {} ", clean(name));
        let rule = 40.min(self.look.width).saturating_sub(head.width());
        writeln!(out, "{}", self.look.paint(&(head + &"=".repeat(rule)), Style::Cyan))?;
        let title = match about.title.as_str() {
            "" => self.say("sessions.untitled", &[]),
            title => title.to_owned(),
        };
        out.write_all(self.look.line(&title, "", Style::Bold).as_bytes())?;
        let rows = about.rows(conversation.agents.len(), self.look.language);
        let widest = rows.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
        for (name, value) in &rows {
            let first = format!("{name}{}  ", " ".repeat(widest - name.width()));
            // As wide as it looks, not as many characters.
            let rest = " ".repeat(widest + 2);
            let lines = super::super::terminal::wrap(&clean(value), self.look.width, &first, &rest);
            for line in lines {
                writeln!(out, "{}", self.look.paint(&line, Style::Dim))?;
            }
        }
        self.thread(&conversation.parts, conversation, "", out)?;
        for agent in conversation.strays() {
            writeln!(out)?;
            self.agent(agent, conversation, "", out)?;
        }
        Ok(())
    }

    fn thread(
        &self,
        parts: &[Part],
        whole: &Conversation,
        gutter: &str,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        let mut speaker = "";
        for part in parts {
            let now = match &part.said {
                Said::Prompt(_) => "prompt",
                Said::Summary(_) => "summary",
                Said::Failure(_) => "failure",
                Said::Reply(_) | Said::Call(_) | Said::Thinking(_) => "reply",
                // Not somebody speaking.
                Said::Instructions(_) | Said::Note(..) => speaker,
            };
            let quiet = matches!(part.said, Said::Thinking(_)) && !self.look.verbose;
            if !quiet && (now != speaker || now == "prompt") {
                let time = part.time.as_deref().map(crate::report::clock).unwrap_or_default();
                let name = self.say(&format!("sessions.{now}"), &[]);
                let style = match now {
                    "prompt" => Style::Green,
                    "failure" => Style::Red,
                    _ => Style::Cyan,
                };
                let name = self.look.paint(&name, style);
                let time = self.look.paint(&time, Style::Dim);
                if !speaker.is_empty() || gutter.is_empty() {
                    writeln!(out, "{}", gutter.trim_end())?;
                }
                writeln!(out, "{gutter}{name}  {time}")?;
                speaker = now;
            }
            self.part(&part.said, whole, gutter, out)?;
        }
        Ok(())
    }

    fn part(
        &self,
        said: &Said,
        whole: &Conversation,
        gutter: &str,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        let verbose = self.look.verbose;
        let text = match said {
            Said::Prompt(text) | Said::Summary(text) => {
                let most = if verbose { usize::MAX } else { PROMPT_LINES };
                self.some_lines(text, gutter, most, Style::Plain)
            }
            Said::Reply(text) => self.some_lines(text, gutter, usize::MAX, Style::Plain),
            Said::Failure(text) => self.some_lines(text, gutter, usize::MAX, Style::Red),
            Said::Thinking(text) if verbose => {
                let hidden = || self.say("sessions.thinking_hidden", &[]);
                let text = text.clone().unwrap_or_else(hidden);
                self.hang(&text, &format!("{gutter}  ~ "), gutter, Style::Dim)
            }
            Said::Instructions(text) if verbose => {
                let text = format!("{}\n{text}", self.say("sessions.instructions", &[]));
                self.hang(&text, &format!("{gutter}  # "), gutter, Style::Dim)
            }
            Said::Note(kind, text) if verbose => {
                let text = format!("{kind}: {text}");
                self.hang(&text, &format!("{gutter}  . "), gutter, Style::Dim)
            }
            Said::Note(kind, text) if kind == "compact_boundary" => {
                self.look.line(text, &format!("{gutter}  . "), Style::Dim)
            }
            Said::Thinking(_) | Said::Instructions(_) | Said::Note(..) => String::new(),
            Said::Call(call) => return self.call(call, whole, gutter, out),
        };
        out.write_all(text.as_bytes())
    }

    fn call(
        &self,
        call: &Call,
        whole: &Conversation,
        gutter: &str,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        let agent = call.agent.and_then(|at| whole.agents.get(at));
        if let Some(agent) = agent {
            self.agent(agent, whole, gutter, out)?;
        } else {
            let head = format!("{} {}", call.short_tool(), call.summary());
            let head = if self.look.verbose {
                self.look.paint(&format!("{gutter}  * {}", call.short_tool()), Style::Blue) + "\n"
            } else {
                self.look.line(&head, &format!("{gutter}  * "), Style::Blue)
            };
            out.write_all(head.as_bytes())?;
        }
        if self.look.verbose {
            for field in &call.input {
                let text = format!("{}: {}", field.name, field.value);
                let text = self.hang(&text, &format!("{gutter}      "), gutter, Style::Plain);
                out.write_all(text.as_bytes())?;
            }
        }
        let result = match &call.result {
            None => {
                let text = self.say("sessions.no_result", &[]);
                self.look.line(&text, &format!("{gutter}    ! "), Style::Yellow)
            }
            // What it came to is all that is seen of it.
            Some(result) if agent.is_some() && !self.subagents && !result.is_error => {
                let first = format!("{gutter}    ");
                let text = self.hang(result.text.trim(), &first, gutter, Style::Plain);
                self.first_lines(text, &first, REPORT_LINES)
            }
            Some(result) => self.result(result, gutter),
        };
        out.write_all(result.as_bytes())
    }

    fn result(&self, result: &Outcome, gutter: &str) -> String {
        let (mark, style) = if result.is_error { ("x", Style::Red) } else { ("-", Style::Dim) };
        let first = format!("{gutter}    {mark} ");
        if self.look.verbose {
            return self.hang(&result.text, &first, gutter, style);
        }
        let lines: Vec<&str> = result.text.lines().filter(|line| !line.trim().is_empty()).collect();
        if result.is_error {
            let mut out = String::new();
            for (at, line) in lines.iter().take(FAILURE_LINES).enumerate() {
                let first = if at == 0 { first.clone() } else { format!("{gutter}      ") };
                out.push_str(&self.look.line(line, &first, style));
            }
            if lines.len() > FAILURE_LINES {
                let more = (lines.len() - FAILURE_LINES).to_string();
                let text = self.say("sessions.more_lines", &[("count", &more)]);
                out.push_str(&self.look.line(&text, &format!("{gutter}      "), style));
            }
            return out;
        }
        let text = match lines.as_slice() {
            [] => self.say("sessions.no_output", &[]),
            [line] => (*line).to_owned(),
            several => {
                let (count, size) = (several.len().to_string(), size(result.text.len() as u64));
                self.say("sessions.lines", &[("count", &count), ("size", &size)])
            }
        };
        self.look.line(&text, &first, style)
    }

    /// A subagent: one line, or everything behind a bar.
    fn agent(
        &self,
        agent: &Agent,
        whole: &Conversation,
        gutter: &str,
        out: &mut dyn Write,
    ) -> std::io::Result<()> {
        let kind = if agent.kind.is_empty() { &agent.id } else { &agent.kind };
        let head = format!("{kind}  {}", agent.description);
        let head = self.look.line(&head, &format!("{gutter}  > "), Style::Magenta);
        out.write_all(head.as_bytes())?;
        if self.subagents {
            self.thread(&agent.parts, whole, &format!("{gutter}  | "), out)?;
        }
        Ok(())
    }

    /// The first lines of a text, with a word about the others.
    fn some_lines(&self, text: &str, gutter: &str, most: usize, style: Style) -> String {
        let first = format!("{gutter}  ");
        self.first_lines(self.hang(text.trim_end(), &first, gutter, style), &first, most)
    }

    fn first_lines(&self, text: String, first: &str, most: usize) -> String {
        let count = text.lines().count();
        // Leaving out a line or two is not worth a line that says so.
        if count <= most.saturating_add(2) {
            return text;
        }
        let shown: String = text.split_inclusive('\n').take(most).collect();
        let more = self.say("sessions.more_lines", &[("count", &(count - most).to_string())]);
        shown + &self.look.line(&more, first, Style::Dim)
    }

    /// Text in lines behind `first`; the gutter stands before every line.
    fn hang(&self, text: &str, first: &str, gutter: &str, style: Style) -> String {
        let blank = first.chars().count() - gutter.chars().count();
        let rest = format!("{gutter}{}", " ".repeat(blank));
        let lines = super::super::terminal::wrap(&clean(text), self.look.width, first, &rest);
        lines.iter().map(|line| format!("{}\n", self.look.paint(line, style))).collect()
    }
}

/// The session, then each part.
fn json_lines(conversation: &Conversation, out: &mut dyn Write) -> std::io::Result<()> {
    let about = &conversation.about;
    let head = json!({
        "kind": "session",
        "session": about.session,
        "title": about.title,
        "step": about.step,
        "folder": about.folder,
        "branch": about.branch,
        "models": about.models,
        "entries": about.entries,
        "bytes": about.bytes,
        "subagents": conversation.agents.len(),
    });
    writeln!(out, "{head}")?;
    let write = |part: &Part, agent: Option<&Agent>, out: &mut dyn Write| {
        let mut row = said(&part.said, conversation);
        row["time"] = json!(part.time);
        row["agent"] = json!(agent.map(|agent| &agent.id));
        writeln!(out, "{row}")
    };
    for part in &conversation.parts {
        write(part, None, out)?;
    }
    for agent in &conversation.agents {
        for part in &agent.parts {
            write(part, Some(agent), out)?;
        }
    }
    Ok(())
}

fn said(said: &Said, conversation: &Conversation) -> Value {
    let text = |kind: &str, text: &str| json!({"kind": kind, "text": text});
    match said {
        Said::Instructions(words) => text("instructions", words),
        Said::Prompt(words) => text("prompt", words),
        Said::Reply(words) => text("reply", words),
        Said::Thinking(words) => json!({"kind": "thinking", "text": words}),
        Said::Summary(words) => text("summary", words),
        Said::Failure(words) => text("failure", words),
        Said::Note(kind, words) => json!({"kind": "note", "note": kind, "text": words}),
        Said::Call(call) => {
            let input: serde_json::Map<String, Value> = call
                .input
                .iter()
                .map(|field| (field.name.clone(), Value::String(field.value.clone())))
                .collect();
            let agent = call.agent.and_then(|at| conversation.agents.get(at));
            json!({
                "kind": "call",
                "tool": call.tool,
                "input": input,
                "result": call.result.as_ref().map(|result| &result.text),
                "is_error": call.result.as_ref().map(|result| result.is_error),
                "subagent": agent.map(|agent| &agent.id),
            })
        }
    }
}
