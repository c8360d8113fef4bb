//! The ground of one run: from what is known of machine and workspace to the fence of each role.

use std::ffi::OsString;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::thread::CapabilitySet;

use super::domain::Kernel;
use super::fence::{Fence, FenceError, Lists, resolve};
use super::scratch::Scratch;
use super::toolchain::{SYSTEM, Search};

/// What of a machine the tools of a run may reach. Paths may be any; they are resolved here.
#[derive(Debug, Clone)]
pub struct Ground {
    /// Where the agent works.
    pub workspace: PathBuf,
    /// Written by those who work, besides the workspace: workbench, worktrees.
    pub work: Vec<PathBuf>,
    /// Written by those who run programs: caches, and what the person named.
    pub extra: Vec<PathBuf>,
    /// The folder for temporary files, written by all.
    pub temp: PathBuf,
    /// Removes the temporary folder at the end, where it was made for this run.
    pub temp_owner: Option<Arc<Scratch>>,
    /// Read by all, besides the system.
    pub read: Vec<PathBuf>,
    /// Never for tools, wherever it lies: records, keys.
    pub hidden: Vec<PathBuf>,
    /// What makes a repository around the workspace too wide to be read: HOME and the like.
    pub private: Vec<PathBuf>,
    /// What the kernel can hold.
    pub kernel: Kernel,
}

/// How far a role reaches.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reach {
    /// It changes the workspace.
    Work,
    /// It changes nothing.
    Look,
    /// It changes only a copy that is thrown away.
    Copy(PathBuf),
}

impl Ground {
    /// Removes a temporary folder that was made for this run, where the process ends without unwinding.
    pub fn clear_temp(&self) {
        self.temp_owner.iter().for_each(|owned| owned.clear());
    }

    /// Folders that programs need, found through the environment of the tools.
    ///
    /// `keep_out` is left out of them, and so is everything in it.
    pub fn toolchains(
        environment: &[(OsString, OsString)],
        home: Option<&Path>,
        keep_out: &[PathBuf],
    ) -> Vec<PathBuf> {
        let home = home.and_then(|home| fs::canonicalize(home).ok());
        let keep_out = real(keep_out);
        let search = Search { environment, home: home.as_deref(), keep_out: &keep_out };
        let mut roots = search.roots();
        // Name lookups: the file is often a link into a folder that a service writes.
        let names = fs::canonicalize("/etc/resolv.conf").ok();
        let folder = names.as_deref().and_then(Path::parent);
        roots.extend(folder.filter(|folder| folder.components().count() > 2).map(Path::to_owned));
        roots
    }

    /// The fence of a role.
    ///
    /// # Errors
    /// The kernel refuses it.
    pub fn fence(&self, reach: &Reach) -> Result<Fence, FenceError> {
        Fence::new(self.lists(reach), self.kernel, self.kept())
    }

    fn lists(&self, reach: &Reach) -> Lists {
        let mut write = vec![self.temp.clone(), "/dev/shm".into()];
        let mut read: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        read.extend(self.read.iter().cloned());
        read.extend(self.work.iter().cloned());
        read.extend(self.extra.iter().cloned());
        read.push(self.workspace.clone());
        let repository = Repository::of(&self.workspace, &real(&self.private));
        read.extend(repository.read);
        match reach {
            Reach::Work => {
                write.push(self.workspace.clone());
                write.extend(self.work.iter().cloned());
                write.extend(self.extra.iter().cloned());
                write.extend(repository.write);
            }
            Reach::Look => {}
            Reach::Copy(copy) => {
                write.push(copy.clone());
                write.extend(self.extra.iter().cloned());
            }
        }
        Lists {
            write: real(&write),
            read: real(&read),
            commands: vec!["/proc".into()],
            hidden: real(&self.hidden),
        }
    }

    /// What of these the kernel cannot hide from commands, because it lies in something that they may use.
    pub fn exposed(&self, secrets: &[PathBuf]) -> Vec<PathBuf> {
        let lists = self.lists(&Reach::Work);
        real(secrets).into_iter().filter(|secret| lists.grant(secret)).collect()
    }

    /// Root without capabilities cannot write what belongs to others. Where the workspace does, it keeps
    /// that one; what it opens is still held by the kernel's lists.
    fn kept(&self) -> CapabilitySet {
        let foreign = fs::metadata(&self.workspace)
            .is_ok_and(|workspace| workspace.uid() != rustix::process::geteuid().as_raw());
        if foreign { CapabilitySet::DAC_OVERRIDE } else { CapabilitySet::empty() }
    }
}

/// What of a repository lies outside of the workspace.
#[derive(Debug, Default, PartialEq, Eq)]
struct Repository {
    read: Vec<PathBuf>,
    write: Vec<PathBuf>,
}

impl Repository {
    /// In a linked worktree objects, branches and its own folder of the repository are written, but
    /// neither configuration nor hooks. Of a repository around the workspace all is only read.
    fn of(workspace: &Path, private: &[PathBuf]) -> Self {
        let mut found = Self::default();
        let Some(top) = workspace.ancestors().find(|folder| folder.join(".git").exists()) else {
            return found;
        };
        if top != workspace {
            if private.iter().any(|private| private.starts_with(top)) {
                return found;
            }
            found.read.push(top.to_owned());
        }
        let Some(own) = git_folder(top) else { return found };
        let common = fs::read_to_string(own.join("commondir"));
        let common = own.join(common.as_deref().unwrap_or(".").trim());
        found.read.push(common.clone());
        if top == workspace {
            found.write.push(own);
            found.write.extend(["objects", "refs", "logs"].map(|name| common.join(name)));
        }
        found
    }
}

/// Where the `.git` file of a linked worktree points to.
fn git_folder(top: &Path) -> Option<PathBuf> {
    let text = fs::read_to_string(top.join(".git")).ok()?;
    let folder = fs::canonicalize(top.join(text.strip_prefix("gitdir:")?.trim())).ok()?;
    // Anybody can write such a file; only a folder that points back is this worktree's.
    let back = fs::read_to_string(folder.join("gitdir")).ok()?;
    let back = fs::canonicalize(folder.join(back.trim())).ok()?;
    (back == fs::canonicalize(top.join(".git")).ok()?).then_some(folder)
}

/// Real paths, without those that cannot be told.
fn real(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut real: Vec<PathBuf> = paths.iter().filter_map(|path| resolve(path)).collect();
    real.sort();
    real.dedup();
    real
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Place {
        _folder: tempfile::TempDir,
        root: PathBuf,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().canonicalize().unwrap();
            for name in ["w/runs", "w/.flower", "cache", "tmp/copy", "home"] {
                fs::create_dir_all(root.join(name)).unwrap();
            }
            fs::write(root.join("w/.env"), "").unwrap();
            Self { _folder: folder, root }
        }

        fn ground(&self) -> Ground {
            Ground {
                workspace: self.root.join("w"),
                work: vec![self.root.join("w/.flower")],
                extra: vec![self.root.join("cache")],
                temp: self.root.join("tmp"),
                temp_owner: None,
                read: Vec::new(),
                hidden: vec![self.root.join("w/runs"), self.root.join("w/.env")],
                private: vec![self.root.join("home")],
                kernel: Kernel::probe(),
            }
        }

        fn writable(&self, reach: &Reach) -> Vec<&'static str> {
            let fence = self.ground().fence(reach).unwrap();
            let names =
                ["w/new", "w/.flower/x", "w/runs/x", "w/.env", "cache/x", "tmp/x", "home/x"];
            names.into_iter().filter(|name| fence.may_write(&self.root.join(name))).collect()
        }
    }

    #[test]
    fn each_reach_writes_its_own() {
        let place = Place::new();
        assert_eq!(place.writable(&Reach::Work), ["w/new", "w/.flower/x", "cache/x", "tmp/x"]);
        assert_eq!(place.writable(&Reach::Look), ["tmp/x"]);
        let copy = Reach::Copy(place.root.join("tmp/copy"));
        assert_eq!(place.writable(&copy), ["cache/x", "tmp/x"]);
    }

    #[test]
    fn all_read_the_workspace_and_the_system_but_no_records() {
        let place = Place::new();
        let fence = place.ground().fence(&Reach::Look).unwrap();
        assert!(
            fence.may_read(&place.root.join("w/a")) && fence.may_read(Path::new("/etc/passwd"))
        );
        for name in ["w/runs/manifest.json", "w/.env", "home/.ssh"] {
            assert!(!fence.may_read(&place.root.join(name)), "{name}");
        }
    }

    #[test]
    fn what_lies_in_the_workspace_is_exposed() {
        let place = Place::new();
        let secrets = ["w/runs", "w/.env", "home"].map(|name| place.root.join(name));
        assert_eq!(place.ground().exposed(&secrets), [&secrets[1], &secrets[0]].map(Clone::clone));
    }

    #[test]
    fn a_repository_around_is_read_unless_it_is_home() {
        let place = Place::new();
        let workspace = place.root.join("w");
        fs::create_dir(place.root.join(".git")).unwrap();
        assert_eq!(Repository::of(&workspace, &[]).read, std::slice::from_ref(&place.root));
        let home = [place.root.join("home")];
        assert_eq!(Repository::of(&workspace, &home), Repository::default());
    }

    #[test]
    fn a_linked_worktree_writes_its_branch_but_no_hooks() {
        let place = Place::new();
        let (own, common) = (place.root.join("r/.git/worktrees/w"), place.root.join("r/.git"));
        fs::create_dir_all(&own).unwrap();
        fs::write(place.root.join("w/.git"), format!("gitdir: {}\n", own.display())).unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        let workspace = place.root.join("w");
        assert_eq!(
            Repository::of(&workspace, &[]),
            Repository::default(),
            "it does not point back"
        );
        fs::write(own.join("gitdir"), format!("{}\n", workspace.join(".git").display())).unwrap();
        let fence = place.ground().fence(&Reach::Work).unwrap();
        assert!(fence.may_write(&own.join("index.lock")));
        assert!(fence.may_write(&common.join("objects/ab/cd")));
        assert!(fence.may_read(&common.join("config")) && !fence.may_write(&common.join("config")));
        assert!(!fence.may_write(&common.join("hooks/pre-commit")));
    }
}
