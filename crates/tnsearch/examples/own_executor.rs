//! An executor of one's own: every request goes to a worker as text, as it would to another process or machine.
use std::collections::HashSet;
use std::error::Error;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use tnsearch::fit::{FitError, Fitted, Request};
use tnsearch::prelude::*;
use tnsearch::search::{Evaluator, Executor, FitEvaluator, Ticket};

/// Workers that know the data and are sent lines of JSON.
struct Remote {
    lines: Vec<Sender<(Ticket, String)>>,
    answers: Receiver<(Ticket, Result<String, FitError>)>,
    cancelled: HashSet<Ticket>,
}

impl Remote {
    fn new(x: &Target, workers: usize) -> Self {
        let (answer, answers) = channel();
        let worker = |_| {
            let (line, lines) = channel::<(Ticket, String)>();
            let (answer, evaluator) = (answer.clone(), Arc::new(FitEvaluator::new(x)));
            std::thread::spawn(move || {
                for (ticket, line) in lines {
                    let Ok(request) = serde_json::from_str::<Request>(&line) else { return };
                    let fitted = evaluator.evaluate(&request, &Stop::new());
                    let text =
                        fitted.map(|fitted| serde_json::to_string(&fitted).unwrap_or_default());
                    if answer.send((ticket, text)).is_err() {
                        return;
                    }
                }
            });
            line
        };
        Remote { lines: (0..workers).map(worker).collect(), answers, cancelled: HashSet::new() }
    }
}

impl Executor for Remote {
    fn workers(&self) -> usize {
        self.lines.len()
    }

    fn submit(&mut self, ticket: Ticket, request: Request) {
        let line = serde_json::to_string(&request).unwrap_or_default();
        let worker = ticket.0 as usize % self.lines.len();
        self.lines[worker].send((ticket, line)).expect("a worker lives as long as its line");
    }

    fn next(&mut self, wait: Duration) -> Option<(Ticket, Result<Fitted, FitError>)> {
        let (ticket, text) = self.answers.recv_timeout(wait).ok()?;
        let lost = self.cancelled.remove(&ticket);
        let fitted =
            text.and_then(|text| serde_json::from_str(&text).map_err(|_| FitError::Interrupted));
        Some((ticket, if lost { Err(FitError::Interrupted) } else { fitted }))
    }

    fn cancel(&mut self, ticket: Ticket) {
        self.cancelled.insert(ticket);
    }
}

/// The same search on this machine's threads and on the workers above.
pub fn search(x: &Target) -> Result<[SearchResult; 2], Box<dyn Error>> {
    let ring = || -> Result<Search<'_>, Box<dyn Error>> {
        let tnls = StrategySpec::new("tnls").set("iterations", 5).set("samples", 20);
        Ok(Search::new(x)
            .template(Template::ring(x.dims().len())?)
            .max_error(1e-6)
            .strategy(tnls)
            .runs(2)
            .seed(1))
    };
    let mut remote = Remote::new(x, 3);
    Ok([ring()?.run()?, ring()?.executor(&mut remote).run()?])
}

#[allow(dead_code, reason = "a test includes this file")]
fn main() -> Result<(), Box<dyn Error>> {
    let sum = |n: usize| (n / 64 + n / 16 % 4 + n / 4 % 4 + n % 4) as f64;
    let x = Target::new(Tensor::new(vec![4; 4], (0..256).map(sum).collect())?)?;
    for found in search(&x)? {
        let best = found.best.ok_or("nothing")?;
        println!(
            "{} params, RSE {:e}, {} fits",
            best.score.params, best.score.error, found.counts.evaluations
        );
    }
    Ok(())
}
