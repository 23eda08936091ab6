//! What exact search proves: hidden rings as in the paper, the same with noise, other templates, and what
//! pruning saves TNLS.

use super::{median, number_list, program, read, whole};
use crate::json::number;
use crate::step;
use anyhow::{Context, Result, bail};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

pub const ABOUT: &str = "exact search with proofs on hidden rings, with noise, and pruned TNLS \
                         (--orders 4,6,8,10 --count 20 --noise 10 --templates 4 --pruning 10 --quick)";

/// Mode dimension and largest RSE of the paper's synthetic tables.
const DIM: usize = 3;
const MAX_RSE: f64 = 1e-4;
/// The order of the noisy rings, their signal-to-noise ratio in dB, and the error allowed over the noise.
const NOISY_ORDER: usize = 6;
const NOISE_DB: &str = "40";
const OVER_NOISE: f64 = 1.1;
/// The other templates that are searched, with their orders.
const TEMPLATES: [(&str, usize); 4] = [("tree", 7), ("ht", 6), ("peps:2x3", 6), ("mera", 8)];
/// The orders at which TNLS is run with and without pruning.
const PRUNING_ORDERS: [usize; 2] = [6, 8];

#[derive(Debug, PartialEq)]
struct Options {
    orders: Vec<usize>,
    count: usize,
    noise: usize,
    templates: usize,
    pruning: usize,
    quick: bool,
}

impl Options {
    fn parse(arguments: &[String]) -> Result<Options> {
        let quick = arguments.iter().any(|word| word == "--quick");
        // Quick shows that the experiment works.
        let mut options = match quick {
            true => {
                Options { orders: vec![4, 6], count: 2, noise: 1, templates: 0, pruning: 1, quick }
            }
            false => Options {
                orders: vec![4, 6, 8, 10],
                count: 20,
                noise: 10,
                templates: 4,
                pruning: 10,
                quick,
            },
        };
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let mut value = || words.next().with_context(|| format!("{word} needs a value"));
            match word.as_str() {
                "--orders" => options.orders = number_list(value()?)?,
                "--count" => options.count = whole(value()?)?,
                "--noise" => options.noise = whole(value()?)?,
                "--templates" => options.templates = whole(value()?)?,
                "--pruning" => options.pruning = whole(value()?)?,
                "--quick" => {}
                _ => bail!(
                    "unknown option '{word}'; use --orders 4,6,8,10 --count 20 --noise 10 \
                     --templates 4 --pruning 10 --quick"
                ),
            }
        }
        if let Some(order) = options.orders.iter().find(|&&n| !(3..=12).contains(&n)) {
            bail!("--orders has {order}; a ring of dimension {DIM} is searched at orders 3 to 12");
        }
        Ok(options)
    }
}

/// What one exact search ended with.
#[derive(Debug, Clone, PartialEq)]
struct Proof {
    certified: bool,
    /// Whether a structure within the error was found.
    reached: bool,
    /// Params of the hidden structure / params of the one found.
    eff: f64,
    /// Params of the one found / the proven lower bound, less 1; none without either.
    gap: Option<f64>,
    evaluations: f64,
    seconds: f64,
}

impl Proof {
    fn read(report: &Value, hidden_params: f64) -> Result<Proof> {
        // Nothing found: no params.
        let params = report["params"].as_f64().unwrap_or(f64::INFINITY);
        let flag = |key: &str| report[key].as_bool().with_context(|| format!("no flag \"{key}\""));
        Ok(Proof {
            certified: flag("certified_optimal")?,
            reached: flag("target_reached")?,
            eff: hidden_params / params,
            gap: match report["lower_bound"]["params"].as_f64() {
                Some(bound) if params.is_finite() => Some(params / bound - 1.0),
                _ => None,
            },
            evaluations: number(report, "evaluations")?,
            seconds: number(report, "seconds")?,
        })
    }

    /// As small as the hidden structure, and within the error.
    fn success(&self) -> bool {
        self.reached && self.eff >= 1.0
    }
}

/// TNLS with and without pruning, from the same seed.
#[derive(Debug, Clone, PartialEq)]
struct Pair {
    /// Whether permutation, ranks and error are the same.
    same: bool,
    evaluations: [f64; 2],
    seconds: [f64; 2],
}

impl Pair {
    fn read([with, without]: [&Value; 2]) -> Result<Pair> {
        let fields =
            |key: &str| -> Result<[f64; 2]> { Ok([number(with, key)?, number(without, key)?]) };
        Ok(Pair {
            same: ["permutation", "edges", "rse"].iter().all(|&key| with[key] == without[key]),
            evaluations: fields("evaluations")?,
            seconds: fields("seconds")?,
        })
    }

    /// How many times fewer evaluations.
    fn ratio(&self) -> f64 {
        self.evaluations[1] / self.evaluations[0]
    }
}

/// Generates the rings, searches each, and prints the tables.
pub fn run(arguments: &[String]) -> Result<()> {
    let options = Options::parse(arguments).map_err(|e| step::usage(format!("{e:#}")))?;
    let lab = Lab { program: program()? };
    let mut exact = Vec::new();
    for &order in &options.orders {
        exact.push((order.to_string(), lab.exact(&Kind::ring(order), options.count)?));
    }
    if options.noise > 0 {
        let label = format!("{NOISY_ORDER}, {NOISE_DB} dB");
        let kind = Kind { noisy: true, ..Kind::ring(NOISY_ORDER) };
        exact.push((label, lab.exact(&kind, options.noise)?));
    }
    for (template, order) in TEMPLATES.into_iter().filter(|_| options.templates > 0) {
        let kind = Kind { template, order, noisy: false, max_rank: "4", sigma: "0.3162" };
        exact.push((format!("{order}, {template}"), lab.exact(&kind, options.templates)?));
    }
    let mut pruning = Vec::new();
    for order in PRUNING_ORDERS.into_iter().filter(|_| options.pruning > 0) {
        pruning.push((order, lab.pruning(order, options.pruning)?));
    }
    if options.quick {
        println!("\nQuick: fewer rings than the figures in the documents rest on.");
    }
    print!("\n{}", exact_table(&exact));
    if !pruning.is_empty() {
        print!("\n{}", pruning_table(&pruning));
    }
    Ok(())
}

/// A kind of hidden network.
#[derive(Debug, Clone, Copy)]
struct Kind {
    template: &'static str,
    order: usize,
    noisy: bool,
    max_rank: &'static str,
    sigma: &'static str,
}

impl Kind {
    /// A ring as in the paper.
    fn ring(order: usize) -> Kind {
        Kind { template: "ring", order, noisy: false, max_rank: "7", sigma: "1" }
    }

    fn name(&self) -> String {
        let noisy = if self.noisy { "noisy-" } else { "" };
        format!("{noisy}{}-{}", self.template.replace(':', "-"), self.order)
    }
}

/// The program, and a folder for its files.
struct Lab {
    program: PathBuf,
}

impl Lab {
    fn exact(&self, kind: &Kind, count: usize) -> Result<Vec<Proof>> {
        (0..count)
            .map(|k| {
                let title = format!("exact, {}, tensor {} of {count}", kind.name(), k + 1);
                step::step(&title, || self.exact_one(kind, k))
            })
            .collect()
    }

    fn exact_one(&self, kind: &Kind, index: usize) -> Result<Proof> {
        let folder = self.folder("exact", kind, index)?;
        let made = self.generate(&folder, kind, index)?;
        // Without noise the hidden network's own error is 0.
        let max_rse = if kind.noisy { OVER_NOISE * number(&made, "rse")? } else { MAX_RSE };
        let max_rse = max_rse.to_string();
        let arguments = ["--strategy", "exact", "--max-rse", &max_rse];
        let report = self.search(&folder, kind, "exact", index, &arguments)?;
        let proof = Proof::read(&report, number(&made, "params")?)?;
        println!(
            "    {}, Eff {:.2}, gap {}, {} evaluations, {:.2} s",
            if proof.certified { "certified" } else { "not certified" },
            proof.eff,
            proof.gap.map_or("unknown".to_owned(), percent),
            proof.evaluations,
            proof.seconds
        );
        Ok(proof)
    }

    fn pruning(&self, order: usize, count: usize) -> Result<Vec<Pair>> {
        (0..count)
            .map(|k| {
                let title = format!("TNLS, order {order}, tensor {} of {count}", k + 1);
                step::step(&title, || self.pruning_one(order, k))
            })
            .collect()
    }

    fn pruning_one(&self, order: usize, index: usize) -> Result<Pair> {
        let kind = Kind::ring(order);
        let folder = self.folder("pruning", &kind, index)?;
        self.generate(&folder, &kind, index)?;
        // The paper's settings; no certificate, so that the seconds are those of the search.
        let tnls = ["--strategy", "tnls", "--lambda", "200", "--certificate-nodes", "0"];
        let with = self.search(&folder, &kind, "with", index, &tnls)?;
        let tnls: Vec<&str> = tnls.into_iter().chain(["--no-prune"]).collect();
        let without = self.search(&folder, &kind, "without", index, &tnls)?;
        let pair = Pair::read([&with, &without])?;
        println!(
            "    {}, {} evaluations instead of {}: {:.1} times fewer; {:.1} s instead of {:.1} s",
            if pair.same { "same structure" } else { "ANOTHER structure" },
            pair.evaluations[0],
            pair.evaluations[1],
            pair.ratio(),
            pair.seconds[0],
            pair.seconds[1]
        );
        Ok(pair)
    }

    /// Beside the program, so inside the target folder, which git ignores.
    fn folder(&self, what: &str, kind: &Kind, index: usize) -> Result<PathBuf> {
        let base = self.program.parent().context("the program has no folder")?;
        let folder = base.join(format!("experiments/certified/{what}-{}-{index:02}", kind.name()));
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        Ok(folder)
    }

    /// A hidden network as in the paper: dimension 3, ranks 1 to 4; what the command reports.
    fn generate(&self, folder: &Path, kind: &Kind, index: usize) -> Result<Value> {
        // Other seeds than the searches', which must not draw what the generator drew.
        let seed = (1000 * kind.order + index).to_string();
        let mut command = Command::new(&self.program);
        command.args(["generate", "--template", kind.template, "--ranks", "1..4", "--seed", &seed]);
        command.args(["--sigma", kind.sigma]);
        command.args(["--order", &kind.order.to_string(), "--dim", &DIM.to_string(), "--quiet"]);
        if kind.noisy {
            command.args(["--noise-db", NOISE_DB]);
        }
        command.arg("-o").arg(folder.join("X.npy"));
        command.arg("--json").arg(folder.join("made.json"));
        step::run(&mut command)?;
        read(&folder.join("made.json"))
    }

    fn search(
        &self,
        folder: &Path,
        kind: &Kind,
        name: &str,
        index: usize,
        more: &[&str],
    ) -> Result<Value> {
        let path = folder.join(format!("{name}.json"));
        let mut command = Command::new(&self.program);
        command.arg("search").arg(folder.join("X.npy"));
        command.args(["--template", kind.template, "--max-rank", kind.max_rank, "--quiet"]);
        command.args(["--seed", &(1 + index).to_string()]).args(more);
        command.arg("--json").arg(&path);
        // 1 says that the target was not reached, which is a result too.
        let status = command.status().context("cannot start tnsearch")?;
        if !matches!(status.code(), Some(0 | 1)) {
            bail!("tnsearch search in {} failed: {status}", folder.display());
        }
        read(&path)
    }
}

/// Per kind of network: proofs, sizes, work, and the gaps that are left.
fn exact_table(rows: &[(String, Vec<Proof>)]) -> String {
    let mut out =
        format!("Exact search, RSE <= {MAX_RSE:e} (noise: {OVER_NOISE} times its own).\n\n");
    out += "| order | certified | Eff >= 1 | evaluations, median | evaluations, max | seconds, \
            median | seconds, max | gaps where not certified |\n";
    out += "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | --- |\n";
    for (label, proofs) in rows.iter().filter(|(_, proofs)| !proofs.is_empty()) {
        let count = |f: fn(&Proof) -> bool| proofs.iter().filter(|p| f(p)).count();
        let of = |f: fn(&Proof) -> f64| proofs.iter().map(f);
        let open = proofs.iter().filter(|p| !p.certified);
        let gaps: Vec<String> = open.map(|p| p.gap.map_or("unknown".to_owned(), percent)).collect();
        out += &format!(
            "| {label} | {} of {n} | {} of {n} | {} | {} | {:.2} | {:.2} | {} |\n",
            count(|p| p.certified),
            count(Proof::success),
            median(of(|p| p.evaluations)),
            of(|p| p.evaluations).fold(0.0, f64::max),
            median(of(|p| p.seconds)),
            of(|p| p.seconds).fold(0.0, f64::max),
            if gaps.is_empty() { "none".to_owned() } else { gaps.join(", ") },
            n = proofs.len(),
        );
    }
    out
}

/// Per order: whether pruning changed anything, and what it saved.
fn pruning_table(rows: &[(usize, Vec<Pair>)]) -> String {
    let mut out =
        "TNLS with the paper's settings, lambda 200, with pruning and without; medians.\n\n"
            .to_owned();
    out += "| order | same structure | evaluations with | evaluations without | times fewer, median \
            | times fewer, least | seconds with | seconds without |\n";
    out += "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n";
    for (order, pairs) in rows {
        let of = |f: &dyn Fn(&Pair) -> f64| median(pairs.iter().map(f));
        out += &format!(
            "| {order} | {} of {} | {} | {} | {:.1} | {:.1} | {:.1} | {:.1} |\n",
            pairs.iter().filter(|p| p.same).count(),
            pairs.len(),
            of(&|p| p.evaluations[0]),
            of(&|p| p.evaluations[1]),
            of(&Pair::ratio),
            pairs.iter().map(Pair::ratio).fold(f64::INFINITY, f64::min),
            of(&|p| p.seconds[0]),
            of(&|p| p.seconds[1]),
        );
    }
    out
}

fn percent(gap: f64) -> String {
    format!("{:.1} %", 100.0 * gap)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn options(line: &str) -> Result<Options> {
        Options::parse(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn options_are_read_and_checked() {
        let plain = options("").unwrap();
        assert_eq!((plain.orders, plain.count, plain.noise), (vec![4, 6, 8, 10], 20, 10));
        let quick = options("--count 3 --quick --orders 5 --pruning 0").unwrap();
        assert_eq!((quick.orders, quick.count, quick.noise, quick.pruning), (vec![5], 3, 1, 0));
        for bad in ["--orders", "--orders 2", "--orders 6,", "--count x", "--slow"] {
            assert!(options(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_proof_is_read_and_tabled() {
        let report = |params: u32, certified: bool, reached: bool| {
            let json = json!({
                "params": params, "certified_optimal": certified, "target_reached": reached,
                "lower_bound": {"params": 100}, "evaluations": 2, "seconds": 0.5,
            });
            Proof::read(&json, 110.0).unwrap()
        };
        let proofs = vec![
            report(100, true, true),
            report(110, false, true),
            report(120, false, true),
            report(90, false, false),
        ];
        let nothing = json!({
            "params": null, "certified_optimal": false, "target_reached": false,
            "lower_bound": {"params": 100}, "evaluations": 0, "seconds": 1,
        });
        let nothing = Proof::read(&nothing, 110.0).unwrap();
        assert_eq!((nothing.eff, nothing.gap, nothing.success()), (0.0, None, false));
        assert_eq!(proofs[0].gap, Some(0.0));
        let table = exact_table(&[("6".to_owned(), proofs)]);
        let last = table.lines().last().unwrap();
        let gaps = "10.0 %, 20.0 %, -10.0 %";
        assert_eq!(last, format!("| 6 | 1 of 4 | 2 of 4 | 2 | 2 | 0.50 | 0.50 | {gaps} |"));
        assert!(Proof::read(&json!({"params": 3, "lower_bound": null}), 1.0).is_err());
    }

    #[test]
    fn pairs_differ_in_structure_or_not() {
        let report = |rank: usize, evaluations: usize| {
            json!({"permutation": [0, 1], "edges": [[0, 1, rank]], "rse": 0.5,
                   "evaluations": evaluations, "seconds": 1})
        };
        let pair = |a: Value, b: Value| Pair::read([&a, &b]).unwrap();
        let pairs = vec![pair(report(2, 10), report(2, 200)), pair(report(2, 10), report(3, 100))];
        let table = pruning_table(&[(8, pairs)]);
        let last = table.lines().last().unwrap();
        assert_eq!(last, "| 8 | 1 of 2 | 10 | 150 | 15.0 | 10.0 | 1.0 | 1.0 |");
    }
}
