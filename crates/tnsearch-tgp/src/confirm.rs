//! What is said about a model, checked against its cores before it is written: single rows, contracted with the network itself
//! instead of along the way that measures all rows.

use super::TgpError;
use super::model::Model;
use super::rows::Rows;
use tnsearch::tensor::Tensor;

/// Rows that are looked at.
const MOST: usize = 64;
/// How far two ways of adding up may be apart, relative to the predictions.
const ROUNDING: f64 = 1e-7;

/// Whether two numbers differ by rounding alone; one that is no number is near nothing.
fn near(a: f64, b: f64) -> bool {
    (a - b).abs() <= ROUNDING * (1.0 + b.abs())
}

impl Model {
    /// Checks that the cores are finite and predict these rows with that mean squared error: of all where they are few, of
    /// some what the model says row by row.
    pub(super) fn confirm(&self, rows: &Rows, mse: f64) -> Result<(), TgpError> {
        self.mean.check_finite().map_err(|e| TgpError::Claim(e.to_string()))?;
        let step = rows.len().div_ceil(MOST).max(1);
        let which: Vec<usize> = (0..rows.len()).step_by(step).collect();
        let some = rows.some(&which);
        let said = self.standardised(&some)?.mean;
        let mut sum = 0.0;
        for (k, &said) in said.iter().enumerate() {
            let found = self.by_network(&some, k)?;
            if !near(found, said) {
                return Err(TgpError::Claim(format!(
                    "its mean at row {} was computed as {said:e}, but its cores give {found:e}",
                    which[k]
                )));
            }
            sum += (found - some.y[k]).powi(2);
        }
        let found = sum / which.len().max(1) as f64;
        match which.len() == rows.len() && !near(found, mse) {
            true => Err(TgpError::Claim(format!(
                "its mean squared error was computed as {mse:e}, but its cores give {found:e}"
            ))),
            false => Ok(()),
        }
    }

    /// The mean at a row: the network summed over all modes with the row's weights.
    fn by_network(&self, rows: &Rows, row: usize) -> Result<f64, TgpError> {
        let vector = |(k, weights): (usize, &Vec<super::grid::Weights>)| {
            let (w, mut dense) = (&weights[row], vec![0.0; self.grids[k].points]);
            for (place, value) in dense.iter_mut().skip(w.first as usize).zip(w.weights) {
                *place = value;
            }
            Ok((k, Tensor::new(vec![dense.len(), 1], dense)?.into()))
        };
        let vectors = rows.weights.iter().enumerate().map(vector);
        let vectors = vectors.collect::<Result<Vec<_>, TgpError>>()?;
        let sum = self.mean.applied(None, &vectors, None)?;
        Ok(sum.entry(0).re)
    }
}
