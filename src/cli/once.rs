//! `flower once`: one agent, one task, no chain.

use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;

use super::args::{Global, OnceArgs};
use super::assemble::{Extras, HandoffWish, House, Model, Place, limits, tell_notices};
use super::exit::{self, Ending, Refusal};
use super::fence::Site;
use super::output::{Audience, Output, complain};
use super::{fence, signal};
use crate::role;
use crate::runtime::{Assignment, Leases, Session};
use crate::sandbox::Scratch;
use crate::store::SessionStore;
use crate::workbench::Workbench;

/// The manifest row and the name of the agent, as the reference program has them.
const STEP: &str = "ad-hoc";

/// The command.
pub(super) fn run(global: &Global, args: &OnceArgs) -> anyhow::Result<ExitCode> {
    let mut house = House::look(global)?;
    let output = Arc::new(Output::new(global, house.language, Audience::Reader));
    let prompt = match args.prompt.as_str() {
        "-" => {
            let mut text = String::new();
            std::io::stdin().lock().read_to_string(&mut text)?;
            text
        }
        words => words.to_owned(),
    };
    if prompt.trim().is_empty() {
        let sentence = house.language.text("cli.nothing_asked_once", &[]);
        return Err(Refusal::new("nothing_asked", sentence).into());
    }
    let endpoint = house.ready(global)?;
    let (workspace, run_dir) = house.folders(global);
    let workspace = Place::workspace(&workspace)?;
    let work = global.workbench.then(|| run_dir.join("workbench")).into_iter().collect();
    let site = Site { workspace: &workspace, run_dir: &run_dir };
    let tools = fence::fence(&house, global, site, work, house.settings.tool_environment())?;
    Scratch::sweep(&house.scratch());
    let place = Place::open(workspace, &run_dir)?;
    tell_notices(&house, &place.store);
    let workbench = match global.workbench {
        true => {
            let root = place.folder.file("workbench");
            Some(Arc::new(Workbench::open(&root, &place.workspace, house.language)?))
        }
        false => None,
    };
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = tokio.block_on(async {
        let extras = Extras {
            workbench,
            channel: None,
            sink: output.sink(),
            limits: limits(global),
            handoff: HandoffWish::default(),
            wait_for_reset: !global.no_limit_wait,
            tools,
            yard: None,
            trim: global.trim,
        };
        let runtime = house.runtime(&place, Model { endpoint, choice: house.choice() }, extras)?;
        let mut role = role::once(&args.instructions, args.allowed());
        role.workbench_index = global.workbench;
        let leases = Leases::default();
        let session = match &args.resume {
            None => Session::New,
            Some(id) => {
                let refusal =
                    |class, key: &str| Refusal::new(class, house.language.text(key, &[("id", id)]));
                if !runtime.has_session(id).await? {
                    return Err(refusal("no_session", "cli.no_session").into());
                }
                if args.fork {
                    Session::Fork(id.clone())
                } else if leases.hold(&place.folder, id) {
                    Session::Resume(id.clone())
                } else {
                    return Err(refusal("session_in_use", "cli.session_in_use").into());
                }
            }
        };
        let hold = |id: &str| {
            leases.hold(&place.folder, id);
        };
        let step = runtime.run(Assignment {
            label: STEP.to_owned(),
            step: STEP.to_owned(),
            role: &role,
            prompt,
            session,
            folder: None,
            on_session: &hold,
        });
        let result = tokio::select! {
            result = step => result,
            signal = signal::Ending::wait() => {
                signal?.end_run(house.language, &output, &runtime).await
            }
        };
        let ending = match &result {
            Ok(result) if result.ok => Ending::done(house.language),
            Ok(result) => Ending::of_failure(result, house.language),
            Err(error) => Ending::of_error(&Refusal::new("records", error.to_string()).into()),
        };
        if let Some(said) = runtime.manifest().results().last() {
            output.answer(&said.text);
        }
        if ending.code != exit::DONE {
            complain(&ending.sentence);
        }
        output.end(&ending.last_line(&runtime));
        if let Err(error) = place.store.close().await {
            complain(&error.to_string());
        }
        anyhow::Ok(ending.code)
    })?;
    Ok(ExitCode::from(code))
}
