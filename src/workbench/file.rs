//! Writing files whole or not at all.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use tempfile::NamedTempFile;

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

/// Writes a new file; false where one is there already, which then stays. A link that somebody put in
/// its place is not followed.
pub(super) fn write_if_absent(path: &Path, text: &str) -> io::Result<bool> {
    if fs::symlink_metadata(path).is_ok() {
        return Ok(false);
    }
    match prepare(path, text)?.persist_noclobber(path) {
        Ok(_) => Ok(true),
        Err(failed) if failed.error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(failed) => Err(at(path)(failed.error)),
    }
}

/// Puts the text in the place of what is there, in one step; nothing is done where it is the same.
pub(super) fn write_if_changed(path: &Path, text: &str) -> io::Result<()> {
    if fs::read(path).is_ok_and(|old| old == text.as_bytes()) {
        return Ok(());
    }
    prepare(path, text)?.persist(path).map_err(|failed| at(path)(failed.error))?;
    Ok(())
}

/// The text in a hidden file beside `path`.
fn prepare(path: &Path, text: &str) -> io::Result<NamedTempFile> {
    let folder = path.parent().unwrap_or(Path::new("."));
    let mut builder = tempfile::Builder::new();
    builder.prefix(".new-");
    // As readable as any other file of the user's; the umask still takes away.
    #[cfg(unix)]
    let permissions = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    #[cfg(unix)]
    builder.permissions(permissions);
    let mut file = builder.tempfile_in(folder).map_err(at(folder))?;
    file.write_all(text.as_bytes()).map_err(at(path))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_left_beside_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        assert!(write_if_absent(&path, "1").unwrap());
        assert!(!write_if_absent(&path, "2").unwrap());
        write_if_changed(&path, "3").unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "3");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn a_planted_link_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let (victim, link) = (folder.path().join("victim"), folder.path().join("link"));
        std::os::unix::fs::symlink(&victim, &link).unwrap();
        assert!(!write_if_absent(&link, "x").unwrap());
        assert!(!victim.exists());
        write_if_changed(&link, "x").unwrap();
        assert!(!victim.exists() && fs::symlink_metadata(&link).unwrap().is_file());
    }
}
