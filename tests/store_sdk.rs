//! The official Python SDK's own checks of a session store, run against ours.
//!
//! `FLOWER_TEST_PYTHON` names a Python that has the package `claude_agent_sdk`; else the test makes a
//! virtual environment in the cache folder once. Where neither works it says so and passes.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;
use std::process::Command;

#[path = "support/python.rs"]
mod python;
#[path = "support/mod.rs"]
mod support;

/// Without the program that the ready-made package brings along, which is large and not needed.
const SDK: python::Package = python::Package {
    name: "claude-agent-sdk",
    module: "claude_agent_sdk.testing",
    version: "0.2.189",
    options: &["--no-binary", "claude-agent-sdk"],
};

#[test]
fn the_official_sdk_finds_nothing_wrong_with_our_store() {
    let python = match SDK.python() {
        Ok(python) => python,
        Err(why) => return support::skip("official Python SDK", &why),
    };
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/python/store.py"))
        .arg(env!("CARGO_BIN_EXE_flower"))
        .arg(folder.path())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_eq!(said, "");
}
