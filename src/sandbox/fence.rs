//! A fence around the tools of one conversation: what they may read and write.
//!
//! The lists hold twice: by path, so that a file tool can say in a sentence why not, and by the kernel,
//! for the thread in which a file tool works and for every command. So a link that is changed between the
//! look and the access leads nowhere.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use rustix::thread::CapabilitySet;

use super::domain::{Domain, Kernel};
use super::privilege;

/// Links that are followed before it is called a circle; the kernel's own limit.
const MOST_LINKS: usize = 40;

/// What a fence is made of. Paths are real ones.
#[derive(Debug, Clone, Default)]
pub(super) struct Lists {
    /// May be read, run and changed.
    pub(super) write: Vec<PathBuf>,
    /// May be read and run.
    pub(super) read: Vec<PathBuf>,
    /// May be read and run by commands only: `/proc` shows a file tool flower itself.
    pub(super) commands: Vec<PathBuf>,
    /// May not be used although it lies in something that may. Only file tools can be kept out.
    pub(super) hidden: Vec<PathBuf>,
}

impl Lists {
    /// Something lets commands read this, hidden or not.
    pub(super) fn grant(&self, real: &Path) -> bool {
        depth(&self.write, real).max(depth(&self.read, real)) > 0
    }
}

/// Why a fence could not be made or entered.
#[derive(Debug, thiserror::Error)]
pub enum FenceError {
    /// The kernel refused the domain.
    #[error("the sandbox could not be made: {0}")]
    Landlock(String),
    /// A system call failed.
    #[error("the sandbox could not be made: {0}")]
    System(#[from] io::Error),
    /// What ran inside broke off.
    #[error("the work in the sandbox was broken off")]
    Broken,
}

/// What tools may reach. Made once for a conversation; every call works inside of it.
pub struct Fence {
    lists: Lists,
    domains: Option<Domains>,
    kept: CapabilitySet,
}

/// What the kernel holds, for each kind of work.
struct Domains {
    commands: Domain,
    files: Domain,
}

impl fmt::Debug for Fence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fence").field("lists", &self.lists).finish_non_exhaustive()
    }
}

impl Fence {
    pub(super) fn new(
        lists: Lists,
        kernel: Kernel,
        kept: CapabilitySet,
    ) -> Result<Self, FenceError> {
        let domains = match kernel {
            Kernel::Nothing => None,
            Kernel::Files | Kernel::Signals => {
                let reads = [lists.read.as_slice(), lists.commands.as_slice()].concat();
                Some(Domains {
                    commands: Domain::prepare(&reads, &lists.write)?,
                    files: Domain::prepare(&lists.read, &lists.write)?,
                })
            }
        };
        Ok(Self { lists, domains, kept })
    }

    /// A file tool may look at what is there. Links are followed first.
    pub fn may_read(&self, path: &Path) -> bool {
        resolve(path).is_some_and(|real| self.shows(&real))
    }

    /// A file tool may make or change what is there. Links are followed first.
    pub fn may_write(&self, path: &Path) -> bool {
        resolve(path)
            .is_some_and(|real| depth(&self.lists.write, &real) > depth(&self.lists.hidden, &real))
    }

    /// Like [`Fence::may_read`] for a path that is known to be real.
    pub fn shows(&self, real: &Path) -> bool {
        let granted = depth(&self.lists.write, real).max(depth(&self.lists.read, real));
        granted > depth(&self.lists.hidden, real)
    }

    /// True for what may be read, and for a folder in which something may be.
    pub fn leads_to(&self, real: &Path) -> bool {
        let lists = [&self.lists.write, &self.lists.read];
        self.shows(real) || lists.into_iter().flatten().any(|granted| granted.starts_with(real))
    }

    /// Starts a command inside. The work runs in a thread of its own, to which the restrictions stick;
    /// what it starts inherits them.
    ///
    /// # Errors
    /// The fence could not be entered; then nothing was done.
    pub fn command<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, FenceError> {
        self.inside(self.domains.as_ref().map(|domains| &domains.commands), work)
    }

    /// Works on files inside, see [`Fence::command`].
    ///
    /// # Errors
    /// The fence could not be entered; then nothing was done.
    pub fn files<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, FenceError> {
        self.inside(self.domains.as_ref().map(|domains| &domains.files), work)
    }

    fn inside<T: Send>(
        &self,
        domain: Option<&Domain>,
        work: impl FnOnce() -> T + Send,
    ) -> Result<T, FenceError> {
        std::thread::scope(|scope| {
            let thread = std::thread::Builder::new().name("fenced".to_owned());
            let running = thread.spawn_scoped(scope, || {
                privilege::give_up(self.kept)?;
                if let Some(domain) = domain {
                    domain.enter()?;
                }
                Ok(work())
            })?;
            running.join().unwrap_or(Err(FenceError::Broken))
        })
    }
}

/// How long the nearest entry around a path is, in parts; 0 where none is.
fn depth(list: &[PathBuf], path: &Path) -> usize {
    let around = list.iter().filter(|entry| path.starts_with(entry));
    around.map(|entry| entry.components().count()).max().unwrap_or(0)
}

/// The real path, also of something that is not there yet; nothing where that cannot be said.
pub(super) fn resolve(path: &Path) -> Option<PathBuf> {
    let mut path = path.to_owned();
    let mut missing = Vec::new();
    for _ in 0..MOST_LINKS {
        match fs::canonicalize(&path) {
            Ok(mut real) => {
                real.extend(missing.iter().rev());
                return Some(real);
            }
            Err(error) if error.kind() != io::ErrorKind::NotFound => return None,
            Err(_) => {}
        }
        let parent = path.parent()?.to_owned();
        path = match fs::read_link(&path) {
            Ok(target) => parent.join(target),
            Err(_) => {
                // Behind `..` nothing is certain in a folder that is not there.
                missing.push(path.file_name()?.to_owned());
                parent
            }
        };
    }
    None
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn fence(lists: Lists) -> Fence {
        Fence::new(lists, Kernel::probe(), CapabilitySet::empty()).unwrap()
    }

    fn folder() -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().canonicalize().unwrap();
        for name in ["work/runs/desk", "lib", "home"] {
            fs::create_dir_all(path.join(name)).unwrap();
        }
        (folder, path)
    }

    fn lists(path: &Path) -> Lists {
        Lists {
            write: vec![path.join("work"), path.join("work/runs/desk")],
            read: vec![path.join("lib")],
            commands: vec!["/proc".into()],
            hidden: vec![path.join("work/runs")],
        }
    }

    #[test]
    fn the_nearest_entry_decides() {
        let (_folder, path) = folder();
        let fence = fence(lists(&path));
        for (name, read, write) in [
            ("work", true, true),
            ("work/new/file", true, true),
            ("work/runs/manifest.json", false, false),
            ("work/runs/desk/note", true, true),
            ("lib/a", true, false),
            ("home/.ssh", false, false),
            ("workshop", false, false),
        ] {
            assert_eq!(fence.may_read(&path.join(name)), read, "{name}");
            assert_eq!(fence.may_write(&path.join(name)), write, "{name}");
        }
        assert!(!fence.may_read(Path::new("/proc/self/environ")));
        assert!(fence.leads_to(&path.join("work/runs")) && !fence.leads_to(&path.join("home")));
    }

    #[test]
    fn links_and_dots_do_not_lead_out() {
        let (_folder, path) = folder();
        fs::write(path.join("home/secret"), "x").unwrap();
        symlink(path.join("home"), path.join("work/out")).unwrap();
        symlink("../home/new", path.join("work/dangling")).unwrap();
        symlink("circle", path.join("work/circle")).unwrap();
        let fence = fence(lists(&path));
        for name in
            ["work/out/secret", "work/dangling", "work/../home/secret", "work/no/../../home/x"]
        {
            assert!(!fence.may_read(&path.join(name)), "{name}");
            assert!(!fence.may_write(&path.join(name)), "{name}");
        }
        assert!(!fence.may_write(&path.join("work/circle")));
    }

    #[test]
    fn the_kernel_holds_it_too_and_only_inside() {
        if Kernel::probe() == Kernel::Nothing {
            return;
        }
        let (_folder, path) = folder();
        fs::write(path.join("home/secret"), "x").unwrap();
        fs::write(path.join("lib/a"), "x").unwrap();
        let fence = fence(lists(&path));
        let results = fence.files(|| {
            [
                fs::write(path.join("work/new"), "x").is_ok(),
                fs::read(path.join("lib/a")).is_ok(),
                fs::write(path.join("lib/a"), "y").is_ok(),
                fs::read(path.join("home/secret")).is_ok(),
                fs::write(path.join("home/new"), "x").is_ok(),
                fs::read("/proc/self/environ").is_ok(),
            ]
        });
        assert_eq!(results.unwrap(), [true, true, false, false, false, false]);
        assert!(fs::write(path.join("home/new"), "x").is_ok());
    }

    #[test]
    fn work_that_breaks_off_is_an_error() {
        let (_folder, path) = folder();
        let broken = fence(lists(&path)).files(|| -> () { panic!("on purpose") });
        assert!(matches!(broken, Err(FenceError::Broken)));
    }
}
