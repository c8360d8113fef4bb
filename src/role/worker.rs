//! The subagents that do the work.

use minijinja::context;

use crate::language::Language;

use super::{join, list, prompt};

/// A subagent that a coordinator can start.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Worker {
    /// What the coordinator calls it by.
    pub name: String,
    /// What the coordinator picks it by.
    pub description: String,
    /// Its instructions, reporting rules included.
    pub prompt: String,
    /// The closed list of its tools.
    pub tools: Vec<String>,
    /// `inherit`, or a model's name.
    pub model: String,
    /// Whether it works in a copy of its own.
    pub isolate: bool,
}

/// How a worker is made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerOptions {
    /// The language of the reporting rules.
    pub language: Language,
    /// What the coordinator calls it by.
    pub name: String,
    /// What the coordinator picks it by.
    pub description: String,
    /// Its own instructions.
    pub prompt: String,
    /// Its tools.
    pub tools: Vec<String>,
    /// `inherit`, or a model's name.
    pub model: String,
    /// Where scripts are kept, as the worker can use it.
    pub scripts: String,
    /// Whether the reporting rules are put after the prompt.
    pub discipline: bool,
    /// Whether it works in a copy of its own.
    pub isolate: bool,
}

impl WorkerOptions {
    /// A worker with all hands-on and web tools that follows the reporting rules.
    pub fn new(language: Language, name: &str, description: &str, prompt: &str) -> Self {
        WorkerOptions {
            language,
            name: name.to_owned(),
            description: description.to_owned(),
            prompt: prompt.to_owned(),
            tools: list(&[
                "Read",
                "Write",
                "Edit",
                "Bash",
                "Glob",
                "Grep",
                "WebFetch",
                "WebSearch",
            ]),
            model: "inherit".to_owned(),
            scripts: ".flower/scripts/".to_owned(),
            discipline: true,
            isolate: false,
        }
    }
}

/// A subagent.
pub fn worker(options: WorkerOptions) -> Worker {
    let WorkerOptions { language, name, description, prompt, tools, model, .. } = options;
    let (discipline, isolate, scripts) = (options.discipline, options.isolate, options.scripts);
    let prompt = match discipline {
        true => join(&prompt, &prompt::WORKER.render(language, context! { scripts })),
        false => prompt,
    };
    Worker { name, description, prompt, tools, model, isolate }
}

/// The built-in worker: code, tests and everything else that needs hands.
pub fn coder(language: Language) -> Worker {
    worker(coder_options(language))
}

/// The same, in a worktree of its own; `scripts` is where scripts are kept, outside of it.
pub fn isolated_coder(language: Language, scripts: String) -> Worker {
    worker(WorkerOptions { scripts, isolate: true, ..coder_options(language) })
}

fn coder_options(language: Language) -> WorkerOptions {
    let description = language.text("role.coder", &[]);
    let own = prompt::CODER.render(language, context! {});
    WorkerOptions::new(language, "coder", &description, &own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rules_come_after_the_prompt_unless_switched_off() {
        let options = WorkerOptions::new(Language::English, "x", "d", "Do it.");
        let strict = worker(options.clone());
        assert!(strict.prompt.starts_with("Do it.\n\n## Reporting"));
        assert_eq!(strict.model, "inherit");
        let free = worker(WorkerOptions { discipline: false, ..options });
        assert_eq!(free.prompt, "Do it.");
    }

    #[test]
    fn the_built_in_worker_speaks_every_language() {
        for language in Language::ALL {
            let coder = coder(language);
            assert!(!coder.description.starts_with("role."));
            assert!(coder.prompt.contains("`.flower/scripts/`") && !coder.isolate);
            let isolated = isolated_coder(language, "/b/.flower-p/scripts/".into());
            assert!(isolated.isolate && isolated.prompt.contains("`/b/.flower-p/scripts/`"));
            assert_eq!(isolated.prompt.replace("/b/.flower-p/", ".flower/"), coder.prompt);
        }
    }
}
