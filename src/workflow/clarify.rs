//! Asking until the request is clear; what comes of it is frozen as the brief.

use super::name::{StepNames, retried};
use super::starter::{Flow, FlowError, Outcome, Turn, freeze};
use super::wake::WakeState;
use crate::document::Brief;
use crate::role::{clarifier, prompt};
use crate::runtime::Session;

/// A reply that lacks a section is sent back this often: the conversation is warm and knows what is asked.
const RETRIES: u32 = 1;

impl Flow<'_> {
    /// The brief, or how the flow ended without one.
    pub(super) async fn clarify(
        &self,
        names: &StepNames,
        wake: &WakeState,
        words: &str,
    ) -> Result<Result<Brief, Outcome>, FlowError> {
        let language = self.workbench.language();
        let role = clarifier(language, true, "");
        let mut session = self.carried(wake, names.clarify).await?;
        let mut said = match session {
            Session::Resume(_) => prompt::clarify_resumed(language, words),
            Session::New => prompt::clarify(language, &self.request(wake)),
        };
        for retry in 0.. {
            let result = self
                .step(Turn {
                    label: retried(names.clarify, retry),
                    remember: Some(names.clarify),
                    step: retried(StepNames::OURS.clarify, retry),
                    role: &role,
                    prompt: said,
                    session,
                    folder: None,
                })
                .await?;
            if !result.ok {
                return Ok(Err(Outcome::Failed(Box::new(result))));
            }
            let brief = Brief::parse(&result.text);
            if brief.complete() {
                freeze(&self.workbench.brief_path(), &brief.to_markdown(language))?;
                return Ok(Ok(brief));
            }
            let missing = brief.missing(language);
            if retry >= RETRIES {
                return Ok(Err(Outcome::Incomplete { step: names.clarify.to_owned(), missing }));
            }
            said = prompt::missing_sections(language, &missing);
            session = Session::Resume(result.session_id.unwrap_or_default());
        }
        unreachable!("the loop ends by returning")
    }

    /// Everything that was asked so far, in the words it was asked in.
    fn request(&self, wake: &WakeState) -> String {
        let mut asks = wake.lineage.asks.clone();
        let now = self.options.ask.trim();
        if !wake.asks_to_continue(now) {
            asks.push(now.to_owned());
        }
        asks.join("\n\n")
    }
}
