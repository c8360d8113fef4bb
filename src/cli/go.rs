//! `flower go`: the whole chain, on a workspace of the user's.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use super::args::{Global, GoArgs};
use super::assemble::{
    Extras, House, Model, Place, limits, tell_credentials, tell_notices, tell_warnings,
};
use super::exit::{self, Ending};
use super::output::{Audience, Output, complain};
use super::{fence, person, signal, trust};
use crate::runtime::{Lineage, Runtime};
use crate::store::SessionStore;
use crate::workbench::Workbench;
use crate::workflow::{Flow, FlowError, FlowOptions, Outcome};

/// A chain ready to be run: what `go` reads from its flags and `demo` chooses itself.
pub(super) struct Chain {
    pub(super) place: Place,
    pub(super) workbench: Arc<Workbench>,
    pub(super) model: Model,
    pub(super) options: FlowOptions,
    pub(super) max_asks: Option<u32>,
    /// Nothing means the settings' time; zero means that nobody is there.
    pub(super) ask_timeout: Option<Duration>,
    pub(super) tool_environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
}

/// The command.
pub(super) fn run(global: &Global, args: &GoArgs) -> anyhow::Result<ExitCode> {
    let house = House::look(global)?;
    let output = Arc::new(Output::new(global, house.language, Audience::Follower));
    tell_warnings(&house);
    tell_credentials(&house, global);
    if let Some(complaint) = house.missing_engine(global) {
        complain(&complaint);
        return Ok(ExitCode::from(exit::USAGE));
    }
    if !trust::project_env(&house)? {
        return Ok(ExitCode::from(exit::FAILED));
    }
    let endpoint = match house.settings.endpoint() {
        Ok(endpoint) => endpoint,
        Err(missing) => {
            complain(&missing.text(house.language));
            return Ok(ExitCode::from(exit::FAILED));
        }
    };
    let (workspace, run_dir) = house.folders(global);
    // Nothing is made for a request that is none.
    let begun = !args.new && has_begun(&workspace, &run_dir);
    let Some(ask) = request(&house, args, begun)? else {
        complain(&house.language.text("cli.nothing_asked", &[]));
        return Ok(ExitCode::from(exit::FAILED));
    };
    let place = Place::open(&workspace, &run_dir)?;
    tell_notices(&house, &place.store);
    let root = Workbench::usual_root(&place.workspace);
    let workbench = Arc::new(Workbench::open(&root, &place.workspace, house.language)?);
    let chain = Chain {
        options: FlowOptions {
            ask: ask.words,
            rounds: args.rounds,
            judged: !args.no_goal,
            judge_can_run: args.judge_can_run,
            clarify_only: args.clarify_only,
            new: args.new || ask.new,
            scratch: house.scratch(),
        },
        place,
        workbench,
        model: Model { endpoint, choice: house.choice() },
        max_asks: u32::try_from(args.asks).ok(),
        ask_timeout: args.timeout.map(|seconds| Duration::from_secs_f64(seconds.max(0.0))),
        tool_environment: Vec::new(),
    };
    let code = carry_out(&house, global, &output, chain)?;
    Ok(ExitCode::from(code))
}

/// There may be something to go on with. The flow looks closer; this only decides what is asked.
fn has_begun(workspace: &Path, run_dir: &Path) -> bool {
    Workbench::usual_root(workspace).join("notes").exists() || run_dir.join("lineage.json").exists()
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
    let mut environment = house.settings.tool_environment();
    environment.extend(chain.tool_environment);
    let desk = Some(chain.workbench.as_ref());
    let Some(tools) = fence::fence(house, global, &chain.place, desk, environment)? else {
        return Ok(exit::FAILED);
    };
    let tokio =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?;
    let store = Arc::clone(&chain.place.store);
    let code = tokio.block_on(async {
        let sink = output.sink();
        let channel =
            house.channel(&chain.workbench, chain.max_asks, chain.ask_timeout, sink.clone());
        let extras = Extras {
            workbench: Some(Arc::clone(&chain.workbench)),
            channel: Some(channel.clone()),
            sink,
            limits: limits(global),
            tools,
        };
        let runtime = house.runtime(&chain.place, chain.model, extras)?;
        let lineage = Lineage::open(&chain.place.folder, &chain.place.workspace);
        let unattended = chain.ask_timeout == Some(Duration::ZERO);
        if !unattended {
            person::listen(channel.clone());
        }
        let flow = Flow::new(&runtime, &lineage, &chain.workbench, &channel, chain.options);
        let ended = tokio::select! {
            outcome = flow.run() => Ok(outcome),
            signal = signal::Ending::wait() => Err(signal?),
        };
        match ended {
            Ok(outcome) => {
                let code = conclude(house, output, &runtime, outcome);
                store.close().await?;
                anyhow::Ok(code)
            }
            Err(signal) => {
                runtime.manifest().rescue("killed-by-signal")?;
                // Dying runs no destructor: copies and temporary folders go now.
                drop(flow);
                drop(runtime);
                store.close().await?;
                complain(&house.language.text("cli.interrupted", &[]));
                signal.die()
            }
        }
    })?;
    // The thread that reads stdin may sit in a read for ever; nothing else is left to wait for.
    tokio.shutdown_background();
    Ok(code)
}

/// The last lines.
fn conclude(
    house: &House,
    output: &Output,
    runtime: &Runtime,
    outcome: Result<Outcome, FlowError>,
) -> u8 {
    let outcome = match outcome {
        Ok(outcome) => outcome,
        Err(FlowError::NothingAsked) => {
            complain(&house.language.text("cli.nothing_asked", &[]));
            return exit::FAILED;
        }
        Err(error) => {
            complain(&error.to_string());
            return exit::FAILED;
        }
    };
    let ending = Ending::of_flow(&outcome, house.language);
    output.say("");
    output.say(&ending.sentence);
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
