//! Results of commands that only looked: old ones are stale and say so (core.md P-30 to P-35).

use std::borrow::Cow;
use std::collections::HashMap;

use super::policy::EphemeralPolicy;
use super::sheet::Sheet;
use super::text;
use crate::guard::is_ephemeral;
use crate::transcript::{Kind, field};

/// The tool whose results can expire.
const SHELL: &str = "\"Bash\"";

/// The longest command in a marker, in characters.
const SHOWN: usize = 60;

pub(super) fn expire(sheet: &mut Sheet, policy: &EphemeralPolicy) {
    if !policy.enabled {
        return;
    }
    let sites = sites(sheet, policy);
    let targets = sites.len().saturating_sub(policy.keep_recent);
    sheet.report.expired = targets;
    let count = sites.len();
    for (index, (row, block, command)) in sites.into_iter().take(targets).enumerate() {
        let first = command.trim().lines().next().unwrap_or_default();
        let shown: String = first.chars().take(SHOWN).collect();
        // Data, one form in every language.
        let marker = format!(
            "[`{shown}` 的结果已过期(第 {} 轮前),当前状态可能已变。需要请重新执行]",
            count - index
        );
        sheet.rows[row].set_content(block, &text::literal(&marker));
    }
}

/// Row, block and command of each result that can expire.
fn sites(sheet: &Sheet, policy: &EphemeralPolicy) -> Vec<(usize, usize, String)> {
    let mut commands: HashMap<Cow<'_, str>, Cow<'_, str>> = HashMap::new();
    for (row, _, block) in sheet.each_block(Kind::ToolUse) {
        let entry = &sheet.rows[row].entry;
        if entry.at(block.name) != SHELL {
            continue;
        }
        if let Some(id) = text::string(entry, block.id)
            && let Some(command) = field(entry.at(block.body), "command").and_then(text::plain)
        {
            commands.insert(id, command);
        }
    }
    // The same few commands come again and again.
    let mut judged: HashMap<&str, bool> = HashMap::new();
    let mut sites = Vec::new();
    for (row, block, outline) in sheet.each_block(Kind::ToolResult) {
        let entry = &sheet.rows[row].entry;
        if entry.protected {
            continue;
        }
        let id = text::string(entry, outline.id);
        let Some(command) = id.and_then(|id| commands.get(&id)) else { continue };
        if !*judged.entry(command).or_insert_with(|| is_ephemeral(command)) {
            continue;
        }
        let message = sheet.rows[row].message();
        let too_long = message.and_then(|message| {
            text::has_chars(entry, message, block, policy.max_chars.saturating_add(1))
        });
        if too_long == Some(false) {
            sites.push((row, block, command.to_string()));
        }
    }
    sites
}
