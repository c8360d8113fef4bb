//! Files that are no `.env`, and a start that does not wait for them.

#![cfg(unix)]
#![allow(clippy::unwrap_used, missing_docs)]

use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use flower::settings::{Environment, Settings};

struct Home(tempfile::TempDir);

impl Home {
    fn new() -> Home {
        let home = Home(tempfile::tempdir().unwrap());
        std::fs::create_dir_all(home.0.path().join(".config/flower")).unwrap();
        std::fs::create_dir_all(home.0.path().join(".claude")).unwrap();
        home
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.0.path().join(name)
    }

    /// Reads everything, in less than `limit`.
    fn resolve(&self, limit: Duration) -> Settings {
        let home = self.0.path().to_owned();
        let (tell, told) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let environment = Environment {
                variables: [("HOME".into(), home.clone().into())].into(),
                current_dir: home,
                executable: "/usr/bin/flower".into(),
            };
            let _ = tell.send(Settings::resolve(&environment));
        });
        told.recv_timeout(limit).expect("it hangs")
    }
}

fn fifo(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn what_is_no_file_is_said_and_not_waited_for() {
    for place in
        [".env", ".config/flower/.env", ".config/flower/models.json", ".claude/settings.json"]
    {
        type Make = fn(&Path);
        let makes: [(&str, Make); 5] = [
            ("fifo", fifo),
            ("device", |path| symlink("/dev/zero", path).unwrap()),
            ("terminal", |path| symlink("/dev/tty", path).unwrap()),
            ("loop", |path| symlink(path, path).unwrap()),
            ("folder", |path| std::fs::create_dir(path).unwrap()),
        ];
        for (kind, make) in makes {
            let home = Home::new();
            make(&home.path(place));
            let settings = home.resolve(Duration::from_secs(10));
            if !place.starts_with(".claude") {
                assert_eq!(
                    settings.warnings().len(),
                    1,
                    "{place} {kind}: {:?}",
                    settings.warnings()
                );
            }
        }
    }
}

#[test]
fn a_file_that_is_far_too_long_is_not_read() {
    for place in [".env", ".config/flower/.env", ".config/flower/models.json"] {
        let home = Home::new();
        let file = std::fs::File::create(home.path(place)).unwrap();
        file.set_len(4 << 30).unwrap();
        let start = Instant::now();
        let settings = home.resolve(Duration::from_secs(10));
        assert!(start.elapsed() < Duration::from_secs(1), "{place}");
        assert_eq!(settings.warnings().len(), 1, "{place}");
    }
}
