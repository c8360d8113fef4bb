//! A child's process group: signalled as a whole, and never left alive.

use std::os::fd::OwnedFd;

use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open};
use tokio::io::unix::AsyncFd;
use tokio::process::Child;

/// The group that a child leads. Dropping it kills every process in it.
#[derive(Debug)]
pub(super) struct Group {
    leader: Option<Pid>,
}

impl Group {
    /// The group of a child that was started as its leader.
    pub(super) fn of(child: &Child) -> Self {
        let leader = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
        Self { leader }
    }

    /// Sends a signal to all of it. A group that is gone is no failure.
    pub(super) fn signal(&self, signal: Signal) {
        if let Some(leader) = self.leader {
            let _ = kill_process_group(leader, signal);
        }
    }

    /// Kills what is left and lets go, so that a number used again by the system is never hit.
    pub(super) fn end(mut self) {
        self.signal(Signal::KILL);
        self.leader = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.signal(Signal::KILL);
    }
}

/// Tells when the leader has ended, without collecting it: as long as it is not collected, its number
/// (the group's name) cannot be given to someone else.
pub(super) struct Watch {
    descriptor: Option<AsyncFd<OwnedFd>>,
}

impl Watch {
    /// Watches through a process descriptor; kernels without them fall back to waiting itself.
    pub(super) fn on(group: &Group) -> Self {
        let open = |leader| pidfd_open(leader, PidfdFlags::empty()).ok();
        let descriptor = group.leader.and_then(open).and_then(register);
        Self { descriptor }
    }

    /// Returns when the leader has ended. Safe to drop and call again.
    pub(super) async fn ended(&self, child: &mut Child) {
        let seen = match &self.descriptor {
            Some(descriptor) => descriptor.readable().await.is_ok(),
            None => false,
        };
        if !seen {
            // The status stays in `child` and is asked for once more by the caller.
            let _ = child.wait().await;
        }
    }
}

/// The successor of `AsyncFd::new` is unsafe, because a type may name another descriptor each time it is
/// asked, or close it early. An owned descriptor does neither.
#[expect(deprecated, reason = "sound for an owned descriptor, and it spares an unsafe block")]
fn register(descriptor: OwnedFd) -> Option<AsyncFd<OwnedFd>> {
    AsyncFd::new(descriptor).ok()
}
