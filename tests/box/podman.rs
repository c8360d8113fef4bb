//! The same box with podman, where `.ci/run` has made it ready.

use std::os::unix::fs::MetadataExt as _;
use std::process::Command;

use crate::house::{ends_with, stderr, stdout};
use crate::{CANARY, IMAGE, Yard, below, support, yard};

/// Nothing where podman is not ready: it needs a configuration for this machine and the image.
fn ready() -> Option<Yard> {
    let yard = yard()?;
    if std::env::var_os("FLOWER_TEST_PODMAN").is_none() {
        support::skip("podman stories", "FLOWER_TEST_PODMAN is not set");
        return None;
    }
    Some(yard)
}

/// A program with podman's configuration for this machine.
fn configured(mut command: Command) -> Command {
    for name in ["CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF"] {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}

fn wrapper(yard: &Yard, words: &[&str]) -> Command {
    let mut command = configured(yard.wrapper(words));
    command.env("FLOWERBOX_ENGINE", "podman").env("FLOWER_IMAGE", format!("localhost/{IMAGE}"));
    // Its way to the host has a name of its own.
    command.env_remove("FLOWERBOX_ARGS");
    command
}

#[test]
fn the_demo_runs_with_podman_and_its_files_belong_to_the_projects_owner() {
    let Some(yard) = ready() else { return };
    ends_with(wrapper(&yard, &["demo"]).env("FLOWERBOX_NETWORK", "none"), 0);
    let mut found = Vec::new();
    below(&yard.house.project, &mut found);
    assert!(found.iter().any(|path| path.ends_with("flower-demo/runs/manifest.json")), "{found:?}");
    for path in found {
        assert_eq!(path.symlink_metadata().unwrap().uid(), yard.owner, "{}", path.display());
    }
}

#[test]
fn with_podman_settings_and_codes_pass_and_no_container_stays() {
    let Some(yard) = ready() else { return };
    let output = ends_with(&mut wrapper(&yard, &["config", "ANTHROPIC_API_KEY"]), 0);
    let said = stdout(&output);
    assert!(said.contains("environment") && !said.contains(CANARY), "{said}");
    let wrong = ends_with(&mut wrapper(&yard, &["config", "--no-such-flag"]), 2);
    assert!(stderr(&wrong).contains("--no-such-flag"));
    let list = ["ps", "-a", "--format", "{{.Names}} {{.Mounts}}"];
    let mut podman = configured(yard.house.command("podman"));
    let left = stdout(&ends_with(podman.args(list), 0));
    assert!(!left.contains(yard.house.project.to_str().unwrap()), "{left}");
}
