//! A strategy of one's own in the paper's table: the best single step, a rank or a swap, until none is better.
use tnsearch::search::{Ask, Generation, Outcome, Strategy};
use tnsearch::{fit::Method as Fit, graph::Structure, problem::Stop};
use tnsearch_paper::{Experiment, Method, Options, Output, Setup};

/// The loss of the best so far, and the structures to try.
struct Descent(f64, Vec<Structure>);

impl Strategy for Descent {
    fn name(&self) -> &str {
        "descent"
    }

    fn ask(&mut self) -> Ask {
        Generation::new(self.1.clone()).ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        let told = std::mem::take(&mut self.1).into_iter().zip(outcomes);
        let best = told.min_by(|a, b| a.1.loss.total_cmp(&b.1.loss));
        if let Some((best, outcome)) = best.filter(|(_, o)| o.loss < self.0) {
            *self = Descent(outcome.loss, steps(&best));
        }
    }
}

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

/// The quick version of Table 2 with one more column.
pub fn table() -> Result<Output, Box<dyn std::error::Error>> {
    let descent = Method::search("descent", |context, _| {
        let template = context.template.clone();
        let ranks = vec![3; template.edges().len()];
        Ok(Box::new(Descent(f64::INFINITY, vec![Structure::identity(template, ranks)?])))
    });
    let options = Options::default().with(|o| (o.quick, o.runs, o.seed) = (true, Some(1), 1));
    let table = Experiment::new("table2", options, vec![descent])?;
    let setup = Setup::new(Fit::Als, 1, None, Stop::new())?;
    let cells: Result<Vec<_>, _> = table.tasks.iter().map(|task| task.run(&setup)).collect();
    Ok(table.output(&cells?, &setup))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    table().map(|output| println!("{}", output.markdown))
}
