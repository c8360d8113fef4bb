//! What reaches whom of `.env` files and the environment.

use crate::house::{House, ends_with, stderr, stdout, tool_results};

const PRINT_ENVIRONMENT: &str = concat!(
    "  - match: {turn: 0}\n    reply: {tools: [{name: Bash, input: {command: env}}]}\n",
    "  - match: {turn: 1}\n    reply: {text: seen}\n",
);

#[test]
fn a_variable_reaches_the_agents_shell_and_the_nine_keys_do_not() {
    let house = House::new();
    let gate = house.gate(PRINT_ENVIRONMENT);
    house.write(
        ".env",
        format!(
            "FOO=bar\nANTHROPIC_API_KEY=sk-canary-1\nANTHROPIC_AUTH_TOKEN=canary-2\nANTHROPIC_BASE_URL={}\nANTHROPIC_MODEL=m-1\nANTHROPIC_DEFAULT_OPUS_MODEL=m-2\nANTHROPIC_DEFAULT_SONNET_MODEL=m-3\nANTHROPIC_DEFAULT_HAIKU_MODEL=m-4\nCLAUDE_CODE_SUBAGENT_MODEL=m-5\nCLAUDE_CODE_EFFORT_LEVEL=low\nFLOWER_WINDOW=1000\n",
            gate.url
        ),
    );
    ends_with(&mut house.flower(&["once", "look", "--tools", "Bash"]), 0);
    let requests = gate.requests();
    let (_, _, environment) = tool_results(&requests[1]).pop().unwrap();
    assert!(environment.contains("FOO=bar"), "{environment}");
    for hidden in ["canary", "ANTHROPIC_", "CLAUDE_CODE_", "FLOWER_", "m-5"] {
        assert!(!environment.contains(hidden), "{hidden} in {environment}");
    }
    assert!(!gate.log().contains("canary"), "the log keeps no key");
    for file in ["manifest.json", "sessions.db"] {
        let bytes = std::fs::read(house.project.join("runs").join(file)).unwrap();
        assert!(!String::from_utf8_lossy(&bytes).contains("canary"), "{file}");
    }
}

#[test]
fn a_token_of_the_user_works_with_only_a_base_url_in_the_project() {
    let house = House::new();
    let gate = house.gate("  - match: {model: m-main}\n    reply: {text: hello}\n");
    let user = house.home.join(".config/flower");
    std::fs::create_dir_all(&user).unwrap();
    std::fs::write(user.join(".env"), "ANTHROPIC_AUTH_TOKEN=tok-of-the-user\n").unwrap();
    house.write(".env", format!("ANTHROPIC_BASE_URL={}\nANTHROPIC_MODEL=m-main\n", gate.url));
    let output = ends_with(&mut house.flower(&["once", "hi"]), 0);
    assert_eq!(stdout(&output), "hello\n");
    let warning = stderr(&output);
    assert!(warning.contains(".config/flower/.env"), "one warning names both files: {warning}");
    assert!(warning.contains("project/.env"), "{warning}");
    assert!(!warning.contains("tok-of-the-user"));
}

#[test]
fn a_tracked_env_that_redirects_stops_the_run() {
    let house = House::new();
    let gate = house.gate("  - match: {}\n    reply: {text: hello}\n");
    let user = house.home.join(".config/flower");
    std::fs::create_dir_all(&user).unwrap();
    std::fs::write(user.join(".env"), "ANTHROPIC_AUTH_TOKEN=tok-of-the-user\n").unwrap();
    house.git(&["init", "-q"]);
    house.write(".env", format!("ANTHROPIC_BASE_URL={}\n", gate.url));
    house.git(&["add", ".env"]);
    for words in [&["once", "hi"][..], &["go", "hi"][..]] {
        let output = ends_with(&mut house.flower(words), 1);
        let said = stderr(&output);
        assert!(said.contains("FLOWER_TRUST_PROJECT=1"), "{said}");
        assert!(said.contains("ANTHROPIC_BASE_URL"), "{said}");
    }
    assert!(gate.requests().is_empty());
    assert!(!house.exists("runs"), "nothing half written");
    // In a file it does not count; the file could bring its own permission.
    house.write(".env", format!("ANTHROPIC_BASE_URL={}\nFLOWER_TRUST_PROJECT=1\n", gate.url));
    ends_with(&mut house.flower(&["once", "hi"]), 1);
    ends_with(house.flower(&["once", "hi"]).env("FLOWER_TRUST_PROJECT", "1"), 0);
}

#[test]
fn an_env_file_that_cannot_be_read_is_skipped_with_a_warning() {
    let house = House::new();
    let gate = house.gate("  - match: {}\n    repeat: true\n    reply: {text: hello}\n");
    house.write(".env", b"FOO=\xff\xfe\n");
    let output = ends_with(&mut house.flower_at(&gate, &["once", "hi"]), 0);
    assert!(stderr(&output).contains(".env"), "{}", stderr(&output));
    assert_eq!(stdout(&output), "hello\n");
}

#[test]
fn without_credentials_four_lines_say_where_flower_looked() {
    let house = House::new();
    for words in [&["once", "hi"][..], &["go", "hi"][..]] {
        let output = ends_with(&mut house.flower(words), 1);
        let said = stderr(&output);
        assert_eq!(said.lines().count(), 4, "{said}");
        for name in
            ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "flower setup", ".config/flower/.env"]
        {
            assert!(said.contains(name), "{name} in {said}");
        }
    }
    assert!(!house.exists("runs"));
}

#[test]
fn config_shows_every_key_with_value_and_origin() {
    let house = House::new();
    house.write(".env", "FOO=bar\nANTHROPIC_API_KEY=sk-ant-secret-canary-1234\n");
    let one = ends_with(&mut house.flower(&["config", "FOO"]), 0);
    assert!(stdout(&one).contains("bar") && stdout(&one).contains(".env:1"), "{}", stdout(&one));
    let all = stdout(&ends_with(&mut house.flower(&["config"]), 0));
    assert!(all.contains("FOO") && all.contains("FLOWER_RETRY_BASE"), "{all}");
    assert!(!all.contains("secret-canary"), "{all}");
    ends_with(&mut house.flower(&["config", "NO_SUCH_KEY_ANYWHERE"]), 1);
}
