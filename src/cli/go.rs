//! `flower go`: the whole chain, on a workspace of the user's.

use std::io::{BufRead, IsTerminal, Write};
use std::num::NonZeroU64;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use super::args::{Global, GoArgs};
use super::assemble::{Extras, HandoffWish, House, Model, Place, limits, tell_notices};
use super::exit::{self, Ending, Refusal};
use super::fence::{Fenced, Site};
use super::isolate::{self, Desk};
use super::output::{Audience, Output, complain};
use super::{fence, person, signal};
use crate::language::Language;
use crate::runtime::{Lineage, Runtime};
use crate::sandbox::Scratch;
use crate::store::SessionStore;
use crate::workbench::Workbench;
use crate::workflow::{Flow, FlowError, FlowOptions, Outcome};
use crate::worktree::Yard;

/// A chain ready to be run: what `go` reads from its flags and `demo` chooses itself.
pub(super) struct Chain {
    pub(super) place: Place,
    pub(super) workbench: Arc<Workbench>,
    pub(super) model: Model,
    pub(super) options: FlowOptions,
    pub(super) max_asks: Option<u32>,
    /// Nothing means the settings' time; zero means that nobody is there.
    pub(super) ask_timeout: Option<Duration>,
    pub(super) handoff: HandoffWish,
    pub(super) tools: Fenced,
    /// Where subagents of a marked kind get worktrees.
    pub(super) yard: Option<Arc<Yard>>,
}

/// The command.
pub(super) fn run(global: &Global, args: &GoArgs) -> anyhow::Result<ExitCode> {
    let mut house = House::look(global)?;
    let output = Arc::new(Output::new(global, house.language, Audience::Follower));
    let endpoint = house.ready(global)?;
    let (workspace, run_dir) = house.folders(global);
    // Nothing is made for a request that is none.
    let desk = Desk::find(&workspace, args.isolate);
    let begun = !args.new && has_begun(&desk.root, &run_dir);
    let Some(ask) = request(&house, args, begun)? else {
        return Err(nothing_asked(house.language).into());
    };
    let yard = isolate::yard(&house, &workspace, args.isolate)
        .map_err(|complaint| Refusal::new("isolate", complaint))?;
    let workspace = Place::workspace(&workspace)?;
    let mut work = vec![desk.root.clone()];
    if let Some(yard) = &yard {
        work.extend([yard.home().to_owned(), yard.repository().to_owned()]);
    }
    let site = Site { workspace: &workspace, run_dir: &run_dir };
    let tools = fence::fence(&house, global, site, work, house.settings.tool_environment())?;
    let place = Place::open(workspace, &run_dir)?;
    tell_notices(&house, &place.store);
    let workbench = Arc::new(Workbench::open(&desk.root, &place.workspace, house.language)?);
    desk.tell_elsewhere(&house, &workbench);
    let chain = Chain {
        options: FlowOptions {
            ask: ask.words,
            rounds: args.rounds,
            judged: !args.no_goal,
            judge_can_run: args.judge_can_run,
            clarify_only: args.clarify_only,
            new: args.new || ask.new,
            isolate: args.isolate,
            handover: !args.no_handover && house.hands_over(),
            scratch: house.scratch(),
        },
        place,
        workbench,
        model: Model { endpoint, choice: house.choice() },
        max_asks: u32::try_from(args.asks).ok(),
        handoff: HandoffWish { window: args.window.map(NonZeroU64::get), off: args.no_handoff },
        ask_timeout: args.timeout.map(|seconds| Duration::from_secs_f64(seconds.max(0.0))),
        tools,
        yard,
    };
    let code = carry_out(&house, global, &output, chain)?;
    Ok(ExitCode::from(code))
}

/// There may be something to go on with. The flow looks closer; this only decides what is asked.
fn has_begun(desk: &Path, run_dir: &Path) -> bool {
    desk.join("notes").exists() || run_dir.join("lineage.json").exists()
}

/// What is asked, and whether it begins anew.
struct Request {
    words: String,
    new: bool,
}

/// The request from the command line, or from the person on a terminal (flow.md C3).
///
/// Nothing where nothing was asked and there is nothing to continue.
fn request(house: &House, args: &GoArgs, begun: bool) -> anyhow::Result<Option<Request>> {
    let mut new = args.new;
    let mut words = args.ask.clone().unwrap_or_default();
    if words.trim() == "/new" {
        new = true;
        words.clear();
    }
    let may_ask = args.ask.is_none() || new;
    if words.trim().is_empty() && may_ask && std::io::stdin().is_terminal() {
        let key = if begun { "cli.header_waking" } else { "cli.header" };
        let mut stdout = std::io::stdout().lock();
        write!(stdout, "{}\n> ", house.language.text(key, &[]))?;
        stdout.flush()?;
        let mut line = String::new();
        if std::io::stdin().lock().read_line(&mut line)? == 0 {
            return Ok(None);
        }
        words = line.trim().to_owned();
        if words == "/new" {
            new = true;
            words.clear();
        }
    }
    let nothing = words.trim().is_empty() && (!begun || new);
    Ok((!nothing).then_some(Request { words, new }))
}

/// Runs a chain to its end and says how it ended; gives the exit code.
pub(super) fn carry_out(
    house: &House,
    global: &Global,
    output: &Arc<Output>,
    chain: Chain,
) -> anyhow::Result<u8> {
    Scratch::sweep(&house.scratch());
    let tokio =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let ended = tokio.block_on(run_chain(house, global, output, chain));
    // The thread that reads stdin may sit in a read for ever; nothing else is left to wait for.
    tokio.shutdown_background();
    ended
}

async fn run_chain(
    house: &House,
    global: &Global,
    output: &Arc<Output>,
    chain: Chain,
) -> anyhow::Result<u8> {
    let store = Arc::clone(&chain.place.store);
    let sink = output.sink();
    let channel = house.channel(&chain.workbench, chain.max_asks, chain.ask_timeout, sink.clone());
    let extras = Extras {
        workbench: Some(Arc::clone(&chain.workbench)),
        channel: Some(channel.clone()),
        sink,
        limits: limits(global),
        wait_for_reset: !global.no_limit_wait,
        handoff: chain.handoff,
        tools: chain.tools,
        yard: chain.yard,
        trim: !global.no_trim,
    };
    let runtime = house.runtime(&chain.place, chain.model, extras)?;
    let lineage = Lineage::open(&chain.place.folder, &chain.place.workspace);
    if chain.ask_timeout != Some(Duration::ZERO) {
        person::listen(channel.clone());
    }
    let flow = Flow::new(&runtime, &lineage, &chain.workbench, &channel, chain.options);
    let mut run = Box::pin(flow.run());
    let ended = tokio::select! {
        outcome = &mut run => Ok(outcome),
        signal = signal::Ending::wait() => Err(signal?),
    };
    if ended.is_err() {
        // At once, since a large copy of the workspace takes its time to go; what the turn had used is
        // booked when it goes, and saved with the end of the run. A failure is said there too.
        let _ = runtime.manifest().rescue(signal::KILLED);
    }
    drop(run);
    // The leases end before the process does.
    drop(flow);
    match ended {
        Ok(outcome) => {
            let code = conclude(house, output, &runtime, outcome);
            if let Err(error) = store.close().await {
                complain(&error.to_string());
            }
            Ok(code)
        }
        Err(signal) => signal.end_run(house.language, output, &runtime).await,
    }
}

/// The last lines.
fn conclude(
    house: &House,
    output: &Output,
    runtime: &Runtime,
    outcome: Result<Outcome, FlowError>,
) -> u8 {
    let ending = match outcome {
        Ok(outcome) => {
            let ending = Ending::of_flow(&outcome, house.language);
            output.say("");
            output.say(&ending.sentence);
            ending
        }
        Err(error) => {
            let ending = Ending::of_error(&match error {
                FlowError::NothingAsked => nothing_asked(house.language).into(),
                error => Refusal::new("records", error.to_string()).into(),
            });
            complain(&ending.sentence);
            ending
        }
    };
    let results = runtime.manifest().results();
    if !results.is_empty() {
        let manifest = runtime.parts().folder.file("manifest.json");
        output.say(&house.language.text(
            "cli.records",
            &[
                ("cost", &exit::cost_text(&results, house.language)),
                ("manifest", &manifest.display().to_string()),
            ],
        ));
    }
    output.end(&ending.last_line(runtime));
    ending.code
}

fn nothing_asked(language: Language) -> Refusal {
    Refusal::new("nothing_asked", language.text("cli.nothing_asked", &[]))
}
