//! Fills `${tool_result.NAME}` and `${last_user}` into the inputs of calls: the only templating.

use serde_json::{Map, Value};

use super::cassette::ToolUse;
use super::request::Asked;

/// The input with every text filled in; `${…}` that is neither of the two stays, as in a shell command.
pub(super) fn fill(input: &Map<String, Value>, asked: &Asked) -> Map<String, Value> {
    input.iter().map(|(key, value)| (key.clone(), fill_value(value, asked))).collect()
}

/// The first tool whose result an input wants and the request does not have.
pub(super) fn missing<'a>(tools: &'a [ToolUse], asked: &Asked) -> Option<&'a str> {
    let mut found = None;
    for tool in tools {
        for value in tool.input.values() {
            each_text(value, &mut |text| {
                found = found.or_else(|| {
                    let names = pieces(text).filter_map(|(_, name)| name?.strip_prefix(RESULT));
                    names.into_iter().find(|name| asked.result(name).is_none())
                });
            });
        }
    }
    found
}

const RESULT: &str = "tool_result.";
const LAST_USER: &str = "last_user";

fn fill_value(value: &Value, asked: &Asked) -> Value {
    match value {
        Value::String(text) => Value::String(fill_text(text, asked)),
        Value::Array(items) => items.iter().map(|item| fill_value(item, asked)).collect(),
        Value::Object(input) => Value::Object(fill(input, asked)),
        other => other.clone(),
    }
}

fn each_text<'a>(value: &'a Value, visit: &mut impl FnMut(&'a str)) {
    match value {
        Value::String(text) => visit(text),
        Value::Array(items) => items.iter().for_each(|item| each_text(item, visit)),
        Value::Object(input) => input.values().for_each(|item| each_text(item, visit)),
        _ => {}
    }
}

fn fill_text(text: &str, asked: &Asked) -> String {
    let mut out = String::with_capacity(text.len());
    for (plain, name) in pieces(text) {
        out.push_str(plain);
        let Some(name) = name else { continue };
        match name.strip_prefix(RESULT) {
            Some(tool) => out.push_str(asked.result(tool).map_or("", |result| &result.text)),
            None => out.push_str(&asked.conversation.last_user),
        }
    }
    out
}

/// Plain text, each piece with the name of the template after it. What is filled in is never read
/// again, so that a result cannot bring templates of its own.
fn pieces(text: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let mut from = 0;
        while let Some(start) = text[from..].find("${").map(|at| at + from) {
            let inner = &text[start + 2..];
            if let Some(end) = inner.find('}') {
                let name = &inner[..end];
                let tool = name.strip_prefix(RESULT);
                if name == LAST_USER || tool.is_some_and(|tool| !tool.is_empty()) {
                    rest = Some(&inner[end + 1..]);
                    return Some((&text[..start], Some(name)));
                }
            }
            from = start + 2;
        }
        rest = None;
        Some((text, None))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::request::{Conversation, ToolResult};
    use super::*;

    fn asked() -> Asked {
        let result = |text: &str| ToolResult {
            name: "Bash".to_owned(),
            text: text.to_owned(),
            is_error: false,
        };
        let conversation = Conversation {
            last_user: "please".to_owned(),
            results: vec![result("old"), result("new ${last_user}")],
            ..Conversation::default()
        };
        Asked { conversation, ..Asked::default() }
    }

    fn filled(value: Value) -> Value {
        fill_value(&value, &asked())
    }

    #[test]
    fn the_last_result_and_the_last_user_message_are_filled_in_at_any_depth() {
        let got = filled(
            json!({"a": ["<${tool_result.Bash}|${last_user}>", 1], "b": {"c": "${last_user}"}}),
        );
        assert_eq!(got, json!({"a": ["<new ${last_user}|please>", 1], "b": {"c": "please"}}));
    }

    #[test]
    fn other_dollars_stay() {
        for text in ["${HOME} $x ${", "${tool_result.}", "a ${HOME:-${X}} b", "é${é}"] {
            assert_eq!(filled(json!(text)), json!(text));
        }
        assert_eq!(filled(json!("${HOME}${last_user}")), json!("${HOME}please"));
    }

    #[test]
    fn a_result_that_is_not_there_is_named() {
        let tool = |text: &str| ToolUse {
            name: "Write".to_owned(),
            input: json!({"x": [text]}).as_object().unwrap().clone(),
            id: None,
        };
        assert_eq!(missing(&[tool("${tool_result.Bash}"), tool("${last_user}")], &asked()), None);
        assert_eq!(missing(&[tool("${tool_result.Read}")], &asked()), Some("Read"));
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[$\\{\\}a-zé._]{0,40}(last_user|tool_result.Bash)?[$\\{\\}]{0,4}") {
            let _ = filled(json!(text));
        }
    }
}
