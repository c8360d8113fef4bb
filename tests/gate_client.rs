//! The official Python client talks to the gate without complaint.
//!
//! `FLOWER_TEST_PYTHON` names a Python that has the package `anthropic`; else the test makes a
//! virtual environment in the cache folder once. Where neither works it says so and passes.

use std::path::Path;

use flower::gate::{Cassette, Gate, GateOptions};

#[path = "support/python.rs"]
mod python;
#[path = "support/mod.rs"]
mod support;

/// The version that the answers were checked against.
const CLIENT: python::Package =
    python::Package { name: "anthropic", module: "anthropic", version: "2.15.0", options: &[] };

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_official_python_client_is_content() {
    let python = match tokio::task::spawn_blocking(|| CLIENT.python()).await.unwrap() {
        Ok(python) => python,
        Err(why) => return support::skip("official Python client", &why),
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
