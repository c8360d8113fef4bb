//! Disk: a file is written whole or not at all, and nobody ever reads half of one.

use std::fs::{self, File, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;

use tempfile::NamedTempFile;

/// Who may read a file, and what it must outlive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Care {
    /// For its owner only, also while it is being written; outlives a power cut.
    Private,
    /// As readable as other files of the person's, or as it was; outlives a power cut.
    Record,
    /// Like a record, but quick: what a power cut takes away can be made again.
    Work,
}

/// Puts the content in the place of what is there, in one step. A symbolic link is replaced, not
/// followed. Where it fails, what was there stays.
///
/// # Errors
/// What the system says; it does not name the path.
pub fn replace(path: &Path, content: &[u8], care: Care) -> io::Result<()> {
    let file = prepare(path, content, care)?;
    if care != Care::Private
        && let Ok(old) = fs::symlink_metadata(path)
        && old.is_file()
    {
        file.as_file().set_permissions(old.permissions())?;
    }
    file.persist(path).map_err(|failed| failed.error)?;
    settle(path, care);
    Ok(())
}

/// Reads a regular file of at most `most` bytes. A pipe or a device is not waited for.
///
/// # Errors
/// What the system says, or what else is wrong with it; the path is not named.
pub fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    // Whoever opens a pipe waits for its other end, unless it is said that one does not want to; and
    // only what is open already cannot be exchanged any more.
    let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
    let file = File::options().read(true).custom_flags(flags.bits().cast_signed()).open(path)?;
    let about = file.metadata()?;
    if !about.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let mut content = Vec::new();
    if about.len() <= most {
        file.take(most.saturating_add(1)).read_to_end(&mut content)?;
    }
    if about.len() > most || content.len() as u64 > most {
        return Err(io::Error::other(format!("longer than {most} bytes")));
    }
    Ok(content)
}

/// Makes a file; false where something is there already, be it a link to nowhere, which then stays.
///
/// # Errors
/// What the system says; it does not name the path.
pub fn create(path: &Path, content: &[u8], care: Care) -> io::Result<bool> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(false);
    }
    match prepare(path, content, care)?.persist_noclobber(path) {
        Ok(_) => {
            settle(path, care);
            Ok(true)
        }
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(failed) => Err(failed.error),
    }
}

/// The content in a hidden file beside `path`, which goes away by itself where it is not put in place.
fn prepare(path: &Path, content: &[u8], care: Care) -> io::Result<NamedTempFile> {
    let mode = match care {
        Care::Private => 0o600,
        // The process's umask still takes away.
        Care::Record | Care::Work => 0o666,
    };
    let mut file = tempfile::Builder::new()
        .prefix(".new-")
        .permissions(Permissions::from_mode(mode))
        .tempfile_in(folder_of(path))?;
    file.write_all(content)?;
    if care != Care::Work {
        file.as_file().sync_all()?;
    }
    Ok(file)
}

/// Makes the new name outlive a power cut. Not every file system can; the content is safe either way.
fn settle(path: &Path, care: Care) {
    if care != Care::Work {
        let _ = File::open(folder_of(path)).and_then(|folder| folder.sync_all());
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn only_a_regular_file_of_the_length_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "12345").unwrap();
        assert_eq!(read(&path, 5).unwrap(), b"12345");
        assert!(read(&path, 4).unwrap_err().to_string().contains("4 bytes"));
        for odd in [folder.path(), Path::new("/dev/zero"), Path::new("/dev/null")] {
            assert!(read(odd, 5).is_err(), "{odd:?}");
        }
        assert_eq!(read(&folder.path().join("b"), 5).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn nothing_is_left_beside_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert!(create(&path, b"1", Care::Record).unwrap());
        assert!(!create(&path, b"2", Care::Record).unwrap());
        assert_eq!(fs::read(&path).unwrap(), b"1");
        replace(&path, b"3", Care::Work).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"3");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn what_is_there_stays_where_the_new_cannot_be_put() {
        let folder = tempfile::tempdir().unwrap();
        let place = folder.path().join("folder");
        fs::create_dir(&place).unwrap();
        fs::write(place.join("x"), "x").unwrap();
        assert!(replace(&place, b"1", Care::Record).is_err());
        assert!(place.join("x").exists());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        assert!(replace(&folder.path().join("no/a"), b"1", Care::Record).is_err());
    }

    #[test]
    fn a_mode_is_kept_unless_it_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        fs::write(&path, "").unwrap();
        fs::set_permissions(&path, Permissions::from_mode(0o751)).unwrap();
        replace(&path, b"1", Care::Record).unwrap();
        assert_eq!(mode(&path), 0o751);
        replace(&path, b"1", Care::Private).unwrap();
        assert_eq!(mode(&path), 0o600);
    }

    #[test]
    fn a_planted_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, link) = (folder.path().join("victim"), folder.path().join("link"));
        symlink(&victim, &link).unwrap();
        assert!(!create(&link, b"x", Care::Record).unwrap());
        replace(&link, b"x", Care::Record).unwrap();
        assert!(!victim.exists() && fs::symlink_metadata(&link).unwrap().is_file());
    }
}
