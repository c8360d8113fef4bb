//! Is there anything in a worktree that would be lost with it?

use std::collections::HashSet;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use super::git::{Git, GitError};

/// Why a worktree is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// Files that are changed, staged or new.
    Changes(PathBuf),
    /// An ignored file that is no cache.
    Ignored(PathBuf),
    /// A changed file that git was told not to look at.
    Hidden(PathBuf),
    /// A merge, rebase or the like has begun.
    Unfinished(String),
    /// HEAD is not on the worktree's own branch.
    Elsewhere,
    /// Commits that no branch or tag holds.
    Loose,
    /// A stash entry was made on its branch.
    Stash,
    /// A submodule has its repository in what would be removed.
    Submodule,
    /// It could not be looked at.
    Unsure(String),
}

impl Reason {
    /// The text's key in the catalogue.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Changes(_) => "worktree.why_changes",
            Self::Ignored(_) => "worktree.why_ignored",
            Self::Hidden(_) => "worktree.why_hidden",
            Self::Unfinished(_) => "worktree.why_unfinished",
            Self::Elsewhere => "worktree.why_elsewhere",
            Self::Loose => "worktree.why_loose",
            Self::Stash => "worktree.why_stash",
            Self::Submodule => "worktree.why_submodule",
            Self::Unsure(_) => "worktree.why_unsure",
        }
    }

    /// The text's value for `{what}`; empty where it has none.
    pub fn what(&self) -> String {
        match self {
            Self::Changes(path) | Self::Ignored(path) | Self::Hidden(path) => {
                path.display().to_string()
            }
            Self::Unfinished(what) | Self::Unsure(what) => what.clone(),
            Self::Elsewhere | Self::Loose | Self::Stash | Self::Submodule => String::new(),
        }
    }
}

/// What tools make again by themselves: an ignored file in one of these is no work.
const CACHES: [&str; 14] = [
    "target",
    "node_modules",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".tox",
    ".venv",
    "venv",
    ".gradle",
    ".eggs",
    ".cache",
    ".DS_Store",
    ".next",
];

/// The same for files, by how their names end.
const MADE: [&str; 4] = ["o", "pyc", "pyo", "class"];

/// Files in a worktree's part of the repository that stand for an operation in progress.
const UNFINISHED: [(&str, &str); 8] = [
    ("MERGE_HEAD", "merge"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("REVERT_HEAD", "revert"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("BISECT_LOG", "bisect"),
    ("sequencer", "cherry-pick"),
    ("MERGE_AUTOSTASH", "merge"),
];

/// The first thing that would be lost with the worktree at `path`, whose own branch is `branch`.
///
/// # Errors
/// Where it cannot be looked at; the worktree must then be kept.
pub(super) fn find(git: &Git, path: &Path, branch: &str) -> Result<Option<Reason>, GitError> {
    let top = git.path(path, &["rev-parse", "--show-toplevel"])?;
    if top.canonicalize().ok() != path.canonicalize().ok() {
        // `.git` is gone, and git found another repository around it.
        return Err(GitError::Unreadable("rev-parse".to_owned()));
    }
    let own = git.path(path, &["rev-parse", "--absolute-git-dir"])?;
    if let Some(reason) = unfinished(&own).map_err(|e| GitError::Start(e.to_string()))? {
        return Ok(Some(reason));
    }
    if !is_on(git, path, branch)? {
        return Ok(Some(Reason::Elsewhere));
    }
    if let Some(reason) = changes(git, path)? {
        return Ok(Some(reason));
    }
    if let Some(reason) = hidden(git, path)? {
        return Ok(Some(reason));
    }
    if stashed(git, path, branch)? {
        return Ok(Some(Reason::Stash));
    }
    Ok(loose(git, path, branch)?.then_some(Reason::Loose))
}

fn unfinished(own: &Path) -> io::Result<Option<Reason>> {
    for (name, what) in UNFINISHED {
        if own.join(name).symlink_metadata().is_ok() {
            return Ok(Some(Reason::Unfinished(what.to_owned())));
        }
    }
    for entry in fs::read_dir(own)? {
        let name = entry?.file_name();
        if name.as_bytes().ends_with(b".lock") {
            return Ok(Some(Reason::Unfinished(name.to_string_lossy().into_owned())));
        }
        if name == "modules" {
            return Ok(Some(Reason::Submodule));
        }
    }
    // Refs of this worktree alone go with it.
    for folder in ["refs/worktree", "refs/bisect", "refs/rewritten"] {
        if fs::read_dir(own.join(folder)).is_ok_and(|mut entries| entries.next().is_some()) {
            return Ok(Some(Reason::Unfinished(folder.to_owned())));
        }
    }
    Ok(None)
}

fn is_on(git: &Git, path: &Path, branch: &str) -> Result<bool, GitError> {
    match git.line(path, &["symbolic-ref", "-q", "HEAD"]) {
        Ok(head) => Ok(head == format!("refs/heads/{branch}")),
        // A detached HEAD.
        Err(error) if error.code() == Some(1) => Ok(false),
        Err(error) => Err(error),
    }
}

fn changes(git: &Git, path: &Path) -> Result<Option<Reason>, GitError> {
    let status = git.run(
        path,
        &[
            "status",
            "--porcelain=v2",
            "-z",
            "--untracked-files=all",
            "--ignored=matching",
            "--ignore-submodules=none",
            "--no-renames",
        ],
    )?;
    let mut ignored = None;
    for row in status.split(|byte| *byte == 0).filter(|row| !row.is_empty()) {
        // `1 XY sub mH mI mW hH hI path`, `u` has two fields more; `?` and `!` only the path.
        let fields = match row[0] {
            b'!' | b'?' => 2,
            b'1' => 9,
            _ => 11,
        };
        let file = row.splitn(fields, |byte| *byte == b' ').last().unwrap_or_default();
        let file = PathBuf::from(std::ffi::OsStr::from_bytes(file));
        if row[0] != b'!' {
            return Ok(Some(Reason::Changes(file)));
        }
        if ignored.is_none() && !is_cache(&file) {
            ignored = Some(Reason::Ignored(file));
        }
    }
    Ok(ignored)
}

fn is_cache(file: &Path) -> bool {
    let made = file.extension().is_some_and(|end| MADE.iter().any(|known| end == *known));
    made || file.iter().any(|name| CACHES.iter().any(|known| name == *known))
}

/// `status` passes over files marked "assume unchanged" or "skip", whatever is in them.
fn hidden(git: &Git, path: &Path) -> Result<Option<Reason>, GitError> {
    let files = git.run(path, &["ls-files", "-v", "-z"])?;
    let marked = files.split(|byte| *byte == 0).filter_map(|row| {
        let (mark, file) = (row.first()?, row.get(2..)?);
        (mark.is_ascii_lowercase() || *mark == b'S').then(|| std::ffi::OsStr::from_bytes(file))
    });
    let mut there = marked.filter(|file| path.join(file).symlink_metadata().is_ok());
    Ok(there.next().map(|file| Reason::Hidden(file.into())))
}

/// The stash belongs to the whole repository; its entries name the branch they were made on.
fn stashed(git: &Git, path: &Path, branch: &str) -> Result<bool, GitError> {
    let list = git.line(path, &["stash", "list", "--format=%gs"])?;
    let made_here = [format!("WIP on {branch}:"), format!("On {branch}:")];
    Ok(list.lines().any(|entry| made_here.iter().any(|start| entry.starts_with(start))))
}

/// Commits that only this worktree remembers: its list of where HEAD has been goes with it, the branch's
/// own list stays with the branch.
fn loose(git: &Git, path: &Path, branch: &str) -> Result<bool, GitError> {
    let been = |name: &str| -> Result<HashSet<String>, GitError> {
        let list = git.line(path, &["reflog", "show", "--format=%H", name])?;
        Ok(list.lines().map(str::to_owned).collect())
    };
    let (head, own) = (been("HEAD")?, been(&format!("refs/heads/{branch}"))?);
    let others: Vec<&String> = head.difference(&own).collect();
    // A command line has an end; hundreds of places are not the track of a simple task.
    if others.len() > 500 {
        return Ok(true);
    }
    if others.is_empty() {
        return Ok(false);
    }
    let mut words = vec!["rev-list", "-n", "1"];
    words.extend(others.iter().map(|id| id.as_str()));
    words.extend(["--not", "--branches", "--tags", "--remotes", "--"]);
    Ok(!git.line(path, &words)?.is_empty())
}

/// The branch was made and has never moved, and all that it holds is held by others too. Where nothing was
/// written down about it, it counts as moved.
pub(super) fn is_untouched(git: &Git, workspace: &Path, branch: &str) -> bool {
    let name = format!("refs/heads/{branch}");
    let moves = git.line(workspace, &["reflog", "show", "--format=%gs", &name]);
    let made_only = moves
        .is_ok_and(|moves| moves.lines().count() == 1 && moves.starts_with("branch: Created from"));
    let exclude = format!("--exclude={branch}");
    let words =
        ["rev-list", "-n", "1", &name, "--not", "HEAD", &exclude, "--branches", "--tags", "--"];
    made_only && git.line(workspace, &words).is_ok_and(|own| own.is_empty())
}
