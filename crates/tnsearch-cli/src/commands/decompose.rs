//! `tnsearch decompose`: a fixed format, without a search.

use super::data::ReshapeOptions;
use super::describe::{ErrorReport, MEASURE, StructureReport, line, structure_lines};
use super::options::{DtypeOptions, count, load_graph, memory, real, seed, vertex};
use super::outputs::{ReportOptions, check_distinct, tensor_path};
use crate::text::duration;
use crate::{Exit, interrupt, terminal};
use anyhow::bail;
use clap::Args;
use serde::Serialize;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use tnsearch::decompose::{
    BayesSettings, DecomposeError, Decomposition, Goal, Limits, Shares, bayes_tr, ring_ranks,
    tr_als, tr_als_ar, tr_lm, tr_svd, tree_svd, tt_svd, tucker,
};
use tnsearch::fit::{CheckedFit, FitSettings};
use tnsearch::graph::{FAMILIES, Layout, Template};
use tnsearch::problem::Target;
use tnsearch::tensor::{Kind, Reshape};
use tnsearch_io::{MemoryLimit, network, output::Output};

/// Decompose a tensor into a fixed format, without a search.
///
/// The modes stay where --perm puts them; the ranks follow from the error, or are given.
#[derive(Debug, Args)]
#[command(after_help = "Methods:
  tt-svd      tensor train by SVDs              tr-als      tensor ring by ALS, all ranks alike
  tr-svd      tensor ring by SVDs               tr-als-ar   the same, ranks grown one at a time
  tr-lm       the smallest ring of many such    bayes-tr    tensor ring, ranks shrunk by Bayesian
  ht-svd      hierarchical Tucker by SVDs                   inference
  hosvd       Tucker by SVDs                    tree-svd    any tree (--template) by SVDs

Examples:
  tnsearch decompose X.npy --method tt-svd --max-rse 1e-4 -o net.safetensors
  tnsearch decompose X.npy --method hosvd --max-re 0.01 --max-seconds 10
  tnsearch decompose X.npy --method tr-als --ranks 3,2,4,2 --perm 0,2,1,3
  tnsearch decompose X.npy --method tree-svd --template star --json -")]
pub struct Decompose {
    /// The tensor: X.npy, X.npz:key or X.safetensors:key
    tensor: String,
    #[command(flatten)]
    numbers: DtypeOptions,
    #[command(flatten)]
    reshaping: ReshapeOptions,
    /// tt-svd, tr-svd, tr-lm, ht-svd, hosvd, tree-svd, tr-als, tr-als-ar or bayes-tr
    #[arg(long, value_name = "METHOD", value_parser = method)]
    method: Method,
    #[arg(long, value_name = "NAME|FILE", help = format!("The tree of tree-svd: {}, or a JSON file with a graph", trees()))]
    template: Option<String>,
    /// The vertex of mode 0, of mode 1, ... [default: the modes in order]
    #[arg(long, value_name = "V,V,...", value_delimiter = ',', value_parser = vertex)]
    perm: Vec<usize>,
    /// Choose the ranks so that the RSE is at most this [default: 1e-4]
    #[arg(long, value_name = "RSE", value_parser = real, allow_negative_numbers = true, conflicts_with = "ranks")]
    max_rse: Option<f64>,
    /// The same as the root of it: at most this part of the norm is missed, 0.1 for 10 %
    #[arg(long, value_name = "RE", value_parser = real, allow_negative_numbers = true, conflicts_with_all = ["ranks", "max_rse"])]
    max_re: Option<f64>,
    /// How the methods by SVDs share the error out: so that the parameters are fewest, or in equal parts
    #[arg(long, value_name = "optimal|equal", value_parser = shares, default_value = "optimal", hide_default_value = true)]
    shares: Shares,
    /// The ranks instead: along the path or ring (the closing edge last), of other trees in the order of
    /// the template's edges; one number for all alike
    #[arg(long, value_name = "R,R,...", value_delimiter = ',', value_parser = count::<usize>, allow_negative_numbers = true)]
    ranks: Vec<usize>,
    #[command(flatten)]
    iteration: Iteration,
    /// The seed of the random starts (tr-als, tr-als-ar, bayes-tr)
    #[arg(long, value_name = "SEED", default_value_t = 0, value_parser = seed, allow_negative_numbers = true, help_heading = "Fitting")]
    seed: u64,
    /// Refuse what needs more memory, e.g. 4GB [default: what is available]
    #[arg(long, value_name = "SIZE", value_parser = memory, help_heading = "Budgets")]
    max_memory: Option<u64>,
    /// End after this many seconds with the best so far
    #[arg(long, value_name = "S", value_parser = real, allow_negative_numbers = true, help_heading = "Budgets")]
    max_seconds: Option<f64>,
    /// Write the network (safetensors)
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    output: Option<PathBuf>,
    #[command(flatten)]
    report: ReportOptions,
}

/// Options of the methods that iterate.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Fitting")]
struct Iteration {
    /// Independent starts of each fit of tr-als; the best counts [default: 4]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    restarts: Option<usize>,
    /// Sweeps of one fit at most [default: 200; inference of bayes-tr 300]
    #[arg(long, value_name = "N", value_parser = count::<usize>, allow_negative_numbers = true)]
    max_sweeps: Option<usize>,
    /// A fit ends when its error falls by less than this fraction over some sweeps [default: 0.01]
    #[arg(long, value_name = "T", value_parser = real, allow_negative_numbers = true)]
    tolerance: Option<f64>,
    /// The ranks that bayes-tr starts from [default: 7]
    #[arg(long, value_name = "R", value_parser = count::<usize>, allow_negative_numbers = true)]
    max_rank: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Method {
    TtSvd,
    TrSvd,
    TrLm,
    HtSvd,
    Hosvd,
    TreeSvd,
    TrAls,
    TrAlsAr,
    BayesTr,
}

impl Method {
    const ALL: [(&'static str, Method); 9] = [
        ("tt-svd", Method::TtSvd),
        ("tr-svd", Method::TrSvd),
        ("tr-lm", Method::TrLm),
        ("ht-svd", Method::HtSvd),
        ("hosvd", Method::Hosvd),
        ("tree-svd", Method::TreeSvd),
        ("tr-als", Method::TrAls),
        ("tr-als-ar", Method::TrAlsAr),
        ("bayes-tr", Method::BayesTr),
    ];

    fn iterates(self) -> bool {
        matches!(self, Method::TrAls | Method::TrAlsAr | Method::BayesTr)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Method::ALL.iter().find(|(_, m)| m == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

#[derive(Serialize)]
struct Summary<'a> {
    #[serde(flatten)]
    structure: StructureReport,
    dtype: Kind,
    reshaped: Option<&'a Reshape>,
    method: String,
    max_rse: Option<f64>,
    target_reached: bool,
    #[serde(flatten)]
    error: ErrorReport<'a>,
    sweeps: usize,
    seconds: f64,
    seed: u64,
    interrupted: bool,
    settings: Option<Settings>,
    input: &'a str,
    output: Option<&'a PathBuf>,
    version: &'a str,
}

/// What was set of a method that iterates.
#[derive(Serialize)]
struct Settings {
    restarts: usize,
    max_sweeps: usize,
    tolerance: f64,
    max_rank: Option<usize>,
}

pub fn run(args: &Decompose) -> anyhow::Result<Exit> {
    args.check_method()?;
    let wanted = args.reshaping.check()?;
    let limit = MemoryLimit::new(args.max_memory);
    // A wrong number is refused before a large file is read.
    let rse_goal = args.rse_goal()?;
    let time = args.check_seconds()?;
    let fit = args.fit_settings()?;
    let tensor = tensor_path(&args.tensor);
    let template_file = args.template.as_deref().unwrap_or_default();
    check_distinct(
        &[("the tensor", &tensor), ("the template", Path::new(template_file))],
        &[("--output", args.output.as_deref()), ("--json", args.report.json_path())],
    )?;
    let report = args.report.check()?;
    let output = args.output.as_deref().map(Output::check).transpose()?;
    let data = wanted.load(&args.tensor, args.numbers.dtype, None, limit)?;
    let target = &data.target;
    let dims = target.dims();
    let template = Arc::new(args.load_template(dims.len())?);
    let goal = match args.ranks.is_empty() {
        true => rse_goal,
        false => args.ranks_goal(&template)?,
    };

    let interrupt = interrupt::on_ctrl_c()?;
    let limits = Limits::none().with(|l| {
        l.max_bytes = Some(limit.bytes());
        l.stop = interrupt.within_seconds(time.unwrap_or(f64::INFINITY));
    });
    let begun = Instant::now();
    let found = match args.decompose(target, &template, &goal, &fit, &limits) {
        Err(DecomposeError::Interrupted) if !interrupt.is_set() => {
            let words = "the time was up before there was a result; nothing is written";
            terminal::note("--max-seconds", words);
            return Ok(Exit::NotReached);
        }
        Err(DecomposeError::Interrupted) => {
            terminal::note("interrupted", "there was no result yet; nothing is written");
            return Ok(Exit::Interrupted);
        }
        found => found?,
    };
    let seconds = begun.elapsed().as_secs_f64();

    let reshape = data.reshape.as_ref();
    let saved = output.map_or(Ok(()), |o| {
        o.write(|w| network::write_reshaped(w, &found.network, found.rse, reshape))
    });
    let structure = found.network.structure();
    let target_reached = goal.rse().is_none_or(|eps| found.rse <= eps);
    let summary = Summary {
        structure: StructureReport::new(structure, dims),
        dtype: target.kind(),
        reshaped: reshape,
        method: args.method.to_string(),
        max_rse: goal.rse(),
        target_reached,
        error: ErrorReport::new(&MEASURE, found.rse),
        sweeps: found.sweeps,
        seconds,
        seed: args.seed,
        interrupted: found.interrupted,
        settings: args.settings(&fit),
        input: &args.tensor,
        output: args.output.as_ref(),
        version: env!("CARGO_PKG_VERSION"),
    };
    report.write(&summary, || {
        let mut out = String::new();
        data.lines(&mut out, &args.tensor);
        structure_lines(&mut out, structure, dims, data.names(), &MEASURE, found.rse);
        let sweeps = match args.method.iterates() {
            true => format!(", {} sweeps", found.sweeps),
            false => String::new(),
        };
        line(&mut out, "method", format!("{}{sweeps}, in {}", args.method, duration(seconds)));
        if let Some(eps) = goal.rse().filter(|_| !target_reached) {
            line(
                &mut out,
                "not reached",
                format!("{} <= {eps:e}; this is the best found", MEASURE.name),
            );
        }
        if let Some(path) = &args.output {
            line(&mut out, "written", path.display());
        }
        out
    })?;
    saved?;
    Ok(match (interrupt.is_set(), target_reached) {
        (true, _) => Exit::Interrupted,
        (false, true) => Exit::Done,
        (false, false) => Exit::NotReached,
    })
}

impl Decompose {
    /// Refuses options that the method does not have.
    fn check_method(&self) -> anyhow::Result<()> {
        let (method, iteration) = (self.method, &self.iteration);
        let als = method.iterates();
        let wrong = [
            ("--template", self.template.is_some() && method != Method::TreeSvd, "tree-svd"),
            ("--restarts", iteration.restarts.is_some() && method != Method::TrAls, "tr-als"),
            ("--max-sweeps", iteration.max_sweeps.is_some() && !als, "tr-als, tr-als-ar, bayes-tr"),
            ("--tolerance", iteration.tolerance.is_some() && !als, "tr-als, tr-als-ar, bayes-tr"),
            ("--max-rank", iteration.max_rank.is_some() && method != Method::BayesTr, "bayes-tr"),
        ];
        if let Some((option, _, of)) = wrong.iter().find(|w| w.1) {
            bail!("{option} does not go with --method {method}; it is an option of {of}");
        }
        if self.template.is_none() && method == Method::TreeSvd {
            bail!("--method tree-svd needs --template: {} or a JSON file", trees());
        }
        let chooses = matches!(method, Method::TrLm | Method::TrAlsAr | Method::BayesTr);
        if !self.ranks.is_empty() && chooses {
            bail!("--method {method} chooses the ranks itself; give --max-rse instead of --ranks");
        }
        Ok(())
    }

    fn load_template(&self, order: usize) -> anyhow::Result<Template> {
        Ok(match self.method {
            Method::TreeSvd => load_graph(self.template.as_deref().unwrap_or_default(), order)?,
            Method::TtSvd => Template::path(order)?,
            Method::HtSvd => Template::ht(order)?,
            Method::Hosvd => tucker(order)?,
            _ => Template::ring(order)?,
        })
    }

    /// The error asked for.
    fn rse_goal(&self) -> anyhow::Result<Goal> {
        if let Some(re) = self.max_re.filter(|re| !(0.0..1.0).contains(re)) {
            bail!("max-re is {re}; it must be at least 0 and below 1");
        }
        let rse = self.max_re.map(|re| re * re).or(self.max_rse).unwrap_or(1e-4);
        Ok(Goal::max_rse(rse)?.sharing(self.shares))
    }

    /// The time allowed.
    fn check_seconds(&self) -> anyhow::Result<Option<f64>> {
        match self.max_seconds {
            Some(s) if !(s > 0.0 && s.is_finite()) => {
                bail!("max-seconds is {s}; it must be above 0")
            }
            seconds => Ok(seconds),
        }
    }

    fn ranks_goal(&self, template: &Template) -> anyhow::Result<Goal> {
        let edges = template.edges().len();
        let ranks = match self.ranks[..] {
            [all] => vec![all; edges],
            _ => self.ranks.clone(),
        };
        if ranks.len() != edges {
            let (found, name) = (ranks.len(), template.name());
            bail!(
                "--ranks has {found} numbers; template '{name}' has {edges} edges and needs one each"
            );
        }
        let ring = template.layout() == Some(Layout::Circle);
        Ok(Goal::ranks(if ring { ring_ranks(&ranks) } else { ranks })?)
    }

    fn fit_settings(&self) -> anyhow::Result<CheckedFit> {
        let settings = FitSettings::default().with(|s| {
            s.restarts = self.iteration.restarts.unwrap_or(s.restarts);
            s.max_sweeps = self.iteration.max_sweeps.unwrap_or(s.max_sweeps);
            s.tolerance = self.iteration.tolerance.unwrap_or(s.tolerance);
        });
        Ok(settings.check()?)
    }

    fn bayes_settings(&self) -> BayesSettings {
        BayesSettings::default().with(|s| {
            s.max_rank = self.iteration.max_rank.unwrap_or(s.max_rank);
            s.max_sweeps = self.iteration.max_sweeps.unwrap_or(s.max_sweeps);
        })
    }

    fn settings(&self, fit: &CheckedFit) -> Option<Settings> {
        let (bayes, is_bayes) = (self.bayes_settings(), self.method == Method::BayesTr);
        self.method.iterates().then(|| Settings {
            restarts: if self.method == Method::TrAls { fit.restarts } else { 1 },
            max_sweeps: if is_bayes { bayes.max_sweeps } else { fit.max_sweeps },
            tolerance: fit.tolerance,
            max_rank: is_bayes.then_some(bayes.max_rank),
        })
    }

    fn decompose(
        &self,
        target: &Target,
        template: &Arc<Template>,
        goal: &Goal,
        fit: &CheckedFit,
        limits: &Limits,
    ) -> Result<Decomposition, DecomposeError> {
        let perm = match self.perm.is_empty() {
            true => template.external_vertices(),
            false => self.perm.clone(),
        };
        match self.method {
            Method::TtSvd => tt_svd(target, &perm, goal, limits),
            Method::TreeSvd | Method::HtSvd | Method::Hosvd => {
                tree_svd(target, template, &perm, goal, limits)
            }
            Method::TrSvd => tr_svd(target, &perm, goal, limits),
            Method::TrLm => tr_lm(target, &perm, goal, limits),
            Method::TrAls => tr_als(target, &perm, goal, fit, self.seed, limits),
            Method::TrAlsAr => tr_als_ar(target, &perm, goal, fit, self.seed, limits),
            Method::BayesTr => {
                let bayes = self.bayes_settings().check()?;
                bayes_tr(target, &perm, goal, &bayes, fit, self.seed, limits)
            }
        }
    }
}

/// The families that are trees.
fn trees() -> String {
    let trees = FAMILIES.into_iter().filter(|family| family.is_tree());
    trees.map(|family| family.written()).collect::<Vec<_>>().join(", ")
}

fn shares(text: &str) -> Result<Shares, String> {
    match text {
        "optimal" => Ok(Shares::Optimal),
        "equal" => Ok(Shares::Equal),
        _ => Err("use optimal or equal".into()),
    }
}

fn method(text: &str) -> Result<Method, String> {
    let found = Method::ALL.iter().find(|(name, _)| *name == text).map(|&(_, method)| method);
    found.ok_or_else(|| {
        let names: Vec<&str> = Method::ALL.iter().map(|m| m.0).collect();
        format!("use {} or {}", names[..8].join(", "), names[8])
    })
}
