//! The starter flow, from a request to a judged result.

use std::io;
use std::path::{Path, PathBuf};

use tokio::sync::Mutex;

use super::name::StepNames;
use super::wake::WakeState;
use crate::document::{Brief, Occasion};
use crate::event::Event;
use crate::human::Channel;
use crate::runtime::{Assignment, Lease, Lineage, RecordError, Runtime, Session, StepResult};
use crate::workbench::Workbench;

/// What the person wants of the flow.
#[derive(Debug, Clone)]
pub struct FlowOptions {
    /// The request; empty means "continue".
    pub ask: String,
    /// Rounds of work and judgement; 0 counts as 1.
    pub rounds: u32,
    /// Set a goal and judge by it.
    pub judged: bool,
    /// The judge may run commands, in a copy.
    pub judge_can_run: bool,
    /// Stop after the brief.
    pub clarify_only: bool,
    /// Begin anew; what was there is archived.
    pub new: bool,
    /// Where throw-away copies may be made; outside the workspace.
    pub scratch: PathBuf,
}

/// How a flow ended.
#[derive(Debug, Clone)]
pub enum Outcome {
    /// The judge, or the person, says that it is done.
    Achieved {
        /// In which round.
        round: u32,
    },
    /// It was done before; no model was asked.
    AlreadyAchieved,
    /// Only the brief was wanted.
    Clarified,
    /// Worked without a judge.
    Worked,
    /// The rounds are used up.
    NotAchieved {
        /// Rounds of work.
        rounds: u32,
        /// What the last verdict said.
        reason: String,
    },
    /// Judged unreachable, and nobody decided otherwise.
    Unreachable {
        /// What the verdict said.
        reason: String,
    },
    /// A step failed. The result says how.
    Failed(Box<StepResult>),
    /// A step ended without what it had to deliver.
    Incomplete {
        /// The step.
        step: String,
        /// What is missing, named as headings.
        missing: Vec<String>,
    },
    /// The judge could not give a verdict that counts, asked as often as allowed.
    Unjudged {
        /// Why.
        reason: String,
    },
}

/// Why a flow cannot go on at all.
#[derive(Debug, thiserror::Error)]
pub enum FlowError {
    /// Nothing was asked, and there is nothing to continue.
    #[error("nothing was asked")]
    NothingAsked,
    /// The record failed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A file of the workbench failed.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

/// The starter flow on one workspace.
pub struct Flow<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) lineage: &'a Lineage,
    pub(super) workbench: &'a Workbench,
    pub(super) channel: &'a Channel,
    pub(super) options: FlowOptions,
    /// Sessions that this process holds until it ends.
    leases: Mutex<Vec<(String, Lease)>>,
}

/// What a step of the flow needs to be run.
pub(super) struct Turn<'a> {
    /// The manifest row.
    pub(super) label: String,
    /// The step's name in the lineage; nothing for a judge, whose sessions are never continued.
    pub(super) remember: Option<&'static str>,
    /// The row's name as a gate is told.
    pub(super) step: String,
    pub(super) role: &'a crate::role::Role,
    pub(super) prompt: String,
    pub(super) session: Session,
    pub(super) folder: Option<PathBuf>,
}

impl<'a> Flow<'a> {
    /// A flow; the runtime's workbench and channel must be these.
    pub fn new(
        runtime: &'a Runtime,
        lineage: &'a Lineage,
        workbench: &'a Workbench,
        channel: &'a Channel,
        options: FlowOptions,
    ) -> Self {
        Self { runtime, lineage, workbench, channel, options, leases: Mutex::default() }
    }

    /// Runs it to its end.
    pub async fn run(&self) -> Result<Outcome, FlowError> {
        if self.options.new {
            self.archive()?;
        }
        let wake = WakeState::read(self.workbench, self.lineage);
        if let Some(other) = &wake.lineage.other_workspace {
            self.notice("workflow.moved", &[("folder", &other.display().to_string())]);
        }
        let names = StepNames::of(&wake.lineage.steps);
        let begun = wake.waking() || wake.lineage.steps.contains_key(names.clarify);
        let ask = self.options.ask.trim();
        if ask.is_empty() && !begun {
            return Err(FlowError::NothingAsked);
        }
        let same = wake.asks_to_continue(ask);
        if same && wake.lineage.achieved && self.options.judged {
            return Ok(Outcome::AlreadyAchieved);
        }
        let woke = self.lineage.wake()?;
        if begun {
            self.wake_line(&wake, &names, woke).await?;
        }
        let words = if same { "" } else { ask };
        if !words.is_empty() {
            self.lineage.ask(words)?;
        }
        let goal_steps = usize::from(self.options.judged);
        let total = if self.options.clarify_only { 1 } else { 2 + goal_steps };
        let step = |name: &str, index, resumed| {
            self.tell(Event::Step { name: name.to_owned(), index, total, resumed, woke });
        };

        let remark = if wake.waking() { words } else { "" };
        let brief = if wake.waking() {
            self.amended(&wake, remark)?
        } else {
            step(names.clarify, 1, begun);
            match self.clarify(&names, &wake, words).await? {
                Ok(brief) => brief,
                Err(outcome) => return Ok(outcome),
            }
        };
        self.keep_questions()?;
        if self.options.clarify_only {
            return Ok(Outcome::Clarified);
        }
        let mut goal = None;
        let mut renewed = false;
        if self.options.judged {
            goal = wake.goal.clone().filter(|_| remark.is_empty());
            if goal.is_none() {
                step(names.goal, 2, wake.goal.is_some());
                renewed = wake.goal.is_some();
                match self.set_goal(&names, &wake, &brief).await? {
                    Ok(set) => goal = Some(set),
                    Err(outcome) => return Ok(outcome),
                }
            }
        }
        step(names.work, total, wake.lineage.steps.contains_key(names.work));
        let news = goal.as_ref().filter(|_| renewed);
        let opening = self.work_opening(&names, &wake, &brief, goal.as_ref(), remark, news).await?;
        self.work(&names, opening, goal).await
    }

    /// Runs one step, keeping the lineage and the leases.
    pub(super) async fn step(&self, turn: Turn<'_>) -> Result<StepResult, RecordError> {
        let remember = |session: &str| {
            if let Some(step) = turn.remember
                && let Err(e) = self.lineage.remember(step, session)
            {
                self.tell(Event::Error { text: e.to_string() });
            }
        };
        self.runtime
            .run(Assignment {
                label: turn.label,
                step: turn.step,
                role: turn.role,
                prompt: turn.prompt,
                session: turn.session,
                folder: turn.folder,
                on_session: &remember,
            })
            .await
    }

    /// The session that carries a step, where it is stored and no other process uses it.
    pub(super) async fn carried(&self, wake: &WakeState, step: &str) -> Result<Session, FlowError> {
        let Some(id) = wake.lineage.steps.get(step) else { return Ok(Session::New) };
        if !self.runtime.has_session(id).await? {
            return Ok(Session::New);
        }
        let mut leases = self.leases.lock().await;
        if leases.iter().any(|(held, _)| held == id) {
            return Ok(Session::Resume(id.clone()));
        }
        match Lease::take(&self.runtime.parts().folder, id) {
            Some(lease) => {
                leases.push((id.clone(), lease));
                Ok(Session::Resume(id.clone()))
            }
            None => {
                self.notice("workflow.in_use", &[("step", step)]);
                Ok(Session::New)
            }
        }
    }

    /// Brief, goal and lineage go to the archive; the questions stay.
    fn archive(&self) -> Result<(), FlowError> {
        let stamp = jiff::ZonedDateTime::now().strftime("%Y%m%d-%H%M%S").to_string();
        let moved = self
            .workbench
            .archive(&[self.lineage.path()], &stamp)
            .map_err(|source| FlowError::File { path: self.workbench.notes(), source })?;
        if let Some(folder) = moved.first().and_then(|file| file.parent()) {
            self.notice("workflow.archived", &[("folder", &self.workbench.shown(folder))]);
        }
        Ok(())
    }

    /// The brief as it is on disk, with a remark on waking appended.
    fn amended(&self, wake: &WakeState, remark: &str) -> Result<Brief, FlowError> {
        if !remark.is_empty() {
            let path = self.workbench.brief_path();
            if !self.channel.amend(remark, Occasion::Waking) {
                return Err(FlowError::File { path, source: io::ErrorKind::Other.into() });
            }
            let text = read(&path)?;
            return Ok(Brief::from_markdown(&text));
        }
        Ok(wake.brief.clone().unwrap_or_default())
    }

    /// The questions file exists after every run, also when nothing was asked.
    fn keep_questions(&self) -> Result<(), FlowError> {
        self.channel
            .keep_log()
            .map_err(|source| FlowError::File { path: self.workbench.questions_path(), source })
    }

    async fn wake_line(
        &self,
        wake: &WakeState,
        names: &StepNames,
        woke: u64,
    ) -> Result<(), FlowError> {
        let context = match wake.lineage.steps.get(names.work) {
            Some(id) => self.runtime.context_of(id).await?,
            None => 0,
        };
        let checks = wake.goal.as_ref().map_or(0, |goal| goal.checks.len());
        let workspace = self.runtime.parts().workspace.display().to_string();
        let key = match (wake.waking(), checks) {
            (false, _) => "workflow.woke_unclear",
            (true, 0) => "workflow.woke_brief",
            (true, _) => "workflow.woke",
        };
        self.notice(
            key,
            &[
                ("folder", &workspace),
                ("checks", &checks.to_string()),
                ("context", &context.to_string()),
                ("woke", &woke.to_string()),
            ],
        );
        Ok(())
    }

    pub(super) fn tell(&self, event: Event) {
        self.runtime.parts().sink.tell(event);
    }

    /// A line for the person, from the catalogue.
    pub(super) fn notice(&self, key: &str, values: &[(&str, &str)]) {
        let text = self.runtime.parts().language.text(key, values);
        self.tell(Event::Task { text, data: serde_json::json!({"notice": key}) });
    }
}

/// Writes a paper in one step, so that it is whole or not there.
pub(super) fn freeze(path: &Path, text: &str) -> Result<(), FlowError> {
    let failed = |source| FlowError::File { path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    io::Write::write_all(&mut file, text.as_bytes()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    file.persist(path).map_err(|e| failed(e.error))?;
    Ok(())
}

/// Reads a paper.
pub(super) fn read(path: &Path) -> Result<String, FlowError> {
    std::fs::read_to_string(path)
        .map_err(|source| FlowError::File { path: path.to_owned(), source })
}
