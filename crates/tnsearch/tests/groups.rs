//! Structures whose vertices carry several modes: counted, contracted, fitted and bounded as by the definition.

use rand::{Rng as _, RngExt as _, SeedableRng};
use rand_chacha::ChaCha8Rng as Rng;
use std::sync::Arc;
use tnsearch::bound::{CutBound, Spectra, SpectraSettings};
use tnsearch::decompose::{Goal, Limits, forest_svd, tree_svd};
use tnsearch::fit::{
    CheckedFit, FitError, FitSettings, Fitted, Request, Run, error_of, fit, sweep_cost,
};
use tnsearch::graph::{GraphError, ModeGraph, Structure, Template};
use tnsearch::network::{Network, contraction_bytes, draw};
use tnsearch::problem::{Loss, Measure, Objective, ShrinkLimits, Target};
use tnsearch::tensor::{AnyTensor, Complex, Kind, Tensor, unflatten};

/// The modes of each vertex, and the edges.
type Parts = (Vec<Vec<usize>>, Vec<(usize, usize, usize)>);

fn shuffled(n: usize, rng: &mut Rng) -> Vec<usize> {
    let mut all: Vec<usize> = (0..n).collect();
    (1..n).rev().for_each(|k| all.swap(k, rng.random_range(0..=k)));
    all
}

/// Random groups of `modes` modes on `external` vertices, `internal` more without any, and a random tree between
/// all, with `more` edges on top of it.
fn parts(modes: usize, (external, internal): (usize, usize), more: usize, rng: &mut Rng) -> Parts {
    let vertices = external + internal;
    let name = shuffled(vertices, rng);
    let mut groups = vec![Vec::new(); vertices];
    for (k, n) in shuffled(modes, rng).into_iter().enumerate() {
        let vertex = if k < external { k } else { rng.random_range(0..external) };
        groups[name[vertex]].push(n);
    }
    let mut edges: Vec<(usize, usize, usize)> = Vec::new();
    let tree = (1..vertices).map(|v| (v, rng.random_range(0..v))).collect::<Vec<_>>();
    let others = (0..more).map(|_| (rng.random_range(0..vertices), rng.random_range(0..vertices)));
    for (u, v) in tree.into_iter().chain(others.collect::<Vec<_>>()) {
        let (u, v) = (name[u].min(name[v]), name[u].max(name[v]));
        if u != v && !edges.iter().any(|e| (e.0, e.1) == (u, v)) {
            edges.push((u, v, rng.random_range(1..=3)));
        }
    }
    (groups, edges)
}

/// A random structure with more modes than external vertices.
fn random(rng: &mut Rng) -> Structure {
    let modes = rng.random_range(2..=6);
    let external = rng.random_range(1..modes);
    let internal = rng.random_range(0..=2);
    let (groups, edges) = parts(modes, (external, internal), rng.random_range(0..3), rng);
    Structure::from_groups("random", &groups, &edges).unwrap()
}

fn dims(order: usize, rng: &mut Rng) -> Vec<usize> {
    (0..order).map(|_| rng.random_range(1..=3)).collect()
}

fn entries(n: usize, rng: &mut Rng) -> Vec<f64> {
    (0..n).map(|_| f64::from(rng.next_u32()) / 2f64.powi(31) - 1.0).collect()
}

fn network(structure: &Structure, dims: &[usize], rng: &mut Rng) -> Network {
    let core = |v| {
        let shape: Vec<usize> = structure.core_dims(v, dims);
        let data = entries(shape.iter().product(), rng);
        Tensor::new(shape, data).unwrap()
    };
    let cores: Vec<Tensor> = (0..structure.template().vertices()).map(core).collect();
    Network::new(structure.clone(), dims.to_vec(), cores).unwrap()
}

/// The tensor of a network by the definition: the sum over all values of all edges of the product of entries.
fn einsum(network: &Network) -> Vec<f64> {
    let (s, dims) = (network.structure(), network.dims());
    let edges = s.edges();
    let ranks: Vec<usize> = edges.iter().map(|e| e[2]).collect();
    let entry = |flat: usize| {
        let at = unflatten(flat, dims);
        let term = |term: usize| -> f64 {
            let on = unflatten(term, &ranks);
            let factor = |v: usize| {
                let here = (0..edges.len()).filter(|&e| edges[e][..2].contains(&v)).map(|e| on[e]);
                let modes = (0..dims.len()).filter(|&n| s.permutation()[n] == v).map(|n| at[n]);
                let index: Vec<usize> = here.chain(modes).collect();
                network.core::<f64>(v).unwrap().at(&index)
            };
            (0..s.template().vertices()).map(factor).product()
        };
        (0..ranks.iter().product()).map(term).sum()
    };
    (0..dims.iter().product()).map(entry).collect()
}

fn assert_close(a: &[f64], b: &[f64]) {
    let size = a.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
    assert_eq!(a.len(), b.len());
    assert!(a.iter().zip(b).all(|(x, y)| (x - y).abs() < 1e-11 * size), "{a:?} is not {b:?}");
}

fn dense(network: &Network) -> Vec<f64> {
    network.to_tensor(None).unwrap().into_f64().unwrap().into_data()
}

fn target(dims: &[usize], rng: &mut Rng) -> Target {
    let data = entries(dims.iter().product(), rng);
    Target::new(Tensor::new(dims.to_vec(), data).unwrap()).unwrap()
}

fn fit_of(
    x: &Target,
    graph: &ModeGraph,
    settings: &CheckedFit,
    seed: u64,
) -> Result<Fitted, FitError> {
    fit(x, &Request::new(graph.clone(), settings.clone(), seed), &Run::default())
}

#[test]
fn parameters_are_entries_and_contraction_is_the_definition() {
    let mut rng = Rng::seed_from_u64(1);
    for _ in 0..150 {
        let s = random(&mut rng);
        let dims = dims(s.permutation().len(), &mut rng);
        let made = network(&s, &dims, &mut rng);
        let held: usize = made.cores().iter().map(AnyTensor::len).sum();
        assert_eq!(s.params(&dims), held as u128);
        let expected = einsum(&made);
        assert_close(&dense(&made), &expected);
        // By way of the canonical form and back.
        let (graph, cores) = made.to_mode_graph();
        assert_eq!(graph, s.canonical().graph);
        let on_graph: usize = cores.iter().map(AnyTensor::len).sum();
        assert_eq!(graph.params(&dims), on_graph as u128);
        let plain = graph.plain();
        assert_eq!(plain.params(&graph.merged_dims(&dims)), on_graph as u128);
        assert_eq!(plain.useful_ranks(&graph.merged_dims(&dims)), graph.useful_ranks(&dims));
        let back = Network::from_fitted(s.clone(), dims.clone(), cores).unwrap();
        assert_close(&einsum(&back), &expected);
        assert!(contraction_bytes(&graph, &dims, Kind::F64) >= 8.0 * expected.len() as f64);
        assert!(made.to_tensor(Some(1)).is_err());
        // Every mode is drawn.
        let text = draw(&s, &dims);
        for (n, d) in dims.iter().enumerate() {
            assert!(text.contains(&format!("m{n}:{d}")), "{text}");
        }
    }
}

#[test]
fn the_names_of_vertices_do_not_matter() {
    let mut rng = Rng::seed_from_u64(2);
    for _ in 0..300 {
        let s = random(&mut rng);
        let dims = dims(s.permutation().len(), &mut rng);
        let name = shuffled(s.template().vertices(), &mut rng);
        let mut groups = vec![Vec::new(); name.len()];
        for (v, group) in s.groups().into_iter().enumerate() {
            groups[name[v]] = group.into_iter().rev().collect();
        }
        let edges: Vec<_> = s.edges().into_iter().map(|[u, v, r]| (name[v], name[u], r)).collect();
        let other = Structure::from_groups("other", &groups, &edges).unwrap();
        let graph = s.canonical().graph;
        assert_eq!(other.canonical().graph, graph);
        assert_eq!(other.params(&dims), s.params(&dims));
        // As text and as a file.
        assert_eq!(graph.to_string().parse(), Ok(graph.clone()));
        let json = serde_json::to_string(&s.to_file()).unwrap();
        let back = Structure::from_file(&serde_json::from_str(&json).unwrap()).unwrap();
        assert_eq!((back.permutation(), back.edges()), (s.permutation(), s.edges()));
        assert_eq!(back.canonical().graph, graph);
        // One rank more is another structure.
        let mut ranks = s.ranks().to_vec();
        let Some(rank) = ranks.first_mut() else { continue };
        *rank += 1;
        let wider = Structure::new(s.template().clone(), s.permutation().to_vec(), ranks).unwrap();
        assert_ne!(wider.canonical().graph, graph);
    }
}

#[test]
fn one_mode_at_each_vertex_is_the_plain_structure() {
    let ring = Arc::new(Template::ring(4).unwrap());
    let plain = Structure::new(ring, vec![2, 0, 3, 1], vec![2, 3, 4, 5]).unwrap();
    let edges: Vec<_> = plain.edges().into_iter().map(|[u, v, r]| (u, v, r)).collect();
    let made = Structure::from_groups("mine", &plain.groups(), &edges).unwrap();
    assert!(!made.is_grouped());
    assert_eq!(made.canonical(), plain.canonical());
    let graph = plain.canonical().graph;
    assert_eq!(ModeGraph::grouped(graph.groups(), 0, graph.edges().to_vec()), graph);
    // A named template with several modes at a vertex goes by its graph in files.
    let three = Arc::new(Template::ring(3).unwrap());
    let grouped = Structure::new(three, vec![0, 1, 0, 2], vec![2, 2, 2]).unwrap();
    let back = Structure::from_file(&grouped.to_file()).unwrap();
    assert_eq!(back.canonical(), grouped.canonical());
    assert_eq!(back.canonical().graph.to_string(), "4+0/0.2,1,3:0-1x2,0-2x2,1-2x2");
}

#[test]
fn bad_groups_are_refused() {
    let refusal = |groups: &[Vec<usize>], edges: &[(usize, usize, usize)]| {
        Structure::from_groups("bad", groups, edges).unwrap_err().to_string()
    };
    assert!(refusal(&[vec![0, 2], vec![3]], &[(0, 1, 2)]).contains("mode 3 is there, but not all"));
    assert!(refusal(&[vec![0, 1], vec![1]], &[(0, 1, 2)]).contains("mode 1 stands twice"));
    assert!(refusal(&[vec![0], vec![1]], &[]).contains("not connected"));
    assert!(refusal(&[vec![0], vec![1]], &[(0, 1, 0)]).contains("has rank 0"));
    assert!(refusal(&[vec![0], vec![1]], &[(0, 1, 2), (1, 0, 2)]).contains("stands twice"));
    assert!(
        refusal(&[vec![0], vec![1]], &[(0, 2, 2)]).contains("names a vertex that is not there")
    );
    assert!(refusal(&[], &[]).contains("0 of them with a mode"));
    assert!(refusal(&[vec![]], &[]).contains("0 of them with a mode"));
    let graph = r#""template":{"vertices":[{"mode":true},{"mode":true}],"edges":[[0,1]]}"#;
    let read = |permutation: &str| {
        let text = format!("{{{graph},\"permutation\":{permutation},\"edges\":[]}}");
        Structure::from_file(&serde_json::from_str(&text).unwrap())
    };
    assert!(read("[0,1,0]").unwrap().is_grouped());
    assert!(matches!(read("[0,0,0]"), Err(GraphError::BadPermutation { .. })));
    assert!(matches!(read("[0,1,2]"), Err(GraphError::BadPermutation { .. })));
    assert!(matches!(read("[0]"), Err(GraphError::ModeCount { .. })));
    // Cores for another number of modes.
    let s = read("[0,1,0]").unwrap();
    let cores = vec![Tensor::<f64>::zeros(vec![1, 2, 2]), Tensor::zeros(vec![1, 2])];
    assert!(Network::new(s.clone(), vec![2, 2, 2], cores.clone()).is_ok());
    let error = Network::new(s.clone(), vec![2, 2], cores).unwrap_err().to_string();
    assert_eq!(error, "the structure carries 3 modes, but the tensor has 2 modes");
    // No distance, and in no template of one mode each.
    let places = tnsearch::geometry::Placements::new(s.template().clone(), Default::default());
    let error = places.unwrap().distance(&s, &s).unwrap_err();
    assert_eq!(error, tnsearch::geometry::GeometryError::Grouped);
    assert_eq!(Template::path(3).unwrap().holds(&s.canonical().graph), Some(false));
}

/// A loss whose least value is not 0.
#[derive(Debug)]
struct Above;

impl Loss for Above {
    fn measure(&self) -> Measure {
        Measure::new("above", "above", "a square and a half", None)
    }

    fn value(&self, x: f64, z: f64) -> f64 {
        (x - z).powi(2) + 0.5
    }

    fn derivative(&self, x: f64, z: f64) -> f64 {
        2.0 * (z - x)
    }
}

#[test]
fn fits_of_grouped_graphs_are_fits_to_merged_modes() {
    let mut rng = Rng::seed_from_u64(3);
    let settings = FitSettings::default().with(|s| {
        s.restarts = 2;
        s.max_sweeps = 15;
    });
    let settings = settings.check().unwrap();
    for round in 0..40 {
        let s = random(&mut rng);
        let dims = dims(s.permutation().len(), &mut rng);
        let x = target(&dims, &mut rng);
        let graph = s.canonical().graph;
        let (plain, merged) = (graph.plain(), x.merged(&graph.groups()));
        assert_eq!(merged.norm_squared(), x.norm_squared());
        let fitted = fit_of(&x, &graph, &settings, round).unwrap();
        let same = fit_of(&merged, &plain, &settings, round).unwrap();
        assert_eq!((fitted.error, fitted.sweeps), (same.error, same.sweeps));
        // The cores are those of the structure, and their error is what is said.
        let found = Network::from_fitted(s.clone(), dims.clone(), fitted.cores.clone()).unwrap();
        let rse = x.rse_of(&found.to_tensor(None).unwrap());
        assert!((rse - fitted.error).abs() < 1e-9 * (1.0 + rse), "{rse} {}", fitted.error);
        let request = Request::new(graph.clone(), settings.clone(), round);
        assert_eq!(fit(&x, &request, &Run::default().in_parallel()).unwrap(), fitted);
        let first = Request { start: Some(0), ..request.clone() };
        let first = fit(&x, &first, &Run::default()).unwrap();
        assert!(first.error >= fitted.error);
        let said = error_of(&x, &graph, &fitted.cores, None).unwrap();
        assert!((said - rse).abs() < 1e-9 * (1.0 + rse), "{said} {rse}");
        // From its own cores it gets no worse.
        let again = Request { seed: 7, ..request.clone() }.beginning_at(fitted.cores.clone());
        let again = fit(&x, &again, &Run::default()).unwrap();
        assert!(again.error <= fitted.error * (1.0 + 1e-9) + 1e-15);
        assert_eq!(sweep_cost(&graph, &dims), sweep_cost(&plain, merged.dims()));
        // By another loss.
        let other = fit(&x, &request, &Run::default().by(&Above)).unwrap();
        let found = Network::from_fitted(s, dims.clone(), other.cores).unwrap();
        let z = dense(&found);
        let entries = x.tensor().as_f64().unwrap().data();
        let lost: f64 = entries.iter().zip(&z).map(|(x, z)| Above.value(*x, *z)).sum();
        let expected = lost / Above.baseline(entries);
        assert!((other.error - expected).abs() < 1e-9 * expected, "{} {expected}", other.error);
    }
    let x = target(&[2, 3, 2], &mut rng);
    let graph = ModeGraph::grouped(vec![vec![0, 1], vec![2, 3]], 0, vec![(0, 1, 2)]);
    let refused = fit_of(&x, &graph, &settings, 1).unwrap_err();
    assert_eq!(refused, FitError::Modes { structure: 4, tensor: 3 });
    let graph = ModeGraph::grouped(vec![vec![0, 2], vec![1]], 0, vec![(0, 1, 2)]);
    let merged =
        vec![Tensor::<f64>::zeros(vec![2, 4]).into(), Tensor::<f64>::zeros(vec![2, 3]).into()];
    let request = Request::new(graph, settings, 1).beginning_at(merged);
    let refused = fit(&x, &request, &Run::default()).unwrap_err();
    assert!(refused.to_string().contains("core 0 has shape [2, 4], the structure needs [2, 2, 2]"));
}

#[test]
fn grouped_networks_are_found_again() {
    let mut rng = Rng::seed_from_u64(4);
    let settings = FitSettings::default().with(|s| s.restarts = 4).check().unwrap();
    for round in 0..30 {
        let tree = round % 3 > 0;
        let (groups, edges) = parts(6, (3, round % 2), if tree { 0 } else { 3 }, &mut rng);
        let s = Structure::from_groups("hidden", &groups, &edges).unwrap();
        let dims: Vec<usize> = (0..6).map(|_| rng.random_range(2..=3)).collect();
        let made = network(&s, &dims, &mut rng);
        let x = Target::new(made.to_tensor(None).unwrap()).unwrap();
        let graph = s.canonical().graph;
        let fitted = fit_of(&x, &graph, &settings, 1).unwrap();
        assert!(fitted.error < 1e-9, "{graph}: {}", fitted.error);
        // No bound says that it cannot be.
        let bound = CutBound::new(Spectra::new(&x, SpectraSettings::default()));
        assert!(bound.rse(&graph, f64::INFINITY) < 1e-12);
        if !tree {
            continue;
        }
        let goal = Goal::max_rse(1e-20).unwrap();
        let found = tree_svd(&x, s.template(), s.permutation(), &goal, &Limits::none()).unwrap();
        assert!(found.rse < 1e-18, "{}", found.rse);
        assert!(found.network.params() <= made.params());
        assert_close(&dense(&found.network), &dense(&made));
        let (graph, _) = found.network.to_mode_graph();
        let (cores, rse) = forest_svd(&x, &graph, &Limits::none()).unwrap().unwrap();
        assert!(rse < 1e-18);
        let placed = Network::from_fitted(found.network.structure().clone(), dims, cores).unwrap();
        assert_close(&dense(&placed), &dense(&made));
    }
}

#[test]
fn the_bound_looks_at_cuts_between_groups() {
    let mut rng = Rng::seed_from_u64(5);
    let settings = FitSettings::default().with(|s| {
        s.restarts = 2;
        s.max_sweeps = 30;
    });
    let settings = settings.check().unwrap();
    for round in 0..40 {
        let s = random(&mut rng);
        let dims = dims(s.permutation().len(), &mut rng);
        let x = target(&dims, &mut rng);
        let bound = CutBound::new(Spectra::new(&x, SpectraSettings::default()));
        let graph = s.canonical().graph;
        let (groups, external) = (graph.groups(), graph.external());
        let cuts = bound.cuts(&graph);
        assert_eq!(cuts.len(), (1 << (external - 1)) - 1);
        for cut in &cuts {
            // Each group on one side; the width over all places of the internal vertices.
            let side = |v: usize| cut.modes >> groups[v][0] & 1 == 1;
            assert!(
                (0..external)
                    .all(|v| groups[v].iter().all(|n| (cut.modes >> n & 1 == 1) == side(v)))
            );
            let width = (0..1u32 << graph.internal()).map(|inner| {
                let side = |v: usize| match v.checked_sub(external) {
                    Some(k) => inner >> k & 1 == 1,
                    None => side(v),
                };
                let crossed = graph.edges().iter().filter(|e| side(e.0) != side(e.1));
                crossed.map(|e| e.2 as f64).product::<f64>()
            });
            assert_eq!(cut.width, width.fold(f64::INFINITY, f64::min));
        }
        let low = bound.rse(&graph, f64::INFINITY);
        assert_eq!(low, cuts.first().map_or(0.0, |cut| cut.rse));
        let fitted = fit_of(&x, &graph, &settings, round).unwrap();
        assert!(low <= fitted.error + 1e-12, "{graph}: {low} {}", fitted.error);
    }
}

#[test]
fn a_shrunk_tensor_says_the_errors_of_the_whole() {
    // Rank 2 in every mode, and a little noise that shrinking may lose.
    let mut rng = Rng::seed_from_u64(7);
    let dims = [12, 10, 11, 9];
    let groups = [vec![0, 2], vec![1], vec![3], vec![]];
    let s = Structure::from_groups("mine", &groups, &[(0, 3, 3), (1, 3, 2), (2, 3, 2)]).unwrap();
    let mode = |n: usize, rng: &mut Rng| Tensor::new(vec![2, dims[n]], entries(2 * dims[n], rng));
    let tucker = Arc::new(Template::tucker(4).unwrap());
    let structure = Structure::identity(tucker, vec![2; 4]).unwrap();
    let mut cores: Vec<Tensor> = (0..4).map(|n| mode(n, &mut rng).unwrap()).collect();
    cores.push(Tensor::new(vec![2; 4], entries(16, &mut rng)).unwrap());
    let hidden = Network::new(structure, dims.to_vec(), cores).unwrap();
    let mut x = hidden.to_tensor(None).unwrap().into_f64().unwrap();
    let noise = entries(x.len(), &mut rng);
    x.data_mut().iter_mut().zip(noise).for_each(|(x, e)| *x += 1e-3 * e);
    let x = Target::new(x).unwrap();
    let small = x.shrink(Objective::MaxError(0.01), &ShrinkLimits::default()).unwrap();
    assert_eq!((small.dims(), small.full_dims()), (&[2; 4][..], &dims[..]));
    assert!(small.lost() > 1e-9);
    let settings = FitSettings::default().with(|s| s.restarts = 1).check().unwrap();
    for s in [s, Structure::from_groups("one", &[vec![0, 1, 2, 3]], &[]).unwrap()] {
        let graph = s.canonical().graph;
        let fitted = fit_of(&small, &graph, &settings, 1).unwrap();
        let said = error_of(&small, &graph, &fitted.cores, None).unwrap();
        assert!((said - fitted.error).abs() < 1e-9 && said >= small.lost());
        let cores = tnsearch::network::expand_cores(&small, &graph, fitted.cores);
        let whole = Network::from_fitted(s, dims.to_vec(), cores).unwrap();
        let rse = x.rse_of(&whole.to_tensor(None).unwrap());
        assert!((rse - fitted.error).abs() < 1e-9, "{graph}: {rse} {}", fitted.error);
    }
}

#[test]
fn a_single_vertex_is_the_tensor_itself() {
    let one = Structure::from_groups("one", &[vec![2, 0, 1]], &[]).unwrap();
    let dims = [2, 3, 2];
    assert_eq!((one.params(&dims), one.canonical().graph.to_string().as_str()), (12, "3+0/0.1.2:"));
    assert_eq!(Structure::from_file(&one.to_file()).unwrap().canonical(), one.canonical());
    assert_eq!(draw(&one, &dims), "(m0:2 m1:3 m2:2)\n");
    let graph = one.canonical().graph;
    let settings = FitSettings::default().check().unwrap();
    let mut rng = Rng::seed_from_u64(6);
    // Entries far from 1 are scaled inside; the core is X.
    for scale in [1.0, 1e-40, 1e90] {
        let x: Vec<f64> = entries(12, &mut rng).into_iter().map(|x| x * scale).collect();
        let x = Target::new(Tensor::new(dims.to_vec(), x).unwrap()).unwrap();
        let fitted = fit_of(&x, &graph, &settings, 1).unwrap();
        assert_eq!((fitted.error, fitted.cores.len()), (0.0, 1));
        assert_eq!(error_of(&x, &graph, &fitted.cores, None), Ok(0.0));
        let found = Network::from_fitted(one.clone(), dims.to_vec(), fitted.cores).unwrap();
        assert_eq!(x.rse_of(&found.to_tensor(None).unwrap()), 0.0);
        assert_eq!(found.to_tensor(None).unwrap().dims(), dims);
        let (cores, rse) = forest_svd(&x, &graph, &Limits::none()).unwrap().unwrap();
        assert_eq!((rse, cores[0].dims()), (0.0, &dims[..]));
        assert_eq!(tnsearch::fit::sweep_flops(&x, &graph), Ok(0.0));
        let request = Request::new(graph.clone(), settings.clone(), 1);
        let by_loss = fit(&x, &request, &Run::default().by(&Above)).unwrap();
        let original: Vec<f64> = (0..12).map(|k| x.tensor().entry(k).re * x.scale()).collect();
        assert_eq!(by_loss.error, 6.0 / Above.baseline(&original));
    }
    let complex: Vec<Complex<f32>> = (0..12).map(|k| Complex::new(1.0, k as f32)).collect();
    let x = Target::new(Tensor::new(dims.to_vec(), complex).unwrap()).unwrap();
    let fitted = fit_of(&x, &graph, &settings, 1).unwrap();
    assert_eq!((fitted.error, fitted.cores[0].kind()), (0.0, Kind::C32));
    assert_eq!(&fitted.cores[0], x.tensor());
    // A template of a single vertex is none that can be searched.
    let text = r#"{"vertices":[{"mode":true}],"edges":[]}"#;
    assert!(Template::from_json("mine", text).unwrap_err().to_string().contains("at least 2"));
}
