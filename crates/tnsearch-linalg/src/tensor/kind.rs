//! The kinds of numbers by name: size, precision, real or complex.

use crate::SettingError;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;

/// The kind of number a tensor is made of, named as numpy names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Kind {
    /// Real, 32 bits: about 7 digits.
    #[serde(rename = "f32")]
    F32,
    /// Real, 64 bits: about 16 digits. What everything is computed with unless another kind is asked for.
    #[serde(rename = "f64")]
    F64,
    /// Complex, two numbers of 32 bits.
    #[serde(rename = "complex64")]
    C32,
    /// Complex, two numbers of 64 bits.
    #[serde(rename = "complex128")]
    C64,
}

impl Kind {
    /// All kinds.
    pub const ALL: [Kind; 4] = [Kind::F32, Kind::F64, Kind::C32, Kind::C64];

    /// The name: `f32`, `f64`, `complex64` or `complex128`.
    pub fn name(self) -> &'static str {
        match self {
            Kind::F32 => "f32",
            Kind::F64 => "f64",
            Kind::C32 => "complex64",
            Kind::C64 => "complex128",
        }
    }

    /// The bytes of one number.
    pub fn bytes(self) -> usize {
        match self {
            Kind::F32 => 4,
            Kind::F64 | Kind::C32 => 8,
            Kind::C64 => 16,
        }
    }

    /// Whether its numbers have an imaginary part.
    pub fn is_complex(self) -> bool {
        matches!(self, Kind::C32 | Kind::C64)
    }

    /// The distance from 1 to the next number of a part: `2^-23` or `2^-52`.
    pub fn epsilon(self) -> f64 {
        match self {
            Kind::F32 | Kind::C32 => f64::from(f32::EPSILON),
            Kind::F64 | Kind::C64 => f64::EPSILON,
        }
    }

    /// The RE that networks of such numbers come to, whatever their ranks are: what rounding the entries of their cores
    /// costs, 4 ulp or so.
    pub fn finest_re(self) -> f64 {
        4.0 * self.epsilon()
    }

    /// In one line, what such numbers reach where an RSE is asked for that is less; none where it is not.
    ///
    /// ```
    /// use tnsearch_linalg::tensor::Kind;
    /// assert_eq!(Kind::F32.too_coarse_for(1e-12), None);
    /// let said = Kind::F32.too_coarse_for(1e-16).unwrap();
    /// assert!(said.contains("RE of about 5e-7") && said.contains("--dtype f64"));
    /// ```
    pub fn too_coarse_for(self, rse: f64) -> Option<String> {
        let (least, name) = (self.finest_re(), self.name());
        let wide = match self {
            Kind::F32 => "; --dtype f64 comes closer",
            Kind::C32 => "; --dtype complex128 comes closer",
            Kind::F64 | Kind::C64 => "",
        };
        (rse.sqrt() < least).then(|| {
            format!("networks of {name} numbers come to an RE of about {least:.0e}, whatever their ranks{wide}")
        })
    }

    /// What takes the place of a tolerance that was measured with 64-bit numbers: `of_f64 * epsilon / 2^-52`.
    ///
    /// ```
    /// use tnsearch_linalg::tensor::Kind;
    /// assert_eq!(Kind::C64.tolerance(1e-13), 1e-13);
    /// assert!(Kind::F32.tolerance(1e-13) > 5e-5);
    /// ```
    pub fn tolerance(self, of_f64: f64) -> f64 {
        of_f64 * (self.epsilon() / f64::EPSILON)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Kind {
    type Err = SettingError;

    fn from_str(s: &str) -> Result<Self, SettingError> {
        Kind::ALL.into_iter().find(|k| k.name() == s).ok_or_else(|| {
            SettingError::new("dtype", format!("'{s}'"), "use f32, f64, complex64 or complex128")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for kind in Kind::ALL {
            assert_eq!(kind.name().parse::<Kind>(), Ok(kind));
            assert_eq!(serde_json::to_value(kind).unwrap(), kind.name());
        }
        let unknown = "f16".parse::<Kind>().unwrap_err().to_string();
        assert_eq!(unknown, "dtype is 'f16'; use f32, f64, complex64 or complex128");
    }
}
