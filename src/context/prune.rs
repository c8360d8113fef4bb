//! What only tells of something that went wrong: errors, refusals, interrupts (core.md ).

use std::collections::HashSet;

use super::policy::PrunePolicy;
use super::sheet::Sheet;
use super::text;
use crate::transcript::Kind;

/// What the harness writes where a person interrupts a tool.
const INTERRUPT: &str = "[Request interrupted";

/// What stands there instead. Part of the transcript, so one form in every language.
const INTERRUPTED: &str = "[上一轮在此处被中断,该工具结果未产生]";

pub(super) fn prune(sheet: &mut Sheet, policy: &PrunePolicy) {
    drop_denials(sheet, policy.keep_denials);
    for index in 0..sheet.rows.len() {
        let row = &mut sheet.rows[index];
        if policy.drop_api_errors && row.entry.api_error && !row.gone {
            row.gone = true;
            sheet.report.pruned += 1;
        }
        if policy.neutralize_interrupts {
            calm(sheet, index);
        }
    }
}

/// Calls that a guard refused, with their results, except the newest.
fn drop_denials(sheet: &mut Sheet, keep: usize) {
    let mut denied: Vec<String> = Vec::new();
    for row in &sheet.rows {
        if !row.entry.outline().denied {
            continue;
        }
        let results = row.message().into_iter().flat_map(|message| message.top());
        let mut ids = results
            .filter(|(_, block)| block.kind == Kind::ToolResult)
            .filter_map(|(_, block)| text::string(&row.entry, block.id));
        denied.extend(ids.find(|id| !id.is_empty()).map(std::borrow::Cow::into_owned));
    }
    let dead: HashSet<&str> =
        denied.iter().take(denied.len().saturating_sub(keep)).map(String::as_str).collect();
    sheet.report.denials_dropped = dead.len();
    if dead.is_empty() {
        return;
    }
    for index in 0..sheet.rows.len() {
        let row = &sheet.rows[index];
        let is_dead =
            |id| text::string(&row.entry, id).is_some_and(|id| dead.contains(id.as_ref()));
        let gone: Vec<usize> = row
            .blocks()
            .filter(|(_, block)| matches!(block.kind, Kind::ToolUse | Kind::ToolResult))
            .filter(|(_, block)| is_dead(block.id))
            .map(|(place, _)| place)
            .collect();
        let all = gone.len() == row.blocks().count();
        if gone.is_empty() || all && row.entry.uuid.is_none() {
            continue;
        }
        let row = &mut sheet.rows[index];
        if all {
            row.gone = true;
            sheet.report.pruned += 1;
        } else {
            row.cut(|block| gone.contains(&block));
            row.edit().without_copy = true;
        }
    }
}

/// Only results that are one string and are marked as errors tell of an interrupt; once there is one,
/// every error of the entry that mentions it is made plain.
fn calm(sheet: &mut Sheet, index: usize) {
    let row = &sheet.rows[index];
    if row.gone {
        return;
    }
    let errors: Vec<_> = row
        .blocks()
        .filter(|(_, block)| block.kind == Kind::ToolResult && is_true(row.entry.at(block.error)))
        .filter(|(place, _)| !row.changes(*place).is_some_and(|own| own.replaced))
        .filter(|(_, block)| row.entry.at(block.body).contains(INTERRUPT))
        .map(|(place, block)| (place, block.error, row.entry.at(block.body).starts_with('"')))
        .collect();
    if !errors.iter().any(|(_, _, is_text)| *is_text) {
        return;
    }
    let row = &mut sheet.rows[index];
    for (block, error, _) in errors {
        row.set_content(block, &text::literal(INTERRUPTED));
        row.set(block, ("is_error", error), "false");
        sheet.report.interrupts += 1;
    }
}

/// What other languages take for true.
pub(super) fn is_true(value: &str) -> bool {
    !matches!(value, "" | "false" | "null" | "0" | "0.0" | "-0" | "\"\"" | "[]" | "{}")
}
