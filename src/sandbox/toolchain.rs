//! Where programs live: from `PATH` to the folders that they need to be read.
//!
//! The rule: of every folder in `PATH`, the folder around it when its own name is `bin`, `sbin`, `shims`,
//! `scripts` or `libexec`, else itself. The same for every link in it that leads elsewhere, and for what is
//! found there. A folder that holds HOME, or a whole shared place such as `~/.local`, is too wide: then
//! only the folder of programs itself. Of a folder in which something must stay out of reach, every entry
//! but that one. A few programs keep their parts elsewhere; [`Companion`] knows them.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

/// Readable for everyone: programs, libraries, configuration of the system.
pub(super) const SYSTEM: [&str; 11] = [
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/bin",
    "/sbin",
    "/etc",
    "/sys",
    "/nix/store",
    "/gnu/store",
];

/// Folders of programs by name.
const PROGRAMS: [&str; 5] = ["bin", "sbin", "shims", "scripts", "libexec"];

/// Folders that the system's packages fill.
const PACKAGED: [&str; 4] = ["/usr/bin", "/usr/sbin", "/bin", "/sbin"];

/// Folders of programs that are looked through, those that links lead to included.
const MOST_FOLDERS: usize = 500;

/// Parts of a toolchain that lie elsewhere.
struct Companion {
    /// Who needs it; any program where empty.
    program: &'static str,
    /// The variable that names it.
    variable: &'static str,
    /// Where it is otherwise, below HOME.
    usual: &'static str,
}

const COMPANIONS: [Companion; 10] = [
    Companion { program: "rustup", variable: "RUSTUP_HOME", usual: ".rustup" },
    Companion { program: "cargo", variable: "CARGO_HOME", usual: ".cargo" },
    Companion { program: "go", variable: "GOPATH", usual: "go" },
    Companion { program: "go", variable: "GOROOT", usual: "" },
    Companion { program: "python3", variable: "PYTHONUSERBASE", usual: ".local/lib" },
    Companion { program: "java", variable: "JAVA_HOME", usual: "" },
    Companion { program: "node", variable: "NVM_DIR", usual: "" },
    Companion { program: "dotnet", variable: "DOTNET_ROOT", usual: "" },
    Companion { program: "", variable: "VIRTUAL_ENV", usual: "" },
    Companion { program: "", variable: "CONDA_PREFIX", usual: "" },
];

/// Files that a variable names and that programs need to reach the network.
const CERTIFICATES: [&str; 6] = [
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
    "GIT_SSL_CAINFO",
];

/// What is looked through.
pub(super) struct Search<'a> {
    /// The tools' environment.
    pub(super) environment: &'a [(OsString, OsString)],
    /// The person's home.
    pub(super) home: Option<&'a Path>,
    /// What must stay out of reach, real paths.
    pub(super) keep_out: &'a [PathBuf],
}

impl Search<'_> {
    /// Real paths, besides [`SYSTEM`].
    pub(super) fn roots(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let path = self.variable("PATH").unwrap_or_default();
        let mut folders: Vec<PathBuf> = std::iter::empty()
            .chain(path.as_encoded_bytes().split(|byte| *byte == b':'))
            .filter_map(|name| std::str::from_utf8(name).ok())
            .filter(|name| name.starts_with('/'))
            .filter_map(|name| fs::canonicalize(name).ok())
            .collect();
        let mut programs = Vec::new();
        let mut at = 0;
        while at < folders.len().min(MOST_FOLDERS) {
            let folder = folders[at].clone();
            at += 1;
            self.add(&mut found, &folder);
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            // Links of the system's own packages stay in the system; there are thousands of them.
            let packaged = PACKAGED.iter().any(|packaged| folder == Path::new(packaged));
            for entry in entries.flatten() {
                programs.push(entry.file_name());
                let is_link = !packaged && entry.file_type().is_ok_and(|kind| kind.is_symlink());
                let Some(target) = is_link.then(|| fs::canonicalize(entry.path()).ok()).flatten()
                else {
                    continue;
                };
                if let Some(next) = target.parent()
                    && !is_system(next)
                    && !folders.iter().any(|known| known == next)
                {
                    folders.push(next.to_owned());
                }
            }
        }
        for companion in &COMPANIONS {
            let needed = companion.program.is_empty()
                || programs.iter().any(|program| program == companion.program);
            if let Some(place) = self.place(companion).filter(|_| needed) {
                self.widen(&mut found, &place);
            }
        }
        let certificates = CERTIFICATES.iter().filter_map(|name| self.variable(name));
        for named in certificates.filter_map(|name| fs::canonicalize(name).ok()) {
            self.widen(&mut found, &named);
        }
        found
    }

    fn variable(&self, name: &str) -> Option<&OsStr> {
        let found = self.environment.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_os_str()).filter(|value| !value.is_empty())
    }

    fn place(&self, companion: &Companion) -> Option<PathBuf> {
        let place = match self.variable(companion.variable) {
            Some(named) => PathBuf::from(named),
            None if companion.usual.is_empty() => return None,
            None => self.home?.join(companion.usual),
        };
        fs::canonicalize(place).ok()
    }

    /// The root around a folder of programs.
    fn add(&self, found: &mut Vec<PathBuf>, folder: &Path) {
        let named = folder.file_name().is_some_and(|name| PROGRAMS.iter().any(|p| name == *p));
        let around = folder.parent().filter(|parent| named && !self.is_too_wide(parent));
        self.widen(found, around.unwrap_or(folder));
    }

    /// Adds a root, or its entries where one of them is to stay out of reach.
    fn widen(&self, found: &mut Vec<PathBuf>, root: &Path) {
        if is_system(root) || found.iter().any(|known| root.starts_with(known)) {
            return;
        }
        if self.keep_out.iter().any(|secret| root.starts_with(secret)) || self.is_too_wide(root) {
            return;
        }
        if !self.keep_out.iter().any(|secret| secret.starts_with(root)) {
            found.push(root.to_owned());
            return;
        }
        let Ok(entries) = fs::read_dir(root) else { return };
        let entries = entries.flatten().filter_map(|entry| fs::canonicalize(entry.path()).ok());
        for entry in entries.filter(|entry| entry.starts_with(root)) {
            let mut secrets = self.keep_out.iter();
            let holds =
                secrets.any(|secret| secret.starts_with(&entry) || entry.starts_with(secret));
            if !holds && !found.contains(&entry) {
                found.push(entry);
            }
        }
    }

    /// HOME and what is around it, the root, and places that everybody shares.
    fn is_too_wide(&self, folder: &Path) -> bool {
        let shared =
            ["/", "/home", "/opt", "/var", "/tmp", "/run", "/mnt", "/srv", "/proc", "/dev"];
        let home = self.home.is_some_and(|home| {
            home.starts_with(folder)
                || [".local", ".local/share"].iter().any(|n| home.join(n) == folder)
        });
        home || shared.iter().any(|name| folder == Path::new(name))
    }
}

fn is_system(path: &Path) -> bool {
    SYSTEM.iter().any(|system| path.starts_with(system))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Machine {
        _folder: tempfile::TempDir,
        home: PathBuf,
    }

    impl Machine {
        fn new(folders: &[&str]) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let home = folder.path().canonicalize().unwrap().join("home/me");
            for name in folders {
                fs::create_dir_all(home.join(name)).unwrap();
            }
            Self { _folder: folder, home }
        }

        fn link(&self, from: &str, to: &str) {
            symlink(self.home.join(to), self.home.join(from)).unwrap();
        }

        fn roots(&self, path: &[&str], keep_out: &[&str]) -> Vec<String> {
            let path: Vec<_> = path.iter().map(|name| self.home.join(name)).collect();
            let path: Vec<_> = path.iter().map(|name| name.to_str().unwrap()).collect();
            let environment =
                [("PATH".into(), format!("relative:/usr/bin:{}", path.join(":")).into())];
            let keep_out: Vec<_> = keep_out.iter().map(|name| self.home.join(name)).collect();
            let search =
                Search { environment: &environment, home: Some(&self.home), keep_out: &keep_out };
            let roots = search.roots().into_iter().filter_map(|root| {
                Some(root.strip_prefix(&self.home).ok()?.to_str().unwrap().to_owned())
            });
            let mut roots: Vec<_> = roots.collect();
            roots.sort();
            roots
        }
    }

    #[test]
    fn a_toolchain_is_the_folder_around_its_programs() {
        let machine = Machine::new(&[".pyenv/shims", "node/v20/bin", "bin", "tools", ".ssh"]);
        let roots = machine.roots(&[".pyenv/shims", "node/v20/bin", "bin", "tools"], &[".ssh"]);
        assert_eq!(roots, [".pyenv", "bin", "node/v20", "tools"]);
    }

    #[test]
    fn links_lead_to_what_they_need() {
        let machine = Machine::new(&[".local/bin", ".local/share/uv/tools/ruff/bin", "py/3/bin"]);
        fs::write(machine.home.join("py/3/bin/python"), "").unwrap();
        fs::write(machine.home.join(".local/share/uv/tools/ruff/bin/ruff"), "").unwrap();
        machine.link(".local/share/uv/tools/ruff/bin/python", "py/3/bin/python");
        machine.link(".local/bin/ruff", ".local/share/uv/tools/ruff/bin/ruff");
        let roots = machine.roots(&[".local/bin"], &[]);
        assert_eq!(roots, [".local/bin", ".local/share/uv/tools/ruff", "py/3"]);
    }

    #[test]
    fn a_secret_in_a_toolchain_stays_out_of_reach() {
        let machine = Machine::new(&[".cargo/bin", ".cargo/registry", ".rustup"]);
        fs::write(machine.home.join(".cargo/credentials.toml"), "").unwrap();
        fs::write(machine.home.join(".cargo/bin/rustup"), "").unwrap();
        fs::write(machine.home.join(".cargo/bin/cargo"), "").unwrap();
        let roots = machine.roots(&[".cargo/bin"], &[".cargo/credentials.toml"]);
        assert_eq!(roots, [".cargo/bin", ".cargo/registry", ".rustup"]);
        assert!(machine.roots(&[".cargo/bin"], &[".cargo"]).iter().all(|root| root == ".rustup"));
    }

    #[test]
    fn home_itself_is_never_a_root() {
        let machine = Machine::new(&["bin"]);
        assert_eq!(machine.roots(&["", "bin", "../.."], &[]), ["bin"]);
    }
}
