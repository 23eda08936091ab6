//! Errors of the libraries as Python exceptions of the right type, each with one clear sentence.

use pyo3::exceptions::{
    PyFileNotFoundError, PyMemoryError, PyOSError, PyRuntimeError, PyValueError,
};
use pyo3::{PyErr, Python};
use std::any::Any;
use std::error::Error;
use tnsearch::bound::BoundError;
use tnsearch::certify::CertifyError;
use tnsearch::complete::CompleteError;
use tnsearch::decompose::DecomposeError;
use tnsearch::fit::{FitError, NetworkFitError};
use tnsearch::network::NetworkError;
use tnsearch::search::SearchError;
use tnsearch::{MemoryError, SettingError};
use tnsearch_app::compress::{CompressError, GoalError};
use tnsearch_app::generate::GenerateError;
use tnsearch_app::load::LoadError;
use tnsearch_app::pick::PickError;
use tnsearch_app::reconstruct::ReconstructError;
use tnsearch_app::tgp::ProcessError;
use tnsearch_app::{ExampleError, SyntheticError};
use tnsearch_io::output::OutputError;
use tnsearch_io::{FileError, Problem};
use tnsearch_models::{CalibrationError, ModelError};
use tnsearch_tgp::TgpError;

/// The exception for an error: `MemoryError` for what was refused for its size, `OSError` for files that cannot be read
/// or written, `ValueError` for everything else that was asked for wrongly.
pub fn raised(error: &(dyn Error + 'static)) -> PyErr {
    let mut inner = Some(error);
    while let Some(e) = inner {
        // What a function of the user has raised.
        if let Some(own) = e.downcast_ref::<PyErr>() {
            return Python::attach(|py| own.clone_ref(py));
        }
        if let Some(setting) = e.downcast_ref::<SettingError>() {
            return setting_error(setting);
        }
        if let Some(FitError::Elsewhere(why)) = e.downcast_ref::<FitError>() {
            return PyRuntimeError::new_err(why.clone());
        }
        let large = matches!(e.downcast_ref(), Some(ModelError::Memory { .. }))
            || matches!(e.downcast_ref(), Some(TgpError::Memory { .. }));
        if large
            || e.is::<MemoryError>()
            || matches!(e.downcast_ref(), Some(BoundError::Memory { .. }))
        {
            return PyMemoryError::new_err(sentence(error));
        }
        match e.downcast_ref::<FileError>().map(|e| &e.problem).or_else(|| e.downcast_ref()) {
            Some(Problem::Memory { .. } | Problem::File { .. }) => {
                return PyMemoryError::new_err(sentence(error));
            }
            Some(Problem::Missing) => return PyFileNotFoundError::new_err(sentence(error)),
            Some(Problem::Io(_) | Problem::NotAFile(_)) => {
                return PyOSError::new_err(sentence(error));
            }
            _ => {}
        }
        if e.is::<std::io::Error>() || e.is::<OutputError>() {
            return PyOSError::new_err(sentence(error));
        }
        inner = within(e).or_else(|| e.source());
    }
    PyValueError::new_err(sentence(error))
}

/// The error that another one is and nothing more: such a one does not name it as its source.
fn within<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e (dyn Error + 'static)> {
    macro_rules! transparent {
        ($($of:ident: $($variant:ident),+;)+) => {$(
            match error.downcast_ref::<$of>() {
                $(Some($of::$variant(inner)) => return Some(inner),)+
                _ => {}
            }
        )+};
    }
    transparent! {
        NetworkError: Memory;
        FitError: Setting, Memory;
        NetworkFitError: Fit, Network;
        DecomposeError: Setting, Memory, Network, Fit;
        CompleteError: Setting, Network, Fit, Decompose;
        CertifyError: Bound, Fit, Network;
        SearchError: Setting, Bound, Fit;
        GoalError: Setting;
        CompressError: Goal, Setting, Search, Network;
        SyntheticError: Network;
        ExampleError: Size;
        GenerateError: Setting, Synthetic, Example, Network;
        ReconstructError: Size, Network;
        CalibrationError: File;
        ModelError: Setting, File, Output;
        TgpError: Search, Network, Decompose;
        ProcessError: Tgp, Setting;
        LoadError: File, Memory, Problem;
        PickError: Load, Setting, Fit, Network;
    }
    None
}

/// The same for the errors that functions return.
pub fn raise<E: Error + 'static>(error: E) -> PyErr {
    raised(&error)
}

/// A setting by the name it has in Python.
fn setting_error(error: &SettingError) -> PyErr {
    let name = match &*error.name {
        "lambda" => "lambda_".to_owned(),
        name => name.replace('-', "_"),
    };
    let text = format!("{name} is {}; {}", error.value, error.expected);
    PyValueError::new_err(pythonic(&text))
}

/// The whole error, in one line.
fn sentence(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut inner = error.source();
    while let Some(e) = inner {
        let more = e.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        inner = e.source();
    }
    pythonic(&text)
}

/// Options of the command line by their names in Python: `--max-rank 3` is `max_rank`.
pub fn pythonic(text: &str) -> String {
    let mut words = Vec::new();
    for word in text.split(' ') {
        words.push(match word.strip_prefix("--") {
            // What is on unless it is switched off: `--no-direct`.
            Some(option) if option.starts_with("no-") => {
                format!("{}=False", option.trim_start_matches("no-").replace('-', "_"))
            }
            Some(option) if option.starts_with(|c: char| c.is_ascii_lowercase()) => {
                option.replace('-', "_").replacen("lambda", "lambda_", 1)
            }
            None if word.starts_with("max-") => word.replace('-', "_"),
            _ => word.to_owned(),
        });
    }
    words.join(" ")
}

/// What a panic carried: a fault of ours, said as one instead of ending the interpreter.
pub fn fault(panic: &(dyn Any + Send)) -> PyErr {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("unknown");
    PyRuntimeError::new_err(format!("tnsearch has a fault, please report it: {text}"))
}
