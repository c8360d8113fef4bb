//! Glob: finds files by the shape of their path.

use std::cmp::Reverse;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use globset::{GlobBuilder, GlobMatcher};
use ignore::{DirEntry, WalkBuilder};
use serde_json::{Value, json};

use super::input::Input;
use super::walk::{self, Stop};
use super::{Answer, Complaint, ToolOutput, Toolbox, object_schema, place};

/// Most paths in one result.
const MAX_PATHS: usize = 200;

pub(super) const DESCRIPTION: &str = "Finds files whose path below `path` (the workspace unless given) \
matches a pattern such as `*.toml`, `src/**/*.rs` or `**/{a,b}.txt`. `*` does not cross a slash, `**` does. \
Newest first, at most 200. What .gitignore excludes is left out, and so are hidden files unless the pattern \
names them with their dot. Symbolic links to folders are not followed.";

pub(super) fn schema() -> Value {
    object_schema(
        json!({
            "pattern": {"type": "string", "description": "The pattern."},
            "path": {"type": "string", "description": "The folder to look in."},
        }),
        &["pattern"],
    )
}

pub(super) async fn run(toolbox: &Toolbox, input: &Input<'_>) -> Answer {
    let pattern = input.filled_text("pattern")?;
    let mut root = walk::root(toolbox, input.optional_text("path")?)?;
    let mut relative = pattern.strip_prefix("./").unwrap_or(pattern).to_owned();
    if pattern.starts_with('/') {
        (root, relative) = split_absolute(pattern);
        place::readable(toolbox, &root)?;
    }
    if Path::new(&relative).components().any(|part| part.as_os_str() == "..") {
        return Err(Complaint::new("A pattern cannot contain `..`; name the folder in path."));
    }
    if !root.is_dir() {
        let name = place::shown(toolbox.workspace(), &root);
        return Err(Complaint(format!("{name} is not a folder.")));
    }
    let matcher = compile(&relative)?;
    let hidden = walk::names_hidden(&relative);
    let toolbox = toolbox.clone();
    walk::blocking(toolbox.fence(), move |stop| {
        let entries = walk::entries(&root, hidden, toolbox.fence(), |_| true);
        let found = find(&root, &matcher, &entries, stop);
        Ok(report(toolbox.workspace(), found))
    })
    .await
}

/// A glob in which `*` stays within one folder, or a sentence.
pub(super) fn compile(pattern: &str) -> Result<GlobMatcher, Complaint> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    glob.map(|glob| glob.compile_matcher()).map_err(|error| {
        Complaint(format!("The pattern {pattern} is not valid: {}.", error.kind()))
    })
}

/// The folder in front of the first part with a wildcard, and the rest.
fn split_absolute(pattern: &str) -> (PathBuf, String) {
    let special = pattern.find(['*', '?', '[', '{', '\\']).unwrap_or(pattern.len());
    let slash = pattern[..special].rfind('/').unwrap_or(0);
    (PathBuf::from(&pattern[..slash.max(1)]), pattern[slash + 1..].to_owned())
}

struct Found {
    modified: SystemTime,
    path: PathBuf,
}

fn find(root: &Path, matcher: &GlobMatcher, entries: &WalkBuilder, stop: &Stop) -> Vec<Found> {
    let mut found = Vec::new();
    for entry in entries.build().flatten() {
        if stop.asked() {
            break;
        }
        let inside = entry.path().strip_prefix(root).unwrap_or(entry.path());
        if matcher.is_match(inside)
            && let Some(modified) = file_time(root, &entry)
        {
            found.push(Found { modified, path: entry.into_path() });
        }
    }
    found.sort_by(|one, other| {
        (Reverse(one.modified), &one.path).cmp(&(Reverse(other.modified), &other.path))
    });
    found
}

/// When a file was changed; nothing for a folder, a special file or a link that leads out of the root.
fn file_time(root: &Path, entry: &DirEntry) -> Option<SystemTime> {
    if entry.path_is_symlink() {
        let target = entry.path().canonicalize().ok()?;
        if !target.starts_with(root.canonicalize().ok()?) {
            return None;
        }
    }
    let metadata = entry.path().metadata().ok()?;
    if metadata.is_file() { metadata.modified().ok() } else { None }
}

fn report(workspace: &Path, found: Vec<Found>) -> ToolOutput {
    let total = found.len();
    let detail = json!({"numFiles": total.min(MAX_PATHS), "truncated": total > MAX_PATHS});
    if total == 0 {
        return ToolOutput::text("No files found.", detail);
    }
    let shown = found.iter().take(MAX_PATHS).map(|file| place::shown(workspace, &file.path));
    let mut text = shown.collect::<Vec<_>>().join("\n");
    if total > MAX_PATHS {
        text.push_str(&format!(
            "\n\n[the newest {MAX_PATHS} of {total} files are shown; use a narrower pattern or path]"
        ));
    }
    ToolOutput::text(text, detail)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use super::super::run as call;
    use super::*;

    fn folder(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (age, file) in files.iter().enumerate() {
            let path = folder.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, "").unwrap();
            let time = SystemTime::now() - Duration::from_secs(60 * age as u64);
            fs::File::options().write(true).open(&path).unwrap().set_modified(time).unwrap();
        }
        folder
    }

    async fn glob(folder: &Path, input: Value) -> String {
        let toolbox = Toolbox::new(folder.to_owned(), Vec::new());
        let output = call(&toolbox, "Glob", &input).await.unwrap();
        output.output.as_str().unwrap().to_owned()
    }

    #[tokio::test]
    async fn the_newest_come_first_and_a_star_stays_in_its_folder() {
        let folder = folder(&["b.rs", "src/a.rs", "a.rs"]);
        assert_eq!(
            glob(folder.path(), json!({"pattern": "**/*.rs"})).await,
            "b.rs\nsrc/a.rs\na.rs"
        );
        assert_eq!(glob(folder.path(), json!({"pattern": "*.rs"})).await, "b.rs\na.rs");
        let input = json!({"pattern": "*.rs", "path": "src"});
        assert_eq!(glob(folder.path(), input).await, "src/a.rs");
        let input = json!({"pattern": format!("{}/s*/*.rs", folder.path().display())});
        assert_eq!(glob(folder.path(), input).await, "src/a.rs");
        assert_eq!(glob(folder.path(), json!({"pattern": "*.py"})).await, "No files found.");
    }

    #[tokio::test]
    async fn ignored_and_hidden_files_are_left_out() {
        let folder = folder(&["a.log", "a.txt", ".env", ".git/config", "b/.env"]);
        fs::write(folder.path().join(".gitignore"), "*.log\n").unwrap();
        assert_eq!(glob(folder.path(), json!({"pattern": "**/*"})).await, "a.txt");
        assert_eq!(glob(folder.path(), json!({"pattern": "**/.env"})).await, ".env\nb/.env");
    }

    #[tokio::test]
    async fn links_do_not_lead_out() {
        let (folder, outside) = (folder(&["a"]), folder(&["secret"]));
        symlink(outside.path(), folder.path().join("out")).unwrap();
        symlink(outside.path().join("secret"), folder.path().join("file")).unwrap();
        assert_eq!(glob(folder.path(), json!({"pattern": "**/*"})).await, "a");
    }

    #[tokio::test]
    async fn many_are_cut_with_a_note() {
        let folder = tempfile::tempdir().unwrap();
        for index in 0..205 {
            fs::write(folder.path().join(index.to_string()), "").unwrap();
        }
        let text = glob(folder.path(), json!({"pattern": "*"})).await;
        assert!(
            text.ends_with(
                "[the newest 200 of 205 files are shown; use a narrower pattern or path]"
            )
        );
        assert_eq!(text.lines().count(), 202);
    }

    #[tokio::test]
    async fn bad_patterns_and_places_are_sentences() {
        let folder = folder(&["f"]);
        for input in [
            json!({"pattern": "a["}),
            json!({"pattern": "../*"}),
            json!({"pattern": "*", "path": "f"}),
            json!({"pattern": "*", "path": "missing"}),
            json!({"pattern": "/missing/*"}),
        ] {
            let toolbox = Toolbox::new(folder.path().to_owned(), Vec::new());
            let output = call(&toolbox, "Glob", &input).await.unwrap();
            assert!(output.is_error, "{input}");
            assert!(!output.output.as_str().unwrap().contains('\n'));
        }
    }
}
