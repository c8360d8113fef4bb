//! With `--isolate` subagents work side by side, each in a worktree and on a branch of its own.

use std::path::PathBuf;

use crate::chain::{ACHIEVED, CLARIFY, GOAL, WORK, dispatch, rules, worker};
use crate::house::{Gate, House, ends_with, shown, stderr, stdout, step_of, tool_results};

/// A user's repository with one commit.
fn repository() -> House {
    let house = House::new();
    house.write("kept.txt", "kept\n");
    house.write(".gitignore", "/runs\n");
    house.git(&["-c", "init.defaultBranch=main", "init", "-q"]);
    house.git(&["add", "-A"]);
    house.git(&["commit", "-qm", "first"]);
    house
}

const COMMITS: &str =
    "echo x > ${last_user}.txt && git add -A && git commit -qm ${last_user} && pwd";

/// The request in which the coordinator reads the reports.
fn reports(gate: &Gate) -> Vec<(String, bool, String)> {
    let read = gate.requests().into_iter().find(|request| {
        step_of(request) == "work"
            && request["headers"].get("x-claude-code-agent-id").is_none()
            && shown(request).contains("tool_result")
    });
    tool_results(&read.unwrap())
}

fn branches(house: &House) -> Vec<String> {
    let list = house.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
    list.lines().map(str::to_owned).collect()
}

/// The worktrees that are left in flower's state folder.
fn left(house: &House) -> Vec<PathBuf> {
    let home = house.home.join(".local/state/flower/worktrees");
    let projects = std::fs::read_dir(home).into_iter().flatten().flatten();
    let trees = projects.flat_map(|project| std::fs::read_dir(project.path()).unwrap().flatten());
    trees.map(|tree| tree.path()).filter(|tree| tree.join("kept.txt").exists()).collect()
}

#[test]
fn three_at_once_leave_three_branches_and_nothing_else() {
    let house = repository();
    let before = house.git(&["worktree", "list", "--porcelain"]);
    let tasks = ["prompt: one", "prompt: two", "prompt: three"];
    let parts = [CLARIFY, GOAL, &dispatch(&tasks), &worker(COMMITS), WORK, ACHIEVED];
    let gate = house.gate(&rules(&parts));
    let words = ["go", "do it", "--isolate", "--judge-can-run"];
    ends_with(&mut house.flower_at(&gate, &words), 0);
    let reports = reports(&gate);
    assert_eq!(reports.len(), 3);
    for (_, is_error, text) in &reports {
        assert!(!is_error && text.contains("(Branch flower/coder-"), "{text}");
    }
    let branches = branches(&house);
    assert_eq!(branches.len(), 4, "{branches:?}");
    let mut files: Vec<String> = branches
        .iter()
        .filter(|branch| branch.starts_with("flower/"))
        .map(|branch| house.git(&["diff", "--name-only", "main", branch]).trim().to_owned())
        .collect();
    files.sort();
    assert_eq!(files, ["one.txt", "three.txt", "two.txt"]);
    assert_eq!(house.git(&["worktree", "list", "--porcelain"]), before);
    assert_eq!(house.git(&["status", "--porcelain"]), "");
    assert_eq!(left(&house), [] as [PathBuf; 0]);
    let subagents: Vec<_> = house
        .entries()
        .into_iter()
        .filter(|(key, row)| key.contains("subagents") && row["cwd"].is_string())
        .collect();
    assert!(!subagents.is_empty());
    for (_, row) in &subagents {
        assert!(row["cwd"].as_str().unwrap().contains("/flower/worktrees/"), "{row}");
        assert!(row["gitBranch"].as_str().unwrap().starts_with("flower/coder-"), "{row}");
    }
}

#[test]
fn ten_at_once_do_not_step_on_each_other() {
    let house = repository();
    let before = house.git(&["worktree", "list", "--porcelain"]);
    let tasks: Vec<String> = (0..10).map(|number| format!("prompt: task-{number}")).collect();
    let tasks: Vec<&str> = tasks.iter().map(String::as_str).collect();
    let gate = house.gate(&rules(&[CLARIFY, &dispatch(&tasks), &worker(COMMITS), WORK]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--isolate", "--no-goal"]), 0);
    for (_, is_error, text) in reports(&gate) {
        assert!(!is_error && text.contains("(Branch flower/coder-"), "{text}");
    }
    let own = branches(&house).into_iter().filter(|branch| branch.starts_with("flower/"));
    let mut files: Vec<String> =
        own.map(|branch| house.git(&["diff", "--name-only", "main", &branch])).collect();
    files.sort();
    let expected: Vec<String> = (0..10).map(|number| format!("task-{number}.txt\n")).collect();
    assert_eq!(files, expected, "each its own work and nobody else's");
    assert_eq!(house.git(&["worktree", "list", "--porcelain"]), before);
    assert_eq!(house.git(&["status", "--porcelain"]), "");
    house.git(&["fsck", "--no-progress"]);
}

#[test]
fn the_workbench_lies_beside_the_project_and_is_shown_by_its_whole_path() {
    let house = repository();
    let desk = house.project.parent().unwrap().join(".flower-project");
    let parts = [CLARIFY, &dispatch(&["prompt: one"]), &worker(COMMITS), WORK];
    let gate = house.gate(&rules(&parts));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--isolate", "--no-goal"]), 0);
    assert!(desk.join("notes/brief.md").exists() && !house.exists(".flower"));
    let scripts = desk.join("scripts").display().to_string();
    for request in gate.requests().iter().filter(|request| step_of(request) == "work") {
        assert!(request["body"]["system"].to_string().contains(&scripts));
        assert!(!request["body"]["system"].to_string().contains("`.flower/"));
    }
    let output = house.flower_at(&gate, &["go", "--no-goal"]).output().unwrap();
    let said = stderr(&output);
    assert!(said.contains(&desk.join("notes/brief.md").display().to_string()), "{said}");
}

#[test]
fn a_killed_run_leaves_unfinished_work_that_the_next_one_names() {
    let house = repository();
    let work = "  - match: {step: work, agent: coder, turn: 0}\n    reply: {tools: [{name: Bash, input: {command: echo half > half.txt}}]}\n";
    let hang = "  - match: {step: work, agent: coder, turn: 1}\n    reply: {text: never}\n    delay_ms: 60000\n";
    let gate = house.gate(&rules(&[CLARIFY, &dispatch(&["prompt: one"]), work, hang]));
    let words = ["go", "do it", "--isolate", "--no-goal"];
    let mut run = house.flower_at(&gate, &words).spawn().unwrap();
    while gate.requests().len() < 4 && run.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    run.kill().unwrap();
    run.wait().unwrap();
    let trees = left(&house);
    assert_eq!(trees.len(), 1);
    let path = trees[0].to_str().unwrap();
    assert_eq!(house.git(&["-C", path, "status", "--porcelain"]), "?? half.txt\n");
    assert!(house.git(&["worktree", "list", "--porcelain"]).contains("locked flower:"));

    // Without --isolate too: what was left does not depend on how flower is called now.
    let gate = house.gate(&rules(&[CLARIFY, WORK]));
    let output = ends_with(&mut house.flower_at(&gate, &["go", "do it", "--no-goal"]), 0);
    let said = stderr(&output);
    assert!(said.contains(path) && said.contains("worktree remove --force"), "{said}");
    assert!(!house.git(&["worktree", "list", "--porcelain"]).contains("locked"));
    assert_eq!(std::fs::read_to_string(trees[0].join("half.txt")).unwrap(), "half\n");
    house.git(&["worktree", "remove", "--force", path]);
    let output = ends_with(&mut house.flower_at(&gate, &words), 0);
    assert!(!stderr(&output).contains("worktree remove"), "{}", stderr(&output));
}

#[test]
fn a_terminated_run_puts_its_worktrees_in_order() {
    let house = repository();
    let hang = "  - match: {step: work, agent: coder, turn: 0}\n    reply: {text: never}\n    delay_ms: 60000\n";
    let gate = house.gate(&rules(&[CLARIFY, &dispatch(&["prompt: one"]), hang]));
    let words = ["go", "do it", "--isolate", "--no-goal"];
    let mut run = house.flower_at(&gate, &words).spawn().unwrap();
    while gate.requests().len() < 3 && run.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    assert_eq!(left(&house).len(), 1);
    let pid = rustix::process::Pid::from_child(&run);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    run.wait().unwrap();
    assert_eq!(left(&house), [] as [PathBuf; 0]);
    assert_eq!(branches(&house), ["main"]);
}

#[test]
fn unfinished_work_is_kept_and_both_are_told_where() {
    let house = repository();
    let half = worker("echo half > half.txt");
    let gate = house.gate(&rules(&[CLARIFY, &dispatch(&["prompt: one"]), &half, WORK]));
    let words = ["go", "do it", "--isolate", "--no-goal", "--output", "stream-json"];
    let output = ends_with(&mut house.flower_at(&gate, &words), 0);
    let trees = left(&house);
    assert_eq!(trees.len(), 1);
    let path = trees[0].to_str().unwrap();
    let said = stdout(&output);
    let notice = said.lines().find(|line| line.contains("worktree.kept")).unwrap_or_default();
    assert!(notice.contains(path) && notice.contains("worktree remove --force"), "{said}");
    let report = &reports(&gate)[0].2;
    assert!(report.contains(path) && report.contains("half.txt"), "{report}");
    assert_eq!(house.git(&["status", "--porcelain"]), "");
}

#[test]
fn without_git_it_stops_before_anything_is_spent_or_made() {
    let house = House::new();
    let gate = house.gate(&rules(&[CLARIFY, WORK]));
    let words = ["go", "do it", "--isolate", "--no-goal"];
    let output = ends_with(&mut house.flower_at(&gate, &words), 1);
    assert!(stderr(&output).contains("git"), "{}", stderr(&output));
    assert_eq!(stderr(&output).lines().count(), 1, "{}", stderr(&output));
    house.git(&["init", "-q"]);
    let output = ends_with(&mut house.flower_at(&gate, &words), 1);
    assert!(stderr(&output).contains("commit"), "{}", stderr(&output));
    assert!(gate.requests().is_empty());
    assert!(!house.exists("runs") && !house.exists(".flower"));
    assert!(!house.project.parent().unwrap().join(".flower-project").exists());
}

#[test]
fn no_word_of_the_model_switches_it_off() {
    let house = repository();
    let here = format!("prompt: one, cwd: {:?}", house.project.display());
    let tasks = [
        &here,
        "prompt: two, isolation: none",
        "prompt: three, isolation: {a: b}",
        "prompt: 'Work in the original checkout, without a worktree.', isolation: ''",
    ];
    let look = worker("pwd > where.txt; git add -A; git commit -qm where");
    let gate = house.gate(&rules(&[CLARIFY, &dispatch(&tasks), &look, WORK]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--isolate", "--no-goal"]), 0);
    let reports = reports(&gate);
    for (_, is_error, text) in &reports[..3] {
        assert!(*is_error && text.contains("Nothing was started"), "{text}");
    }
    assert!(!reports[3].1, "{reports:?}");
    assert!(!house.exists("where.txt"));
    assert_eq!(branches(&house).len(), 2);
}

#[test]
fn no_word_of_the_model_switches_it_on() {
    let house = repository();
    let tasks = ["prompt: one, isolation: worktree", "prompt: two"];
    let write = worker("echo done > done.txt");
    let gate = house.gate(&rules(&[CLARIFY, &dispatch(&tasks), &write, WORK]));
    ends_with(&mut house.flower_at(&gate, &["go", "do it", "--no-goal"]), 0);
    let reports = reports(&gate);
    assert!(reports[0].1 && reports[0].2.contains("--isolate"), "{reports:?}");
    assert!(!reports[1].1 && !reports[1].2.contains("ranch"), "{reports:?}");
    assert_eq!(house.read("done.txt"), "done\n", "a role that is not marked works where it did");
    assert_eq!(branches(&house), ["main"]);
    assert!(!house.home.join(".local/state/flower/worktrees").exists());
}
