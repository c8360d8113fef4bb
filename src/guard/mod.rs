//! Rules: may this call happen, must its result be replaced. Functions over data; no people, no files.

mod awk;
mod find;
mod git;
mod lexer;
mod option;
mod sed;
mod shell;
#[cfg(test)]
mod shell_cases;
mod verb;

pub use shell::is_ephemeral;
