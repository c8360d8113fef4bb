//! The `.env` grammar, the order of the places, borrowing and masking against the reference program's
//! recorded answers (tests/fixtures/dotenv), each case in a home folder of its own.

// The exemption for tests does not reach the functions that they share.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use flower::language::Language;
use flower::settings::{Environment, Loaded, Settings, load};
use serde_json::{Map, Value, json};

/// Cases in which we want another answer than the reference, with the reason (product.md "Environment
/// variables and `.env`"): a file that cannot be used, or a line of it, is skipped with a warning, where the
/// reference stops with an exception.
const DEVIATIONS: [(&str, &str, &str); 5] = [
    ("008_utf16", "{}", "a file that cannot be decoded is skipped"),
    ("024_only_equals", "{}", "a line without a key is skipped"),
    ("026_nul_key", r#"{"C":"3"}"#, "a line with a NUL is skipped, the next ones count"),
    ("092_settings_nul", "{}", "a borrowed value with a NUL is skipped"),
    ("093_settings_lone_surrogate", "{}", "a borrowed value that is no text is skipped"),
];

/// Secrets of up to eight characters are masked whole; the reference shows the first four of them, which is
/// half of the secret or more, and all of it up to four (core.md E-40, "mask fully when short").
const SHORT_SECRETS: [&str; 14] = [
    "001_basic",
    "051_all_four",
    "062_settings_basic",
    "063_settings_unknown_keys",
    "069_settings_crlf",
    "078_settings_number",
    "081_settings_empty_value",
    "085_settings_spaces_kept",
    "086_settings_whitespace_only",
    "087_settings_local_only",
    "088_settings_local_fills_gap",
    "089_settings_local_after_empty",
    "095_settings_preset_wins",
    "099_settings_url_mix",
];

struct Case {
    folder: PathBuf,
    expected: Value,
    home: tempfile::TempDir,
}

impl Case {
    fn name(&self) -> &str {
        self.folder.file_name().and_then(|name| name.to_str()).unwrap()
    }

    fn open(folder: PathBuf) -> Self {
        let text = fs::read_to_string(folder.join("expected.json")).unwrap();
        let home = tempfile::tempdir().unwrap();
        Self { folder, expected: serde_json::from_str(&text).unwrap(), home }
    }

    fn word(&self, key: &str) -> Option<&str> {
        self.expected[key].as_str()
    }

    fn place(&self, role: &str, at: &str) {
        let from = self.folder.join(role);
        if from.exists() {
            let to = self.home.path().join(at);
            fs::create_dir_all(to.parent().unwrap()).unwrap();
            fs::copy(from, to).unwrap();
        }
    }

    /// Lays out the files and gives the environment that the case began with.
    fn prepare(&self) -> Environment {
        let root = self.home.path();
        for dir in ["work", "source/target/debug", "empty"] {
            fs::create_dir_all(root.join(dir)).unwrap();
        }
        fs::write(root.join("source/Cargo.toml"), "[package]\nname = \"flower\"\n").unwrap();
        self.place("cwd.env", "work/.env");
        self.place("user.env", ".config/flower/.env");
        self.place("xdg.env", "xdg/flower/.env");
        self.place("root.env", "source/.env");
        self.place("flower_env.env", "explicit.env");
        self.place("settings.json", ".claude/settings.json");
        self.place("settings.local.json", ".claude/settings.local.json");

        let mut environment = Environment {
            current_dir: root.join("work"),
            executable: root.join("source/target/debug/flower"),
            ..Environment::default()
        };
        let mut set = |key: &str, value: &Path| {
            environment.variables.insert(key.into(), value.into());
        };
        set("HOME", root);
        match self.word("flower_env") {
            Some("abs") => set("FLOWER_ENV", &root.join("explicit.env")),
            Some("rel") => set("FLOWER_ENV", Path::new("../explicit.env")),
            Some("missing") => set("FLOWER_ENV", &root.join("missing.env")),
            Some("dir") => set("FLOWER_ENV", &root.join("empty")),
            Some("empty") => set("FLOWER_ENV", Path::new("")),
            Some(other) => panic!("{}: {other}", self.name()),
            None => {}
        }
        match self.word("xdg_config_home") {
            Some("abs") => set("XDG_CONFIG_HOME", &root.join("xdg")),
            Some("empty") => set("XDG_CONFIG_HOME", Path::new("")),
            Some(other) => panic!("{}: {other}", self.name()),
            None => {}
        }
        for (key, value) in self.expected["preset_env"].as_object().unwrap() {
            set(key, Path::new(value.as_str().unwrap()));
        }
        environment
    }

    fn load(&self, environment: &Environment) -> Loaded {
        let explicit = environment.current_dir.join(".env");
        let explicit = (self.word("mode") == Some("path")).then_some(explicit.as_path());
        load(environment, explicit, self.expected["override"] == true)
    }
}

fn text(loaded: &Loaded, key: &str) -> Value {
    json!(loaded.values[std::ffi::OsStr::new(key)].text.to_str().unwrap())
}

#[test]
fn every_case_gives_the_recorded_answer() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/dotenv");
    let mut folders: Vec<PathBuf> =
        fs::read_dir(fixtures).unwrap().map(|entry| entry.unwrap().path()).collect();
    folders.sort();
    assert_eq!(folders.len(), 66);
    let deviations: BTreeMap<_, _> = DEVIATIONS.iter().map(|row| (row.0, (row.1, row.2))).collect();
    let (mut deviated, mut shortened) = (Vec::new(), Vec::new());

    for folder in folders {
        let case = Case::open(folder);
        let name = case.name().to_owned();
        let environment = case.prepare();
        let loaded = case.load(&environment);

        let set: Map<String, Value> =
            loaded.set.iter().map(|key| (key.clone(), text(&loaded, key))).collect();
        let expected_set = match deviations.get(name.as_str()) {
            Some((ours, reason)) => {
                assert!(!case.expected["error"].is_null(), "{name}: no need to deviate: {reason}");
                assert!(!loaded.warnings.is_empty(), "{name}: silent: {reason}");
                deviated.push(name.clone());
                serde_json::from_str(ours).unwrap()
            }
            None => {
                assert!(case.expected["error"].is_null(), "{name}");
                case.expected["loaded"].clone()
            }
        };
        // With the order of the keys, which a comparison of maps would not see.
        assert_eq!(json!(set).to_string(), expected_set.to_string(), "{name}: loaded");

        let mut expected_env = expected_set.as_object().unwrap().clone();
        let preset = case.expected["preset_env"].as_object().unwrap();
        for (key, value) in preset {
            expected_env.entry(key).or_insert(value.clone());
        }
        if !deviations.contains_key(name.as_str()) {
            assert_eq!(json!(expected_env), case.expected["env"], "{name}: the data agree");
        }
        let surroundings = ["HOME", "XDG_CONFIG_HOME", "FLOWER_ENV"];
        let env: BTreeMap<String, Value> = loaded
            .values
            .keys()
            .map(|key| key.to_str().unwrap())
            .filter(|key| preset.contains_key(*key) || !surroundings.contains(key))
            .map(|key| (key.to_owned(), text(&loaded, key)))
            .collect();
        assert_eq!(json!(env), json!(BTreeMap::from_iter(expected_env)), "{name}: env");

        let settings = Settings::from_loaded(loaded, &environment);
        if !deviations.contains_key(name.as_str()) {
            let found = settings.endpoint().is_ok();
            assert_eq!(json!(found), case.expected["credentials_ok"], "{name}: credentials");
        }
        check_description(&case, &settings, &mut shortened);
    }
    assert_eq!(deviated, DEVIATIONS.map(|row| row.0));
    assert_eq!(shortened, SHORT_SECRETS);
}

fn check_description(case: &Case, settings: &Settings, shortened: &mut Vec<String>) {
    let rows = settings.describe(Language::Chinese);
    let ours: Map<String, Value> =
        rows.into_iter().map(|(key, text)| (key.to_owned(), json!(text))).collect();
    let mut theirs = case.expected["describe"].as_object().unwrap().clone();
    let mut short = false;
    for (key, text) in &mut theirs {
        let value = settings.get(key).unwrap_or_default();
        let secret = key.contains("TOKEN") || key.contains("KEY");
        if secret && value.chars().count() <= 8 {
            short = true;
            *text = json!(format!("***(共 {} 位)", value.chars().count()));
        }
    }
    if short {
        shortened.push(case.name().to_owned());
    }
    assert_eq!(json!(ours).to_string(), json!(theirs).to_string(), "{}: describe", case.name());
}
