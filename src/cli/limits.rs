//! Limits of the machine in words: those that were found, and the one that ended something.

use std::io::Write;

use super::assemble::House;
use super::exit::{Ending, FAILED};
use crate::language::Language;
use crate::sandbox::{Hit, Limited, Limits};

/// `flower config limits`: each limit with what is used of it, and what follows from them.
pub(super) fn list(house: &House, out: &mut dyn Write) -> std::io::Result<()> {
    for row in rows(house) {
        writeln!(out, "{row}")?;
    }
    Ok(())
}

/// A line for each.
pub(super) fn rows(house: &House) -> Vec<String> {
    let limits = Limits::look();
    let language = house.language;
    let mut rows = Vec::new();
    let mut row = |name: &str, limit: Option<String>, used: Option<String>| {
        let none = || language.text("limits.none", &[]);
        let name = language.text(&format!("limits.name_{name}"), &[]);
        let used = used.map(|used| language.text("limits.used", &[("used", &used)]));
        let used = used.unwrap_or_default();
        rows.push(format!("{name}\t{}\t{used}", limit.unwrap_or_else(none)).trim_end().to_owned());
    };
    let number = |number: u64| number.to_string();
    row("memory", limits.memory.limit.map(bytes), limits.memory.used.map(bytes));
    row("processes", limits.processes.limit.map(number), limits.processes.used.map(number));
    row("user_processes", limits.user_processes.map(number), None);
    row("processors", limits.processors.map(|count| format!("{count:.1}")), None);
    row("open_files", limits.open_files.map(number), None);
    row("file_size", limits.file_size.map(bytes), None);
    row("processor_time", limits.processor_time.map(|seconds| format!("{seconds} s")), None);
    row("parallel", Some(house.parallel().to_string()), None);
    rows
}

/// What a limit that was hit is said as; `of` is [`Limited::name`].
pub(super) fn hit_text(of: &str, limit: Option<u64>, language: Language) -> String {
    let limit = match limit {
        None => language.text("limits.unknown", &[]),
        Some(limit) if of == Limited::Memory.name() || of == Limited::FileSize.name() => {
            bytes(limit)
        }
        Some(limit) => limit.to_string(),
    };
    language.text(&format!("limits.hit_{of}"), &[("limit", &limit)])
}

/// How a run ends that a limit of the machine ended.
pub(super) fn ending(hit: Hit, sentence: &str, language: Language) -> Ending {
    let limit = hit_text(hit.what.name(), hit.limit, language);
    let sentence = format!("{sentence}\n{limit}").trim_start().to_owned();
    Ending { code: FAILED, outcome: "failed", class: "machine_limit", sentence }
}

/// The limit of the machine behind an error, if there is one.
pub(super) fn behind(error: &anyhow::Error) -> Option<Hit> {
    error.chain().find_map(|cause| Hit::behind(cause.downcast_ref::<std::io::Error>()?))
}

fn bytes(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

#[cfg(test)]
mod tests {
    use anyhow::Context as _;
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn every_limit_has_its_sentence_in_every_language() {
        for what in [
            Limited::Memory,
            Limited::Processes,
            Limited::OpenFiles,
            Limited::FileSize,
            Limited::ProcessorTime,
            Limited::Disk,
        ] {
            for language in Language::ALL {
                let text = hit_text(what.name(), Some(64 << 20), language);
                assert!(!text.starts_with("limits."), "{text}");
            }
        }
        let text = hit_text("memory", Some(64 << 20), Language::English);
        assert!(text.contains("64 MiB"), "{text}");
    }

    #[test]
    fn a_limit_is_found_behind_what_was_said_about_it() {
        let full: std::io::Result<()> = Err(Errno::NOSPC.into());
        let error = full.context("/runs").context("the run folder").unwrap_err();
        let ending = ending(behind(&error).unwrap(), &format!("{error:#}"), Language::English);
        assert_eq!((ending.code, ending.class), (1, "machine_limit"));
        assert!(
            ending.sentence.starts_with("the run folder: /runs:")
                && ending.sentence.lines().count() == 2
        );
        assert_eq!(behind(&anyhow::anyhow!("x")), None);
    }
}
