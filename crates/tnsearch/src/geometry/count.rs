//! How many structures there are: exactly, and next to the paper's bounds.

use super::{Degrees, GeometryError, Internal, Placements, theorem_ln};
use crate::graph::Template;
use num_bigint::BigUint;
use std::sync::Arc;

/// More idle symmetries than this are not gone through.
const MAX_IDLE: u64 = 100_000;

/// The largest search space that is written out, in bits (about 300,000 digits).
const MAX_BITS: u64 = 1_000_000;

/// The size of a template's search space.
///
/// ```
/// use std::sync::Arc;
/// use tnsearch::geometry::{Internal, Space};
/// use tnsearch::graph::Template;
/// let space = Space::new(Arc::new(Template::ring(8).unwrap()), 7, Internal::Free).unwrap();
/// assert_eq!((space.automorphisms.to_string(), space.structures.to_string()), ("16".into(), "2520".into()));
/// // 2520 * 7^8.
/// assert_eq!(space.size.unwrap().to_string(), "14527298520");
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Space {
    /// Modes, N.
    pub order: usize,
    /// All vertices, internal ones included.
    pub vertices: usize,
    /// Edges, |E0|.
    pub edges: usize,
    /// The largest rank, R.
    pub max_rank: usize,
    /// The least and the largest degree.
    pub degrees: Degrees,
    /// |Aut(G0)|.
    pub automorphisms: BigUint,
    /// The number of ways in which the symmetries move modes.
    pub mode_symmetries: BigUint,
    /// The number of different placements, |G0 class| = N! / `mode_symmetries` (equation 4).
    pub structures: BigUint,
    /// The number of structures with ranks from 1 to R, |L| = |G0 class| * R^|E0| where no symmetry is idle;
    /// none where it has too many digits to write.
    pub size: Option<BigUint>,
    /// Its decimal logarithm.
    pub log10_size: f64,
    /// The bounds of Theorem 3.1 on it, as decimal logarithms; none for a graph they do not cover.
    pub log10_bounds: Option<(f64, f64)>,
}

impl Space {
    /// Counts the structures of a template with ranks from 1 to `max_rank`.
    pub fn new(
        template: Arc<Template>,
        max_rank: usize,
        internal: Internal,
    ) -> Result<Space, GeometryError> {
        Self::of(&Placements::new(template, internal)?, max_rank)
    }

    /// Counts the structures with ranks from 1 to `max_rank`.
    pub fn of(placements: &Placements, max_rank: usize) -> Result<Space, GeometryError> {
        let template = placements.template();
        let (order, edges) = (template.order(), template.edges().len());
        let automorphisms = placements.automorphisms().order().clone();
        let idle = placements.idle()?;
        let mode_symmetries = &automorphisms / idle.order();
        let all = factorial(order);
        let structures = &all / &mode_symmetries;
        let rank = BigUint::from(max_rank);
        let mut log10_size = log10(&structures) + edges as f64 * (max_rank as f64).log10();
        let writable = edges as u64 * rank.bits() <= MAX_BITS;
        let mut size = writable.then(|| &structures * rank.pow(edges as u32));
        if *idle.order() > BigUint::from(1u32) {
            // Ranks that an idle symmetry maps to each other make the same structure (Burnside's lemma).
            if *idle.order() > BigUint::from(MAX_IDLE) || !writable {
                let what = "symmetries of internal vertices alone (fix them)";
                return Err(GeometryError::too_many(what, idle.order(), MAX_IDLE));
            }
            let fixed = idle.elements(MAX_IDLE)?.map(|p| rank.pow(edge_cycles(template, &p)));
            let exact = &structures * fixed.sum::<BigUint>() / idle.order();
            log10_size = log10(&exact);
            size = Some(exact);
        }
        let degrees = Degrees::of(template);
        let ln10 = std::f64::consts::LN_10;
        let bounds = theorem_ln(order, template.vertices(), degrees, max_rank);
        Ok(Space {
            order,
            vertices: template.vertices(),
            edges,
            max_rank,
            degrees,
            automorphisms,
            mode_symmetries,
            structures,
            size,
            log10_size,
            log10_bounds: bounds.map(|(low, high)| (low / ln10, high / ln10)),
        })
    }
}

/// The number of cycles of a symmetry on the edges.
fn edge_cycles(template: &Template, p: &[usize]) -> u32 {
    let edges = template.edges();
    let image = |e: usize| {
        let (u, v) = (p[edges[e].0], p[edges[e].1]);
        edges.binary_search(&(u.min(v), u.max(v))).unwrap_or(e)
    };
    let mut seen = vec![false; edges.len()];
    let mut cycles = 0;
    for first in 0..edges.len() {
        let mut e = first;
        cycles += u32::from(!seen[first]);
        while !std::mem::replace(&mut seen[e], true) {
            e = image(e);
        }
    }
    cycles
}

/// n!, exactly.
pub fn factorial(n: usize) -> BigUint {
    (2..=n).map(BigUint::from).product()
}

/// The decimal logarithm of a whole number (of 0: minus infinity).
pub fn log10(n: &BigUint) -> f64 {
    let shift = n.bits().saturating_sub(64);
    let top = (n >> shift).iter_u64_digits().next().unwrap_or(0);
    (top as f64).log10() + shift as f64 * std::f64::consts::LOG10_2
}
