//! Proofs about the structures of a graph: the tree of cases, and one of less where there is none of the claim.

use super::branch::Branching;
use super::case::{Price, Space};
use super::cuts::Cuts;
use super::{Certificate, Claim, Cut, MOST_EDGES, NoCertificate, Node, Priced};
use crate::bound::{ModeSet, Spectra, Spectrum};
use crate::graph::{Template, TemplateRef};
use crate::problem::Stop;
use crate::tensor::size;
use std::collections::BTreeSet;

/// A proof of less is tried so many times, less one.
const HALVED: i32 = 5;

/// The widths of a cut that may matter.
pub(super) type Widths<'a> = Box<dyn Fn(&Spectrum) -> BTreeSet<usize> + 'a>;

/// Those for structures of a graph.
pub(super) fn widths<'a>(claim: &Claim, spectra: &Spectra) -> Widths<'a> {
    let max_rse = claim.max_rse;
    match claim.priced {
        None => Box::new(move |s| [s.rank(max_rse)].into()),
        // All that may matter: what is narrower and has the fewest params beyond which nothing is asked has the loss.
        Some((lambda, loss)) => {
            let entries = size(spectra.target().full_dims()) as f64;
            let left = loss - ((loss * entries).ceil() - 1.0) / entries;
            let least = (left / lambda).max(0.0);
            Box::new(move |s| (2..=s.rank(least)).collect())
        }
    }
}

/// Refuses graphs that are too large.
pub(super) fn check_graph(template: &Template, most_internal: usize) -> Result<(), NoCertificate> {
    let (edges, vertices) = (template.edges().len(), template.vertices());
    let internal = vertices - template.order();
    match edges > MOST_EDGES || internal > most_internal || vertices > 64 {
        true => Err(NoCertificate::Graph { edges, internal }),
        false => Ok(()),
    }
}

/// Which cuts a case looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Looked {
    /// All that are known.
    All,
    /// Those of the graph's own [sides], each when it is first asked for.
    Asked,
}

/// The space of all cases of a claim.
fn space<'a>(claim: &Claim, cuts: &'a Cuts<'a>, looked: Looked) -> Space<'a> {
    let dims = cuts.spectra().target().full_dims();
    let price = claim.priced.map(|(lambda, loss)| Price::new(lambda, loss, dims));
    let goal = match &price {
        None => claim.params,
        Some(price) => Some(price.goal()),
    };
    Space::new(&claim.template, dims, claim.max_rank as u64, (cuts, looked), goal, price)
}

/// The tree of cases for a graph.
pub(super) fn tree_of(
    claim: &Claim,
    cuts: &Cuts<'_>,
    looked: Looked,
    cases: usize,
    stop: &Stop,
) -> Result<Vec<Node>, NoCertificate> {
    let tree = Branching::new(&space(claim, cuts, looked)).tree(cases, stop);
    match tree {
        Err(NoCertificate::NotProven) if looked == Looked::Asked => {
            Err(NoCertificate::Part(cuts.spectra().order()))
        }
        tree => tree,
    }
}

/// A proof of less than a claim, where there is one: of as much as is found by halving what it says beyond what every mode needs
/// alone; at least of that, if it is more than nothing.
pub(super) fn of_less(
    claim: &Claim,
    cuts: &Cuts<'_>,
    cases: usize,
    stop: &Stop,
) -> Option<(Vec<Node>, Claim)> {
    let all = space(&Claim { priced: None, params: None, ..claim.clone() }, cuts, Looked::Asked);
    let whole = all.whole();
    let alone = u64::try_from(all.params(&whole, &whole.least)).ok()?;
    let prove = |claim: &Claim| {
        Some((tree_of(claim, cuts, Looked::Asked, cases, stop).ok()?, claim.clone()))
    };
    if let Some((lambda, loss)) = claim.priced {
        let least = all.fewest() as f64 / size(cuts.spectra().target().full_dims()) as f64;
        let less = |k: i32| least + (loss - least) * 0.5f64.powi(k);
        let claims =
            (1..HALVED).map(|k| Claim { priced: Some((lambda, less(k))), ..claim.clone() });
        return claims.filter(|_| loss > least).find_map(|claim| prove(&claim));
    }
    // Where there is no structure at all, as if there were none of a few times these.
    let most = claim.params.unwrap_or(alone.saturating_mul(4));
    let less = |k: u32| alone + (most.saturating_sub(alone) >> k);
    let claims = (1..HALVED as u32).map(|k| Claim { params: Some(less(k)), ..claim.clone() });
    let found = claims.filter(|c| c.params > Some(alone)).find_map(|claim| prove(&claim));
    found.or_else(|| {
        // The first case is ruled out at once.
        let nothing = u128::from(alone) <= all.fewest();
        let own = Claim { params: Some(alone), ..claim.clone() };
        (!nothing).then(|| (vec![Node::default()], own))
    })
}

/// A certificate for a graph.
pub(super) fn made(
    claim: &Claim,
    spectra: &Spectra,
    cuts: Cuts<'_>,
    tree: Vec<Node>,
    short_of: Option<String>,
) -> Certificate {
    let mut made = Certificate {
        template: graph_of(&claim.template),
        max_rank: Some(claim.max_rank),
        max_rse: claim.max_rse,
        params: claim.params,
        priced: claim.priced.map(|(lambda, loss)| Priced { lambda, loss, errors: Vec::new() }),
        lost: spectra.target().lost(),
        contracted: Vec::new(),
        cuts: Vec::new(),
        tree,
        short_of,
    };
    made.keep(cuts.into_found(), spectra.order());
    made
}

impl Certificate {
    /// Keeps the cuts that the cases name, and those of single modes, which every case counts with.
    fn keep(&mut self, cuts: Vec<(ModeSet, Cut)>, order: usize) {
        let mut number: Vec<Option<usize>> = vec![None; cuts.len()];
        let named = self.tree.iter().flat_map(|node| &node.cuts).map(|(cut, _)| *cut);
        for k in named {
            number[k] = Some(0);
        }
        for (k, (_, cut)) in cuts.into_iter().enumerate() {
            let alone = cut.modes.len() == 1 || cut.modes.len() + 1 == order;
            if alone || number[k].is_some() {
                number[k] = Some(self.cuts.len());
                self.cuts.push(cut);
            }
        }
        for (cut, _) in self.tree.iter_mut().flat_map(|node| &mut node.cuts) {
            *cut = number[*cut].unwrap_or(*cut);
        }
    }
}

/// The template by its graph.
fn graph_of(template: &Template) -> TemplateRef {
    let vertices = (0..template.vertices())
        .map(|v| crate::graph::VertexFile { mode: template.is_external(v) })
        .collect();
    TemplateRef::Graph { vertices, edges: template.edges().iter().map(|&(u, v)| [u, v]).collect() }
}
