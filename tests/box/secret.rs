//! Keys are for flower alone: neither who looks at the container nor the agent's tools find one.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::house::{stdout, tool_results};
use crate::{CANARY, below, yard};

/// Everywhere that a key is, or could be.
fn places(project: &std::path::Path) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = [
        "/run/flower/env",
        "/run/flower/named.env",
        "/run/flower/project.env",
        "/run/flower/config/.env",
        "/run/flower/claude/settings.json",
        "/run/flower/checkout/.env",
        "/var/lib/flower/runs/manifest.json",
        "/var/lib/flower/runs/sessions.db",
        "/proc/1/environ",
        "/proc/self/environ",
    ]
    .map(PathBuf::from)
    .into();
    places.extend([".env", "runs/manifest.json"].map(|name| project.join(name)));
    places
}

/// Two turns: commands that look everywhere, then the agent's own Read at each place.
fn rules(places: &[PathBuf]) -> String {
    let named: Vec<String> = places.iter().map(|path| format!("'{}'", path.display())).collect();
    let look = format!(
        "env; cat {} 2>&1; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'; \
         find runs /run/flower /var/lib/flower 2>&1; \
         grep -rsa canary- . /tmp /home /root /var/lib /run; : >at-work; read x <looked",
        named.join(" ")
    );
    let reads: Vec<Value> = places
        .iter()
        .map(|path| json!({"name": "Read", "input": {"file_path": path.to_str().unwrap()}}))
        .collect();
    let look = json!([{"name": "Bash", "input": {"command": look}}]);
    format!(
        "  - match: {{turn: 0}}\n    reply: {{tools: {look}}}\n  - match: {{turn: 1}}\n    reply: {{tools: {}}}\n  - match: {{turn: 2}}\n    reply: {{text: done}}\n",
        Value::from(reads)
    )
}

#[test]
fn a_key_is_in_no_place_where_the_container_is_described_or_a_tool_can_look() {
    let Some(yard) = yard() else { return };
    let home = &yard.house.home;
    let named = home.join("named.env");
    for folder in [".config/flower", ".claude"] {
        std::fs::create_dir_all(home.join(folder)).unwrap();
    }
    let line = format!("ANTHROPIC_AUTH_TOKEN={CANARY}\n");
    std::fs::write(&named, &line).unwrap();
    std::fs::write(home.join(".config/flower/.env"), &line).unwrap();
    let settings = json!({"env": {"ANTHROPIC_AUTH_TOKEN": CANARY}});
    std::fs::write(home.join(".claude/settings.json"), settings.to_string()).unwrap();
    yard.house.write(".env", format!("{line}PORT=80\n"));
    // Open until the container was looked at.
    assert!(yard.house.command("mkfifo").arg("looked").status().unwrap().success());
    yard.give_away();

    let places = places(&yard.house.project);
    let gate = yard.gate(&rules(&places));
    let mut run = yard.wrapper(&["once", "x", "--tools", "Bash,Read"]);
    // With the key in use, as against a real endpoint.
    run.env("ANTHROPIC_BASE_URL", gate.url()).env("FLOWER_NO_PROBE", "1");
    let mut run = run.env("FLOWER_ENV", &named).spawn().unwrap();
    while !yard.house.exists("at-work") {
        assert!(run.try_wait().unwrap().is_none(), "ended too early");
        std::thread::yield_now();
    }
    let names = yard.running();
    assert_eq!(names.len(), 1, "{names:?}");
    let described = stdout(&yard.docker(&["inspect", &names[0]]).output().unwrap());
    let environ = ["exec", names[0].as_str(), "cat", "/proc/1/environ"];
    let environ = stdout(&yard.docker(&environ).output().unwrap());
    let processes = stdout(&yard.docker(&["top", &names[0]]).output().unwrap());
    std::fs::write(yard.house.project.join("looked"), "\n").unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(0));

    assert!(described.contains(":/run/flower:ro") && !described.contains(CANARY), "{described}");
    assert!(environ.contains("FLOWER_RUN_DIR") && !environ.contains(CANARY), "{environ}");
    assert!(processes.contains("flower") && !processes.contains(CANARY), "{processes}");
    let requests = gate.requests();
    let said = tool_results(&requests[1]).remove(0).2;
    assert!(said.contains("PORT=80") && !said.contains("FLOWER_RUN_DIR"), "{said}");
    assert!(!said.contains(CANARY) && !said.contains("sessions.db\n"), "{said}");
    let read = tool_results(&requests[2]).split_off(1);
    assert_eq!(read.len(), places.len());
    for ((_, is_error, text), place) in read.iter().zip(&places) {
        assert!(!text.contains(CANARY), "{}: {text}", place.display());
        assert!(*is_error || place.ends_with(".env") && text.contains("PORT=80"), "{text}");
    }

    // What stays behind: records without a key, and nothing of the private folder.
    let runs = yard.house.project.join("runs");
    let mut records = Vec::new();
    below(&runs, &mut records);
    assert!(records.contains(&runs.join("manifest.json")), "{records:?}");
    for record in records.iter().filter(|path| path.is_file()) {
        let text = String::from_utf8_lossy(&std::fs::read(record).unwrap()).into_owned();
        assert!(!text.contains(CANARY), "{}", record.display());
    }
    let rooms = home.join(".local/state/flower/box");
    assert_eq!(std::fs::read_dir(rooms).unwrap().count(), 0);
    let all = stdout(&yard.docker(&["ps", "-a", "--format", "{{.Names}}"]).output().unwrap());
    assert!(!all.contains(&names[0]), "the container is removed");
}
