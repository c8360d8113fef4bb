//! A user's machine in a temporary folder: HOME, a project, a gate, and the program.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::Value;

#[path = "../support/schema.rs"]
mod schema;

/// HOME and project of one story.
pub(crate) struct House {
    _dir: tempfile::TempDir,
    pub(crate) home: PathBuf,
    pub(crate) project: PathBuf,
}

/// A gate that plays a cassette until it is dropped or ended.
pub(crate) struct Gate {
    child: Child,
    pub(crate) url: String,
    log: PathBuf,
}

impl House {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (home, project) = (root.join("home"), root.join("project"));
        std::fs::create_dir_all(&home).unwrap();
        std::fs::create_dir_all(&project).unwrap();
        Self { _dir: dir, home, project }
    }

    /// The same machine, looked at from another folder.
    pub(crate) fn at(self, project: PathBuf) -> Self {
        Self { project, ..self }
    }

    /// A file of the project.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let path = self.project.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.project.join(name)).unwrap()
    }

    pub(crate) fn exists(&self, name: &str) -> bool {
        self.project.join(name).exists()
    }

    /// A program in the project with nothing of this machine's environment but PATH.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(&self.project)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap())
            .env("HOME", &self.home)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "story")
            .env("GIT_AUTHOR_EMAIL", "story@localhost")
            .env("GIT_COMMITTER_NAME", "story")
            .env("GIT_COMMITTER_EMAIL", "story@localhost")
            .stdin(Stdio::null());
        command
    }

    /// flower itself with the waits that it has.
    pub(crate) fn patient(&self, words: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_flower"));
        command.args(words);
        command
    }

    /// flower itself, with short waits and without what would be one more request and two files in the
    /// project, in stories that are about something else.
    pub(crate) fn flower(&self, words: &[&str]) -> Command {
        let mut command = self.patient(words);
        command.env("FLOWER_NO_HANDOVER", "1");
        for (wait, seconds) in [
            ("FLOWER_RETRY_BASE", "0.01"),
            ("FLOWER_RETRY_MAX", "0.02"),
            ("FLOWER_PROBE_INTERVAL", "0.05"),
            ("FLOWER_MAX_OFFLINE", "0.5"),
        ] {
            command.env(wait, seconds);
        }
        command
    }

    /// flower with its endpoint at a gate.
    pub(crate) fn flower_at(&self, gate: &Gate, words: &[&str]) -> Command {
        let mut command = self.flower(words);
        command.env("FLOWER_GATE", &gate.url);
        command
    }

    pub(crate) fn git(&self, words: &[&str]) -> String {
        let output = self.command("git").args(words).output().unwrap();
        assert!(output.status.success(), "git {words:?}: {}", stderr(&output));
        stdout(&output)
    }

    /// Plays the rules; `rules` is the list below `rules:`.
    pub(crate) fn gate(&self, rules: &str) -> Gate {
        let text = format!("format: flower-cassette/1\nabout: a story\nrules:\n{rules}");
        let path = self.home.join("cassette.yaml");
        std::fs::write(&path, text).unwrap();
        self.gate_of(&path)
    }

    /// Plays a cassette file.
    pub(crate) fn gate_of(&self, cassette: &Path) -> Gate {
        let log = self
            .home
            .join(format!("gate-{}.jsonl", std::fs::read_dir(&self.home).unwrap().count()));
        self.gate_at("127.0.0.1:0", cassette, log)
    }

    /// A gate at an address that is known before it listens.
    pub(crate) fn gate_at(&self, address: &str, cassette: &Path, log: PathBuf) -> Gate {
        let mut child = self
            .flower(&["gate", "--listen", address, "--replay"])
            .arg(cassette)
            .arg("--log")
            .arg(&log)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let url = line.split_whitespace().find(|word| word.starts_with("http://"));
        let url = url.unwrap_or_else(|| panic!("no address in {line:?}")).to_owned();
        Gate { child, url, log }
    }

    /// Rows of the manifest.
    pub(crate) fn manifest(&self) -> Vec<Value> {
        let text = self.read("runs/manifest.json");
        serde_json::from_str::<Value>(&text).unwrap().as_array().unwrap().clone()
    }

    /// Step names of the manifest, in order.
    pub(crate) fn steps(&self) -> Vec<String> {
        self.manifest().iter().map(|row| row["step"].as_str().unwrap().to_owned()).collect()
    }

    /// Every stored entry: its key and its row.
    pub(crate) fn entries(&self) -> Vec<(String, Value)> {
        let db = rusqlite::Connection::open(self.project.join("runs/sessions.db")).unwrap();
        let mut query =
            db.prepare("SELECT store_key, payload FROM entries ORDER BY store_key, seq").unwrap();
        let rows = query
            .query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?)))
            .unwrap();
        rows.map(|row| row.unwrap())
            .map(|(key, payload)| (key, serde_json::from_str(&payload).unwrap()))
            .collect()
    }
}

impl Gate {
    /// Bodies of the model requests so far, with the headers beside them.
    pub(crate) fn requests(&self) -> Vec<Value> {
        model_requests(&self.log)
    }

    /// Everything that the gate wrote down.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Ends it as a user would; gives its exit code.
    pub(crate) fn end(mut self) -> Option<i32> {
        let pid = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
        self.child.wait().unwrap().code()
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub(crate) fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(crate) fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Runs it and checks the exit code, showing everything where it differs.
pub(crate) fn ends_with(command: &mut Command, code: i32) -> Output {
    let output = command.output().unwrap();
    assert_eq!(
        output.status.code(),
        Some(code),
        "stdout:\n{}\nstderr:\n{}",
        stdout(&output),
        stderr(&output)
    );
    check_lines(command, &output);
    output
}

/// Every line of the JSON formats is as the schema says that lies beside the events.
fn check_lines(command: &Command, output: &Output) {
    let format = command.get_args().find(|word| *word == "json" || *word == "stream-json");
    if format.is_none() || !command.get_args().any(|word| word == "--output") {
        return;
    }
    let rules = include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/src/event/event.schema.json"));
    let rules: Value = serde_json::from_str(rules).unwrap();
    for line in stdout(output).lines() {
        let line: Value = serde_json::from_str(line).unwrap();
        schema::check(&rules, &rules, &line).unwrap_or_else(|why| panic!("{why}: {line}"));
    }
}

/// The text of everything that a request shows the model: system, messages, tools.
pub(crate) fn shown(request: &Value) -> String {
    request["body"].to_string()
}

/// All results of tools in a request: (name of the tool, is_error, text).
pub(crate) fn tool_results(request: &Value) -> Vec<(String, bool, String)> {
    let mut names = std::collections::HashMap::new();
    let mut results = Vec::new();
    for message in request["body"]["messages"].as_array().unwrap() {
        for block in message["content"].as_array().into_iter().flatten() {
            match block["type"].as_str() {
                Some("tool_use") => {
                    names.insert(block["id"].clone(), block["name"].as_str().unwrap().to_owned());
                }
                Some("tool_result") => results.push((
                    names[&block["tool_use_id"]].clone(),
                    block["is_error"] == true,
                    match &block["content"] {
                        Value::String(text) => text.clone(),
                        other => other.to_string(),
                    },
                )),
                _ => {}
            }
        }
    }
    results
}

/// The step that a request belongs to, without its number.
pub(crate) fn step_of(request: &Value) -> &str {
    let label = request["headers"]["x-flower-step"].as_str().unwrap_or_default();
    label.split('#').next().unwrap_or_default()
}

/// The model requests in a gate's log. A gate may be writing meanwhile, so the last line counts only when
/// it is whole.
pub(crate) fn model_requests(log: &Path) -> Vec<Value> {
    let text = std::fs::read_to_string(log).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    let rows = whole.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    rows.filter(|row| row["path"].as_str().is_some_and(|path| path.starts_with("/v1/messages")))
        .collect()
}
