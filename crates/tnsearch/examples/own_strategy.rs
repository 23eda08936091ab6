//! A strategy of one's own: the best single step, a rank or a swap, until none is better.
use std::error::Error;
use tnsearch::prelude::*;
use tnsearch::search::{Ask, Generation, Graphs, Outcome, Strategy};

/// The loss of the best so far, and the structures to try next.
struct Descent(f64, Vec<Structure>);

impl Strategy for Descent {
    fn name(&self) -> &str {
        "descent"
    }

    fn ask(&mut self) -> Ask {
        // Only what is better matters, so the rest may be pruned.
        Generation::new(self.1.clone()).only_below(self.0).ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        let told = std::mem::take(&mut self.1).into_iter().zip(outcomes);
        let best = told.min_by(|a, b| a.1.loss.total_cmp(&b.1.loss));
        if let Some((best, outcome)) = best.filter(|(_, o)| o.loss < self.0) {
            *self = Descent(outcome.loss, steps(&best));
        }
    }
}

/// All structures one step away.
fn steps(from: &Structure) -> Vec<Structure> {
    let (modes, ranks, mut all) = (from.permutation(), from.ranks(), Vec::new());
    let mut add = |p: Vec<usize>, r| all.extend(Structure::new(from.template().clone(), p, r));
    for (e, r) in (0..ranks.len()).flat_map(|e| [(e, ranks[e] + 1), (e, ranks[e] - 1)]) {
        add(modes.to_vec(), [&ranks[..e], &[r], &ranks[e + 1..]].concat());
    }
    for (i, j) in (0..modes.len()).flat_map(|j| (0..j).map(move |i| (i, j))) {
        let mut swapped = modes.to_vec();
        swapped.swap(i, j);
        add(swapped, ranks.to_vec());
    }
    all
}

/// Searches a ring, starting at rank 3 everywhere.
pub fn search(x: &Target) -> Result<SearchResult, Box<dyn Error>> {
    let search = Search::new(x).template(Template::ring(x.dims().len())?).max_error(1e-6).seed(1);
    let search = search.own_strategy(Graphs::Template, |context, _seed| {
        let ranks = vec![3; context.template.edges().len()];
        Ok(Descent(f64::INFINITY, vec![Structure::identity(context.template.clone(), ranks)?]))
    });
    Ok(search.run()?)
}

#[allow(dead_code, reason = "a test includes this file")]
fn main() -> Result<(), Box<dyn Error>> {
    // i + j + k + l, which has rank 2 between any modes.
    let sum = |n: usize| (n / 64 + n / 16 % 4 + n / 4 % 4 + n % 4) as f64;
    let x = Target::new(Tensor::new(vec![4; 4], (0..256).map(sum).collect())?)?;
    let found = search(&x)?;
    let best = found.best.ok_or("nothing")?;
    println!("{}: {:?}, {} params", found.strategy, best.structure.edges(), best.score.params);
    Ok(())
}
