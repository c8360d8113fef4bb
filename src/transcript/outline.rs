//! Where things stand in an entry: read once when the entry is read, so that nobody parses it again.

use super::raw::decode_string;
use super::scan::{Malformed, Scanner, Span};

/// What an entry holds, as places in its text.
#[derive(Debug, Clone, Default)]
pub struct Outline {
    /// Its message, where `message` is an object.
    pub message: Option<MessageOutline>,
    /// The literal of `parentUuid`; empty where the key is missing.
    pub parent: Span,
    /// The literal of `uuid`; empty where the key is missing.
    pub uuid: Span,
    /// `toolDenialKind` is `permission-rule`: a guard refused the call.
    pub denied: bool,
    /// `isCompactSummary`.
    pub summary: bool,
    /// `subtype` is `compact_boundary`.
    pub boundary: bool,
    /// There is a `toolUseResult`.
    pub has_copy: bool,
}

/// A message's parts.
#[derive(Debug, Clone, Default)]
pub struct MessageOutline {
    /// The whole object.
    pub span: Span,
    /// The literal of `role`.
    pub role: Span,
    /// The literal of `id`.
    pub id: Span,
    /// The value of `content`; empty where the key is missing.
    pub content: Span,
    /// What kind of value that is.
    pub shape: Shape,
    /// Blocks in order; those inside of a block follow it, see [`BlockOutline::inner`]. A content that
    /// is a string is one text block.
    pub blocks: Box<[BlockOutline]>,
}

/// What a message's `content` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Shape {
    /// Missing or something that no message has.
    #[default]
    Other,
    /// One string.
    Text,
    /// An array.
    Blocks,
}

/// What a block is by its `type`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Kind {
    /// Not an object, or one without a `type` that is a string.
    #[default]
    Broken,
    /// `text`
    Text,
    /// `thinking`
    Thinking,
    /// `redacted_thinking`
    Redacted,
    /// `tool_use`
    ToolUse,
    /// `tool_result`
    ToolResult,
    /// `image`
    Image,
    /// `document`
    Document,
    /// A call that the server carries out itself: `server_tool_use`, `mcp_tool_use`.
    ServerUse,
    /// What came of it: any other `…_tool_result`.
    ServerResult,
    /// Something else.
    Other,
}

/// A block's parts; each is empty where it is missing.
#[derive(Debug, Clone, Copy, Default)]
pub struct BlockOutline {
    /// What it is.
    pub kind: Kind,
    /// The whole block.
    pub span: Span,
    /// `tool_use_id` of a result, else `id`.
    pub id: Span,
    /// `text`, `thinking`, or `data`.
    pub text: Span,
    /// `content`, `input`, or `source`.
    pub body: Span,
    /// `name`, or `signature` of thinking.
    pub name: Span,
    /// `is_error`
    pub error: Span,
    /// `cache_control`
    pub cache: Span,
    /// How many of the blocks that follow are its own.
    pub inner: u32,
    /// Half of a surrogate pair stands somewhere in it.
    pub half: bool,
}

impl MessageOutline {
    /// The message's own blocks with their places in `blocks`, without those inside of others.
    pub fn top(&self) -> impl Iterator<Item = (usize, &BlockOutline)> {
        let mut next = 0;
        self.blocks.iter().enumerate().filter(move |(place, block)| {
            let own = *place == next;
            if own {
                next = place + 1 + block.inner as usize;
            }
            own
        })
    }

    /// The blocks inside of the one at this place.
    pub fn inside(&self, place: usize) -> &[BlockOutline] {
        let count = self.blocks.get(place).map_or(0, |block| block.inner as usize);
        self.blocks.get(place + 1..place + 1 + count).unwrap_or_default()
    }
}

/// The fields of an entry that everybody reads.
#[derive(Debug, Default)]
pub(super) struct Head {
    pub(super) kind: String,
    pub(super) uuid: Option<String>,
    pub(super) parent: Option<String>,
    pub(super) sidechain: bool,
    pub(super) meta: bool,
    pub(super) api_error: bool,
    pub(super) timestamp: Option<String>,
    pub(super) outline: Outline,
}

/// Reads an entry in one pass. Of a key that stands twice the last one counts.
pub(super) fn read(text: &str) -> Result<Head, Malformed> {
    let mut head = Head::default();
    let mut synthetic = false;
    let mut scanner = Scanner::new(text);
    scanner.object(|scanner, key| {
        let key = &text[key.range()];
        if key == r#""message""# {
            let (message, made_up) = read_message(scanner, text)?;
            (head.outline.message, synthetic) = (message, made_up);
            return Ok(());
        }
        let span = scanner.value()?;
        let value = &text[span.range()];
        match inner(key) {
            "type" => head.kind = decode_string(value).unwrap_or_default(),
            "uuid" => {
                head.uuid = decode_string(value).filter(|uuid| !uuid.is_empty());
                head.outline.uuid = span;
            }
            "parentUuid" => {
                head.parent = decode_string(value);
                head.outline.parent = span;
            }
            "timestamp" => head.timestamp = decode_string(value),
            "isSidechain" => head.sidechain = value == "true",
            "isMeta" => head.meta = value == "true",
            "isCompactSummary" => head.outline.summary = value == "true",
            "isApiErrorMessage" => head.api_error = value == "true",
            "toolDenialKind" => head.outline.denied = value == r#""permission-rule""#,
            "subtype" => head.outline.boundary = value == r#""compact_boundary""#,
            "toolUseResult" => head.outline.has_copy = true,
            _ => {}
        }
        Ok(())
    })?;
    scanner.end()?;
    head.api_error |= synthetic;
    Ok(head)
}

/// A key without its quotes. One that is written with escapes is none of ours.
fn inner(key: &str) -> &str {
    key.get(1..key.len() - 1).unwrap_or_default()
}

/// The message, and whether it is one that no model wrote.
fn read_message(
    scanner: &mut Scanner<'_>,
    text: &str,
) -> Result<(Option<MessageOutline>, bool), Malformed> {
    if scanner.peek()? != b'{' {
        scanner.value()?;
        return Ok((None, false));
    }
    let mut message = MessageOutline::default();
    let mut synthetic = false;
    message.span = scanner.object(|scanner, key| {
        match inner(&text[key.range()]) {
            "content" => read_content(scanner, text, &mut message)?,
            "role" => message.role = scanner.value()?,
            "id" => message.id = scanner.value()?,
            "model" => synthetic = &text[scanner.value()?.range()] == r#""<synthetic>""#,
            _ => {
                scanner.value()?;
            }
        }
        Ok(())
    })?;
    Ok((Some(message), synthetic))
}

fn read_content(
    scanner: &mut Scanner<'_>,
    text: &str,
    message: &mut MessageOutline,
) -> Result<(), Malformed> {
    // Most messages have few blocks; what is kept of them is exactly as long as it must be.
    let mut blocks = Vec::with_capacity(8);
    (message.content, message.shape) = match scanner.peek()? {
        b'"' => {
            let before = std::mem::take(&mut scanner.half);
            let span = scanner.string()?;
            let kind = Kind::Text;
            blocks.push(BlockOutline {
                kind,
                span,
                text: span,
                half: scanner.half,
                ..Default::default()
            });
            scanner.half |= before;
            (span, Shape::Text)
        }
        b'[' => {
            let span = scanner.array(|scanner| read_block(scanner, text, &mut blocks, true))?;
            (span, Shape::Blocks)
        }
        _ => (scanner.value()?, Shape::Other),
    };
    message.blocks = blocks.as_slice().into();
    Ok(())
}

/// One block; `outer` says that it may have blocks of its own.
fn read_block(
    scanner: &mut Scanner<'_>,
    text: &str,
    blocks: &mut Vec<BlockOutline>,
    outer: bool,
) -> Result<(), Malformed> {
    let place = blocks.len();
    blocks.push(BlockOutline::default());
    let before = std::mem::take(&mut scanner.half);
    let mut block = BlockOutline::default();
    if scanner.peek()? == b'{' {
        let (mut id, mut call) = (Span::default(), Span::default());
        block.span = scanner.object(|scanner, key| {
            match inner(&text[key.range()]) {
                "type" => block.kind = kind(&text[scanner.value()?.range()]),
                "id" => id = scanner.value()?,
                "tool_use_id" => call = scanner.value()?,
                "text" | "thinking" | "data" => block.text = scanner.value()?,
                "name" | "signature" => block.name = scanner.value()?,
                "is_error" => block.error = scanner.value()?,
                "cache_control" => block.cache = scanner.value()?,
                "input" | "source" => block.body = scanner.value()?,
                "content" if outer && scanner.peek()? == b'[' => {
                    blocks.truncate(place + 1);
                    block.body =
                        scanner.array(|scanner| read_block(scanner, text, blocks, false))?;
                }
                "content" => {
                    blocks.truncate(place + 1);
                    block.body = scanner.value()?;
                }
                _ => {
                    scanner.value()?;
                }
            }
            Ok(())
        })?;
        let is_result = matches!(block.kind, Kind::ToolResult | Kind::ServerResult);
        block.id = if is_result { call } else { id };
    } else {
        block.span = scanner.value()?;
    }
    block.half = scanner.half;
    block.inner = u32::try_from(blocks.len() - place - 1).unwrap_or(u32::MAX);
    scanner.half |= before;
    blocks[place] = block;
    Ok(())
}

fn kind(literal: &str) -> Kind {
    match inner(literal) {
        _ if !literal.starts_with('"') => Kind::Broken,
        "text" => Kind::Text,
        "thinking" => Kind::Thinking,
        "redacted_thinking" => Kind::Redacted,
        "tool_use" => Kind::ToolUse,
        "tool_result" => Kind::ToolResult,
        "image" => Kind::Image,
        "document" => Kind::Document,
        "server_tool_use" | "mcp_tool_use" => Kind::ServerUse,
        "" => Kind::Broken,
        other if other.ends_with("_tool_result") => Kind::ServerResult,
        _ => Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_is_where_it_says() {
        let text = r#" {"uuid":"u","parentUuid":null,"message":{"id":"m","role":"user","content":[
            {"content":[{"type":"text","text":"a"},{"type":"image","source":{"data":"x"}}],"tool_use_id":"t","type":"tool_result","is_error":true},
            7,{"type":"tool_use","id":"t","name":"n","input":{"a":"\ud83d"}}]},"subtype":"compact_boundary"} "#;
        let head = read(text).unwrap();
        let at = |span: Span| &text[span.range()];
        assert_eq!(head.uuid.as_deref(), Some("u"));
        assert_eq!(at(head.outline.parent), "null");
        assert!(head.outline.boundary);
        let message = head.outline.message.unwrap();
        assert_eq!((at(message.id), at(message.role)), (r#""m""#, r#""user""#));
        let top: Vec<_> = message.top().map(|(place, block)| (place, block.kind)).collect();
        assert_eq!(top, [(0, Kind::ToolResult), (3, Kind::Broken), (4, Kind::ToolUse)]);
        let inside: Vec<_> = message.inside(0).iter().map(|block| block.kind).collect();
        assert_eq!(inside, [Kind::Text, Kind::Image]);
        assert_eq!(at(message.blocks[0].id), r#""t""#);
        assert_eq!(at(message.blocks[0].error), "true");
        assert_eq!(at(message.blocks[2].body), r#"{"data":"x"}"#);
        assert_eq!(at(message.blocks[4].body), r#"{"a":"\ud83d"}"#);
        assert_eq!(at(message.blocks[4].name), r#""n""#);
        assert!(message.blocks[4].half && !message.blocks[0].half);
    }

    #[test]
    fn a_string_is_one_text() {
        let head = read(r#"{"message":{"content":"x"}}"#).unwrap();
        let message = head.outline.message.unwrap();
        assert_eq!((message.shape, message.blocks.len()), (Shape::Text, 1));
        for odd in [r#"{"message":{"content":null}}"#, r#"{"message":{}}"#] {
            assert_eq!(read(odd).unwrap().outline.message.unwrap().shape, Shape::Other);
        }
        assert!(read(r#"{"message":"x"}"#).unwrap().outline.message.is_none());
    }

    #[test]
    fn of_a_key_that_stands_twice_the_last_counts() {
        let head = read(r#"{"type":"a","message":{"content":[{"content":["x"],"content":[],"type":"text","type":"tool_result"}],"content":[{"content":[1],"content":"y","type":"tool_result"}]},"type":"b"}"#).unwrap();
        assert_eq!(head.kind, "b");
        let message = head.outline.message.unwrap();
        assert_eq!(message.blocks.len(), 1);
        assert_eq!(message.blocks[0].inner, 0);
    }

    #[test]
    fn only_one_whole_object_is_an_entry() {
        for bad in ["", "[]", "1", r#""x""#, "{} {}", r#"{"a":1"#] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
