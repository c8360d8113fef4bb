//! A project's `.env` may come with somebody else's repository: it may not redirect the user's key unasked.

use std::io::{BufRead, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::assemble::House;
use super::output::complain;

/// True where the run may go on. Says why where it may not.
pub(super) fn project_env(house: &House) -> anyhow::Result<bool> {
    todo_replaced_at_merge(house)
}
