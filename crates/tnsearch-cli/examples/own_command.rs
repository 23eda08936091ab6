//! All of the command `tnsearch` with a strategy, a loss and an executor of one's own, each asked for by its name:
//! `own_command search X.npy --template path --strategy shuffle --tries 9 --loss log-cosh --cluster one`.
use std::process::ExitCode;
use std::sync::Arc;
use tnsearch::graph::Structure;
use tnsearch::problem::{Loss, LossDescription, Measure, register_loss};
use tnsearch::search::*;

/// Structures that are fitted all at once: rank 2, the modes turned round the template.
struct Shuffle(Vec<Structure>);
impl Strategy for Shuffle {
    fn name(&self) -> &str {
        SHUFFLE.name
    }
    fn ask(&mut self) -> Ask {
        Generation::new(std::mem::take(&mut self.0)).ask()
    }
    fn tell(&mut self, _outcomes: &[Outcome]) {}
}
struct Tries(usize);
impl Plan for Tries {
    fn settings(&self) -> serde_json::Value {
        serde_json::json!({ "tries": self.0 })
    }
    fn strategy(&self, c: &Context<'_>, _seed: u64) -> Result<Box<dyn Strategy>, SearchError> {
        let (n, ranks) = (c.dims.len(), vec![2; c.template.edges().len()]);
        let turned = |by| (0..n).map(|v| (v + by) % n).collect();
        let made = |by| Structure::new(c.template.clone(), turned(by), ranks.clone());
        Ok(Box::new(Shuffle((0..self.0).flat_map(made).collect())))
    }
}
static SHUFFLE: Description = Description {
    options: &[option("tries", "N", OptionKind::Count, "Orders that are tried")],
    ..Description::new("shuffle", "some orders of the modes, rank 2", |options, _| {
        let tries = options.get("tries").and_then(serde_json::Value::as_u64);
        Ok(Box::new(Tries(tries.unwrap_or(4) as usize)))
    })
};

/// `log cosh` of an entry's error: its square where it is small, its size where it is large.
#[derive(Debug)]
struct LogCosh;
impl Loss for LogCosh {
    fn measure(&self) -> Measure {
        Measure::new("log-cosh", "log cosh", "log cosh, relative to the zero network", None)
    }
    fn value(&self, x: f64, z: f64) -> f64 {
        (x - z).abs() + (-2.0 * (x - z).abs()).exp().ln_1p() - 2f64.ln()
    }
    fn derivative(&self, x: f64, z: f64) -> f64 {
        (z - x).tanh()
    }
}
static LOG_COSH: LossDescription =
    LossDescription::new("log-cosh", "log cosh of errors", |_, _| Ok(Arc::new(LogCosh)));

/// One thread, whatever `--threads` says.
static ONE: ExecutorDescription = ExecutorDescription::new("one", "one thread", |_, x, loss| {
    Ok(Box::new(Local::new(evaluator_for(x, loss.clone(), None), 1)?))
});

fn main() -> ExitCode {
    register_strategy(&SHUFFLE).expect("a new name");
    register_loss(&LOG_COSH).expect("a new name");
    register_executor(&ONE).expect("a new name");
    tnsearch_cli::main()
}
