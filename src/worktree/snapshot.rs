//! What a workspace is like at one moment, to find out later what has changed.
//!
//! Content is always compared by hash: same size and time prove nothing. Folders count by mode, not by
//! time: what changes a folder's time and lasts is seen in its entries.
//!
//! In `.git`, modes and times do not count, and content does for everything: HEAD, refs, logs,
//! configuration, hooks, objects. The index counts by what it says, not by the times on disk that it
//! remembers. Left out are locks, which come and go. Where `.git` is a file or a link, the worktree's own
//! state (HEAD, index, logs) is compared wherever it lies; the common repository is not, since other
//! worktrees work in it.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, UTIME_OMIT, utimensat};
use sha2::{Digest, Sha256};

use super::exclusion::{Exclusion, at};
use super::{index, repository};

/// The state of every file of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    entries: BTreeMap<PathBuf, State>,
}

/// The state of one path.
#[derive(Debug, Clone, PartialEq, Eq)]
struct State {
    content: Content,
    mode: u32,
    /// Seconds and nanoseconds; 0 where times do not count.
    time: (i64, i64),
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Content {
    File {
        size: u64,
        hash: [u8; 32],
    },
    Index([u8; 32]),
    Link(PathBuf),
    Folder,
    /// A pipe, socket or device, by the bits of its kind.
    Special(u32),
}

/// Something that is not as it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Relative to the workspace; absolute for what belongs to it but lies outside.
    pub path: PathBuf,
    /// What has happened to it.
    pub what: What,
}

/// The kind of a [`Difference`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// It was not there.
    Added,
    /// It is not there any more.
    Removed,
    /// Its content, its link's target or its kind is another.
    Content,
    /// Its mode is another.
    Mode,
    /// Only its time of change is another.
    Time,
}

/// A path that was found and is still to be read.
struct Found {
    key: PathBuf,
    path: PathBuf,
    metadata: Metadata,
    in_git: bool,
}

impl Snapshot {
    /// Reads the whole workspace but the `excluded` paths, absolute or relative to it. An unreadable file is an
    /// error that names it. Blocks.
    pub fn take(workspace: &Path, excluded: &[PathBuf]) -> io::Result<Self> {
        let exclusion = Exclusion::new(workspace, excluded);
        let mut found = Vec::new();
        walk(workspace, Path::new(""), &exclusion, &mut found)?;
        if let Some(outside) = repository::outside(workspace, &workspace.join(".git"))? {
            // Told apart from the workspace's own files by the absolute key.
            let nothing = Exclusion::default();
            walk_git(&outside.own, &nothing, &mut found)?;
        }
        Ok(Self { entries: read_all(&found)? })
    }

    /// The same without blocking.
    pub async fn take_aside(workspace: &Path, excluded: Vec<PathBuf>) -> io::Result<Self> {
        let workspace = workspace.to_owned();
        // Reading leaves nothing behind, so that nobody waits for it where it is not wanted any more.
        tokio::task::spawn_blocking(move || Self::take(&workspace, &excluded)).await?
    }

    /// How many paths were seen, folders included.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// The workspace has nothing in it.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// What is different in `later`, in order of path. Content and mode of one path are two differences.
    pub fn differences(&self, later: &Snapshot) -> Vec<Difference> {
        let mut all = Vec::new();
        let mut add = |path: &PathBuf, what| all.push(Difference { path: path.clone(), what });
        for (path, old) in &self.entries {
            let Some(new) = later.entries.get(path) else {
                add(path, What::Removed);
                continue;
            };
            if old.content != new.content {
                add(path, What::Content);
            }
            if old.mode != new.mode {
                add(path, What::Mode);
            }
            if old.content == new.content && old.time != new.time {
                add(path, What::Time);
            }
        }
        for path in later.entries.keys().filter(|path| !self.entries.contains_key(*path)) {
            add(path, What::Added);
        }
        all.sort_by(|one, other| one.path.cmp(&other.path));
        all
    }
}

impl Snapshot {
    /// Puts modes and times back to what they are here, for the differences that are nothing else: no
    /// fence of the kernel keeps a process from changing them. Gives the number of paths put back; what
    /// cannot be put back stays as it is.
    pub fn put_back(&self, workspace: &Path, differences: &[Difference]) -> usize {
        let only = |path: &Path| {
            let mut others = differences.iter().filter(|other| other.path == path);
            others.all(|other| matches!(other.what, What::Mode | What::Time))
        };
        let mut done = BTreeSet::new();
        for Difference { path, what } in differences {
            let Some(state) = self.entries.get(path).filter(|_| only(path)) else { continue };
            let place = workspace.join(path);
            let put = match what {
                What::Mode => fs::set_permissions(&place, Permissions::from_mode(state.mode)),
                _ => set_time(&place, state.time),
            };
            if put.is_ok() {
                done.insert(path);
            }
        }
        done.len()
    }
}

/// Sets the time of change, of a link itself and not of what it leads to; the time of access stays.
fn set_time(path: &Path, (seconds, nanoseconds): (i64, i64)) -> io::Result<()> {
    let stay = Timespec { tv_sec: 0, tv_nsec: UTIME_OMIT };
    let last_modification = Timespec { tv_sec: seconds, tv_nsec: nanoseconds };
    let times = Timestamps { last_access: stay, last_modification };
    utimensat(CWD, path, &times, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(())
}

fn walk(root: &Path, start: &Path, out: &Exclusion, found: &mut Vec<Found>) -> io::Result<()> {
    let mut open = vec![start.to_owned()];
    while let Some(folder) = open.pop() {
        let path = root.join(&folder);
        for entry in fs::read_dir(&path).map_err(at(&path))? {
            let key = folder.join(entry.map_err(at(&path))?.file_name());
            let path = root.join(&key);
            let in_git = key.iter().any(|name| name == ".git");
            if out.covers(&key) || (in_git && path.extension() == Some(OsStr::new("lock"))) {
                continue;
            }
            let metadata = match fs::symlink_metadata(&path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                other => other.map_err(at(&path))?,
            };
            if metadata.is_dir() {
                open.push(key.clone());
            }
            found.push(Found { key, path, metadata, in_git });
        }
    }
    Ok(())
}

/// A repository's folder that lies outside of the workspace; keys are absolute.
fn walk_git(folder: &Path, out: &Exclusion, found: &mut Vec<Found>) -> io::Result<()> {
    let first = found.len();
    walk(folder, Path::new(""), out, found)?;
    found[first..].iter_mut().for_each(|entry| {
        entry.key.clone_from(&entry.path);
        entry.in_git = true;
    });
    found.retain(|entry| entry.key.is_relative() || entry.key.extension() != Some("lock".as_ref()));
    Ok(())
}

/// Reads every file, on as many threads as there are processors.
fn read_all(found: &[Found]) -> io::Result<BTreeMap<PathBuf, State>> {
    let next = AtomicUsize::new(0);
    let failure = Mutex::new(None);
    let work = || {
        let mut states = Vec::new();
        let mut buffer = vec![0; 128 * 1024];
        while let Some(entry) = found.get(next.fetch_add(1, Ordering::Relaxed)) {
            match read(entry, &mut buffer) {
                Ok(state) => states.push((entry.key.clone(), state)),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    next.store(found.len(), Ordering::Relaxed);
                    if let Ok(mut failure) = failure.lock() {
                        *failure = Some(at(&entry.path)(error));
                    }
                }
            }
        }
        states
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(8);
    let states = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut all = BTreeMap::new();
        for thread in running {
            match thread.join() {
                Ok(states) => all.extend(states),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    match failure.into_inner() {
        Ok(Some(error)) => Err(error),
        _ => Ok(states),
    }
}

fn read(found: &Found, buffer: &mut [u8]) -> io::Result<State> {
    let (metadata, kind) = (&found.metadata, found.metadata.file_type());
    let content = if kind.is_dir() {
        Content::Folder
    } else if kind.is_symlink() {
        Content::Link(fs::read_link(&found.path)?)
    } else if !kind.is_file() {
        Content::Special(metadata.mode() & 0o170_000)
    } else if found.in_git && found.path.file_name() == Some(OsStr::from_bytes(b"index")) {
        let bytes = fs::read(&found.path)?;
        let whole = || Sha256::digest(&bytes).into();
        Content::Index(index::meaning(&bytes).unwrap_or_else(whole))
    } else {
        hash(&found.path, buffer)?
    };
    let timed = !found.in_git && !kind.is_dir();
    Ok(State {
        content,
        mode: if found.in_git { 0 } else { metadata.mode() & 0o7777 },
        time: if timed { (metadata.mtime(), metadata.mtime_nsec()) } else { (0, 0) },
    })
}

fn hash(path: &Path, buffer: &mut [u8]) -> io::Result<Content> {
    let mut file = File::open(path)?;
    let mut hasher = Sha256::new();
    let mut size = 0;
    loop {
        match file.read(buffer)? {
            0 => return Ok(Content::File { size, hash: hasher.finalize().into() }),
            count => {
                hasher.update(&buffer[..count]);
                size += count as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::process::Command;
    use std::time::{Duration, SystemTime};

    use super::*;

    fn changes(root: &Path, change: impl FnOnce()) -> Vec<(String, What)> {
        let before = Snapshot::take(root, &[]).unwrap();
        change();
        let after = Snapshot::take(root, &[]).unwrap();
        let all = before.differences(&after).into_iter();
        all.map(|one| (one.path.display().to_string(), one.what)).collect()
    }

    fn set_time(path: &Path, time: SystemTime) {
        File::options().write(true).open(path).unwrap().set_modified(time).unwrap();
    }

    #[test]
    fn modes_and_times_are_put_back_and_content_is_left_to_the_person() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("d")).unwrap();
        for name in ["mode", "time", "both", "content", "d/in"] {
            fs::write(at(name), "1").unwrap();
        }
        let before = Snapshot::take(folder.path(), &[]).unwrap();
        let past = SystemTime::UNIX_EPOCH + Duration::from_secs(1000);
        for name in ["mode", "both", "d", "content"] {
            fs::set_permissions(at(name), Permissions::from_mode(0o700)).unwrap();
        }
        set_time(&at("time"), past);
        set_time(&at("both"), past);
        fs::write(at("content"), "2").unwrap();
        let after = Snapshot::take(folder.path(), &[]).unwrap();
        assert_eq!(before.put_back(folder.path(), &before.differences(&after)), 4);
        let left = before.differences(&Snapshot::take(folder.path(), &[]).unwrap());
        let left: Vec<_> =
            left.iter().map(|one| (one.path.display().to_string(), one.what)).collect();
        assert_eq!(
            left,
            [("content".to_owned(), What::Content), ("content".to_owned(), What::Mode)]
        );
    }

    #[test]
    fn each_kind_of_change_is_found_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        fs::create_dir(at("d")).unwrap();
        for name in ["same", "content", "touched", "mode", "removed", "kind", "d/in", "both"] {
            fs::write(at(name), "1").unwrap();
        }
        symlink("a", at("link")).unwrap();
        fs::write(at("x").with_file_name(OsStr::from_bytes(b"\xff")), "1").unwrap();
        let found = changes(folder.path(), || {
            // Same size and same time.
            let time = fs::metadata(at("content")).unwrap().modified().unwrap();
            fs::write(at("content"), "2").unwrap();
            set_time(&at("content"), time);
            set_time(&at("touched"), time + Duration::from_nanos(1000));
            fs::set_permissions(at("mode"), Permissions::from_mode(0o600)).unwrap();
            fs::write(at("both"), "22").unwrap();
            fs::set_permissions(at("both"), Permissions::from_mode(0o600)).unwrap();
            fs::remove_file(at("removed")).unwrap();
            fs::remove_file(at("kind")).unwrap();
            fs::create_dir(at("kind")).unwrap();
            fs::set_permissions(at("kind"), fs::metadata(at("same")).unwrap().permissions())
                .unwrap();
            fs::remove_file(at("link")).unwrap();
            symlink("b", at("link")).unwrap();
            fs::write(at("d/new"), "").unwrap();
            fs::set_permissions(at("kind"), Permissions::from_mode(0o755)).unwrap();
        });
        let expected = [
            ("both", What::Content),
            ("both", What::Mode),
            ("content", What::Content),
            ("d/new", What::Added),
            ("kind", What::Content),
            ("kind", What::Mode),
            ("link", What::Content),
            ("mode", What::Mode),
            ("removed", What::Removed),
            ("touched", What::Time),
        ];
        assert_eq!(found, expected.map(|(path, what)| (path.to_owned(), what)));
    }

    #[test]
    fn what_is_excluded_does_not_count() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("run")).unwrap();
        let excluded = [folder.path().join("run")];
        let before = Snapshot::take(folder.path(), &excluded).unwrap();
        fs::write(folder.path().join("run/log"), "").unwrap();
        assert_eq!(before, Snapshot::take(folder.path(), &excluded).unwrap());
        assert!(before.is_empty());
    }

    fn git(folder: &Path, arguments: &[&str]) {
        let status = Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "gc.auto=0"])
            .args(arguments)
            .current_dir(folder)
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .status();
        assert!(status.unwrap().success());
    }

    #[test]
    fn looking_at_a_repository_is_no_change_but_staging_and_committing_are() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        git(root, &["init", "-q", "-b", "main"]);
        fs::write(root.join("f"), "1").unwrap();
        git(root, &["add", "-A"]);
        git(root, &["commit", "-qm", "first"]);
        // The index is older than the file's time, so that looking writes it anew.
        set_time(&root.join("f"), SystemTime::now() + Duration::from_secs(5));
        assert_eq!(changes(root, || git(root, &["status", "-s"])), []);
        let flag = || git(root, &["update-index", "--chmod=+x", "f"]);
        assert_eq!(changes(root, flag), [(".git/index".to_owned(), What::Content)]);
        let tag = || git(root, &["tag", "t"]);
        assert_eq!(changes(root, tag), [(".git/refs/tags/t".to_owned(), What::Added)]);
        let hook = || fs::write(root.join(".git/hooks/pre-commit"), "").unwrap();
        assert_eq!(changes(root, hook).len(), 1);
        let other = root.join("linked");
        git(root, &["worktree", "add", "-q", "linked"]);
        let switch = || git(&other, &["checkout", "-q", "--detach"]);
        assert!(changes(&other, switch).iter().any(|(path, _)| path.ends_with("/linked/HEAD")));
    }
}
