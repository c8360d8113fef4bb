//! The flowerbox for real, where `.ci/run` has started an engine and built the image.
#![allow(clippy::unwrap_used)]
#![allow(dead_code)] // Not everything that stories share is used here.

#[path = "story/chain.rs"]
mod chain;
#[path = "story/house.rs"]
mod house;
#[path = "support/mod.rs"]
mod support;

#[path = "box/compose.rs"]
mod compose;
#[path = "box/image.rs"]
mod image;
#[path = "box/isolate.rs"]
mod isolate;
#[path = "box/podman.rs"]
mod podman;
#[path = "box/secret.rs"]
mod secret;
#[path = "box/setting.rs"]
mod setting;
#[path = "box/start.rs"]
mod start;

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
    yard_at(|house| house.home.join("my prüject"))
}

/// With the project where it is wanted; the folder is made here.
fn yard_at(project: impl FnOnce(&House) -> PathBuf) -> Option<Yard> {
    let engine = std::env::var("FLOWER_TEST_ENGINE_HOST").unwrap_or_default();
    if engine.is_empty() {
        support::skip("container stories", "FLOWER_TEST_ENGINE_HOST names no engine");
        return None;
    }
    let house = House::new();
    let project = project(&house);
    std::fs::create_dir_all(&project).unwrap();
    let owner = rustix::process::getuid().as_raw();
    let owner = if owner == 0 { 4711 } else { owner };
    let yard = Yard { house: house.at(project), engine, owner };
    yard.give_away();
    Some(yard)
}

impl Yard {
    /// What is in the project belongs to its owner.
    fn give_away(&self) {
        let mut found = vec![self.house.project.clone()];
        below(&self.house.project, &mut found);
        for path in found {
            std::os::unix::fs::lchown(path, Some(self.owner), Some(self.owner)).unwrap();
        }
    }

    /// Makes the project a repository with one commit.
    fn git_init(&self) {
        self.house.write("kept.txt", "kept\n");
        self.house.write(".gitignore", "/runs\n");
        self.git(&["init", "-q", "-b", "main", "--template="]);
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", "first"]);
        self.give_away();
    }

    /// git as the person outside, to whom the project need not belong.
    fn git(&self, words: &[&str]) -> String {
        self.house.git(&[&["-c", "safe.directory=*"], words].concat())
    }

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
            // One more request and two files in the project, in stories about something else.
            .env("FLOWER_NO_HANDOVER", "1")
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
        let number = std::fs::read_dir(&self.house.home).unwrap().count();
        let cassette = self.house.home.join(format!("cassette-{number}.yaml"));
        std::fs::write(&cassette, format!("format: flower-cassette/1\nrules:\n{rules}")).unwrap();
        let log = self.house.home.join(format!("gate-{number}.jsonl"));
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
    yard.git_init();
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
fn a_run_begun_outside_goes_on_in_the_box() {
    use chain::{ACHIEVED, CLARIFY, GOAL, REFUSED, WORK, rules};
    let Some(yard) = yard() else { return };
    let words = ["go", "do it", "--rounds", "1"];
    {
        let gate = yard.gate(&rules(&[CLARIFY, GOAL, WORK, REFUSED]));
        let here = format!("http://127.0.0.1:{}", gate.port);
        ends_with(yard.house.flower(&words).env("FLOWER_GATE", here), 3);
    }
    yard.give_away();
    let gate = yard.gate(&rules(&[WORK, ACHIEVED]));
    ends_with(yard.wrapper(&words).env("FLOWER_GATE", gate.url()), 0);
    let rows = yard.house.manifest();
    assert_eq!(rows[2]["session_id"], rows[4]["session_id"]);
    assert_eq!(rows[4]["resumed"], true);
}

#[test]
fn a_judge_that_runs_a_build_cannot_change_the_project() {
    use chain::{ACHIEVED, CLARIFY, GOAL, WORK, rules};
    let Some(yard) = yard() else { return };
    yard.git_init();
    yard.house
        .write("build.sh", "mkdir -p out && cat kept.txt kept.txt >out/twice && cat out/twice\n");
    yard.give_away();
    let kept = yard.house.project.join("kept.txt");
    let state = || {
        let about = kept.metadata().unwrap();
        (yard.house.read("kept.txt"), about.mode(), about.mtime(), about.mtime_nsec())
    };
    let before = state();
    let real = yard.house.project.display();
    let judged = |command: &str| {
        let calls = serde_json::json!([{"name": "Bash", "input": {"command": command}}]);
        let judge =
            format!("  - match: {{step: work.judge, turn: 0}}\n    reply: {{tools: {calls}}}\n");
        let gate = yard.gate(&rules(&[CLARIFY, GOAL, WORK, &judge, ACHIEVED]));
        let words = ["go", "do it", "--judge-can-run", "--new"];
        ends_with(yard.wrapper(&words).env("FLOWER_GATE", gate.url()), 0);
        let requests = gate.requests();
        let saw = |request: &&Value| {
            house::step_of(request) == "work.judge" && !tool_results(request).is_empty()
        };
        let said = tool_results(requests.iter().find(saw).unwrap()).remove(0).2;
        (said, yard.house.steps())
    };
    let (said, steps) = judged(&format!(
        "sh build.sh; chmod 600 kept.txt; touch -d 2001-01-01 kept.txt; echo bad >>kept.txt; \
         cd '{real}'; sh build.sh 2>&1; echo bad >>kept.txt; mv kept.txt moved; rm -f kept.txt; \
         echo x >planted; ls; cat kept.txt"
    ));
    assert!(
        said.starts_with("kept\nkept\n") && said.contains("kept.txt\nruns\nkept\n"),
        "the build works: {said}"
    );
    assert_eq!(state(), before, "{said}");
    for made in ["planted", "out", "moved"] {
        assert!(!yard.house.exists(made), "{said}");
    }
    assert_eq!(steps.last().unwrap(), "work.judge#1");

    // The kernel keeps content, but neither modes nor times; so what changes those is no verdict.
    let (_, steps) = judged(&format!("chmod 600 '{real}/kept.txt'"));
    assert_eq!(steps.last().unwrap(), "work.judge#1#retry1");
}

#[test]
fn a_project_of_root_under_its_home_is_worked_in_without_capabilities() {
    if !rustix::process::getuid().is_root() {
        return support::skip("a project under /root", "only root has one");
    }
    let folder = tempfile::tempdir_in("/root").unwrap();
    let Some(mut yard) = yard_at(|_| folder.path().join("pröject")) else { return };
    yard.owner = 0;
    yard.give_away();
    let said =
        yard.bash("id -u; grep CapEff /proc/self/status; echo new >new.txt; touch ../x ~/x; :");
    assert!(said.starts_with("0\nCapEff:\t0000000000000000"), "{said}");
    assert_eq!(yard.house.read("new.txt"), "new\n");
    assert_eq!(yard.house.project.join("new.txt").metadata().unwrap().uid(), 0);
    assert!(!folder.path().join("x").exists());
}
