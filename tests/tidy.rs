//! The house rules of the source, as a test: who may import whom, and what stands where.

#![allow(clippy::unwrap_used, unreachable_pub, missing_docs)]

#[path = "tidy/scan.rs"]
mod scan;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use regex::Regex;
use scan::{Source, Token};

/// Who may import whom, from top to bottom. Adding an arrow is an edit here, in the same change.
const TABLE: &[(&str, &[&str])] = &[
    ("transcript", &[]),
    // Everything that writes a file whole uses the same few lines, whatever layer it is in.
    ("disk", &[]),
    ("language", &[]),
    ("event", &[]),
    // Prices are for tokens, which `transcript` counts.
    ("settings", &["transcript", "disk", "language"]),
    ("document", &["language"]),
    ("guard", &["transcript", "language"]),
    ("context", &["transcript", "guard"]),
    ("store", &["transcript"]),
    ("sandbox", &["settings"]),
    ("workbench", &["transcript", "disk", "guard", "language"]),
    ("worktree", &["settings", "sandbox"]),
    // What a person adds to the brief is written in the brief's own form.
    ("human", &["event", "language", "document"]),
    ("wire", &["settings", "transcript"]),
    ("gate", &["settings", "transcript", "wire"]),
    ("engine", &["transcript", "disk", "settings", "event", "wire", "gate", "sandbox"]),
    ("role", &["guard", "document", "settings", "language"]),
    (
        "runtime",
        &[
            "transcript",
            "disk",
            "language",
            "event",
            "settings",
            "document",
            "guard",
            "context",
            "store",
            "sandbox",
            "workbench",
            "worktree",
            "human",
            "wire",
            "gate",
            "engine",
            "role",
        ],
    ),
    (
        "workflow",
        &[
            "disk",
            "document",
            "event",
            "human",
            "language",
            "role",
            "runtime",
            "workbench",
            "worktree",
        ],
    ),
    // What is wrong with a stored session is what its view would mend.
    ("report", &["transcript", "language", "context", "store", "workbench"]),
    (
        "cli",
        &[
            "transcript",
            "disk",
            "language",
            "event",
            "settings",
            "document",
            "store",
            "sandbox",
            "workbench",
            "worktree",
            "human",
            "wire",
            "gate",
            "engine",
            "role",
            "runtime",
            "workflow",
            "report",
        ],
    ),
];

/// The packages of the design card, by the names that the source uses.
const PACKAGES: [&str; 10] = [
    "tokio",
    "clap",
    "rusqlite",
    "serde_json",
    "dotenvy",
    "sha2",
    "rand",
    "socket2",
    "anyhow",
    "trust_dns_resolver",
];

const LONGEST: usize = 400;
const LONGEST_DOOR: usize = 30;

struct File {
    /// Below `src`, with `/`.
    path: String,
    text: String,
    source: Source,
    tokens: Vec<Token>,
}

impl File {
    fn new(path: &str, text: &str) -> File {
        let source = Source::read(text);
        let tokens = source.tokens();
        File { path: path.to_owned(), text: text.to_owned(), source, tokens }
    }

    /// The layer: the folder; `main.rs` and `lib.rs` are in none.
    fn layer(&self) -> Option<&str> {
        self.path.split_once('/').map(|(layer, _)| layer)
    }

    /// How many modules the file lies in.
    fn depth(&self) -> usize {
        let parts = self.path.split('/').count();
        if self.path.ends_with("/mod.rs") { parts - 1 } else { parts }
    }

    fn is_unit_test(&self) -> bool {
        self.path.ends_with("/tests.rs") || self.path.contains("/tests/")
    }

    /// A complaint about a line.
    fn at(&self, line: usize, what: &str) -> String {
        format!("src/{}:{line} {what}", self.path)
    }
}

fn files() -> Vec<File> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(&path, found);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    walk(&root, &mut found);
    found.sort();
    let relative = |path: &Path| path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
    found
        .iter()
        .map(|path| File::new(&relative(path), &std::fs::read_to_string(path).unwrap()))
        .filter(|file| !file.is_unit_test())
        .collect()
}

fn nothing(complaints: Vec<String>) {
    assert!(complaints.is_empty(), "\n{}\n", complaints.join("\n"));
}

fn allowed(layer: &str) -> Option<&'static [&'static str]> {
    TABLE.iter().find(|(name, _)| *name == layer).map(|(_, allowed)| *allowed)
}

fn bad_imports(file: &File) -> Vec<String> {
    let Some(layer) = file.layer() else { return Vec::new() };
    let Some(allowed) = allowed(layer) else {
        return vec![file.at(1, "lies in a folder that is not in the table")];
    };
    scan::from_root(&file.tokens, file.depth())
        .into_iter()
        .filter_map(|name| {
            let text = name.text.as_str();
            let known = TABLE.iter().any(|(layer, _)| *layer == text);
            let bad = matches!(text, "*" | "self")
                || (known && text != layer && !allowed.contains(&text));
            bad.then(|| file.at(name.line, &format!("imports {text}, not allowed in {layer}")))
        })
        .collect()
}

#[test]
fn imports_follow_the_table() {
    nothing(files().iter().flat_map(bad_imports).collect());
}

#[test]
fn the_engines_do_not_know_each_other() {
    let mut complaints = Vec::new();
    for (mine, other) in [("claude", "native"), ("native", "claude")] {
        let home = format!("engine/{mine}");
        for file in files().iter().filter(|file| file.path.starts_with(&home)) {
            for (at, token) in file.tokens.iter().enumerate() {
                let named = at >= 2 && scan::path_sign(&file.tokens, at - 2)
                    || scan::path_sign(&file.tokens, at + 1);
                if token.text == other && named {
                    complaints.push(file.at(token.line, &format!("imports engine::{other}")));
                }
            }
        }
    }
    nothing(complaints);
}

/// Where a name of this package may stand: a layer, or the door.
fn only_in(name: &str, homes: &[&str]) -> Vec<String> {
    files()
        .iter()
        .filter(|file| !homes.contains(&file.layer().unwrap_or(&file.path)))
        .filter_map(|file| {
            let line = scan::uses(&file.tokens, name)?;
            Some(file.at(line, &format!("uses {name}, which belongs into {}", homes.join(", "))))
        })
        .collect()
}

#[test]
fn only_the_door_speaks() {
    let names = ["anyhow", "clap", "println", "eprintln", "print", "eprint"];
    nothing(names.iter().flat_map(|name| only_in(name, &["cli"])).collect());
}

#[test]
fn only_the_store_knows_sql() {
    nothing(only_in("rusqlite", &["store"]));
}

fn environment(file: &File) -> Vec<usize> {
    let tokens = &file.tokens;
    let roots =
        (0..tokens.len()).filter(|at| tokens[*at].text == "std" && scan::path_sign(tokens, at + 1));
    roots
        .flat_map(|at| scan::names(tokens, at + 3))
        .filter(|name| name.text == "env")
        .map(|name| name.line)
        .collect()
}

#[test]
fn only_the_door_reads_the_environment() {
    let mut complaints = Vec::new();
    for file in files() {
        if file.path != "main.rs" && file.layer() != Some("cli") {
            let lines = environment(&file);
            complaints.extend(lines.iter().map(|line| file.at(*line, "uses std::env")));
        }
    }
    nothing(complaints);
}

#[test]
fn every_package_of_the_design_card_is_used() {
    let files = files();
    let unused = PACKAGES
        .iter()
        .filter(|name| !files.iter().any(|file| scan::uses(&file.tokens, name).is_some()));
    nothing(unused.map(|name| format!("{name} is not used in src")).collect());
}

#[test]
fn files_are_short_and_the_door_is_shorter() {
    let mut complaints = Vec::new();
    for file in files() {
        let lines = file.source.lines_of_code();
        if lines > LONGEST {
            complaints
                .push(file.at(1, &format!("has {lines} lines of code, {LONGEST} is the most")));
        }
        if file.path == "main.rs" && file.text.lines().count() > LONGEST_DOOR {
            complaints.push(file.at(1, &format!("has more than {LONGEST_DOOR} lines")));
        }
    }
    nothing(complaints);
}

#[test]
fn every_file_opens_with_a_sentence() {
    let silent = files().into_iter().filter(|file| !file.text.starts_with("//! "));
    nothing(silent.map(|file| file.at(1, "does not open with //!")).collect());
}

#[test]
fn nothing_is_left_for_later() {
    let later = Regex::new(r"\b(TODO|FIXME|XXX)\b").unwrap();
    let mut complaints = Vec::new();
    for file in files() {
        for (number, line) in file.text.lines().enumerate() {
            if later.is_match(line) {
                complaints.push(file.at(number + 1, "leaves something for later"));
            }
        }
    }
    nothing(complaints);
}

#[test]
fn at_most_one_file_is_unsafe() {
    let unsafe_lines: Vec<String> = files()
        .iter()
        .filter_map(|file| {
            let token = file.tokens.iter().find(|token| token.text == "unsafe")?;
            Some(file.at(token.line, "is unsafe"))
        })
        .collect();
    assert!(unsafe_lines.len() <= 1, "\n{}\n", unsafe_lines.join("\n"));
}

fn language_keys(file: &File) -> Vec<(usize, String)> {
    let call = Regex::new(r#"\.text\(\s*"([a-z_]+\.[a-z0-9_.]+)""#).unwrap();
    let code = &file.source.code;
    let line = |at: usize| 1 + code[..at].matches('\n').count();
    call.captures_iter(code)
        .map(|found| (line(found.get(0).map_or(0, |all| all.start())), found[1].to_owned()))
        .collect()
}

#[test]
fn every_text_exists_in_the_catalogue() {
    let catalogue = catalogue();
    let known = |key: &str| {
        let (section, name) = key.split_once('.').unwrap();
        catalogue.get(section).is_some_and(|texts| texts.contains_key(name))
    };
    let mut complaints = Vec::new();
    for file in files() {
        for (line, key) in language_keys(&file) {
            if !known(&key) {
                complaints.push(file.at(line, &format!("says {key}, which no catalogue has")));
            }
        }
    }
    nothing(complaints);
}

type Catalogue = BTreeMap<String, BTreeMap<String, String>>;

fn catalogue() -> Catalogue {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/language/en.json");
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// Texts that no source names, neither whole nor as `format!("section.start_{…}")`; a file that puts
/// together a whole section's keys names the rest of the key alone.
fn unsaid(catalogue: &Catalogue, files: &[File]) -> Vec<String> {
    let put_together = Regex::new(r#"format!\(\s*"(?:([a-z_]+)\.)?([a-z_]*)\{"#).unwrap();
    let said = |section: &str, name: &str| {
        let (whole, alone) = (format!("\"{section}.{name}\""), format!("\"{name}\""));
        files.iter().any(|file| {
            let code = &file.source.code;
            let starts: Vec<(&str, &str)> = put_together
                .captures_iter(code)
                .map(|found| (found.get(1).map_or("", |section| section.as_str()), found))
                .map(|(section, found)| (section, found.get(2).map_or("", |start| start.as_str())))
                .collect();
            let opens = starts.contains(&(section, ""));
            code.contains(&whole)
                || starts.iter().any(|(at, start)| {
                    let here = *at == section || at.is_empty() && opens;
                    here && !start.is_empty() && name.starts_with(start)
                })
                || opens && code.contains(&alone)
        })
    };
    let all =
        catalogue.iter().flat_map(|(section, texts)| texts.keys().map(move |name| (section, name)));
    all.filter(|(section, name)| !said(section, name))
        .map(|(section, name)| format!("{section}.{name} is said nowhere"))
        .collect()
}

#[test]
fn every_text_of_the_catalogue_is_said() {
    nothing(unsaid(&catalogue(), &files()));
}

#[test]
fn an_unused_text_is_found() {
    let keys =
        |names: &[&str]| names.iter().map(|name| ((*name).to_owned(), String::new())).collect();
    let catalogue = Catalogue::from([("cli".into(), keys(&["a", "b_x", "c", "d"]))]);
    let one = File::new("cli/a.rs", "t(\"cli.a\"); t(&format!(\"cli.b_{x}\")); // \"cli.d\"");
    let other = File::new("cli/b.rs", "t(&format!(\"cli.{key}\")); say(\"c\")");
    assert_eq!(unsaid(&catalogue, &[one, other]), ["cli.d is said nowhere"]);
}

#[test]
fn the_table_points_down() {
    for (at, (layer, allowed)) in TABLE.iter().enumerate() {
        for name in *allowed {
            let above = TABLE[..at].iter().any(|(above, _)| above == name);
            assert!(above, "{layer} may import {name}, which does not stand above it");
        }
    }
}

#[test]
fn the_scanner_finds_every_way_to_import() {
    let bad = |path: &str, text: &str| bad_imports(&File::new(path, text)).join("\n");
    assert!(
        bad("store/mod.rs", "\nuse crate::role::Role;")
            .starts_with("src/store/mod.rs:2 imports role")
    );
    assert!(
        bad("store/mod.rs", "use crate::{transcript::{a, role}, human};").contains("imports human")
    );
    assert!(!bad("store/mod.rs", "use crate::{transcript::{a, role}, store};").contains("imports"));
    assert!(bad("store/sqlite.rs", "fn f() { super::super::role::x() }").contains("imports role"));
    assert!(bad("store/mod.rs", "use super::{role, wire::a};").contains("imports wire"));
    assert!(bad("store/sqlite.rs", "use super::role;").is_empty());
    assert!(bad("engine/native/tool.rs", "use super::super::role;").is_empty());
    assert!(bad("engine/native/tool.rs", "use super::super::super::role;").contains("role"));
    assert!(bad("store/mod.rs", "use crate::*;").contains("imports *"));
    // Ways around it.
    for text in [
        "use crate as c;\nuse c::role::Role;",
        "use crate::{self as c};",
        "use super as up; use up::role::Role;",
        "use super::{self as up}; use up::role::X;",
        "use flower::role::Role;",
        "use ::flower::role::Role;",
        "use crate :: role :: Role;",
        "use crate::r#role::Role;",
        "use self::super::role::Role;",
        "macro_rules! m { () => { $crate::role::f() } }",
        "fn f() { <crate::role::Role as X>::f() }",
        "const A: u8 = b'\"'; use crate::role::Role; const B: u8 = b'\"';",
        "#[cfg(not(test))] mod a { use crate::role::Role; }",
        "#[cfg(test)] const A: [u8; 1] = [0]; use crate::role::Role;",
        "#[cfg(test)] use a::{b, c}; use crate::role::Role;",
    ] {
        assert!(!bad("store/mod.rs", text).is_empty(), "{text}");
    }
    assert!(bad("nowhere/mod.rs", "").contains("not in the table"));
}

#[test]
fn the_scanner_is_not_fooled_by_text() {
    let text = r###"
// crate::role
/* crate::role /* crate::human */ crate::wire */
const A: &str = "crate::role \" crate::role";
const B: &str = r#"crate::role " crate::role"#;
const C: [char; 3] = ['"', '\'', '\u{7b}'];
fn life<'a>(x: &'a str) -> &'a str { x }
#[cfg(test)]
mod tests {
    use crate::role::Role;
    const BRACE: &str = "}";
    use crate::role::Other;
}
use crate::human::Channel;
"###;
    let file = File::new("store/mod.rs", text);
    let expected = ["src/store/mod.rs:14 imports human, not allowed in store"];
    assert_eq!(bad_imports(&file), expected);
    assert_eq!(file.source.lines_of_code(), 5);
}

#[test]
fn the_scanner_sees_the_environment_and_leaves_the_macro() {
    let lines = |text: &str| environment(&File::new("store/mod.rs", text));
    assert_eq!(lines("use std::env;\nuse std::{fs, env::var};\nstd::env::var(x)"), [1, 2, 3]);
    assert!(lines("env!(\"X\"); std::process::Command::new(x).env(a, b)").is_empty());
}

#[test]
fn the_scanner_reads_keys_of_texts() {
    let file = File::new("cli/mod.rs", "x.text(\n    \"cli.hello\",\n&[]); y.text(\"plain\")");
    assert_eq!(language_keys(&file), [(1, "cli.hello".to_owned())]);
}
