//! What a question, its answer and a message of the person are.

use std::path::PathBuf;

use jiff::Timestamp;

/// How far a question has come. Every state but [`AskState::Asked`] is final.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AskState {
    /// It waits for an answer.
    Asked,
    /// The person answered.
    Answered,
    /// Nobody answered in time, or nobody is there.
    Timeout,
    /// The person does not want to answer.
    Declined,
    /// The quota of questions is used up.
    OverBudget,
    /// The question is empty.
    Invalid,
    /// Who asked has gone; nobody waits for the answer any more.
    Cancelled,
}

impl AskState {
    /// Every state.
    pub const ALL: [Self; 7] = [
        Self::Asked,
        Self::Answered,
        Self::Timeout,
        Self::Declined,
        Self::OverBudget,
        Self::Invalid,
        Self::Cancelled,
    ];

    /// The name in events and in the log.
    pub fn name(self) -> &'static str {
        match self {
            AskState::Asked => "asked",
            AskState::Answered => "answered",
            AskState::Timeout => "timeout",
            AskState::Declined => "declined",
            AskState::OverBudget => "over_budget",
            AskState::Invalid => "invalid",
            AskState::Cancelled => "cancelled",
        }
    }
}

/// A question as it is kept.
#[derive(Debug, Clone, PartialEq)]
pub struct Ask {
    /// `q1`, `q3`, …; questions and messages share one counter.
    pub id: String,
    /// The question, trimmed.
    pub question: String,
    /// Proposed answers, trimmed, none of them empty.
    pub options: Vec<String>,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// How far it has come.
    pub state: AskState,
    /// The person's words: the answer, or the reason for declining.
    pub answer: String,
    /// Seconds until it ended, rounded to tenths.
    pub waited_s: f64,
}

/// What who asked gets back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// The question's id.
    pub id: String,
    /// How it ended; never [`AskState::Asked`].
    pub state: AskState,
    /// The answer to the letter, or, where there is none, what the model should do now.
    pub text: String,
    /// The option that the answer is, counted from 0.
    pub choice: Option<usize>,
}

impl Answer {
    /// True where a person answered.
    pub fn is_answered(&self) -> bool {
        self.state == AskState::Answered
    }
}

/// Receipt for words of the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mail {
    /// `m2`, …
    pub id: String,
    /// The document that now holds the words; nothing where they could not be kept.
    pub amended: Option<PathBuf>,
}

/// What the model is told where there is no answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replies {
    /// The quota is used up.
    pub over_budget: String,
    /// Nobody answered.
    pub timeout: String,
    /// The person declined; a reason follows it.
    pub declined: String,
}

impl Replies {
    /// The usual texts; `unknowns` is the name of the section for assumptions.
    pub fn new(unknowns: &str) -> Self {
        let then = format!(
            "Decide yourself what is most sensible, write the assumption into the section `{unknowns}`, \
             do not ask this again, and do not stop: carry on with the work."
        );
        Self {
            over_budget: format!("No answer: all questions of this run are used up. {then}"),
            timeout: format!("No answer: nobody is there to give one. {then}"),
            declined: format!("The person does not want to answer this. {then}"),
        }
    }
}
