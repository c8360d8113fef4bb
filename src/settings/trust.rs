//! The memory of which project's `.env` a person has agreed to: its path and the hash of its content, so
//! that a changed file is asked about again.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use super::Settings;
use super::source::{LONGEST, ProjectFile};
use crate::disk::{self, Care};

const FILE: &str = "trusted.json";

impl Settings {
    /// True where the current directory's `.env`, as it was read, has been agreed to before.
    pub fn trusted_before(&self) -> bool {
        let (Some(project), Some(dir)) = (self.project(), self.state_dir()) else {
            return false;
        };
        name_of(project).is_ok_and(|name| read(&dir.join(FILE)).get(&name) == Some(&project.sha256))
    }

    /// Remembers the current directory's `.env` as it was read. Errors where there is none, where there is
    /// no place to remember it, or where the disk refuses.
    pub fn remember_trust(&self) -> io::Result<()> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let project = self.project().ok_or_else(missing)?;
        let dir = self.state_dir().ok_or_else(missing)?;
        let path = dir.join(FILE);
        let mut all = read(&path);
        all.insert(name_of(project)?, project.sha256.clone());
        write(&path, &all)
    }
}

/// The real path, as text. One that is no text is not remembered: two could look the same.
fn name_of(project: &ProjectFile) -> io::Result<String> {
    let name = project.real.to_str().map(str::to_owned);
    name.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))
}

/// A file that is missing or broken remembers nothing: then the person is asked again.
fn read(path: &Path) -> BTreeMap<String, String> {
    let bytes = disk::read(path, LONGEST).unwrap_or_default();
    serde_json::from_slice(&bytes).unwrap_or_default()
}

fn write(path: &Path, all: &BTreeMap<String, String>) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut text = serde_json::to_vec_pretty(all)?;
    text.push(b'\n');
    disk::replace(path, &text, Care::Private)
}

#[cfg(test)]
mod tests {
    use super::super::tests::Home;
    use super::*;

    #[test]
    fn a_changed_file_is_asked_about_again() {
        let home = Home::new();
        home.project("PATH=/evil\n");
        assert!(!home.resolve().trusted_before());
        home.resolve().remember_trust().unwrap();
        assert!(home.resolve().trusted_before());
        home.project("PATH=/worse\n");
        assert!(!home.resolve().trusted_before());
    }

    #[test]
    fn what_was_read_is_what_is_trusted() {
        let home = Home::new();
        home.project("PATH=/good\n");
        let settings = home.resolve();
        home.project("PATH=/evil\n");
        settings.remember_trust().unwrap();
        assert!(!home.resolve().trusted_before());
    }

    #[cfg(unix)]
    #[test]
    fn the_memory_is_for_its_owner_only_and_survives_damage() {
        use std::os::unix::fs::PermissionsExt;
        let home = Home::new();
        home.project("PATH=/evil\n");
        let settings = home.resolve();
        let path = settings.state_dir().unwrap().join(FILE);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, "{broken").unwrap();
        assert!(!settings.trusted_before());
        settings.remember_trust().unwrap();
        assert!(settings.trusted_before());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }

    #[test]
    fn without_a_project_there_is_nothing_to_trust() {
        let home = Home::new();
        assert!(!home.resolve().trusted_before());
        assert!(home.resolve().remember_trust().is_err());
    }
}
