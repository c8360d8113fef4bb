//! Putting files aside without losing or overwriting any.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::file::{at, plain_name};

/// Moves the files that exist into a new folder below `archive`; on failure all are where they were.
pub(super) fn move_all(files: &[PathBuf], archive: &Path, stamp: &str) -> io::Result<Vec<PathBuf>> {
    plain_name(stamp)?;
    let files: Vec<&PathBuf> = files.iter().filter(|file| file.is_file()).collect();
    if files.is_empty() {
        return Ok(Vec::new());
    }
    let folder = new_folder(archive, stamp)?;
    let mut moved: Vec<(&PathBuf, PathBuf)> = Vec::new();
    for file in files {
        let target = free_place(&folder, file);
        if let Err(error) = move_one(file, &target) {
            for (from, to) in moved.iter().rev() {
                let _ = move_one(to, from);
            }
            let _ = fs::remove_dir(&folder);
            return Err(at(file)(error));
        }
        moved.push((file, target));
    }
    Ok(moved.into_iter().map(|(_, target)| target).collect())
}

/// Moves one file to `target`, or to a name with a number behind it where that is taken.
pub(super) fn move_to(file: &Path, target: &Path) -> io::Result<()> {
    let folder = target.parent().unwrap_or(target);
    fs::create_dir_all(folder).map_err(at(folder))?;
    move_one(file, &free_place(folder, target)).map_err(at(file))
}

/// Makes `<stamp>`, or `<stamp>-2` and so on; two processes never get the same one.
fn new_folder(archive: &Path, stamp: &str) -> io::Result<PathBuf> {
    fs::create_dir_all(archive).map_err(at(archive))?;
    for number in 1u32.. {
        let folder = archive.join(numbered(stamp, number));
        match fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(at(&folder)(error)),
        }
    }
    Err(io::Error::other("every name is taken"))
}

/// A name in the new folder that no other of the files has.
fn free_place(folder: &Path, file: &Path) -> PathBuf {
    let part =
        |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let (stem, extension) = (part(file.file_stem()), part(file.extension()));
    let mut number = 1;
    loop {
        let mut name = numbered(&stem, number);
        if !extension.is_empty() {
            name = format!("{name}.{extension}");
        }
        let place = folder.join(name);
        if fs::symlink_metadata(&place).is_err() {
            return place;
        }
        number += 1;
    }
}

fn numbered(name: &str, number: u32) -> String {
    if number == 1 { name.to_owned() } else { format!("{name}-{number}") }
}

/// A move that also works from one file system to another, where run folder and workspace may lie.
fn move_one(from: &Path, to: &Path) -> io::Result<()> {
    match fs::rename(from, to) {
        Err(error) if error.kind() == io::ErrorKind::CrossesDevices => {
            let copied = fs::copy(from, to).and_then(|_| fs::File::open(to)?.sync_all());
            if let Err(error) = copied {
                let _ = fs::remove_file(to);
                return Err(error);
            }
            fs::remove_file(from)
        }
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_archive_of_the_same_second_gets_its_own_folder() {
        let folder = tempfile::tempdir().unwrap();
        let (file, archive) = (folder.path().join("a.md"), folder.path().join("archive"));
        for (text, place) in [("1", "s/a.md"), ("2", "s-2/a.md"), ("3", "s-3/a.md")] {
            fs::write(&file, text).unwrap();
            let moved = move_all(std::slice::from_ref(&file), &archive, "s").unwrap();
            assert_eq!(moved, [archive.join(place)]);
            assert_eq!(fs::read_to_string(&moved[0]).unwrap(), text);
        }
    }

    #[test]
    fn two_files_of_one_name_are_both_kept() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["x/a.md", "y/a.md"].map(|name| folder.path().join(name));
        for file in &files {
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, file.display().to_string()).unwrap();
        }
        let archive = folder.path().join("archive");
        let moved = move_all(&files, &archive, "s").unwrap();
        assert_eq!(moved, [archive.join("s/a.md"), archive.join("s/a-2.md")]);
    }

    #[test]
    fn nothing_to_move_makes_no_folder() {
        let folder = tempfile::tempdir().unwrap();
        let archive = folder.path().join("archive");
        assert!(move_all(&[folder.path().join("none")], &archive, "s").unwrap().is_empty());
        assert!(!archive.exists());
        assert!(move_all(&[], &archive, "../x").is_err());
    }

    #[test]
    fn a_move_across_file_systems_works() {
        let shm = Path::new("/dev/shm");
        // Where there is none, there is nothing to test with.
        let Ok(other) = tempfile::tempdir_in(shm) else { return };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.md");
        fs::write(&file, "x").unwrap();
        let moved = move_all(std::slice::from_ref(&file), other.path(), "s").unwrap();
        assert_eq!(fs::read_to_string(&moved[0]).unwrap(), "x");
        assert!(!file.exists());
    }
}
