//! Where the worktrees of a project stand: outside of it, each on a branch of its own.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use super::alive::Alive;
use super::git::{Git, GitError, configure, quoted, set, without_pointers, words};
use super::listing::{self, Listed};
use super::refusal::YardError;
use super::tree::{Ending, Kept, Spot, Worktree};
use super::turn::Turn;

/// How often a worktree is tried to be made while somebody else changes the repository.
const TRIES: u32 = 10;

/// The worktrees of one project, for one run of flower.
#[derive(Debug)]
pub struct Yard {
    git: Git,
    workspace: PathBuf,
    /// The workspace's place in the repository; empty for its root.
    prefix: PathBuf,
    home: PathBuf,
    common: PathBuf,
    run: String,
    environment: Arc<Vec<(OsString, OsString)>>,
    relative: bool,
    /// Held for as long as the run lives, however it ends.
    _alive: Alive,
}

/// What earlier runs left behind.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Leftover {
    /// Worktrees of runs that were killed, without any work in them; they are removed now.
    pub removed: usize,
    /// Worktrees that may hold work, those of earlier runs included.
    pub kept: Vec<PathBuf>,
    /// What removes all that are kept, for a shell.
    pub command: String,
}

impl Yard {
    /// Looks whether worktrees can be had and makes their place, `home`, outside of the project; the
    /// repository is not touched. `workspace` must be resolved; `environment` is what tools get.
    ///
    /// # Errors
    /// Where they cannot be had, see [`YardError`].
    pub fn open(
        workspace: &Path,
        home: &Path,
        environment: &[(OsString, OsString)],
    ) -> Result<Self, YardError> {
        let git = Git::new(environment);
        let place = workspace.to_owned();
        match git.line(workspace, &["rev-parse", "--is-inside-work-tree"]) {
            Ok(answer) if answer == "true" => {}
            Err(GitError::Failed { said, .. }) if said.contains("relativeworktrees") => {
                return Err(YardError::Relative(place));
            }
            // Somebody else's repository is one all the same: git's own words say what to do.
            Err(error @ GitError::Failed { .. }) if !is_no_repository(&error) => {
                return Err(error.into());
            }
            Ok(_) | Err(GitError::Failed { .. }) => return Err(YardError::NoRepository(place)),
            Err(error) => return Err(error.into()),
        }
        if git.line(workspace, &["rev-parse", "--verify", "-q", "HEAD^{commit}"]).is_err() {
            return Err(YardError::NoCommit(place));
        }
        if git.asks(workspace, &["show-ref", "--verify", "-q", "refs/heads/flower"])? {
            return Err(YardError::BranchInTheWay(place));
        }
        let prefix = git.path(workspace, &["rev-parse", "--show-prefix"])?;
        let common =
            git.path(workspace, &["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
        let top = git.path(workspace, &["rev-parse", "--show-toplevel"])?;
        let top = top.canonicalize().unwrap_or(top);
        let relative = git
            .line(workspace, &["config", "--bool", "extensions.relativeWorktrees"])
            .is_ok_and(|value| value == "true");
        let home = make_home(home, &[&top, &common])?;
        let run = uuid::Uuid::new_v4().simple().to_string()[..12].to_owned();
        let alive = Alive::begin(&home, &run)
            .map_err(|source| YardError::Folder { path: home.clone(), source })?;
        let environment = Arc::new(tool_environment(&git, workspace, environment));
        Ok(Self {
            git,
            workspace: place,
            prefix,
            home,
            common,
            run,
            environment,
            relative,
            _alive: alive,
        })
    }

    /// The folder that holds the worktrees.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// The repository's common folder, which commits in a worktree write to.
    pub fn repository(&self) -> &Path {
        &self.common
    }

    /// The repository has `extensions.relativeWorktrees`, which git before 2.48 cannot read.
    pub fn has_relative_worktrees(&self) -> bool {
        self.relative
    }

    /// Makes a worktree from HEAD on the new branch `flower/<name>`, or `flower/<name>-2` and so on where
    /// that is taken. Blocks.
    ///
    /// # Errors
    /// Where git does not make it; nothing is left behind then.
    pub fn make(&self, name: &str) -> Result<Worktree, GitError> {
        let name = plain(name);
        let _turn = Turn::take(&self.home, self.git.patience())?;
        let mut tries = 1;
        let spot = loop {
            let spot = self.free_spot(&name)?;
            match self.add(&spot) {
                Ok(()) => break spot,
                Err(error) => {
                    self.undo(&spot);
                    if !error.is_contention() || tries >= TRIES {
                        return Err(error);
                    }
                    // Not one of ours: they take turns. git gives no sign when a lock is free.
                    std::thread::sleep(Duration::from_millis(20) * tries);
                    tries += 1;
                }
            }
        };
        let folder = match self.prefix.as_os_str().is_empty() {
            true => spot.path.clone(),
            false => spot.path.join(&self.prefix),
        };
        // A folder of the project that holds nothing committed is not there yet.
        if let Err(error) = fs::create_dir_all(&folder) {
            self.undo(&spot);
            return Err(GitError::Start(format!("{}: {error}", folder.display())));
        }
        Ok(Worktree { spot, folder, environment: Arc::clone(&self.environment) })
    }

    /// Ends the worktrees of runs that were killed, by the same rule as ever, and counts what is left.
    /// Those of living runs are not touched. Blocks.
    ///
    /// # Errors
    /// Where they cannot be listed.
    pub fn sweep(&self) -> Result<Leftover, GitError> {
        let list = self.git.run(&self.workspace, &["worktree", "list", "--porcelain", "-z"])?;
        let listed: Vec<Listed> = listing::read(&list)
            .into_iter()
            .filter(|tree| tree.path.parent() == Some(self.home.as_path()) && tree.path.exists())
            .collect();
        let mut left = Leftover::default();
        for tree in &listed {
            let run = match &tree.locked {
                None => {
                    left.kept.push(tree.path.clone());
                    continue;
                }
                Some(reason) => reason.strip_prefix("flower:"),
            };
            // Locked by somebody else, or in use.
            if run.is_none_or(|run| self.is_alive(run)) {
                continue;
            }
            let name = tree.path.file_name().unwrap_or_default().to_string_lossy();
            let spot = self.spot(&format!("flower/{name}"), tree.path.clone());
            match spot.end() {
                Ending::Removed { .. } => left.removed += 1,
                // Another flower that has just been started may have been quicker.
                Ending::Kept(Kept { path, .. }) if path.exists() => left.kept.push(path),
                Ending::Kept(_) => {}
            }
        }
        for path in folders(&self.home) {
            // Git has forgotten it; what is in it nobody can tell.
            if !listed.iter().any(|tree| tree.path == path) {
                left.kept.push(path);
            }
        }
        Alive::forget(&self.home);
        left.kept.sort();
        left.command = self.command(&left.kept);
        Ok(left)
    }

    fn command(&self, kept: &[PathBuf]) -> String {
        let remove = format!("git -C {} worktree remove --force", quoted(&self.workspace));
        match kept {
            [] => String::new(),
            [one] => format!("{remove} {}", quoted(one)),
            _ => format!("for w in {}/*/; do {remove} \"$w\"; done", quoted(&self.home)),
        }
    }

    fn spot(&self, branch: &str, path: PathBuf) -> Spot {
        Spot {
            git: self.git.clone(),
            workspace: self.workspace.clone(),
            home: self.home.clone(),
            path,
            branch: branch.to_owned(),
        }
    }

    /// Folder and branch have the same name, so that the one is found by the other.
    fn free_spot(&self, name: &str) -> Result<Spot, GitError> {
        let mut label = name.to_owned();
        let mut number = 1;
        loop {
            let path = self.home.join(&label);
            let branch = format!("flower/{label}");
            let taken = path.symlink_metadata().is_ok()
                || self.git.asks(
                    &self.workspace,
                    &["show-ref", "--verify", "-q", &format!("refs/heads/{branch}")],
                )?;
            if !taken {
                return Ok(self.spot(&branch, path));
            }
            number += 1;
            label = format!("{name}-{number}");
        }
    }

    fn add(&self, spot: &Spot) -> Result<(), GitError> {
        let reason = format!("flower:{}", self.run);
        let command = words(&[
            &"worktree",
            &"add",
            &"--quiet",
            &"--lock",
            &"--reason",
            &reason,
            &"-b",
            &spot.branch,
            &spot.path,
            &"HEAD",
        ]);
        self.git.run(&self.workspace, &command).map(drop)
    }

    /// Takes back what a failed command left; nobody has worked there.
    fn undo(&self, spot: &Spot) {
        let remove = words(&[&"worktree", &"remove", &"--force", &"--force", &spot.path]);
        let _ = self.git.run(&self.workspace, &remove);
        let name = format!("refs/heads/{}", spot.branch);
        if let Ok(head) = self.git.line(&self.workspace, &["rev-parse", "HEAD"]) {
            let _ = self.git.run(&self.workspace, &["update-ref", "-d", &name, &head]);
        }
    }

    fn is_alive(&self, run: &str) -> bool {
        run == self.run || Alive::is(&self.home, run)
    }
}

fn is_no_repository(error: &GitError) -> bool {
    matches!(error, GitError::Failed { said, .. } if said.contains("not a git repository"))
}

/// Makes the place, for the owner alone, and checks that it lies outside of these folders.
fn make_home(home: &Path, outside_of: &[&PathBuf]) -> Result<PathBuf, YardError> {
    let inside = |path: &Path| outside_of.iter().any(|folder| path.starts_with(folder));
    if inside(home) {
        return Err(YardError::Inside(home.to_owned()));
    }
    let failed = |source| YardError::Folder { path: home.to_owned(), source };
    DirBuilder::new().recursive(true).mode(0o700).create(home).map_err(failed)?;
    let home = home.canonicalize().map_err(failed)?;
    if inside(&home) {
        return Err(YardError::Inside(home));
    }
    Ok(home)
}

/// What tools in a worktree get: their git finds the worktree, writes no configuration when a branch is
/// made, remembers where branches have been, and can commit also where nobody has said who they are.
fn tool_environment(
    git: &Git,
    workspace: &Path,
    environment: &[(OsString, OsString)],
) -> Vec<(OsString, OsString)> {
    let mut environment = without_pointers(environment);
    configure(
        &mut environment,
        &[("branch.autoSetupMerge", "false"), ("core.logAllRefUpdates", "true")],
    );
    for who in ["AUTHOR", "COMMITTER"] {
        if git.line(workspace, &["var", &format!("GIT_{who}_IDENT")]).is_err() {
            set(&mut environment, &format!("GIT_{who}_NAME"), "flower");
            set(&mut environment, &format!("GIT_{who}_EMAIL"), "flower@localhost");
        }
    }
    environment
}

/// A name for a branch and a folder.
fn plain(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    let name: String = name.chars().map(plain).take(60).collect();
    match name.trim_matches('-') {
        "" => "agent".to_owned(),
        name => name.to_owned(),
    }
}

fn folders(home: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(home) else { return Vec::new() };
    entries
        .flatten()
        .filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."))
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
        .collect()
}
