//! Transcripts that made sessions of other tools unusable: each shape, built small, and what is made of
//! it. The reports are named at each test.

#![allow(clippy::unwrap_used, unreachable_pub, missing_docs, dead_code)]

#[path = "damage/row.rs"]
mod row;

use flower::context::acceptable::{is_acceptable, keeps_thinking};
use flower::context::{Mend, Policy, ThinkingPolicy, View, view};
use flower::transcript::{Body, Entry};
use row::{HIGH, base64, call, image, png, result, text, uuid};
use serde_json::{Value, json};

const UNANSWERED: &str = "[这一步被打断了,没有结果。需要的话重做。]";

/// A row that hangs below the one with the number before.
fn say(number: usize, content: Value) -> Value {
    below(number, number.checked_sub(1), "user", content)
}

/// The same from the model, each row a message of its own.
fn reply(number: usize, content: Value) -> Value {
    below(number, number.checked_sub(1), "assistant", content)
}

fn below(number: usize, parent: Option<usize>, kind: &str, content: Value) -> Value {
    let mut message = json!({"role": kind, "content": content});
    if kind == "assistant" {
        message["id"] = json!(format!("msg_{number}"));
    }
    row::row(kind, &uuid(number), parent.map(uuid).as_deref(), message)
}

/// The same row as a part of the message of another.
fn part_of(mut row: Value, message: usize) -> Value {
    row["message"]["id"] = json!(format!("msg_{message}"));
    row
}

fn boundary(number: usize) -> Value {
    let mut row = row::row("system", &uuid(number), None, Value::Null);
    row["subtype"] = json!("compact_boundary");
    row
}

fn summary(number: usize, words: &str) -> Value {
    let mut row = say(number, json!(words));
    row["isCompactSummary"] = json!(true);
    row
}

fn see_with(rows: &[Value], policy: &Policy) -> View {
    let record = row::entries(rows);
    let seen = view(record.clone(), policy);
    assert_eq!(is_acceptable(&seen.entries), Ok(()), "{:#?}", raws(&seen));
    assert_eq!(keeps_thinking(&record, &seen.entries), Ok(()));
    assert_eq!(raws(&seen), raws(&view(record, policy)), "the same bytes twice");
    let again = view(seen.entries.clone(), policy);
    assert_eq!(raws(&again), raws(&seen), "nothing is left to mend");
    seen
}

fn see(rows: &[Value]) -> View {
    see_with(rows, &Policy::default())
}

fn raws(view: &View) -> Vec<&str> {
    view.entries.iter().map(Entry::raw).collect()
}

/// What the model sees: each row as its speaker and its blocks.
fn shape(view: &View) -> Vec<String> {
    let lines = view.conversation().map(|entry| {
        let blocks = entry.message().unwrap().blocks;
        let blocks = blocks.iter().map(|block| match block.body() {
            Body::Text(text) => text.clone(),
            Body::Thinking => "thinking".to_owned(),
            Body::ToolUse { id, .. } => format!("call {id}"),
            Body::ToolResult { tool_use_id, text, .. } => match text.as_deref() {
                Some(UNANSWERED) => format!("no result {tool_use_id}"),
                Some(text) => format!("result {tool_use_id} {text}"),
                None => format!("result {tool_use_id} with a picture"),
            },
            Body::Other(kind) => kind.clone(),
        });
        format!("{}: {}", entry.kind, blocks.collect::<Vec<_>>().join(", "))
    });
    lines.collect()
}

fn mends(view: &View, mend: Mend) -> usize {
    view.report.findings().find(|(found, _)| *found == mend).map_or(0, |(_, times)| times)
}

// Calls and results.

/// anthropics/claude-code#1894: three calls, three interrupts, then a prompt.
#[test]
fn a1_calls_that_were_interrupted_get_results_before_the_next_text() {
    let interrupt = "[Request interrupted by user]";
    let seen = see(&[
        say(0, json!("go")),
        reply(1, json!([call("t1"), call("t2"), call("t3")])),
        say(2, json!([text(interrupt)])),
        say(3, json!([text(interrupt)])),
        say(4, json!([text(interrupt)])),
        say(5, json!("go on")),
    ]);
    assert_eq!(
        shape(&seen)[..4],
        [
            "user: go",
            "assistant: call t1, call t2, call t3",
            "user: no result t1, no result t2, no result t3",
            "user: [Request interrupted by user]",
        ]
    );
    assert_eq!(shape(&seen).last().unwrap(), "user: go on");
    assert_eq!(mends(&seen, Mend::UnansweredCall), 3);
}

/// anthropics/claude-code#9346: the process stopped at a call, and every turn after that failed.
#[test]
fn a2_a_process_that_stopped_at_a_call_goes_on() {
    let rows = [say(0, json!("go")), reply(1, json!([call("t1")])), say(2, json!("go on"))];
    let want = ["user: go", "assistant: call t1", "user: no result t1"];
    assert_eq!(shape(&see(&rows[..2])), want);
    let seen = see(&rows);
    assert_eq!(shape(&seen)[..3], want);
    assert_eq!(shape(&seen)[3], "user: go on");
}

/// anthropics/claude-code#1695: the call without a result lies deep in a long list.
#[test]
fn a4_a_call_in_the_middle_is_answered_too() {
    let mut rows = vec![say(0, json!("go"))];
    for turn in 0..20 {
        let id = format!("t{turn}");
        rows.push(reply(rows.len(), json!([call(&id)])));
        if turn != 8 {
            rows.push(say(rows.len(), json!([result(&id, "ok")])));
        }
    }
    let seen = see(&rows);
    assert_eq!(shape(&seen)[18], "user: no result t8");
    assert_eq!(shape(&seen).len(), rows.len() + 1);
    assert_eq!(mends(&seen, Mend::UnansweredCall), 1);
}

/// anthropics/claude-code#2796: the request for a summary failed as well.
#[test]
fn a5_a_request_for_a_summary_can_be_put_behind_it() {
    let rows = [
        say(0, json!("go")),
        reply(1, json!([call("t1")])),
        reply(2, json!([text("so far")])),
        say(3, json!("summarise what was said")),
    ];
    assert_eq!(
        shape(&see(&rows)),
        [
            "user: go",
            "assistant: call t1",
            "user: no result t1",
            "assistant: so far",
            "user: summarise what was said"
        ]
    );
}

/// anthropics/claude-code#24670: the first message is a result.
#[test]
fn a6_a_result_at_the_head_goes() {
    let seen = see(&[say(0, json!([result("t0", "late")])), reply(1, json!([text("done")]))]);
    assert!(!raws(&seen).concat().contains("tool_result"));
    assert_eq!(shape(&seen).last().unwrap(), "assistant: done");
    assert_eq!(mends(&seen, Mend::OrphanResult), 1);
}

/// HKUDS/OpenHarness#191, datakurre/graph-agent#85: a cut between call and result.
#[test]
fn a8_a9_wherever_a_conversation_is_cut_both_parts_can_be_sent() {
    let mut rows = vec![say(0, json!("go"))];
    for turn in 0..3 {
        let id = format!("t{turn}");
        rows.push(reply(rows.len(), json!([text("then"), call(&id)])));
        rows.push(say(rows.len(), json!([result(&id, "ok")])));
    }
    rows.push(reply(rows.len(), json!([text("done")])));
    for cut in 0..rows.len() {
        assert!(shape(&see(&rows[cut..])).last().unwrap().ends_with("done"));
        see(&rows[..cut]);
    }
}

/// myriade-ai/agentlys#220: compacted while calls were pending.
#[test]
fn a10_a_compaction_between_call_and_result_leaves_no_half() {
    let seen = see(&[
        say(0, json!("go")),
        reply(1, json!([call("t1"), call("t2")])),
        say(2, json!([result("t1", "ok")])),
        boundary(3),
        summary(4, "summary"),
        say(5, json!([result("t2", "late")])),
        reply(6, json!([text("done")])),
    ]);
    assert_eq!(shape(&seen), ["user: summary", "assistant: done"]);
    assert_eq!(mends(&seen, Mend::OrphanResult), 1);
}

/// anthropics/claude-code#18131: killed in the middle of two calls, then resumed ten times at once.
#[test]
fn a12_ten_resumes_at_once_see_the_same() {
    let rows = [say(0, json!("go")), reply(1, json!([call("t1"), call("t2")]))];
    let seen = see(&rows);
    assert_eq!(shape(&seen)[2], "user: no result t1, no result t2");
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..10).map(|_| scope.spawn(|| see(&rows))).collect();
        for thread in threads {
            assert_eq!(raws(&thread.join().unwrap()), raws(&seen));
        }
    });
}

/// anthropics/claude-code#54638: a tool of a server that is gone, and a call of it without a result.
#[test]
fn a14_calls_of_tools_that_are_gone_stay() {
    let mut gone = call("t1");
    gone["name"] = json!("mcp__gone__tool");
    let mut open = gone.clone();
    open["id"] = json!("t2");
    let seen = see(&[
        say(0, json!("go")),
        reply(1, json!([gone])),
        say(2, json!([result("t1", "ok")])),
        reply(3, json!([open])),
    ]);
    assert_eq!(
        shape(&seen)[1..],
        ["assistant: call t1", "user: result t1 ok", "assistant: call t2", "user: no result t2"]
    );
    assert_eq!(mends(&seen, Mend::CallName), 0);
    assert_eq!(raws(&seen).concat().matches("mcp__gone__tool").count(), 2);
}

/// aaif-goose/goose#2951: a summary, then a call without a result.
#[test]
fn a15_a_call_behind_a_summary_is_answered() {
    let seen = see(&[
        say(0, json!("go")),
        boundary(1),
        summary(2, "summary"),
        reply(3, json!([call("t1")])),
    ]);
    assert_eq!(shape(&seen), ["user: summary", "assistant: call t1", "user: no result t1"]);
}

/// shareAI-lab/learn-claude-code#502: the tool that compacts loses its own call.
#[test]
fn a16_the_result_of_the_call_that_compacted_does_no_harm() {
    let seen = see(&[
        say(0, json!("go")),
        reply(1, json!([call("compact")])),
        boundary(2),
        summary(3, "summary"),
        say(4, json!([result("compact", "compacted")])),
        say(5, json!("go on")),
    ]);
    assert_eq!(shape(&seen), ["user: summary", "user: go on"]);
}

/// anthropics/claude-code CHANGELOG.md:558: the stream was cut within a call's input.
#[test]
fn a18_half_a_call_is_dropped_or_closed() {
    for input in [json!("{\"comm"), Value::Null, json!({})] {
        let mut half = call("t1");
        half["input"] = input;
        let seen = see(&[
            say(0, json!("go")),
            reply(1, json!([text("I will"), half])),
            say(2, json!("?")),
        ]);
        assert_eq!(shape(&seen)[2], "user: no result t1");
        assert!(shape(&seen)[1].starts_with("assistant: I will"));
    }
}

// Ids.

/// anthropics/claude-code#28515: one id twice, far apart.
#[test]
fn a19_an_id_that_stands_twice_is_parted_or_the_copy_goes() {
    let mut other = call("t1");
    other["input"] = json!({"command": "something else"});
    let rows = |second: Value| {
        [
            say(0, json!("go")),
            reply(1, json!([call("t1")])),
            say(2, json!([result("t1", "one")])),
            reply(3, json!([text("and"), second])),
            say(4, json!([result("t1", "two")])),
            reply(5, json!([text("done")])),
        ]
    };
    let seen = see(&rows(other));
    let lines = shape(&seen);
    assert_eq!(mends(&seen, Mend::CallId), 1);
    // Both calls are left, each with its own answer.
    assert_eq!(lines.iter().filter(|line| line.contains("call ")).count(), 2);
    assert!(lines.iter().any(|line| line.ends_with(" one")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.ends_with(" two")), "{lines:#?}");
    // The same call again is a copy of the record.
    let lines = shape(&see(&rows(call("t1"))));
    assert!(lines.contains(&"user: result t1 one".to_owned()), "{lines:#?}");
    assert_eq!(lines.last().unwrap(), "assistant: done");
}

/// ducks/claux#40: empty ids, and a second result for an answered call.
#[test]
fn a21_empty_ids_and_second_results_are_mended() {
    let mut other = call("");
    other["input"] = json!({"command": "ls"});
    let seen = see(&[
        say(0, json!("go")),
        reply(1, json!([call(""), other])),
        say(2, json!([result("", "one"), result("", "two")])),
    ]);
    assert_eq!(mends(&seen, Mend::CallId), 2);
    assert!(!raws(&seen).concat().contains(r#""tool_use_id":"""#));
    let seen = see(&[
        say(0, json!("go")),
        reply(1, json!([call("t1")])),
        say(2, json!([result("t1", "first")])),
        say(3, json!([result("t1", "second")])),
        say(4, json!("go on")),
    ]);
    assert_eq!(shape(&seen)[2..], ["user: result t1 first", "user: go on"]);
    assert_eq!(mends(&seen, Mend::SecondResult), 1);
}

// Thinking.

fn thoughtful() -> [Value; 6] {
    [
        say(0, json!("go")),
        reply(1, json!([row::thinking("old"), call("t1")])),
        say(2, json!([result("t1", "ok")])),
        say(3, json!("go on")),
        reply(4, json!([row::thinking("new"), call("t2")])),
        say(5, json!([result("t2", "ok")])),
    ]
}

/// anthropics/claude-code#66204: thinking of long ago is refused on resume.
#[test]
fn a23_thinking_outside_the_current_loop_can_be_left_out() {
    let policy = Policy { thinking: ThinkingPolicy::StripOld, ..Policy::default() };
    let seen = see_with(&thoughtful(), &policy);
    assert_eq!(shape(&seen)[1], "assistant: call t1");
    assert_eq!(shape(&seen)[4], "assistant: thinking, call t2");
}

/// anthropics/anthropic-sdk-python#1598, anomalyco/opencode#48637: a block that fails for ever, or is
/// bound to another conversation.
#[test]
fn a24_a25_all_thinking_can_be_left_out() {
    let policy = Policy { thinking: ThinkingPolicy::Strip, ..Policy::default() };
    let seen = see_with(&thoughtful(), &policy);
    assert!(!raws(&seen).concat().contains("signature"));
    assert_eq!(shape(&seen)[4], "assistant: call t2");
    // What was nothing but thinking goes whole.
    let rows = [say(0, json!("go")), reply(1, json!([row::thinking("x")])), say(2, json!("on"))];
    assert_eq!(shape(&see_with(&rows, &policy)), ["user: go", "user: on"]);
}

/// router-for-me/CLIProxyAPI#2172: writing the block anew breaks its signature.
#[test]
fn a26_thinking_keeps_its_bytes() {
    // With escapes that nobody would write, in a row where something else is mended.
    let rows = [
        say(0, json!("go")),
        reply(1, json!([row::thinking("old"), text(""), call("")])),
        say(2, json!([result("", "ok")])),
    ];
    let block = r#"{"type":"thinking","thinking":"old \u00e9","signature":"c2lnbmF0dXJl"}"#;
    assert!(row::write(&rows[1]).contains(block));
    assert!(raws(&see(&rows)).concat().contains(block));
}

/// kaitranntt/ccs#415: no signature, or none that could be one.
#[test]
fn a27_unsigned_thinking_goes_whole() {
    for signature in [json!(""), Value::Null, json!(5)] {
        let mut unsigned = row::thinking("x");
        unsigned["signature"] = signature;
        let seen = see(&[say(0, json!("go")), reply(1, json!([unsigned, text("well")]))]);
        assert_eq!(shape(&seen), ["user: go", "assistant: well"]);
        assert_eq!(mends(&seen, Mend::Thinking), 1);
    }
}

/// anthropics/claude-code#63155, #63078, #63221: one turn in many rows, with others in between.
#[test]
fn a29_rows_of_one_message_stay_in_order() {
    let seen = see(&[
        say(0, json!("go")),
        part_of(reply(1, json!([row::thinking("first")])), 1),
        part_of(reply(2, json!([text("I will")])), 1),
        part_of(reply(3, json!([call("t1")])), 1),
        below(4, Some(3), "user", json!([result("t1", "one")])),
        part_of(below(5, Some(3), "assistant", json!([call("t2")])), 1),
        json!({"type": "mode", "mode": "plan"}),
        below(6, Some(5), "user", json!([result("t2", "two")])),
        reply(7, json!([text("done")])),
    ]);
    assert_eq!(
        shape(&seen),
        [
            "user: go",
            "assistant: thinking",
            "assistant: I will",
            "assistant: call t1",
            "user: result t1 one",
            "assistant: call t2",
            "user: result t2 two",
            "assistant: done",
        ]
    );
    assert_eq!(seen.report.findings().count(), 0);
}

// Texts and pictures.

/// anthropics/claude-code#59294: an empty text that carries a mark for the cache.
#[test]
fn a31_an_empty_text_goes_and_its_mark_moves() {
    let mut empty = text("");
    empty["cache_control"] = json!({"type": "ephemeral"});
    let seen = see(&[say(0, json!([text("go"), empty])), reply(1, json!([text("well")]))]);
    assert_eq!(shape(&seen), ["user: go", "assistant: well"]);
    assert!(raws(&seen)[0].contains("cache_control"));
    assert_eq!(mends(&seen, Mend::EmptyText), 1);
}

/// anthropics/claude-code#60837: errors at the end, and a row with an empty text.
#[test]
fn a32_an_empty_row_at_the_end_goes() {
    let mut error = reply(3, json!([text("API Error: 500")]));
    error["isApiErrorMessage"] = json!(true);
    let seen = see(&[
        say(0, json!("go")),
        reply(1, json!([text("well")])),
        say(2, json!("go on")),
        error,
        reply(4, json!([text("")])),
    ]);
    assert_eq!(shape(&seen), ["user: go", "assistant: well", "user: go on"]);
}

/// anthropics/claude-code#3277, #1939: a cut within an emoji.
#[test]
fn a34_half_an_emoji_becomes_a_replacement_character() {
    let half = format!("cut {HIGH}");
    let mut odd = call("t1");
    odd["input"] = json!({"command": half});
    let seen = see(&[
        say(0, json!(half)),
        reply(1, json!([text(&half), odd])),
        say(2, json!([result("t1", half.as_str())])),
    ]);
    assert_eq!(shape(&seen)[0], "user: cut \u{fffd}");
    assert_eq!(shape(&seen)[1], "assistant: cut \u{fffd}, call t1");
    assert_eq!(shape(&seen)[2], "user: result t1 cut \u{fffd}");
    assert!(mends(&seen, Mend::HalfCharacter) >= 3);
}

/// anthropics/claude-code#34120, #59133: over 2000 pixels among many.
#[test]
fn a36_a_wide_picture_among_many_becomes_a_line() {
    let mut pictures = vec![image("image/png", &png(10, 10)); 21];
    pictures.push(image("image/png", &png(2162, 322)));
    let seen = see(&[say(0, json!(pictures))]);
    assert_eq!(mends(&seen, Mend::Image), 1);
    assert_eq!(raws(&seen)[0].matches("\"image\"").count(), 21);
}

/// anthropics/claude-code#5147, #29551: over 8000 pixels, in a prompt and in a result.
#[test]
fn a37_a_picture_that_is_too_long_becomes_a_line() {
    let long = image("image/png", &png(8001, 10));
    let seen = see(&[
        say(0, json!([text("look"), long])),
        reply(1, json!([call("t1")])),
        say(2, json!([result("t1", json!([text("shot"), long]))])),
    ]);
    assert_eq!(mends(&seen, Mend::Image), 2);
    assert!(shape(&seen)[0].starts_with("user: look, "));
    assert!(shape(&seen)[2].starts_with("user: result t1 shot"));
}

/// anthropics/claude-code#53228, #19031: a page of HTML, or 29 bytes, given out as a picture.
#[test]
fn a38_what_is_no_picture_becomes_a_line() {
    let page = base64(b"<!DOCTYPE html><html>not found</html>");
    let stub = base64(b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0abcdefgh");
    let seen = see(&[
        say(0, json!([text("look"), image("image/png", &page)])),
        say(1, json!([image("image/jpeg", &stub)])),
    ]);
    assert_eq!(mends(&seen, Mend::Image), 2);
    assert!(!raws(&seen).concat().contains("base64"));
    // The right kind under a wrong name is named rightly.
    let seen = see(&[say(0, json!([image("image/jpeg", &png(10, 10))]))]);
    assert_eq!(mends(&seen, Mend::ImageType), 1);
    assert!(raws(&seen)[0].contains("image/png"));
}

/// anthropics/claude-code#16169, CHANGELOG.md:1663: HEIC, and a picture without a byte.
#[test]
fn a40_pictures_of_other_kinds_or_without_bytes_become_lines() {
    let heic = base64(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic");
    for data in ["", &heic] {
        for media_type in ["image/heic", "image/png"] {
            let seen = see(&[say(0, json!([text("look"), image(media_type, data)]))]);
            assert_eq!(mends(&seen, Mend::Image), 1);
            assert!(shape(&seen)[0].starts_with("user: look, "));
        }
    }
}

// The chain.

/// anthropics/claude-code#22526, #58554, #61188, #24304, QwenLM/qwen-code#6501: parents that were
/// never written.
#[test]
fn a41_lost_parents_are_bridged_and_marked() {
    let mut rows: Vec<Value> = (0..40)
        .map(|number| match number % 2 {
            0 => say(number, json!(format!("said {number}"))),
            _ => reply(number, json!([text(&format!("said {number}"))])),
        })
        .collect();
    for lost in [10, 21, 30] {
        rows[lost]["parentUuid"] = json!(uuid(900 + lost));
    }
    let seen = see(&rows);
    let lines = shape(&seen);
    for number in 0..40 {
        assert!(lines.iter().any(|line| line.ends_with(&format!("said {number}"))), "{number}");
    }
    assert_eq!(mends(&seen, Mend::LostParent), 3);
    // A remark at each gap.
    assert_eq!(lines.len(), 43);
}

/// The same for the first row after a compaction.
#[test]
fn a41_the_first_row_behind_a_summary_may_have_lost_its_parent() {
    let mut rows =
        [say(0, json!("go")), boundary(1), summary(2, "summary"), say(3, json!("go on"))];
    rows[3]["parentUuid"] = json!(uuid(900));
    let lines = shape(&see(&rows));
    assert_eq!(lines.first().unwrap(), "user: summary");
    assert_eq!(lines.last().unwrap(), "user: go on");
}

/// anthropics/claude-code#36583: a snapshot with a row's uuid is no row of the conversation.
#[test]
fn a43_a_snapshot_may_have_the_uuid_of_a_row() {
    let snapshot = json!({"type": "file-history-snapshot", "messageId": uuid(1), "snapshot": {}});
    let rows = [say(0, json!("go")), snapshot, reply(1, json!([text("well")]))];
    let seen = see(&rows);
    assert_eq!(shape(&seen), ["user: go", "assistant: well"]);
    assert_eq!(seen.report.findings().count(), 0);
    // With the uuid in the field that rows use.
    let snapshot = json!({"type": "file-history-snapshot", "uuid": uuid(1), "messageId": uuid(1)});
    let rows =
        [say(0, json!("go")), snapshot, reply(1, json!([text("well")])), say(2, json!("on"))];
    assert_eq!(shape(&see(&rows)), ["user: go", "assistant: well", "user: on"]);
}

/// CHANGELOG.md:2776: a row that is its own parent, two rows with one id, and a circle.
#[test]
fn a43_circles_and_twins_lose_nothing() {
    let rows =
        || vec![say(0, json!("one")), reply(1, json!([text("two")])), say(2, json!("three"))];
    let all = ["user: one", "assistant: two", "user: three"];
    for (at, parent) in [(2, 2), (1, 1), (0, 0), (0, 2), (1, 2)] {
        let mut rows = rows();
        rows[at]["parentUuid"] = json!(uuid(parent));
        assert_eq!(shape(&see(&rows)), all, "{at} below {parent}");
    }
    let mut twins = rows();
    twins.push(say(3, json!("four")));
    twins[3]["uuid"] = json!(uuid(2));
    twins[3]["parentUuid"] = json!(uuid(2));
    let seen = see(&twins);
    assert_eq!(shape(&seen)[..3], all);
    assert_eq!(shape(&seen).last().unwrap(), "user: four");
    assert_eq!(mends(&seen, Mend::SharedUuid), 1);
    // The same row twice is one row.
    let mut copies = rows();
    copies.push(copies[2].clone());
    assert_eq!(shape(&see(&copies)), all);
}

/// anthropics/claude-code#46603, #92849 and others: two compactions in a row.
#[test]
fn a44_the_second_compaction_keeps_what_the_first_kept_in_its_summary() {
    let seen = see(&[
        say(0, json!("go")),
        boundary(1),
        summary(2, "first summary"),
        boundary(3),
        summary(4, "second summary"),
        say(5, json!("go on")),
    ]);
    assert_eq!(shape(&seen), ["user: second summary", "user: go on"]);
}

/// tamaratran/fast-jev-compaction#89 and others: what the compaction kept is still there, and what it
/// replaced is not.
#[test]
fn a44_a_compaction_keeps_summary_kept_part_and_what_is_new() {
    let mut rows = vec![
        say(0, json!("old")),
        reply(1, json!([text("old answer")])),
        say(2, json!("kept")),
        reply(3, json!([call("t1")])),
        say(4, json!([result("t1", "kept too")])),
        boundary(5),
        summary(6, "summary"),
        say(7, json!("new")),
    ];
    rows[5]["compactMetadata"] = json!({
        "preservedSegment": {"headUuid": uuid(2), "anchorUuid": uuid(6), "tailUuid": uuid(4)},
    });
    let want = [
        "user: summary",
        "user: kept",
        "assistant: call t1",
        "user: result t1 kept too",
        "user: new",
    ];
    assert_eq!(shape(&see(&rows)), want);
    // A second compaction that keeps the same part does not lose it.
    rows.extend([boundary(8), summary(9, "second summary"), say(10, json!("newest"))]);
    rows[8]["compactMetadata"] = json!({
        "preservedSegment": {"headUuid": uuid(2), "anchorUuid": uuid(9), "tailUuid": uuid(7)},
    });
    let lines = shape(&see(&rows));
    assert_eq!(lines.first().unwrap(), "user: second summary");
    assert_eq!(lines.last().unwrap(), "user: newest");
    assert!(lines.contains(&"user: kept".to_owned()), "{lines:#?}");
}

/// earendil-works/pi#2608, can1357/oh-my-pi#11515, rynfar/meridian#713: a boundary that names no kept
/// part, and one that has nothing behind it.
#[test]
fn a44_a_boundary_without_anchors_or_without_a_tail_does_not_bring_the_past_back() {
    for about in [Value::Null, json!({"trigger": "auto"}), json!({"preservedSegment": null})] {
        let mut rows = vec![
            say(0, json!("old")),
            reply(1, json!([text("old answer")])),
            boundary(2),
            summary(3, "summary"),
        ];
        rows[2]["compactMetadata"] = about;
        assert_eq!(shape(&see(&rows)), ["user: summary"]);
        rows.push(say(4, json!("new")));
        assert_eq!(shape(&see(&rows)), ["user: summary", "user: new"]);
    }
    // Without a summary it would hide everything; then nothing was compacted.
    let rows = [say(0, json!("old")), reply(1, json!([text("old answer")])), boundary(2)];
    assert_eq!(shape(&see(&rows)), ["user: old", "assistant: old answer"]);
    // A kept part that is not there.
    let mut rows =
        vec![say(0, json!("old")), boundary(1), summary(2, "summary"), say(3, json!("new"))];
    rows[1]["compactMetadata"] =
        json!({"preservedSegment": {"headUuid": "gone", "anchorUuid": "gone", "tailUuid": "gone"}});
    assert_eq!(shape(&see(&rows)), ["user: summary", "user: new"]);
}
