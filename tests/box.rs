//! The flowerbox for real, where `.ci/run` has started an engine and built the image.
#![allow(clippy::unwrap_used)]
#![allow(dead_code)] // Not everything that stories share is used here.

#[path = "story/chain.rs"]
mod chain;
#[path = "story/house.rs"]
mod house;
#[path = "support/mod.rs"]
mod support;

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use house::{House, ends_with, stderr, stdout, tool_results};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

const IMAGE: &str = "flowerbox";
const CANARY: &str = "canary-7f3a9c";

/// A house whose project has a space and an umlaut, owned by somebody who is not root where we are.
struct Yard {
    house: House,
    engine: String,
    owner: u32,
}

/// Nothing where no engine is.
fn yard() -> Option<Yard> {
    let engine = std::env::var("FLOWER_TEST_ENGINE_HOST").unwrap_or_default();
    if engine.is_empty() {
        support::skip("container stories", "FLOWER_TEST_ENGINE_HOST names no engine");
        return None;
    }
    let house = House::new();
    let project = house.home.join("my prüject");
    std::fs::create_dir(&project).unwrap();
    let mut yard = Yard { house: house.at(project), engine, owner: 0 };
    yard.owner = rustix::process::getuid().as_raw();
    if yard.owner == 0 {
        yard.owner = 4711;
        std::os::unix::fs::chown(&yard.house.project, Some(yard.owner), Some(yard.owner)).unwrap();
    }
    Some(yard)
}

impl Yard {
    fn docker(&self, words: &[&str]) -> Command {
        let mut command = self.house.command("docker");
        command.args(words).env("DOCKER_HOST", &self.engine);
        command
    }

    fn wrapper(&self, words: &[&str]) -> Command {
        let mut command =
            self.house.command(concat!(env!("CARGO_MANIFEST_DIR"), "/docker/flowerbox"));
        command
            .args(words)
            .env("DOCKER_HOST", &self.engine)
            .env("FLOWERBOX_ENGINE", "docker")
            .env("FLOWER_IMAGE", IMAGE)
            .env("FLOWERBOX_ARGS", "--add-host=gate.outdoors:host-gateway")
            .env("ANTHROPIC_API_KEY", CANARY);
        // What the image was built with belongs to what it is compared with.
        for name in ["FLOWERBOX_BASE", "FLOWERBOX_BINARY"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command
    }

    /// A gate where containers can reach it.
    fn gate(&self, rules: &str) -> Outdoors {
        let cassette = self.house.home.join("cassette.yaml");
        std::fs::write(&cassette, format!("format: flower-cassette/1\nrules:\n{rules}")).unwrap();
        let log = self.house.home.join("gate.jsonl");
        let mut child = self
            .house
            .flower(&["gate", "--listen", "0.0.0.0:0", "--replay"])
            .arg(cassette)
            .arg("--log")
            .arg(&log)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().rsplit(':').next().unwrap().parse().unwrap();
        Outdoors { child, port, log }
    }

    /// Runs one agent in the box that calls Bash once; what the call said.
    fn bash(&self, command: &str) -> String {
        let gate = self.gate(&bash_rules(command));
        let mut run = self.wrapper(&["once", "x", "--tools", "Bash"]);
        ends_with(run.env("FLOWER_GATE", gate.url()), 0);
        tool_results(&gate.requests()[1]).remove(0).2
    }

    /// Names of our containers that run.
    fn running(&self) -> Vec<String> {
        let words = ["ps", "--filter", &format!("volume={}", self.house.project.display())];
        let listed = self.docker(&words).args(["--format", "{{.Names}}"]).output().unwrap();
        stdout(&listed).lines().map(str::to_owned).collect()
    }
}

/// A gate that containers can reach.
struct Outdoors {
    child: Child,
    port: u16,
    log: PathBuf,
}

impl Outdoors {
    /// Its address for what runs in a box that `wrapper` starts.
    fn url(&self) -> String {
        format!("http://gate.outdoors:{}", self.port)
    }

    fn requests(&self) -> Vec<Value> {
        house::model_requests(&self.log)
    }
}

impl Drop for Outdoors {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn bash_rules(command: &str) -> String {
    let command = serde_json::to_string(command).unwrap();
    format!(
        "  - match: {{step: ad-hoc, turn: 0}}\n    reply: {{tools: [{{name: Bash, input: {{command: {command}}}}}]}}\n  - match: {{step: ad-hoc, turn: 1}}\n    reply: {{text: done}}\n"
    )
}

/// Everything below a folder, not following links.
fn below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        found.push(entry.path());
        if entry.file_type().unwrap().is_dir() {
            below(&entry.path(), found);
        }
    }
}

#[test]
fn the_demo_runs_in_the_box_and_its_files_belong_to_the_projects_owner() {
    let Some(yard) = yard() else { return };
    let output = ends_with(yard.wrapper(&["demo"]).env("FLOWERBOX_NETWORK", "none"), 0);
    if std::env::var_os("FLOWERBOX_BINARY").is_some() {
        assert!(!stderr(&output).contains("not of this source"), "{}", stderr(&output));
    }
    let mut found = Vec::new();
    below(&yard.house.project, &mut found);
    assert!(found.iter().any(|path| path.ends_with("flower-demo/runs/manifest.json")), "{found:?}");
    for path in found {
        assert_eq!(path.symlink_metadata().unwrap().uid(), yard.owner, "{}", path.display());
    }
    let repository = yard.house.project.join("flower-demo/wordcount");
    let suite = yard.house.command("sh").arg("test.sh").current_dir(repository).output().unwrap();
    assert!(suite.status.success(), "{}", stdout(&suite));
}

#[test]
fn nothing_outside_the_project_can_be_written_and_what_work_needs_can() {
    let Some(yard) = yard() else { return };
    let said = yard.bash(
        "for place in /etc /usr /opt /root /home /var/lib /run/flower \"$OLDHOME\" ~ ..; do \
           touch \"$place/x\" 2>/dev/null && echo \"wrote $place\"; done; \
         echo new >new.txt && echo made; \
         program=${TMPDIR:-/tmp}/program; \
         printf '#!/bin/sh\\necho ran\\n' >$program && chmod +x $program && $program; \
         id -u; grep -h -e ^CapEff -e ^NoNewPrivs -e ^Seccomp: /proc/self/status",
    );
    assert!(!said.contains("wrote"), "{said}");
    for expected in ["made", "ran\n", &yard.owner.to_string()] {
        assert!(said.contains(expected), "{expected}: {said}");
    }
    assert!(said.contains("CapEff:\t0000000000000000"), "{said}");
    assert!(said.contains("NoNewPrivs:\t1") && said.contains("Seccomp:\t2"), "{said}");
    assert_eq!(yard.house.read("new.txt"), "new\n");
}

#[test]
fn git_works_and_neither_its_configuration_nor_a_hook_can_be_planted() {
    let Some(yard) = yard() else { return };
    let me = rustix::process::getuid().as_raw();
    std::os::unix::fs::chown(&yard.house.project, Some(me), None).unwrap();
    yard.house.git(&["init", "-q", "-b", "main", "--template="]);
    yard.house.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    let mut found = vec![yard.house.project.clone()];
    below(&yard.house.project, &mut found);
    for path in found {
        std::os::unix::fs::lchown(path, Some(yard.owner), Some(yard.owner)).unwrap();
    }
    let config = yard.house.read(".git/config");
    let said = yard.bash(
        "mv .git away 2>/dev/null && echo moved; rm -rf .git/hooks; \
         git config core.fsmonitor ./evil 2>/dev/null && echo configured; \
         echo x 2>/dev/null >.git/hooks/post-checkout && echo planted; \
         echo 1 >file && git add file && git -c user.name=a -c user.email=b commit -q -m second && \
         git switch -q -c other && git log --format=%s",
    );
    for bad in ["moved", "configured", "planted"] {
        assert!(!said.contains(bad), "{said}");
    }
    assert!(said.contains("second\nfirst"), "{said}");
    assert_eq!(yard.house.read(".git/config"), config);
    assert!(std::fs::read_dir(yard.house.project.join(".git/hooks")).unwrap().next().is_none());
}

#[test]
fn a_token_is_in_no_place_where_the_container_is_described() {
    let Some(yard) = yard() else { return };
    yard.house.write(".env", format!("ANTHROPIC_AUTH_TOKEN={CANARY}\nPORT=80\n"));
    // Open until the container was looked at.
    assert!(yard.house.command("mkfifo").arg("looked").status().unwrap().success());
    let places = "cat .env; tr '\\0' '\\n' </proc/1/environ; env; cat /proc/[0-9]*/cmdline | tr '\\0' ' '; \
                  find runs; : >at-work; read x <looked";
    let gate = yard.gate(&bash_rules(places));
    std::os::unix::fs::chown(yard.house.project.join("looked"), Some(yard.owner), None).unwrap();
    let mut run = yard.wrapper(&["once", "x", "--tools", "Bash"]);
    let mut run = run.env("FLOWER_GATE", gate.url()).spawn().unwrap();
    while !yard.house.exists("at-work") {
        assert!(run.try_wait().unwrap().is_none(), "ended too early");
        std::thread::yield_now();
    }
    let names = yard.running();
    assert_eq!(names.len(), 1, "{names:?}");
    let described = stdout(&yard.docker(&["inspect", &names[0]]).output().unwrap());
    let environ = ["exec", names[0].as_str(), "cat", "/proc/1/environ"];
    let environ = stdout(&yard.docker(&environ).output().unwrap());
    std::fs::write(yard.house.project.join("looked"), "\n").unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(0));
    assert!(described.contains("/run/flower/env") && !described.contains(CANARY), "{described}");
    let said = tool_results(&gate.requests()[1]).remove(0).2;
    assert!(environ.contains("FLOWER_RUN_DIR") && !environ.contains(CANARY), "{environ}");
    assert!(said.contains("PORT=80") && !said.contains("FLOWER_RUN_DIR"), "{said}");
    assert!(!said.contains(CANARY) && !said.contains("sessions.db"), "{said}");
    let history = yard.docker(&["history", "--no-trunc", IMAGE]).output().unwrap();
    assert!(!stdout(&history).contains(CANARY));
    for private in ["home/.local/state/flower/box", "runs"] {
        let mut found = Vec::new();
        let folder = yard.house.home.parent().unwrap().join(private);
        if folder.exists() {
            below(&folder, &mut found);
        }
        assert!(found.is_empty(), "{found:?}");
    }
}

#[test]
fn terminated_it_ends_within_ten_seconds_with_saved_records() {
    let Some(yard) = yard() else { return };
    let gate =
        yard.gate("  - match: {step: ad-hoc}\n    reply: {text: never}\n    delay_ms: 60000\n");
    let mut run = yard.wrapper(&["once", "x"]);
    let mut run = run.env("FLOWER_GATE", gate.url()).spawn().unwrap();
    while gate.requests().is_empty() {
        assert!(run.try_wait().unwrap().is_none(), "ended too early");
        std::thread::yield_now();
    }
    let asked = std::time::Instant::now();
    kill_process(Pid::from_child(&run), Signal::TERM).unwrap();
    assert_eq!(run.wait().unwrap().code(), Some(143));
    assert!(asked.elapsed().as_secs() < 10, "{:?}", asked.elapsed());
    assert_eq!(yard.house.manifest()[0]["error"], "killed-by-signal");
    assert!(yard.running().is_empty());
}

#[test]
fn orphans_are_collected_in_the_box() {
    let Some(yard) = yard() else { return };
    let said = yard.bash(
        "count() { ls -d /proc/[0-9]* | wc -l; }; before=$(count); \
         for n in $(seq 200); do (true &) ; done; \
         while [ \"$(count)\" -gt \"$before\" ]; do :; done; echo all collected; exit 7",
    );
    assert!(said.contains("all collected") && said.contains("Exit code 7"), "{said}");
}

#[test]
fn a_run_begun_in_the_box_goes_on_outside() {
    use chain::{ACHIEVED, CLARIFY, GOAL, REFUSED, WORK, rules};
    let Some(yard) = yard() else { return };
    let words = ["go", "do it", "--rounds", "1"];
    {
        let gate = yard.gate(&rules(&[CLARIFY, GOAL, WORK, REFUSED]));
        ends_with(yard.wrapper(&words).env("FLOWER_GATE", gate.url()), 3);
    }
    let gate = yard.gate(&rules(&[WORK, ACHIEVED]));
    let here = format!("http://127.0.0.1:{}", gate.port);
    ends_with(yard.house.flower(&words).env("FLOWER_GATE", here), 0);
    let rows = yard.house.manifest();
    assert_eq!(rows[2]["session_id"], rows[4]["session_id"]);
    assert_eq!(rows[4]["resumed"], true);
}

#[test]
fn settings_are_the_same_inside_and_outside() {
    let Some(yard) = yard() else { return };
    let write = |name: &str, text: &str| {
        let path = yard.house.home.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write(".claude/settings.json", r#"{"env": {"ANTHROPIC_AUTH_TOKEN": "borrowed-token-1"}}"#);
    write(".config/flower/.env", "ANTHROPIC_MODEL=from-user\nFLOWER_WINDOW=1\nMINE=user\n");
    yard.house.write(".env", "FLOWER_WINDOW=150000\nMINE=project\n");
    let values = |output: &std::process::Output| -> Vec<String> {
        let own = |line: &&str| !line.starts_with("FLOWER_ENV\t");
        let value = |line: &str| line.split('\t').take(2).collect::<Vec<_>>().join("=");
        stdout(output).lines().filter(own).map(value).collect()
    };
    let inside = ends_with(yard.wrapper(&["config"]).env_remove("ANTHROPIC_API_KEY"), 0);
    let mut here = yard.house.flower(&["config"]);
    let outside = ends_with(here.env_remove("FLOWER_RETRY_BASE").env_remove("FLOWER_RETRY_MAX"), 0);
    assert_eq!(values(&inside), values(&outside), "{}", stderr(&inside));
    let said = stdout(&inside);
    assert!(
        said.contains("150000") && said.contains("from-user") && said.contains("MINE\tproject"),
        "{said}"
    );
    assert!(!said.contains("ANTHROPIC_AUTH_TOKEN\t\t"), "{said}");
}

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

#[test]
fn the_demo_of_the_compose_file_ends_well() {
    let Some(yard) = yard() else { return };
    if yard.house.command("docker-compose").arg("version").output().is_err() {
        support::skip("compose story", "no docker-compose");
        return;
    }
    let compose = |words: &[&str]| {
        let mut command = yard.house.command("docker-compose");
        command
            .args(["-f", concat!(env!("CARGO_MANIFEST_DIR"), "/compose.yaml"), "-p"])
            .arg(format!("story-{}", std::process::id()))
            .args(["--profile", "demo"])
            .args(words)
            .env("DOCKER_HOST", &yard.engine)
            .env("FLOWER_PROJECT", &yard.house.project)
            .env("FLOWER_UID", yard.owner.to_string())
            .env("FLOWER_GID", yard.owner.to_string());
        command.output().unwrap()
    };
    let up = compose(&["up", "--abort-on-container-exit", "--exit-code-from", "demo"]);
    let down = compose(&["down", "--volumes"]);
    assert_eq!(up.status.code(), Some(0), "{}\n{}", stdout(&up), stderr(&up));
    assert!(down.status.success(), "{}", stderr(&down));
    assert!(yard.house.exists("flower-demo/runs/manifest.json"));
}
