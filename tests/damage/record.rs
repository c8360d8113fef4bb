//! A transcript as it comes from a run that went well, or as well as runs go.

use serde_json::{Value, json};

use super::chance::Chance;
use super::row::{call, image, png, result, row, text, thinking, uuid};

struct Writer<'a> {
    chance: &'a mut Chance,
    rows: Vec<Value>,
    last: Option<String>,
    made: usize,
    /// Each block of a reply in a row of its own.
    split: bool,
}

/// Some turns, with what happens in them.
pub fn record(chance: &mut Chance) -> Vec<Value> {
    let split = !chance.one_in(3);
    let mut writer = Writer { chance, rows: Vec::new(), last: None, made: 0, split };
    // Mostly short, so that what is broken meets; now and then long.
    let turns = if writer.chance.one_in(40) { 12 } else { 1 + writer.chance.below(3) };
    for _ in 0..turns {
        writer.turn();
    }
    writer.rows
}

impl Writer<'_> {
    fn number(&mut self) -> usize {
        self.made += 1;
        self.made
    }

    /// A text that stands nowhere else.
    fn words(&mut self) -> String {
        let number = self.number();
        let tail = self.chance.pick(&["", " and on", "\n\tÄ 目标 😀", " \"quoted\" \\ back"]);
        format!("said {number}.{tail}")
    }

    fn push(&mut self, row: Value) -> String {
        let uuid = row["uuid"].as_str().unwrap().to_owned();
        self.last = Some(uuid.clone());
        self.rows.push(row);
        uuid
    }

    fn say(&mut self, kind: &str, message: Value) -> String {
        let uuid = uuid(self.number());
        let row = row(kind, &uuid, self.last.as_deref(), message);
        self.push(row)
    }

    fn turn(&mut self) {
        self.aside();
        match self.chance.below(12) {
            0 if !self.rows.is_empty() => self.compaction(),
            1 => self.failure(),
            _ => {}
        }
        self.prompt();
        for _ in 0..self.chance.below(3) {
            self.reply_with_calls();
        }
        if !self.chance.one_in(5) {
            self.reply(0);
        }
    }

    fn prompt(&mut self) {
        let words = self.words();
        let content = match self.chance.below(6) {
            0 => json!([text(&words), image("image/png", &png(40, 30))]),
            1 => json!([text(&words)]),
            _ => json!(words),
        };
        self.say("user", json!({"role": "user", "content": content}));
        if self.chance.one_in(8) {
            let words = self.words();
            self.say("user", json!({"role": "user", "content": words}));
            self.rows.last_mut().unwrap()["isMeta"] = json!(true);
        }
    }

    /// A reply of the model; the ids of its calls with the rows they stand in.
    fn reply(&mut self, calls: usize) -> Vec<(String, String)> {
        let id = format!("msg_{}", self.number());
        let mut blocks = Vec::new();
        if self.chance.one_in(3) {
            let words = self.words();
            blocks.push(thinking(&words));
        }
        if calls == 0 || self.chance.one_in(2) {
            let words = self.words();
            blocks.push(text(&words));
        }
        for _ in 0..calls {
            let mut call = call(&format!("toolu_{}", self.number()));
            if self.chance.one_in(4) {
                call["input"]["command"] = json!("git status");
            }
            blocks.push(call);
        }
        let rows: Vec<Vec<Value>> = if self.split {
            blocks.into_iter().map(|block| vec![block]).collect()
        } else {
            vec![blocks]
        };
        let mut made = Vec::new();
        for blocks in rows {
            let ids: Vec<String> =
                blocks.iter().filter_map(|block| block["id"].as_str()).map(str::to_owned).collect();
            let message = json!({
                "id": id, "type": "message", "role": "assistant", "model": "m", "content": blocks,
                "usage": {"input_tokens": 10, "output_tokens": 2},
            });
            let uuid = self.say("assistant", message);
            made.extend(ids.into_iter().map(|id| (id, uuid.clone())));
        }
        made
    }

    fn reply_with_calls(&mut self) {
        let calls = 1 + self.chance.below(3);
        let calls = self.reply(calls);
        if self.chance.one_in(6) {
            self.subagent();
        }
        if !self.split && self.chance.one_in(2) {
            let results = calls.iter().map(|(id, _)| result(id, format!("done {id}"))).collect();
            return drop(
                self.say("user", json!({"role": "user", "content": Value::Array(results)})),
            );
        }
        let mut interrupted = false;
        // Tools may be done before the model is.
        let early = self.split && self.chance.one_in(3);
        for (id, caller) in calls {
            interrupted |= self.answer(&id, &caller);
            if early {
                let result = self.rows.pop().unwrap();
                let call = self.rows.iter().position(|row| row["uuid"] == *caller).unwrap();
                self.rows.insert(call + 1, result);
            }
            if self.chance.one_in(10) {
                self.aside();
            }
        }
        if interrupted {
            let said = json!([text("[Request interrupted by user]")]);
            self.say("user", json!({"role": "user", "content": said}));
        }
    }

    /// The result of one call, below it; true where the person interrupted it.
    fn answer(&mut self, id: &str, caller: &str) -> bool {
        let mut block = match self.chance.below(7) {
            0 => result(id, json!([text("part one"), text("part two")])),
            1 => result(id, json!([image("image/png", &png(50, 60)), text("seen")])),
            2 => result(id, ""),
            3 => json!({"type": "tool_result", "tool_use_id": id}),
            _ => result(id, format!("done {id}")),
        };
        let kind = self.chance.below(14);
        match kind {
            0 => {
                block["content"] = json!("[Request interrupted by user for tool use]");
                block["is_error"] = json!(true);
            }
            1 | 2 => {
                block["content"] = json!("refused by rule");
                block["is_error"] = json!(true);
            }
            _ => {}
        }
        let before = self.last.replace(caller.to_owned());
        self.say("user", json!({"role": "user", "content": [block]}));
        let row = self.rows.last_mut().unwrap();
        row["toolUseResult"] = json!({"stdout": "done"});
        row["sourceToolAssistantUUID"] = json!(caller);
        if matches!(kind, 1 | 2) {
            row["toolDenialKind"] = json!("permission-rule");
        }
        // Some tools hang everything in one line instead of under its call.
        if !self.split {
            row["parentUuid"] = json!(before);
        }
        kind == 0
    }

    /// A subagent's rows, with a root of their own.
    fn subagent(&mut self) {
        let main = self.last.take();
        let from = self.rows.len();
        let words = self.words();
        self.say("user", json!({"role": "user", "content": words}));
        let calls = self.reply(1);
        let (id, caller) = calls[0].clone();
        if !self.chance.one_in(4) {
            self.answer(&id, &caller);
        }
        for row in &mut self.rows[from..] {
            row["isSidechain"] = json!(true);
            row["agentId"] = json!("a1");
        }
        self.last = main;
    }

    /// Rows beside the conversation, with a uuid and without.
    fn aside(&mut self) {
        let number = self.number();
        let uuid = uuid(number);
        match self.chance.below(8) {
            0 => {
                let mut row = row("attachment", &uuid, self.last.as_deref(), Value::Null);
                row["attachment"] = json!({"type": "date", "date": "2026-03-01"});
                self.push(row);
            }
            1 => {
                let mut row = row("system", &uuid, self.last.as_deref(), Value::Null);
                row["subtype"] = json!("stop_hook_summary");
                self.push(row);
            }
            2 => {
                let kind =
                    self.chance.pick(&["mode", "last-prompt", "queue-operation", "cost-state"]);
                self.rows.push(json!({"type": kind, "sessionId": "s", "n": number}));
            }
            3 => {
                let of = self.last.clone().unwrap_or_default();
                self.rows.push(
                    json!({"type": "file-history-snapshot", "messageId": of, "snapshot": {}}),
                );
            }
            _ => {}
        }
    }

    /// The API failed, and the harness wrote that down.
    fn failure(&mut self) {
        for _ in 0..1 + self.chance.below(3) {
            self.say(
                "assistant",
                json!({"id": "e", "role": "assistant", "model": "<synthetic>", "content": [text("API Error: 529")]}),
            );
            self.rows.last_mut().unwrap()["isApiErrorMessage"] = json!(true);
        }
    }

    fn compaction(&mut self) {
        let number = self.number();
        let mut boundary = row("system", &uuid(number), None, Value::Null);
        boundary["subtype"] = json!("compact_boundary");
        boundary["logicalParentUuid"] = json!(self.last);
        boundary["compactMetadata"] = json!({"trigger": "auto", "preTokens": 155_000});
        self.push(boundary);
        let words = format!("This session is being continued. {}", self.words());
        self.say("user", json!({"role": "user", "content": words}));
        let row = self.rows.last_mut().unwrap();
        row["isCompactSummary"] = json!(true);
        row["isVisibleInTranscriptOnly"] = json!(true);
    }
}
