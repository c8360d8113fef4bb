//! The first command of a newcomer, and that its result cannot be faked.

use crate::house::{House, ends_with, stdout};

#[test]
fn the_demo_brings_a_failing_suite_home() {
    let house = House::new();
    let output = ends_with(&mut house.flower(&["demo"]), 0);
    let said = stdout(&output);
    assert!(said.contains("flower-demo"), "says where the results are: {said}");
}
