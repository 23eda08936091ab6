//! The command that measures the loss of a model.

use std::path::Path;
use std::process::{Command, Stdio};

/// How much of what a failing command said is told.
const SAID: usize = 400;

/// Runs the command on a model file: the number in the last line that it prints, or why there is none.
pub fn loss(command: &str, model: &Path) -> Result<f64, String> {
    let model = std::path::absolute(model).unwrap_or_else(|_| model.to_owned());
    let mut shell = if cfg!(windows) { Command::new("cmd") } else { Command::new("sh") };
    match cfg!(windows) {
        true => shell.arg("/C").arg(line(command, &format!("\"{}\"", model.display()))),
        // The path is an argument of the shell, whatever is in it.
        false => shell.arg("-c").arg(line(command, "\"$1\"")).arg("sh").arg(&model),
    };
    shell.stdin(Stdio::null());
    let done = shell.output().map_err(|e| format!("'{command}' cannot be run: {e}"))?;
    let (out, err) = (String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
    if !done.status.success() {
        let said = if err.trim().is_empty() { &out } else { &err };
        return Err(format!("'{command}' ended with {}: {}", done.status, end(said)));
    }
    let last = out.lines().map(str::trim).rfind(|l| !l.is_empty()).unwrap_or_default();
    match last.parse::<f64>() {
        Ok(loss) if loss.is_finite() => Ok(loss),
        _ => Err(format!("the last line of '{command}' must be a number, but is '{}'", end(last))),
    }
}

/// The command with the path, quoted, in place of `{}` (which may be in quotes), or at its end.
fn line(command: &str, path: &str) -> String {
    match command.contains("{}") {
        true => command.replace("\"{}\"", "{}").replace("'{}'", "{}").replace("{}", path),
        false => format!("{command} {path}"),
    }
}

/// The end of a text in one line.
fn end(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    let line = words.join(" ");
    let count = line.chars().count();
    line.chars().skip(count.saturating_sub(SAID)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_path_goes_where_it_is_asked_for() {
        assert_eq!(line("python eval.py", "\"$1\""), "python eval.py \"$1\"");
        assert_eq!(line("eval {} --fast", "\"$1\""), "eval \"$1\" --fast");
        assert_eq!(line("a '{}' \"{}\"", "\"$1\""), "a \"$1\" \"$1\"");
    }

    #[cfg(unix)]
    #[test]
    fn the_path_is_one_argument_whatever_is_in_it() {
        for command in ["printf %s {} | wc -c", "printf %s '{}' | wc -c"] {
            let path = Path::new("/tmp/it's a \"model\" $HOME;{}");
            assert_eq!(loss(command, path), Ok(path.as_os_str().len() as f64));
        }
    }

    #[cfg(unix)]
    #[test]
    fn the_last_line_counts_and_failures_say_why() {
        let model = Path::new("model.safetensors");
        assert_eq!(loss("echo reading; echo 0.25; echo; true", model), Ok(0.25));
        let said = loss("echo no such model >&2; exit 3; echo {}", model).unwrap_err();
        assert!(said.contains("exit status: 3") && said.ends_with("no such model"), "{said}");
        let said = loss("echo 0.1 accuracy; true", model).unwrap_err();
        assert!(said.contains("must be a number, but is '0.1 accuracy'"), "{said}");
        assert!(loss("echo nan; true", model).is_err());
    }
}
