//! A strategy that direct methods come before.

use super::{Ask, Effort, Generation, Outcome, Strategy};
use crate::graph::Structure;
use crate::search::strategy::Found;

/// Has structures fitted from truncated SVDs first ([`Effort::Direct`]), then lets a strategy go its way: that one is
/// told of them by [`Strategy::tell_first`] alone, which most pass over. So a search ends with nothing worse than its starts, whatever it does.
pub struct Begin<S> {
    /// What is to be fitted first; empty once it was asked for.
    starts: Vec<Structure>,
    /// Those whose outcomes are still to come.
    waiting: Vec<Structure>,
    then: S,
}

impl<S: Strategy> Begin<S> {
    /// These structures, then that strategy.
    pub fn new(starts: Vec<Structure>, then: S) -> Self {
        Begin { starts, waiting: Vec::new(), then }
    }
}

impl<S: Strategy> Strategy for Begin<S> {
    fn name(&self) -> &str {
        self.then.name()
    }

    fn ask(&mut self) -> Ask {
        if self.starts.is_empty() {
            return self.then.ask();
        }
        self.waiting = std::mem::take(&mut self.starts);
        Generation::new(self.waiting.clone()).effort(Effort::Direct).ask()
    }

    fn tell(&mut self, outcomes: &[Outcome]) {
        match std::mem::take(&mut self.waiting) {
            first if first.is_empty() => self.then.tell(outcomes),
            first => self.then.tell_first(&first, outcomes),
        }
    }

    fn tell_found(&mut self, found: &[Option<Found>]) {
        self.then.tell_found(found);
    }

    fn fork(&self) -> Option<Box<dyn Strategy>> {
        let (starts, waiting, then) =
            (self.starts.clone(), self.waiting.clone(), self.then.fork()?);
        Some(Box::new(Begin { starts, waiting, then }))
    }

    fn lower_bound(&self) -> Option<f64> {
        self.then.lower_bound()
    }

    fn planned_samples(&self) -> Option<u64> {
        Some(self.then.planned_samples()?.saturating_add(self.starts.len() as u64))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Template;
    use crate::search::strategies::{Tnls, TnlsSettings};
    use crate::search::strategy::Source;
    use std::sync::Arc;

    #[test]
    fn the_strategy_goes_the_way_it_goes_alone() {
        let ring = Arc::new(Template::ring(4).unwrap());
        let settings = || TnlsSettings::default().check().unwrap();
        let start = Structure::identity(ring.clone(), vec![2, 3, 2, 3]).unwrap();
        let mut alone = Tnls::new(ring.clone(), settings(), 7);
        let mut begun = Begin::new(vec![start.clone()], Tnls::new(ring, settings(), 7));
        let told = |ask: &Ask| -> Vec<Outcome> {
            let loss = |s: &Structure| s.params(&[3; 4]) as f64;
            let outcome = |s| Outcome {
                loss: loss(s),
                error: Some(0.1),
                params: 1,
                source: Source::Evaluated,
            };
            ask.structures().iter().map(outcome).collect()
        };
        let planned = begun.planned_samples();
        assert_eq!(planned, alone.planned_samples().map(|n| n + 1));
        let first = begun.ask();
        let expected = Generation::new(vec![start]).effort(Effort::Direct).ask();
        assert_eq!(first, expected);
        begun.tell(&told(&first));
        let mut fork = begun.fork().unwrap();
        for _ in 0..5 {
            let (a, b, c) = (alone.ask(), begun.ask(), fork.ask());
            assert_eq!((&a, &a), (&b, &c));
            let outcomes = told(&a);
            alone.tell(&outcomes);
            begun.tell(&outcomes);
            fork.tell(&outcomes);
        }
    }
}
