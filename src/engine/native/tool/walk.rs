//! Walks through a folder as Glob and Grep see it, off the threads that must not block.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ignore::{DirEntry, WalkBuilder};

use super::{Answer, Complaint, Toolbox, place};
use crate::sandbox::Fence;

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

/// Runs file work where it may block, inside the fence. Long work asks [`Stop`] now and then.
pub(super) async fn blocking(
    fence: Option<Arc<Fence>>,
    work: impl FnOnce(&Stop) -> Answer + Send + 'static,
) -> Answer {
    let flag = Arc::new(AtomicBool::new(false));
    let stop = Stop(flag.clone());
    let _waiting = Waiting(flag);
    let fenced = move || match fence {
        None => work(&stop),
        Some(fence) => fence
            .files(|| work(&stop))
            .unwrap_or_else(|error| Err(Complaint(format!("The call was not made: {error}.")))),
    };
    match tokio::task::spawn_blocking(fenced).await {
        Ok(answer) => answer,
        Err(_) => Err(Complaint::new("The call was broken off.")),
    }
}

/// The entries below `root` in order of their paths: without what `.gitignore` files exclude, without
/// hidden ones unless wanted, never `.git`, never through a symbolic link, and only those that `wanted`
/// lets through.
///
/// The ignore rules of the person's own git configuration do not count: results are the same everywhere.
pub(super) fn entries(
    root: &Path,
    hidden: bool,
    fence: Option<Arc<Fence>>,
    wanted: impl Fn(&DirEntry) -> bool + Send + Sync + 'static,
) -> WalkBuilder {
    let named = root.to_owned();
    let real = root.canonicalize().unwrap_or_else(|_| named.clone());
    let reachable = move |entry: &DirEntry| {
        let Some(fence) = &fence else { return true };
        let inside = entry.path().strip_prefix(&named).unwrap_or(entry.path());
        fence.leads_to(&real.join(inside))
    };
    let mut builder = WalkBuilder::new(root);
    builder
        .hidden(!hidden)
        .require_git(false)
        .git_global(false)
        .follow_links(false)
        .sort_by_file_path(Path::cmp)
        .filter_entry(move |entry: &DirEntry| {
            entry.depth() == 0 || entry.file_name() != ".git" && reachable(entry) && wanted(entry)
        });
    builder
}

/// The pattern names something hidden: a part of it begins with a dot.
pub(super) fn names_hidden(pattern: &str) -> bool {
    pattern.split(['/', '{', ',']).any(|part| part.starts_with('.') && !matches!(part, "." | ".."))
}

/// Where to look: the folder or file that a call names, else the workspace.
pub(super) fn root(toolbox: &Toolbox, written: Option<&str>) -> Result<PathBuf, Complaint> {
    let workspace = toolbox.workspace();
    let root = place::absolute(workspace, written.unwrap_or("."));
    place::readable(toolbox, &root)?;
    match root.metadata() {
        Ok(_) => Ok(root),
        Err(error) => {
            let name = place::shown(workspace, &root);
            Err(place::failed("searched", &name, &error))
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
