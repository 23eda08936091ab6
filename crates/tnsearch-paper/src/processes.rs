//! The Gaussian processes whose means are compressed: trained on tables of a folder or, for quick versions, made by a formula.

use super::{Options, ReproduceError};
use rand::RngExt as _;
use std::sync::{Arc, Mutex, PoisonError};
use tnsearch::network::Network;
use tnsearch::problem::Stop;
use tnsearch::rng::stream;
use tnsearch::tensor::AnyTensor;
use tnsearch_io::{MemoryLimit, Table, table};
use tnsearch_tgp::{
    CompressSettings, Compressed, Model, TrainSettings, compress, fingerprint, train,
};

/// The folder of the tables in the data.
const FOLDER: &str = "regression";

/// A data set and how its model is trained.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Recipe {
    /// Its name in tables.
    pub name: &'static str,
    /// Inducing points of each feature.
    pub inducing: usize,
    /// Features.
    pub features: usize,
    /// The rank of the tensor train.
    pub rank: usize,
}

/// A model that is trained once, when it is first needed.
#[derive(Debug)]
pub(super) struct Study {
    pub recipe: Recipe,
    table: Table,
    seed: u64,
    trained: Mutex<Option<Arc<Ready>>>,
}

/// A table and the model trained with it.
#[derive(Debug)]
pub(super) struct Ready {
    pub table: Table,
    pub model: Model,
}

impl Study {
    /// Those of an experiment: of the data, or made where a quick version has none.
    pub fn all(options: &Options, recipes: &[Recipe]) -> Result<Vec<Arc<Study>>, ReproduceError> {
        let count = options.trials(recipes.len()).min(recipes.len());
        let study = |recipe: &Recipe| {
            let file = match &options.data {
                Some(data) => Some(data.join(FOLDER).join(format!("{}.csv", recipe.name))),
                None if options.quick => None,
                None => return Err(ReproduceError::NoTables { folder: FOLDER }),
            };
            let recipe = match file {
                Some(_) => recipe.clone(),
                None => Recipe { inducing: 5, features: 3, rank: 3, ..recipe.clone() },
            };
            let table = match &file {
                Some(path) => table::read(path, MemoryLimit::new(None))?,
                None => made(recipe.features, options.seed),
            };
            Ok(Arc::new(Study { recipe, table, seed: options.seed, trained: Mutex::new(None) }))
        };
        recipes.iter().take(count).map(study).collect()
    }

    /// What results are kept under: the name, and a mark of the table, so that another table of that name has its own.
    pub fn key(&self) -> String {
        format!("{} {}", self.recipe.name, fingerprint(&self.table))
    }

    /// The model, trained where it was not yet.
    pub fn ready(&self, stop: &Stop) -> Result<Arc<Ready>, ReproduceError> {
        // Others wait for it.
        let mut trained = self.trained.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(ready) = trained.as_ref() {
            return Ok(ready.clone());
        }
        let settings = TrainSettings::default().with(|s| {
            (s.inducing, s.tt_rank) = (vec![self.recipe.inducing], self.recipe.rank);
            s.seed = self.seed;
        });
        let made = train(&self.table, &settings, None, stop, &mut |_| ())?;
        if made.stopped {
            return Err(ReproduceError::Interrupted);
        }
        let ready = Arc::new(Ready { table: self.table.clone(), model: made.model });
        *trained = Some(ready.clone());
        Ok(ready)
    }
}

impl Ready {
    /// The tensor of the mean, as the paper searches it.
    pub fn tensor(&self) -> Result<AnyTensor, ReproduceError> {
        Ok(self.model.mean.to_tensor(None)?)
    }

    /// The test error of the model with another mean.
    pub fn test_mse(&self, mean: &Network) -> Result<f64, ReproduceError> {
        Ok(self.model.test_mse(&self.table, mean)?)
    }

    /// A smaller mean by ours.
    pub fn compressed(
        &self,
        settings: &CompressSettings,
        stop: &Stop,
    ) -> Result<Compressed, ReproduceError> {
        Ok(compress(&self.model, &self.table, settings, stop, &mut |_| ())?)
    }
}

/// A smooth function of a few features with a little noise.
fn made(features: usize, seed: u64) -> Table {
    let mut rng = stream(seed, b"tgp table");
    let mut cells = Vec::new();
    for _ in 0..200 {
        let x: Vec<f64> = (0..features).map(|_| rng.random_range(-1.0..1.0)).collect();
        let y = (2.0 * x[0]).sin() * (1.0 + x[1])
            + x[features - 1]
            + 0.05 * rng.random_range(-1.0..1.0);
        cells.extend(x);
        cells.push(y);
    }
    let names = (0..features).map(|k| format!("x{k}")).chain(["y".to_owned()]).collect();
    Table::new(names, cells)
}
