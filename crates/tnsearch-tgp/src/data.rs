//! A table as data for a model: which rows are for what, and standardised by which statistics.

use super::TgpError;
use rand::seq::SliceRandom as _;
use serde::{Deserialize, Serialize};
use tnsearch::rng::stream;
use tnsearch_io::Table;

/// The fewest rows that can be divided.
const LEAST: usize = 10;

/// How rows are divided. All of it follows from the seed and the number of rows.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Shares {
    /// The seed of the order of the rows.
    pub seed: u64,
    /// The share of all rows that a model is tested on, which nothing is learnt or chosen from.
    pub test: f64,
    /// The share of the others that choices are made by.
    pub validation: f64,
}

/// Which rows are for what.
#[derive(Debug, Clone, PartialEq)]
pub struct Split {
    /// Cores and hyperparameters are learnt from these.
    pub train: Vec<usize>,
    /// Choices are made by these: when to end, which network is small enough.
    pub validation: Vec<usize>,
    /// These are for the figures at the end.
    pub test: Vec<usize>,
}

impl Shares {
    /// The paper's 80 and 20 in a hundred, and a tenth of the 80 to choose by.
    pub fn new(seed: u64) -> Self {
        Shares { seed, test: 0.2, validation: 0.1 }
    }

    /// Divides so many rows.
    pub fn split(&self, rows: usize) -> Result<Split, TgpError> {
        if rows < LEAST {
            return Err(TgpError::FewRows { rows, least: LEAST });
        }
        for (name, share) in [("test share", self.test), ("validation share", self.validation)] {
            if !(share > 0.0 && share < 1.0) {
                return Err(TgpError::Setting {
                    name,
                    value: share.to_string(),
                    expected: "it must be above 0 and below 1",
                });
            }
        }
        let mut order: Vec<usize> = (0..rows).collect();
        order.shuffle(&mut stream(self.seed, b"tgp split"));
        let part = |of: usize, share: f64| ((of as f64 * share).round() as usize).clamp(1, of - 1);
        let test = order.split_off(rows - part(rows, self.test));
        let validation = order.split_off(order.len() - part(order.len(), self.validation));
        Ok(Split { train: order, validation, test })
    }
}

/// The mean and the standard deviation of every column, the response last: of the rows that are not for testing.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Standard {
    /// The means.
    pub mean: Vec<f64>,
    /// The standard deviations.
    pub scale: Vec<f64>,
}

impl Standard {
    /// The statistics of some rows.
    pub fn of(table: &Table, rows: &[usize]) -> Result<Self, TgpError> {
        let (n, columns) = (rows.len() as f64, table.columns());
        let mut standard = Standard { mean: Vec::new(), scale: Vec::new() };
        for c in 0..columns {
            let mean = rows.iter().map(|&r| table.row(r)[c]).sum::<f64>() / n;
            let variance = rows.iter().map(|&r| (table.row(r)[c] - mean).powi(2)).sum::<f64>() / n;
            let scale = variance.sqrt();
            let first = table.row(rows[0])[c];
            let constant = rows.iter().all(|&r| table.row(r)[c] == first);
            if constant {
                let (column, value) = (table.names[c].clone(), first);
                return Err(TgpError::Constant { column, value, response: c + 1 == columns });
            }
            if !(mean.is_finite() && scale.is_normal()) {
                let of = |pick: fn(f64, f64) -> f64| {
                    rows.iter().map(|&r| table.row(r)[c]).fold(first, pick)
                };
                let (low, high) = (of(f64::min), of(f64::max));
                return Err(TgpError::Range { column: table.names[c].clone(), low, high });
            }
            standard.mean.push(mean);
            standard.scale.push(scale);
        }
        Ok(standard)
    }

    /// A number of a column, standardised.
    pub fn apply(&self, column: usize, x: f64) -> f64 {
        (x - self.mean[column]) / self.scale[column]
    }

    /// Features and response of some rows, standardised.
    pub fn rows(&self, table: &Table, rows: &[usize]) -> (Vec<f64>, Vec<f64>) {
        let d = self.mean.len() - 1;
        let features =
            rows.iter().flat_map(|&r| (0..d).map(move |c| self.apply(c, table.row(r)[c])));
        let y = rows.iter().map(|&r| self.apply(d, table.row(r)[d]));
        (features.collect(), y.collect())
    }
}

/// A mark of a table that another one is very unlikely to have: FNV-1a over names and numbers.
pub fn fingerprint(table: &Table) -> String {
    let names = table.names.iter().flat_map(|n| n.bytes().chain([0]));
    let cells = table.cells.iter().flat_map(|x| x.to_bits().to_le_bytes());
    let hash = names.chain(cells).fold(0xcbf2_9ce4_8422_2325u64, |h, byte| {
        (h ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let cells =
            (0..40).flat_map(|k| [f64::from(k), f64::from(k * k % 7), 2.0 * f64::from(k) + 1.0]);
        Table::new(["a", "b", "y"].map(str::to_owned).to_vec(), cells.collect())
    }

    #[test]
    fn rows_are_divided_by_the_seed() {
        let split = Shares::new(3).split(100).unwrap();
        assert_eq!((split.train.len(), split.validation.len(), split.test.len()), (72, 8, 20));
        let mut all: Vec<usize> =
            [split.train.clone(), split.validation.clone(), split.test.clone()].concat();
        all.sort_unstable();
        assert_eq!(all, (0..100).collect::<Vec<_>>());
        assert_eq!(Shares::new(3).split(100).unwrap(), split);
        assert_ne!(Shares::new(4).split(100).unwrap(), split);
        let few = Shares::new(0).split(1).unwrap_err().to_string();
        assert_eq!(few, "the table has 1 row; at least 10 are needed to train, choose and test");
    }

    #[test]
    fn statistics_are_those_of_the_rows_named() {
        let table = table();
        let rows: Vec<usize> = (0..20).collect();
        let standard = Standard::of(&table, &rows).unwrap();
        assert_eq!(standard.mean[0], 9.5);
        assert!((standard.scale[0] - (399.0f64 / 12.0).sqrt()).abs() < 1e-12);
        let (features, y) = standard.rows(&table, &rows);
        assert_eq!((features.len(), y.len()), (40, 20));
        assert!(y.iter().sum::<f64>().abs() < 1e-12);
        assert!((y.iter().map(|y| y * y).sum::<f64>() / 20.0 - 1.0).abs() < 1e-12);
        let mut flat = table.clone();
        (0..40).for_each(|r| flat.cells[3 * r + 1] = 0.1);
        let said = Standard::of(&flat, &rows).unwrap_err().to_string();
        assert_eq!(
            said,
            "feature 'b' is constant (0.1 in every row to learn from); leave the column out"
        );
        assert_ne!(fingerprint(&flat), fingerprint(&table));
    }
}
