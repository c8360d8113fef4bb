//! A transcript as a conversation: who said what, which tool was called, what came of it.

use std::collections::HashMap;

use serde_json::Value;

use crate::language::Language;
use crate::transcript::{Block, Body, Entry, Message, RawObject, decode_string};

use super::tidy::Tidy;

/// A session with its subagents, ready to be drawn.
#[derive(Debug, Clone, Default)]
pub struct Conversation {
    /// What stands at its top.
    pub about: About,
    /// The main thread, in the order in which it was stored.
    pub parts: Vec<Part>,
    /// Its subagents, in the order in which they were called where that is known.
    pub agents: Vec<Agent>,
}

/// What is known of a session as a whole.
#[derive(Debug, Clone, Default)]
pub struct About {
    /// The session's id.
    pub session: String,
    /// What it is about; empty where nothing was said.
    pub title: String,
    /// The step of a run that it was, where the run's records know it.
    pub step: Option<String>,
    /// Where the agent worked.
    pub folder: Option<String>,
    /// The git branch there.
    pub branch: Option<String>,
    /// The models that answered, in order.
    pub models: Vec<String>,
    /// The first and the last time in it, ISO 8601.
    pub span: Option<(String, String)>,
    /// Entries on the main thread.
    pub entries: usize,
    /// Bytes of all entries, with those of subagents.
    pub bytes: u64,
}

/// One subagent.
#[derive(Debug, Clone, Default)]
pub struct Agent {
    /// Its id.
    pub id: String,
    /// Its kind; empty where nothing says it.
    pub kind: String,
    /// Its task in a few words; empty where nothing says it.
    pub description: String,
    /// The id of the call that started it.
    pub call: Option<String>,
    /// What it said and did.
    pub parts: Vec<Part>,
}

/// One thing that happened.
#[derive(Debug, Clone)]
pub struct Part {
    /// When, ISO 8601.
    pub time: Option<String>,
    /// What.
    pub said: Said,
}

/// What happened.
#[derive(Debug, Clone)]
pub enum Said {
    /// What the model was told to be, before anything was said.
    Instructions(String),
    /// A person's words, or a program's in their place.
    Prompt(String),
    /// The model's words.
    Reply(String),
    /// What the model thought; nothing where that is not readable.
    Thinking(Option<String>),
    /// A tool was called.
    Call(Call),
    /// A summary in the place of what was said before.
    Summary(String),
    /// The API, or the program between, reports a failure.
    Failure(String),
    /// Something else that the transcript holds: its kind and what it says.
    Note(String, String),
}

/// A call of a tool with what came of it.
#[derive(Debug, Clone, Default)]
pub struct Call {
    /// The id that its result names.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Vec<Field>,
    /// What came back; nothing where no result is stored.
    pub result: Option<Outcome>,
    /// The subagent that it started, by its place in [`Conversation::agents`].
    pub agent: Option<usize>,
    /// That subagent's id, where the result says it.
    pub agent_id: Option<String>,
}

/// One value of a tool's input.
#[derive(Debug, Clone)]
pub struct Field {
    /// Its name.
    pub name: String,
    /// A string as it is, anything else as JSON.
    pub value: String,
}

/// A result of a tool.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Its text, with a word for every image.
    pub text: String,
    /// The call failed or was refused.
    pub is_error: bool,
}

impl About {
    /// What stands at the top, as names and values.
    pub fn rows(&self, agents: usize, language: Language) -> Vec<(String, String)> {
        let said = |key: &str| language.text(key, &[]);
        let mut rows = vec![(said("sessions.session"), self.session.clone())];
        if let Some((from, to)) = &self.span {
            let (from, to) = (super::day(from), super::day(to));
            let span = if from == to { from } else { format!("{from} - {to}") };
            rows.push((said("sessions.time"), span));
        }
        if let Some(folder) = &self.folder {
            let branch = self.branch.as_deref().map(|branch| format!(" ({branch})"));
            let place = format!("{folder}{}", branch.unwrap_or_default());
            rows.push((said("sessions.folder"), place));
        }
        if !self.models.is_empty() {
            rows.push((said("sessions.model"), self.models.join(", ")));
        }
        let held = language.text(
            "sessions.held",
            &[("entries", &self.entries.to_string()), ("size", &super::size(self.bytes))],
        );
        rows.push((said("sessions.size"), held));
        if agents > 0 {
            rows.push((said("sessions.agents"), agents.to_string()));
        }
        rows
    }
}

impl Call {
    /// What the call is about, in one line.
    pub fn summary(&self) -> String {
        const NAMES: [&str; 8] = [
            "command",
            "file_path",
            "description",
            "pattern",
            "question",
            "url",
            "query",
            "prompt",
        ];
        let named = NAMES.iter().find_map(|name| self.field(name)).map(str::to_owned);
        let value = named.or_else(|| self.items()).or_else(|| {
            let readable = |field: &&Field| !field.value.starts_with(['[', '{']);
            self.input.iter().find(readable).map(|field| field.value.clone())
        });
        value.unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ")
    }

    /// What a list of things to do says.
    fn items(&self) -> Option<String> {
        let list: Vec<Value> = serde_json::from_str(self.field("todos")?).ok()?;
        let items = list.iter().filter_map(|item| item.get("content")?.as_str());
        Some(items.collect::<Vec<_>>().join("; "))
    }

    /// A value of the input by its name.
    pub fn field(&self, name: &str) -> Option<&str> {
        self.input.iter().find(|field| field.name == name).map(|field| field.value.as_str())
    }

    /// The tool's name without the server that it comes from.
    pub fn short_tool(&self) -> &str {
        self.tool.rsplit("__").next().unwrap_or(&self.tool)
    }
}

impl Conversation {
    /// Reads the main thread. Nothing is left out: what cannot be read is a note.
    pub fn read(entries: &[Entry], tidy: &Tidy) -> Self {
        let mut thread = Thread::new(tidy);
        entries.iter().for_each(|entry| thread.take(entry));
        let times = || entries.iter().filter_map(|entry| entry.timestamp.as_deref());
        let span = times().next().zip(times().next_back());
        let about = About {
            models: thread.models,
            span: span.map(|(from, to)| (tidy.text(from), tidy.text(to))),
            entries: entries.len(),
            bytes: entries.iter().map(|entry| entry.raw().len() as u64).sum(),
            ..About::default()
        };
        Self { about, parts: thread.parts, agents: Vec::new() }
    }

    /// Adds the transcript below `subpath` and ties it to the call that started it.
    pub fn add_agent(&mut self, subpath: &str, entries: &[Entry], tidy: &Tidy) {
        let name = subpath.rsplit('/').next().unwrap_or(subpath);
        let mut agent = Agent {
            id: tidy.text(name.strip_prefix("agent-").unwrap_or(name)),
            ..Agent::default()
        };
        let mut thread = Thread::new(tidy);
        for entry in entries {
            if entry.kind == "agent_metadata" {
                let text = |name| entry.string(name).map(|text| tidy.text(&text));
                agent.kind = text("agentType").unwrap_or_default();
                agent.description = text("description").unwrap_or_default();
                agent.call = entry.string("toolUseId");
            } else {
                thread.take(entry);
            }
        }
        agent.parts = thread.parts;
        self.about.bytes += entries.iter().map(|entry| entry.raw().len() as u64).sum::<u64>();
        self.agents.push(agent);
    }

    /// Brings the subagents into the order of their calls and ties both together; to be called once, when
    /// all are there.
    pub fn tie(&mut self) {
        let mut places: HashMap<String, usize> = HashMap::new();
        for (at, part) in self.parts.iter().enumerate() {
            if let Said::Call(call) = &part.said {
                let names = [&call.id].into_iter().chain(&call.agent_id);
                places.extend(names.map(|name| (name.clone(), at)));
            }
        }
        let mut agents: Vec<(usize, Agent)> = std::mem::take(&mut self.agents)
            .into_iter()
            .map(|agent| {
                let names = agent.call.iter().chain([&agent.id]);
                let place = names.filter_map(|name| places.get(name)).next().copied();
                (place.unwrap_or(usize::MAX), agent)
            })
            .collect();
        agents.sort_by_key(|(place, _)| *place);
        for (at, (place, agent)) in agents.into_iter().enumerate() {
            if let Some(Said::Call(call)) = self.parts.get_mut(place).map(|part| &mut part.said) {
                call.agent.get_or_insert(at);
            }
            self.agents.push(agent);
        }
    }

    /// Subagents that no call on the main thread started.
    pub fn strays(&self) -> impl Iterator<Item = &Agent> {
        let tied: Vec<usize> = self
            .parts
            .iter()
            .filter_map(|part| match &part.said {
                Said::Call(call) => call.agent,
                _ => None,
            })
            .collect();
        self.agents.iter().enumerate().filter(move |(at, _)| !tied.contains(at)).map(|(_, a)| a)
    }
}

/// Reads one thread, entry by entry.
struct Thread<'a> {
    tidy: &'a Tidy,
    parts: Vec<Part>,
    models: Vec<String>,
    /// Calls without a result so far: where they stand in `parts`.
    open: HashMap<String, usize>,
}

impl<'a> Thread<'a> {
    fn new(tidy: &'a Tidy) -> Self {
        Self { tidy, parts: Vec::new(), models: Vec::new(), open: HashMap::new() }
    }

    fn say(&mut self, entry: &Entry, said: Said) {
        let time = entry.timestamp.as_deref().map(|time| self.tidy.text(time));
        self.parts.push(Part { time, said });
    }

    fn take(&mut self, entry: &Entry) {
        match entry.kind.as_str() {
            "user" | "assistant" => match entry.message() {
                Some(message) => self.message(entry, &message),
                None => self.note(entry),
            },
            "flower-instructions" => {
                let text = entry.string("instructions").unwrap_or_default();
                let text = self.tidy.text(&text);
                self.say(entry, Said::Instructions(text));
            }
            _ => self.note(entry),
        }
    }

    fn message(&mut self, entry: &Entry, message: &Message) {
        let model = message.model.as_deref().filter(|model| *model != "<synthetic>");
        if let Some(model) = model.map(|model| self.tidy.text(model))
            && !self.models.contains(&model)
        {
            self.models.push(model);
        }
        let summary = entry.field("isCompactSummary") == Some("true");
        let assistant = message.role == "assistant";
        for block in &message.blocks {
            match block.body() {
                Body::Text(text) if text.trim().is_empty() => {}
                Body::Text(text) => {
                    let text = self.tidy.text(text);
                    self.say(
                        entry,
                        match () {
                            () if summary => Said::Summary(text),
                            () if entry.api_error => Said::Failure(text),
                            () if assistant => Said::Reply(text),
                            () if entry.protected => Said::Note("meta".into(), text),
                            () => Said::Prompt(text),
                        },
                    );
                }
                Body::Thinking => {
                    let text =
                        RawObject::parse(block.raw()).ok().and_then(|b| b.string("thinking"));
                    let text = text.filter(|text| !text.trim().is_empty());
                    self.say(entry, Said::Thinking(text.map(|text| self.tidy.text(&text))));
                }
                Body::ToolUse { id, name, input } => {
                    let input = fields(input, self.tidy);
                    let call = Call {
                        id: id.clone(),
                        tool: self.tidy.text(name),
                        input,
                        ..Call::default()
                    };
                    self.open.insert(id.clone(), self.parts.len());
                    self.say(entry, Said::Call(call));
                }
                Body::ToolResult { tool_use_id, is_error, .. } => {
                    let text = self.tidy.text(&result_text(block));
                    self.result(entry, tool_use_id, Outcome { text, is_error: *is_error });
                }
                Body::Other(kind) => {
                    let kind = self.tidy.text(kind);
                    let about = describe(block);
                    let text = self.tidy.text(&about.unwrap_or_else(|| block.raw().to_owned()));
                    self.say(entry, Said::Note(kind, text));
                }
            }
        }
    }

    /// A result belongs to its call; one without stands alone.
    fn result(&mut self, entry: &Entry, id: &str, outcome: Outcome) {
        let place = self.open.remove(id);
        match place.and_then(|at| self.parts.get_mut(at)).map(|part| &mut part.said) {
            Some(Said::Call(call)) => {
                let told = entry.field("toolUseResult").and_then(|raw| RawObject::parse(raw).ok());
                call.agent_id = told.and_then(|told| told.string("agentId"));
                call.result = Some(outcome);
            }
            _ => self.say(entry, Said::Note("tool_result".into(), outcome.text)),
        }
    }

    fn note(&mut self, entry: &Entry) {
        let Ok(fields) = RawObject::parse(entry.raw()) else { return };
        let kind = match (entry.kind.as_str(), fields.string("subtype")) {
            ("", _) => "?".to_owned(),
            ("system", Some(subtype)) => subtype,
            ("attachment", _) => {
                let inner = fields.get("attachment").and_then(|raw| RawObject::parse(raw).ok());
                inner.and_then(|inner| inner.string("type")).unwrap_or_else(|| "attachment".into())
            }
            (kind, _) => kind.to_owned(),
        };
        const TEXTS: [&str; 7] =
            ["content", "summary", "customTitle", "aiTitle", "lastPrompt", "error", "operation"];
        let text = TEXTS.iter().find_map(|name| fields.string(name));
        let text = text.unwrap_or_else(|| entry.raw().to_owned());
        let (kind, text) = (self.tidy.text(&kind), self.tidy.text(&text));
        let failure = matches!(kind.as_str(), "api_error" | "mirror_error");
        self.say(entry, if failure { Said::Failure(text) } else { Said::Note(kind, text) });
    }
}

/// The values of an input; one that is no object is a single value without a name.
fn fields(input: &str, tidy: &Tidy) -> Vec<Field> {
    let value = |raw: &str| match decode_string(raw) {
        Some(text) => tidy.text(&text),
        // Indented where that is possible: it is read by people.
        None => {
            let tree: Option<Value> = serde_json::from_str(raw).ok();
            let text = tree.and_then(|tree| match tree {
                Value::Array(_) | Value::Object(_) => serde_json::to_string_pretty(&tree).ok(),
                _ => None,
            });
            tidy.text(&text.unwrap_or_else(|| raw.to_owned()))
        }
    };
    match RawObject::parse(input) {
        Ok(object) => object
            .iter()
            .map(|(name, raw)| Field { name: tidy.text(name), value: value(raw) })
            .collect(),
        Err(_) => vec![Field { name: String::new(), value: value(input) }],
    }
}

/// The text of a result, with a word for what is no text.
fn result_text(block: &Block) -> String {
    let Ok(fields) = RawObject::parse(block.raw()) else { return String::new() };
    let Some(content) = fields.get("content") else { return String::new() };
    if let Some(text) = decode_string(content) {
        return text;
    }
    let Ok(blocks) = Block::parse_content(content) else { return content.to_owned() };
    let texts: Vec<String> = blocks
        .iter()
        .map(|block| match block.body() {
            Body::Text(text) => text.clone(),
            _ => describe(block).unwrap_or_else(|| block.raw().to_owned()),
        })
        .collect();
    texts.join("\n")
}

/// `[image/png, 12.0 KB]` for an image or a document.
fn describe(block: &Block) -> Option<String> {
    let fields = RawObject::parse(block.raw()).ok()?;
    let source = RawObject::parse(fields.get("source")?).ok()?;
    let media = source.string("media_type").or_else(|| fields.string("type"))?;
    match source.get("data") {
        // Four characters of base64 are three bytes.
        Some(data) => Some(format!("[{media}, {}]", super::size(data.len() as u64 * 3 / 4))),
        None => Some(format!("[{media}]")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(rows: &[&str]) -> Conversation {
        let entries: Vec<Entry> = rows.iter().map(|row| Entry::parse(*row).unwrap()).collect();
        Conversation::read(&entries, &Tidy::new(["canary-1".to_owned()]))
    }

    fn said(conversation: &Conversation) -> Vec<String> {
        conversation.parts.iter().map(|part| format!("{:?}", part.said)).collect()
    }

    #[test]
    fn results_find_their_calls_and_strays_stand_alone() {
        let conversation = read(&[
            r#"{"type":"assistant","message":{"role":"assistant","model":"m","content":[{"type":"tool_use","id":"a","name":"Bash","input":{"command":"ls\n -l"}}]}}"#,
            r#"{"type":"assistant","message":{"role":"assistant","model":"m","content":[{"type":"tool_use","id":"b","name":"mcp__h__ask","input":{"n":1}}]}}"#,
            r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"b","content":"no","is_error":true},{"type":"tool_result","tool_use_id":"c","content":"lost"}]}}"#,
            r#"{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":[{"type":"text","text":"x"},{"type":"image","source":{"media_type":"image/png","data":"AAAAAAAA"}}]}]}}"#,
        ]);
        assert_eq!(conversation.about.models, ["m"]);
        let calls: Vec<&Call> = conversation
            .parts
            .iter()
            .filter_map(|part| match &part.said {
                Said::Call(call) => Some(call),
                _ => None,
            })
            .collect();
        let outcome = |call: &Call| call.result.clone().map(|r| (r.text, r.is_error)).unwrap();
        assert_eq!((calls[0].summary(), calls[1].short_tool()), ("ls -l".into(), "ask"));
        assert_eq!(outcome(calls[0]), ("x\n[image/png, 7 B]".into(), false));
        assert_eq!(outcome(calls[1]), ("no".into(), true));
        assert_eq!(said(&conversation)[2], r#"Note("tool_result", "lost")"#);
    }

    #[test]
    fn nothing_that_is_stored_is_left_out_and_nothing_secret_is_shown() {
        let conversation = read(&[
            r#"{"type":"user","message":{"content":"hi canary-1"}}"#,
            r#"{"type":"user","isMeta":true,"message":{"content":"caveat"}}"#,
            r#"{"type":"user","isCompactSummary":true,"message":{"content":"before"}}"#,
            r#"{"type":"assistant","isApiErrorMessage":true,"message":{"model":"<synthetic>","content":[{"type":"text","text":"529"}]}}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"thinking","thinking":"hm","signature":"x"},{"type":"redacted_thinking","data":"x"},{"type":"text","text":"\ud83d"}]}}"#,
            r#"{"type":"attachment","attachment":null}"#,
            r#"{"type":"system","subtype":"compact_boundary","content":"compacted"}"#,
            r#"{"type":"user","message":12}"#,
            r#"{}"#,
        ]);
        assert_eq!(
            said(&conversation),
            [
                r#"Prompt("hi ***")"#,
                r#"Note("meta", "caveat")"#,
                r#"Summary("before")"#,
                r#"Failure("529")"#,
                r#"Thinking(Some("hm"))"#,
                "Thinking(None)",
                "Reply(\"\u{fffd}\")",
                r#"Note("attachment", "{\"type\":\"attachment\",\"attachment\":null}")"#,
                r#"Note("compact_boundary", "compacted")"#,
                r#"Note("user", "{\"type\":\"user\",\"message\":12}")"#,
                r#"Note("?", "{}")"#,
            ]
        );
    }

    #[test]
    fn subagents_stand_in_the_order_of_their_calls() {
        let call = |id: &str| {
            format!(
                r#"{{"type":"assistant","message":{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"Agent","input":{{}}}}]}}}}"#
            )
        };
        let mut conversation = read(&[&call("one"), &call("two")]);
        for (id, call) in [("a", "two"), ("z", "one"), ("b", "none")] {
            let row =
                format!(r#"{{"type":"agent_metadata","agentType":"k","toolUseId":"{call}"}}"#);
            let entries = [Entry::parse(row).unwrap()];
            conversation.add_agent(&format!("subagents/agent-{id}"), &entries, &Tidy::default());
        }
        conversation.tie();
        let ids: Vec<&str> = conversation.agents.iter().map(|agent| agent.id.as_str()).collect();
        assert_eq!(ids, ["z", "a", "b"]);
        assert_eq!(conversation.strays().map(|agent| agent.id.as_str()).collect::<Vec<_>>(), ["b"]);
    }
}
