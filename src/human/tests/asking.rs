//! Questions: how they wait, and how they end.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::*;
use crate::language::Language;

#[tokio::test]
async fn an_answer_comes_back_to_the_letter() {
    let channel = Channel::new(patient());
    let (id, task) = asked(&channel, "  Which one? ").await;
    assert_eq!(channel.pending()[0].question, "Which one?");
    assert!(channel.answer(&id, " the *second*\n"));
    let answer = task.await.unwrap();
    assert!(answer.is_answered());
    assert_eq!((answer.text.as_str(), answer.choice), (" the *second*\n", None));
    assert!(channel.pending().is_empty());
}

#[tokio::test]
async fn options_travel_and_a_chosen_one_is_known_by_its_place() {
    let (heard, sink) = listener();
    let channel = Channel::new(ChannelOptions { sink, ..patient() });
    let asker = channel.clone();
    let task = tokio::spawn(async move { asker.ask("x?", &options(&[" a ", "", " ", "b"])).await });
    let ask = channel.next_ask().await.unwrap();
    assert_eq!(ask.options, ["a", "b"]);
    assert!(channel.answer(&ask.id, "b"));
    assert_eq!(task.await.unwrap().choice, Some(1));
    let Event::Ask { options, remaining, .. } = heard.lock().unwrap()[0].clone() else { panic!() };
    assert_eq!((options.len(), remaining), (2, -1));
}

#[tokio::test(start_paused = true)]
async fn the_waiting_time_is_honoured() {
    let (heard, sink) = listener();
    let timeout = Some(Duration::from_millis(300));
    let channel = Channel::new(ChannelOptions { timeout, sink, ..patient() });
    let start = Instant::now();
    let answer = channel.ask("x?", &[]).await;
    assert_eq!(start.elapsed().as_millis() / 10, 30);
    assert_eq!(answer.state, AskState::Timeout);
    assert_eq!(short(&heard), ["ask q1 asked", "ask q1 timeout"]);
    assert!(!channel.answer("q1", "late"));
}

#[tokio::test(start_paused = true)]
async fn without_a_limit_it_waits_for_ever() {
    let channel = Channel::new(patient());
    let (id, task) = asked(&channel, "x?").await;
    sleep(Duration::from_secs(1_000_000)).await;
    assert!(channel.answer(&id, "at last"));
    assert_eq!(task.await.unwrap().text, "at last");
}

#[tokio::test(start_paused = true)]
async fn where_nobody_is_there_it_does_not_even_ask() {
    let (heard, sink) = listener();
    let timeout = Some(Duration::ZERO);
    let channel = Channel::new(ChannelOptions { timeout, sink, ..patient() });
    assert!(channel.is_unattended());
    let start = Instant::now();
    assert_eq!(channel.ask("x?", &[]).await.state, AskState::Timeout);
    assert_eq!(start.elapsed(), Duration::ZERO);
    assert_eq!(short(&heard), ["ask q1 timeout"]);
    assert!(channel.pending().is_empty());
}

#[tokio::test]
async fn beyond_the_quota_there_is_no_waiting() {
    let channel = Channel::new(ChannelOptions { max_asks: Some(2), ..patient() });
    assert_eq!(channel.remaining(), 2);
    for left in [1, 0] {
        let (id, task) = asked(&channel, "x?").await;
        assert_eq!(channel.remaining(), left);
        channel.answer(&id, "y");
        task.await.unwrap();
    }
    assert_eq!(channel.ask("third?", &[]).await.state, AskState::OverBudget);
    assert_eq!(channel.remaining(), 0);
    let none = Channel::new(ChannelOptions { max_asks: Some(0), ..patient() });
    assert_eq!(none.ask("x?", &[]).await.state, AskState::OverBudget);
}

#[tokio::test]
async fn an_empty_question_is_invalid_and_free() {
    let (heard, sink) = listener();
    let channel = Channel::new(ChannelOptions { max_asks: Some(1), sink, ..patient() });
    assert_eq!(channel.ask(" \n", &[]).await.state, AskState::Invalid);
    assert_eq!(channel.remaining(), 1);
    assert_eq!(short(&heard), ["ask q1 invalid"]);
}

#[tokio::test]
async fn questions_of_the_framework_have_no_quota() {
    let channel = Channel::new(ChannelOptions { max_asks: Some(0), ..patient() });
    let asker = channel.clone();
    let task = tokio::spawn(async move { asker.ask_framework("unreachable?", &[]).await });
    let ask = channel.next_ask().await.unwrap();
    channel.answer(&ask.id, "accept");
    assert_eq!(task.await.unwrap().text, "accept");
    assert_eq!(channel.remaining(), 0);
}

#[tokio::test]
async fn every_reply_without_an_answer_says_how_to_go_on() {
    let replies = Replies::new("Unknowns");
    for text in [&replies.over_budget, &replies.timeout, &replies.declined] {
        assert!(
            text.contains("`Unknowns`") && text.contains("do not stop") && text.contains("again")
        );
    }
    let channel = Channel::new(ChannelOptions { language: Language::Chinese, ..patient() });
    let (id, task) = asked(&channel, "x?").await;
    assert!(channel.decline(&id, " no time "));
    let answer = task.await.unwrap();
    assert_eq!(answer.state, AskState::Declined);
    assert!(answer.text.contains("未知与假设") && answer.text.ends_with("no time"));
}

#[tokio::test]
async fn the_replies_can_be_replaced() {
    let replies = Replies { over_budget: "o".into(), timeout: "t".into(), declined: "d".into() };
    let channel =
        Channel::new(ChannelOptions { replies: Some(replies), max_asks: Some(1), ..patient() });
    let (id, task) = asked(&channel, "x?").await;
    channel.decline(&id, "");
    assert_eq!(task.await.unwrap().text, "d");
    assert_eq!(channel.ask("x?", &[]).await.text, "o");
}

#[tokio::test]
async fn another_thread_may_answer() {
    let channel = Channel::new(patient());
    let (id, task) = asked(&channel, "x?").await;
    let other = channel.clone();
    assert!(std::thread::spawn(move || other.answer(&id, "y")).join().unwrap());
    assert_eq!(task.await.unwrap().text, "y");
}

#[tokio::test(start_paused = true)]
async fn a_question_ends_once() {
    let (heard, sink) = listener();
    let timeout = Some(Duration::from_secs(1));
    let channel = Channel::new(ChannelOptions { timeout, sink, ..patient() });
    let (id, task) = asked(&channel, "x?").await;
    // In the tick in which the time is up, but before the asker is woken.
    tokio::time::advance(Duration::from_secs(1)).await;
    let accepted = channel.answer(&id, "y");
    let answer = task.await.unwrap();
    assert_eq!(answer.is_answered(), accepted);
    assert!(!channel.answer(&id, "z") && !channel.decline(&id, "z"));
    assert_eq!(short(&heard).len(), 2);
    assert!(!channel.answer("q99", "z"));
}

#[test]
fn many_threads_answer_and_exactly_one_wins() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    for _ in 0..50 {
        let (heard, sink) = listener();
        let channel = Channel::new(ChannelOptions { sink, ..patient() });
        let (id, task) = runtime.block_on(asked(&channel, "x?"));
        let threads: Vec<_> = (0..4)
            .map(|number| {
                let (channel, id) = (channel.clone(), id.clone());
                std::thread::spawn(move || {
                    channel.answer(&id, &number.to_string()).then_some(number)
                })
            })
            .collect();
        let won: Vec<i32> =
            threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect();
        assert_eq!(won.len(), 1);
        assert_eq!(runtime.block_on(task).unwrap().text, won[0].to_string());
        assert_eq!(short(&heard), ["ask q1 asked", "ask q1 answered"]);
    }
}

#[tokio::test]
async fn an_asker_that_goes_away_leaves_no_question_behind() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log.md");
    let (heard, sink) = listener();
    let channel = Channel::new(ChannelOptions { sink, log_path: Some(log.clone()), ..patient() });
    let (id, task) = asked(&channel, "x?").await;
    task.abort();
    assert!(task.await.unwrap_err().is_cancelled());
    assert!(channel.pending().is_empty() && !channel.answer(&id, "y"));
    assert_eq!(short(&heard), ["ask q1 asked", "ask q1 cancelled"]);
    assert!(std::fs::read_to_string(log).unwrap().contains("[cancelled]"));
}

#[tokio::test]
async fn a_listener_may_answer_at_once() {
    let slot: Arc<Mutex<Option<Channel>>> = Arc::default();
    let (heard, inner) = listener();
    let of_listener = Arc::clone(&slot);
    let sink = Sink::new(move |event| {
        inner.tell(event.clone());
        if let Event::Ask { id, state, .. } = event
            && state == "asked"
        {
            let channel = of_listener.lock().unwrap().clone().unwrap();
            assert!(channel.answer(&id, "at once"));
        }
    });
    let channel = Channel::new(ChannelOptions { sink, ..patient() });
    *slot.lock().unwrap() = Some(channel.clone());
    assert_eq!(channel.ask("x?", &[]).await.text, "at once");
    assert_eq!(short(&heard), ["ask q1 asked", "ask q1 answered"]);
    slot.lock().unwrap().take();
}

#[tokio::test]
async fn a_listener_that_fails_is_noted_and_harms_nobody() {
    let sink = Sink::new(|_| panic!("a broken listener"));
    let channel = Channel::new(ChannelOptions { sink, ..patient() });
    let (id, task) = asked(&channel, "x?").await;
    channel.answer(&id, "y");
    assert_eq!(task.await.unwrap().text, "y");
    assert_eq!(channel.troubles().len(), 2);
}

#[tokio::test]
async fn pending_questions_stand_in_order() {
    let channel = Channel::new(patient());
    let mut tasks = Vec::new();
    for question in ["a", "b", "c"] {
        tasks.push(asked(&channel, question).await.1);
    }
    let order: Vec<String> = channel.pending().into_iter().map(|ask| ask.question).collect();
    assert_eq!(order, ["a", "b", "c"]);
    channel.close();
    for task in tasks {
        assert_eq!(task.await.unwrap().state, AskState::Timeout);
    }
}

#[tokio::test]
async fn a_closed_channel_is_unattended() {
    let (heard, sink) = listener();
    let channel = Channel::new(ChannelOptions { sink, ..patient() });
    let waiter = channel.clone();
    let next = tokio::spawn(async move { waiter.next_ask().await });
    tokio::task::yield_now().await;
    channel.close();
    assert_eq!(next.await.unwrap(), None);
    assert_eq!(channel.ask("x?", &[]).await.state, AskState::Timeout);
    assert_eq!(short(&heard), ["ask q1 timeout"]);
    assert!(channel.is_unattended());
    channel.close();
}

#[tokio::test(start_paused = true)]
async fn the_next_question_is_waited_for_and_handed_out_once() {
    let channel = Channel::new(patient());
    let second = Duration::from_secs(1);
    assert!(tokio::time::timeout(second, channel.next_ask()).await.is_err());
    let (_, task) = asked(&channel, "x?").await;
    assert!(tokio::time::timeout(second, channel.next_ask()).await.is_err());
    channel.close();
    task.await.unwrap();
}
