//! Person: questions, inbox, quota, timeout, log of answers.

mod ask;
mod channel;
mod record;
mod state;
#[cfg(test)]
mod tests;
mod tool;

pub use ask::{Answer, Ask, AskState, Mail, Replies};
pub use channel::{Channel, ChannelOptions};

pub use tool::{ASK, INBOX, ToolDescription, tools};
