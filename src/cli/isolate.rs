//! What `--isolate` needs before a run begins: a place for worktrees, and a workbench outside of them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::assemble::House;
use super::output::warn;
use crate::transcript::project_key;
use crate::workbench::Workbench;
use crate::worktree::{Leftover, Yard};

/// So many left-over worktrees are named; the others are counted.
const NAMED: usize = 5;

/// Where this run's workbench is.
pub(super) struct Desk {
    pub(super) root: PathBuf,
    /// Where it would be if no folder could be made beside the project.
    away: Option<PathBuf>,
}

impl Desk {
    /// `.flower` in the project; with worktrees beside it, or in flower's state folder where nothing can be
    /// made there. One that is there already stays the one. Makes nothing.
    pub(super) fn find(workspace: &Path, isolate: bool) -> Self {
        let workspace = workspace.canonicalize().unwrap_or_else(|_| workspace.to_owned());
        let away = state_dir().map(|state| state.join("workbenches").join(project_key(&workspace)));
        let usual = Workbench::usual_root(&workspace);
        if !isolate {
            return Self { root: usual, away };
        }
        let beside = Workbench::isolated_root(&workspace);
        let exists = |root: &Option<PathBuf>| root.as_ref().is_some_and(|root| root.exists());
        let writable = workspace
            .parent()
            .is_some_and(|parent| rustix::fs::access(parent, rustix::fs::Access::WRITE_OK).is_ok());
        let take_beside = exists(&beside) || (writable && !exists(&away));
        let root = match (beside, &away) {
            (Some(beside), _) if take_beside => beside,
            (_, Some(away)) => away.clone(),
            (Some(beside), None) => beside,
            (None, None) => usual,
        };
        Self { root, away }
    }

    /// A brief at the other place is said, never silently forgotten.
    pub(super) fn tell_elsewhere(&self, house: &House, workbench: &Workbench) {
        if let Some(path) = workbench.brief_elsewhere(self.away.clone()) {
            warn(&house.language.text(
                "workbench.elsewhere",
                &[
                    ("path", &path.display().to_string()),
                    ("root", &workbench.root().display().to_string()),
                ],
            ));
        }
    }
}

/// The place for worktrees, where they are wanted; says what earlier runs left in any case.
///
/// # Errors
/// A sentence for the person, where worktrees are wanted and cannot be had.
pub(super) fn yard(
    house: &House,
    workspace: &Path,
    isolate: bool,
) -> Result<Option<Arc<Yard>>, String> {
    let language = house.language;
    let resolved = workspace.canonicalize().ok();
    let place = resolved.as_deref().unwrap_or(workspace);
    let Some(state) = state_dir() else {
        return match isolate {
            true => Err(language.text("worktree.no_home", &[])),
            false => Ok(None),
        };
    };
    let home = state.join("worktrees").join(project_key(place));
    if !isolate && !home.exists() {
        return Ok(None);
    }
    if resolved.is_none() {
        let what = workspace.display().to_string();
        return match isolate {
            true => Err(language.text("worktree.no_repository", &[("what", &what)])),
            false => Ok(None),
        };
    }
    let yard = match Yard::open(place, &home, &house.settings.tool_environment()) {
        Ok(yard) => yard,
        Err(error) if isolate => {
            return Err(language.text(error.key(), &[("what", &error.what())]));
        }
        Err(_) => return Ok(None),
    };
    if isolate && yard.has_relative_worktrees() {
        let what = place.display().to_string();
        warn(&language.text("worktree.relative_notice", &[("what", &what)]));
    }
    match yard.sweep() {
        Ok(left) => tell_left(house, &left),
        Err(error) => {
            warn(&language.text("worktree.unusable", &[("what", &error.to_string())]));
        }
    }
    Ok(isolate.then(|| Arc::new(yard)))
}

fn tell_left(house: &House, left: &Leftover) {
    if left.kept.is_empty() {
        return;
    }
    let mut paths: Vec<String> =
        left.kept.iter().take(NAMED).map(|path| path.display().to_string()).collect();
    if left.kept.len() > NAMED {
        paths.push("…".to_owned());
    }
    warn(&house.language.text(
        "worktree.left",
        &[
            ("count", &left.kept.len().to_string()),
            ("paths", &paths.join(", ")),
            ("command", &left.command),
        ],
    ));
}

/// `${XDG_STATE_HOME:-~/.local/state}/flower`; only from the process environment, since a project's `.env`
/// must not choose where flower writes. A relative path counts as not set, as the XDG rules have it.
fn state_dir() -> Option<PathBuf> {
    let absolute =
        |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = absolute("XDG_STATE_HOME")
        .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))?;
    Some(state.join("flower"))
}
