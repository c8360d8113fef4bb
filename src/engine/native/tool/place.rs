//! Paths of a call: from what the model wrote to a place on disk, and back to what it is shown.

use std::fs::{self, Metadata};
use std::io;
use std::path::{Component, Path, PathBuf};

use super::{Complaint, Toolbox};

/// Absolute, or relative to the workspace; `.` and `..` are taken out where that is only spelling.
pub(super) fn absolute(workspace: &Path, written: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for part in workspace.join(written).components() {
        // `..` stays: behind a symbolic link it is not the folder before.
        if part != Component::CurDir {
            path.push(part);
        }
    }
    path
}

/// How a path is shown to the model: relative to the workspace where it is inside.
pub(super) fn shown(workspace: &Path, path: &Path) -> String {
    match path.strip_prefix(workspace) {
        Ok(inside) if !inside.as_os_str().is_empty() => inside.display().to_string(),
        _ => path.display().to_string(),
    }
}

/// A sentence where the fence does not let a file tool look at the path.
pub(super) fn readable(toolbox: &Toolbox, path: &Path) -> Result<(), Complaint> {
    match toolbox.fence() {
        Some(fence) if !fence.may_read(path) => Err(outside(toolbox, path, "read")),
        _ => Ok(()),
    }
}

/// A sentence where the fence does not let a file tool change the path.
pub(super) fn writable(toolbox: &Toolbox, path: &Path) -> Result<(), Complaint> {
    match toolbox.fence() {
        Some(fence) if !fence.may_write(path) => Err(outside(toolbox, path, "write")),
        _ => Ok(()),
    }
}

fn outside(toolbox: &Toolbox, path: &Path, what: &str) -> Complaint {
    let name = shown(toolbox.workspace(), path);
    Complaint(format!("{name} is outside of what tools may {what} here."))
}

/// Where a write to `path` ends up: through symbolic links, also through one whose target is missing.
pub(super) fn written_through(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    // The kernel's own limit.
    for _ in 0..40 {
        match fs::symlink_metadata(&path) {
            Ok(metadata) if metadata.is_symlink() => {
                let target = fs::read_link(&path)?;
                path = path.parent().unwrap_or(Path::new("/")).join(target);
            }
            _ => return Ok(path),
        }
    }
    Err(io::Error::other("too many symbolic links"))
}

/// The regular file at `path`, or a sentence that says what is there instead.
pub(super) fn regular_file(path: &Path, name: &str) -> Result<Metadata, Complaint> {
    match fs::metadata(path) {
        Ok(metadata) if metadata.is_file() => Ok(metadata),
        Ok(metadata) if metadata.is_dir() => {
            Err(Complaint(format!("{name} is a folder; list it with Glob or with ls in Bash.")))
        }
        Ok(_) => Err(Complaint(format!("{name} is not a regular file."))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(missing(path, name)),
        Err(error) => Err(failed("opened", name, &error)),
    }
}

pub(super) fn failed(what: &str, name: &str, error: &io::Error) -> Complaint {
    Complaint(format!("{name} could not be {what}: {error}."))
}

fn missing(path: &Path, name: &str) -> Complaint {
    let folder = path.parent().unwrap_or(Path::new("/"));
    if !folder.is_dir() {
        return Complaint(format!("{name} does not exist, nor does its folder."));
    }
    match similar(folder, path) {
        Some(other) => Complaint(format!("{name} does not exist; did you mean {other}?")),
        None => Complaint(format!("{name} does not exist.")),
    }
}

/// The name in the folder that is nearest to the one asked for, if one is near at all.
fn similar(folder: &Path, path: &Path) -> Option<String> {
    let wanted = path.file_name()?.to_str()?.to_lowercase();
    let names = fs::read_dir(folder).ok()?.take(5000).flatten();
    let near = names.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let lower = name.to_lowercase();
        let same_stem = Path::new(&lower).file_stem() == Path::new(&wanted).file_stem();
        let distance = if same_stem { 1 } else { distance(&lower, &wanted) };
        (distance <= 2 && distance < wanted.chars().count()).then_some((distance, name))
    });
    near.min().map(|(_, name)| name)
}

/// How many letters must be put in, taken out or changed.
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, letter) in one.chars().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], index + 1);
        for column in 0..other.len() {
            let change = corner + usize::from(letter != other[column]);
            corner = row[column + 1];
            row[column + 1] = change.min(corner + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_taken_from_the_workspace_and_shown_relative_to_it() {
        let workspace = Path::new("/w");
        assert_eq!(absolute(workspace, "./a/b"), Path::new("/w/a/b"));
        assert_eq!(absolute(workspace, "/x"), Path::new("/x"));
        assert_eq!(shown(workspace, Path::new("/w/a")), "a");
        assert_eq!(shown(workspace, Path::new("/wide")), "/wide");
    }

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("Cargo.toml"), "").unwrap();
        let say = |name: &str| regular_file(&folder.path().join(name), name).unwrap_err().0;
        assert_eq!(say("cargo.tml"), "cargo.tml does not exist; did you mean Cargo.toml?");
        assert_eq!(say("Cargo.lock"), "Cargo.lock does not exist; did you mean Cargo.toml?");
        assert_eq!(say("main.rs"), "main.rs does not exist.");
        assert_eq!(say("no/main.rs"), "no/main.rs does not exist, nor does its folder.");
        assert!(say("").contains("is a folder"));
    }

    #[test]
    fn the_distance_counts_letters() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "ab"), 2);
    }

    #[test]
    fn a_circle_of_links_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let link = folder.path().join("a");
        std::os::unix::fs::symlink("a", &link).unwrap();
        assert!(written_through(&link).is_err());
    }
}
