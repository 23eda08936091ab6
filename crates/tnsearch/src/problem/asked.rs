//! The objective in the words of users: what the command line and Python take, and what follows where nothing is said.

use super::{CheckedObjective, LossSpec, Objective};
use crate::SettingError;
use serde::{Deserialize, Serialize};

/// The largest RSE where nothing is said: a relative error of one percent.
const MAX_RSE: f64 = 1e-4;
/// The largest error by another loss than the squared error where nothing is said.
const MAX_LOSS: f64 = 0.01;

/// What is looked for; of the numbers at most one is given.
///
/// ```
/// use tnsearch::problem::{AskedObjective, Objective};
/// let mut asked = AskedObjective::default();
/// assert_eq!(asked.check().unwrap().get(), Objective::MaxError(1e-4));
/// asked.max_re = Some(0.5);
/// assert_eq!(asked.check().unwrap().get(), Objective::MaxError(0.25));
/// asked.max_params = Some(100);
/// assert!(asked.check().is_err());
/// ```
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AskedObjective {
    /// How far a network is from the data.
    pub loss: LossSpec,
    /// Fewest params with an error by another loss of at most this.
    pub max_loss: Option<f64>,
    /// Minimise phi + lambda * error, the paper's loss.
    pub lambda: Option<f64>,
    /// Fewest params with a relative error of at most this.
    pub max_re: Option<f64>,
    /// The same by its square.
    pub max_rse: Option<f64>,
    /// Smallest error with at most this many params.
    pub max_params: Option<u128>,
}

impl AskedObjective {
    /// The same for errors by a function of the user's own; none of the squared error.
    pub fn of_own_loss(mut self) -> Result<Self, SettingError> {
        for (name, value) in [("max-re", self.max_re), ("max-rse", self.max_rse)] {
            if let Some(value) = value {
                let expected =
                    "it is of the squared error; with a function of your own use max-loss";
                return Err(SettingError::new(name, value, expected));
            }
        }
        if self.lambda.is_none() && self.max_params.is_none() {
            self.max_loss = self.max_loss.or(Some(MAX_LOSS));
        }
        Ok(self)
    }

    /// The objective, checked.
    pub fn check(&self) -> Result<CheckedObjective, SettingError> {
        let AskedObjective { loss, max_loss, lambda, max_re, max_rse, max_params } = self;
        let given = [
            ("max-loss", *max_loss),
            ("lambda", *lambda),
            ("max-re", *max_re),
            ("max-rse", *max_rse),
            ("max-params", max_params.map(|p| p as f64)),
        ];
        let mut given = given.into_iter().filter_map(|(name, value)| Some((name, value?)));
        if let (Some((first, _)), Some((second, value))) = (given.next(), given.next()) {
            let expected = format!("only one of it and {first} can be asked for");
            return Err(SettingError::new(second, value, expected));
        }
        let by_root = max_re.map(|re| ("max-re", re));
        let by_square = by_root.or(max_rse.map(|rse| ("max-rse", rse)));
        if let Some((name, value)) = by_square.filter(|_| !loss.is_default()) {
            let expected = format!("it is of the squared error; with --loss {loss} use --max-loss");
            return Err(SettingError::new(name, value, expected));
        }
        if let Some(most) = max_loss.filter(|most| !(*most > 0.0 && *most < 1.0)) {
            let expected = "it must be above 0 and below 1 (a network that knows nothing has 1)";
            return Err(SettingError::new("max-loss", most, expected));
        }
        let eps = squared_error(*max_re, *max_rse)?.or(*max_loss);
        let default = if loss.is_default() { MAX_RSE } else { MAX_LOSS };
        let objective = match (*lambda, *max_params) {
            (Some(l), _) => Objective::Lambda(l),
            (_, Some(p)) => Objective::MaxParams(p),
            _ => Objective::MaxError(eps.unwrap_or(default)),
        };
        objective.check()
    }
}

/// An error that was given as it is or squared, squared.
pub fn squared_error(re: Option<f64>, rse: Option<f64>) -> Result<Option<f64>, SettingError> {
    let Some(re) = re else { return Ok(rse) };
    if !(re < 1.0 && re > 0.0 && re * re > 0.0) {
        let expected = "it must be above 0 and below 1 (the zero network has an RE of 1)";
        return Err(SettingError::new("max-re", re, expected));
    }
    Ok(Some(re * re))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_are_squared_once() {
        assert_eq!(squared_error(Some(0.5), None), Ok(Some(0.25)));
        assert_eq!(squared_error(None, Some(0.5)), Ok(Some(0.5)));
        assert_eq!(squared_error(None, None), Ok(None));
        for bad in [0.0, -0.1, 1.0, 1e-200, f64::NAN, f64::INFINITY] {
            assert_eq!(squared_error(Some(bad), None).unwrap_err().name, "max-re", "{bad}");
        }
    }

    #[test]
    fn a_loss_of_ones_own_has_its_default_and_no_squared_errors() {
        let own = |change: fn(&mut AskedObjective)| {
            let mut asked = AskedObjective::default();
            change(&mut asked);
            let own = asked.of_own_loss().and_then(|own| own.check());
            own.map(CheckedObjective::get).map_err(|e| e.to_string())
        };
        assert_eq!(own(|_| {}), Ok(Objective::MaxError(MAX_LOSS)));
        assert_eq!(own(|a| a.max_loss = Some(0.2)), Ok(Objective::MaxError(0.2)));
        assert_eq!(own(|a| a.lambda = Some(2.0)), Ok(Objective::Lambda(2.0)));
        assert!(own(|a| a.max_re = Some(0.1)).unwrap_err().contains("use max-loss"));
    }

    #[test]
    fn one_number_is_asked_for_and_it_goes_with_the_loss() {
        let of = |change: fn(&mut AskedObjective)| {
            let mut asked = AskedObjective::default();
            change(&mut asked);
            asked.check().map(CheckedObjective::get).map_err(|e| e.to_string())
        };
        assert_eq!(of(|a| a.lambda = Some(2.0)), Ok(Objective::Lambda(2.0)));
        assert_eq!(of(|a| a.max_params = Some(9)), Ok(Objective::MaxParams(9)));
        assert_eq!(of(|a| a.loss = "kl".parse().unwrap()), Ok(Objective::MaxError(0.01)));
        let two = of(|a| (a.max_re, a.lambda) = (Some(0.1), Some(2.0))).unwrap_err();
        assert_eq!(two, "max-re is 0.1; only one of it and lambda can be asked for");
        let kl = of(|a| (a.loss, a.max_re) = ("kl".parse().unwrap(), Some(0.1))).unwrap_err();
        assert!(kl.contains("use --max-loss"), "{kl}");
        assert!(of(|a| a.max_loss = Some(1.0)).unwrap_err().starts_with("max-loss is 1"));
    }
}
