//! What the agent's tools can reach on the user's machine, and what not.

use std::path::{Path, PathBuf};
use std::process::Command;

use flower::sandbox::Kernel;
use serde_json::{Value, json};

use crate::chain::{ACHIEVED, CLARIFY, GOAL, WORK, rules};
use crate::house::{Gate, House, ends_with, stderr, tool_results};

/// A machine whose temporary folder and records lie beside home and project.
struct Machine {
    house: House,
    root: PathBuf,
}

impl Machine {
    /// Nothing, with a line that says so, where the kernel cannot fence.
    #[expect(clippy::print_stderr, reason = "a story that is skipped says so")]
    fn new() -> Option<Self> {
        if Kernel::probe() < Kernel::Signals {
            eprintln!("skipped: this kernel has no Landlock that can fence signals");
            return None;
        }
        let house = House::new();
        let root = house.home.parent().unwrap().to_owned();
        for folder in ["tmp", "outside", "home/.config/flower", "home/.claude"] {
            std::fs::create_dir_all(root.join(folder)).unwrap();
        }
        std::fs::write(root.join("home/.config/flower/.env"), "ANTHROPIC_API_KEY=canary-1\n")
            .unwrap();
        let settings = r#"{"env": {"ANTHROPIC_AUTH_TOKEN": "canary-2"}}"#;
        std::fs::write(root.join("home/.claude/settings.json"), settings).unwrap();
        std::fs::write(root.join("outside/file"), "canary-3").unwrap();
        Some(Self { house, root })
    }

    fn flower(&self, gate: &Gate, words: &[&str]) -> Command {
        let mut command = self.house.flower_at(gate, words);
        command.env("TMPDIR", self.root.join("tmp")).env("ANTHROPIC_API_KEY", "canary-4");
        command
    }

    /// Makes the calls in one `flower once` with all tools; gives what the model is told of each.
    fn calls(&self, flags: &[&str], calls: &[(&str, Value)]) -> Vec<(bool, String)> {
        let tools: Vec<Value> =
            calls.iter().map(|(name, input)| json!({"name": name, "input": input})).collect();
        let gate = self.house.gate(&format!(
            "  - match: {{turn: 0}}\n    reply: {{tools: {}}}\n  - match: {{turn: 1}}\n    reply: {{text: done}}\n",
            Value::from(tools)
        ));
        let mut words = vec!["once", "try", "-p", "bypassPermissions"];
        words.extend(flags);
        ends_with(&mut self.flower(&gate, &words), 0);
        let results = tool_results(&gate.requests()[1]);
        assert_eq!(results.len(), calls.len());
        results.into_iter().map(|(_, is_error, text)| (is_error, text)).collect()
    }

    /// The same for shell commands, with the records out of reach.
    fn commands(&self, commands: &[&str]) -> Vec<(bool, String)> {
        let calls: Vec<_> =
            commands.iter().map(|command| ("Bash", json!({ "command": command }))).collect();
        self.calls(&["--sandbox", "on", "-r", "../records"], &calls)
    }
}

#[test]
fn a_command_changes_the_project_and_nothing_else() {
    let Some(machine) = Machine::new() else { return };
    let commands = [
        "echo x > new.txt && mkdir -p a/b && mv new.txt a/b/ && cat a/b/new.txt",
        "printf '#!/bin/sh\\necho ran\\n' > $TMPDIR/p && chmod +x $TMPDIR/p && $TMPDIR/p",
        "echo x > /dev/null && head -c 1 /dev/urandom | wc -c",
        "echo x > $XDG_CACHE_HOME/y && echo cached",
        "exit 7",
    ];
    let results = machine.commands(&commands);
    let expected =
        [(false, "x"), (false, "ran"), (false, "1"), (false, "cached"), (true, "Exit code 7")];
    for ((result, expected), command) in results.iter().zip(expected).zip(commands) {
        assert_eq!((result.0, result.1.trim()), expected, "{command}");
    }
    let refused = [
        "echo x > ../outside/new",
        "echo x > ../outside/file",
        "rm ../outside/file",
        "echo x > $HOME/new",
        "mkdir $HOME/.ssh",
        "ln -s ../outside away && echo x > away/new",
        "mv a ../outside/a",
        "echo x > /dev/tty",
    ];
    for ((is_error, text), command) in machine.commands(&refused).iter().zip(refused) {
        assert!(is_error, "{command}: {text}");
    }
    let outside = machine.root.join("outside");
    assert_eq!(std::fs::read_to_string(outside.join("file")).unwrap(), "canary-3");
    assert_eq!(std::fs::read_dir(outside).unwrap().count(), 1);
    assert!(!machine.house.home.join("new").exists());
}

#[test]
fn no_key_and_no_record_is_in_reach_of_a_tool() {
    let Some(machine) = Machine::new() else { return };
    let commands = [
        "cat $HOME/.config/flower/.env",
        "cat $HOME/.claude/settings.json",
        "cat ../outside/file",
        "cat ../records/manifest.json",
        "cat ../records/sessions.db",
        "cat /proc/$PPID/environ",
        "cat /proc/$PPID/mem",
        "readlink /proc/$PPID/fd/0",
        "cat /proc/$PPID/fd/*",
        "kill -0 $PPID",
        "kill -TERM $PPID",
        "ls $HOME",
    ];
    for ((is_error, text), command) in machine.commands(&commands).iter().zip(commands) {
        assert!(*is_error && !text.contains("canary"), "{command}: {text}");
    }
    let seen =
        machine.commands(&["env", "grep -E '^(CapEff|CapBnd|NoNewPrivs)' /proc/self/status"]);
    assert!(!seen[0].1.contains("canary"), "{}", seen[0].1);
    let words: Vec<&str> = seen[1].1.split_whitespace().collect();
    assert_eq!(words[1].trim_matches('0'), "", "capabilities: {words:?}");
    assert_eq!(words.last(), Some(&"1"), "{words:?}");
}

#[test]
fn file_tools_end_where_commands_end() {
    let Some(machine) = Machine::new() else { return };
    let root = &machine.root;
    let at = |name: &str| root.join(name).display().to_string();
    std::os::unix::fs::symlink(root.join("outside"), root.join("project/link")).unwrap();
    let refused = [
        ("Read", json!({"file_path": at("home/.claude/settings.json")})),
        ("Read", json!({"file_path": at("records/manifest.json")})),
        ("Read", json!({"file_path": "/proc/self/environ"})),
        ("Read", json!({"file_path": "link/file"})),
        ("Write", json!({"file_path": at("outside/new"), "content": "x"})),
        ("Write", json!({"file_path": "link/new", "content": "x"})),
        ("Edit", json!({"file_path": "../outside/file", "old_string": "c", "new_string": "x"})),
        ("Glob", json!({"pattern": "**/*", "path": at("home")})),
        ("Glob", json!({"pattern": format!("{}/*", at("outside"))})),
        ("Grep", json!({"pattern": "canary", "path": at("")})),
    ];
    let results = machine.calls(&["--sandbox", "on", "-r", "../records"], &refused);
    for ((is_error, text), call) in results.iter().zip(&refused) {
        assert!(*is_error && text.contains("outside of what tools may"), "{call:?}: {text}");
        assert!(!text.contains('\n'), "{text}");
    }
    let allowed = [
        ("Write", json!({"file_path": "deep/new.txt", "content": "words"})),
        ("Read", json!({"file_path": "/etc/passwd", "limit": 1})),
        ("Write", json!({"file_path": at("tmp/new.txt"), "content": "words"})),
        ("Grep", json!({"pattern": "words"})),
    ];
    let results = machine.calls(&["--sandbox", "on", "-r", "../records"], &allowed);
    assert!(results.iter().all(|(is_error, _)| !is_error), "{results:?}");
}

#[test]
fn programs_of_the_path_work_inside() {
    let Some(machine) = Machine::new() else { return };
    machine.house.git(&["init", "-q"]);
    machine.house.write("kept.txt", "kept");
    let programs = [
        "git status --short && git add -A && git commit -qm x && git log --oneline",
        "python3 -c 'import ssl, json, tempfile; tempfile.TemporaryFile(); print(1)'",
        "cargo --version",
        "node --version",
    ];
    // What does not even work outside says nothing.
    let works = |command: &&str| {
        let mut shell = machine.house.command("sh");
        shell.args(["-c", command]).current_dir(machine.root.join("outside"));
        command.starts_with("git") || shell.output().unwrap().status.success()
    };
    let programs: Vec<&str> = programs.into_iter().filter(works).collect();
    for ((is_error, text), command) in machine.commands(&programs).iter().zip(programs) {
        assert!(!is_error, "{command}: {text}");
    }
}

#[test]
fn a_command_that_takes_too_long_is_ended_with_all_it_started() {
    let Some(machine) = Machine::new() else { return };
    let call = json!({"command": "sleep 600 & echo $! > pid; wait", "timeout": 300});
    let results = machine.calls(&["--sandbox", "on", "-r", "../records"], &[("Bash", call)]);
    assert!(results[0].0 && results[0].1.contains("longer than 300 ms"), "{results:?}");
    let pid = machine.house.read("pid");
    let stat = std::fs::read_to_string(Path::new("/proc").join(pid.trim()).join("stat"));
    assert!(stat.is_err() || stat.unwrap().contains(") Z"), "{pid} is alive");
}

#[test]
fn a_judge_that_runs_commands_changes_only_its_copy() {
    let Some(machine) = Machine::new() else { return };
    let planted = machine.house.project.join("planted.txt");
    let calls = json!([
        {"name": "Bash", "input": {"command": format!("echo x > {}", planted.display())}},
        {"name": "Bash", "input": {"command": "echo x > planted.txt && cat planted.txt"}},
    ]);
    let judge =
        format!("  - match: {{step: work.judge, turn: 0}}\n    reply: {{tools: {calls}}}\n");
    let gate = machine.house.gate(&rules(&[CLARIFY, GOAL, WORK, &judge, ACHIEVED]));
    let words = ["go", "do it", "--judge-can-run", "--timeout", "0"];
    ends_with(&mut machine.flower(&gate, &words), 0);
    let requests = gate.requests();
    let last = requests.iter().rfind(|r| r["body"].to_string().contains("planted")).unwrap();
    let results = tool_results(last);
    assert!(results[0].1 && !results[1].1, "{results:?}");
    assert!(!planted.exists());
}

#[test]
fn on_does_not_start_where_it_cannot_protect_and_auto_says_so_once() {
    let Some(machine) = Machine::new() else { return };
    let gate = machine.house.gate("  - match: {}\n    repeat: true\n    reply: {text: hello}\n");
    let said =
        stderr(&ends_with(&mut machine.flower(&gate, &["once", "hi", "--sandbox", "on"]), 1));
    assert!(said.contains("project/runs") && said.contains("-r DIR"), "{said}");
    machine.house.write(".env", "ANTHROPIC_API_KEY=canary-5\n");
    let words = ["once", "hi", "--sandbox", "on", "-r", "../records"];
    let said = stderr(&ends_with(&mut machine.flower(&gate, &words), 1));
    assert!(said.contains("project/.env") && !said.contains("canary"), "{said}");
    ends_with(&mut machine.flower(&gate, &["go", "hi", "--sandbox", "on"]), 1);
    assert!(gate.requests().is_empty());
    for left in ["runs", "../records", ".flower"] {
        assert!(!machine.house.exists(left), "{left}");
    }
    let said = stderr(&ends_with(&mut machine.flower(&gate, &["once", "hi"]), 0));
    assert_eq!(said.matches("project/runs").count(), 1, "{said}");
    assert!(said.contains("project/.env"), "{said}");
    let said =
        stderr(&ends_with(&mut machine.flower(&gate, &["once", "hi", "--sandbox", "off"]), 0));
    assert!(!said.contains("sandbox"), "{said}");
}

#[test]
fn what_the_person_opens_is_open_and_off_is_off() {
    let Some(machine) = Machine::new() else { return };
    let call = ("Bash", json!({"command": "echo x > ../outside/new && cat ../outside/new"}));
    let flags = ["--sandbox-write", "../outside", "-r", "../records"];
    assert_eq!(machine.calls(&flags, std::slice::from_ref(&call)), [(false, "x".to_owned())]);
    let off = machine.calls(&["--sandbox", "off"], &[call]);
    assert_eq!(off, [(false, "x".to_owned())]);
    let mut wrong =
        machine.house.flower(&["once", "hi", "--sandbox", "off", "--sandbox-write", "."]);
    assert!(stderr(&ends_with(&mut wrong, 2)).contains("--sandbox-write"));
    assert!(
        stderr(&ends_with(&mut machine.house.flower(&["config", "--sandbox", "on"]), 2))
            .contains("--sandbox")
    );
}

#[test]
fn file_tools_keep_out_of_records_and_keys_that_lie_in_the_project() {
    let Some(machine) = Machine::new() else { return };
    machine.house.write(".env", "ANTHROPIC_API_KEY=canary-5\n");
    machine.house.write("kept.txt", "kept canary-6");
    let calls = [
        ("Read", json!({"file_path": ".env"})),
        ("Read", json!({"file_path": "runs/manifest.json"})),
        ("Write", json!({"file_path": "runs/new.json", "content": "x"})),
        ("Grep", json!({"pattern": "canary", "glob": "{.env,*.txt}"})),
        ("Glob", json!({"pattern": "**/*"})),
    ];
    let results = machine.calls(&[], &calls);
    assert!(results[..3].iter().all(|(is_error, _)| *is_error), "{results:?}");
    assert_eq!(results[3..], [(false, "kept.txt".to_owned()), (false, "kept.txt".to_owned())]);
}

#[test]
fn a_linked_worktree_can_be_committed_to_but_no_hook_planted() {
    let Some(mut machine) = Machine::new() else { return };
    let repository = machine.house.project.clone();
    machine.house.git(&["init", "-q", "-b", "main"]);
    machine.house.git(&["commit", "-q", "--allow-empty", "-m", "first"]);
    machine.house.git(&["worktree", "add", "-q", "-b", "side", "../tree"]);
    machine.house = machine.house.at(machine.root.join("tree"));
    let commands = [
        "echo x > new.txt && git add -A && git commit -qm second && git status --short",
        "echo x > ../project/.git/hooks/pre-commit",
        "git config core.fsmonitor ./evil",
        "echo x > ../project/new.txt",
    ];
    let results = machine.commands(&commands);
    let refused: Vec<bool> = results.iter().map(|(is_error, _)| *is_error).collect();
    assert_eq!(refused, [false, true, true, true], "{results:?}");
    assert!(!repository.join("new.txt").exists());
    assert!(machine.house.git(&["log", "--oneline", "side"]).contains("second"));
}
