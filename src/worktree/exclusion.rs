//! Paths of a workspace that are left out.

use std::io;
use std::path::{Path, PathBuf};

/// Left-out places, relative to the workspace. A folder stands for all that is in it.
#[derive(Debug, Default)]
pub(super) struct Exclusion(Vec<PathBuf>);

impl Exclusion {
    /// Each path is absolute or relative to the workspace; one that is outside leaves nothing out.
    pub(super) fn new(workspace: &Path, paths: &[PathBuf]) -> Self {
        let real_workspace = workspace.canonicalize();
        let relative = |path: &PathBuf| {
            let path = workspace.join(path);
            if let Ok(inside) = path.strip_prefix(workspace) {
                return Some(inside.to_owned());
            }
            let (real, root) = (path.canonicalize().ok()?, real_workspace.as_ref().ok()?);
            real.strip_prefix(root).ok().map(Path::to_owned)
        };
        Self(paths.iter().filter_map(relative).collect())
    }

    pub(super) fn covers(&self, relative: &Path) -> bool {
        self.0.iter().any(|path| path == relative)
    }
}

/// Names the path in an error, which the system does not.
pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> io::Error + '_ {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_relative_and_outside_paths() {
        let paths = ["/w/run", "notes", "/elsewhere"].map(PathBuf::from);
        let exclusion = Exclusion::new(Path::new("/w"), &paths);
        assert!(exclusion.covers(Path::new("run")) && exclusion.covers(Path::new("notes")));
        assert!(!exclusion.covers(Path::new("")) && !exclusion.covers(Path::new("elsewhere")));
    }
}
