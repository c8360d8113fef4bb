//! INT, TERM and HUP: the records are saved, then the process ends as the signal asks.

use tokio::signal::unix::{SignalKind, signal};

/// A signal that ends a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    /// Ctrl-C.
    Interrupt,
    /// `kill`, `docker stop`.
    Terminate,
    /// The terminal is gone.
    HangUp,
}

impl Ending {
    /// The first of them to arrive.
    pub(super) async fn wait() -> std::io::Result<Self> {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        let mut hang_up = signal(SignalKind::hangup())?;
        Ok(tokio::select! {
            _ = interrupt.recv() => Self::Interrupt,
            _ = terminate.recv() => Self::Terminate,
            _ = hang_up.recv() => Self::HangUp,
        })
    }

    fn number(self) -> i32 {
        match self {
            Self::Interrupt => 2,
            Self::Terminate => 15,
            Self::HangUp => 1,
        }
    }

    /// Ends the process by the signal itself, so that the parent sees what happened: 129, 130, 143.
    pub(super) fn die(self) -> ! {
        let _ = signal_hook::low_level::emulate_default_handler(self.number());
        std::process::exit(128 + self.number())
    }
}
