//! Reading the journal of a search, running or finished.

use super::header::KIND;
use super::line::Line;
use super::{BeginRecord, Header, check};
use crate::lines::{Damage, Lines, LinesError, LinesProblem, Reading, first_line, scan};
use crate::{MemoryLimit, small};
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
    /// The lines that are damaged and left out.
    pub damaged: Vec<Damage>,
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
            damaged: Vec::new(),
        }
    }

    /// Reads a journal, complete or while it is being written.
    pub fn open(path: &Path) -> Result<Self, LinesError> {
        let most = MemoryLimit::new(None).bytes() / 2;
        let bytes = small::read(path, most).map_err(|e| LinesProblem::from(e.problem).of(path))?;
        Self::parse(&bytes).map_err(|problem| problem.of(path))
    }

    /// Reads the bytes of a journal. A last line that was torn is left out.
    pub fn parse(bytes: &[u8]) -> Result<Self, LinesProblem> {
        if bytes.is_empty() {
            return Err(LinesProblem::Empty);
        }
        let (first, second) = first_line(bytes);
        let (header, sealed) = Header::parse_sealed(first)?;
        let mut journal = Self::new(header);
        let reading = Reading { sealed, ordered: KIND.ordered };
        let second = second.unwrap_or(bytes.len());
        let (good, damaged) = scan(bytes, second, reading, &mut journal);
        (journal.torn, journal.damaged) = (good < bytes.len(), damaged);
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

    /// An evaluation as it would be on record: with the key, the params and the loss that follow from its structure and
    /// its error. None where its numbers are no structure.
    pub fn consistent(&self, record: &Evaluation) -> Option<Evaluation> {
        check::consistent(&self.header, &self.structure(record)?, record).ok()
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
    fn take(&mut self, line: &[u8]) -> Result<(), String> {
        #[derive(Deserialize)]
        struct Mark {
            #[serde(default)]
            refused: bool,
        }
        let read = Line::parse(line).map_err(|e| e.to_string())?;
        if self.header.version < 3 && matches!(read, Line::Evaluation(_)) {
            let mark: Mark = serde_json::from_slice(line).map_err(|e| e.to_string())?;
            // Old journals may have a line for a fit that was refused; it says nothing.
            if mark.refused {
                return Ok(());
            }
        }
        self.end = None;
        match read {
            Line::Evaluation(record) => {
                self.check(&record, true)?;
                self.records.push(record);
            }
            Line::Generation(generation) => {
                check::time(generation.seconds)?;
                self.generations.push(generation);
            }
            Line::Begin(begin) => self.begins.push(begin),
            Line::End(end) => {
                check::time(end.seconds)?;
                if let Some(best) = &end.best {
                    self.check(best, false)?;
                }
                self.end = Some(*end);
            }
        }
        Ok(())
    }
}

impl JournalFile {
    /// Refuses what is no structure of the graph that was searched, or of the record's own, or contradicts itself.
    fn check(&mut self, record: &Evaluation, keyed: bool) -> Result<(), String> {
        if std::mem::take(&mut self.guessed) {
            let key = keyed.then_some(&*record.key);
            self.guess(&record.permutation, &record.ranks, key);
        }
        let structure = self.structure(record).ok_or_else(|| "no such structure".to_owned())?;
        check::evaluation(&self.header, &structure, record, keyed)
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

    /// An evaluation of a structure of that graph, with these numbers of its edges.
    fn evaluation(graph: &str, ranks: &[usize], more: &str) -> String {
        let graph = match graph.strip_prefix('{') {
            Some(_) => Template::from_json("own", graph).unwrap(),
            None => Template::parse(graph, 4).unwrap(),
        };
        let Ok(structure) = Structure::identity(Arc::new(graph), ranks.to_vec()) else {
            return line("none", ranks, 9, 100.0, more);
        };
        let (key, params) = (structure.canonical().graph.to_string(), structure.params(&[2; 4]));
        // The example's objective.
        line(&key, ranks, params, structure.phi(&[2; 4]) + 200.0 * 0.5, more)
    }

    fn line(key: &str, ranks: &[usize], params: u128, loss: f64, more: &str) -> String {
        format!(
            "{{\"run\":0,\"key\":\"{key}\",\"permutation\":[0,1,2,3],\"ranks\":{ranks:?},\"params\":{params},\
             \"rse\":0.5,\"loss\":{loss},\"sweeps\":1,\"restarts\":1,\"seconds\":0.5{more}}}"
        )
    }

    /// What is said about the damage of a journal.
    fn damage(text: &str) -> String {
        let read = JournalFile::parse(text.as_bytes()).unwrap();
        read.damaged.iter().map(|d| format!("{d}\n")).collect()
    }

    fn searched(text: &str) -> Result<String, String> {
        let journal = JournalFile::parse(text.as_bytes()).map_err(|e| e.to_string())?;
        Ok(journal.header.searched.name().to_owned())
    }

    #[test]
    fn a_journal_of_a_strategy_nobody_knows_is_read() {
        let line = evaluation("complete", &[2; 6], "");
        for version in [2, 3] {
            let text = journal(version, "ring", "my own", &[&line]);
            assert_eq!((searched(&text).unwrap(), damage(&text)), ("complete".into(), "".into()));
        }
        // What the first line says counts.
        let line = evaluation("ring", &[2; 4], "");
        let said = damage(&journal(3, "ring", "my own", &[&line]));
        assert_eq!(said, "line 2 is damaged (no such structure)\n");
    }

    #[test]
    fn a_structure_of_another_format_brings_its_graph() {
        let other =
            |of: &str, format: &str| evaluation(of, &[2; 3], &format!(",\"format\":{format}"));
        let named = other("path", r#"{"name":"path","template":"path"}"#);
        let graph = r#"{"vertices":[{"mode":true},{"mode":true},{"mode":true},{"mode":true}],"edges":[[0,1],[0,2],[0,3]]}"#;
        let own = other(graph, &format!(r#"{{"name":"any-tree","template":{graph}}}"#));
        let plain = evaluation("complete", &[2; 6], "");
        let text = journal(3, "ring", "my own", &[&named, &own, &plain]);
        let read = JournalFile::parse(text.as_bytes()).unwrap();
        let formats: Vec<&str> = read.records.iter().map(|r| read.format_of(r)).collect();
        assert_eq!(formats, ["path", "any-tree", "complete"]);
        assert!(read.records.iter().all(|r| read.structure(r).is_some()));
        let wrong = other("path", r#"{"name":"ring","template":"ring"}"#);
        assert!(damage(&journal(3, "ring", "my own", &[&wrong])).contains("no such structure"));
    }

    /// Lines as 0.3.0 wrote them: paths whose vertices carry several modes went by the name of all trees.
    #[test]
    fn a_structure_with_several_modes_at_a_vertex_is_read_from_an_old_journal() {
        let line = |key: &str, permutation: &[usize], ranks: &[usize], params: u32| {
            format!(
                "{{\"run\":0,\"key\":\"{key}\",\"permutation\":{permutation:?},\"ranks\":{ranks:?},\"params\":{params},\
                 \"rse\":0.5,\"loss\":{},\"sweeps\":0,\"restarts\":0,\"seconds\":0.5,\"effort\":\"direct\",\
                 \"format\":{{\"name\":\"any-tree\",\"template\":\"any-tree\"}}}}",
                f64::from(params) / 16.0 + 100.0
            )
        };
        let lines = [
            line("4+0/0.1,2.3:0-1x3", &[0, 0, 1, 1], &[3], 24),
            line("4+0/0.3,1,2:0-1x2,1-2x3", &[0, 1, 2, 0], &[2, 3], 26),
            line("4+0:0-1x2,1-2x2,2-3x2", &[0, 1, 2, 3], &[2, 2, 2], 24),
            // Where a walk that began elsewhere ended.
            line("4+0:~3.4", &[0, 0, 1, 1], &[3], 24),
        ];
        let refs: Vec<&str> = lines.iter().map(String::as_str).collect();
        let text = journal(4, "formats", "formats", &refs);
        assert_eq!(damage(&text), "");
        let read = JournalFile::parse(text.as_bytes()).unwrap();
        for record in &read.records {
            let structure = read.structure(record).unwrap();
            assert_eq!(structure.permutation(), record.permutation);
            assert_eq!(u128::from(record.params), structure.params(&[2; 4]));
            assert_eq!(read.format_of(record), "any-tree");
        }
        // One that contradicts itself is damaged as ever.
        let wrong = line("4+0/0.1,2.3:0-1x3", &[0, 0, 0, 1], &[3], 24);
        assert!(damage(&journal(4, "formats", "formats", &[&wrong])).contains("its key is"));
        let wrong = line("4+0/0.1,2.3:0-1x3", &[0, 0, 1, 1], &[3, 2], 24);
        assert!(damage(&journal(4, "formats", "formats", &[&wrong])).contains("no such structure"));
    }

    #[test]
    fn the_graph_of_an_old_journal_is_told_from_its_first_structure() {
        let four = evaluation("ring", &[2; 4], "");
        let six = evaluation("complete", &[2; 6], "");
        assert_eq!(searched(&journal(2, "ring", "greedy", &[])).unwrap(), "ring");
        assert_eq!(searched(&journal(2, "ring", "greedy", &[&four])).unwrap(), "ring");
        assert_eq!(searched(&journal(1, "ring", "tnls", &[&six])).unwrap(), "complete");
        let mixed = damage(&journal(2, "ring", "tnls", &[&four, &six]));
        assert_eq!(mixed, "line 3 is damaged (no such structure)\n");
        let none = damage(&journal(2, "ring", "tnls", &[&evaluation("ring", &[2; 5], "")]));
        assert_eq!(none, "line 2 is damaged (no such structure)\n");
        let end = "{\"end\":{\"strategy\":\"greedy\",\"stopped_by\":\"finished\",\"counts\":{\"samples\":0,\
                   \"evaluations\":0,\"cached\":0,\"pruned\":0,\"refused\":0},\"seconds\":1.0,\"best\":{\"run\":0,\
                   \"permutation\":[0,1,2,3],\"ranks\":[1,1,1,1,1,2],\"params\":12,\"rse\":0.5,\"loss\":100.75},\
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
            let key = structure.canonical().graph.to_string();
            let (params, phi) = (structure.params(&[2; 4]), structure.phi(&[2; 4]));
            let text = journal(2, "ht", "any", &[&line(&key, &ranks, params, phi + 100.0, "")]);
            assert_eq!((searched(&text).unwrap(), damage(&text)), (graph.name().into(), "".into()));
        }
        let neither = journal(2, "ht", "any", &[&line("k", &[2; 6], 9, 100.0, "")]);
        assert_eq!(searched(&neither).unwrap(), "ht");
        assert!(damage(&neither).starts_with("line 2 is damaged (its key is k, but"));
    }

    #[test]
    fn fits_that_were_refused_are_skipped() {
        let refused = evaluation("ring", &[2; 4], ",\"refused\":true");
        let fitted = evaluation("ring", &[3; 4], ",\"refused\":false");
        for version in [1, 2] {
            let text = journal(version, "ring", "tnls", &[&refused, &fitted]);
            let read = JournalFile::parse(text.as_bytes()).unwrap();
            let ranks: Vec<&[usize]> = read.records.iter().map(|r| &r.ranks[..]).collect();
            assert_eq!(ranks, [[3; 4]]);
        }
    }

    #[test]
    fn torn_ends_and_damage() {
        let line = evaluation("complete", &[2; 6], "");
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
        let damaged = text.replacen("{\"run\":0", "{\"run\":x", 1);
        assert!(damage(&damaged).starts_with("line 2 is damaged (expected value"));
        assert_eq!(JournalFile::parse(damaged.as_bytes()).unwrap().records.len(), 1);
        let wrong = damage(&text.replace("[0,1,2,3]", "[0,0,2,3]"));
        assert!(wrong.starts_with("line 2 is damaged (no such structure)\nline 3 "), "{wrong}");
    }

    #[test]
    fn a_record_that_contradicts_itself_is_left_out_with_or_without_a_checksum() {
        let good = evaluation("complete", &[2; 6], "");
        for (from, to, said) in [
            ("0-1x2", "0-1x3", "its key is 4+0:0-1x3"),
            ("[2, 2,", "[3, 2,", "its key is"),
            ("[0,1,2,3]", "[0,1,2]", "no such structure"),
            ("\"params\":64", "\"params\":46", "params is 46, but it follows that it is 64"),
            ("\"rse\":0.5", "\"rse\":-1", "no error is -1"),
            ("\"rse\":0.5", "\"rse\":0.4", "loss is 104, but it follows that it is 84"),
            ("\"loss\":104", "\"loss\":14", "loss is 14"),
            ("\"run\":0", "\"run\":9", "it is of run 9, but there are 9"),
            ("\"seconds\":0.5", "\"seconds\":-0.5", "no time is -0.5 seconds"),
            ("\"sweeps\":1", "\"sweeps\":-1", "invalid value"),
        ] {
            let bad = good.replacen(from, to, 1);
            assert_ne!(bad, good, "{from}");
            for lines in [
                [bad.clone(), good.clone()],
                [bad.clone(), good.clone()].map(|l| crate::lines::seal(&l)),
            ] {
                let text = journal(3, "ring", "tnls", &[&lines[0], &lines[1]]);
                let read = JournalFile::parse(text.as_bytes()).unwrap();
                assert_eq!(
                    (read.records.len(), read.damaged.len(), read.damaged[0].line),
                    (1, 1, 2)
                );
                assert!(read.damaged[0].reason.contains(said), "{}", read.damaged[0]);
            }
        }
    }
}
