//! Completions and the manual page, as a shell and a reader of pages take them.

use std::io::Write as _;
use std::process::{Command, Stdio};

use crate::house::{House, ends_with, stderr, stdout};
use crate::support::skip;

fn made(house: &House, what: &str) -> String {
    let output = ends_with(&mut house.flower(&["completions", what]), 0);
    assert_eq!(stderr(&output), "");
    stdout(&output)
}

/// Feeds a program that may not be on this machine.
fn feed(house: &House, program: &str, words: &[&str], input: &str) -> Option<String> {
    let mut command: Command = house.command(program);
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            skip(program, &error.to_string());
            return None;
        }
    };
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success() && output.stderr.is_empty(), "{}", stderr(&output));
    Some(stdout(&output))
}

#[test]
fn bash_completes_commands_flags_and_values() {
    let house = House::new();
    let script = made(&house, "bash");
    feed(&house, "bash", &["-n"], &script);
    for (words, expected) in [
        ("flower do", "doctor"),
        ("flower sessions ex", "export"),
        ("flower go --judge", "--judge-can-run"),
        ("flower completions z", "zsh"),
        ("flower --output stream", "stream-json"),
    ] {
        let ask = format!(
            "{script}\nCOMP_WORDS=({words})\nCOMP_CWORD=$((${{#COMP_WORDS[@]}}-1))\n\
             _flower flower \"${{COMP_WORDS[COMP_CWORD]}}\" \"${{COMP_WORDS[COMP_CWORD-1]}}\"\n\
             compgen -W \"${{COMPREPLY[*]}}\" -- \"${{COMP_WORDS[COMP_CWORD]}}\"\n"
        );
        if let Some(said) = feed(&house, "bash", &["--norc"], &ask) {
            assert_eq!(said.trim(), expected, "{words}");
        }
    }
}

#[test]
fn zsh_and_fish_take_their_scripts() {
    let house = House::new();
    let (zsh, fish) = (made(&house, "zsh"), made(&house, "fish"));
    assert!(zsh.starts_with("#compdef flower") && zsh.contains("doctor"), "{zsh}");
    assert!(fish.contains("complete -c flower") && fish.contains("doctor"), "{fish}");
    feed(&house, "zsh", &["-n", "/dev/stdin"], &zsh);
    feed(&house, "fish", &["--no-execute", "/dev/stdin"], &fish);
}

#[test]
fn the_manual_page_names_every_command_and_renders() {
    let house = House::new();
    let page = made(&house, "man");
    for name in ["flower", "flower\\-go", "flower\\-doctor", "flower\\-sessions\\-export"] {
        assert!(page.contains(&format!(".SH NAME\n{name}")), "{name}: {page}");
    }
    let Some(text) = feed(&house, "groff", &["-k", "-man", "-Tutf8", "-ww"], &page) else { return };
    assert!(text.contains("doctor") && text.contains("Examples:"), "{text}");
}

#[test]
fn another_shell_is_refused_and_the_known_ones_are_named() {
    let house = House::new();
    let said = stderr(&ends_with(&mut house.flower(&["completions", "tcsh"]), 2));
    assert!(said.contains("bash, zsh, fish, man"), "{said}");
}
