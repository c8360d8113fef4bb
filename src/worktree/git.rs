//! Running git for flower itself: without hooks, without questions, within a time.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::sandbox::{Job, JobError, Status, run};

/// Where the caller's shell may point git to another repository.
const LEADS_ELSEWHERE: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_PREFIX",
];

/// Nothing of the repository's own configuration may run a program or change what is being looked at.
const SETTINGS: [&str; 7] = [
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.untrackedCache=false",
    "worktree.useRelativePaths=false",
    "branch.autoSetupMerge=false",
    "core.logAllRefUpdates=true",
    "gc.auto=0",
];

/// A listing of every file of a very large repository; what is longer counts as not seen.
const OUTPUT: usize = 128 * 1024 * 1024;

/// Why git did not do it.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no git in `PATH`.
    #[error("there is no git in PATH")]
    Missing,
    /// It could not be started, or not be waited for.
    #[error("git could not be run: {0}")]
    Start(String),
    /// It ended with another code than 0.
    #[error("git {command}: {said}")]
    Failed {
        /// The subcommand.
        command: String,
        /// Its exit code; nothing where a signal ended it.
        code: Option<i32>,
        /// The first line that says why.
        said: String,
    },
    /// It took too long.
    #[error("git {0} did not end in time")]
    Late(String),
    /// It said more than can be kept, or something that cannot be read.
    #[error("git {0} gave an answer that cannot be used")]
    Unreadable(String),
}

impl GitError {
    /// The exit code, where there is one.
    pub(super) fn code(&self) -> Option<i32> {
        match self {
            Self::Failed { code, .. } => *code,
            _ => None,
        }
    }

    /// Somebody else was changing the same thing; the same command may work in a moment.
    pub(super) fn is_contention(&self) -> bool {
        let Self::Failed { said, .. } = self else { return false };
        ["cannot lock ref", ".lock': File exists", "could not lock config", "failed to read"]
            .iter()
            .any(|part| said.contains(part))
    }
}

/// git with an environment of its own.
#[derive(Debug, Clone)]
pub(super) struct Git {
    environment: Vec<(OsString, OsString)>,
    patience: Duration,
}

impl Git {
    /// The user's environment, so that the user's configuration counts; messages are English, to be read
    /// by a program.
    pub(super) fn new(environment: &[(OsString, OsString)]) -> Self {
        let mut environment = without_pointers(environment);
        for (name, value) in
            [("LC_ALL", "C"), ("GIT_TERMINAL_PROMPT", "0"), ("GIT_OPTIONAL_LOCKS", "0")]
        {
            set(&mut environment, name, value);
        }
        Self { environment, patience: Duration::from_secs(600) }
    }

    /// The same, waiting no longer than this for each command.
    pub(super) fn hurried(&self, patience: Duration) -> Self {
        Self { patience, ..self.clone() }
    }

    pub(super) fn patience(&self) -> Duration {
        self.patience
    }

    /// Runs a command in a folder and gives what it wrote. Blocks, also where blocking is not wanted of
    /// asynchronous code: a worktree is also looked after while everything is being dropped.
    pub(super) fn run<S: AsRef<OsStr>>(
        &self,
        folder: &Path,
        words: &[S],
    ) -> Result<Vec<u8>, GitError> {
        let command = words.first().map_or("", |word| word.as_ref().to_str().unwrap_or_default());
        let mut arguments: Vec<OsString> = Vec::new();
        for setting in SETTINGS {
            arguments.extend(["-c".into(), setting.into()]);
        }
        arguments.extend(words.iter().map(|word| word.as_ref().to_owned()));
        let job = Job {
            program: "git".into(),
            arguments,
            folder: folder.to_owned(),
            environment: self.environment.clone(),
            stdin: None,
            time_limit: Some(self.patience),
            output_limit: OUTPUT,
            fence: None,
        };
        let outcome = std::thread::scope(|scope| {
            let work = scope.spawn(|| {
                let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build();
                let tokio = tokio.map_err(|error| GitError::Start(error.to_string()))?;
                tokio.block_on(run(job)).map_err(started)
            });
            work.join().unwrap_or_else(|_| Err(GitError::Unreadable(command.to_owned())))
        })?;
        if outcome.timed_out {
            return Err(GitError::Late(command.to_owned()));
        }
        if outcome.status != Status::Exit(0) {
            let code = match outcome.status {
                Status::Exit(code) => Some(code),
                Status::Signal(_) => None,
            };
            return Err(GitError::Failed {
                command: command.to_owned(),
                code,
                said: reason(&outcome.stderr),
            });
        }
        match outcome.stdout_cut {
            0 => Ok(outcome.stdout),
            _ => Err(GitError::Unreadable(command.to_owned())),
        }
    }

    /// The command's answer as one line of text.
    pub(super) fn line(&self, folder: &Path, words: &[&str]) -> Result<String, GitError> {
        let output = self.run(folder, words)?;
        Ok(String::from_utf8_lossy(&output).trim_end_matches('\n').to_owned())
    }

    /// The command's answer as a path.
    pub(super) fn path(&self, folder: &Path, words: &[&str]) -> Result<PathBuf, GitError> {
        let mut output = self.run(folder, words)?;
        if output.last() == Some(&b'\n') {
            output.pop();
        }
        Ok(PathBuf::from(OsString::from_vec(output)))
    }

    /// What git says yes (0) or no (1) to.
    pub(super) fn asks(&self, folder: &Path, words: &[&str]) -> Result<bool, GitError> {
        match self.run(folder, words) {
            Ok(_) => Ok(true),
            Err(error) if error.code() == Some(1) => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// An environment in which git finds the repository by where it is, not by what the caller was in.
pub(super) fn without_pointers(environment: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let leads = |name: &OsStr| LEADS_ELSEWHERE.iter().any(|pointer| name == OsStr::new(pointer));
    environment.iter().filter(|(name, _)| !leads(name)).cloned().collect()
}

/// Sets a variable, also where it is there already.
pub(super) fn set(environment: &mut Vec<(OsString, OsString)>, name: &str, value: &str) {
    environment.retain(|(known, _)| known != OsStr::new(name));
    environment.push((name.into(), value.into()));
}

/// Adds settings for every git that is started with this environment, behind those that are there.
pub(super) fn configure(environment: &mut Vec<(OsString, OsString)>, settings: &[(&str, &str)]) {
    let count = environment.iter().find(|(name, _)| name == "GIT_CONFIG_COUNT");
    let mut count: usize =
        count.and_then(|(_, value)| value.to_str()?.trim().parse().ok()).unwrap_or(0);
    for (key, value) in settings {
        set(environment, &format!("GIT_CONFIG_KEY_{count}"), key);
        set(environment, &format!("GIT_CONFIG_VALUE_{count}"), value);
        count += 1;
    }
    set(environment, "GIT_CONFIG_COUNT", &count.to_string());
}

/// Words as git takes them, where some are paths.
pub(super) fn words(parts: &[&dyn AsRef<OsStr>]) -> Vec<OsString> {
    parts.iter().map(|part| part.as_ref().to_owned()).collect()
}

/// A path for a shell to read.
pub(super) fn quoted(path: &Path) -> String {
    let text = path.as_os_str().as_bytes();
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/._-+".contains(byte);
    let shown = String::from_utf8_lossy(text);
    match !text.is_empty() && text.iter().all(plain) {
        true => shown.into_owned(),
        false => format!("'{}'", shown.replace('\'', r"'\''")),
    }
}

fn started(error: JobError) -> GitError {
    match error {
        JobError::Start { source, .. } if source.kind() == io::ErrorKind::NotFound => {
            GitError::Missing
        }
        other => GitError::Start(other.to_string()),
    }
}

/// The line of an error output that says why; one that announces a list takes the next line with it.
fn reason(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    let says = |line: &&str| line.starts_with("fatal:") || line.starts_with("error:");
    let Some(at) = lines.iter().position(says).or((!lines.is_empty()).then_some(0)) else {
        return "it failed without a word".to_owned();
    };
    match lines.get(at + 1) {
        Some(next) if lines[at].ends_with(':') => format!("{} {next}", lines[at]),
        _ => lines[at].to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn environment(pairs: &[(&str, &str)]) -> Vec<(OsString, OsString)> {
        pairs.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect()
    }

    #[test]
    fn settings_are_added_behind_those_that_are_there() {
        let mut one = environment(&[("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "a.b")]);
        configure(&mut one, &[("c.d", "x")]);
        assert!(one.contains(&("GIT_CONFIG_KEY_0".into(), "a.b".into())));
        assert!(one.contains(&("GIT_CONFIG_KEY_1".into(), "c.d".into())));
        assert!(one.contains(&("GIT_CONFIG_COUNT".into(), "2".into())));
        assert_eq!(one.iter().filter(|(name, _)| name == "GIT_CONFIG_COUNT").count(), 1);
    }

    #[test]
    fn a_missing_git_and_a_refusal_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let none = Git::new(&environment(&[("PATH", "/nowhere")]));
        assert!(matches!(none.run(folder.path(), &["status"]), Err(GitError::Missing)));
        let path = std::env::var_os("PATH").unwrap();
        let git = Git::new(&[("PATH".into(), path), ("GIT_DIR".into(), "/elsewhere".into())]);
        let error = git.run(folder.path(), &["status"]).unwrap_err();
        assert_eq!(error.code(), Some(128));
        assert!(error.to_string().contains("not a git repository"), "{error}");
    }

    #[test]
    fn the_reason_is_one_line() {
        assert_eq!(reason(b"hint: x\nfatal: no\nmore\n"), "fatal: no");
        assert_eq!(
            reason(b"fatal: unknown extension found:\n\tx\n"),
            "fatal: unknown extension found: x"
        );
        assert_eq!(reason(b"\nwhat\n"), "what");
        assert_eq!(reason(b""), "it failed without a word");
    }

    #[test]
    fn paths_are_quoted_for_a_shell() {
        assert_eq!(quoted(Path::new("/a/b-1.x")), "/a/b-1.x");
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
