//! Desk: `.flower/`, where an agent keeps scripts, artifacts and notes from one session to the next.

use std::io;
use std::path::{Path, PathBuf};

use crate::language::Language;

mod archive;
mod describe;
mod file;
mod index;
mod place;
mod scan;

use file::at;
use place::Names;

/// A workbench on disk. Everything that writes into one goes through the same object, so that nobody
/// puts a brief where the index does not look (core.md W-8).
#[derive(Debug, Clone)]
pub struct Workbench {
    root: PathBuf,
    workspace: PathBuf,
    language: Language,
    names: Names,
}

impl Workbench {
    /// Where a workspace keeps its workbench: `.flower` in it.
    pub fn usual_root(workspace: &Path) -> PathBuf {
        place::usual(workspace)
    }

    /// Where it lies when agents work in worktrees of their own: `.flower-<name>` beside the workspace,
    /// outside the repository (flow.md S2). Nothing for the root folder of the machine.
    pub fn isolated_root(workspace: &Path) -> Option<PathBuf> {
        place::isolated(workspace)
    }

    /// Opens the workbench at `root`, making what is missing of it. Hand in resolved paths.
    ///
    /// `language` counts only for a new one: what was frozen in one language goes on in it. A folder
    /// that already uses the reference program's file names goes on using them, and is Chinese.
    ///
    /// # Errors
    /// Where a folder or file cannot be made; the message names it.
    pub fn open(root: &Path, workspace: &Path, language: Language) -> io::Result<Self> {
        let new = !root.exists();
        let bench = Self {
            root: root.to_path_buf(),
            workspace: workspace.to_path_buf(),
            language,
            names: Names::Plain,
        };
        for folder in [bench.scripts(), bench.artifacts(), bench.notes(), bench.spill_dir()] {
            std::fs::create_dir_all(&folder).map_err(at(&folder))?;
        }
        if new && bench.is_inside() {
            // A run must not show up in the `git status` of somebody's project. Only for a folder that
            // is ours from the start: one that was there before may be meant to be committed.
            file::write_if_absent(&root.join(".gitignore"), "*\n")?;
        }
        let names = Names::of(&bench.notes());
        let language = place::fixed_language(root, names, language)?;
        Ok(Self { names, language, ..bench })
    }

    /// The folder of it all.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The project that it belongs to.
    pub fn workspace(&self) -> &Path {
        &self.workspace
    }

    /// The language of its documents and prompts.
    pub fn language(&self) -> Language {
        self.language
    }

    /// True where it goes on with the reference program's file names.
    pub fn has_reference_names(&self) -> bool {
        self.names == Names::Reference
    }

    /// Scripts that are worth running twice.
    pub fn scripts(&self) -> PathBuf {
        self.root.join("scripts")
    }

    /// Output that is too long for a conversation.
    pub fn artifacts(&self) -> PathBuf {
        self.root.join("artifacts")
    }

    /// Decisions, and what was agreed with the person.
    pub fn notes(&self) -> PathBuf {
        self.root.join("notes")
    }

    /// Results of tools that were taken out of a conversation.
    pub fn spill_dir(&self) -> PathBuf {
        self.root.join("spill")
    }

    /// The list of what is here.
    pub fn index_path(&self) -> PathBuf {
        self.root.join("INDEX.md")
    }

    /// What the person wants.
    pub fn brief_path(&self) -> PathBuf {
        self.notes().join(self.names.brief())
    }

    /// What must hold at the end.
    pub fn goal_path(&self) -> PathBuf {
        self.notes().join(self.names.goal())
    }

    /// What was asked and answered.
    pub fn questions_path(&self) -> PathBuf {
        self.notes().join(self.names.questions())
    }

    /// A path as an agent in the workspace should use it: relative where it lies inside, else absolute.
    pub fn shown(&self, path: &Path) -> String {
        match path.strip_prefix(&self.workspace) {
            Ok(inside) if !inside.as_os_str().is_empty() => inside.display().to_string(),
            _ => std::path::absolute(path).unwrap_or_else(|_| path.into()).display().to_string(),
        }
    }

    /// True where the workbench lies in its workspace.
    pub fn is_inside(&self) -> bool {
        self.root.starts_with(&self.workspace)
    }

    /// The other place where this workspace's brief may lie, if it does and this one has none: running
    /// once with and once without worktrees must not silently forget it (flow.md S15).
    /// `other` is one more root to look at.
    pub fn brief_elsewhere(&self, other: Option<PathBuf>) -> Option<PathBuf> {
        if self.brief_path().exists() {
            return None;
        }
        [Some(place::usual(&self.workspace)), place::isolated(&self.workspace), other]
            .into_iter()
            .flatten()
            .filter(|root| *root != self.root)
            .map(|root| {
                let notes = root.join("notes");
                notes.join(Names::of(&notes).brief())
            })
            .find(|brief| brief.exists())
    }

    /// Writes `INDEX.md` anew where it has changed; a reader never sees half of it.
    ///
    /// # Errors
    /// Where it cannot be written. What cannot be read is left out of the list.
    pub fn refresh_index(&self) -> io::Result<()> {
        file::write_if_changed(&self.index_path(), &index::render(self))
    }

    /// What an agent is told about the workbench when a session begins.
    pub fn prompt_block(&self) -> String {
        index::prompt(self)
    }

    /// Keeps a tool's result under `name` in the spill folder. A file that is there already stays: the
    /// name is made from the content.
    ///
    /// # Errors
    /// Where the name is not a plain file name or the file cannot be written.
    pub fn write_spill(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        file::plain_name(name)?;
        let folder = self.spill_dir();
        // An agent may have cleared it away meanwhile.
        std::fs::create_dir_all(&folder).map_err(at(&folder))?;
        let path = folder.join(name);
        file::write_if_absent(&path, text)?;
        Ok(path)
    }

    /// Where a step's newest handoff lies; the name is made safe for every file system.
    pub fn handoff_path(&self, step: &str) -> PathBuf {
        self.notes().join(self.names.handoff(step))
    }

    /// Writes a step's handoff; an older one goes to the archive first, as `<step>-<stamp>.md`, or with a
    /// number where that exists. Gives the file.
    ///
    /// # Errors
    /// Where the older one cannot be moved or the new one not be written.
    pub fn keep_handoff(&self, step: &str, text: &str, stamp: &str) -> io::Result<PathBuf> {
        let path = self.handoff_path(step);
        if std::fs::symlink_metadata(&path).is_ok() {
            let name = format!("{}-{stamp}.md", place::safe(step));
            archive::move_to(&path, &self.notes().join(self.names.old_handoffs()).join(name))?;
        }
        std::fs::create_dir_all(self.notes()).map_err(at(&self.notes()))?;
        file::write_if_changed(&path, text)?;
        Ok(path)
    }

    /// Moves brief, goal and the `extra` files into a new folder `notes/archive/<stamp>`, or
    /// `<stamp>-2` and so on where that exists. Nothing is overwritten or deleted; what is not there is
    /// passed over. Gives the new places.
    ///
    /// # Errors
    /// Where a file cannot be moved; those moved before are put back.
    pub fn archive(&self, extra: &[PathBuf], stamp: &str) -> io::Result<Vec<PathBuf>> {
        let mut files = vec![self.brief_path(), self.goal_path()];
        files.extend_from_slice(extra);
        archive::move_all(&files, &self.notes().join("archive"), stamp)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn desk() -> (tempfile::TempDir, Workbench) {
        let folder = tempfile::tempdir().unwrap();
        let root = Workbench::usual_root(folder.path());
        let bench = Workbench::open(&root, folder.path(), Language::English).unwrap();
        (folder, bench)
    }

    #[test]
    fn a_new_workbench_has_its_folders_and_is_hidden_from_git() {
        let (_folder, bench) = desk();
        for path in [bench.scripts(), bench.artifacts(), bench.notes(), bench.spill_dir()] {
            assert!(path.is_dir());
        }
        assert_eq!(fs::read_to_string(bench.root().join(".gitignore")).unwrap(), "*\n");
        assert_eq!(fs::read_to_string(bench.root().join("language")).unwrap(), "en\n");
    }

    #[test]
    fn a_folder_that_was_there_before_is_not_hidden_from_git() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join(".flower");
        fs::create_dir(&root).unwrap();
        Workbench::open(&root, folder.path(), Language::English).unwrap();
        assert!(!root.join(".gitignore").exists());
    }

    #[test]
    fn the_language_is_the_one_it_was_made_in() {
        let (folder, bench) = desk();
        let again = Workbench::open(bench.root(), folder.path(), Language::Russian).unwrap();
        assert_eq!(again.language(), Language::English);
    }

    #[test]
    fn names_follow_what_the_folder_holds() {
        let (folder, bench) = desk();
        assert!(bench.brief_path().ends_with("notes/brief.md"));
        assert!(bench.goal_path().ends_with("notes/goal.md"));
        assert!(bench.questions_path().ends_with("notes/questions.md"));

        let old = folder.path().join("old");
        fs::create_dir_all(old.join("notes")).unwrap();
        fs::write(old.join("notes/问答记录.md"), "").unwrap();
        let old = Workbench::open(&old, folder.path(), Language::English).unwrap();
        assert!(old.has_reference_names());
        assert!(old.brief_path().ends_with("notes/需求.md"));
        assert!(old.goal_path().ends_with("notes/目标.md"));
        assert_eq!(old.language(), Language::Chinese);

        fs::write(old.notes().join("brief.md"), "").unwrap();
        let mixed = Workbench::open(old.root(), folder.path(), Language::English).unwrap();
        assert!(!mixed.has_reference_names(), "ours wins where both are there");
    }

    #[test]
    fn paths_are_shown_as_an_agent_can_use_them() {
        let (folder, bench) = desk();
        assert_eq!(bench.shown(&bench.scripts().join("a.sh")), ".flower/scripts/a.sh");
        assert_eq!(bench.shown(Path::new("/elsewhere/x")), "/elsewhere/x");
        assert_eq!(bench.shown(folder.path()), folder.path().display().to_string());
    }

    #[test]
    fn a_brief_at_the_other_place_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("project");
        fs::create_dir(&workspace).unwrap();
        let usual = Workbench::usual_root(&workspace);
        let usual = Workbench::open(&usual, &workspace, Language::English).unwrap();
        let isolated = Workbench::isolated_root(&workspace).unwrap();
        assert_eq!(isolated, folder.path().join(".flower-project"));
        let isolated = Workbench::open(&isolated, &workspace, Language::English).unwrap();
        assert!(!isolated.is_inside() && usual.is_inside());
        assert_eq!(isolated.brief_elsewhere(None), None);
        fs::write(usual.brief_path(), "x").unwrap();
        assert_eq!(isolated.brief_elsewhere(None), Some(usual.brief_path()));
        assert_eq!(usual.brief_elsewhere(None), None);
        let third = folder.path().join("third");
        let open = Workbench::open(&third, &workspace, Language::English).unwrap();
        fs::remove_file(usual.brief_path()).unwrap();
        fs::write(open.brief_path(), "x").unwrap();
        assert_eq!(usual.brief_elsewhere(Some(third)), Some(open.brief_path()));
    }

    #[test]
    fn a_spilled_result_is_written_once() {
        let (_folder, bench) = desk();
        let path = bench.write_spill("abc.txt", "first").unwrap();
        assert_eq!(bench.write_spill("abc.txt", "second").unwrap(), path);
        assert_eq!(fs::read_to_string(path).unwrap(), "first");
        for name in ["", ".", "..", "a/b", "/etc/x", ".hidden"] {
            let error = bench.write_spill(name, "x").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{name}");
        }
    }

    #[test]
    fn a_new_handoff_puts_the_old_one_aside() {
        let (_folder, bench) = desk();
        let stamp = "20260101-000000";
        for text in ["1", "2", "3"] {
            let path = bench.keep_handoff("work/a", text, stamp).unwrap();
            assert_eq!(path, bench.notes().join("handoff-worka.md"));
            assert_eq!(fs::read_to_string(path).unwrap(), text);
        }
        let archive = bench.notes().join("archive/handoff");
        assert_eq!(fs::read_to_string(archive.join("worka-20260101-000000.md")).unwrap(), "1");
        assert_eq!(fs::read_to_string(archive.join("worka-20260101-000000-2.md")).unwrap(), "2");
        assert!(bench.handoff_path("::").ends_with("handoff-step.md"));
    }

    #[test]
    fn what_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("file"), "").unwrap();
        let root = folder.path().join("file/.flower");
        let error = Workbench::open(&root, folder.path(), Language::English).unwrap_err();
        assert!(error.to_string().contains("file/.flower"), "{error}");
    }

    #[test]
    fn archiving_moves_what_is_there_and_keeps_the_questions() {
        let (folder, bench) = desk();
        let lineage = folder.path().join("lineage.json");
        fs::write(bench.brief_path(), "brief").unwrap();
        fs::write(bench.questions_path(), "questions").unwrap();
        fs::write(&lineage, "lineage").unwrap();
        let moved = bench.archive(std::slice::from_ref(&lineage), "20260101-000000").unwrap();
        let place = bench.notes().join("archive/20260101-000000");
        assert_eq!(moved, [place.join("brief.md"), place.join("lineage.json")]);
        assert!(!bench.brief_path().exists() && !lineage.exists());
        assert!(bench.questions_path().exists());
        assert_eq!(bench.archive(&[lineage], "20260101-000000").unwrap(), [] as [PathBuf; 0]);
    }
}
