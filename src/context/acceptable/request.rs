//! What the API demands of a request as a whole: who speaks, what answers what, how much of everything.

use std::collections::HashSet;

use serde_json::Value;

use super::read::Row;
use super::{Demand, Findings, picture};

const MOST_CACHE_MARKS: usize = 4;
/// With more pictures than this each must be smaller; see `demand`.
const MANY_PICTURES: usize = 1;
const LONGEST_OF_MANY: u32 = 2000;

/// One message of the request.
struct Turn<'a> {
    assistant: bool,
    /// The `message.id` of the last row in it.
    id: Option<&'a str>,
    /// With the places of their rows.
    blocks: Vec<(usize, &'a Value)>,
    row: usize,
}

impl<'a> Turn<'a> {
    fn new(row: &'a Row) -> Self {
        let mut turn = Self { assistant: row.assistant, id: None, blocks: Vec::new(), row: row.at };
        turn.join(row);
        turn
    }

    fn join(&mut self, row: &'a Row) {
        self.id = row.message_id();
        match &row.message["content"] {
            Value::Array(blocks) => self.blocks.extend(blocks.iter().map(|block| (row.at, block))),
            text => self.blocks.push((row.at, text)),
        }
    }

    fn of_kind(&self, kind: &str) -> impl Iterator<Item = (usize, &'a Value)> {
        self.blocks.iter().copied().filter(move |(_, block)| block["type"] == kind)
    }

    fn only_results(&self) -> bool {
        self.blocks.iter().all(|(_, block)| block["type"] == "tool_result")
    }
}

pub(super) fn check(rows: &[&Row], findings: &mut Findings) {
    let turns = turns(rows);
    if let Some(first) = turns.first() {
        findings.demand(!first.assistant, Demand::UserFirst, first.row, "the model's");
    }
    for (at, turn) in turns.iter().enumerate() {
        if turn.assistant {
            check_calls(turn, turns.get(at + 1), findings);
            check_thinking(turn, findings);
        } else {
            let before = at.checked_sub(1).map(|before| &turns[before]);
            check_results(turn, before, findings);
        }
    }
    if let Some(last) = turns.iter().rfind(|turn| turn.assistant)
        && let Some((row, block)) = last.blocks.last()
    {
        findings.demand(!is_thinking(block), Demand::ThinkingNotLast, *row, "thinking is last");
    }
    check_ids(&turns, findings);
    check_amounts(&turns, findings);
}

fn turns<'a>(rows: &[&'a Row]) -> Vec<Turn<'a>> {
    let mut turns: Vec<Turn<'a>> = Vec::new();
    for row in rows.iter().filter(|row| row.speaks) {
        let place = match turns.as_slice() {
            [.., last] if last.assistant == row.assistant => Some(turns.len() - 1),
            // Another part of a message whose first calls were answered already.
            [.., part, results]
                if row.message_id().is_some()
                    && part.id == row.message_id()
                    && results.only_results() =>
            {
                Some(turns.len() - 2)
            }
            _ => None,
        };
        match place {
            Some(place) => turns[place].join(row),
            None => turns.push(Turn::new(row)),
        }
    }
    turns
}

fn check_calls(turn: &Turn<'_>, next: Option<&Turn<'_>>, findings: &mut Findings) {
    let answered: HashSet<&str> = next
        .into_iter()
        .flat_map(|next| next.of_kind("tool_result"))
        .filter_map(|(_, block)| block["tool_use_id"].as_str())
        .collect();
    for (row, block) in turn.of_kind("tool_use") {
        let id = block["id"].as_str().unwrap_or_default();
        findings.demand(answered.contains(id), Demand::Answered, row, id);
    }
}

fn check_results(turn: &Turn<'_>, before: Option<&Turn<'_>>, findings: &mut Findings) {
    let calls: HashSet<&str> = before
        .into_iter()
        .flat_map(|before| before.of_kind("tool_use"))
        .filter_map(|(_, block)| block["id"].as_str())
        .collect();
    let mut answered = HashSet::new();
    let mut other = false;
    for (row, block) in &turn.blocks {
        if block["type"] != "tool_result" {
            other = true;
            continue;
        }
        let id = block["tool_use_id"].as_str().unwrap_or_default();
        findings.demand(!other, Demand::ResultsFirst, *row, id);
        findings.demand(calls.contains(id), Demand::ResultHasCall, *row, id);
        findings.demand(answered.insert(id), Demand::AnsweredOnce, *row, id);
    }
}

fn is_thinking(block: &Value) -> bool {
    block["type"] == "thinking" || block["type"] == "redacted_thinking"
}

fn check_thinking(turn: &Turn<'_>, findings: &mut Findings) {
    let mut called = false;
    let led = turn.blocks.first().is_some_and(|(_, block)| is_thinking(block));
    for (row, block) in &turn.blocks {
        if is_thinking(block) {
            findings.demand(led, Demand::ThinkingFirst, *row, "the message begins otherwise");
            findings.demand(!called, Demand::ThinkingFirst, *row, "behind a call");
        }
        called |= block["type"] == "tool_use";
    }
}

fn check_ids(turns: &[Turn<'_>], findings: &mut Findings) {
    let mut ids = HashSet::new();
    for (row, block) in turns.iter().flat_map(|turn| &turn.blocks) {
        if matches!(block["type"].as_str(), Some("tool_use" | "server_tool_use" | "mcp_tool_use"))
            && let Some(id) = block["id"].as_str()
        {
            findings.demand(ids.insert(id), Demand::UniqueId, *row, id);
        }
    }
}

fn check_amounts(turns: &[Turn<'_>], findings: &mut Findings) {
    let mut marks = 0;
    let mut pictures = Vec::new();
    for (row, block) in turns.iter().flat_map(|turn| &turn.blocks) {
        let inner = block["content"].as_array().map_or(&[] as &[Value], Vec::as_slice);
        for block in std::iter::once(*block).chain(inner) {
            if !block["cache_control"].is_null() {
                marks += 1;
                findings.demand(
                    marks <= MOST_CACHE_MARKS,
                    Demand::CacheControl,
                    *row,
                    "more than 4 marks",
                );
            }
            if block["type"] == "image" {
                pictures.push((*row, block));
            }
        }
    }
    if pictures.len() <= MANY_PICTURES {
        return;
    }
    for (row, block) in pictures {
        let size = picture::dimensions_of(&block["source"]);
        if let Some((width, height)) = size
            && width.max(height) > LONGEST_OF_MANY
        {
            let detail = format!("{width}x{height} among many");
            findings.add(Demand::ImageDimensions, row, detail);
        }
    }
}
