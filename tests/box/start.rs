//! How long it takes from the start of a container to the first request to the model.

use std::time::{Duration, Instant, SystemTime};

use crate::house::{ends_with, stdout};
use crate::{Outdoors, Yard, yard};

/// The command's start and the container's, until the gate has the first request.
fn measure(yard: &Yard) -> (Duration, Duration) {
    let slow = "  - match: {}\n    repeat: true\n    reply: {text: done}\n    delay_ms: 1500\n";
    let gate: Outdoors = yard.gate(slow);
    let started = Instant::now();
    let mut run = yard.wrapper(&["once", "x"]).env("FLOWER_GATE", gate.url()).spawn().unwrap();
    while gate.requests().is_empty() {
        assert!(run.try_wait().unwrap().is_none(), "ended too early");
        std::thread::sleep(Duration::from_millis(1));
    }
    let (whole, asked) = (started.elapsed(), SystemTime::now());
    let names = yard.running();
    let about = ["inspect", "--format", "{{.State.StartedAt}}", names[0].as_str()];
    let at = stdout(&ends_with(&mut yard.docker(&about), 0));
    let mut date = yard.house.command("date");
    let at = stdout(&ends_with(date.args(["+%s.%N", "-d", at.trim()]), 0));
    let at = Duration::from_secs_f64(at.trim().parse().unwrap());
    let inside = asked.duration_since(SystemTime::UNIX_EPOCH).unwrap().saturating_sub(at);
    assert!(run.wait().unwrap().success());
    (whole, inside)
}

#[test]
fn the_first_request_comes_within_a_second_of_the_containers_start() {
    let Some(yard) = yard() else { return };
    // The best of three, since other tests share the machine.
    let times: Vec<_> = (0..3).map(|_| measure(&yard)).collect();
    let (whole, inside) = times.iter().min_by_key(|(_, inside)| inside).unwrap();
    println!(
        "from docker/flowerbox to the first request {whole:?}, from the container's start {inside:?}"
    );
    assert!(*inside < Duration::from_secs(1), "{times:?}");
}
