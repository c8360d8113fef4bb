//! Copies a tree of files as it is: modes, times, links; shared blocks where the file system can.

use std::collections::HashMap;
use std::fs::{self, DirBuilder, File, FileTimes, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, CWD, Timespec, Timestamps, ioctl_ficlone, utimensat};

use super::exclusion::{Exclusion, at};
use super::repository;

/// One copying of a workspace.
pub(super) struct Duplicate<'a> {
    source: &'a Path,
    target: &'a Path,
    exclusion: Exclusion,
    /// Where a file with several names was put first.
    linked: HashMap<(u64, u64), PathBuf>,
    /// False once the file system has refused to share blocks.
    clones: bool,
    /// Modes and times of folders, set when nothing is written into them any more.
    folders: Vec<(PathBuf, Metadata)>,
}

impl<'a> Duplicate<'a> {
    /// `source` is a real path, `target` an empty folder.
    pub(super) fn new(source: &'a Path, target: &'a Path, exclusion: Exclusion) -> Self {
        let (linked, folders) = (HashMap::new(), Vec::new());
        Self { source, target, exclusion, linked, clones: true, folders }
    }

    /// Copies everything, unless it is told to stop in between.
    pub(super) fn run(mut self, stop: &AtomicBool) -> io::Result<()> {
        let metadata = fs::metadata(self.source).map_err(at(self.source))?;
        self.folders.push((self.target.to_owned(), metadata));
        self.tree(stop)?;
        while let Some((path, metadata)) = self.folders.pop() {
            finish(&path, &metadata).map_err(at(&path))?;
        }
        Ok(())
    }

    /// Everything in the workspace; its own folder exists in the copy already.
    fn tree(&mut self, stop: &AtomicBool) -> io::Result<()> {
        let mut open = vec![PathBuf::new()];
        while let Some(folder) = open.pop() {
            let source = self.source.join(&folder);
            let Some(entries) = present(fs::read_dir(&source)).map_err(at(&source))? else {
                continue;
            };
            for entry in entries {
                if stop.load(Ordering::Relaxed) {
                    return Err(io::ErrorKind::Interrupted.into());
                }
                let name = entry.map_err(at(&source))?.file_name();
                let relative = folder.join(&name);
                if self.exclusion.covers(&relative) {
                    continue;
                }
                let (from, to) = (self.source.join(&relative), self.target.join(&relative));
                if name == ".git"
                    && let Some(outside) = repository::outside(self.source, &from)?
                {
                    self.repository(&outside, &to)?;
                } else if self.entry(&from, &to)? {
                    open.push(relative);
                }
            }
        }
        Ok(())
    }

    /// Copies one entry; true for a folder, whose content is still to come.
    fn entry(&mut self, from: &Path, to: &Path) -> io::Result<bool> {
        let in_git = repository::is_inside(to, self.target);
        if in_git && repository::is_left_out(from) {
            return Ok(false);
        }
        let Some(mut metadata) = present(fs::symlink_metadata(from)).map_err(at(from))? else {
            return Ok(false);
        };
        if in_git && metadata.is_symlink() && repository::leads_out(from) {
            // What a repository writes through such a link would reach the original.
            metadata = fs::metadata(from).map_err(at(from))?;
            if metadata.is_dir() {
                self.folder(to, metadata)?;
                self.folder_content(from, to)?;
                return Ok(false);
            }
        }
        let kind = metadata.file_type();
        if kind.is_dir() {
            self.folder(to, metadata)?;
            return Ok(true);
        }
        if kind.is_symlink() {
            self.link(from, to, &metadata).map_err(at(from))?;
        } else if kind.is_file() {
            self.file(from, to, &metadata).map_err(at(from))?;
            if in_git {
                repository::repair(from, to, self.source).map_err(at(from))?;
            }
        }
        Ok(false)
    }

    fn folder(&mut self, to: &Path, metadata: Metadata) -> io::Result<()> {
        if !to.is_dir() {
            DirBuilder::new().mode(0o700).create(to).map_err(at(to))?;
        }
        self.folders.push((to.to_owned(), metadata));
        Ok(())
    }

    /// Content of a folder that is not part of the workspace; what is there already is replaced.
    fn folder_content(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let mut open = vec![(from.to_owned(), to.to_owned())];
        while let Some((from, to)) = open.pop() {
            for entry in fs::read_dir(&from).map_err(at(&from))? {
                let name = entry.map_err(at(&from))?.file_name();
                let (from, to) = (from.join(&name), to.join(&name));
                if fs::symlink_metadata(&to).is_ok_and(|metadata| !metadata.is_dir()) {
                    fs::remove_file(&to).map_err(at(&to))?;
                }
                if self.entry(&from, &to)? {
                    open.push((from, to));
                }
            }
        }
        Ok(())
    }

    /// Makes a repository folder out of one that lies elsewhere.
    fn repository(&mut self, outside: &repository::Outside, to: &Path) -> io::Result<()> {
        let metadata = fs::metadata(&outside.common).map_err(at(&outside.common))?;
        self.folder(to, metadata)?;
        self.folder_content(&outside.common, to)?;
        if outside.own != outside.common {
            self.folder_content(&outside.own, to)?;
        }
        repository::settle(to).map_err(at(to))
    }

    fn link(&self, from: &Path, to: &Path, metadata: &Metadata) -> io::Result<()> {
        let target = fs::read_link(from)?;
        match target.strip_prefix(self.source) {
            Ok(inside) => symlink(self.target.join(inside), to)?,
            Err(_) => symlink(&target, to)?,
        }
        let times = Timestamps {
            last_access: Timespec { tv_sec: metadata.atime(), tv_nsec: metadata.atime_nsec() as _ },
            last_modification: Timespec {
                tv_sec: metadata.mtime(),
                tv_nsec: metadata.mtime_nsec() as _,
            },
        };
        Ok(utimensat(CWD, to, &times, AtFlags::SYMLINK_NOFOLLOW)?)
    }

    fn file(&mut self, from: &Path, to: &Path, metadata: &Metadata) -> io::Result<()> {
        let identity = (metadata.dev(), metadata.ino());
        if let Some(first) = self.linked.get(&identity) {
            return fs::hard_link(first, to);
        }
        let Some(mut source) = present(File::open(from))? else { return Ok(()) };
        let mut target = OpenOptions::new().write(true).create_new(true).mode(0o600).open(to)?;
        self.clones = self.clones && ioctl_ficlone(&target, &source).is_ok();
        if !self.clones {
            io::copy(&mut source, &mut target)?;
        }
        finish_file(&target, metadata)?;
        if metadata.nlink() > 1 {
            self.linked.insert(identity, to.to_owned());
        }
        Ok(())
    }
}

/// What vanished while it was being looked at was not there.
fn present<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some),
    }
}

fn finish(path: &Path, metadata: &Metadata) -> io::Result<()> {
    finish_file(&File::open(path)?, metadata)
}

fn finish_file(file: &File, metadata: &Metadata) -> io::Result<()> {
    file.set_permissions(Permissions::from_mode(metadata.mode() & 0o7777))?;
    let times = FileTimes::new();
    file.set_times(times.set_accessed(metadata.accessed()?).set_modified(metadata.modified()?))
}
