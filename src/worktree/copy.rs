//! A throw-away copy of a workspace, removed when it is dropped.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::aside::aside;
use super::duplicate::Duplicate;
use super::exclusion::{Exclusion, at};
use crate::sandbox::Scratch;

/// A copy of a workspace: tracked, changed, untracked and ignored files, so that builds work in it.
///
/// Modes, times and symbolic links are kept; pipes, sockets and devices are left out. Absolute links into
/// the workspace lead into the copy. A repository in it works and cannot write into the original: what
/// lies elsewhere is copied too, and other linked worktrees and locks are not part of it.
#[derive(Debug)]
pub struct Copy {
    /// Holds nothing but the copy.
    shell: Scratch,
    path: PathBuf,
}

impl Copy {
    /// Copies `workspace` into a new folder below `into`, which must lie outside of the workspace.
    ///
    /// `excluded` are paths in the workspace, absolute or relative to it, that are left out. Nothing is
    /// left behind where it fails, and the error names the path. Blocks.
    pub fn make(workspace: &Path, into: &Path, excluded: &[PathBuf]) -> io::Result<Self> {
        Self::make_unless(&AtomicBool::new(false), workspace, into, excluded)
    }

    /// The same without blocking. Where the future is dropped, nothing is left behind.
    pub async fn make_aside(
        workspace: &Path,
        into: &Path,
        excluded: Vec<PathBuf>,
    ) -> io::Result<Self> {
        let (workspace, into) = (workspace.to_owned(), into.to_owned());
        aside(move |stop| Self::make_unless(stop, &workspace, &into, &excluded)).await
    }

    fn make_unless(
        stop: &AtomicBool,
        workspace: &Path,
        into: &Path,
        excluded: &[PathBuf],
    ) -> io::Result<Self> {
        let real = workspace.canonicalize().map_err(at(workspace))?;
        fs::create_dir_all(into).map_err(at(into))?;
        let into = into.canonicalize().map_err(at(into))?;
        if into.starts_with(&real) {
            let text = format!("{}: a copy cannot lie within what it copies", into.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        let shell = Scratch::make(&into, "copy")?;
        // The same name as the workspace: links such as `../name/file` stay inside.
        let name = real.file_name().unwrap_or("workspace".as_ref());
        let copy = Self { path: shell.path().join(name), shell };
        let exclusion = Exclusion::new(workspace, excluded);
        DirBuilder::new().mode(0o700).create(&copy.path)?;
        Duplicate::new(&real, &copy.path, exclusion).run(stop)?;
        Ok(copy)
    }

    /// The copy's root.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it without blocking and says whether that worked.
    pub async fn remove_aside(self) -> io::Result<()> {
        aside(move |_| self.remove()).await
    }

    /// Removes it now and says whether that worked; dropping removes it silently. Blocks.
    pub fn remove(self) -> io::Result<()> {
        self.shell.remove()
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;
    use std::fs::Permissions;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::os::unix::net::UnixListener;

    use super::super::Snapshot;
    use super::*;

    fn made(workspace: &Path) -> (tempfile::TempDir, Copy) {
        let into = tempfile::tempdir().unwrap();
        let copy = Copy::make(workspace, into.path(), &[]).unwrap();
        (into, copy)
    }

    #[tokio::test]
    async fn copying_does_not_hold_up_others_and_a_dropped_one_leaves_nothing() {
        let (folder, into) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        for number in 0..2000 {
            fs::write(folder.path().join(number.to_string()), "x").unwrap();
        }
        let left = || fs::read_dir(into.path()).unwrap().count();
        let mut making = Box::pin(Copy::make_aside(folder.path(), into.path(), Vec::new()));
        assert!(futures_util::poll!(&mut making).is_pending());
        drop(making);
        assert_eq!(left(), 0);
        let copy = Copy::make_aside(folder.path(), into.path(), Vec::new()).await.unwrap();
        assert_eq!(fs::read_dir(copy.path()).unwrap().count(), 2000);
        let mut removing = Box::pin(copy.remove_aside());
        assert!(futures_util::poll!(&mut removing).is_pending());
        drop(removing);
        assert_eq!(left(), 0);
    }

    #[test]
    fn a_copy_that_is_told_to_stop_leaves_nothing() {
        let (folder, into) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::write(folder.path().join("f"), "x").unwrap();
        let stop = AtomicBool::new(true);
        let error = Copy::make_unless(&stop, folder.path(), into.path(), &[]).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::Interrupted);
        assert_eq!(fs::read_dir(into.path()).unwrap().count(), 0);
    }

    #[test]
    fn content_modes_times_and_links_are_kept_and_special_files_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir(root.join("d")).unwrap();
        fs::write(root.join("d/run"), "#!").unwrap();
        fs::set_permissions(root.join("d/run"), Permissions::from_mode(0o4750)).unwrap();
        fs::write(root.join(OsStr::from_bytes(b"not-\xff-utf8")), "x").unwrap();
        fs::hard_link(root.join("d/run"), root.join("same")).unwrap();
        symlink("d/run", root.join("relative")).unwrap();
        symlink(root.join("d/run"), root.join("absolute")).unwrap();
        symlink("/nowhere", root.join("outside")).unwrap();
        let _socket = UnixListener::bind(root.join("socket")).unwrap();
        fs::set_permissions(root.join("d"), Permissions::from_mode(0o555)).unwrap();

        let (_into, copy) = made(root);
        let path = copy.path();
        let (old, new) =
            (fs::metadata(root.join("d/run")).unwrap(), fs::metadata(path.join("d/run")).unwrap());
        assert_eq!(fs::read_to_string(path.join("d/run")).unwrap(), "#!");
        assert_eq!(new.mode(), old.mode());
        assert_eq!((new.mtime(), new.mtime_nsec()), (old.mtime(), old.mtime_nsec()));
        assert_eq!(new.ino(), fs::metadata(path.join("same")).unwrap().ino());
        assert_ne!(new.ino(), old.ino());
        assert_eq!(fs::metadata(path.join("d")).unwrap().mode() & 0o777, 0o555);
        assert!(path.join(OsStr::from_bytes(b"not-\xff-utf8")).is_file());
        assert_eq!(fs::read_link(path.join("relative")).unwrap(), Path::new("d/run"));
        assert_eq!(fs::read_link(path.join("absolute")).unwrap(), path.join("d/run"));
        assert_eq!(fs::read_link(path.join("outside")).unwrap(), Path::new("/nowhere"));
        assert!(!path.join("socket").exists());
        fs::set_permissions(root.join("d"), Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn it_goes_when_dropped_with_closed_folders_in_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("d")).unwrap();
        fs::write(folder.path().join("d/f"), "").unwrap();
        fs::set_permissions(folder.path().join("d"), Permissions::from_mode(0o555)).unwrap();
        let (into, copy) = made(folder.path());
        assert!(copy.path().join("d/f").exists());
        drop(copy);
        assert_eq!(fs::read_dir(into.path()).unwrap().count(), 0);
        fs::set_permissions(folder.path().join("d"), Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn what_is_excluded_stays_out_and_a_copy_within_itself_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join("run/deep")).unwrap();
        fs::write(root.join("f"), "").unwrap();
        let into = tempfile::tempdir().unwrap();
        let copy = Copy::make(root, into.path(), &[root.join("run")]).unwrap();
        assert!(copy.path().join("f").exists() && !copy.path().join("run").exists());
        let refused = Copy::make(root, &root.join("run"), &[]).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn work_in_a_copy_leaves_the_original_equal() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("source"), "1").unwrap();
        symlink(folder.path().join("source"), folder.path().join("link")).unwrap();
        let before = Snapshot::take(folder.path(), &[]).unwrap();
        let (_into, copy) = made(folder.path());
        fs::write(copy.path().join("link"), "2").unwrap();
        fs::write(copy.path().join("output"), "3").unwrap();
        let after = Snapshot::take(folder.path(), &[]).unwrap();
        assert_eq!(before.differences(&after), []);
        assert_eq!(fs::read_to_string(copy.path().join("source")).unwrap(), "2");
    }
}
