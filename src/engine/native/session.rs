//! What the threads of one conversation share: host, client, opening and the count of what was used.

use std::sync::{Arc, Mutex, PoisonError};

use super::slot::Slots;
use super::{Choice, EngineError, Fault, Host, Native, Opening, Spent};
use crate::engine::Limit;
use crate::transcript::Usage;
use crate::wire::Client;

/// One conversation, with all its subagents.
pub(super) struct Session {
    pub(super) host: Arc<dyn Host>,
    pub(super) opening: Opening,
    pub(super) client: Arc<Client>,
    pub(super) choice: Arc<Choice>,
    pub(super) max_tokens: u32,
    pub(super) slots: Arc<Slots>,
    spent: Mutex<Spent>,
}

impl Session {
    pub(super) fn new(native: &Native, opening: Opening, host: Arc<dyn Host>) -> Self {
        Self {
            host,
            opening,
            client: Arc::clone(&native.client),
            choice: Arc::clone(&native.choice),
            max_tokens: native.max_tokens,
            slots: Arc::clone(&native.slots),
            spent: Mutex::new(Spent { cost_known: true, ..Spent::default() }),
        }
    }

    /// The main thread's model.
    pub(super) fn main_model(&self) -> String {
        self.opening.model.clone().unwrap_or_else(|| self.choice.main_model.clone())
    }

    /// A subagent's model; what is inherited is what the main thread really uses.
    pub(super) fn subagent_model(&self, requested: &str) -> String {
        match (requested, &self.opening.model) {
            ("inherit" | "", Some(model)) => (self.choice.subagent_model)(model),
            ("", None) => (self.choice.subagent_model)("inherit"),
            _ => (self.choice.subagent_model)(requested),
        }
    }

    pub(super) fn spent(&self) -> Spent {
        *self.spent.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Books tokens. The model that answered has the price; a name that only the gateway knows is looked
    /// up by the one that was asked for.
    pub(super) fn book(&self, answered: &str, asked: &str, usage: &Usage) {
        let cost = &self.choice.cost;
        let price = cost(answered, usage).or_else(|| cost(asked, usage));
        let mut spent = self.spent.lock().unwrap_or_else(PoisonError::into_inner);
        spent.usage.add(usage);
        match price {
            Some(dollars) => spent.cost_usd += dollars,
            None => spent.cost_known = false,
        }
    }

    /// Counts a reply on the main thread.
    pub(super) fn count_turn(&self) {
        self.spent.lock().unwrap_or_else(PoisonError::into_inner).turns += 1;
    }

    /// Asked before every request, those of subagents included.
    pub(super) fn check_budget(&self) -> Result<(), EngineError> {
        match self.opening.budget_usd {
            Some(budget) if self.spent().cost_usd >= budget => Err(EngineError::new(
                Fault::Limit(Limit::Budget),
                format!("the budget of ${budget:.2} is used up"),
            )),
            _ => Ok(()),
        }
    }
}
