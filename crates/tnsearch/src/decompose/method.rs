//! All methods by name, each with the options that it has.

use super::{
    BayesSettings, DecomposeError, Decomposition, Goal, Limits, RoundGoal, Rounded, Shares,
    bayes_tr, cp_als, ring_ranks, tr_als, tr_als_ar, tr_lm, tr_svd, tree_svd, tt_svd, tucker,
};
use crate::SettingError;
use crate::fit::{CheckedFit, FitSettings};
use crate::graph::{FAMILIES, Layout, Template};
use crate::problem::Target;
use serde::Serialize;
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// The error where none is given.
const MAX_RSE: f64 = 1e-4;

/// A way to decompose a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Method {
    /// A tensor train by truncated SVDs.
    TtSvd,
    /// A tensor ring by truncated SVDs.
    TrSvd,
    /// The smallest ring of several variants.
    TrLm,
    /// Hierarchical Tucker.
    HtSvd,
    /// Tucker.
    Hosvd,
    /// Any tree.
    TreeSvd,
    /// A ring by least squares.
    TrAls,
    /// The same with ranks that grow.
    TrAlsAr,
    /// A ring by Bayesian inference.
    BayesTr,
    /// A sum of products of vectors by least squares.
    CpAls,
}

impl Method {
    /// All of them, by name.
    pub const ALL: [(&'static str, Method); 10] = [
        ("tt-svd", Method::TtSvd),
        ("tr-svd", Method::TrSvd),
        ("tr-lm", Method::TrLm),
        ("ht-svd", Method::HtSvd),
        ("hosvd", Method::Hosvd),
        ("tree-svd", Method::TreeSvd),
        ("tr-als", Method::TrAls),
        ("tr-als-ar", Method::TrAlsAr),
        ("bayes-tr", Method::BayesTr),
        ("cp-als", Method::CpAls),
    ];

    /// Whether it makes sweeps.
    pub fn iterates(self) -> bool {
        matches!(self, Method::TrAls | Method::TrAlsAr | Method::BayesTr | Method::CpAls)
    }

    fn restarts(self) -> bool {
        matches!(self, Method::TrAls | Method::CpAls)
    }

    fn chooses_ranks(self) -> bool {
        matches!(self, Method::TrLm | Method::TrAlsAr | Method::BayesTr)
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = Method::ALL.iter().find(|(_, m)| m == self).map_or("", |(name, _)| name);
        f.write_str(name)
    }
}

impl FromStr for Method {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let found = Method::ALL.iter().find(|(name, _)| *name == text).map(|&(_, method)| method);
        found.ok_or_else(|| {
            let names: Vec<&str> = Method::ALL.iter().map(|m| m.0).collect();
            let (last, others) = names.split_last().unwrap_or((&"", &[]));
            let expected = format!("use {} or {last}", others.join(", "));
            SettingError::new("method", format!("'{text}'"), expected)
        })
    }
}

/// What a decomposition by a method is to be; what is none has the method's default.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct DecomposeSettings {
    /// The method.
    pub method: Method,
    /// The vertex of mode 0, of mode 1, ...; empty: the modes in order.
    pub permutation: Vec<usize>,
    /// The error allowed.
    pub max_rse: f64,
    /// How the error is shared out.
    pub shares: Shares,
    /// The ranks instead of the error, or one for all edges; empty: none.
    pub ranks: Vec<usize>,
    /// Independent starts of each fit.
    pub restarts: Option<usize>,
    /// Sweeps of one fit at most.
    pub max_sweeps: Option<usize>,
    /// A fit ends when its error falls by less than this fraction over some sweeps.
    pub tolerance: Option<f64>,
    /// The ranks that Bayesian inference starts from.
    pub max_rank: Option<usize>,
    /// The seed of random starts.
    pub seed: u64,
}

/// What was set of a method that iterates.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Iterating {
    /// Starts.
    pub restarts: usize,
    /// Sweeps.
    pub max_sweeps: usize,
    /// The tolerance.
    pub tolerance: f64,
    /// The first ranks.
    pub max_rank: Option<usize>,
}

impl DecomposeSettings {
    /// A method with its defaults.
    pub fn new(method: Method) -> Self {
        DecomposeSettings {
            method,
            permutation: Vec::new(),
            max_rse: MAX_RSE,
            shares: Shares::default(),
            ranks: Vec::new(),
            restarts: None,
            max_sweeps: None,
            tolerance: None,
            max_rank: None,
            seed: 0,
        }
    }

    /// The same with something changed.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Refuses options that the method does not have, and numbers that are out of range.
    pub fn check(&self, has_template: bool) -> Result<(), DecomposeError> {
        let method = self.method;
        let als = method.iterates();
        let wrong = [
            ("--template", has_template && method != Method::TreeSvd, "tree-svd"),
            ("--restarts", self.restarts.is_some() && !method.restarts(), "tr-als, cp-als"),
            (
                "--max-sweeps",
                self.max_sweeps.is_some() && !als,
                "tr-als, tr-als-ar, bayes-tr, cp-als",
            ),
            (
                "--tolerance",
                self.tolerance.is_some() && !als,
                "tr-als, tr-als-ar, bayes-tr, cp-als",
            ),
            ("--max-rank", self.max_rank.is_some() && method != Method::BayesTr, "bayes-tr"),
        ];
        if let Some((option, _, of)) = wrong.iter().find(|w| w.1) {
            return Err(DecomposeError::Asked(format!(
                "{option} does not go with --method {method}; it is an option of {of}"
            )));
        }
        if !has_template && method == Method::TreeSvd {
            return Err(DecomposeError::Asked(format!(
                "--method tree-svd needs --template: {} or a JSON file",
                tree_families()
            )));
        }
        if !self.ranks.is_empty() && method.chooses_ranks() {
            return Err(DecomposeError::Asked(format!(
                "--method {method} chooses the ranks itself; give --max-rse instead of --ranks"
            )));
        }
        Goal::max_rse(self.max_rse)?;
        self.fit()?;
        Ok(())
    }

    /// The template of the method for a tensor of that order; `given` is that of a tree.
    pub fn template(
        &self,
        order: usize,
        given: Option<Arc<Template>>,
    ) -> Result<Arc<Template>, DecomposeError> {
        Ok(match (self.method, given) {
            (Method::TreeSvd, Some(given)) => given,
            (Method::TreeSvd | Method::TtSvd, _) => Arc::new(Template::path(order)?),
            (Method::HtSvd, _) => Arc::new(Template::ht(order)?),
            (Method::CpAls, _) => Arc::new(Template::cp(order)?),
            (Method::Hosvd, _) => Arc::new(tucker(order)?),
            _ => Arc::new(Template::ring(order)?),
        })
    }

    /// What is to be reached on a template.
    pub fn goal(&self, template: &Template) -> Result<Goal, DecomposeError> {
        match self.ranks.is_empty() {
            true => Ok(Goal::max_rse(self.max_rse)?.sharing(self.shares)),
            false => Goal::ranks(ranks_along(template, &self.ranks)?),
        }
    }

    /// How fits on the way are made.
    fn fit(&self) -> Result<CheckedFit, SettingError> {
        let settings = FitSettings::default().with(|s| {
            s.restarts = self.restarts.unwrap_or(s.restarts);
            s.max_sweeps = self.max_sweeps.unwrap_or(s.max_sweeps);
            s.tolerance = self.tolerance.unwrap_or(s.tolerance);
        });
        settings.check()
    }

    fn bayes(&self) -> BayesSettings {
        BayesSettings::default().with(|s| {
            s.max_rank = self.max_rank.unwrap_or(s.max_rank);
            s.max_sweeps = self.max_sweeps.unwrap_or(s.max_sweeps);
        })
    }

    /// What counts of a method that iterates; none of others.
    pub fn iterating(&self) -> Result<Option<Iterating>, SettingError> {
        let (fit, bayes, is_bayes) = (self.fit()?, self.bayes(), self.method == Method::BayesTr);
        Ok(self.method.iterates().then(|| Iterating {
            restarts: if self.method.restarts() { fit.restarts } else { 1 },
            max_sweeps: if is_bayes { bayes.max_sweeps } else { fit.max_sweeps },
            tolerance: fit.tolerance,
            max_rank: is_bayes.then_some(bayes.max_rank),
        }))
    }

    /// Decomposes a tensor on the method's template.
    ///
    /// ```
    /// use tnsearch::decompose::{DecomposeSettings, Limits, Method};
    /// use tnsearch::{problem::Target, tensor::Tensor};
    /// let x = Tensor::new(vec![2, 2, 2], (0..8).map(|k| f64::from(k % 2)).collect()).unwrap();
    /// let (target, settings) = (Target::new(x).unwrap(), DecomposeSettings::new(Method::TtSvd));
    /// let path = settings.template(3, None).unwrap();
    /// let found = settings.run(&target, &path, &Limits::none()).unwrap();
    /// assert_eq!(found.ranks(), [1, 1]);
    /// ```
    pub fn run(
        &self,
        target: &Target,
        template: &Arc<Template>,
        limits: &Limits,
    ) -> Result<Decomposition, DecomposeError> {
        let (goal, fit) = (&self.goal(template)?, &self.fit()?);
        let perm = match self.permutation.is_empty() {
            true => &template.external_vertices(),
            false => &self.permutation,
        };
        match self.method {
            Method::TtSvd => tt_svd(target, perm, goal, limits),
            Method::TreeSvd | Method::HtSvd | Method::Hosvd => {
                tree_svd(target, template, perm, goal, limits)
            }
            Method::TrSvd => tr_svd(target, perm, goal, limits),
            Method::TrLm => tr_lm(target, perm, goal, limits),
            Method::CpAls => cp_als(target, perm, goal, fit, self.seed, limits),
            Method::TrAls => tr_als(target, perm, goal, fit, self.seed, limits),
            Method::TrAlsAr => tr_als_ar(target, perm, goal, fit, self.seed, limits),
            Method::BayesTr => {
                let bayes = self.bayes().check()?;
                bayes_tr(target, perm, goal, &bayes, fit, self.seed, limits)
            }
        }
    }
}

/// An error that was given as it is or squared, squared; 0 is exact.
pub fn allowed(re: Option<f64>, rse: Option<f64>) -> Result<Option<f64>, SettingError> {
    let expected = "it must be at least 0 and below 1";
    match (re, rse) {
        (Some(re), _) if !(0.0..1.0).contains(&re) => {
            Err(SettingError::new("max-re", re, expected))
        }
        (Some(re), _) => Ok(Some(re * re)),
        (None, Some(rse)) if !(0.0..1.0).contains(&rse) => {
            Err(SettingError::new("max-rse", rse, expected))
        }
        (None, rse) => Ok(rse),
    }
}

/// The families that are trees, for messages.
pub fn tree_families() -> String {
    let trees = FAMILIES.into_iter().filter(|family| family.is_tree());
    trees.map(|family| family.written()).collect::<Vec<_>>().join(", ")
}

/// Ranks as they are given (along a path or ring, the closing edge last; of others in the order of the template's edges;
/// one number for all alike) in the order of the template's edges.
fn ranks_along(template: &Template, given: &[usize]) -> Result<Vec<usize>, DecomposeError> {
    let edges = template.edges().len();
    let ranks = match given {
        [all] => vec![*all; edges],
        _ => given.to_vec(),
    };
    if ranks.len() != edges {
        let (found, name) = (ranks.len(), template.name());
        return Err(DecomposeError::Asked(format!(
            "--ranks has {found} numbers; template '{name}' has {edges} edges and needs one each"
        )));
    }
    let ring = template.layout() == Some(Layout::Circle);
    Ok(if ring { ring_ranks(&ranks) } else { ranks })
}

impl RoundGoal {
    /// Ranks as they are given: along a path or ring (the closing edge last), of other graphs in the order of the
    /// template's edges; one number for all alike.
    pub fn ranks_along(template: &Template, given: &[usize]) -> Result<Self, DecomposeError> {
        Ok(RoundGoal::ranks(ranks_along(template, given)?)?)
    }
}

impl Rounded {
    /// The RSE against the tensor at most, where the network given had this one. With `||X - Z|| = a ||X||` and
    /// `||Z - Z'|| = b ||Z||`: `||X - Z'|| <= (a + b (1 + a)) ||X||`; squared.
    pub fn against_tensor(&self, given: f64) -> f64 {
        let (a, b) = (given.sqrt(), self.rse.max(self.floor).sqrt());
        (a + b * (1.0 + a)).powi(2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_go_by_their_names() {
        for (name, method) in Method::ALL {
            assert_eq!((name.parse(), method.to_string()), (Ok(method), name.to_owned()));
        }
        let said = "svd".parse::<Method>().unwrap_err().to_string();
        assert!(
            said.starts_with("method is 'svd'; use tt-svd, tr-svd,") && said.ends_with("or cp-als")
        );
    }

    #[test]
    fn options_of_other_methods_are_refused() {
        let said = |settings: DecomposeSettings, template| {
            settings.check(template).unwrap_err().to_string()
        };
        let svd = DecomposeSettings::new(Method::TtSvd);
        assert!(svd.check(false).is_ok());
        assert!(said(svd.clone(), true).contains("an option of tree-svd"));
        assert!(said(svd.with(|s| s.restarts = Some(2)), false).contains("an option of tr-als"));
        let lm = DecomposeSettings::new(Method::TrLm).with(|s| s.ranks = vec![2]);
        assert!(said(lm, false).contains("chooses the ranks itself"));
        let ring = Template::ring(4).unwrap();
        assert!(ranks_along(&ring, &[2, 3]).is_err());
        assert_eq!(ranks_along(&ring, &[3]).unwrap(), [3; 4]);
        assert_eq!(allowed(Some(0.5), None), Ok(Some(0.25)));
        assert!(allowed(None, Some(1.0)).is_err() && allowed(Some(-0.1), None).is_err());
    }
}
