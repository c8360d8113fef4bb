//! Settings are found in the box where they are outside.

use crate::house::{ends_with, stderr, stdout};
use crate::{CANARY, Yard, yard};

impl Yard {
    fn home_file(&self, name: &str, text: &str) {
        let path = self.house.home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
}

#[test]
fn settings_are_the_same_inside_and_outside() {
    let Some(yard) = yard() else { return };
    yard.home_file(
        ".claude/settings.json",
        r#"{"env": {"ANTHROPIC_AUTH_TOKEN": "borrowed-token-1"}}"#,
    );
    yard.home_file(
        ".config/flower/.env",
        "ANTHROPIC_MODEL=from-user\nFLOWER_WINDOW=1\nMINE=user\n",
    );
    yard.house.write(".env", "FLOWER_WINDOW=150000\nMINE=project\n");
    let values = |output: &std::process::Output| -> Vec<String> {
        let own = |line: &&str| !line.starts_with("FLOWER_ENV\t");
        let value = |line: &str| line.split('\t').take(2).collect::<Vec<_>>().join("=");
        stdout(output).lines().filter(own).map(value).collect()
    };
    let inside = ends_with(yard.wrapper(&["config"]).env_remove("ANTHROPIC_API_KEY"), 0);
    let mut here = yard.house.patient(&["config"]);
    // As for the wrapper, which is started with it.
    let outside = ends_with(here.env("FLOWER_NO_HANDOVER", "1"), 0);
    assert_eq!(values(&inside), values(&outside), "{}", stderr(&inside));
    let said = stdout(&inside);
    assert!(
        said.contains("150000") && said.contains("from-user") && said.contains("MINE\tproject"),
        "{said}"
    );
    assert!(!said.contains("ANTHROPIC_AUTH_TOKEN\t\t"), "{said}");
}

#[test]
fn a_key_of_the_environment_is_one_inside_too() {
    let Some(yard) = yard() else { return };
    yard.git_init();
    // Redirects the key unless that is the environment's own.
    yard.house.write(".env", "ANTHROPIC_BASE_URL=https://elsewhere.invalid\n");
    yard.git(&["add", "-f", ".env"]);
    yard.give_away();
    let inside = |words: &[&str]| yard.wrapper(words);
    let outside = |words: &[&str]| {
        let mut command = yard.house.patient(words);
        command.env("ANTHROPIC_API_KEY", CANARY);
        command
    };
    let own = ["config", "ANTHROPIC_API_KEY"];
    let said = stdout(&ends_with(&mut inside(&own), 0));
    assert!(said.contains("environment") && !said.contains(CANARY), "{said}");
    assert_eq!(said, stdout(&ends_with(&mut outside(&own), 0)));
    let check = ["config", "--check"];
    let said = stdout(&ends_with(&mut inside(&check), 0));
    assert_eq!(said, stdout(&ends_with(&mut outside(&check), 0)));

    yard.home_file(".config/flower/.env", "ANTHROPIC_API_KEY=of-a-file\n");
    let mut inside = inside(&check);
    let said = stdout(&ends_with(inside.env_remove("ANTHROPIC_API_KEY"), 1));
    assert!(said.contains("ANTHROPIC_BASE_URL"), "{said}");
    let mut outside = outside(&check);
    assert_eq!(said, stdout(&ends_with(outside.env_remove("ANTHROPIC_API_KEY"), 1)));

    // Agreed to in the box, it is agreed to outside.
    let mut trust = yard.wrapper(&["config", "trust"]);
    ends_with(trust.env_remove("ANTHROPIC_API_KEY"), 0);
    let gate = yard.gate("  - match: {}\n    reply: {text: done}\n");
    let mut run = yard.house.patient(&["once", "x"]);
    run.env("FLOWER_GATE", format!("http://127.0.0.1:{}", gate.port));
    let said = stderr(&ends_with(&mut run, 0));
    assert!(!said.contains("redirect"), "{said}");
}

#[test]
fn the_token_of_claudes_settings_is_enough() {
    let Some(yard) = yard() else { return };
    let gate = yard.gate("  - match: {}\n    reply: {text: done}\n");
    let settings = format!(
        r#"{{"env": {{"ANTHROPIC_AUTH_TOKEN": "{CANARY}", "ANTHROPIC_BASE_URL": "{}"}}}}"#,
        gate.url()
    );
    yard.home_file(".claude/settings.json", &settings);
    let mut run = yard.wrapper(&["once", "x"]);
    ends_with(run.env_remove("ANTHROPIC_API_KEY").env("FLOWER_NO_PROBE", "1"), 0);
    assert_eq!(gate.requests().len(), 1);
}
