//! How far a network is from the data, and what that number is called.

use crate::SettingError;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// The names of an error: what objectives, journals, reports and commands need to know about a loss.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Measure {
    /// The key in files and options: `rse` makes `--max-rse` and the field `rse`.
    pub id: Cow<'static, str>,
    /// The name for people, such as `RSE`.
    pub name: Cow<'static, str>,
    /// What the number is, in a few words: "squared relative error".
    pub meaning: Cow<'static, str>,
    /// Its square root, where people use that as well.
    pub root: Option<Root>,
}

/// The names of the square root of an error.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// The key in files.
    pub id: Cow<'static, str>,
    /// The name for people, such as `RE`.
    pub name: Cow<'static, str>,
    /// What the number is, in a few words.
    pub meaning: Cow<'static, str>,
}

impl Root {
    /// The names of a root.
    pub const fn new(id: &'static str, name: &'static str, meaning: &'static str) -> Self {
        let [id, name, meaning] = [Cow::Borrowed(id), Cow::Borrowed(name), Cow::Borrowed(meaning)];
        Root { id, name, meaning }
    }
}

impl Measure {
    /// The squared relative error `||X - Z||^2 / ||X||^2`, which the paper's program minimises; its tables of images
    /// print the root.
    pub const RSE: Measure = {
        let root = Root::new("re", "RE", "relative error");
        Measure::new("rse", "RSE", "squared relative error", Some(root))
    };

    /// The names of a loss.
    pub const fn new(
        id: &'static str,
        name: &'static str,
        meaning: &'static str,
        root: Option<Root>,
    ) -> Self {
        let [id, name, meaning] = [Cow::Borrowed(id), Cow::Borrowed(name), Cow::Borrowed(meaning)];
        Measure { id, name, meaning, root }
    }

    /// Refuses names that cannot stand in an option, a file or on a terminal.
    pub fn check(&self) -> Result<(), SettingError> {
        let root = self.root.as_ref();
        let ids = [Some(&self.id), root.map(|r| &r.id)];
        let plain = |id: &str| {
            !id.is_empty() && id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
        };
        if let Some(bad) = ids.into_iter().flatten().find(|id| !plain(id)) {
            let expected = "its id must be of small letters and digits";
            return Err(SettingError::new("measure", format!("{bad:?}"), expected));
        }
        let words = [Some(&self.name), Some(&self.meaning), root.map(|r| &r.name)];
        let words = words.into_iter().chain([root.map(|r| &r.meaning)]).flatten();
        let bad = |text: &&Cow<'static, str>| text.is_empty() || text.contains(char::is_control);
        match words.into_iter().find(bad) {
            Some(bad) => {
                let expected = "its names must be words without control characters";
                Err(SettingError::new("measure", format!("{bad:?}"), expected))
            }
            None => Ok(()),
        }
    }

    /// An error in words, with its root where that has a name; `number` writes a quantity.
    pub fn text(&self, error: f64, number: impl Fn(f64) -> String) -> String {
        let value = format!("{} {}", self.name, number(error));
        match &self.root {
            Some(Root { name, .. }) => {
                format!("{value}, {name} {} (its square root)", number(error.sqrt()))
            }
            None => value,
        }
    }
}

impl Default for Measure {
    fn default() -> Self {
        Measure::RSE
    }
}

/// The numbers that a network may be made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ModelDomain {
    /// Any.
    Real,
    /// None below zero, in the cores as in the tensor they give.
    NonNegative,
}

/// A loss per entry, summed over the data and divided by that of a network without information.
///
/// The *error* of a network is one number, `sum of value(x, z) / baseline`, and smaller is better. Objectives,
/// bounds, journals, reports and commands know nothing else about it but its [`Measure`], so that another loss is one
/// more type and no change anywhere else.
///
/// ```
/// use tnsearch::problem::{Loss, Measure};
/// /// Outliers count by their distance only.
/// #[derive(Debug)]
/// struct Absolute;
/// impl Loss for Absolute {
///     fn measure(&self) -> Measure {
///         Measure::new("rae", "RAE", "relative absolute error", None)
///     }
///     fn value(&self, x: f64, z: f64) -> f64 {
///         (x - z).abs()
///     }
///     fn derivative(&self, x: f64, z: f64) -> f64 {
///         (z - x).signum()
///     }
/// }
/// assert_eq!(Absolute.baseline(&[1.0, -3.0]), 4.0);
/// ```
pub trait Loss: fmt::Debug + Send + Sync {
    /// What the error is called.
    fn measure(&self) -> Measure;

    /// The loss of one entry, x in the data and z in the network.
    fn value(&self, x: f64, z: f64) -> f64;

    /// Its derivative with respect to z.
    fn derivative(&self, x: f64, z: f64) -> f64;

    /// Its second derivative with respect to z: by default a difference of the first. The first step of a descent is as
    /// long as it says.
    fn second_derivative(&self, x: f64, z: f64) -> f64 {
        let h = 1e-5 * (1.0 + z.abs());
        match self.model() {
            ModelDomain::NonNegative if z < h => {
                (self.derivative(x, z + h) - self.derivative(x, z)) / h
            }
            _ => (self.derivative(x, z + h) - self.derivative(x, z - h)) / (2.0 * h),
        }
    }

    /// What the sum over all entries is divided by: by default that of the zero network, whose error is then 1.
    fn baseline(&self, x: &[f64]) -> f64 {
        x.iter().map(|&x| self.value(x, 0.0)).sum()
    }

    /// Why an entry cannot be in the data, if it cannot.
    fn refuses(&self, _x: f64) -> Option<&str> {
        None
    }

    /// Which networks it is defined for.
    fn model(&self) -> ModelDomain {
        ModelDomain::Real
    }

    /// How it is asked for by name, with its number ([`LossSpec`](super::LossSpec)), so that another process can make it;
    /// the default has no name.
    fn spec(&self) -> Option<String> {
        None
    }

    /// Whether it is `c (z - x log z)` and a number that depends on x alone: then multiplicative updates lower it.
    fn is_divergence(&self) -> bool {
        false
    }

    /// Whether the error is `||X - Z||^2 / ||X||^2`: then least squares fit it, and cuts bound it from below. Other
    /// losses are fitted along their derivative, and nothing is pruned or proven.
    fn is_squared_error(&self) -> bool {
        false
    }
}

impl<L: Loss + ?Sized> Loss for Arc<L> {
    fn measure(&self) -> Measure {
        (**self).measure()
    }

    fn value(&self, x: f64, z: f64) -> f64 {
        (**self).value(x, z)
    }

    fn derivative(&self, x: f64, z: f64) -> f64 {
        (**self).derivative(x, z)
    }

    fn second_derivative(&self, x: f64, z: f64) -> f64 {
        (**self).second_derivative(x, z)
    }

    fn baseline(&self, x: &[f64]) -> f64 {
        (**self).baseline(x)
    }

    fn refuses(&self, x: f64) -> Option<&str> {
        (**self).refuses(x)
    }

    fn model(&self) -> ModelDomain {
        (**self).model()
    }

    fn spec(&self) -> Option<String> {
        (**self).spec()
    }

    fn is_divergence(&self) -> bool {
        (**self).is_divergence()
    }

    fn is_squared_error(&self) -> bool {
        (**self).is_squared_error()
    }
}
