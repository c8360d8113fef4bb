//! Write: makes or replaces a whole file in one step.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use serde_json::{Value, json};

use super::freshness::Print;
use super::input::Input;
use super::{Answer, Complaint, ToolOutput, Toolbox, object_schema, place};
use crate::disk::{self, Care};

pub(super) const DESCRIPTION: &str = "Writes a whole file; missing folders are made. `file_path` is absolute \
or relative to the workspace. A file that exists is replaced, and only if it was read in this conversation \
and has not changed since: Read it first. For a change in part of a file use Edit.";

pub(super) fn schema() -> Value {
    object_schema(
        json!({
            "file_path": {"type": "string", "description": "The file."},
            "content": {"type": "string", "description": "All of its new content."},
        }),
        &["file_path", "content"],
    )
}

pub(super) async fn run(toolbox: &Toolbox, input: &Input<'_>) -> Answer {
    let path = place::absolute(toolbox.workspace(), input.filled_text("file_path")?);
    let content = input.text("content")?.to_owned();
    let toolbox = toolbox.clone();
    super::walk::blocking(toolbox.fence(), move |_| {
        place::writable(&toolbox, &path)?;
        in_turn(|| write(&toolbox, &path, &content))
    })
    .await
}

fn write(toolbox: &Toolbox, path: &Path, content: &str) -> Answer {
    let name = place::shown(toolbox.workspace(), path);
    let exists = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        _ => {
            place::regular_file(path, &name)?;
            toolbox.seen().check(path, &name)?;
            true
        }
    };
    replace(path, content.as_bytes()).map_err(|error| place::failed("written", &name, &error))?;
    remember(toolbox, path, &name)?;
    let (what, lines) = (if exists { "Replaced" } else { "Created" }, content.lines().count());
    let detail = json!({
        "type": if exists { "update" } else { "create" },
        "filePath": path.display().to_string(), "bytes": content.len(),
    });
    Ok(ToolOutput::text(format!("{what} {name} ({lines} lines)."), detail))
}

/// Notes that the conversation knows the file as it was just written.
pub(super) fn remember(toolbox: &Toolbox, path: &Path, name: &str) -> Result<(), Complaint> {
    let print = Print::take(path).map_err(|error| place::failed("read back", name, &error))?;
    toolbox.seen().remember(path, print);
    Ok(())
}

/// Runs the work while no other call looks at a file to replace it. Two conversations that edit one file at
/// the same time would undo each other's work otherwise.
pub(super) fn in_turn<T>(work: impl FnOnce() -> T) -> T {
    static TURN: Mutex<()> = Mutex::new(());
    let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    work()
}

/// Puts the content in place in one step: a reader, or a kill, sees the old file or the new one.
///
/// A symbolic link stays and its target is replaced; the mode of an existing file is kept.
pub(super) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    let path = place::written_through(path)?;
    let folder = path.parent().unwrap_or(Path::new("/"));
    fs::create_dir_all(folder)?;
    disk::replace(&path, content, Care::Work)
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::super::run as call;
    use super::*;

    fn toolbox() -> (tempfile::TempDir, Toolbox) {
        let folder = tempfile::tempdir().unwrap();
        let toolbox = Toolbox::new(folder.path().to_owned(), Vec::new());
        (folder, toolbox)
    }

    async fn write(toolbox: &Toolbox, path: &str, content: &str) -> (String, bool) {
        let input = json!({"file_path": path, "content": content});
        let output = call(toolbox, "Write", &input).await.unwrap();
        (output.output.as_str().unwrap().to_owned(), output.is_error)
    }

    async fn read(toolbox: &Toolbox, path: &str) {
        let input = json!({ "file_path": path });
        assert!(!call(toolbox, "Read", &input).await.unwrap().is_error);
    }

    #[tokio::test]
    async fn a_new_file_gets_its_folders_and_may_be_written_again() {
        let (folder, toolbox) = toolbox();
        let created = write(&toolbox, "a/b/c.txt", "1\n2\n").await;
        assert_eq!(created, ("Created a/b/c.txt (2 lines).".into(), false));
        assert!(!write(&toolbox, "a/b/c.txt", "x").await.1);
        assert_eq!(fs::read_to_string(folder.path().join("a/b/c.txt")).unwrap(), "x");
        assert_eq!(fs::read_dir(folder.path().join("a/b")).unwrap().count(), 1);
    }

    #[tokio::test]
    async fn an_existing_file_must_have_been_read_and_be_the_same() {
        let (folder, toolbox) = toolbox();
        let file = folder.path().join("f");
        fs::write(&file, "old").unwrap();
        let (text, is_error) = write(&toolbox, "f", "new").await;
        assert!(is_error && text.contains("Read it first"), "{text}");
        read(&toolbox, "f").await;
        // The same size, and maybe the same time: the content tells.
        fs::write(&file, "odd").unwrap();
        let (text, is_error) = write(&toolbox, "f", "new").await;
        assert!(is_error && text.contains("has changed since"), "{text}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "odd");
        read(&toolbox, "f").await;
        assert!(!write(&toolbox, "f", "new").await.1);
    }

    #[tokio::test]
    async fn the_mode_is_kept_and_a_link_is_written_through() {
        let (folder, toolbox) = toolbox();
        let file = folder.path().join("script");
        fs::write(&file, "old").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o751)).unwrap();
        symlink("script", folder.path().join("link")).unwrap();
        read(&toolbox, "link").await;
        assert!(!write(&toolbox, "link", "new").await.1);
        assert!(fs::symlink_metadata(folder.path().join("link")).unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "new");
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o751);
        symlink("later", folder.path().join("dangling")).unwrap();
        assert!(!write(&toolbox, "dangling", "new").await.1);
        assert_eq!(fs::read_to_string(folder.path().join("later")).unwrap(), "new");
    }

    #[tokio::test]
    async fn what_is_no_file_is_refused() {
        let (folder, toolbox) = toolbox();
        fs::create_dir(folder.path().join("d")).unwrap();
        fs::write(folder.path().join("f"), "").unwrap();
        for path in ["d", "/dev/null", "f/x", "a\0b"] {
            let (text, is_error) = write(&toolbox, path, "x").await;
            assert!(is_error && !text.contains('\n'), "{path}: {text}");
        }
    }
}
