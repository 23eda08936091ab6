//! One build with all mutants in it: a copy of the sources, changed until it compiles.

use super::list::Mutant;
use super::switch::{SWITCH, switchable};
use crate::step;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Rounds of compiling and dropping what does not compile.
const ROUNDS: usize = 40;

/// The crates that have the switch in them: the others know the first of them.
const ROOTS: [&str; 2] = ["crates/tnsearch", "crates/tnsearch-verify"];

/// Says which mutant is on, and writes down which were come by. A panic ends the process: the first test that fails is enough.
const SWITCH_SOURCE: &str = r#"
#[doc(hidden)]
#[allow(missing_docs)]
pub fn __mutant(id: usize) -> bool {
    use std::io::Write as _;
    use std::sync::{LazyLock, Mutex, atomic::{AtomicBool, Ordering}};
    struct State { on: usize, trace: Option<(Mutex<std::fs::File>, Vec<AtomicBool>)> }
    static STATE: LazyLock<State> = LazyLock::new(|| {
        let on = std::env::var("TNSEARCH_MUTANT").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
        let file = std::env::var_os("TNSEARCH_MUTANT_TRACE");
        let file = file.and_then(|f| std::fs::File::options().create(true).append(true).open(f).ok());
        State { on, trace: file.map(|f| (Mutex::new(f), (0..100_000).map(|_| AtomicBool::new(false)).collect())) }
    });
    if let Some((file, seen)) = &STATE.trace {
        if seen.get(id).is_some_and(|s| !s.swap(true, Ordering::Relaxed)) {
            let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            let _ = file.write_all(format!("{id}\n").as_bytes());
        }
    }
    STATE.on == id
}
"#;

/// A copy of the sources, and where it is built.
pub struct Tree {
    folder: PathBuf,
    target: PathBuf,
    /// What cannot be built with the rest, or stands where nothing can be turned on.
    dropped: BTreeSet<usize>,
}

impl Tree {
    /// Copies all that git knows of.
    pub fn copied(folder: &Path) -> Result<Tree> {
        let (tree, target) = (folder.join("tree"), folder.join("target"));
        if tree.exists() {
            std::fs::remove_dir_all(&tree).with_context(|| format!("{}", tree.display()))?;
        }
        let files =
            step::output(&mut step::command("git", &["ls-files", "-co", "--exclude-standard"]))?;
        for file in files.lines().filter(|f| step::root().join(f).is_file()) {
            let to = tree.join(file);
            std::fs::create_dir_all(to.parent().unwrap_or(&tree))?;
            std::fs::copy(step::root().join(file), &to).with_context(|| file.to_string())?;
        }
        Ok(Tree { folder: tree, target, dropped: BTreeSet::new() })
    }

    /// Writes all mutants into it, and drops those that do not compile; those that are left.
    pub fn switch(&mut self, mutants: &[Mutant], packages: &[&str]) -> Result<Vec<Mutant>> {
        let mut left = BTreeSet::new();
        for round in 1..=ROUNDS {
            left = self.write(mutants)?;
            let errors = self.errors(packages)?;
            println!("    round {round}: {} mutants, {} errors", left.len(), errors.len());
            if errors.is_empty() {
                return Ok(mutants.iter().filter(|m| left.contains(&m.id)).cloned().collect());
            }
            let before = self.dropped.len();
            for error in &errors {
                let ids = self.blamed(error)?;
                if ids.is_empty() {
                    bail!("an error that no mutant explains: {}", error.text);
                }
                self.dropped.extend(ids);
            }
            if self.dropped.len() == before {
                bail!("errors remain without these mutants: {}", errors[0].text);
            }
        }
        bail!("{} mutants still do not compile after {ROUNDS} rounds", left.len())
    }

    /// Writes every file that has mutants; the mutants that are in.
    fn write(&self, mutants: &[Mutant]) -> Result<BTreeSet<usize>> {
        let mut files: BTreeMap<&Path, Vec<&Mutant>> = BTreeMap::new();
        for mutant in mutants {
            let of_file = files.entry(&mutant.file).or_default();
            if !self.dropped.contains(&mutant.id) {
                of_file.push(mutant);
            }
        }
        let mut all = BTreeSet::new();
        for (file, mutants) in files {
            let source = std::fs::read_to_string(step::root().join(file))?;
            let own = ROOTS.iter().any(|root| file.starts_with(root));
            let path = format!("{}::{SWITCH}", if own { "crate" } else { "tnsearch" });
            let made = switchable(&source, &mutants, &path)
                .with_context(|| format!("{}", file.display()))?;
            all.extend(made.ids);
            write_changed(&self.folder.join(file), &made.text)?;
        }
        for root in ROOTS {
            let file = format!("{root}/src/lib.rs");
            let at = self.folder.join(&file);
            // With its own mutants, where it has some.
            let source = std::fs::read_to_string(&at)?;
            let source = source.strip_suffix(SWITCH_SOURCE).unwrap_or(&source).to_owned();
            write_changed(&at, &(source + SWITCH_SOURCE))?;
        }
        Ok(all)
    }

    fn cargo(&self, arguments: &[&str], packages: &[&str]) -> Command {
        let mut cargo = step::cargo(arguments);
        cargo.current_dir(&self.folder).env("CARGO_TARGET_DIR", &self.target);
        for package in packages {
            cargo.args(["-p", package]);
        }
        cargo.arg("--message-format=json");
        cargo
    }

    /// The mutants that an error is about: by where it is, or else by all that it points at.
    fn blamed(&self, error: &CompileError) -> Result<Vec<usize>> {
        let mut ids = Vec::new();
        for (file, at) in &error.places {
            let text = std::fs::read_to_string(self.folder.join(file))?;
            ids.extend(blamed(&text, *at));
            if !ids.is_empty() {
                return Ok(ids);
            }
        }
        // A match that arms are missing from: one of them can be turned off.
        let Some((file, at)) = error.places.first() else { return Ok(ids) };
        let text = std::fs::read_to_string(self.folder.join(file))?;
        let next = text[*at..].find("/*[").map(|k| at + k + 3);
        let marks = next.and_then(|begin| text[begin..].split_once("*/"));
        Ok(marks.map_or(ids, |(marks, _)| numbers(marks).unwrap_or_default()))
    }

    fn errors(&self, packages: &[&str]) -> Result<Vec<CompileError>> {
        let output = self.cargo(&["check", "--keep-going"], packages).output()?;
        let mut errors = Vec::new();
        for line in String::from_utf8_lossy(&output.stdout).lines() {
            let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
            let message = &value["message"];
            if message["level"] != "error" {
                continue;
            }
            let mut places = Vec::new();
            for span in message["spans"].as_array().into_iter().flatten() {
                if let Some((file, at)) =
                    span["file_name"].as_str().zip(span["byte_start"].as_u64())
                {
                    places.push((span["is_primary"] != true, file.to_string(), at as usize));
                }
            }
            places.sort();
            if !places.is_empty() {
                let places = places.into_iter().map(|(_, file, at)| (file, at)).collect();
                let text = message["rendered"].as_str().unwrap_or_default().to_string();
                errors.push(CompileError { places, text });
            }
        }
        if errors.is_empty() && !output.status.success() {
            bail!("cargo check failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        Ok(errors)
    }

    /// Builds the tests; the programs and the folders they run in.
    pub fn tests(&self, packages: &[&str]) -> Result<Vec<(PathBuf, PathBuf)>> {
        let mut build = self.cargo(&["test", "--no-run", "--lib", "--tests"], packages);
        // What changes next time changes everywhere: nothing is kept for it.
        let text = step::output(build.env("CARGO_INCREMENTAL", "0"))?;
        let mut found = Vec::new();
        for line in text.lines() {
            let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
            let program = value["executable"].as_str();
            let manifest = value["manifest_path"].as_str();
            if let (Some(program), Some(manifest), true) =
                (program, manifest, value["profile"]["test"] == true)
            {
                let folder = Path::new(manifest).parent().unwrap_or(Path::new("."));
                found.push((PathBuf::from(program), folder.to_path_buf()));
            }
        }
        Ok(found)
    }
}

/// An error of the compiler: what it points at, the main place first, and what it says.
struct CompileError {
    places: Vec<(String, usize)>,
    text: String,
}

/// Writes a file unless it is so already: cargo looks at the times.
fn write_changed(path: &Path, text: &str) -> Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    std::fs::write(path, text).with_context(|| format!("{}", path.display()))
}

fn numbers(text: &str) -> Option<Vec<usize>> {
    text.split(' ').map(|n| n.parse().ok()).collect()
}

/// The mutants that an error at this byte is about: that of the branch it is in, or all of the innermost place.
fn blamed(text: &str, at: usize) -> Vec<usize> {
    let (mut branches, mut places) = (Vec::new(), Vec::new());
    let mut rest = 0;
    while let Some(begin) = text[rest..].find("/*").map(|k| k + rest) {
        let Some(end) = text[begin..].find("*/").map(|k| k + begin) else { break };
        let mark = &text[begin + 2..end];
        let past = begin > at;
        if let Some(ids) = mark.strip_prefix('<').and_then(numbers) {
            if past {
                break;
            }
            branches.push((ids, places.len()));
        } else if mark.strip_suffix('>').and_then(numbers).is_some() {
            if past {
                break;
            }
            branches.pop();
        } else if let Some(ids) = mark.strip_prefix('[').and_then(numbers) {
            if past {
                break;
            }
            places.push(ids);
        } else if mark.strip_suffix(']').and_then(numbers).is_some() {
            if past {
                break;
            }
            places.pop();
        }
        rest = end;
    }
    match (branches.pop(), places.pop()) {
        (Some((ids, depth)), Some(place)) if depth > places.len() || place.is_empty() => ids,
        (Some((ids, _)), None) => ids,
        (_, Some(place)) => place,
        (None, None) => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_blamed_on_the_innermost_mutant() {
        let text = "a /*[1 2*/ x /*<1*/ b /*1>*/ y /*[3*/ z /*3]*/ w /*1 2]*/ c";
        let at = |letter: char| blamed(text, text.find(letter).unwrap());
        assert_eq!((at('x'), at('b'), at('y')), (vec![1, 2], vec![1], vec![1, 2]));
        assert_eq!((at('z'), at('w')), (vec![3], vec![1, 2]));
        assert_eq!((at('a'), at('c')), (vec![], vec![]));
    }
}
