//! What a killed flower leaves in the temporary folder goes away with a later one; what is used stays.

use std::path::Path;
use std::process::Stdio;

use crate::house::{House, ends_with};

/// The temporary folders of flower's own.
fn scratch(folder: &Path) -> usize {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name());
    entries.filter(|name| name.to_string_lossy().starts_with("flower-scratch-")).count()
}

#[test]
fn a_temporary_folder_outlives_its_killed_owner_only_until_the_next_run() {
    let house = House::new();
    // The project lies in the temporary folder, so tools get one of their own in there.
    let temp = house.home.parent().unwrap().to_owned();
    let slow =
        "  - match: {}\n    times: 2\n    reply: {text: never}\n    delay_ms: 60000\n".to_owned();
    let gate = house.gate(&(slow + "  - match: {}\n    repeat: true\n    reply: {text: hello}\n"));
    let mut runs = Vec::new();
    for count in 1..=2 {
        let mut run = house.flower_at(&gate, &["once", "x"]);
        run.env("TMPDIR", &temp).stdout(Stdio::null()).stderr(Stdio::null());
        let mut run = run.spawn().unwrap();
        while gate.requests().len() < count && run.try_wait().unwrap().is_none() {
            std::thread::yield_now();
        }
        runs.push(run);
    }
    assert_eq!(scratch(&temp), 2);
    let mut killed = runs.remove(0);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(scratch(&temp), 2, "nobody could remove it");
    ends_with(house.flower_at(&gate, &["once", "x"]).env("TMPDIR", &temp), 0);
    assert_eq!(scratch(&temp), 1, "that of the run that lives");
    let mut lives = runs.remove(0);
    lives.kill().unwrap();
    lives.wait().unwrap();
}
