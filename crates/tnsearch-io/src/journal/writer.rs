//! Writing the journal of a search.

use super::header::KIND;
use super::{BeginRecord, Header, JournalFile, line};
use crate::lines::{LinesError, LinesFile, LinesProblem, warnings};
use serde::Serialize;
use std::path::Path;
use tnsearch::search::{Evaluation, Event, GenerationRecord, Listener, ListenerError};

/// An open journal, locked against other processes for as long as it is open.
///
/// Every line survives a crash of the program. What was written before the last beginning, end or generation survives
/// a power cut, too.
#[derive(Debug)]
pub struct JournalWriter {
    lines: LinesFile,
    /// The version of its first line: an old journal is continued as one.
    version: u64,
    /// The last generation on record: those before are not written again after a resume.
    generation: u64,
}

impl JournalWriter {
    /// Opens the journal of a search, and reads what it has.
    ///
    /// A journal with something in it is taken only to `resume`, and only if it is of the same search. A last line
    /// that was torn is cut off.
    pub fn open(
        path: &Path,
        header: &Header,
        resume: bool,
    ) -> Result<(Self, JournalFile), LinesError> {
        let (lines, read) = LinesFile::open(path, &KIND, &header.to_value(), resume, |first| {
            Header::from_value(first).map(JournalFile::new)
        })?;
        let mut read = read;
        check_ranks(&read, header).map_err(|problem| problem.of(path))?;
        read.damaged = lines.damaged().to_vec();
        let generation = read.generations.last().map_or(0, |g| g.number);
        Ok((JournalWriter { lines, version: read.header.version, generation }, read))
    }

    /// What there is to say about lines that are damaged.
    pub fn warnings(&self) -> Vec<String> {
        let then = "it is not used, and what it says is computed again";
        warnings(self.lines.path(), self.lines.damaged(), then)
    }

    /// Notes that a search begins, or goes on.
    pub fn begin(&mut self, begin: &BeginRecord) -> Result<(), ListenerError> {
        self.mark(&line::begin(begin))
    }

    /// Writes a line that version 1 does not know, and brings all to the disk.
    fn mark(&mut self, line: &impl Serialize) -> Result<(), ListenerError> {
        if self.version > 1 {
            self.lines.append(line).map_err(ListenerError::new)?;
        }
        self.lines.sync().map_err(ListenerError::new)
    }

    fn evaluation(&mut self, evaluation: &Evaluation) -> Result<(), ListenerError> {
        /// Older programs insist on the last field.
        #[derive(Serialize)]
        struct Old<'a> {
            #[serde(flatten)]
            evaluation: &'a Evaluation,
            refused: bool,
        }
        match self.version < 3 {
            true => self.lines.append(&Old { evaluation, refused: false }),
            false => self.lines.append(evaluation),
        }
        .map_err(ListenerError::new)
    }

    fn generation(&mut self, generation: &GenerationRecord) -> Result<(), ListenerError> {
        if generation.number <= self.generation {
            return Ok(());
        }
        self.generation = generation.number;
        self.mark(&line::generation(generation))
    }
}

/// Before version 5 the first line does not say whether the largest rank was given, which decides how far walks go: the
/// command and the ranks on record do.
fn check_ranks(read: &JournalFile, now: &Header) -> Result<(), LinesProblem> {
    let (Some(widest), Some(most)) = (now.widest_rank, now.max_rank()) else { return Ok(()) };
    if read.header.version >= 5 {
        return Ok(());
    }
    let differs = |then: String| {
        Err(LinesProblem::Differs { name: "max_rank".to_owned(), then, now: widest.to_string() })
    };
    let found = read.records.iter().flat_map(|r| &r.ranks).max().map_or(0, |&rank| rank as u64);
    if found > widest {
        return differs(format!("{found} or more"));
    }
    let option = |word: &String| word == "--max-rank" || word.starts_with("--max-rank=");
    let mut commands = read.begins.iter().map(|begin| &begin.command);
    let first = commands.find(|command| command.first().is_some_and(|name| name == "tnsearch"));
    match first.map(|command| command.iter().any(option)) {
        Some(true) if widest > most => differs(most.to_string()),
        Some(false) if widest == most && now.would_go_beyond(most) => {
            differs("not given".to_owned())
        }
        _ => Ok(()),
    }
}

impl Listener for JournalWriter {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), ListenerError> {
        match event {
            Event::Evaluated(evaluation) => self.evaluation(evaluation),
            Event::Generation(generation) => self.generation(generation),
            Event::End(end) => self.mark(&line::end(end)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::header::tests::example;
    use super::super::{SAME_FITS, VERSION, check};
    use super::*;
    use serde_json::{Value, json};
    use tempfile::TempDir;
    use tnsearch::search::{Counts, Doing, EndRecord};

    fn record(run: usize) -> Evaluation {
        Evaluation {
            run,
            key: format!("3+0:0-1x{}", run + 2),
            permutation: vec![0, 1, 2],
            ranks: vec![run + 2, 1, 1],
            params: 7 * (run as u64 + 2) + 5,
            error: 0.1 + 0.2,
            loss: (7.0 * (run as f64 + 2.0) + 5.0) / 60.0 + 200.0 * (0.1 + 0.2),
            sweeps: 5,
            restarts: 1,
            seconds: 0.25,
            effort: Default::default(),
            format: None,
        }
    }

    fn generation(number: u64) -> GenerationRecord {
        GenerationRecord { number, counts: Default::default(), lower_bound: None, seconds: 0.5 }
    }

    /// A place for a journal, and the text of one with some evaluations.
    fn written(records: usize) -> (TempDir, std::path::PathBuf, String) {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("run.jsonl");
        let (mut journal, _) = JournalWriter::open(&path, &example(), false).unwrap();
        (0..records).for_each(|k| journal.evaluation(&record(k)).unwrap());
        let text = std::fs::read_to_string(&path).unwrap();
        (dir, path, text)
    }

    /// The same journal with another first line.
    fn with_header(text: &str, change: impl FnOnce(&mut serde_json::Map<String, Value>)) -> String {
        let (first, rest) = text.split_once('\n').unwrap();
        let mut header: Value = serde_json::from_str(first).unwrap();
        let sealed = header.as_object_mut().unwrap().remove("crc").is_some();
        change(header.as_object_mut().unwrap());
        match sealed {
            true => format!("{}\n{rest}", crate::lines::seal(&header.to_string())),
            false => format!("{header}\n{rest}"),
        }
    }

    fn old(text: &str, version: u64) -> String {
        let old = with_header(text, |header| {
            header["version"] = version.into();
            header.remove("max_rank");
            let data = header["data"].as_object_mut().unwrap();
            data.remove("dtype").and(data.remove("observed"));
            // Left out where it is so.
            header.remove("shrink");
            if version < 3 {
                header.remove("searched");
            }
        });
        without_checksums(&old)
    }

    fn without_checksums(text: &str) -> String {
        let line = |line: &str| match line.rfind(",\"crc\":\"") {
            Some(at) => format!("{}}}\n", &line[..at]),
            None => format!("{line}\n"),
        };
        text.lines().map(line).collect()
    }

    #[test]
    fn what_was_written_is_read_and_continued() {
        let (_dir, path, text) = written(2);
        assert!(text.contains("\"searched\":\"ring\"") && !text.contains("refused"), "{text}");
        let (mut journal, read) = JournalWriter::open(&path, &example(), true).unwrap();
        assert_eq!((read.header.clone(), read.records.len()), (example(), 2));
        journal.begin(&BeginRecord::default()).unwrap();
        journal.evaluation(&record(2)).unwrap();
        drop(journal);
        let read = JournalFile::open(&path).unwrap();
        assert_eq!(read.records, [record(0), record(1), record(2)]);
        assert_eq!((read.begins.len(), read.torn), (1, false));
    }

    #[test]
    fn a_journal_of_an_old_version_is_continued_as_one() {
        let (_dir, path, text) = written(2);
        for version in [1, 2, 3, 4] {
            let before = old(&text, version);
            std::fs::write(&path, &before).unwrap();
            let (mut journal, read) = JournalWriter::open(&path, &example(), true).unwrap();
            assert_eq!((read.records.len(), read.header.version), (2, version));
            journal.begin(&BeginRecord::default()).unwrap();
            journal.evaluation(&record(2)).unwrap();
            journal.generation(&generation(1)).unwrap();
            drop(journal);
            let after = std::fs::read_to_string(&path).unwrap();
            let more: Vec<&str> = after.strip_prefix(&before).unwrap().lines().collect();
            let evaluation = more[usize::from(version > 1)];
            assert_eq!(more.len(), if version == 1 { 1 } else { 3 });
            assert!(evaluation.starts_with("{\"run\":2,"), "{evaluation}");
            assert_eq!(evaluation.ends_with("\"refused\":false}"), version < 3, "{evaluation}");
            assert!(!after.contains("crc"), "it has none in its own version");
            let read = JournalFile::open(&path).unwrap();
            assert_eq!(read.records, [record(0), record(1), record(2)]);
        }
    }

    #[test]
    fn generations_on_record_are_not_written_again() {
        let (_dir, path, _) = written(0);
        let lines = || std::fs::read_to_string(&path).unwrap().lines().count();
        for (round, expected) in [(0, 6), (1, 7)] {
            let (mut journal, read) = JournalWriter::open(&path, &example(), true).unwrap();
            assert_eq!(read.records.len(), round);
            journal.begin(&BeginRecord::default()).unwrap();
            (1..=3).for_each(|g| journal.generation(&generation(g)).unwrap());
            if round == 0 {
                journal.evaluation(&record(0)).unwrap();
            }
            assert_eq!(lines(), expected);
        }
        assert_eq!(JournalFile::open(&path).unwrap().records, [record(0)]);
    }

    #[test]
    fn evaluations_generations_and_ends_are_heard() {
        let (_dir, path, _) = written(0);
        let (mut journal, _) = JournalWriter::open(&path, &example(), true).unwrap();
        let end = json!({"strategy": "tnls", "stopped_by": "finished", "counts": Counts::default(),
                         "seconds": 1.5, "best": record(0), "target_reached": true, "lower_bound": null,
                         "certified_optimal": false, "proven_impossible": false});
        let end: EndRecord = serde_json::from_value(end).unwrap();
        journal.hear(&Event::Doing(&Doing::Direct)).unwrap();
        journal.hear(&Event::Evaluated(&record(0))).unwrap();
        journal.hear(&Event::Generation(&generation(1))).unwrap();
        journal.hear(&Event::End(&end)).unwrap();
        drop(journal);
        let read = JournalFile::open(&path).unwrap();
        assert_eq!((read.records, read.end), (vec![record(0)], Some(end)));
        assert_eq!(read.generations, [generation(1)]);
        // A damaged line is told when it is opened, and what follows counts.
        let text = std::fs::read_to_string(&path).unwrap();
        let text = text.replacen("\"sweeps\":5", "\"sweeps\":6", 1);
        std::fs::write(&path, text).unwrap();
        let (journal, read) = JournalWriter::open(&path, &example(), true).unwrap();
        assert_eq!((read.records.len(), read.damaged.len(), journal.warnings().len()), (0, 1, 1));
        let said = &journal.warnings()[0];
        assert!(said.contains("it is not used, and what it says is computed again"), "{said}");
    }

    #[test]
    fn an_evaluation_that_contradicts_itself_is_refused() {
        let journal = JournalFile::new(example());
        let structure = journal.structure(&record(0)).unwrap();
        let taken = |change: &dyn Fn(&mut Evaluation)| {
            let mut changed = record(0);
            change(&mut changed);
            check::evaluation(&example(), &structure, &changed, true).is_ok()
        };
        assert!(taken(&|_| ()) && taken(&|r| r.loss = r.loss.next_up()));
        assert!(taken(&|r| (r.error, r.loss) = (0.0, 19.0 / 60.0)));
        assert!(!taken(&|r| (r.error, r.loss) = (-1e-9, 19.0 / 60.0 - 2e-7)));
        assert!(!taken(&|r| r.loss *= 1.0 + 3e-15) && !taken(&|r| r.error = f64::NAN));
        assert!(!taken(&|r| r.params += 1) && !taken(&|r| r.key = "3+0:0-1x3".to_owned()));
        assert!(!taken(&|r| r.seconds = -1.0) && !taken(&|r| r.seconds = f64::INFINITY));
        assert!(taken(&|r| r.run = 8) && !taken(&|r| r.run = 9));
        // What follows from the structure and the error can be put in.
        let mut bare = record(0);
        (bare.key, bare.params, bare.loss) = (String::new(), 0, 0.0);
        assert_eq!(journal.consistent(&bare), Some(record(0)));
        bare.ranks = vec![1];
        assert_eq!(journal.consistent(&bare), None);
    }

    #[test]
    fn the_tensor_is_named_by_the_last_who_began() {
        let mut journal = JournalFile::new(example());
        assert_eq!(journal.input(), None);
        for (input, said) in [("X.npy", Some("X.npy")), ("Y.npy", Some("Y.npy")), ("", None)] {
            journal.begins.push(BeginRecord { input: input.to_owned(), ..Default::default() });
            assert_eq!(journal.input(), said);
        }
        assert_eq!(journal.format_of(&record(0)), "ring");
    }

    #[test]
    fn programs_with_the_same_fits_continue_each_other() {
        let (_dir, path, text) = written(1);
        let by = |program: &str| {
            let text = with_header(&text, |header| header["tnsearch"] = program.into());
            std::fs::write(&path, text).unwrap();
            JournalWriter::open(&path, &example(), true).map_err(|e| e.problem.to_string())
        };
        for program in SAME_FITS {
            assert_eq!(by(program).unwrap().1.records.len(), 1);
        }
        // 0.2.0 has no word for splits.
        let old = with_header(&text, |header| {
            header.remove("reshaped");
        });
        std::fs::write(&path, old).unwrap();
        assert_eq!(JournalWriter::open(&path, &example(), true).unwrap().1.records.len(), 1);
        let now = env!("CARGO_PKG_VERSION");
        let text = format!("it was made with tnsearch \"0.1.0\", now tnsearch \"{now}\"");
        assert_eq!(by("0.1.0").unwrap_err(), text);
    }

    #[test]
    fn another_search_is_refused_by_name() {
        let (_dir, path, _) = written(1);
        let refusal = |change: &dyn Fn(&mut Header)| {
            let mut other = example();
            change(&mut other);
            JournalWriter::open(&path, &other, true).unwrap_err().problem.to_string()
        };
        assert_eq!(refusal(&|h| h.seed = 2), "it was made with seed 1, now seed 2");
        let entries = "it was made with a tensor of the same shape but other entries";
        assert_eq!(refusal(&|h| h.sha256 = "11".into()), entries);
        let path_graph = std::sync::Arc::new(tnsearch::graph::Template::path(3).unwrap());
        assert_eq!(
            refusal(&|h| {
                h.template = path_graph.clone();
                h.searched = path_graph.clone();
            }),
            "it was made with template \"ring\", now template \"path\""
        );
        assert_eq!(
            refusal(&|h| h.searched = path_graph.clone()),
            "it was made with searched \"ring\", now searched \"path\""
        );
        assert_eq!(
            refusal(&|h| h.settings = json!({"max_rank": 3})),
            "it was made with settings.max_rank 7, now settings.max_rank 3"
        );
        assert_eq!(
            refusal(&|h| h.widest_rank = Some(31)),
            "it was made with max_rank 7, now max_rank 31"
        );
        assert_eq!(
            refusal(&|h| h.dtype = Some("f32".into())),
            "it was made with data.dtype \"f64\", now data.dtype \"f32\""
        );
        assert_eq!(
            refusal(&|h| h.own = Some("v2".into())),
            "it was made with fingerprint null, now fingerprint \"v2\""
        );
        assert_eq!(
            refusal(&|h| h.shrink = false),
            "it was made with shrink true, now shrink false"
        );
        // What others follow from is to blame.
        assert_eq!(
            refusal(&|h| {
                (h.direct, h.max_phi, h.widest_rank) = (false, Some(1.0), Some(5));
                h.template = path_graph.clone();
            }),
            "it was made with direct true, now direct false"
        );
        assert_eq!(
            refusal(&|h| {
                h.strategy = "walk".into();
                (h.max_phi, h.settings, h.fit) = (None, Value::Null, Value::Null);
            }),
            "it was made with strategy \"tnls\", now strategy \"walk\""
        );
        // Another method has other defaults.
        let of = |method: &str, restarts: u64| json!({"method": method, "restarts": restarts});
        let other = path.with_extension("fit");
        let fitted = |fit: Value| Header { fit, ..example() };
        drop(JournalWriter::open(&other, &fitted(of("als", 4)), false).unwrap());
        let refused = |fit: Value| {
            let refused = JournalWriter::open(&other, &fitted(fit), true).unwrap_err();
            refused.problem.to_string()
        };
        assert_eq!(
            refused(of("adam", 8)),
            "it was made with fit.method \"als\", now fit.method \"adam\""
        );
        assert_eq!(refused(of("als", 8)), "it was made with fit.restarts 4, now fit.restarts 8");
        // Another split makes other data: the split is to blame.
        let split = tnsearch::tensor::Reshape::shape(&[12, 5], vec![3, 4, 5], false).unwrap();
        let refused = refusal(&|h| {
            h.reshaped = split.clone();
            h.sha256 = "11".into();
        });
        assert!(refused.starts_with("it was made with reshaped null, now reshaped {"), "{refused}");
    }

    /// Until 0.3.0 the default search had the settings of tnls on record, which it does not use.
    #[test]
    fn the_default_search_of_an_old_journal_is_continued() {
        let (_dir, path, text) = written(0);
        let walk = json!({"max_rank": 7, "steps": 20, "width": 2, "patience": 12});
        let tnls = json!({"max_rank": 7, "iterations": 30, "samples": 60, "c1": 0.9, "c2": null});
        let open = |then: &Value, strategy: &str, now: &Value| {
            let header = with_header(&old(&text, 4), |header| {
                header["strategy"] = strategy.into();
                header["settings"] = then.clone();
            });
            std::fs::write(&path, header).unwrap();
            let now = Header { strategy: strategy.to_owned(), settings: now.clone(), ..example() };
            JournalWriter::open(&path, &now, true).map(|_| ()).map_err(|e| e.problem.to_string())
        };
        assert_eq!(open(&tnls, "auto", &walk), Ok(()));
        assert_eq!(open(&walk, "auto", &walk), Ok(()));
        let other = json!({"max_rank": 7, "steps": 9, "width": 2, "patience": 12});
        assert!(open(&other, "auto", &walk).unwrap_err().contains("steps"));
        assert!(open(&tnls, "auto", &other).unwrap_err().contains("steps"));
        let wider = json!({"max_rank": 8, "iterations": 30, "samples": 60, "c1": 0.9, "c2": null});
        assert!(open(&wider, "auto", &walk).is_err());
        assert!(open(&tnls, "walk", &walk).is_err());
    }

    /// The first line of an old journal does not say whether the largest rank was given; its command and its ranks do.
    #[test]
    fn the_largest_rank_of_an_old_journal_is_told_from_what_it_has() {
        let (_dir, path, text) = written(0);
        let of = |strategy: &str, widest: u64| Header {
            strategy: strategy.to_owned(),
            dims: vec![30, 40, 50],
            widest_rank: Some(widest),
            ..example()
        };
        let open = |strategy: &str, command: &[&str], largest: usize, widest: u64| {
            let header = with_header(&old(&text, 4), |header| {
                header["strategy"] = strategy.into();
                header["data"]["dims"] = json!([30, 40, 50]);
            });
            let begin = json!({"begin": {"input": "X.npy", "command": command}});
            let (loss, params) = ((70 * largest + 50) as f64 / 60000.0 + 100.0, 70 * largest + 50);
            let record = json!({"key": format!("3+0:0-1x{largest}"), "permutation": [0, 1, 2],
                "ranks": [largest, 1, 1], "params": params, "rse": 0.5, "loss": loss});
            let record = format!("{{\"run\":0,{}", &record.to_string()[1..]);
            std::fs::write(&path, format!("{header}{begin}\n{record}\n")).unwrap();
            let opened = JournalWriter::open(&path, &of(strategy, widest), true);
            opened.map(|(_, read)| read.records.len()).map_err(|e| e.problem.to_string())
        };
        let (plain, given): (&[&str], &[&str]) =
            (&["tnsearch", "search", "X.npy"], &["tnsearch", "search", "X.npy", "--max-rank", "7"]);
        let refused = |then: &str, now: u64| {
            Err(format!("it was made with max_rank {then}, now max_rank {now}"))
        };
        assert_eq!(open("walk", plain, 7, 244), Ok(1));
        assert_eq!(open("walk", given, 7, 7), Ok(1));
        assert_eq!(open("walk", plain, 7, 7), refused("not given", 7));
        assert_eq!(open("walk", plain, 9, 7), refused("9 or more", 7));
        assert_eq!(open("walk", given, 7, 244), refused("7", 244));
        assert_eq!(
            open("walk", &["tnsearch", "search", "--max-rank=7"], 7, 244),
            refused("7", 244)
        );
        // Others have the same limit in either case, and of Python nothing is known but the ranks.
        assert_eq!(open("tnls", plain, 7, 7), Ok(1));
        assert_eq!(open("walk", &["python", "tnsearch.search"], 7, 7), Ok(1));
        assert_eq!(open("walk", &["python", "tnsearch.search"], 8, 7), refused("8 or more", 7));
    }

    #[test]
    fn a_newer_journal_is_left_alone() {
        let (_dir, path, text) = written(1);
        let newer = with_header(&text, |header| header["version"] = (VERSION + 1).into());
        std::fs::write(&path, &newer).unwrap();
        let refused = JournalWriter::open(&path, &example(), true).unwrap_err().problem;
        assert_eq!(refused.to_string(), "it was made with version 6, now version 5");
        assert_eq!(std::fs::read_to_string(&path).unwrap(), newer);
    }
}
