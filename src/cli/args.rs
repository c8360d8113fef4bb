//! The words of the command line as types. Help texts stand on the arguments.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::language::Language;

/// Runs a coding agent for hours or days on one task and brings it home.
///
/// `flower "make the tests pass"` asks until the request is clear, writes a brief and a goal,
/// lets subagents do the work, and has a judge send it back until it holds.
#[derive(Debug, Parser)]
#[command(name = "flower", version, subcommand_required = true)]
pub(super) struct Arguments {
    #[command(flatten)]
    pub(super) global: Global,
    #[command(subcommand)]
    pub(super) command: Command,
}

/// Flags that stand before or after the command.
#[derive(Debug, Args)]
pub(super) struct Global {
    /// Where the agent works; made where it is missing. Default: the current directory
    #[arg(short, long, global = true, value_name = "DIR")]
    pub(super) workspace: Option<PathBuf>,
    /// Where the records lie, relative to the current directory. Default: runs
    #[arg(short, long, global = true, value_name = "DIR")]
    pub(super) run_dir: Option<PathBuf>,
    /// Also show what subagents say, results of tools, prompts, and the effective credentials (masked)
    #[arg(short, long, global = true)]
    pub(super) verbose: bool,
    /// What stdout gets: text to read, one JSON object at the end, or one per event
    #[arg(long, global = true, value_enum)]
    pub(super) output: Option<OutputFormat>,
    /// Most US dollars for the whole run
    #[arg(long, short = 'b', global = true, value_name = "USD", value_parser = amount)]
    pub(super) budget: Option<f64>,
    /// Most replies of the model on main threads for the whole run
    #[arg(long, global = true, value_name = "N")]
    pub(super) max_turns: Option<u32>,
    /// Longest time for the whole run: 90s, 30m, 8h, 2d
    #[arg(long, global = true, value_name = "DURATION", value_parser = duration)]
    pub(super) max_time: Option<Duration>,
    /// What talks to the model
    #[arg(long, global = true, value_enum)]
    pub(super) engine: Option<EngineName>,
    /// End with 75 at a usage limit instead of waiting for the time that the server names
    #[arg(long, global = true)]
    pub(super) no_limit_wait: bool,
    /// Language of what flower says: en, zh, ru
    #[arg(long, global = true, value_parser = language)]
    pub(super) lang: Option<Language>,
    /// Colours
    #[arg(long, global = true, value_enum)]
    pub(super) color: Option<Color>,
    /// Fence the agent's tools: as far as the kernel can, or the run does not start, or not at all
    #[arg(long, global = true, value_enum)]
    pub(super) sandbox: Option<SandboxMode>,
    /// Something more that fenced tools may write; may be given several times
    #[arg(long, global = true, value_name = "DIR")]
    pub(super) sandbox_write: Vec<PathBuf>,
    /// Do not ask the endpoint beforehand whether it takes the credentials
    #[arg(long, global = true)]
    pub(super) no_probe: bool,
    /// Keep a workbench in the run folder (only for `once`)
    #[arg(short = 'W', long, global = true)]
    pub(super) workbench: bool,
    /// Move old large results out of a conversation that is resumed, into files (only for `once`)
    #[arg(short = 'T', long, global = true)]
    pub(super) trim: bool,
    /// Leave old large results in a conversation that is resumed (only for `go`)
    #[arg(long, global = true)]
    pub(super) no_trim: bool,
}

/// Formats of stdout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum OutputFormat {
    Text,
    Json,
    StreamJson,
}

/// Engines by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum EngineName {
    Auto,
    Native,
}

/// Whether tools are fenced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum SandboxMode {
    Auto,
    On,
    Off,
}

/// When to colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum Color {
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// The whole chain: clarify, set a goal, work, judge; the default
    Go(GoArgs),
    /// One agent, one task, no chain
    Once(OnceArgs),
    /// The whole chain on a small repository, offline, without a key
    Demo(DemoArgs),
    /// Every setting with its effective value and where it comes from
    Config(super::config::ConfigArgs),
    /// The model endpoint that is built in
    Gate(super::gate::GateArgs),
    /// The stored conversations of a run folder
    Sessions {
        #[command(subcommand)]
        command: SessionsCommand,
    },
    /// A workflow from a YAML file (not there yet)
    #[command(hide = true)]
    Run(Later),
    /// Asks for key or token, gateway, model and context window, and writes them into your own file
    Setup,
    /// Whether a run can begin here: credentials, endpoint, git, sandbox, disk and more
    Doctor(super::doctor::DoctorArgs),
    #[command(hide = true)]
    Report(Later),
    /// What a shell needs to complete flower's words; also the manual page
    Completions(super::completions::CompletionsArgs),
}

/// `flower sessions`
#[derive(Debug, Subcommand)]
pub(super) enum SessionsCommand {
    /// The conversations, newest first
    List(super::sessions::ListArgs),
    /// One conversation, to read
    Show(super::sessions::ShowArgs),
    /// One conversation as a file: JSONL, Markdown or one HTML page
    Export(super::sessions::ExportArgs),
    /// Take in Claude Code's own transcripts
    Import(super::sessions::ImportArgs),
    /// Look for damage; exit code 1 if there is any
    Check(super::sessions::CheckArgs),
    /// Serve the session store of the run folder to another program: JSON lines on standard input and
    /// output
    Serve,
}

/// Arguments of a command that is promised but not there.
#[derive(Debug, Args)]
pub(super) struct Later {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, hide = true)]
    words: Vec<std::ffi::OsString>,
}

/// `flower go`
#[derive(Debug, Args)]
pub(super) struct GoArgs {
    /// The request; without one the work goes on where it stopped
    pub(super) ask: Option<String>,
    /// Most questions to you while the request is clarified; negative means no limit
    #[arg(long, value_name = "N", default_value_t = -1, allow_hyphen_values = true)]
    pub(super) asks: i64,
    /// Rounds of work and judgement
    #[arg(long, value_name = "N", default_value_t = 3)]
    pub(super) rounds: u32,
    /// Work without goal and judge
    #[arg(long)]
    pub(super) no_goal: bool,
    /// Let the judge run commands, in a throw-away copy of the workspace
    #[arg(long)]
    pub(super) judge_can_run: bool,
    /// Seconds to wait for an answer; 0 means nobody is there
    #[arg(long, value_name = "SEC", allow_hyphen_values = true, value_parser = seconds)]
    pub(super) timeout: Option<f64>,
    /// Begin anew; brief, goal and lineage go to the archive
    #[arg(long)]
    pub(super) new: bool,
    /// Give each subagent a git worktree of its own, on a branch flower/…; the workbench then lies beside
    /// the project
    #[arg(long)]
    pub(super) isolate: bool,
    /// The model's context window in tokens; a quarter of it, at least 50,000, stays free
    #[arg(long, value_name = "N")]
    pub(super) window: Option<NonZeroU64>,
    /// Let a full conversation be an error instead of handing over to a fresh one
    #[arg(long)]
    pub(super) no_handoff: bool,
    /// Leave no hand-over for other tools in CLAUDE.md and AGENTS.md, and save its one request
    #[arg(long)]
    pub(super) no_handover: bool,
    /// Stop after the brief
    #[arg(long)]
    pub(super) clarify_only: bool,
}

/// `flower once`
#[derive(Debug, Args)]
pub(super) struct OnceArgs {
    /// The task; `-` reads it from standard input
    pub(super) prompt: String,
    /// Instructions for the agent
    #[arg(short, long, default_value = "")]
    pub(super) instructions: String,
    /// Tools that it may use, separated by commas
    #[arg(
        short,
        long,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "Read,Glob,Grep"
    )]
    pub(super) tools: Vec<String>,
    /// What it may do beyond the list of tools
    #[arg(short, long, value_enum, value_name = "MODE", default_value_t = PermissionMode::Default)]
    pub(super) permission_mode: PermissionMode,
    /// Continue a stored session
    #[arg(long, value_name = "ID")]
    pub(super) resume: Option<String>,
    /// With --resume: leave the stored session as it is and go on in a copy
    #[arg(long, requires = "resume")]
    pub(super) fork: bool,
}

/// Permission modes, named as agents know them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(super) enum PermissionMode {
    /// Only the listed tools
    #[value(name = "default")]
    Default,
    /// Also Write and Edit
    #[value(name = "acceptEdits")]
    AcceptEdits,
    /// Only listed tools that change nothing
    #[value(name = "plan")]
    Plan,
    /// Every tool that there is
    #[value(name = "bypassPermissions")]
    BypassPermissions,
}

impl OnceArgs {
    /// The closed list of tools.
    pub(super) fn allowed(&self) -> Vec<String> {
        const CHANGE: [&str; 2] = ["Write", "Edit"];
        const LOOK: [&str; 4] = ["Read", "Glob", "Grep", "TodoWrite"];
        let mut tools: Vec<String> = self.tools.iter().map(|tool| tool.trim().to_owned()).collect();
        let more: &[&str] = match self.permission_mode {
            PermissionMode::Default => &[],
            PermissionMode::AcceptEdits => &CHANGE,
            PermissionMode::Plan => {
                tools.retain(|tool| LOOK.contains(&tool.as_str()));
                &[]
            }
            PermissionMode::BypassPermissions => {
                &["Bash", "Write", "Edit", "Read", "Glob", "Grep", "TodoWrite"]
            }
        };
        tools.extend(more.iter().map(|tool| (*tool).to_owned()));
        tools.retain(|tool| !tool.is_empty());
        tools.sort();
        tools.dedup();
        tools
    }
}

/// `flower demo`
#[derive(Debug, Args)]
pub(super) struct DemoArgs {
    /// Where to put the repository and the records; must not exist. Default: flower-demo, or the next
    /// free name
    pub(super) dir: Option<PathBuf>,
    /// Ask the gate at this URL, which plays the demo's cassette, instead of one inside this process
    #[arg(long, value_name = "URL")]
    pub(super) gate: Option<String>,
}

/// The commands that look at a workspace and a run folder.
const WHERE: &str = "`flower go`, `flower once`, `flower sessions` and `flower doctor`";

impl Arguments {
    /// A flag that has no effect where it stands is a mistake, never silence.
    pub(super) fn misplaced(&self) -> Option<String> {
        let global = &self.global;
        let (name, takes): (&str, &[&str]) = match self.command {
            Command::Go(_) => {
                let takes: &[&str] = &[
                    "-w",
                    "-r",
                    "-v",
                    "--output",
                    "limits",
                    "--engine",
                    "--color",
                    "fence",
                    "--no-probe",
                    "--no-trim",
                ];
                ("go", takes)
            }
            Command::Once(_) => (
                "once",
                &[
                    "-w",
                    "-r",
                    "-v",
                    "--output",
                    "limits",
                    "--engine",
                    "--color",
                    "-W",
                    "fence",
                    "--no-probe",
                    "-T",
                ],
            ),
            Command::Demo(_) => ("demo", &["-v", "--output", "limits", "--color", "fence"]),
            Command::Config(_) => ("config", &[]),
            Command::Setup => ("setup", &["--no-probe"]),
            Command::Doctor(_) => ("doctor", &["-w", "-r", "--no-probe"]),
            Command::Gate(_) => ("gate", &[]),
            Command::Completions(_) => ("completions", &[]),
            Command::Sessions { command: SessionsCommand::Serve } => ("sessions serve", &["-r"]),
            Command::Sessions { .. } => ("sessions", &["-w", "-r", "-v", "--color"]),
            // Not there yet, which is said whatever the flags are.
            _ => return None,
        };
        let limits =
            global.budget.is_some() || global.max_turns.is_some() || global.max_time.is_some();
        let fence = global.sandbox.is_some() || !global.sandbox_write.is_empty();
        if global.sandbox == Some(SandboxMode::Off) && !global.sandbox_write.is_empty() {
            return Some("--sandbox-write has no effect with --sandbox off".to_owned());
        }
        let given = [
            ("-w", global.workspace.is_some(), WHERE),
            ("-r", global.run_dir.is_some(), WHERE),
            (
                "-v",
                global.verbose,
                "`flower go`, `flower once`, `flower demo` and `flower sessions`",
            ),
            ("--output", global.output.is_some(), "`flower go`, `flower once` and `flower demo`"),
            ("fence", fence, "`flower go`, `flower once` and `flower demo`"),
            ("limits", limits, "`flower go`, `flower once` and `flower demo`"),
            ("--engine", global.engine.is_some(), "`flower go` and `flower once`"),
            (
                "--color",
                global.color.is_some(),
                "`flower go`, `flower once`, `flower demo` and `flower sessions`",
            ),
            (
                "--no-probe",
                global.no_probe,
                "`flower go`, `flower once`, `flower setup` and `flower doctor`",
            ),
            ("-W", global.workbench, "`flower once`; `flower go` always has a workbench"),
            ("-T", global.trim, "`flower once`; `flower go` trims unless it is told --no-trim"),
            ("--no-trim", global.no_trim, "`flower go`; `flower once` trims only with -T"),
        ];
        let (flag, _, home) = given.iter().find(|(flag, on, _)| *on && !takes.contains(flag))?;
        let flag = match *flag {
            "limits" => "--budget, --max-turns or --max-time",
            "fence" => "--sandbox or --sandbox-write",
            flag => flag,
        };
        Some(format!("{flag} has no effect on `flower {name}`; it belongs to {home}"))
    }
}

fn language(code: &str) -> Result<Language, String> {
    Language::from_code(code).ok_or_else(|| "one of en, zh, ru".into())
}

fn amount(text: &str) -> Result<f64, String> {
    match text.trim_start_matches('$').parse::<f64>() {
        Ok(usd) if usd.is_finite() && usd >= 0.0 => Ok(usd),
        _ => Err("an amount in US dollars, such as 2.50".into()),
    }
}

/// More seconds than anybody waits, and fewer than a duration can hold.
const LONGEST_WAIT: f64 = 1e9;

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.abs() <= LONGEST_WAIT => Ok(seconds),
        _ => Err("a number of seconds, such as 600".into()),
    }
}

/// A number with a unit; without one, seconds.
fn duration(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        "d" => 86_400.0,
        _ => return Err("a time such as 90s, 30m, 8h or 2d".into()),
    };
    digits
        .parse::<f64>()
        .ok()
        .filter(|number| *number > 0.0)
        .and_then(|number| Duration::try_from_secs_f64(number * factor).ok())
        .ok_or_else(|| "a time such as 90s, 30m, 8h or 2d".into())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn a_time_that_no_clock_can_hold_is_refused() {
        for text in ["1e300", "inf", "NaN", "-1e300", "x", ""] {
            assert!(seconds(text).is_err(), "{text}");
        }
        assert_eq!(seconds("600"), Ok(600.0));
    }

    #[test]
    fn the_arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn permission_modes_widen_and_narrow_the_list() {
        let allowed = |mode: &str| {
            let words = ["flower", "once", "x", "-t", "Read, Bash", "-p", mode];
            match Arguments::try_parse_from(words).unwrap().command {
                Command::Once(once) => once.allowed().join(" "),
                _ => unreachable!(),
            }
        };
        assert_eq!(allowed("default"), "Bash Read");
        assert_eq!(allowed("acceptEdits"), "Bash Edit Read Write");
        assert_eq!(allowed("plan"), "Read");
        assert_eq!(allowed("bypassPermissions"), "Bash Edit Glob Grep Read TodoWrite Write");
    }

    #[test]
    fn durations_have_units() {
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("1.5h"), Ok(Duration::from_secs(5400)));
        for bad in ["", "h", "-1s", "1w", "1 h", "NaN", "infd"] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
