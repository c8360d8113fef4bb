//! INT, TERM and HUP: the records are saved, then the process ends as the signal asks.

use tokio::signal::unix::{SignalKind, signal};

use super::exit::Ending as Outcome;
use super::output::{Output, complain};
use crate::language::Language;
use crate::runtime::Runtime;

/// The error of a step that a signal cut off (core.md U-62).
pub(super) const KILLED: &str = "killed-by-signal";

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

    fn number(self) -> u8 {
        match self {
            Self::Interrupt => 2,
            Self::Terminate => 15,
            Self::HangUp => 1,
        }
    }

    /// Saves the records, says so to people and machines, and ends the process.
    ///
    /// What cannot be saved is said; it is no reason to live on. A second signal ends it at once.
    pub(super) async fn end_run(self, language: Language, output: &Output, runtime: &Runtime) -> ! {
        tokio::spawn(async {
            if let Ok(again) = Self::wait().await {
                again.die();
            }
        });
        let saved = runtime.manifest().rescue(KILLED);
        let closed = runtime.parts().store.close().await;
        let ending = Outcome::of_signal(128 + self.number(), language);
        match (saved, closed) {
            (Ok(()), Ok(())) => complain(&ending.sentence),
            (saved, closed) => {
                saved.err().into_iter().for_each(|error| complain(&error.to_string()));
                closed.err().into_iter().for_each(|error| complain(&error.to_string()));
            }
        }
        output.end(&ending.last_line(runtime));
        // Dying runs no destructor.
        if let Some(ground) = &runtime.parts().ground {
            ground.clear_temp();
        }
        self.die()
    }

    /// Ends the process by the signal itself, so that the parent sees what happened: 129, 130, 143.
    fn die(self) -> ! {
        let _ = signal_hook::low_level::emulate_default_handler(self.number().into());
        std::process::exit(128 + i32::from(self.number()))
    }
}
