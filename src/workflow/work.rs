//! Work in rounds: done, judged, sent back to the same conversation, until it holds.

use super::name::StepNames;
use super::outcome::{FlowError, Outcome};
use super::paper::{freeze, relation};
use super::starter::{Flow, Papers, Start, Turn};
use crate::document::{Goal, Verdict, VerdictState};
use crate::language::Language;
use crate::role::{CoordinatorOptions, Worker, coder, coordinator, isolated_coder, prompt};
use crate::runtime::{LineageState, Session, fingerprint};

/// What a person makes of a goal that is judged unreachable.
enum Override {
    Accepted,
    Again { feedback: String },
    Nobody,
}

impl Flow<'_> {
    /// Rounds until the judge agrees, the person decides, or the rounds are used up.
    pub(super) async fn work(&self, start: &Start, papers: Papers) -> Result<Outcome, FlowError> {
        let language = self.workbench.language();
        let names = &start.names;
        let role = coordinator(CoordinatorOptions::new(language, vec![self.worker(language)]));
        let mut session = self.carried(start, names.work).await?;
        let asked = self.lineage.state()?;
        if asked.achieved {
            self.lineage.set_achieved(false)?;
        }
        let mut known = self.papers_on_disk(&papers)?;
        let mut prompt = match session {
            Session::New => first_prompt(&papers, language),
            Session::Resume(_) | Session::Fork(_) => self.next_prompt(&papers, &asked, &known),
        };
        let mut goal = papers.goal;
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
            if result.num_turns > 0 {
                // Only now: words that a killed run did not pass on are told again.
                self.lineage.work_covers(asked.asks.len())?;
                self.lineage.keep_feedback("")?;
                for (relation, print) in known.drain(..) {
                    self.lineage.mark(relation, &print)?;
                }
            }
            if !result.ok {
                return Ok(Outcome::Failed(Box::new(result)));
            }
            let Some(aim) = &goal else { return Ok(Outcome::Worked) };
            let measure = [aim.block(language), self.additions()?].join("\n\n");
            let verdict =
                match self.judgement(names, round, measure.trim_end(), &result.text).await? {
                    Ok(verdict) => verdict,
                    Err(outcome) => return Ok(outcome),
                };
            let mut feedback = verdict.feedback(language);
            match verdict.state {
                VerdictState::Achieved => {
                    self.achieved()?;
                    return Ok(Outcome::Achieved { round });
                }
                VerdictState::Unreachable => {
                    match self.ask_about_unreachable(&verdict, &mut goal).await? {
                        Override::Nobody => {
                            return Ok(Outcome::Unreachable { reason: verdict.reason });
                        }
                        Override::Accepted => {
                            self.achieved()?;
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
            // Whoever goes on, this run or the next, begins with these words.
            self.lineage.keep_feedback(&feedback)?;
            if round >= rounds {
                return Ok(Outcome::NotAchieved { rounds: round, reason: verdict.reason });
            }
            round += 1;
            prompt = feedback;
            session = Session::Resume(result.session_id.unwrap_or_default());
        }
    }

    /// Done, by the brief as it is now: the judge was shown what was added while the run went on.
    fn achieved(&self) -> Result<(), FlowError> {
        self.lineage.mark(relation::GOAL_FOR_BRIEF, &self.brief_print()?)?;
        Ok(self.lineage.set_achieved(true)?)
    }

    /// What the conversation of the work will know once it has answered.
    fn papers_on_disk(&self, papers: &Papers) -> Result<Vec<(&'static str, String)>, FlowError> {
        let mut known = vec![(relation::WORK_KNOWS_BRIEF, self.brief_print()?)];
        if let Some(goal) = &papers.goal {
            let print = fingerprint(&goal.block(self.workbench.language()));
            known.push((relation::WORK_KNOWS_GOAL, print));
        }
        Ok(known)
    }

    /// Only what the conversation does not know yet: new words, a changed paper, the last verdict.
    fn next_prompt(
        &self,
        papers: &Papers,
        asked: &LineageState,
        now: &[(&'static str, String)],
    ) -> String {
        let language = self.workbench.language();
        let changed = |relation: &str| {
            let then = asked.papers.get(relation);
            let now = now.iter().find(|(name, _)| *name == relation).map(|(_, print)| print);
            then.is_some() && now.is_some() && then != now
        };
        let mut words = asked.untold();
        if words.is_empty() && changed(relation::WORK_KNOWS_BRIEF) {
            let brief = papers.brief.block(language);
            words = language.text("workflow.brief_changed", &[("brief", &brief)]);
        }
        let words = [words.as_str(), asked.feedback.as_str()].join("\n\n");
        let renewed = papers.renewed || changed(relation::WORK_KNOWS_GOAL);
        let goal = papers.goal.as_ref().filter(|_| renewed).map(|goal| goal.block(language));
        prompt::wake_work(language, words.trim(), goal.as_deref())
    }

    /// Whoever does the work; in worktrees it finds the workbench only by its whole path.
    fn worker(&self, language: Language) -> Worker {
        match self.options.isolate {
            true => {
                let scripts = self.workbench.shown(&self.workbench.scripts());
                isolated_coder(language, format!("{scripts}/"))
            }
            false => coder(language),
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

/// The whole brief, and the goal by which it will be judged.
fn first_prompt(papers: &Papers, language: Language) -> String {
    let goal = papers.goal.as_ref().map(|goal| goal.block(language));
    prompt::first_work(language, &papers.brief.block(language), goal.as_deref())
}
