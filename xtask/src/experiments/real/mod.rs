//! Searches of tensors as users have them, beside what direct methods give: the table of `docs/results.md`.

mod cases;

use super::{program, read};
use crate::{python, step};
use anyhow::{Context, Result, bail};
use cases::{CASES, Case, Data, PICTURES};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

pub const ABOUT: &str = "searches of measured data, states, functions and pictures beside direct methods \
                         (--data DIR --only TEXT --max-seconds S --quick)";

/// What was asked for.
#[derive(Debug, Default, Clone, PartialEq)]
struct Options {
    /// The folder of measured data; cases that need it are left out without it.
    data: Option<PathBuf>,
    /// Only cases whose name has this in it.
    only: Option<String>,
    /// A time limit for all searches, instead of their own.
    max_seconds: Option<String>,
    quick: bool,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Self> {
        let mut options = Options::default();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value =
                || words.next().cloned().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--data" => options.data = Some(value()?.into()),
                "--only" => options.only = Some(value()?),
                "--max-seconds" => options.max_seconds = Some(value()?),
                "--quick" => options.quick = true,
                _ => bail!(
                    "unknown option '{word}'; use --data DIR --only TEXT --max-seconds S --quick"
                ),
            }
        }
        Ok(options)
    }

    fn wants(&self, name: &str, data: Data, quick: bool) -> bool {
        let there = matches!(data, Data::Made(_)) || self.data.is_some();
        let named = self.only.as_ref().is_none_or(|only| name.contains(only.as_str()));
        there && named && (quick || !self.quick)
    }
}

/// What a command gave: its summary, how long it took, and the most memory it held, in MB (where the system tells).
struct Ran {
    code: i32,
    report: Value,
    seconds: f64,
    megabytes: Option<f64>,
}

/// Makes or fetches the tensors, searches them, decomposes them, and prints the table.
pub fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments).map_err(|e| step::usage(format!("{e:#}")))?;
    let tnsearch = program()?;
    let folder = tnsearch.parent().context("the program has no folder")?.join("experiments/real");
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let bench = Bench { tnsearch, folder, options };
    let mut rows = Vec::new();
    for case in CASES.iter().filter(|c| bench.options.wants(c.name, c.data, c.quick)) {
        rows.push(step::step(case.name, || bench.case(case))?);
    }
    print!("\n{}", table(&rows));
    let pictures = Data::Picture("");
    for template in ["ring", "any"] {
        let name = format!("pictures, {template}");
        if bench.options.wants(&name, pictures, false) {
            println!("\n{}", bench.pictures(template)?);
        }
    }
    Ok(())
}

struct Bench {
    tnsearch: PathBuf,
    folder: PathBuf,
    options: Options,
}

impl Bench {
    /// The row of a case.
    fn case(&self, case: &Case) -> Result<Vec<String>> {
        let tensor = self.tensor(case.data)?;
        let line = format!("{} {} --seed 0", case.goal, self.limited(case.search));
        let found = self.command("search", &tensor, &line)?;
        let mut direct: Vec<(f64, String)> = Vec::new();
        for method in case.direct {
            let goal = if method.contains("--ranks") { "" } else { case.goal };
            let made = self.command("decompose", &tensor, &format!("--method {method} {goal}"))?;
            let (params, re) = (number(&made.report, "params"), number(&made.report, "re"));
            direct.push((params, format!("{method} {params} (RE {re:.4}, {:.1} s)", made.seconds)));
        }
        direct.sort_by(|a, b| a.0.total_cmp(&b.0));
        let report = &found.report;
        let bound = report["lower_bound"].as_object().and_then(|bound| {
            bound.iter().find_map(|(name, v)| Some(format!("{name} {}", v.as_f64()?)))
        });
        Ok(vec![
            case.name.to_owned(),
            format!("`{line}`"),
            format!(
                "{}{}",
                number(report, "params"),
                if found.code == 0 { "" } else { " (missed)" }
            ),
            format!("{:.5}", number(report, "re")),
            bound.unwrap_or_else(|| "-".to_owned()),
            if report["certified_optimal"] == true { "yes" } else { "" }.to_owned(),
            format!("{:.1}", found.seconds),
            found.megabytes.map_or("-".to_owned(), |mb| format!("{mb:.0}")),
            direct.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("; "),
        ])
    }

    /// The loss of the paper's picture experiment on four pictures, for a template.
    fn pictures(&self, template: &str) -> Result<String> {
        let mut losses = Vec::new();
        for picture in PICTURES {
            let name = format!("images/bsd-gray256/{picture}.png");
            let tensor = self.picture(&name)?;
            let line = self.limited("--max-seconds 60");
            let line = format!("--lambda 5 --template {template} --seed 0 {line}");
            let found = step::step(&format!("{picture}, {template}"), || {
                self.command("search", &tensor, &line)
            })?;
            losses.push((picture, number(&found.report, "loss"), found.seconds));
        }
        let mean = losses.iter().map(|l| l.1).sum::<f64>() / losses.len() as f64;
        let list = losses.iter().map(|(p, loss, s)| format!("{p}: {loss:.4} ({s:.0} s)"));
        Ok(format!(
            "phi + 5 RSE, {template}: mean {mean:.4}; {}",
            list.collect::<Vec<_>>().join(", ")
        ))
    }

    fn limited(&self, search: &str) -> String {
        let Some(seconds) = &self.options.max_seconds else { return search.to_owned() };
        let mut words: Vec<&str> = search.split_whitespace().collect();
        if let Some(at) = words.iter().position(|w| *w == "--max-seconds") {
            words.drain(at..(at + 2).min(words.len()));
        }
        words.extend(["--max-seconds", seconds]);
        words.join(" ")
    }

    /// The file of a tensor, made where it is not there yet.
    fn tensor(&self, data: Data) -> Result<PathBuf> {
        match data {
            Data::Made(line) => {
                let path = self.folder.join(format!("{}.npy", line.replace([' ', ','], "_")));
                if !path.is_file() {
                    let mut generate = Command::new(&self.tnsearch);
                    generate.arg("generate").args(line.split_whitespace()).arg("-o").arg(&path);
                    step::run(generate.arg("--quiet"))?;
                }
                Ok(path)
            }
            Data::Measured(name) => Ok(self.data()?.join(name)),
            Data::Picture(name) => self.picture(name),
        }
    }

    fn data(&self) -> Result<&Path> {
        self.options.data.as_deref().context("--data DIR is needed for this case")
    }

    /// A grey picture of 256 x 256 as a tensor of eight modes of size 4, column-major, divided by 255.
    fn picture(&self, name: &str) -> Result<PathBuf> {
        let from = self.data()?.join(name);
        let stem = Path::new(name).file_stem().unwrap_or_default();
        let path = self.folder.join(stem).with_extension("npy");
        if !path.is_file() {
            let python = python::environment("benches/peer/requirements.txt")?;
            let code = "import sys, numpy as np; from PIL import Image; \
                        a = np.asarray(Image.open(sys.argv[1]).convert('L'), dtype=float) / 255; \
                        np.save(sys.argv[2], np.ascontiguousarray(a.reshape((4,) * 8, order='F')))";
            step::run(Command::new(python).args(["-c", code]).arg(&from).arg(&path))?;
        }
        Ok(path)
    }

    /// Runs a command on a tensor. Exit code 1 (the target was missed) is an answer, too.
    fn command(&self, name: &str, tensor: &Path, line: &str) -> Result<Ran> {
        let json = self.folder.join("report.json");
        let mut command = Command::new(&self.tnsearch);
        command.arg(name).arg(tensor).args(line.split_whitespace());
        command.arg("--quiet").arg("--json").arg(&json).stdout(Stdio::null());
        let begun = Instant::now();
        let mut child = command.spawn().context("cannot start tnsearch")?;
        let mut megabytes = None;
        let status = loop {
            megabytes = peak(child.id()).or(megabytes);
            match child.try_wait()? {
                Some(status) => break status,
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let code = status.code().unwrap_or(-1);
        if !(0..=1).contains(&code) {
            bail!("{name} {line} on {} ended with code {code}", tensor.display());
        }
        Ok(Ran { code, report: read(&json)?, seconds: begun.elapsed().as_secs_f64(), megabytes })
    }
}

/// The most memory a process has held, in MB; none where the system does not say.
fn peak(process: u32) -> Option<f64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

/// A number of a report; NaN where there is none.
fn number(report: &Value, name: &str) -> f64 {
    report[name].as_f64().unwrap_or(f64::NAN)
}

fn table(rows: &[Vec<String>]) -> String {
    let mut out =
        "| case | search | params | RE | bound | optimal | s | MB | direct methods |\n".to_owned();
    out += "| --- | --- | ---: | ---: | --- | --- | ---: | ---: | --- |\n";
    for row in rows {
        out += &format!("| {} |\n", row.join(" | "));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(line: &str) -> Result<Options> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn cases_are_chosen_by_name_and_data() {
        let all = options("").unwrap();
        assert!(all.wants("field", Data::Made(""), false));
        assert!(!all.wants("kinetic", Data::Measured(""), false));
        let some = options("--data d --only kin --quick").unwrap();
        assert!(some.wants("kinetic", Data::Measured(""), true));
        assert!(!some.wants("kinetic", Data::Measured(""), false));
        assert!(!some.wants("field", Data::Made(""), true));
        assert!(options("--only").is_err() && options("--fast").is_err());
    }

    #[test]
    fn one_limit_replaces_the_others() {
        let bench = Bench {
            tnsearch: PathBuf::new(),
            folder: PathBuf::new(),
            options: options("--max-seconds 5").unwrap(),
        };
        assert_eq!(
            bench.limited("--max-seconds 60 --template ring"),
            "--template ring --max-seconds 5"
        );
    }

    #[test]
    fn names_are_told_apart() {
        let mut names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|w| w[0] != w[1]));
        assert!(CASES.iter().any(|case| case.quick));
    }
}
