//! Reads the fields of a call's input, with one sentence for each that is wrong.

use serde_json::{Map, Value};

use super::Complaint;

/// The input of a call. Fields that the tool does not know are ignored.
pub(super) struct Input<'a> {
    tool: &'a str,
    fields: &'a Map<String, Value>,
}

impl<'a> Input<'a> {
    pub(super) fn of(tool: &'a str, input: &'a Value) -> Result<Self, Complaint> {
        match input.as_object() {
            Some(fields) => Ok(Self { tool, fields }),
            None => Err(Complaint(format!("The input of {tool} must be an object."))),
        }
    }

    pub(super) fn get(&self, name: &str) -> Option<&'a Value> {
        self.fields.get(name)
    }

    /// A text that must be there.
    pub(super) fn text(&self, name: &str) -> Result<&'a str, Complaint> {
        match self.fields.get(name) {
            None => Err(Complaint(format!("{} needs the field {name}.", self.tool))),
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(self.wrong(name, "a string")),
        }
    }

    /// A text that must be there and say something.
    pub(super) fn filled_text(&self, name: &str) -> Result<&'a str, Complaint> {
        match self.text(name)? {
            text if text.trim().is_empty() => {
                Err(Complaint(format!("The field {name} of {} is empty.", self.tool)))
            }
            text => Ok(text),
        }
    }

    pub(super) fn optional_text(&self, name: &str) -> Result<Option<&'a str>, Complaint> {
        self.fields.get(name).map(|_| self.text(name)).transpose()
    }

    pub(super) fn flag(&self, name: &str) -> Result<Option<bool>, Complaint> {
        match self.fields.get(name) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(self.wrong(name, "true or false")),
        }
    }

    /// A whole number from 0 upwards; `12.0` counts as one.
    pub(super) fn count(&self, name: &str) -> Result<Option<u64>, Complaint> {
        let Some(value) = self.fields.get(name) else { return Ok(None) };
        let whole = |number: f64| {
            (number.fract() == 0.0 && (0.0..9.0e15).contains(&number)).then_some(number as u64)
        };
        match value.as_u64().or_else(|| value.as_f64().and_then(whole)) {
            Some(count) => Ok(Some(count)),
            None => Err(self.wrong(name, "a whole number, 0 or more")),
        }
    }

    fn wrong(&self, name: &str, kind: &str) -> Complaint {
        Complaint(format!("The field {name} of {} must be {kind}.", self.tool))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_wrong_field_has_its_sentence() {
        let value = json!({"a": 1, "b": "x", "c": 2.0, "d": -1, "e": " ", "f": 1.5});
        let input = Input::of("Tool", &value).unwrap();
        assert_eq!(input.text("a").unwrap_err().0, "The field a of Tool must be a string.");
        assert_eq!(input.text("z").unwrap_err().0, "Tool needs the field z.");
        assert_eq!(input.filled_text("e").unwrap_err().0, "The field e of Tool is empty.");
        assert_eq!(input.flag("b").unwrap_err().0, "The field b of Tool must be true or false.");
        assert_eq!(input.count("c"), Ok(Some(2)));
        assert!(input.count("d").is_err() && input.count("f").is_err());
        assert_eq!(input.optional_text("z"), Ok(None));
    }
}
