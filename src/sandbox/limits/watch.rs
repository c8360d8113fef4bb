//! What the system has counted against this process's groups, to tell afterwards which limit a child hit.

use std::path::{Path, PathBuf};

use rustix::process::{Resource, Signal, getrlimit};

use super::super::job::Status;
use super::group::{Groups, Version};
use super::{Hit, Limited, figure, read};

/// What a shell adds to the number of the signal that ended its command.
const BY_SIGNAL: i32 = 128;

/// Counters as they stood when a child, or something else that may run into a limit, began.
#[derive(Debug, Default)]
pub struct Watch(Vec<Counter>);

#[derive(Debug)]
struct Counter {
    what: Limited,
    folder: PathBuf,
    file: &'static str,
    name: &'static str,
    value: u64,
}

impl Watch {
    /// From now on.
    pub fn begin() -> Self {
        Self::of(&Groups::of_this_process())
    }

    fn of(groups: &Groups) -> Self {
        let mut watch = Self::default();
        if let Some(memory) = &groups.memory {
            // Counted where the victim was, wherever the limit lies.
            let file = match memory.version {
                Version::One => "memory.oom_control",
                Version::Two => "memory.events",
            };
            if let Some(own) = memory.folders.first() {
                watch.add(Limited::Memory, own, file, "oom_kill");
            }
        }
        if let Some(pids) = &groups.pids {
            for (place, folder) in pids.folders.iter().enumerate() {
                // Newer kernels count where the limit lies, and further out what happened to others too,
                // unless one asks for the group's alone.
                let file = if place == 0 { "pids.events" } else { "pids.events.local" };
                watch.add(Limited::Processes, folder, file, "max");
            }
        }
        watch
    }

    fn add(&mut self, what: Limited, folder: &Path, file: &'static str, name: &'static str) {
        if let Some(value) = count(folder, file, name) {
            self.0.push(Counter { what, folder: folder.to_owned(), file, name, value });
        }
    }

    /// The limit that a child hit which has ended like this since. The counters are shared with what else
    /// runs here, so a child that ended well is not looked at.
    pub fn hit(&self, status: Status) -> Option<Hit> {
        let ended_by = match status {
            Status::Exit(0) => return None,
            Status::Exit(code) => code - BY_SIGNAL,
            Status::Signal(signal) => signal,
        };
        self.risen()
            .or_else(|| {
                let by = |signal: Signal, limit: Resource| {
                    ended_by == signal.as_raw() && getrlimit(limit).current.is_some()
                };
                if by(Signal::XFSZ, Resource::Fsize) {
                    Some(Limited::FileSize)
                } else if by(Signal::XCPU, Resource::Cpu) {
                    Some(Limited::ProcessorTime)
                } else {
                    None
                }
            })
            .map(Hit::of)
    }

    /// Memory was taken back from the group by ending one of its processes.
    pub fn out_of_memory(&self) -> Option<Hit> {
        self.risen().filter(|what| *what == Limited::Memory).map(Hit::of)
    }

    fn risen(&self) -> Option<Limited> {
        let risen = |counter: &&Counter| {
            count(&counter.folder, counter.file, counter.name)
                .is_some_and(|now| now > counter.value)
        };
        self.0.iter().find(risen).map(|counter| counter.what)
    }
}

fn count(folder: &Path, file: &str, name: &str) -> Option<u64> {
    figure::field(&read(folder, file)?, name)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::group::Group;
    use super::*;

    /// A group of the second version whose files can be changed.
    fn groups(root: &Path) -> Groups {
        let group =
            Group { version: Version::Two, folders: vec![root.join("own"), root.to_owned()] };
        Groups { memory: Some(group.clone()), pids: Some(group), cpu: None }
    }

    fn machine() -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        fs::create_dir(root.path().join("own")).unwrap();
        fs::write(root.path().join("own/memory.events"), "oom 1\noom_kill 1\n").unwrap();
        fs::write(root.path().join("own/pids.events"), "max 0\n").unwrap();
        fs::write(root.path().join("pids.events.local"), "max 4\n").unwrap();
        root
    }

    #[test]
    fn nothing_is_blamed_on_counters_that_stood_still() {
        let root = machine();
        let watch = Watch::of(&groups(root.path()));
        assert_eq!(watch.hit(Status::Signal(9)), None);
        assert_eq!(watch.out_of_memory(), None);
    }

    #[test]
    fn a_risen_counter_names_the_limit_of_a_child_that_failed() {
        let root = machine();
        let watch = Watch::of(&groups(root.path()));
        fs::write(root.path().join("own/memory.events"), "oom 2\noom_kill 2\n").unwrap();
        let hit = |status| watch.hit(status).map(|hit| hit.what);
        assert_eq!(hit(Status::Signal(9)), Some(Limited::Memory));
        assert_eq!(hit(Status::Exit(137)), Some(Limited::Memory));
        assert_eq!(hit(Status::Exit(0)), None, "it may have been another's");
        assert!(watch.out_of_memory().is_some());
    }

    #[test]
    fn a_limit_further_out_is_counted_there() {
        let root = machine();
        let watch = Watch::of(&groups(root.path()));
        fs::write(root.path().join("pids.events.local"), "max 5\n").unwrap();
        let hit = watch.hit(Status::Exit(2)).map(|hit| hit.what);
        assert_eq!(hit, Some(Limited::Processes));
        assert_eq!(watch.out_of_memory(), None);
    }
}
