//! Standard output and standard error.

use anyhow::anyhow;
use std::io::{ErrorKind, IsTerminal, Write};
use tnsearch_io::{io_text, text::shown};

/// Prints lines for people to standard output, in which names from files may stand: nothing in them acts on a terminal.
pub fn print(text: &str) -> anyhow::Result<()> {
    let line = |line: &str| format!("{}\n", shown(line));
    match text.split('\n').any(|line| line != shown(line)) {
        true => write(&text.split_terminator('\n').map(line).collect::<String>()),
        false => write(text),
    }
}

/// Writes to standard output as it is. A reader that has gone away (`| head`) is no error.
pub fn write(text: &str) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != ErrorKind::BrokenPipe => {
            Err(anyhow!("cannot write to standard output: {}", io_text(&e)))
        }
        _ => Ok(()),
    }
}

/// One line on standard error, `kind: text`, whatever the text holds.
pub fn note(kind: &str, text: &str) {
    let line = shown(&text.replace(['\n', '\r', '\t'], " "));
    let mut err = std::io::stderr().lock();
    // A bar may stand in the line.
    let clear = if err.is_terminal() { "\r\u{1b}[K" } else { "" };
    // Where standard error is closed, nobody can be told.
    let _ = writeln!(err, "{clear}{kind}: {line}");
}

/// The argument parser's complaint in one line: what is wrong, and its tip.
pub fn usage_line(rendered: &str) -> String {
    let mut paragraphs = rendered.split("\n\n").map(|p| {
        let words: Vec<&str> = p.split_whitespace().collect();
        words.join(" ")
    });
    let first = paragraphs.next().unwrap_or_default();
    let mut line = first.strip_prefix("error: ").unwrap_or(&first).to_owned();
    let tips = paragraphs.filter_map(|p| p.strip_prefix("tip: ").map(str::to_owned));
    for tip in tips.filter(|tip| !tip.starts_with("to pass")) {
        line = format!("{line}; {tip}");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::usage_line;

    #[test]
    fn complaints_fit_on_a_line() {
        let rendered = "error: unexpected argument '--foo' found\n\n  tip: a similar argument \
                        exists: '--fit'\n\nUsage: tnsearch search <TENSOR>\n\nFor more \
                        information, try '--help'.\n";
        assert_eq!(
            usage_line(rendered),
            "unexpected argument '--foo' found; a similar argument exists: '--fit'"
        );
        let rendered = "error: the following required arguments were not provided:\n  <TENSOR>\n  \
                        --structure <FILE>\n\nUsage: ...";
        assert_eq!(
            usage_line(rendered),
            "the following required arguments were not provided: <TENSOR> --structure <FILE>"
        );
    }
}
