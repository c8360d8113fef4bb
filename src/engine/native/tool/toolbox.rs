//! What the calls of one conversation share: where they run and what they remember.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::Value;

use super::freshness::Seen;
use crate::sandbox::Fence;

/// The state of one conversation's tools. A clone is the same toolbox.
#[derive(Debug, Clone)]
pub struct Toolbox(Arc<State>);

#[derive(Debug)]
struct State {
    workspace: PathBuf,
    environment: Vec<(OsString, OsString)>,
    shell: PathBuf,
    seen: Seen,
    todos: Mutex<Value>,
    fence: Option<Arc<Fence>>,
}

impl Toolbox {
    /// An empty toolbox. `environment` is the complete environment of every command.
    pub fn new(workspace: PathBuf, environment: Vec<(OsString, OsString)>) -> Self {
        Self::fenced(workspace, environment, None)
    }

    /// An empty toolbox whose calls reach no further than the fence.
    pub fn fenced(
        workspace: PathBuf,
        environment: Vec<(OsString, OsString)>,
        fence: Option<Arc<Fence>>,
    ) -> Self {
        let shell = find_shell(&environment);
        let todos = Mutex::new(Value::Array(Vec::new()));
        let seen = Seen::default();
        Self(Arc::new(State { workspace, environment, shell, seen, todos, fence }))
    }

    /// Where commands run and relative paths begin.
    pub fn workspace(&self) -> &Path {
        &self.0.workspace
    }

    /// The task list as it was written last; an empty array at first.
    pub fn todos(&self) -> Value {
        self.0.todos.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn replace_todos(&self, todos: Value) -> Value {
        let mut kept = self.0.todos.lock().unwrap_or_else(PoisonError::into_inner);
        std::mem::replace(&mut kept, todos)
    }

    pub(super) fn fence(&self) -> Option<Arc<Fence>> {
        self.0.fence.clone()
    }

    pub(super) fn environment(&self) -> &[(OsString, OsString)] {
        &self.0.environment
    }

    pub(super) fn shell(&self) -> &Path {
        &self.0.shell
    }

    pub(super) fn seen(&self) -> &Seen {
        &self.0.seen
    }
}

/// bash where there is one, else the shell that every system has.
fn find_shell(environment: &[(OsString, OsString)]) -> PathBuf {
    let path = environment.iter().find(|(name, _)| name == "PATH");
    let path = path.map_or(OsStr::new("/usr/bin:/bin"), |(_, value)| value);
    path.as_bytes()
        .split(|byte| *byte == b':')
        .map(|folder| Path::new(OsStr::from_bytes(folder)).join("bash"))
        .find(|program| program.is_absolute() && program.is_file())
        .unwrap_or_else(|| PathBuf::from("/bin/sh"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_bash_on_the_path_it_is_sh() {
        let empty = tempfile::tempdir().unwrap();
        let environment = vec![("PATH".into(), empty.path().as_os_str().to_owned())];
        assert_eq!(find_shell(&environment), Path::new("/bin/sh"));
        std::fs::write(empty.path().join("bash"), "").unwrap();
        assert_eq!(find_shell(&environment), empty.path().join("bash"));
    }

    #[test]
    fn a_clone_is_the_same_toolbox() {
        let toolbox = Toolbox::new("/".into(), Vec::new());
        toolbox.clone().replace_todos(serde_json::json!([1]));
        assert_eq!(toolbox.todos(), serde_json::json!([1]));
    }
}
