//! Processes that write to one session store and are killed at any moment take nothing along.

#![allow(clippy::print_stdout, reason = "a test tells its seed")]

#[path = "support/kill.rs"]
mod kill;

#[test]
fn what_was_acknowledged_survives_twenty_rounds_of_killing() {
    let seed = kill::seed();
    println!("FLOWER_TEST_SEED={seed} repeats this");
    let folder = tempfile::tempdir().expect("a folder can be made");
    let stored = kill::rounds(folder.path(), seed, 20);
    assert!(stored > 1000, "only {stored} entries were acknowledged before the kills");
}
