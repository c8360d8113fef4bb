//! `--isolate` in the box: worktrees are valid outside, and what a killed box left is found again.

use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use crate::chain::{ACHIEVED, CLARIFY, GOAL, WORK, dispatch, rules, worker};
use crate::house::{ends_with, stderr};
use crate::{Yard, yard};

impl Yard {
    fn branches(&self) -> Vec<String> {
        let list = self.git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        list.lines().map(str::to_owned).collect()
    }

    fn worktrees(&self) -> PathBuf {
        let key = flower::transcript::project_key(&self.house.project);
        self.house.home.join(".local/state/flower/worktrees").join(key)
    }
}

#[test]
fn three_at_once_leave_three_branches_and_nothing_else() {
    let Some(yard) = yard() else { return };
    yard.git_init();
    let before = yard.git(&["worktree", "list", "--porcelain"]);
    let tasks = ["prompt: one", "prompt: two", "prompt: three"];
    let commits = worker(
        "echo x > ${last_user}.txt && git add -A && git -c user.name=a -c user.email=b commit -qm ${last_user} && pwd",
    );
    let gate = yard.gate(&rules(&[CLARIFY, GOAL, &dispatch(&tasks), &commits, WORK, ACHIEVED]));
    let words = ["go", "do it", "--isolate", "--judge-can-run"];
    let output = ends_with(yard.wrapper(&words).env("FLOWER_GATE", gate.url()), 0);
    let said = stderr(&output);
    assert!(!said.contains("run by git itself"), "{said}");
    let branches = yard.branches();
    assert_eq!(branches.len(), 4, "{branches:?}\n{said}");
    let mut files: Vec<String> = branches
        .iter()
        .filter(|branch| branch.starts_with("flower/"))
        .map(|branch| yard.git(&["diff", "--name-only", "main", branch]).trim().to_owned())
        .collect();
    files.sort();
    assert_eq!(files, ["one.txt", "three.txt", "two.txt"]);
    assert_eq!(yard.git(&["worktree", "list", "--porcelain"]), before);
    assert_eq!(yard.git(&["status", "--porcelain"]), "");

    let desk = yard.house.home.join(".flower-my prüject");
    let brief = desk.join("notes/brief.md");
    assert!(brief.exists() && !yard.house.exists(".flower"));
    assert_eq!(brief.metadata().unwrap().uid(), yard.owner);
    // Without it, the brief at the other place is told.
    let gate = yard.gate(&rules(&[CLARIFY, WORK]));
    let output =
        ends_with(yard.wrapper(&["go", "do it", "--no-goal"]).env("FLOWER_GATE", gate.url()), 0);
    assert!(stderr(&output).contains(brief.to_str().unwrap()), "{}", stderr(&output));
}

#[test]
fn a_killed_box_leaves_a_worktree_that_is_valid_outside_and_named_by_the_next() {
    let Some(yard) = yard() else { return };
    yard.git_init();
    let half = "  - match: {step: work, agent: coder, turn: 0}\n    reply: {tools: [{name: Bash, input: {command: echo half > half.txt}}]}\n";
    let hang = "  - match: {step: work, agent: coder, turn: 1}\n    reply: {text: never}\n    delay_ms: 60000\n";
    let gate = yard.gate(&rules(&[CLARIFY, &dispatch(&["prompt: one"]), half, hang]));
    let words = ["go", "do it", "--isolate", "--no-goal"];
    let mut run = yard.wrapper(&words);
    let run = run.env("FLOWER_GATE", gate.url()).stderr(std::process::Stdio::piped());
    let mut run = run.spawn().unwrap();
    while gate.requests().len() < 4 {
        assert!(run.try_wait().unwrap().is_none(), "ended too early");
        std::thread::yield_now();
    }
    let names = yard.running();
    ends_with(&mut yard.docker(&["kill", &names[0]]), 0);
    let ended = run.wait_with_output().unwrap();
    assert_eq!(ended.status.code(), Some(1), "{}", stderr(&ended));
    assert!(stderr(&ended).contains("killed from outside"), "{}", stderr(&ended));

    let mut trees = std::fs::read_dir(yard.worktrees()).unwrap().flatten();
    let tree = trees.find(|entry| entry.path().join("kept.txt").exists()).unwrap().path();
    let path = tree.to_str().unwrap();
    assert_eq!(yard.git(&["-C", path, "status", "--porcelain"]), "?? half.txt\n");
    assert_eq!(tree.join("half.txt").metadata().unwrap().uid(), yard.owner);
    assert!(yard.git(&["worktree", "list", "--porcelain"]).contains(&format!("worktree {path}\n")));

    let gate = yard.gate(&rules(&[CLARIFY, WORK]));
    let mut next = yard.wrapper(&["go", "do it", "--no-goal"]);
    let said = stderr(&ends_with(next.env("FLOWER_GATE", gate.url()), 0));
    assert!(said.contains(path) && said.contains("worktree remove --force"), "{said}");
    assert_eq!(std::fs::read_to_string(tree.join("half.txt")).unwrap(), "half\n");
    yard.git(&["worktree", "remove", "--force", path]);
    assert!(!tree.exists());
}
