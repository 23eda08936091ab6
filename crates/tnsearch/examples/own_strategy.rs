//! A search strategy of one's own; fits, cache, budgets and journal are the runner's. This one takes the best of
//! all single steps, a rank more or fewer or two modes swapped, until none is better.
use std::sync::Arc;
use tnsearch::fit::{FitSettings, Target};
use tnsearch::graph::{Structure, Template};
use tnsearch::search::{FitEvaluator, Objective, Outcome, Runner, SearchResult, Strategy};
use tnsearch::tensor::Tensor;

struct Descent {
    loss: f64,
    asked: Vec<Structure>,
}

impl Strategy for Descent {
    fn name(&self) -> &'static str {
        "descent"
    }

    fn ask(&mut self) -> Vec<Structure> {
        self.asked.clone()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        let told = std::mem::take(&mut self.asked).into_iter().zip(outcomes);
        let best = told.min_by(|a, b| a.1.loss.total_cmp(&b.1.loss));
        if let Some((best, outcome)) = best.filter(|(_, o)| o.loss < self.loss) {
            (self.loss, self.asked) = (outcome.loss, steps(&best));
        }
    }
}

/// A rank of 0 is an error, and no step.
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

/// The smallest ring for a tensor.
pub fn search(target: &Target) -> Result<SearchResult, Box<dyn std::error::Error>> {
    let ring = Arc::new(Template::ring(target.dims().len())?);
    let asked = vec![Structure::identity(ring, vec![3; target.dims().len()])?];
    let evaluator = FitEvaluator { target, settings: FitSettings::default().check()? };
    let runner = Runner::new(target.dims(), Objective::MaxRse(1e-4).check()?, &evaluator);
    Ok(runner.runs(1, 1, |_| Descent { loss: f64::INFINITY, asked: asked.clone() }).search()?)
}

fn main() {
    let x = Tensor::new(vec![3; 4], (0..81).map(|k| f64::from(k).sqrt()).collect());
    println!("{:?}", x.map_err(Into::into).and_then(|x| search(&Target::new(x)?)));
}
