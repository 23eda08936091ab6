//! A picture as a tensor with or without holes, and what a network makes of it.

use super::super::ReproduceError;
use super::Shot;
use tnsearch::fit::FitError;
use tnsearch::problem::{Mask, Target};
use tnsearch::tensor::{AnyTensor, Kind, Reshape, Tensor};
use tnsearch_app::tensorise::to_picture;
use tnsearch_io::Picture;

/// A picture that was made a tensor.
#[derive(Debug)]
pub(crate) struct Scene {
    /// The picture as it was.
    pub picture: Picture,
    reshape: Reshape,
    /// Its tensor, nothing removed.
    truth: Tensor,
    /// What was left of it.
    known: Option<Mask>,
}

impl Scene {
    /// Makes a picture a tensor; what is removed is a function of the seed.
    pub fn new(shot: &Shot, seed: u64) -> Result<(Scene, Target), ReproduceError> {
        let made = shot.tensorise().apply(shot.picture()?)?;
        let tensor = made.reshape.apply(made.picture.clone().into_tensor().into());
        let truth = tensor.clone().into_f64().unwrap_or_else(|_| unreachable!("pictures are f64"));
        // Pictures have few digits: narrow numbers are enough, and twice as fast.
        let tensor = tensor.to_kind(Kind::F32).map_err(FitError::from)?;
        let (known, target) = match shot.variant.missing() {
            None => (None, Target::new(tensor).map_err(FitError::from)?),
            Some(share) => {
                let (known, _) = Mask::all(truth.dims())?.without(share, seed)?;
                let target = Target::with_holes(tensor, &known)?;
                (Some(known), target)
            }
        };
        Ok((Scene { picture: made.picture, reshape: made.reshape, truth, known }, target))
    }

    /// `||P(X)||^2` of what is left; none where nothing is missing.
    pub fn weight(&self) -> Option<f64> {
        let known = self.known.as_ref()?;
        Some(known.positions().map(|k| self.truth.data()[k].powi(2)).sum())
    }

    /// The relative error on the entries that were removed, where any were.
    pub fn missing_re(&self, z: &AnyTensor) -> Option<f64> {
        let known = self.known.as_ref()?;
        let (mut lost, mut all) = (0.0, 0.0);
        for (k, x) in self.truth.data().iter().enumerate().filter(|(k, _)| !known.contains(*k)) {
            lost += (x - z.entry(k).re).powi(2);
            all += x * x;
        }
        Some((lost / all).sqrt())
    }

    /// The picture that a network's tensor stands for, with what is known of it in its place.
    pub fn seen(&self, z: &AnyTensor) -> Option<Picture> {
        let known = |k: usize| self.known.as_ref().is_some_and(|known| known.contains(k));
        let entry = |(k, x): (usize, &f64)| if known(k) { *x } else { z.entry(k).re };
        self.shown(self.truth.data().iter().enumerate().map(entry).collect())
    }

    /// The picture with what was removed in black; none where nothing was.
    pub fn with_holes(&self) -> Option<Picture> {
        let known = self.known.as_ref()?;
        let entry = |(k, x): (usize, &f64)| if known.contains(k) { *x } else { 0.0 };
        self.shown(self.truth.data().iter().enumerate().map(entry).collect())
    }

    fn shown(&self, data: Vec<f64>) -> Option<Picture> {
        let tensor = Tensor::new(self.truth.dims().to_vec(), data).ok()?;
        to_picture(tensor.into(), &self.reshape).ok()
    }
}
