//! What the channel promises.

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;
use tokio::time::{Instant, sleep};

use super::*;
use crate::event::{Event, Sink};
use crate::language::Language;

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

#[test]
fn mail_waits_for_the_next_look() {
    let folder = tempfile::tempdir().unwrap();
    let brief = folder.path().join("brief.md");
    std::fs::write(&brief, "# Brief\n").unwrap();
    let (heard, sink) = listener();
    let channel =
        Channel::new(ChannelOptions { sink, amend_path: Some(brief.clone()), ..patient() });
    assert_eq!(channel.send(" \n"), None);
    let mail = channel.send("  use tabs ").unwrap();
    assert_eq!((mail.id.as_str(), mail.amended.as_deref()), ("m1", Some(brief.as_path())));
    channel.send("and hurry").unwrap();
    let text = channel.inbox();
    assert!(
        text.contains("1. use tabs\n2. and hurry\n") && text.ends_with("already in the brief.")
    );
    assert_eq!(
        short(&heard),
        ["mail m1 queued", "mail m2 queued", "mail m1 delivered", "mail m2 delivered"]
    );
    assert!(channel.inbox().starts_with("Nothing new"));
    let brief = std::fs::read_to_string(brief).unwrap();
    assert!(brief.starts_with("# Brief\n\n## Added during the run("));
    assert!(
        brief.contains(")\nuse tabs\n\n## Added during the run(")
            && brief.ends_with(")\nand hurry\n")
    );
}

#[test]
fn the_inbox_does_not_claim_what_was_not_kept() {
    let channel = Channel::new(patient());
    assert_eq!(channel.send("x").unwrap().amended, None);
    assert!(channel.inbox().ends_with("must last."));
    assert!(!channel.amend("x", Amendment::OnWaking));
}

#[tokio::test]
async fn questions_and_mail_share_one_counter() {
    let channel = Channel::new(ChannelOptions { timeout: Some(Duration::ZERO), ..patient() });
    assert_eq!(channel.ask("a", &[]).await.id, "q1");
    assert_eq!(channel.send("b").unwrap().id, "m2");
    assert_eq!(channel.ask("c", &[]).await.id, "q3");
}

#[test]
fn amendments_in_chinese_have_the_form_that_others_read() {
    let folder = tempfile::tempdir().unwrap();
    let brief = folder.path().join("notes/需求.md");
    let language = Language::Chinese;
    let channel =
        Channel::new(ChannelOptions { amend_path: Some(brief.clone()), language, ..patient() });
    assert!(channel.amend("甲", Amendment::DuringRun));
    assert!(channel.amend("乙", Amendment::OnWaking));
    let text = std::fs::read_to_string(brief).unwrap();
    let time = regex::Regex::new(r"\(\d\d:\d\d:\d\d\)").unwrap();
    assert_eq!(
        time.replace_all(&text, "(T)"),
        "# 运行中的补充\n\n## 运行中补充(T)\n甲\n\n## 唤醒时追加(T)\n乙\n"
    );
}

#[tokio::test]
async fn the_log_has_the_form_that_others_read() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("问答记录.md");
    let channel = Channel::new(ChannelOptions {
        log_path: Some(log.clone()),
        language: Language::Chinese,
        max_asks: Some(1),
        ..patient()
    });
    let asker = channel.clone();
    let task = tokio::spawn(async move { asker.ask("选哪个?", &options(&["a", "b"])).await });
    let ask = channel.next_ask().await.unwrap();
    channel.answer(&ask.id, "a\nb");
    task.await.unwrap();
    channel.send("快点").unwrap();
    channel.inbox();
    channel.ask("还有?", &[]).await;
    let text = std::fs::read_to_string(log).unwrap();
    let (head, body) = text.split_once("\n\n- ").unwrap();
    assert!(head.starts_with("# 需求问答记录\n\n> "));
    assert_eq!(
        body,
        "**Q**(q1) 选哪个?\n  - 选项:a / b\n  - **A**[answered] a\n    b\n\n- **人主动说**(m2) 快点\n\
         - **Q**(q3) 还有?\n  - **A**[over_budget]\n"
    );
    assert_eq!(
        channel.transcript(),
        "- Q: 选哪个?\n  A: [answered] a\nb\n- Q: 还有?\n  A: [over_budget]"
    );
}

#[tokio::test]
async fn a_log_that_cannot_be_written_stops_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let log_path = Some(folder.path().to_owned());
    let amend_path = Some(Path::new("/dev/null/brief.md").to_owned());
    let channel = Channel::new(ChannelOptions { log_path, amend_path, ..patient() });
    let (id, task) = asked(&channel, "x?").await;
    assert!(channel.answer(&id, "y"));
    assert_eq!(task.await.unwrap().text, "y");
    assert_eq!(channel.send("z").unwrap().amended, None);
    assert_eq!(channel.troubles().len(), 2);
}

#[tokio::test]
async fn the_tools_take_what_models_send() {
    let timeout = Some(Duration::ZERO);
    let channel = Channel::new(ChannelOptions { timeout, ..patient() });
    for input in [
        json!({"question": "x?", "options": ["a", 1, {"label": "b"}, null]}),
        json!({"question": "x?", "options": "a"}),
        json!({"question": 42}),
        json!({"question": "x?", "options": null, "more": {}}),
    ] {
        assert!(channel.call(ASK, &input).await.unwrap().contains("nobody is there"), "{input}");
    }
    for input in [json!({}), json!(null), json!([]), json!({"question": ["x"]}), json!("x?")] {
        assert!(channel.call(ASK, &input).await.unwrap().contains("empty"), "{input}");
    }
    assert!(channel.call(INBOX, &json!(null)).await.unwrap().starts_with("Nothing new"));
    assert!(channel.call("mcp__human__shout", &json!({})).await.is_err());
}

#[test]
fn the_tools_are_described_with_a_whole_schema() {
    let [ask, inbox] = tools();
    assert_eq!(ask.schema["required"], json!(["question"]));
    assert_eq!(ask.schema["properties"]["options"]["items"]["type"], "string");
    assert_eq!(inbox.schema, json!({"type": "object", "properties": {}}));
    assert!(ask.description.contains("one question") && inbox.description.contains("at once"));
}
