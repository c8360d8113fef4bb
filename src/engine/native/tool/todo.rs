//! TodoWrite: the model's own list of what is to do.

use serde_json::{Value, json};

use super::input::Input;
use super::{Answer, Complaint, ToolOutput, Toolbox, object_schema};

pub(super) const DESCRIPTION: &str = "Replaces your list of what is to do, for work of several steps. Give \
the whole list each time; every item has `content` (what is to do), `activeForm` (the same as something being \
done) and `status` (pending, in_progress or completed). Mark an item as soon as its state changes.";

pub(super) fn schema() -> Value {
    let item = object_schema(
        json!({
            "content": {"type": "string", "minLength": 1},
            "status": {"type": "string", "enum": ["pending", "in_progress", "completed"]},
            "activeForm": {"type": "string", "minLength": 1},
        }),
        &["content", "status", "activeForm"],
    );
    object_schema(
        json!({"todos": {"type": "array", "items": item, "description": "The whole list."}}),
        &["todos"],
    )
}

pub(super) fn run(toolbox: &Toolbox, input: &Input<'_>) -> Answer {
    let todos = match input.get("todos") {
        None => return Err(Complaint::new("TodoWrite needs the field todos.")),
        Some(Value::Array(todos)) => todos,
        Some(_) => return Err(Complaint::new("The field todos of TodoWrite must be an array.")),
    };
    let (mut kept, mut active, mut done) = (Vec::new(), 0, 0);
    for todo in todos {
        let item = Input::of("an item of todos", todo)?;
        let (content, form) = (item.filled_text("content")?, item.filled_text("activeForm")?);
        let status = item.text("status")?;
        match status {
            "pending" => {}
            "in_progress" => active += 1,
            "completed" => done += 1,
            _ => {
                return Err(Complaint::new(
                    "The status of an item must be pending, in_progress or completed.",
                ));
            }
        }
        kept.push(json!({"content": content, "status": status, "activeForm": form}));
    }
    let text = format!("The list has {} items: {done} done, {active} in progress.", kept.len());
    let new = Value::Array(kept);
    let old = toolbox.replace_todos(new.clone());
    Ok(ToolOutput::text(text, json!({"oldTodos": old, "newTodos": new})))
}

#[cfg(test)]
mod tests {
    use super::super::run as call;
    use super::*;

    #[tokio::test]
    async fn a_good_list_is_kept_and_a_bad_one_changes_nothing() {
        let toolbox = Toolbox::new("/".into(), Vec::new());
        let item = json!({"content": "Test", "status": "in_progress", "activeForm": "Testing"});
        let output = call(&toolbox, "TodoWrite", &json!({"todos": [item]})).await.unwrap();
        assert_eq!(output.output, json!("The list has 1 items: 0 done, 1 in progress."));
        for bad in [
            json!(["text"]),
            json!([{"content": "x"}]),
            json!([{"content": "", "status": "pending", "activeForm": "x"}]),
            json!([{"content": "x", "status": "later", "activeForm": "x"}]),
        ] {
            assert!(call(&toolbox, "TodoWrite", &json!({"todos": bad})).await.unwrap().is_error);
        }
        assert_eq!(toolbox.todos(), json!([item]));
    }
}
