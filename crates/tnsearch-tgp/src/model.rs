//! A trained model: what predicts.

use super::TgpError;
use super::als::values;
use super::bound::{Bound, Posterior, Problem};
use super::contract::Contraction;
use super::data::{Shares, Standard};
use super::grid::Grid;
use super::kernel::{Kernel, Side, sides};
use super::rows::Rows;
use serde::{Deserialize, Serialize};
use tnsearch::graph::Structure;
use tnsearch::network::Network;
use tnsearch::tensor::{AnyTensor, Tensor};
use tnsearch_io::Table;

/// How near a model is, in standardised units, and how large.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Figures {
    /// The entries of the cores of the mean.
    pub params: u128,
    /// The evidence lower bound on the rows it was trained with; none where the grid has so many points that it cannot be told
    /// from rounding.
    pub bound: Option<f64>,
    /// The mean squared error on the rows it was trained with.
    pub train_mse: f64,
    /// The same on the rows that choices were made by.
    pub validation_mse: f64,
    /// The same on the rows that nothing was learnt from.
    pub test_mse: f64,
    /// The same with these rows standardised by their own response's deviation.
    pub test_mse_respective: f64,
}

/// A trained model.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Model {
    /// The names of the columns, the response last.
    pub names: Vec<String>,
    /// What standardises them.
    pub standard: Standard,
    /// The inducing points.
    pub grids: Vec<Grid>,
    /// The hyperparameters.
    pub kernel: Kernel,
    /// The mean of the function at the inducing points.
    pub mean: Network,
    /// The factors of its covariance, lower, row-major.
    pub roots: Vec<Vec<f64>>,
    /// How rows were divided.
    pub shares: Shares,
    /// The rows of the table it was trained with.
    pub rows: usize,
    /// That table's mark.
    pub fingerprint: String,
    /// Sweeps made to train it.
    pub sweeps: usize,
    /// How near it is, where that was measured.
    pub figures: Option<Figures>,
}

/// Mean and standard deviation of every row.
#[derive(Debug, Clone, PartialEq)]
pub struct Prediction {
    /// The means.
    pub mean: Vec<f64>,
    /// The standard deviations of the response, noise included.
    pub deviation: Vec<f64>,
}

/// `A x` of a square matrix, row-major, and a matrix of so many rows.
pub(super) fn times(a: &[f64], m: usize, x: &[f64]) -> Vec<f64> {
    let n = x.len() / m;
    let entry = |at: usize| (0..m).map(|j| a[at / n * m + j] * x[j * n + at % n]).sum();
    (0..m * n).map(entry).collect()
}

/// A core with a matrix along an axis: `out[.., i, ..] = sum_j A_ij core[.., j, ..]`.
pub(super) fn along(
    core: &[f64],
    dims: &[usize],
    axis: usize,
    a: &dyn Fn(&[f64]) -> Vec<f64>,
) -> Vec<f64> {
    let inner: usize = dims[axis + 1..].iter().product();
    core.chunks_exact(dims[axis] * inner).flat_map(a).collect()
}

/// The cores of v as those of u = signal (L_1 x ... x L_d) v, or the other way round.
fn transformed(
    plan: &Contraction,
    cores: &[Vec<f64>],
    sides: &[Side],
    signal: f64,
    whiten: bool,
) -> Vec<Vec<f64>> {
    let mut out = Vec::new();
    for (v, core) in cores.iter().enumerate() {
        let dims = plan.graph().core_dims(v, plan.dims());
        let modes = &plan.vertices()[v].modes;
        let edges = dims.len() - modes.len();
        let mut core = core.clone();
        for (place, &k) in modes.iter().enumerate() {
            let side = &sides[k];
            let times = |x: &[f64]| times(&side.factor, side.points, x);
            let solve = |x: &[f64]| side.solve_lower(x);
            let by: &dyn Fn(&[f64]) -> Vec<f64> = if whiten { &solve } else { &times };
            core = along(&core, &dims, edges + place, by);
        }
        if v == 0 {
            let factor = if whiten { 1.0 / signal } else { signal };
            core.iter_mut().for_each(|x| *x *= factor);
        }
        out.push(core);
    }
    out
}

impl Model {
    /// The mean as a network of this structure, from whitened cores on its mode graph.
    pub(super) fn network(
        structure: &Structure,
        plan: &Contraction,
        cores: &[Vec<f64>],
        sides: &[Side],
        kernel: &Kernel,
    ) -> Result<Network, TgpError> {
        let cores = transformed(plan, cores, sides, kernel.signal, false);
        let shaped = cores
            .into_iter()
            .enumerate()
            .map(|(v, core)| Tensor::new(plan.graph().core_dims(v, plan.dims()), core));
        let cores = shaped.collect::<Result<Vec<_>, _>>()?;
        Ok(Network::from_fitted(structure.clone(), plan.dims().to_vec(), cores)?)
    }

    /// The graph of the mean, and its whitened cores.
    pub(super) fn whitened(
        &self,
        sides: &[Side],
    ) -> Result<(Contraction, Vec<Vec<f64>>), TgpError> {
        let (plan, cores) = self.on_modes()?;
        let cores = transformed(&plan, &cores, sides, self.kernel.signal, true);
        Ok((plan, cores))
    }

    fn on_modes(&self) -> Result<(Contraction, Vec<Vec<f64>>), TgpError> {
        let (graph, cores) = self.mean.to_mode_graph();
        let plan = Contraction::new(&graph, self.mean.dims())?;
        let real = |c: AnyTensor| {
            c.into_f64()
                .map(Tensor::into_data)
                .map_err(|_| TgpError::Numbers("the mean is not real"))
        };
        Ok((plan, cores.into_iter().map(real).collect::<Result<_, _>>()?))
    }

    /// The whitened factors of the covariance.
    pub(super) fn whitened_roots(&self, sides: &[Side]) -> Vec<Vec<f64>> {
        let of = |(k, (side, root)): (usize, (&Side, &Vec<f64>))| {
            let mut out = side.solve_lower(root);
            if k == 0 {
                out.iter_mut().for_each(|x| *x /= self.kernel.signal);
            }
            out
        };
        sides.iter().zip(&self.roots).enumerate().map(of).collect()
    }

    /// The factors of the covariance of u, from whitened ones.
    pub(super) fn coloured_roots(
        kernel: &Kernel,
        sides: &[Side],
        roots: &[Vec<f64>],
    ) -> Vec<Vec<f64>> {
        let of = |(k, (side, root)): (usize, (&Side, &Vec<f64>))| {
            let mut out = times(&side.factor, side.points, root);
            if k == 0 {
                out.iter_mut().for_each(|x| *x *= kernel.signal);
            }
            out
        };
        sides.iter().zip(roots).enumerate().map(of).collect()
    }

    /// The sides of its kernel.
    pub(super) fn sides(&self) -> Result<Vec<Side>, TgpError> {
        sides(&self.grids, &self.kernel)
    }

    /// Its evidence lower bound on rows.
    pub(super) fn bound(&self, rows: &Rows) -> Result<Bound, TgpError> {
        let sides = self.sides()?;
        let (plan, cores) = self.whitened(&sides)?;
        let at = Posterior { cores, roots: self.whitened_roots(&sides) };
        Ok(Problem::new(rows, &sides, &self.kernel, &plan).bound(&at))
    }

    /// Replaces the mean.
    pub(super) fn with_mean(&self, mean: Network) -> Model {
        Model { mean, figures: None, ..self.clone() }
    }

    /// Replaces mean and covariance by whitened ones.
    pub(super) fn with_posterior(
        &self,
        structure: &Structure,
        plan: &Contraction,
        posterior: &Posterior,
        sides: &[Side],
    ) -> Result<Model, TgpError> {
        let mean = Model::network(structure, plan, &posterior.cores, sides, &self.kernel)?;
        let roots = Model::coloured_roots(&self.kernel, sides, &posterior.roots);
        Ok(Model { mean, roots, figures: None, ..self.clone() })
    }

    /// The columns of a table that are its features, in its order, and that of the response where there is one.
    pub fn columns(&self, table: &Table) -> Result<(Vec<usize>, Option<usize>), TgpError> {
        let (response, features) =
            self.names.split_last().ok_or(TgpError::Numbers("a model without columns"))?;
        let find = |name: &String| {
            let missing =
                || TgpError::Columns { missing: name.clone(), have: listed(&table.names) };
            table.column(name).ok_or_else(missing)
        };
        Ok((features.iter().map(find).collect::<Result<_, _>>()?, table.column(response)))
    }

    /// Predicts standardised rows.
    pub fn standardised(&self, rows: &Rows) -> Result<Prediction, TgpError> {
        let (plan, cores) = self.on_modes()?;
        let identity =
            |m: usize| (0..m * m).map(|k| f64::from(u8::from(k / m == k % m))).collect::<Vec<_>>();
        let dense: Vec<Vec<f64>> = self
            .grids
            .iter()
            .enumerate()
            .map(|(k, g)| rows.times(k, &identity(g.points), g.points))
            .collect();
        let mean = values(&plan, &cores, &dense, rows.len(), true);
        let mut variance = vec![1.0; rows.len()];
        for (k, grid) in self.grids.iter().enumerate() {
            let spread = rows.times(k, &self.roots[k], grid.points);
            for (v, row) in variance.iter_mut().zip(spread.chunks_exact(grid.points)) {
                *v *= row.iter().map(|x| x * x).sum::<f64>();
            }
        }
        let noise = self.kernel.noise.powi(2);
        let deviation = variance.into_iter().map(|v| (v + noise).sqrt()).collect();
        Ok(Prediction { mean, deviation })
    }

    /// Predicts the rows of a table, in the units of the response. The columns are found by their names.
    pub fn predict(&self, table: &Table) -> Result<Prediction, TgpError> {
        let (features, _) = self.columns(table)?;
        let row = |r: usize| {
            features.iter().enumerate().map(move |(k, &c)| self.standard.apply(k, table.row(r)[c]))
        };
        let cells: Vec<f64> = (0..table.rows()).flat_map(row).collect();
        let rows = Rows::new(&self.grids, &cells, Vec::new());
        let Prediction { mean, deviation } = self.standardised(&rows)?;
        let d = features.len();
        let (middle, scale) = (self.standard.mean[d], self.standard.scale[d]);
        Ok(Prediction {
            mean: mean.into_iter().map(|x| middle + scale * x).collect(),
            deviation: deviation.into_iter().map(|x| scale * x).collect(),
        })
    }

    /// The mean squared error on rows, standardised.
    pub fn mse(&self, rows: &Rows) -> Result<f64, TgpError> {
        let mean = self.standardised(rows)?.mean;
        Ok(mean.iter().zip(&rows.y).map(|(f, y)| (f - y).powi(2)).sum::<f64>() / rows.len() as f64)
    }

    /// The mean squared error on the test rows of its table, with another mean.
    pub fn test_mse(&self, table: &Table, mean: &Network) -> Result<f64, TgpError> {
        let data = super::train::Prepared::new(table, &self.shares, &self.standard, &self.grids)?;
        self.with_mean(mean.clone()).mse(&data.test)
    }
}

/// A few names in quotes.
fn listed(names: &[String]) -> String {
    let shown: Vec<String> = names.iter().take(12).map(|n| format!("'{n}'")).collect();
    let more = names.len().saturating_sub(12);
    shown.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
}
