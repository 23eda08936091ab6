//! Using up an error: ranks by water-filling, made, and lowered as long as what is really lost allows it.

use super::goal::Budget;
use super::truncate::Keep;
use super::water::Water;
use super::{DecomposeError, Limits};
use std::collections::HashSet;

/// How much finer than the error asked for the pass is whose singular values decide how it is shared out.
pub(super) const FINE: f64 = 0.01;
/// From so many rows on that pass may lose as much at a time as [`COARSE`] says, so that noise does not fill it.
const MANY_ROWS: usize = 512;
/// The part of the error by which ranks may be predicted to miss it and still be tried.
const DOUBT: f64 = 0.1;
/// See [`MANY_ROWS`].
const COARSE: f64 = 0.125;

/// How many singular vectors the truncations of a sweep keep.
pub(super) enum Choice<'c> {
    /// As many as are given for each edge.
    Ranks(&'c [usize]),
    /// As few as lose a share of a budget.
    Shares(Budget),
    /// The same for a small part of a budget; where there are many rows, for more of the whole.
    Fine { fine: Budget, whole: f64 },
}

impl Choice<'_> {
    /// For a first look at what each truncation can lose of a budget.
    pub fn fine(budget: &Budget) -> Self {
        Choice::Fine { fine: budget.part(FINE), whole: (1.0 - 2.0 * FINE) * budget.left() }
    }

    /// What the truncation of an edge keeps.
    pub fn keep(&self, edge: usize, (rows, entries): (usize, usize)) -> Keep {
        match self {
            Choice::Ranks(ranks) => Keep::Rank(ranks[edge]),
            Choice::Shares(budget) => Keep::Within(budget.share(1)),
            Choice::Fine { whole, .. } if rows > many(entries) => Keep::Within(COARSE * whole),
            Choice::Fine { fine, .. } => Keep::Within(fine.share(1)),
        }
    }

    /// Takes what a truncation did lose.
    pub fn spend(&mut self, lost: f64) {
        match self {
            Choice::Ranks(_) => {}
            Choice::Shares(budget) => budget.spend(lost, 1),
            Choice::Fine { fine, whole } => {
                *whole = (*whole - lost).max(0.0);
                fine.spend(lost.min(fine.share(1)), 1);
            }
        }
    }
}

/// From so many rows on a matrix of so many entries has many.
fn many(entries: usize) -> usize {
    ((1 << 30) / entries.max(1)).clamp(32, MANY_ROWS)
}

/// Truncations that were made.
pub(super) trait Made {
    /// What they lost, relative to the whole.
    fn lost(&self) -> f64;
    /// The ranks they have, in the order of the edges asked for.
    fn ranks(&self) -> Vec<usize>;
}

/// The most passes for a tensor with this many entries.
pub(super) fn passes(entries: usize) -> usize {
    ((1 << 22) / entries.max(1)).clamp(4, 60)
}

/// The truncations with the fewest parameters found that lose at most `eps`, from `first`, which does; those that `water`
/// knows of may promise to lose `promised` at first. `pass` makes those with given ranks. When it is told to stop it ends with the best so far.
pub(super) fn spend<M: Made>(
    water: &Water,
    (eps, promised): (f64, f64),
    most: usize,
    first: M,
    limits: &Limits,
    pass: impl FnMut(&[usize]) -> Result<M, DecomposeError>,
) -> Result<M, DecomposeError> {
    let mut search =
        Search { water, eps, left: most, limits, pass, best: first, tried: HashSet::new() };
    search.run(promised)?;
    Ok(search.best)
}

/// The one of two with fewer parameters; the first where there was no time for the second.
pub(super) fn smaller_of<M: Made>(
    water: &Water,
    first: M,
    second: Result<M, DecomposeError>,
) -> Result<M, DecomposeError> {
    let params = |made: &M| water.params(&water.of_choices(&made.ranks()));
    match second {
        Err(DecomposeError::Interrupted) => Ok(first),
        second => {
            let second = second?;
            Ok(if params(&second) < params(&first) { second } else { first })
        }
    }
}

struct Search<'s, M, P> {
    water: &'s Water,
    eps: f64,
    /// Passes that may still be made.
    left: usize,
    limits: &'s Limits,
    pass: P,
    best: M,
    /// The ranks that were tried.
    tried: HashSet<Vec<usize>>,
}

impl<M: Made, P: FnMut(&[usize]) -> Result<M, DecomposeError>> Search<'_, M, P> {
    fn run(&mut self, mut promised: f64) -> Result<(), DecomposeError> {
        // The sum of tails is an upper bound: what is lost is less, so more may be promised.
        let (mut good, mut bad) = (0.0, f64::INFINITY);
        let mut before: Vec<usize> = Vec::new();
        for _ in 0..8 {
            let Some(ranks) = self.water.within_error(promised) else { break };
            if ranks == before {
                break;
            }
            let Some(lost) = self.attempt(&ranks)? else { return Ok(()) };
            before = ranks;
            match lost <= self.eps {
                true => good = promised,
                false => bad = promised,
            }
            let aimed = promised * (0.98 * self.eps / lost.max(1e-300)).clamp(0.5, 3.0);
            promised = match (good > 0.0, bad < f64::INFINITY) {
                (true, true) => (good * bad).sqrt(),
                (true, false) => aimed.max(1.02 * good),
                (false, _) => aimed.min(0.95 * bad),
            };
            if bad < 1.02 * good {
                break;
            }
        }
        self.improve()
    }

    /// Makes a pass, and keeps it if it is better; what it lost. None where no more can be made.
    fn attempt(&mut self, ranks: &[usize]) -> Result<Option<f64>, DecomposeError> {
        if self.left == 0 || self.limits.stop.is_set() {
            return Ok(None);
        }
        self.left -= 1;
        let ranks = self.water.useful(ranks);
        let made = match (self.pass)(&self.water.of_edges(&ranks)) {
            Err(DecomposeError::Interrupted) => return Ok(None),
            made => made?,
        };
        let lost = made.lost();
        if lost <= self.eps && self.params(&made) < self.params(&self.best) {
            self.best = made;
        }
        self.tried.insert(ranks);
        Ok(Some(lost))
    }

    fn params(&self, made: &M) -> f64 {
        self.water.params(&self.water.of_choices(&made.ranks()))
    }

    /// Lowers a rank of the best, or lowers one and raises another, as long as that helps.
    fn improve(&mut self) -> Result<(), DecomposeError> {
        while let Some(ranks) = self.next() {
            if self.attempt(&ranks)?.is_none() {
                break;
            }
        }
        Ok(())
    }

    /// The smallest ranks a step away from the best that were not tried and should keep the error.
    fn next(&self) -> Option<Vec<usize>> {
        let (water, best) = (self.water, self.water.of_choices(&self.best.ranks()));
        let params = water.params(&best);
        // A truncation loses a part of its tail only, and some steps lose less than others.
        let part = 0.85 * (self.best.lost() / water.lost(&best).max(1e-300)).min(1.0);
        let rise = |c: usize, from: usize, to: usize| {
            let curve = water.curve(c);
            part * (curve.tail(to) - curve.tail(from))
        };
        let left = self.eps - self.best.lost();
        let mut found: Option<((bool, f64), Vec<usize>)> = None;
        for step in steps_of(best.len()) {
            let new: Option<Vec<usize>> = best
                .iter()
                .zip(&step)
                .map(|(&r, &by)| r.checked_add_signed(by).filter(|&r| r > 0))
                .collect();
            let Some(new) = new else { continue };
            let more: f64 = (0..best.len()).map(|c| rise(c, best[c], new[c])).sum();
            let trial = water.useful(&new);
            // Those that should keep the error first, then those that may.
            let now = (more > left, water.params(&trial));
            let next = now.1 < params && found.as_ref().is_none_or(|f| now < f.0);
            if more <= left + DOUBT * self.eps && next && !self.tried.contains(&trial) {
                found = Some((now, trial));
            }
        }
        found.map(|f| f.1)
    }
}

/// Changes of ranks that are looked at: of few choices all within two steps, of more one or two choices at a time.
fn steps_of(count: usize) -> Vec<Vec<isize>> {
    if count <= 4 {
        let all = 0..5usize.pow(count as u32);
        let digit = |k: usize, c: usize| (k / 5usize.pow(c as u32) % 5) as isize - 2;
        return all.map(|k| (0..count).map(|c| digit(k, c)).collect()).collect();
    }
    let mut steps = Vec::new();
    for down in 0..count {
        for up in 0..count {
            for (less, more) in [(1, 0), (2, 0), (1, 1), (2, 1), (1, 2), (2, 2), (3, 1)] {
                if (up == down) == (more == 0) {
                    let mut step = vec![0; count];
                    step[up] = more;
                    step[down] = -less;
                    steps.push(step);
                }
            }
        }
    }
    steps
}
