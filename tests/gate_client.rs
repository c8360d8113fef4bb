//! The official Python client talks to the gate without complaint.
//!
//! `FLOWER_TEST_PYTHON` names a Python that has the package `anthropic`; else the test makes a
//! virtual environment in the cache folder once. Where neither works it says so and passes.

use std::env;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use flower::gate::{Cassette, Gate, GateOptions};

/// The version that the answers were checked against.
const VERSION: &str = "2.15.0";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_official_python_client_is_content() {
    let python = match tokio::task::spawn_blocking(python).await.unwrap() {
        Ok(python) => python,
        Err(why) => {
            println!("skipped: official Python client: {why}");
            return;
        }
    };
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let cassette = Cassette::load(&root.join("fixtures/cassette/basic.yaml")).unwrap();
    let listen = "127.0.0.1:0".parse().unwrap();
    let gate = Gate::start(GateOptions { listen, cassette, log: None }).await.unwrap();
    let output = tokio::process::Command::new(python)
        .arg(root.join("python/client.py"))
        .arg(gate.url())
        .env("NO_PROXY", "*")
        .output()
        .await
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    // The client's last request is the one that no rule matches.
    assert_eq!(gate.failures().len(), 1, "{:?}", gate.failures());
    assert_eq!(gate.unused_rules(), Vec::<String>::new());
}

/// A Python that has the package, or why there is none.
fn python() -> Result<PathBuf, String> {
    if let Some(python) = env::var_os("FLOWER_TEST_PYTHON").filter(|python| !python.is_empty()) {
        run(Command::new(&python).args(["-c", "import anthropic"]))?;
        return Ok(python.into());
    }
    let cache = env::var_os("XDG_CACHE_HOME").filter(|path| !path.is_empty()).map(PathBuf::from);
    let home = || env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let cache = cache.or_else(home).ok_or("no cache folder")?;
    let folder = cache.join("flower-tests").join(format!("anthropic-{VERSION}"));
    let python = folder.join("bin/python");
    // Written last, so that an installation that was cut off is made again.
    let done = folder.join("installed");
    if !done.exists() {
        run(Command::new("python3").args(["-m", "venv", "--clear"]).arg(&folder))?;
        let install = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
        run(Command::new(&python).args(install).arg(format!("anthropic=={VERSION}")))?;
        File::create(&done).map_err(|error| error.to_string())?;
    }
    Ok(python)
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(said.trim().lines().last().unwrap_or("it failed without a word").to_owned())
}
