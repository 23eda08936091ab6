//! The losses there are, one file each, and how they are asked for.

mod huber;
mod kl;
mod poisson;
mod squared;

#[cfg(test)]
mod tests;

pub use huber::Huber;
pub use kl::KlDivergence;
pub use poisson::PoissonDeviance;
pub use squared::SquaredError;

use super::{Loss, Measure, ModelDomain, Target};
use crate::SettingError;
use crate::registry::{Named, Registry};
use crate::tensor::unflatten;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Makes a loss from its number, if one is given, and the data.
pub type MakeLoss = fn(Option<f64>, &Target) -> Result<Arc<dyn Loss>, SettingError>;

/// A loss that can be asked for by its name.
pub struct Description {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// What its number stands for in help texts, where it has one: `name:number`.
    pub parameter: Option<&'static str>,
    /// Makes it.
    pub make: MakeLoss,
}

impl Description {
    /// A loss without a number.
    pub const fn new(name: &'static str, summary: &'static str, make: MakeLoss) -> Self {
        Description { name, summary, parameter: None, make }
    }
}

impl Named for Description {
    const WHAT: &'static str = "loss";

    fn name(&self) -> &'static str {
        self.name
    }
}

static LOSSES: Registry<Description> =
    Registry::new(&[&squared::SQUARED, &kl::KL, &poisson::POISSON, &huber::HUBER]);

/// The losses there are, the default first: those of this crate, then those that were [registered](register_loss).
pub fn losses() -> Vec<&'static Description> {
    LOSSES.all()
}

/// Adds a loss of another crate: from now on it can be asked for by its name.
pub fn register_loss(loss: &'static Description) -> Result<(), SettingError> {
    LOSSES.add(loss)
}

/// All losses with what they are, for help texts.
///
/// ```
/// assert!(tnsearch::problem::loss_list().starts_with("squared (squared error"));
/// ```
pub fn loss_list() -> String {
    let said = |d: &Description| match d.parameter {
        Some(number) => format!("{0} or {0}:{number} ({1})", d.name, d.summary),
        None => format!("{} ({})", d.name, d.summary),
    };
    losses().into_iter().map(said).collect::<Vec<_>>().join("; ")
}

/// A loss by its name, with its number where one is given: `kl`, `huber:0.5`.
///
/// ```
/// use tnsearch::problem::{Loss as _, LossSpec, Target};
/// use tnsearch::tensor::Tensor;
/// let x = Target::new(Tensor::new(vec![2, 2], vec![1.0, 2.0, 3.0, -4.0]).unwrap()).unwrap();
/// let huber: LossSpec = "huber:0.5".parse().unwrap();
/// assert_eq!(huber.for_target(&x).unwrap().measure().name, "Huber");
/// let kl: LossSpec = "kl".parse().unwrap();
/// let refused = kl.for_target(&x).unwrap_err().to_string();
/// assert_eq!(refused, "entry [1, 1] is -4; KL divergence is for entries of at least 0; use --loss squared or huber");
/// ```
#[derive(Clone)]
pub struct LossSpec {
    description: &'static Description,
    parameter: Option<f64>,
}

impl LossSpec {
    /// The loss for this data: refused where an entry cannot be measured by it.
    pub fn for_target(&self, target: &Target) -> Result<Arc<dyn Loss>, SettingError> {
        let loss = (self.description.make)(self.parameter, target)?;
        check_domain(target, &*loss)?;
        Ok(loss)
    }

    /// Whether it is the squared error, the default.
    pub fn is_default(&self) -> bool {
        self.description.name == squared::SQUARED.name
    }
}

impl Default for LossSpec {
    fn default() -> Self {
        LossSpec { description: &squared::SQUARED, parameter: None }
    }
}

impl fmt::Display for LossSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.description.name)?;
        self.parameter.map_or(Ok(()), |number| write!(f, ":{number}"))
    }
}

impl fmt::Debug for LossSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for LossSpec {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for LossSpec {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl PartialEq for LossSpec {
    fn eq(&self, other: &Self) -> bool {
        (self.description.name, self.parameter) == (other.description.name, other.parameter)
    }
}

impl FromStr for LossSpec {
    type Err = SettingError;

    fn from_str(text: &str) -> Result<Self, SettingError> {
        let refused =
            |expected: String| Err(SettingError::new("loss", format!("'{text}'"), expected));
        let (name, number) = match text.split_once(':') {
            Some((name, number)) => (name, Some(number)),
            None => (text, None),
        };
        let Some(description) = LOSSES.named(name) else {
            let names: Vec<&str> = losses().iter().map(|d| d.name).collect();
            return refused(format!("use {}", names.join(", ")));
        };
        let parameter = match (number, description.parameter) {
            (None, _) => None,
            (Some(_), None) => return refused(format!("{name} takes no number")),
            (Some(number), Some(_)) => match number.parse::<f64>() {
                Ok(number) if number.is_finite() && number > 0.0 => Some(number),
                _ => return refused(format!("what follows {name}: must be a positive number")),
            },
        };
        Ok(LossSpec { description, parameter })
    }
}

/// The exponent of the largest, and less that of the least, entries that losses other than the squared error are for.
const FARTHEST: i64 = 480;

/// Refuses data that the loss is not defined for, and numbers that other losses than the squared error are not fitted
/// to. The entry and its place are named.
pub(crate) fn check_domain(target: &Target, loss: &dyn Loss) -> Result<(), SettingError> {
    if loss.is_squared_error() {
        return Ok(());
    }
    let Some(x) = target.tensor().as_f64() else {
        let expected =
            format!("it is fitted to f64 only, and these are {}; use --dtype f64", target.kind());
        return Err(SettingError::new("loss", loss.measure().name, expected));
    };
    // Beyond these sizes sums of losses and of their derivatives are no numbers.
    if target.exponent().abs() > FARTHEST {
        let name = format!("the size of entries, for {}", loss.measure().name);
        let expected = "it must be from 1e-144 to 1e144; divide the tensor by a number first";
        return Err(SettingError::new(name, format!("about {:.1e}", target.scale()), expected));
    }
    let known = target.known();
    let inside = |k: &usize| known.as_ref().is_none_or(|known| known.contains(*k));
    let wrong = |k: usize| {
        let x = x.data()[k] * target.scale();
        loss.refuses(x).map(|why| (k, x, why.to_owned()))
    };
    match (0..x.len()).filter(inside).find_map(wrong) {
        Some((k, x, why)) => {
            let place = format!("entry {:?}", unflatten(k, target.dims()));
            Err(SettingError::new(place, x, why))
        }
        None => Ok(()),
    }
}
