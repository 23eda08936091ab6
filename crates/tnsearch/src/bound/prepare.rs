//! Cut spectra within limits of time and memory.

use super::trees::ALL_TREES;
use super::{CutBound, MAX_MODES, Spectra, SpectraSettings};
use crate::graph::Template;
use crate::problem::{Objective, Stop, Target};
use thiserror::Error;

/// Cut spectra are computed in advance where that takes at most this many operations (about a minute); else
/// when they are asked for.
const PREPARE_FLOPS: f64 = 5e12;

/// Below this error the squares of singular values drown in rounding.
const GRAM_RSE: f64 = 1e-10;

/// The relaxed problem knows sets of this many vertices.
const MAX_VERTICES: usize = 64;

/// Why structures cannot be bounded.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum BoundError {
    /// The tensor has too many modes.
    #[error("the tensor has {order} modes; cuts are known for at most {MAX_MODES}")]
    Modes {
        /// Its modes.
        order: usize,
    },
    /// The template has a copy vertex: its one rank is not placed vertex by vertex.
    #[error(
        "template cp has one rank for all its edges, which strategy auto bounds; the relaxed problem is for other templates"
    )]
    Hyperedge,
    /// The tensor has holes.
    #[error("cuts of a tensor with holes bound nothing")]
    Holes,
    /// The template has too many vertices for the relaxed problem.
    #[error(
        "template '{template}' has {vertices} vertices; bounds over all structures need at most {MAX_VERTICES}"
    )]
    Vertices {
        /// The template's name.
        template: String,
        /// Its vertices.
        vertices: usize,
    },
    /// One cut alone would take more than half the memory allowed.
    #[error(
        "bounding the error of structures needs {} of memory, but only half of {} may be used for it; \
         see --max-memory",
        megabytes(*needed), megabytes(*limit)
    )]
    Memory {
        /// What a cut takes, in bytes.
        needed: f64,
        /// The limit, in bytes.
        limit: f64,
    },
    /// The threads could not be started.
    #[error("cannot start the threads: {0}")]
    Threads(String),
}

fn megabytes(bytes: f64) -> String {
    match bytes {
        b if b < 1e6 => format!("{:.1} kB", b / 1e3),
        b if b < 1e9 => format!("{:.1} MB", b / 1e6),
        b => format!("{:.2} GB", b / 1e9),
    }
}

/// What computing bounds may use.
#[derive(Debug, Clone, Default, PartialEq)]
#[non_exhaustive]
pub struct BoundLimits {
    /// Bytes of memory; cuts take at most half of them. None: no limit.
    pub max_bytes: Option<u64>,
    /// Threads; none: one per processor.
    pub threads: Option<usize>,
}

impl BoundLimits {
    fn bytes(&self) -> f64 {
        self.max_bytes.map_or(f64::INFINITY, |bytes| bytes as f64)
    }

    /// How many cuts may be computed at a time.
    fn cuts_at_a_time(&self, spectra: &Spectra) -> usize {
        let held = spectra.target().held_bytes() as f64;
        ((self.bytes() / 2.0).min(self.bytes() - held) / spectra.bytes()) as usize
    }
}

/// Refuses templates too large for the relaxed problem.
pub fn check_template(template: &Template) -> Result<(), BoundError> {
    if template.copy_vertex().is_some() {
        return Err(BoundError::Hyperedge);
    }
    match template.vertices() {
        vertices if vertices > MAX_VERTICES => {
            Err(BoundError::Vertices { template: template.name().to_owned(), vertices })
        }
        _ => Ok(()),
    }
}

/// Whether an objective needs singular values themselves, not their squares.
pub fn needs_svd(objective: Objective) -> bool {
    objective.max_error().is_some_and(|eps| eps < GRAM_RSE)
}

/// The error that spectra are compared with; none where it may be any.
pub fn matters(objective: Objective) -> Option<f64> {
    objective.max_error().or(objective.lambda().map(|lambda| 0.01 / lambda.max(1.0)))
}

impl Spectra {
    /// The spectra of a tensor's cuts, none computed yet; refused where they cannot be.
    pub fn within(target: &Target, svd: bool, limits: &BoundLimits) -> Result<Spectra, BoundError> {
        if !target.is_whole() {
            return Err(BoundError::Holes);
        }
        let order = target.dims().len();
        if order > MAX_MODES {
            return Err(BoundError::Modes { order });
        }
        let spectra = Spectra::new(target, SpectraSettings { svd, ..SpectraSettings::default() });
        if limits.cuts_at_a_time(&spectra) == 0 {
            return Err(BoundError::Memory { needed: spectra.bytes(), limit: limits.bytes() });
        }
        let held = target.held_bytes() as f64;
        Ok(spectra.with_room((limits.bytes() - held) / 2.0))
    }

    /// Whether all spectra can be computed in about a minute.
    pub fn affordable(&self) -> bool {
        self.prepare_flops() <= PREPARE_FLOPS
    }

    /// Computes the spectra in parallel, where that is affordable, until it is told to stop.
    pub fn prepare_within(&self, limits: &BoundLimits, stop: &Stop) -> Result<(), BoundError> {
        if !self.affordable() {
            return Ok(());
        }
        let processors = || std::thread::available_parallelism().map_or(1, usize::from);
        let threads = limits.threads.unwrap_or_else(processors).min(limits.cuts_at_a_time(self));
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads.max(1))
            .build()
            .map_err(|e| BoundError::Threads(e.to_string()))?;
        pool.install(|| self.prepare(stop));
        Ok(())
    }
}

impl CutBound {
    /// The bound of a tensor for searches of a template: spectra computed until `hurry`, and none after `stop`.
    pub fn prepared(
        target: &Target,
        template: &Template,
        objective: Objective,
        limits: &BoundLimits,
        (stop, hurry): (&Stop, &Stop),
    ) -> Result<CutBound, BoundError> {
        // The cuts of a cp bound its rank, whatever the relaxed problem knows.
        if template.copy_vertex().is_none() {
            check_template(template)?;
        }
        let spectra = Spectra::within(target, needs_svd(objective), limits)?.stoppable(stop);
        let spectra = spectra.mattering(matters(objective));
        // Of the cuts of very many modes a search over all trees needs few.
        if !template.is_any_tree() || template.order() <= ALL_TREES {
            spectra.prepare_within(limits, hurry)?;
        }
        Ok(CutBound::new(spectra))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::Tensor;

    fn target(modes: usize) -> Target {
        let data = (0..1 << modes).map(|k: u32| f64::from(k * 7919 % 101)).collect();
        Target::new(Tensor::<f64>::new(vec![2; modes], data).unwrap()).unwrap()
    }

    #[test]
    fn memory_is_named_in_units_that_fit() {
        let text = |needed, limit| BoundError::Memory { needed, limit }.to_string();
        let said = text(1e6, 1e9);
        assert!(said.contains("needs 1.0 MB of") && said.contains("half of 1.00 GB"), "{said}");
        let said = text(2500.0, 999e3);
        assert!(said.contains("needs 2.5 kB of") && said.contains("half of 999.0 kB"), "{said}");
        let said = text(7.25e10, 9.994e8);
        assert!(said.contains("needs 72.50 GB of") && said.contains("half of 999.4 MB"), "{said}");
    }

    #[test]
    fn the_error_that_matters_and_the_route_follow_the_objective() {
        assert_eq!(matters(Objective::MaxError(0.03)), Some(0.03));
        assert_eq!(matters(Objective::MaxParams(10)), None);
        // A hundredth of a loss of one.
        assert_eq!(matters(Objective::Lambda(5.0)), Some(0.002));
        assert_eq!(matters(Objective::Lambda(0.5)), Some(0.01));
        assert!(needs_svd(Objective::MaxError(9e-11)) && !needs_svd(Objective::MaxError(1e-10)));
        assert!(!needs_svd(Objective::MaxParams(10)) && !needs_svd(Objective::Lambda(1e12)));
    }

    #[test]
    fn templates_of_more_than_64_vertices_are_refused() {
        assert!(check_template(&Template::ring(64).unwrap()).is_ok());
        let tucker = Template::parse("tucker", 64).unwrap();
        let refused = check_template(&tucker).unwrap_err();
        assert!(matches!(refused, BoundError::Vertices { vertices: 65, .. }), "{refused}");
    }

    #[test]
    fn memory_is_enough_for_one_cut_at_a_time_beside_the_tensor() {
        let target = target(8);
        let spectra = Spectra::within(&target, false, &BoundLimits::default()).unwrap();
        let (cut, held) = (spectra.bytes(), target.held_bytes() as f64);
        let with = |bytes: f64| BoundLimits { max_bytes: Some(bytes as u64), threads: None };
        let need = (2.0 * cut).max(cut + held).ceil();
        assert_eq!(with(need).cuts_at_a_time(&spectra), 1);
        assert_eq!(with(need - 2.0).cuts_at_a_time(&spectra), 0);
        assert!(Spectra::within(&target, false, &with(need)).is_ok());
        let refused = Spectra::within(&target, false, &with(need - 2.0)).err();
        assert_eq!(refused, Some(BoundError::Memory { needed: cut, limit: need - 2.0 }));
        // Half of the memory.
        assert_eq!(with(21.0 * cut).cuts_at_a_time(&spectra), 10);
        // Or what is left beside a tensor in whose place a small one stands.
        let large = Tensor::<f64>::new(vec![8; 4], vec![1.0; 4096]).unwrap();
        let limits = BoundLimits::default().for_shrinking(&Stop::new());
        let large = Target::new(large).unwrap();
        let small = large.shrink(Objective::MaxError(1e-6), &limits).unwrap();
        let spectra = Spectra::within(&small, false, &BoundLimits::default()).unwrap();
        let (cut, held) = (spectra.bytes(), small.held_bytes() as f64);
        assert!(held > 100.0 * cut, "{held} {cut}");
        assert_eq!(with(held + 10.5 * cut).cuts_at_a_time(&spectra), 10);
    }

    #[test]
    fn sets_hold_64_modes() {
        let within = |order: usize| {
            let ones = Tensor::<f64>::new(vec![1; order], vec![2.0]).unwrap();
            Spectra::within(&Target::new(ones).unwrap(), false, &BoundLimits::default()).err()
        };
        assert_eq!((within(64), within(65)), (None, Some(BoundError::Modes { order: 65 })));
    }

    #[test]
    fn all_cuts_are_known_once_prepared() {
        let (target, stop) = (target(5), Stop::new());
        let known =
            |spectra: &Spectra| (1..16).filter(|&k| spectra.known(k << 1).is_some()).count();
        for threads in [None, Some(2)] {
            let limits = BoundLimits { max_bytes: None, threads };
            let spectra = Spectra::within(&target, false, &limits).unwrap();
            assert_eq!((known(&spectra), spectra.affordable()), (0, true));
            spectra.prepare_within(&limits, &stop).unwrap();
            assert_eq!(known(&spectra), 15);
        }
        let objective = Objective::MaxError(1e-2);
        for template in [Template::ring(5).unwrap(), Template::any_tree(5).unwrap()] {
            let limits = BoundLimits::default();
            let bound = CutBound::prepared(&target, &template, objective, &limits, (&stop, &stop));
            assert_eq!(known(bound.unwrap().spectra()), 15, "{}", template.name());
        }
        // Beyond order 20 there are too many for any.
        let ones = Tensor::<f64>::new(vec![1; 21], vec![2.0]).unwrap();
        let limits = BoundLimits::default();
        let spectra = Spectra::within(&Target::new(ones).unwrap(), false, &limits).unwrap();
        spectra.prepare_within(&limits, &stop).unwrap();
        assert!(!spectra.affordable() && spectra.known(0b10).is_none());
        // Of very many modes none is computed in advance for trees.
        let many = Target::new(Tensor::<f64>::new(vec![1; 15], vec![1.0]).unwrap()).unwrap();
        let bound = |template: Template| {
            let limits = BoundLimits::default();
            CutBound::prepared(&many, &template, objective, &limits, (&stop, &stop)).unwrap()
        };
        assert!(bound(Template::any_tree(15).unwrap()).spectra().known(0b10).is_none());
        assert!(bound(Template::ring(15).unwrap()).spectra().known(0b10).is_some());
    }
    /// One rank for all edges is no matter of the relaxed problem, but its cuts bound it.
    #[test]
    fn the_cuts_of_a_cp_are_prepared_though_its_relaxed_problem_is_refused() {
        let cp = Template::parse("cp", 4).unwrap();
        assert_eq!(check_template(&cp), Err(BoundError::Hyperedge));
        let (stop, limits) = (Stop::new(), BoundLimits::default());
        let objective = Objective::MaxError(1e-2);
        let bound = CutBound::prepared(&target(4), &cp, objective, &limits, (&stop, &stop));
        assert!(bound.unwrap().spectra().known(0b10).is_some());
        // Others that the relaxed problem refuses are refused.
        let tucker = Template::parse("tucker", 64).unwrap();
        let many = Target::new(Tensor::<f64>::new(vec![1; 64], vec![1.0]).unwrap()).unwrap();
        let refused = CutBound::prepared(&many, &tucker, objective, &limits, (&stop, &stop));
        assert!(matches!(refused.err(), Some(BoundError::Vertices { vertices: 65, .. })));
    }

    /// What is of use but not needed may take half of what is left beside the tensor.
    #[test]
    fn half_of_the_memory_beside_the_tensor_is_room() {
        let target = target(8);
        let held = target.held_bytes() as f64;
        let limits = BoundLimits { max_bytes: Some(1_000_000), threads: None };
        let spectra = Spectra::within(&target, false, &limits).unwrap();
        assert_eq!(spectra.room, (1e6 - held) / 2.0);
        let free = Spectra::within(&target, false, &BoundLimits::default()).unwrap();
        assert_eq!(free.room, f64::INFINITY);
    }
}
