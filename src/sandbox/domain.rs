//! The kernel's part of a fence: a Landlock domain for one thread and all that it starts.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    PathFdError, Ruleset, RulesetAttr, RulesetCreated, RulesetCreatedAttr, RulesetStatus, Scope,
};

use super::fence::FenceError;

/// The rights that are decided here. TCP stays open: the way out is the gate's matter.
const RIGHTS: ABI = ABI::V6;
/// The oldest that will do: before it a file outside could be cut to nothing.
const OLDEST: ABI = ABI::V3;

/// What is written by everyone, whatever it does.
const DEVICES: [&str; 5] = ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"];

/// How much of a fence the kernel can hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kernel {
    /// No Landlock, or one that is too old.
    Nothing,
    /// Files (Linux 6.2).
    Files,
    /// Files, signals and abstract sockets (Linux 6.12).
    Signals,
}

impl Kernel {
    /// The version of Landlock's interface that the running system has; 0 for none. Versions after the
    /// sixth fence nothing more, so they count as the sixth.
    pub fn interface() -> u8 {
        const KNOWN: [ABI; 6] = [ABI::V1, ABI::V2, ABI::V3, ABI::V4, ABI::V5, ABI::V6];
        let has = |abi: ABI| {
            let ruleset = Ruleset::default()
                .set_compatibility(CompatLevel::HardRequirement)
                .handle_access(AccessFs::from_all(abi));
            let ruleset = match AccessNet::from_all(abi) {
                none if none.is_empty() => ruleset,
                net => ruleset.and_then(|ruleset| ruleset.handle_access(net)),
            };
            let ruleset = match Scope::from_all(abi) {
                none if none.is_empty() => ruleset,
                scope => ruleset.and_then(|ruleset| ruleset.scope(scope)),
            };
            ruleset.and_then(Ruleset::create).is_ok()
        };
        KNOWN.into_iter().rposition(has).map_or(0, |at| u8::try_from(at + 1).unwrap_or(u8::MAX))
    }

    /// Of the running system.
    pub fn probe() -> Self {
        let can = |abi: ABI| {
            let ruleset = Ruleset::default()
                .set_compatibility(CompatLevel::HardRequirement)
                .handle_access(AccessFs::from_all(abi));
            let ruleset = match abi {
                OLDEST => ruleset,
                _ => ruleset.and_then(|ruleset| ruleset.scope(Scope::from_all(abi))),
            };
            ruleset.and_then(Ruleset::create).is_ok()
        };
        if can(RIGHTS) {
            Self::Signals
        } else if can(OLDEST) {
            Self::Files
        } else {
            Self::Nothing
        }
    }
}

/// A domain that can be entered by any number of threads.
pub(super) struct Domain(RulesetCreated);

impl Domain {
    /// `read` can be read and run, `write` can also be changed. What is not there is left out.
    pub(super) fn prepare(read: &[PathBuf], write: &[PathBuf]) -> Result<Self, FenceError> {
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::BestEffort)
            .handle_access(AccessFs::from_all(RIGHTS))
            .and_then(|ruleset| ruleset.scope(Scope::from_all(RIGHTS)))
            .and_then(Ruleset::create)
            .map_err(refused)?;
        let all = AccessFs::from_all(RIGHTS) & !(AccessFs::MakeChar | AccessFs::MakeBlock);
        let devices = DEVICES.map(PathBuf::from);
        let look = AccessFs::from_read(RIGHTS);
        let names = [PathBuf::from("/dev")];
        let lists: [(&[PathBuf], BitFlags<AccessFs>); 4] = [
            (read, look),
            (write, all),
            (&devices, AccessFs::ReadFile | AccessFs::WriteFile | AccessFs::IoctlDev),
            // Names only: a terminal or a disk in there is not to be read.
            (&names, AccessFs::ReadDir.into()),
        ];
        for (paths, rights) in lists {
            for path in paths {
                if let Some(rule) = rule(path, rights)? {
                    ruleset = ruleset.add_rule(rule).map_err(refused)?;
                }
            }
        }
        Ok(Self(ruleset))
    }

    /// Holds this thread, and all that it starts, in the domain for ever.
    pub(super) fn enter(&self) -> Result<(), FenceError> {
        let ruleset = self.0.try_clone().map_err(FenceError::System)?;
        let status = ruleset.restrict_self().map_err(refused)?;
        match status.ruleset {
            RulesetStatus::NotEnforced => Err(FenceError::Landlock("not enforced".to_owned())),
            _ => Ok(()),
        }
    }
}

fn rule(
    path: &Path,
    rights: BitFlags<AccessFs>,
) -> Result<Option<PathBeneath<PathFd>>, FenceError> {
    let opened = match PathFd::new(path) {
        Ok(opened) => opened,
        Err(PathFdError::OpenCall { source, .. }) if source.kind() == ErrorKind::NotFound => {
            return Ok(None);
        }
        Err(error) => return Err(refused(error)),
    };
    let rights = if path.is_dir() { rights } else { rights & AccessFs::from_file(RIGHTS) };
    Ok(Some(PathBeneath::new(opened, rights)))
}

fn refused(error: impl std::fmt::Display) -> FenceError {
    FenceError::Landlock(error.to_string())
}
