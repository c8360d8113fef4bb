//! Which mount shows a path, told by `/proc/self/mountinfo`. Pure.

use std::path::{Path, PathBuf};

/// The mount that shows a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mount {
    pub(super) at: PathBuf,
    pub(super) read_only: bool,
    /// Such as `ext4`, `tmpfs`, `overlay`.
    pub(super) kind: String,
}

impl Mount {
    /// True where the path lies on the container's own layer or in memory, and is gone with it.
    pub(super) fn passes(&self) -> bool {
        ["tmpfs", "overlay", "ramfs"].contains(&self.kind.as_str())
    }
}

/// The innermost mount around the path; of several on one place the last, which covers the others.
pub(super) fn around(mountinfo: &str, path: &Path) -> Option<Mount> {
    let mounts = mountinfo.lines().filter_map(read).filter(|mount| path.starts_with(&mount.at));
    mounts.max_by_key(|mount| mount.at.components().count())
}

/// A line: two numbers, device, root, place, options, tags, a dash, kind, source, options.
fn read(line: &str) -> Option<Mount> {
    let (front, back) = line.split_once(" - ")?;
    let mut front = front.split(' ').skip(4);
    let (at, options) = (front.next()?, front.next()?);
    let kind = back.split(' ').next()?.to_owned();
    let read_only = options.split(',').any(|option| option == "ro");
    // The only white space that folders of a project have in practice.
    Some(Mount { at: at.replace("\\040", " ").into(), read_only, kind })
}

#[cfg(test)]
mod tests {
    use super::*;

    const INFO: &str = "1 0 0:1 / / ro,relatime - overlay overlay rw\n\
        2 1 8:1 /p /work\\040it rw shared:1 - ext4 /dev/sda rw\n\
        3 2 8:1 /c /work\\040it/.git/config ro - ext4 /dev/sda rw\n\
        4 1 0:2 / /tmp rw - tmpfs tmpfs rw\nnonsense\n";

    #[test]
    fn the_innermost_mount_counts() {
        let at = |path: &str| around(INFO, Path::new(path)).unwrap();
        assert!(at("/work it/.git/config").read_only && !at("/work it/.git").read_only);
        assert!(!at("/work it/runs").passes() && at("/tmp/runs").passes() && at("/usr").passes());
        assert_eq!(at("/worker").at, Path::new("/"));
        assert_eq!(around("", Path::new("/")), None);
    }
}
