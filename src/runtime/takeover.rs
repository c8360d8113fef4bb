//! A full conversation hands over to a fresh one: the paper is written, kept as a file, and read again
//! when the successor begins.

use std::path::PathBuf;
use std::sync::Arc;

use jiff::ZonedDateTime;
use serde_json::json;

use super::attempt::{Assignment, Booked, Runtime, store_failed};
use super::outlast::Streak;
use super::session::{self, Inheritance};
use super::step::StepResult;
use crate::document::Handoff;
use crate::engine::{EngineError, Fault, Opening};
use crate::event::{Event, Sink};
use crate::language::Language;
use crate::role::prompt;
use crate::transcript::{Entry, SessionKey, new_id};
use crate::workbench::Workbench;

/// Replies that the writing of a handoff may take; a model that calls tools in spite of everything is
/// told no, and may then write.
const REPLIES: u32 = 4;
/// So many papers in a row that nobody wrote, and the step ends: nothing is being handed over any more.
const LOST: u32 = 2;

impl Runtime {
    /// Moves the step to a fresh session; `lost` counts handoffs in a row that could not be written.
    ///
    /// # Errors
    /// Where the step cannot go on this way, with the reason and what can be done.
    pub(super) async fn hand_over(
        &self,
        assignment: &Assignment<'_>,
        key: &mut SessionKey,
        result: &mut StepResult,
        error: &EngineError,
        lost: &mut u32,
    ) -> Result<(), EngineError> {
        // A paper costs money, too, and the next session even more.
        self.within_limits()?;
        let policy = &self.parts.handoff;
        let context = self.parts.store.last_context(&key.project, &key.session).await;
        let context = context.map_err(store_failed)?;
        let forced = error.fault == Fault::Overflow;
        if let (true, Some(calibration)) = (forced, &policy.calibration) {
            calibration.remember(context);
        }
        if result.retired.len() >= policy.max_generations {
            return Err(self.no_further("runtime.handoff_floor"));
        }
        let step = assignment.label.split('#').next().unwrap_or_default();
        let event = |phase: &str| Event::Handoff {
            phase: phase.to_owned(),
            step: step.to_owned(),
            context,
            window: policy.window,
            at: policy.at(),
            degraded: false,
            path: String::new(),
            sections: json!({}),
        };
        self.parts.sink.tell(event("writing"));
        let paper = if forced {
            Err(error.message.clone())
        } else {
            self.write_handoff(assignment, key, result, context).await?
        };
        let language = self.paper_language();
        let paper = paper.unwrap_or_else(|why| {
            result.errors.push(self.parts.language.text("runtime.handoff_lost", &[("why", &why)]));
            Handoff::degraded(step, &why, &assignment.prompt, language)
        });
        *lost = if paper.is_degraded() { *lost + 1 } else { 0 };
        if *lost >= LOST {
            return Err(self.no_further("runtime.handoff_useless"));
        }
        let path = self.keep(step, &paper);
        let successor = SessionKey::main(&key.project, new_id());
        let text = paper.to_markdown(step, language);
        let entry = session::bequeath(&successor, &key.session, path.as_deref(), &text);
        let entry = entry.map_err(store_failed)?;
        self.parts.store.append(&successor, &[entry]).await.map_err(store_failed)?;
        let retired = std::mem::replace(key, successor);
        result.retired.push(retired.session);
        result.session_id = Some(key.session.clone());
        result.context = 0;
        self.manifest().note(result);
        (assignment.on_session)(&key.session);
        let mut done = event("done");
        if let Event::Handoff { degraded, path: shown, sections, .. } = &mut done {
            *degraded = paper.is_degraded();
            *shown = path.map(|path| path.display().to_string()).unwrap_or_default();
            *sections = json!({
                "doing": paper.doing,
                "decided": paper.decided,
                "deadends": paper.dead_ends,
                "next": paper.next,
            });
        }
        self.parts.sink.tell(done);
        Ok(())
    }

    /// What a session that takes over from another is told first.
    pub(super) fn takeover(&self, inheritance: &Inheritance) -> String {
        let paper = edited(inheritance).unwrap_or_else(|| Handoff::parse(&inheritance.text));
        paper.block(self.paper_language())
    }

    /// The same again where a person has changed the paper before the model answered to it.
    pub(super) fn takeover_anew(&self, stored: &[Entry]) -> Option<String> {
        let heard = stored.iter().any(|entry| entry.kind == "assistant");
        let inheritance = session::inheritance(stored).filter(|_| !heard)?;
        Some(edited(&inheritance)?.block(self.paper_language()))
    }

    /// Lets the full session write its handoff. A failure that passes is outlived like any other; the
    /// inner error says why there is none.
    async fn write_handoff(
        &self,
        assignment: &Assignment<'_>,
        key: &SessionKey,
        result: &mut StepResult,
        context: u64,
    ) -> Result<Result<Handoff, String>, EngineError> {
        let language = self.paper_language();
        let words = prompt::handoff(language, context, self.parts.handoff.window);
        let mut streak = Streak::default();
        loop {
            let error =
                match self.in_time(self.ask_for_handoff(assignment, key, result, &words)).await? {
                    Ok(text) => {
                        let paper = Handoff::parse(&text);
                        if paper.complete() {
                            return Ok(Ok(paper));
                        }
                        let missing = paper.missing(language).join(", ");
                        let why = self
                            .parts
                            .language
                            .text("runtime.handoff_missing", &[("missing", &missing)]);
                        return Ok(Err(why));
                    }
                    Err(error) => self.in_words_of_the_run(error),
                };
            if self.within_limits().is_err() {
                return Err(error);
            }
            let waited = self.waiting.outlast(&assignment.label, &error, &mut streak);
            if self.in_time(waited).await?.is_err() {
                return Ok(Err(error.message));
            }
        }
    }

    /// One turn of the full session, in which every tool is denied and nothing is shown.
    async fn ask_for_handoff(
        &self,
        assignment: &Assignment<'_>,
        key: &SessionKey,
        result: &mut StepResult,
        words: &str,
    ) -> Result<String, EngineError> {
        let stored = self.parts.store.load(key).await.map_err(store_failed)?.unwrap_or_default();
        let instructions = session::instructions(&stored).unwrap_or_default();
        let mut host = self.host(assignment);
        host.rules.tools = Vec::new();
        host.sink = Sink::nobody();
        let opening = Opening {
            full_at: None,
            max_turns: Some(REPLIES),
            ..self.opening(assignment, key, true, instructions)
        };
        let conversation = self.parts.engine.open(opening, Arc::new(host)).await?;
        let mut booked = Booked { conversation, manifest: self.manifest(), result };
        Ok(booked.conversation.turn(words).await?.text)
    }

    /// The paper as a file, where there is a workbench; without one it is handed over all the same.
    fn keep(&self, step: &str, paper: &Handoff) -> Option<PathBuf> {
        let workbench = self.parts.workbench.as_deref()?;
        let text = paper.to_markdown(step, workbench.language());
        let stamp = ZonedDateTime::now().strftime("%Y%m%d-%H%M%S").to_string();
        match workbench.keep_handoff(step, &text, &stamp) {
            Ok(path) => Some(path),
            Err(error) => {
                self.parts.sink.tell(Event::Error { text: error.to_string() });
                None
            }
        }
    }

    fn no_further(&self, key: &str) -> EngineError {
        let policy = &self.parts.handoff;
        let text = self.parts.language.text(
            key,
            &[
                ("at", &policy.at().to_string()),
                ("window", &policy.window.to_string()),
                ("generations", &policy.max_generations.to_string()),
            ],
        );
        EngineError::new(Fault::Full, text)
    }

    /// The language of frozen papers and prompts.
    pub(super) fn paper_language(&self) -> Language {
        self.parts.workbench.as_deref().map_or(self.parts.language, Workbench::language)
    }
}

/// The paper as it is in the file, where it was changed there and still says enough. The file says of
/// itself that it may be changed, so the file is what counts.
fn edited(inheritance: &Inheritance) -> Option<Handoff> {
    let file = std::fs::read_to_string(inheritance.path.as_ref()?).ok()?;
    let paper = Handoff::parse(&file);
    (paper.complete() && paper != Handoff::parse(&inheritance.text)).then_some(paper)
}
