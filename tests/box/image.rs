//! What the image is, and what it is not.

use std::process::Stdio;

use crate::house::{ends_with, stderr, stdout};
use crate::{CANARY, IMAGE, Yard, yard};

#[test]
fn the_image_is_for_nobody_in_particular_and_says_what_it_is() {
    let Some(yard) = yard() else { return };
    let format = "{{.Config.User}} {{index .Config.Labels \"flower.source-hash\"}} {{index .Config.Labels \"org.opencontainers.image.version\"}} {{.Size}}";
    let about = stdout(&yard.docker(&["image", "inspect", "-f", format, IMAGE]).output().unwrap());
    let about: Vec<&str> = about.split_whitespace().collect();
    assert_eq!(about[0], "1000:1000");
    assert_eq!(about[1].len(), 64);
    assert_eq!(about[2], env!("CARGO_PKG_VERSION"));
    assert!(about[3].parse::<u64>().unwrap() < 120_000_000, "{about:?}");
    let fences = ["run", "--rm", "--read-only", "--cap-drop=ALL", "--network=none", "--user=31:32"];
    let mut run = yard.docker(&fences);
    run.args(["--tmpfs", "/tmp", "--tmpfs", "/home/flower:exec", IMAGE, "demo"]);
    ends_with(&mut run, 0);
}

/// `docker/build` in a checkout that holds keys, as does the environment.
fn build(yard: &Yard, name: &str) -> std::process::Command {
    let checkout = yard.house.home.join("checkout");
    if !checkout.exists() {
        let copy = format!(
            "mkdir \"$1\" && cd '{}' && cp -R Cargo.toml Cargo.lock rust-toolchain.toml src flowerbox docker \"$1\"",
            env!("CARGO_MANIFEST_DIR")
        );
        ends_with(yard.house.command("sh").args(["-c", &copy, "sh"]).arg(&checkout), 0);
        for file in [".env", "flowerbox/.env", "src/.env"] {
            std::fs::write(checkout.join(file), format!("ANTHROPIC_API_KEY={CANARY}\n")).unwrap();
        }
    }
    let mut command = yard.house.command(checkout.join("docker/build").to_str().unwrap());
    command
        .env("DOCKER_HOST", &yard.engine)
        .env("FLOWERBOX_ENGINE", "docker")
        .env("FLOWER_IMAGE", name)
        .env("ANTHROPIC_API_KEY", CANARY);
    for variable in ["FLOWERBOX_BASE", "FLOWERBOX_BINARY"] {
        if let Some(value) = std::env::var_os(variable) {
            command.env(variable, value);
        }
    }
    command
}

#[test]
fn no_key_gets_into_a_layer_and_the_claude_program_does_if_asked() {
    let Some(yard) = yard() else { return };
    let name = format!("flowerbox-story-{}", std::process::id());
    let program = yard.house.home.join("claude");
    std::fs::write(&program, "#!/bin/sh\necho claude of the story\n").unwrap();
    ends_with(build(&yard, &name).env("FLOWERBOX_CLAUDE", &program), 0);
    let holds = |what: &str| {
        let mut save = yard.docker(&["save", &name]).stdout(Stdio::piped()).spawn().unwrap();
        let mut grep = yard.house.command("grep");
        grep.args(["-a", "-c", "-F", "-e", what]).stdin(save.stdout.take().unwrap());
        let count = stdout(&grep.output().unwrap());
        assert!(save.wait().unwrap().success());
        count.trim() != "0"
    };
    assert!(holds("claude of the story"), "what is in a layer is found");
    assert!(!holds(CANARY));
    let about = ["image", "inspect", name.as_str()];
    let history = ["history", "--no-trunc", name.as_str()];
    for words in [&about[..], &history] {
        assert!(!stdout(&yard.docker(words).output().unwrap()).contains(CANARY));
    }
    let inside = |program: &str, word: &str| {
        let words = ["run", "--rm", "--network=none", "--entrypoint", program, &name, word];
        stdout(&ends_with(&mut yard.docker(&words), 0))
    };
    assert_eq!(inside("claude", "--version"), "claude of the story\n");
    let plugin = inside("cat", "/opt/flower/plugin/.claude-plugin/plugin.json");
    assert!(plugin.contains("\"flowerbox\""), "{plugin}");
    assert!(
        inside("cat", "/opt/flower/plugin/skills/flowerbox/SKILL.md").starts_with("---\nname:")
    );
    ends_with(&mut yard.docker(&["rmi", &name]), 0);
}

#[test]
fn packages_need_a_base_that_can_install_them() {
    let Some(yard) = yard() else { return };
    if std::env::var_os("FLOWERBOX_BASE").is_none() {
        return crate::support::skip("packages of the image", "FLOWERBOX_BASE names no base");
    }
    let mut build = build(&yard, "flowerbox-never");
    let said = stderr(&ends_with(build.env("FLOWERBOX_PACKAGES", "python3 make"), 1));
    assert!(said.contains("no apt-get to install: python3 make"), "{said}");
}
