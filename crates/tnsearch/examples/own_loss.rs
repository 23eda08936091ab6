//! A loss of one's own: the pseudo-Huber loss, by which outliers count less than by their squares.
use std::error::Error;
use tnsearch::prelude::*;
use tnsearch::problem::{Loss, Measure};

/// `d^2 (sqrt(1 + (e / d)^2) - 1)` of the error e of an entry: its square where it is small, its size where it is large.
#[derive(Debug)]
struct Huber(f64);

impl Loss for Huber {
    fn measure(&self) -> Measure {
        Measure::new(
            "huber",
            "Huber",
            "pseudo-Huber loss, relative to that of the zero network",
            None,
        )
    }

    fn value(&self, x: f64, z: f64) -> f64 {
        let Huber(d) = self;
        d * d * ((1.0 + ((x - z) / d).powi(2)).sqrt() - 1.0)
    }

    fn derivative(&self, x: f64, z: f64) -> f64 {
        (z - x) / (1.0 + ((x - z) / self.0).powi(2)).sqrt()
    }
}

/// How far the trains found by squared error and by the loss above are from the data without its outliers.
pub fn search() -> Result<[f64; 2], Box<dyn Error>> {
    // A smooth field of rank 2, and every 37th entry far off.
    let clean =
        |n: usize| ((n / 36) as f64 * 0.4).sin() + (n / 6 % 6) as f64 * (n % 6) as f64 / 9.0;
    let entry = |n: usize| if n.is_multiple_of(37) { clean(n) + 30.0 } else { clean(n) };
    let x = Target::new(Tensor::new(vec![6; 3], (0..216).map(entry).collect())?)?;
    let away = |found: SearchResult| -> Result<f64, Box<dyn Error>> {
        let best = found.best.ok_or("nothing")?;
        let z = best.network(x.dims())?.to_tensor(None)?;
        println!(
            "{}: {:?}, {} {:.3e}",
            found.strategy,
            best.structure.ranks(),
            found.measure.name,
            best.score.error
        );
        let z = z.as_f64().ok_or("not real")?;
        Ok(z.data().iter().enumerate().map(|(n, z)| (z - clean(n)).powi(2)).sum::<f64>().sqrt())
    };
    let train = || -> Result<Search<'_>, Box<dyn Error>> {
        let few = StrategySpec::new("random").set("iterations", 1).set("samples", 12);
        Ok(Search::new(&x)
            .template(Template::path(3)?)
            .objective(Objective::MaxParams(60))
            .strategy(few)
            .seed(1))
    };
    Ok([away(train()?.run()?)?, away(train()?.loss(Huber(0.1)).run()?)?])
}

#[allow(dead_code, reason = "a test includes this file")]
fn main() -> Result<(), Box<dyn Error>> {
    let [squared, huber] = search()?;
    println!(
        "distance from the clean data: {squared:.3} by squares, {huber:.3} by the loss of our own"
    );
    Ok(())
}
