//! What the channel promises.

mod asking;
mod files;

use std::sync::{Arc, Mutex};

use super::*;
use crate::event::{Event, Sink};

type Heard = Arc<Mutex<Vec<Event>>>;

fn listener() -> (Heard, Sink) {
    let heard = Heard::default();
    let writer = Arc::clone(&heard);
    (heard, Sink::new(move |event| writer.lock().unwrap().push(event)))
}

fn patient() -> ChannelOptions {
    ChannelOptions { timeout: None, ..ChannelOptions::default() }
}

/// Events in short: `ask q1 asked`, `mail m2 queued`.
fn short(heard: &Heard) -> Vec<String> {
    let heard = heard.lock().unwrap();
    heard
        .iter()
        .map(|event| match event {
            Event::Ask { id, state, .. } => format!("ask {id} {state}"),
            Event::Mail { id, state, .. } => format!("mail {id} {state}"),
            other => format!("{other:?}"),
        })
        .collect()
}

fn options(texts: &[&str]) -> Vec<String> {
    texts.iter().map(|text| (*text).to_owned()).collect()
}

async fn asked(channel: &Channel, question: &str) -> (String, tokio::task::JoinHandle<Answer>) {
    let (asker, question) = (channel.clone(), question.to_owned());
    let task = tokio::spawn(async move { asker.ask(&question, &[]).await });
    let ask = channel.next_ask().await.unwrap();
    (ask.id, task)
}
