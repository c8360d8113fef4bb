//! Large results that are not new any more: a pointer to a file takes their place (core.md T-1 to T-8).

use super::archived::Archived;
use super::policy::TrimPolicy;
use super::sheet::Sheet;
use super::text;
use crate::transcript::Kind;

pub(super) fn trim(sheet: &mut Sheet, policy: &TrimPolicy) {
    if !policy.enabled {
        return;
    }
    let mut sites = Vec::new();
    for (row, block, _) in sheet.each_block(Kind::ToolResult) {
        let at = &sheet.rows[row];
        // What has expired holds a short marker by now.
        if at.entry.protected || at.changes(block).is_some_and(|own| own.replaced) {
            continue;
        }
        let message = at.message();
        let large = message
            .and_then(|message| text::has_chars(&at.entry, message, block, policy.min_chars));
        if large == Some(true) {
            sites.push((row, block));
        }
    }
    let targets = sites.len().saturating_sub(policy.keep_recent);
    sheet.report.cleared = targets;
    sheet.report.kept = sites.len() - targets;
    let folder = policy.spill_dirname.trim_end_matches('/');
    for (row, block) in sites.into_iter().take(targets) {
        let Some((archived, chars)) = Archived::of(&sheet.rows[row].entry, block) else { continue };
        sheet.report.chars_saved += chars;
        // Data, one form in every language.
        let marker = format!(
            "[工具结果已归档:{chars} 字符。完整内容在 {folder}/{},需要时用 Read 读取]",
            archived.name()
        );
        sheet.rows[row].set_content(block, &text::literal(&marker));
        sheet.archived.push(archived);
    }
}
