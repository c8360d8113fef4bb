//! One thread of a conversation, the main one or a subagent's: request, record, calls, again.

use std::sync::Arc;
use std::time::Instant;

use super::answer::Call;
use super::dialogue::Dialogue;
use super::prompt::engine_prompt;
use super::session::Session;
use super::tool::{self, Toolbox};
use super::{EngineError, Fault, Place, agent, entry};
use crate::engine::{AgentDefinition, Ground, Limit};
use crate::event::{Event, Speaker};
use crate::transcript::{Body, Entry, Origin, RawObject, SessionKey, new_id};
use crate::wire::{Caller, Reply, Request, ToolSpec};

/// A thread and what it has said so far.
pub(super) struct Thread {
    pub(super) session: Arc<Session>,
    pub(super) key: SessionKey,
    pub(super) place: Place,
    pub(super) origin: Origin,
    pub(super) toolbox: Toolbox,
    model: String,
    system: Vec<String>,
    tools: Vec<ToolSpec>,
    past: Past,
}

/// How a subagent begins.
pub(super) struct Begin<'a> {
    pub(super) id: &'a str,
    pub(super) model: String,
    /// A folder of its own, where it has one.
    pub(super) ground: Option<Ground>,
}

/// The conversation so far.
#[derive(Default)]
struct Past {
    dialogue: Dialogue,
    /// The last entry of the chain.
    leaf: Option<String>,
    /// A turn began and has not come to an end.
    in_turn: bool,
}

/// What a prompt led to.
#[derive(Default)]
pub(super) struct Said {
    /// The prose of each reply that had any.
    pub(super) texts: Vec<String>,
    /// The last reply had prose.
    pub(super) ends_in_words: bool,
    pub(super) stop_reason: String,
    pub(super) context: u64,
    pub(super) replies: u32,
}

impl Thread {
    /// The main thread.
    pub(super) fn main(session: &Arc<Session>) -> Self {
        let opening = &session.opening;
        let mut tools = specs(session, &opening.tools);
        if opening.tools.iter().any(|name| name == agent::NAME) && !opening.agents.is_empty() {
            tools.push(agent::spec(&opening.agents));
        }
        let begin = Begin { id: "", model: session.main_model(), ground: None };
        Self::new(session, Place::Main, begin, &opening.instructions, tools)
    }

    /// A subagent. It has no tool to start others.
    pub(super) fn subagent(
        session: &Arc<Session>,
        definition: &AgentDefinition,
        begin: Begin<'_>,
    ) -> Self {
        let place = Place::Subagent { id: begin.id.to_owned(), kind: definition.name.clone() };
        let tools = specs(session, &definition.tools);
        Self::new(session, place, begin, &definition.prompt, tools)
    }

    fn new(
        session: &Arc<Session>,
        place: Place,
        begin: Begin<'_>,
        instructions: &str,
        tools: Vec<ToolSpec>,
    ) -> Self {
        let opening = &session.opening;
        let (key, agent_id, fence) = match &place {
            Place::Main => (opening.key.clone(), None, &opening.fences.main),
            Place::Subagent { id, .. } => {
                (opening.key.subagent(id), Some(id.clone()), &opening.fences.agents)
            }
        };
        let (workspace, environment, note) = match begin.ground {
            Some(ground) => (ground.folder, ground.environment, ground.note),
            None => (opening.workspace.clone(), opening.tool_environment.clone(), String::new()),
        };
        Self {
            session: Arc::clone(session),
            key,
            place,
            origin: Origin {
                session_id: opening.key.session.clone(),
                cwd: workspace.display().to_string(),
                git_branch: entry::git_branch(&workspace),
                agent_id,
            },
            system: vec![engine_prompt(&workspace, &note), instructions.to_owned()],
            toolbox: Toolbox::fenced(workspace, environment, fence.clone()),
            model: begin.model,
            tools,
            past: Past::default(),
        }
    }

    /// Takes the past from the record.
    pub(super) async fn reload(&mut self) -> Result<(), EngineError> {
        let mut past = Past::default();
        for entry in self.session.host.history(&self.key).await? {
            past.dialogue.push(&entry);
            past.leaf = entry.uuid.or(past.leaf);
        }
        self.past = past;
        Ok(())
    }

    /// True before anything was said.
    pub(super) fn is_new(&self) -> bool {
        self.past.dialogue.is_empty()
    }

    /// True where a turn's future was dropped before it ended.
    pub(super) fn was_dropped(&self) -> bool {
        self.past.in_turn
    }

    /// The model that this thread asks.
    pub(super) fn model(&self) -> &str {
        &self.model
    }

    /// Who speaks in events.
    pub(super) fn speaker(&self) -> Speaker {
        match &self.place {
            Place::Main => Speaker::default(),
            Place::Subagent { id, kind } => {
                Speaker { agent_id: Some(id.clone()), agent_type: Some(kind.clone()) }
            }
        }
    }

    /// One prompt and all that follows from it.
    pub(super) async fn say(
        &mut self,
        prompt: &str,
        max_replies: Option<u32>,
    ) -> Result<Said, EngineError> {
        self.past.in_turn = true;
        let said = self.follow(prompt, max_replies).await;
        self.past.in_turn = false;
        said
    }

    async fn follow(
        &mut self,
        prompt: &str,
        max_replies: Option<u32>,
    ) -> Result<Said, EngineError> {
        if prompt.trim().is_empty() {
            return Err(EngineError::new(Fault::BadRequest, "the prompt is empty"));
        }
        self.past.dialogue.close();
        let entry = entry::prompt(&self.origin, self.past.leaf.as_deref(), prompt)?;
        self.commit(vec![entry]).await?;
        let (text, speaker) = (prompt.to_owned(), self.speaker());
        self.session.host.tell(Event::Prompt { text, speaker });
        let mut said = Said::default();
        loop {
            if let Some(most) = max_replies
                && said.replies >= most
            {
                return Err(EngineError::new(
                    Fault::Limit(Limit::Turns),
                    format!("the limit of {most} replies of the model is reached"),
                ));
            }
            self.session.check_budget()?;
            let mut reply = self.ask_patiently().await?;
            self.set_ids(&mut reply)?;
            said.replies += 1;
            said.context = reply.usage.context();
            said.stop_reason.clone_from(&reply.stop_reason);
            let text = reply.text();
            said.ends_in_words = !text.is_empty();
            if said.ends_in_words {
                said.texts.push(text);
            }
            let calls = self.take(&reply).await?;
            match reply.stop_reason.as_str() {
                "refusal" => return Ok(said),
                "model_context_window_exceeded" => {
                    return Err(EngineError::new(
                        Fault::Overflow,
                        "the conversation filled the model's window in the middle of a reply",
                    ));
                }
                // The server stopped in the middle of its own tools and wants to be asked again.
                "pause_turn" if calls.is_empty() && !reply.blocks.is_empty() => {}
                _ if calls.is_empty() => return Ok(said),
                _ => {
                    for entry in self.answer_all(&calls).await? {
                        self.keep(&entry);
                    }
                    self.check_size(said.context)?;
                }
            }
        }
    }

    /// The main thread ends in time, here where every call has its result; subagents are short-lived.
    fn check_size(&self, context: u64) -> Result<(), EngineError> {
        let full = self.session.opening.full_at.filter(|_| self.place == Place::Main);
        match full.filter(|full| context >= *full) {
            None => Ok(()),
            Some(full) => Err(EngineError::new(
                Fault::Full,
                format!(
                    "the conversation holds {context} tokens; a fresh one was wanted from {full} on"
                ),
            )),
        }
    }

    /// One reply. A subagent's failure would end it and lose its work, so the host may outlast it here; on
    /// the main thread the turn fails, and whoever asked for the turn decides.
    async fn ask_patiently(&self) -> Result<Reply, EngineError> {
        let (mut failures, began) = (0, Instant::now());
        loop {
            let error = match self.ask().await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            failures += 1;
            if self.place == Place::Main
                || !self.session.host.outlast(&error, failures, began).await
            {
                return Err(error);
            }
        }
    }

    /// One request.
    async fn ask(&self) -> Result<Reply, EngineError> {
        let session = &self.session;
        let request = Request {
            model: &self.model,
            max_tokens: session.max_tokens,
            system: &self.system,
            tools: &self.tools,
            messages: self.past.dialogue.messages(),
            effort: session.choice.effort.as_deref(),
        };
        let asker = &session.opening.asker;
        let caller = Caller {
            step: asker.step.clone(),
            role: asker.role.clone(),
            agent: match &self.place {
                Place::Main => None,
                Place::Subagent { id, kind } => Some((id.clone(), kind.clone())),
            },
        };
        match session.client.ask(&request, &caller).await {
            Ok(reply) => {
                session.book(&reply.model, &self.model, &reply.usage);
                if self.place == Place::Main {
                    session.count_turn();
                }
                Ok(reply)
            }
            Err(error) => {
                // What a broken stream had used is paid for all the same.
                if let Some(partial) = &error.partial {
                    session.book(&partial.model, &self.model, &partial.usage);
                }
                Err(error.into())
            }
        }
    }

    /// Some gateways give an id twice, or none. The conversation hangs on ids: blocks are merged by the
    /// message's, results find their calls, and the API refuses a call's id that stands twice.
    fn set_ids(&self, reply: &mut Reply) -> Result<(), EngineError> {
        let past = &self.past.dialogue;
        if reply.id.is_empty() || past.has_message(&reply.id) {
            reply.id = format!("msg_{}", new_id());
        }
        let mut seen: Vec<String> = Vec::new();
        for part in &mut reply.blocks {
            let Body::ToolUse { id, .. } = part.block.body() else {
                continue;
            };
            if id.is_empty() || seen.contains(id) || past.has_call(id) {
                part.block = entry::with_id(&part.block, &format!("toolu_{}", new_id()))?;
            } else {
                seen.push(id.clone());
            }
        }
        Ok(())
    }

    /// Records a reply, tells of it and gives its calls.
    async fn take(&mut self, reply: &Reply) -> Result<Vec<Call>, EngineError> {
        let entries = entry::reply(&self.origin, self.past.leaf.as_deref(), reply)?;
        let uuids: Vec<String> = entries.iter().filter_map(|entry| entry.uuid.clone()).collect();
        self.commit(entries).await?;
        self.tell(reply);
        let last = reply.blocks.len().saturating_sub(1);
        let cut = reply.stop_reason == "max_tokens";
        let calls =
            reply.blocks.iter().zip(uuids).enumerate().filter_map(|(place, (part, uuid))| {
                let whole = part.whole && !(cut && place == last);
                Call::read(&part.block, whole, cut, uuid)
            });
        Ok(calls.collect())
    }

    fn tell(&self, reply: &Reply) {
        for part in &reply.blocks {
            let speaker = self.speaker();
            let event = match part.block.body() {
                Body::Text(text) if !text.is_empty() => Event::Text {
                    text: text.clone(),
                    context: Some(reply.usage.context()),
                    model: Some(reply.model.clone()),
                    speaker,
                },
                Body::Thinking => {
                    let fields = RawObject::parse(part.block.raw()).unwrap_or_default();
                    match fields.string("thinking").filter(|text| !text.is_empty()) {
                        Some(text) => Event::Thinking { text, speaker },
                        None => continue,
                    }
                }
                _ => continue,
            };
            self.session.host.tell(event);
        }
    }

    /// Into the record, then into the conversation.
    async fn commit(&mut self, entries: Vec<Entry>) -> Result<(), EngineError> {
        if entries.is_empty() {
            return Ok(());
        }
        self.session.host.record(&self.key, &entries).await?;
        for entry in &entries {
            self.keep(entry);
        }
        Ok(())
    }

    /// Takes a recorded entry into the conversation.
    fn keep(&mut self, entry: &Entry) {
        self.past.dialogue.push(entry);
        self.past.leaf.clone_from(&entry.uuid);
    }
}

/// Built-in tools and tools of the host, in the order of the names.
fn specs(session: &Session, names: &[String]) -> Vec<ToolSpec> {
    let specs = names.iter().filter(|name| *name != agent::NAME).filter_map(|name| {
        let host_tool = session.opening.host_tools.iter().find(|tool| tool.name == *name);
        if let Some(tool) = host_tool {
            return Some(ToolSpec {
                name: tool.name.clone(),
                description: tool.description.clone(),
                schema: tool.schema.clone(),
            });
        }
        let built_in = tool::definitions(std::slice::from_ref(name)).into_iter().next()?;
        Some(ToolSpec {
            name: built_in.name,
            description: built_in.description,
            schema: built_in.schema,
        })
    });
    specs.collect()
}
