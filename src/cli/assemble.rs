//! The one place that picks concrete parts: settings, store, engine, the way to the person.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;

use super::args::Global;
use super::exit::Refusal;
use super::fence::Fenced;
use super::output::warn;
use crate::engine::native::{Choice, MAX_TOKENS, Native, NativeOptions};
use crate::event::Sink;
use crate::human::{Channel, ChannelOptions};
use crate::language::Language;
use crate::runtime::{
    Calibration, HandoffPolicy, Limits, Parts, Resilience, RunFolder, Runtime, ViewOptions,
};
use crate::sandbox::Limits as MachineLimits;
use crate::settings::{Endpoint, Environment, Settings};
use crate::store::{SessionStore, SqliteStore};
use crate::wire::{ClientOptions, Door, Proxies};
use crate::workbench::Workbench;
use crate::worktree::Yard;

/// What is known before anything runs.
pub(super) struct House {
    pub(super) settings: Arc<Settings>,
    pub(super) language: Language,
    pub(super) current_dir: PathBuf,
    /// Where records lie unless a flag says otherwise. In a box that is outside the project, and a file of
    /// the project must not change it; so only the process's own environment counts.
    pub(super) run_dir: PathBuf,
}

/// Where a run happens.
pub(super) struct Place {
    pub(super) workspace: PathBuf,
    pub(super) folder: RunFolder,
    pub(super) store: Arc<SqliteStore>,
}

impl House {
    /// Reads the environment and the files that belong to it, once.
    pub(super) fn look(global: &Global) -> anyhow::Result<Self> {
        let current_dir = std::env::current_dir().context("the current directory is gone")?;
        let executable = std::env::current_exe().and_then(|path| path.canonicalize());
        let environment = Environment {
            variables: std::env::vars_os().collect(),
            current_dir: current_dir.clone(),
            executable: executable.unwrap_or_default(),
        };
        let settings = Arc::new(Settings::resolve(&environment));
        let language = global.lang.unwrap_or_else(|| settings.language());
        let run_dir = std::env::var_os("FLOWER_RUN_DIR").filter(|folder| !folder.is_empty());
        let run_dir = run_dir.map_or_else(|| PathBuf::from("runs"), PathBuf::from);
        Ok(Self { settings, language, current_dir, run_dir })
    }

    /// Warnings said, the engine there, the project trusted: then the endpoint, with its credentials.
    pub(super) fn ready(&mut self, global: &Global) -> anyhow::Result<Endpoint> {
        tell_warnings(self);
        tell_credentials(self, global);
        self.check_engine(global)?;
        super::trust::project_env(self)?;
        super::credentials::ensure(self, global)
    }

    /// Something of flower's, in the person's language.
    pub(super) fn text(&self, key: &str, values: &[(&str, &str)]) -> String {
        self.language.text(key, values)
    }

    /// An engine that was asked for and is not there is no reason to take another one in silence.
    fn check_engine(&self, global: &Global) -> Result<(), Refusal> {
        let named = self.settings.non_empty("FLOWER_ENGINE").filter(|_| global.engine.is_none());
        match named.filter(|name| !matches!(*name, "auto" | "native")) {
            Some(name) => {
                Err(Refusal::usage(self.language.text("cli.no_engine", &[("name", name)])))
            }
            None => Ok(()),
        }
    }

    /// Where throw-away copies go.
    pub(super) fn scratch(&self) -> PathBuf {
        std::env::temp_dir()
    }

    /// The workspace and the run folder, neither made yet.
    ///
    /// The run folder follows the current directory, not the workspace; where both places hold records of
    /// the same project, that is said.
    pub(super) fn folders(&self, global: &Global) -> (PathBuf, PathBuf) {
        let within = |given: &Option<PathBuf>, usual: PathBuf| {
            self.current_dir.join(given.clone().unwrap_or(usual))
        };
        let (workspace, run_dir) = (
            within(&global.workspace, PathBuf::from(".")),
            within(&global.run_dir, self.run_dir.clone()),
        );
        let other = workspace.join("runs");
        let differs = || other.canonicalize().ok() != run_dir.canonicalize().ok();
        if other.join("lineage.json").exists() && differs() {
            warn(&self.language.text(
                "cli.split_state",
                &[
                    ("here", &run_dir.display().to_string()),
                    ("there", &other.display().to_string()),
                ],
            ));
        }
        (workspace, run_dir)
    }

    /// The settings' waits as the runtime's resilience.
    fn resilience(&self, wait_for_reset: bool) -> Resilience {
        let default = Resilience::default();
        let set = |key: &str, usual| self.settings.duration(key).unwrap_or(usual);
        Resilience {
            base: set("FLOWER_RETRY_BASE", default.base),
            longest: set("FLOWER_RETRY_MAX", default.longest),
            probe_interval: set("FLOWER_PROBE_INTERVAL", default.probe_interval),
            probe_timeout: set("FLOWER_PROBE_TIMEOUT", default.probe_timeout),
            max_offline: set("FLOWER_MAX_OFFLINE", default.max_offline),
            wait_for_reset,
            ..default
        }
    }

    /// When a conversation is full. The window is what the person says, else what was found out about this
    /// endpoint, else what the table of models says.
    fn handoff(&self, wish: &HandoffWish) -> HandoffPolicy {
        let settings = &self.settings;
        let model = settings.main_model();
        let address = settings.non_empty("ANTHROPIC_BASE_URL");
        let calibration =
            settings.config_dir().map(|folder| Calibration::new(folder, address, &model));
        let chosen = wish.window.or_else(|| settings.chosen_window());
        let found = || calibration.as_ref().and_then(Calibration::window);
        HandoffPolicy {
            enabled: !wish.off,
            window: chosen.or_else(found).unwrap_or_else(|| settings.models().window(&model)),
            calibration,
            ..HandoffPolicy::default()
        }
    }

    /// Whether a run leaves a hand-over for other tools, as far as the settings say.
    pub(super) fn hands_over(&self) -> bool {
        !self.settings.switch("FLOWER_NO_HANDOVER")
    }

    /// The person's channel for this workbench.
    pub(super) fn channel(
        &self,
        workbench: &Workbench,
        max_asks: Option<u32>,
        timeout: Option<Duration>,
        sink: Sink,
    ) -> Channel {
        let seconds = timeout.or_else(|| self.settings.duration("FLOWER_ASK_TIMEOUT"));
        Channel::new(ChannelOptions {
            max_asks,
            timeout: seconds,
            log_path: Some(workbench.questions_path()),
            amend_path: Some(workbench.brief_path()),
            sink,
            // What it writes goes into files that were begun in the workbench's language.
            language: workbench.language(),
            ..ChannelOptions::default()
        })
    }

    /// The settings' models and prices.
    pub(super) fn choice(&self) -> Choice {
        let (for_models, for_prices) = (Arc::clone(&self.settings), Arc::clone(&self.settings));
        Choice {
            main_model: without_mark(self.settings.main_model()),
            subagent_model: Box::new(move |requested| {
                without_mark(for_models.subagent_model(requested))
            }),
            cost: Box::new(move |model, usage| for_prices.models().cost(model, usage)),
            effort: self.settings.effort().map(str::to_owned),
        }
    }

    /// The settings' proxies.
    pub(super) fn proxies(&self) -> Proxies {
        let proxy = |lower: &str, upper: &str| {
            let value = self.settings.non_empty(lower).or_else(|| self.settings.non_empty(upper));
            value.map(str::to_owned)
        };
        Proxies {
            https: proxy("https_proxy", "HTTPS_PROXY"),
            http: proxy("http_proxy", "HTTP_PROXY"),
            all: proxy("all_proxy", "ALL_PROXY"),
            none: proxy("no_proxy", "NO_PROXY"),
        }
    }

    /// Proxies and certificates, as the settings have them.
    pub(super) fn client_options(&self) -> ClientOptions {
        ClientOptions {
            proxies: self.proxies(),
            ca_file: self.settings.non_empty("SSL_CERT_FILE").map(PathBuf::from),
            ..ClientOptions::default()
        }
    }

    /// The engine that is built in.
    fn engine(&self, endpoint: Endpoint, choice: Choice) -> anyhow::Result<Native> {
        let client = self.client_options();
        let options = NativeOptions {
            endpoint,
            client,
            choice,
            max_tokens: MAX_TOKENS,
            parallel: self.parallel(),
        };
        Ok(Native::new(options)?)
    }

    /// What may run at the same time: as the person says, else what the machine carries.
    pub(super) fn parallel(&self) -> NonZero<usize> {
        self.settings.parallel().unwrap_or_else(|| MachineLimits::look().parallel())
    }

    /// Puts the runtime together.
    pub(super) fn runtime(
        &self,
        place: &Place,
        model: Model,
        extras: Extras,
    ) -> anyhow::Result<Runtime> {
        let door = Door::to(&model.endpoint.base_url, &self.proxies());
        let engine = self.engine(model.endpoint, model.choice)?;
        let parts = Parts {
            engine: Arc::new(engine),
            store: Arc::clone(&place.store) as Arc<dyn SessionStore>,
            folder: place.folder.clone(),
            workspace: place.workspace.clone(),
            workbench: extras.workbench,
            channel: extras.channel,
            sink: extras.sink,
            language: self.language,
            handoff: self.handoff(&extras.handoff),
            resilience: self.resilience(extras.wait_for_reset),
            door,
            tool_environment: extras.tools.environment,
            ground: extras.tools.ground,
            yard: extras.yard,
            view: ViewOptions { trim: extras.trim, ..ViewOptions::default() },
        };
        let runtime = Runtime::new(parts, extras.limits)?;
        extras.tools.notices.iter().for_each(|notice| warn(notice));
        Ok(runtime)
    }
}

/// Which model is asked, and where.
pub(super) struct Model {
    pub(super) endpoint: Endpoint,
    pub(super) choice: Choice,
}

/// What differs between commands.
pub(super) struct Extras {
    pub(super) workbench: Option<Arc<Workbench>>,
    pub(super) channel: Option<Channel>,
    pub(super) sink: Sink,
    pub(super) limits: Limits,
    /// The end of a usage limit is waited for.
    pub(super) wait_for_reset: bool,
    pub(super) handoff: HandoffWish,
    pub(super) tools: Fenced,
    pub(super) yard: Option<Arc<Yard>>,
    /// Old large results leave a resumed conversation.
    pub(super) trim: bool,
}

/// What the command line says about full conversations.
#[derive(Debug, Clone, Default)]
pub(super) struct HandoffWish {
    /// Tokens.
    pub(super) window: Option<u64>,
    pub(super) off: bool,
}

impl Place {
    /// Makes the workspace where it is missing; gives its real path.
    pub(super) fn workspace(workspace: &Path) -> anyhow::Result<PathBuf> {
        std::fs::create_dir_all(workspace)
            .with_context(|| format!("the workspace {} cannot be made", workspace.display()))?;
        workspace
            .canonicalize()
            .with_context(|| format!("the workspace {} cannot be read", workspace.display()))
    }

    /// Makes and opens the folder of records; fails before anything is spent.
    pub(super) fn open(workspace: PathBuf, run_dir: &Path) -> anyhow::Result<Self> {
        let folder = RunFolder::open(run_dir)?;
        let store = Arc::new(SqliteStore::open(&folder.file("sessions.db"))?);
        Ok(Self { workspace, folder, store })
    }
}

/// The name that the API knows: a mark such as `[1m]` is between people and their tools.
fn without_mark(model: String) -> String {
    model.split('[').next().unwrap_or_default().trim_end().to_owned()
}

/// The limits that the flags name.
pub(super) fn limits(global: &Global) -> Limits {
    Limits { budget_usd: global.budget, max_turns: global.max_turns, max_time: global.max_time }
}

/// Warnings of the settings, once, where a person can see them.
fn tell_warnings(house: &House) {
    for warning in house.settings.warnings() {
        warn(&warning.text(house.language));
    }
}

/// The effective credentials, masked, and the machine's limits, for those who want to know (`-v`).
fn tell_credentials(house: &House, global: &Global) {
    if global.verbose {
        for (key, value) in house.settings.describe(house.language) {
            warn(&format!("{key} {value}"));
        }
        super::limits::rows(house).iter().for_each(|row| warn(&row.replace('\t', "  ")));
    }
}

/// What the store has to say, once.
pub(super) fn tell_notices(house: &House, store: &SqliteStore) {
    for notice in store.take_notices() {
        let values = notice.values();
        let values: Vec<_> = values.iter().map(|(name, value)| (*name, value.as_str())).collect();
        warn(&house.language.text(notice.key(), &values));
    }
}
