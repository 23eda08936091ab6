//! What `tnsearch.search` is asked, and the search itself.

use crate::array;
use crate::engine::{Failure, Hub, Teller};
use crate::errors::raise;
use crate::outcome::Outcome;
use crate::structure::to_json;
use crate::template;
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;
use tnsearch::graph::Template;
use tnsearch::problem::{Loss as _, Stop, Target};
use tnsearch::search::{AskedSearch, Evaluation, Search, SearchSettings};
use tnsearch::tensor::{Kind, Reshape};
use tnsearch_io::MemoryLimit;
use tnsearch_io::journal::{BeginRecord, Header, JournalWriter};

/// The options that are no part of what the library is asked.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Options {
    search: AskedSearch,
    dtype: Option<String>,
    max_memory: Option<u64>,
    journal: Option<PathBuf>,
    resume: bool,
    front: bool,
    events: bool,
    progress: bool,
    command: Vec<String>,
}

/// A search that is asked for and whose data are there.
pub struct Order {
    begun: Instant,
    target: Target,
    reshape: Option<Reshape>,
    template: Arc<Template>,
    settings: SearchSettings,
    options: Options,
}

/// The options of a call; a wrong type is named with what it should be.
pub fn options<T: for<'de> Deserialize<'de>>(given: &Bound<'_, PyDict>) -> PyResult<T> {
    let text = to_json(given)?;
    let mut reader = serde_json::Deserializer::from_str(&text);
    serde_path_to_error::deserialize(&mut reader).map_err(|e| {
        let path = e.path().to_string();
        let name = path.rsplit('.').next().unwrap_or_default().to_owned();
        let why = e.into_inner().to_string();
        let why = why.split(" at line ").next().unwrap_or_default().to_owned();
        PyTypeError::new_err(format!("{name}: {why}"))
    })
}

/// The name of a kind of number.
pub fn kind(name: Option<&str>) -> PyResult<Option<Kind>> {
    name.map(|name| name.parse()).transpose().map_err(raise)
}

impl Order {
    pub fn new(x: &Bound<'_, PyAny>, given: &Bound<'_, PyDict>) -> PyResult<Self> {
        let begun = Instant::now();
        let graph = given.get_item("template")?;
        let given = given.copy()?;
        if graph.is_some() {
            given.del_item("template")?;
        }
        let options: Options = options(&given)?;
        let limit = MemoryLimit::new(options.max_memory);
        let mut settings = options.search.settings(limit.bytes()).map_err(raise)?;
        let tensor = array::tensor(x, kind(options.dtype.as_deref())?)?;
        let target = x.py().detach(|| Target::new(tensor)).map_err(raise)?;
        let order = target.dims().len();
        let template = match graph {
            Some(graph) => template::template(&graph, order)?,
            None => Template::parse(options.search.template(), order).map_err(raise)?,
        };
        settings.widest_rank = options.search.widest_rank(target.dims());
        Ok(Order { begun, target, reshape: None, template: Arc::new(template), settings, options })
    }

    /// Runs the search, telling Python what happens.
    pub fn run(self, hub: &Arc<Hub>, stop: &Stop) -> Result<Outcome, Failure> {
        let Order { begun, target, reshape, template, settings, options } = self;
        let loss = options.search.objective.loss.for_target(&target)?;
        let measure = loss.measure();
        let (events, progress) = (options.events, options.progress);
        let mut teller = Teller { hub: hub.clone(), events, progress };
        let (mut journal, mut trials) = (None, Vec::<Evaluation>::new());
        let search = Search::new(&target, template).settings(settings).stop(stop).begun(begun);
        let mut search = search.loss(loss).front(options.front).listen(&mut teller).check()?;
        if let Some(path) = &options.journal {
            let header = Header::of(&search, &target, &measure, reshape.as_ref())?;
            let (mut writer, read) = JournalWriter::open(path, &header, options.resume)?;
            let input = "an array".to_owned();
            writer.begin(&BeginRecord { input, command: options.command })?;
            search = search.resume(read.records).listen(journal.insert(writer));
        }
        let before = search.records().to_vec();
        let asked = (search.settings().clone(), search.template().clone());
        let result = search.listen(&mut trials).prepare()?.run()?;
        Ok(Outcome { result, target, reshape, settings: asked.0, template: asked.1, before, trials })
    }
}
