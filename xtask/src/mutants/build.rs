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

/// Says which mutant is on, and writes down which were come by. It stands in every loop: what is on is looked up once, and
/// while nothing is written down one comparison is all there is.
const SWITCH_SOURCE: &str = r#"
#[doc(hidden)]
#[allow(missing_docs)]
#[inline]
pub fn __mutant(id: usize) -> bool {
    match __MUTANT_ON.load(std::sync::atomic::Ordering::Relaxed) {
        usize::MAX => __mutant_sought(id),
        on => on == id,
    }
}

/// The largest number: not known yet, or to be written down.
#[doc(hidden)]
pub static __MUTANT_ON: std::sync::atomic::AtomicUsize = std::sync::atomic::AtomicUsize::new(usize::MAX);

#[doc(hidden)]
#[allow(missing_docs)]
#[cold]
pub fn __mutant_sought(id: usize) -> bool {
    use std::io::Write as _;
    use std::sync::{LazyLock, Mutex, atomic::{AtomicBool, Ordering}};
    struct State { on: usize, trace: Option<(Mutex<std::fs::File>, Vec<AtomicBool>)> }
    static STATE: LazyLock<State> = LazyLock::new(|| {
        let on = std::env::var("TNSEARCH_MUTANT").ok().and_then(|n| n.parse().ok()).unwrap_or(0);
        let file = std::env::var_os("TNSEARCH_MUTANT_TRACE");
        let file = file.and_then(|f| std::fs::File::options().create(true).append(true).open(f).ok());
        State { on, trace: file.map(|f| (Mutex::new(f), (0..100_000).map(|_| AtomicBool::new(false)).collect())) }
    });
    match &STATE.trace {
        Some((file, seen)) => {
            if seen.get(id).is_some_and(|s| !s.swap(true, Ordering::Relaxed)) {
                let mut file = file.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                let _ = file.write_all(format!("{id}\n").as_bytes());
            }
        }
        None => __MUTANT_ON.store(STATE.on, Ordering::Relaxed),
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
    /// Copies all that git knows of. What an earlier copy has already stays as it is, mutants and all: cargo looks at the
    /// times, and what is unchanged need not be built again.
    pub fn copied(folder: &Path, mutants: &[Mutant]) -> Result<Tree> {
        let (tree, target) = (folder.join("tree"), folder.join("target"));
        let files =
            step::output(&mut step::command("git", &["ls-files", "-co", "--exclude-standard"]))?;
        let files: BTreeSet<&str> =
            files.lines().filter(|f| step::root().join(f).is_file()).collect();
        // Those that mutants are written into.
        let written: BTreeSet<&Path> = mutants.iter().map(|m| m.file.as_path()).collect();
        for &file in &files {
            let (from, to) = (step::root().join(file), tree.join(file));
            let root =
                ROOTS.iter().any(|root| Path::new(file) == Path::new(root).join("src/lib.rs"));
            if root || written.contains(Path::new(file)) {
                continue;
            }
            let new = std::fs::read(&from).with_context(|| file.to_string())?;
            if std::fs::read(&to).is_ok_and(|old| old == new) {
                continue;
            }
            std::fs::create_dir_all(to.parent().unwrap_or(&tree))?;
            std::fs::copy(&from, &to).with_context(|| file.to_string())?;
        }
        remove_others(&tree, &tree, &files)?;
        Ok(Tree { folder: tree, target, dropped: BTreeSet::new() })
    }

    /// Drops what did not compile in an earlier build, by name and place, so that it need not be found again.
    pub fn known(&mut self, mutants: &[Mutant], left_out: &BTreeSet<String>) {
        self.dropped.extend(mutants.iter().filter(|m| left_out.contains(&m.name)).map(|m| m.id));
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
        let mut texts: BTreeMap<PathBuf, String> = BTreeMap::new();
        for (file, mutants) in files {
            let source = std::fs::read_to_string(step::root().join(file))?;
            let own = ROOTS.iter().any(|root| file.starts_with(root));
            let path = format!("{}::{SWITCH}", if own { "crate" } else { "tnsearch" });
            let made = switchable(&source, &mutants, &path)
                .with_context(|| format!("{}", file.display()))?;
            all.extend(made.ids);
            texts.insert(file.to_path_buf(), made.text);
        }
        for root in ROOTS {
            let file = Path::new(root).join("src/lib.rs");
            // With its own mutants, where it has some.
            let source = match texts.remove(&file) {
                Some(text) => text,
                None => std::fs::read_to_string(step::root().join(&file))?,
            };
            texts.insert(file, source + SWITCH_SOURCE);
        }
        for (file, text) in texts {
            write_changed(&self.folder.join(file), &text)?;
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
    pub fn tests(&self, packages: &[&str], targets: &[&str]) -> Result<Vec<(PathBuf, PathBuf)>> {
        let mut build = self.cargo(&[&["test", "--no-run"], targets].concat(), packages);
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

/// Removes what stands in a folder of a copy and is none of these files.
fn remove_others(tree: &Path, folder: &Path, files: &BTreeSet<&str>) -> Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            remove_others(tree, &path, files)?;
        } else if !path.strip_prefix(tree)?.to_str().is_some_and(|name| files.contains(name)) {
            std::fs::remove_file(&path).with_context(|| format!("{}", path.display()))?;
        }
    }
    Ok(())
}

/// Writes a file unless it is so already: cargo looks at the times.
fn write_changed(path: &Path, text: &str) -> Result<()> {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    std::fs::create_dir_all(path.parent().unwrap_or(path))?;
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
