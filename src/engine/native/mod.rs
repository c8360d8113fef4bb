//! The engine that is built in: the Messages API, own tools, own subagents.
//!
//! It retries nothing and decides nothing: failures go up by type, calls go to the host first, entries are
//! committed before the next request. Everything runs inside the future of a turn; dropping it ends all.

mod agent;
mod answer;
mod dialogue;
mod entry;
mod fault;
mod prompt;
mod session;
mod slot;
mod thread;
pub mod tool;

#[cfg(test)]
mod tests;

use std::num::NonZero;
use std::sync::Arc;

use async_trait::async_trait;

use super::{Conversation, Engine, EngineError, Fault, Host, Opening, Place, Spent, TurnEnd};
use crate::event::Event;
use crate::settings::Endpoint;
use crate::transcript::Usage;
use crate::wire::{Client, ClientOptions};

use self::session::Session;
use self::slot::Slots;
use self::thread::Thread;

/// Most tokens of one reply where the caller has no other wish; every current model can write as many.
pub const MAX_TOKENS: u32 = 32_000;

/// What of the settings this engine needs.
pub struct NativeOptions {
    /// Where requests go.
    pub endpoint: Endpoint,
    /// Deadlines and proxies.
    pub client: ClientOptions,
    /// Models and prices.
    pub choice: Choice,
    /// Most tokens of one reply; [`MAX_TOKENS`] if in doubt.
    pub max_tokens: u32,
    /// Subagents, and calls of tools, that run at the same time; the others wait for their turn.
    pub parallel: NonZero<usize>,
}

/// US dollars for a model's tokens; nothing where its price is unknown.
pub type Price = Box<dyn Fn(&str, &Usage) -> Option<f64> + Send + Sync>;

/// Models and prices, as the settings choose them.
pub struct Choice {
    /// The model of the main thread.
    pub main_model: String,
    /// The model of a subagent, from what was asked for: `inherit`, `opus`, `sonnet`, `haiku` or an id.
    pub subagent_model: Box<dyn Fn(&str) -> String + Send + Sync>,
    /// What tokens cost.
    pub cost: Price,
    /// How hard models are to think; nothing leaves it to the server.
    pub effort: Option<String>,
}

/// The engine. One client, so that conversations share connections.
pub struct Native {
    client: Arc<Client>,
    choice: Arc<Choice>,
    max_tokens: u32,
    slots: Arc<Slots>,
}

impl Native {
    /// Prepares the client; nothing is sent.
    ///
    /// # Errors
    /// An address, header, proxy or certificate file that cannot be used.
    pub fn new(options: NativeOptions) -> Result<Self, EngineError> {
        let client = Client::new(&options.endpoint, options.client)?;
        Ok(Self {
            client: Arc::new(client),
            choice: Arc::new(options.choice),
            max_tokens: options.max_tokens,
            slots: Arc::new(Slots::new(options.parallel)),
        })
    }
}

#[async_trait]
impl Engine for Native {
    async fn open(
        &self,
        opening: Opening,
        host: Arc<dyn Host>,
    ) -> Result<Box<dyn Conversation>, EngineError> {
        let session = Arc::new(Session::new(self, opening, host));
        let mut thread = Thread::main(&session);
        if session.opening.resume {
            thread.reload().await?;
            if thread.is_new() {
                return Err(EngineError::new(
                    Fault::Store,
                    format!("there is no record of session {}", session.opening.key.session),
                ));
            }
        }
        Ok(Box::new(Talk { session, thread }))
    }
}

/// An open conversation.
struct Talk {
    session: Arc<Session>,
    thread: Thread,
}

#[async_trait]
impl Conversation for Talk {
    fn session_id(&self) -> &str {
        &self.session.opening.key.session
    }

    async fn turn(&mut self, prompt: &str) -> Result<TurnEnd, EngineError> {
        if self.thread.was_dropped() {
            // The last turn's future was dropped, and with it what we knew of the record's end.
            self.thread.reload().await?;
        }
        let said = self.thread.say(prompt, self.session.opening.max_turns).await?;
        let spent = self.spent();
        self.session.host.tell(Event::Result {
            subtype: "success".to_owned(),
            session_id: self.session_id().to_owned(),
            cost_usd: spent.cost_known.then_some(spent.cost_usd),
            num_turns: said.replies,
            is_error: false,
        });
        Ok(TurnEnd {
            text: said.texts.join("\n"),
            stop_reason: said.stop_reason,
            context: said.context,
        })
    }

    fn spent(&self) -> Spent {
        self.session.spent()
    }
}
