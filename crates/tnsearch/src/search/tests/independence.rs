//! Runs advance independently: one whose fits take long holds up no other.

use super::*;
use std::sync::Condvar;

/// Against a hang, if runs wait for each other: nothing else depends on it.
const LONG: Duration = Duration::from_secs(120);

/// A door that is opened once.
#[derive(Default)]
struct Gate(Mutex<bool>, Condvar);

impl Gate {
    fn open(&self) {
        *self.0.lock().unwrap() = true;
        self.1.notify_all();
    }

    /// Waits until the gate is open or the stop is seen; whether it is open.
    fn pass(&self, stop: &Stop) -> bool {
        let begun = std::time::Instant::now();
        let mut open = self.0.lock().unwrap();
        while !*open && !stop.is_set() {
            assert!(begun.elapsed() < LONG, "one run waits for the other");
            // A stop notifies nobody.
            (open, _) = self.1.wait_timeout(open, Duration::from_millis(5)).unwrap();
        }
        *open
    }
}

/// A TNLS that opens a gate when it has ended.
struct Opens(Tnls, Option<Arc<Gate>>);

impl Strategy for Opens {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn ask(&mut self) -> Ask {
        let ask = self.0.ask();
        if let (Ask::Done, Some(gate)) = (&ask, &self.1) {
            gate.open();
        }
        ask
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        self.0.tell(outcomes);
    }

    fn fork(&self) -> Option<Box<dyn Strategy>> {
        // A copy is told what might come, and opens nothing.
        Some(Box::new(Opens(self.0.clone(), None)))
    }
}

/// Fits by formula; those of one run only when the gate is open.
struct Held {
    formula: Formula,
    seed: u64,
    gate: Arc<Gate>,
}

impl Evaluator for Held {
    fn evaluate(&self, request: &Request, stop: &Stop) -> Result<Fitted, FitError> {
        if request.seed == self.seed && !self.gate.pass(stop) {
            return Err(FitError::Interrupted);
        }
        self.formula.evaluate(request, stop)
    }
}

#[test]
fn a_run_ends_while_another_waits_for_its_first_fit() {
    let (seed, runs) = (5, 3);
    // The start may be beyond the budget of parameters: then 20 fits of the run that is held come first.
    for (objective, workers) in OBJECTIVES.into_iter().zip([2, 2, 24]) {
        for (held, bound) in (0..runs).flat_map(|k| [(k, None), (k, Some(Slack(0.9)))]) {
            let search = |executor: &mut dyn Executor, gate: &Arc<Gate>| {
                let mut k = 0;
                let mut engine = engine(objective).runs(seed, runs, |seed| {
                    // The next run around opens the gate of the one that is held.
                    let opens = k == (held + 1) % runs;
                    k += 1;
                    Opens(tnls(seed), opens.then(|| gate.clone()))
                });
                if let Some(bound) = bound {
                    engine = engine.prune(bound);
                }
                timeless(engine.run(executor).unwrap())
            };
            let gate = Arc::new(Gate::default());
            let expected = search(&mut super::workers(&Arc::default(), 2), &gate);
            let gate = Arc::new(Gate::default());
            let evaluator = Held {
                formula: Formula::default(),
                seed: rng::derived_seed(seed, held),
                gate: gate.clone(),
            };
            let mut threads = Local::new(Arc::new(evaluator), workers).unwrap();
            assert_eq!(search(&mut threads, &gate), expected, "{objective:?}, run {held} held");
        }
    }
}

/// The account is written generation by generation, however far ahead a run is.
#[test]
fn generations_are_told_in_order_however_far_ahead_a_run_is() {
    let gate = Arc::new(Gate::default());
    let (mut ahead, mut numbers) = (0, Vec::new());
    let mut listener = |event: &Event<'_>| match event {
        Event::Evaluated(e) => ahead += usize::from(e.run == 1 && numbers.is_empty()),
        Event::Generation(record) => numbers.push((record.number, record.counts.samples)),
        _ => {}
    };
    let evaluator =
        Held { formula: Formula::default(), seed: rng::derived_seed(5, 0), gate: gate.clone() };
    let mut k = 0;
    let result = engine(Objective::Lambda(20.0))
        .runs(5, 2, |seed| {
            k += 1;
            Opens(tnls(seed), (k == 2).then(|| gate.clone()))
        })
        .listen(&mut listener)
        .run(&mut Local::new(Arc::new(evaluator), 2).unwrap())
        .unwrap();
    assert_eq!(ahead as u64, result.runs[1].counts.evaluations, "all of run 1 came first");
    // The start of both runs, then 20 structures of each in every generation.
    let expected: Vec<(u64, u64)> = (0..7).map(|g| (g + 1, 2 + 40 * g)).collect();
    assert_eq!(numbers, expected);
}
