//! Who takes part in a comparison, by name: the default, every method without a search, every strategy.

use super::direct;
use super::row::{Found, Sort};
use std::sync::Arc;
use tnsearch::SettingError;
use tnsearch::decompose::{DecomposeSettings, Limits, Method};
use tnsearch::graph::{FAMILIES, Template};
use tnsearch::problem::{Objective, Stop, Target};
use tnsearch::search::{AskedSearch, Graphs, Search, StoppedBy, StrategySpec, all_strategies};

/// The name of the search where nothing is said.
const DEFAULT: &str = "default";

/// A method that takes part.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Contender {
    /// The search where nothing is said.
    Default,
    /// A fixed format without a search; the name of the tree where the method is for any.
    Decompose(Method, Option<&'static str>),
    /// A strategy by its name.
    Strategy(&'static str),
}

/// All there are: the default, the methods of `decompose`, the strategies but those that the default stands for. A method
/// for any tree takes part with each named tree that no other method has.
///
/// ```
/// use tnsearch_app::compare::contenders;
/// let names: Vec<String> = contenders().iter().map(|c| c.name()).collect();
/// assert_eq!(names[0], "default");
/// assert!(["tt-svd", "tr-als", "tree-svd:star", "tnls"].iter().all(|n| names.iter().any(|m| m == n)));
/// ```
pub fn contenders() -> Vec<Contender> {
    let mut all = vec![Contender::Default];
    for (_, method) in Method::ALL {
        match method {
            Method::TreeSvd => {
                all.extend(other_trees().map(|tree| Contender::Decompose(method, Some(tree))));
            }
            _ => all.push(Contender::Decompose(method, None)),
        }
    }
    let default = StrategySpec::default().name;
    let own = |name: &str, graphs| name != default && graphs != Graphs::Formats;
    let named = all_strategies().into_iter().filter(|d| own(d.name, d.graphs));
    all.extend(named.map(|d| Contender::Strategy(d.name)));
    all
}

/// The named trees that are no other method's.
fn other_trees() -> impl Iterator<Item = &'static str> {
    const ORDER: usize = 8;
    let taken: Vec<String> = Method::ALL
        .into_iter()
        .filter(|(_, method)| *method != Method::TreeSvd)
        .filter_map(|(_, method)| DecomposeSettings::new(method).template(ORDER, None).ok())
        .map(|template| template.name().to_owned())
        .collect();
    let trees = FAMILIES.into_iter().filter(|f| f.sides.is_empty() && f.is_tree());
    trees.map(|family| family.name).filter(move |name| !taken.iter().any(|t| t == name))
}

impl Contender {
    /// Its name in tables and options.
    pub fn name(&self) -> String {
        match self {
            Contender::Default => DEFAULT.to_owned(),
            Contender::Decompose(method, None) => method.to_string(),
            Contender::Decompose(method, Some(tree)) => format!("{method}:{tree}"),
            Contender::Strategy(name) => (*name).to_owned(),
        }
    }

    /// Those of a name: one, or all trees of the method for any tree.
    pub fn named(name: &str) -> Result<Vec<Contender>, SettingError> {
        let default = StrategySpec::default().name;
        let name = if name == default { DEFAULT } else { name };
        let is = |c: &Contender| {
            let own = c.name();
            own == name || own.split_once(':').is_some_and(|(method, _)| method == name)
        };
        let found: Vec<Contender> = contenders().into_iter().filter(is).collect();
        match found.is_empty() {
            false => Ok(found),
            true => {
                let names: Vec<String> = contenders().iter().map(Contender::name).collect();
                let expected = format!("use {}", names.join(", "));
                Err(SettingError::new("methods", format!("'{name}'"), expected))
            }
        }
    }

    /// What kind of method it is.
    pub(super) fn sort(&self) -> Sort {
        match self {
            Contender::Default => Sort::Default,
            Contender::Decompose(..) => Sort::Decompose,
            Contender::Strategy(_) => Sort::Search,
        }
    }

    /// What a method without a search gives, or why it gives nothing.
    pub(super) fn decompose(
        &self,
        target: &Target,
        objective: Objective,
        seed: u64,
        limits: &Limits,
    ) -> Result<Found, String> {
        let Contender::Decompose(method, tree) = self else { return Err("it is a search".into()) };
        let settings = DecomposeSettings::new(*method).with(|s| s.seed = seed);
        let order = target.dims().len();
        let tree = tree.map(|name| Template::parse(name, order).map(Arc::new));
        let tree = tree.transpose().map_err(|e| e.to_string())?;
        let made = direct::decomposed(&settings, tree, target, objective, limits);
        let made = made.map_err(|e| direct::reason(&e, &limits.stop))?;
        Ok(Found {
            network: made.network,
            rse: made.rse,
            stopped_by: match made.interrupted {
                true => direct::stopped_by(&limits.stop),
                false => StoppedBy::Finished,
            },
        })
    }

    /// What a search gives, or why it gives nothing.
    pub(super) fn search(
        &self,
        target: &Target,
        asked: &AskedSearch,
        bytes: u64,
        stop: &Stop,
    ) -> Result<Found, String> {
        let spec = match self {
            Contender::Strategy(name) => StrategySpec::new(*name),
            _ => StrategySpec::default(),
        };
        let order = target.dims().len();
        // Those that search all trees are for no template.
        let trees = spec.description().is_ok_and(|d| d.graphs == Graphs::Trees);
        let template = trees.then(|| Template::any_tree(order)).transpose();
        let template = template.map_err(|e| e.to_string())?;
        let asked = AskedSearch { strategy: spec, ..asked.clone() };
        let settings = asked.settings(bytes).map_err(|e| e.to_string())?;
        let search = Search::new(target).settings(settings).stop(stop);
        let search = match template {
            Some(template) => search.template(template),
            None => search,
        };
        let result = search.run().map_err(|e| e.to_string())?;
        let Some(best) = &result.best else {
            return Err(result.no_answer.map_or_else(|| "no answer".into(), |why| why.text()));
        };
        let network = best.network(target.dims()).map_err(|e| e.to_string())?;
        Ok(Found { network, rse: best.score.error, stopped_by: result.stopped_by })
    }
}
