//! Writing new entries in the shape that other transcript tools read (claude-code.md A4 and item 12).

use serde::Serialize;
use serde_json::value::RawValue;

use super::block::Block;
use super::entry::Entry;
use super::key::new_id;

/// What every entry of one transcript has in common.
#[derive(Debug, Clone, Default)]
pub struct Origin {
    /// The session's id.
    pub session_id: String,
    /// The working directory of the agent.
    pub cwd: String,
    /// The branch checked out there; empty outside a repository.
    pub git_branch: String,
    /// A subagent's id; nothing on the main thread.
    pub agent_id: Option<String>,
}

/// Who speaks in an entry.
#[derive(Debug, Clone)]
pub enum DraftKind {
    /// A prompt, or results of tools.
    User {
        /// The blocks of the message.
        blocks: Vec<Block>,
        /// `toolUseResult`: the tool's own output object, as raw JSON.
        tool_use_result: Option<String>,
        /// `toolDenialKind`: set where a guard refused the call (`permission-rule`).
        denial: Option<String>,
    },
    /// The answer to one call; it hangs under the entry of that call, which is its `parent`.
    Result {
        /// The result.
        block: Block,
        /// `toolUseResult`: the tool's own output object, as raw JSON.
        tool_use_result: Option<String>,
        /// `toolDenialKind`, as above.
        denial: Option<String>,
        /// `sourceToolAssistantUUID`: the entry of the call.
        source: String,
    },
    /// One block of a reply of the model.
    Assistant {
        /// The API's message as raw JSON text: id, model, role, content with this one block, usage.
        message: String,
        /// The API's request id.
        request_id: Option<String>,
    },
}

/// An entry about to be written.
#[derive(Debug, Clone)]
pub struct Draft {
    /// The entry before it in the chain.
    pub parent: Option<String>,
    /// What is said.
    pub kind: DraftKind,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Row<'a> {
    parent_uuid: Option<&'a str>,
    is_sidechain: bool,
    user_type: &'static str,
    cwd: &'a str,
    session_id: &'a str,
    version: &'static str,
    git_branch: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent_id: Option<&'a str>,
    #[serde(rename = "type")]
    kind: &'static str,
    message: Box<RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_use_result: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_denial_kind: Option<&'a str>,
    #[serde(rename = "sourceToolAssistantUUID", skip_serializing_if = "Option::is_none")]
    source: Option<&'a str>,
    uuid: String,
    timestamp: String,
}

impl Draft {
    /// Makes the entry: a new uuid, the present time.
    ///
    /// # Errors
    /// Where a raw part is not JSON, which would be a defect of the caller.
    pub fn write(&self, origin: &Origin) -> Result<Entry, super::EntryError> {
        let mut source_entry = None;
        let (kind, message, request_id, tool_use_result, denial) = match &self.kind {
            DraftKind::User { blocks, tool_use_result, denial } => (
                "user",
                user_message(blocks)?,
                None,
                tool_use_result.clone().map(RawValue::from_string).transpose()?,
                denial.as_deref(),
            ),
            DraftKind::Result { block, tool_use_result, denial, source } => {
                source_entry = Some(source.as_str());
                (
                    "user",
                    user_message(std::slice::from_ref(block))?,
                    None,
                    tool_use_result.clone().map(RawValue::from_string).transpose()?,
                    denial.as_deref(),
                )
            }
            DraftKind::Assistant { message, request_id } => (
                "assistant",
                RawValue::from_string(message.clone())?,
                request_id.as_deref(),
                None,
                None,
            ),
        };
        let row = Row {
            parent_uuid: self.parent.as_deref(),
            is_sidechain: origin.agent_id.is_some(),
            user_type: "external",
            cwd: &origin.cwd,
            session_id: &origin.session_id,
            version: env!("CARGO_PKG_VERSION"),
            git_branch: &origin.git_branch,
            agent_id: origin.agent_id.as_deref(),
            kind,
            message,
            request_id,
            tool_use_result,
            tool_denial_kind: denial,
            source: source_entry,
            uuid: new_id(),
            timestamp: format!("{:.3}", jiff::Timestamp::now()),
        };
        Entry::parse(serde_json::to_string(&row)?)
    }
}

/// `{"role":"user","content":…}`; a single text block is written as a plain string, as prompts are.
fn user_message(blocks: &[Block]) -> Result<Box<RawValue>, serde_json::Error> {
    let content = match blocks {
        [block] => match block.body() {
            super::Body::Text(text) => serde_json::to_string(text)?,
            _ => format!("[{}]", block.raw()),
        },
        _ => {
            let parts: Vec<&str> = blocks.iter().map(Block::raw).collect();
            format!("[{}]", parts.join(","))
        }
    };
    RawValue::from_string(format!(r#"{{"role":"user","content":{content}}}"#))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_written_as_other_tools_expect_it() {
        let draft = Draft {
            parent: None,
            kind: DraftKind::User {
                blocks: vec![Block::text("hi")],
                tool_use_result: None,
                denial: None,
            },
        };
        let origin = Origin { session_id: "s".into(), cwd: "/w".into(), ..Origin::default() };
        let entry = draft.write(&origin).unwrap();
        assert_eq!(entry.kind, "user");
        assert_eq!(entry.field("message"), Some(r#"{"role":"user","content":"hi"}"#));
        assert_eq!(entry.field("parentUuid"), Some("null"));
        assert!(entry.timestamp.is_some_and(|t| t.ends_with('Z') && t.len() == 24));
        assert!(!entry.sidechain);
    }
}
