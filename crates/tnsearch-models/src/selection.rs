//! The fronts of all layers as one problem: what is chosen within a budget.

use super::budget::{self, Choice};
use super::error::ModelError;
use super::front::{Front, Point, Reach, Recipe};
use super::layer::{Cost, Layer, Settings, Weigh};
use tnsearch_io::Dtype;

/// The fronts of all layers as one problem.
pub(super) struct Selection<'a> {
    pub settings: &'a Settings,
    pub layers: &'a [Layer],
    pub fronts: &'a [Front],
    pub reaches: &'a [Reach],
    points: Vec<Vec<Point>>,
    choices: Vec<Vec<Choice>>,
}

impl<'a> Selection<'a> {
    pub fn new(
        settings: &'a Settings,
        layers: &'a [Layer],
        fronts: &'a [Front],
        reaches: &'a [Reach],
    ) -> Self {
        let all = layers.iter().zip(fronts);
        let points: Vec<Vec<Point>> = all.map(|(l, f)| f.points(l, settings.cost)).collect();
        let mut selection =
            Selection { settings, layers, fronts, reaches, points, choices: Vec::new() };
        let choice = |k: usize, p: &Point| Choice {
            cost: selection.cost(k, p),
            error: selection.counted(k, p.error),
        };
        let choices =
            (0..layers.len()).map(|k| selection.points[k].iter().map(|p| choice(k, p)).collect());
        selection.choices = choices.collect();
        selection
    }

    pub fn cost(&self, k: usize, point: &Point) -> f64 {
        match point.recipe {
            Recipe::Dense => self.layers[k].dense_cost(self.settings.cost),
            _ => self.layers[k].cost(self.settings.cost, point.params, point.multiply_adds),
        }
    }

    /// What a squared error of a layer counts in the sum of all.
    pub fn counted(&self, k: usize, error: f64) -> f64 {
        match self.settings.weigh {
            Weigh::Norm | Weigh::Each => error,
            Weigh::Layer => (error / self.fronts[k].norm.max(f64::MIN_POSITIVE)).powf(1.5),
        }
    }

    /// The sum that a relative error of the whole stands for, and the other way round.
    pub fn allowed(&self, re: f64) -> f64 {
        match self.settings.weigh {
            Weigh::Norm | Weigh::Each => re * re * self.fronts.iter().map(|f| f.norm).sum::<f64>(),
            Weigh::Layer => re.powi(3) * self.fronts.len() as f64,
        }
    }

    pub fn re_of(&self, sum: f64) -> f64 {
        let whole: f64 = self.fronts.iter().map(|f| f.norm).sum();
        match self.settings.weigh {
            Weigh::Norm | Weigh::Each if whole > 0.0 => (sum / whole).sqrt(),
            Weigh::Norm | Weigh::Each => 0.0,
            Weigh::Layer => (sum / self.fronts.len() as f64).cbrt(),
        }
    }

    pub fn point(&self, k: usize, recipe: Recipe) -> Point {
        let found = self.points[k].iter().find(|p| p.recipe == recipe);
        found.or(self.points[k].last()).copied().unwrap_or_else(|| unreachable!("the layer itself"))
    }

    pub fn recipes(&self, chosen: &[usize]) -> Vec<Recipe> {
        self.points.iter().zip(chosen).map(|(points, &k)| points[k].recipe).collect()
    }

    /// The cheapest with a relative error of at most this, and of every layer within its cap, less what rounding the cores
    /// adds.
    pub fn within_re(&self, re: f64) -> Vec<Recipe> {
        let less = |re: f64, rounding: f64| (re * re - 4.0 * rounding * rounding).max(0.0);
        let rounding = self.layers.iter().map(unit).fold(0.0, f64::max);
        // Points come by falling error: those within the cap are the last ones, the layer as it is among them.
        let first = |k: usize| match self.settings.layer_cap(re) {
            Some(cap) => {
                let most = less(cap, unit(&self.layers[k])) * self.fronts[k].norm;
                let points = &self.points[k];
                points.partition_point(|p| p.error > most).min(points.len() - 1)
            }
            None => 0,
        };
        let firsts: Vec<usize> = (0..self.layers.len()).map(first).collect();
        let choices: Vec<Vec<Choice>> =
            self.choices.iter().zip(&firsts).map(|(all, &k)| all[k..].to_vec()).collect();
        match budget::within_error(&choices, self.allowed(less(re, rounding).sqrt())) {
            Some(chosen) => {
                let chosen: Vec<usize> = chosen.iter().zip(&firsts).map(|(a, b)| a + b).collect();
                self.recipes(&chosen)
            }
            None => vec![Recipe::Dense; self.layers.len()],
        }
    }

    /// The best with at most this cost of the whole model.
    pub fn within_cost(&self, limit: f64, rest: f64) -> Result<Vec<Recipe>, ModelError> {
        match budget::within_cost(&self.choices, limit - rest) {
            Some(chosen) => Ok(self.recipes(&chosen)),
            None => {
                let unit = match self.settings.cost {
                    Cost::Params => "params",
                    Cost::Bytes => "bytes",
                    Cost::MultiplyAdds => "multiply-adds",
                };
                let least = budget::least_cost(&self.choices) as u64;
                Err(ModelError::TooFew { limit: limit as u64, unit, alone: rest as u64, least })
            }
        }
    }
}

/// What rounding to the type of a layer's cores changes in a number, relatively.
fn unit(layer: &Layer) -> f64 {
    match layer.cores {
        Dtype::Bf16 => 2f64.powi(-9),
        Dtype::F16 => 2f64.powi(-12),
        _ => 2f64.powi(-24),
    }
}
