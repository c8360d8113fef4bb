//! Worktrees with a real git: when they go, when they stay.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

/// A repository of one commit in a folder with a difficult name, and a place for worktrees.
struct Farm {
    _dir: tempfile::TempDir,
    root: PathBuf,
    home: PathBuf,
}

fn environment() -> Vec<(OsString, OsString)> {
    let path = std::env::var_os("PATH").unwrap();
    let mut all = vec![("PATH".into(), path)];
    for (name, value) in [
        ("HOME", "/nonexistent"),
        ("GIT_CONFIG_GLOBAL", "/dev/null"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "a"),
        ("GIT_AUTHOR_EMAIL", "a@b"),
        ("GIT_COMMITTER_NAME", "a"),
        ("GIT_COMMITTER_EMAIL", "a@b"),
    ] {
        all.push((name.into(), value.into()));
    }
    all
}

/// git as an agent in the folder runs it.
fn git_in(folder: &Path, environment: &[(OsString, OsString)], words: &[&str]) -> (bool, String) {
    let output = Command::new("git")
        .args(words)
        .current_dir(folder)
        .env_clear()
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).trim_end().to_owned())
}

fn git(folder: &Path, words: &[&str]) -> String {
    let (ok, text) = git_in(folder, &environment(), words);
    assert!(ok, "git {words:?}: {text}");
    text
}

impl Farm {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let base = dir.path().canonicalize().unwrap();
        let (root, home) = (base.join("mein Projekt ü'"), base.join("state/worktrees/-p"));
        fs::create_dir_all(root.join("sub")).unwrap();
        git(&root, &["-c", "init.defaultBranch=main", "init", "-q"]);
        fs::write(root.join("f"), "1\n").unwrap();
        fs::write(root.join("sub/g"), "1\n").unwrap();
        fs::write(root.join(".gitignore"), "*.log\ntarget\n").unwrap();
        git(&root, &["add", "-A"]);
        git(&root, &["commit", "-qm", "first"]);
        Self { _dir: dir, root, home }
    }

    fn yard(&self) -> Yard {
        Yard::open(&self.root, &self.home, &environment()).unwrap()
    }

    fn branches(&self) -> Vec<String> {
        let list = git(&self.root, &["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        list.lines().map(str::to_owned).collect()
    }

    fn worktrees(&self) -> String {
        git(&self.root, &["worktree", "list", "--porcelain"])
    }
}

/// Writes and commits as an agent does.
fn commit(tree: &Worktree, name: &str) {
    fs::write(tree.folder().join(name), name).unwrap();
    for words in [&["add", "-A"][..], &["commit", "-qm", name]] {
        let (ok, said) = git_in(tree.folder(), tree.environment(), words);
        assert!(ok, "{said}");
    }
}

/// The reason for which the worktree stays; it must be usable and unlocked.
fn kept(farm: &Farm, tree: &Worktree) -> Reason {
    match tree.end(PATIENCE) {
        Ending::Kept(kept) => {
            assert!(tree.path().exists());
            assert!(!farm.worktrees().contains("locked"));
            assert!(farm.branches().contains(&tree.branch().to_owned()));
            assert!(kept.command.contains("worktree remove --force"), "{}", kept.command);
            kept.reason
        }
        Ending::Removed { .. } => panic!("removed"),
    }
}

#[test]
fn what_is_committed_stays_as_a_branch_and_the_worktree_goes() {
    let farm = Farm::new();
    let before = farm.worktrees();
    let yard = farm.yard();
    let tree = yard.make("coder-1").unwrap();
    assert_eq!(tree.branch(), "flower/coder-1");
    assert!(tree.path().starts_with(&farm.home) && tree.folder().join("f").exists());
    assert!(farm.worktrees().contains("locked flower:"));
    commit(&tree, "new");
    fs::create_dir_all(tree.folder().join("target")).unwrap();
    fs::write(tree.folder().join("target/made"), "").unwrap();
    assert_eq!(tree.end(PATIENCE), Ending::Removed { branch: Some("flower/coder-1".to_owned()) });
    assert_eq!(farm.branches(), ["flower/coder-1", "main"]);
    assert_eq!(farm.worktrees(), before);
    assert!(!tree.path().exists());
    assert_eq!(git(&farm.root, &["status", "--porcelain"]), "");
    assert_eq!(git(&farm.root, &["show", "flower/coder-1:new"]), "new");
    assert!(!git(&farm.root, &["config", "--list", "--local"]).contains("branch."));
}

#[test]
fn a_branch_without_a_commit_goes_with_its_worktree() {
    let farm = Farm::new();
    let tree = farm.yard().make("x").unwrap();
    assert_eq!(tree.end(PATIENCE), Ending::Removed { branch: None });
    assert_eq!(farm.branches(), ["main"]);
}

#[test]
fn a_branch_whose_moves_were_not_written_down_stays() {
    let farm = Farm::new();
    let tree = farm.yard().make("x").unwrap();
    commit(&tree, "new");
    git(&farm.root, &["reflog", "expire", "--expire=all", "--all"]);
    assert_eq!(tree.end(PATIENCE), Ending::Removed { branch: Some("flower/x".to_owned()) });
}

#[test]
fn uncommitted_staged_and_untracked_files_keep_it() {
    let farm = Farm::new();
    let yard = farm.yard();
    let changed = yard.make("changed").unwrap();
    fs::write(changed.path().join("f"), "2\n").unwrap();
    assert_eq!(kept(&farm, &changed), Reason::Changes("f".into()));
    let staged = yard.make("staged").unwrap();
    fs::write(staged.path().join("a b"), "").unwrap();
    git(staged.path(), &["add", "-A"]);
    assert_eq!(kept(&farm, &staged), Reason::Changes("a b".into()));
    let untracked = yard.make("untracked").unwrap();
    fs::create_dir(untracked.path().join("d")).unwrap();
    fs::write(untracked.path().join("d/new"), "").unwrap();
    git(&farm.root, &["config", "status.showUntrackedFiles", "no"]);
    assert_eq!(kept(&farm, &untracked), Reason::Changes("d/new".into()));
}

#[test]
fn ignored_and_hidden_work_keeps_it() {
    let farm = Farm::new();
    let yard = farm.yard();
    let ignored = yard.make("ignored").unwrap();
    fs::write(ignored.path().join("important.log"), "").unwrap();
    assert_eq!(kept(&farm, &ignored), Reason::Ignored("important.log".into()));
    let hidden = yard.make("hidden").unwrap();
    git(hidden.path(), &["update-index", "--assume-unchanged", "f"]);
    fs::write(hidden.path().join("f"), "2\n").unwrap();
    assert_eq!(kept(&farm, &hidden), Reason::Hidden("f".into()));
}

#[test]
fn a_merge_in_progress_keeps_it() {
    let farm = Farm::new();
    let tree = farm.yard().make("x").unwrap();
    commit(&tree, "f");
    git(&farm.root, &["checkout", "-qb", "other"]);
    fs::write(farm.root.join("f"), "other\n").unwrap();
    git(&farm.root, &["commit", "-qam", "other"]);
    let (ok, _) = git_in(tree.path(), &environment(), &["merge", "other"]);
    assert!(!ok);
    assert_eq!(kept(&farm, &tree), Reason::Unfinished("merge".into()));
}

#[test]
fn a_detached_head_and_another_branch_keep_it() {
    let farm = Farm::new();
    let yard = farm.yard();
    let detached = yard.make("detached").unwrap();
    git(detached.path(), &["checkout", "-q", "--detach"]);
    commit(&detached, "new");
    assert_eq!(kept(&farm, &detached), Reason::Elsewhere);
    let elsewhere = yard.make("elsewhere").unwrap();
    git(elsewhere.path(), &["checkout", "-qb", "mine"]);
    commit(&elsewhere, "new");
    assert_eq!(kept(&farm, &elsewhere), Reason::Elsewhere);
}

#[test]
fn commits_that_only_the_worktree_remembers_keep_it() {
    let farm = Farm::new();
    let yard = farm.yard();
    let tree = yard.make("x").unwrap();
    git(tree.path(), &["checkout", "-q", "--detach"]);
    commit(&tree, "new");
    git(tree.path(), &["checkout", "-q", "flower/x"]);
    assert_eq!(kept(&farm, &tree), Reason::Loose);
    let amended = yard.make("amended").unwrap();
    commit(&amended, "new");
    git(amended.path(), &["commit", "-q", "--amend", "-m", "better"]);
    assert!(matches!(amended.end(PATIENCE), Ending::Removed { branch: Some(_) }));
}

#[test]
fn a_stash_on_its_branch_keeps_it_and_one_on_another_does_not() {
    let farm = Farm::new();
    let yard = farm.yard();
    fs::write(farm.root.join("f"), "mine\n").unwrap();
    git(&farm.root, &["stash", "-q"]);
    let free = yard.make("free").unwrap();
    assert_eq!(free.end(PATIENCE), Ending::Removed { branch: None });
    let tree = yard.make("x").unwrap();
    fs::write(tree.path().join("f"), "2\n").unwrap();
    git(tree.path(), &["stash", "push", "-q", "-m", "later"]);
    assert_eq!(kept(&farm, &tree), Reason::Stash);
}

#[test]
fn a_submodule_in_it_keeps_it() {
    let farm = Farm::new();
    let tree = farm.yard().make("x").unwrap();
    let url = farm.root.to_str().unwrap();
    git(tree.path(), &["-c", "protocol.file.allow=always", "submodule", "add", "-q", url, "lib"]);
    git(tree.path(), &["commit", "-qm", "lib"]);
    assert_eq!(kept(&farm, &tree), Reason::Submodule);
}

#[test]
fn what_cannot_be_looked_at_is_kept() {
    let farm = Farm::new();
    let yard = farm.yard();
    let tree = yard.make("x").unwrap();
    fs::remove_file(tree.path().join(".git")).unwrap();
    assert!(matches!(tree.end(PATIENCE), Ending::Kept(Kept { reason: Reason::Unsure(_), .. })));
    assert!(tree.path().join("f").exists());
    let broken = yard.make("y").unwrap();
    let index = git(broken.path(), &["rev-parse", "--git-path", "index"]);
    fs::write(index, "nonsense").unwrap();
    assert!(matches!(kept(&farm, &broken), Reason::Unsure(_)));
    let late = yard.make("z").unwrap();
    let ending = late.end(Duration::ZERO);
    assert!(matches!(ending, Ending::Kept(Kept { reason: Reason::Unsure(_), .. })), "{ending:?}");
    assert!(late.path().join("f").exists());
}

#[test]
fn a_name_that_is_taken_gets_a_number() {
    let farm = Farm::new();
    let yard = farm.yard();
    git(&farm.root, &["branch", "flower/a-b"]);
    assert_eq!(yard.make("A b").unwrap().branch(), "flower/a-b-2");
    assert_eq!(yard.make("A b").unwrap().branch(), "flower/a-b-3");
    assert_eq!(yard.make("../..").unwrap().branch(), "flower/agent");
}

#[test]
fn ten_at_once_do_not_step_on_each_other() {
    let farm = Farm::new();
    let (one, two) = (farm.yard(), farm.yard());
    std::thread::scope(|scope| {
        for number in 0..10 {
            let yard = if number % 2 == 0 { &one } else { &two };
            scope.spawn(move || {
                let tree = yard.make("coder").unwrap();
                commit(&tree, &format!("file-{number}"));
                assert!(matches!(tree.end(PATIENCE), Ending::Removed { branch: Some(_) }));
            });
        }
    });
    assert_eq!(farm.branches().len(), 11);
    assert_eq!(farm.worktrees().matches("worktree ").count(), 1);
    git(&farm.root, &["fsck", "--no-progress"]);
}

#[test]
fn the_rest_of_killed_runs_is_sorted_out_and_the_living_are_left_alone() {
    let farm = Farm::new();
    let dead = farm.yard();
    let (clean, done, busy) =
        (dead.make("clean").unwrap(), dead.make("done").unwrap(), dead.make("busy").unwrap());
    commit(&done, "new");
    fs::write(busy.path().join("half"), "").unwrap();
    let living = farm.yard();
    let used = living.make("used").unwrap();
    let next = farm.yard();
    assert_eq!(next.sweep().unwrap(), Leftover::default(), "both runs live");
    drop(dead);
    let left = next.sweep().unwrap();
    assert_eq!((left.removed, &left.kept), (2, &vec![busy.path().to_owned()]));
    assert!(left.command.ends_with(&format!("worktree remove --force {}", busy.path().display())));
    assert!(!clean.path().exists() && !done.path().exists() && used.path().exists());
    assert_eq!(farm.branches(), ["flower/busy", "flower/done", "flower/used", "main"]);
    assert!(git(busy.path(), &["status", "--porcelain"]).contains("half"));
    fs::create_dir(farm.home.join("forgotten")).unwrap();
    let again = next.sweep().unwrap();
    assert_eq!((again.removed, again.kept.len()), (0, 2));
    let command = ["-c", &again.command];
    let status = Command::new("sh").args(command).env("LC_ALL", "C").status().unwrap();
    let _ = status;
    assert!(!busy.path().exists() && used.path().exists(), "only what nobody uses: {command:?}");
}

#[test]
fn a_part_of_a_repository_and_a_linked_worktree_are_workspaces_too() {
    let farm = Farm::new();
    fs::create_dir(farm.root.join("empty")).unwrap();
    for (folder, held) in [("sub", Some("g")), ("empty", None)] {
        let yard = Yard::open(&farm.root.join(folder), &farm.home, &environment()).unwrap();
        let tree = yard.make(folder).unwrap();
        assert_eq!(tree.folder(), tree.path().join(folder));
        assert!(held.is_none_or(|name| tree.folder().join(name).exists()));
        assert_eq!(tree.end(PATIENCE), Ending::Removed { branch: None });
    }
    let linked = farm.root.parent().unwrap().join("linked");
    git(&farm.root, &["worktree", "add", "-q", "-b", "side", linked.to_str().unwrap()]);
    let yard = Yard::open(&linked, &farm.home, &environment()).unwrap();
    assert_eq!(yard.repository(), farm.root.join(".git"));
    let tree = yard.make("x").unwrap();
    commit(&tree, "new");
    assert!(matches!(tree.end(PATIENCE), Ending::Removed { branch: Some(_) }));
}

#[test]
fn where_worktrees_cannot_be_had_it_says_why() {
    let farm = Farm::new();
    let open = |folder: &Path, home: &Path| Yard::open(folder, home, &environment()).unwrap_err();
    let plain = tempfile::tempdir().unwrap();
    let error = open(plain.path(), &farm.home);
    assert!(matches!(error, YardError::NoRepository(_)), "{error}");
    assert!(matches!(open(&farm.root.join(".git"), &farm.home), YardError::NoRepository(_)));
    git(plain.path(), &["init", "-q"]);
    assert!(matches!(open(plain.path(), &farm.home), YardError::NoCommit(_)));
    let inside = farm.root.join("sub/state");
    assert!(matches!(open(&farm.root, &inside), YardError::Inside(_)));
    assert!(!inside.exists());
    let none = [("PATH".into(), "/nowhere".into())];
    let error = Yard::open(&farm.root, &farm.home, &none).unwrap_err();
    assert!(matches!(error, YardError::Git(GitError::Missing)));
    assert!(!farm.home.exists(), "nothing is made for what cannot be");
    git(&farm.root, &["branch", "flower"]);
    assert!(matches!(open(&farm.root, &farm.home), YardError::BranchInTheWay(_)));
}

#[test]
fn relative_worktrees_are_noticed() {
    let farm = Farm::new();
    git(&farm.root, &["config", "core.repositoryFormatVersion", "1"]);
    git(&farm.root, &["config", "extensions.relativeWorktrees", "true"]);
    match Yard::open(&farm.root, &farm.home, &environment()) {
        // git from 2.48 on.
        Ok(yard) => {
            assert!(yard.has_relative_worktrees());
            let tree = yard.make("x").unwrap();
            let pointer = fs::read_to_string(tree.path().join(".git")).unwrap();
            assert!(pointer.starts_with("gitdir: /"), "{pointer}");
        }
        Err(error) => assert!(matches!(error, YardError::Relative(_)), "{error}"),
    }
}

#[test]
fn tools_can_commit_also_where_nobody_has_said_who_they_are() {
    let farm = Farm::new();
    let kept = |name: &OsString| {
        ["PATH", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_NOSYSTEM"].iter().any(|k| name == k)
    };
    let mut bare: Vec<_> = environment().into_iter().filter(|(name, _)| kept(name)).collect();
    // Without this git makes up a name from the machine's, where it has a good one.
    for (name, value) in [
        ("GIT_CONFIG_COUNT", "1"),
        ("GIT_CONFIG_KEY_0", "user.useConfigOnly"),
        ("GIT_CONFIG_VALUE_0", "true"),
        ("GIT_DIR", "/elsewhere"),
    ] {
        bare.push((name.into(), value.into()));
    }
    let tree = Yard::open(&farm.root, &farm.home, &bare).unwrap().make("x").unwrap();
    commit(&tree, "new");
    assert_eq!(git(tree.path(), &["log", "-1", "--format=%an"]), "flower");
    let (_, value) = git_in(tree.path(), tree.environment(), &["config", "branch.autoSetupMerge"]);
    assert_eq!(value, "false");
    let named = farm.yard().make("y").unwrap();
    commit(&named, "new");
    assert_eq!(git(named.path(), &["log", "-1", "--format=%an"]), "a");
}

#[test]
fn hooks_of_the_repository_do_not_run_for_flower() {
    use std::os::unix::fs::PermissionsExt;
    let farm = Farm::new();
    let hook = farm.root.join(".git/hooks/post-checkout");
    fs::create_dir_all(hook.parent().unwrap()).unwrap();
    fs::write(&hook, "#!/bin/sh\ntouch \"$PWD/planted\"\n").unwrap();
    fs::set_permissions(&hook, fs::Permissions::from_mode(0o755)).unwrap();
    let tree = farm.yard().make("x").unwrap();
    assert!(!tree.path().join("planted").exists());
    assert_eq!(tree.end(PATIENCE), Ending::Removed { branch: None });
}

#[test]
fn copies_and_proofs_of_a_workspace_work_beside_worktrees() {
    let farm = Farm::new();
    let tree = farm.yard().make("x").unwrap();
    commit(&tree, "new");
    let before = Snapshot::take(&farm.root, &[]).unwrap();
    let into = tempfile::tempdir().unwrap();
    let copy = Copy::make(&farm.root, into.path(), &[]).unwrap();
    assert_eq!(git(copy.path(), &["show", "flower/x:new"]), "new");
    assert_eq!(before.differences(&Snapshot::take(&farm.root, &[]).unwrap()), []);
}
