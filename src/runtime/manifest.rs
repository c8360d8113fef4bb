//! `manifest.json`: what every step of every run in this folder came to.

use std::sync::Mutex;

use serde_json::Value;

use super::record::{RecordError, RunFolder};
use super::step::StepResult;

const NAME: &str = "manifest.json";

/// The rows of this run, kept beside those of all others.
///
/// The file is a JSON array. A row belongs to the run named in its `run` field; rows of other runs are
/// carried over untouched, whatever fields they have.
#[derive(Debug)]
pub struct Manifest {
    folder: RunFolder,
    run_id: String,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    done: Vec<StepResult>,
    running: Vec<StepResult>,
}

impl Manifest {
    /// A new run. Fails where there is a manifest that cannot be read, before anything is spent.
    pub fn open(folder: &RunFolder) -> Result<Self, RecordError> {
        let manifest = Self { folder: folder.clone(), run_id: run_id(), state: Mutex::default() };
        manifest.rows_of_others()?;
        Ok(manifest)
    }

    /// `YYYYmmdd-HHMMSS-` and six hex digits, in local time.
    pub fn run_id(&self) -> &str {
        &self.run_id
    }

    /// Results of this run so far, in the order in which they ended.
    pub fn results(&self) -> Vec<StepResult> {
        self.state().done.clone()
    }

    /// US dollars and replies that this run has used, with what runs now.
    pub(super) fn spent(&self) -> (f64, u32) {
        let state = self.state();
        let rows = || state.done.iter().chain(&state.running);
        (rows().map(|row| row.cost_usd).sum(), rows().map(|row| row.num_turns).sum())
    }

    /// A step begins; it is written down only when it ends, or when the process is told to die.
    pub(super) fn begin(&self, step: &str) -> StepResult {
        let result = StepResult::begin(step, &self.run_id);
        self.state().running.push(result.clone());
        result
    }

    /// What is known of a running step, so that a rescue has it.
    pub(super) fn note(&self, result: &StepResult) {
        let mut state = self.state();
        if let Some(row) = state.running.iter_mut().find(|row| row.step == result.step) {
            *row = result.clone();
        } else if let Some(row) = state.done.iter_mut().rfind(|row| row.step == result.step) {
            // Rescued already: only what was used is news.
            row.cost_usd = result.cost_usd;
            row.cost_known = result.cost_known;
            row.num_turns = result.num_turns;
            row.usage = result.usage;
        }
    }

    /// A step has ended.
    pub(super) fn end(&self, result: StepResult) -> Result<(), RecordError> {
        {
            let mut state = self.state();
            state.running.retain(|row| row.step != result.step);
            state.done.push(result);
        }
        self.write()
    }

    /// The process is about to die: what runs is written down as it stands (core.md U-62).
    pub fn rescue(&self, reason: &str) -> Result<(), RecordError> {
        {
            let mut state = self.state();
            let running = std::mem::take(&mut state.running);
            for mut row in running {
                row.end();
                row.error.get_or_insert_with(|| reason.to_owned());
                state.done.push(row);
            }
            if state.done.is_empty() {
                return Ok(());
            }
        }
        self.write()
    }

    fn write(&self) -> Result<(), RecordError> {
        let _lock = self.folder.lock()?;
        let mut rows = self.rows_of_others()?;
        for row in &self.state().done {
            rows.push(serde_json::to_value(row).map_err(|e| RecordError::Damaged {
                path: self.folder.file(NAME),
                reason: e.to_string(),
            })?);
        }
        self.folder.replace(NAME, &Value::Array(rows))
    }

    fn rows_of_others(&self) -> Result<Vec<Value>, RecordError> {
        let rows = match self.folder.read(NAME)? {
            None => return Ok(Vec::new()),
            Some(Value::Array(rows)) => rows,
            Some(_) => {
                return Err(RecordError::Damaged {
                    path: self.folder.file(NAME),
                    reason: "not an array of rows".into(),
                });
            }
        };
        Ok(rows
            .into_iter()
            .filter(|row| row.get("run").and_then(Value::as_str) != Some(&self.run_id))
            .collect())
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

fn run_id() -> String {
    let stamp = jiff::ZonedDateTime::now().strftime("%Y%m%d-%H%M%S").to_string();
    let id = uuid::Uuid::new_v4().simple().to_string();
    format!("{stamp}-{}", &id[..6])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> (tempfile::TempDir, RunFolder) {
        let dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::open(dir.path()).unwrap();
        (dir, folder)
    }

    fn rows(folder: &RunFolder) -> Vec<Value> {
        folder.read(NAME).unwrap().unwrap().as_array().unwrap().clone()
    }

    #[test]
    fn two_runs_keep_each_others_rows_with_unknown_keys() {
        let (_dir, folder) = folder();
        std::fs::write(folder.file(NAME), r#"[{"run":"old","step":"work","extra":[1]}]"#).unwrap();
        let one = Manifest::open(&folder).unwrap();
        let two = Manifest::open(&folder).unwrap();
        let (a, b) = (one.begin("work"), two.begin("work"));
        one.end(a).unwrap();
        two.end(b).unwrap();
        let c = one.begin("work#round2");
        one.end(c).unwrap();
        let rows = rows(&folder);
        assert_eq!(rows.len(), 4);
        assert_eq!(rows[0], serde_json::json!({"run":"old","step":"work","extra":[1]}));
        assert_ne!(one.run_id(), two.run_id());
    }

    #[test]
    fn a_damaged_manifest_is_refused_and_left_alone() {
        let (_dir, folder) = folder();
        for text in ["", "{\"a\":1}", "[{"] {
            std::fs::write(folder.file(NAME), text).unwrap();
            let error = Manifest::open(&folder).unwrap_err();
            assert!(error.to_string().contains("damaged"), "{error}");
            assert_eq!(std::fs::read_to_string(folder.file(NAME)).unwrap(), text);
        }
    }

    #[test]
    fn a_rescue_writes_the_running_step() {
        let (_dir, folder) = folder();
        let manifest = Manifest::open(&folder).unwrap();
        let mut row = manifest.begin("work");
        row.session_id = Some("s".into());
        manifest.note(&row);
        manifest.rescue("killed-by-signal").unwrap();
        let rows = rows(&folder);
        assert_eq!(rows[0]["error"], "killed-by-signal");
        assert_eq!(rows[0]["session_id"], "s");
        assert_ne!(rows[0]["ended_at"], 0.0);
    }
}
