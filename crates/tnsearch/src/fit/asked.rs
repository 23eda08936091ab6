//! The settings of a fit in the words of users: what is not given is the method's default.

use super::{FitSettings, Method};
use serde::{Deserialize, Serialize};

/// Changes to the defaults of a method.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AskedFit {
    /// How cores are fitted; none: ALS.
    pub method: Option<Method>,
    /// [`FitSettings::restarts`].
    pub restarts: Option<usize>,
    /// [`FitSettings::scouts`].
    pub scouts: Option<usize>,
    /// [`FitSettings::max_sweeps`].
    pub max_sweeps: Option<usize>,
    /// [`FitSettings::tolerance`].
    pub tolerance: Option<f64>,
    /// [`FitSettings::stop_rse`].
    pub stop_rse: Option<f64>,
    /// [`FitSettings::carry`].
    pub carry: bool,
    /// [`FitSettings::learning_rate`].
    pub learning_rate: Option<f64>,
    /// [`FitSettings::sigma`].
    pub sigma: Option<f64>,
    /// [`FitSettings::rescue`]; its default differs between fits and searches.
    pub rescue: Option<usize>,
}

impl AskedFit {
    /// All settings but `rescue`, within these limits.
    pub fn settings(&self, max_seconds: Option<f64>, max_bytes: u64) -> FitSettings {
        FitSettings::of(self.method.unwrap_or(Method::Als)).with(|s| {
            s.restarts = self.restarts.unwrap_or(s.restarts);
            s.scouts = self.scouts.unwrap_or(s.scouts);
            s.max_sweeps = self.max_sweeps.unwrap_or(s.max_sweeps);
            s.tolerance = self.tolerance.unwrap_or(s.tolerance);
            s.stop_rse = self.stop_rse.unwrap_or(s.stop_rse);
            s.carry = self.carry;
            s.learning_rate = self.learning_rate.unwrap_or(s.learning_rate);
            s.sigma = self.sigma.unwrap_or(s.sigma);
            s.max_seconds = max_seconds;
            s.max_bytes = Some(max_bytes);
        })
    }
}
