//! The door: arguments and environment in, exit code out.

use std::process::ExitCode;

fn main() -> ExitCode {
    flower::cli::main(std::env::args_os().collect())
}
