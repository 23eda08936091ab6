//! What `tnsearch.search` is asked, and the search itself.

use crate::data::{Data, DataOptions};
use crate::engine::{Failure, Hub, Shipped, Teller};
use crate::errors::raise;
use crate::outcome::Outcome;
use crate::own::OwnLoss;
use crate::own_strategy::OwnStrategy;
use crate::{options, template};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde::Deserialize;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::Receiver;
use std::time::Instant;
use tnsearch::graph::Template;
use tnsearch::problem::{Loss, SquaredError, Stop};
use tnsearch::search::wire::Job;
use tnsearch::search::{
    AskedSearch, Evaluation, FromWorkers, Graphs, Search, SearchSettings, all_strategies,
};
use tnsearch_app::certificate;
use tnsearch_app::load::ARRAY;
use tnsearch_app::outputs::check_distinct;
use tnsearch_app::page::PageListener;
use tnsearch_app::summary::Asked;
use tnsearch_io::journal::{BeginRecord, Header, JournalWriter};
use tnsearch_io::output::Output;

/// The options that are no part of what the library is asked.
#[derive(Deserialize, Default)]
#[serde(default, deny_unknown_fields)]
struct Options {
    search: AskedSearch,
    data: DataOptions,
    journal: Option<PathBuf>,
    certificate: Option<PathBuf>,
    certificate_cases: Option<usize>,
    report: Option<PathBuf>,
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
    /// The shape alone, where errors are told and no entry is needed.
    shape: Option<Vec<usize>>,
}

/// A search that is asked for and whose data are there.
pub struct Order {
    begun: Instant,
    data: Data,
    template: Option<Arc<Template>>,
    settings: SearchSettings,
    options: Options,
    /// A strategy of the user's own.
    strategy: Option<OwnStrategy>,
    /// With the cases that it may have.
    certificate: Option<(Output, usize)>,
    report: Option<Output>,
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
        let strategy = taken("strategy")?.map(|own| OwnStrategy::new(&own)).transpose()?;
        let mut options: Options = options::read(&given)?;
        if options.own {
            let objective = std::mem::take(&mut options.search.objective);
            options.search.objective = objective.of_own_loss().map_err(raise)?;
        }
        let limit = options.data.limit()?;
        let settings = options.search.settings(limit.bytes()).map_err(raise)?;
        let settings = settings.with(|s| s.split = options.data.is_default());
        let named = [
            ("--journal", &options.journal),
            ("--report", &options.report),
            ("--certificate", &options.certificate),
        ];
        let named = named.map(|(name, path)| (name, path.as_deref()));
        check_distinct(&[], &named).map_err(raise)?;
        let output = |path: &Option<PathBuf>| path.as_deref().map(Output::check).transpose();
        let certificate = output(&options.certificate).map_err(raise)?;
        let report = output(&options.report).map_err(raise)?;
        let cases = certificate::cases(options.certificate_cases, certificate.is_some());
        let certificate = certificate.zip(Some(cases.map_err(raise)?));
        let data = match options.shape.take() {
            Some(dims) => Data::of_shape(dims, limit).map_err(raise)?,
            None => options.data.load(x, mask.as_ref(), None, None)?,
        };
        let dims = data.target.dims();
        let named = |graph| template::template(&graph, dims.len()).map(Arc::new);
        let template = graph.map(named).transpose()?;
        Ok(Order { begun, data, template, settings, options, strategy, certificate, report })
    }

    /// Runs the search, telling Python what happens.
    pub fn run(
        self,
        hub: &Arc<Hub>,
        stop: &Stop,
        results: Receiver<FromWorkers>,
    ) -> Result<Outcome, Failure> {
        let Order { begun, data, template, settings, options, strategy, certificate, report } =
            self;
        let target = &data.target;
        let loss: Arc<dyn Loss> = match options.own {
            true => Arc::new(OwnLoss),
            false => options.search.objective.loss.for_target(target)?,
        };
        let measure = loss.measure();
        let (events, progress) = (options.events, options.progress);
        let mut teller = Teller { hub: hub.clone(), events, progress };
        let (mut journal, mut shown, mut trials) = (None, None, Vec::<Evaluation>::new());
        let mut search = Search::new(target).settings(settings).stop(stop).begun(begun);
        // Without a template a strategy of one's own may propose any graph, about which nothing is proven.
        let graphs = if template.is_some() { Graphs::Template } else { Graphs::All };
        if let Some(template) = template {
            search = search.template(template);
        }
        if let Some(own) = &strategy {
            let (own, any) = (own.until(stop), graphs == Graphs::All);
            search = search.own_strategy(graphs, move |context, _| Ok(own.made_for(context, any)));
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
        let data = data.searched_by(&search);
        let (target, reshape) = (&data.target, data.reshape.as_ref());
        let mut warnings = Vec::new();
        if options.journal.is_some() || report.is_some() {
            let mut header = Header::of(&search, target, &measure, reshape)?;
            header.own = options.fingerprint;
            let begin = BeginRecord { input: ARRAY.to_owned(), command: options.command };
            if let Some(path) = &options.journal {
                let (mut writer, read) = JournalWriter::open(path, &header, options.resume)?;
                warnings = writer.warnings();
                writer.begin(&begin)?;
                search = search.resume(read.records).listen(journal.insert(writer));
            }
            if report.is_some() {
                let listener = PageListener::new(header, begin, search.records());
                search = search.listen(shown.insert(listener));
            }
        }
        let before = search.records().to_vec();
        let asked = Asked::new(&search, begun);
        let prepared = search.listen(&mut trials).prepare()?;
        let (bound, searched) = (prepared.bound().cloned(), prepared.target().clone());
        let result = prepared.run()?;
        if let Some(raised) = strategy.and_then(|own| own.raised()) {
            return Err(raised.into());
        }
        // What fails from here on must not take the answer with it.
        let summary = asked.summary(&result, &data, ARRAY, None);
        let summary = summary.and_then(|said| serde_json::to_string(&said)).unwrap_or_else(|e| {
            warnings.push(format!("there is no summary: {e}"));
            "{}".to_owned()
        });
        if let Some((output, cases)) = certificate {
            let made = asked.certificate(&result, bound.as_ref(), cases, stop);
            let written = made.map_err(Failure::from).and_then(|(made, about)| {
                certificate::write(&output, &made, &about, &data).map_err(Failure::from)
            });
            warnings.extend(written.unwrap_or_else(|e| Some(e.to_string())));
        }
        if let (Some(output), Some(shown)) = (&report, shown) {
            let name = options.journal.as_deref().and_then(Path::file_name);
            let left = asked.time_after(stop);
            let page = shown.write(name, &searched, bound.as_ref(), data.limit, &left, output);
            warnings.extend(page.err().map(|e| e.to_string()));
        }
        Ok(Outcome { result, data, asked, summary, before, trials, warnings })
    }
}
