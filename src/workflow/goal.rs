//! Turning the brief into a goal with a checklist that a judge can go through.

use serde_json::json;

use super::name::{StepNames, retried};
use super::outcome::{FlowError, Outcome};
use super::paper::{freeze, relation};
use super::starter::{Flow, Start, Turn};
use crate::document::{Brief, Goal};
use crate::event::Event;
use crate::role::{judge, prompt};
use crate::runtime::Session;

/// As for the brief: one chance to complete a reply that lacks a section.
const RETRIES: u32 = 1;

impl Flow<'_> {
    /// The goal, or how the flow ended without one.
    pub(super) async fn set_goal(
        &self,
        start: &Start,
        brief: &Brief,
    ) -> Result<Result<Goal, Outcome>, FlowError> {
        let language = self.workbench.language();
        let role = judge(language, self.options.judge_can_run, "");
        let mut said = prompt::goal_setting(language, &brief.block(language));
        let names = &start.names;
        let asked = self.lineage.state()?.asks.len();
        let print = self.brief_print()?;
        let mut session = self.carried(start, names.goal).await?;
        for retry in 0.. {
            // A judge with a shell looks at its surroundings in a copy here too: setting a goal changes
            // nothing either.
            let copy = self.copy_for_judge().await?;
            let result = self
                .step(Turn {
                    label: retried(names.goal, retry),
                    remember: Some(names.goal),
                    step: retried(StepNames::OURS.goal, retry),
                    role: &role,
                    prompt: said,
                    session,
                    folder: copy.as_ref().map(|copy| copy.path().to_owned()),
                })
                .await?;
            if let Some(copy) = copy {
                // What cannot be removed is in nobody's way.
                let _ = copy.remove_aside().await;
            }
            if !result.ok {
                return Ok(Err(Outcome::Failed(Box::new(result))));
            }
            let goal = Goal::parse(&result.text);
            if goal.complete() {
                freeze(&self.workbench.goal_path(), &goal.to_markdown(language))?;
                self.lineage.goal_covers(asked)?;
                self.lineage.mark(relation::GOAL_FOR_BRIEF, &print)?;
                self.warn_of_unverifiable(&goal);
                return Ok(Ok(goal));
            }
            let missing = goal.missing(language);
            if retry >= RETRIES {
                return Ok(Err(Outcome::Incomplete { step: names.goal.to_owned(), missing }));
            }
            said = prompt::missing_sections(language, &missing);
            session = Session::Resume(result.session_id.unwrap_or_default());
        }
        unreachable!("the loop ends by returning")
    }

    /// Items that cannot be checked here are told before the work is paid for, not after (flow.md 5.2).
    fn warn_of_unverifiable(&self, goal: &Goal) {
        let doubtful = goal.unverifiable();
        if doubtful.is_empty() {
            return;
        }
        let path = self.workbench.goal_path();
        let text = self.runtime.parts().language.text(
            "workflow.unverifiable",
            &[
                ("count", &doubtful.len().to_string()),
                ("total", &goal.checks.len().to_string()),
                ("path", &self.workbench.shown(&path)),
                ("items", &doubtful.join("; ")),
            ],
        );
        let data = json!({"unverifiable": doubtful, "total": goal.checks.len(), "path": path});
        self.tell(Event::Task { text, data });
    }
}
