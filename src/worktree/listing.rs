//! The list of a repository's worktrees, as `git worktree list --porcelain -z` writes it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// One worktree.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Listed {
    pub(super) path: PathBuf,
    /// Without `refs/heads/`; nothing on a detached HEAD.
    pub(super) branch: Option<String>,
    /// The reason of its lock; empty for one without a reason, nothing where it is not locked.
    pub(super) locked: Option<String>,
}

/// Reads the list. Attributes that are not known are passed over.
pub(super) fn read(output: &[u8]) -> Vec<Listed> {
    let mut listed: Vec<Listed> = Vec::new();
    for line in output.split(|byte| *byte == 0) {
        let (name, value) = match line.iter().position(|byte| *byte == b' ') {
            Some(space) => (&line[..space], &line[space + 1..]),
            None => (line, &line[..0]),
        };
        if name == b"worktree" {
            let path = PathBuf::from(OsStr::from_bytes(value));
            listed.push(Listed { path, ..Listed::default() });
        } else if let Some(last) = listed.last_mut() {
            let text = String::from_utf8_lossy(value).into_owned();
            match name {
                b"branch" => last.branch = text.strip_prefix("refs/heads/").map(str::to_owned),
                b"locked" => last.locked = Some(text),
                _ => {}
            }
        }
    }
    listed
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_worktree_is_read_with_its_lock() {
        let output = b"worktree /a\0HEAD 12\0branch refs/heads/main\0\0worktree /b c\n\0HEAD 34\0branch refs/heads/flower/x\0locked flower:r1\0\0worktree /d\0HEAD 56\0detached\0locked\0\0";
        let all = read(output);
        assert_eq!(all.len(), 3);
        assert_eq!(all[0].branch.as_deref(), Some("main"));
        assert_eq!(all[0].locked, None);
        assert_eq!(all[1].path, PathBuf::from("/b c\n"));
        assert_eq!(all[1].branch.as_deref(), Some("flower/x"));
        assert_eq!(all[1].locked.as_deref(), Some("flower:r1"));
        assert_eq!((all[2].branch.as_deref(), all[2].locked.as_deref()), (None, Some("")));
    }

    #[test]
    fn nonsense_is_no_worktree() {
        assert_eq!(read(b""), []);
        assert_eq!(read(b"locked\0branch x\0"), []);
    }
}
