//! Judges what was looked at: fine, worth a note, or failed, and then what to do. Pure.

use std::io;
use std::path::Path;

use serde::Serialize;

use super::mount::Mount;
use crate::language::Language;
use crate::sandbox::{Kernel, Limited, Limits};
use crate::wire::Probe;
use crate::worktree::{GitError, Look};

/// Seconds that a clock may differ; beyond it, certificates and tokens become invalid.
const SKEW: i64 = 300;
/// Below it a run ends soon: its database and the agent's builds need some.
const LITTLE: u64 = 100 << 20;
/// Below it a long run may end.
const SCARCE: u64 = 1 << 30;
/// Open files and processes below which tools fail.
const FEW: u64 = 64;

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mark {
    Fine,
    Note,
    Failed,
}

impl Mark {
    pub(super) fn sign(self) -> char {
        match self {
            Self::Fine => '✓',
            Self::Note => '!',
            Self::Failed => '✗',
        }
    }
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) mark: Mark,
    pub(super) value: String,
    /// What to do; there is one for every failure.
    pub(super) remedy: Option<String>,
}

/// Where the key is.
#[derive(Debug)]
pub(super) enum Credentials {
    /// The gate adds them.
    Gate,
    Found {
        key: &'static str,
        /// Masked.
        value: String,
        origin: String,
    },
    /// The four lines.
    Missing(String),
}

/// The way to the endpoint.
#[derive(Debug)]
pub(super) struct Reach {
    /// Without a login.
    pub(super) url: String,
    pub(super) door: Option<String>,
    pub(super) opens: bool,
    pub(super) model: String,
    /// Nothing where it was not asked.
    pub(super) probe: Option<Probe>,
}

/// What a container maps.
#[derive(Debug)]
pub(super) struct Walls {
    pub(super) run_dir: Option<Mount>,
    pub(super) config: Option<Mount>,
    pub(super) git_config: Option<Mount>,
}

/// What can still be written.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) bytes: u64,
    /// Nothing where the file system does not count them.
    pub(super) files: Option<u64>,
}

/// Judges, in the person's language.
pub(super) struct Judge(pub(super) Language);

impl Judge {
    fn text(&self, key: &str, values: &[(&str, &str)]) -> String {
        self.0.text(key, values)
    }

    pub(super) fn credentials(&self, seen: &Credentials) -> Finding {
        let check = "credentials";
        match seen {
            Credentials::Gate => fine(check, self.text("doctor.credentials_gate", &[])),
            Credentials::Found { key, value, origin } => {
                fine(check, format!("{key} {value} ({origin})"))
            }
            Credentials::Missing(four_lines) => {
                failed(check, self.text("doctor.credentials_missing", &[]), four_lines.clone())
            }
        }
    }

    /// The project's file would send the key elsewhere.
    pub(super) fn distrusted(&self, sentence: &str) -> Finding {
        let value = self.text("doctor.endpoint_distrusted", &[]);
        failed("endpoint", value, sentence.to_owned())
    }

    pub(super) fn endpoint(&self, seen: &Reach) -> Finding {
        let check = "endpoint";
        let Some(door) = &seen.door else {
            let value = self.text("doctor.endpoint_unusable", &[("url", &seen.url)]);
            return failed(check, value, self.text("doctor.fix_address", &[]));
        };
        if !seen.opens {
            let value = self.text("doctor.endpoint_closed", &[("url", &seen.url), ("door", door)]);
            return failed(check, value, self.text("doctor.fix_closed", &[]));
        }
        let values = [("url", seen.url.as_str()), ("model", seen.model.as_str())];
        let said = |key: &str, reason: &str| {
            let values = [("url", seen.url.as_str()), ("reason", reason)];
            self.text(key, &values)
        };
        match &seen.probe {
            None => fine(check, self.text("doctor.endpoint_open", &values)),
            Some(Probe::Fine) => fine(check, self.text("doctor.endpoint_fine", &values)),
            Some(Probe::Rejected(reason)) => {
                failed(check, said("setup.rejected", reason), self.text("setup.hint", &[]))
            }
            Some(Probe::Misconfigured(reason)) => failed(
                check,
                said("setup.misconfigured", reason),
                self.text("doctor.fix_model", &values),
            ),
            Some(Probe::Unreachable(reason)) => failed(
                check,
                said("doctor.endpoint_down", reason),
                self.text("doctor.fix_down", &[]),
            ),
        }
    }

    /// `ahead` is in seconds, of this machine.
    pub(super) fn clock(&self, ahead: Option<i64>) -> Finding {
        let check = "clock";
        let Some(ahead) = ahead else {
            return note(check, self.text("doctor.clock_unknown", &[]), None);
        };
        let off = ahead.unsigned_abs().to_string();
        match ahead {
            -1..=1 => fine(check, self.text("doctor.clock_fine", &[])),
            _ => {
                let key = if ahead > 0 { "doctor.clock_ahead" } else { "doctor.clock_behind" };
                let value = self.text(key, &[("seconds", &off)]);
                match ahead.abs() > SKEW {
                    true => failed(check, value, self.text("doctor.fix_clock", &[])),
                    false => fine(check, value),
                }
            }
        }
    }

    pub(super) fn engine(&self, named: Option<&str>) -> Finding {
        match named {
            None | Some("auto" | "native") => {
                fine("engine", self.text("doctor.engine_native", &[]))
            }
            Some(name) => failed(
                "engine",
                self.text("doctor.engine_unknown", &[("name", name)]),
                self.text("cli.no_engine", &[("name", name)]),
            ),
        }
    }

    pub(super) fn git(&self, seen: &Result<Look, GitError>) -> Finding {
        let check = "git";
        let look = match seen {
            Ok(look) => look,
            Err(error) => {
                return failed(check, error.to_string(), self.text("doctor.fix_git", &[]));
            }
        };
        let version = &look.version;
        if look.relative && look.unreadable.is_some() {
            let value = self.text("doctor.git_relative", &[("version", version)]);
            return failed(check, value, self.text("doctor.fix_relative", &[]));
        }
        if let Some(said) = &look.unreadable {
            return failed(
                check,
                format!("{version}, {said}"),
                self.text("doctor.fix_git_said", &[]),
            );
        }
        let nobody = || self.text("doctor.git_nobody", &[]);
        let identity = look.identity.clone().unwrap_or_else(nobody);
        let place = match (look.repository, look.relative) {
            (false, _) => self.text("doctor.git_no_repository", &[]),
            (true, true) => self.text("doctor.git_relative_known", &[]),
            (true, false) => self.text("doctor.git_repository", &[]),
        };
        let value = format!("{version}, {identity}, {place}");
        if look.identity.is_none() {
            return note(check, value, Some(self.text("doctor.fix_identity", &[])));
        }
        match look.repository {
            true => fine(check, value),
            false => note(check, value, Some(self.text("doctor.fix_repository", &[]))),
        }
    }

    pub(super) fn sandbox(&self, kernel: Kernel, interface: u8, boxed: bool) -> Finding {
        let check = "sandbox";
        let interface = interface.to_string();
        let value = |key: &str| self.text(key, &[("version", &interface)]);
        match (kernel, boxed) {
            (Kernel::Signals, _) => fine(check, value("doctor.sandbox_all")),
            (Kernel::Files, _) => {
                let remedy = self.text("doctor.fix_signals", &[]);
                note(check, value("doctor.sandbox_files"), Some(remedy))
            }
            (Kernel::Nothing, true) => note(check, value("doctor.sandbox_box"), None),
            (Kernel::Nothing, false) => {
                failed(check, value("doctor.sandbox_none"), self.text("doctor.fix_sandbox", &[]))
            }
        }
    }

    /// Nothing is said of mounts outside of a container.
    pub(super) fn walls(&self, seen: Option<&Walls>) -> Finding {
        let check = "mounts";
        let Some(walls) = seen else {
            return fine(check, self.text("doctor.mounts_outside", &[]));
        };
        let passes = walls.run_dir.as_ref().is_none_or(Mount::passes);
        let kept = |yes: &str, no: &str, good: bool| self.text(if good { yes } else { no }, &[]);
        let mut parts = vec![kept("doctor.mounts_run", "doctor.mounts_no_run", !passes)];
        parts.push(match &walls.config {
            Some(_) => self.text("doctor.mounts_config", &[]),
            None => self.text("doctor.mounts_no_config", &[]),
        });
        let open = walls.git_config.as_ref().is_some_and(|mount| !mount.read_only);
        if walls.git_config.is_some() {
            parts.push(kept("doctor.mounts_git", "doctor.mounts_no_git", !open));
        }
        let value = parts.join(", ");
        if passes {
            return failed(check, value, self.text("doctor.fix_mounts", &[]));
        }
        match open {
            true => note(check, value, Some(self.text("doctor.fix_git_config", &[]))),
            false => fine(check, value),
        }
    }

    pub(super) fn disk(&self, what: &str, path: &Path, seen: &io::Result<Room>) -> Finding {
        let check = "disk";
        let what = self.text(&format!("doctor.disk_of_{what}"), &[]);
        let path = path.display().to_string();
        let values = |said: &str| format!("{what} {path}: {said}");
        let room = match seen {
            Ok(room) => room,
            Err(error) => {
                let remedy = self.text("doctor.fix_folder", &[("path", &path)]);
                return failed(check, values(&error.to_string()), remedy);
            }
        };
        let free = format!("{} MiB", room.bytes >> 20);
        let value = values(&self.text("doctor.disk_free", &[("free", &free)]));
        let remedy = self.text("doctor.fix_disk", &[("path", &path)]);
        match (room.bytes, room.files) {
            (_, Some(0)) => failed(check, values(&self.text("doctor.disk_no_files", &[])), remedy),
            (..LITTLE, _) => failed(check, value, remedy),
            (..SCARCE, _) => note(check, value, Some(remedy)),
            _ => fine(check, value),
        }
    }

    /// `rows` are the limits in words, in columns.
    pub(super) fn limits(&self, limits: &Limits, rows: &[String]) -> Finding {
        let none = self.text("limits.none", &[]);
        let there = rows.iter().filter(|row| !row.contains(&none));
        let value: Vec<_> = there.map(|row| row.replace('\t', " ")).collect();
        let value = value.join("; ");
        let few = |limit: Option<u64>| limit.is_some_and(|limit| limit < FEW);
        let full = limits
            .processes
            .limit
            .zip(limits.processes.used)
            .is_some_and(|(limit, used)| limit.saturating_sub(used) < FEW / 2);
        match few(limits.open_files) || few(limits.limit(Limited::Processes)) || full {
            true => failed("limits", value, self.text("doctor.fix_limits", &[])),
            false => fine("limits", value),
        }
    }
}

fn fine(check: &'static str, value: String) -> Finding {
    Finding { check, mark: Mark::Fine, value, remedy: None }
}

fn note(check: &'static str, value: String, remedy: Option<String>) -> Finding {
    Finding { check, mark: Mark::Note, value, remedy }
}

fn failed(check: &'static str, value: String, remedy: String) -> Finding {
    Finding { check, mark: Mark::Failed, value, remedy: Some(remedy) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Bound;

    const JUDGE: Judge = Judge(Language::English);

    fn reach(probe: Option<Probe>) -> Reach {
        let (url, model) = ("http://h".to_owned(), "m".to_owned());
        Reach { url, door: Some("h:80".into()), opens: true, model, probe }
    }

    #[test]
    fn an_endpoint_must_open_take_the_key_and_know_the_model() {
        let mark = |reach: Reach| JUDGE.endpoint(&reach).mark;
        assert_eq!(mark(reach(None)), Mark::Fine);
        assert_eq!(mark(reach(Some(Probe::Fine))), Mark::Fine);
        for no in [Probe::Rejected, Probe::Misconfigured, Probe::Unreachable] {
            let finding = JUDGE.endpoint(&reach(Some(no("why so".into()))));
            assert!(finding.mark == Mark::Failed && finding.value.contains("why so"));
        }
        assert_eq!(mark(Reach { opens: false, ..reach(None) }), Mark::Failed);
        assert_eq!(mark(Reach { door: None, opens: false, ..reach(None) }), Mark::Failed);
    }

    #[test]
    fn five_minutes_are_the_limit_of_a_clock_in_both_directions() {
        let mark = |ahead| JUDGE.clock(ahead).mark;
        assert_eq!([0, 1, 300, -300].map(|ahead| mark(Some(ahead))), [Mark::Fine; 4]);
        assert_eq!([301, -301, i64::MAX].map(|ahead| mark(Some(ahead))), [Mark::Failed; 3]);
        assert_eq!(mark(None), Mark::Note);
    }

    #[test]
    fn a_disk_needs_room_and_files_and_must_be_writable() {
        let disk = |seen: io::Result<Room>| JUDGE.disk("temp", Path::new("/x"), &seen).mark;
        let room = |bytes, files| Ok(Room { bytes, files });
        assert_eq!(disk(room(2 << 30, None)), Mark::Fine);
        assert_eq!(disk(room(2 << 30, Some(9))), Mark::Fine);
        assert_eq!(disk(room(2 << 30, Some(0))), Mark::Failed);
        assert_eq!(disk(room(200 << 20, None)), Mark::Note);
        assert_eq!(disk(room(99 << 20, None)), Mark::Failed);
        assert_eq!(disk(Err(io::ErrorKind::PermissionDenied.into())), Mark::Failed);
    }

    fn look() -> Look {
        Look {
            version: "2.47.1".into(),
            identity: Some("A <a@b>".into()),
            repository: true,
            relative: false,
            unreadable: None,
        }
    }

    #[test]
    fn git_must_be_there_and_read_the_repository() {
        let mark = |look: Look| JUDGE.git(&Ok(look)).mark;
        assert_eq!(mark(look()), Mark::Fine);
        assert_eq!(mark(Look { relative: true, ..look() }), Mark::Fine);
        assert_eq!(mark(Look { identity: None, ..look() }), Mark::Note);
        assert_eq!(mark(Look { repository: false, ..look() }), Mark::Note);
        let said = Some("unknown extension".to_owned());
        assert_eq!(mark(Look { unreadable: said, relative: true, ..look() }), Mark::Failed);
        assert_eq!(JUDGE.git(&Err(GitError::Missing)).mark, Mark::Failed);
    }

    #[test]
    fn the_sandbox_and_the_walls_of_a_box_are_judged_together() {
        let sandbox = |kernel, boxed| JUDGE.sandbox(kernel, 3, boxed).mark;
        assert_eq!(sandbox(Kernel::Signals, false), Mark::Fine);
        assert_eq!(sandbox(Kernel::Files, false), Mark::Note);
        assert_eq!(sandbox(Kernel::Nothing, true), Mark::Note);
        assert_eq!(sandbox(Kernel::Nothing, false), Mark::Failed);
        let mount = |kind: &str, read_only| {
            Some(Mount { at: "/x".into(), read_only, kind: kind.to_owned() })
        };
        let walls = |run_dir, git_config| {
            JUDGE.walls(Some(&Walls { run_dir, config: None, git_config })).mark
        };
        assert_eq!(JUDGE.walls(None).mark, Mark::Fine);
        assert_eq!(walls(mount("ext4", false), mount("ext4", true)), Mark::Fine);
        assert_eq!(walls(mount("ext4", false), None), Mark::Fine);
        assert_eq!(walls(mount("ext4", false), mount("ext4", false)), Mark::Note);
        assert_eq!(walls(mount("overlay", false), mount("ext4", true)), Mark::Failed);
        assert_eq!(walls(None, None), Mark::Failed);
    }

    #[test]
    fn limits_that_leave_no_room_for_tools_fail() {
        let mark = |limits: Limits| JUDGE.limits(&limits, &[]).mark;
        assert_eq!(mark(Limits::default()), Mark::Fine);
        assert_eq!(mark(Limits { open_files: Some(20), ..Limits::default() }), Mark::Failed);
        let processes = Bound { limit: Some(100), used: Some(90) };
        assert_eq!(mark(Limits { processes, ..Limits::default() }), Mark::Failed);
    }

    #[test]
    fn an_engine_and_credentials_that_are_not_there_fail() {
        assert_eq!(JUDGE.engine(None).mark, Mark::Fine);
        assert_eq!(JUDGE.engine(Some("other")).mark, Mark::Failed);
        assert_eq!(JUDGE.credentials(&Credentials::Gate).mark, Mark::Fine);
        let missing = JUDGE.credentials(&Credentials::Missing("1\n2\n3\n4".into()));
        assert!(missing.mark == Mark::Failed && missing.remedy.unwrap().lines().count() == 4);
    }
}
