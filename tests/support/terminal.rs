//! A program at a terminal of its own: what it shows can be waited for, and lines can be typed.

// Each story is a program of its own and may use a part of it.
#![allow(dead_code, unreachable_pub)]

use std::fs::File;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::fs::{Mode, OFlags};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

/// Longest wait for something to be shown.
const PATIENCE: Duration = Duration::from_secs(30);

type Screen = Arc<(Mutex<(String, bool)>, Condvar)>;

pub struct Terminal {
    child: Child,
    keyboard: File,
    screen: Screen,
    /// Up to where what was shown has been waited for.
    seen: usize,
}

impl Terminal {
    pub fn start(command: &mut Command) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let name = ptsname(&ours, Vec::new()).unwrap();
        let theirs: OwnedFd =
            rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        let twin = || theirs.try_clone().unwrap();
        let child = command.stdin(twin()).stdout(twin()).stderr(twin()).spawn().unwrap();
        // Ours would keep the terminal open after the program has ended.
        command.stdin(std::process::Stdio::null());
        command.stdout(std::process::Stdio::null());
        command.stderr(std::process::Stdio::null());
        drop(theirs);
        let keyboard = File::from(ours);
        let mut shown = keyboard.try_clone().unwrap();
        let screen = Screen::default();
        let writes = Arc::clone(&screen);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            loop {
                let count = shown.read(&mut buffer).unwrap_or(0);
                let mut text = writes.0.lock().unwrap();
                text.0.push_str(&String::from_utf8_lossy(&buffer[..count]));
                text.1 = count == 0;
                writes.1.notify_all();
                if count == 0 {
                    return;
                }
            }
        });
        Self { child, keyboard, screen, seen: 0 }
    }

    /// Waits until this is shown behind what was waited for before.
    pub fn shows(&mut self, wanted: &str) {
        let until = Instant::now() + PATIENCE;
        let mut text = self.screen.0.lock().unwrap();
        loop {
            if let Some(at) = text.0[self.seen..].find(wanted) {
                self.seen += at + wanted.len();
                return;
            }
            let left = until.saturating_duration_since(Instant::now());
            assert!(!text.1 && !left.is_zero(), "no {wanted:?} in: {}", text.0);
            text = self.screen.1.wait_timeout(text, left).unwrap().0;
        }
    }

    pub fn types(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    /// Answers a question.
    pub fn answers(&mut self, question: &str, line: &str) {
        self.shows(question);
        self.types(&format!("{line}\n"));
    }

    /// Waits for its end: its exit code, nothing after a signal, and all that was shown.
    pub fn ends(mut self) -> (Option<i32>, String) {
        let code = self.child.wait().unwrap().code();
        let mut text = self.screen.0.lock().unwrap();
        while !text.1 {
            text = self.screen.1.wait_timeout(text, PATIENCE).unwrap().0;
        }
        (code, text.0.clone())
    }
}
