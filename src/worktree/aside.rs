//! File work that takes long, off the thread that serves signals and questions.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;

use tokio::sync::oneshot;

/// Runs the work where it may block. Where the future is dropped, the work is told to stop and its end is
/// waited for: the process may be about to end, and nothing half done is to be left behind.
pub(super) async fn aside<T: Send + 'static>(
    work: impl FnOnce(&AtomicBool) -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    let stop = Arc::new(AtomicBool::new(false));
    let (running, ended) = mpsc::channel::<()>();
    let (answer, result) = oneshot::channel();
    let told = Arc::clone(&stop);
    tokio::task::spawn_blocking(move || {
        let _running = running;
        // Where nobody waits any more, the result is dropped here.
        let _ = answer.send(work(&told));
    });
    let _waiting = Waiting { stop, ended };
    result.await.unwrap_or_else(|_| Err(io::Error::other("the work was broken off")))
}

struct Waiting {
    stop: Arc<AtomicBool>,
    ended: mpsc::Receiver<()>,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        // Nothing is ever sent; the sender goes when the work is over.
        let _ = self.ended.recv();
    }
}
