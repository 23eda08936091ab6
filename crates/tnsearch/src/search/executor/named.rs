//! Executors by their names, for `--cluster` of a program that has more than this crate.

use super::Executor;
use crate::SettingError;
use crate::problem::{Loss, Target};
use crate::registry::{Named, Registry};
use crate::search::SearchError;
use std::sync::Arc;

/// Makes an executor for the tensor that is fitted and the loss, from what follows its name (`name:rest`).
pub type MakeExecutor = fn(&str, &Target, &Arc<dyn Loss>) -> Result<Box<dyn Executor>, SearchError>;

/// An executor that can be asked for by its name.
pub struct ExecutorDescription {
    /// Its name on the command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub summary: &'static str,
    /// Makes one.
    pub make: MakeExecutor,
}

impl ExecutorDescription {
    /// An executor of that name.
    pub const fn new(name: &'static str, summary: &'static str, make: MakeExecutor) -> Self {
        ExecutorDescription { name, summary, make }
    }
}

impl Named for ExecutorDescription {
    const WHAT: &'static str = "executor";

    fn name(&self) -> &'static str {
        self.name
    }
}

/// This crate has one, the threads of this machine, which needs no name.
static EXECUTORS: Registry<ExecutorDescription> = Registry::new(&[]);

/// The executors that were added.
pub fn executors() -> Vec<&'static ExecutorDescription> {
    EXECUTORS.all()
}

/// Adds an executor of another crate.
pub fn register_executor(executor: &'static ExecutorDescription) -> Result<(), SettingError> {
    EXECUTORS.add(executor)
}
