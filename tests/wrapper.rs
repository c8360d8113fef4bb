//! What `docker/flowerbox` tells the engine, with an engine that only writes down what it is told.
#![allow(clippy::unwrap_used)] // Also in what the tests share, which the lint takes for more than a test.

#[path = "support/mod.rs"]
mod support;

use std::io::{BufRead as _, BufReader};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docker/flowerbox");
const BUILD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/docker/build");

/// Answers as an engine does, and keeps the words of each `run`, `build` and `kill` in a file of its own.
const ENGINE: &str = r#"#!/bin/sh
words() { for word; do printf '%s\0' "$word"; done; }
case $1 in
    --version) echo "Docker version 20.10.24" ;;
    info)
        [ ! -f "$ENGINE/down" ] || { echo "cannot connect" >&2; exit 1; }
        cat "$ENGINE/info"
        ;;
    image) cat "$ENGINE/label" 2>/dev/null || exit 1 ;;
    inspect) cat "$ENGINE/inspect" 2>/dev/null || exit 1 ;;
    rm | stop) words "$@" >>"$ENGINE/$1" ;;
    build)
        words "$@" >"$ENGINE/build"
        for context; do :; done
        ls -A "$context" >"$ENGINE/context"
        echo "$context" >"$ENGINE/context-folder"
        [ ! -f "$ENGINE/offline" ] || { echo "lookup registry: no such host" >&2; exit 1; }
        [ ! -p "$ENGINE/building" ] || exec cat "$ENGINE/building"
        ;;
    kill) words "$@" >"$ENGINE/kill"; echo >"$ENGINE/end" ;;
    run)
        for word; do
            case $word in
                *:/run/flower:ro) box=${word%:/run/flower:ro} ;;
                *:/run/flower/config:rw) config=${word%:/run/flower/config:rw} ;;
                *:/var/lib/flower/runs:rw) runs=${word%:/var/lib/flower/runs:rw} ;;
            esac
        done
        case " $* " in
            *" --entrypoint "*)
                words "$@" >"$ENGINE/probe"
                [ ! -f "$ENGINE/blind" ] || exit 0
                while [ "$1" != -c ]; do shift; done
                count=$#
                while [ "$count" -gt 0 ]; do
                    word=$1
                    shift
                    [ "$word" != /var/lib/flower/runs ] || word=$runs
                    set -- "$@" "$word"
                    count=$((count - 1))
                done
                exec /bin/sh "$@"
                ;;
        esac
        words "$@" >"$ENGINE/run"
        rm -rf "$ENGINE/box"
        cp -RL "$box" "$ENGINE/box"
        for word; do
            case $word in
                *.env:/run/flower/*) cat "${word%%:*}" >"$ENGINE/box/${word##*/run/flower/}" ;;
                *.env:ro) cat "${word%%:*}" >"$ENGINE/project.env" ;;
            esac
        done
        for copy in "$ENGINE/box/"*.env:ro; do [ ! -f "$copy" ] || mv "$copy" "${copy%:ro}"; done
        { stat -c %a "$box/env"; echo "$box"; } >"$ENGINE/about-box"
        [ ! -f "$ENGINE/act" ] || . "$ENGINE/act"
        exit "$(cat "$ENGINE/code")"
        ;;
esac
"#;

/// A user's machine: HOME, a project, and the engine on PATH.
struct Machine {
    _dir: tempfile::TempDir,
    home: PathBuf,
    project: PathBuf,
    engine: PathBuf,
}

fn source_hash() -> &'static str {
    static HASH: OnceLock<String> = OnceLock::new();
    HASH.get_or_init(|| {
        let path = std::env::var_os("PATH").unwrap();
        let output =
            Command::new(BUILD).arg("--hash").env_clear().env("PATH", path).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    })
}

impl Machine {
    fn new() -> Self {
        Self::with_project("project")
    }

    fn with_project(name: &str) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let machine = Self {
            _dir: dir,
            home: root.join("home"),
            project: root.join(name),
            engine: root.join("engine"),
        };
        for folder in [&machine.home, &machine.project, &machine.engine] {
            std::fs::create_dir_all(folder).unwrap();
        }
        std::fs::write(machine.engine.join("docker"), ENGINE).unwrap();
        let executable = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(machine.engine.join("docker"), executable).unwrap();
        machine.tell("info", "2|4294967296|[name=seccomp,profile=default]Debian\n");
        machine.tell("label", source_hash());
        machine.tell("code", "0\n");
        machine
    }

    /// A file that the engine reads.
    fn tell(&self, name: &str, text: &str) {
        std::fs::write(self.engine.join(name), text).unwrap();
    }

    /// A file that the engine wrote; nothing if it did not.
    fn told(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.engine.join(name)).ok()
    }

    fn words(&self, name: &str) -> Vec<String> {
        let text = self.told(name).unwrap_or_else(|| panic!("the engine was not told to {name}"));
        let words = text.strip_suffix('\0').unwrap().split('\0');
        words.map(str::to_owned).collect()
    }

    fn git_init(&self) {
        let git = |words: &[&str]| {
            let output = Command::new("git")
                .args(words)
                .current_dir(&self.project)
                .env("GIT_CONFIG_GLOBAL", "/dev/null")
                .output()
                .unwrap();
            assert!(output.status.success(), "{}", stderr(&output));
        };
        git(&["init", "-q", "--template="]);
    }

    fn wrapper(&self, words: &[&str]) -> Command {
        let mut command = Command::new(SCRIPT);
        let mut path = self.engine.clone().into_os_string();
        path.push(":");
        path.push(std::env::var_os("PATH").unwrap());
        command
            .args(words)
            .current_dir(&self.project)
            .env_clear()
            .env("PATH", path)
            .env("HOME", &self.home)
            .env("ENGINE", &self.engine)
            .stdin(Stdio::null());
        command
    }

    /// The engine's words for it.
    fn run(&self, words: &[&str]) -> Vec<String> {
        ends_with(&mut self.wrapper(words), 0);
        self.words("run")
    }

    /// Nothing was started, and nothing is left behind.
    fn refuses(&self, command: &mut Command, code: i32, why: &str) {
        let output = ends_with(command, code);
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
        assert!(self.told("run").is_none(), "started: {:?}", self.told("run"));
        self.is_tidy();
    }

    /// No private folder is left.
    fn is_tidy(&self) {
        let rooms = self.home.join(".local/state/flower/box");
        let left = std::fs::read_dir(rooms).map_or(0, Iterator::count);
        assert_eq!(left, 0, "private folders are left");
    }
}

fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn ends_with(command: &mut Command, code: i32) -> Output {
    let output = command.output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(code), "{said}\n{}", stderr(&output));
    output
}

fn mounts(words: &[String]) -> Vec<&str> {
    words.windows(2).filter(|pair| pair[0] == "-v").map(|pair| pair[1].as_str()).collect()
}

fn at(path: &Path, mode: &str) -> String {
    format!("{0}:{0}:{mode}", path.display())
}

#[test]
fn the_words_reach_the_box_as_they_were() {
    let machine = Machine::with_project("my prüject's \"own\"");
    let said = ["go", "it's \"ü\"; $(rm) `x` \\ *", "", "two\nlines", "--", "-r", "x"];
    let words = machine.run(&said);
    assert_eq!(words[words.len() - said.len()..], said);
    assert_eq!(words[words.len() - said.len() - 1], "flowerbox");
    let project = machine.project.display().to_string();
    assert_eq!(words[words.len() - said.len() - 3..][..2], ["-w".to_owned(), project]);
    assert!(mounts(&words).contains(&at(&machine.project, "rw").as_str()));
    machine.is_tidy();
}

#[test]
fn the_fences_stand_without_being_asked_for() {
    let machine = Machine::new();
    let words = machine.run(&["go", "x"]);
    let has = |word: &str| words.iter().any(|given| given == word);
    for fence in ["--read-only", "--cap-drop=ALL", "--security-opt=no-new-privileges"] {
        assert!(has(fence), "{fence}");
    }
    assert!(has("--pids-limit=1024") && has("--memory=3072m") && has("--cpus=2"), "{words:?}");
    assert!(has("-i") && !has("-t"), "no terminal here");
    assert!(has("/tmp:exec,nosuid,nodev,mode=1777,size=1g"));
    let owner = rustix::process::getuid().as_raw();
    let user = words.iter().position(|word| word == "--user").unwrap() + 1;
    assert!(words[user].starts_with(&format!("{owner}:")), "{}", words[user]);
    assert!(!words.iter().any(|word| word.starts_with("--network")));
    let closed = ends_with(machine.wrapper(&["go", "x"]).env("FLOWERBOX_NETWORK", "none"), 0);
    assert!(machine.words("run").contains(&"--network=none".to_owned()));
    assert!(!stderr(&closed).contains("network is open"));
}

#[test]
fn the_git_folder_is_a_mount_of_its_own_and_what_runs_by_itself_is_read_only() {
    let machine = Machine::new();
    machine.git_init();
    let words = machine.run(&["go", "x"]);
    let git = machine.project.join(".git");
    let expected = [
        at(&machine.project, "rw"),
        at(&git, "rw"),
        at(&git.join("config"), "ro"),
        at(&git.join("hooks"), "ro"),
    ];
    let mounts = mounts(&words);
    assert_eq!(mounts[..4], expected);
    assert!(git.join("hooks").is_dir(), "made first, or the engine would make it as root");
    ends_with(machine.wrapper(&["go", "x"]).env("FLOWERBOX_GIT_CONFIG", "rw"), 0);
    assert!(!machine.words("run").contains(&at(&git.join("config"), "ro")));
}

#[test]
fn a_worktree_brings_the_git_folder_that_it_belongs_to() {
    let machine = Machine::new();
    let common = machine.home.join("main/.git");
    let own = common.join("worktrees/tree");
    std::fs::create_dir_all(&own).unwrap();
    std::fs::write(common.join("config"), "").unwrap();
    std::fs::write(own.join("commondir"), "../..\n").unwrap();
    std::fs::write(machine.project.join(".git"), format!("gitdir: {}\n", own.display())).unwrap();
    let words = machine.run(&["go", "x"]);
    let mounts = mounts(&words);
    assert!(mounts.contains(&at(&common, "rw").as_str()), "{mounts:?}");
    assert!(mounts.contains(&at(&common.join("config"), "ro").as_str()));
    assert!(mounts.contains(&at(&machine.project.join(".git"), "ro").as_str()));
    assert!(mounts.contains(&at(&own.join("commondir"), "ro").as_str()));
}

#[test]
fn a_subfolder_brings_the_whole_repository() {
    let machine = Machine::new();
    machine.git_init();
    let below = machine.project.join("a b");
    std::fs::create_dir(&below).unwrap();
    ends_with(machine.wrapper(&["go", "x"]).current_dir(&below), 0);
    let words = machine.words("run");
    assert!(mounts(&words).contains(&at(&machine.project, "rw").as_str()));
    let place = words.iter().position(|word| word == "-w").unwrap() + 1;
    assert_eq!(words[place], below.display().to_string());
}

#[test]
fn a_workspace_elsewhere_is_mapped_too() {
    let machine = Machine::new();
    let words = machine.run(&["-w", "../other", "go", "x"]);
    let other = machine.project.parent().unwrap().join("other");
    let mounts = mounts(&words);
    assert!(mounts.contains(&at(&other, "rw").as_str()), "made and mapped: {mounts:?}");
    assert!(mounts.contains(&at(&machine.project, "rw").as_str()));
    assert_eq!(words[words.len() - 4..], ["-w", &other.display().to_string(), "go", "x"]);
    let machine = Machine::new();
    machine.refuses(&mut machine.wrapper(&["-w", "/etc", "go", "x"]), 1, "is not mapped");
}

#[test]
fn a_link_to_the_project_is_the_project() {
    let machine = Machine::new();
    let link = machine.home.join("link");
    std::os::unix::fs::symlink(&machine.project, &link).unwrap();
    ends_with(machine.wrapper(&["go", "x"]).current_dir(&link).env("PWD", &link), 0);
    assert!(mounts(&machine.words("run")).contains(&at(&machine.project, "rw").as_str()));
}

#[test]
fn records_lie_outside_the_project_and_their_folder_is_hidden_in_it() {
    let machine = Machine::new();
    let words = machine.run(&["go", "x"]);
    let runs = machine.project.join("runs");
    let given = mounts(&words);
    assert!(given.contains(&format!("{}:/var/lib/flower/runs:rw", runs.display()).as_str()));
    let hidden = format!(":{}:ro", runs.display());
    assert!(given.iter().any(|mount| mount.ends_with(&hidden)), "{given:?}");
    assert!(words.contains(&"FLOWER_RUN_DIR=/var/lib/flower/runs".to_owned()));

    for flag in ["-r", "--run-dir"] {
        let words = machine.run(&["go", "x", flag, "../else where"]);
        let other = machine.project.parent().unwrap().join("else where");
        let mount = format!("{}:/var/lib/flower/runs:rw", other.display());
        assert!(mounts(&words).contains(&mount.as_str()), "{words:?}");
        assert_eq!(words[words.len() - 4..], ["go", "x", "-r", "/var/lib/flower/runs"]);
    }
    let words = machine.run(&["--run-dir=deep", "once", "x"]);
    let mount = format!("{}:/var/lib/flower/runs:rw", machine.project.join("deep").display());
    assert!(mounts(&words).contains(&mount.as_str()));
}

#[test]
fn a_command_that_does_no_work_leaves_no_folder_behind() {
    let machine = Machine::new();
    let words = machine.run(&["--lang", "go", "config"]);
    assert!(!machine.project.join("runs").exists());
    assert!(machine.told("probe").is_none(), "and needs no probe");
    assert!(!words.iter().any(|word| word.starts_with("FLOWER_RUN_DIR")));
}

#[test]
fn a_secret_is_in_a_private_file_and_nowhere_else() {
    let machine = Machine::new();
    let named = machine.home.join("named.env");
    std::fs::write(&named, "ANTHROPIC_API_KEY=lower\nMINE=canary-named\n").unwrap();
    let output = ends_with(
        machine
            .wrapper(&["go", "x"])
            .env("ANTHROPIC_API_KEY", "canary-1 $x#y")
            .env("ANTHROPIC_BASE_URL", "https://canary.invalid/")
            .env("https_proxy", "http://u:canary@p.invalid/")
            .env("FLOWER_ENV", &named)
            .env("FLOWER_WINDOW", "100000")
            .env("UNRELATED_TOKEN", "canary-unrelated"),
        0,
    );
    for told in ["run", "probe"] {
        let words = machine.words(told);
        assert!(!words.iter().any(|word| word.contains("canary")), "{words:?}");
        assert!(!words.iter().any(|word| word.starts_with("--env-file")));
        assert!(words.contains(&"FLOWER_ENV=/run/flower/named.env".to_owned()));
        assert!(words.contains(&"FLOWER_WINDOW".to_owned()));
    }
    let env = machine.told("box/env").unwrap();
    let expected = [
        "ANTHROPIC_API_KEY='canary-1 $x#y'",
        "ANTHROPIC_BASE_URL=https://canary.invalid/",
        "FLOWER_WINDOW=100000",
        "https_proxy=http://u:canary@p.invalid/",
    ];
    assert_eq!(env.lines().collect::<Vec<_>>(), expected);
    let named = machine.told("box/named.env").unwrap();
    assert_eq!(named, "ANTHROPIC_API_KEY=lower\nMINE=canary-named\n", "as it is");
    let kept = machine.told("about-box").unwrap();
    let (mode, folder) = kept.trim_end().split_once('\n').unwrap();
    assert_eq!(mode, "600");
    assert!(!Path::new(folder).exists(), "removed at the end");
    assert!(!stderr(&output).contains("canary"));
    machine.is_tidy();
}

#[test]
fn flower_reads_back_what_was_written_for_it() {
    for value in ["plain-123_/+=", "with space", "a'b", "$HOME `x` \\n", "#x", "ünï"] {
        let machine = Machine::new();
        ends_with(machine.wrapper(&["go", "x"]).env("ANTHROPIC_API_KEY", value), 0);
        let parsed = flower::settings::parse(machine.told("box/env").unwrap().as_bytes()).unwrap();
        let line = parsed.lines.iter().find(|line| line.key == "ANTHROPIC_API_KEY").unwrap();
        assert_eq!(line.value, value);
    }
    for bad in ["two\nlines", "\"quoted\""] {
        let machine = Machine::new();
        let mut command = machine.wrapper(&["go", "x"]);
        machine.refuses(command.env("ANTHROPIC_API_KEY", bad), 1, "ANTHROPIC_API_KEY");
    }
}

#[test]
fn tokens_in_the_projects_own_file_are_for_flower_and_not_for_tools() {
    let machine = Machine::new();
    let whole = "# mine\nANTHROPIC_API_KEY = canary\n#ANTHROPIC_API_KEY=old\nexport ANTHROPIC_AUTH_TOKEN=b\nANTHROPIC_BASE_URL=https://x.invalid\nPORT=1\n";
    std::fs::write(machine.project.join(".env"), whole).unwrap();
    machine.run(&["go", "x"]);
    let shown = "# mine\nANTHROPIC_BASE_URL=https://x.invalid\nPORT=1\n";
    assert_eq!(machine.told("project.env").as_deref(), Some(shown));
    assert_eq!(machine.told("box/project.env").as_deref(), Some(whole), "lines keep their numbers");
    assert_eq!(machine.told("box/env").as_deref(), Some("\n"), "none is the environment's");
}

#[test]
fn a_link_to_settings_elsewhere_is_for_flower_alone() {
    let machine = Machine::new();
    let elsewhere = machine.home.join("elsewhere.env");
    std::fs::write(&elsewhere, "ANTHROPIC_API_KEY=canary\n").unwrap();
    std::os::unix::fs::symlink(&elsewhere, machine.project.join(".env")).unwrap();
    machine.run(&["go", "x"]);
    let lent = machine.told("box/project.env");
    assert_eq!(lent.as_deref(), Some("ANTHROPIC_API_KEY=canary\n"));
    assert_eq!(machine.told("project.env"), None, "nothing is laid over it");

    let words = {
        let mut command = machine.wrapper(&["go", "x"]);
        ends_with(command.env("FLOWER_ENV", ".env"), 0);
        machine.words("run")
    };
    let named = format!("FLOWER_ENV={}", machine.project.join(".env").display());
    assert!(words.contains(&named), "the same file by another way: {words:?}");
}

#[test]
fn a_dry_run_prints_a_command_that_a_shell_reads_back_and_makes_nothing() {
    let machine = Machine::with_project("it's ü");
    machine.git_init();
    let said = ["--dry-run", "go", "a 'quoted' \"ask\" $x\nand more"];
    let output = ends_with(machine.wrapper(&said).env("ANTHROPIC_API_KEY", "canary"), 0);
    let command = String::from_utf8(output.stdout).unwrap();
    assert!(!command.contains("canary"));
    assert!(machine.told("run").is_none());
    let made: Vec<_> = std::fs::read_dir(&machine.project).unwrap().collect();
    assert_eq!(made.len(), 1, "only .git");
    assert_eq!(std::fs::read_dir(&machine.home).unwrap().count(), 0);

    let words =
        format!("set -- {}\nfor word; do printf '%s\\0' \"$word\"; done", command.trim_end());
    let read = Command::new("sh").arg("-c").arg(words).output().unwrap().stdout;
    let read = String::from_utf8(read).unwrap();
    let read: Vec<&str> = read.strip_suffix('\0').unwrap().split('\0').collect();
    assert_eq!(read[..2], ["docker", "run"]);
    assert_eq!(read[read.len() - 3..], ["flowerbox", "go", said[2]]);
    assert!(read.contains(&at(&machine.project, "rw").as_str()), "{read:?}");
}

#[test]
fn folders_that_hold_more_than_a_project_are_refused() {
    let machine = Machine::new();
    let above = machine.home.parent().unwrap().to_owned();
    for folder in [Path::new("/"), Path::new("/usr"), Path::new("/etc"), &machine.home, &above] {
        machine.refuses(machine.wrapper(&["go", "x"]).current_dir(folder), 1, "is not mapped");
    }
    let colon = machine.project.join("a:b");
    std::fs::create_dir(&colon).unwrap();
    machine.refuses(machine.wrapper(&["go", "x"]).current_dir(&colon), 1, "colon");
    machine.refuses(&mut machine.wrapper(&["go", "x", "-r", "."]), 1, "holds the project");
    machine.refuses(&mut machine.wrapper(&["go", "x", "-r", "/"]), 1, "is not mapped");
}

#[test]
fn more_mounts_and_options_come_from_a_list() {
    let machine = Machine::new();
    let more = machine.home.join("more ü");
    std::fs::create_dir(&more).unwrap();
    let text = format!("{0}\n{0}:/data\n{0}:/cache:rw\n", more.display());
    let mut command = machine.wrapper(&["go", "x"]);
    command.env("FLOWERBOX_MOUNTS", text).env("FLOWERBOX_ARGS", "--add-host=a:127.0.0.1");
    ends_with(&mut command, 0);
    let words = machine.words("run");
    let more = more.display();
    for mount in
        [format!("{more}:{more}:ro"), format!("{more}:/data:ro"), format!("{more}:/cache:rw")]
    {
        assert!(mounts(&words).contains(&mount.as_str()), "{mount}");
    }
    assert!(words.contains(&"--add-host=a:127.0.0.1".to_owned()));

    let machine = Machine::new();
    let inside = format!("/usr/share:{}/x", machine.project.display());
    let over = format!("/usr/share:{}", machine.project.parent().unwrap().display());
    for bad in
        ["/usr/share:/x:z", "/usr/share:/etc", "/:/x", "/nowhere-at-all", "rel:/x", &inside, &over]
    {
        let mut command = machine.wrapper(&["go", "x"]);
        machine.refuses(command.env("FLOWERBOX_MOUNTS", bad), 2, "FLOWERBOX_MOUNTS");
    }
    let _socket = std::os::unix::net::UnixListener::bind(machine.home.join("sock")).unwrap();
    let socket = machine.home.join("sock");
    machine.refuses(machine.wrapper(&["x"]).env("FLOWERBOX_MOUNTS", socket), 2, "socket");
    for bad in ["--privileged", "--network=host", "-v/:/x", "--cap-add=ALL", "--env-file=x", "-e"] {
        machine.refuses(machine.wrapper(&["x"]).env("FLOWERBOX_ARGS", bad), 2, "FLOWERBOX_ARGS");
    }
    machine.refuses(machine.wrapper(&["x"]).env("FLOWERBOX_NETWORK", "host"), 2, "open or none");
    machine.refuses(machine.wrapper(&["x"]).env("FLOWERBOX_GIT_CONFIG", "no"), 2, "ro or rw");
}

#[test]
fn codes_of_flower_pass_and_those_of_the_engine_become_a_sentence() {
    let machine = Machine::new();
    for code in [0, 1, 2, 3, 4, 5, 75, 129, 130, 143] {
        machine.tell("code", &code.to_string());
        ends_with(&mut machine.wrapper(&["go", "x"]), code);
    }
    let told = [(125, "could not start"), (126, "could not run"), (127, "could not run")];
    for (code, why) in told.into_iter().chain([(137, "killed from outside")]) {
        machine.tell("code", &code.to_string());
        let output = ends_with(&mut machine.wrapper(&["go", "x"]), 1);
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
        machine.is_tidy();
    }
    machine.tell("inspect", "true\n");
    let output = ends_with(&mut machine.wrapper(&["go", "x"]), 1);
    assert!(stderr(&output).contains("limit of memory, 3072m"), "{}", stderr(&output));
    let removed = machine.words("rm");
    assert!(removed[1].starts_with("flowerbox-"), "{removed:?}");
}

#[test]
fn the_image_is_built_when_it_is_missing_or_of_another_source() {
    let machine = Machine::new();
    machine.run(&["config"]);
    assert!(machine.told("build").is_none(), "it is of this source");
    for label in [None, Some("other\n")] {
        match label {
            None => std::fs::remove_file(machine.engine.join("label")).unwrap(),
            Some(label) => machine.tell("label", label),
        }
        machine.run(&["config"]);
        let words = machine.words("build");
        let hash = format!("SOURCE_HASH={}", source_hash().trim());
        assert!(words.contains(&hash), "{words:?}");
        let context = machine.told("context").unwrap();
        let expected = ["Cargo.lock", "Cargo.toml", "flowerbox", "rust-toolchain.toml", "src"];
        let mut context: Vec<&str> = context.lines().collect();
        context.sort_unstable();
        assert_eq!(context, expected, "nothing but the source");
        std::fs::remove_file(machine.engine.join("build")).unwrap();
    }
    // An image with a name of its own is its owner's.
    let output = ends_with(machine.wrapper(&["config"]).env("FLOWER_IMAGE", "mine"), 0);
    assert!(machine.told("build").is_none());
    assert!(stderr(&output).contains("not of this source"));
}

#[test]
fn an_engine_that_is_missing_or_down_is_said_in_one_sentence() {
    let machine = Machine::new();
    machine.tell("down", "");
    machine.refuses(&mut machine.wrapper(&["go", "x"]), 1, "is its daemon running");
    let mut command = machine.wrapper(&["go", "x"]);
    machine.refuses(command.env("FLOWERBOX_ENGINE", "no-such-engine"), 1, "no-such-engine");
}

#[test]
fn a_folder_that_the_engine_does_not_see_is_noticed_first() {
    let machine = Machine::new();
    machine.tell("blind", "");
    machine.refuses(&mut machine.wrapper(&["go", "x"]), 1, "does not see");
    let left: Vec<_> = std::fs::read_dir(&machine.project).unwrap().collect();
    assert_eq!(left.len(), 1, "only runs: {left:?}");
    assert_eq!(std::fs::read_dir(machine.project.join("runs")).unwrap().count(), 0);
}

#[test]
fn what_a_killed_wrapper_left_is_removed_by_the_next_and_what_is_in_use_is_not() {
    let machine = Machine::new();
    let rooms = machine.home.join(".local/state/flower/box");
    let name = String::from_utf8(Command::new("uname").arg("-n").output().unwrap().stdout).unwrap();
    let room = |owner: &str| rooms.join(format!("{}.{owner}", name.trim()));
    // No process has this number; this one has ours.
    let (left, used) = (room("4194305"), room(&std::process::id().to_string()));
    for room in [&left, &used] {
        std::fs::create_dir_all(room).unwrap();
        std::fs::write(room.join("env"), "ANTHROPIC_API_KEY=x").unwrap();
    }
    machine.run(&["config"]);
    assert!(!left.exists() && used.exists());
}

#[test]
fn a_terminal_is_passed_on_where_there_is_one() {
    let machine = Machine::new();
    let Some(output) = on_a_terminal(&machine.wrapper(&[]), "") else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    let words = machine.words("run");
    assert!(words.contains(&"-t".to_owned()) && words.contains(&"-i".to_owned()));
}

#[test]
fn what_git_runs_by_itself_is_compared_at_the_end() {
    let machine = Machine::new();
    machine.git_init();
    let hook = machine.project.join(".git/hooks/post-checkout");
    machine.tell("act", &format!("echo x >'{}'\n", hook.display()));
    let output = ends_with(&mut machine.wrapper(&["go", "x"]), 0);
    assert!(stderr(&output).contains(&hook.display().to_string()), "{}", stderr(&output));

    // A worktree that leads git to a repository of somebody's making.
    let git = machine.project.join(".git");
    let state = machine.home.join(".local/state/flower/worktrees");
    let trees = state.join(flower::transcript::project_key(&machine.project));
    let plant = format!(
        "mkdir -p '{0}/good' '{0}/evil' '{1}/worktrees/x'; echo 'gitdir: {1}/worktrees/good' >'{0}/good/.git'; \
         echo 'gitdir: /evil' >'{0}/evil/.git'; echo ../../evil >'{1}/worktrees/x/commondir'\n",
        trees.display(),
        git.display()
    );
    machine.tell("act", &plant);
    let output = ends_with(&mut machine.wrapper(&["go", "x", "--isolate"]), 0);
    for path in [trees.join("evil/.git"), git.join("worktrees/x/commondir")] {
        assert!(stderr(&output).contains(path.to_str().unwrap()), "{}", stderr(&output));
    }
    assert!(!stderr(&output).contains("good/.git"), "{}", stderr(&output));

    let planted = machine.project.join(".git/commondir");
    machine.tell("act", &format!("echo ../evil >'{}'\n", planted.display()));
    let output = ends_with(&mut machine.wrapper(&["go", "x"]), 0);
    assert!(stderr(&output).contains("commondir.planted"), "{}", stderr(&output));
    assert!(!planted.exists() && planted.with_extension("planted").exists());
}

#[test]
fn signals_reach_the_box_and_its_code_is_waited_for() {
    let machine = Machine::new();
    let fifo = machine.engine.join("end");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    machine.tell("act", "echo started; cat \"$ENGINE/end\" >/dev/null\n");
    machine.tell("code", "143");
    let mut child =
        machine.wrapper(&["go", "x"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "started\n");
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    let words = machine.words("kill");
    assert_eq!(words[..3], ["kill", "--signal", "TERM"]);
    let started = machine.words("run");
    let name = started.iter().position(|word| word == "--name").unwrap() + 1;
    assert_eq!(words[3], started[name]);
    machine.is_tidy();
}

/// Words of `-e NAME=value`.
fn variable<'a>(words: &'a [String], name: &str) -> Option<&'a str> {
    words.iter().find_map(|word| word.strip_prefix(name)?.strip_prefix('='))
}

#[test]
fn worktrees_and_their_workbench_lie_where_flower_has_them_outside() {
    let deep = "deep/".repeat(60) + "ünd 中文 😀_x.y";
    for name in ["project", "my prüject_1.x", "Ж", &deep] {
        let machine = Machine::with_project(name);
        let words = machine.run(&["go", "x", "--isolate"]);
        let state = machine.home.join(".local/state");
        let key = flower::transcript::project_key(&machine.project);
        let trees = state.join("flower/worktrees").join(&key);
        let file = machine.project.file_name().unwrap().to_str().unwrap();
        let desk = machine.project.with_file_name(format!(".flower-{file}"));
        for place in [&trees, &desk] {
            assert!(mounts(&words).contains(&at(place, "rw").as_str()), "{words:?}");
            assert!(!place.exists(), "it was made for nothing: {}", place.display());
        }
        assert_eq!(variable(&words, "XDG_STATE_HOME"), state.to_str());
    }
    let machine = Machine::with_project("u\u{308}");
    machine.refuses(&mut machine.wrapper(&["go", "x", "--isolate"]), 1, "cannot be mapped");
    machine.run(&["go", "x"]);
}

#[test]
fn without_isolate_only_what_is_there_is_mapped() {
    let machine = Machine::new();
    let words = machine.run(&["go", "x", "--", "--isolate"]);
    assert!(variable(&words, "XDG_STATE_HOME").is_none(), "{words:?}");
    let state = machine.home.join("state");
    let key = flower::transcript::project_key(&machine.project);
    let trees = state.join("flower/worktrees").join(&key);
    let away = state.join("flower/workbenches").join(&key);
    let other = state.join("flower/worktrees/-other-project");
    for folder in [&trees, &away, &other] {
        std::fs::create_dir_all(folder).unwrap();
    }
    // A link on the way would make one worktree two.
    let link = machine.home.join("link");
    std::os::unix::fs::symlink(&state, &link).unwrap();
    ends_with(machine.wrapper(&["go", "x"]).env("XDG_STATE_HOME", &link), 0);
    let words = machine.words("run");
    let given = mounts(&words);
    assert!(given.contains(&at(&trees, "rw").as_str()), "{given:?}");
    assert!(given.contains(&at(&away, "ro").as_str()), "{given:?}");
    assert!(!given.iter().any(|mount| mount.contains("other-project")), "{given:?}");
    assert_eq!(variable(&words, "XDG_STATE_HOME"), state.to_str());

    ends_with(machine.wrapper(&["go", "x", "--isolate"]).env("XDG_STATE_HOME", &link), 0);
    let words = machine.words("run");
    assert!(
        mounts(&words).contains(&at(&away, "rw").as_str()),
        "the one that is there stays the one"
    );
}

#[test]
fn the_users_folder_is_writable_only_where_something_is_to_be_written() {
    let machine = Machine::new();
    let config = machine.home.join(".config/flower");
    let writable = format!("{}:/run/flower/config:rw", config.display());
    let words = machine.run(&["go", "x"]);
    assert!(!mounts(&words).iter().any(|mount| mount.contains("/run/flower/config")));
    assert!(!config.exists());
    for said in [&["setup"][..], &["config", "trust"]] {
        let words = machine.run(said);
        assert!(mounts(&words).contains(&writable.as_str()), "{said:?}: {words:?}");
    }
    assert!(config.is_dir(), "made first, or the engine would make it as root");
    let words = machine.run(&["config", "ANTHROPIC_API_KEY"]);
    assert!(mounts(&words).contains(&writable.replace(":rw", ":ro").as_str()));
}

/// The same command where standard input, output and errors are a terminal; nothing without script(1).
fn on_a_terminal(command: &Command, words: &str) -> Option<Output> {
    let mut script = Command::new("script");
    script.args(["-q", "-e", "-c", &format!("{SCRIPT} {words}"), "/dev/null"]);
    script.current_dir(command.get_current_dir().unwrap()).env_clear().stdin(Stdio::null());
    for (name, value) in command.get_envs() {
        script.env(name, value.unwrap());
    }
    let output = script.env("TERM", "xterm").output().ok();
    if output.is_none() {
        support::skip("terminal of the box", "no script(1)");
    }
    output
}

#[test]
fn without_any_key_a_person_at_a_terminal_can_set_one_up() {
    let machine = Machine::new();
    let offered = |machine: &Machine| {
        mounts(&machine.words("run")).iter().any(|mount| mount.ends_with("/config:rw"))
    };
    let Some(output) = on_a_terminal(&machine.wrapper(&[]), "go x") else { return };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    assert!(offered(&machine));
    on_a_terminal(machine.wrapper(&[]).env("ANTHROPIC_API_KEY", "x"), "go x");
    assert!(!offered(&machine));
    std::fs::create_dir(machine.home.join(".claude")).unwrap();
    let settings = r#"{"env": {"ANTHROPIC_AUTH_TOKEN": "x"}}"#;
    std::fs::write(machine.home.join(".claude/settings.json"), settings).unwrap();
    on_a_terminal(&machine.wrapper(&[]), "go x");
    assert!(!offered(&machine));
}

#[test]
fn a_build_that_fails_or_is_ended_is_one_sentence_and_leaves_nothing() {
    let machine = Machine::new();
    std::fs::remove_file(machine.engine.join("label")).unwrap();
    machine.tell("offline", "");
    let temporary = machine.home.join("tmp");
    std::fs::create_dir(&temporary).unwrap();
    let mut command = machine.wrapper(&["go", "x"]);
    machine.refuses(command.env("TMPDIR", &temporary), 1, "could not be built; without a network");
    std::fs::remove_file(machine.engine.join("offline")).unwrap();

    let fifo = machine.engine.join("building");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    let mut child = command.stderr(Stdio::null()).spawn().unwrap();
    // Open once the engine builds; what it builds from is there then.
    let writer = std::fs::File::options().write(true).open(&fifo).unwrap();
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 1);
    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
    drop(writer);
    assert_eq!(std::fs::read_dir(&temporary).unwrap().count(), 0);
    assert!(machine.told("run").is_none());
    machine.is_tidy();
}

#[test]
fn the_image_can_hold_the_claude_program() {
    let machine = Machine::new();
    let program = machine.home.join("claude");
    std::fs::write(&program, "#!/bin/sh\n").unwrap();
    let mut build = Command::new(BUILD);
    for (name, value) in machine.wrapper(&[]).get_envs() {
        build.env(name, value.unwrap());
    }
    build.env_remove("FLOWERBOX_BASE").env_remove("FLOWERBOX_BINARY");
    ends_with(build.env("FLOWERBOX_CLAUDE", &program), 0);
    let words = machine.words("build");
    assert!(words.contains(&"WITH_CLAUDE=1".to_owned()), "{words:?}");
    assert!(words.contains(&"CLAUDE=claude.binary".to_owned()));
    assert!(machine.told("context").unwrap().contains("claude.binary"));
    let output = ends_with(build.env("FLOWERBOX_CLAUDE", "/nowhere"), 1);
    assert!(stderr(&output).contains("there is no file /nowhere"));
}

#[test]
fn a_killed_wrapper_leaves_a_box_that_is_told_and_a_folder_that_is_removed_after_it() {
    let machine = Machine::new();
    let fifo = machine.engine.join("end");
    assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
    machine.tell("act", "echo started; cat \"$ENGINE/end\" >/dev/null\n");
    let mut child = machine
        .wrapper(&["go", "x"])
        .env("ANTHROPIC_API_KEY", "canary")
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let pid = child.id();
    child.kill().unwrap();
    child.wait().unwrap();
    std::fs::write(&fifo, "\n").unwrap();
    std::fs::remove_file(machine.engine.join("act")).unwrap();

    machine.tell("inspect", "true\n");
    let output = ends_with(&mut machine.wrapper(&["config"]), 0);
    let said = stderr(&output);
    assert!(
        said.contains("docker stop flowerbox-") && said.contains(&format!(".{pid}'")),
        "{said}"
    );
    machine.tell("inspect", "false\n");
    let output = ends_with(&mut machine.wrapper(&["config"]), 0);
    assert_eq!(stderr(&output), "");
    machine.is_tidy();
}

/// Runs the wrapper with a small file system at one place; nothing where a user may not have one.
fn with_a_full_disk(machine: &Machine, place: &Path, words: &str) -> Option<Output> {
    std::fs::create_dir_all(place).unwrap();
    let tells = "mount -t tmpfs -o size=64k,nr_inodes=64 none \"$1\" || exit 99; \
                 cat /dev/zero >\"$1/full\" 2>/dev/null; exec ";
    let mut command = Command::new("unshare");
    command
        .args(["-r", "-m", "sh", "-c", &format!("{tells}{SCRIPT} {words}"), "sh"])
        .arg(place)
        .current_dir(&machine.project)
        .env_clear()
        .stdin(Stdio::null());
    for (name, value) in machine.wrapper(&[]).get_envs() {
        command.env(name, value.unwrap());
    }
    let output = command.env("ANTHROPIC_API_KEY", "x").output().ok();
    if output.as_ref().is_none_or(|output| output.status.code() == Some(99)) {
        support::skip("full disk", "no file system can be made for one process");
        return None;
    }
    output
}

#[test]
fn a_full_disk_is_one_sentence_before_anything_is_started() {
    let machine = Machine::new();
    let rooms = machine.home.join(".local/state/flower/box");
    let project = machine.project.clone();
    for place in [&rooms, &project.join("runs")] {
        let Some(output) = with_a_full_disk(&machine, place, "go x 2>&1") else { return };
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert_eq!(output.status.code(), Some(1), "{said}");
        let said: Vec<&str> =
            said.lines().filter(|line| !line.contains("network is open")).collect();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("disk") || said[0].contains("No space"), "{said:?}");
        assert!(machine.told("run").is_none());
    }
}

#[test]
fn what_belongs_to_somebody_else_is_told_before_anything_is_started() {
    if !rustix::process::getuid().is_root() {
        return support::skip("somebody else's files", "only root can make them");
    }
    // The engine runs its probe as the project's owner would.
    let machine = Machine::new();
    for folder in [machine.home.parent().unwrap(), &machine.project, &machine.engine] {
        std::fs::set_permissions(folder, std::fs::Permissions::from_mode(0o755)).unwrap();
    }
    std::os::unix::fs::chown(&machine.project, Some(4711), Some(4711)).unwrap();
    let runs = machine.project.join("runs");
    std::fs::create_dir(&runs).unwrap();
    let engine = ENGINE
        .replace("exec /bin/sh \"$@\"", "exec setpriv --reuid 4711 --clear-groups /bin/sh \"$@\"");
    std::fs::write(machine.engine.join("docker"), engine).unwrap();
    let output = ends_with(&mut machine.wrapper(&["go", "x"]), 1);
    let said = stderr(&output);
    assert!(said.contains("belongs to user 4711, so the box runs as that user"), "{said}");
    let sentence = format!("user 4711, cannot work in {} of user 0", runs.display());
    assert!(said.contains(&sentence), "{said}");
    assert!(machine.told("run").is_none());
}

#[test]
fn a_copy_of_the_users_folder_comes_back_private_where_the_box_runs_as_somebody_else() {
    if !rustix::process::getuid().is_root() {
        return support::skip("somebody else's files", "only root can make them");
    }
    let machine = Machine::new();
    std::os::unix::fs::chown(&machine.project, Some(4711), Some(4711)).unwrap();
    let config = machine.home.join(".config/flower");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("models.json"), "{}").unwrap();
    machine.tell("act", "ls \"$config\"; stat -c %u \"$config\"; echo A=1 >\"$config/.env\"\n");
    let output = ends_with(&mut machine.wrapper(&["setup"]), 0);
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "models.json\n4711\n");
    let written = config.join(".env");
    assert_eq!(std::fs::read_to_string(&written).unwrap(), "A=1\n");
    let about = std::fs::metadata(&written).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
    assert_eq!(std::os::unix::fs::MetadataExt::uid(&about), 0);
}
