//! Where the control groups of this process are, told by two files of `/proc`. Pure but for the reading of them.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

/// The groups that limit this process, one for each kind of limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Groups {
    pub(super) memory: Option<Group>,
    pub(super) pids: Option<Group>,
    pub(super) cpu: Option<Group>,
}

/// A group, with those around it as far as they can be seen from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) version: Version,
    /// The group itself, then the one around it, and so on.
    pub(super) folders: Vec<PathBuf>,
}

/// Which of the two interfaces of the kernel. On many machines some kinds have one and some the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

/// A mounted hierarchy.
struct Mount {
    version: Version,
    /// The part of the hierarchy that is seen there.
    root: PathBuf,
    at: PathBuf,
    /// What it decides; the second version does not say.
    kinds: Vec<String>,
}

impl Groups {
    pub(super) fn of_this_process() -> Self {
        let read = |name: &str| std::fs::read(format!("/proc/self/{name}")).unwrap_or_default();
        let cgroup = read("cgroup");
        let mounts = read("mountinfo");
        Self::find(&String::from_utf8_lossy(&cgroup), &String::from_utf8_lossy(&mounts))
    }

    /// From `/proc/self/cgroup` and `/proc/self/mountinfo`.
    pub(super) fn find(cgroup: &str, mountinfo: &str) -> Self {
        let mounts: Vec<Mount> = mountinfo.lines().filter_map(Mount::read).collect();
        let find = |kind: &str| {
            let rows = cgroup.lines().filter_map(row);
            let mut own = rows.clone().filter(|(kinds, _)| kinds.split(',').any(|k| k == kind));
            // A kind that has a hierarchy of its own is decided there and nowhere else.
            if let Some((_, path)) = own.next() {
                let mount =
                    nearest(mounts.iter().filter(|m| m.kinds.iter().any(|k| k == kind)), path)?;
                return Some(mount.group(path));
            }
            let (_, path) = rows.clone().find(|(kinds, _)| kinds.is_empty())?;
            let mount = nearest(mounts.iter().filter(|m| m.version == Version::Two), path)?;
            Some(mount.group(path))
        };
        Self { memory: find("memory"), pids: find("pids"), cpu: find("cpu") }
    }
}

/// `9:memory,pids:/path`: the kinds, none for the second version, and the path.
fn row(line: &str) -> Option<(&str, &str)> {
    line.split_once(':')?.1.split_once(':')
}

/// The mount that shows the path; any of them where none does.
fn nearest<'a>(mounts: impl Iterator<Item = &'a Mount>, path: &str) -> Option<&'a Mount> {
    let mounts: Vec<_> = mounts.collect();
    let shows = |mount: &&&Mount| Path::new(path).starts_with(&mount.root);
    mounts
        .iter()
        .filter(shows)
        .max_by_key(|mount| mount.root.components().count())
        .or(mounts.first())
        .copied()
}

impl Mount {
    /// A line of `mountinfo`: numbers, root, place, options, tags, a dash, kind, source, options.
    fn read(line: &str) -> Option<Self> {
        let (front, back) = line.split_once(" - ")?;
        let mut front = front.split(' ').skip(3);
        let (root, at) = (plain(front.next()?), plain(front.next()?));
        let mut back = back.split(' ');
        let version = match back.next()? {
            "cgroup" => Version::One,
            "cgroup2" => Version::Two,
            _ => return None,
        };
        let options = back.nth(1).unwrap_or_default();
        let kinds = match version {
            Version::One => options.split(',').map(str::to_owned).collect(),
            Version::Two => Vec::new(),
        };
        Some(Self { version, root, at, kinds })
    }

    /// The group of this path. In a container that sees only its own part of the hierarchy, the path may
    /// be told from further out; then the place of the mount is the group.
    fn group(&self, path: &str) -> Group {
        let below = Path::new(path).strip_prefix(&self.root).unwrap_or(Path::new(""));
        let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        let own = if plain { self.at.join(below) } else { self.at.clone() };
        // Joining an empty path leaves a slash at the end.
        let own: PathBuf = own.components().collect();
        let folders = own.ancestors().take_while(|folder| folder.starts_with(&self.at));
        Group { version: self.version, folders: folders.map(Path::to_owned).collect() }
    }
}

/// A path in `mountinfo`: white space and backslashes are written as three octal digits.
fn plain(field: &str) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field.as_bytes();
    while let Some((first, tail)) = rest.split_first() {
        let digits = tail.get(..3).filter(|_| *first == b'\\').and_then(|three| {
            let text = std::str::from_utf8(three).ok()?;
            u8::from_str_radix(text, 8).ok()
        });
        match digits {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[3..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    PathBuf::from(OsString::from_vec(bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn found(cgroup: &str, mountinfo: &str) -> Groups {
        Groups::find(cgroup, mountinfo)
    }

    fn group(version: Version, folders: &[&str]) -> Option<Group> {
        Some(Group { version, folders: folders.iter().map(PathBuf::from).collect() })
    }

    #[test]
    fn each_kind_has_its_own_hierarchy_in_the_mix_of_both_versions() {
        let groups = found(
            include_str!("../../../tests/fixtures/limits/hybrid.cgroup"),
            include_str!("../../../tests/fixtures/limits/hybrid.mountinfo"),
        );
        let memory = "/sys/fs/cgroup/memory";
        let (own, around) = (format!("{memory}/jobs/one"), format!("{memory}/jobs"));
        assert_eq!(groups.memory, group(Version::One, &[&own, &around, memory]));
        assert_eq!(groups.pids, group(Version::One, &["/sys/fs/cgroup/pids"]));
        assert_eq!(groups.cpu, group(Version::One, &["/sys/fs/cgroup/cpu"]));
    }

    #[test]
    fn a_container_of_the_first_version_sees_its_own_part() {
        let groups = found(
            include_str!("../../../tests/fixtures/limits/docker_v1.cgroup"),
            include_str!("../../../tests/fixtures/limits/docker_v1.mountinfo"),
        );
        assert_eq!(groups.memory, group(Version::One, &["/sys/fs/cgroup/memory"]));
        assert_eq!(groups.pids, group(Version::One, &["/sys/fs/cgroup/pids"]));
        // Two kinds in one hierarchy, mounted under both names.
        assert_eq!(groups.cpu, group(Version::One, &["/sys/fs/cgroup/cpu,cpuacct"]));
    }

    #[test]
    fn a_session_of_the_second_version_lies_in_slices() {
        let groups = found(
            include_str!("../../../tests/fixtures/limits/systemd_v2.cgroup"),
            include_str!("../../../tests/fixtures/limits/systemd_v2.mountinfo"),
        );
        let top = "/sys/fs/cgroup";
        let slices = [
            "/sys/fs/cgroup/user.slice/user-1000.slice/session-3.scope",
            "/sys/fs/cgroup/user.slice/user-1000.slice",
            "/sys/fs/cgroup/user.slice",
            top,
        ];
        assert_eq!(groups.memory, group(Version::Two, &slices));
        assert_eq!(groups.memory, groups.pids);
        assert_eq!(groups.memory, groups.cpu);
    }

    #[test]
    fn a_container_of_the_second_version_is_its_own_root() {
        let mounts = "1 2 0:3 / /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate";
        assert_eq!(found("0::/\n", mounts).memory, group(Version::Two, &["/sys/fs/cgroup"]));
        // Told from further out.
        let outside = found("0::/../other\n", mounts);
        assert_eq!(outside.memory, group(Version::Two, &["/sys/fs/cgroup"]));
    }

    #[test]
    fn names_may_hold_colons_and_spaces() {
        let mounts = "1 2 0:3 / /mnt/c\\040g rw - cgroup2 none rw";
        assert_eq!(
            found("0::/a:b\n", mounts).pids,
            group(Version::Two, &["/mnt/c g/a:b", "/mnt/c g"])
        );
    }

    #[test]
    fn without_a_mount_there_is_no_group() {
        assert_eq!(found("4:memory:/x\n0::/\n", ""), Groups::default());
        assert_eq!(found("", "1 2 0:3 / /sys/fs/cgroup rw - cgroup2 cgroup rw"), Groups::default());
        // The kind has a hierarchy of its own, which is not mounted here: the other one says nothing of it.
        let two = "1 2 0:3 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
        assert_eq!(found("4:memory:/x\n0::/\n", two).memory, None);
    }

    proptest! {
        #[test]
        fn anything_is_read_without_a_panic(cgroup in "(\\PC|\n)*", mounts in "(\\PC|\n)*") {
            found(&cgroup, &mounts);
        }

        #[test]
        fn a_group_never_lies_outside_of_its_mount(
            path in "(/(\\.\\.|[a-z :]{1,5})){0,5}",
            root in "(/(\\.\\.|[a-z]{1,5})){0,3}",
        ) {
            let mounts = format!("1 2 0:3 {root} /mnt rw - cgroup2 none rw");
            for folder in found(&format!("0::{path}"), &mounts).memory.unwrap().folders {
                prop_assert!(folder.starts_with("/mnt"));
                prop_assert!(!folder.components().any(|part| part == Component::ParentDir));
            }
        }
    }
}
