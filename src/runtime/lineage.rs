//! `lineage.json`: what the next run goes on with.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::record::{RecordError, RunFolder};

type File = Map<String, Value>;

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
    /// The judge's last words that the conversation of the work has not been told.
    pub feedback: String,
    /// Fingerprints of the papers that a step was made from, by the name of that relation.
    pub papers: BTreeMap<String, String>,
    /// The workspace that the file was written for, where nothing is known of this one (it was moved).
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

    /// What is known. A damaged file is an error: taken for empty, it would be lost with the next change.
    pub fn state(&self) -> Result<LineageState, RecordError> {
        let (file, other) = self.read()?;
        let Some(file) = file else {
            let other_workspace = other.map(PathBuf::from);
            return Ok(LineageState { other_workspace, ..LineageState::default() });
        };
        let count = |key: &str| {
            let count = file.get(key).and_then(Value::as_u64).unwrap_or(0);
            usize::try_from(count).unwrap_or(usize::MAX)
        };
        let text = |value: &Value| value.as_str().filter(|s| !s.is_empty()).map(str::to_owned);
        let named = |key: &str| {
            let entries = file.get(key).and_then(Value::as_object).into_iter().flatten();
            entries.filter_map(|(name, value)| Some((name.clone(), text(value)?))).collect()
        };
        Ok(LineageState {
            woke: file.get("woke").and_then(Value::as_u64).unwrap_or(0),
            steps: named("steps"),
            papers: named("papers"),
            feedback: file.get("feedback").and_then(text).unwrap_or_default(),
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
        })
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
            file.entry("steps").or_insert_with(|| json!({}))[step] = json!(session);
        })
    }

    /// This relation now holds for the paper with this fingerprint.
    pub fn mark(&self, relation: &str, fingerprint: &str) -> Result<(), RecordError> {
        self.change(|file| {
            file.entry("papers").or_insert_with(|| json!({}))[relation] = json!(fingerprint);
        })
    }

    /// What the judge said last, until the conversation of the work has been told; empty from then on.
    pub fn keep_feedback(&self, words: &str) -> Result<(), RecordError> {
        self.set("feedback", json!(words))
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

    /// The file itself, for archiving; also a damaged one, but never another workspace's.
    pub fn path(&self) -> PathBuf {
        match self.load(NAME) {
            Ok(Some(file)) if written_for(&file) != self.workspace => {
                self.folder.file(&aside(&self.workspace))
            }
            _ => self.folder.file(NAME),
        }
    }

    /// This workspace's threads where there are any, and the workspace that `lineage.json` is about where
    /// that is another one.
    fn read(&self) -> Result<(Option<File>, Option<String>), RecordError> {
        let mut other = None;
        if let Some(file) = self.load(NAME)? {
            let workspace = written_for(&file);
            if workspace == self.workspace {
                return Ok((Some(file), None));
            }
            other = Some(workspace.to_owned());
        }
        let own = self.load(&aside(&self.workspace))?;
        Ok((own.filter(|file| written_for(file) == self.workspace), other))
    }

    /// A file, where it has the form that flower gives it.
    fn load(&self, name: &str) -> Result<Option<File>, RecordError> {
        let damaged = |reason: &str| RecordError::Damaged {
            path: self.folder.file(name),
            reason: reason.to_owned(),
        };
        let mut file = match self.folder.read(name)? {
            None => return Ok(None),
            Some(Value::Object(file)) => file,
            Some(_) => return Err(damaged("no object")),
        };
        file.retain(|_, value| !value.is_null());
        for (key, fits) in [
            ("steps", Value::is_object as fn(&Value) -> bool),
            ("papers", Value::is_object),
            ("asks", Value::is_array),
        ] {
            if file.get(key).is_some_and(|value| !fits(value)) {
                return Err(damaged(key));
            }
        }
        Ok(Some(file))
    }

    /// Where the file is about another workspace, that one's threads are put aside and this one's are
    /// taken up, so that two workspaces can share a run folder and a moved one loses nothing.
    fn change(&self, edit: impl FnOnce(&mut File)) -> Result<(), RecordError> {
        let _lock = self.folder.lock()?;
        let (file, other) = self.read()?;
        if let Some(other) = other {
            self.folder.rename(NAME, &aside(&other))?;
        }
        let mut file = file.unwrap_or_default();
        file.insert("workspace".into(), json!(self.workspace));
        edit(&mut file);
        self.folder.replace(NAME, &Value::Object(file))?;
        // Older than what was just written, if it is there at all.
        let _ = std::fs::remove_file(self.folder.file(&aside(&self.workspace)));
        Ok(())
    }
}

fn written_for(file: &File) -> &str {
    file.get("workspace").and_then(Value::as_str).unwrap_or_default()
}

/// The file of a workspace while `lineage.json` is about another one.
fn aside(workspace: &str) -> String {
    format!("lineage-{}.json", fingerprint(workspace))
}

/// Sixteen hex digits that stand for a text.
pub fn fingerprint(text: &str) -> String {
    Sha256::digest(text).iter().take(8).map(|byte| format!("{byte:02x}")).collect()
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
        let state = one.state().unwrap();
        assert_eq!(state.steps.len(), 3);
        assert_eq!(state.asks, ["do it"]);
        assert_eq!(one.read().unwrap().0.unwrap()["mine"], 1);
    }

    #[test]
    fn another_workspace_is_noticed_and_its_sessions_are_not_used() {
        let dir = tempfile::tempdir().unwrap();
        open(dir.path(), "/old").remember("work", "s").unwrap();
        let state = open(dir.path(), "/new").state().unwrap();
        assert!(state.steps.is_empty());
        assert_eq!(state.other_workspace.as_deref(), Some(Path::new("/old")));
    }

    #[test]
    fn two_workspaces_take_turns_in_one_folder_and_lose_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (open(dir.path(), "/a"), open(dir.path(), "/b"));
        a.remember("work", "of a").unwrap();
        b.remember("work", "of b").unwrap();
        assert_eq!(a.state().unwrap().steps["work"], "of a");
        assert_ne!(a.path(), b.path(), "archiving one leaves the other");
        a.ask("more").unwrap();
        assert_eq!(a.state().unwrap().steps["work"], "of a");
        assert_eq!(b.state().unwrap().steps["work"], "of b");
        assert_eq!(b.state().unwrap().other_workspace, None);
        std::fs::remove_file(a.path()).unwrap();
        assert_eq!(b.state().unwrap().steps["work"], "of b");
    }

    #[test]
    fn a_damaged_file_is_refused_and_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let lineage = open(dir.path(), "/w");
        for text in ["", "[]", "{\"steps\":", r#"{"workspace":"/w","asks":"x"}"#] {
            std::fs::write(lineage.path(), text).unwrap();
            assert!(lineage.state().unwrap_err().to_string().contains("damaged"), "{text}");
            assert!(lineage.wake().is_err(), "{text}");
            assert_eq!(std::fs::read_to_string(lineage.path()).unwrap(), text);
        }
    }

    #[test]
    fn a_new_request_takes_back_what_was_achieved() {
        let dir = tempfile::tempdir().unwrap();
        let lineage = open(dir.path(), "/w");
        lineage.ask("one").unwrap();
        lineage.set_achieved(true).unwrap();
        assert!(lineage.state().unwrap().achieved);
        lineage.ask("two").unwrap();
        assert!(!lineage.state().unwrap().achieved);
    }
}
