//! A control group made for one test, where the machine lets us make one.

// Each story is a program of its own and may use a part of it.
#![allow(dead_code, unreachable_pub)]

use std::path::{Path, PathBuf};
use std::process::Command;

/// A control group that is removed with the last of its processes.
pub struct Group(PathBuf);

impl Group {
    /// A group with one limit: of `memory` in bytes, or of `pids`. Why not, where it cannot be had.
    pub fn new(kind: &str, limit: u64) -> Result<Self, String> {
        let mounts = std::fs::read_to_string("/proc/self/mountinfo").unwrap();
        let find = |system: &str, option: &str| {
            mounts.lines().find_map(|line| {
                let (front, back) = line.split_once(" - ")?;
                let mut back = back.split(' ');
                let fits = back.next()? == system
                    && (option.is_empty() || back.nth(1)?.split(',').any(|word| word == option));
                fits.then(|| front.split(' ').nth(4).unwrap_or_default().to_owned())
            })
        };
        let (top, file) = match (find("cgroup", kind), find("cgroup2", "")) {
            (Some(top), _) if kind == "memory" => (top, "memory.limit_in_bytes"),
            (Some(top), _) => (top, "pids.max"),
            (None, Some(top)) if kind == "memory" => (top, "memory.max"),
            (None, Some(top)) => (top, "pids.max"),
            (None, None) => return Err("no control groups are mounted".to_owned()),
        };
        let name = format!("flower-test-{}-{kind}-{limit}", std::process::id());
        let folder = Path::new(&top).join(name);
        std::fs::create_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        let group = Self(folder);
        let set = group.0.join(file);
        std::fs::write(&set, limit.to_string())
            .map_err(|error| format!("{}: {error}", set.display()))?;
        Ok(group)
    }

    /// The same command, started in the group.
    pub fn within(&self, command: &Command) -> Command {
        let mut inside = Command::new("sh");
        inside.args(["-c", "echo $$ > \"$0\" && exec \"$@\""]).arg(self.0.join("cgroup.procs"));
        inside.arg(command.get_program()).args(command.get_args());
        if let Some(folder) = command.get_current_dir() {
            inside.current_dir(folder);
        }
        inside.env_clear();
        inside.envs(command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        inside.stdin(std::process::Stdio::null());
        inside
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The last process may still be on its way out.
        for _ in 0..500 {
            if std::fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}
