//! What the lock of a channel guards: questions, messages, and news on its way out.

use std::collections::{BTreeMap, VecDeque};
use std::path::PathBuf;

use tokio::sync::oneshot;
use tokio::time::Instant;

use super::ask::{Ask, AskState};
use crate::event::Event;

/// Everything that the lock guards.
#[derive(Default)]
pub(super) struct State {
    pub(super) max_asks: Option<u32>,
    pub(super) counter: u64,
    /// Questions that count against the quota.
    pub(super) charged: u32,
    pub(super) closed: bool,
    pub(super) asks: Vec<Ask>,
    pub(super) waiting: BTreeMap<String, Waiter>,
    /// Questions that nobody who asked for the next one has got.
    pub(super) unseen: VecDeque<String>,
    pub(super) letters: Vec<Letter>,
    pub(super) outbox: VecDeque<News>,
    pub(super) delivering: bool,
    pub(super) troubles: Vec<String>,
}

/// Who waits for a question to end.
pub(super) struct Waiter {
    pub(super) wake: oneshot::Sender<()>,
    pub(super) since: Instant,
}

/// Words of the person that the model has not seen.
pub(super) struct Letter {
    pub(super) id: String,
    pub(super) text: String,
    pub(super) amended: Option<PathBuf>,
}

/// Something to tell, and to write down first.
pub(super) struct News {
    pub(super) event: Event,
    pub(super) entry: Option<Entry>,
}

/// What is written down before it is told.
pub(super) enum Entry {
    Ask(Ask),
    Mail { id: String, text: String },
}

impl State {
    pub(super) fn next_id(&mut self, kind: char) -> String {
        self.counter += 1;
        format!("{kind}{}", self.counter)
    }

    /// Questions that the model has left; -1 means no limit.
    pub(super) fn remaining(&self) -> i64 {
        self.max_asks.map_or(-1, |most| i64::from(most.saturating_sub(self.charged)))
    }

    pub(super) fn waiting_ask(&self, id: &str) -> Option<&Ask> {
        self.asks.iter().find(|ask| ask.id == id && ask.state == AskState::Asked)
    }

    /// The only place where a question ends; false where it had ended before.
    pub(super) fn end(&mut self, id: &str, how: AskState, words: &str) -> bool {
        let Some(ask) = self.asks.iter_mut().find(|ask| ask.id == id) else { return false };
        if ask.state != AskState::Asked {
            return false;
        }
        ask.state = how;
        ask.answer = words.to_owned();
        if let Some(waiter) = self.waiting.remove(id) {
            ask.waited_s = (waiter.since.elapsed().as_secs_f64() * 10.0).round() / 10.0;
            // Nobody listens where the asker has gone.
            let _ = waiter.wake.send(());
        }
        let entry = Entry::Ask(ask.clone());
        self.tell_ask(id, Some(entry));
        true
    }

    pub(super) fn tell_ask(&mut self, id: &str, entry: Option<Entry>) {
        let remaining = self.remaining();
        let Some(ask) = self.asks.iter().find(|ask| ask.id == id) else { return };
        let event = Event::Ask {
            id: ask.id.clone(),
            state: ask.state.name().to_owned(),
            question: ask.question.clone(),
            options: ask.options.clone(),
            answer: ask.answer.clone(),
            remaining,
        };
        self.outbox.push_back(News { event, entry });
    }
}

impl Letter {
    pub(super) fn event(&self, state: &str) -> Event {
        let amended = self.amended.as_ref().map(|path| path.to_string_lossy().into_owned());
        Event::Mail {
            id: self.id.clone(),
            state: state.to_owned(),
            text: self.text.clone(),
            amended: amended.unwrap_or_default(),
        }
    }
}

/// The messages as the model reads them, and the truth about where else they stand.
pub(super) fn read_out(letters: &[Letter]) -> String {
    if letters.is_empty() {
        return "Nothing new from the person. Carry on.".to_owned();
    }
    let mut lines = vec!["The person says:".to_owned()];
    for (index, letter) in letters.iter().enumerate() {
        lines.push(format!("{}. {}", index + 1, letter.text));
    }
    let lost: Vec<String> = letters
        .iter()
        .enumerate()
        .filter(|(_, letter)| letter.amended.is_none())
        .map(|(index, _)| (index + 1).to_string())
        .collect();
    lines.push(if lost.is_empty() {
        "All of this is already in the brief.".to_owned()
    } else if lost.len() == letters.len() {
        "None of this is kept anywhere: write down in the notes what must last.".to_owned()
    } else {
        format!(
            "This is already in the brief, except number {}, which is kept nowhere: write down in the \
             notes what must last.",
            lost.join(", ")
        )
    });
    lines.join("\n")
}
