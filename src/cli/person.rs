//! The person at the other end of stdin: a line answers the pending question, or goes to the inbox.

use std::io::BufRead;

use crate::human::Channel;

/// Reads lines until the input ends; from then on nobody is there.
///
/// The thread ends with the process: a blocking read of a terminal cannot be called off.
pub(super) fn listen(channel: Channel) {
    let thread = std::thread::Builder::new().name("flower-stdin".into());
    let spawned = thread.spawn({
        let channel = channel.clone();
        move || {
            for line in std::io::stdin().lock().lines() {
                let Ok(line) = line else { break };
                hear(&channel, line.trim());
            }
            channel.close();
        }
    });
    if spawned.is_err() {
        channel.close();
    }
}

/// What one line means (flow.md C16).
fn hear(channel: &Channel, line: &str) {
    match channel.pending().into_iter().next() {
        Some(ask) if line.is_empty() => {
            channel.decline(&ask.id, "");
        }
        Some(ask) => {
            let chosen = line.parse::<usize>().ok().and_then(|n| ask.options.get(n.checked_sub(1)?));
            let answer = chosen.map_or(line, String::as_str);
            channel.answer(&ask.id, answer);
        }
        None if line.is_empty() => {}
        None => {
            channel.send(line);
        }
    }
}
