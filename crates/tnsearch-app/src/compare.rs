//! Every method of the box on one tensor, side by side: params, error, seconds, who won.

mod contender;
mod direct;
mod peers;
mod row;
mod table;

pub use contender::{Contender, contenders};
pub(crate) use peers::{original_order, peers};
pub use row::{Row, Sort};

use std::time::Instant;
use tnsearch::SettingError;
use tnsearch::decompose::Limits;
use tnsearch::problem::{Objective, Stop, Target};
use tnsearch::search::AskedSearch;
use tnsearch_io::MemoryLimit;

/// Seconds that each method has where neither seconds nor evaluations are said.
pub const SECONDS: f64 = 10.0;

/// What is to be compared.
#[derive(Debug, Clone, Default)]
pub struct AskedComparison {
    /// What is looked for and what each method may use, as of a search. Its strategy is each in turn.
    pub search: AskedSearch,
    /// The methods by their names; empty: all.
    pub methods: Vec<String>,
}

/// A comparison whose settings were checked.
#[derive(Debug, Clone)]
pub struct Compare {
    search: AskedSearch,
    objective: Objective,
    contenders: Vec<Contender>,
    limit: MemoryLimit,
}

/// How far a comparison is.
#[derive(Debug, Clone, Copy)]
pub enum Step<'s> {
    /// A method begins, the first is number 1.
    Begin {
        /// Its number.
        number: usize,
        /// Of how many.
        of: usize,
        /// Its name.
        method: &'s str,
    },
    /// A method has ended.
    End(&'s Row),
}

/// Methods side by side.
#[derive(Debug, Clone)]
pub struct Comparison {
    /// What was looked for.
    pub objective: Objective,
    /// The methods: those that are what was asked for first, the best of them at the top; then those that missed it, then
    /// those that failed.
    pub rows: Vec<Row>,
    /// Whether it was ended before every method had had its turn.
    pub interrupted: bool,
}

impl AskedComparison {
    /// Refuses numbers out of range, and names of no method.
    pub fn check(&self, limit: MemoryLimit) -> Result<Compare, SettingError> {
        let mut search = self.search.clone();
        // Seconds are those of finding, not of proving.
        search.certificate_nodes = 0;
        if search.max_seconds.is_none() && search.max_evaluations.is_none() {
            search.max_seconds = Some(SECONDS);
        }
        let objective = search.settings(limit.bytes())?.objective;
        if let Objective::Lambda(lambda) = objective {
            let expected = "methods are compared at an error or at a number of params: use max-re or max-params";
            return Err(SettingError::new("lambda", lambda, expected));
        }
        let mut chosen = Vec::new();
        for name in &self.methods {
            for contender in Contender::named(name)? {
                if !chosen.contains(&contender) {
                    chosen.push(contender);
                }
            }
        }
        let contenders = if chosen.is_empty() { contenders() } else { chosen };
        Ok(Compare { search, objective, contenders, limit })
    }
}

impl Compare {
    /// What each method may use.
    pub fn search(&self) -> &AskedSearch {
        &self.search
    }

    /// Runs one method after the other. A stop ends it with the rows so far; a method that fails is a row with the reason.
    pub fn run(&self, target: &Target, stop: &Stop, mut hear: impl FnMut(Step<'_>)) -> Comparison {
        let mut rows = Vec::new();
        let of = self.contenders.len();
        for (k, contender) in self.contenders.iter().enumerate() {
            if stop.is_set() {
                break;
            }
            let method = contender.name();
            hear(Step::Begin { number: k + 1, of, method: &method });
            let row = self.row(contender, method, target, stop);
            // What was interrupted before it had anything is no row.
            if row.params.is_none() && stop.is_set() {
                break;
            }
            hear(Step::End(&row));
            rows.push(row);
        }
        let interrupted = stop.is_set();
        row::rank(&mut rows, self.objective);
        Comparison { objective: self.objective, rows, interrupted }
    }

    fn row(&self, contender: &Contender, method: String, target: &Target, stop: &Stop) -> Row {
        let begun = Instant::now();
        let bytes = self.limit.bytes();
        let found = match contender {
            Contender::Decompose(..) => {
                let seconds = self.search.max_seconds.unwrap_or(f64::INFINITY);
                let limits = Limits::none().with(|l| {
                    l.max_bytes = target.left_of(Some(bytes));
                    l.stop = stop.within_seconds(seconds);
                });
                contender.decompose(target, self.objective, self.search.seed, &limits)
            }
            _ => contender.search(target, &self.search, bytes, stop),
        };
        let found = found.and_then(|found| {
            let confirmed = target.confirm(&found.network, found.rse, Some(bytes));
            confirmed.map_err(|e| e.to_string())?;
            Ok(found)
        });
        let seconds = begun.elapsed().as_secs_f64();
        Row::new(contender.sort(), method, found, target.full_dims(), seconds, self.objective)
    }
}
