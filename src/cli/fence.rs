//! `--sandbox`: what the tools of a run may reach on this machine, or why the run does not start.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;

use super::args::{Global, SandboxMode};
use super::assemble::House;
use super::exit::Refusal;
use crate::sandbox::{Ground, Kernel, Scratch};
use crate::settings::{CREDENTIAL_KEYS, Environment, Origin, is_secret, load};
use crate::transcript::project_key;

/// Below HOME, where keys and passwords usually lie.
const SECRETS: [&str; 17] = [
    ".ssh",
    ".gnupg",
    ".claude",
    ".claude.json",
    ".config",
    ".aws",
    ".azure",
    ".kube",
    ".docker",
    ".netrc",
    ".git-credentials",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".local/share/keyrings",
];

/// Those of them without which a run makes no sense to protect.
const FOREMOST: [&str; 3] = [".ssh", ".claude/settings.json", ".claude/settings.local.json"];

/// Caches of programs, by the variable that moves them, below the run's own cache folder.
const CACHES: [(&str, &str); 3] =
    [("XDG_CACHE_HOME", ""), ("npm_config_cache", "npm"), ("GOMODCACHE", "go-mod")];

/// A run's tools: where they may go and what they are told.
pub(super) struct Fenced {
    /// Nothing where they are not fenced.
    pub(super) ground: Option<Ground>,
    pub(super) environment: Vec<(OsString, OsString)>,
    /// What cannot be protected, to be said once when the run begins.
    pub(super) notices: Vec<String>,
}

/// Where a run is going to happen. Its folder of records need not be there yet: a run that must not start
/// leaves nothing.
#[derive(Clone, Copy)]
pub(super) struct Site<'a> {
    /// The real path.
    pub(super) workspace: &'a Path,
    pub(super) run_dir: &'a Path,
}

/// What is looked at.
struct Look<'a> {
    house: &'a House,
    site: Site<'a>,
    home: Option<PathBuf>,
    /// What of [`SECRETS`] and of the settings is there.
    secrets: Vec<PathBuf>,
    /// Records and keys of flower's own.
    own: Vec<PathBuf>,
}

/// Decides; an error where the run must not start. `work` are folders besides the workspace that whoever
/// works writes to: workbench, worktrees.
pub(super) fn fence(
    house: &House,
    global: &Global,
    site: Site<'_>,
    work: Vec<PathBuf>,
    mut environment: Vec<(OsString, OsString)>,
) -> anyhow::Result<Fenced> {
    let mode = global.sandbox.unwrap_or(SandboxMode::Auto);
    if mode == SandboxMode::Off {
        return Ok(Fenced { ground: None, environment, notices: Vec::new() });
    }
    let mut notices = Vec::new();
    let text = |key: &str, values: &[(&str, &str)]| house.language.text(key, values);
    let kernel = Kernel::probe();
    match (kernel, mode) {
        (Kernel::Signals, _) => {}
        (Kernel::Nothing, SandboxMode::On) => {
            return Err(refusal(text("cli.sandbox_missing", &[])));
        }
        (Kernel::Nothing, _) => notices.push(text("cli.sandbox_none", &[])),
        (Kernel::Files, _) => notices.push(text("cli.sandbox_signals", &[])),
    }
    let look = Look::new(house, site);
    let ground = look.ground(global, work, kernel, &mut environment)?;
    let exposed = ground.exposed(&look.protected());
    if kernel != Kernel::Nothing && !exposed.is_empty() {
        let paths: Vec<_> = exposed.iter().map(|path| path.display().to_string()).collect();
        let paths = paths.join(", ");
        if mode == SandboxMode::On {
            return Err(refusal(text("cli.sandbox_refused", &[("paths", &paths)])));
        }
        notices.push(text("cli.sandbox_exposed", &[("paths", &paths)]));
    }
    Ok(Fenced { ground: Some(ground), environment, notices })
}

fn refusal(text: String) -> anyhow::Error {
    Refusal::new("sandbox", text).into()
}

impl Site<'_> {
    /// It is there, or will be when the run has begun.
    fn will_have(self, path: &Path) -> bool {
        path.exists() || path == self.run_dir
    }
}

impl<'a> Look<'a> {
    fn new(house: &'a House, site: Site<'a>) -> Self {
        let settings = &house.settings;
        let home = settings.non_empty("HOME").map(PathBuf::from);
        let below = |name: &str| home.as_ref().map(|home| home.join(name));
        let mut secrets: Vec<PathBuf> = SECRETS.iter().filter_map(|name| below(name)).collect();
        secrets.extend(settings.config_dir().map(Path::to_owned));
        let mut own = vec![site.run_dir.to_owned()];
        // In a box: what the wrapper maps for flower alone.
        let lent = settings.origin("FLOWER_BOX").filter(|origin| **origin == Origin::Process);
        own.extend(lent.and_then(|_| settings.non_empty("FLOWER_BOX")).map(PathBuf::from));
        own.extend(key_files(house));
        secrets.extend(own.iter().cloned());
        secrets.retain(|path| site.will_have(path));
        Self { house, site, home, secrets, own }
    }

    /// What a person wants to hear of where it lies within reach.
    fn protected(&self) -> Vec<PathBuf> {
        let mut protected = self.own.clone();
        protected.extend(self.house.settings.config_dir().map(|dir| dir.join(".env")));
        protected.extend(self.home.iter().flat_map(|home| FOREMOST.map(|name| home.join(name))));
        protected.retain(|path| self.site.will_have(path));
        protected
    }

    fn ground(
        &self,
        global: &Global,
        work: Vec<PathBuf>,
        kernel: Kernel,
        environment: &mut Vec<(OsString, OsString)>,
    ) -> anyhow::Result<Ground> {
        let mut extra = Vec::new();
        for folder in &global.sandbox_write {
            let named = self.house.current_dir.join(folder);
            let real = named.canonicalize();
            extra.push(real.with_context(|| format!("--sandbox-write {}", folder.display()))?);
        }
        if let Some(cache) = self.cache() {
            for (variable, name) in CACHES {
                // A cache that the person has opened is used where it is.
                let known = environment.iter().find(|(known, _)| known == variable);
                let open = known.is_some_and(|(_, at)| {
                    extra.iter().any(|open| Path::new(at).starts_with(open))
                });
                if !open {
                    set(environment, variable, cache.join(name).into());
                }
            }
            extra.push(cache);
        }
        let (temp, temp_owner) = self.temp(environment)?;
        let mut read = Ground::toolchains(environment, self.home.as_deref(), &self.secrets);
        read.extend(self.git_files());
        let mut private = self.secrets.clone();
        private.extend(self.home.clone());
        Ok(Ground {
            workspace: self.site.workspace.to_owned(),
            work,
            extra,
            temp,
            temp_owner,
            read,
            hidden: self.own.clone(),
            private,
            kernel,
        })
    }

    /// The whole temporary folder; one in it where something lies there that is not for tools.
    fn temp(
        &self,
        environment: &mut Vec<(OsString, OsString)>,
    ) -> anyhow::Result<(PathBuf, Option<Arc<Scratch>>)> {
        let whole = self.house.scratch();
        std::fs::create_dir_all(&whole).with_context(|| whole.display().to_string())?;
        let whole = whole.canonicalize().with_context(|| whole.display().to_string())?;
        let mut inside = self.secrets.clone();
        inside.extend(self.home.clone());
        inside.push(self.site.workspace.to_owned());
        let holds = |path: &PathBuf| {
            let real = path.ancestors().find_map(|path| path.canonicalize().ok());
            real.is_some_and(|path| path.starts_with(&whole))
        };
        if !inside.iter().any(holds) {
            return Ok((whole, None));
        }
        let own = Scratch::make(&whole, "tools")?;
        for name in ["TMPDIR", "TMP", "TEMP"] {
            set(environment, name, own.path().into());
        }
        Ok((own.path().to_owned(), Some(Arc::new(own))))
    }

    /// This project's own cache folder: what one project's agent puts there reaches no other.
    fn cache(&self) -> Option<PathBuf> {
        let base = match self.house.settings.non_empty("XDG_CACHE_HOME") {
            Some(base) => self.house.current_dir.join(base),
            None => self.home.as_ref()?.join(".cache"),
        };
        let cache = base.join("flower").join(project_key(self.site.workspace));
        std::fs::create_dir_all(&cache).ok()?;
        cache.canonicalize().ok()
    }

    /// The person's git configuration, without which git refuses to run; not the passwords beside it.
    fn git_files(&self) -> Vec<PathBuf> {
        let Some(home) = &self.home else { return Vec::new() };
        let base = self.house.settings.non_empty("XDG_CONFIG_HOME").map(PathBuf::from);
        let folder = base.unwrap_or_else(|| home.join(".config")).join("git");
        let mut files = vec![home.join(".gitconfig"), home.join(".gitignore")];
        files.extend(["config", "ignore", "attributes"].map(|name| folder.join(name)));
        files.retain(|file| file.is_file());
        files
    }
}

/// Files that hold a key, whether or not it is the one that counts.
fn key_files(house: &House) -> Vec<PathBuf> {
    let is_key = |key: &str| {
        CREDENTIAL_KEYS.contains(&key) && is_secret(key) || key == "ANTHROPIC_CUSTOM_HEADERS"
    };
    let mut files: Vec<PathBuf> = Vec::new();
    let found = house.settings.entries().filter(|entry| is_key(&entry.key));
    files.extend(found.filter(|entry| !entry.value.is_empty()).filter_map(|e| match e.origin {
        Origin::File { path, .. } | Origin::Borrowed { path } => Some(house.current_dir.join(path)),
        Origin::Process | Origin::Default => None,
    }));
    let project = house.settings.project();
    if let Some(lent) = project.filter(|project| project.lent) {
        files.retain(|file| *file != house.current_dir.join(&lent.path));
    }
    if let Some(project) = project.filter(|project| !project.lent) {
        let alone = load(&Environment::default(), Some(&project.real), false);
        let holds = |(key, value): (&OsString, &crate::settings::Value)| {
            key.to_str().is_some_and(is_key) && !value.text.is_empty()
        };
        if alone.values.iter().any(holds) {
            files.push(project.real.clone());
        }
    }
    files
}

fn set(environment: &mut Vec<(OsString, OsString)>, name: &str, value: OsString) {
    environment.retain(|(known, _)| known != name);
    environment.push((name.into(), value));
}
