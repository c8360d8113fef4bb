//! Everything that is known to happen to transcripts, and what is like it: each a small, named harm.
//!
//! The names in the comments are of the table in the house's list of reports.

use serde_json::{Value, json};

use super::chance::Chance;
use super::row::{
    AGAIN, HIGH, LOW, blocks, call, image, is, is_compaction, png, result, row, text, thinking,
    uuid,
};

type Rows = Vec<Value>;
type Harm = fn(&mut Rows, &mut Chance);

/// All harms, by name.
pub const HARMS: &[(&str, Harm)] = &[
    // Rows as such: killed in the middle, written twice, written by two at once.
    ("drop a row", |rows, chance| remove(rows, chance, 1)),
    ("drop some rows", |rows, chance| {
        let many = 2 + chance.below(4);
        remove(rows, chance, many);
    }),
    ("cut the end off", |rows, chance| {
        let keep = chance.below(rows.len() + 1);
        rows.truncate(keep);
    }),
    // A6, A9
    ("cut the beginning off", |rows, chance| {
        let from = chance.below(rows.len());
        rows.drain(..from);
    }),
    ("a row twice", |rows, chance| again(rows, chance, |_, _| {})),
    ("a row twice with another uuid", |rows, chance| {
        again(rows, chance, |row, number| row["uuid"] = json!(uuid(number)));
    }),
    // A43
    ("another row with the same uuid", |rows, chance| {
        again(rows, chance, |row, _| row["message"]["content"] = json!("something else"));
    }),
    ("a uuid of another row", |rows, chance| {
        let (one, other) = (at(rows, chance), at(rows, chance));
        set(rows, one, "uuid", rows.get(other).map(|row| row["uuid"].clone()));
    }),
    ("neighbours swapped", |rows, chance| {
        let at = at(rows, chance);
        if at + 1 < rows.len() {
            rows.swap(at, at + 1);
        }
    }),
    ("some rows shuffled", |rows, chance| {
        let from = at(rows, chance);
        let to = (from + 5).min(rows.len());
        shuffle(&mut rows[from..to], chance);
    }),
    ("all rows shuffled", |rows, chance| shuffle(rows, chance)),
    ("a row moved far", |rows, chance| {
        if !rows.is_empty() {
            let row = rows.remove(at(rows, chance));
            rows.insert(chance.below(rows.len() + 1), row);
        }
    }),
    // Chain: A41, A43
    ("an unknown parent", |rows, chance| parent(rows, chance, |_, _| json!("lost"))),
    ("many unknown parents", |rows, chance| {
        for _ in 0..4 {
            parent(rows, chance, |_, _| json!("lost"));
        }
    }),
    ("no parent", |rows, chance| parent(rows, chance, |_, _| Value::Null)),
    ("its own parent", |rows, chance| parent(rows, chance, |rows, at| rows[at]["uuid"].clone())),
    ("a circle", |rows, chance| {
        let last = rows.last().map(|row| row["uuid"].clone());
        let at = at(rows, chance);
        set(rows, at, "parentUuid", last);
    }),
    ("a parent that is no uuid", |rows, chance| {
        let odd = chance.pick(&[json!(7), json!(""), json!([]), json!({}), json!(false)]);
        let at = at(rows, chance);
        set(rows, at, "parentUuid", Some(odd));
    }),
    ("another row's parent", |rows, chance| {
        let (one, other) = (at(rows, chance), at(rows, chance));
        set(rows, one, "parentUuid", rows.get(other).map(|row| row["parentUuid"].clone()));
    }),
    ("gone back and asked otherwise", |rows, chance| {
        let at = at(rows, chance);
        if let Some(from) = rows.get(at).map(|row| row["uuid"].clone()) {
            rows.push(user(905, from, json!("rather something else")));
            append(
                rows,
                906,
                "assistant",
                json!({"id": "msg_o", "role": "assistant", "content": [text("then so")]}),
            );
        }
    }),
    ("below a made-up row that is gone", |rows, chance| {
        parent(rows, chance, |_, _| json!("heal-0123456789ab"));
    }),
    ("a uuid that is none", |rows, chance| {
        let odd =
            chance.pick(&[Value::Null, json!(""), json!(3), json!("not-a-uuid"), json!("../x")]);
        let at = at(rows, chance);
        set(rows, at, "uuid", Some(odd));
    }),
    ("a snapshot with a row's uuid", |rows, chance| {
        let at = at(rows, chance);
        if let Some(uuid) = rows.get(at).map(|row| row["uuid"].clone()) {
            rows.insert(
                at,
                json!({"type": "file-history-snapshot", "uuid": uuid, "messageId": uuid}),
            );
        }
    }),
    // Pairs: A1, A2, A4, A5, A8, A10, A12, A15, A16, A18
    ("a call without its result", |rows, chance| take_block(rows, chance, "tool_result")),
    ("a result without its call", |rows, chance| take_block(rows, chance, "tool_use")),
    ("a result at the head", |rows, chance| {
        let number = 900 + chance.below(50);
        rows.insert(0, user(number, Value::Null, json!([result("toolu_head", "late")])));
    }),
    ("a result for a stranger", |rows, chance| {
        let number = 900 + chance.below(50);
        let at = at(rows, chance);
        insert_below(
            rows,
            at,
            user(number, Value::Null, json!([result("toolu_nobody", "for whom")])),
        );
    }),
    ("interrupted three times, then a prompt", |rows, chance| {
        let ids: Vec<String> = (0..3).map(|_| format!("toolu_x{}", chance.below(1000))).collect();
        let calls: Vec<Value> = ids.iter().map(|id| call(id)).collect();
        let from = 950 + chance.below(10);
        append(
            rows,
            from,
            "assistant",
            json!({"id": "msg_x", "role": "assistant", "content": calls}),
        );
        for more in 0..3 {
            let said = json!([text("[Request interrupted by user]")]);
            append(rows, from + 1 + more, "user", json!({"role": "user", "content": said}));
        }
        append(rows, from + 4, "user", json!({"role": "user", "content": "go on then"}));
    }),
    ("killed in the middle of a call", |rows, chance| {
        let odd =
            chance.pick(&[json!({}), Value::Null, json!("{\"comm"), json!({"command": "ma"})]);
        let mut half = call("toolu_half");
        half["input"] = odd;
        append(
            rows,
            960,
            "assistant",
            json!({"id": "msg_h", "role": "assistant", "content": [half], "stop_reason": null}),
        );
    }),
    ("a remark between call and result", |rows, chance| {
        if let Some((at, _)) = find(rows, chance, "tool_use") {
            let number = 970 + chance.below(20);
            insert_below(rows, at, user(number, Value::Null, json!("a remark between")));
        }
    }),
    ("a remark before the results", |rows, chance| {
        edit_row_with(rows, chance, "tool_result", |blocks, _| {
            blocks.insert(0, text("a remark before"))
        });
    }),
    ("a remark among the results", |rows, chance| {
        edit_row_with(rows, chance, "tool_result", |blocks, chance| {
            blocks.insert(chance.below(blocks.len() + 1), text("a remark among"));
        });
    }),
    ("a result moved far", |rows, chance| {
        if let Some((at, _)) = find(rows, chance, "tool_result") {
            let row = rows.remove(at);
            rows.insert(chance.below(rows.len() + 1), row);
        }
    }),
    ("a second result with another text", |rows, chance| {
        if let Some((at, block)) = find(rows, chance, "tool_result") {
            let id = rows[at]["message"]["content"][block]["tool_use_id"].clone();
            let mut other = result("", "another answer");
            other["tool_use_id"] = id;
            if chance.one_in(2) {
                blocks(&mut rows[at]).unwrap().push(other);
            } else {
                let number = 980 + chance.below(9);
                let below = chance.below(rows.len());
                insert_below(rows, below, user(number, Value::Null, json!([other])));
            }
        }
    }),
    ("results of several calls in one row", |rows, chance| {
        let mut moved = Vec::new();
        while let Some((at, block)) = find(rows, chance, "tool_result") {
            moved.push(blocks(&mut rows[at]).unwrap().remove(block));
        }
        let number = 990 + chance.below(9);
        append(rows, number, "user", json!({"role": "user", "content": moved}));
    }),
    ("a result in the model's mouth", |rows, chance| {
        edit_row_with(rows, chance, "tool_use", |blocks, _| {
            let id = blocks.iter().find_map(|block| block["id"].as_str()).unwrap_or_default();
            blocks.push(result(id, "from the model"));
        });
    }),
    ("a call in the user's mouth", |rows, chance| {
        edit_row_with(rows, chance, "tool_result", |blocks, _| blocks.push(call("toolu_user")));
    }),
    // Ids: A19, A21
    ("another id of a call", |rows, chance| {
        edit_block(rows, chance, "tool_use", |block, _| block["id"] = json!("toolu_changed"));
    }),
    ("another id of a result", |rows, chance| {
        edit_block(rows, chance, "tool_result", |block, _| {
            block["tool_use_id"] = json!("toolu_changed");
        });
    }),
    ("odd ids", |rows, chance| {
        let odd = chance.pick(&[
            json!(""),
            json!("a b"),
            json!("call.1"),
            json!("ключ"),
            json!("x".repeat(300)),
            json!(" "),
            json!(5),
            Value::Null,
            json!([]),
        ]);
        rename(rows, chance, &odd);
    }),
    ("all ids empty", |rows, chance| {
        while let Some((at, block)) =
            find_where(rows, chance, |block| block["id"].as_str().is_some_and(|id| !id.is_empty()))
        {
            let id = rows[at]["message"]["content"][block]["id"].clone();
            rename_all(rows, &id, &json!(""));
        }
    }),
    ("the id of another call", |rows, chance| {
        if let Some((at, block)) = find(rows, chance, "tool_use") {
            let other = rows[at]["message"]["content"][block]["id"].clone();
            rename(rows, chance, &other);
        }
    }),
    ("no id at all", |rows, chance| {
        edit_block(rows, chance, "tool_use", |block, _| {
            block.as_object_mut().unwrap().remove("id");
        });
    }),
    ("a call twice in one message", |rows, chance| {
        edit_row_with(rows, chance, "tool_use", |blocks, _| {
            let call = blocks.iter().find(|block| is(block, "tool_use")).cloned();
            blocks.extend(call);
        });
    }),
    ("odd inputs", |rows, chance| {
        let odd = chance.pick(&[Value::Null, json!("{}"), json!([]), json!(1), json!(true)]);
        edit_block(rows, chance, "tool_use", |block, chance| {
            if chance.one_in(3) {
                block.as_object_mut().unwrap().remove("input");
            } else {
                block["input"] = odd;
            }
        });
    }),
    // A14
    ("odd tool names", |rows, chance| {
        let odd = chance.pick(&[
            json!("mcp__gone__tool"),
            json!(""),
            Value::Null,
            json!(4),
            json!("n".repeat(201)),
        ]);
        edit_block(rows, chance, "tool_use", |block, _| block["name"] = odd);
    }),
    // Results
    ("odd results", |rows, chance| {
        let odd = chance.pick(&[
            Value::Null,
            json!(5),
            json!({}),
            json!([null]),
            json!(["x"]),
            json!([[]]),
            json!([]),
            json!([{"type": "video"}]),
            json!([{"type": "text"}]),
            json!([{"type": "text", "text": ""}]),
            json!([{"type": "text", "text": "", "cache_control": {"type": "ephemeral"}}]),
        ]);
        edit_block(rows, chance, "tool_result", |block, _| block["content"] = odd);
    }),
    ("an error without a word", |rows, chance| {
        let odd = chance.pick(&[json!(""), json!([]), Value::Null]);
        edit_block(rows, chance, "tool_result", |block, _| {
            block["content"] = odd;
            block["is_error"] = json!(true);
        });
    }),
    ("an odd error flag", |rows, chance| {
        let odd = chance.pick(&[Value::Null, json!("true"), json!(1)]);
        edit_block(rows, chance, "tool_result", |block, _| block["is_error"] = odd);
    }),
    ("a refusal", |rows, chance| {
        if let Some((at, _)) = find(rows, chance, "tool_result") {
            rows[at]["toolDenialKind"] = json!("permission-rule");
        }
    }),
    ("all refused", |rows, _| {
        for row in rows.iter_mut().filter(|row| row["type"] == "user") {
            row["toolDenialKind"] = json!("permission-rule");
        }
    }),
    // Thinking: A23 to A29
    ("no signature", |rows, chance| {
        let odd = chance.pick(&[json!(""), Value::Null, json!(9), json!(" ")]);
        edit_block(rows, chance, "thinking", |block, _| block["signature"] = odd);
    }),
    ("thinking without thinking", |rows, chance| {
        edit_block(rows, chance, "thinking", |block, _| {
            block.as_object_mut().unwrap().remove("thinking");
        });
    }),
    ("redacted thinking", |rows, chance| {
        let data = chance.pick(&[json!("b2theQ=="), json!(""), Value::Null]);
        edit_block(rows, chance, "thinking", |block, _| {
            *block = json!({"type": "redacted_thinking", "data": data});
        });
    }),
    ("thinking at the end", |rows, _| {
        let said = json!([thinking("cut off")]);
        append(
            rows,
            940,
            "assistant",
            json!({"id": "msg_t", "role": "assistant", "content": said}),
        );
    }),
    ("thinking somewhere", |rows, chance| {
        let kind = chance.pick(&["text", "tool_use", "tool_result"]);
        edit_row_with(rows, chance, kind, |blocks, chance| {
            blocks.insert(chance.below(blocks.len() + 1), thinking("in between"));
        });
    }),
    ("only thinking left", |rows, chance| {
        edit_row_with(rows, chance, "thinking", |blocks, _| {
            blocks.retain(|block| is(block, "thinking"));
        });
    }),
    // Texts: A31, A32, A34
    ("blank texts", |rows, chance| {
        let odd = chance.pick(&[json!(""), json!(" "), json!("\n\n\t")]);
        edit_block(rows, chance, "text", |block, chance| {
            block["text"] = odd;
            if chance.one_in(2) {
                block["cache_control"] = json!({"type": "ephemeral"});
            }
        });
    }),
    ("blank rows at the end", |rows, chance| {
        for number in 930..931 + chance.below(3) {
            let said = json!([text("")]);
            append(
                rows,
                number,
                "assistant",
                json!({"id": format!("msg_b{number}"), "role": "assistant", "content": said}),
            );
        }
    }),
    ("many cache marks", |rows, _| {
        for row in rows.iter_mut() {
            for block in blocks(row).into_iter().flatten().filter(|block| block.is_object()) {
                block["cache_control"] = json!({"type": "ephemeral"});
            }
        }
    }),
    ("texts that are none", |rows, chance| {
        let odd = chance.pick(&[Value::Null, json!(1), json!(["x"]), json!({"text": "x"})]);
        edit_block(rows, chance, "text", |block, _| block["text"] = odd);
    }),
    ("half a surrogate pair", |rows, chance| {
        let half = chance.pick(&[
            format!("cut {HIGH}"),
            format!("{LOW} cut"),
            format!("{HIGH}{HIGH}{LOW}"),
        ]);
        let field = chance.pick(&["text", "content", "thinking", "name"]);
        let found = find_where(rows, chance, |block| block[field].is_string());
        if let Some((at, block)) = found {
            rows[at]["message"]["content"][block][field] = json!(half);
        } else if let Some(row) = rows.iter_mut().find(|row| row["message"]["content"].is_string())
        {
            row["message"]["content"] = json!(half);
        }
    }),
    ("half a surrogate pair deep down", |rows, chance| {
        edit_block(rows, chance, "tool_use", |block, _| {
            block["input"] = json!({"a": [format!("x{HIGH}")], format!("k{LOW}"): 1});
        });
    }),
    ("half a surrogate pair beside the message", |rows, chance| {
        let at = at(rows, chance);
        set(rows, at, "toolUseResult", Some(json!({"stdout": format!("{HIGH}")})));
    }),
    ("a huge text", |rows, chance| {
        if chance.one_in(20) {
            edit_block(rows, chance, "tool_result", |block, _| {
                block["content"] = json!("x\n".repeat(60_000))
            });
        } else {
            edit_block(rows, chance, "tool_result", |block, _| {
                block["content"] = json!("y".repeat(2_001))
            });
        }
    }),
    ("a tiny text", |rows, chance| {
        edit_block(rows, chance, "text", |block, _| block["text"] = json!("."));
    }),
    // Pictures: A36 to A40
    ("odd pictures", |rows, chance| {
        let block = odd_picture(chance);
        place_picture(rows, chance, block);
    }),
    ("many pictures", |rows, chance| {
        let side = chance.pick(&[100, 2000, 2001, 2162]);
        let mut more: Vec<Value> = (0..21).map(|_| image("image/png", &png(10, 10))).collect();
        more.push(image("image/png", &png(side, 322)));
        let kind = chance.pick(&["text", "tool_result"]);
        if chance.one_in(2) {
            edit_row_with(rows, chance, kind, |blocks, _| blocks.extend(more));
        } else {
            edit_block(rows, chance, "tool_result", |block, _| block["content"] = json!(more));
        }
    }),
    // Content as a whole
    ("odd contents", |rows, chance| {
        let odd = chance.pick(&[
            Value::Null,
            json!(""),
            json!([]),
            json!(5),
            json!({"type": "text", "text": "x"}),
            json!("  "),
            json!("only a string"),
            json!([[]]),
            json!(false),
        ]);
        let at = at(rows, chance);
        if rows.get(at).is_some_and(|row| row["message"].is_object()) {
            rows[at]["message"]["content"] = odd;
        }
    }),
    ("odd messages", |rows, chance| {
        let odd = chance.pick(&[Value::Null, json!([]), json!("x"), json!(1), json!({})]);
        let at = at(rows, chance);
        set(rows, at, "message", Some(odd));
    }),
    ("odd blocks", |rows, chance| {
        let odd = chance.pick(&[
            Value::Null,
            json!("a string"),
            json!(1),
            json!([]),
            json!({}),
            json!({"type": "video"}),
            json!({"type": null}),
            json!({"type": 5, "text": "x"}),
            json!({"type": "fallback", "x": 1}),
            json!({"type": "document"}),
            json!({"type": "image"}),
            json!({"type": "connector_text", "connector_text": "x"}),
        ]);
        let kind = chance.pick(&["text", "tool_use", "tool_result"]);
        edit_row_with(rows, chance, kind, |blocks, chance| {
            blocks.insert(chance.below(blocks.len() + 1), odd);
        });
    }),
    ("odd roles", |rows, chance| {
        let odd = chance.pick(&[
            Value::Null,
            json!("system"),
            json!("user"),
            json!("assistant"),
            json!(""),
            json!(1),
        ]);
        let at = at(rows, chance);
        if rows.get(at).is_some_and(|row| row["message"].is_object()) {
            rows[at]["message"]["role"] = odd;
        }
    }),
    ("odd types", |rows, chance| {
        let odd = chance.pick(&[
            Value::Null,
            json!("human"),
            json!("user"),
            json!("assistant"),
            json!("system"),
            json!(1),
        ]);
        let at = at(rows, chance);
        set(rows, at, "type", Some(odd));
    }),
    ("odd flags", |rows, chance| {
        let name = chance.pick(&["isSidechain", "isMeta", "isApiErrorMessage", "isCompactSummary"]);
        let odd = chance.pick(&[json!(true), json!(true), json!("yes"), json!(1), Value::Null]);
        let at = at(rows, chance);
        set(rows, at, name, Some(odd));
    }),
    ("an id shared by two replies", |rows, chance| {
        let (one, other) = (find(rows, chance, "text"), find(rows, chance, "text"));
        if let (Some((one, _)), Some((other, _))) = (one, other) {
            let id = rows[one]["message"]["id"].clone();
            rows[other]["message"]["id"] = id;
        }
    }),
    ("odd ids of replies", |rows, chance| {
        let odd = chance.pick(&[Value::Null, json!(""), json!(2)]);
        for row in rows.iter_mut().filter(|row| row["type"] == "assistant") {
            if row["message"].is_object() {
                row["message"]["id"] = odd.clone();
            }
        }
    }),
    ("a key twice", |rows, chance| {
        let at = at(rows, chance);
        let name = chance.pick(&["uuid", "parentUuid", "message", "type"]);
        set(rows, at, &format!("{name}{AGAIN}"), Some(json!("said again")));
    }),
    ("absurd rows", |rows, chance| {
        let mut deep = json!(1);
        for _ in 0..90 {
            deep = json!([deep]);
        }
        let odd = chance.pick(&[
            json!({}),
            json!({"type": "user"}),
            json!({"type": "assistant", "message": {"role": "assistant"}}),
            json!({"message": {"content": "nobody's"}}),
            json!({"type": ["user"]}),
            json!({"uuid": {}, "parentUuid": {}}),
            json!({"type": "user", "message": {"content": [{"type": "text"}]}}),
            json!({"type": "system", "deep": deep}),
            json!({"": ""}),
            json!({"type": "user", "uuid": "odd", "parentUuid": "odd", "message": {"content": {}}}),
        ]);
        rows.insert(chance.below(rows.len() + 1), odd);
    }),
    ("a silent row", |rows, chance| {
        let kind = chance.pick(&["assistant", "user"]);
        let number = 910 + chance.below(9);
        let at = at(rows, chance);
        insert_below(
            rows,
            at,
            row(kind, &uuid(number), None, json!({"role": kind, "content": []})),
        );
    }),
    // The API failed: A32's errors at the end, and a whole circle of them.
    ("errors of the API at the end", |rows, chance| {
        for number in 920..921 + chance.below(3) {
            append(
                rows,
                number,
                "assistant",
                json!({"id": "e", "role": "assistant", "model": "<synthetic>", "content": [text("API Error")]}),
            );
        }
    }),
    ("a reply becomes an error of the API", |rows, chance| {
        if let Some((at, _)) = find(rows, chance, "text") {
            rows[at]["isApiErrorMessage"] = json!(true);
        }
    }),
    // Compaction: A10, A15, A44
    ("compacted here", |rows, chance| {
        let at = at(rows, chance);
        compact(rows, at, chance);
    }),
    ("compacted at the end", |rows, chance| {
        let at = rows.len();
        compact(rows, at, chance);
    }),
    ("compacted twice", |rows, chance| {
        for _ in 0..2 {
            let at = chance.below(rows.len() + 1);
            compact(rows, at, chance);
        }
    }),
    ("compacted between call and result", |rows, chance| {
        if let Some((at, _)) = find(rows, chance, "tool_use") {
            compact(rows, at + 1, chance);
        }
    }),
    ("a boundary alone", |rows, chance| {
        let number = 890 + chance.below(9);
        let mut boundary = row("system", &uuid(number), None, Value::Null);
        boundary["subtype"] = json!("compact_boundary");
        if chance.one_in(2) {
            boundary.as_object_mut().unwrap().remove("uuid");
        }
        rows.insert(chance.below(rows.len() + 1), boundary);
    }),
    ("a boundary that keeps the tail", |rows, chance| {
        let uuids: Vec<Value> = rows.iter().map(|row| row["uuid"].clone()).collect();
        let at = rows.len();
        compact(rows, at, chance);
        let head = chance.below(uuids.len());
        if let (Some(boundary), false) =
            (rows.iter_mut().rfind(|row| is_compaction(row)), uuids.is_empty())
        {
            boundary["compactMetadata"]["preservedSegment"] = json!({"headUuid": uuids[head], "anchorUuid": boundary["uuid"], "tailUuid": uuids.last()});
        }
    }),
    ("a summary without a boundary", |rows, chance| {
        rows.retain(|row| row["subtype"] != "compact_boundary");
        let at = at(rows, chance);
        set(rows, at, "isCompactSummary", Some(json!(true)));
    }),
];

fn at(rows: &Rows, chance: &mut Chance) -> usize {
    chance.below(rows.len())
}

fn set(rows: &mut Rows, at: usize, name: &str, value: Option<Value>) {
    if let (Some(row), Some(value)) = (rows.get_mut(at), value) {
        row[name] = value;
    }
}

fn user(number: usize, parent: Value, content: Value) -> Value {
    let mut row = row("user", &uuid(number), None, json!({"role": "user", "content": content}));
    row["parentUuid"] = parent;
    row
}

fn remove(rows: &mut Rows, chance: &mut Chance, many: usize) {
    let from = at(rows, chance);
    rows.drain(from..(from + many).min(rows.len()));
}

/// A copy of a row, changed by `edit`, right behind it or at the end.
fn again(rows: &mut Rows, chance: &mut Chance, edit: fn(&mut Value, usize)) {
    let at = at(rows, chance);
    let Some(mut row) = rows.get(at).cloned() else { return };
    if row["message"].is_object() {
        edit(&mut row, 800 + chance.below(90));
    }
    let place = if chance.one_in(2) { at + 1 } else { rows.len() };
    rows.insert(place, row);
}

fn shuffle(rows: &mut [Value], chance: &mut Chance) {
    for at in (1..rows.len()).rev() {
        rows.swap(at, chance.below(at + 1));
    }
}

fn parent(rows: &mut Rows, chance: &mut Chance, pick: fn(&Rows, usize) -> Value) {
    let at = at(rows, chance);
    if at < rows.len() {
        rows[at]["parentUuid"] = pick(rows, at);
    }
}

/// Puts a row below the one at `at`; what followed that follows it.
fn insert_below(rows: &mut Rows, at: usize, mut row: Value) {
    let Some(above) = rows.get(at).map(|above| above["uuid"].clone()) else { return };
    for below in rows.iter_mut().filter(|below| below["parentUuid"] == above && above.is_string()) {
        below["parentUuid"] = row["uuid"].clone();
    }
    row["parentUuid"] = above;
    rows.insert(at + 1, row);
}

fn append(rows: &mut Rows, number: usize, kind: &str, message: Value) {
    let parent = rows.iter().rev().find_map(|row| row["uuid"].as_str()).map(str::to_owned);
    rows.push(row(kind, &uuid(number), parent.as_deref(), message));
}

/// The places of a block, row and index, chosen from all that `fits`.
fn find_where(
    rows: &Rows,
    chance: &mut Chance,
    fits: impl Fn(&Value) -> bool,
) -> Option<(usize, usize)> {
    let mut found = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        for (index, block) in row["message"]["content"].as_array().into_iter().flatten().enumerate()
        {
            if block.is_object() && fits(block) {
                found.push((at, index));
            }
        }
    }
    (!found.is_empty()).then(|| chance.pick(&found))
}

fn find(rows: &Rows, chance: &mut Chance, kind: &str) -> Option<(usize, usize)> {
    find_where(rows, chance, |block| is(block, kind))
}

fn take_block(rows: &mut Rows, chance: &mut Chance, kind: &str) {
    edit_row_with(rows, chance, kind, |blocks, chance| {
        blocks.remove(chance.below(blocks.len()));
    });
}

fn edit_block(
    rows: &mut Rows,
    chance: &mut Chance,
    kind: &str,
    edit: impl FnOnce(&mut Value, &mut Chance),
) {
    if let Some((at, block)) = find(rows, chance, kind) {
        edit(&mut rows[at]["message"]["content"][block], chance);
    }
}

fn edit_row_with(
    rows: &mut Rows,
    chance: &mut Chance,
    kind: &str,
    edit: impl FnOnce(&mut Vec<Value>, &mut Chance),
) {
    if let Some((at, _)) = find(rows, chance, kind)
        && let Some(blocks) = blocks(&mut rows[at])
    {
        edit(blocks, chance);
    }
}

/// Another id for a call and its results.
fn rename(rows: &mut Rows, chance: &mut Chance, to: &Value) {
    if let Some((at, block)) = find(rows, chance, "tool_use") {
        let from = rows[at]["message"]["content"][block]["id"].clone();
        rename_all(rows, &from, to);
    }
}

fn rename_all(rows: &mut Rows, from: &Value, to: &Value) {
    for row in rows {
        for block in blocks(row).into_iter().flatten().filter(|block| block.is_object()) {
            for name in ["id", "tool_use_id"] {
                if block.get(name) == Some(from) {
                    block[name] = to.clone();
                }
            }
        }
    }
}

fn odd_picture(chance: &mut Chance) -> Value {
    let heic = super::row::base64(b"\0\0\0\x18ftypheic\0\0\0\0mif1heic");
    let html = super::row::base64(b"<!DOCTYPE html><html>not found</html>");
    let short =
        super::row::base64(b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01\0\0\x01\0\x01\0\0abcdefgh");
    match chance.below(14) {
        0 => image("image/png", &png(8001, 10)),
        1 => image("image/png", &png(10, 70_000)),
        2 => image("image/png", &html),
        3 => image("image/jpeg", &short),
        4 => image("image/heic", &heic),
        5 => image("image/png", &heic),
        6 => image("image/png", ""),
        7 => image("image/jpeg", &png(10, 10)),
        8 => image("image/png", "%%% no base64"),
        9 => image("image/tiff", &png(10, 10)),
        10 => json!({"type": "image"}),
        11 => json!({"type": "image", "source": {"type": "url", "url": "file:///tmp/x.png"}}),
        12 => {
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": null}})
        }
        // Large ones are slow to look at.
        _ if chance.one_in(200) => {
            image("image/png", &format!("{}{}", png(9, 9), "A".repeat(5_300_000)))
        }
        _ => image("image/gif", &super::row::base64(b"GIF89a\0\0\0\0")),
    }
}

fn place_picture(rows: &mut Rows, chance: &mut Chance, block: Value) {
    match chance.below(3) {
        0 => edit_row_with(rows, chance, "text", |blocks, _| blocks.push(block)),
        1 => edit_row_with(rows, chance, "image", |blocks, _| blocks.push(block)),
        _ => {
            edit_block(rows, chance, "tool_result", |result, _| result["content"] = json!([block]))
        }
    }
}

fn compact(rows: &mut Rows, at: usize, chance: &mut Chance) {
    let number = 840 + 2 * chance.below(20);
    let before = rows[..at.min(rows.len())].iter().rev().find_map(|row| row["uuid"].as_str());
    let mut boundary = row("system", &uuid(number), None, Value::Null);
    boundary["subtype"] = json!("compact_boundary");
    if chance.one_in(2) {
        boundary["logicalParentUuid"] = json!(before);
        boundary["compactMetadata"] = json!({"trigger": "auto"});
    }
    let mut summary = row(
        "user",
        &uuid(number + 1),
        Some(&uuid(number)),
        json!({"role": "user", "content": "summary"}),
    );
    summary["isCompactSummary"] = json!(true);
    // The next row hangs below the summary, or is left where it hung.
    if let Some(next) = rows.get_mut(at)
        && !chance.one_in(3)
    {
        next["parentUuid"] = json!(uuid(number + 1));
    }
    let at = at.min(rows.len());
    rows.insert(at, summary);
    rows.insert(at, boundary);
}
