//! Temporary folders that somebody owns: removed when they are no longer wanted, and where a killed flower
//! left one, by a later flower.

use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::process::geteuid;

/// How their names begin; what follows says for people what is in them.
const PREFIX: &str = "flower-scratch-";
/// Random characters at the end of their names.
const RANDOM: usize = 12;

/// A folder for its owner only, gone when this is dropped. Its owner holds a lock on the folder itself,
/// which ends with the process however that ends.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Makes an empty one in `folder`. `what` is one word for people.
    ///
    /// # Errors
    /// What the system says; the path is named.
    pub fn make(folder: &Path, what: &str) -> io::Result<Self> {
        loop {
            let path = tempfile::Builder::new()
                .prefix(&format!("{PREFIX}{what}-"))
                .rand_bytes(RANDOM)
                .permissions(Permissions::from_mode(0o700))
                .tempdir_in(folder)?
                .keep();
            let lock = match File::open(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                lock => lock.map_err(|error| named(&path, &error))?,
            };
            // Somebody may take it for left behind, between our making and our locking. Where there are no
            // locks nobody does.
            let taken = matches!(lock.try_lock(), Err(TryLockError::WouldBlock));
            if !taken && is_named(&path, &lock) {
                return Ok(Self { path, _lock: lock });
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it now and says whether that worked; dropping removes it silently.
    ///
    /// # Errors
    /// What the system says; the path is named.
    pub fn remove(self) -> io::Result<()> {
        remove(&self.path)
    }

    /// Removes what is in it and itself, where no owner will be dropped any more.
    pub fn clear(&self) {
        let _ = remove(&self.path);
    }

    /// Removes from `folder` what killed processes of this user left there. What cannot be removed stays.
    pub fn sweep(folder: &Path) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            // Looked at before it is opened, for what is somebody else's is not even to be locked.
            if is_ours(&path)
                && let Ok(lock) = File::open(&path)
                && lock.try_lock().is_ok()
                && is_named(&path, &lock)
            {
                let _ = remove(&path);
            }
        }
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.clear();
    }
}

/// Made by [`Scratch::make`], as far as can be seen: a name that nobody gives by hand, and only for us.
fn is_ours(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let random = name.strip_prefix(PREFIX).and_then(|rest| rest.rsplit_once('-'));
    let random = random.is_some_and(|(_, random)| {
        random.len() == RANDOM && random.bytes().all(|byte| byte.is_ascii_alphanumeric())
    });
    random
        && fs::symlink_metadata(path).is_ok_and(|about| {
            about.is_dir() && about.uid() == geteuid().as_raw() && about.mode() & 0o077 == 0
        })
}

fn is_named(path: &Path, folder: &File) -> bool {
    let there = fs::symlink_metadata(path).ok().map(|there| (there.dev(), there.ino()));
    there.is_some() && there == folder.metadata().ok().map(|here| (here.dev(), here.ino()))
}

/// Removes a folder also where folders in it are closed to their owner.
fn remove(folder: &Path) -> io::Result<()> {
    if fs::remove_dir_all(folder).is_ok() {
        return Ok(());
    }
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let _ = fs::set_permissions(&folder, Permissions::from_mode(0o700));
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                folders.push(entry.path());
            }
        }
    }
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(named(folder, &error)),
        _ => Ok(()),
    }
}

fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use std::fs::DirBuilder;
    use std::os::unix::fs::{DirBuilderExt, symlink};

    use super::*;

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    #[test]
    fn it_is_private_and_gone_when_it_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let scratch = Scratch::make(folder.path(), "copy").unwrap();
        assert_eq!(fs::metadata(scratch.path()).unwrap().mode() & 0o777, 0o700);
        fs::create_dir(scratch.path().join("closed")).unwrap();
        fs::set_permissions(scratch.path().join("closed"), Permissions::from_mode(0o0)).unwrap();
        drop(scratch);
        assert!(names(folder.path()).is_empty());
    }

    #[test]
    fn what_a_killed_process_left_goes_and_what_is_in_use_stays() {
        let folder = tempfile::tempdir().unwrap();
        let alive = Scratch::make(folder.path(), "copy").unwrap();
        let left = folder.path().join("flower-scratch-copy-abcDEF012345");
        DirBuilder::new().mode(0o700).create(&left).unwrap();
        fs::write(left.join("x"), "").unwrap();
        Scratch::sweep(folder.path());
        assert!(alive.path().exists() && !left.exists());
    }

    #[test]
    fn nothing_else_is_ever_removed() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        for name in ["flower-scratch-copy-short", "flower-abcDEF012345", "copy-abcDEF012345"] {
            DirBuilder::new().mode(0o700).create(folder.path().join(name)).unwrap();
        }
        let open = folder.path().join("flower-scratch-copy-abcDEF012346");
        DirBuilder::new().create(&open).unwrap();
        fs::set_permissions(&open, Permissions::from_mode(0o755)).unwrap();
        let link = folder.path().join("flower-scratch-copy-abcDEF012347");
        symlink(elsewhere.path(), &link).unwrap();
        fs::write(folder.path().join("flower-scratch-copy-abcDEF012348"), "").unwrap();
        let before = names(folder.path());
        Scratch::sweep(folder.path());
        assert_eq!(names(folder.path()), before);
        assert!(elsewhere.path().exists());
        Scratch::sweep(Path::new("/no/such/folder"));
    }
}
