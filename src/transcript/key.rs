//! Names of stored conversations.

use std::path::Path;

use unicode_normalization::UnicodeNormalization;

/// Which transcript: a project, a session in it, and for a subagent the path below the session.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SessionKey {
    /// See [`project_key`].
    pub project: String,
    /// A UUID.
    pub session: String,
    /// `subagents/agent-<id>`; nothing for the main transcript.
    pub subpath: Option<String>,
}

impl SessionKey {
    /// The main transcript of a session.
    pub fn main(project: impl Into<String>, session: impl Into<String>) -> Self {
        Self { project: project.into(), session: session.into(), subpath: None }
    }

    /// The transcript of one subagent of this session.
    pub fn subagent(&self, agent_id: &str) -> Self {
        Self { subpath: Some(format!("subagents/agent-{agent_id}")), ..self.clone() }
    }

    /// The key as one string, as the `store_key` column has it (core.md S-1).
    pub fn joined(&self) -> String {
        match self.subpath.as_deref() {
            None | Some("") => format!("{}/{}", self.project, self.session),
            Some(subpath) => format!("{}/{}/{subpath}", self.project, self.session),
        }
    }
}

/// The project key of a workspace: its path in NFC with every character outside `[A-Za-z0-9]` as `-`;
/// beyond 200 characters cut, with a hash behind (core.md S-2). The path is taken as given: resolve it first.
pub fn project_key(workspace: &Path) -> String {
    const LONGEST: usize = 200;
    let path: String = workspace.to_string_lossy().nfc().collect();
    let key: String =
        path.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
    if key.len() <= LONGEST {
        return key;
    }
    let hash =
        path.chars().fold(0i32, |h, c| h.wrapping_mul(31).wrapping_add_unsigned(u32::from(c)));
    format!("{}-{}", &key[..LONGEST], base36(hash.unsigned_abs()))
}

fn base36(mut number: u32) -> String {
    let mut digits = Vec::new();
    loop {
        digits.push(char::from_digit(number % 36, 36).unwrap_or('0'));
        number /= 36;
        if number == 0 {
            break digits.iter().rev().collect();
        }
    }
}

/// A new random id in UUID form, for sessions and entries.
pub fn new_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_keys() {
        assert_eq!(project_key(Path::new("/work/my demo_1.x")), "-work-my-demo-1-x");
        assert_eq!(project_key(Path::new("/a/ü")), "-a--");
        let long = format!("/{}", "x".repeat(300));
        assert_eq!(
            project_key(Path::new(&long)).len(),
            200 + 1 + project_key(Path::new(&long))[201..].len()
        );
    }

    #[test]
    fn a_subagent_lives_below_its_session() {
        let key = SessionKey::main("-p", "s").subagent("a1");
        assert_eq!(key.joined(), "-p/s/subagents/agent-a1");
    }
}
