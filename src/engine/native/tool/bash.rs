//! Bash: runs one shell command in the workspace and reports what it printed.

use std::time::Duration;

use serde_json::{Value, json};

use super::input::Input;
use super::{Answer, Complaint, ToolOutput, Toolbox, object_schema};
use crate::sandbox::{Hit, Job, JobError, Outcome, Status, run as run_job};

const DEFAULT_TIMEOUT_MS: u64 = 120_000;
const MAX_TIMEOUT_MS: u64 = 600_000;

/// Characters of output that the model is shown.
const SHOWN_CHARS: usize = 30_000;

/// Bytes kept of each stream: more than four a shown character, so that what is lost here always lies
/// within what the cut for the model takes out.
const KEPT_BYTES: usize = 130_000;

pub(super) const DESCRIPTION: &str = "Runs a shell command (bash, or sh where there is no bash) in the \
workspace and returns what it printed: stdout, then stderr. Each call starts a new shell in the \
workspace: a cd, a variable or a function does not last until the next call, so chain steps with && . \
There is no input to type; programs that ask get an end of file. The command is ended after `timeout` \
milliseconds (120000 unless given, at most 600000). Processes started with & are killed when the command \
returns. Of more than 30000 characters the middle is left out; send long output to a file and read that. \
To look at files prefer Read, Glob and Grep.";

pub(super) fn schema() -> Value {
    object_schema(
        json!({
            "command": {"type": "string", "description": "The command line."},
            "timeout": {
                "type": "integer", "minimum": 1, "maximum": MAX_TIMEOUT_MS,
                "description": "Milliseconds until it is ended.",
            },
            "description": {
                "type": "string", "description": "What the command does, in five to ten words.",
            },
        }),
        &["command"],
    )
}

pub(super) async fn run(toolbox: &Toolbox, input: &Input<'_>) -> Answer {
    let command = input.filled_text("command")?;
    input.optional_text("description")?;
    let timeout = input.count("timeout")?.unwrap_or(DEFAULT_TIMEOUT_MS);
    if !(1..=MAX_TIMEOUT_MS).contains(&timeout) {
        return Err(Complaint(format!(
            "The field timeout of Bash must be between 1 and {MAX_TIMEOUT_MS} milliseconds."
        )));
    }
    if command.contains('\0') {
        return Err(Complaint::new("The command contains a NUL character."));
    }
    let job = Job {
        program: toolbox.shell().into(),
        arguments: vec!["-c".into(), command.into()],
        folder: toolbox.workspace().to_owned(),
        environment: toolbox.environment().to_vec(),
        stdin: None,
        time_limit: Some(Duration::from_millis(timeout)),
        output_limit: KEPT_BYTES,
        fence: toolbox.fence(),
    };
    match run_job(job).await {
        Ok(outcome) => Ok(report(&outcome, timeout)),
        Err(error) => {
            let text = format!("The command could not be run: {error}.");
            match error {
                JobError::Limit { hit, .. } => {
                    let detail = json!({ "error": text, "limit": limit(hit) });
                    Ok(ToolOutput { output: Value::String(text), is_error: true, detail })
                }
                _ => Err(Complaint(text)),
            }
        }
    }
}

/// A limit of the machine, for the record and for the person.
fn limit(hit: Hit) -> Value {
    json!({"of": hit.what.name(), "limit": hit.limit})
}

fn report(outcome: &Outcome, timeout: u64) -> ToolOutput {
    let mut first_line = match outcome.status {
        _ if outcome.timed_out => {
            format!("The command was ended because it took longer than {timeout} ms.\n")
        }
        Status::Exit(0) => String::new(),
        Status::Exit(code) => format!("Exit code {code}\n"),
        Status::Signal(signal) => format!("Ended by signal {signal}\n"),
    };
    if let Some(hit) = outcome.hit {
        first_line += &format!("The machine's limit was reached: {hit}.\n");
    }
    let lost = outcome.stdout_cut + outcome.stderr_cut;
    let printed = cut(&combined(&outcome.stdout, &outcome.stderr), lost);
    let text = match (first_line.is_empty(), printed.is_empty()) {
        (true, true) => "(no output)".to_owned(),
        _ => format!("{first_line}{printed}").trim_end_matches('\n').to_owned(),
    };
    let exit_code = match outcome.status {
        Status::Exit(code) => json!(code),
        Status::Signal(_) => Value::Null,
    };
    ToolOutput {
        output: Value::String(text),
        is_error: !outcome.success(),
        detail: json!({
            "exitCode": exit_code,
            "interrupted": outcome.timed_out,
            "limit": outcome.hit.map(limit),
            "durationMs": u64::try_from(outcome.elapsed.as_millis()).unwrap_or(u64::MAX),
            "stdoutBytes": outcome.stdout.len() as u64 + outcome.stdout_cut,
            "stderrBytes": outcome.stderr.len() as u64 + outcome.stderr_cut,
        }),
    }
}

fn combined(stdout: &[u8], stderr: &[u8]) -> String {
    let mut text = String::from_utf8_lossy(stdout).into_owned();
    if !text.is_empty() && !text.ends_with('\n') && !stderr.is_empty() {
        text.push('\n');
    }
    text.push_str(&String::from_utf8_lossy(stderr));
    text
}

/// Takes out the middle of a text that is too long. `lost` bytes are missing from it already.
fn cut(text: &str, lost: u64) -> String {
    let count = text.chars().count();
    if count <= SHOWN_CHARS {
        return text.to_owned();
    }
    let half = SHOWN_CHARS / 2;
    let at = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(at, _)| at);
    let (head, tail) = (&text[..at(half)], &text[at(count - half)..]);
    let left_out = (count - 2 * half) as u64 + lost;
    format!(
        "{head}\n[about {left_out} characters were left out here; send the output to a file to see all]\n{tail}"
    )
}

#[cfg(test)]
mod tests {
    use super::super::run as call;
    use super::*;

    async fn bash(input: Value) -> (String, bool) {
        let folder = tempfile::tempdir().unwrap();
        let path = ("PATH".into(), "/usr/local/bin:/usr/bin:/bin".into());
        let toolbox = Toolbox::new(folder.path().to_owned(), vec![path]);
        let output = call(&toolbox, "Bash", &input).await.unwrap();
        (output.output.as_str().unwrap().to_owned(), output.is_error)
    }

    fn ok(text: &str) -> (String, bool) {
        (text.to_owned(), false)
    }

    #[tokio::test]
    async fn both_streams_are_reported_and_a_bad_code_is_an_error() {
        let command = json!({"command": "printf out; echo err >&2"});
        assert_eq!(bash(command).await, ok("out\nerr"));
        let command = json!({"command": "echo out; exit 7"});
        assert_eq!(bash(command).await, ("Exit code 7\nout".into(), true));
        assert_eq!(bash(json!({"command": "true"})).await, ok("(no output)"));
        let command = json!({"command": "kill -9 $$"});
        assert_eq!(bash(command).await, ("Ended by signal 9".into(), true));
    }

    #[tokio::test]
    async fn it_runs_in_the_workspace_without_input() {
        let (text, _) = bash(json!({"command": "touch here; ls; cat"})).await;
        assert_eq!(text, "here");
    }

    #[tokio::test]
    async fn a_time_limit_keeps_what_was_printed() {
        let (text, is_error) = bash(json!({"command": "echo a; sleep 60", "timeout": 300})).await;
        assert!(is_error);
        assert_eq!(text, "The command was ended because it took longer than 300 ms.\na");
    }

    #[tokio::test]
    async fn a_time_limit_out_of_range_is_refused() {
        for timeout in [0, 600_001] {
            let (text, is_error) = bash(json!({"command": "true", "timeout": timeout})).await;
            assert!(is_error && text.contains("between 1 and 600000"), "{text}");
        }
    }

    #[tokio::test]
    async fn odd_bytes_become_text() {
        let (text, _) = bash(json!({"command": r"printf 'a\377\001\033[0m'"})).await;
        assert_eq!(text, "a\u{fffd}\u{1}\u{1b}[0m");
    }

    #[tokio::test]
    async fn much_output_loses_its_middle_but_neither_end_nor_the_code() {
        let command = "echo first; yes 2>/dev/null | head -c 1000000; echo last >&2; exit 2";
        let (text, is_error) = bash(json!({ "command": command })).await;
        assert!(is_error && text.starts_with("Exit code 2\nfirst\n") && text.ends_with("\nlast"));
        assert!(text.chars().count() < SHOWN_CHARS + 200);
        assert!(text.contains("[about 970011 characters were left out here"), "{text}");
    }

    #[tokio::test]
    async fn sh_does_where_there_is_no_bash() {
        let folder = tempfile::tempdir().unwrap();
        let path = ("PATH".into(), folder.path().as_os_str().to_owned());
        let toolbox = Toolbox::new(folder.path().to_owned(), vec![path]);
        let output = call(&toolbox, "Bash", &json!({"command": "echo $0"})).await.unwrap();
        assert_eq!(output.output, json!("/bin/sh"));
    }

    #[test]
    fn a_cut_never_splits_a_character() {
        let text = "ж".repeat(SHOWN_CHARS + 1);
        assert!(cut(&text, 0).contains("about 1 characters"));
    }
}
