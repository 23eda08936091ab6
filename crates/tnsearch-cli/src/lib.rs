//! The `tnsearch` command, as a library: a program that adds strategies, losses or executors of its own
//! ([`tnsearch::search::register_strategy`], [`tnsearch::problem::register_loss`],
//! [`tnsearch::search::register_executor`]) calls [`main`] and has all of the command, theirs included.
//! `examples/own_command.rs` is one.

mod allocator;
mod cluster;
mod commands;
mod hold;
mod interrupt;
mod progress;
mod scarce;
mod terminal;
mod text;

use clap::Parser;
use clap::error::ErrorKind;
use commands::Cli;
use std::process::ExitCode;

/// How a command ended, if not in an error (exit code 2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Exit {
    /// Done.
    Done,
    /// The target was not reached; the best so far was written.
    NotReached,
    /// Nothing wrong was found, but not everything could be checked.
    Unchecked,
    /// Ctrl-C; the best so far was written.
    Interrupted,
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(match exit {
            Exit::Done => 0,
            Exit::NotReached => 1,
            Exit::Unchecked => 3,
            Exit::Interrupted => 130,
        })
    }
}

/// Reads the arguments of the process, runs the command, and says how it ended.
pub fn main() -> ExitCode {
    // Where it cannot be asked for, a process holds more than it uses.
    let _ = allocator::give_back();
    let ended = match Cli::try_parse() {
        Ok(cli) => interrupt::watch().and_then(|()| scarce::run(|| commands::run(cli))),
        Err(e) if !e.use_stderr() => terminal::print(&e.render().to_string()).map(|()| Exit::Done),
        Err(e) if e.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            Err(anyhow::anyhow!("no command given; try 'tnsearch demo' or 'tnsearch --help'"))
        }
        Err(e) => Err(anyhow::anyhow!(terminal::usage_line(&e.render().to_string()))),
    };
    match ended {
        Ok(exit) => exit.into(),
        Err(e) => {
            terminal::note("error", &e.to_string());
            ExitCode::from(2)
        }
    }
}
