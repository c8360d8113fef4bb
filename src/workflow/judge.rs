//! Judgement: a fresh session that sees the scene and the goal, and whose verdict must count.

use super::name::StepNames;
use super::outcome::{FlowError, FlowOptions, Outcome};
use super::starter::{Flow, Turn};
use crate::document::{Verdict, VerdictState};
use crate::event::Event;
use crate::role::{judge, prompt};
use crate::runtime::Session;
use crate::worktree::{Copy, Snapshot};

/// How often a judge is asked again when its answer cannot count: a round of work costs far more.
const RETRIES: u32 = 2;

impl Flow<'_> {
    /// The verdict on this round, or how the flow ended without one.
    pub(super) async fn judgement(
        &self,
        names: &StepNames,
        round: u32,
        goal: &str,
        report: &str,
    ) -> Result<Result<Verdict, Outcome>, FlowError> {
        let language = self.workbench.language();
        let role = judge(language, self.options.judge_can_run, "");
        let mut reason = String::new();
        for retry in 0..=RETRIES {
            let before = self.snapshot().await?;
            let copy = self.copy_for_judge().await?;
            let result = self
                .step(Turn {
                    label: names.judgement(round, retry),
                    remember: None,
                    step: StepNames::OURS.judgement(round, retry),
                    role: &role,
                    prompt: prompt::verdict(language, goal, report),
                    session: Session::New,
                    folder: copy.as_ref().map(|copy| copy.path().to_owned()),
                })
                .await?;
            let could_run = copy.is_some();
            if let Some(copy) = copy {
                // What cannot be removed is in nobody's way.
                let _ = copy.remove_aside().await;
            }
            let touched = before.differences(&self.snapshot().await?);
            if let Some(first) = touched.first() {
                // A verdict from a workspace that changed under it says nothing (product.md, Security 2).
                reason = self.runtime.parts().language.text(
                    "workflow.void",
                    &[
                        ("count", &touched.len().to_string()),
                        ("path", &first.path.display().to_string()),
                    ],
                );
                let workspace = &self.runtime.parts().workspace;
                // Only a shell changes a mode or a time and nothing else.
                let put_back = if could_run { before.put_back(workspace, &touched) } else { 0 };
                if put_back > 0 {
                    reason.push(' ');
                    reason.push_str(
                        &self
                            .runtime
                            .parts()
                            .language
                            .text("workflow.put_back", &[("count", &put_back.to_string())]),
                    );
                }
                self.tell(Event::Error { text: reason.clone() });
                continue;
            }
            if !result.ok {
                // The runtime has already tried what helps, except for a fresh conversation.
                if !result.wants_fresh_session() || retry == RETRIES {
                    return Ok(Err(Outcome::Failed(Box::new(result))));
                }
                reason = result.error.unwrap_or_default();
                continue;
            }
            let mut verdict = Verdict::parse(&result.text);
            if verdict.reason.trim().is_empty() {
                let key = match verdict.state {
                    VerdictState::Unclear => "workflow.unclear",
                    _ => "workflow.no_reason",
                };
                verdict.reason = language.text(key, &[]);
            }
            self.tell(Event::Verdict {
                round,
                state: verdict.state.name().to_owned(),
                reason: verdict.reason.clone(),
                failed: verdict.failed.clone(),
            });
            if verdict.state != VerdictState::Unclear {
                return Ok(Ok(verdict));
            }
            // Not the work's failure, so no round of work is spent on it (product.md).
            reason = verdict.reason;
        }
        Ok(Err(Outcome::Unjudged { reason }))
    }

    /// Whether copies can be made at all, asked before anything is spent.
    pub(super) fn check_scratch(&self) -> Result<(), FlowError> {
        let FlowOptions { judged, judge_can_run, clarify_only, scratch, .. } = &self.options;
        if !judged || !judge_can_run || *clarify_only {
            return Ok(());
        }
        tempfile::tempdir_in(scratch)
            .map(drop)
            .map_err(|source| FlowError::File { path: scratch.clone(), source })
    }

    /// A throw-away copy for a judge that may run commands; nothing for one that only reads.
    pub(super) async fn copy_for_judge(&self) -> Result<Option<Copy>, FlowError> {
        if !self.options.judge_can_run {
            return Ok(None);
        }
        let parts = self.runtime.parts();
        let own = vec![parts.folder.path().to_owned()];
        Copy::make_aside(&parts.workspace, &self.options.scratch, own)
            .await
            .map(Some)
            .map_err(|source| FlowError::File { path: self.options.scratch.clone(), source })
    }

    /// What the workspace looks like, without flower's own records and workbench, which flower writes
    /// while a judge works.
    async fn snapshot(&self) -> Result<Snapshot, FlowError> {
        let parts = self.runtime.parts();
        let own = vec![parts.folder.path().to_owned(), self.workbench.root().to_owned()];
        Snapshot::take_aside(&parts.workspace, own)
            .await
            .map_err(|source| FlowError::File { path: parts.workspace.clone(), source })
    }
}
