//! The survivors that no test can catch, each with its reason: `xtask/mutants.explained`.

use anyhow::{Context, Result, bail};
use std::path::Path;

/// Lines of `FILE: REST | reason`: mutants of files whose path ends in FILE and whose name ends in REST.
#[derive(Debug)]
pub struct Explained {
    lines: Vec<Line>,
}

#[derive(Debug)]
struct Line {
    file: String,
    rest: String,
    reason: String,
    used: bool,
}

impl Explained {
    pub fn read(path: &Path) -> Result<Explained> {
        let text = std::fs::read_to_string(path).with_context(|| format!("{}", path.display()))?;
        Explained::parse(&text)
    }

    fn parse(text: &str) -> Result<Explained> {
        let mut lines = Vec::new();
        let written = text.lines().map(str::trim).enumerate();
        for (k, line) in written.filter(|(_, l)| !l.is_empty() && !l.starts_with('#')) {
            let parts = line.rsplit_once(" | ");
            let parts = parts.and_then(|(mutant, reason)| Some((mutant.split_once(": ")?, reason)));
            let Some(((file, rest), reason)) = parts else {
                bail!(
                    "line {} of the explained mutants is not 'FILE: REST | reason': {line}",
                    k + 1
                );
            };
            let (file, rest, reason) = (file.into(), rest.into(), reason.trim().into());
            lines.push(Line { file, rest, reason, used: false });
        }
        Ok(Explained { lines })
    }

    /// Why a mutant, `path:line:column: what is changed`, survives.
    pub fn reason(&mut self, name: &str) -> Option<&str> {
        let (path, rest) = name.split_once(':')?;
        let rest = rest.splitn(3, ':').nth(2)?.trim();
        let is = |line: &&mut Line| path.ends_with(&line.file) && rest.ends_with(&line.rest);
        let line = self.lines.iter_mut().find(is)?;
        line.used = true;
        Some(&line.reason)
    }

    /// What stood for no mutant that was asked for.
    pub fn unused(&self) -> impl Iterator<Item = String> + '_ {
        self.lines.iter().filter(|l| !l.used).map(|l| format!("{}: {}", l.file, l.rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_explains_its_mutants_and_no_others() {
        let text = "# bound\n\nb/cuts.rs: replace | with ^ in near | equal sizes\na.rs: in S<'s>::cost | an estimate\n";
        let mut all = Explained::parse(text).unwrap();
        assert_eq!(all.reason("c/b/cuts.rs:3:9: replace | with ^ in near"), Some("equal sizes"));
        assert_eq!(all.reason("c/b/cuts.rs:3:9: replace | with & in near"), None);
        assert_eq!(all.reason("c/b/cats.rs:3:9: replace | with ^ in near"), None);
        assert_eq!(all.unused().collect::<Vec<_>>(), ["a.rs: in S<'s>::cost"]);
        let name = "x/a.rs:1:2: replace S<'s>::cost -> f64 with 0.0 in S<'s>::cost";
        assert_eq!(all.reason(name), Some("an estimate"));
        assert_eq!(all.unused().count(), 0);
        assert!(Explained::parse("a.rs: no reason").is_err());
    }

    #[test]
    fn what_is_written_can_be_read() {
        Explained::read(&crate::step::root().join(super::super::EXPLAINED)).unwrap();
    }
}
