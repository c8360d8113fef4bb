//! The person at the other end of stdin.
//!
//! On a terminal a line answers the pending question, or goes to the inbox where nothing was asked; an empty
//! line ends a wait. A pipe
//! is a list of answers: a line is read when a question is asked, so that answers that were written
//! beforehand meet their questions. The end of the input means that nobody is there.

use std::io::{BufRead, IsTerminal};

use crate::human::{Ask, Channel};

/// Reads lines until the input ends.
///
/// The reader ends with the process: a blocking read cannot be called off.
pub(super) fn listen(channel: Channel) {
    if std::io::stdin().is_terminal() {
        let closing = channel.clone();
        let thread = std::thread::Builder::new().name("flower-stdin".into());
        if thread.spawn(move || converse(&channel)).is_err() {
            closing.close();
        }
    } else {
        tokio::spawn(recite(channel));
    }
}

/// Every line as it comes.
fn converse(channel: &Channel) {
    while let Some(line) = next_line() {
        match channel.pending().into_iter().next() {
            Some(ask) => answer(channel, &ask, &line),
            // Enter alone: whatever is being waited for is tried now.
            None if line.is_empty() => channel.hurry(),
            None => {
                channel.send(&line);
            }
        }
    }
    channel.close();
}

/// A line for each question.
async fn recite(channel: Channel) {
    while let Some(ask) = channel.next_ask().await {
        let line = tokio::task::spawn_blocking(next_line).await;
        let Ok(Some(line)) = line else { break };
        answer(&channel, &ask, &line);
    }
    channel.close();
}

/// Nothing at the end of the input, or where it cannot be read.
fn next_line() -> Option<String> {
    let mut line = String::new();
    match std::io::stdin().lock().read_line(&mut line) {
        Ok(0) | Err(_) => None,
        Ok(_) => Some(line.trim().to_owned()),
    }
}

/// An empty line skips the question, a number chooses an option; words for a question that has ended meanwhile are not lost.
fn answer(channel: &Channel, ask: &Ask, line: &str) {
    if line.is_empty() {
        channel.decline(&ask.id, "");
        return;
    }
    let chosen = line.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let words = chosen.and_then(|index| ask.options.get(index)).map_or(line, String::as_str);
    if !channel.answer(&ask.id, words) {
        channel.send(words);
    }
}
