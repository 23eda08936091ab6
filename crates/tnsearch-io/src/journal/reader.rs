//! Reading the journal of a search, running or finished.

use super::line::Line;
use super::{BeginRecord, Header};
use crate::lines::{Lines, LinesError, LinesProblem, first_line, scan};
use serde::Deserialize;
use std::path::Path;
use std::sync::Arc;
use tnsearch::graph::{Structure, Template};
use tnsearch::search::{EndRecord, Evaluation, GenerationRecord};

/// A journal.
#[derive(Debug, Clone, PartialEq)]
pub struct JournalFile {
    /// The first line.
    pub header: Header,
    /// Each beginning: one more for each resume.
    pub begins: Vec<BeginRecord>,
    /// The evaluations, in the order in which they ended.
    pub records: Vec<Evaluation>,
    /// The state after each generation.
    pub generations: Vec<GenerationRecord>,
    /// The end, if it is the last line: nothing was done since.
    pub end: Option<EndRecord>,
    /// Whether the last line was torn (a crash, or a search that is just writing).
    pub torn: bool,
    /// Before version 3, which graph was searched is told from the first structure.
    guessed: bool,
}

impl JournalFile {
    /// A journal with nothing in it but its first line.
    pub fn new(header: Header) -> Self {
        JournalFile {
            guessed: header.version < 3,
            header,
            begins: Vec::new(),
            records: Vec::new(),
            generations: Vec::new(),
            end: None,
            torn: false,
        }
    }

    /// Reads a journal, complete or while it is being written.
    pub fn open(path: &Path) -> Result<Self, LinesError> {
        let bytes = std::fs::read(path).map_err(|e| LinesProblem::from(e).of(path))?;
        Self::parse(&bytes).map_err(|problem| problem.of(path))
    }

    /// Reads the bytes of a journal. A last line that was torn is left out.
    pub fn parse(bytes: &[u8]) -> Result<Self, LinesProblem> {
        if bytes.is_empty() {
            return Err(LinesProblem::Empty);
        }
        let (first, second) = first_line(bytes);
        let mut journal = Self::new(Header::parse(first)?);
        let good = scan(bytes, second.unwrap_or(bytes.len()), &mut journal)?;
        journal.torn = good < bytes.len();
        Ok(journal)
    }

    /// The structure of an evaluation: of the graph that was searched, or of its own; none where its numbers are not one.
    pub fn structure(&self, record: &Evaluation) -> Option<Structure> {
        let Evaluation { permutation, ranks, .. } = record;
        let structure = match &record.format {
            Some(other) => other.structure(permutation, ranks),
            None => {
                Structure::new(self.header.searched.clone(), permutation.clone(), ranks.clone())
            }
        };
        structure.ok().filter(|s| s.permutation().len() == self.header.dims.len())
    }

    /// What the format of an evaluation is called.
    pub fn format_of<'a>(&'a self, record: &'a Evaluation) -> &'a str {
        record.format.as_ref().map_or(self.header.searched.name(), |other| &other.name)
    }

    /// The tensor as the user named it, where that is on record.
    pub fn input(&self) -> Option<&str> {
        self.begins.last().map(|b| b.input.as_str()).filter(|name| !name.is_empty())
    }
}

impl Lines for JournalFile {
    /// None for a fit that was refused: old journals may have such a line, and it says nothing.
    type Line = Option<Line>;

    fn read(&self, line: &[u8]) -> Result<Self::Line, String> {
        #[derive(Deserialize)]
        struct Mark {
            #[serde(default)]
            refused: bool,
        }
        let read = Line::parse(line).map_err(|e| e.to_string())?;
        if self.header.version < 3 && matches!(read, Line::Evaluation(_)) {
            let mark: Mark = serde_json::from_slice(line).map_err(|e| e.to_string())?;
            return Ok((!mark.refused).then_some(read));
        }
        Ok(Some(read))
    }

    fn take(&mut self, line: Self::Line) -> Result<(), String> {
        let Some(line) = line else { return Ok(()) };
        self.end = None;
        match line {
            Line::Evaluation(record) => {
                self.check(&record, true)?;
                self.records.push(record);
            }
            Line::Generation(generation) => self.generations.push(generation),
            Line::Begin(begin) => self.begins.push(begin),
            Line::End(end) => {
                if let Some(best) = &end.best {
                    self.check(best, false)?;
                }
                self.end = Some(end);
            }
        }
        Ok(())
    }
}

impl JournalFile {
    /// Refuses what is no structure of the graph that was searched, or of the record's own.
    fn check(&mut self, record: &Evaluation, keyed: bool) -> Result<(), String> {
        if std::mem::take(&mut self.guessed) {
            let key = keyed.then_some(&*record.key);
            self.guess(&record.permutation, &record.ranks, key);
        }
        self.structure(record).map(|_| ()).ok_or_else(|| "no such structure".to_owned())
    }

    /// Old journals do not say whether a strategy left the template for the complete graph; the first structure does.
    fn guess(&mut self, permutation: &[usize], ranks: &[usize], key: Option<&str>) {
        let Ok(complete) = Template::complete(self.header.dims.len()) else { return };
        let complete = Arc::new(complete);
        let of = |graph: &Arc<Template>| {
            Structure::new(graph.clone(), permutation.to_vec(), ranks.to_vec()).ok()
        };
        let named = |s: &Structure| key.is_some_and(|key| s.canonical().graph.to_string() == key);
        match (of(&self.header.template), of(&complete)) {
            // Both have as many edges: the canonical form tells them apart.
            (Some(template), Some(other)) if !named(&template) && named(&other) => {}
            (None, Some(_)) => {}
            _ => return,
        }
        self.header.searched = complete;
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::tests::example;
    use super::*;

    /// A journal of that version for a template of four modes with these lines.
    fn journal(version: u64, template: &str, strategy: &str, lines: &[&str]) -> String {
        let graph = Template::parse(template, 4).unwrap();
        let header = Header {
            dims: vec![2; 4],
            template: Arc::new(graph),
            searched: Arc::new(Template::complete(4).unwrap()),
            strategy: strategy.to_owned(),
            ..example()
        };
        let mut first = header.to_value();
        first["version"] = version.into();
        if version < 3 {
            first.as_object_mut().unwrap().remove("searched");
        }
        lines.iter().fold(format!("{first}\n"), |text, line| format!("{text}{line}\n"))
    }

    fn evaluation(key: &str, ranks: &[usize], refused: &str) -> String {
        format!(
            "{{\"run\":0,\"key\":\"{key}\",\"permutation\":[0,1,2,3],\"ranks\":{ranks:?},\"params\":9,\
             \"rse\":0.5,\"loss\":1.5,\"sweeps\":1,\"restarts\":1,\"seconds\":0.5{refused}}}"
        )
    }

    fn searched(text: &str) -> Result<String, String> {
        let journal = JournalFile::parse(text.as_bytes()).map_err(|e| e.to_string())?;
        Ok(journal.header.searched.name().to_owned())
    }

    #[test]
    fn a_journal_of_a_strategy_nobody_knows_is_read() {
        let line = evaluation("k", &[2; 6], "");
        assert_eq!(searched(&journal(3, "ring", "my own", &[&line])).unwrap(), "complete");
        assert_eq!(searched(&journal(2, "ring", "my own", &[&line])).unwrap(), "complete");
        // What the first line says counts.
        let line = evaluation("k", &[2; 4], "");
        let refused = searched(&journal(3, "ring", "my own", &[&line])).unwrap_err();
        assert_eq!(refused, "line 2 is damaged (no such structure)");
    }

    #[test]
    fn a_structure_of_another_format_brings_its_graph() {
        let other = |format: &str| evaluation("k", &[2; 3], &format!(",\"format\":{format}"));
        let named = other(r#"{"name":"path","template":"path"}"#);
        let graph = r#"{"vertices":[{"mode":true},{"mode":true},{"mode":true},{"mode":true}],"edges":[[0,1],[0,2],[0,3]]}"#;
        let own = other(&format!(r#"{{"name":"any-tree","template":{graph}}}"#));
        let plain = evaluation("k", &[2; 6], "");
        let text = journal(3, "ring", "my own", &[&named, &own, &plain]);
        let read = JournalFile::parse(text.as_bytes()).unwrap();
        let formats: Vec<&str> = read.records.iter().map(|r| read.format_of(r)).collect();
        assert_eq!(formats, ["path", "any-tree", "complete"]);
        assert!(read.records.iter().all(|r| read.structure(r).is_some()));
        let wrong = other(r#"{"name":"ring","template":"ring"}"#);
        assert!(
            searched(&journal(3, "ring", "my own", &[&wrong]))
                .unwrap_err()
                .contains("no such structure")
        );
    }

    #[test]
    fn the_graph_of_an_old_journal_is_told_from_its_first_structure() {
        let (four, six) = (evaluation("k", &[2; 4], ""), evaluation("k", &[2; 6], ""));
        assert_eq!(searched(&journal(2, "ring", "greedy", &[])).unwrap(), "ring");
        assert_eq!(searched(&journal(2, "ring", "greedy", &[&four])).unwrap(), "ring");
        assert_eq!(searched(&journal(1, "ring", "tnls", &[&six])).unwrap(), "complete");
        let mixed = searched(&journal(2, "ring", "tnls", &[&four, &six])).unwrap_err();
        assert_eq!(mixed, "line 3 is damaged (no such structure)");
        let none = searched(&journal(2, "ring", "tnls", &[&evaluation("k", &[2; 5], "")]));
        assert_eq!(none.unwrap_err(), "line 2 is damaged (no such structure)");
        let end = "{\"end\":{\"strategy\":\"greedy\",\"stopped_by\":\"finished\",\"counts\":{\"samples\":0,\
                   \"evaluations\":0,\"cached\":0,\"pruned\":0,\"refused\":0},\"seconds\":1.0,\"best\":{\"run\":0,\
                   \"permutation\":[0,1,2,3],\"ranks\":[1,1,1,1,1,2],\"params\":9,\"rse\":0.5,\"loss\":1.5},\
                   \"target_reached\":true,\"lower_bound\":null,\"certified_optimal\":false,\
                   \"proven_impossible\":false}}";
        assert_eq!(searched(&journal(2, "ring", "greedy", &[end])).unwrap(), "complete");
    }

    #[test]
    fn graphs_with_as_many_edges_are_told_apart_by_the_key() {
        // Hierarchical Tucker of order 4 has six edges, as the complete graph.
        let tree = Arc::new(Template::parse("ht", 4).unwrap());
        let complete = Arc::new(Template::complete(4).unwrap());
        for graph in [tree, complete] {
            let ranks = vec![2, 3, 2, 2, 2, 2];
            let structure = Structure::identity(graph.clone(), ranks.clone()).unwrap();
            let line = evaluation(&structure.canonical().graph.to_string(), &ranks, "");
            assert_eq!(searched(&journal(2, "ht", "any", &[&line])).unwrap(), graph.name());
        }
        let line = evaluation("k", &[2; 6], "");
        assert_eq!(searched(&journal(2, "ht", "any", &[&line])).unwrap(), "ht");
    }

    #[test]
    fn fits_that_were_refused_are_skipped() {
        let refused = evaluation("a", &[2; 4], ",\"refused\":true");
        let fitted = evaluation("b", &[2; 4], ",\"refused\":false");
        for version in [1, 2] {
            let text = journal(version, "ring", "tnls", &[&refused, &fitted]);
            let read = JournalFile::parse(text.as_bytes()).unwrap();
            let keys: Vec<&str> = read.records.iter().map(|r| r.key.as_str()).collect();
            assert_eq!(keys, ["b"]);
        }
    }

    #[test]
    fn torn_ends_and_damage() {
        let line = evaluation("k", &[2; 6], "");
        let text = journal(3, "ring", "tnls", &[&line, &line]);
        let first = text.find('\n').unwrap() + 1;
        for cut in first..text.len() {
            let read = JournalFile::parse(&text.as_bytes()[..cut]).unwrap();
            assert_eq!(read.records.len(), text[first..cut].matches('\n').count());
            assert_eq!(read.torn, !text[..cut].ends_with('\n'), "cut at {cut}");
        }
        let refusal = |text: &str| JournalFile::parse(text.as_bytes()).unwrap_err();
        assert_eq!(refusal(""), LinesProblem::Empty);
        assert_eq!(refusal("hello\n"), LinesProblem::Foreign("journal"));
        let damaged = refusal(&text.replacen("{\"run\":0", "{\"run\":x", 1));
        assert!(matches!(damaged, LinesProblem::Damaged { line: 2, .. }), "{damaged}");
        let wrong = refusal(&text.replace("[0,1,2,3]", "[0,0,2,3]"));
        assert_eq!(wrong.to_string(), "line 2 is damaged (no such structure)");
    }
}
