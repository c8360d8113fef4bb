//! The channel between a run and its person.
//!
//! One lock guards all of it, and a question ends exactly once: whoever ends it first decides, and
//! everybody else is told that it has ended. News leaves through a queue, so that listeners see it in
//! the order in which it happened and may call back into the channel.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use tokio::sync::{Notify, oneshot};
use tokio::time::Instant;

use super::ask::{Answer, Ask, AskState, Mail, Replies};
use super::record::{Record, transcript};
use super::state::{Entry, Letter, News, State, Waiter, read_out};
use crate::document::Occasion;
use crate::event::Sink;
use crate::language::Language;

/// How a channel behaves.
#[derive(Debug, Clone)]
pub struct ChannelOptions {
    /// Most questions of the model; nothing means no limit, zero means none at all.
    pub max_asks: Option<u32>,
    /// How long a question waits; nothing means for ever, zero means that nobody is there.
    pub timeout: Option<Duration>,
    /// The log of questions and answers.
    pub log_path: Option<PathBuf>,
    /// The document that the person's own words are added to.
    pub amend_path: Option<PathBuf>,
    /// Who is told about questions and messages.
    pub sink: Sink,
    /// The language of the files.
    pub language: Language,
    /// What the model is told where there is no answer; nothing means the usual texts.
    pub replies: Option<Replies>,
}

impl ChannelOptions {
    /// The usual waiting time.
    pub const TIMEOUT: Duration = Duration::from_secs(1800);
}

impl Default for ChannelOptions {
    fn default() -> Self {
        Self {
            max_asks: None,
            timeout: Some(Self::TIMEOUT),
            log_path: None,
            amend_path: None,
            sink: Sink::nobody(),
            language: Language::default(),
            replies: None,
        }
    }
}

/// Questions to the person, and the person's words to the run. Clones are the same channel.
#[derive(Clone)]
pub struct Channel(Arc<Inner>);

struct Inner {
    timeout: Option<Duration>,
    replies: Replies,
    sink: Sink,
    record: Record,
    state: Mutex<State>,
    /// A question was asked, or the channel was closed.
    news: Notify,
    /// The person does not want to wait any longer.
    hurry: Notify,
}

impl Channel {
    /// A channel that nothing has been asked on.
    pub fn new(options: ChannelOptions) -> Self {
        let language = options.language;
        let replies =
            options.replies.unwrap_or_else(|| Replies::new(&language.text("human.unknowns", &[])));
        Self(Arc::new(Inner {
            timeout: options.timeout,
            replies,
            sink: options.sink,
            record: Record {
                log_path: options.log_path,
                amend_path: options.amend_path,
                language,
                one_writer: Mutex::default(),
            },
            state: Mutex::new(State { max_asks: options.max_asks, ..State::default() }),
            news: Notify::new(),
            hurry: Notify::new(),
        }))
    }

    /// Ends every wait that is going on now; where nothing waits, nothing happens.
    pub fn hurry(&self) {
        self.0.hurry.notify_waiters();
    }

    /// Until the person says that waiting has taken long enough.
    pub async fn hurried(&self) {
        self.0.hurry.notified().await;
    }

    /// Asks for the model, within the quota, and waits. There is always an answer, never an error.
    pub async fn ask(&self, question: &str, options: &[String]) -> Answer {
        self.put(question, options, true).await
    }

    /// Asks for flower itself: the model's quota neither stops it nor pays for it.
    pub async fn ask_framework(&self, question: &str, options: &[String]) -> Answer {
        self.put(question, options, false).await
    }

    async fn put(&self, question: &str, options: &[String], counts: bool) -> Answer {
        let (id, waiting) = self.register(question, options, counts);
        self.deliver();
        if let Some(woken) = waiting {
            // Whoever asked may be gone before the answer comes.
            let _withdraw = Withdraw { channel: self, id: &id };
            match self.0.timeout {
                // Which of the two it was does not matter: the question itself says how it ended.
                Some(limit) => _ = tokio::time::timeout(limit, woken).await,
                None => _ = woken.await,
            }
            self.end(&id, AskState::Timeout, "");
        }
        self.answer_to(&id)
    }

    /// Takes a question in; gives what to wait for, or nothing where it has ended at once.
    fn register(
        &self,
        question: &str,
        options: &[String],
        counts: bool,
    ) -> (String, Option<oneshot::Receiver<()>>) {
        let mut state = self.lock();
        let id = state.next_id('q');
        let trimmed = options.iter().map(|option| option.trim().to_owned());
        let question = question.trim().to_owned();
        let empty = question.is_empty();
        let ask = Ask {
            id: id.clone(),
            question,
            options: trimmed.filter(|option| !option.is_empty()).collect(),
            asked_at: Timestamp::now(),
            state: AskState::Asked,
            answer: String::new(),
            waited_s: 0.0,
        };
        state.asks.push(ask);
        if empty {
            state.end(&id, AskState::Invalid, "");
            return (id, None);
        }
        if counts {
            state.charged = state.charged.saturating_add(1);
            if state.max_asks.is_some_and(|most| state.charged > most) {
                state.end(&id, AskState::OverBudget, "");
                return (id, None);
            }
        }
        if state.closed || self.0.timeout == Some(Duration::ZERO) {
            state.end(&id, AskState::Timeout, "");
            return (id, None);
        }
        let (wake, woken) = oneshot::channel();
        state.waiting.insert(id.clone(), Waiter { wake, since: Instant::now() });
        state.unseen.push_back(id.clone());
        state.tell_ask(&id, None);
        drop(state);
        self.0.news.notify_waiters();
        (id, Some(woken))
    }

    /// Answers a question; false where it no longer waits. Callable from any thread.
    pub fn answer(&self, id: &str, text: &str) -> bool {
        self.end(id, AskState::Answered, text)
    }

    /// Declines a question, with a reason or an empty text; false where it no longer waits.
    pub fn decline(&self, id: &str, reason: &str) -> bool {
        self.end(id, AskState::Declined, reason.trim())
    }

    fn end(&self, id: &str, how: AskState, words: &str) -> bool {
        let ended = self.lock().end(id, how, words);
        self.deliver();
        ended
    }

    /// Takes words of the person for the model; nothing where there are none. They are added to the
    /// brief at once and reach the model with its next look into the inbox.
    pub fn send(&self, text: &str) -> Option<Mail> {
        let text = text.trim();
        if text.is_empty() {
            return None;
        }
        let amended = self.add_to_brief(text, Occasion::Running);
        let mut state = self.lock();
        let id = state.next_id('m');
        let letter = Letter { id: id.clone(), text: text.to_owned(), amended: amended.clone() };
        let event = letter.event("queued");
        state.letters.push(letter);
        state.outbox.push_back(News { event, entry: None });
        drop(state);
        self.deliver();
        Some(Mail { id, amended })
    }

    /// Makes the log of questions, so that it is there after a run in which nothing was asked.
    pub fn keep_log(&self) -> std::io::Result<()> {
        self.0.record.keep_log()
    }

    /// Adds words to the brief; true where they are now in it.
    pub fn amend(&self, text: &str, when: Occasion) -> bool {
        self.add_to_brief(text.trim(), when).is_some()
    }

    fn add_to_brief(&self, text: &str, when: Occasion) -> Option<PathBuf> {
        match self.0.record.amend(text, when) {
            Ok(path) => path.map(std::path::Path::to_owned),
            Err(error) => {
                self.lock().troubles.push(format!("the brief was not amended: {error}"));
                None
            }
        }
    }

    /// What the person has said since the last look, for the model. Never waits.
    pub fn inbox(&self) -> String {
        let mut state = self.lock();
        let letters = std::mem::take(&mut state.letters);
        for letter in &letters {
            let entry = Entry::Mail { id: letter.id.clone(), text: letter.text.clone() };
            let event = letter.event("delivered");
            state.outbox.push_back(News { event, entry: Some(entry) });
        }
        drop(state);
        self.deliver();
        read_out(&letters)
    }

    /// The questions that wait, oldest first.
    pub fn pending(&self) -> Vec<Ask> {
        self.lock().asks.iter().filter(|ask| ask.state == AskState::Asked).cloned().collect()
    }

    /// The next waiting question that was not handed out before; nothing once the channel is closed.
    pub async fn next_ask(&self) -> Option<Ask> {
        loop {
            let mut news = std::pin::pin!(self.0.news.notified());
            // Listening begins before looking, or a question in between would be missed.
            news.as_mut().enable();
            {
                let mut state = self.lock();
                while let Some(id) = state.unseen.pop_front() {
                    if let Some(ask) = state.waiting_ask(&id) {
                        return Some(ask.clone());
                    }
                }
                if state.closed {
                    return None;
                }
            }
            news.await;
        }
    }

    /// Nobody is there any more: what waits ends now, and what comes later at once.
    pub fn close(&self) {
        let mut state = self.lock();
        state.closed = true;
        let waiting = state.asks.iter().filter(|ask| ask.state == AskState::Asked);
        let waiting: Vec<String> = waiting.map(|ask| ask.id.clone()).collect();
        for id in waiting {
            state.end(&id, AskState::Timeout, "");
        }
        drop(state);
        self.0.news.notify_waiters();
        self.deliver();
    }

    /// True where a question would end without anybody being asked.
    pub fn is_unattended(&self) -> bool {
        self.0.timeout == Some(Duration::ZERO) || self.lock().closed
    }

    /// Questions that the model has left; -1 means no limit.
    pub fn remaining(&self) -> i64 {
        self.lock().remaining()
    }

    /// All questions that have ended, with their answers, for people.
    pub fn transcript(&self) -> String {
        transcript(&self.lock().asks)
    }

    /// What went wrong beside the run: files that could not be written, listeners that failed.
    pub fn troubles(&self) -> Vec<String> {
        self.lock().troubles.clone()
    }

    fn answer_to(&self, id: &str) -> Answer {
        let state = self.lock();
        let ask = state.asks.iter().find(|ask| ask.id == id).expect("registered questions stay");
        let replies = &self.0.replies;
        let text = match ask.state {
            AskState::Answered => ask.answer.clone(),
            AskState::Declined if !ask.answer.is_empty() => {
                format!("{} The person's words: {}", replies.declined, ask.answer)
            }
            AskState::Declined => replies.declined.clone(),
            AskState::OverBudget => replies.over_budget.clone(),
            AskState::Invalid => {
                "The question is empty, so nobody was asked. Ask again with a `question`, or carry on."
                    .to_owned()
            }
            AskState::Timeout | AskState::Cancelled | AskState::Asked => replies.timeout.clone(),
        };
        let answered = ask.state == AskState::Answered;
        let choice = ask.options.iter().position(|option| answered && *option == ask.answer.trim());
        Answer { id: ask.id.clone(), state: ask.state, text, choice }
    }

    /// Passes news on, in order, with the lock released. A listener that calls back only adds to the
    /// queue; the call further out delivers it.
    fn deliver(&self) {
        loop {
            let news = {
                let mut state = self.lock();
                if state.delivering {
                    return;
                }
                let Some(news) = state.outbox.pop_front() else { return };
                state.delivering = true;
                news
            };
            let written = match &news.entry {
                Some(Entry::Ask(ask)) => self.0.record.log_ask(ask),
                Some(Entry::Mail { id, text }) => self.0.record.log_mail(id, text),
                None => Ok(()),
            };
            let told = catch_unwind(AssertUnwindSafe(|| self.0.sink.tell(news.event)));
            let mut state = self.lock();
            state.delivering = false;
            if let Err(error) = written {
                state.troubles.push(format!("the log of answers was not written: {error}"));
            }
            if told.is_err() {
                state.troubles.push("a listener failed".to_owned());
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Channel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Channel")
    }
}

/// Ends the question of an asker that went away.
struct Withdraw<'a> {
    channel: &'a Channel,
    id: &'a str,
}

impl Drop for Withdraw<'_> {
    fn drop(&mut self) {
        self.channel.end(self.id, AskState::Cancelled, "");
    }
}
