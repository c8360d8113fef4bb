//! The compose file: the demo against a gate, and flower in a pipeline.

use std::process::Output;

use crate::house::{stderr, stdout};
use crate::{CANARY, Yard, support, yard};

/// Nothing where there is no compose.
fn compose(yard: &Yard, profile: &str, words: &[&str]) -> Option<Output> {
    let output = yard
        .house
        .command("docker-compose")
        .args(["-f", concat!(env!("CARGO_MANIFEST_DIR"), "/compose.yaml"), "-p"])
        .arg(format!("story-{profile}-{}", std::process::id()))
        .args(["--profile", profile])
        .args(words)
        .env("DOCKER_HOST", &yard.engine)
        .env("FLOWER_PROJECT", &yard.house.project)
        .env("FLOWER_SECRETS", yard.house.home.join("secrets.env"))
        .env("FLOWER_UID", yard.owner.to_string())
        .env("FLOWER_GID", yard.owner.to_string())
        .output()
        .ok();
    if output.is_none() {
        support::skip("compose story", "no docker-compose");
    }
    output
}

#[test]
fn the_demo_of_the_compose_file_ends_well() {
    let Some(yard) = yard() else { return };
    let words = ["up", "--abort-on-container-exit", "--exit-code-from", "demo"];
    let Some(up) = compose(&yard, "demo", &words) else { return };
    let down = compose(&yard, "demo", &["down", "--volumes"]).unwrap();
    assert_eq!(up.status.code(), Some(0), "{}\n{}", stdout(&up), stderr(&up));
    assert!(down.status.success(), "{}", stderr(&down));
    assert!(yard.house.exists("flower-demo/runs/manifest.json"));
}

#[test]
fn records_of_a_pipeline_are_out_of_the_agents_way_and_in_the_checkout() {
    let Some(yard) = yard() else { return };
    yard.git_init();
    for folder in ["runs", ".git/hooks"] {
        std::fs::create_dir_all(yard.house.project.join(folder)).unwrap();
    }
    yard.house.write("runs/manifest.json", "[]\n");
    yard.give_away();
    let secrets = yard.house.home.join("secrets.env");
    std::fs::write(&secrets, format!("ANTHROPIC_API_KEY={CANARY}\n")).unwrap();
    std::os::unix::fs::chown(&secrets, Some(yard.owner), None).unwrap();
    let look = "echo \"in the project: $(ls runs)\"; touch runs/x 2>/dev/null && echo written; \
                cat /var/lib/flower/runs/manifest.json; echo new >/var/lib/flower/runs/new; \
                touch .git/config .git/hooks/x 2>/dev/null && echo planted; flower config ANTHROPIC_API_KEY";
    let words = ["run", "--rm", "-T", "--entrypoint", "bash", "flower", "-c", look];
    let Some(run) = compose(&yard, "flower", &words) else { return };
    let down = compose(&yard, "flower", &["down", "--volumes"]).unwrap();
    let said = stdout(&run);
    assert_eq!(run.status.code(), Some(0), "{said}\n{}", stderr(&run));
    assert!(down.status.success(), "{}", stderr(&down));
    assert!(said.starts_with("in the project: \n[]\n"), "{said}");
    assert!(!said.contains("written") && !said.contains("planted"), "{said}");
    assert!(said.contains("/run/secrets/flower") && !said.contains(CANARY), "{said}");
    assert_eq!(yard.house.read("runs/new"), "new\n");
}
