//! `flower doctor`: what is missing is said before a run, with what to do, and nothing is left behind.

use serde_json::Value;

use crate::house::{House, ends_with, stderr, stdout};

const ANSWERS: &str = "  - match: {}\n    repeat: true\n    reply: {text: hello}\n";

/// The checks of `flower doctor --json`, and whether all is well.
fn checks(command: &mut std::process::Command) -> (Vec<Value>, bool) {
    let output = command.arg("--json").output().unwrap();
    let text = stdout(&output);
    assert!(!text.contains("canary") && !stderr(&output).contains("canary"), "{text}");
    let report: Value = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{error}: {text}{}", stderr(&output)));
    let ok = report["ok"].as_bool().unwrap();
    let checks = report["checks"].as_array().unwrap().clone();
    let failed = checks.iter().filter(|check| check["mark"] == "failed");
    assert_eq!(ok, failed.clone().next().is_none(), "{text}");
    assert_eq!(output.status.code(), Some(i32::from(!ok)), "{text}");
    for check in failed {
        assert!(check["remedy"].as_str().is_some_and(|remedy| !remedy.is_empty()), "{check}");
    }
    (checks, ok)
}

fn find<'a>(checks: &'a [Value], name: &str) -> &'a Value {
    checks.iter().find(|check| check["check"] == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn everything_is_looked_at_and_the_key_is_tried_once() {
    let house = House::new();
    let gate = house.gate(ANSWERS);
    house.git(&["init", "-q"]);
    let doctor = |words: &[&str]| {
        let mut command = house.flower(words);
        command.env("ANTHROPIC_API_KEY", "sk-ant-canary").env("ANTHROPIC_BASE_URL", &gate.url);
        command
    };
    let (seen, _) = checks(&mut doctor(&["doctor", "--no-probe"]));
    assert!(gate.requests().is_empty(), "it was not to be asked");
    let names: Vec<_> = seen.iter().map(|check| check["check"].as_str().unwrap()).collect();
    assert_eq!(names[..4], ["credentials", "endpoint", "clock", "engine"]);
    assert_eq!(names[4..7], ["git", "sandbox", "mounts"]);
    assert_eq!(names[7..], ["disk", "disk", "disk", "limits"]);
    let (seen, _) = checks(&mut doctor(&["doctor"]));
    for name in ["credentials", "endpoint", "clock", "engine", "git"] {
        assert_eq!(find(&seen, name)["mark"], "fine", "{seen:?}");
    }
    assert!(find(&seen, "endpoint")["value"].as_str().unwrap().contains("takes the key"));
    assert!(find(&seen, "git")["value"].as_str().unwrap().contains("story <story@localhost>"));
    assert_eq!(gate.requests().len(), 1);
    assert!(!house.exists("runs"), "nothing is made");
}

#[test]
fn a_key_that_is_not_taken_fails() {
    let house = House::new();
    let gate = house.gate(
        "  - match: {}\n    repeat: true\n    error: {status: 401, type: authentication_error, message: bad key}\n",
    );
    let mut command = house.flower(&["doctor"]);
    command.env("ANTHROPIC_AUTH_TOKEN", "tok-canary").env("ANTHROPIC_BASE_URL", &gate.url);
    let (seen, ok) = checks(&mut command);
    let endpoint = find(&seen, "endpoint");
    assert!(!ok && endpoint["mark"] == "failed", "{endpoint}");
    assert!(endpoint["value"].as_str().unwrap().contains("bad key"), "{endpoint}");
    assert!(endpoint["remedy"].as_str().unwrap().contains("flower setup"), "{endpoint}");
}

#[test]
fn a_clock_that_differs_by_an_hour_fails() {
    use std::io::{Read as _, Write as _};
    let house = House::new();
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let told = jiff::Timestamp::from_second(now.as_secs() as i64 - 3600).unwrap();
    let told = told.strftime("%a, %d %b %Y %H:%M:%S GMT").to_string();
    // First a knock, which says nothing; then the question.
    let server = std::thread::spawn(move || {
        loop {
            let (mut visitor, _) = listener.accept().unwrap();
            let mut asked = [0; 4096];
            let length = visitor.read(&mut asked).unwrap();
            if length > 0 {
                write!(visitor, "HTTP/1.1 200 OK\r\ndate: {told}\r\ncontent-length: 0\r\n\r\n")
                    .unwrap();
                return String::from_utf8_lossy(&asked[..length]).into_owned();
            }
        }
    });
    let mut command = house.flower(&["doctor", "--no-probe"]);
    command.env("ANTHROPIC_API_KEY", "sk-ant-canary").env("ANTHROPIC_BASE_URL", &url);
    let (seen, ok) = checks(&mut command);
    let asked = server.join().unwrap();
    assert!(asked.starts_with("HEAD / ") && !asked.contains("canary"), "{asked}");
    let clock = find(&seen, "clock");
    assert!(!ok && clock["mark"] == "failed", "{clock}");
    assert!(clock["value"].as_str().unwrap().contains("ahead"), "{clock}");
}

#[test]
fn without_a_key_the_four_lines_say_what_to_do() {
    let house = House::new();
    let nowhere = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let mut command = house.flower(&["doctor"]);
    let url = format!("http://{nowhere}");
    let output = ends_with(command.env("ANTHROPIC_BASE_URL", &url), 1);
    let text = stdout(&output);
    assert!(text.contains("✗ credentials  none found\n"), "{text}");
    assert!(text.contains("flower/.env") && text.contains("ANTHROPIC_API_KEY"), "{text}");
    assert!(text.contains(&format!("✗ endpoint     {url} cannot be reached")), "{text}");
    let mut command = house.flower(&["--lang", "zh", "doctor"]);
    let text = stdout(&ends_with(command.env("ANTHROPIC_BASE_URL", &url), 1));
    assert!(text.contains("✗ 凭据  没有找到\n"), "{text}");
}

#[test]
fn a_run_folder_that_is_full_or_cannot_be_written_fails() {
    let house = House::new();
    let gate = house.gate(ANSWERS);
    house.write("runs", "a file");
    // In /proc there is no room for anything, and only root may even try.
    for folder in ["runs", "runs/below", "/proc/flower"] {
        let (seen, ok) = checks(&mut house.flower_at(&gate, &["doctor", "-r", folder]));
        let disk = find(&seen, "disk");
        assert!(!ok && disk["mark"] == "failed", "{folder}: {disk}");
        assert!(disk["value"].as_str().unwrap().contains(folder), "{disk}");
        assert_eq!(find(&seen, "credentials")["mark"], "fine");
    }
}

#[test]
fn a_project_that_sends_the_key_elsewhere_is_not_believed() {
    let house = House::new();
    let gate = house.gate(ANSWERS);
    house.git(&["init", "-q"]);
    house.write(".env", format!("ANTHROPIC_BASE_URL={}\n", gate.url));
    house.git(&["add", ".env"]);
    std::fs::create_dir_all(house.home.join(".config/flower")).unwrap();
    std::fs::write(house.home.join(".config/flower/.env"), "ANTHROPIC_API_KEY=sk-ant-canary\n")
        .unwrap();
    let (seen, ok) = checks(&mut house.flower(&["doctor"]));
    assert!(!ok && find(&seen, "endpoint")["mark"] == "failed", "{seen:?}");
    assert!(gate.log().is_empty(), "{}", gate.log());
}
