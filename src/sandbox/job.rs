//! One child process from start to end: input, bounded output, time limit, and nothing left behind.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, ChildStdin, Command};

use super::capture::Capture;
use super::detach::detach;
use super::fence::{Fence, FenceError};
use super::group::{Group, Watch};
use super::limits::{self, Hit};

/// From the polite signal at the time limit to the last one.
const GRACE: Duration = Duration::from_secs(2);

/// How long output may stay open after the child itself has ended. A background process that holds
/// the pipe is not waited for longer.
const DRAIN: Duration = Duration::from_millis(200);

/// What to start.
#[derive(Debug, Clone)]
pub struct Job {
    /// A path, or a name that is looked up in the `PATH` of `environment`.
    pub program: OsString,
    /// Its arguments, without the program itself.
    pub arguments: Vec<OsString>,
    /// Where it runs.
    pub folder: PathBuf,
    /// The complete environment; nothing is inherited.
    pub environment: Vec<(OsString, OsString)>,
    /// What it reads; nothing means an empty input.
    pub stdin: Option<Vec<u8>>,
    /// How long it may take; nothing means for ever.
    pub time_limit: Option<Duration>,
    /// Bytes kept of each output stream: the first half and the last half of the limit.
    pub output_limit: usize,
    /// What it may reach; nothing means all that flower may.
    pub fence: Option<Arc<Fence>>,
}

impl Job {
    fn name(&self) -> String {
        self.program.to_string_lossy().into_owned()
    }
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It returned this code.
    Exit(i32),
    /// This signal ended it.
    Signal(i32),
}

/// What became of a job.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// How the child ended.
    pub status: Status,
    /// Its output. Where `stdout_cut` is not 0, the gap is behind the first half of the limit.
    pub stdout: Vec<u8>,
    /// Its error output, see `stdout`.
    pub stderr: Vec<u8>,
    /// Bytes of output that were not kept.
    pub stdout_cut: u64,
    /// Bytes of error output that were not kept.
    pub stderr_cut: u64,
    /// It was ended because the time limit had passed.
    pub timed_out: bool,
    /// The limit of the machine that it hit, as far as the system tells; nothing for one that ended well.
    pub hit: Option<Hit>,
    /// From the start to the end.
    pub elapsed: Duration,
}

impl Outcome {
    /// It ended by itself with code 0.
    pub fn success(&self) -> bool {
        self.status == Status::Exit(0) && !self.timed_out
    }
}

/// Why there is no outcome.
#[derive(Debug, thiserror::Error)]
pub enum JobError {
    /// The folder to run in is not there or is not a folder.
    #[error("the folder {0} does not exist")]
    Folder(PathBuf),
    /// The program could not be started.
    #[error("{program} could not be started: {source}")]
    Start {
        /// The program's name.
        program: String,
        /// What the system said.
        source: io::Error,
    },
    /// The machine has no room for one more process.
    #[error("{program} could not be started: {hit}")]
    Limit {
        /// The program's name.
        program: String,
        /// The limit.
        hit: Hit,
    },
    /// Its fence could not be made.
    #[error(transparent)]
    Fence(#[from] FenceError),
    /// The system could not tell how it ended.
    #[error("waiting for the child failed: {0}")]
    Wait(io::Error),
}

impl JobError {
    /// A fence that could not be entered, or only because there is no room for its thread.
    fn unfenced(job: &Job, error: FenceError) -> Self {
        match &error {
            FenceError::System(source) => match Hit::behind(source) {
                Some(hit) => Self::Limit { program: job.name(), hit },
                None => Self::Fence(error),
            },
            _ => Self::Fence(error),
        }
    }
}

/// Runs a job to its end. Whatever it left running in its process group is killed, also when the
/// returned future is dropped.
pub async fn run(job: Job) -> Result<Outcome, JobError> {
    let started = Instant::now();
    let counted = limits::Watch::begin();
    let mut child = match &job.fence {
        None => start(&job)?,
        Some(fence) => {
            let runtime = tokio::runtime::Handle::current();
            let started = fence.command(|| {
                // Its pipes and its end are watched by the runtime, which another thread has to name.
                let _runtime = runtime.enter();
                start(&job)
            });
            started.map_err(|error| JobError::unfenced(&job, error))??
        }
    };
    // Declared behind the child, so dropped before it: the group is killed while its name is still ours.
    let group = Group::of(&child);
    let watch = Watch::on(&group);

    let (mut out, mut err) = (Capture::new(job.output_limit), Capture::new(job.output_limit));
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let mut timed_out = false;
    {
        let streams = async {
            let input = job.stdin.unwrap_or_default();
            tokio::join!(feed(stdin, input), out.read(stdout), err.read(stderr));
        };
        tokio::pin!(streams);
        let mut open = true;
        let mut alarm = job.time_limit;
        let mut since = tokio::time::Instant::now();
        loop {
            let wake = since + alarm.unwrap_or_default();
            tokio::select! {
                () = watch.ended(&mut child) => break,
                () = &mut streams, if open => open = false,
                () = tokio::time::sleep_until(wake), if alarm.is_some() => {
                    group.signal(if timed_out { Signal::KILL } else { Signal::TERM });
                    alarm = if timed_out { None } else { Some(GRACE) };
                    timed_out = true;
                    since = tokio::time::Instant::now();
                }
            }
        }
        if open {
            open = tokio::time::timeout(DRAIN, &mut streams).await.is_err();
        }
        group.end();
        if open {
            // The writers are dead; what they had written is still in the pipe. Only a process that left
            // the group can keep it open now.
            let _ = tokio::time::timeout(DRAIN, &mut streams).await;
        }
    }
    let status = child.wait().await.map_err(JobError::Wait)?;
    let ((stdout, stdout_cut), (stderr, stderr_cut)) = (out.finish(), err.finish());
    let status = Status::from(status);
    Ok(Outcome {
        status,
        stdout,
        stderr,
        stdout_cut,
        stderr_cut,
        timed_out,
        hit: counted.hit(status),
        elapsed: started.elapsed(),
    })
}

fn start(job: &Job) -> Result<Child, JobError> {
    if !job.folder.is_dir() {
        return Err(JobError::Folder(job.folder.clone()));
    }
    let stdin = if job.stdin.is_some() { Stdio::piped() } else { Stdio::null() };
    let mut command = Command::new(&job.program);
    detach(&mut command);
    let child = command
        .args(&job.arguments)
        .current_dir(&job.folder)
        .env_clear()
        .envs(job.environment.iter().map(|(name, value)| (name, value)))
        .stdin(stdin)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .map_err(|source| {
            let program = job.name();
            match Hit::behind(&source) {
                Some(hit) => JobError::Limit { program, hit },
                None => JobError::Start { program, source },
            }
        })?;
    child.id().into_iter().for_each(limits::go_first);
    Ok(child)
}

/// A child that does not read its input is no failure.
async fn feed(stdin: Option<ChildStdin>, input: Vec<u8>) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(&input).await;
    }
}

impl From<ExitStatus> for Status {
    fn from(status: ExitStatus) -> Self {
        match (status.code(), status.signal()) {
            (Some(code), _) => Status::Exit(code),
            (None, signal) => Status::Signal(signal.unwrap_or_default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use rustix::process::{Pid, test_kill_process};

    use super::*;

    fn shell(script: &str) -> Job {
        Job {
            program: "/bin/sh".into(),
            arguments: vec!["-c".into(), script.into()],
            folder: "/".into(),
            environment: vec![("PATH".into(), "/usr/bin:/bin".into())],
            stdin: None,
            time_limit: Some(Duration::from_secs(60)),
            output_limit: 1000,
            fence: None,
        }
    }

    fn pid_in(text: &[u8]) -> Pid {
        let text = String::from_utf8_lossy(text);
        Pid::from_raw(text.split_whitespace().next().unwrap().parse().unwrap()).unwrap()
    }

    /// Dead, or a zombie that only init has not collected yet; anything else stays alive.
    fn is_alive(pid: Pid) -> bool {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        test_kill_process(pid).is_ok() && stat.is_ok_and(|stat| !stat.contains(") Z"))
    }

    async fn dies(pid: Pid) -> bool {
        for _ in 0..500 {
            if !is_alive(pid) {
                return true;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        false
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_program_that_asks_at_the_terminal_finds_none() {
        // Fields 5 to 7 of the line: group, session and terminal.
        let script = "read -r line < /proc/$$/stat; echo $$ ${line##*)}; echo x > /dev/tty";
        let outcome = run(shell(script)).await.unwrap();
        let text = String::from_utf8_lossy(&outcome.stdout).into_owned();
        let words: Vec<&str> = text.split_whitespace().collect();
        assert_eq!(words[3..6], [words[0], words[0], "0"], "{text}");
        assert!(!outcome.success() && !outcome.stderr.is_empty());
    }

    #[tokio::test]
    async fn both_streams_and_the_code_come_back() {
        let outcome = run(shell("echo out; echo err >&2; exit 3")).await.unwrap();
        assert_eq!(outcome.status, Status::Exit(3));
        assert_eq!((&outcome.stdout[..], &outcome.stderr[..]), (&b"out\n"[..], &b"err\n"[..]));
        assert!(!outcome.timed_out && !outcome.success());
    }

    #[tokio::test]
    async fn input_is_given_and_empty_without() {
        let mut job = shell("cat");
        job.output_limit = 1_000_000;
        job.stdin = Some(vec![b'x'; 300_000]);
        assert_eq!(run(job).await.unwrap().stdout.len(), 300_000);
        assert!(run(shell("cat")).await.unwrap().stdout.is_empty());
    }

    #[tokio::test]
    async fn a_child_that_does_not_read_is_no_failure() {
        let mut job = shell("exit 0");
        job.stdin = Some(vec![b'x'; 300_000]);
        assert!(run(job).await.unwrap().success());
    }

    #[tokio::test]
    async fn nothing_is_inherited() {
        let mut job = shell("/usr/bin/env");
        job.environment = vec![("ONLY".into(), "this".into())];
        let text = String::from_utf8(run(job).await.unwrap().stdout).unwrap();
        assert!(text.contains("ONLY=this"), "{text}");
        assert!(!text.contains("CARGO"), "{text}");
    }

    #[tokio::test]
    async fn much_output_is_cut_in_the_middle() {
        let outcome = run(shell("echo first; yes | head -n 100000; echo last")).await.unwrap();
        assert_eq!(outcome.stdout.len(), 1000);
        assert!(outcome.stdout.starts_with(b"first\n") && outcome.stdout.ends_with(b"last\n"));
        assert_eq!(outcome.stdout_cut, 6 + 200_000 + 5 - 1000);
    }

    #[tokio::test]
    async fn the_time_limit_ends_it_and_keeps_what_was_printed() {
        let mut job = shell("echo before; sleep 60; echo after");
        job.time_limit = Some(Duration::from_millis(300));
        let outcome = run(job).await.unwrap();
        assert!(outcome.timed_out);
        assert_eq!(outcome.stdout, b"before\n");
        assert!(outcome.elapsed < Duration::from_secs(20));
    }

    #[tokio::test]
    async fn one_that_ignores_the_polite_signal_is_killed() {
        let mut job = shell("trap '' TERM; while :; do sleep 1; done");
        job.time_limit = Some(Duration::from_millis(300));
        let outcome = run(job).await.unwrap();
        assert!(outcome.timed_out);
        assert_eq!(outcome.status, Status::Signal(9));
    }

    #[tokio::test]
    async fn a_background_process_neither_blocks_nor_outlives_the_call() {
        let outcome = run(shell("sleep 300 & echo $!")).await.unwrap();
        assert!(outcome.success() && outcome.elapsed < Duration::from_secs(20));
        assert!(dies(pid_in(&outcome.stdout)).await);
    }

    #[tokio::test]
    async fn dropping_the_future_kills_the_whole_group_and_leaves_no_zombie() {
        let folder = tempfile::tempdir().unwrap();
        let mut job = shell("sleep 300 & echo $! $$ > new; mv new pids; wait");
        job.folder = folder.path().to_owned();
        let task = tokio::spawn(run(job));
        let pids = folder.path().join("pids");
        while !pids.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        task.abort();
        let text = std::fs::read_to_string(pids).unwrap();
        let (child, leader) = text.split_once(' ').unwrap();
        assert!(dies(pid_in(child.as_bytes())).await);
        // The leader is our own child: it must be collected, not only dead.
        let leader = pid_in(leader.as_bytes());
        for _ in 0..500 {
            if test_kill_process(leader).is_err() {
                return;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        panic!("a zombie is left");
    }

    #[tokio::test]
    async fn a_finished_child_is_collected() {
        let outcome = run(shell("echo $$")).await.unwrap();
        assert!(test_kill_process(pid_in(&outcome.stdout)).is_err());
    }

    #[tokio::test]
    async fn what_cannot_start_is_said() {
        let mut job = shell("");
        job.program = "/no/such/program".into();
        let text = run(job).await.unwrap_err().to_string();
        assert!(text.starts_with("/no/such/program could not be started"), "{text}");
        let mut job = shell("");
        job.folder = "/no/such/folder".into();
        assert!(matches!(run(job).await, Err(JobError::Folder(_))));
    }
}
