//! Walks through a folder as Glob and Grep see it, off the threads that must not block.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ignore::{DirEntry, WalkBuilder};

use super::{Answer, Complaint};

/// Set when nobody waits for the answer any more.
pub(super) struct Stop(Arc<AtomicBool>);

impl Stop {
    pub(super) fn asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Tells the work to stop when the waiting future is dropped.
struct Waiting(Arc<AtomicBool>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Runs file work where it may block. Long work asks [`Stop`] now and then.
pub(super) async fn blocking(work: impl FnOnce(&Stop) -> Answer + Send + 'static) -> Answer {
    let flag = Arc::new(AtomicBool::new(false));
    let stop = Stop(flag.clone());
    let _waiting = Waiting(flag);
    match tokio::task::spawn_blocking(move || work(&stop)).await {
        Ok(answer) => answer,
        Err(_) => Err(Complaint::new("The call was broken off.")),
    }
}

/// The entries below `root` in order of their paths: without what `.gitignore` files exclude, without
/// hidden ones unless wanted, never `.git`, and never through a symbolic link.
///
/// The ignore rules of the person's own git configuration do not count: results are the same everywhere.
pub(super) fn entries(root: &Path, hidden: bool) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder
        .hidden(!hidden)
        .require_git(false)
        .git_global(false)
        .follow_links(false)
        .sort_by_file_path(Path::cmp)
        .filter_entry(|entry: &DirEntry| entry.depth() == 0 || entry.file_name() != ".git");
    builder
}

/// The pattern names something hidden: a part of it begins with a dot.
pub(super) fn names_hidden(pattern: &str) -> bool {
    pattern.split(['/', '{', ',']).any(|part| part.starts_with('.') && !matches!(part, "." | ".."))
}

/// Where to look: the folder or file that a call names, else the workspace.
pub(super) fn root(workspace: &Path, written: Option<&str>) -> Result<PathBuf, Complaint> {
    let root = super::place::absolute(workspace, written.unwrap_or("."));
    match root.metadata() {
        Ok(_) => Ok(root),
        Err(error) => {
            let name = super::place::shown(workspace, &root);
            Err(super::place::failed("searched", &name, &error))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dot_in_front_of_a_part_names_the_hidden() {
        for pattern in [".env", "a/.b/*", "**/{a,.b}"] {
            assert!(names_hidden(pattern), "{pattern}");
        }
        for pattern in ["*.rs", "./a", "../a", "a.b/c"] {
            assert!(!names_hidden(pattern), "{pattern}");
        }
    }
}
