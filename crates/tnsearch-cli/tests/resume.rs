//! What a journal is resumed with: the same search gives the same bits, a changed one is refused by name.
#![cfg(unix)]

mod common;

use common::{Ended, Place, doubles, npy, timeless};
use serde_json::Value;
use std::collections::BTreeSet;
use tnsearch::search::{Graphs, OptionKind, StrategySpec, all_strategies};
use tnsearch_io::Picture;

/// What becomes of a resume with a changed option.
#[derive(Clone, Copy)]
enum Then {
    /// It is refused, and this is said.
    Refused(&'static str),
    /// The answer is the same.
    Same,
    /// The answer is that of a new search with it: it says where to end.
    Budget,
    /// It is tested elsewhere, or what the test is about.
    Elsewhere,
}

use Then::{Budget, Elsewhere, Refused, Same};

/// Searches of these kinds have options that others do not.
const DEFAULT: &str = "x.npy --max-re 0.2";
const TNLS: &str = "x.npy --strategy tnls --iterations 2 --samples 4 --lambda 5";
const ADAM: &str = "x.npy --strategy random --iterations 1 --samples 2 --fit adam --max-sweeps 20";
const KL: &str = "x.npy --template ring --loss kl --max-loss 0.3 --max-evaluations 3";
const HOLES: &str = "x.npy --template ring --mask m.npy --max-evaluations 3";
const SPLIT: &str = "long.npy --split 3x4,3x3 --max-re 0.2";
const PICTURE: &str = "p.png --tensorise vdt --factors 4x4,4x2 --max-re 0.2";

/// Every option of `search` but those of strategies: a search, and what is changed in it or added.
const OPTIONS: &[(&str, &str, &str, Then)] = &[
    ("dtype", DEFAULT, "--dtype f32", Refused("data.dtype \"f64\", now data.dtype \"f32\"")),
    ("split", SPLIT, "--split 4x3,3x3", Refused("reshaped")),
    ("reshape", DEFAULT, "--reshape 9x9", Refused("reshaped null, now reshaped {")),
    ("column-major", SPLIT, "--column-major", Refused("reshaped")),
    ("tensorise", PICTURE, "--tensorise reshape", Refused("reshaped")),
    ("factors", PICTURE, "--factors 2x2,8x4", Refused("reshaped")),
    ("grey", PICTURE, "--grey", Refused("reshaped")),
    ("resize", PICTURE, "--resize 16x8", Refused("reshaped")),
    ("crop", PICTURE, "--crop --resize 16x16", Refused("reshaped")),
    ("mask", HOLES, "--mask other.npy", Refused("other entries")),
    (
        "mask-marks",
        HOLES,
        "--mask-marks observed",
        Refused("data.observed 78, now data.observed 3"),
    ),
    ("nan-missing", HOLES, "--nan-missing", Same),
    ("loss", KL, "--loss huber:0.5", Refused("measure.id \"kl\", now measure.id \"huber")),
    ("max-loss", KL, "--max-loss 0.2", Refused("objective")),
    (
        "lambda",
        TNLS,
        "--lambda 6",
        Refused("objective {\"lambda\":5.0}, now objective {\"lambda\":6.0}"),
    ),
    ("max-re", DEFAULT, "--max-re 0.3", Refused("objective {\"max_rse\"")),
    ("max-rse", DEFAULT, "--max-re --max-rse 0.3", Refused("objective {\"max_rse\"")),
    (
        "max-params",
        DEFAULT,
        "--max-re --max-params 40",
        Refused("now objective {\"max_params\":40}"),
    ),
    (
        "template",
        DEFAULT,
        "--template path",
        Refused("template \"formats\", now template \"path\""),
    ),
    ("max-rank", DEFAULT, "--max-rank 7", Refused("max_rank 9, now max_rank 7")),
    ("max-rank", TNLS, "--max-rank 3", Refused("max_rank 7, now max_rank 3")),
    ("strategy", TNLS, "--strategy random", Refused("strategy \"tnls\", now strategy \"random\"")),
    ("runs", TNLS, "--runs 2", Refused("runs 1, now runs 2")),
    ("seed", DEFAULT, "--seed 3", Refused("seed 0, now seed 3")),
    ("no-prune", TNLS, "--no-prune", Same),
    ("no-shrink", DEFAULT, "--no-shrink", Refused("shrink true, now shrink false")),
    ("no-direct", DEFAULT, "--no-direct", Refused("direct true, now direct false")),
    ("certificate-nodes", TNLS, "--certificate-nodes 0", Same),
    ("fit", TNLS, "--fit lm", Refused("fit.method \"als\", now fit.method \"lm\"")),
    ("restarts", DEFAULT, "--restarts 2", Refused("fit.restarts 4, now fit.restarts 2")),
    ("scouts", DEFAULT, "--scouts 2", Refused("fit.scouts")),
    (
        "max-sweeps",
        DEFAULT,
        "--max-sweeps 90",
        Refused("fit.max_sweeps 200, now fit.max_sweeps 90"),
    ),
    ("tolerance", DEFAULT, "--tolerance 0.1", Refused("fit.tolerance 0.01, now fit.tolerance 0.1")),
    ("stop-rse", DEFAULT, "--stop-rse 1e-5", Refused("fit.stop_rse")),
    ("carry", TNLS, "--carry", Refused("fit.carry")),
    ("learning-rate", ADAM, "--learning-rate 0.01", Refused("fit.learning_rate 0.001, now")),
    ("sigma", ADAM, "--sigma 0.2", Refused("fit.sigma 0.1, now fit.sigma 0.2")),
    ("rescue", DEFAULT, "--rescue 1", Refused("fit.rescue")),
    ("max-phi", DEFAULT, "--max-phi 3", Refused("max_phi 1.0, now max_phi 3.0")),
    ("max-cost", DEFAULT, "--max-cost 77", Refused("max_cost")),
    ("max-evaluations", TNLS, "--max-evaluations 2", Budget),
    ("max-seconds", DEFAULT, "--max-seconds 1e6", Same),
    ("threads", DEFAULT, "--threads 3", Same),
    ("max-memory", DEFAULT, "--max-memory 1GB", Same),
    ("output", DEFAULT, "", Same),
    ("pareto", DEFAULT, "--pareto front", Same),
    ("report", DEFAULT, "--report page.html", Same),
    ("certificate", DEFAULT, "--certificate proof.json", Same),
    ("certificate-cases", DEFAULT, "--certificate proof.json --certificate-cases 9", Same),
    ("json", DEFAULT, "", Same),
    ("quiet", DEFAULT, "", Same),
    ("progress", DEFAULT, "--no-quiet --progress", Same),
    // In tests/package/test_cluster.py.
    ("cluster", DEFAULT, "", Elsewhere),
    ("journal", DEFAULT, "", Elsewhere),
    ("resume", DEFAULT, "", Elsewhere),
    ("help", DEFAULT, "", Elsewhere),
];

/// Where the searches of this file find their data.
fn place() -> Place {
    let place = Place::new();
    let entry =
        |k: usize| 1.0 + (k as f64 * 0.7).sin() * (k as f64 * 0.31).cos() + 0.01 * (k % 7) as f64;
    let numbers = |n: usize| doubles(&(0..n).map(entry).collect::<Vec<_>>());
    place.write("x.npy", npy("<f8", &[3; 4], &numbers(81)));
    place.write("long.npy", npy("<f8", &[12, 9], &numbers(108)));
    let flags = |at: &[usize]| (0..81).map(|k| u8::from(at.contains(&k))).collect::<Vec<_>>();
    place.write("m.npy", npy("|b1", &[3; 4], &flags(&[4, 17, 60])));
    place.write("other.npy", npy("|b1", &[3; 4], &flags(&[4, 17, 61])));
    let samples = (0..16 * 8 * 3).map(|k| entry(k) / 3.0).collect();
    place.write("p.png", Picture::new(16, 8, 3, samples).unwrap().to_png().unwrap());
    place
}

/// The words of a search with others changed or added: `--name` alone takes one away.
fn changed(base: &str, change: &str) -> String {
    let mut words: Vec<&str> = base.split_whitespace().collect();
    let mut new = change.split_whitespace().peekable();
    while let Some(word) = new.next() {
        let value = new.next_if(|next| !next.starts_with("--"));
        if let Some(at) = words.iter().position(|w| *w == word) {
            words.drain(at..(at + 2).min(words.len()));
            if value.is_none() {
                continue;
            }
        }
        if word != "--no-quiet" {
            words.push(word);
            words.extend(value);
        }
    }
    words.join(" ")
}

/// Runs a search, and what it wrote.
fn search(place: &Place, args: &str, more: &str) -> (Ended, Option<(Value, Vec<u8>)>) {
    for name in ["out.json", "net"] {
        let _ = std::fs::remove_file(place.path(name));
    }
    let quiet = if args.contains("--progress") { "" } else { "--quiet" };
    let ended = place.run_as_it_is(&format!("search {args} {more} {quiet} --json out.json -o net"));
    let wrote = (ended.code < 2).then(|| {
        let json = serde_json::from_slice(&place.read("out.json")).unwrap();
        (timeless(json), std::fs::read(place.path("net")).unwrap_or_default())
    });
    (ended, wrote)
}

/// The option that a line of help is about.
fn long_option(line: &str) -> Option<String> {
    let line = line.trim_start();
    // "-o, --output"
    let line = if line.get(2..4) == Some(", ") { &line[4..] } else { line };
    let name = line.strip_prefix("--")?;
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(name.len());
    Some(name[..end].to_owned())
}

/// What is the answer of a summary: all but what proofs and pruning have to do with.
fn answer(summary: &Value) -> Value {
    let fields = ["params", "rse", "loss", "template", "permutation", "edges", "dims", "seed"];
    fields.iter().map(|&name| summary.get(name).cloned().unwrap_or_default()).collect()
}

#[test]
fn every_option_is_refused_by_its_name_or_changes_no_answer() {
    let place = place();
    let mut known: BTreeSet<&str> = OPTIONS.iter().map(|(name, ..)| *name).collect();
    known.extend(all_strategies().into_iter().flat_map(|d| d.options).map(|o| o.name));
    let help = place.run_as_it_is("search --help").stdout;
    let listed: BTreeSet<String> = help.lines().filter_map(long_option).collect();
    assert!(listed.len() > 50, "{listed:?}");
    let missing: Vec<_> = listed.iter().filter(|name| !known.contains(name.as_str())).collect();
    assert!(missing.is_empty(), "say in OPTIONS what a resume with {missing:?} does");
    let gone: Vec<_> = known.iter().filter(|name| !listed.contains(**name)).collect();
    assert!(gone.is_empty(), "{gone:?} are no options any more");
    let mut made: Vec<&str> = Vec::new();
    for (name, base, change, then) in OPTIONS {
        let journal =
            format!("journal-{}", made.iter().position(|b| b == base).unwrap_or(made.len()));
        if !made.contains(base) {
            let (ended, wrote) = search(&place, base, &format!("--journal {journal}"));
            assert!(wrote.is_some(), "{base}: {ended:?}");
            made.push(base);
        }
        let text = place.read(&journal);
        let resume = format!("--journal {journal} --resume");
        let asked = changed(base, change);
        let what = format!("--{name}: {base} resumed as {asked}");
        let (ended, wrote) = match then {
            Elsewhere => continue,
            _ => search(&place, &asked, &resume),
        };
        match then {
            Refused(words) => {
                assert_eq!(ended.code, 2, "{what}: {ended:?}");
                let errors = ended.stderr.lines().filter(|line| line.starts_with("error: "));
                assert_eq!(errors.count(), 1, "{what}: {}", ended.stderr);
                let said = format!("journal {journal}: it was made with ");
                assert!(ended.stderr.contains(&said), "{what}: {}", ended.stderr);
                assert!(ended.stderr.contains(words), "{what}: {}", ended.stderr);
                assert_eq!(place.read(&journal), text, "{what}: it was touched");
            }
            Same | Budget => {
                let (summary, network) = wrote.unwrap_or_else(|| panic!("{what}: {ended:?}"));
                assert!(!ended.stderr.contains("warning"), "{what}: {}", ended.stderr);
                let other = if matches!(then, Same) { *base } else { &*asked };
                let (_, fresh) = search(&place, other, "");
                let (expected, cores) = fresh.unwrap();
                assert_eq!(answer(&summary), answer(&expected), "{what}");
                assert!(network == cores, "{what}: another network");
                place.write(&journal, text);
            }
            Elsewhere => {}
        }
    }
}

#[test]
fn every_option_of_every_strategy_is_refused_by_its_name() {
    let place = place();
    for strategy in all_strategies() {
        let template = match strategy.graphs {
            Graphs::Trees => "any-tree",
            Graphs::Formats => "formats",
            _ => "ring",
        };
        let name = strategy.name;
        let base = format!("x.npy --template {template} --strategy {name} --max-rse 0.1");
        let journal = format!("--journal {name}.jsonl");
        let (ended, wrote) = search(&place, &base, &format!("{journal} --max-evaluations 2"));
        assert!(wrote.is_some(), "{base}: {ended:?}");
        for option in strategy.options {
            let value = match (option.kind, strategy.default_of(option.name)) {
                (OptionKind::Real, Some(value)) => (0.9 * value.as_f64().unwrap()).to_string(),
                (OptionKind::Real, None) => "0.5".to_owned(),
                (_, value) => (1 + value.and_then(|v| v.as_u64()).unwrap_or(1)).to_string(),
            };
            // Options of tnls are those of the default where it begins at random.
            let walks = StrategySpec::new(name).set(option.name, 1).check(3.into()).is_ok();
            let dead = !walks && name == StrategySpec::default().name;
            let (base, journal) = match dead {
                true => (format!("{base} --no-direct"), format!("--journal {name}-random.jsonl")),
                false => (base.clone(), journal.clone()),
            };
            if dead {
                search(&place, &base, &format!("{journal} --max-evaluations 2"));
            }
            let asked = format!("{base} --{} {value}", option.name);
            let (ended, _) = search(&place, &asked, &format!("{journal} --resume"));
            assert_eq!((ended.code, ended.stderr.lines().count()), (2, 1), "{asked}: {ended:?}");
            let field = option.name.replace('-', "_");
            let named = ["settings", "exact"]
                .iter()
                .any(|of| ended.stderr.contains(&format!("it was made with {of}.{field} ")));
            assert!(named, "{asked}: {}", ended.stderr);
        }
    }
}

/// Searches of many kinds, small enough to be made many times.
fn kinds() -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let goals = ["--max-re 0.2", "--lambda 5", "--max-params 40"];
    // Each template with each goal; without one several formats are tried.
    for template in
        ["", "path", "ring", "star", "tree", "tucker", "ht", "complete", "any", "any-tree"]
    {
        let template =
            if template.is_empty() { String::new() } else { format!("--template {template}") };
        let most = "--max-evaluations 12";
        all.extend(goals.iter().map(|goal| format!("x.npy {template} {goal} {most}")));
    }
    // Each strategy.
    for (k, strategy) in all_strategies().into_iter().enumerate() {
        let template = match strategy.graphs {
            Graphs::Trees => "any-tree",
            Graphs::Formats => "formats",
            Graphs::All => "any",
            _ => ["ring", "path"][k % 2],
        };
        let (name, goal) = (strategy.name, goals[k % 3]);
        let base =
            format!("x.npy --template {template} --strategy {name} {goal} --max-evaluations 9");
        all.push(base.clone());
        all.push(format!("{base} --no-prune --runs 2 --seed 4"));
    }
    // Other data.
    all.extend(
        [
            "x.npy --dtype f32",
            "x.npy --dtype complex64 --max-re 0.1",
            "z.npy --max-re 0.1",
            "z.npy --template any-tree --max-re 0.3",
            "long.npy --split auto",
            "long.npy --reshape 3x4x3x3 --max-re 0.1 --column-major",
            "p.png --max-re 0.1 --max-evaluations 9",
            "x.npy --mask m.npy --template ring --max-evaluations 5",
            "x.npy --mask m.npy --max-evaluations 5",
            "x.npy --loss kl --max-evaluations 4",
            "x.npy --loss huber:0.5 --template path --max-evaluations 4",
            "x.npy --no-shrink --max-re 0.1",
            "x.npy --no-direct --max-evaluations 9",
            "x.npy --max-rank 2 --max-re 0.1",
            "six.npy --max-re 0.05",
            "six.npy --template any-tree --lambda 20",
        ]
        .map(str::to_owned),
    );
    all
}

fn with_more_data() -> Place {
    let place = place();
    let complex = |k: usize| [(k as f64 * 0.37).sin(), (k as f64 * 0.91).cos()];
    place.write(
        "z.npy",
        npy("<c16", &[4, 3, 5], &doubles(&(0..60).flat_map(complex).collect::<Vec<_>>())),
    );
    // Pairs of modes that belong together: vertices with several.
    let pairs = |k: usize| {
        let digit = |n: u32| (k / 2usize.pow(n) % 2) as f64;
        let (a, b, c) = (digit(0) * digit(3), digit(1) - digit(4), digit(2) + 2.0 * digit(5));
        1.0 + a * b + (b * c).sin() + 0.3 * c
    };
    place.write("six.npy", npy("<f8", &[2; 6], &doubles(&(0..64).map(pairs).collect::<Vec<_>>())));
    place
}

#[test]
fn an_untouched_journal_is_resumed_without_a_word_to_the_same_bits() {
    let place = with_more_data();
    let mut grouped = 0;
    for (k, args) in kinds().iter().enumerate() {
        let journal = format!("--journal {k}.jsonl");
        let (ended, first) = search(&place, args, &journal);
        let first = first.unwrap_or_else(|| panic!("{args}: {ended:?}"));
        let text = String::from_utf8(place.read(&format!("{k}.jsonl"))).unwrap();
        let lines = |text: &str| text.lines().filter(|l| l.starts_with("{\"run\"")).count();
        grouped += text
            .lines()
            .filter(|l| l.starts_with("{\"run\"") && l.contains("\"key\":\"4+0/"))
            .count();
        let (ended, again) = search(&place, args, &format!("{journal} --resume"));
        assert_eq!(ended.stderr, "", "{args}");
        assert!(again.unwrap() == first, "{args}");
        let after = String::from_utf8(place.read(&format!("{k}.jsonl"))).unwrap();
        assert!(after.starts_with(&text), "{args}");
        assert_eq!(lines(&after), lines(&text), "{args}: something was computed again");
        for command in
            [format!("report {k}.jsonl -o page.html --quiet"), format!("watch {k}.jsonl")]
        {
            let ended = place.run_as_it_is(&command);
            assert_eq!((ended.code, &*ended.stderr), (0, ""), "{args}: {command}");
        }
    }
    assert!(grouped > 10, "{grouped} structures with several modes at a vertex");
}

#[test]
fn a_journal_that_ends_after_any_line_is_resumed_to_the_same_bits() {
    let place = with_more_data();
    for args in [
        "x.npy --max-re 0.1",
        "six.npy --template any-tree --max-re 0.05",
        "x.npy --template ring --strategy tnls --iterations 2 --samples 5 --lambda 5 --runs 2 --carry",
    ] {
        let _ = std::fs::remove_file(place.path("run.jsonl"));
        let (_, first) = search(&place, args, "--journal run.jsonl");
        let (first, text) = (first.unwrap(), String::from_utf8(place.read("run.jsonl")).unwrap());
        let ends: Vec<usize> = text.match_indices('\n').map(|(at, _)| at + 1).collect();
        for &end in ends.iter().take(ends.len() - 1) {
            place.write("run.jsonl", &text[..end]);
            let (ended, again) = search(&place, args, "--journal run.jsonl --resume");
            assert_eq!(ended.stderr, "", "{args} cut at {end}");
            assert!(again.unwrap() == first, "{args} cut at {end}");
        }
    }
}
