//! How far a network is from the data, and what that number is called.

use std::fmt;

/// A loss per entry, summed over the data and divided by that of a network without information.
///
/// The *error* of a network is one number, `sum of value(x, z) / baseline`, and smaller is better. Objectives,
/// bounds, journals, reports and commands know nothing else about it and ask here for its name and meaning, so
/// that another loss is one more type and no change anywhere else.
///
/// ```
/// use tnsearch::problem::Loss;
/// /// Outliers count by their distance only.
/// #[derive(Debug)]
/// struct Absolute;
/// impl Loss for Absolute {
///     fn id(&self) -> &str {
///         "rae"
///     }
///     fn name(&self) -> &str {
///         "RAE"
///     }
///     fn meaning(&self) -> &str {
///         "relative absolute error, sum |x - z| / sum |x|"
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
    /// The key in files and options: `rse` makes `--max-rse` and the field `rse`.
    fn id(&self) -> &str;

    /// The name for people, such as `RSE`.
    fn name(&self) -> &str;

    /// What the number is, in a few words.
    fn meaning(&self) -> &str;

    /// The key and the name of its square root, where people use that as well.
    fn root(&self) -> Option<(&str, &str)> {
        None
    }

    /// The loss of one entry, x in the data and z in the network.
    fn value(&self, x: f64, z: f64) -> f64;

    /// Its derivative with respect to z.
    fn derivative(&self, x: f64, z: f64) -> f64;

    /// What the sum over all entries is divided by: by default that of the zero network, whose error is then 1.
    fn baseline(&self, x: &[f64]) -> f64 {
        x.iter().map(|&x| self.value(x, 0.0)).sum()
    }

    /// Why an entry cannot be in the data, if it cannot.
    fn refuses(&self, _x: f64) -> Option<&str> {
        None
    }

    /// Whether the error is `||X - Z||^2 / ||X||^2`: then least squares fit it, and cuts bound it from below. Other
    /// losses are fitted along their derivative, and nothing is pruned or proven.
    fn is_squared_error(&self) -> bool {
        false
    }
}

/// `||X - Z||_F^2 / ||X||_F^2`: what the paper's program minimises. The paper's image tables print its square root.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SquaredError;

impl Loss for SquaredError {
    fn id(&self) -> &str {
        "rse"
    }

    fn name(&self) -> &str {
        "RSE"
    }

    fn meaning(&self) -> &str {
        "squared relative error ||X - Z||^2 / ||X||^2"
    }

    fn root(&self) -> Option<(&str, &str)> {
        Some(("re", "RE"))
    }

    fn value(&self, x: f64, z: f64) -> f64 {
        (x - z) * (x - z)
    }

    fn derivative(&self, x: f64, z: f64) -> f64 {
        2.0 * (z - x)
    }

    fn is_squared_error(&self) -> bool {
        true
    }
}
