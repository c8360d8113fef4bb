//! `flower sessions serve` as a child that is asked and answers.

// Each story is a program of its own and uses a part.
#![allow(dead_code)]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

/// The real program at work on one run folder. Ended when it is dropped.
pub(crate) struct Server {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Server {
    /// The command that serves a run folder, to be changed before it is started.
    pub(crate) fn command(folder: &Path) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_flower"));
        command.args(["sessions", "serve", "-r"]).arg(folder);
        command
    }

    pub(crate) fn start(mut command: Command) -> Self {
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
        let input = child.stdin.take();
        let output = BufReader::new(child.stdout.take().expect("it is piped"));
        Self { child, input, output }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The answer's text to a request that may be of any length.
    pub(crate) fn raw(&mut self, method: &str, params: &str) -> String {
        let input = self.input.as_mut().expect("it is open");
        writeln!(input, r#"{{"id":1,"method":"{method}","params":{params}}}"#)
            .expect("it reads its input");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("it answers in UTF-8");
        line
    }

    /// The result, or the error's message.
    pub(crate) fn ask(&mut self, method: &str, params: &Value) -> Result<Value, String> {
        let answer: Value =
            serde_json::from_str(&self.raw(method, &params.to_string())).expect("JSON");
        match answer["error"]["message"].as_str() {
            Some(message) => Err(message.to_owned()),
            None => Ok(answer["result"].clone()),
        }
    }

    /// Appends to the session `s` of the project `p`.
    pub(crate) fn append(&mut self, entries: &[Value]) -> Result<(), String> {
        self.ask("append", &json!({"key": key(), "entries": entries})).map(drop)
    }

    /// The uuids of that session.
    pub(crate) fn uuids(&mut self) -> Vec<String> {
        let entries = self.ask("load", &json!({"key": key()})).expect("it can be read");
        let uuid = |entry: &Value| entry["uuid"].as_str().unwrap_or_default().to_owned();
        entries.as_array().map(|entries| entries.iter().map(uuid).collect()).unwrap_or_default()
    }

    /// Ends its input and waits for its end; true where that was a good one.
    pub(crate) fn end(mut self) -> bool {
        self.input = None;
        self.child.wait().expect("it is a child").success()
    }

    pub(crate) fn kill(mut self) {
        self.child.kill().expect("it can be killed");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn key() -> Value {
    json!({"project_key": "p", "session_id": "s"})
}
