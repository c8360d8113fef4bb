//! Exit codes and the last line.

use std::path::PathBuf;

use serde::Serialize;

use crate::engine::{Fault, Limit, Remedy};
use crate::language::Language;
use crate::runtime::{Runtime, StepResult};
use crate::transcript::Usage;
use crate::workflow::{HANDOVER, Outcome};

/// Done.
pub(super) const DONE: u8 = 0;
/// flower could not do it.
pub(super) const FAILED: u8 = 1;
/// The command line is wrong.
pub(super) const USAGE: u8 = 2;
/// Not achieved within the rounds.
pub(super) const NOT_ACHIEVED: u8 = 3;
/// Judged unreachable, nobody there to decide.
pub(super) const UNREACHABLE: u8 = 4;
/// A limit of the user's was reached.
pub(super) const LIMIT: u8 = 5;
/// Gave up waiting; the same command again goes on.
pub(super) const GAVE_UP: u8 = 75;

/// How a run ended, for people and machines.
pub(super) struct Ending {
    pub(super) code: u8,
    /// One word for machines: achieved, failed, limit, …
    pub(super) outcome: &'static str,
    /// A finer word: credentials, network, budget, …; empty where there is nothing to add.
    pub(super) class: &'static str,
    /// One sentence for people.
    pub(super) sentence: String,
}

impl Ending {
    /// Of the whole chain.
    pub(super) fn of_flow(outcome: &Outcome, language: Language) -> Self {
        let text = |key: &str, values: &[(&str, &str)]| language.text(key, values);
        let (code, name, sentence) = match outcome {
            Outcome::Achieved { round } => {
                (DONE, "achieved", text("cli.achieved", &[("round", &round.to_string())]))
            }
            Outcome::AlreadyAchieved => {
                (DONE, "already_achieved", text("cli.already_achieved", &[]))
            }
            Outcome::Clarified => (DONE, "clarified", text("cli.clarified", &[])),
            Outcome::AlreadyClarified => {
                (DONE, "already_clarified", text("cli.already_clarified", &[]))
            }
            Outcome::Worked => (DONE, "worked", text("cli.worked", &[])),
            Outcome::NotAchieved { rounds, reason } => (
                NOT_ACHIEVED,
                "not_achieved",
                text("cli.not_achieved", &[("rounds", &rounds.to_string()), ("reason", reason)]),
            ),
            Outcome::Unreachable { reason } => {
                (UNREACHABLE, "unreachable", text("cli.unreachable", &[("reason", reason)]))
            }
            Outcome::Incomplete { step, missing } => (
                FAILED,
                "incomplete",
                text("cli.incomplete", &[("step", step), ("missing", &missing.join(", "))]),
            ),
            Outcome::Unjudged { reason } => {
                (FAILED, "unjudged", text("cli.unjudged", &[("reason", reason)]))
            }
            Outcome::Failed(result) => return Self::of_failure(result, language),
        };
        Self { code, outcome: name, class: "", sentence }
    }

    /// Of one step that went well.
    pub(super) fn done(language: Language) -> Self {
        Self { code: DONE, outcome: "done", class: "", sentence: language.text("cli.done", &[]) }
    }

    /// Of a step that failed.
    pub(super) fn of_failure(result: &StepResult, language: Language) -> Self {
        let fault = result.fault.clone().unwrap_or(Fault::Protocol);
        let class = class_of(&fault);
        let (code, outcome) = match (&fault, fault.remedy()) {
            (Fault::Limit(_), _) => (LIMIT, "limit"),
            // What patience could not outlast may be over tomorrow.
            (_, Remedy::Retry { .. }) => (GAVE_UP, "gave_up"),
            _ => (FAILED, "failed"),
        };
        let error = result.error.clone().unwrap_or_default();
        let values = [("step", result.step.as_str()), ("error", error.as_str())];
        let mut sentence = language.text(&format!("cli.{outcome}"), &values);
        if fault == Fault::Credentials {
            sentence.push('\n');
            sentence.push_str(&language.text("setup.hint", &[]));
        }
        Self { code, outcome, class, sentence }
    }

    /// Of a run whose records failed under it, or that could not even begin.
    pub(super) fn of_error(error: &anyhow::Error) -> Self {
        let (code, class) = match error.downcast_ref::<Refusal>() {
            Some(refusal) => (refusal.code, refusal.class),
            None => (FAILED, "environment"),
        };
        Self { code, outcome: "failed", class, sentence: format!("{error:#}") }
    }

    /// Of a run that a signal ended.
    pub(super) fn of_signal(code: u8, language: Language) -> Self {
        let sentence = language.text("cli.interrupted", &[]);
        Self { code, outcome: "interrupted", class: "signal", sentence }
    }

    /// The last line of the JSON formats for a run that did not begin: the same fields, with nothing in them.
    pub(super) fn line_without_run(&self) -> LastLine {
        LastLine {
            kind: End::End,
            outcome: self.outcome,
            class: self.class,
            exit_code: self.code,
            message: self.sentence.clone(),
            text: String::new(),
            run: None,
            sessions: Vec::new(),
            cost_usd: 0.0,
            cost_known: true,
            usage: Usage::default(),
            num_turns: 0,
            duration_s: 0.0,
            paths: Paths::default(),
        }
    }

    /// The last line of the JSON formats.
    pub(super) fn last_line(&self, runtime: &Runtime) -> LastLine {
        let results = runtime.manifest().results();
        let mut usage = Usage::default();
        for result in &results {
            usage.add(&result.usage);
        }
        let folder = &runtime.parts().folder;
        let started = results.first().map_or(0.0, |first| first.started_at);
        let ended = results.last().map_or(0.0, |last| last.ended_at);
        let sessions = results.iter().filter_map(|result| {
            let session_id = result.session_id.clone()?;
            Some(StepSession { step: result.step.clone(), session_id })
        });
        let work = results.iter().rfind(|result| result.step != HANDOVER);
        LastLine {
            text: work.map_or_else(String::new, |last| last.text.clone()),
            run: Some(runtime.manifest().run_id().to_string()),
            sessions: sessions.collect(),
            cost_usd: total_cost(&results),
            cost_known: results.iter().all(|r| r.cost_known),
            usage,
            num_turns: results.iter().map(|r| r.num_turns).sum(),
            duration_s: ((ended - started) * 100.0).round() / 100.0,
            paths: Paths {
                workspace: Some(runtime.parts().workspace.clone()),
                run_dir: Some(folder.path().to_owned()),
                manifest: Some(folder.file("manifest.json")),
                sessions: Some(folder.file("sessions.db")),
                workbench: runtime.parts().workbench.as_ref().map(|w| w.root().to_owned()),
            },
            ..self.line_without_run()
        }
    }
}

/// The last line of the JSON formats, whether or not a run began.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(super) struct LastLine {
    kind: End,
    /// One word: achieved, worked, done, not_achieved, unreachable, failed, limit, gave_up, …
    outcome: &'static str,
    /// A finer word: credentials, network, budget, …; empty where there is nothing to add.
    class: &'static str,
    exit_code: u8,
    /// One sentence for people.
    message: String,
    /// What the last step said.
    text: String,
    /// The run's id; null where none began.
    run: Option<String>,
    sessions: Vec<StepSession>,
    /// US dollars, four decimals.
    cost_usd: f64,
    /// False where a price was unknown.
    cost_known: bool,
    usage: Usage,
    num_turns: u32,
    duration_s: f64,
    paths: Paths,
}

/// The kind that no event has.
#[derive(Debug, Clone, Copy, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
enum End {
    End,
}

/// The conversation of a step.
#[derive(Debug, Clone, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct StepSession {
    step: String,
    session_id: String,
}

/// Where everything lies; nothing of a run that did not begin.
#[derive(Debug, Clone, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Paths {
    #[serde(skip_serializing_if = "Option::is_none")]
    workspace: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    run_dir: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    manifest: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sessions: Option<PathBuf>,
    workbench: Option<PathBuf>,
}

/// Why a run does not begin, said in one sentence.
#[derive(Debug, thiserror::Error)]
#[error("{sentence}")]
pub(super) struct Refusal {
    code: u8,
    class: &'static str,
    sentence: String,
}

impl Refusal {
    /// Something is missing or not allowed; `class` is one word for machines.
    pub(super) fn new(class: &'static str, sentence: impl Into<String>) -> Self {
        Self { code: FAILED, class, sentence: sentence.into() }
    }

    /// The command line is wrong.
    pub(super) fn usage(sentence: impl Into<String>) -> Self {
        Self { code: USAGE, class: "usage", sentence: sentence.into() }
    }
}

/// US dollars of several steps, four decimals.
pub(super) fn total_cost(results: &[StepResult]) -> f64 {
    (results.iter().map(|r| r.cost_usd).sum::<f64>() * 10_000.0).round() / 10_000.0
}

/// The cost of several steps in words.
pub(super) fn cost_text(results: &[StepResult], language: Language) -> String {
    let cost = format!("${:.4}", total_cost(results));
    match results.iter().all(|r| r.cost_known) {
        true => cost,
        false => language.text("cli.cost_at_least", &[("cost", &cost)]),
    }
}

fn class_of(fault: &Fault) -> &'static str {
    match fault {
        Fault::Credentials => "credentials",
        Fault::Refused => "refused",
        Fault::NotFound => "not_found",
        Fault::BadRequest => "bad_request",
        Fault::Thinking => "thinking",
        Fault::Overflow | Fault::Full => "overflow",
        Fault::NoCredit => "no_credit",
        Fault::RateLimited { .. } => "rate_limited",
        Fault::Overloaded { .. } => "overloaded",
        Fault::Server { .. } => "server",
        Fault::Network => "network",
        Fault::Timeout => "timeout",
        Fault::Protocol => "protocol",
        Fault::Limit(Limit::Turns) => "turns",
        Fault::Limit(Limit::Budget) => "budget",
        Fault::Limit(Limit::Time) => "time",
        Fault::Stopped => "stopped",
        Fault::Store => "store",
    }
}

#[cfg(test)]
mod tests {
    use super::LastLine;
    use crate::event::Event;

    /// One line of `--output stream-json`.
    #[derive(schemars::JsonSchema)]
    #[schemars(untagged)]
    #[allow(dead_code, reason = "only its schema is wanted")]
    enum Line {
        Event(Event),
        End(LastLine),
    }

    /// `FLOWER_UPDATE_SCHEMA=1 cargo test --lib cli::exit` writes the file anew.
    #[test]
    fn the_schema_of_the_lines_is_the_schema_of_the_types() {
        let settings = schemars::generate::SchemaSettings::draft2020_12().for_serialize();
        let schema = settings.into_generator().into_root_schema_for::<Line>();
        let text = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/src/event/event.schema.json");
        if std::env::var_os("FLOWER_UPDATE_SCHEMA").is_some() {
            std::fs::write(path, &text).unwrap();
        }
        assert_eq!(std::fs::read_to_string(path).unwrap(), text);
    }
}
