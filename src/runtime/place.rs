//! Where subagents work: in the workspace, or each in a git worktree of its own.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use serde_json::json;

use crate::engine::{AgentPlace, Ground, HostError};
use crate::event::{Event, Sink};
use crate::language::Language;
use crate::worktree::{Ending, Kept, Worktree, Yard};

/// The only isolation there is.
const WORKTREE: &str = "worktree";

/// For each git command while a subagent's place is given back.
const PATIENCE: Duration = Duration::from_secs(120);

/// The same while everything ends, where a person or a machine waits for flower to be gone.
const LAST_PATIENCE: Duration = Duration::from_secs(2);

/// The places of one step's subagents.
pub(super) struct Places {
    yard: Option<Arc<Yard>>,
    trees: Arc<Mutex<HashMap<String, Worktree>>>,
    sink: Sink,
    language: Language,
}

impl Places {
    pub(super) fn new(yard: Option<Arc<Yard>>, sink: Sink, language: Language) -> Self {
        Self { yard, trees: Arc::default(), sink, language }
    }

    /// A place for a subagent. `marked` is true for a kind that always has a worktree, whatever the model
    /// wrote: a folder or a word of its own choice is no way around it.
    pub(super) async fn give(
        &self,
        agent: &AgentPlace,
        marked: bool,
    ) -> Result<Option<Ground>, HostError> {
        let refuse = |reason: String| Err(HostError(reason));
        match (agent.isolation.as_deref(), marked) {
            (None, false) => return Ok(None),
            (Some(WORKTREE), _) => {}
            (None, true) => {
                return refuse(format!(
                    "The subagent `{}` works in a git worktree of its own and nowhere else. Nothing was \
                     started; call `Agent` again without `cwd` and `isolation`.",
                    agent.kind
                ));
            }
            (Some(other), _) => {
                return refuse(format!(
                    "There is no isolation {other:?}, only \"{WORKTREE}\". Nothing was started; call `Agent` \
                     again without `isolation`."
                ));
            }
        }
        let Some(yard) = self.yard.clone() else {
            return refuse(
                "This run has no git worktrees: it was not started with --isolate, which needs a git \
                 repository. Nothing was started; call `Agent` again without `isolation`."
                    .to_owned(),
            );
        };
        let (trees, id) = (Arc::clone(&self.trees), agent.id.clone());
        let name = format!("{}-{}", agent.kind, id.get(..8).unwrap_or(&id));
        let made = tokio::task::spawn_blocking(move || {
            let tree = yard.make(&name)?;
            let ground = ground(&tree);
            // Here and not by the one who waits, who may be gone by now.
            lock(&trees).insert(id, tree);
            Ok::<_, crate::worktree::GitError>(ground)
        });
        match made.await {
            Ok(Ok(ground)) => Ok(Some(ground)),
            Ok(Err(error)) => {
                refuse(format!("No git worktree could be made, so nothing was started: {error}"))
            }
            Err(error) => refuse(error.to_string()),
        }
    }

    /// Gives a place back; one line about what became of it.
    pub(super) async fn take_back(&self, agent_id: &str) -> Option<String> {
        let tree = lock(&self.trees).remove(agent_id)?;
        let branch = tree.branch().to_owned();
        let path = tree.path().display().to_string();
        let ended = tokio::task::spawn_blocking(move || tree.end(PATIENCE)).await;
        let Ok(ending) = ended else {
            return Some(format!("(Worktree {path}, branch {branch}: kept.)"));
        };
        self.tell(&ending);
        Some(line(&ending, &branch))
    }

    /// The folder of a subagent that has one of its own.
    pub(super) fn folder(&self, agent_id: &str) -> Option<PathBuf> {
        lock(&self.trees).get(agent_id).map(|tree| tree.folder().to_owned())
    }

    /// The person is told of what stays.
    fn tell(&self, ending: &Ending) {
        let Ending::Kept(kept) = ending else { return };
        let text = self.language.text(
            "worktree.kept",
            &[
                ("path", &kept.path.display().to_string()),
                ("why", &why(kept, self.language)),
                ("command", &kept.command),
            ],
        );
        let data = json!({
            "notice": "worktree.kept", "path": kept.path, "branch": kept.branch, "command": kept.command,
        });
        self.sink.tell(Event::Task { text, data });
    }
}

impl Drop for Places {
    /// The step was dropped with subagents at work. What cannot be done in time stays locked, and the next
    /// run finds it.
    fn drop(&mut self) {
        let trees: Vec<Worktree> = lock(&self.trees).drain().map(|(_, tree)| tree).collect();
        // All at once: the time is short.
        std::thread::scope(|scope| {
            let ends: Vec<_> =
                trees.iter().map(|tree| scope.spawn(|| tree.end(LAST_PATIENCE))).collect();
            for end in ends {
                if let Ok(ending) = end.join() {
                    self.tell(&ending);
                }
            }
        });
    }
}

fn lock(
    trees: &Mutex<HashMap<String, Worktree>>,
) -> std::sync::MutexGuard<'_, HashMap<String, Worktree>> {
    trees.lock().unwrap_or_else(PoisonError::into_inner)
}

fn ground(tree: &Worktree) -> Ground {
    Ground {
        folder: tree.folder().to_owned(),
        environment: tree.environment().to_vec(),
        note: format!(
            "The working directory belongs to a git worktree of your own, on the branch {}. It holds what was \
             committed when you began. Unless your task says otherwise, work in it and not in the original \
             checkout and stay on this branch. Commit your work before you report: the commits are what you hand over.",
            tree.branch()
        ),
    }
}

/// What the coordinator reads below a report.
fn line(ending: &Ending, branch: &str) -> String {
    match ending {
        Ending::Removed { branch: Some(branch) } => {
            format!("(Branch {branch}: holds the commits; the worktree is clean and removed.)")
        }
        Ending::Removed { branch: None } => {
            "(Nothing was committed or left: worktree and branch are removed.)".to_owned()
        }
        Ending::Kept(kept) => format!(
            "(Branch {branch}; the worktree {} is kept: {}.)",
            kept.path.display(),
            why(kept, Language::English)
        ),
    }
}

fn why(kept: &Kept, language: Language) -> String {
    language.text(kept.reason.key(), &[("what", &kept.reason.what())])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent(isolation: Option<&str>) -> AgentPlace {
        let isolation = isolation.map(str::to_owned);
        AgentPlace { id: "a1".into(), kind: "coder".into(), isolation }
    }

    #[tokio::test]
    async fn only_who_asks_for_nothing_and_is_not_marked_works_in_the_workspace() {
        let places = Places::new(None, Sink::nobody(), Language::English);
        assert_eq!(places.give(&agent(None), false).await.unwrap(), None);
        for (isolation, marked, said) in [
            (None, true, "worktree of its own"),
            (Some("none"), true, "no isolation \"none\""),
            (Some("remote"), false, "no isolation \"remote\""),
            (Some("worktree"), false, "--isolate"),
            (Some("worktree"), true, "--isolate"),
        ] {
            let error = places.give(&agent(isolation), marked).await.unwrap_err().to_string();
            assert!(error.contains(said) && error.contains("othing was started"), "{error}");
        }
        assert_eq!(places.take_back("a1").await, None);
    }
}
