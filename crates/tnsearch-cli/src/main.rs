//! The `tnsearch` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    tnsearch_cli::main()
}
