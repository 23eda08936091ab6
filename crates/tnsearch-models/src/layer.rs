//! Which tensors of a model are compressed, and what is asked for.

use super::pairing::Pairing;
use super::term::{multiply_adds, product_form};
use serde::{Deserialize, Serialize};
use tnsearch::SettingError;
use tnsearch_io::Dtype;
use tnsearch_io::weights::{Entry, is_float};

/// What a model costs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cost {
    /// Numbers that are stored.
    #[default]
    Params,
    /// Bytes that are stored.
    Bytes,
    /// Multiply-adds of applying every layer to one input.
    MultiplyAdds,
}

/// How the errors of layers are added up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Weigh {
    /// As they are, and no layer loses more than [`LAYER_CAP`] times the error asked for.
    Each,
    /// Each relative to its layer: the whole is the mean of order 3 of the layers' relative errors; the same cap.
    Layer,
    /// As they are, without a cap: the whole is `sum ||W - W'||^2 / sum ||W||^2`, and a layer of small norm may be lost altogether.
    Norm,
}

/// Where an error is asked for, no layer has a relative error of more than so many times it.
pub const LAYER_CAP: f64 = 2.0;

/// A layer of a larger relative error has lost most of what it was.
pub const MOST_LOST: f64 = 0.5;

/// What is to be reached.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// The least cost with a relative error of all compressed weights of at most this.
    KeepRe(f64),
    /// The least error with at most this cost of the whole model.
    MaxCost(u64),
    /// The least cost with which the loss that a command measures rises by at most this.
    MaxLoss(f64),
}

/// How a model is compressed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// What is to be reached.
    pub goal: Goal,
    /// What is kept low, or within the goal.
    pub cost: Cost,
    /// How the errors of layers are added up.
    pub weigh: Weigh,
    /// Smaller tensors are left alone.
    pub min_entries: u64,
    /// Whether trees on factors of the sides are looked for.
    pub trees: bool,
    /// Whether Kronecker products are.
    pub products: bool,
    /// The type of the cores; none: that of the layer.
    pub cores: Option<Dtype>,
    /// Random numbers.
    pub seed: u64,
}

impl Settings {
    /// The largest relative error that a layer may have where the whole may have `re`; none: any.
    pub fn layer_cap(&self, re: f64) -> Option<f64> {
        let cap = LAYER_CAP * re;
        (self.weigh != Weigh::Norm && cap < 1.0).then_some(cap)
    }

    /// Checks every number.
    pub fn check(self) -> Result<Self, SettingError> {
        match self.goal {
            Goal::KeepRe(re) if !(re > 0.0 && re < 1.0) => {
                let expected = "it must be above 0 and below 1 (zeros have an RE of 1)";
                Err(SettingError::new("keep-re", re, expected))
            }
            Goal::MaxLoss(rise) if !(rise.is_finite() && rise >= 0.0) => {
                Err(SettingError::new("allow", rise, "it must be a number of at least 0"))
            }
            _ => Ok(self),
        }
    }
}

/// A tensor that may be compressed: a matrix of `rows` by all else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Its place in the file.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its type.
    pub dtype: Dtype,
    /// The type of its cores.
    pub cores: Dtype,
    /// Its first side: the outputs.
    pub rows: usize,
    /// All other sides: the inputs.
    pub columns: usize,
}

/// A tensor that is left alone, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeftAlone {
    /// Its place in the file.
    pub index: usize,
    /// Why.
    pub why: Why,
}

/// Why a tensor is left alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Why {
    /// A vector or a number.
    Vector,
    /// Too few entries.
    Small,
    /// Whole numbers of 8 bits: these mean something only with their scales.
    Quantised,
    /// Another type of no weights.
    Type,
}

impl Why {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Why::Vector => "a vector",
            Why::Small => "too small",
            Why::Quantised => {
                "whole numbers: their scales are needed; store it as f16 or f32 first"
            }
            Why::Type => "not a type of weights",
        }
    }
}

impl Layer {
    /// The layer of a tensor, or why it is none.
    pub fn of(index: usize, entry: &Entry, settings: &Settings) -> Result<Layer, LeftAlone> {
        let leave = |why| Err(LeftAlone { index, why });
        let sides = entry.shape.iter().filter(|d| **d > 1).count();
        let quantised = ["I8", "U8", "F8_E4M3", "F8_E5M2", "F8_E8M0", "F4", "F6_E2M3", "F6_E3M2"];
        let Some(dtype) = entry.dtype().filter(|d| is_float(*d)) else {
            let is_weight = sides >= 2 && quantised.contains(&&entry.stored[..]);
            return leave(if is_weight { Why::Quantised } else { Why::Type });
        };
        let entries = entry.count();
        // Leading sides of 1 say nothing.
        let rows = entry.shape.iter().copied().find(|d| *d != 1).unwrap_or(1);
        if sides < 2 || rows < 2 || entries == 0 {
            return leave(Why::Vector);
        }
        if entries < settings.min_entries {
            return leave(Why::Small);
        }
        Ok(Layer {
            index,
            name: entry.name.clone(),
            shape: entry.shape.clone(),
            dtype,
            cores: settings.cores.unwrap_or(dtype),
            rows,
            columns: (entries / rows as u64) as usize,
        })
    }

    /// Its entries.
    pub fn entries(&self) -> u64 {
        self.rows as u64 * self.columns as u64
    }

    /// Whether it is computed with 64-bit numbers.
    pub fn is_wide(&self) -> bool {
        self.dtype == Dtype::F64
    }

    /// What so many numbers in cores, or so many multiply-adds, cost.
    pub fn cost(&self, cost: Cost, params: u64, multiply_adds: u64) -> f64 {
        match cost {
            Cost::Params => params as f64,
            Cost::Bytes => params as f64 * self.cores.bytes() as f64,
            Cost::MultiplyAdds => multiply_adds as f64,
        }
    }

    /// What it costs as it is.
    pub fn dense_cost(&self, cost: Cost) -> f64 {
        match cost {
            Cost::Bytes => self.entries() as f64 * self.dtype.bytes() as f64,
            _ => self.entries() as f64,
        }
    }
}

/// The multiply-adds of one Kronecker product of a pairing.
pub fn pairing_work(p: &Pairing) -> u64 {
    let (einsum, modes, shapes) = product_form(p, 1);
    let rows = [p.r1, p.r2].iter().filter(|s| **s > 1).count();
    multiply_adds(&einsum, &shapes, &modes, rows).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AskedModel;

    #[test]
    fn what_is_no_weight_is_left_alone() {
        let settings = AskedModel::default().settings(false).unwrap();
        let of = |stored: &str, shape: &[usize]| {
            let entry = Entry::new("x".into(), stored.into(), shape.to_vec(), 0, 0);
            Layer::of(3, &entry, &settings).map_err(|l| l.why)
        };
        let layer = of("BF16", &[64, 8, 3, 3]).unwrap();
        assert_eq!((layer.rows, layer.columns, layer.dtype), (64, 72, Dtype::Bf16));
        let layer = of("F32", &[1, 196, 64]).unwrap();
        assert_eq!((layer.rows, layer.columns), (196, 64));
        assert_eq!(of("F32", &[4096]), Err(Why::Vector));
        assert_eq!(of("F32", &[1, 4096]), Err(Why::Vector));
        assert_eq!(of("F32", &[4, 4]), Err(Why::Small));
        assert_eq!(of("F32", &[0, 400]), Err(Why::Vector));
        assert_eq!(of("I8", &[64, 64]), Err(Why::Quantised));
        assert_eq!(of("I64", &[64, 64]), Err(Why::Type));
        assert_eq!(of("F8_E4M3", &[64, 64]), Err(Why::Quantised));
        for goal in [Goal::KeepRe(1.5), Goal::MaxLoss(f64::NAN)] {
            assert!(Settings { goal, ..settings.clone() }.check().is_err());
        }
    }
}
