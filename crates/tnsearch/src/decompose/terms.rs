//! Which numbers of terms are fitted to find the fewest that reach an error: one way for `cp-als` and for searches.

/// The fewest terms that reach an error. They grow by an eighth (at least 1) from the fewest that can, until one reaches it,
/// then fall between the last that missed it and that one.
///
/// Where others have an answer already, the most terms that would still be smaller come right after the first: they decide
/// whether looking on is worth it.
#[derive(Debug, Clone)]
pub(crate) struct Fewest {
    low: usize,
    most: usize,
    missed: usize,
    reached: Option<usize>,
    /// The most that were worth it, and missed it.
    beyond: Option<usize>,
}

impl Fewest {
    /// From so many terms on, up to so many.
    pub fn new(low: usize, most: usize) -> Self {
        let missed = low.max(1) - 1;
        Fewest { low: low.max(1), most, missed, reached: None, beyond: None }
    }

    /// What growth comes to next.
    fn grown(&self) -> usize {
        if self.missed < self.low {
            return self.low;
        }
        (self.missed + (self.missed / 8).max(1)).min(self.most)
    }

    /// The terms to be fitted next; none when all is known. `worth`: the most terms that are better than what others have,
    /// where they have something.
    pub fn next(&self, worth: Option<usize>) -> Option<usize> {
        if let Some(reached) = self.reached {
            return Some(self.missed.midpoint(reached)).filter(|&terms| terms > self.missed);
        }
        let most = worth.unwrap_or(self.most).min(self.most);
        let terms = match (worth, self.beyond) {
            (_, Some(beyond)) => self.grown().min(most).min(beyond - 1),
            (Some(_), None) if self.missed >= self.low => most,
            _ => self.grown(),
        };
        (self.missed + 1..=most).contains(&terms).then_some(terms)
    }

    /// Whether so many terms reached the error. True where they were the most that are worth it, and missed it.
    pub fn tell(&mut self, terms: usize, reached: bool) -> bool {
        let jumped = !reached && self.reached.is_none() && terms > self.grown();
        match (reached, jumped) {
            (true, _) => self.reached = Some(terms),
            (_, true) => self.beyond = Some(terms),
            _ => self.missed = terms,
        }
        jumped
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is fitted where this many terms are needed.
    fn fitted(
        mut fewest: Fewest,
        worth: Option<usize>,
        enough: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let mut seen = Vec::new();
        while let Some(terms) = fewest.next(worth) {
            assert!(!seen.contains(&terms), "{seen:?} {terms}");
            seen.push(terms);
            fewest.tell(terms, enough(terms));
        }
        seen
    }

    #[test]
    fn terms_grow_and_fall_again() {
        let from = |low, most| Fewest::new(low, most);
        assert_eq!(fitted(from(3, 9), None, |t| t >= 3), [3]);
        assert_eq!(fitted(from(2, 9), None, |t| t >= 5), [2, 3, 4, 5]);
        assert_eq!(fitted(from(2, 4), None, |_| false), [2, 3, 4]);
        let late = fitted(from(30, 100), None, |t| t >= 35);
        assert_eq!(late, [30, 33, 37, 35, 34]);
        assert_eq!(fitted(from(5, 4), None, |_| true), Vec::<usize>::new());
    }

    #[test]
    fn the_most_that_are_worth_it_come_second() {
        let from = |low, most| Fewest::new(low, most);
        assert_eq!(fitted(from(8, 99), Some(12), |t| t >= 10), [8, 12, 10, 9]);
        assert!(fitted(from(8, 99), Some(7), |_| true).is_empty());
        // Others are tried where the most missed it by chance.
        assert_eq!(fitted(from(8, 99), Some(12), |t| t == 11), [8, 12, 9, 10, 11]);
        assert_eq!(fitted(from(8, 99), Some(9), |_| false), [8, 9]);
    }
}
