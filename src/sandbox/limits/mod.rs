//! Limits that the machine sets to flower: found, used to share the work, and named when one ends a child.
//!
//! They come from control groups (both versions, and the mix of them) and from the process's own limits.
//! flower sets nearly none itself. A tool leaves no core file unless it asks for one, since a crash would
//! put its whole memory into the project. The others are left as the person has them: processes are
//! counted per user, so a limit for tools would count the person's own; a limit on the size of files or of
//! memory per process breaks builds and virtual machines that are well within what the machine has. What
//! is set outside (`ulimit`, a control group, the box) holds for flower and for all that it starts.

mod figure;
mod group;
mod watch;

use std::fmt;
use std::fs;
use std::io;
use std::num::NonZero;

use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use group::{Group, Groups, Version};

pub use watch::Watch;

/// Agents and commands that one processor carries: most of the time they wait for the model.
const PER_PROCESSOR: f64 = 4.0;
/// Memory that an agent's command may need: a compiler, a test suite.
const MEMORY_EACH: u64 = 256 << 20;
/// Processes that it may need.
const PROCESSES_EACH: u64 = 32;
/// No more at once than this without the person's word, however large the machine: the endpoint has limits too.
const MOST_AT_ONCE: usize = 10;

/// What the machine lets flower use. Nothing stands for no limit, or for one that cannot be found.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Limits {
    /// Bytes of memory.
    pub memory: Bound,
    /// Processes and threads of the control group.
    pub processes: Bound,
    /// Processors, also parts of one.
    pub processors: Option<f64>,
    /// Bytes of memory that the machine has.
    pub machine_memory: Option<u64>,
    /// Processes and threads of the user (`ulimit -u`).
    pub user_processes: Option<u64>,
    /// Open files of one process (`ulimit -n`).
    pub open_files: Option<u64>,
    /// Bytes of one file (`ulimit -f`).
    pub file_size: Option<u64>,
    /// Seconds of processor time of one process (`ulimit -t`).
    pub processor_time: Option<u64>,
}

/// A limit and how much of it is in use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Bound {
    /// The smallest of the group and of those around it.
    pub limit: Option<u64>,
    /// Of the group itself.
    pub used: Option<u64>,
}

/// A limit that was hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hit {
    /// Of what.
    pub what: Limited,
    /// Where it lies, in the unit of [`Limits`]; nothing where that is not known.
    pub limit: Option<u64>,
}

/// What a machine limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limited {
    /// Memory of the control group or of the machine.
    Memory,
    /// Processes and threads.
    Processes,
    /// Open files.
    OpenFiles,
    /// The size of one file.
    FileSize,
    /// Processor time.
    ProcessorTime,
    /// Room on a disk.
    Disk,
}

impl Limited {
    /// One word for records and catalogues.
    pub fn name(self) -> &'static str {
        match self {
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::OpenFiles => "open_files",
            Self::FileSize => "file_size",
            Self::ProcessorTime => "processor_time",
            Self::Disk => "disk",
        }
    }
}

impl Limits {
    /// As they are now.
    pub fn look() -> Self {
        Self::of(&Groups::of_this_process())
    }

    fn of(groups: &Groups) -> Self {
        let quota = groups.cpu.as_ref().and_then(quota);
        let there = std::thread::available_parallelism().ok();
        let there = there.map(NonZero::get).and_then(|count| u32::try_from(count).ok());
        let processors = [quota, there.map(f64::from)].into_iter().flatten().reduce(f64::min);
        Self {
            memory: bound(groups.memory.as_ref(), |version| match version {
                Version::One => ("memory.limit_in_bytes", "memory.usage_in_bytes"),
                Version::Two => ("memory.max", "memory.current"),
            }),
            processes: bound(groups.pids.as_ref(), |_| ("pids.max", "pids.current")),
            processors,
            machine_memory: fs::read_to_string("/proc/meminfo")
                .ok()
                .and_then(|text| figure::kibibytes(&text, "MemTotal")),
            user_processes: getrlimit(Resource::Nproc).current,
            open_files: getrlimit(Resource::Nofile).current,
            file_size: getrlimit(Resource::Fsize).current,
            processor_time: getrlimit(Resource::Cpu).current,
        }
    }

    /// How many subagents, and how many tool calls, run at the same time: the smallest of four for each
    /// processor, one for each 256 MiB, one for each 32 processes, and ten; at least one.
    pub fn parallel(&self) -> NonZero<usize> {
        // A float becomes the nearest whole number that there is.
        let by_processors = self.processors.map(|count| (count * PER_PROCESSOR).ceil() as usize);
        let memory = [self.memory.limit, self.machine_memory].into_iter().flatten().min();
        let processes = [self.processes.limit, self.user_processes].into_iter().flatten().min();
        let share =
            |all: Option<u64>, each: u64| all.and_then(|all| usize::try_from(all / each).ok());
        let shares = [by_processors, share(memory, MEMORY_EACH), share(processes, PROCESSES_EACH)];
        let least = shares.into_iter().flatten().fold(MOST_AT_ONCE, usize::min);
        NonZero::new(least).unwrap_or(NonZero::<usize>::MIN)
    }

    /// The limit of something.
    pub fn limit(&self, what: Limited) -> Option<u64> {
        match what {
            Limited::Memory => self.memory.limit,
            Limited::Processes => {
                [self.processes.limit, self.user_processes].into_iter().flatten().min()
            }
            Limited::OpenFiles => self.open_files,
            Limited::FileSize => self.file_size,
            Limited::ProcessorTime => self.processor_time,
            Limited::Disk => None,
        }
    }
}

/// For a model, which is to do something about it.
impl fmt::Display for Hit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self.what {
            Limited::Memory => "memory is full",
            Limited::Processes => "no more processes can be started",
            Limited::OpenFiles => "no more files can be opened",
            Limited::FileSize => "a file may not become larger",
            Limited::ProcessorTime => "the processor time of a process is used up",
            Limited::Disk => "the disk is full",
        };
        f.write_str(what)?;
        match (self.what, self.limit) {
            (_, None) => Ok(()),
            (Limited::Memory, Some(bytes)) => {
                write!(f, " (all that runs here together may use {} MiB)", bytes >> 20)
            }
            (Limited::FileSize, Some(bytes)) => write!(f, " (the limit is {bytes} bytes)"),
            (Limited::ProcessorTime, Some(seconds)) => write!(f, " (the limit is {seconds} s)"),
            (_, Some(count)) => write!(f, " (the limit is {count})"),
        }
    }
}

impl Hit {
    pub(super) fn of(what: Limited) -> Self {
        Self { what, limit: Limits::look().limit(what) }
    }

    /// The limit behind a refusal of the system, where it is one.
    ///
    /// A process or a thread that cannot be started for now means their number; what else the system
    /// refuses "for now" never gets as far as an error that is told.
    pub fn behind(error: &io::Error) -> Option<Self> {
        let what = match Errno::from_io_error(error)? {
            Errno::AGAIN => Limited::Processes,
            Errno::NOMEM => Limited::Memory,
            Errno::MFILE | Errno::NFILE => Limited::OpenFiles,
            Errno::FBIG => Limited::FileSize,
            Errno::NOSPC | Errno::DQUOT => Limited::Disk,
            _ => return None,
        };
        Some(Self::of(what))
    }
}

/// Lets the system end this process before flower, where memory runs out: flower keeps the records and can
/// say what happened. Without effect where it cannot be had.
pub(super) fn go_first(process: u32) {
    const RAISED: i32 = 500;
    let own = fs::read_to_string("/proc/self/oom_score_adj").ok();
    let own = own.and_then(|text| text.trim().parse::<i32>().ok());
    if own.is_some_and(|own| own < RAISED) {
        let _ = fs::write(format!("/proc/{process}/oom_score_adj"), RAISED.to_string());
    }
}

/// The smallest limit from the group up, and the use of the group itself.
fn bound(group: Option<&Group>, names: impl Fn(Version) -> (&'static str, &'static str)) -> Bound {
    let Some(group) = group else { return Bound::default() };
    let (limit, used) = names(group.version);
    let limits = group.folders.iter().filter_map(|folder| figure::number(&read(folder, limit)?));
    let used = group.folders.first().and_then(|own| figure::number(&read(own, used)?));
    Bound { limit: limits.min(), used }
}

/// Processors of the smallest quota from the group up.
fn quota(group: &Group) -> Option<f64> {
    let quotas = group.folders.iter().filter_map(|folder| match group.version {
        Version::One => {
            figure::quota(&read(folder, "cpu.cfs_quota_us")?, &read(folder, "cpu.cfs_period_us")?)
        }
        Version::Two => {
            let text = read(folder, "cpu.max")?;
            let (quota, period) = text.split_once(' ')?;
            figure::quota(quota, period)
        }
    });
    quotas.reduce(f64::min)
}

fn read(folder: &std::path::Path, name: &str) -> Option<String> {
    fs::read_to_string(folder.join(name)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A control group with these files, inside one with those.
    fn group(
        version: Version,
        own: &[(&str, &str)],
        around: &[(&str, &str)],
    ) -> (tempfile::TempDir, Group) {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("own");
        fs::create_dir(&inner).unwrap();
        for (folder, files) in [(inner.as_path(), own), (root.path(), around)] {
            for (name, text) in files {
                fs::write(folder.join(name), text).unwrap();
            }
        }
        let folders = vec![inner, root.path().to_owned()];
        (root, Group { version, folders })
    }

    #[test]
    fn the_smallest_limit_on_the_way_up_counts_and_the_use_is_ones_own() {
        let own = [("memory.max", "max\n"), ("memory.current", "1000\n")];
        let (_root, memory) = group(Version::Two, &own, &[("memory.max", "67108864\n")]);
        let (_other, cpu) =
            group(Version::Two, &[("cpu.max", "max 100000\n")], &[("cpu.max", "50000 100000\n")]);
        let limits = Limits::of(&Groups { memory: Some(memory), pids: None, cpu: Some(cpu) });
        assert_eq!(limits.memory, Bound { limit: Some(67_108_864), used: Some(1000) });
        assert_eq!(limits.processors, Some(0.5));
        assert_eq!(limits.processes, Bound::default());
        assert_eq!(limits.parallel().get(), 1, "no whole 256 MiB is still one at a time");
    }

    #[test]
    fn the_older_files_have_other_names_and_other_words_for_no_limit() {
        let own =
            [("memory.limit_in_bytes", "9223372036854771712\n"), ("memory.usage_in_bytes", "7\n")];
        let (_root, memory) = group(Version::One, &own, &[]);
        let (_other, cpu) = group(
            Version::One,
            &[("cpu.cfs_quota_us", "-1\n"), ("cpu.cfs_period_us", "100000\n")],
            &[],
        );
        let limits = Limits::of(&Groups { memory: Some(memory), pids: None, cpu: Some(cpu) });
        assert_eq!(limits.memory, Bound { limit: None, used: Some(7) });
        assert!(limits.processors.unwrap() >= 1.0);
    }

    #[test]
    fn the_work_is_shared_by_what_is_scarcest() {
        let limits = Limits {
            processors: Some(64.0),
            machine_memory: Some(256 << 30),
            user_processes: Some(100_000),
            ..Limits::default()
        };
        assert_eq!(limits.parallel().get(), 10);
        assert_eq!(Limits { processors: Some(1.5), ..limits.clone() }.parallel().get(), 6);
        let memory = Bound { limit: Some(1 << 30), used: None };
        assert_eq!(Limits { memory, ..limits.clone() }.parallel().get(), 4);
        let processes = Bound { limit: Some(64), used: None };
        assert_eq!(Limits { processes, ..limits.clone() }.parallel().get(), 2);
        assert_eq!(Limits { user_processes: Some(5), ..limits }.parallel().get(), 1);
        assert_eq!(Limits::default().parallel().get(), 10, "nothing known");
    }

    #[test]
    fn this_machine_can_be_looked_at() {
        let limits = Limits::look();
        assert!(limits.processors.is_some_and(|count| count > 0.0));
        assert!(limits.machine_memory.is_some_and(|bytes| bytes > 1 << 20));
        assert!(limits.parallel().get() <= 10);
    }

    #[test]
    fn a_refusal_of_the_system_names_its_limit() {
        let hit = |errno: Errno| Hit::behind(&errno.into()).map(|hit| hit.what);
        assert_eq!(hit(Errno::AGAIN), Some(Limited::Processes));
        assert_eq!(hit(Errno::NOMEM), Some(Limited::Memory));
        assert_eq!(hit(Errno::NOSPC), Some(Limited::Disk));
        assert_eq!(hit(Errno::NOENT), None);
        assert_eq!(Hit::behind(&io::Error::other("x")), None);
    }
}
