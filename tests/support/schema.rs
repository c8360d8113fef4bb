//! Whether a value is as a JSON Schema says. A keyword that is not known here is a failure, never silence.

use serde_json::Value;

/// Why not, in words; `root` holds the definitions.
pub(crate) fn check(root: &Value, schema: &Value, value: &Value) -> Result<(), String> {
    let rules = match schema {
        Value::Bool(true) => return Ok(()),
        Value::Object(rules) => rules,
        other => return Err(format!("{other} is no schema")),
    };
    for (keyword, rule) in rules {
        let fits = |schema: &&Value| check(root, schema, value).is_ok();
        let list = || rule.as_array().unwrap();
        let good = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "format" | "default" => true,
            "$ref" => {
                let path = rule.as_str().unwrap().strip_prefix('#').unwrap();
                check(root, root.pointer(path).ok_or("a dangling $ref")?, value)?;
                true
            }
            "type" => match rule {
                Value::Array(kinds) => kinds.iter().any(|kind| is(kind.as_str().unwrap(), value)),
                kind => is(kind.as_str().unwrap(), value),
            },
            "const" => value == rule,
            "enum" => list().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= rule.as_f64().unwrap()),
            "anyOf" => list().iter().any(|schema| fits(&schema)),
            "oneOf" => list().iter().filter(fits).count() == 1,
            "allOf" => list().iter().all(|schema| fits(&schema)),
            "required" => list().iter().all(|name| value.get(name.as_str().unwrap()).is_some()),
            "properties" => {
                for (name, schema) in rule.as_object().unwrap() {
                    if let Some(part) = value.get(name) {
                        check(root, schema, part).map_err(|why| format!("{name}: {why}"))?;
                    }
                }
                true
            }
            "items" => {
                for part in value.as_array().into_iter().flatten() {
                    check(root, rule, part)?;
                }
                true
            }
            unknown => return Err(format!("the keyword {unknown} is not known to this check")),
        };
        if !good {
            return Err(format!("not as {keyword} {rule} says"));
        }
    }
    Ok(())
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("{other} is no type"),
    }
}

#[test]
fn a_line_that_is_not_as_the_schema_says_is_found() {
    let schema = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/event/event.schema.json"));
    let schema: Value = serde_json::from_str(schema).unwrap();
    let fits = |text: &str| check(&schema, &schema, &serde_json::from_str(text).unwrap()).is_ok();
    assert!(fits(r#"{"kind":"error","text":"x"}"#));
    assert!(fits(r#"{"kind":"thinking","text":"x","agent_id":"a"}"#));
    assert!(!fits(r#"{"kind":"error","text":1}"#) && !fits(r#"{"kind":"error"}"#));
    assert!(!fits(r#"{"kind":"thinking","text":"x","agent_id":1}"#));
    assert!(!fits(r#"{"kind":"unheard","text":"x"}"#) && !fits(r#"{"kind":"end"}"#));
}
