//! What all settings have in common: they may grow, so outside this crate they are made by changing others.

use crate::bound::{BoundLimits, SpectraSettings};
use crate::certify::CertifySettings;
use crate::complete::CompleteSettings;
use crate::decompose::{BayesSettings, Limits};
use crate::fit::FitSettings;
use crate::problem::ShrinkLimits;
use crate::search::{
    AnnealingSettings, Budget, ExactSettings, GreedySettings, RandomSettings, SearchSettings,
    TnaleSettings, TngaSettings, TnlsSettings, TreesSettings,
};

macro_rules! changeable {
    ($($(#[$more:meta])* $settings:ty),+ $(,)?) => {$(
        impl $settings {
            /// The same with something changed.
            $(#[$more])*
            #[must_use]
            pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
                change(&mut self);
                self
            }
        }
    )+};
}

changeable! {
    ///
    /// ```
    /// use tnsearch::fit::{FitSettings, Method};
    /// let twice = FitSettings::default().with(|s| s.restarts = 2);
    /// assert_eq!((twice.method, twice.restarts), (Method::Als, 2));
    /// ```
    FitSettings,
    SearchSettings,
    Budget,
    TnlsSettings,
    TnaleSettings,
    TngaSettings,
    AnnealingSettings,
    RandomSettings,
    ExactSettings,
    TreesSettings,
    GreedySettings,
    BayesSettings,
    Limits,
    SpectraSettings,
    BoundLimits,
    CertifySettings,
    CompleteSettings,
    ShrinkLimits,
}
