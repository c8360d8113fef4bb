//! Work in rounds: done, judged, sent back to the same conversation, until it holds.

use super::name::StepNames;
use super::starter::{Flow, FlowError, Outcome, Turn, freeze};
use super::wake::WakeState;
use crate::document::{Brief, Goal, Verdict, VerdictState};
use crate::language::Language;
use crate::role::{CoordinatorOptions, coder, coordinator, prompt};
use crate::runtime::Session;

/// How the first round begins.
pub(super) struct WorkOpening {
    prompt: String,
    session: Session,
}

/// What a person makes of a goal that is judged unreachable.
enum Override {
    Accepted,
    Again { feedback: String },
    Nobody,
}

impl Flow<'_> {
    /// The whole brief for a new conversation, only the news for one that goes on.
    pub(super) async fn work_opening(
        &self,
        names: &StepNames,
        wake: &WakeState,
        brief: &Brief,
        goal: Option<&Goal>,
        remark: &str,
        news: Option<&Goal>,
    ) -> Result<WorkOpening, FlowError> {
        let language = self.workbench.language();
        let session = self.carried(wake, names.work).await?;
        let block = |goal: Option<&Goal>| goal.map(|goal| goal.block(language));
        let prompt = match session {
            Session::New => {
                prompt::first_work(language, &brief.block(language), block(goal).as_deref())
            }
            Session::Resume(_) => prompt::wake_work(language, remark, block(news).as_deref()),
        };
        Ok(WorkOpening { prompt, session })
    }

    /// Rounds until the judge agrees, the person decides, or the rounds are used up.
    pub(super) async fn work(
        &self,
        names: &StepNames,
        opening: WorkOpening,
        mut goal: Option<Goal>,
    ) -> Result<Outcome, FlowError> {
        let language = self.workbench.language();
        let role = coordinator(CoordinatorOptions::new(language, vec![coder(language)]));
        let WorkOpening { mut prompt, mut session } = opening;
        let mut rounds = self.options.rounds.max(1);
        let mut round = 1;
        loop {
            let result = self
                .step(Turn {
                    label: names.round(round),
                    remember: Some(names.work),
                    step: StepNames::OURS.round(round),
                    role: &role,
                    prompt,
                    session,
                    folder: None,
                })
                .await?;
            if !result.ok {
                return Ok(Outcome::Failed(Box::new(result)));
            }
            let Some(aim) = &goal else { return Ok(Outcome::Worked) };
            let verdict =
                match self.judgement(names, round, &aim.block(language), &result.text).await? {
                    Ok(verdict) => verdict,
                    Err(outcome) => return Ok(outcome),
                };
            let mut feedback = verdict.feedback(language);
            match verdict.state {
                VerdictState::Achieved => {
                    self.lineage.set_achieved(true)?;
                    return Ok(Outcome::Achieved { round });
                }
                VerdictState::Unreachable => {
                    match self.ask_about_unreachable(&verdict, &mut goal).await? {
                        Override::Nobody => {
                            return Ok(Outcome::Unreachable { reason: verdict.reason });
                        }
                        Override::Accepted => {
                            self.lineage.set_achieved(true)?;
                            return Ok(Outcome::Achieved { round });
                        }
                        Override::Again { feedback: words } => {
                            // What a person decides gets a round of its own, also after the last one.
                            rounds = rounds.max(round + 1);
                            feedback = words;
                        }
                    }
                }
                VerdictState::NotYet | VerdictState::Unclear => {}
            }
            if round >= rounds {
                return Ok(Outcome::NotAchieved { rounds: round, reason: verdict.reason });
            }
            round += 1;
            prompt = feedback;
            session = Session::Resume(result.session_id.unwrap_or_default());
        }
    }

    /// The person may accept, change the goal, or disagree; without one nothing is decided.
    async fn ask_about_unreachable(
        &self,
        verdict: &Verdict,
        goal: &mut Option<Goal>,
    ) -> Result<Override, FlowError> {
        let language = self.workbench.language();
        let text = |key: &str| language.text(key, &[("reason", &verdict.reason)]);
        let options =
            ["workflow.accept", "workflow.change_goal", "workflow.misjudged"].map(&text).to_vec();
        let answer = self.channel.ask_framework(&text("workflow.unreachable"), &options).await;
        if !answer.is_answered() {
            return Ok(Override::Nobody);
        }
        match answer.choice {
            Some(0) => return Ok(Override::Accepted),
            Some(1) => {}
            _ => {
                let words = language.text("workflow.disagrees", &[("words", &answer.text)]);
                return Ok(Override::Again { feedback: sent_back(words, language) });
            }
        }
        let new = self.channel.ask_framework(&text("workflow.new_goal"), &[]).await;
        if !new.is_answered() {
            return Ok(Override::Nobody);
        }
        let mut changed = goal.clone().unwrap_or_default();
        changed.amend(&new.text, language);
        freeze(&self.workbench.goal_path(), &changed.to_markdown(language))?;
        let words = language.text("workflow.goal_changed", &[("goal", &changed.block(language))]);
        *goal = Some(changed);
        Ok(Override::Again { feedback: sent_back(words, language) })
    }
}

/// What the coordinator is told when a person decides that it is to go on.
fn sent_back(reason: String, language: Language) -> String {
    Verdict { state: VerdictState::NotYet, reason, failed: Vec::new() }.feedback(language)
}
