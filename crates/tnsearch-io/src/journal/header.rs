//! The first line of a journal: all that decides the result of the search.

use super::fingerprint;
use super::settle::{OF_TEMPLATE, settle};
use crate::lines::{Kind, LinesProblem, open_first};
use serde::Deserialize;
use serde_json::{Value, json};
use std::sync::Arc;
use tnsearch::graph::{Template, TemplateRef};
use tnsearch::problem::{Measure, Objective, Target};
use tnsearch::search::{CheckedSearch, SearchError};
use tnsearch::tensor::{ModeNames, Reshape};

/// The mark of our journals, in their first line.
pub const FORMAT: &str = "tnsearch-journal";

/// The newest version, which is written; all before are read and continued as they are.
///
/// Version 1 had evaluations only. Since version 3 the first line names the graph that is searched, and evaluations do
/// not say whether they were refused: those are not on record. Since version 4 every line has a checksum. Since version 5
/// the first line has the largest rank of all, and what a function of the user's own calls itself.
pub const VERSION: u64 = 5;

/// Versions of the program whose fits are bit for bit the same: each continues journals of the others.
pub const SAME_FITS: [&str; 2] = ["0.2.0", env!("CARGO_PKG_VERSION")];

pub(super) static KIND: Kind = Kind { format: FORMAT, name: "journal", ordered: false, settle };

/// What a search was asked: the first line of its journal. Budgets, threads and memory are no part of it: they may
/// change from one part of a search to the next.
#[derive(Debug, Clone, PartialEq)]
pub struct Header {
    /// The version of the journal's format.
    pub version: u64,
    /// The version of the program.
    pub tnsearch: String,
    /// The tensor's dimensions, as it was searched.
    pub dims: Vec<usize>,
    /// How it was reshaped before.
    pub reshaped: Option<Reshape>,
    /// The [`fingerprint`](super::fingerprint) of its entries.
    pub sha256: String,
    /// The kind of its numbers; none before version 5.
    pub dtype: Option<String>,
    /// How many of its entries are known, where not all are.
    pub observed: Option<u64>,
    /// The template that was asked for.
    pub template: Arc<Template>,
    /// The graph whose structures are proposed: the template, or another one with strategies that leave it.
    pub searched: Arc<Template>,
    /// What the error is called.
    pub measure: Measure,
    /// What is looked for.
    pub objective: Objective,
    /// The strategy, as on the command line.
    pub strategy: String,
    /// The settings of the strategy.
    pub settings: Value,
    /// Those of exact search where it is a part, else null.
    pub exact: Value,
    /// Those of the fits.
    pub fit: Value,
    /// The largest rank that anything in the search may use, which may be more than that of the settings; none before
    /// version 5.
    pub widest_rank: Option<u64>,
    /// What the user's own function calls itself, where one decides the errors.
    pub own: Option<String>,
    /// Structures with this many times the tensor's entries as params are not fitted.
    pub max_phi: Option<f64>,
    /// Nor those of which a sweep takes more than this many multiply-adds per entry.
    pub max_cost: Option<f64>,
    /// Whether a smaller tensor may be searched in the place of this one.
    pub shrink: bool,
    /// Whether it begins with what direct methods give.
    pub direct: bool,
    /// The seed.
    pub seed: u64,
    /// The number of independent runs.
    pub runs: u64,
}

#[derive(Deserialize)]
struct FirstLine {
    tnsearch: String,
    data: Data,
    /// Left out before modes could be split.
    reshaped: Option<Reshape>,
    template: TemplateRef,
    searched: Option<TemplateRef>,
    /// Left out for the squared relative error.
    #[serde(default)]
    measure: Measure,
    objective: Objective,
    strategy: String,
    settings: Value,
    #[serde(default)]
    exact: Value,
    #[serde(default)]
    fit: Value,
    /// Left out before version 5.
    max_rank: Option<u64>,
    /// Left out where there is none.
    #[serde(rename = "fingerprint")]
    own: Option<String>,
    max_phi: Option<f64>,
    max_cost: Option<f64>,
    /// Left out before version 5 where it is so.
    #[serde(default = "yes")]
    shrink: bool,
    /// Left out before version 5 where it is not so.
    #[serde(default)]
    direct: bool,
    seed: u64,
    runs: u64,
}

fn yes() -> bool {
    true
}

#[derive(Deserialize)]
struct Data {
    dims: Vec<usize>,
    sha256: String,
    dtype: Option<String>,
    observed: Option<u64>,
}

impl Header {
    /// All that decides the result of a search for the network of that tensor. Budgets, threads and memory may change
    /// from one part of a search to the next.
    pub fn of(
        search: &CheckedSearch<'_>,
        target: &Target,
        measure: &Measure,
        reshaped: Option<&Reshape>,
    ) -> Result<Self, SearchError> {
        let mut fit = json!(**search.fit());
        if let Some(fields) = fit.as_object_mut() {
            fields.remove("max_bytes");
            // This follows from the objective.
            fields.remove("enough_rse");
        }
        let settings = search.settings();
        Ok(Header {
            version: VERSION,
            tnsearch: env!("CARGO_PKG_VERSION").to_owned(),
            dims: target.dims().to_vec(),
            reshaped: reshaped.cloned(),
            sha256: fingerprint(target),
            dtype: Some(target.kind().name().to_owned()),
            observed: target
                .fitted()
                .map(|mask| mask.as_slice().iter().filter(|&&inside| inside).count() as u64),
            template: search.template().clone(),
            searched: search.searched()?,
            measure: measure.clone(),
            objective: search.objective().get(),
            strategy: settings.strategy.name.clone(),
            settings: search.strategy_settings(),
            exact: search.exact_settings().unwrap_or(Value::Null),
            fit,
            widest_rank: Some(settings.widest() as u64),
            own: None,
            max_phi: Some(settings.max_phi),
            max_cost: search.max_cost(),
            shrink: settings.shrink,
            direct: settings.direct,
            seed: settings.seed,
            runs: settings.runs as u64,
        })
    }

    /// Reads the first line. Before version 3 it does not say which graph is searched; then it is taken to be the
    /// template.
    pub fn parse(line: &[u8]) -> Result<Self, LinesProblem> {
        Self::parse_sealed(line).map(|(header, _)| header)
    }

    /// The same, and whether it has a checksum.
    pub(super) fn parse_sealed(line: &[u8]) -> Result<(Self, bool), LinesProblem> {
        let foreign = || LinesProblem::Foreign(KIND.name);
        let (line, sealed) = open_first(line)?;
        let value = serde_json::from_slice(&line).map_err(|_| foreign())?;
        Ok((Self::from_value(&value)?, sealed))
    }

    pub(super) fn from_value(value: &Value) -> Result<Self, LinesProblem> {
        if value.get("format").and_then(Value::as_str) != Some(FORMAT) {
            return Err(LinesProblem::Foreign(KIND.name));
        }
        let bad = |reason: &dyn std::fmt::Display| LinesProblem::Header(reason.to_string());
        let version = match value.get("version").and_then(Value::as_u64) {
            Some(version @ 1..=VERSION) => version,
            Some(found) if found > VERSION => {
                return Err(LinesProblem::Newer { found, known: VERSION });
            }
            _ => return Err(bad(&"it has no version")),
        };
        let first = FirstLine::deserialize(value).map_err(|e| bad(&e))?;
        let dims = first.data.dims;
        let entries = dims.iter().try_fold(1usize, |n, &d| n.checked_mul(d).filter(|_| d > 0));
        if dims.len() < 2 || entries.is_none() {
            return Err(bad(&format!("dimensions {dims:?} are those of no tensor")));
        }
        if first.reshaped.as_ref().is_some_and(|r| r.to() != dims) {
            return Err(bad(&format!("it was reshaped to other dimensions than {dims:?}")));
        }
        let graph = |reference: &TemplateRef| {
            Template::from_ref(reference, dims.len()).map(Arc::new).map_err(|e| bad(&e))
        };
        let template = graph(&first.template)?;
        let searched = match &first.searched {
            Some(same) if *same == first.template => template.clone(),
            Some(other) => graph(other)?,
            None if version < 3 => template.clone(),
            None => return Err(bad(&"missing field `searched`")),
        };
        first.objective.check().map_err(|e| bad(&e))?;
        first.measure.check().map_err(|e| bad(&e))?;
        Ok(Header {
            version,
            tnsearch: first.tnsearch,
            sha256: first.data.sha256,
            dtype: first.data.dtype,
            observed: first.data.observed,
            dims,
            reshaped: first.reshaped,
            template,
            searched,
            measure: first.measure,
            objective: first.objective,
            strategy: first.strategy,
            settings: first.settings,
            exact: first.exact,
            fit: first.fit,
            widest_rank: first.max_rank,
            own: first.own,
            max_phi: first.max_phi,
            max_cost: first.max_cost,
            shrink: first.shrink,
            direct: first.direct,
            seed: first.seed,
            runs: first.runs,
        })
    }

    /// The line as it is written, in the newest version.
    pub(super) fn to_value(&self) -> Value {
        let mut value = json!({
            "format": FORMAT,
            "version": VERSION,
            "tnsearch": self.tnsearch,
            "data": {
                "dims": self.dims,
                "dtype": self.dtype,
                "observed": self.observed,
                "sha256": self.sha256,
            },
            "reshaped": self.reshaped,
            "template": self.template.to_ref(),
            "searched": self.searched.to_ref(),
            "objective": self.objective.recorded(),
            "strategy": self.strategy,
            "settings": self.settings,
            "exact": self.exact,
            "fit": self.fit,
            "max_rank": self.widest_rank,
            "max_phi": self.max_phi,
            "max_cost": self.max_cost,
            "shrink": self.shrink,
            "direct": self.direct,
            "seed": self.seed,
            "runs": self.runs,
        });
        if self.measure != Measure::RSE {
            value["measure"] = json!(self.measure);
        }
        if let Some(own) = &self.own {
            value["fingerprint"] = json!(own);
        }
        value
    }

    /// Whether walks would go beyond the largest rank if none was given, as 0.3.0 and before had it.
    pub(super) fn would_go_beyond(&self, rank: u64) -> bool {
        let finds = OF_TEMPLATE.contains(&&*self.strategy);
        let entries: f64 = self.dims.iter().map(|&d| d as f64).product();
        self.direct && finds && entries.sqrt().min(1024.0) as u64 > rank
    }

    /// What the modes are called.
    pub fn names(&self) -> ModeNames<'_> {
        ModeNames::new(self.reshaped.as_ref())
    }

    /// The largest rank of an edge that strategies propose and proofs are about, where the settings have one; walks and
    /// direct methods go up to `widest_rank`.
    pub fn max_rank(&self) -> Option<u64> {
        self.settings.get("max_rank").and_then(Value::as_u64)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// The header of a search on a ring of three modes.
    pub fn example() -> Header {
        let ring = Arc::new(Template::ring(3).unwrap());
        Header {
            version: VERSION,
            tnsearch: env!("CARGO_PKG_VERSION").to_owned(),
            dims: vec![3, 4, 5],
            reshaped: None,
            sha256: "00ff".to_owned(),
            dtype: Some("f64".to_owned()),
            observed: None,
            template: ring.clone(),
            searched: ring,
            measure: Measure::RSE,
            objective: Objective::Lambda(200.0),
            strategy: "tnls".to_owned(),
            settings: json!({"max_rank": 7}),
            exact: Value::Null,
            fit: json!({"restarts": 4}),
            widest_rank: Some(7),
            own: None,
            max_phi: Some(10.0),
            max_cost: None,
            shrink: true,
            direct: true,
            seed: 1,
            runs: 9,
        }
    }

    fn refusal(change: impl FnOnce(&mut Value)) -> String {
        let mut value = example().to_value();
        change(&mut value);
        Header::parse(value.to_string().as_bytes()).unwrap_err().to_string()
    }

    #[test]
    fn a_header_survives_its_line() {
        let header = example();
        assert_eq!(Header::parse(header.to_value().to_string().as_bytes()).unwrap(), header);
        assert_eq!(header.max_rank(), Some(7));
        let reshaped = Reshape::shape(&[12, 5], vec![3, 4, 5], false).unwrap();
        let split = Header { reshaped, ..header.clone() };
        let read = Header::parse(split.to_value().to_string().as_bytes()).unwrap();
        assert_eq!(read, split);
        assert_eq!([read.names().of(1), header.names().of(1)], ["m0.1", "m1"]);
        let complete = Arc::new(Template::complete(3).unwrap());
        let objective = Objective::MaxParams(u128::MAX);
        let measure = Measure::new("kl", "KL", "Kullback-Leibler divergence", None);
        let strategy = "my own".to_owned();
        let header = Header { own: Some("v1".into()), observed: Some(17), ..header };
        let left =
            Header { searched: complete, strategy, objective, measure, shrink: false, ..header };
        let read = Header::parse(left.to_value().to_string().as_bytes()).unwrap();
        assert_eq!((&read.measure, &read.own), (&left.measure, &left.own));
        assert_eq!((read.observed, read.widest_rank), (Some(17), Some(7)));
        assert_eq!((read.searched.name(), read.shrink), ("complete", false));
        assert_eq!(read.objective, Objective::MaxParams(u64::MAX.into()));
    }

    #[test]
    fn bad_first_lines_are_refused_by_name() {
        assert_eq!(refusal(|v| v["format"] = "other".into()), "not a journal of tnsearch");
        assert_eq!(
            refusal(|v| v["version"] = 6.into()),
            "it has version 6, and this program reads versions 1 to 5; use a newer tnsearch"
        );
        for none in [Value::Null, json!(0), json!(-1), json!("1")] {
            assert!(refusal(|v| v["version"] = none.clone()).contains("it has no version"));
        }
        assert!(refusal(|v| v["searched"] = Value::Null).contains("searched"));
        assert!(refusal(|v| v["searched"] = "peps:5x5".into()).starts_with("its first line is"));
        assert!(refusal(|v| v["data"]["dims"] = json!([3, 0, 3])).contains("[3, 0, 3]"));
        let other = json!({"from": [60], "to": [5, 4, 3], "names": ["a", "b", "c"]});
        assert!(refusal(|v| v["reshaped"] = other).contains("reshaped to other dimensions"));
        let measure = |id, name| json!({"id": id, "name": name, "meaning": "error", "root": null});
        assert!(refusal(|v| v["measure"] = measure("k l", "KL")).contains("measure is \"k l\""));
        assert!(refusal(|v| v["measure"] = measure("kl", "\u{1b}[2J")).contains("control"));
        assert!(refusal(|v| v["objective"] = json!({"lambda": -1.0})).contains("lambda"));
    }

    #[test]
    fn before_version_3_the_graph_is_taken_to_be_the_template() {
        let mut value = example().to_value();
        let fields = value.as_object_mut().unwrap();
        fields.remove("searched");
        fields["version"] = 2.into();
        let header = Header::parse(value.to_string().as_bytes()).unwrap();
        assert_eq!((header.version, header.searched), (2, header.template));
    }

    #[test]
    fn tensors_have_two_modes_and_new_journals_name_the_graph() {
        let taken = |change: &dyn Fn(&mut Value)| {
            let mut value = example().to_value();
            change(&mut value);
            Header::from_value(&value).is_ok()
        };
        let dims = |dims: Value| taken(&|v| v["data"]["dims"] = dims.clone());
        assert!(dims(json!([3, 4, 5])) && !dims(json!([3])) && !dims(json!([3, 0, 5])));
        let two = |v: &mut Value| {
            (v["data"]["dims"], v["template"], v["searched"]) =
                (json!([3, 4]), json!("path"), json!("path"));
        };
        assert!(
            taken(&two)
                && !taken(&|v| {
                    two(v);
                    v["data"]["dims"] = json!([3])
                })
        );
        // The root of the entries is the largest rank of walks.
        let walk = Header { strategy: "walk".into(), dims: vec![7, 7], ..example() };
        assert!(walk.would_go_beyond(6) && !walk.would_go_beyond(7));
        // What older ones leave out.
        let mut old = example().to_value();
        old.as_object_mut().unwrap().remove("shrink");
        assert!(Header::from_value(&old).unwrap().shrink);
        for (version, without) in [(2, true), (3, false), (5, false)] {
            let said = taken(&|v| {
                v["version"] = json!(version);
                v.as_object_mut().unwrap().remove("searched");
            });
            assert_eq!(said, without, "{version}");
        }
    }
}
