//! Random tensors with a known structure (the paper, section 5.1 and its appendix).

use rand::RngExt as _;
use rand_distr::StandardNormal;
use std::sync::Arc;
use thiserror::Error;
use tnsearch::graph::{GraphError, Structure, Template};
use tnsearch::network::{Network, NetworkError};
use tnsearch::rng::{Rng, stream};
use tnsearch::tensor::{Tensor, size};

/// The most entries a generated tensor, or a step on the way to it, may have (1 GiB).
const MAX_ENTRIES: u128 = 1 << 27;
/// The most memory that contracting one may take.
const MAX_BYTES: u64 = 4 << 30;

/// Why a tensor could not be generated.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum SyntheticError {
    /// Template and dimensions do not go together.
    #[error(transparent)]
    Network(#[from] NetworkError),
    /// The range of ranks is empty or starts at 0.
    #[error(
        "ranks from {0} to {1}; the range must start at 1 or more and not end before it starts"
    )]
    RankRange(usize, usize),
    /// The standard deviation is not a positive number.
    #[error("sigma is {0}; it must be a positive number")]
    Sigma(f64),
    /// The noise level is not a number.
    #[error("the noise is at {0} dB; it must be a finite number")]
    Noise(f64),
    /// The tensor or a core is too large.
    #[error("{what} has {entries} entries; at most {MAX_ENTRIES} are made")]
    Size {
        /// What is too large.
        what: &'static str,
        /// Its number of entries.
        entries: u128,
    },
}

impl From<GraphError> for SyntheticError {
    fn from(error: GraphError) -> Self {
        SyntheticError::Network(error.into())
    }
}

/// A recipe for random tensors of a format: ranks uniform in a range, cores i.i.d. N(0, sigma^2), and
/// a uniformly random permutation that a search does not know (or one of your own).
///
/// The paper's trains and rings are dimension 3, ranks 1 to 4, cores N(0, 1); its other formats have N(0, 0.1).
/// Whether 0.1 is the variance or the deviation it does not say, and it makes no difference to any relative error.
///
/// ```
/// use std::sync::Arc;
/// use tnsearch::graph::Template;
/// use tnsearch_app::Synthetic;
/// let ring = Arc::new(Template::ring(6).unwrap());
/// let made = Synthetic::new(ring, vec![3; 6], (1, 4)).generate(7).unwrap();
/// assert_eq!(made.tensor.dims(), [3; 6]);
/// assert!(made.structure().ranks().iter().all(|r| (1..=4).contains(r)));
/// ```
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Synthetic {
    /// The format.
    pub template: Arc<Template>,
    /// The dimension of each mode.
    pub dims: Vec<usize>,
    /// The smallest and the largest rank.
    pub rank_range: (usize, usize),
    /// The vertex of mode 0, of mode 1, ...; none for a random permutation.
    pub permutation: Option<Vec<usize>>,
    /// The standard deviation of the cores' entries.
    pub sigma: f64,
    /// Signal-to-noise ratio in dB of Gaussian noise added to the tensor, `10 log10(||Z||^2 /
    /// E||noise||^2)`; none for no noise.
    pub noise_db: Option<f64>,
}

/// A generated tensor and what it was generated from.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Generated {
    /// The tensor, noise included.
    pub tensor: Tensor,
    /// The hidden structure with the cores, without noise.
    pub network: Network,
}

impl Generated {
    /// The hidden structure.
    pub fn structure(&self) -> &Structure {
        self.network.structure()
    }
}

impl Synthetic {
    /// A recipe with a random permutation, sigma 1 and no noise.
    pub fn new(template: Arc<Template>, dims: Vec<usize>, rank_range: (usize, usize)) -> Self {
        Synthetic { template, dims, rank_range, permutation: None, sigma: 1.0, noise_db: None }
    }

    /// The same with something changed.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use tnsearch::graph::Template;
    /// # use tnsearch_app::Synthetic;
    /// let ring = Arc::new(Template::ring(4).unwrap());
    /// let noisy = Synthetic::new(ring, vec![3; 4], (1, 4)).with(|s| s.noise_db = Some(20.0));
    /// assert_eq!((noisy.sigma, noisy.noise_db), (1.0, Some(20.0)));
    /// ```
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// The tensor of a seed. The ranks, the permutation, the cores and the noise each have a random
    /// stream of their own: with another sigma or noise level the structure stays the same.
    pub fn generate(&self, seed: u64) -> Result<Generated, SyntheticError> {
        let (lo, hi) = self.rank_range;
        if lo == 0 || hi < lo {
            return Err(SyntheticError::RankRange(lo, hi));
        }
        if !(self.sigma > 0.0 && self.sigma.is_finite()) {
            return Err(SyntheticError::Sigma(self.sigma));
        }
        if let Some(db) = self.noise_db.filter(|db| !db.is_finite()) {
            return Err(SyntheticError::Noise(db));
        }
        self.template.check_order(self.dims.len())?;
        refuse_large("the tensor", size(&self.dims))?;

        let mut rng = stream(seed, b"synthetic ranks");
        let mut ranks: Vec<usize> =
            self.template.edges().iter().map(|_| rng.random_range(lo..=hi)).collect();
        // A hyperedge has one rank, and its hub nothing that could be drawn.
        let hub = self.template.copy_vertex();
        if hub.is_some() {
            ranks = vec![ranks[0]; ranks.len()];
        }
        let permutation = match &self.permutation {
            Some(permutation) => permutation.clone(),
            None => shuffled(&self.template, seed),
        };
        let structure = Structure::new(self.template.clone(), permutation, ranks)?;

        let mut rng = stream(seed, b"synthetic cores");
        let mut cores = Vec::with_capacity(self.template.vertices());
        for v in 0..self.template.vertices() {
            let dims = structure.core_dims(v, &self.dims);
            refuse_large("a core", size(&dims))?;
            let mut core = Tensor::zeros(dims);
            core.data_mut().iter_mut().for_each(|x| *x = self.sigma * normal(&mut rng));
            if hub == Some(v) {
                core.data_mut().fill(1.0);
            }
            cores.push(core);
        }
        let network = Network::new(structure, self.dims.clone(), cores)?;
        let tensor = network.to_tensor(Some(MAX_BYTES))?.into_f64();
        let mut tensor = tensor.unwrap_or_else(|_| unreachable!("the cores are of 64-bit numbers"));
        if let Some(db) = self.noise_db {
            let power = tensor.norm_squared() / tensor.len() as f64;
            let sigma = (power * 10f64.powf(-db / 10.0)).sqrt();
            let mut rng = stream(seed, b"synthetic noise");
            tensor.data_mut().iter_mut().for_each(|x| *x += sigma * normal(&mut rng));
        }
        Ok(Generated { tensor, network })
    }
}

/// A uniformly random permutation.
fn shuffled(template: &Template, seed: u64) -> Vec<usize> {
    shuffle(template.external_vertices(), &mut stream(seed, b"synthetic permutation"))
}

/// The same things in a uniformly random order.
pub(crate) fn shuffle(mut items: Vec<usize>, rng: &mut Rng) -> Vec<usize> {
    for k in (1..items.len()).rev() {
        items.swap(k, rng.random_range(0..=k));
    }
    items
}

fn normal(rng: &mut Rng) -> f64 {
    rng.sample(StandardNormal)
}

pub(crate) fn refuse_large(what: &'static str, entries: u128) -> Result<(), SyntheticError> {
    if entries > MAX_ENTRIES {
        return Err(SyntheticError::Size { what, entries });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tnsearch::graph::Family;

    fn ring(order: usize) -> Synthetic {
        Synthetic::new(Arc::new(Template::ring(order).unwrap()), vec![3; order], (1, 4))
    }

    #[test]
    fn a_seed_gives_one_tensor() {
        let recipe = ring(6);
        assert_eq!(recipe.generate(5).unwrap(), recipe.generate(5).unwrap());
        assert_ne!(recipe.generate(5).unwrap().tensor, recipe.generate(6).unwrap().tensor);
        let louder = Synthetic { sigma: 2.0, ..recipe.clone() }.generate(5).unwrap();
        let plain = recipe.generate(5).unwrap();
        assert_eq!(louder.structure(), plain.structure());
        // Six cores, each twice as large.
        let ratio = louder.tensor.norm_squared() / plain.tensor.norm_squared();
        assert!((ratio / 4096.0 - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_modes_can_be_placed_and_nothing_else_changes() {
        let (free, places) = (ring(4), vec![2, 0, 3, 1]);
        let fixed = Synthetic { permutation: Some(places.clone()), ..free.clone() };
        let (free, fixed) = (free.generate(5).unwrap(), fixed.generate(5).unwrap());
        assert_eq!(fixed.structure().permutation(), places);
        assert_eq!(fixed.structure().ranks(), free.structure().ranks());
        assert_eq!(fixed.network.cores(), free.network.cores());
        let bad = Synthetic { permutation: Some(vec![0, 1, 2, 2]), ..ring(4) };
        assert!(bad.generate(5).unwrap_err().to_string().contains("bad permutation"));
    }

    #[test]
    fn every_template_is_generated() {
        for name in Family::all(6) {
            let template = Arc::new(name.build(6).unwrap());
            let recipe = Synthetic { sigma: 0.1, ..Synthetic::new(template, vec![3; 6], (1, 3)) };
            let made = recipe.generate(2).unwrap();
            assert_eq!(made.tensor.dims(), [3; 6], "{name}");
            assert!(made.tensor.check().is_ok(), "{name}");
        }
    }

    #[test]
    fn ranks_and_permutations_are_uniform() {
        let (mut rank_count, mut place_count) = ([0; 4], [[0; 4]; 4]);
        for seed in 0..2000 {
            let made = Synthetic { dims: vec![1; 4], ..ring(4) }.generate(seed).unwrap();
            made.structure().ranks().iter().for_each(|&r| rank_count[r - 1] += 1);
            let permutation = made.structure().permutation().iter().enumerate();
            permutation.for_each(|(n, &v)| place_count[n][v] += 1);
        }
        // Expected 2000 (of 8000) and 500 (of 2000); five standard deviations are 194 and 97.
        assert!(rank_count.iter().all(|c| (1806..=2194).contains(c)), "{rank_count:?}");
        let places = place_count.as_flattened();
        assert!(places.iter().all(|c| (403..=597).contains(c)), "{place_count:?}");
    }

    #[test]
    fn cores_are_normal_and_noise_is_at_its_level() {
        let complete = Arc::new(Template::complete(4).unwrap());
        let mut recipe = Synthetic::new(complete, vec![20; 4], (4, 4));
        recipe.sigma = 0.5;
        let made = recipe.generate(1).unwrap();
        let entries: Vec<f64> =
            made.network.cores().iter().flat_map(|c| c.as_f64().unwrap().data().to_vec()).collect();
        let n = entries.len() as f64;
        assert_eq!(n, 4.0 * 64.0 * 20.0);
        let mean = entries.iter().sum::<f64>() / n;
        let variance = entries.iter().map(|x| x * x).sum::<f64>() / n;
        assert!(mean.abs() < 5.0 * 0.5 / n.sqrt(), "{mean}");
        assert!((variance / 0.25 - 1.0).abs() < 5.0 * (2.0 / n).sqrt(), "{variance}");

        recipe.noise_db = Some(20.0);
        let noisy = recipe.generate(1).unwrap();
        assert_eq!(noisy.network, made.network);
        let pairs = noisy.tensor.data().iter().zip(made.tensor.data());
        let noise: f64 = pairs.map(|(a, b)| (a - b).powi(2)).sum();
        let db = 10.0 * (made.tensor.norm_squared() / noise).log10();
        assert!((db - 20.0).abs() < 0.1, "{db}");
    }

    #[test]
    fn bad_recipes_are_refused() {
        let refusal = |recipe: Synthetic| recipe.generate(0).unwrap_err().to_string();
        let with = |change: fn(&mut Synthetic)| {
            let mut recipe = ring(4);
            change(&mut recipe);
            refusal(recipe)
        };
        assert!(with(|r| r.rank_range = (0, 4)).contains("ranks from 0 to 4"));
        assert!(with(|r| r.rank_range = (3, 2)).contains("ranks from 3 to 2"));
        assert!(with(|r| r.sigma = 0.0).contains("sigma is 0"));
        assert!(with(|r| r.sigma = f64::NAN).contains("sigma is NaN"));
        assert!(with(|r| r.noise_db = Some(f64::INFINITY)).contains("inf dB"));
        assert!(with(|r| r.dims = vec![3; 5]).contains("the tensor has 5 modes"));
        assert!(with(|r| r.dims = vec![3, 0, 3, 3]).contains("dimension 0"));
        assert!(with(|r| r.dims = vec![usize::MAX; 4]).contains("the tensor has"));
        assert!(with(|r| r.rank_range = (1 << 40, 1 << 40)).contains("a core has"));
    }
}
