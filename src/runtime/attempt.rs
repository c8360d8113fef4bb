//! One step from its prompt to its result: attempts, waits, limits.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tokio::time::Instant;

use super::handoff::HandoffPolicy;
use super::host::{NearlyFull, StepHost};
use super::limit::{Limits, least};
use super::manifest::Manifest;
use super::outlast::{GaveUp, Streak, Waiting};
use super::patience::Resilience;
use super::place::Places;
use super::record::{RecordError, RunFolder};
use super::session;
use super::shelf::{Shelf, ViewOptions};
use super::step::StepResult;
use super::stuck::Halt;
use crate::engine::{
    AgentDefinition, Asker, Conversation, Engine, EngineError, Fault, Fences, Host, HostTool,
    Opening, Remedy, TurnEnd,
};
use crate::event::Sink;
use crate::guard::{Rules, SpillRule};
use crate::human::{self, Channel};
use crate::language::Language;
use crate::role::{Role, prompt};
use crate::sandbox::{Ground, Reach};
use crate::store::SessionStore;
use crate::transcript::{SessionKey, new_id, project_key};
use crate::wire::Door;
use crate::workbench::Workbench;
use crate::worktree::Yard;

/// What a runtime is put together from.
pub struct Parts {
    /// Talks to the model.
    pub engine: Arc<dyn Engine>,
    /// Keeps the transcripts.
    pub store: Arc<dyn SessionStore>,
    /// Where the records lie.
    pub folder: RunFolder,
    /// Where the agent works, resolved.
    pub workspace: PathBuf,
    /// Where it keeps its notes; nothing for a single task without one.
    pub workbench: Option<Arc<Workbench>>,
    /// The way to the person.
    pub channel: Option<Channel>,
    /// Where news goes.
    pub sink: Sink,
    /// The person's language.
    pub language: Language,
    /// What failures are outlived.
    pub resilience: Resilience,
    /// When a step moves to a fresh session.
    pub handoff: HandoffPolicy,
    /// What must be reachable for the engine to work; nothing where that cannot be asked.
    pub door: Option<Door>,
    /// Environment of the agent's tools, complete.
    pub tool_environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    /// Where subagents of a marked kind get worktrees; nothing where no kind is marked.
    pub yard: Option<Arc<Yard>>,
    /// What tools may reach; nothing where they are not fenced.
    pub ground: Option<Ground>,
    /// What resumed conversations leave out.
    pub view: ViewOptions,
}

/// What one step is to do.
pub struct Assignment<'a> {
    /// The manifest row, `work#round2`.
    pub label: String,
    /// The row's name as a gate is told, the same in every folder and always ASCII.
    pub step: String,
    /// Who does it.
    pub role: &'a Role,
    /// With which words.
    pub prompt: String,
    /// In which conversation.
    pub session: Session,
    /// Somewhere else than in the workspace: the judge's copy.
    pub folder: Option<PathBuf>,
    /// Called with the session's id before the first request.
    pub on_session: &'a (dyn Fn(&str) + Send + Sync),
}

/// Which conversation a step has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Session {
    /// A new one.
    New,
    /// A stored one, continued.
    Resume(String),
    /// A new one that begins with what is stored of another.
    Fork(String),
}

/// Runs steps and keeps the books.
pub struct Runtime {
    pub(super) parts: Parts,
    pub(super) manifest: Manifest,
    pub(super) limits: Limits,
    pub(super) started: Instant,
    project: String,
    pub(super) waiting: Arc<Waiting>,
    shelf: Arc<Shelf>,
}

impl Runtime {
    /// Begins a run in the folder; fails before anything is spent where its manifest cannot be read.
    pub fn new(parts: Parts, limits: Limits) -> Result<Self, RecordError> {
        Ok(Self {
            manifest: Manifest::open(&parts.folder)?,
            project: project_key(&parts.workspace),
            started: Instant::now(),
            waiting: Arc::new(Waiting {
                resilience: parts.resilience.clone(),
                door: parts.door.clone(),
                channel: parts.channel.clone(),
                sink: parts.sink.clone(),
                language: parts.language,
            }),
            shelf: Arc::new(Shelf::new(&parts.view, parts.sink.clone(), parts.language)),
            limits,
            parts,
        })
    }

    /// The parts it was made of.
    pub fn parts(&self) -> &Parts {
        &self.parts
    }

    /// Rows of this run.
    pub fn manifest(&self) -> &Manifest {
        &self.manifest
    }

    /// True where the session is stored.
    pub async fn has_session(&self, session: &str) -> Result<bool, RecordError> {
        Ok(self.parts.store.has_session(&self.project, session).await?)
    }

    /// The size of a stored conversation, in tokens; 0 where it is not known.
    pub async fn context_of(&self, session: &str) -> Result<u64, RecordError> {
        Ok(self.parts.store.last_context(&self.project, session).await?)
    }

    /// Runs one step to its end. What goes wrong with the model is in the result; an error means that
    /// the record could not be written.
    pub async fn run(&self, assignment: Assignment<'_>) -> Result<StepResult, RecordError> {
        let mut result = self.manifest.begin(&assignment.label);
        let mut key = match &assignment.session {
            Session::New => SessionKey::main(&self.project, new_id()),
            Session::Resume(id) => SessionKey::main(&self.project, id),
            Session::Fork(id) => self.fork(id).await?,
        };
        result.resumed = assignment.session != Session::New;
        result.session_id = Some(key.session.clone());
        self.manifest.note(&result);
        (assignment.on_session)(&key.session);
        match self.attempts(&assignment, &mut key, &mut result).await {
            Ok(end) => {
                result.ok = true;
                result.text = end.text;
                result.context = end.context;
            }
            Err(error) => {
                result.error = Some(error.message.clone());
                result.fault = Some(error.fault);
            }
        }
        result.end();
        self.manifest.end(result.clone())?;
        Ok(result)
    }

    /// Copies a stored conversation under a new id. Entries keep their uuids, as other tools fork too.
    async fn fork(&self, session: &str) -> Result<SessionKey, RecordError> {
        let new = SessionKey::main(&self.project, new_id());
        let name = serde_json::Value::from(new.session.as_str()).to_string();
        let old = SessionKey::main(&self.project, session);
        let mut entries = self.parts.store.load(&old).await?.unwrap_or_default();
        for entry in &mut entries {
            // What cannot be edited is carried over as it is.
            if let Ok(renamed) = entry.with_field("sessionId", &name) {
                *entry = renamed;
            }
        }
        self.parts.store.append(&new, &entries).await?;
        Ok(new)
    }

    /// Tries until it works, or until trying again does not help.
    async fn attempts(
        &self,
        assignment: &Assignment<'_>,
        key: &mut SessionKey,
        result: &mut StepResult,
    ) -> Result<TurnEnd, EngineError> {
        let mut lost = 0;
        let mut words = assignment.prompt.clone();
        let mut streak = Streak::default();
        loop {
            result.attempts += 1;
            let turns = result.num_turns;
            let mut error = match self.attempt(assignment, key, &words, result).await {
                Ok(end) => return Ok(end),
                Err(error) => self.in_words_of_the_run(error),
            };
            if error.fault.remedy() == Remedy::HandOff && self.parts.handoff.enabled {
                // A fresh session is no second attempt.
                result.attempts -= 1;
                self.hand_over(assignment, key, result, &error, &mut lost).await?;
                continue;
            }
            result.errors.push(error.message.clone());
            if error.fault.remedy() == Remedy::DropThinking && self.shelf.drop_thinking() {
                // The same request would be refused for ever. Nothing was done wrong, so nothing is counted.
                result.attempts -= 1;
                words = prompt::resume(self.paper_language());
                continue;
            }
            if result.num_turns > turns {
                // A run of days meets many failures; only those in a row say that nothing works any more.
                streak = Streak::default();
            }
            let waited = self.waiting.outlast(&assignment.label, &error, &mut streak);
            match self.in_time(waited).await? {
                Ok(()) => {}
                Err(GaveUp::Hopeless) => return Err(error),
                Err(GaveUp::Offline(text)) => {
                    error.message = format!("{} | {text}", error.message);
                    return Err(error);
                }
            }
            // What the model had finished saying is stored; the rest of the step goes on from there.
            words = prompt::resume(self.paper_language());
        }
    }

    /// One conversation from opening to its end.
    async fn attempt(
        &self,
        assignment: &Assignment<'_>,
        key: &SessionKey,
        words: &str,
        result: &mut StepResult,
    ) -> Result<TurnEnd, EngineError> {
        self.within_limits()?;
        let stored = self.parts.store.load(key).await.map_err(store_failed)?.unwrap_or_default();
        let resume = stored.iter().any(|entry| matches!(entry.kind.as_str(), "user" | "assistant"));
        // A first attempt that failed before anything was stored says what it wanted to say.
        let first = match session::inheritance(&stored) {
            // A run that goes on with a session in which nothing was said yet has words of its own.
            Some(paper) if matches!(&assignment.session, Session::Resume(id) if *id == key.session) =>
            {
                format!("{}\n\n{}", self.takeover(&paper), assignment.prompt)
            }
            Some(paper) => self.takeover(&paper),
            None => assignment.prompt.clone(),
        };
        let anew = self.takeover_anew(&stored);
        let words = if resume { anew.as_deref().unwrap_or(words) } else { &first };
        let desk = self.parts.workbench.as_deref().filter(|_| assignment.role.workbench_index);
        if let Some(desk) = desk {
            desk.refresh_index().map_err(|e| EngineError::new(Fault::Store, e.to_string()))?;
        }
        let index = desk.map(Workbench::prompt_block);
        let fixed = session::instructions(&stored);
        let instructions = match &fixed {
            Some(instructions) => instructions.clone(),
            None => {
                let instructions =
                    session::compose(&assignment.role.instructions, index.as_deref());
                let entry = session::entry(key, &instructions).map_err(store_failed)?;
                self.parts.store.append(key, &[entry]).await.map_err(store_failed)?;
                instructions
            }
        };
        let prompt = match (&fixed, &index) {
            (Some(fixed), Some(index)) => {
                let is_there = |path: &str| self.parts.workspace.join(path).exists();
                session::with_news(words, fixed, index, &is_there)
            }
            _ => words.to_owned(),
        };
        let host = Arc::new(self.host(assignment));
        let fences = self.fences(assignment)?;
        let opening = self.opening(assignment, key, resume, instructions);
        let opening = Opening { fences, ..opening };
        let conversation =
            self.parts.engine.open(opening, Arc::clone(&host) as Arc<dyn Host>).await?;
        let mut booked = Booked { conversation, manifest: &self.manifest, result };
        let end = tokio::select! {
            end = self.in_time(booked.conversation.turn(&prompt)) => end,
            stopped = host.halt.wait(self.parts.language) => Err(stopped),
        };
        // A result is there, good or bad: from here on not even a loss of power takes it.
        let settled = self.parts.store.settle().await;
        let end = end??;
        settled.map_err(store_failed)?;
        Ok(end)
    }

    pub(super) fn host(&self, assignment: &Assignment<'_>) -> StepHost {
        let role = assignment.role;
        let spill = self.parts.workbench.as_ref().map(|workbench| SpillRule {
            threshold: SpillRule::THRESHOLD,
            spill_dir: workbench.spill_dir(),
            shown_dir: workbench.shown(&workbench.spill_dir()),
            others: vec![
                self.shelf.folder(self.folder_of(assignment)).display().to_string(),
                self.shelf.policy.trim.spill_dirname.clone(),
            ],
        });
        StepHost {
            rules: Rules {
                role: role.name.clone(),
                delegate_only: role.delegate_only,
                glance: role.glance,
                tools: role.tools.clone(),
                agents: role.workers.iter().map(|w| (w.name.clone(), w.tools.clone())).collect(),
                isolated: role
                    .workers
                    .iter()
                    .filter(|w| w.isolate)
                    .map(|w| w.name.clone())
                    .collect(),
            },
            store: Arc::clone(&self.parts.store),
            workbench: self.parts.workbench.clone(),
            channel: self.parts.channel.clone(),
            spill,
            sink: self.parts.sink.clone(),
            step: assignment.label.clone(),
            waiting: Arc::clone(&self.waiting),
            nearly_full: NearlyFull::new(&self.parts.handoff, &assignment.label),
            workspace: self.folder_of(assignment).to_owned(),
            places: Places::new(
                self.parts.yard.clone(),
                self.parts.sink.clone(),
                self.parts.language,
            ),
            shelf: Arc::clone(&self.shelf),
            language: self.parts.language,
            repetition: Mutex::default(),
            halt: Halt::default(),
        }
    }

    pub(super) fn opening(
        &self,
        assignment: &Assignment<'_>,
        key: &SessionKey,
        resume: bool,
        instructions: String,
    ) -> Opening {
        let role = assignment.role;
        let (spent, turns) = self.manifest.spent();
        Opening {
            key: key.clone(),
            resume,
            workspace: self.folder_of(assignment).to_owned(),
            instructions,
            asker: Asker { step: assignment.step.clone(), role: role.name.clone() },
            tools: role.tools.clone(),
            agents: role.workers.iter().map(definition).collect(),
            host_tools: self.host_tools(role),
            model: None,
            max_turns: least(
                role.limits.turns,
                self.limits.max_turns.map(|n| n.saturating_sub(turns)),
            ),
            full_at: self.parts.handoff.enabled.then(|| self.parts.handoff.at()),
            budget_usd: self.limits.budget_usd.map(|usd| (usd - spent).max(0.0)),
            tool_environment: self.parts.tool_environment.clone(),
            fences: Fences::default(),
        }
    }

    /// What the step's tools may reach. Who only delegates changes nothing, whatever its subagents do.
    fn fences(&self, assignment: &Assignment<'_>) -> Result<Fences, EngineError> {
        let Some(ground) = &self.parts.ground else { return Ok(Fences::default()) };
        let role = assignment.role;
        let work = match &assignment.folder {
            Some(folder) => Reach::Copy(folder.clone()),
            None if role.accept_edits => Reach::Work,
            None => Reach::Look,
        };
        let main = if role.delegate_only { Reach::Look } else { work.clone() };
        let fence = |reach: &Reach| match ground.fence(reach) {
            Ok(fence) => Ok(Some(Arc::new(fence))),
            Err(error) => Err(EngineError::new(Fault::Store, error.to_string())),
        };
        let main = fence(&main)?;
        let agents = if role.workers.is_empty() { None } else { fence(&work)? };
        Ok(Fences { main, agents })
    }

    /// The person's tools, for a role that has them on its list.
    fn host_tools(&self, role: &Role) -> Vec<HostTool> {
        if self.parts.channel.is_none() {
            return Vec::new();
        }
        human::tools()
            .into_iter()
            .filter(|tool| role.tools.iter().any(|name| name == tool.name))
            .map(|tool| HostTool {
                name: tool.name.to_owned(),
                description: tool.description.to_owned(),
                schema: tool.schema,
            })
            .collect()
    }

    fn folder_of<'a>(&'a self, assignment: &'a Assignment<'_>) -> &'a Path {
        assignment.folder.as_deref().unwrap_or(&self.parts.workspace)
    }
}

/// A conversation whose consumption is booked when it ends, however it ends: a turn that a signal or the
/// time limit cuts off is paid for all the same.
pub(super) struct Booked<'a> {
    pub(super) conversation: Box<dyn Conversation>,
    pub(super) manifest: &'a Manifest,
    pub(super) result: &'a mut StepResult,
}

impl Drop for Booked<'_> {
    fn drop(&mut self) {
        let spent = self.conversation.spent();
        self.result.cost_usd += spent.cost_usd;
        self.result.cost_known &= spent.cost_known;
        self.result.num_turns += spent.turns;
        self.result.usage.add(&spent.usage);
        self.manifest.note(self.result);
    }
}

fn definition(worker: &crate::role::Worker) -> AgentDefinition {
    AgentDefinition {
        name: worker.name.clone(),
        description: worker.description.clone(),
        prompt: worker.prompt.clone(),
        tools: worker.tools.clone(),
        model: worker.model.clone(),
    }
}

pub(super) fn store_failed(error: impl std::fmt::Display) -> EngineError {
    EngineError::new(Fault::Store, error.to_string())
}
