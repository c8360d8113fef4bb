//! What keeps a copied repository whole, and apart from the original.
//!
//! * A `.git` that is a file or a link (linked worktree, submodule, separate folder) becomes a folder:
//!   the common repository with the worktree's own state (HEAD, index, logs, an operation in progress)
//!   laid over it. A submodule whose repository lies in the workspace by a relative path keeps its file.
//! * `worktrees/` is left out: `git worktree remove` in the copy must not reach another worktree.
//! * Locks are left out: whoever held them does not know the copy.
//! * `core.worktree` is dropped where it is absolute, since every command would write into the original.
//! * Alternates stay, made absolute: git only ever reads them.
//! * Links that lead out of a repository are replaced by what they lead to.

use std::ffi::OsStr;
use std::fs::{self, File, FileTimes};
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::exclusion::at;

/// The parts of a repository that do not lie where `.git` is.
#[derive(Debug)]
pub(super) struct Outside {
    /// State of this worktree alone.
    pub(super) own: PathBuf,
    /// Objects, refs and configuration; the same folder where there is only one worktree.
    pub(super) common: PathBuf,
}

/// Where the repository of a `.git` file or link is; nothing where copying the entry as it is will do.
pub(super) fn outside(workspace: &Path, dot_git: &Path) -> io::Result<Option<Outside>> {
    let Ok(metadata) = fs::symlink_metadata(dot_git) else { return Ok(None) };
    let own = if metadata.is_symlink() {
        match dot_git.canonicalize() {
            Ok(target) if target.is_dir() => target,
            _ => return Ok(None),
        }
    } else if metadata.is_file() {
        let content = fs::read(dot_git).map_err(at(dot_git))?;
        let Some(written) = content.strip_prefix(b"gitdir: ") else { return Ok(None) };
        let written = Path::new(OsStr::from_bytes(written.trim_ascii_end()));
        let folder = dot_git.parent().unwrap_or(workspace);
        // A pointer to nothing is copied as the broken thing that it is.
        let Ok(own) = folder.join(written).canonicalize() else { return Ok(None) };
        let stays = written.is_relative() && own.starts_with(workspace);
        if stays && !own.join("commondir").exists() {
            return Ok(None);
        }
        own
    } else {
        return Ok(None);
    };
    let common = match fs::read(own.join("commondir")) {
        Ok(written) => own.join(OsStr::from_bytes(written.trim_ascii_end())).canonicalize()?,
        Err(_) => own.clone(),
    };
    Ok(Some(Outside { own, common }))
}

/// The path is below a `.git` in the copy.
pub(super) fn is_inside(path: &Path, root: &Path) -> bool {
    let inside = path.strip_prefix(root).unwrap_or(path);
    inside.parent().is_some_and(|folder| folder.iter().any(|name| name == ".git"))
}

/// Locks, and the list of other worktrees.
pub(super) fn is_left_out(path: &Path) -> bool {
    let is_lock = path.extension() == Some(OsStr::new("lock"));
    let beside_head = || path.parent().is_some_and(|folder| folder.join("HEAD").exists());
    is_lock || (path.file_name() == Some(OsStr::new("worktrees")) && beside_head())
}

/// A link in a repository whose target is not in the same repository.
pub(super) fn leads_out(link: &Path) -> bool {
    let Ok(target) = link.canonicalize() else { return false };
    let names: Vec<_> = link.iter().collect();
    let Some(depth) = names.iter().rposition(|name| *name == ".git") else { return true };
    let root: PathBuf = names[..=depth].iter().collect();
    root.canonicalize().map_or(true, |root| !target.starts_with(root))
}

/// Mends a file of a repository that says where things are.
pub(super) fn repair(from: &Path, to: &Path, workspace: &Path) -> io::Result<()> {
    let name = from.file_name().unwrap_or_default();
    if name == "config" || name == "config.worktree" {
        rewrite(to, |text| drop_core(text, |key, value| key == "worktree" && is_absolute(value)))
    } else if name == "alternates" && from.parent().is_some_and(|folder| folder.ends_with("info")) {
        let objects = from.parent().and_then(Path::parent).unwrap_or(workspace);
        rewrite(to, |text| absolute_alternates(text, objects, workspace))
    } else {
        Ok(())
    }
}

/// Makes a repository folder out of what was laid together: it is nobody's worktree and not bare.
pub(super) fn settle(git: &Path) -> io::Result<()> {
    for name in ["commondir", "gitdir", "locked"] {
        match fs::remove_file(git.join(name)) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    for name in ["config", "config.worktree"] {
        let path = git.join(name);
        if path.exists() {
            rewrite(&path, |text| drop_core(text, |key, _| key == "worktree" || key == "bare"))?;
        }
    }
    Ok(())
}

/// Changes a file's content, not its times; a file that stays the same is not touched.
fn rewrite(path: &Path, change: impl FnOnce(&[u8]) -> Vec<u8>) -> io::Result<()> {
    let old = fs::read(path)?;
    let new = change(&old);
    if new == old {
        return Ok(());
    }
    let modified = fs::metadata(path)?.modified()?;
    // The file may be closed to its owner, and it may have other names: a new one takes its place.
    let permissions = fs::metadata(path)?.permissions();
    fs::remove_file(path)?;
    fs::write(path, new)?;
    let file = File::options().write(true).open(path)?;
    file.set_times(FileTimes::new().set_modified(modified))?;
    file.set_permissions(permissions)
}

fn is_absolute(value: &[u8]) -> bool {
    value.trim_ascii().strip_prefix(b"\"").unwrap_or(value.trim_ascii()).starts_with(b"/")
}

/// Takes lines out of the `[core]` section of a configuration file.
fn drop_core(text: &[u8], drops: impl Fn(&str, &[u8]) -> bool) -> Vec<u8> {
    let mut in_core = false;
    let mut kept = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let mut setting = line.trim_ascii();
        let mut header: &[u8] = b"";
        if setting.starts_with(b"[") {
            let end = setting.iter().position(|byte| *byte == b']').unwrap_or(setting.len() - 1);
            // A setting may follow its header on the same line.
            (header, setting) = setting.split_at(end + 1);
            in_core = header.trim_ascii().eq_ignore_ascii_case(b"[core]");
            setting = setting.trim_ascii();
        }
        let equals = setting.iter().position(|byte| *byte == b'=');
        let (key, value) = setting.split_at(equals.unwrap_or(setting.len()));
        let key = String::from_utf8_lossy(key.trim_ascii()).to_ascii_lowercase();
        if in_core && drops(&key, value.strip_prefix(b"=").unwrap_or(value)) {
            if !header.is_empty() {
                kept.extend_from_slice(header);
                kept.push(b'\n');
            }
            continue;
        }
        kept.extend_from_slice(line);
    }
    kept
}

/// Relative alternates are seen from the objects folder; one that leads out of the workspace would lead
/// elsewhere from the copy.
fn absolute_alternates(text: &[u8], objects: &Path, workspace: &Path) -> Vec<u8> {
    let mut kept = Vec::with_capacity(text.len());
    for line in text.split_inclusive(|byte| *byte == b'\n') {
        let written = Path::new(OsStr::from_bytes(line.trim_ascii_end()));
        match objects.join(written).canonicalize() {
            Ok(real) if written.is_relative() && !real.starts_with(workspace) => {
                kept.extend(real.into_os_string().into_vec());
                kept.push(b'\n');
            }
            _ => kept.extend_from_slice(line),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::super::{Copy, Snapshot};
    use super::*;

    #[test]
    fn only_the_asked_settings_of_core_are_dropped() {
        let text = b"[core]\n\tbare = true\n\tWorkTree = /x\n\teditor = vi\n[other]\n\tbare = true\n[CORE] bare = 1\n";
        let kept = drop_core(text, |key, _| key == "bare" || key == "worktree");
        assert_eq!(
            String::from_utf8(kept).unwrap(),
            "[core]\n\teditor = vi\n[other]\n\tbare = true\n[CORE]\n"
        );
        let text = b"[core]\n\tworktree = ../../x\n";
        assert_eq!(drop_core(text, |key, value| key == "worktree" && is_absolute(value)), text);
    }

    fn git(folder: &Path, arguments: &[&str]) -> String {
        let output = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "init.defaultBranch=main"])
            .args(["-c", "protocol.file.allow=always"])
            .args(arguments)
            .current_dir(folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .output()
            .unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {error}");
        String::from_utf8(output.stdout).unwrap().trim().to_owned()
    }

    /// A folder with a repository `main` of one commit in it.
    fn repository() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("main");
        fs::create_dir(&root).unwrap();
        git(&root, &["init", "-q"]);
        fs::write(root.join("f"), "1\n").unwrap();
        fs::write(root.join(".gitignore"), "ignored\n").unwrap();
        git(&root, &["add", "-A"]);
        git(&root, &["commit", "-qm", "first"]);
        (folder, root)
    }

    /// Commits and switches in a copy of `root` and checks that the folder of all did not change.
    fn work_in_a_copy(all: &Path, root: &Path) -> String {
        let head = git(root, &["rev-parse", "HEAD"]);
        let into = tempfile::tempdir().unwrap();
        let before = Snapshot::take(all, &[]).unwrap();
        let copy = Copy::make(root, into.path(), &[]).unwrap();
        let path = copy.path();
        assert_eq!(git(path, &["rev-parse", "HEAD"]), head);
        let status = git(path, &["status", "--porcelain"]);
        let top = PathBuf::from(git(path, &["rev-parse", "--show-toplevel"]));
        assert_eq!(top, path.canonicalize().unwrap());
        git(path, &["fsck", "--no-progress"]);
        fs::write(path.join("f"), "2\n").unwrap();
        git(path, &["commit", "-qam", "second"]);
        git(path, &["checkout", "-qb", "other"]);
        git(path, &["reset", "-q", "--hard", "HEAD~1"]);
        git(path, &["gc", "-q", "--prune=now"]);
        git(path, &["worktree", "prune"]);
        let after = Snapshot::take(all, &[]).unwrap();
        assert_eq!(before.differences(&after), []);
        status
    }

    #[test]
    fn a_plain_repository_keeps_its_state_and_untracked_files() {
        let (all, root) = repository();
        fs::write(root.join("f"), "changed\n").unwrap();
        fs::write(root.join("new"), "").unwrap();
        fs::write(root.join("ignored"), "").unwrap();
        fs::write(root.join(".git/index.lock"), "").unwrap();
        assert_eq!(work_in_a_copy(all.path(), &root), "M f\n?? new");
    }

    #[test]
    fn a_repository_with_a_linked_worktree_is_copied_without_it() {
        let (all, root) = repository();
        git(&root, &["worktree", "add", "-q", "../linked"]);
        assert_eq!(work_in_a_copy(all.path(), &root), "");
        assert!(all.path().join("linked/f").exists());
    }

    #[test]
    fn a_linked_worktree_becomes_a_repository_of_its_own() {
        let (all, root) = repository();
        git(&root, &["worktree", "add", "-q", "../linked"]);
        let linked = root.parent().unwrap().join("linked");
        fs::write(linked.join("staged"), "").unwrap();
        git(&linked, &["add", "staged"]);
        assert_eq!(work_in_a_copy(all.path(), &linked), "A  staged");
    }

    #[test]
    fn a_worktree_of_a_bare_repository_works() {
        let (all, root) = repository();
        git(&root, &["clone", "-q", "--bare", ".", "../bare.git"]);
        let bare = root.parent().unwrap().join("bare.git");
        git(&bare, &["worktree", "add", "-q", "../linked", "main"]);
        work_in_a_copy(all.path(), &root.parent().unwrap().join("linked"));
    }

    #[test]
    fn a_linked_worktree_inside_the_workspace_works() {
        let (all, root) = repository();
        git(&root, &["worktree", "add", "-q", ".trees/one", "-b", "one"]);
        work_in_a_copy(all.path(), &root);
        work_in_a_copy(all.path(), &root.join(".trees/one"));
    }

    #[test]
    fn a_submodule_and_its_outer_repository_work() {
        let (all, root) = repository();
        git(&root, &["clone", "-q", ".", "../library"]);
        git(&root, &["submodule", "add", "-q", "../library", "sub"]);
        git(&root, &["commit", "-qm", "with a submodule"]);
        work_in_a_copy(all.path(), &root);
        work_in_a_copy(all.path(), &root.join("sub"));
        let into = tempfile::tempdir().unwrap();
        let copy = Copy::make(&root, into.path(), &[]).unwrap();
        let top = PathBuf::from(git(&copy.path().join("sub"), &["rev-parse", "--show-toplevel"]));
        assert_eq!(top, copy.path().join("sub").canonicalize().unwrap());
    }

    #[test]
    fn a_clone_that_shares_objects_keeps_them() {
        let (all, root) = repository();
        git(&root, &["clone", "-q", "--shared", ".", "../shared"]);
        let shared = root.parent().unwrap().join("shared");
        fs::write(shared.join(".git/objects/info/alternates"), "../../../main/.git/objects\n")
            .unwrap();
        work_in_a_copy(all.path(), &shared);
    }

    #[test]
    fn an_absolute_worktree_setting_does_not_lead_back() {
        let (all, root) = repository();
        git(&root, &["config", "core.worktree", root.to_str().unwrap()]);
        work_in_a_copy(all.path(), &root);
    }

    #[test]
    fn a_repository_behind_a_link_is_copied_whole() {
        let (all, root) = repository();
        let elsewhere = root.parent().unwrap().join("elsewhere");
        fs::rename(root.join(".git"), &elsewhere).unwrap();
        std::os::unix::fs::symlink(&elsewhere, root.join(".git")).unwrap();
        work_in_a_copy(all.path(), &root);
    }
}
