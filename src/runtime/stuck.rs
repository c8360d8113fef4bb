//! Notices that a thread makes the same call with the same result again and again.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};

use tokio::sync::SetOnce;

use crate::engine::{EngineError, Fault, Place, ToolCall, ToolResult};
use crate::event::Event;
use crate::human::Channel;
use crate::language::Language;

use super::host::StepHost;

/// So many times in a row the model is told; twice as many, the person. Somebody who waits for something
/// looks a few times, too.
pub(super) const TIMES: u32 = 5;

/// How often each thread of a step got the same from the same, in a row.
#[derive(Debug, Default)]
pub(super) struct Repetition {
    threads: HashMap<String, (u64, u32)>,
}

impl Repetition {
    /// Takes in a call with its result; gives how often it was this one in a row.
    pub(super) fn count(&mut self, call: &ToolCall, result: &ToolResult) -> u32 {
        let thread = match &call.place {
            Place::Main => String::new(),
            Place::Subagent { id, .. } => id.clone(),
        };
        let mut print = DefaultHasher::new();
        call.name.hash(&mut print);
        call.input.to_string().hash(&mut print);
        result.output.to_string().hash(&mut print);
        result.is_error.hash(&mut print);
        let print = print.finish();
        let (last, times) = self.threads.entry(thread).or_insert((print, 0));
        *times = if *last == print { times.saturating_add(1) } else { 1 };
        *last = print;
        *times
    }

    /// A subagent has ended.
    pub(super) fn forget(&mut self, agent: &str) {
        self.threads.remove(agent);
    }
}

/// Set when the person says that a step is to stop.
#[derive(Debug, Default)]
pub(super) struct Halt(SetOnce<()>);

impl Halt {
    /// The person's decision as an error, once there is one.
    pub(super) async fn wait(&self, language: Language) -> EngineError {
        self.0.wait().await;
        EngineError::new(Fault::Stopped, language.text("runtime.stuck_stopped", &[]))
    }
}

impl StepHost {
    /// The result as the model gets it: from the fifth time on with a sentence about it. At twice as many
    /// the person is told, and asked on the main thread; without one the run goes on until its limits.
    pub(super) async fn unstick(
        &self,
        call: &ToolCall,
        result: ToolResult,
        times: u32,
    ) -> ToolResult {
        if times < TIMES {
            return result;
        }
        if times == 2 * TIMES {
            let values = [("tool", call.name.as_str()), ("times", &times.to_string())];
            let text = self.language.text("runtime.stuck", &values);
            let data = serde_json::json!({"notice": "runtime.stuck", "step": self.step});
            self.sink.tell(Event::Task { text: text.clone(), data });
            if call.place == Place::Main
                && let Some(channel) = &self.channel
                && self.wants_to_stop(channel, &text).await
            {
                let _ = self.halt.0.set(());
            }
        }
        let words = format!(
            "The same call has now given the same result {times} times in a row. Repeating it will not \
             change that: do something else, or say what you are waiting for and end."
        );
        ToolResult { output: with_words(result.output, &words), is_error: result.is_error }
    }

    async fn wants_to_stop(&self, channel: &Channel, text: &str) -> bool {
        let options = ["runtime.stuck_go_on", "runtime.stuck_stop"];
        let options = options.map(|key| self.language.text(key, &[])).to_vec();
        channel.ask_framework(text, &options).await.choice == Some(1)
    }
}

/// The output with one more block of text, whatever form it has.
fn with_words(output: serde_json::Value, words: &str) -> serde_json::Value {
    use serde_json::{Value, json};
    match output {
        Value::String(text) => Value::String(format!("{text}\n\n{words}")),
        Value::Array(mut blocks) => {
            blocks.push(json!({"type": "text", "text": words}));
            Value::Array(blocks)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn call(place: Place, command: &str) -> ToolCall {
        let input = json!({"command": command});
        ToolCall { id: "x".into(), name: "Bash".into(), input, place }
    }

    #[test]
    fn only_the_same_call_with_the_same_result_in_a_row_counts() {
        let mut seen = Repetition::default();
        let same = ToolResult::text("same".to_owned());
        let main = |command: &str| call(Place::Main, command);
        assert_eq!([1, 2, 3].map(|_| seen.count(&main("ls"), &same)), [1, 2, 3]);
        assert_eq!(seen.count(&main("ls"), &ToolResult::text("other".to_owned())), 1);
        assert_eq!(seen.count(&main("ls"), &same), 1);
        assert_eq!(seen.count(&main("pwd"), &same), 1);
        assert_eq!(seen.count(&main("pwd"), &ToolResult::error("same".to_owned())), 1);
    }

    #[test]
    fn each_thread_counts_for_itself() {
        let mut seen = Repetition::default();
        let same = ToolResult::text("same".to_owned());
        let agent = || Place::Subagent { id: "a".into(), kind: "coder".into() };
        seen.count(&call(agent(), "ls"), &same);
        assert_eq!(seen.count(&call(Place::Main, "ls"), &same), 1);
        assert_eq!(seen.count(&call(agent(), "ls"), &same), 2);
        seen.forget("a");
        assert_eq!(seen.count(&call(agent(), "ls"), &same), 1);
    }

    #[test]
    fn words_are_added_to_text_and_to_blocks() {
        assert_eq!(with_words(json!("a"), "b"), json!("a\n\nb"));
        let blocks = json!([{"type": "image"}]);
        assert_eq!(with_words(blocks, "b")[1], json!({"type": "text", "text": "b"}));
    }
}
