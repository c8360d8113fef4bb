//! Looks: everything that a doctor asks the machine and the endpoint, to be judged elsewhere.

use std::io;
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;
use rustix::fs::{Access, access, statvfs};

use super::judge::{Credentials, Finding, Judge, Reach, Room, Walls};
use super::mount::around;
use crate::cli::args::Global;
use crate::cli::assemble::House;
use crate::cli::config::origin_text;
use crate::cli::{limits, trust};
use crate::sandbox::{Kernel, Limits};
use crate::settings::{
    Auth, DEFAULT_BASE_URL, Endpoint, MissingCredentials, Origin, Settings, show, without_login,
};
use crate::wire::{Door, clock, probe};
use crate::worktree::Look;

/// How long the endpoint's door and its clock are waited for.
const PATIENCE: Duration = Duration::from_secs(10);

/// All findings, in the order in which a run needs them.
pub(super) fn all(house: &House, global: &Global) -> anyhow::Result<Vec<Finding>> {
    let judge = Judge(house.language);
    let (workspace, run_dir) = house.folders(global);
    let boxed = is_boxed(&house.settings);
    let found = house.settings.endpoint();
    // A key must not go where somebody else's project says.
    let refused = trust::project_env(house).err().map(|error| format!("{error:#}"));
    let mut findings = vec![judge.credentials(&credentials(house, &found))];
    if let Some(sentence) = &refused {
        findings.push(judge.distrusted(sentence));
    } else {
        let tokio = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (reach, skew) = tokio.block_on(reach(house, global, found.ok()));
        findings.push(judge.endpoint(&reach));
        findings.push(judge.clock(skew));
    }
    findings.push(judge.engine(house.settings.non_empty("FLOWER_ENGINE")));
    let folder = nearest(&workspace);
    findings.push(judge.git(&Look::at(folder, &house.settings.tool_environment())));
    findings.push(judge.sandbox(Kernel::probe(), Kernel::interface(), boxed));
    findings.push(judge.walls(boxed.then(|| walls(house, &workspace, &run_dir)).as_ref()));
    for (what, path) in
        [("run_dir", &run_dir), ("workspace", &workspace), ("temp", &house.scratch())]
    {
        findings.push(judge.disk(what, path, &room(path)));
    }
    findings.push(judge.limits(&Limits::look(), &limits::rows(house)));
    Ok(findings)
}

/// Where the key comes from.
fn credentials(house: &House, found: &Result<Endpoint, MissingCredentials>) -> Credentials {
    let key = match found.as_ref().map(|endpoint| &endpoint.auth) {
        Err(missing) => return Credentials::Missing(missing.text(house.language)),
        Ok(Auth::None) => return Credentials::Gate,
        Ok(Auth::ApiKey(_)) => "ANTHROPIC_API_KEY",
        Ok(Auth::Bearer(_)) => "ANTHROPIC_AUTH_TOKEN",
    };
    let settings = &house.settings;
    let origin = settings.origin(key).map(|origin| origin_text(origin, house.language));
    Credentials::Found {
        key,
        value: show(key, settings.non_empty(key).unwrap_or_default(), house.language),
        origin: origin.unwrap_or_default(),
    }
}

/// The endpoint, and how many seconds this machine's clock is ahead of its.
async fn reach(house: &House, global: &Global, found: Option<Endpoint>) -> (Reach, Option<i64>) {
    let ask = found.as_ref().is_some_and(|endpoint| endpoint.auth != Auth::None)
        && !global.no_probe
        && !house.settings.switch("FLOWER_NO_PROBE");
    // What is to be reached is known without a key too.
    let endpoint = found.unwrap_or_else(|| Endpoint {
        base_url: house
            .settings
            .non_empty("ANTHROPIC_BASE_URL")
            .unwrap_or(DEFAULT_BASE_URL)
            .trim_end_matches('/')
            .to_owned(),
        auth: Auth::None,
        is_gate: false,
        custom_headers: Vec::new(),
    });
    let door = Door::to(&endpoint.base_url, &house.proxies());
    let opens = match &door {
        Some(door) => door.opens(PATIENCE).await,
        None => false,
    };
    let mut reach = Reach {
        url: without_login(&endpoint.base_url),
        door: door.map(|door| door.to_string()),
        opens,
        model: house.choice().main_model,
        probe: None,
    };
    if !opens {
        return (reach, None);
    }
    let options = house.client_options();
    let told = clock(&endpoint, &options, PATIENCE).await;
    let skew = told.map(|told| Timestamp::now().as_second() - told.as_second());
    if ask {
        reach.probe = Some(probe(&endpoint, options, &reach.model).await);
    }
    (reach, skew)
}

/// A container: the wrapper and the compose file say so, else the engine's mark.
fn is_boxed(settings: &Settings) -> bool {
    let said = settings.origin("FLOWER_BOX").is_some_and(|origin| *origin == Origin::Process);
    said || ["/.dockerenv", "/run/.containerenv"].iter().any(|mark| Path::new(mark).exists())
}

fn walls(house: &House, workspace: &Path, run_dir: &Path) -> Walls {
    let table = std::fs::read("/proc/self/mountinfo").unwrap_or_default();
    let table = String::from_utf8_lossy(&table);
    let real = |path: &Path| {
        let nearest = nearest(path);
        nearest.canonicalize().unwrap_or_else(|_| nearest.to_owned())
    };
    let mount = |path: &Path| around(&table, &real(path));
    let config = house.settings.user_file().filter(|file| file.exists());
    let git_config = workspace.join(".git/config");
    Walls {
        run_dir: mount(run_dir),
        config: config.and_then(|file| mount(&file)),
        git_config: git_config.exists().then(|| mount(&git_config)).flatten(),
    }
}

/// The path itself, or the folder around it that is there.
fn nearest(path: &Path) -> &Path {
    path.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"))
}

/// How much can be written there; a folder that is not there yet is made in the nearest one that is.
fn room(path: &Path) -> io::Result<Room> {
    let there = nearest(path);
    if !there.is_dir() {
        return Err(io::ErrorKind::NotADirectory.into());
    }
    access(there, Access::WRITE_OK | Access::EXEC_OK)?;
    let disk = statvfs(there)?;
    Ok(Room {
        bytes: disk.f_bavail.saturating_mul(disk.f_frsize),
        files: (disk.f_files > 0).then_some(disk.f_favail),
    })
}
