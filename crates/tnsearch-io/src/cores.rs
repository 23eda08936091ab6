//! The numbers that the cores of a network file are made of.

use half::f16;
use std::str::FromStr;
use tnsearch::dispatch;
use tnsearch::network::Network;
use tnsearch::tensor::{AnyTensor, Kind, Scalar, Tensor};

/// The precision of the cores in a file. Complex cores have two such parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Precision {
    /// 16 bits: 11 digits of 2, numbers up to 65504. Not for complex cores.
    F16,
    /// 32 bits.
    #[default]
    F32,
    /// 64 bits.
    F64,
}

/// Cores cannot be had in a precision.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PrecisionError {
    /// Complex cores of 16 bits.
    #[error("cores of complex numbers are written as f32 or f64, not f16")]
    Complex,
    /// The numbers are beyond the range.
    #[error("the cores hold numbers beyond the range of {0}; use f64")]
    Range(Precision),
}

impl std::fmt::Display for Precision {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Precision::F16 => "f16",
            Precision::F32 => "f32",
            Precision::F64 => "f64",
        })
    }
}

impl FromStr for Precision {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "f16" => Ok(Precision::F16),
            "f32" => Ok(Precision::F32),
            "f64" => Ok(Precision::F64),
            _ => Err("use f16, f32 or f64".to_owned()),
        }
    }
}

impl Precision {
    /// The network with cores that a file of this precision holds exactly: each number rounded. Those of 16 bits are
    /// scaled first, so that the largest number of every core is the same, and nothing is lost below the range.
    pub fn round(self, network: &Network) -> Result<Network, PrecisionError> {
        let complex = network.kind().is_complex();
        let kind = match (self, complex) {
            (Precision::F16, true) => return Err(PrecisionError::Complex),
            (Precision::F64, true) => Kind::C64,
            (Precision::F64, false) => Kind::F64,
            (_, true) => Kind::C32,
            (_, false) => Kind::F32,
        };
        let cores: Vec<AnyTensor> = match self {
            Precision::F16 => halves(network),
            _ => network.cores().to_vec(),
        };
        let converted = cores.into_iter().map(|core| core.to_kind(kind));
        let beyond = |_| PrecisionError::Range(self);
        let cores = converted.collect::<Result<Vec<_>, _>>().map_err(beyond)?;
        if cores.iter().any(|core| core.first_not_finite().is_some()) {
            return Err(PrecisionError::Range(self));
        }
        let (structure, dims) = (network.structure().clone(), network.dims().to_vec());
        Network::new(structure, dims, cores).map_err(|_| PrecisionError::Range(self))
    }
}

/// Real cores, scaled to the same largest number and rounded to 16 bits.
fn halves(network: &Network) -> Vec<AnyTensor> {
    let real = |core: &AnyTensor| -> Vec<f64> {
        dispatch!(core, t => t.data().iter().map(|x| x.re()).collect())
    };
    let largest = |core: &AnyTensor| real(core).iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    // A hub has no numbers of its own.
    let hub = network.structure().template().copy_vertex();
    let factors = &network.cores()[..hub.unwrap_or(network.cores().len())];
    let sizes: Vec<f64> = factors.iter().map(largest).collect();
    let logs: f64 = sizes.iter().map(|s| s.ln()).sum();
    let common = (logs / sizes.len().max(1) as f64).exp();
    let scaled = |(core, size): (&AnyTensor, &f64)| {
        // A core of zeros makes all zero, whatever the others are.
        let factor = if logs.is_finite() { common / size } else { 1.0 };
        let data = real(core).iter().map(|x| f16::from_f64(x * factor).to_f64()).collect();
        let rounded = Tensor::new(core.dims().to_vec(), data);
        AnyTensor::from(rounded.unwrap_or_else(|e| unreachable!("as many entries: {e}")))
    };
    let rest = network.cores()[factors.len()..].iter().cloned();
    factors.iter().zip(&sizes).map(scaled).chain(rest).collect()
}

/// The bytes of real numbers as 16 bits each.
pub(crate) fn half_bytes(core: &AnyTensor) -> Vec<u8> {
    dispatch!(core, t => t.data().iter().flat_map(|x| f16::from_f64(x.re()).to_le_bytes()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use tnsearch::graph::{Structure, Template};

    /// Cores of very different sizes, whose product is ordinary.
    fn network() -> Network {
        let path = Arc::new(Template::path(3).unwrap());
        let structure = Structure::identity(path, vec![2, 3]).unwrap();
        let dims = vec![4, 5, 6];
        let core = |v: usize| {
            let shape = structure.core_dims(v, &dims);
            let size = [1e9, 1e-11, 30.0][v];
            let entry = |k: usize| size * ((k * 7 % 11) as f64 - 4.3);
            Tensor::new(shape.clone(), (0..shape.iter().product()).map(entry).collect()).unwrap()
        };
        Network::new(structure.clone(), dims.clone(), (0..3).map(core).collect::<Vec<_>>()).unwrap()
    }

    fn error(of: &Network, other: &Network) -> f64 {
        let dense = |n: &Network| n.to_tensor(None).unwrap().to_kind(Kind::F64).unwrap();
        let (x, z) = (dense(of).into_f64().unwrap(), dense(other).into_f64().unwrap());
        let squares = x.data().iter().zip(z.data()).map(|(a, b)| (a - b).powi(2)).sum::<f64>();
        (squares / x.norm_squared()).sqrt()
    }

    #[test]
    fn rounding_loses_what_the_precision_says() {
        let exact = network();
        for (precision, unit) in [
            (Precision::F64, 0.0),
            (Precision::F32, 2f64.powi(-24)),
            (Precision::F16, 2f64.powi(-11)),
        ] {
            let rounded = precision.round(&exact).unwrap();
            // Three factors, each within half a unit in the last place.
            assert!(error(&exact, &rounded) <= 3.1 * unit, "{precision}");
            assert_eq!(precision.to_string().parse(), Ok(precision));
        }
        let halves = Precision::F16.round(&exact).unwrap();
        for core in halves.cores() {
            let core = core.typed::<f32>().unwrap();
            assert!(core.data().iter().all(|&x| f16::from_f32(x).to_f32() == x));
        }
        assert_eq!(Precision::F16.round(&halves).unwrap(), halves);
    }

    #[test]
    fn what_cannot_be_written_is_refused() {
        let real = network();
        let complex = real.cores().iter().map(|c| c.clone().to_kind(Kind::C64).unwrap());
        let complex: Vec<AnyTensor> = complex.collect();
        let (structure, dims) = (network().structure().clone(), vec![4, 5, 6]);
        let complex = Network::new(structure.clone(), dims.clone(), complex).unwrap();
        assert_eq!(Precision::F16.round(&complex), Err(PrecisionError::Complex));
        assert_eq!(Precision::F32.round(&complex).unwrap().kind(), Kind::C32);
        let huge = |core: &AnyTensor| {
            let core = core.as_f64().unwrap();
            let data = core.data().iter().map(|x| x * 1e200).collect();
            Tensor::new(core.dims().to_vec(), data).unwrap()
        };
        let huge: Vec<Tensor> = network().cores().iter().map(huge).collect();
        let huge = Network::new(structure, dims, huge).unwrap();
        assert_eq!(Precision::F32.round(&huge), Err(PrecisionError::Range(Precision::F32)));
        assert_eq!(Precision::F16.round(&huge), Err(PrecisionError::Range(Precision::F16)));
    }
}
