//! Progress on standard error: a bar on a terminal, a line now and then elsewhere if asked.

use crate::terminal;
use crate::text::{duration, number};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::time::{Duration, Instant};
use tnsearch::problem::{Known, Measure, Objective, Over, Statement, Unproven};
use tnsearch::search::{Budget, Event, Listener, ListenerError, Progress};

/// Time between two lines where there is no terminal.
const LINE_EVERY: Duration = Duration::from_secs(2);

/// Shows how a search comes along.
pub struct Display {
    shown: Shown,
    measure: Measure,
    objective: Objective,
    max_evaluations: Option<u64>,
    max_seconds: Option<f64>,
    begun: Instant,
    /// What bounds are about.
    over: Option<Over>,
    /// What came from the journal: it took no time now.
    resumed: Option<u64>,
    /// What the search is busy with.
    doing: Option<String>,
}

enum Shown {
    Hidden,
    Bar(ProgressBar),
    Lines { last: Instant },
}

impl Display {
    /// A display, if one is wanted: on a terminal unless quiet, elsewhere only if asked for.
    pub fn new(
        quiet: bool,
        asked: bool,
        budget: &Budget,
        objective: Objective,
        measure: &Measure,
    ) -> Self {
        let shown = if quiet {
            Shown::Hidden
        } else if std::io::stderr().is_terminal() {
            let style = ProgressStyle::with_template("{spinner} [{bar:24}] {percent}% {msg}");
            let bar = ProgressBar::new(1000);
            if let Ok(style) = style {
                bar.set_style(style.progress_chars("=> "));
            }
            bar.set_message("starting");
            bar.enable_steady_tick(Duration::from_millis(200));
            Shown::Bar(bar)
        } else if asked {
            Shown::Lines { last: Instant::now() }
        } else {
            Shown::Hidden
        };
        Display {
            shown,
            measure: measure.clone(),
            objective,
            max_evaluations: budget.max_evaluations,
            max_seconds: budget.max_seconds,
            begun: Instant::now(),
            over: None,
            resumed: None,
            doing: None,
        }
    }

    /// The same, with what bounds are about.
    pub fn about(mut self, over: Option<Over>) -> Self {
        self.over = over;
        self
    }

    /// Clears the bar.
    pub fn finish(&mut self) {
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }

    /// How much of the way is behind, by whichever end comes first.
    fn fraction(&self, p: &Progress) -> f64 {
        let part = |done: f64, all: f64| if all > 0.0 { done / all } else { 0.0 };
        let samples = p.planned_samples.map(|n| part(p.counts.samples as f64, n as f64));
        let fits = self.max_evaluations.map(|n| part(p.counts.evaluations as f64, n as f64));
        let time = self.max_seconds.map(|s| part(self.begun.elapsed().as_secs_f64(), s));
        [samples, fits, time].into_iter().flatten().fold(0.0, f64::max).min(1.0)
    }

    fn line(&self, p: &Progress) -> String {
        let elapsed = self.begun.elapsed().as_secs_f64();
        let fresh = p.counts.evaluations.saturating_sub(self.resumed.unwrap_or(0));
        let mut parts = vec![match p.planned_samples {
            Some(n) => format!("{} of {n} samples", p.counts.samples),
            None => format!("{} samples", p.counts.samples),
        }];
        if p.counts.direct > 0 {
            parts.insert(0, format!("{} by direct methods", p.counts.direct));
        }
        parts.push(format!(
            "{} evaluations ({}/s)",
            p.counts.evaluations,
            number(fresh as f64 / elapsed.max(1e-3))
        ));
        if let Some(best) = p.best {
            let missed = if p.target_reached { "" } else { " (target not reached yet)" };
            let best = self.objective.score_text(&best, &self.measure, number);
            parts.push(format!("best {best}{missed}"));
        }
        if let Some(bound) = p.lower_bound {
            let bound = self.objective.lower_bound(bound);
            let said = Statement::of(Known {
                over: self.over.clone(),
                objective: self.objective,
                measure: &self.measure,
                bound: Some(bound),
                impossible: None,
                unproven: Unproven::Open,
                answer: None,
            });
            if !bound.says_nothing() {
                parts.push(format!("proven {}", said.short()));
            }
        }
        let fraction = self.fraction(p);
        if fraction > 0.0 {
            parts.push(format!("{} left", duration(elapsed * (1.0 - fraction) / fraction)));
        }
        parts.extend(self.doing.clone());
        parts.join(", ")
    }

    /// Says what the search is busy with: at once, since that may take long.
    fn say(&mut self, doing: String) {
        match &self.shown {
            Shown::Hidden => {}
            Shown::Bar(bar) => bar.set_message(doing.clone()),
            // What begins and ends at every turn is said with the next line.
            Shown::Lines { last } if self.resumed.is_some() && last.elapsed() < LINE_EVERY => {}
            Shown::Lines { .. } => {
                terminal::note("progress", &doing);
                self.shown = Shown::Lines { last: Instant::now() };
            }
        }
        self.doing = Some(doing);
    }
}

impl Listener for Display {
    fn hear(&mut self, event: &Event<'_>) -> Result<(), ListenerError> {
        let progress = match event {
            Event::Progress(progress) => progress,
            Event::Doing(doing) => {
                self.say(doing.to_string());
                return Ok(());
            }
            _ => return Ok(()),
        };
        self.resumed.get_or_insert(progress.counts.evaluations.saturating_sub(1));
        match &self.shown {
            Shown::Hidden => {}
            Shown::Bar(bar) => {
                bar.set_position((1000.0 * self.fraction(progress)) as u64);
                bar.set_message(self.line(progress));
            }
            Shown::Lines { last } if last.elapsed() < LINE_EVERY => {}
            Shown::Lines { .. } => {
                terminal::note("progress", &self.line(progress));
                self.shown = Shown::Lines { last: Instant::now() };
            }
        }
        Ok(())
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        self.finish();
    }
}
