//! One point of a search's Pareto front as a network.

use crate::fields::MEASURE;
use crate::load::{ARRAY, LoadError, Source, check_shape, read_as, recorded};
use crate::structures::is_journal;
use crate::text::number;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use thiserror::Error;
use tnsearch::SettingError;
use tnsearch::fit::{Effort, FitError, FitSettings, Request};
use tnsearch::graph::{Structure, StructureFile, TemplateRef};
use tnsearch::network::{ClaimError, Network, NetworkError};
use tnsearch::problem::{Stop, Target};
use tnsearch::rng::derived_seed;
use tnsearch::search::{Evaluator as _, FitEvaluator};
use tnsearch::tensor::{Kind, Reshape};
use tnsearch_io::journal::{Header, JournalFile};
use tnsearch_io::{MemoryLimit, lines, small};

/// Why no point was made a network.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum PickError {
    /// The search, or its tensor, cannot be read.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// What was asked for is nothing that can be.
    #[error(transparent)]
    Setting(#[from] SettingError),
    /// There is no such point, or it cannot be made.
    #[error("{0}")]
    Asked(String),
    /// It cannot be fitted.
    #[error(transparent)]
    Fit(#[from] FitError),
    /// It is no network.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// It is not what was said about it.
    #[error(transparent)]
    Claim(#[from] ClaimError),
}

/// Which point: one of these.
#[derive(Debug, Clone, Copy, Default)]
pub struct Which {
    /// The smallest error with at most this many params.
    pub params: Option<u128>,
    /// The fewest params with a relative error (RE) of at most this.
    pub max_re: Option<f64>,
    /// The same by the RSE, which is the square of the RE.
    pub max_rse: Option<f64>,
}

/// A point and how it was fitted.
#[derive(Debug)]
struct Point {
    params: u128,
    rse: f64,
    structure: Structure,
    seed: u64,
    effort: Effort,
}

/// Why a point of a search by another loss is not made.
const BY_ANOTHER: &str = "it is by another loss than the squared error; let the search itself keep the networks of its front, or fit the structure by that loss";

/// A search on record.
#[derive(Debug)]
pub struct Recorded {
    points: Vec<Point>,
    fit: FitSettings,
    /// How its tensor was reshaped.
    pub reshape: Option<Reshape>,
    /// What it calls its tensor.
    pub input: Option<String>,
    /// What was wrong with its file.
    pub warnings: Vec<String>,
    path: PathBuf,
    of: Of,
}

/// By what the tensor of a search is known.
#[derive(Debug)]
enum Of {
    Summary(Vec<usize>, Kind),
    Journal(Box<Header>),
}

/// A point as a network.
#[derive(Debug)]
pub struct Picked {
    /// The network.
    pub network: Network,
    /// Its error.
    pub rse: f64,
    /// The error that the search had.
    pub rse_recorded: f64,
    /// Whether it is what was asked for.
    pub target_reached: bool,
    /// The seed of its fit.
    pub seed: u64,
    /// Whether the fit was ended early.
    pub interrupted: bool,
    /// Of so many points.
    pub points: usize,
}

/// The part of a search's JSON that is needed.
#[derive(Deserialize)]
struct SummaryFile {
    template: TemplateRef,
    dims: Vec<usize>,
    dtype: Kind,
    #[serde(default)]
    reshaped: Option<Reshape>,
    pareto: Vec<PointFile>,
    runs: Vec<RunFile>,
    fit: FitSettings,
    input: String,
}

#[derive(Deserialize)]
struct PointFile {
    params: u128,
    /// Searches by another loss have its name here.
    rse: Option<f64>,
    permutation: Option<Vec<usize>>,
    #[serde(default)]
    edges: Vec<[usize; 3]>,
    #[serde(default)]
    run: usize,
    template: Option<TemplateRef>,
    #[serde(default)]
    effort: Effort,
}

#[derive(Deserialize)]
struct RunFile {
    seed: u64,
}

impl Recorded {
    /// Reads the JSON summary of a search, or its journal.
    pub fn read(path: &Path) -> Result<Self, LoadError> {
        let text = small::read_text(path)?;
        match is_journal(text.lines().next().unwrap_or_default()) {
            true => from_journal(path),
            false => from_summary(path, &text),
        }
    }

    /// The search of a JSON summary.
    pub fn of_summary(text: &str) -> Result<Self, LoadError> {
        from_summary(Path::new("the summary"), text)
    }

    /// Where its tensor is, as it says.
    pub fn source(&self) -> Result<Source, LoadError> {
        match self.input.as_ref().filter(|input| *input != ARRAY) {
            Some(input) => Ok(Source::File(input.clone())),
            None => Err(LoadError::of(
                self.path.display(),
                "it does not name its tensor; give that, too",
            )),
        }
    }

    /// Its tensor; another one is refused.
    pub fn target(&self, source: &Source, limit: MemoryLimit) -> Result<Target, LoadError> {
        match &self.of {
            Of::Summary(dims, kind) => {
                let target = read_as(source, *kind, self.reshape.as_ref(), limit)?;
                check_shape(&self.path, "the search", dims, target.dims())?;
                Ok(target)
            }
            Of::Journal(header) => recorded(source, header, limit)?.ok_or_else(|| {
                let name = source.name();
                LoadError::Asked(format!(
                    "{name} is not the tensor of the journal: its dimensions or entries differ"
                ))
            }),
        }
    }

    /// Makes a network of a point: fitted again with the search's own settings and seed.
    pub fn pick(
        &self,
        which: &Which,
        target: &Target,
        limit: MemoryLimit,
        stop: &Stop,
    ) -> Result<Picked, PickError> {
        let eps = which.check()?;
        let point = which.point(&self.points)?;
        let settings = self.fit.clone().with(|s| s.max_bytes = Some(limit.bytes())).check()?;
        let graph = point.structure.canonical().graph;
        let mut request = Request::new(graph, Arc::new(settings), point.seed);
        // A walk is not made again: the structure it ended at is fitted.
        if matches!(point.effort, Effort::Quick | Effort::Direct) {
            request.effort = point.effort;
        }
        let fitted = FitEvaluator::new(target).evaluate(&request, stop)?;
        let dims = target.dims().to_vec();
        let network = Network::from_fitted(point.structure.clone(), dims, fitted.cores)?;
        let rse = fitted.error;
        target.confirm(&network, rse, Some(limit.bytes()))?;
        Ok(Picked {
            network,
            rse,
            rse_recorded: point.rse,
            target_reached: eps.is_none_or(|eps| rse <= eps),
            seed: point.seed,
            interrupted: fitted.interrupted,
            points: self.points.len(),
        })
    }
}

impl Which {
    /// Refuses what is no error; the RSE asked for, where one is.
    pub fn check(&self) -> Result<Option<f64>, PickError> {
        let eps = match (self.max_re, self.max_rse) {
            (Some(re), _) => Some(("max-re", re, re * re)),
            (None, Some(rse)) => Some(("max-rse", rse, rse)),
            (None, None) => None,
        };
        match eps {
            Some((name, given, eps)) if !(given > 0.0 && eps < 1.0) => {
                Err(SettingError::new(name, given, "it must be above 0 and below 1").into())
            }
            eps => Ok(eps.map(|e| e.2)),
        }
    }

    /// The point asked for; `points` by rising params and falling error.
    fn point<'p>(&self, points: &'p [Point]) -> Result<&'p Point, PickError> {
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Err(PickError::Asked("the search has no points: nothing was fitted".into()));
        };
        let asked = PickError::Asked;
        match (self.params, self.check()?) {
            (Some(params), _) => points.iter().rfind(|p| p.params <= params).ok_or_else(|| {
                asked(format!("params is {params}; the smallest network of the search has {}", first.params))
            }),
            (None, eps) => points.iter().find(|p| Some(p.rse) <= eps).ok_or_else(|| {
                let (rse, re) = (number(last.rse), number(last.rse.sqrt()));
                asked(format!("no network of the search has so small an error; the smallest is RSE {rse} (RE {re})"))
            }),
        }
    }
}

fn from_summary(path: &Path, text: &str) -> Result<Recorded, LoadError> {
    let named = |e: &dyn std::fmt::Display| LoadError::of(path.display(), e.to_string());
    let file: SummaryFile = serde_json::from_str(text)
        .map_err(|e| named(&format!("{e}; give the JSON summary of a search, or its journal")))?;
    let mut points = Vec::new();
    for point in file.pareto {
        let permutation = point.permutation.ok_or_else(|| {
            named(&"its points have no structures; it was written by a version before 0.3")
        })?;
        let template = point.template.unwrap_or_else(|| file.template.clone());
        let structure = StructureFile { template, permutation, edges: point.edges };
        let structure = Structure::from_file(&structure).map_err(|e| named(&e))?;
        structure.check_order(file.dims.len()).map_err(|e| named(&e))?;
        let run = file.runs.get(point.run).ok_or_else(|| named(&"a point of no run"))?;
        let rse = point.rse.ok_or_else(|| named(&BY_ANOTHER))?;
        let (params, seed) = (point.params, run.seed);
        points.push(Point { params, rse, structure, seed, effort: point.effort });
    }
    Ok(Recorded {
        points,
        fit: file.fit,
        reshape: file.reshaped,
        input: Some(file.input),
        warnings: Vec::new(),
        path: path.to_owned(),
        of: Of::Summary(file.dims, file.dtype),
    })
}

fn from_journal(path: &Path) -> Result<Recorded, LoadError> {
    let journal = JournalFile::open(path)?;
    let named = |e: &dyn std::fmt::Display| LoadError::of(path.display(), e.to_string());
    let header = &journal.header;
    if header.measure != MEASURE {
        return Err(named(&BY_ANOTHER));
    }
    let mut all: Vec<Point> = Vec::new();
    for record in &journal.records {
        let Some(structure) = journal.structure(record) else { continue };
        let seed = derived_seed(header.seed, record.run);
        let (params, rse) = (record.params.into(), record.error);
        all.push(Point { params, rse, structure, seed, effort: record.effort });
    }
    all.sort_by(|a, b| a.params.cmp(&b.params).then(a.rse.total_cmp(&b.rse)));
    let mut points: Vec<Point> = Vec::new();
    for point in all {
        if points.last().is_none_or(|last| point.rse < last.rse) {
            points.push(point);
        }
    }
    // What follows from the objective is not written down.
    let mut fit = header.fit.clone();
    let enough = header.objective.max_error();
    if let Some(fields) = fit.as_object_mut() {
        let default = FitSettings::default().enough_rse;
        fields.insert("enough_rse".to_owned(), enough.unwrap_or(default).into());
        fields.insert("max_bytes".to_owned(), serde_json::Value::Null);
    }
    let fit = serde_json::from_value(fit).map_err(|e| named(&e))?;
    Ok(Recorded {
        points,
        fit,
        reshape: header.reshaped.clone(),
        input: journal.input().map(str::to_owned),
        warnings: lines::warnings(path, &journal.damaged, "it is left out"),
        path: path.to_owned(),
        of: Of::Journal(Box::new(journal.header.clone())),
    })
}
