//! The binary that goes into the image needs nothing of the system that it runs on.
#![allow(clippy::unwrap_used)]

#[path = "support/mod.rs"]
mod support;

use std::path::PathBuf;
use std::process::Command;

/// The binary that `.ci/run` has built; a build for another target takes too long for a test.
fn binary() -> Option<PathBuf> {
    let given = std::env::var_os("FLOWER_STATIC_BINARY").filter(|path| !path.is_empty());
    if given.is_none() {
        support::skip("static binary", "FLOWER_STATIC_BINARY names none");
    }
    given.map(PathBuf::from)
}

fn said(program: &str, about: &PathBuf) -> Option<String> {
    let output = Command::new(program).arg(about).output().ok()?;
    let text = [output.stdout, output.stderr].concat();
    Some(String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn it_is_linked_with_no_library_of_the_system() {
    let Some(binary) = binary() else { return };
    match said("ldd", &binary) {
        Some(text) => assert!(
            text.contains("statically linked") || text.contains("not a dynamic executable"),
            "{text}"
        ),
        None => support::skip("static binary", "no ldd"),
    }
    match said("file", &binary) {
        Some(text) => {
            assert!(
                text.contains("static-pie linked") || text.contains("statically linked"),
                "{text}"
            );
            assert!(text.contains("stripped") && !text.contains("not stripped"), "{text}");
        }
        None => support::skip("static binary", "no file"),
    }
    let size = std::fs::metadata(&binary).unwrap().len();
    assert!(size < 25 << 20, "{size} bytes");
}

#[test]
fn the_demo_runs_with_it() {
    let Some(binary) = binary() else { return };
    let folder = tempfile::tempdir().unwrap();
    let output = Command::new(binary)
        .args(["demo", "here"])
        .current_dir(folder.path())
        .env("HOME", folder.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(folder.path().join("here/runs/manifest.json").exists());
}
