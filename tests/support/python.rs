//! Python packages for tests, in virtual environments in the cache folder.

use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A package at the version that a test was written for.
pub(crate) struct Package {
    /// As the package index has it.
    pub(crate) name: &'static str,
    /// As Python imports it.
    pub(crate) module: &'static str,
    pub(crate) version: &'static str,
    /// Further words for pip.
    pub(crate) options: &'static [&'static str],
}

impl Package {
    /// A Python that has it, or why there is none. `FLOWER_TEST_PYTHON` names one; else a virtual
    /// environment is made once.
    pub(crate) fn python(&self) -> Result<PathBuf, String> {
        if let Some(python) = env::var_os("FLOWER_TEST_PYTHON").filter(|python| !python.is_empty())
        {
            run(Command::new(&python).arg("-c").arg(format!("import {}", self.module)))?;
            return Ok(python.into());
        }
        let cache =
            env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
        let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
        let cache = cache.or_else(home).ok_or("no cache folder")?;
        let folder = cache.join("flower-tests").join(format!("{}-{}", self.name, self.version));
        let python = folder.join("bin/python");
        // Written last, so that an installation that was cut off is made again.
        let done = folder.join("installed");
        if !done.exists() {
            run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
            let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
            let package = format!("{}=={}", self.name, self.version);
            run(Command::new(&python).args(install).args(self.options).arg(package))?;
            File::create(&done).map_err(|error| error.to_string())?;
        }
        Ok(python)
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.trim().lines().last().unwrap_or("it failed without a word").to_owned())
}
