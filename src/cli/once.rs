//! `flower once`: one agent, one task, no chain.

use std::io::Read;
use std::process::ExitCode;
use std::sync::Arc;

use super::args::{Global, OnceArgs};
use super::assemble::{
    Extras, House, Model, Place, limits, tell_credentials, tell_notices, tell_warnings,
};
use super::exit::{self, Ending};
use super::output::{Audience, Output, complain};
use super::{fence, signal, trust};
use crate::role;
use crate::runtime::{Assignment, Lease, Session};
use crate::store::SessionStore;
use crate::workbench::Workbench;

/// The manifest row and the name of the agent, as the reference program has them.
const STEP: &str = "ad-hoc";

/// The command.
pub(super) fn run(global: &Global, args: &OnceArgs) -> anyhow::Result<ExitCode> {
    let house = House::look(global)?;
    let output = Arc::new(Output::new(global, house.language, Audience::Reader));
    tell_warnings(&house);
    tell_credentials(&house, global);
    if let Some(complaint) = house.missing_engine(global) {
        complain(&complaint);
        return Ok(ExitCode::from(exit::USAGE));
    }
    let prompt = match args.prompt.as_str() {
        "-" => {
            let mut text = String::new();
            std::io::stdin().lock().read_to_string(&mut text)?;
            text
        }
        words => words.to_owned(),
    };
    if prompt.trim().is_empty() {
        complain(&house.language.text("cli.nothing_asked_once", &[]));
        return Ok(ExitCode::from(exit::FAILED));
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
    let place = Place::open(&workspace, &run_dir)?;
    tell_notices(&house, &place.store);
    let workbench = match global.workbench {
        true => {
            let root = place.folder.file("workbench");
            Some(Arc::new(Workbench::open(&root, &place.workspace, house.language)?))
        }
        false => None,
    };
    let environment = house.settings.tool_environment();
    let desk = workbench.as_deref();
    let Some(tools) = fence::fence(&house, global, &place, desk, environment)? else {
        return Ok(ExitCode::from(exit::FAILED));
    };
    let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = tokio.block_on(async {
        let extras =
            Extras { workbench, channel: None, sink: output.sink(), limits: limits(global), tools };
        let runtime = house.runtime(&place, Model { endpoint, choice: house.choice() }, extras)?;
        let mut role = role::once(&args.instructions, args.allowed());
        role.workbench_index = global.workbench;
        let (session, _lease) = match &args.resume {
            None => (Session::New, None),
            Some(id) => {
                if !runtime.has_session(id).await? {
                    complain(&house.language.text("cli.no_session", &[("id", id)]));
                    return Ok(exit::FAILED);
                }
                if args.fork {
                    (Session::Fork(id.clone()), None)
                } else {
                    let Some(lease) = Lease::take(&place.folder, id) else {
                        complain(&house.language.text("cli.session_in_use", &[("id", id)]));
                        return Ok(exit::FAILED);
                    };
                    (Session::Resume(id.clone()), Some(lease))
                }
            }
        };
        let step = runtime.run(Assignment {
            label: STEP.to_owned(),
            step: STEP.to_owned(),
            role: &role,
            prompt,
            session,
            folder: None,
            on_session: &|_| {},
        });
        let result = tokio::select! {
            result = step => result?,
            signal = signal::Ending::wait() => {
                runtime.manifest().rescue("killed-by-signal")?;
                // Dying runs no destructor: temporary folders go now.
                drop(runtime);
                place.store.close().await?;
                complain(&house.language.text("cli.interrupted", &[]));
                signal?.die()
            }
        };
        let ending = match result.ok {
            true => Ending::done(house.language),
            false => Ending::of_failure(&result, house.language),
        };
        output.answer(&result.text);
        if !result.ok {
            complain(&ending.sentence);
        }
        output.end(&ending.last_line(&runtime));
        place.store.close().await?;
        anyhow::Ok(ending.code)
    })?;
    Ok(ExitCode::from(code))
}
