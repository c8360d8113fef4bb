//! The starter flow, from a request to a judged result.

use std::path::PathBuf;

use super::name::StepNames;
use super::outcome::{FlowError, FlowOptions, Outcome};
use super::paper::relation;
use super::wake::WakeState;
use crate::document::{Brief, Goal, Occasion};
use crate::event::Event;
use crate::human::Channel;
use crate::role::Role;
use crate::runtime::{Assignment, Leases, Lineage, RecordError, Runtime, Session, StepResult};
use crate::workbench::Workbench;

/// The starter flow on one workspace.
pub struct Flow<'a> {
    pub(super) runtime: &'a Runtime,
    pub(super) lineage: &'a Lineage,
    pub(super) workbench: &'a Workbench,
    pub(super) channel: &'a Channel,
    pub(super) options: FlowOptions,
    /// Sessions that this process holds until it ends.
    leases: Leases,
}

/// What a flow begins with.
pub(super) struct Start {
    pub(super) names: StepNames,
    pub(super) wake: WakeState,
    /// What is asked now and was not before; empty where the work just goes on.
    pub(super) words: String,
}

/// What the work is measured by.
pub(super) struct Papers {
    pub(super) brief: Brief,
    pub(super) goal: Option<Goal>,
    /// The goal was set anew, and a conversation that goes on does not know it yet.
    pub(super) renewed: bool,
}

/// What a step of the flow needs to be run.
pub(super) struct Turn<'a> {
    /// The manifest row.
    pub(super) label: String,
    /// The step's name in the lineage; nothing for a judge, whose sessions are never continued.
    pub(super) remember: Option<&'static str>,
    /// The row's name as a gate is told.
    pub(super) step: String,
    pub(super) role: &'a Role,
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
        Self { runtime, lineage, workbench, channel, options, leases: Leases::default() }
    }

    /// Runs it to its end.
    pub async fn run(&self) -> Result<Outcome, FlowError> {
        if self.options.new {
            self.archive()?;
        }
        let wake = WakeState::read(self.workbench, self.lineage)?;
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
        if same && wake.waking() {
            if self.options.clarify_only {
                return Ok(Outcome::AlreadyClarified);
            }
            if self.options.judged && wake.lineage.achieved && !self.brief_was_edited(&wake)? {
                return Ok(Outcome::AlreadyAchieved);
            }
        }
        self.check_scratch()?;
        let woke = self.lineage.wake()?;
        let words = if same { String::new() } else { ask.to_owned() };
        let start = Start { names, wake, words };
        if begun {
            self.wake_line(&start, woke).await?;
        }
        let outcome = self.steps(start, woke).await?;
        if self.options.handover {
            self.leave_handover(&outcome).await?;
        }
        Ok(outcome)
    }

    /// A person changed the brief on disk after the goal was set for it, or judged achieved.
    fn brief_was_edited(&self, wake: &WakeState) -> Result<bool, FlowError> {
        let known = wake.lineage.papers.get(relation::GOAL_FOR_BRIEF);
        let print = self.brief_print()?;
        Ok(known.is_some_and(|known| *known != print))
    }

    /// The steps that are left to do.
    async fn steps(&self, start: Start, woke: u64) -> Result<Outcome, FlowError> {
        let Start { names, wake, words } = &start;
        let total = match (self.options.clarify_only, self.options.judged) {
            (true, _) => 1,
            (false, judged) => 2 + usize::from(judged),
        };
        let announce = |name: &str, index, resumed| {
            self.tell(Event::Step { name: name.to_owned(), index, total, resumed, woke });
        };
        let known = |name: &str| wake.lineage.steps.contains_key(name);
        let brief = if wake.waking() {
            self.amended(wake, words)?
        } else {
            self.keep_ask(words)?;
            announce(names.clarify, 1, known(names.clarify));
            match self.clarify(&start).await? {
                Ok(brief) => brief,
                Err(outcome) => return Ok(outcome),
            }
        };
        self.channel
            .keep_log()
            .map_err(|source| FlowError::File { path: self.workbench.questions_path(), source })?;
        if self.options.clarify_only {
            return Ok(Outcome::Clarified);
        }
        let mut papers = Papers { brief, goal: None, renewed: false };
        if self.options.judged {
            let asked = self.lineage.state()?;
            let covered = asked.goal_covers >= asked.asks.len() && !self.brief_was_edited(wake)?;
            let current = wake.goal.clone().filter(|_| covered);
            if current.is_none() {
                announce(names.goal, 2, known(names.goal));
                papers.renewed = true;
            }
            papers.goal = match current {
                Some(goal) => Some(goal),
                None => match self.set_goal(&start, &papers.brief).await? {
                    Ok(goal) => Some(goal),
                    Err(outcome) => return Ok(outcome),
                },
            };
        }
        announce(names.work, total, known(names.work));
        self.work(&start, papers).await
    }

    /// Runs one step, keeping the lineage and the leases.
    pub(super) async fn step(&self, turn: Turn<'_>) -> Result<StepResult, RecordError> {
        let remember = |session: &str| {
            self.leases.hold(&self.runtime.parts().folder, session);
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
    pub(super) async fn carried(&self, start: &Start, step: &str) -> Result<Session, FlowError> {
        let Some(id) = start.wake.lineage.steps.get(step) else { return Ok(Session::New) };
        if !self.runtime.has_session(id).await? {
            return Ok(Session::New);
        }
        if self.leases.hold(&self.runtime.parts().folder, id) {
            return Ok(Session::Resume(id.clone()));
        }
        self.notice("workflow.in_use", &[("step", step)]);
        Ok(Session::New)
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

    /// The brief as it is on disk, with what is asked now appended.
    ///
    /// The brief comes first: a run that is killed before the request is noted finds the words there and
    /// does not write them twice.
    fn amended(&self, wake: &WakeState, words: &str) -> Result<Brief, FlowError> {
        let mut brief = wake.brief.clone().unwrap_or_default();
        if words.is_empty() {
            return Ok(brief);
        }
        if !brief.amendments.iter().any(|amendment| amendment.text == words) {
            if !self.channel.amend(words, Occasion::Waking) {
                let reason = std::io::Error::other(self.channel.troubles().join("; "));
                let path = self.workbench.brief_path();
                return Err(FlowError::File { path, source: reason });
            }
            brief = Brief::from_markdown(&super::paper::read(&self.workbench.brief_path())?);
        }
        self.keep_ask(words)?;
        Ok(brief)
    }

    fn keep_ask(&self, words: &str) -> Result<(), RecordError> {
        if words.is_empty() { Ok(()) } else { self.lineage.ask(words) }
    }

    async fn wake_line(&self, start: &Start, woke: u64) -> Result<(), FlowError> {
        let wake = &start.wake;
        let context = match wake.lineage.steps.get(start.names.work) {
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
