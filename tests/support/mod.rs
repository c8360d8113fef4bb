//! Says what was skipped and why, where `.ci/run` can find it.

// Each story is a program of its own and may skip nothing.
#![allow(dead_code, unreachable_pub, clippy::print_stdout)]

use std::io::Write as _;

/// Tells that a test could not do its work here, since `what` is missing.
///
/// The line goes to standard output and, since cargo keeps that to itself when a test passes, to the
/// end of the file that `FLOWER_SKIP_LOG` names.
pub fn skip(what: &str, why: &str) {
    let line = format!("skipped: {what}: {why}\n");
    print!("{line}");
    if let Some(path) = std::env::var_os("FLOWER_SKIP_LOG").filter(|path| !path.is_empty()) {
        let opened = std::fs::OpenOptions::new().create(true).append(true).open(&path);
        // One write, so that lines of tests that run at the same time stay whole.
        let written = opened.and_then(|mut file| file.write_all(line.as_bytes()));
        written.unwrap_or_else(|error| panic!("FLOWER_SKIP_LOG: {}: {error}", path.display()));
    }
}
