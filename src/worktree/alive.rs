//! A run that has not ended: a lock on a file, which ends with the process however that ends, also in
//! another container on the same machine.

use std::fs::{self, File, TryLockError};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The folder, beside the worktrees, in which each living run holds a lock.
const RUNS: &str = ".runs";

/// The sign of life of this run, until it is dropped.
#[derive(Debug)]
pub(super) struct Alive {
    path: PathBuf,
    _file: File,
}

impl Alive {
    pub(super) fn begin(home: &Path, run: &str) -> io::Result<Self> {
        let runs = home.join(RUNS);
        fs::create_dir_all(&runs)?;
        let path = runs.join(run);
        loop {
            let file = File::options().create(true).truncate(false).write(true).open(&path)?;
            match file.try_lock() {
                // Somebody looks whether it is alive, which takes no time.
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(1)),
                // Without locks nobody can tell, and everybody takes every run for one that lives.
                Err(TryLockError::Error(_)) => return Ok(Self { path, _file: file }),
                // Who looked before we had the lock may have removed the name.
                Ok(()) if is_named(&path, &file) => return Ok(Self { path, _file: file }),
                Ok(()) => {}
            }
        }
    }

    /// If in doubt, it lives.
    pub(super) fn is(home: &Path, run: &str) -> bool {
        let plain = !run.is_empty() && run.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !plain {
            return true;
        }
        match File::options().write(true).open(home.join(RUNS).join(run)) {
            Ok(file) => file.try_lock().is_err(),
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    }

    /// Removes the signs of runs that were killed.
    pub(super) fn forget(home: &Path) {
        for entry in fs::read_dir(home.join(RUNS)).into_iter().flatten().flatten() {
            let path = entry.path();
            let Ok(file) = File::options().write(true).open(&path) else { continue };
            if file.try_lock().is_ok() {
                let _ = fs::remove_file(&path);
            }
        }
    }
}

impl Drop for Alive {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

fn is_named(path: &Path, file: &File) -> bool {
    let there = fs::metadata(path).ok().map(|there| (there.dev(), there.ino()));
    there.is_some() && there == file.metadata().ok().map(|here| (here.dev(), here.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_lives_until_it_is_dropped_and_its_sign_is_not_forgotten_before() {
        let home = tempfile::tempdir().unwrap();
        let home = home.path();
        let alive = Alive::begin(home, "r1").unwrap();
        Alive::forget(home);
        assert!(Alive::is(home, "r1"));
        assert!(!Alive::is(home, "r2"));
        for odd in ["", "../x", "a b"] {
            assert!(Alive::is(home, odd), "{odd}");
        }
        fs::write(home.join(RUNS).join("killed"), "").unwrap();
        assert!(!Alive::is(home, "killed"));
        Alive::forget(home);
        assert!(!home.join(RUNS).join("killed").exists());
        drop(alive);
        assert!(!Alive::is(home, "r1"));
    }
}
