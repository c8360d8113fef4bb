//! Writing what was said as entries: one per block of a reply, results under their own calls.

use std::path::Path;

use serde_json::{Value, json};

use super::{EngineError, Fault};
use crate::transcript::{Block, Draft, DraftKind, Entry, EntryError, Origin, RawObject};
use crate::wire::Reply;

/// The entry of a prompt.
pub(super) fn prompt(
    origin: &Origin,
    parent: Option<&str>,
    text: &str,
) -> Result<Entry, EngineError> {
    let kind =
        DraftKind::User { blocks: vec![Block::text(text)], tool_use_result: None, denial: None };
    write(origin, parent, kind)
}

/// The entries of a reply, one per block, in a chain.
pub(super) fn reply(
    origin: &Origin,
    parent: Option<&str>,
    reply: &Reply,
) -> Result<Vec<Entry>, EngineError> {
    let mut parent = parent.map(str::to_owned);
    let mut entries = Vec::with_capacity(reply.blocks.len());
    let stop_reason = (!reply.stop_reason.is_empty()).then_some(&reply.stop_reason);
    for part in &reply.blocks {
        // Spliced, so that the block stays as the server sent it.
        let message = format!(
            r#"{{"id":{},"type":"message","role":"assistant","model":{},"content":[{}],"stop_reason":{},"stop_sequence":null,"usage":{}}}"#,
            json!(reply.id),
            json!(reply.model),
            part.block.raw(),
            json!(stop_reason),
            reply.usage_raw
        );
        let kind = DraftKind::Assistant { message, request_id: reply.request_id.clone() };
        let entry = write(origin, parent.as_deref(), kind)?;
        parent.clone_from(&entry.uuid);
        entries.push(entry);
    }
    Ok(entries)
}

/// The same block under another id; everything else in it stays as it is.
pub(super) fn with_id(block: &Block, id: &str) -> Result<Block, EngineError> {
    let write = || {
        let fields = RawObject::parse(block.raw())?;
        let others = fields.iter().filter(|(name, _)| *name != "id");
        let others = others.map(|(name, raw)| format!(",{}:{raw}", json!(name)));
        Block::parse(&format!("{{\"id\":{}{}}}", json!(id), others.collect::<String>()))
    };
    write().map_err(|error: serde_json::Error| broken(error.into()))
}

/// The entry of a result, under the entry of its call.
pub(super) fn result(
    origin: &Origin,
    call_entry: &str,
    block: Block,
    detail: &Value,
    denied: bool,
) -> Result<Entry, EngineError> {
    let kind = DraftKind::Result {
        block,
        tool_use_result: (!detail.is_null()).then(|| detail.to_string()),
        denial: denied.then(|| "permission-rule".to_owned()),
        source: call_entry.to_owned(),
    };
    write(origin, Some(call_entry), kind)
}

/// The entry that opens a subagent's transcript; it has no uuid.
pub(super) fn agent_metadata(
    kind: &str,
    description: &str,
    call: &str,
) -> Result<Entry, EngineError> {
    let row = json!({
        "type": "agent_metadata", "agentType": kind, "description": description, "toolUseId": call,
    });
    Entry::parse(row.to_string()).map_err(broken)
}

fn write(origin: &Origin, parent: Option<&str>, kind: DraftKind) -> Result<Entry, EngineError> {
    Draft { parent: parent.map(str::to_owned), kind }.write(origin).map_err(broken)
}

fn broken(error: EntryError) -> EngineError {
    EngineError::new(Fault::Store, error.to_string())
}

/// The branch that is checked out; empty outside a repository and on a detached head.
pub(super) fn git_branch(workspace: &Path) -> String {
    let git = workspace.join(".git");
    let folder = match std::fs::read_to_string(&git) {
        // In a worktree `.git` is a file that names the folder.
        Ok(text) => match text.trim().strip_prefix("gitdir:") {
            Some(path) => workspace.join(path.trim()),
            None => return String::new(),
        },
        Err(_) => git,
    };
    let head = std::fs::read_to_string(folder.join("HEAD")).unwrap_or_default();
    head.trim().strip_prefix("ref: refs/heads/").unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_replaced_and_nothing_else() {
        let block =
            Block::parse(r#"{"type":"tool_use","id":"","name":"B","input":{"n": 1.50}}"#).unwrap();
        assert_eq!(
            with_id(&block, "t9").unwrap().raw(),
            r#"{"id":"t9","type":"tool_use","name":"B","input":{"n": 1.50}}"#
        );
    }

    #[test]
    fn the_branch_is_found_in_a_repository_and_in_a_worktree() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(git_branch(folder.path()), "");
        let git = folder.path().join(".git");
        std::fs::create_dir(&git).unwrap();
        std::fs::write(git.join("HEAD"), "ref: refs/heads/a/b\n").unwrap();
        assert_eq!(git_branch(folder.path()), "a/b");
        let tree = folder.path().join("tree");
        std::fs::create_dir(&tree).unwrap();
        std::fs::write(tree.join(".git"), "gitdir: ../.git\n").unwrap();
        assert_eq!(git_branch(&tree), "a/b");
    }
}
