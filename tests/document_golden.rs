//! The papers are read as recorded, and better where the record is known to be wrong.

// The rows are ours; one that is not as described must fail loudly.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use flower::document::{Brief, Goal, Handoff, Verdict, VerdictState};
use flower::language::Language::Chinese;
use serde_json::Value;

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|item| item.as_str().unwrap()).collect()
}

fn suspect(row: &Value) -> bool {
    row["suspect"] == true
}

/// Where the recorded answer is wrong: goal, acceptance, boundaries, unknowns as they should be.
fn better_briefs() -> BTreeMap<&'static str, [&'static str; 4]> {
    BTreeMap::from([
        ("chinese_numerals", ["A", "B", "C", "D"]),
        ("bracketed_numbers", ["A", "B", "", ""]),
        // Two labels of one section: both texts belong to it.
        ("alias_split", ["A", "B", "C", "D1\nD2"]),
        // Words to the reader after a rule are no assumption.
        (
            "postamble",
            ["做一个 md 转 html 的工具", "- 跑得通\n- 有测试", "只支持标题", "按 Python 3.11 处理"],
        ),
        // An open fence ends at the next known heading.
        ("unclosed_fence_early", ["A", "B", "C", ""]),
        ("nested_fence", ["A", "", "", ""]),
        ("word_at_line_start", ["A", "B", "只做 A\n目标平台是 Linux\n不做 B", "D"]),
        // The rest of a longer heading is a part of the heading.
        ("word_prefix_heading", ["A", "B", "C", "D"]),
        ("assumption_line", ["A", "B", "C", "假设 Python 3.11\n假设没有 GUI\n- 假设网络可用"]),
        // What is not a goal is a boundary.
        ("non_goals", ["A", "B", "X", ""]),
        ("unknown_heading_between", ["A", "B", "", ""]),
        ("quote_heading", ["A", "", "C", ""]),
        ("bracket_heading", ["A", "B", "C", "D"]),
        ("closing_hashes", ["A", "", "C", ""]),
        ("setext", ["A", "B", "", ""]),
        ("english", ["A", "B", "C", "D"]),
        ("bilingual", ["A", "B", "C", "D"]),
        ("cr_only", ["A", "", "C", ""]),
    ])
}

fn parts(brief: &Brief) -> [&str; 4] {
    [&brief.goal, &brief.accept, &brief.bounds, &brief.unknowns]
}

fn recorded(value: &Value) -> [&str; 4] {
    ["goal", "accept", "bounds", "unknowns"].map(|key| value[key].as_str().unwrap())
}

#[test]
fn briefs_are_read_and_written_as_recorded() {
    let better = better_briefs();
    for row in rows(include_str!("fixtures/documents/brief.jsonl")) {
        let name = row["name"].as_str().unwrap();
        let text = row["text"].as_str().unwrap();
        let brief = Brief::parse(text);
        let written = brief.to_markdown(Chinese);
        if suspect(&row) {
            assert_eq!(parts(&brief), better[name], "{name}");
            assert_eq!(Brief::from_markdown(&written), brief, "{name}");
            continue;
        }
        assert_eq!(parts(&brief), recorded(&row["parsed"]), "{name}");
        assert_eq!(brief.missing(Chinese), strings(&row["missing"]), "{name}");
        assert_eq!(brief.complete(), row["complete"], "{name}");
        assert_eq!(written, row["markdown"].as_str().unwrap(), "{name}");
        assert_eq!(brief.block(Chinese), row["prompt_block"].as_str().unwrap(), "{name}");
        let loaded = Brief::from_markdown(text);
        assert_eq!(parts(&loaded), recorded(&row["loaded_from_file"]), "{name}");
        let again = Brief::from_markdown(&written);
        assert_eq!(parts(&again), recorded(&row["written_then_loaded"]), "{name}");
    }
}

/// Where the recorded answer is wrong: the checks as they should be; the statement is in the row
/// or, where the row has none, "x".
fn better_goals() -> BTreeMap<&'static str, Vec<&'static str>> {
    BTreeMap::from([
        ("longer_heading", vec!["a"]),
        ("checkbox", vec!["a", "b"]),
        ("wrapped", vec!["跑 `x` 并检查输出", "b"]),
        ("bold_line", vec!["**a** 必须通过", "**b** 通过"]),
        // The command is what the check is about.
        ("fenced_check", vec!["跑 `make test`", "b"]),
        ("empty_written", vec![]),
        ("english", vec!["a"]),
        ("chinese_numerals", vec!["a"]),
        ("preamble", vec!["跑 `python conv.py a.md` 产出 a.html", "输出含 <h1>"]),
    ])
}

#[test]
fn goals_are_read_and_written_as_recorded() {
    let better = better_goals();
    for row in rows(include_str!("fixtures/documents/goal.jsonl")) {
        let name = row["name"].as_str().unwrap();
        let mut goal = Goal::parse(row["text"].as_str().unwrap());
        let again = Goal::from_markdown(&goal.to_markdown(Chinese));
        // An empty list, too: the record reads the sign for it back as a check.
        assert_eq!(again, goal, "{name}");
        let statement = row["statement"].as_str().unwrap();
        if suspect(&row) {
            let statement = if statement.is_empty() { "x" } else { statement };
            assert_eq!(goal.statement, statement, "{name}");
            assert_eq!(goal.checks, better[name], "{name}");
            continue;
        }
        assert_eq!(goal.statement, statement, "{name}");
        assert_eq!(goal.checks, strings(&row["checks"]), "{name}");
        assert_eq!(goal.unverifiable(), strings(&row["unverifiable"]), "{name}");
        assert_eq!(goal.missing(Chinese), strings(&row["missing"]), "{name}");
        assert_eq!(goal.complete(), row["complete"], "{name}");
        assert_eq!(goal.to_markdown(Chinese), row["markdown"].as_str().unwrap(), "{name}");
        assert_eq!(goal.block(Chinese), row["prompt_block"].as_str().unwrap(), "{name}");
        goal.amend(" 只支持标题 ", Chinese);
        assert_eq!(goal.statement, row["amended_statement"].as_str().unwrap(), "{name}");
    }
}

fn name(state: VerdictState) -> &'static str {
    match state {
        VerdictState::Achieved => "achieved",
        VerdictState::NotYet => "not_yet",
        VerdictState::Unreachable => "unreachable",
        VerdictState::Unclear => "",
    }
}

#[test]
fn verdicts_are_read_as_recorded_or_wanted() {
    let mut wrong = Vec::new();
    for row in rows(include_str!("fixtures/documents/verdict.jsonl")) {
        let text = row["text"].as_str().unwrap();
        let verdict = Verdict::parse(text);
        let want = row.get("want").unwrap_or(&row["state"]).as_str().unwrap();
        if name(verdict.state) != want {
            wrong.push(format!("{text:?}: {:?}, wanted {want:?}", verdict.state));
            continue;
        }
        assert_eq!(verdict.is_achieved(), want == "achieved", "{text}");
        assert_eq!(verdict.is_clear(), !want.is_empty(), "{text}");
        if !suspect(&row) {
            assert_eq!(verdict.reason, row["reason_text"].as_str().unwrap(), "{text}");
            assert_eq!(verdict.failed, strings(&row["failed"]), "{text}");
            assert_eq!(verdict.feedback(Chinese), row["feedback"].as_str().unwrap(), "{text}");
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

/// Where the recorded answer is wrong: the two required parts as they should be.
fn better_handoffs() -> BTreeMap<&'static str, [&'static str; 2]> {
    BTreeMap::from([
        ("question_heading_fullwidth", ["A", "B"]),
        ("question_only", ["", ""]),
        // A sentence that begins with a label is a sentence.
        ("sentence_start", ["写解析器\n下一步是跑测试,但先等构建", "跑测试"]),
        // An open fence ends at the next known heading.
        ("unclosed_early", ["A", "B"]),
        // The command is what comes next.
        ("fenced_next", ["A", "```bash\nmake test\n```"]),
        ("empty_mark", ["", ""]),
    ])
}

#[test]
fn handoffs_are_read_and_written_as_recorded() {
    let better = better_handoffs();
    for row in rows(include_str!("fixtures/documents/handoff.jsonl")) {
        let name = row["name"].as_str().unwrap();
        let input = |key: &str| row["input"][key].as_str().unwrap();
        let handoff = match row["text"].as_str() {
            Some(text) => Handoff::parse(text),
            None => Handoff::degraded(input("step"), input("why"), input("prompt"), Chinese),
        };
        let parts =
            [&handoff.doing, &handoff.decided, &handoff.dead_ends, &handoff.next, &handoff.scene];
        let written = handoff.to_markdown("干活", Chinese);
        assert_eq!(Handoff::parse(&written), handoff, "{name}");
        if suspect(&row) {
            assert_eq!([&*handoff.doing, &*handoff.next], better[name], "{name}");
            continue;
        }
        let recorded = ["doing", "decided", "deadends", "next", "scene"]
            .map(|key| row["parsed"][key].as_str().unwrap());
        assert_eq!(parts, recorded, "{name}");
        assert_eq!(handoff.complete(), row["complete"], "{name}");
        if let Some(degraded) = row.get("degraded") {
            assert_eq!(handoff.is_degraded(), degraded.as_bool().unwrap(), "{name}");
        }
        if row["text"].is_null() {
            let written = handoff.to_markdown(input("step"), Chinese);
            assert_eq!(written, row["markdown"].as_str().unwrap(), "{name}");
        } else {
            assert_eq!(handoff.missing(Chinese), strings(&row["missing"]), "{name}");
            assert_eq!(written, row["markdown"].as_str().unwrap(), "{name}");
            assert_eq!(handoff.block(Chinese), row["prompt_block"].as_str().unwrap(), "{name}");
        }
    }
}
