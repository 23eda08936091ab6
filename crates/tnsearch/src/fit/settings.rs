//! The settings of a fit, checked once.

use crate::SettingError;
use crate::error::{count, positive};
use crate::problem;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fmt;
use std::ops::Deref;
use std::str::FromStr;

/// How the cores are improved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Method {
    /// Alternating least squares.
    Als,
    /// Adam, the paper's evaluator.
    Adam,
    /// Levenberg-Marquardt.
    Lm,
}

impl Method {
    /// All methods.
    pub const ALL: [Method; 3] = [Method::Als, Method::Adam, Method::Lm];

    /// The method's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Method::Als => "als",
            Method::Adam => "adam",
            Method::Lm => "lm",
        }
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Method {
    type Err = SettingError;

    fn from_str(s: &str) -> Result<Self, SettingError> {
        Method::ALL
            .into_iter()
            .find(|m| m.name() == s)
            .ok_or_else(|| SettingError::new("method", format!("'{s}'"), "use als, adam or lm"))
    }
}

/// The settings of a fit. [`FitSettings::check`] turns them into the valid form that [`super::fit`]
/// takes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FitSettings {
    /// How the cores are improved.
    pub method: Method,
    /// Independent starts; the best counts.
    pub restarts: usize,
    /// Short starts (10 sweeps or iterations, beside those of `max_sweeps`) for each start, of which the best goes
    /// on; 1: none are made. They find the way round local minima for less than whole starts cost. Not for Adam.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub scouts: usize,
    /// Sweeps (ALS), steps (Adam) or iterations (LM) of one start at most.
    pub max_sweeps: usize,
    /// A start ends when its RSE improves by less than this fraction over a window of sweeps (0: never).
    pub tolerance: f64,
    /// A fit ends as soon as a start has reached this RSE.
    pub stop_rse: f64,
    /// No further start is made once one has reached this RSE (it is still improved itself): the error a
    /// search asks for.
    pub enough_rse: f64,
    /// Levenberg-Marquardt starts made where no ALS start was good enough and the parameters are few: they
    /// often cross the swamps that stop ALS, at ten times the cost.
    pub rescue: usize,
    /// Wall-clock limit of one fit in seconds. The only setting that makes results depend on the machine.
    pub max_seconds: Option<f64>,
    /// In a search: where a strategy says which structure others were drawn around (`tnls`), their fits begin at its
    /// cores, carried over, make that one start, and are given up where they do not come near its loss.
    #[serde(default, skip_serializing_if = "is_false")]
    pub carry: bool,
    /// An ALS start is given up where it is unlikely to come below this RSE; none: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub give_up: Option<f64>,
    /// Adam's learning rate.
    pub learning_rate: f64,
    /// Standard deviation of the initial cores (Adam, LM; ALS does not depend on the scale).
    pub sigma: f64,
    /// Where entries are missing: how strongly each slice of a core is pulled to the mean of its slices, relative to the
    /// mean diagonal entry of their least-squares problems (ALS). It decides what slices with few entries are.
    #[serde(default = "ridge", skip_serializing_if = "is_ridge")]
    pub ridge: f64,
    /// Refuse a fit that would take more memory than this many bytes.
    pub max_bytes: Option<u64>,
}

impl Default for FitSettings {
    fn default() -> Self {
        FitSettings::of(Method::Als)
    }
}

impl FitSettings {
    /// The defaults of a method; Adam's are the paper's.
    pub fn of(method: Method) -> Self {
        let max_sweeps = match method {
            Method::Als => 200,
            Method::Adam => 20_000,
            Method::Lm => 100,
        };
        FitSettings {
            method,
            restarts: 4,
            scouts: 1,
            max_sweeps,
            tolerance: if method == Method::Adam { 0.0 } else { 1e-2 },
            stop_rse: 1e-12,
            enough_rse: 1e-12,
            rescue: 0,
            max_seconds: None,
            carry: false,
            give_up: None,
            learning_rate: 1e-3,
            sigma: 0.1,
            ridge: RIDGE,
            max_bytes: None,
        }
    }

    /// The RSE at which a start ends: an error that is asked for below [`FitSettings::stop_rse`] counts, but for 0, which
    /// only says that all starts are to be made. Sweeps of 32-bit numbers ([`CheckedFit::for_target`]) go no further.
    pub(crate) fn ends_at(&self) -> f64 {
        let further = self.enough_rse > 0.0 && self.stop_rse < ROUNDING_32;
        if further { self.stop_rse.min(self.enough_rse) } else { self.stop_rse }
    }

    /// Whether nothing better is looked for.
    pub(crate) fn is_enough(&self, rse: f64) -> bool {
        let asked = self.enough_rse > 0.0 && self.stop_rse <= ROUNDING_32;
        rse <= if asked { self.enough_rse } else { self.stop_rse.max(self.enough_rse) }
    }

    /// Checks every setting.
    pub fn check(self) -> Result<CheckedFit, SettingError> {
        for (name, starts) in [("restarts", self.restarts), ("scouts", self.scouts)] {
            count(name, starts)?;
            if starts > MOST_STARTS {
                let expected = format!("it must be at most {MOST_STARTS}");
                return Err(SettingError::new(name, starts, expected));
            }
        }
        if self.scouts > 1 && self.method == Method::Adam {
            return Err(SettingError::new("scouts", self.scouts, "adam takes 1 only"));
        }
        count("max-sweeps", self.max_sweeps)?;
        if !(0.0..1.0).contains(&self.tolerance) {
            return Err(SettingError::new(
                "tolerance",
                self.tolerance,
                "it must be at least 0 and below 1",
            ));
        }
        for (name, rse) in [("stop-rse", self.stop_rse), ("enough-rse", self.enough_rse)] {
            if !(0.0..1.0).contains(&rse) {
                return Err(SettingError::new(name, rse, "it must be at least 0 and below 1"));
            }
        }
        positive("learning-rate", self.learning_rate)?;
        positive("sigma", self.sigma)?;
        if !(self.ridge >= 0.0 && self.ridge.is_finite()) {
            let expected = "it must be a number from 0 on";
            return Err(SettingError::new("ridge", self.ridge, expected));
        }
        if let Some(s) = self.max_seconds {
            positive("max-seconds", s)?;
        }
        Ok(CheckedFit(self))
    }
}

/// The most starts of a fit: their results are kept side by side.
const MOST_STARTS: usize = 1_000_000;

/// The default of [`FitSettings::ridge`] (measured: `docs/completion.md`).
const RIDGE: f64 = 1e-6;

fn ridge() -> f64 {
    RIDGE
}

/// Left out then, so that files from before there were holes have the same settings.
fn is_ridge(ridge: &f64) -> bool {
    *ridge == RIDGE
}

fn one() -> usize {
    1
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// Left out then, so that files from before there were scouts have the same settings.
fn is_one(scouts: &usize) -> bool {
    *scouts == 1
}

/// Settings that were checked; reads like [`FitSettings`].
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "FitSettings")]
pub struct CheckedFit(FitSettings);

impl TryFrom<FitSettings> for CheckedFit {
    type Error = SettingError;

    fn try_from(settings: FitSettings) -> Result<Self, SettingError> {
        settings.check()
    }
}

/// An RSE below this is what rounding leaves where numbers have 32 bits (measured: `docs/fitting.md`).
const ROUNDING_32: f64 = 1e-9;

/// A start on a shrunk tensor ends where its own part of the error is this small beside what shrinking lost.
const BESIDE_LOST: f64 = 0.01;

impl CheckedFit {
    /// The settings for a tensor: a start of 32-bit numbers has done all it can at an RSE of 1e-9, one on a tensor that
    /// was shrunk near what that lost.
    pub fn for_target(&self, target: &problem::Target) -> Cow<'_, CheckedFit> {
        let narrow = target.kind().epsilon() > f64::EPSILON;
        let rounding = if narrow { ROUNDING_32 } else { 0.0 };
        let stop_rse = self.stop_rse.max(rounding).max((1.0 + BESIDE_LOST) * target.lost());
        match stop_rse == self.stop_rse {
            true => Cow::Borrowed(self),
            false => Cow::Owned(CheckedFit(FitSettings { stop_rse, ..self.0.clone() })),
        }
    }
}

impl Deref for CheckedFit {
    type Target = FitSettings;

    fn deref(&self) -> &FitSettings {
        &self.0
    }
}
