//! Hidden rings without negative entries, looked for by KL divergence (`docs/losses.md`).
use rand::RngExt as _;
use std::error::Error;
use std::sync::Arc;
use tnsearch::graph::Structure;
use tnsearch::network::Network;
use tnsearch::prelude::*;
use tnsearch::problem::KlDivergence;
use tnsearch::rng;

/// A ring of order 4 with dimensions 4 to 6 and ranks 2 or 3, its modes shuffled; its cores are squares of uniform numbers.
pub fn hidden(seed: u64) -> Result<(Structure, Tensor), Box<dyn Error>> {
    let mut rng = rng::stream(seed, b"positive ring");
    let dims: Vec<usize> = (0..4).map(|_| rng.random_range(4..=6)).collect();
    let ranks = (0..4).map(|_| rng.random_range(2..=3)).collect();
    let mut vertices: Vec<usize> = (0..4).collect();
    (1..4).rev().for_each(|k| vertices.swap(k, rng.random_range(0..=k)));
    let structure = Structure::new(Arc::new(Template::ring(4)?), vertices, ranks)?;
    let cores = (0..4).map(|v| {
        let shape: Vec<usize> = structure.core_dims(v, &dims);
        let entries = (0..shape.iter().product()).map(|_| rng.random::<f64>().powi(2)).collect();
        Tensor::new(shape, entries)
    });
    let cores = cores.collect::<Result<Vec<_>, _>>()?;
    let x = Network::new(structure.clone(), dims, cores)?.to_tensor(None)?;
    Ok((structure, x.into_f64().map_err(|_| "real numbers")?))
}

/// Whether a search finds the structure itself, and what it says about it.
pub fn found(seed: u64, strategy: StrategySpec) -> Result<(bool, String), Box<dyn Error>> {
    let (structure, x) = hidden(seed)?;
    let x = Target::new(x)?;
    let search = Search::new(&x).template(Template::ring(4)?).loss(KlDivergence).max_error(1e-4);
    let found = search.max_rank(4).strategy(strategy).seed(1).run()?;
    let best = found.best.ok_or("nothing")?;
    let said = format!(
        "{} params of {}, KL {:.1e}, {} evaluations",
        best.score.params,
        structure.params(x.dims()),
        best.score.error,
        found.counts.evaluations
    );
    Ok((best.graph == structure.canonical().graph, said))
}

#[allow(dead_code, reason = "a test includes this file")]
fn main() -> Result<(), Box<dyn Error>> {
    let mut times = 0;
    for seed in 0..10 {
        let (same, said) = found(seed, StrategySpec::default())?;
        times += usize::from(same);
        println!("ring {seed}: {} ({said})", if same { "found" } else { "another" });
    }
    println!("{times} of 10");
    Ok(())
}
