//! `lineage.json`: what the next run goes on with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::record::{RecordError, RunFolder};

const NAME: &str = "lineage.json";

/// The threads of one workspace: which session belongs to which step, what was asked, how it ended.
///
/// Every change reads the file anew under the folder's lock, so that another process's entries stay.
#[derive(Debug)]
pub struct Lineage {
    folder: RunFolder,
    workspace: String,
}

/// What the file says at one moment.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LineageState {
    /// How often a run was started here.
    pub woke: u64,
    /// Step name to session id.
    pub steps: BTreeMap<String, String>,
    /// Requests in the order in which they were made, as they were said.
    pub asks: Vec<String>,
    /// How many of the requests the goal on disk was set for.
    pub goal_covers: usize,
    /// How many of the requests the conversation of the work has been told.
    pub work_covers: usize,
    /// The work was judged achieved, and nothing was asked since.
    pub achieved: bool,
    /// The workspace that the file was written for, where it is another one (the folder was moved).
    pub other_workspace: Option<PathBuf>,
}

impl LineageState {
    /// The requests that the conversation of the work has not been told.
    pub fn untold(&self) -> String {
        self.asks.get(self.work_covers..).unwrap_or_default().join("\n\n")
    }
}

impl Lineage {
    /// The lineage of `workspace`, which must be resolved.
    pub fn open(folder: &RunFolder, workspace: &Path) -> Self {
        Self { folder: folder.clone(), workspace: workspace.to_string_lossy().into_owned() }
    }

    /// What is known. A file of another workspace or one that cannot be read counts as empty.
    pub fn state(&self) -> LineageState {
        let Some(file) = self.read() else { return LineageState::default() };
        let written_for = file.get("workspace").and_then(Value::as_str).unwrap_or_default();
        if written_for != self.workspace {
            return LineageState {
                other_workspace: Some(PathBuf::from(written_for)),
                ..LineageState::default()
            };
        }
        let count = |key: &str| {
            let count = file.get(key).and_then(Value::as_u64).unwrap_or(0);
            usize::try_from(count).unwrap_or(usize::MAX)
        };
        let text = |value: &Value| value.as_str().filter(|s| !s.is_empty()).map(str::to_owned);
        LineageState {
            woke: file.get("woke").and_then(Value::as_u64).unwrap_or(0),
            steps: file
                .get("steps")
                .and_then(Value::as_object)
                .into_iter()
                .flatten()
                .filter_map(|(step, id)| Some((step.clone(), text(id)?)))
                .collect(),
            asks: file
                .get("asks")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .filter_map(text)
                .collect(),
            goal_covers: count("goal_covers"),
            work_covers: count("work_covers"),
            achieved: file.get("achieved") == Some(&Value::Bool(true)),
            other_workspace: None,
        }
    }

    /// One more run; gives its number.
    pub fn wake(&self) -> Result<u64, RecordError> {
        let mut woke = 0;
        self.change(|file| {
            woke = file.get("woke").and_then(Value::as_u64).unwrap_or(0) + 1;
            file.insert("woke".into(), json!(woke));
        })?;
        Ok(woke)
    }

    /// This session now carries the step.
    pub fn remember(&self, step: &str, session: &str) -> Result<(), RecordError> {
        self.change(|file| {
            let steps = file.entry("steps").or_insert_with(|| json!({}));
            if !steps.is_object() {
                *steps = json!({});
            }
            steps[step] = json!(session);
        })
    }

    /// Something was asked; what was achieved before no longer answers it.
    pub fn ask(&self, words: &str) -> Result<(), RecordError> {
        self.change(|file| {
            let asks = file.entry("asks").or_insert_with(|| json!([]));
            match asks.as_array_mut() {
                Some(list) => list.push(json!(words)),
                None => *asks = json!([words]),
            }
            file.insert("achieved".into(), json!(false));
        })
    }

    /// The goal on disk was set for this many requests.
    pub fn goal_covers(&self, asks: usize) -> Result<(), RecordError> {
        self.set("goal_covers", json!(asks))
    }

    /// The conversation of the work is told this many requests.
    pub fn work_covers(&self, asks: usize) -> Result<(), RecordError> {
        self.set("work_covers", json!(asks))
    }

    /// The work was judged achieved, or begins again.
    pub fn set_achieved(&self, achieved: bool) -> Result<(), RecordError> {
        self.set("achieved", json!(achieved))
    }

    fn set(&self, key: &str, value: Value) -> Result<(), RecordError> {
        self.change(|file| {
            file.insert(key.into(), value);
        })
    }

    /// The file itself, for archiving.
    pub fn path(&self) -> PathBuf {
        self.folder.file(NAME)
    }

    fn read(&self) -> Option<Map<String, Value>> {
        match self.folder.read(NAME) {
            Ok(Some(Value::Object(file))) => Some(file),
            _ => None,
        }
    }

    fn change(&self, edit: impl FnOnce(&mut Map<String, Value>)) -> Result<(), RecordError> {
        let _lock = self.folder.lock()?;
        let mut file = self
            .read()
            .filter(|file| {
                file.get("workspace").and_then(Value::as_str) == Some(self.workspace.as_str())
            })
            .unwrap_or_default();
        file.insert("workspace".into(), json!(self.workspace));
        edit(&mut file);
        self.folder.replace(NAME, &Value::Object(file))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn open(dir: &Path, workspace: &str) -> Lineage {
        Lineage::open(&RunFolder::open(dir).unwrap(), Path::new(workspace))
    }

    #[test]
    fn entries_of_two_processes_and_unknown_keys_stay() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(
            dir.path().join(NAME),
            r#"{"workspace":"/w","woke":3,"steps":{"确认需求":"a"},"mine":1}"#,
        )
        .unwrap();
        let (one, two) = (open(dir.path(), "/w"), open(dir.path(), "/w"));
        one.remember("clarify", "c").unwrap();
        two.remember("work", "d").unwrap();
        assert_eq!(one.wake().unwrap(), 4);
        two.ask("do it").unwrap();
        let state = one.state();
        assert_eq!(state.steps.len(), 3);
        assert_eq!(state.asks, ["do it"]);
        assert_eq!(one.read().unwrap()["mine"], 1);
    }

    #[test]
    fn another_workspace_is_noticed_and_its_sessions_are_not_used() {
        let dir = tempfile::tempdir().unwrap();
        open(dir.path(), "/old").remember("work", "s").unwrap();
        let state = open(dir.path(), "/new").state();
        assert!(state.steps.is_empty());
        assert_eq!(state.other_workspace.as_deref(), Some(Path::new("/old")));
    }

    #[test]
    fn a_new_request_takes_back_what_was_achieved() {
        let dir = tempfile::tempdir().unwrap();
        let lineage = open(dir.path(), "/w");
        lineage.ask("one").unwrap();
        lineage.set_achieved(true).unwrap();
        assert!(lineage.state().achieved);
        lineage.ask("two").unwrap();
        assert!(!lineage.state().achieved);
    }
}
