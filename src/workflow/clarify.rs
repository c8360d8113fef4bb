//! Asking until the request is clear; what comes of it is frozen as the brief.

use super::name::{StepNames, retried};
use super::outcome::{FlowError, Outcome};
use super::paper::freeze;
use super::starter::{Flow, Start, Turn};
use crate::document::Brief;
use crate::role::{clarifier, prompt};
use crate::runtime::Session;

/// A reply that lacks a section is sent back this often: the conversation is warm and knows what is asked.
const RETRIES: u32 = 1;

impl Flow<'_> {
    /// The brief, or how the flow ended without one.
    pub(super) async fn clarify(&self, start: &Start) -> Result<Result<Brief, Outcome>, FlowError> {
        let language = self.workbench.language();
        let role = clarifier(language, true, "");
        let names = &start.names;
        let mut session = self.carried(start, names.clarify).await?;
        let mut said = match session {
            Session::Resume(_) | Session::Fork(_) => {
                prompt::clarify_resumed(language, &start.words)
            }
            Session::New => prompt::clarify(language, &self.lineage.state()?.asks.join("\n\n")),
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
}
