//! Steps: a heading, a command, its elapsed time; the first failure ends everything.

use anyhow::{Context, Result};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;
use std::{env, fmt};

/// A failure that knows the exit code to end with.
#[derive(Debug)]
struct Failed {
    message: String,
    code: u8,
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failed {}

/// A wrong call: exit code 2.
pub fn usage(message: String) -> anyhow::Error {
    Failed { message, code: 2 }.into()
}

/// The exit code an error stands for: that of the command that failed, else 1.
pub fn exit_code(error: &anyhow::Error) -> ExitCode {
    ExitCode::from(error.downcast_ref::<Failed>().map_or(1, |f| f.code))
}

/// The root of the repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// The command `program` in the root of the repository.
pub fn command(program: impl AsRef<std::ffi::OsStr>, arguments: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(root());
    command
}

/// The cargo that runs this program.
pub fn cargo(arguments: &[&str]) -> Command {
    command(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()), arguments)
}

/// Does `work` under a heading and prints how long it took.
pub fn step<T>(title: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    println!("==> {title}");
    let start = Instant::now();
    let result = work();
    let outcome = if result.is_ok() { "done" } else { "FAILED" };
    println!("    {outcome} after {:.1} s: {title}", start.elapsed().as_secs_f64());
    result
}

/// Runs a command under a heading: its own command line.
pub fn run_step(command: &mut Command) -> Result<()> {
    step(&shown(command), || run(command))
}

/// Runs a command; a status other than 0 is an error that keeps the status.
pub fn run(command: &mut Command) -> Result<()> {
    let line = shown(command);
    let status = command.status().with_context(|| format!("cannot start `{line}`"))?;
    finished(&line, status)
}

/// Runs a command and returns what it printed on standard output.
pub fn output(command: &mut Command) -> Result<String> {
    let line = shown(command);
    command.stderr(Stdio::inherit());
    let output = command.output().with_context(|| format!("cannot start `{line}`"))?;
    finished(&line, output.status)?;
    String::from_utf8(output.stdout).with_context(|| format!("`{line}` printed no UTF-8"))
}

fn finished(line: &str, status: std::process::ExitStatus) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    let code = status.code().and_then(|c| u8::try_from(c).ok()).unwrap_or(1);
    Err(Failed { message: format!("`{line}` failed: {status}"), code }.into())
}

/// The command line, the program without its folder.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or(command.get_program());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|w| w.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failing_command_keeps_its_exit_code() {
        let error = run(&mut command("sh", &["-c", "exit 7"])).unwrap_err();
        assert_eq!(exit_code(&error), ExitCode::from(7));
        assert_eq!(error.to_string(), "`sh -c exit 7` failed: exit status: 7");
        let wrapped = Err::<(), _>(error).context("while testing").unwrap_err();
        assert_eq!(exit_code(&wrapped), ExitCode::from(7));
    }

    #[test]
    fn a_missing_program_is_named() {
        let error = run(&mut command("no-such-program", &[])).unwrap_err();
        assert!(format!("{error:#}").starts_with("cannot start `no-such-program`"), "{error:#}");
        assert_eq!(exit_code(&error), ExitCode::from(1));
    }

    #[test]
    fn output_is_captured() {
        assert_eq!(output(&mut command("echo", &["hello"])).unwrap(), "hello\n");
    }
}
