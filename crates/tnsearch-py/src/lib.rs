//! The Rust part of the Python package `tnsearch`: the module `tnsearch._core`. Nothing is decided here: arguments
//! become settings of the libraries, arrays become tensors, errors become exceptions.

mod array;
mod bounds;
mod compare;
mod complete;
mod compress;
mod data;
mod declared;
mod decompose;
mod engine;
mod errors;
mod fit;
mod generate;
mod index;
mod models;
mod network;
mod options;
mod outcome;
mod own;
mod own_strategy;
mod pick;
mod reconstruct;
mod report;
mod search;
mod structure;
mod template;
mod tgp;
mod verify;
mod work;
mod worker;

use pyo3::prelude::*;

/// What the Python files of the package are made from.
#[pymodule(gil_used = false)]
mod _core {
    use super::*;

    #[pymodule_export]
    use super::bounds::{bound, certify, space};
    #[pymodule_export]
    use super::compare::compare;
    #[pymodule_export]
    use super::complete::complete;
    #[pymodule_export]
    use super::compress::{compress, decompress};
    #[pymodule_export]
    use super::declared::declared_options;
    #[pymodule_export]
    use super::decompose::{decompose, round};
    #[pymodule_export]
    use super::engine::Engine;
    #[pymodule_export]
    use super::fit::fit;
    #[pymodule_export]
    use super::generate::generate;
    #[pymodule_export]
    use super::models::{compress_model, decompress_model, read_weights, write_weights};
    #[pymodule_export]
    use super::network::PyNetwork;
    #[pymodule_export]
    use super::own::{describe_request, own_answer};
    #[pymodule_export]
    use super::pick::pick;
    #[pymodule_export]
    use super::reconstruct::reconstruct;
    #[pymodule_export]
    use super::search::{fingerprint, strategy_options};
    #[pymodule_export]
    use super::structure::PyStructure;
    #[pymodule_export]
    use super::tgp::{PyProcess, read_table, tgp_compress, tgp_predict, tgp_train};
    #[pymodule_export]
    use super::verify::verify;
    #[pymodule_export]
    use super::worker::{PyJob, PyWorker};

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))
    }
}
