//! Where a workbench lies, and what its files are called.

use std::io;
use std::path::{Path, PathBuf};

use super::file::{self, at};
use crate::language::Language;

/// `.flower` in the workspace.
pub(super) fn usual(workspace: &Path) -> PathBuf {
    workspace.join(".flower")
}

/// `.flower-<name>` beside the workspace.
pub(super) fn isolated(workspace: &Path) -> Option<PathBuf> {
    let mut name = std::ffi::OsString::from(".flower-");
    name.push(workspace.file_name()?);
    Some(workspace.parent()?.join(name))
}

/// Which file names a workbench uses; decided once by what it holds, never mixed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// Plain ASCII.
    Plain,
    /// Those of the reference program.
    Reference,
}

impl Names {
    /// Ours, unless only files of the reference program are there.
    pub(super) fn of(notes: &Path) -> Self {
        let holds = |names: Names| {
            [names.brief(), names.goal(), names.questions()]
                .iter()
                .any(|name| notes.join(name).exists())
        };
        if holds(Names::Reference) && !holds(Names::Plain) {
            Names::Reference
        } else {
            Names::Plain
        }
    }

    pub(super) fn brief(self) -> &'static str {
        match self {
            Names::Plain => "brief.md",
            Names::Reference => "需求.md",
        }
    }

    pub(super) fn goal(self) -> &'static str {
        match self {
            Names::Plain => "goal.md",
            Names::Reference => "目标.md",
        }
    }

    pub(super) fn handoff(self, step: &str) -> String {
        match self {
            Names::Plain => format!("handoff-{}.md", safe(step)),
            Names::Reference => format!("交接-{}.md", safe(step)),
        }
    }

    /// Below the notes.
    pub(super) fn old_handoffs(self) -> &'static str {
        match self {
            Names::Plain => "archive/handoff",
            Names::Reference => "archive/交接",
        }
    }

    pub(super) fn questions(self) -> &'static str {
        match self {
            Names::Plain => "questions.md",
            Names::Reference => "问答记录.md",
        }
    }
}

/// A step's name as a part of a file's (core.md H-17).
pub(super) fn safe(step: &str) -> String {
    let fits = |c: &char| !c.is_control() && !r#"/\:*?"<>|"#.contains(*c);
    let name: String = step.chars().filter(fits).collect();
    let name = name.trim().trim_start_matches('.');
    if name.is_empty() { "step".to_owned() } else { name.to_owned() }
}

/// The language that stands in the workbench; where none does, it is fixed now. Of two processes that
/// make one workbench at once, the first decides for both.
pub(super) fn fixed_language(root: &Path, names: Names, wanted: Language) -> io::Result<Language> {
    let path = root.join("language");
    let stored = || -> io::Result<Option<Language>> {
        match std::fs::read(&path) {
            Ok(bytes) => Ok(Language::from_code(String::from_utf8_lossy(&bytes).trim())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(at(&path)(error)),
        }
    };
    if let Some(language) = stored()? {
        return Ok(language);
    }
    let language = match names {
        Names::Plain => wanted,
        // Its documents are in the only language that the reference program knows.
        Names::Reference => Language::Chinese,
    };
    if !file::write_if_absent(&path, &format!("{}\n", language.code()))? {
        match stored()? {
            Some(theirs) => return Ok(theirs),
            // Not a language: what stood there helps nobody.
            None => file::write_if_changed(&path, &format!("{}\n", language.code()))?,
        }
    }
    Ok(language)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_language_file_with_nonsense_is_mended() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("language");
        std::fs::write(&path, b"\xff klingon").unwrap();
        let language = fixed_language(folder.path(), Names::Plain, Language::Russian).unwrap();
        assert_eq!(language, Language::Russian);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "ru\n");
    }

    #[test]
    fn the_root_of_the_machine_has_no_neighbour() {
        assert_eq!(isolated(Path::new("/")), None);
    }
}
