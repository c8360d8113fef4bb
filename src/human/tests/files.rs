//! Messages, the files and the tools.

use crate::document::Occasion;
use std::path::Path;
use std::time::Duration;

use serde_json::json;

use super::*;
use crate::language::Language;

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
    assert!(brief.starts_with("# Brief\n\n## Added during the run ("));
    assert!(
        brief.contains(")\nuse tabs\n\n## Added during the run (")
            && brief.ends_with(")\nand hurry\n")
    );
}

#[test]
fn the_inbox_does_not_claim_what_was_not_kept() {
    let channel = Channel::new(patient());
    assert_eq!(channel.send("x").unwrap().amended, None);
    assert!(channel.inbox().ends_with("must last."));
    assert!(!channel.amend("x", Occasion::Waking));
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
    assert!(channel.amend("甲", Occasion::Running));
    assert!(channel.amend("乙", Occasion::Waking));
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
