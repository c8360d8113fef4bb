//! What lies in a folder of the workbench (core.md W-3).

use std::fs;
use std::path::{Path, PathBuf};

use super::describe::describe;

/// A file in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) path: PathBuf,
    /// As people read it.
    pub(super) size: String,
}

impl Item {
    /// Empty where the file says nothing about itself. Read only for what is shown: of ten thousand
    /// artifacts an agent is told of a few.
    pub(super) fn description(&self) -> String {
        describe(&self.path)
    }
}

/// The regular files below `folder`, sorted; nothing hidden, nothing below `except`. Links are not
/// followed, and what cannot be read is left out.
pub(super) fn scan(folder: &Path, except: Option<&Path>) -> Vec<Item> {
    let mut files = Vec::new();
    collect(folder, except, &mut files);
    files.sort();
    files.into_iter().map(|(path, bytes)| Item { path, size: size(bytes) }).collect()
}

fn collect(folder: &Path, except: Option<&Path>, files: &mut Vec<(PathBuf, u64)>) {
    let mut folders = vec![folder.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let Ok(entries) = fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let path = entry.path();
            if entry.file_name().as_encoded_bytes().starts_with(b".")
                || except == Some(path.as_path())
            {
                continue;
            }
            match entry.metadata() {
                Ok(about) if about.is_dir() => folders.push(path),
                Ok(about) if about.is_file() => files.push((path, about.len())),
                _ => {}
            }
        }
    }
}

#[allow(clippy::cast_precision_loss)] // one decimal of it is shown
fn size(bytes: u64) -> String {
    match bytes {
        0..1024 => format!("{bytes}B"),
        1024..1_048_576 => format!("{:.1}K", bytes as f64 / 1024.0),
        _ => format!("{:.1}M", bytes as f64 / 1_048_576.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_and_excepted_things_are_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for name in ["b.txt", "a/c.txt", ".hidden", ".git/config", "a/.x/y", "archive/old.md"] {
            let path = root.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "# words\n").unwrap();
        }
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc", root.join("link")).unwrap();
        let items = scan(root, Some(&root.join("archive")));
        let paths: Vec<_> =
            items.iter().map(|item| item.path.strip_prefix(root).unwrap().to_owned()).collect();
        assert_eq!(paths, [Path::new("a/c.txt"), Path::new("b.txt")]);
        assert_eq!(items[0].description(), "words");
        assert_eq!(items[0].size, "8B");
        assert!(scan(&root.join("none"), None).is_empty());
    }

    #[test]
    fn sizes_are_short() {
        assert_eq!(size(1023), "1023B");
        assert_eq!(size(1024), "1.0K");
        assert_eq!(size(1_572_864), "1.5M");
    }
}
