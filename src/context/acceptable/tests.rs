//! Bodies made by hand: one or more for each demand that must be refused, and those that must pass.

use super::*;

const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

fn parse(row: &str) -> Entry {
    Entry::parse(row).unwrap()
}

/// A row whose uuid is `u` and its number, below the row before.
fn row(number: usize, kind: &str, message: &str) -> Entry {
    let parent = match number {
        0 => "null".to_owned(),
        _ => format!("\"u{}\"", number - 1),
    };
    parse(&format!(
        r#"{{"type":"{kind}","uuid":"u{number}","parentUuid":{parent},"message":{message}}}"#
    ))
}

/// A chain of rows: the person says what stands behind `u`, the model what stands behind `a`; each is
/// the raw content.
fn talk(parts: &[(char, &str)]) -> Vec<Entry> {
    let rows = parts.iter().enumerate().map(|(number, (who, content))| match who {
        'u' => row(number, "user", &format!(r#"{{"role":"user","content":{content}}}"#)),
        _ => row(
            number,
            "assistant",
            &format!(r#"{{"role":"assistant","id":"m{number}","content":{content}}}"#),
        ),
    });
    rows.collect()
}

fn call(id: &str) -> String {
    format!(r#"{{"type":"tool_use","id":"{id}","name":"Bash","input":{{"command":"ls"}}}}"#)
}

fn result(id: &str) -> String {
    format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"ok"}}"#)
}

fn list(blocks: &[&str]) -> String {
    format!("[{}]", blocks.join(","))
}

fn thinking(signature: &str) -> String {
    format!(r#"{{"type":"thinking","thinking":"hm","signature":"{signature}"}}"#)
}

fn image(media_type: &str, data: &str) -> String {
    format!(
        r#"{{"type":"image","source":{{"type":"base64","media_type":"{media_type}","data":"{data}"}}}}"#
    )
}

/// The first bytes of a PNG of this size, which is all that tells it.
fn png(width: u32, height: u32) -> String {
    let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
    bytes.extend(width.to_be_bytes());
    bytes.extend(height.to_be_bytes());
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // 24 bytes, so that no padding is needed.
    let letters = bytes.chunks(3).flat_map(|chunk| {
        let bits = u32::from(chunk[0]) << 16 | u32::from(chunk[1]) << 8 | u32::from(chunk[2]);
        [18, 12, 6, 0].map(|shift| char::from(LETTERS[(bits >> shift) as usize & 63]))
    });
    letters.collect()
}

fn demands(view: &[Entry]) -> Vec<Demand> {
    let mut demands: Vec<Demand> = match is_acceptable(view) {
        Ok(()) => Vec::new(),
        Err(violations) => violations.iter().map(|violation| violation.demand).collect(),
    };
    demands.sort();
    demands.dedup();
    demands
}

/// Refused for this demand and for no other.
#[track_caller]
fn refused(view: &[Entry], demand: Demand) {
    assert_eq!(demands(view), [demand], "{view:#?}");
}

#[track_caller]
fn accepted(view: &[Entry]) {
    assert_eq!(is_acceptable(view), Ok(()), "{view:#?}");
}

const TEXT: &str = r#"{"type":"text","text":"well"}"#;
const GO: (char, &str) = ('u', r#""go""#);

#[test]
fn good_conversations_pass() {
    accepted(&[]);
    accepted(&talk(&[GO]));
    accepted(&talk(&[GO, GO, ('a', &list(&[TEXT])), ('a', r#""more""#), GO]));
    accepted(&talk(&[
        GO,
        ('a', &list(&[&thinking("c2ln"), TEXT, &call("t1"), &call("t2")])),
        ('u', &list(&[&result("t2")])),
        ('u', &list(&[&result("t1"), TEXT])),
        ('a', &list(&[&thinking("c2ln"), TEXT])),
    ]));
    accepted(&talk(&[
        GO,
        ('a', &list(&[&call("t1")])),
        (
            'u',
            &format!(
                r#"[{{"type":"tool_result","tool_use_id":"t1","is_error":true,"content":[{TEXT},{}]}}]"#,
                image("image/png", PNG)
            ),
        ),
        (
            'u',
            &list(&[
                &image("image/png", PNG),
                r#"{"type":"image","source":{"type":"url","url":"https://x/y.png"}}"#,
            ]),
        ),
        (
            'a',
            r#"[{"type":"redacted_thinking","data":"x"},{"type":"server_tool_use","id":"s","name":"web_search","input":{}},{"type":"text","text":"y"}]"#,
        ),
    ]));
}

#[test]
fn rows_that_clients_leave_out_are_left_out() {
    let mut view = talk(&[GO, ('a', &list(&[TEXT]))]);
    view.push(parse(r#"{"type":"summary","summary":"s"}"#));
    view.push(parse(r#"{"type":"system","uuid":"s","parentUuid":"u1","message":5}"#));
    view.push(parse(
        r#"{"type":"user","uuid":"c","parentUuid":null,"isSidechain":true,"message":{"content":[]}}"#,
    ));
    view.push(parse(
        r#"{"type":"assistant","uuid":"e","parentUuid":"u1","isApiErrorMessage":true,"message":{"content":[]}}"#,
    ));
    accepted(&view);
}

/// Two calls of one message in rows of their own, each result below its call.
fn parallel() -> Vec<Entry> {
    let part = |uuid: &str, parent: &str, id: &str| {
        parse(&format!(
            r#"{{"type":"assistant","uuid":"{uuid}","parentUuid":"{parent}","message":{{"role":"assistant","id":"m","content":[{}]}}}}"#,
            call(id)
        ))
    };
    let answer = |uuid: &str, parent: &str, id: &str| {
        parse(&format!(
            r#"{{"type":"user","uuid":"{uuid}","parentUuid":"{parent}","message":{{"role":"user","content":[{}]}}}}"#,
            result(id)
        ))
    };
    let mut view = talk(&[GO]);
    view.extend([
        part("a1", "u0", "t1"),
        answer("r1", "a1", "t1"),
        part("a2", "a1", "t2"),
        answer("r2", "a2", "t2"),
        parse(
            r#"{"type":"assistant","uuid":"z","parentUuid":"r2","message":{"id":"n","content":"done"}}"#,
        ),
    ]);
    view
}

#[test]
fn parallel_calls_may_fork_the_chain() {
    accepted(&parallel());
    // The line leads over the first result instead.
    let mut view = parallel();
    view[5] = view[5].with_field("parentUuid", "\"r1\"").unwrap();
    accepted(&view);
}

#[test]
fn a_chain_that_a_walk_cannot_follow_is_refused() {
    let view = talk(&[GO, GO, GO]);
    let with = |at: usize, field: &str, value: &str| {
        let mut view = view.clone();
        view[at] = view[at].with_field(field, value).unwrap();
        view
    };
    refused(&with(1, "parentUuid", "null"), Demand::Reachable);
    assert!(demands(&with(2, "parentUuid", "\"gone\"")).contains(&Demand::ParentExists));
    assert!(demands(&with(2, "parentUuid", "7")).contains(&Demand::ParentExists));
    refused(&with(0, "parentUuid", "\"u2\""), Demand::NoCircle);
    refused(&with(0, "parentUuid", "\"u0\""), Demand::NoCircle);
    assert!(demands(&with(2, "uuid", "\"u1\"")).contains(&Demand::UniqueUuid));
    assert!(demands(&with(2, "uuid", "\"\"")).contains(&Demand::HasUuid));
    let order = [view[0].clone(), view[2].clone(), view[1].clone()];
    assert!(demands(&order).contains(&Demand::ParentFirst));
}

#[test]
fn a_branch_that_was_given_up_is_not_sent() {
    let mut view = talk(&[GO, ('a', &list(&[&call("t1")])), ('u', &list(&[&result("t1")]))]);
    view.push(parse(
        r#"{"type":"user","uuid":"x","parentUuid":"u0","message":{"content":"rather this"}}"#,
    ));
    accepted(&view);
    assert_eq!(sent(&view), [0, 3]);
    assert_eq!(sent(&parallel()), [0, 1, 2, 3, 4, 5]);
    // Half of a message is left behind in the branch.
    let mut view = parallel();
    view[5] = view[5].with_field("parentUuid", "\"a2\"").unwrap();
    view[4] = view[4].with_field("parentUuid", "\"u0\"").unwrap();
    refused(&view, Demand::Answered);
}

#[test]
fn what_was_said_before_a_compaction_may_be_out_of_reach() {
    let boundary =
        parse(r#"{"type":"system","subtype":"compact_boundary","uuid":"b","parentUuid":null}"#);
    let say = |uuid: &str, parent: &str, kind: &str, content: &str| {
        parse(&format!(
            r#"{{"type":"{kind}","uuid":"{uuid}","parentUuid":"{parent}","message":{{"content":{content}}}}}"#
        ))
    };
    let mut view = talk(&[GO, ('a', &list(&[&call("t1")])), ('u', &list(&[&result("t1")]))]);
    view.push(boundary.clone());
    view.push(say("s", "b", "user", r#""summary""#));
    accepted(&view);
    // Between call and result it leaves one without the other, for the client that begins there.
    let mut view = talk(&[GO, ('a', &list(&[&call("t1")]))]);
    view.extend([boundary, say("s", "b", "user", &list(&[&result("t1")]))]);
    refused(&view, Demand::ResultHasCall);
}

#[test]
fn the_user_speaks_first_and_nobody_says_nothing() {
    refused(&talk(&[('a', &list(&[TEXT])), GO]), Demand::UserFirst);
    for content in ["\"\"", "[]"] {
        refused(&talk(&[GO, ('u', content)]), Demand::NotEmpty);
        refused(&talk(&[GO, ('a', content)]), Demand::NotEmpty);
    }
    for content in ["null", "5", r#"{"type":"text","text":"x"}"#] {
        refused(&talk(&[GO, ('a', content)]), Demand::Content);
    }
    refused(&[row(0, "user", "null")], Demand::Content);
    refused(&[row(0, "user", r#"{"role":"assistant","content":"x"}"#)], Demand::Role);
    refused(&[row(0, "user", r#"{"role":"system","content":"x"}"#)], Demand::Role);
}

#[test]
fn blank_texts_are_refused() {
    for text in [r#""""#, r#"" \n\t""#] {
        let block = format!(r#"[{{"type":"text","text":{text}}}]"#);
        refused(&talk(&[('u', &block)]), Demand::TextNotBlank);
        refused(&talk(&[GO, ('a', &block)]), Demand::TextNotBlank);
    }
    refused(&talk(&[('u', r#""  ""#)]), Demand::TextNotBlank);
}

#[test]
fn only_blocks_that_the_speaker_may_use_pass() {
    for block in [
        "null",
        "\"x\"",
        "[]",
        "{}",
        r#"{"type":"text"}"#,
        r#"{"type":"text","text":null}"#,
        r#"{"type":"video"}"#,
        r#"{"type":"thinking","thinking":"x","signature":"s"}"#,
        r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"Zm9v"}}"#,
    ] {
        refused(&talk(&[('u', &list(&[TEXT, block]))]), Demand::KnownBlock);
    }
    let picture = image("image/png", PNG);
    for block in [picture.as_str(), r#"{"type":"tool_result","tool_use_id":"t"}"#] {
        refused(&talk(&[GO, ('a', &list(&[TEXT, block]))]), Demand::KnownBlock);
    }
    for part in [r#""content":null"#, r#""content":5"#, r#""content":["x"]"#, r#""is_error":"no""#]
    {
        let result = format!(r#"[{{"type":"tool_result","tool_use_id":"t1",{part}}}]"#);
        let view = talk(&[GO, ('a', &list(&[&call("t1")])), ('u', &result)]);
        refused(&view, Demand::KnownBlock);
    }
}

#[test]
fn calls_and_results_must_match_at_once() {
    let calls = list(&[&call("t1"), &call("t2")]);
    let both = list(&[&result("t1"), &result("t2")]);
    accepted(&talk(&[GO, ('a', &calls), ('u', &both)]));
    refused(&talk(&[GO, ('a', &calls)]), Demand::Answered);
    refused(&talk(&[GO, ('a', &calls), ('u', &list(&[&result("t1")]))]), Demand::Answered);
    refused(&talk(&[('u', &list(&[&result("t1")]))]), Demand::ResultHasCall);
    let late = talk(&[GO, ('a', &calls), GO, ('a', &list(&[TEXT])), ('u', &both)]);
    assert_eq!(demands(&late), [Demand::Answered, Demand::ResultHasCall]);
    let twice = list(&[&result("t1"), &result("t2"), &result("t1")]);
    refused(&talk(&[GO, ('a', &calls), ('u', &twice)]), Demand::AnsweredOnce);
    let behind = list(&[&result("t1"), TEXT, &result("t2")]);
    refused(&talk(&[GO, ('a', &calls), ('u', &behind)]), Demand::ResultsFirst);
    refused(&talk(&[GO, ('a', &calls), GO, ('u', &both)]), Demand::ResultsFirst);
    for content in ["", r#","content":"""#, r#","content":[]"#] {
        let result =
            format!(r#"[{{"type":"tool_result","tool_use_id":"t1","is_error":true{content}}}]"#);
        let view = talk(&[GO, ('a', &list(&[&call("t1")])), ('u', &result)]);
        refused(&view, Demand::ErrorSaysWhat);
    }
}

#[test]
fn calls_have_an_id_a_name_and_an_input() {
    for id in ["", "a b", "a.b", "ä"] {
        let view = talk(&[GO, ('a', &list(&[&call(id)])), ('u', &list(&[&result(id)]))]);
        refused(&view, Demand::IdForm);
    }
    let pair = [('a', list(&[&call("t1")])), ('u', list(&[&result("t1")]))];
    let pair = pair.each_ref().map(|(who, content)| (*who, content.as_str()));
    refused(&talk(&[GO, pair[0], pair[1], pair[0], pair[1]]), Demand::UniqueId);
    let with = |name: &str, input: &str| {
        let call = format!(r#"[{{"type":"tool_use","id":"t1","name":{name},"input":{input}}}]"#);
        talk(&[GO, ('a', &call), pair[1]])
    };
    for name in ["\"\"", "null", &format!("\"{}\"", "x".repeat(201))] {
        refused(&with(name, "{}"), Demand::ToolName);
    }
    for input in ["null", "[]", "\"{}\"", "1"] {
        refused(&with("\"x\"", input), Demand::InputObject);
    }
    accepted(&with("\"mcp__gone__tool\"", "{}"));
}

#[test]
fn cache_marks_are_few_and_never_on_nothing() {
    let marked = r#"{"type":"text","text":"x","cache_control":{"type":"ephemeral"}}"#;
    accepted(&talk(&[('u', &list(&[marked; 4]))]));
    refused(&talk(&[('u', &list(&[marked; 5]))]), Demand::CacheControl);
    let inner = marked.replace("\"x\"", "\"\"");
    let result = format!(r#"[{{"type":"tool_result","tool_use_id":"t1","content":[{inner}]}}]"#);
    let view = talk(&[GO, ('a', &list(&[&call("t1")])), ('u', &result)]);
    refused(&view, Demand::CacheControl);
}

#[test]
fn half_surrogate_pairs_are_refused_wherever_they_are_sent() {
    refused(&talk(&[('u', r#""a \ud83d b""#)]), Demand::WholeText);
    accepted(&talk(&[('u', r#""a \ud83d\ude00 b""#)]));
    let deep = r#"[{"type":"tool_use","id":"t1","name":"x","input":{"a":[{"\ude00":1}]}}]"#;
    refused(&talk(&[GO, ('a', deep), ('u', &list(&[&result("t1")]))]), Demand::WholeText);
}

#[test]
fn thinking_is_signed_leads_and_does_not_end() {
    let say = |blocks: &[&str]| talk(&[GO, ('a', &list(blocks)), ('u', &list(&[&result("t1")]))]);
    let (think, call) = (thinking("c2ln"), call("t1"));
    accepted(&say(&[&think, &think, TEXT, &call]));
    refused(&say(&[&thinking(""), &call]), Demand::Signature);
    refused(&say(&[r#"{"type":"thinking","thinking":"x"}"#, &call]), Demand::Signature);
    refused(&say(&[r#"{"type":"redacted_thinking","data":""}"#, &call]), Demand::Signature);
    refused(&say(&[TEXT, &think, &call]), Demand::ThinkingFirst);
    refused(&say(&[&think, &call, &think, TEXT]), Demand::ThinkingFirst);
    refused(&talk(&[GO, ('a', &list(&[&think])), GO]), Demand::ThinkingNotLast);
    refused(&talk(&[GO, ('a', &list(&[&think, TEXT, &think]))]), Demand::ThinkingNotLast);
    accepted(&talk(&[GO, ('a', &list(&[&think])), GO, ('a', &list(&[TEXT])), GO]));
}

#[test]
fn thinking_is_kept_byte_for_byte_or_not_at_all() {
    let block = r#"{"type":"thinking", "thinking":"\u00e9","signature":"s"}"#;
    let record = talk(&[GO, ('a', &list(&[block, TEXT]))]);
    assert_eq!(keeps_thinking(&record, &record), Ok(()));
    assert_eq!(keeps_thinking(&record, &record[..1]), Ok(()));
    for changed in
        [block.replace("\\u00e9", "é"), block.replace(", ", ","), block.replace("s\"}", "t\"}")]
    {
        let view = talk(&[GO, ('a', &list(&[&changed, TEXT]))]);
        let violations = keeps_thinking(&record, &view).unwrap_err();
        assert_eq!(violations.len(), 1);
        assert_eq!((violations[0].demand, violations[0].row), (Demand::ThinkingKept, 1));
    }
}

#[test]
fn pictures_are_what_they_say_and_not_too_large() {
    let show = |picture: &str| talk(&[('u', picture)]);
    let one = |media_type: &str, data: &str| show(&list(&[&image(media_type, data)]));
    accepted(&one("image/png", PNG));
    accepted(&one("image/png", &png(8000, 8000)));
    refused(&one("image/png", &png(8001, 10)), Demand::ImageDimensions);
    refused(&one("image/png", &png(0, 10)), Demand::ImageBytes);
    refused(&one("image/jpeg", PNG), Demand::ImageBytes);
    refused(&one("image/png", "PGh0bWw+"), Demand::ImageBytes);
    assert!(demands(&one("image/heic", PNG)).contains(&Demand::ImageSource));
    refused(&one("image/png", ""), Demand::ImageSource);
    refused(&one("image/png", "no base64"), Demand::ImageSource);
    for source in [r#"{"type":"url","url":"file:///x"}"#, r#"{"type":"path"}"#, "null"] {
        let block = format!(r#"[{{"type":"image","source":{source}}}]"#);
        refused(&show(&block), Demand::ImageSource);
    }
    let large = format!("{}{}", png(10, 10), "A".repeat(5 * 1024 * 1024));
    refused(&one("image/png", &large), Demand::ImageSize);
}

#[test]
fn many_pictures_must_be_small() {
    let (small, wide) = (image("image/png", PNG), image("image/png", &png(2001, 10)));
    let with = |more: usize| {
        let mut blocks = vec![small.as_str(); more];
        blocks.push(&wide);
        talk(&[('u', &list(&blocks))])
    };
    accepted(&with(0));
    refused(&with(1), Demand::ImageDimensions);
    // Those in results count as well.
    let result =
        format!(r#"[{{"type":"tool_result","tool_use_id":"t1","content":{}}}]"#, list(&[&small]));
    let view = talk(&[('u', &list(&[&wide])), ('a', &list(&[&call("t1")])), ('u', &result)]);
    refused(&view, Demand::ImageDimensions);
}
