//! Choices: flags > environment > `.env` files > borrowed keys > defaults, resolved once, each with its origin.
//!
//! Nothing here changes the process environment or runs anything; what a child process gets is built from
//! [`Settings::tool_environment`]. `source` knows the places and their order, `grammar` how a `.env` file is
//! read, `redirect` and `trust` what a project's file may do, `endpoint` and `model` what it all means.

mod borrow;
mod endpoint;
mod git;
mod grammar;
mod keep;
mod known;
mod model;
mod redirect;
mod second_reading;
mod secret;
mod source;
mod trust;
mod warning;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::language::Language;

pub use endpoint::{Auth, DEFAULT_BASE_URL, Endpoint, MissingCredentials};
pub use grammar::{Difference, Finding, Line, Parsed, Undecodable, parse};
pub use keep::{Change, KeepError, can_hold};
pub use known::{CREDENTIAL_KEYS, OWN_KEYS, WAITS, Wait, is_known};
pub use model::{DEFAULT_WINDOW, ModelTable, read_count};
pub use redirect::{Effect, Redirect, Standing, Trust, effect_of};
pub use secret::{Secret, is_secret, mask, show, without_login};
pub use source::{Environment, Loaded, Origin, ProjectFile, Value, load};
pub use warning::{Warning, printable};

/// All choices, resolved.
#[derive(Clone)]
pub struct Settings {
    values: BTreeMap<OsString, Value>,
    warnings: Vec<Warning>,
    project: Option<ProjectFile>,
    config_dir: Option<PathBuf>,
    models: ModelTable,
}

/// Values hold secrets, so only their names are shown.
impl std::fmt::Debug for Settings {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Settings").field("keys", &self.values.keys()).finish_non_exhaustive()
    }
}

/// A value that is in effect.
#[derive(Clone)]
pub struct Entry<'a> {
    /// Its key.
    pub key: Cow<'a, str>,
    /// As it was written.
    pub value: Cow<'a, str>,
    /// Where it was written.
    pub origin: &'a Origin,
    /// True where the key may be a piece of a secret and must not be shown (see [`Line::inside`]).
    pub inside: bool,
}

impl Settings {
    /// Reads all places once.
    pub fn resolve(environment: &Environment) -> Self {
        Self::from_loaded(load(environment, None, false), environment)
    }

    /// Makes settings of what was loaded from wherever.
    pub fn from_loaded(loaded: Loaded, environment: &Environment) -> Self {
        let mut settings = Self {
            values: loaded.values,
            warnings: loaded.warnings,
            project: loaded.project,
            config_dir: environment.config_dir(),
            models: ModelTable::built_in(),
        };
        settings.read_models();
        settings.check_values();
        settings
    }

    /// The effective value of a key, also where it is empty. Nothing for one that is not text.
    pub fn get(&self, key: &str) -> Option<&str> {
        self.values.get(OsStr::new(key))?.text.to_str()
    }

    /// The effective value of a key unless it is empty.
    pub fn non_empty(&self, key: &str) -> Option<&str> {
        self.get(key).filter(|value| !value.is_empty())
    }

    /// Where the effective value of a key was written; nothing where it is set nowhere.
    pub fn origin(&self, key: &str) -> Option<&Origin> {
        self.values.get(OsStr::new(key)).map(|value| &value.origin)
    }

    /// Everything that is set anywhere. What is not text is shown with replacement characters.
    pub fn entries(&self) -> impl Iterator<Item = Entry<'_>> {
        self.values.iter().map(|(key, value)| Entry {
            key: key.to_string_lossy(),
            value: value.text.to_string_lossy(),
            origin: &value.origin,
            inside: value.inside,
        })
    }

    /// True where a switch is on: any value but the empty one, even `0` (core.md E-53).
    pub fn switch(&self, key: &str) -> bool {
        self.values.get(OsStr::new(key)).is_some_and(|value| !value.text.is_empty())
    }

    /// A wait: what is set, else its default. Nothing for a key that is no wait.
    pub fn duration(&self, key: &str) -> Option<Duration> {
        let wait = Wait::find(key)?;
        let set = self.non_empty(key).and_then(|text| wait.read(text));
        Some(set.unwrap_or(Duration::from_secs(wait.default)))
    }

    /// How many subagents, and how many tool calls, may run at the same time (`FLOWER_PARALLEL`); nothing
    /// leaves it to what the machine can carry.
    pub fn parallel(&self) -> Option<NonZero<usize>> {
        let count = model::read_count(self.non_empty("FLOWER_PARALLEL")?)?;
        NonZero::new(usize::try_from(count).ok()?)
    }

    /// What is worth telling the person, once.
    pub fn warnings(&self) -> &[Warning] {
        &self.warnings
    }

    /// Windows and prices.
    pub fn models(&self) -> &ModelTable {
        &self.models
    }

    /// The first of `FLOWER_LANG`, `LC_ALL`, `LC_MESSAGES`, `LANG` that is set decides; English for a
    /// language that flower does not speak. `FLOWER_LANG` is passed over if it names no language of ours.
    pub fn language(&self) -> Language {
        let own = self.non_empty("FLOWER_LANG").and_then(Language::from_code);
        let locale =
            ["LC_ALL", "LC_MESSAGES", "LANG"].into_iter().find_map(|key| self.non_empty(key));
        own.or_else(|| locale.and_then(Language::from_code)).unwrap_or_default()
    }

    /// `${XDG_CONFIG_HOME:-~/.config}/flower`, where the user's `.env` is; nothing without a home.
    pub fn config_dir(&self) -> Option<&Path> {
        self.config_dir.as_deref()
    }

    /// Where flower remembers things between runs: the same folder, as it has always been (core.md A-2).
    pub fn state_dir(&self) -> Option<&Path> {
        self.config_dir.as_deref()
    }

    /// The `.env` of the current directory, if it was read.
    pub fn project(&self) -> Option<&ProjectFile> {
        self.project.as_ref()
    }

    /// What a tool gets: every key of the process and the files except the nine and `FLOWER_*`. Variables
    /// that are not text stay as they are. Besides, git is kept from locking, asking and starting servers.
    pub fn tool_environment(&self) -> Vec<(OsString, OsString)> {
        let kept = |key: &OsStr| {
            let own = key.as_encoded_bytes().starts_with(b"FLOWER_");
            !own && !CREDENTIAL_KEYS.iter().any(|known| key == OsStr::new(known))
        };
        let kept = self.values.iter().filter(|(key, _)| kept(key));
        let mut all = kept.map(|(key, value)| (key.clone(), value.text.clone())).collect();
        git::hush(&mut all);
        all
    }

    fn read_models(&mut self) {
        let Some(path) = self.config_dir.as_ref().map(|dir| dir.join("models.json")) else {
            return;
        };
        let text = match crate::disk::read(&path, source::LONGEST) {
            Ok(bytes) => String::from_utf8(bytes).map_err(|error| error.to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return,
            Err(error) => Err(error.to_string()),
        };
        if let Err(reason) = text.and_then(|text| self.models.overlay(&text)) {
            let file = path.display().to_string();
            let values = [("file", file.as_str()), ("reason", reason.as_str())];
            self.warnings.push(Warning::new("settings.bad_models", &values));
        }
    }

    /// Warns about values that flower itself cannot use, without showing them.
    fn check_values(&mut self) {
        let mut found = Vec::new();
        let waits = WAITS.iter().map(|wait| wait.key);
        for key in CREDENTIAL_KEYS.into_iter().chain(OWN_KEYS).chain(waits) {
            if self.values.get(OsStr::new(key)).is_some_and(|value| value.text.to_str().is_none()) {
                found.push(Warning::new("settings.not_text", &[("key", key)]));
            }
        }
        for wait in WAITS {
            if self.non_empty(wait.key).is_some_and(|text| wait.read(text).is_none()) {
                let default = wait.default.to_string();
                let values = [("key", wait.key), ("default", default.as_str())];
                found.push(Warning::new("settings.bad_wait", &values));
            }
        }
        for key in ["FLOWER_WINDOW", "FLOWER_PARALLEL"] {
            if self.non_empty(key).is_some_and(|text| model::read_count(text).is_none()) {
                found.push(Warning::new("settings.bad_number", &[("key", key)]));
            }
        }
        if self.non_empty("FLOWER_LANG").is_some_and(|code| Language::from_code(code).is_none()) {
            found.push(Warning::new("settings.bad_language", &[("key", "FLOWER_LANG")]));
        }
        let headers = self.non_empty("ANTHROPIC_CUSTOM_HEADERS").map(endpoint::read_headers);
        if headers.is_some_and(|(_, bad)| bad > 0) {
            let values = [("key", "ANTHROPIC_CUSTOM_HEADERS")];
            found.push(Warning::new("settings.bad_header", &values));
        }
        for key in ["FLOWER_TRUST_PROJECT", "FLOWER_ENV"] {
            if let Some(Origin::File { path, line }) = self.origin(key) {
                let (file, line) = (path.display().to_string(), line.to_string());
                let values = [("file", file.as_str()), ("line", line.as_str()), ("key", key)];
                found.push(Warning::new("settings.process_only", &values));
            }
        }
        self.warnings.extend(found);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::fs;

    use super::*;

    /// A home folder and a project in it, for tests.
    pub(crate) struct Home {
        root: tempfile::TempDir,
        environment: Environment,
    }

    impl Home {
        pub(crate) fn new() -> Self {
            let root = tempfile::tempdir().unwrap();
            fs::create_dir_all(root.path().join("work")).unwrap();
            fs::create_dir_all(root.path().join(".config/flower")).unwrap();
            let mut environment = Environment {
                current_dir: root.path().join("work"),
                executable: PathBuf::from("/usr/bin/flower"),
                ..Environment::default()
            };
            environment.variables.insert("HOME".into(), root.path().into());
            Self { root, environment }
        }

        pub(crate) fn with(mut self, key: &str, value: &str) -> Self {
            self.environment.variables.insert(key.into(), value.into());
            self
        }

        pub(crate) fn project(&self, text: &str) {
            fs::write(self.root.path().join("work/.env"), text).unwrap();
        }

        pub(crate) fn global(&self, text: &str) {
            fs::write(self.root.path().join(".config/flower/.env"), text).unwrap();
        }

        pub(crate) fn resolve(&self) -> Settings {
            Settings::resolve(&self.environment)
        }
    }

    #[test]
    fn every_value_has_its_origin() {
        let home = Home::new().with("A", "process");
        home.project("# c\nA=file\nB=project\n");
        home.global("B=global\nC=global\n");
        let settings = home.resolve();
        assert_eq!(settings.origin("A"), Some(&Origin::Process));
        let path = home.root.path().join("work/.env");
        assert_eq!(settings.origin("B"), Some(&Origin::File { path, line: 3 }));
        let path = home.root.path().join(".config/flower/.env");
        assert_eq!(settings.origin("C"), Some(&Origin::File { path, line: 2 }));
        assert_eq!((settings.get("B"), settings.get("D")), (Some("project"), None));
    }

    #[test]
    fn a_tool_gets_everything_but_the_nine_and_our_own() {
        let home = Home::new().with("ANTHROPIC_API_KEY", "canary").with("FLOWER_GATE", "x");
        home.project("DATABASE=1\nANTHROPIC_MODEL=m\nFLOWER_LANG=zh\nANTHROPIC_OTHER=2\n");
        let environment = home.resolve().tool_environment();
        let keys = environment.iter().map(|(key, _)| key.to_str().unwrap());
        let keys: Vec<_> = keys.filter(|key| !key.starts_with("GIT_")).collect();
        assert_eq!(keys, ["ANTHROPIC_OTHER", "DATABASE", "HOME"]);
    }

    #[cfg(unix)]
    #[test]
    fn a_tool_gets_variables_that_are_not_text() {
        use std::os::unix::ffi::OsStringExt;
        let mut home = Home::new();
        let odd = (OsString::from_vec(vec![b'K', 0xff]), OsString::from_vec(vec![0xfe]));
        home.environment.variables.insert(odd.0.clone(), odd.1.clone());
        assert!(home.resolve().tool_environment().contains(&odd));
    }

    #[test]
    fn waits_have_defaults_and_bad_ones_are_told() {
        let home = Home::new().with("FLOWER_RETRY_BASE", "0.05").with("FLOWER_RETRY_MAX", "soon");
        let settings = home.resolve();
        assert_eq!(settings.duration("FLOWER_RETRY_BASE"), Some(Duration::from_millis(50)));
        assert_eq!(settings.duration("FLOWER_RETRY_MAX"), Some(Duration::from_secs(120)));
        assert_eq!(settings.duration("FLOWER_ASK_TIMEOUT"), Some(Duration::from_secs(1800)));
        assert_eq!(settings.duration("OTHER"), None);
        let keys: Vec<_> = settings.warnings().iter().map(|warning| warning.key).collect();
        assert_eq!(keys, ["settings.bad_wait"]);
    }

    #[test]
    fn the_language_is_flowers_then_the_locales() {
        let home = Home::new();
        assert_eq!(home.resolve().language(), Language::English);
        let home = home.with("LANG", "ru_RU.UTF-8");
        assert_eq!(home.resolve().language(), Language::Russian);
        let home = home.with("LC_ALL", "C");
        assert_eq!(home.resolve().language(), Language::English);
        let home = home.with("FLOWER_LANG", "zh");
        assert_eq!(home.resolve().language(), Language::Chinese);
    }

    #[test]
    fn a_bad_file_of_models_is_told_and_passed_over() {
        let home = Home::new();
        fs::write(home.root.path().join(".config/flower/models.json"), "[]").unwrap();
        let settings = home.resolve();
        assert_eq!(settings.warnings()[0].key, "settings.bad_models");
        assert!(settings.models().known("claude-opus-5-5"));
    }

    #[test]
    fn a_warning_never_holds_a_value() {
        let home = Home::new();
        home.project(
            "export A=canary\nB=canary # canary\nC=$canary\nD=\"canary\ncanary=\ncanary\"\n\
             E=O'canary\nF=\"canary\\n\"\nG=canary canary\n=canary\nH=canary\0\ncanary\n\
             FLOWER_RETRY_BASE=canary\nFLOWER_WINDOW=canary\nANTHROPIC_CUSTOM_HEADERS=canary\n",
        );
        let settings = home.resolve();
        assert!(settings.warnings().len() > 12);
        for warning in settings.warnings() {
            for language in Language::ALL {
                let text = warning.text(language);
                assert!(!text.contains("canary") && !text.starts_with("settings."), "{text}");
            }
        }
    }

    #[test]
    fn a_switch_is_on_with_any_value() {
        let home = Home::new().with("FLOWER_NO_PROBE", "0").with("FLOWER_NO_UPDATE", "");
        assert!(home.resolve().switch("FLOWER_NO_PROBE"));
        assert!(!home.resolve().switch("FLOWER_NO_UPDATE"));
    }
}
