//! Files of the workbench: names, errors that name them, and no writing without need.

use std::fs;
use std::io;
use std::path::Path;

use crate::disk::{self, Care};

/// Puts the path into an error's text, since the system's does not name it.
pub(super) fn at(path: &Path) -> impl Fn(io::Error) -> io::Error + '_ {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

/// Refuses what is not the name of one visible file.
pub(super) fn plain_name(name: &str) -> io::Result<()> {
    if name.is_empty() || name.starts_with('.') || name.contains(['/', '\\', '\0']) {
        let text = format!("{name:?} is not a plain file name");
        return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
    }
    Ok(())
}

/// Writes a new file; false where one is there already, which then stays.
pub(super) fn write_if_absent(path: &Path, text: &str) -> io::Result<bool> {
    disk::create(path, text.as_bytes(), Care::Work).map_err(at(path))
}

/// Puts the text in the place of what is there; nothing is done where it is the same.
pub(super) fn write_if_changed(path: &Path, text: &str) -> io::Result<()> {
    // A link is replaced even by the same text: what it leads to is somebody else's.
    let is_file = fs::symlink_metadata(path).is_ok_and(|about| about.is_file());
    if is_file && fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    disk::replace(path, text.as_bytes(), Care::Work).map_err(at(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_is_not_written_again() {
        use std::os::unix::fs::MetadataExt;
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        let number = || fs::metadata(&path).unwrap().ino();
        assert!(write_if_absent(&path, "1").unwrap());
        let first = number();
        write_if_changed(&path, "1").unwrap();
        assert_eq!(number(), first);
        write_if_changed(&path, "2").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "2");
    }

    #[test]
    fn an_error_names_the_file() {
        let error = write_if_absent(Path::new("/no/such/folder/a"), "").unwrap_err();
        assert!(error.to_string().contains("/no/such/folder/a"), "{error}");
    }
}
