//! What a cassette must keep to beyond its types, each with one sentence.

use hyper::header::{HeaderName, HeaderValue};

use super::base64;
use super::cassette::{Cassette, Chunk, Match, Refusal, Reply, Reset, Rule};

/// The first thing that is wrong, with the line of its rule.
pub(super) fn check(cassette: &Cassette) -> Result<(), String> {
    if cassette.format != Cassette::FORMAT {
        return Err(format!("format is \"{}\", not {}", cassette.format, Cassette::FORMAT));
    }
    if cassette.rules.is_empty() {
        return Err("rules is empty, so that no request could ever be answered".to_owned());
    }
    for (index, rule) in cassette.rules.iter().enumerate() {
        check_rule(rule).map_err(|message| {
            format!("line {}: rule {} \"{}\": {message}", rule.line, index + 1, rule.name)
        })?;
    }
    Ok(())
}

fn check_rule(rule: &Rule) -> Result<(), String> {
    if rule.repeat && rule.times.is_some() {
        return Err("repeat and times exclude each other".to_owned());
    }
    let given = [rule.reply.is_some(), rule.error.is_some(), rule.count_tokens.is_some()];
    match given.iter().filter(|&&given| given).count() {
        0 if rule.reset == Some(Reset::Before) || rule.sse_error.is_some() => {}
        0 => return Err("there is nothing to answer: give reply, error or count_tokens".to_owned()),
        1 => {}
        _ => return Err("reply, error and count_tokens exclude each other".to_owned()),
    }
    if rule.sse_error.is_some() && rule.reply.is_none() && given.contains(&true) {
        return Err("sse_error breaks a reply, so it goes with reply or alone".to_owned());
    }
    check_match(&rule.when)?;
    rule.error.as_ref().map_or(Ok(()), check_error)?;
    rule.reply.as_ref().map_or(Ok(()), check_reply)
}

fn check_match(when: &Match) -> Result<(), String> {
    if when.step.as_ref().is_some_and(|step| step.contains('#')) {
        return Err("step is matched without its number; use round".to_owned());
    }
    Ok(())
}

fn check_error(error: &Refusal) -> Result<(), String> {
    if !(400..=599).contains(&error.status) {
        return Err(format!("error status {} is not between 400 and 599", error.status));
    }
    for (name, value) in &error.headers {
        if HeaderName::try_from(name).is_err() || HeaderValue::try_from(value).is_err() {
            return Err(format!("\"{name}: {value}\" is not an HTTP header"));
        }
        let framing = ["content-length", "transfer-encoding", "connection", "content-type"];
        if framing.contains(&name.to_ascii_lowercase().as_str()) {
            return Err(format!("the header {name} is the gate's own"));
        }
    }
    Ok(())
}

fn check_reply(reply: &Reply) -> Result<(), String> {
    if reply.text.is_some() && reply.text_file.is_some() {
        return Err("text and text_file exclude each other".to_owned());
    }
    let text = reply.text.is_some() || reply.text_file.is_some();
    let words = text || reply.thinking.is_some() || !reply.tools.is_empty();
    match (words, reply.chunks.is_empty()) {
        (false, true) => {
            return Err("reply has neither text, thinking, tools nor chunks".to_owned());
        }
        (true, false) => return Err("chunks are the whole body and stand alone".to_owned()),
        (true, true) => {}
        (false, false) if reply.stop_reason.is_some() || reply.usage != Default::default() => {
            return Err("chunks are the whole body and stand alone".to_owned());
        }
        (false, false) => {}
    }
    if reply.tools.iter().any(|tool| tool.name.is_empty()) {
        return Err("a tool has no name".to_owned());
    }
    reply.chunks.iter().try_for_each(check_chunk)
}

fn check_chunk(chunk: &Chunk) -> Result<(), String> {
    match (&chunk.bytes, &chunk.base64) {
        (Some(_), None) => Ok(()),
        (None, Some(text)) if base64::decode(text).is_some() => Ok(()),
        (None, Some(_)) => Err("a chunk's base64 is broken".to_owned()),
        _ => Err("a chunk has exactly one of bytes and base64".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(rule: &str) -> String {
        let text = format!("format: flower-cassette/1\nrules:\n  - {{name: a, {rule}}}\n");
        Cassette::parse(&text).unwrap_err().to_string()
    }

    #[test]
    fn another_format_and_no_rules_are_refused() {
        let text = Cassette::parse("format: flower-cassette/2\nrules: []").unwrap_err().to_string();
        assert!(text.contains("flower-cassette/2"), "{text}");
        let text = Cassette::parse("format: flower-cassette/1\nrules: []").unwrap_err().to_string();
        assert!(text.contains("empty"), "{text}");
        assert!(Cassette::parse("").is_err());
    }

    #[test]
    fn every_mistake_gets_its_sentence_and_line() {
        for (rule, sentence) in [
            ("repeat: true", "nothing to answer"),
            ("reset: mid", "nothing to answer"),
            ("reply: {text: x}, repeat: true, times: 2", "exclude each other"),
            ("reply: {text: x}, error: {status: 500, message: m}", "exclude each other"),
            ("reply: {text: x}, count_tokens: 3", "exclude each other"),
            ("count_tokens: 3, sse_error: {type: t, message: m}", "breaks a reply"),
            ("match: {step: \"work#2\"}, reply: {text: x}", "use round"),
            ("error: {status: 200, message: m}", "between 400 and 599"),
            ("error: {status: 500, message: m, headers: {\"a b\": c}}", "not an HTTP header"),
            ("error: {status: 500, message: m, headers: {Content-Length: \"1\"}}", "gate's own"),
            ("reply: {}", "neither text"),
            ("reply: {text: x, text_file: y}", "exclude each other"),
            ("reply: {text: x, chunks: [{bytes: y}]}", "stand alone"),
            ("reply: {stop_reason: x, chunks: [{bytes: y}]}", "stand alone"),
            ("reply: {chunks: [{after_ms: 1}]}", "exactly one of"),
            ("reply: {chunks: [{base64: \"?\"}]}", "broken"),
            ("reply: {tools: [{name: \"\"}]}", "no name"),
        ] {
            let text = complaint(rule);
            assert!(text.contains(sentence) && text.contains("line 3"), "{rule}: {text}");
        }
    }

    #[test]
    fn a_reset_before_and_an_error_event_may_stand_alone() {
        for rule in ["reset: before", "sse_error: {type: overloaded_error, message: m}"] {
            let text = format!("format: flower-cassette/1\nrules:\n  - {{name: a, {rule}}}\n");
            Cassette::parse(&text).unwrap();
        }
    }
}
