//! No fit goes below the bound, over all templates, with fits that come as near to it as can be.
//!
//! `TNSEARCH_CASES=10000 cargo test -p tnsearch --test bounds` runs more cases than the default.

mod hidden;

use hidden::{Hidden, cases, json_graph, structure};
use rand::RngExt as _;
use std::sync::Arc;
use tnsearch::bound::{CutBound, Next, Relaxation, Spectra, SpectraSettings};
use tnsearch::fit::{FitSettings, Request, Run, fit};
use tnsearch::graph::{ModeGraph, Structure, Template};
use tnsearch::problem::Objective;
use tnsearch::problem::Target;
use tnsearch::rng::{Rng, stream};
use tnsearch::tensor::{AnyTensor, Tensor};

fn templates() -> Vec<Arc<Template>> {
    let named = [
        Template::ring(6),
        Template::path(6),
        Template::tree(7),
        Template::peps(2, 3),
        Template::ht(6),
        Template::mera(8),
        Template::complete(4),
        Template::star(5),
    ];
    let graphs = [json_graph(4), json_graph(5)];
    named.into_iter().map(Result::unwrap).chain(graphs).map(Arc::new).collect()
}

/// The bound by both routes, and the RSE of a fit that starts at these cores.
fn bounds_and_fit(
    target: &Target,
    graph: &ModeGraph,
    warm: Option<&[AnyTensor]>,
    seed: u64,
) -> ([f64; 2], f64) {
    let settings = FitSettings::default().with(|s| {
        s.restarts = 1;
        s.max_sweeps = 12;
        // Down to what rounding leaves.
        s.stop_rse = 0.0;
        s.enough_rse = 0.0;
    });
    let request = Request::new(graph.clone(), settings.check().unwrap(), seed);
    let request = Request { warm: warm.map(|cores| Arc::new(cores.to_vec())), ..request };
    let fitted = fit(target, &request, &Run::default());
    let bounds = [false, true].map(|svd| {
        let spectra = Spectra::new(target, SpectraSettings::default().with(|s| s.svd = svd));
        CutBound::new(spectra).rse(graph, f64::INFINITY)
    });
    (bounds, fitted.unwrap().error)
}

#[test]
fn no_fit_goes_below_the_bound() {
    let templates = templates();
    let (mut tight, mut above_zero, n) = (0, 0, cases(400));
    for number in 0..n {
        let mut rng = stream(number, b"bounds");
        let template = &templates[number as usize % templates.len()];
        let order = template.order();
        let most = if order < 7 { 3 } else { 2 };
        let dims: Vec<usize> = (0..order).map(|_| rng.random_range(2..=most)).collect();
        // The last component of every edge from as large as the others to lost in rounding: its square is
        // the tail that a narrower edge leaves.
        let weak = 10f64.powf(-rng.random_range(0.0..9.0));
        let noise =
            if rng.random_bool(0.5) { 0.0 } else { 10f64.powf(-rng.random_range(0.0..9.0)) };
        let hidden = Hidden::new(structure(template, 3, &mut rng), &dims, weak, noise, &mut rng);
        let (graph, cores) = match (number / templates.len() as u64 % 3, hidden.narrowed(&mut rng))
        {
            (0, _) => (structure(template, 3, &mut rng).canonical().graph, None),
            (1, Some((graph, cores))) => (graph, Some(cores)),
            _ => (hidden.graph.clone(), Some(hidden.cores.clone())),
        };
        let cores: Option<Vec<AnyTensor>> =
            cores.map(|cores| cores.into_iter().map(AnyTensor::from).collect());
        let (lows, rse) = bounds_and_fit(&hidden.target, &graph, cores.as_deref(), number);
        for low in lows {
            // No allowance: the slack for rounding is the bound's own business.
            assert!(
                low <= rse,
                "case {number}, {} {dims:?} {graph}: {low:e} {rse:e}",
                template.name()
            );
            above_zero += usize::from(low > 0.0);
            tight += usize::from(low > 0.9 * rse);
        }
    }
    println!(
        "{n} cases: bound above 0 in {above_zero}, within 10 % of the fit in {tight}, of {}",
        2 * n
    );
    // The test says something: many bounds are above 0, and many fits come near theirs.
    assert!(above_zero as u64 > n / 2 && tight as u64 > n / 8, "{above_zero} {tight}");
}

/// A tensor of two halves of the modes with given singular values between them.
fn with_spectrum(dims: &[usize], left: usize, values: &[f64], rng: &mut Rng) -> Target {
    let (rows, columns): (usize, usize) =
        (dims[..left].iter().product(), dims[left..].iter().product());
    let (u, v) = (orthogonal(rows, values.len(), rng), orthogonal(columns, values.len(), rng));
    let mut x = Tensor::<f64>::zeros(dims.to_vec());
    for (k, entry) in x.data_mut().iter_mut().enumerate() {
        let terms = values.iter().enumerate();
        *entry = terms.map(|(j, s)| s * u[j][k / columns] * v[j][k % columns]).sum();
    }
    Target::new(x).unwrap()
}

/// Orthonormal vectors, by Gram-Schmidt, twice.
fn orthogonal(length: usize, count: usize, rng: &mut Rng) -> Vec<Vec<f64>> {
    let mut all: Vec<Vec<f64>> = Vec::new();
    while all.len() < count {
        let mut v: Vec<f64> = (0..length).map(|_| rng.random_range(-1.0..1.0)).collect();
        for _ in 0..2 {
            for u in &all {
                let dot: f64 = u.iter().zip(&v).map(|(a, b)| a * b).sum();
                v.iter_mut().zip(u).for_each(|(a, b)| *a -= dot * b);
            }
            let norm = v.iter().map(|a| a * a).sum::<f64>().sqrt();
            v.iter_mut().for_each(|a| *a /= norm);
        }
        all.push(v);
    }
    all
}

#[test]
fn a_spectrum_right_at_the_threshold_rules_out_nothing_that_a_fit_reaches() {
    for number in 0..cases(150) {
        let mut rng = stream(number, b"threshold");
        let (dims, left) = [(vec![2, 3, 2, 3], 2), (vec![3, 3], 1), (vec![2, 3, 4], 2)]
            [number as usize % 3]
            .clone();
        let side = dims[..left].iter().product::<usize>().min(dims[left..].iter().product());
        let rank = rng.random_range(1..side);
        // The kept values, then a flat tail of this size.
        let tail = 10f64.powf(-rng.random_range(0.5..7.0));
        let values: Vec<f64> = (0..side).map(|k| if k < rank { 1.0 } else { tail }).collect();
        let target = with_spectrum(&dims, left, &values, &mut rng);
        let exact = {
            let squares = |v: &[f64]| v.iter().map(|s| s * s).sum::<f64>();
            squares(&values[rank..]) / squares(&values)
        };
        // A path as wide as can be but for the one edge between the halves.
        let path = Arc::new(Template::path(dims.len()).unwrap());
        let ranks: Vec<usize> = (1..dims.len())
            .map(|k| {
                let full = dims[..k].iter().product::<usize>().min(dims[k..].iter().product());
                if k == left { rank } else { full }
            })
            .collect();
        let wide = *ranks.iter().max().unwrap();
        let structure = Structure::identity(path.clone(), ranks).unwrap();
        let graph = structure.canonical().graph;
        let settings = FitSettings::default().with(|s| {
            s.stop_rse = 0.0;
            s.enough_rse = 0.0;
        });
        let settings = settings.check().unwrap();
        let request = Request::new(graph.clone(), settings.clone(), number);
        let eps = fit(&target, &request, &Run::default()).unwrap().error;
        let about = format!("case {number}: {dims:?} rank {rank} tail {exact:e} reached {eps:e}");
        assert!((eps - exact).abs() < 1e-6 * exact + 1e-14, "the fit is at the bound: {about}");
        for svd in [false, true] {
            let spectra = Spectra::new(&target, SpectraSettings::default().with(|s| s.svd = svd));
            let bound = CutBound::new(spectra);
            let low = bound.rse(&graph, f64::INFINITY);
            assert!(low <= eps, "{about}: {low:e}");
            let side: u64 = (1 << left) - 1;
            let spectrum = bound.spectra().of(side).unwrap();
            assert!(low >= exact - 3.0 * spectrum.slack(rank), "not weak either: {about}: {low:e}");
            assert!(spectrum.rank(eps) <= rank, "{about}");
            // The relaxed problem with exactly that error hands the structure out, or a smaller one.
            let objective = Objective::MaxError(eps).check().unwrap();
            let mut relaxation = Relaxation::new(path.clone(), objective, &bound, wide);
            match relaxation.next(u64::MAX) {
                Next::Candidate(c) => assert!(c.value <= structure.params(&dims) as f64, "{about}"),
                other => panic!("{about}: {other:?}"),
            }
            // Less by more than the slack, and the edge must be wider.
            let less = exact - 3.0 * spectrum.slack(rank);
            if less > 0.0 {
                assert!(spectrum.rank(less) > rank, "{about}");
            }
        }
    }
}
