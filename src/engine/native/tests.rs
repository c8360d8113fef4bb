//! The engine against a small server of the Messages API and a host that writes down what it is asked.

mod failure;
mod host;
mod server;

use std::sync::Arc;
use std::time::Duration;

use serde_json::{Value, json};

use self::host::Notes;
use self::server::{Answer, Server};
use super::{Choice, Native, NativeOptions};
use crate::engine::{
    AgentDefinition, Asker, Conversation, Engine, EngineError, Fault, HostTool, Limit, Opening,
};
use crate::event::Event;
use crate::settings::{Auth, Endpoint, Secret};
use crate::transcript::SessionKey;
use crate::wire::{ClientOptions, Proxies};

fn opening() -> Opening {
    let tool = |name: &str| HostTool {
        name: name.to_owned(),
        description: "x".to_owned(),
        schema: json!({"type": "object"}),
    };
    Opening {
        key: SessionKey::main("-w", "s1"),
        resume: false,
        workspace: "/w".into(),
        instructions: "You coordinate.".into(),
        asker: Asker { step: "work#round2".into(), role: "coordinator".into() },
        tools: vec!["Agent".into(), "mcp__human__ask".into()],
        agents: vec![AgentDefinition {
            name: "worker".into(),
            description: "works".into(),
            prompt: "You work.".into(),
            tools: vec!["mcp__human__ask".into()],
            model: "inherit".into(),
        }],
        host_tools: vec![tool("mcp__human__ask")],
        model: None,
        max_turns: None,
        budget_usd: None,
        full_at: None,
        tool_environment: Vec::new(),
        fences: crate::engine::Fences::default(),
    }
}

fn engine(server: &Server) -> Native {
    engine_at(server.url(), Proxies::default(), Duration::from_secs(30))
}

fn engine_at(base_url: String, proxies: Proxies, limit: Duration) -> Native {
    Native::new(NativeOptions {
        endpoint: Endpoint {
            base_url,
            auth: Auth::ApiKey(Secret::new("sk-canary-123")),
            is_gate: true,
            custom_headers: vec![("X-Team".into(), "blue".into())],
        },
        client: ClientOptions { header_deadline: limit, idle_limit: limit, proxies, ca_file: None },
        choice: Choice {
            main_model: "big-1".into(),
            subagent_model: Box::new(|asked| match asked {
                "inherit" => "small-1".to_owned(),
                other => other.to_owned(),
            }),
            cost: Box::new(|model, usage| {
                (model == "demo-1").then(|| usage.output_tokens as f64 / 100.0)
            }),
            effort: None,
        },
        max_tokens: 1000,
        parallel: std::num::NonZero::new(2).unwrap(),
    })
    .unwrap()
}

async fn start(server: &Server, opening: Opening) -> (Box<dyn Conversation>, Arc<Notes>) {
    let notes = Arc::new(Notes::default());
    let talk = engine(server).open(opening, Arc::clone(&notes) as _).await.unwrap();
    (talk, notes)
}

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

fn ask(id: &str, question: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "mcp__human__ask", "input": {"question": question}})
}

fn agent(id: &str, prompt: &str) -> Value {
    json!({"type": "tool_use", "id": id, "name": "Agent", "input": {
        "description": "part", "prompt": prompt, "subagent_type": "worker"
    }})
}

#[tokio::test]
async fn a_text_turn_is_recorded_and_told() {
    let server = Server::start(vec![Answer::blocks(&[text("hello"), text("there")])]).await;
    let (mut talk, notes) = start(&server, opening()).await;
    let end = talk.turn("hi").await.unwrap();
    assert_eq!(end.text, "hello\nthere");
    assert_eq!(end.stop_reason, "end_turn");
    assert_eq!(end.context, 900);
    let request = server.requests().remove(0);
    assert_eq!(request.header("x-api-key"), "sk-canary-123");
    assert_eq!(request.header("anthropic-version"), "2023-06-01");
    assert_eq!(request.header("x-team"), "blue");
    assert_eq!(request.header("x-flower-step"), "work#round2");
    assert_eq!(request.header("x-flower-role"), "coordinator");
    assert_eq!(request.body["model"], "big-1");
    assert_eq!(request.body["system"][1]["text"], "You coordinate.");
    let names: Vec<&Value> =
        request.body["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    assert_eq!(names, ["mcp__human__ask", "Agent"]);
    let rows = notes.rows("-w/s1");
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0]["message"]["content"], "hi");
    assert_eq!(rows[1]["parentUuid"], rows[0]["uuid"]);
    assert_eq!(rows[2]["parentUuid"], rows[1]["uuid"]);
    assert_eq!(rows[1]["message"]["id"], rows[2]["message"]["id"]);
    assert_eq!(rows[2]["message"]["content"][0]["text"], "there");
    assert_eq!(rows[1]["message"]["usage"]["output_tokens"], 40);
    assert_eq!(rows[1]["requestId"], "req_1");
    let spent = talk.spent();
    assert_eq!((spent.turns, spent.usage.output_tokens, spent.cost_known), (1, 40, true));
    assert!((spent.cost_usd - 0.4).abs() < 1e-9);
    assert!(matches!(notes.events().last(), Some(Event::Result { num_turns: 1, .. })));
}

#[tokio::test]
async fn calls_are_answered_under_their_own_entries() {
    let server = Server::start(vec![
        Answer::blocks(&[text("let me ask"), ask("t1", "a?"), ask("t2", "b?")]),
        Answer::blocks(&[text("done")]),
    ])
    .await;
    let (mut talk, notes) = start(&server, opening()).await;
    assert_eq!(talk.turn("go").await.unwrap().text, "let me ask\ndone");
    let rows = notes.rows("-w/s1");
    assert_eq!(rows.len(), 7);
    for (call, result) in [(2, 4), (3, 5)] {
        assert_eq!(rows[result]["parentUuid"], rows[call]["uuid"]);
        assert_eq!(rows[result]["sourceToolAssistantUUID"], rows[call]["uuid"]);
        assert!(rows[result]["toolUseResult"].as_str().unwrap().starts_with("answer to"));
    }
    assert_eq!(rows[6]["parentUuid"], rows[5]["uuid"]);
    let second = server.requests().remove(1).body;
    let messages = second["messages"].as_array().unwrap();
    assert_eq!(messages.len(), 3);
    assert_eq!(messages[2]["content"][0]["content"], "answer to a? (seen)");
    assert_eq!(messages[2]["content"][1]["tool_use_id"], "t2");
    assert_eq!(messages[2]["content"][1]["cache_control"]["type"], "ephemeral");
}

#[tokio::test]
async fn refused_unknown_and_broken_calls_are_answered_with_reasons() {
    let denied = json!({"type": "tool_use", "id": "t1", "name": "Denied", "input": {}});
    let unknown = json!({"type": "tool_use", "id": "t2", "name": "Nonesuch", "input": {}});
    let server = Server::start(vec![
        Answer::Events(
            [
                server::begin(),
                server::block(0, &denied),
                server::block(1, &unknown),
                server::cut_call(2, "t3", "{\\\"question\\\": \\\"wh"),
                server::end("tool_use"),
            ]
            .concat(),
        ),
        Answer::blocks(&[text("ok")]),
    ])
    .await;
    let (mut talk, notes) = start(&server, opening()).await;
    talk.turn("go").await.unwrap();
    let rows = notes.rows("-w/s1");
    let result = |row: usize| &rows[row]["message"]["content"][0];
    assert_eq!(rows[4]["toolDenialKind"], "permission-rule");
    assert_eq!(result(4)["content"], "not for you");
    assert_eq!(result(4)["is_error"], true);
    assert_eq!(rows[5].get("toolDenialKind"), None);
    assert_eq!(result(5)["content"], "There is no tool named Nonesuch. (seen)");
    assert!(result(6)["content"].as_str().unwrap().contains("not a valid JSON object"));
    assert_eq!(notes.asked(), ["Denied", "Nonesuch"]);
    assert_eq!(rows[3]["message"]["content"][0]["input"], json!({}));
}

#[tokio::test]
async fn ids_that_stand_twice_are_replaced() {
    let same = || Answer::blocks(&[ask("t1", "a?"), ask("t1", "b?"), ask("", "c?")]);
    let server = Server::start(vec![same(), same(), Answer::blocks(&[text("ok")])]).await;
    let (mut talk, _notes) = start(&server, opening()).await;
    talk.turn("go").await.unwrap();
    let messages = server.requests().remove(2).body["messages"].clone();
    let mut ids = std::collections::BTreeSet::new();
    for (calls, results) in [(1, 2), (3, 4)] {
        for place in 0..3 {
            let id = &messages[calls]["content"][place]["id"];
            assert_eq!(*id, messages[results]["content"][place]["tool_use_id"]);
            assert!(ids.insert(id.as_str().unwrap().to_owned()), "{id}");
        }
    }
}

#[tokio::test]
async fn a_message_id_that_stands_twice_in_a_record_is_replaced() {
    let same = |words: &str| {
        let start = server::begin();
        let id = start.split("\"id\":\"").nth(1).unwrap().split('"').next().unwrap();
        let start = start.replace(id, "msg_same");
        Answer::Events([start, server::block(0, &text(words)), server::end("end_turn")].concat())
    };
    let server = Server::start(vec![same("one"), same("two")]).await;
    let (mut talk, notes) = start(&server, opening()).await;
    talk.turn("go").await.unwrap();
    talk.turn("on").await.unwrap();
    let rows = notes.rows("-w/s1");
    // Readers of transcripts take all entries of one id for one message, wherever they stand.
    assert_ne!(rows[1]["message"]["id"], rows[3]["message"]["id"]);
}

#[tokio::test]
async fn a_call_that_was_cut_is_not_run() {
    let server = Server::start(vec![
        Answer::Events(
            [server::begin(), server::block(0, &ask("t1", "a?")), server::end("max_tokens")]
                .concat(),
        ),
        Answer::blocks(&[text("ok")]),
    ])
    .await;
    let (mut talk, notes) = start(&server, opening()).await;
    talk.turn("go").await.unwrap();
    assert!(notes.asked().is_empty());
    let result = notes.rows("-w/s1").remove(2);
    assert!(result["message"]["content"][0]["content"].as_str().unwrap().contains("cut off"));
}

#[tokio::test]
async fn subagents_run_together_with_transcripts_of_their_own() {
    // Each subagent is answered only when both have asked.
    let server = Server::start(vec![
        Answer::blocks(&[agent("t1", "left"), agent("t2", "right")]),
        Answer::Together(2, server::whole(&[text("part")])),
        Answer::Together(2, server::whole(&[text("part")])),
        Answer::blocks(&[text("all done")]),
    ])
    .await;
    let (mut talk, notes) = start(&server, opening()).await;
    assert_eq!(talk.turn("go").await.unwrap().text, "all done");
    let requests = server.requests();
    let sub = &requests[1];
    assert_eq!(sub.body["model"], "small-1");
    assert_eq!(sub.header("x-flower-agent-type"), "worker");
    let id = sub.header("x-claude-code-agent-id").to_owned();
    assert_ne!(id, requests[2].header("x-claude-code-agent-id"));
    assert_eq!(sub.body["tools"].as_array().unwrap().len(), 1);
    assert_eq!(sub.body["system"][1]["text"], "You work.");
    let rows = notes.rows(&format!("-w/s1/subagents/agent-{id}"));
    assert_eq!(rows.len(), 3);
    assert_eq!(rows[0]["type"], "agent_metadata");
    assert_eq!(rows[1]["isSidechain"], true);
    assert_eq!(rows[1]["agentId"], id.as_str());
    let last = &requests[3].body["messages"][2]["content"];
    assert_eq!((&last[0]["tool_use_id"], &last[1]["tool_use_id"]), (&json!("t1"), &json!("t2")));
    assert_eq!(last[0]["content"], "part (seen)");
    let spent = talk.spent();
    assert_eq!((spent.turns, spent.usage.output_tokens), (2, 160));
    let briefs = notes.events().into_iter().filter(
        |event| matches!(event, Event::Prompt { speaker, .. } if speaker.agent_type.as_deref() == Some("worker")),
    );
    assert_eq!(briefs.count(), 2);
}

#[tokio::test]
async fn more_subagents_than_places_wait_for_their_turn() {
    // There are two places, and the first two are answered only together: the third cannot be among them.
    let server = Server::start(vec![
        Answer::blocks(&[agent("t1", "a"), agent("t2", "b"), agent("t3", "c")]),
        Answer::Together(2, server::whole(&[text("part")])),
        Answer::Together(2, server::whole(&[text("part")])),
        Answer::blocks(&[text("last part")]),
        Answer::blocks(&[text("all done")]),
    ])
    .await;
    let (mut talk, notes) = start(&server, opening()).await;
    assert_eq!(talk.turn("go").await.unwrap().text, "all done");
    let requests = server.requests();
    assert_eq!(requests[3].body["messages"][0]["content"][0]["text"], "c");
    let queued: Vec<Value> = notes
        .events()
        .into_iter()
        .filter_map(|event| match event {
            Event::System { subtype, data } if subtype == "queued" => Some(data),
            _ => None,
        })
        .collect();
    assert_eq!(queued, [json!({"id": "t3", "tool": "Agent", "parallel": 2})]);
}

#[tokio::test]
async fn a_subagent_works_where_the_host_says_and_a_refused_place_starts_nothing() {
    let placed = |id: &str, isolation: Value| {
        let mut call = agent(id, "task");
        call["input"]["isolation"] = isolation;
        call
    };
    let server = Server::start(vec![
        Answer::blocks(&[
            placed("t1", json!("worktree")),
            placed("t2", json!("moon")),
            placed("t3", json!({"a": 1})),
        ]),
        Answer::blocks(&[text("part")]),
        Answer::blocks(&[agent("t4", "task")]),
        Answer::blocks(&[text("other part")]),
        Answer::blocks(&[text("done")]),
    ])
    .await;
    let (mut talk, notes) = start(&server, opening()).await;
    assert_eq!(talk.turn("go").await.unwrap().text, "done");
    let requests = server.requests();
    assert_eq!(requests.len(), 5);
    let system = |request: usize| requests[request].body["system"][0]["text"].as_str().unwrap();
    assert!(system(1).contains("- Working directory: /field\n"), "{}", system(1));
    assert!(system(1).contains("\n- It is a field.\n"));
    assert_eq!(system(3), system(0), "without a place it is the workspace");
    let results = &requests[2].body["messages"][2]["content"];
    assert_eq!(results[0]["content"], "part\n\n(The field is kept.) (seen)");
    assert_eq!(results[1]["content"], "no isolation moon (seen)");
    assert_eq!((&results[1]["is_error"], &results[2]["is_error"]), (&json!(true), &json!(true)));
    assert_eq!(requests[4].body["messages"][4]["content"][0]["content"], "other part (seen)");
    let asked: Vec<_> = notes.places().into_iter().map(|place| place.isolation).collect();
    let given = [Some("worktree"), Some("moon"), Some("{\"a\":1}"), None];
    assert_eq!(asked, given.map(|word| word.map(str::to_owned)));
    let id = notes.places().remove(0).id;
    let rows = notes.rows(&format!("-w/s1/subagents/agent-{id}"));
    assert!(rows[1..].iter().all(|row| row["cwd"] == "/field"));
}

#[tokio::test]
async fn the_settings_proxy_is_used_but_never_for_loopback() {
    let server =
        Server::start(vec![Answer::blocks(&[text("a")]), Answer::blocks(&[text("b")])]).await;
    let dead = Proxies { all: Some("http://127.0.0.1:9".into()), ..Proxies::default() };
    let near = engine_at(server.url(), dead, Duration::from_secs(30));
    let proxies = Proxies { http: Some(server.url()), ..Proxies::default() };
    let far = engine_at("http://model.invalid".into(), proxies, Duration::from_secs(30));
    for (engine, want) in [(near, "a"), (far, "b")] {
        let mut talk = engine.open(opening(), Arc::new(Notes::default())).await.unwrap();
        assert_eq!(talk.turn("go").await.unwrap().text, want);
    }
    assert_eq!(server.requests()[1].header("host"), "model.invalid");
}

#[tokio::test]
async fn a_resumed_conversation_continues_the_same_messages() {
    let odd = r#"{"type":"moonbeam", "n":12345678901234567890123,"t":"\u00fc\/"}"#;
    let thinking = r#"{"type":"thinking","thinking":"h\u006dm","signature":"A\/b="}"#;
    let cut = r#"{"type":"text","text":"half an emoji: \ud83d","citations":[{"n":1.50}]}"#;
    let redacted = r#"{"type":"redacted_thinking","data":"x\u002b"}"#;
    let first = [
        server::begin(),
        server::raw_block(0, thinking),
        server::raw_block(1, odd),
        server::raw_block(2, cut),
        server::raw_block(3, redacted),
        server::block(4, &ask("t1", "a?")),
        server::end("tool_use"),
    ];
    let server = Server::start(vec![
        Answer::Events(first.concat()),
        Answer::blocks(&[text("one")]),
        Answer::blocks(&[text("two")]),
        Answer::blocks(&[text("two")]),
    ])
    .await;
    let (mut talk, notes) = start(&server, opening()).await;
    talk.turn("go").await.unwrap();
    let resumed = Opening { resume: true, ..opening() };
    let copy = Arc::new(notes.copy());
    let mut other = engine(&server).open(resumed, Arc::clone(&copy) as _).await.unwrap();
    talk.turn("on").await.unwrap();
    other.turn("on").await.unwrap();
    let requests = server.requests();
    assert_eq!(requests[2].text, requests[3].text);
    // Spliced behind white space, a block is still the block that came.
    let normal = r#"{"type":"moonbeam","n":12345678901234567890123,"t":"\u00fc\/"}"#;
    assert!(requests[1].text.contains(normal), "{}", requests[1].text);
    // The API refuses half a pair, so that one alone is sent as the sign for what is missing.
    for block in [thinking, cut.replace("ud83d", "ufffd").as_str(), redacted] {
        assert!(requests[3].text.contains(block), "{}", requests[3].text);
    }
    assert!(copy.raw("-w/s1").contains(cut));
    let rows = copy.rows("-w/s1");
    assert_eq!(rows[8]["parentUuid"], rows[7]["uuid"]);
}

#[tokio::test]
async fn a_paused_reply_is_continued_and_a_refused_one_ends() {
    let paused = [server::begin(), server::block(0, &text("searching")), server::end("pause_turn")];
    let refused = [server::begin(), server::block(0, &text("no")), server::end("refusal")];
    let server =
        Server::start(vec![Answer::Events(paused.concat()), Answer::Events(refused.concat())])
            .await;
    let (mut talk, _notes) = start(&server, opening()).await;
    let end = talk.turn("go").await.unwrap();
    assert_eq!((end.text.as_str(), end.stop_reason.as_str()), ("searching\nno", "refusal"));
    assert_eq!(server.requests()[1].body["messages"][1]["role"], "assistant");
}
