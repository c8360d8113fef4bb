//! One process per session: a lock that ends with its holder, however that ends.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use super::record::RunFolder;

/// The right to write to a session until this is dropped.
#[derive(Debug)]
pub(super) struct Lease {
    path: PathBuf,
    _file: File,
}

impl Lease {
    /// Takes the session, or gives nothing where another process has it.
    ///
    /// Where the file system knows no locks there is nothing to take, and the session counts as used:
    /// a fresh one costs less than two writers.
    pub(super) fn take(folder: &RunFolder, session: &str) -> Option<Self> {
        let leases = folder.file("leases");
        std::fs::create_dir_all(&leases).ok()?;
        let path = leases.join(session);
        loop {
            let file = File::options().create(true).truncate(false).write(true).open(&path).ok()?;
            file.try_lock().ok()?;
            // The holder before may have removed the name between our opening and our locking.
            let named = std::fs::metadata(&path).ok().map(|there| there.ino());
            if named == file.metadata().ok().map(|here| here.ino()) {
                return Some(Self { path, _file: file });
            }
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // The name goes before the lock does, so that no lock file is left behind; `take` checks the name.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// The sessions that this process holds until it ends.
#[derive(Debug, Default)]
pub struct Leases(Mutex<Vec<(String, Lease)>>);

impl Leases {
    /// Takes the session for this process; false where another one has it.
    pub fn hold(&self, folder: &RunFolder, session: &str) -> bool {
        let mut held = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if held.iter().any(|(name, _)| name == session) {
            return true;
        }
        let lease = Lease::take(folder, session);
        let taken = lease.is_some();
        held.extend(lease.map(|lease| (session.to_owned(), lease)));
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_has_one_holder_at_a_time() {
        let dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::open(dir.path()).unwrap();
        let lease = Lease::take(&folder, "s").unwrap();
        assert!(Lease::take(&folder, "s").is_none());
        assert!(Lease::take(&folder, "t").is_some());
        drop(lease);
        assert!(Lease::take(&folder, "s").is_some());
    }

    #[test]
    fn a_file_that_a_killed_process_left_is_no_lease() {
        let dir = tempfile::tempdir().unwrap();
        let folder = RunFolder::open(dir.path()).unwrap();
        std::fs::create_dir(folder.file("leases")).unwrap();
        std::fs::write(folder.file("leases/s"), "").unwrap();
        let leases = Leases::default();
        assert!(
            leases.hold(&folder, "s") && leases.hold(&folder, "s"),
            "held twice by one process"
        );
    }
}
