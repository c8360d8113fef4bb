//! What goes wrong, and what of it reaches the caller.

use super::*;

async fn fails_with(answers: Vec<Answer>) -> (EngineError, Arc<Notes>, Box<dyn Conversation>) {
    let server = Server::start(answers).await;
    let (mut talk, notes) = start(&server, opening()).await;
    (talk.turn("go").await.unwrap_err(), notes, talk)
}

#[tokio::test]
async fn a_subagent_that_fails_is_a_result() {
    let server = Server::start(vec![
        Answer::blocks(&[agent("t1", "left")]),
        Answer::error(404, "not_found_error", "model: none"),
        Answer::blocks(&[text("without it then")]),
    ])
    .await;
    let (mut talk, _notes) = start(&server, opening()).await;
    talk.turn("go").await.unwrap();
    let result = &server.requests()[2].body["messages"][2]["content"][0];
    assert_eq!(result["is_error"], true);
    assert!(result["content"].as_str().unwrap().contains("404 (not_found_error)"), "{result}");
}

#[tokio::test]
async fn a_subagent_outlives_what_passes_and_its_work_with_it() {
    let server = Server::start(vec![
        Answer::blocks(&[agent("t1", "left")]),
        Answer::error(529, "overloaded_error", "Overloaded"),
        Answer::error(503, "api_error", "maintenance"),
        Answer::blocks(&[text("it is green")]),
        Answer::blocks(&[text("done")]),
    ])
    .await;
    let (mut talk, _notes) = start(&server, opening()).await;
    talk.turn("go").await.unwrap();
    let requests = server.requests();
    assert_eq!(requests[1].body["messages"], requests[3].body["messages"], "asked again, not told");
    let result = &requests[4].body["messages"][2]["content"][0];
    assert!(result.to_string().contains("it is green"), "{result}");
}

#[tokio::test]
async fn overload_comes_with_the_time_to_wait() {
    let (error, notes, _) =
        fails_with(vec![Answer::error(529, "overloaded_error", "sk-canary-123 is overloaded")])
            .await;
    assert_eq!(error.fault, Fault::Overloaded { retry_after: Some(Duration::from_secs(7)) });
    assert!(error.message.contains("529") && !error.message.contains("canary"), "{error}");
    assert_eq!(notes.rows("-w/s1").len(), 1);
}

#[tokio::test]
async fn a_server_that_is_down_comes_with_the_time_to_wait() {
    let (error, ..) = fails_with(vec![Answer::error(503, "api_error", "maintenance")]).await;
    let retry_after = Some(Duration::from_secs(7));
    assert_eq!(error.fault, Fault::Server { retry_after });
    assert_eq!(error.fault.remedy(), crate::engine::Remedy::Retry { after: retry_after });
}

#[tokio::test]
async fn a_report_that_was_cut_or_never_came_is_not_passed_off_as_one() {
    let cut = [server::begin(), server::block(0, &text("half a rep")), server::end("max_tokens")];
    let server = Server::start(vec![
        Answer::blocks(&[agent("t1", "left")]),
        Answer::Events(cut.concat()),
        Answer::blocks(&[agent("t2", "right")]),
        Answer::blocks(&[text("I look first"), ask("q1", "a?")]),
        Answer::blocks(&[]),
        Answer::blocks(&[text("done")]),
    ])
    .await;
    let (mut talk, _notes) = start(&server, opening()).await;
    talk.turn("go").await.unwrap();
    let requests = server.requests();
    let result = |request: usize, message: usize| {
        let block = &requests[request].body["messages"][message]["content"][0];
        block["content"].as_str().unwrap().to_owned()
    };
    assert!(result(2, 2).starts_with("half a rep\n"), "{}", result(2, 2));
    assert!(result(2, 2).contains("cut off"), "{}", result(2, 2));
    assert!(result(5, 4).starts_with("(The subagent ended without a report."), "{}", result(5, 4));
    assert!(result(5, 4).ends_with("I look first (seen)"), "{}", result(5, 4));
}

#[tokio::test]
async fn a_pause_with_nothing_said_is_not_asked_for_ever() {
    let paused = || Answer::Events([server::begin(), server::end("pause_turn")].concat());
    let server = Server::start(vec![paused(), paused()]).await;
    let (mut talk, _notes) = start(&server, opening()).await;
    assert_eq!(talk.turn("go").await.unwrap().stop_reason, "pause_turn");
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn overload_in_the_middle_of_a_stream_is_typed_and_paid_for() {
    let broken = [server::begin(), server::block(0, &text("half")), server::overloaded()].concat();
    let (error, notes, talk) = fails_with(vec![Answer::Events(broken)]).await;
    assert_eq!(error.fault, Fault::Overloaded { retry_after: None });
    assert_eq!(notes.rows("-w/s1").len(), 1);
    assert_eq!(talk.spent().usage.input_tokens, 900);
}

#[tokio::test]
async fn a_stream_that_drops_is_a_lost_network() {
    let half = [server::begin(), server::block(0, &text("half"))].concat();
    let (error, ..) = fails_with(vec![Answer::Events(half.clone())]).await;
    assert_eq!(error.fault, Fault::Network);
    let (error, ..) = fails_with(vec![Answer::Reset(half)]).await;
    assert_eq!(error.fault, Fault::Network);
}

#[tokio::test]
async fn silence_has_a_limit_before_and_after_the_headers() {
    let server = Server::start(vec![Answer::Silence, Answer::Stall(server::begin())]).await;
    let hasty = engine_at(server.url(), Proxies::default(), Duration::from_millis(500));
    for words in ["did not begin to answer", "fell silent"] {
        let mut talk = hasty.open(opening(), Arc::new(Notes::default())).await.unwrap();
        let error = talk.turn("go").await.unwrap_err();
        assert_eq!(error.fault, Fault::Timeout);
        assert!(error.message.contains(words), "{error}");
    }
}

#[tokio::test]
async fn nobody_there_is_a_lost_network() {
    let server = Server::start(vec![]).await;
    let (mut talk, _notes) = start(&server, opening()).await;
    server.stop().await;
    assert_eq!(talk.turn("go").await.unwrap_err().fault, Fault::Network);
}

#[tokio::test]
async fn limits_end_a_turn() {
    let server = Server::start(vec![Answer::blocks(&[ask("t1", "a?")])]).await;
    let (mut talk, notes) = start(&server, Opening { max_turns: Some(1), ..opening() }).await;
    let error = talk.turn("go").await.unwrap_err();
    assert_eq!(error.fault, Fault::Limit(Limit::Turns));
    assert_eq!(notes.rows("-w/s1").len(), 3);
    let server = Server::start(vec![Answer::blocks(&[ask("t1", "a?")])]).await;
    let (mut talk, _notes) = start(&server, Opening { budget_usd: Some(0.4), ..opening() }).await;
    assert_eq!(talk.turn("go").await.unwrap_err().fault, Fault::Limit(Limit::Budget));
}

#[tokio::test]
async fn a_dropped_turn_leaves_whole_entries_and_can_be_continued() {
    let server = Server::start(vec![
        Answer::blocks(&[ask("t1", "wait for ever")]),
        Answer::blocks(&[text("back")]),
    ])
    .await;
    let (mut talk, notes) = start(&server, opening()).await;
    tokio::select! {
        _ = talk.turn("go") => panic!("the tool never answers"),
        () = notes.waiting.notified() => {}
    }
    assert_eq!(notes.rows("-w/s1").len(), 2);
    talk.turn("go on").await.unwrap();
    let messages = server.requests().remove(1).body["messages"].clone();
    assert_eq!(messages[2]["content"][0]["tool_use_id"], "t1");
    assert_eq!(messages[2]["content"][1]["text"], "go on");
    assert_eq!(messages.as_array().unwrap().len(), 3);
}

#[tokio::test]
async fn a_record_that_fails_ends_the_turn_before_the_request() {
    let server = Server::start(vec![]).await;
    let (mut talk, notes) = start(&server, opening()).await;
    notes.break_record();
    assert_eq!(talk.turn("go").await.unwrap_err().fault, Fault::Store);
    assert!(server.requests().is_empty());
}

#[tokio::test]
async fn a_session_without_a_record_cannot_be_resumed() {
    let server = Server::start(vec![]).await;
    let resumed = Opening { resume: true, ..opening() };
    let notes = Arc::new(Notes::default());
    let error = engine(&server).open(resumed, notes as _).await.err().unwrap();
    assert_eq!(error.fault, Fault::Store);
}

#[tokio::test]
async fn answers_that_are_no_stream_are_read_by_what_they_are() {
    let whole = json!({"type": "message", "id": "m", "model": "demo-1", "role": "assistant",
        "content": [text("in one piece")], "stop_reason": "end_turn", "usage": {"input_tokens": 5}});
    let server = Server::start(vec![
        Answer::Error(200, whole.to_string()),
        Answer::Error(200, "<html>a login page</html>".into()),
        Answer::Error(413, "{}".into()),
        Answer::error(400, "invalid_request_error", "prompt is too long: 2 tokens > 1 maximum"),
        Answer::error(401, "authentication_error", "bad key sk-canary-123"),
    ])
    .await;
    let (mut talk, _notes) = start(&server, opening()).await;
    assert_eq!(talk.turn("go").await.unwrap().text, "in one piece");
    for fault in [Fault::Protocol, Fault::Overflow, Fault::Overflow, Fault::Credentials] {
        let error = talk.turn("go").await.unwrap_err();
        assert_eq!(error.fault, fault, "{error}");
        assert!(!error.message.contains("canary"), "{error}");
    }
    // What was said in vain is one message now.
    let messages = server.requests().remove(4).body["messages"].clone();
    assert_eq!(messages.as_array().unwrap().len(), 3);
}
