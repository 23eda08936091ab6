//! Where results go: all checked before the work starts.

pub use tnsearch_app::fields::lossy;
pub use tnsearch_app::outputs::check_distinct;

use crate::terminal;
use anyhow::{anyhow, bail};
use clap::Args;
use serde::Serialize;
use serde_json::ser::Formatter;
use std::io;
use std::path::{Path, PathBuf};
use tnsearch_io::{io_text, output::Output, split_key};

/// Options of every command that reports something.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Output")]
pub struct ReportOptions {
    /// Write a summary as JSON; '-' for standard output, which then gets nothing else
    #[arg(long, value_name = "PATH")]
    pub json: Option<PathBuf>,
    /// Print no summary and show no progress
    #[arg(long, short)]
    pub quiet: bool,
}

/// Where the report of a command goes.
#[derive(Debug)]
pub struct Report {
    json: Json,
    quiet: bool,
}

#[derive(Debug)]
enum Json {
    No,
    Stdout,
    File(Output),
}

impl ReportOptions {
    /// Checks that the JSON file can be written.
    pub fn check(&self) -> anyhow::Result<Report> {
        let json = match &self.json {
            None => Json::No,
            Some(path) if path.as_os_str() == "-" => Json::Stdout,
            Some(path) => Json::File(Output::check(path)?),
        };
        Ok(Report { json, quiet: self.quiet })
    }

    /// The file for the JSON summary, where it is one.
    pub fn json_path(&self) -> Option<&Path> {
        self.json.as_deref().filter(|p| p.as_os_str() != "-")
    }
}

impl Report {
    /// Writes the summary: as JSON where asked, and for people unless standard output is taken.
    pub fn write(
        &self,
        json: &impl Serialize,
        text: impl FnOnce() -> String,
    ) -> anyhow::Result<()> {
        let rendered = || render(json);
        let written = match &self.json {
            Json::No => Ok(()),
            Json::Stdout => return terminal::write(&rendered()?),
            Json::File(output) => {
                let rendered = rendered()?;
                output.write(|w| w.write_all(rendered.as_bytes()))
            }
        };
        // A file that fails must not take the result from the screen, too.
        if !self.quiet {
            terminal::print(&text())?;
        }
        Ok(written?)
    }
}

/// JSON with one line per field.
fn render(json: &impl Serialize) -> anyhow::Result<String> {
    let mut bytes = Vec::new();
    json.serialize(&mut serde_json::Serializer::with_formatter(&mut bytes, Lines::default()))?;
    bytes.push(b'\n');
    Ok(String::from_utf8(bytes)?)
}

/// Breaks lines between the fields of the outermost object only.
#[derive(Default)]
struct Lines {
    depth: usize,
}

impl Formatter for Lines {
    fn begin_object<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        self.depth += 1;
        w.write_all(b"{")
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        self.depth -= 1;
        w.write_all(if self.depth == 0 { b"\n}" } else { b"}" })
    }

    fn begin_object_key<W: ?Sized + io::Write>(
        &mut self,
        w: &mut W,
        first: bool,
    ) -> io::Result<()> {
        w.write_all(if first { b"" } else { b"," })?;
        w.write_all(if self.depth == 1 { b"\n  " } else { b"" })
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, w: &mut W) -> io::Result<()> {
        w.write_all(if self.depth == 1 { b": " } else { b":" })
    }
}

/// A folder that files go into, made where it is not there yet.
#[derive(Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Checks that it is a folder, or can be made.
    pub fn check(path: &Path) -> anyhow::Result<Self> {
        if path.exists() && !path.is_dir() {
            bail!("{}: it is no folder", path.display());
        }
        let named = |e: &io::Error| anyhow!("{}: {}", path.display(), io_text(e));
        std::fs::create_dir_all(path).map_err(|e| named(&e))?;
        Ok(Folder(path.to_owned()))
    }

    /// A file in it.
    pub fn file(&self, name: &str) -> anyhow::Result<Output> {
        Ok(Output::check(&self.0.join(name))?)
    }
}

/// The path of a tensor's file, without the key of an array.
pub fn tensor_path(name: &str) -> PathBuf {
    split_key(name).0
}
