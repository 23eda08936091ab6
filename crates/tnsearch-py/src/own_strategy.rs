//! A strategy that is an object of Python: `ask()` gives structures, `tell(outcomes)` hears what became of them.

use crate::structure::PyStructure;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};
use std::sync::{Arc, Mutex, PoisonError};
use tnsearch::graph::{Structure, Template};
use tnsearch::problem::Stop;
use tnsearch::search::{Ask, Context, Generation, Outcome, Source, Strategy};

/// The object, and what it has raised.
pub struct OwnStrategy {
    object: Py<PyAny>,
    name: String,
    raised: Arc<Mutex<Option<PyErr>>>,
    stop: Stop,
}

impl OwnStrategy {
    /// What is wrong with the object is said when it is asked.
    pub fn new(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let name = match object.getattr_opt("name")?.and_then(|name| name.extract().ok()) {
            Some(name) => name,
            None => object.get_type().name()?.to_string(),
        };
        let (object, raised) = (object.clone().unbind(), Arc::default());
        Ok(OwnStrategy { object, name, raised, stop: Stop::new() })
    }

    fn copy(&self) -> Self {
        OwnStrategy {
            object: Python::attach(|py| self.object.clone_ref(py)),
            name: self.name.clone(),
            raised: self.raised.clone(),
            stop: self.stop.clone(),
        }
    }

    /// The same that ends the search where it raises something.
    pub fn until(&self, stop: &Stop) -> Self {
        OwnStrategy { stop: stop.clone(), ..self.copy() }
    }

    /// The strategy of a run, of the template's structures or of `any`.
    pub fn made_for(&self, context: &Context<'_>, any: bool) -> Run {
        let (own, order) = (self.copy(), context.dims.len());
        Run { own, template: context.template.clone(), order, any, asked: Vec::new() }
    }

    /// What it has raised.
    pub fn raised(&self) -> Option<PyErr> {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    fn fail(&self, error: PyErr) {
        self.raised.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
        self.stop.set();
    }
}

/// One run of it.
pub struct Run {
    own: OwnStrategy,
    template: Arc<Template>,
    order: usize,
    /// Whether it may propose any graph.
    any: bool,
    asked: Vec<Structure>,
}

impl Run {
    fn ask_python(&self) -> PyResult<Vec<Structure>> {
        Python::attach(|py| {
            let given = self.own.object.bind(py).call_method0("ask")?;
            if given.is_none() {
                return Ok(Vec::new());
            }
            let one = given.extract::<PyStructure>().map(|one| vec![one]);
            let several = one.or_else(|_| -> PyResult<Vec<PyStructure>> {
                let each = |s: Bound<'_, PyAny>| Ok(s.extract::<PyStructure>()?);
                given.try_iter()?.map(|s| s.and_then(each)).collect()
            });
            let several: Vec<PyStructure> = several.map_err(|_: PyErr| {
                let found = given.repr().map_or_else(|_| "something".to_owned(), |r| r.to_string());
                let found: String = found.chars().take(80).collect();
                PyTypeError::new_err(format!(
                    "ask() of strategy {} returned {found}; it must return a Structure, a list of them, or None at its end",
                    self.own.name
                ))
            })?;
            several.into_iter().map(|PyStructure(s)| self.checked(s)).collect()
        })
    }

    /// Refuses a structure that is not of this search.
    fn checked(&self, structure: Structure) -> PyResult<Structure> {
        let (name, order) = (&self.own.name, self.order);
        if structure.permutation().len() != order {
            let found = structure.permutation().len();
            return Err(PyValueError::new_err(format!(
                "strategy {name} proposed a structure of {found} modes; the tensor has {order}"
            )));
        }
        if !self.any && **structure.template() != *self.template {
            let (found, asked) = (structure.template().name(), self.template.name());
            return Err(PyValueError::new_err(format!(
                "strategy {name} proposed a structure of template {found}; the search is of {asked}, or of any where no template is given"
            )));
        }
        Ok(structure)
    }

    fn tell_python(&self, outcomes: &[Outcome]) -> PyResult<()> {
        Python::attach(|py| {
            let told = PyList::empty(py);
            for (structure, outcome) in self.asked.iter().zip(outcomes) {
                let one = PyDict::new(py);
                one.set_item("structure", PyStructure(structure.clone()).into_pyobject(py)?)?;
                one.set_item("loss", outcome.loss)?;
                one.set_item("error", outcome.error)?;
                one.set_item("params", outcome.params)?;
                one.set_item("source", source(outcome.source))?;
                told.append(one)?;
            }
            self.own.object.bind(py).call_method1("tell", (told,)).map(drop)
        })
    }
}

fn source(source: Source) -> &'static str {
    match source {
        Source::Evaluated => "evaluated",
        Source::Direct => "direct",
        Source::Cached => "cached",
        Source::Pruned => "pruned",
        _ => "refused",
    }
}

impl Strategy for Run {
    fn name(&self) -> &str {
        &self.own.name
    }

    fn ask(&mut self) -> Ask {
        match self.ask_python() {
            Ok(structures) => self.asked = structures,
            Err(error) => {
                self.own.fail(error);
                self.asked = Vec::new();
            }
        }
        Generation::new(self.asked.clone()).ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        if let Err(error) = self.tell_python(outcomes) {
            self.own.fail(error);
        }
    }
}
