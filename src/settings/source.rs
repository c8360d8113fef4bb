//! Where choices come from, and the order in which they count: decided per key, the nearest first.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::borrow;
use super::grammar;
use super::warning::Warning;
use crate::disk;

/// The process environment and the places that depend on it, handed in by the door.
#[derive(Clone, Default)]
pub struct Environment {
    /// Every variable, also those that are not UTF-8.
    pub variables: BTreeMap<OsString, OsString>,
    /// The current directory.
    pub current_dir: PathBuf,
    /// The real path of the running executable.
    pub executable: PathBuf,
}

/// Variables hold secrets, so only their names are shown.
impl std::fmt::Debug for Environment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Environment")
            .field("variables", &self.variables.keys())
            .field("current_dir", &self.current_dir)
            .field("executable", &self.executable)
            .finish()
    }
}

impl Environment {
    /// A variable that is set and not empty.
    fn path(&self, name: &str) -> Option<&OsStr> {
        let value = self.variables.get(OsStr::new(name))?;
        Some(value.as_os_str()).filter(|value| !value.is_empty())
    }

    /// `$HOME`; nothing where it is not set.
    pub(super) fn home(&self) -> Option<PathBuf> {
        self.path("HOME").map(PathBuf::from)
    }

    /// In a box, the folder to which the wrapper maps the host's files. They do not lie in the box's home,
    /// since what a tool may read there cannot be taken back for a part of it.
    fn mapped(&self, name: &str) -> Option<PathBuf> {
        self.path("FLOWER_BOX").map(|folder| Path::new(folder).join(name))
    }

    /// `${XDG_CONFIG_HOME:-~/.config}/flower`; nothing where neither is set.
    pub(super) fn config_dir(&self) -> Option<PathBuf> {
        if let Some(mapped) = self.mapped("config") {
            return Some(mapped);
        }
        let base = match self.path("XDG_CONFIG_HOME") {
            Some(base) => self.current_dir.join(base),
            None => self.home()?.join(".config"),
        };
        Some(base.join("flower"))
    }
}

/// Where a value comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Origin {
    /// The process environment.
    Process,
    /// A line of a `.env` file.
    File {
        /// The file as it was named.
        path: PathBuf,
        /// From 1.
        line: usize,
    },
    /// The `env` block of a settings file of Claude Code.
    Borrowed {
        /// The file.
        path: PathBuf,
    },
    /// flower's own default.
    Default,
}

/// A value and where it comes from.
#[derive(Clone)]
pub struct Value {
    /// As it was written, quotes at its ends stripped.
    pub text: OsString,
    /// Where it was written.
    pub origin: Origin,
    /// True where the key may be a piece of a secret (see [`grammar::Line::inside`]).
    pub inside: bool,
}

/// The `.env` file of the current directory, which may have come with somebody else's repository.
#[derive(Debug, Clone)]
pub struct ProjectFile {
    /// As it is named in origins.
    pub path: PathBuf,
    /// Its real path: the same file by another way is the same file.
    pub real: PathBuf,
    /// Of the bytes that were read, so that what was trusted is what counts.
    pub sha256: String,
    /// In a box: what lies there has no keys in it, and was read from where the wrapper mapped the whole.
    pub lent: bool,
}

/// What was found.
#[derive(Clone, Default)]
pub struct Loaded {
    /// Every variable of the process and of the files.
    pub values: BTreeMap<OsString, Value>,
    /// The keys that files (not the process) set, in the order in which they were first set.
    pub set: Vec<String>,
    /// What is worth telling.
    pub warnings: Vec<Warning>,
    /// The current directory's `.env`, if it was read.
    pub project: Option<ProjectFile>,
}

/// Reads all places (or only the file `explicit`) and decides per key.
///
/// `replace` lets every later value win over an earlier one, the process included. Nothing is borrowed
/// from Claude Code where a file is named. A missing file is no error.
pub fn load(environment: &Environment, explicit: Option<&Path>, replace: bool) -> Loaded {
    let mut loaded = Loaded::default();
    for (key, value) in &environment.variables {
        let value = Value { text: value.clone(), origin: Origin::Process, inside: false };
        loaded.values.insert(key.clone(), value);
    }
    if let Some(path) = environment.mapped("env") {
        take_lent(&mut loaded, &path);
    }
    if let Some(path) = explicit {
        let bytes = read(&environment.current_dir.join(path), path, true, &mut loaded.warnings);
        take(&mut loaded, path, bytes.as_deref(), replace);
        return loaded;
    }
    let own = environment.current_dir.join(".env");
    let real_own = fs::canonicalize(&own).ok();
    let lent = environment.mapped("project.env").filter(|path| path.is_file());
    let mut seen = Vec::new();
    for place in places(environment) {
        let full = environment.current_dir.join(&place.path);
        let real = fs::canonicalize(&full).ok();
        if real.is_some() && seen.contains(&real) {
            // Run from its own checkout, the project's file and the checkout's are one: read it once.
            continue;
        }
        let is_own = full == own || real.is_some() && real == real_own;
        let source = lent.as_ref().filter(|_| is_own).unwrap_or(&full);
        let bytes = read(source, &place.path, place.named, &mut loaded.warnings);
        if let Some(bytes) = bytes.as_ref().filter(|_| is_own) {
            loaded.project = Some(ProjectFile {
                path: place.path.clone(),
                real: real.clone().unwrap_or(full),
                sha256: hex(&Sha256::digest(bytes)),
                lent: lent.is_some(),
            });
        }
        seen.push(real);
        take(&mut loaded, &place.path, bytes.as_deref(), replace);
    }
    let claude = environment.mapped("claude");
    if let Some(folder) = claude.or_else(|| Some(environment.home()?.join(".claude"))) {
        borrow_keys(&mut loaded, &folder, replace);
    }
    loaded
}

struct Place {
    path: PathBuf,
    /// Named by the user: then it is worth a word if it is not there.
    named: bool,
}

fn places(environment: &Environment) -> Vec<Place> {
    let mut places = Vec::new();
    if let Some(named) = environment.path("FLOWER_ENV") {
        places.push(Place { path: PathBuf::from(named), named: true });
    }
    let found = |path: PathBuf| Place { path, named: false };
    places.push(found(environment.current_dir.join(".env")));
    places.extend(environment.config_dir().map(|dir| found(dir.join(".env"))));
    let checkout = environment.mapped("checkout").or_else(|| checkout(&environment.executable));
    places.extend(checkout.map(|dir| found(dir.join(".env"))));
    places
}

/// The source checkout that the program was built in: the nearest parent with this package's Cargo.toml.
fn checkout(executable: &Path) -> Option<PathBuf> {
    let parents = executable.ancestors().skip(1);
    let mut with_manifest = parents.filter(|parent| is_this_package(&parent.join("Cargo.toml")));
    with_manifest.next().map(Path::to_path_buf)
}

/// Looks for `name = "flower"` in the `[package]` table; no more of TOML is needed for that.
fn is_this_package(manifest: &Path) -> bool {
    let Ok(text) = fs::read_to_string(manifest) else {
        return false;
    };
    let mut in_package = false;
    text.lines().map(str::trim).any(|line| {
        if line.starts_with('[') {
            in_package = line.split('#').next().is_some_and(|head| head.trim() == "[package]");
        }
        let Some((key, value)) = line.split_once('=') else {
            return false;
        };
        let value = value.split('#').next().unwrap_or_default().trim();
        in_package && key.trim() == "name" && matches!(value, "\"flower\"" | "'flower'")
    })
}

/// The longest file of settings, in bytes; what is longer is something else.
pub(super) const LONGEST: u64 = 4 << 20;

/// Reads a regular file.
fn read(full: &Path, shown: &Path, named: bool, warnings: &mut Vec<Warning>) -> Option<Vec<u8>> {
    match disk::read(full, LONGEST) {
        Ok(bytes) => Some(bytes),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound && !named => None,
        Err(error) => {
            let file = shown.display().to_string();
            let reason = error.to_string();
            let values = [("file", file.as_str()), ("reason", reason.as_str())];
            warnings.push(Warning::new("settings.unreadable", &values));
            None
        }
    }
}

/// What the environment of the wrapper held. A container's own environment is no place for secrets, so it
/// comes as a file; who could put another file in its place could as well have set the variable.
fn take_lent(loaded: &mut Loaded, path: &Path) {
    let Some(bytes) = read(path, path, false, &mut loaded.warnings) else {
        return;
    };
    let Ok(parsed) = grammar::parse(&bytes) else {
        let file = path.display().to_string();
        loaded.warnings.push(Warning::new("settings.undecodable", &[("file", &file)]));
        return;
    };
    for line in parsed.lines {
        let value = Value { text: line.value.into(), origin: Origin::Process, inside: line.inside };
        loaded.values.entry(line.key.into()).or_insert(value);
    }
}

fn take(loaded: &mut Loaded, path: &Path, bytes: Option<&[u8]>, replace: bool) {
    let Some(bytes) = bytes else {
        return;
    };
    let file = path.display().to_string();
    let Ok(parsed) = grammar::parse(bytes) else {
        loaded.warnings.push(Warning::new("settings.undecodable", &[("file", &file)]));
        return;
    };
    for found in parsed.findings {
        let line = found.line.to_string();
        let values =
            [("file", file.as_str()), ("line", line.as_str()), ("key", found.key.as_str())];
        loaded.warnings.push(Warning::new(found.difference.text_key(), &values));
    }
    for line in parsed.lines {
        let origin = Origin::File { path: path.to_path_buf(), line: line.line };
        let value = Value { text: line.value.into(), origin, inside: line.inside };
        put(loaded, line.key, value, replace);
    }
}

fn borrow_keys(loaded: &mut Loaded, folder: &Path, replace: bool) {
    let mut taken = Vec::new();
    for name in ["settings.json", "settings.local.json"] {
        let path = folder.join(name);
        let (pairs, unusable) = borrow::read(&path);
        for key in unusable {
            let file = path.display().to_string();
            let values = [("file", file.as_str()), ("key", key)];
            loaded.warnings.push(Warning::new("settings.borrowed_unusable", &values));
        }
        for (key, text) in pairs {
            if !taken.contains(&key) {
                taken.push(key);
                let origin = Origin::Borrowed { path: path.clone() };
                let value = Value { text: text.into(), origin, inside: false };
                put(loaded, key.to_owned(), value, replace);
            }
        }
    }
}

/// A key that is there, even empty, stays, unless `replace`.
fn put(loaded: &mut Loaded, key: String, value: Value, replace: bool) {
    let name = OsString::from(&key);
    if loaded.values.contains_key(&name) && !replace {
        return;
    }
    let before = loaded.values.insert(name, value);
    if before.is_none_or(|before| before.origin == Origin::Process) {
        loaded.set.push(key);
    }
}

/// Small letters.
fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checkout_is_the_nearest_parent_with_this_package() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("inner/target/debug");
        fs::create_dir_all(&inner).unwrap();
        fs::write(root.path().join("Cargo.toml"), "[package]\nname = \"flower\" # ours\n").unwrap();
        fs::write(root.path().join("inner/Cargo.toml"), "[dependencies]\nname = \"flower\"\n")
            .unwrap();
        assert_eq!(checkout(&inner.join("flower")), Some(root.path().to_path_buf()));
        assert_eq!(checkout(Path::new("/usr/bin/flower")), None);
    }

    #[test]
    fn a_named_file_that_is_missing_is_told_others_are_not() {
        let home = tempfile::tempdir().unwrap();
        let mut environment =
            Environment { current_dir: home.path().to_path_buf(), ..Environment::default() };
        assert_eq!(load(&environment, None, false).warnings, []);
        environment.variables.insert("FLOWER_ENV".into(), "nowhere.env".into());
        let warnings = load(&environment, None, false).warnings;
        assert_eq!(warnings[0].key, "settings.unreadable");
        assert_eq!(warnings[0].values[0], ("file", "nowhere.env".to_owned()));
    }

    #[test]
    fn the_users_folder_follows_xdg_unless_that_is_empty() {
        let dir = |xdg: &str| {
            let mut environment =
                Environment { current_dir: "/work".into(), ..Environment::default() };
            environment.variables.insert("HOME".into(), "/home/me".into());
            environment.variables.insert("XDG_CONFIG_HOME".into(), xdg.into());
            environment.config_dir().unwrap()
        };
        assert_eq!(dir("/xdg"), Path::new("/xdg/flower"));
        assert_eq!(dir(""), Path::new("/home/me/.config/flower"));
        assert_eq!(dir("here"), Path::new("/work/here/flower"));
        assert_eq!(Environment::default().config_dir(), None);
    }

    #[test]
    fn in_a_box_the_users_files_are_where_the_wrapper_maps_them() {
        let root = tempfile::tempdir().unwrap();
        let mapped = root.path().join("mapped");
        for (path, text) in [
            ("config/.env", "A=config\n"),
            ("checkout/.env", "A=lower\nB=checkout\n"),
            ("claude/settings.json", r#"{"env": {"ANTHROPIC_AUTH_TOKEN": "borrowed"}}"#),
        ] {
            fs::create_dir_all(mapped.join(path).parent().unwrap()).unwrap();
            fs::write(mapped.join(path), text).unwrap();
        }
        let home = root.path().join("home");
        fs::create_dir_all(home.join(".config/flower")).unwrap();
        fs::write(home.join(".config/flower/.env"), "A=home\nC=home\n").unwrap();
        let mut environment = Environment { current_dir: home.clone(), ..Environment::default() };
        environment.variables.insert("HOME".into(), home.into());
        environment.variables.insert("FLOWER_BOX".into(), mapped.into());
        let values = load(&environment, None, false).values;
        let text =
            |key: &str| values.get(OsStr::new(key)).map(|value| value.text.to_str().unwrap());
        assert_eq!(text("A"), Some("config"));
        assert_eq!(text("B"), Some("checkout"));
        assert_eq!(text("C"), None);
        assert_eq!(text("ANTHROPIC_AUTH_TOKEN"), Some("borrowed"));
    }

    #[test]
    fn in_a_box_what_was_in_the_environment_outside_counts_as_such() {
        let root = tempfile::tempdir().unwrap();
        let (mapped, work) = (root.path().join("mapped"), root.path().join("work"));
        fs::create_dir(&mapped).unwrap();
        fs::create_dir(&work).unwrap();
        fs::write(mapped.join("env"), "ANTHROPIC_AUTH_TOKEN='a $b'\nHTTPS_PROXY=p\n").unwrap();
        fs::write(mapped.join("project.env"), "\nANTHROPIC_API_KEY=whole\nA=1\n").unwrap();
        fs::write(work.join(".env"), "A=1\nFLOWER_BOX=/forged\n").unwrap();
        let mut environment = Environment { current_dir: work.clone(), ..Environment::default() };
        let origin = |environment: &Environment, key: &str| {
            load(environment, None, false).values.get(OsStr::new(key)).map(|v| v.origin.clone())
        };
        assert_eq!(origin(&environment, "HTTPS_PROXY"), None, "a file says nothing of a box");
        environment.variables.insert("FLOWER_BOX".into(), mapped.into());
        environment.variables.insert("HTTPS_PROXY".into(), "real".into());
        let loaded = load(&environment, None, false);
        let value = |key: &str| loaded.values[OsStr::new(key)].clone();
        assert_eq!(value("ANTHROPIC_AUTH_TOKEN").text, "a $b");
        assert_eq!(value("ANTHROPIC_AUTH_TOKEN").origin, Origin::Process);
        assert_eq!(value("HTTPS_PROXY").text, "real");
        assert_eq!(loaded.set, ["ANTHROPIC_API_KEY", "A"]);
        let line = Origin::File { path: work.join(".env"), line: 2 };
        assert_eq!(value("ANTHROPIC_API_KEY").origin, line, "as outside");
        let project = loaded.project.unwrap();
        assert_eq!(project.path, work.join(".env"));
        let whole = hex(&Sha256::digest(b"\nANTHROPIC_API_KEY=whole\nA=1\n"));
        assert_eq!((project.sha256, project.lent), (whole, true));
        assert_eq!(loaded.warnings, [], "the wrapper's quotes are no finding");
    }

    #[test]
    fn one_file_in_two_places_is_read_and_told_about_once() {
        let root = tempfile::tempdir().unwrap();
        fs::write(root.path().join("Cargo.toml"), "[package]\nname = \"flower\"\n").unwrap();
        fs::write(root.path().join(".env"), "A=\n").unwrap();
        let environment = Environment {
            current_dir: root.path().to_path_buf(),
            executable: root.path().join("target/debug/flower"),
            ..Environment::default()
        };
        let loaded = load(&environment, None, false);
        assert_eq!(loaded.warnings.len(), 1);
        assert!(loaded.project.is_some());
    }

    #[cfg(unix)]
    #[test]
    fn a_variable_that_is_not_text_still_claims_its_key() {
        use std::os::unix::ffi::OsStringExt;
        let home = tempfile::tempdir().unwrap();
        fs::write(home.path().join(".env"), "A=file\n").unwrap();
        let mut environment =
            Environment { current_dir: home.path().to_path_buf(), ..Environment::default() };
        let odd = OsString::from_vec(vec![0xff]);
        environment.variables.insert("A".into(), odd.clone());
        assert_eq!(load(&environment, None, false).values[OsStr::new("A")].text, odd);
    }
}
