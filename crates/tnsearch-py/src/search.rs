//! What `tnsearch.search` is asked, and the search itself.

use crate::data::{Data, DataOptions};
use crate::engine::{Failure, Hub, Shipped, Teller};
use crate::errors::raise;
use crate::outcome::Outcome;
use crate::own::OwnLoss;
use crate::{options, template};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;
use tnsearch::graph::Template;
use tnsearch::problem::{Loss, SquaredError, Stop};
use tnsearch::search::wire::Job;
use tnsearch::search::{
    AskedSearch, Evaluation, FromWorkers, Search, SearchSettings, all_strategies,
};
use tnsearch_io::journal::{BeginRecord, Header, JournalWriter};

/// The options that are no part of what the library is asked.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Options {
    search: AskedSearch,
    data: DataOptions,
    journal: Option<PathBuf>,
    resume: bool,
    front: bool,
    events: bool,
    progress: bool,
    command: Vec<String>,
    /// Requests go to so many workers that Python has; none: to this machine's threads.
    workers: Option<usize>,
    /// Errors come from a function of the user.
    own: bool,
    /// What that function calls itself.
    fingerprint: Option<String>,
}

/// A search that is asked for and whose data are there.
pub struct Order {
    begun: Instant,
    data: Data,
    template: Option<Arc<Template>>,
    settings: SearchSettings,
    options: Options,
}

/// The names of the options that strategies have.
#[pyfunction]
pub fn strategy_options() -> Vec<&'static str> {
    all_strategies().into_iter().flat_map(|d| d.options).map(|o| o.name).collect()
}

/// The fingerprint of a tensor, by which a journal knows it.
#[pyfunction]
pub fn fingerprint(x: &Bound<'_, PyAny>) -> PyResult<String> {
    let data = DataOptions::default().load_whole(x, None)?;
    Ok(x.py().detach(|| tnsearch_io::journal::fingerprint(&data.target)))
}

impl Order {
    pub fn new(x: &Bound<'_, PyAny>, given: &Bound<'_, PyDict>) -> PyResult<Self> {
        let begun = Instant::now();
        let given = given.copy()?;
        // What is no plain value.
        let taken = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
            let found = given.get_item(name)?.filter(|value| !value.is_none());
            if given.contains(name)? {
                given.del_item(name)?;
            }
            Ok(found)
        };
        let (graph, mask) = (taken("template")?, taken("mask")?);
        let mut options: Options = options::read(&given)?;
        if options.own {
            let objective = std::mem::take(&mut options.search.objective);
            options.search.objective = objective.of_own_loss().map_err(raise)?;
        }
        let limit = options.data.limit()?;
        let settings = options.search.settings(limit.bytes()).map_err(raise)?;
        let data = options.data.load(x, mask.as_ref(), None, None)?;
        let dims = data.target.dims();
        let named = |graph| template::template(&graph, dims.len()).map(Arc::new);
        let template = graph.map(named).transpose()?;
        Ok(Order { begun, data, template, settings, options })
    }

    /// Runs the search, telling Python what happens.
    pub fn run(
        self,
        hub: &Arc<Hub>,
        stop: &Stop,
        results: Receiver<FromWorkers>,
    ) -> Result<Outcome, Failure> {
        let Order { begun, data, template, settings, options } = self;
        let Data { target, reshape, .. } = data;
        let loss: Arc<dyn Loss> = match options.own {
            true => Arc::new(OwnLoss),
            false => options.search.objective.loss.for_target(&target)?,
        };
        let measure = loss.measure();
        let (events, progress) = (options.events, options.progress);
        let mut teller = Teller { hub: hub.clone(), events, progress };
        let (mut journal, mut trials) = (None, Vec::<Evaluation>::new());
        let mut search = Search::new(&target).settings(settings).stop(stop).begun(begun);
        if let Some(template) = template {
            search = search.template(template);
        }
        let mut search = search.loss(loss).front(options.front).listen(&mut teller);
        if let Some(workers) = options.workers {
            let (hub, own) = (hub.clone(), options.own);
            search = search.executor_for(move |target, loss| {
                // Where the user measures, cores are fitted by least squares.
                let loss: &dyn Loss = if own { &SquaredError } else { &**loss };
                let job = Job::new(target, loss)?;
                Ok(Box::new(Shipped::new(&hub, job, workers, own, results)))
            });
        }
        let mut search = search.check()?;
        let mut warnings = Vec::new();
        if let Some(path) = &options.journal {
            let mut header = Header::of(&search, &target, &measure, reshape.as_ref())?;
            header.own = options.fingerprint;
            let (mut writer, read) = JournalWriter::open(path, &header, options.resume)?;
            warnings = writer.warnings();
            let input = "an array".to_owned();
            writer.begin(&BeginRecord { input, command: options.command })?;
            search = search.resume(read.records).listen(journal.insert(writer));
        }
        let before = search.records().to_vec();
        let asked = (search.settings().clone(), search.template().clone());
        let result = search.listen(&mut trials).prepare()?.run()?;
        Ok(Outcome {
            result,
            target,
            reshape,
            settings: asked.0,
            template: asked.1,
            before,
            trials,
            warnings,
        })
    }
}
