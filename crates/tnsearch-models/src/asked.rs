//! How a model is to be compressed, in the words of users.

use super::layer::{Cost, Goal, Settings, Weigh};
use tnsearch::SettingError;
use tnsearch::declare_options;
use tnsearch::options::Takes;
use tnsearch_io::Dtype;

/// The relative error that is allowed where nothing is asked for.
const KEEP_RE: f64 = 0.05;

declare_options! {
    /// How a model is to be compressed, in the words of users.
    pub struct AskedModel {
        #[doc = "The least cost with a relative error (RE) of all layers together of at most this, and of no layer of more than \
                 twice it (but see --weigh norm) [default: 0.05]"]
        keep_re: Option<f64> = None, Takes::Real, "RE", "Objective";
        #[doc = "The least error with at most so many numbers in all, those that are left alone included. No layer has an error \
                 of its own to keep: one that loses most of its norm is warned about"]
        max_params: Option<u64> = None, Takes::Count, "N", "Objective";
        /// The least error with at most so many bytes of numbers, e.g. 40MB
        max_bytes: Option<u64> = None, Takes::Bytes, "SIZE", "Objective";
        /// The least error with at most so many multiply-adds of applying each layer to one input
        max_multiply_adds: Option<u64> = None, Takes::Count, "N", "Objective";
        #[doc = "The least cost with which the loss that a command measures rises by at most --allow. It is run with the path of \
                 a dense model file in place of {}, or at its end; the last line it prints is the loss (smaller is better)"]
        max_loss: Option<String> = None, Takes::Text, "COMMAND", "Objective";
        /// With --max-loss: by how much the loss may rise
        allow: f64 = 0.01, Takes::Real, "RISE", "Objective";
        #[doc = "What is kept low with --keep-re and --max-loss: params, bytes or multiply-adds (of applying each layer to one \
                 input)"]
        cost: Cost = Cost::Params, Takes::OneOf(&["params", "bytes", "multiply-adds"]), "COST", "Objective";
        #[doc = "How the errors of layers are added up: each (as they are, and no layer above twice the error asked for), layer \
                 (each relative to its layer, and the same cap), or norm (as they are, without a cap: layers of small norm may \
                 be lost altogether, which can ruin a model) [default: each with --keep-re and no --calibration, else layer]"]
        weigh: Option<Weigh> = None, Takes::OneOf(&["each", "layer", "norm"]), "WAY", "Objective";
        /// Leave smaller tensors alone
        min_entries: u64 = 256, Takes::Count, "N", "Formats";
        /// Look for trees on factors of the sides
        trees: bool = true, Takes::Off, "", "Formats";
        /// Look for Kronecker products
        products: bool = true, Takes::Off, "", "Formats";
        /// The numbers of the cores: f16, bf16, f32 or f64 [default: those of each layer]
        cores: Option<Dtype> = None, Takes::OneOf(&["f16", "bf16", "f32", "f64"]), "TYPE", "Output";
        /// Same seed, same model, same settings: same bits
        seed: u64 = 0, Takes::Seed, "SEED", "Budgets";
    }
    and {}
}

impl AskedModel {
    /// The settings, where inputs of layers are known (`calibrated`) or not.
    ///
    /// ```
    /// use tnsearch_models::{AskedModel, Goal, Weigh};
    /// let settings = AskedModel::default().settings(false).unwrap();
    /// assert_eq!((settings.goal, settings.weigh), (Goal::KeepRe(0.05), Weigh::Each));
    /// let both = AskedModel::default().with(|a| (a.keep_re, a.max_params) = (Some(0.1), Some(9)));
    /// assert!(both.settings(false).unwrap_err().to_string().starts_with("max-params is 9; "));
    /// ```
    pub fn settings(&self, calibrated: bool) -> Result<Settings, SettingError> {
        let whole = |n: Option<u64>| n.map(|n| n.to_string());
        let goals = [
            ("keep-re", self.keep_re.map(|re| re.to_string())),
            ("max-params", whole(self.max_params)),
            ("max-bytes", whole(self.max_bytes)),
            ("max-multiply-adds", whole(self.max_multiply_adds)),
            ("max-loss", self.max_loss.clone()),
        ];
        let mut given = goals.into_iter().filter_map(|(name, value)| Some((name, value?)));
        if let (Some((first, _)), Some((second, value))) = (given.next(), given.next()) {
            let expected = format!("--{first} is asked for, too, and only one of them can be");
            return Err(SettingError::new(second, value, expected));
        }
        let (goal, cost) = match (self.max_params, self.max_bytes, self.max_multiply_adds) {
            (Some(n), ..) => (Goal::MaxCost(n), Cost::Params),
            (_, Some(n), _) => (Goal::MaxCost(n), Cost::Bytes),
            (.., Some(n)) => (Goal::MaxCost(n), Cost::MultiplyAdds),
            _ if self.max_loss.is_some() => (Goal::MaxLoss(self.allow), self.cost),
            _ => (Goal::KeepRe(self.keep_re.unwrap_or(KEEP_RE)), self.cost),
        };
        if let Some(cores) = self.cores.filter(|c| !tnsearch_io::weights::is_float(*c)) {
            return Err(SettingError::new("cores", cores.name(), "use f16, bf16, f32 or f64"));
        }
        // An error that is asked for is that of all weights; else what counts is what the network does.
        let as_they_are = !calibrated && matches!(goal, Goal::KeepRe(_));
        let weigh = self.weigh.unwrap_or(if as_they_are { Weigh::Each } else { Weigh::Layer });
        let AskedModel { min_entries, trees, products, cores, seed, .. } = *self;
        Settings { goal, cost, weigh, min_entries, trees, products, cores, seed }.check()
    }
}
