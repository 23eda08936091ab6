//! Counts with holes: the Poisson deviance against the squared error, on what is missing (`docs/losses.md`).
use rand::RngExt as _;
use std::error::Error;
use std::sync::Arc;
use tnsearch::fit::{FitSettings, Fitted, Request, Run, fit};
use tnsearch::graph::{Structure, Template};
use tnsearch::network::Network;
use tnsearch::prelude::*;
use tnsearch::problem::{Loss, Mask, PoissonDeviance};
use tnsearch::rng;
use tnsearch::tensor::unflatten;

/// What is said about one fit: the mean deviance of the missing entries, and the root of their mean squared error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Missing {
    /// Of counts whose means were predicted.
    pub deviance: f64,
    /// In counts.
    pub rmse: f64,
}

/// Takes entries away: a share of all at random, or (a `block` of positions of the last mode, for one index of the mode
/// before it: an hour of a day) a share of these for all other modes at once.
pub fn mask(
    dims: &[usize],
    share: f64,
    block: Option<usize>,
    seed: u64,
) -> Result<Mask, Box<dyn Error>> {
    let Some(block) = block else { return Ok(Mask::all(dims)?.without(share, seed)?.0) };
    let [.., days, steps] = dims else { return Err("two modes at least".into()) };
    let mut rng = rng::stream(seed, b"hours");
    let gone: Vec<bool> =
        (0..days * steps.div_ceil(block)).map(|_| rng.random::<f64>() < share).collect();
    let known = |k: usize| {
        let at = unflatten(k, dims);
        let [.., day, step] = at[..] else { return true };
        !gone[day * steps.div_ceil(block) + step / block]
    };
    Ok(Mask::new(dims.to_vec(), (0..dims.iter().product()).map(known).collect())?)
}

/// Fits a ring of one rank to the known entries by least squares and by the deviance, and measures both on the others.
/// Least squares may predict what no count can be; its predictions are raised to a floor, which is the best in hindsight.
pub fn compare(x: &Tensor, known: &Mask, rank: usize) -> Result<[Missing; 2], Box<dyn Error>> {
    let ring = Arc::new(Template::ring(x.order())?);
    let structure = Structure::identity(ring.clone(), vec![rank; ring.edges().len()])?;
    let target = Target::with_holes(x.clone(), known)?;
    let settings = FitSettings::default().with(|s| s.restarts = 2).check()?;
    let request = Request::new(structure.canonical().graph, settings, 1);
    let squares = fit(&target, &request, &Run::default())?;
    let deviance = fit(&target, &request, &Run::default().by(&PoissonDeviance))?;
    let missing: Vec<usize> = (0..x.len()).filter(|&k| !known.contains(k)).collect();
    let measure = |fitted: Fitted, floor: f64| -> Result<Missing, Box<dyn Error>> {
        let z = Network::from_fitted(structure.clone(), x.dims().to_vec(), fitted.cores)?;
        let z = z.to_tensor(None)?;
        let pair = |k: &usize| (x.data()[*k], z.entry(*k).re.max(floor));
        let n = missing.len() as f64;
        let deviance =
            missing.iter().map(pair).map(|(x, z)| PoissonDeviance.value(x, z)).sum::<f64>() / n;
        let squares = missing.iter().map(pair).map(|(x, z)| (x - z).powi(2)).sum::<f64>() / n;
        Ok(Missing { deviance, rmse: squares.sqrt() })
    };
    let mut best: Option<Missing> = None;
    for floor in [1e-3, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0] {
        let now = measure(squares.clone(), floor)?;
        best = Some(best.filter(|best| best.deviance <= now.deviance).unwrap_or(now));
    }
    // A prediction of exactly 0 where something was counted would be infinitely wrong.
    Ok([best.ok_or("no floor")?, measure(deviance, 1e-3)?])
}

#[allow(dead_code, reason = "a test includes this file")]
fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::args()
        .nth(1)
        .ok_or("give the folder with nyc_taxi.npy and hangzhou_metro.npy")?;
    println!(
        "| data | missing | ring of rank | deviance: squares | deviance: Poisson | RMSE: squares | RMSE: Poisson |"
    );
    println!("| --- | --- | ---: | ---: | ---: | ---: | ---: |");
    // Two weeks of taxi trips as zones x zones x days x hours; metro as stations x days x ten minutes.
    for (name, block) in [("nyc_taxi", 1), ("hangzhou_metro", 6)] {
        let read = tnsearch_io::read_tensor(
            &format!("{folder}/{name}.npy"),
            None,
            tnsearch_io::MemoryLimit::new(None),
        )?;
        let x = read.tensor.into_f64().map_err(|_| "real numbers")?;
        let x = match name {
            "nyc_taxi" => two_weeks(&x)?,
            _ => x,
        };
        for (what, share, block) in
            [("10 %", 0.1, None), ("40 %", 0.4, None), ("10 % of the hours", 0.1, Some(block))]
        {
            let known = mask(x.dims(), share, block, 1)?;
            for rank in [2, 4] {
                let [squares, poisson] = compare(&x, &known, rank)?;
                println!(
                    "| {name} | {what} | {rank} | {:.3} | {:.3} | {:.2} | {:.2} |",
                    squares.deviance, poisson.deviance, squares.rmse, poisson.rmse
                );
            }
        }
    }
    Ok(())
}

/// The first 14 of the days, with the hours as a mode of their own.
fn two_weeks(x: &Tensor) -> Result<Tensor, Box<dyn Error>> {
    let [from, to, hours] = *x.dims() else { return Err("three modes".into()) };
    let rows = x.data().chunks_exact(hours).flat_map(|row| &row[..14 * 24]);
    Ok(Tensor::new(vec![from, to, 14, 24], rows.copied().collect())?)
}
