//! Large results that are not new any more: a pointer to a file takes their place (core.md T-1 to T-8).

use std::borrow::Cow;
use std::collections::HashSet;

use super::archived::Archived;
use super::policy::TrimPolicy;
use super::sheet::Sheet;
use super::text;
use crate::transcript::{Kind, field};

pub(super) fn trim(sheet: &mut Sheet, policy: &TrimPolicy) {
    if !policy.enabled {
        return;
    }
    let folder = policy.spill_dirname.trim_end_matches('/');
    let sites = sites(sheet, policy.min_chars, folder);
    let targets = sites.len().saturating_sub(policy.keep_recent);
    sheet.report.cleared = targets;
    sheet.report.kept = sites.len() - targets;
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

/// Row and block of each large result.
fn sites(sheet: &Sheet, min_chars: usize, folder: &str) -> Vec<(usize, usize)> {
    let looked_up = looked_up(sheet, folder);
    let mut sites = Vec::new();
    for (row, block, outline) in sheet.each_block(Kind::ToolResult) {
        let at = &sheet.rows[row];
        // What has expired holds a short marker by now.
        if at.entry.protected || at.changes(block).is_some_and(|own| own.replaced) {
            continue;
        }
        let large =
            at.message().and_then(|message| text::has_chars(&at.entry, message, block, min_chars));
        let again =
            || text::string(&at.entry, outline.id).is_some_and(|id| looked_up.contains(&id));
        if large == Some(true) && !again() {
            sites.push((row, block));
        }
    }
    sites
}

/// Calls that read an archived result: archiving that again would give a copy of the copy (core.md T-10).
fn looked_up<'a>(sheet: &'a Sheet, folder: &str) -> HashSet<Cow<'a, str>> {
    let mut ids = HashSet::new();
    for (row, _, block) in sheet.each_block(Kind::ToolUse) {
        let entry = &sheet.rows[row].entry;
        if entry.at(block.name) != "\"Read\"" {
            continue;
        }
        let path = field(entry.at(block.body), "file_path").and_then(text::plain);
        let inside = path.is_some_and(|path| {
            path.strip_prefix(folder)
                .or_else(|| Some(path.split_once(&format!("/{folder}"))?.1))
                .is_some_and(|rest| rest.starts_with('/'))
        });
        if inside {
            ids.extend(text::string(entry, block.id));
        }
    }
    ids
}

#[cfg(test)]
mod tests {
    use crate::context::{Policy, view};
    use crate::transcript::Entry;

    #[test]
    fn what_was_read_from_the_archive_is_not_archived_again() {
        for (path, archived) in [
            ("/w/.flower/spill/a.txt", 0),
            (".flower/spill/a.txt", 0),
            ("/w/.flower/spill-x/a.txt", 1),
            ("/w/src/a.rs", 1),
        ] {
            let long = "x".repeat(3000);
            let rows = [
                r#"{"type":"user","uuid":"a","message":{"role":"user","content":"go"}}"#.to_owned(),
                format!(
                    r#"{{"type":"assistant","uuid":"b","parentUuid":"a","message":{{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"Read","input":{{"file_path":"{path}"}}}}]}}}}"#
                ),
                format!(
                    r#"{{"type":"user","uuid":"c","parentUuid":"b","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t","content":"{long}"}}]}}}}"#
                ),
            ];
            let record = rows.into_iter().map(|row| Entry::parse(row).unwrap()).collect();
            let mut policy = Policy::default();
            policy.trim.keep_recent = 0;
            assert_eq!(view(record, &policy).archived.len(), archived, "{path}");
        }
    }
}
