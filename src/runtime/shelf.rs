//! Where the view's large results lie, and what of the record a model is shown.
//!
//! The hook's spill lies on the workbench; this one lies in the workspace, where Read reaches it whatever
//! the workbench's place is (core.md T-10). In the usual layout the two are one folder.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use crate::context::{self, Archived, Policy, Report, ThinkingPolicy, View};
use crate::disk::{self, Care};
use crate::event::{Event, Sink};
use crate::language::Language;
use crate::transcript::Entry;

/// What a resumed conversation leaves out. The default is the library's: large results stay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewOptions {
    /// Old large results become a pointer to a file.
    pub trim: bool,
    /// Old results of commands that only looked are marked as stale.
    pub ephemeral: bool,
    /// So many of the newest refusals by a guard stay.
    pub keep_denials: usize,
}

impl Default for ViewOptions {
    fn default() -> Self {
        let policy = Policy::default();
        Self {
            trim: false,
            ephemeral: policy.ephemeral.enabled,
            keep_denials: policy.prune.keep_denials,
        }
    }
}

impl ViewOptions {
    /// As the view takes it.
    pub fn policy(&self) -> Policy {
        let mut policy = Policy::default();
        policy.trim.enabled = self.trim;
        policy.ephemeral.enabled = self.ephemeral;
        policy.prune.keep_denials = self.keep_denials;
        policy
    }
}

/// Makes views and writes the files that they point to.
pub(super) struct Shelf {
    pub(super) policy: Policy,
    pub(super) sink: Sink,
    pub(super) language: Language,
    /// That files cannot be written was said.
    said: AtomicBool,
    /// The endpoint has refused thinking that was made elsewhere.
    without_thinking: AtomicBool,
}

impl Shelf {
    pub(super) fn new(options: &ViewOptions, sink: Sink, language: Language) -> Self {
        Self {
            policy: options.policy(),
            sink,
            language,
            said: AtomicBool::new(false),
            without_thinking: AtomicBool::new(false),
        }
    }

    /// Leaves thinking out of every view from now on; false where it was left out already.
    pub(super) fn drop_thinking(&self) -> bool {
        !self.without_thinking.swap(true, Ordering::Relaxed)
    }

    fn policy(&self) -> Policy {
        let mut policy = self.policy.clone();
        if self.without_thinking.load(Ordering::Relaxed) {
            policy.thinking = ThinkingPolicy::Strip;
        }
        policy
    }

    /// The folder of the files, for an agent that works in this one.
    pub(super) fn folder(&self, workspace: &Path) -> PathBuf {
        workspace.join(&self.policy.trim.spill_dirname)
    }

    /// The conversation of a record, after its files were written; nothing where they cannot be, and the
    /// record must be seen whole.
    pub(super) fn show(&self, record: Vec<Entry>, workspace: &Path) -> Option<Vec<Entry>> {
        match see(record, &self.policy(), workspace) {
            Ok(view) => {
                self.tell(&view.report);
                Some(view.into_conversation())
            }
            Err(error) => {
                self.complain(&self.folder(workspace), &error);
                None
            }
        }
    }

    /// The conversation with its large results in it.
    pub(super) fn show_whole(&self, record: Vec<Entry>) -> Vec<Entry> {
        context::view(record, &untrimmed(&self.policy())).into_conversation()
    }

    fn complain(&self, folder: &Path, error: &io::Error) {
        if !self.said.swap(true, Ordering::Relaxed) {
            let values =
                [("folder", &*folder.display().to_string()), ("reason", &error.to_string())];
            self.sink.tell(Event::Error { text: self.language.text("view.unwritten", &values) });
        }
    }

    fn tell(&self, report: &Report) {
        if report.cleared + report.expired == 0 {
            return;
        }
        let values = report.values();
        let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let data = json!({
            "notice": report.key(), "expired": report.expired, "cleared": report.cleared,
            "kept": report.kept, "chars_saved": report.chars_saved,
        });
        self.sink.tell(Event::Task { text: self.language.text(report.key(), &values), data });
    }
}

/// A view whose files are there.
pub(super) fn see(record: Vec<Entry>, policy: &Policy, workspace: &Path) -> io::Result<View> {
    let view = context::view(record, policy);
    keep(&workspace.join(&policy.trim.spill_dirname), &view.archived)?;
    Ok(view)
}

/// The policy that needs no files.
pub(super) fn untrimmed(policy: &Policy) -> Policy {
    let mut policy = policy.clone();
    policy.trim.enabled = false;
    policy
}

/// Writes texts that are not there yet, each whole or not at all.
fn keep(folder: &Path, archived: &[Archived]) -> io::Result<()> {
    if archived.is_empty() {
        return Ok(());
    }
    std::fs::create_dir_all(folder)?;
    for text in archived {
        let path = folder.join(text.name());
        // Looked up before the text is decoded: nearly all were written for an earlier view.
        if std::fs::symlink_metadata(&path).is_err() {
            disk::create(&path, text.text().as_bytes(), Care::Work)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record() -> Vec<Entry> {
        let long = "word ".repeat(1000);
        let rows = (0..30).flat_map(|n| {
            let call = format!(
                r#"{{"type":"assistant","uuid":"a{n}","parentUuid":"u{n}","message":{{"role":"assistant","id":"m{n}","content":[{{"type":"tool_use","id":"t{n}","name":"Bash","input":{{"command":"make {n}"}}}}]}}}}"#
            );
            let result = format!(
                r#"{{"type":"user","uuid":"u{}","parentUuid":"a{n}","message":{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"t{n}","content":"{n} {long}"}}]}}}}"#,
                n + 1
            );
            [call, result]
        });
        let prompt = r#"{"type":"user","uuid":"u0","parentUuid":null,"message":{"role":"user","content":"go"}}"#;
        std::iter::once(prompt.to_owned())
            .chain(rows)
            .map(|row| Entry::parse(row).unwrap())
            .collect()
    }

    fn shelf() -> Shelf {
        let options = ViewOptions { trim: true, ..ViewOptions::default() };
        Shelf::new(&options, Sink::nobody(), Language::English)
    }

    #[test]
    fn what_a_view_points_to_is_there_before_it_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let seen = shelf().show(record(), folder.path()).unwrap();
        let pointer = seen[2].raw();
        let at = pointer.find(".flower/spill/").unwrap();
        let path = &pointer[at..at + ".flower/spill/0123456789abcdef.txt".len()];
        let text = std::fs::read_to_string(folder.path().join(path)).unwrap();
        assert_eq!(text, format!("0 {}", "word ".repeat(1000)));
        let files = std::fs::read_dir(folder.path().join(".flower/spill")).unwrap();
        assert_eq!(files.count(), 10);
        // A file that is there stays as it is.
        std::fs::write(folder.path().join(path), "mine").unwrap();
        shelf().show(record(), folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(folder.path().join(path)).unwrap(), "mine");
    }

    #[test]
    fn where_files_cannot_be_written_results_stay() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join(".flower"), "in the way").unwrap();
        let shelf = shelf();
        assert!(shelf.show(record(), folder.path()).is_none());
        assert!(shelf.said.load(Ordering::Relaxed));
        let seen = shelf.show_whole(record());
        assert!(seen.iter().all(|entry| !entry.raw().contains(".flower/spill")));
        assert_eq!(seen.len(), 61);
    }
}
