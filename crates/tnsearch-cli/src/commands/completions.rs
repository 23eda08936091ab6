//! `tnsearch completions`: completion scripts for shells.

use crate::{Exit, terminal};
use clap::{Args, CommandFactory};
use clap_complete::Shell;

/// Print a completion script for a shell.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  tnsearch completions bash > ~/.local/share/bash-completion/completions/tnsearch
  tnsearch completions fish > ~/.config/fish/completions/tnsearch.fish")]
pub struct Completions {
    /// The shell.
    shell: Shell,
}

pub fn run(args: &Completions) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut super::Cli::command(), "tnsearch", &mut script);
    terminal::write(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Done)
}
