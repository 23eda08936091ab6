//! What came of each claim.

use crate::Verdict;
use serde::Serialize;
use serde_json::Value;

/// One claim.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Finding {
    /// The field that makes it, or what else is claimed.
    pub claim: String,
    /// What came of it.
    pub verdict: Verdict,
    /// What was claimed, and what was found; null where that is no single value.
    pub claimed: Value,
    /// What was found.
    pub found: Value,
    /// More in words.
    pub why: Option<String>,
}

/// What came of all claims together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Every claim was checked, and holds.
    Holds,
    /// Some claim does not hold, or two contradict each other.
    DoesNotHold,
    /// Nothing wrong was found, but not every claim was checked.
    NotChecked,
}

/// All claims, in the order in which they were looked at.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Findings(Vec<Finding>);

impl Findings {
    /// A claim with what was claimed and what was found.
    pub(super) fn compared(
        &mut self,
        claim: &str,
        claimed: impl Into<Value>,
        found: impl Into<Value>,
        holds: bool,
    ) {
        self.said(claim, claimed, found, holds, None);
    }

    /// The same with more in words.
    pub(super) fn said(
        &mut self,
        claim: &str,
        claimed: impl Into<Value>,
        found: impl Into<Value>,
        holds: bool,
        why: Option<String>,
    ) {
        let verdict = if holds { Verdict::Holds } else { Verdict::DoesNotHold };
        self.push(claim, verdict, claimed.into(), found.into(), why);
    }

    /// A claim that others contradict.
    pub(super) fn refused(&mut self, claim: &str, claimed: &Value, why: impl Into<String>) {
        self.push(claim, Verdict::DoesNotHold, claimed.clone(), Value::Null, Some(why.into()));
    }

    /// A claim that was not checked.
    pub(super) fn not_checked(
        &mut self,
        claim: &str,
        claimed: impl Into<Value>,
        why: impl Into<String>,
    ) {
        self.push(claim, Verdict::NotChecked, claimed.into(), Value::Null, Some(why.into()));
    }

    /// What is on record only.
    pub(super) fn recorded(&mut self, claim: &str, claimed: &Value, why: &str) {
        self.push(claim, Verdict::Recorded, claimed.clone(), Value::Null, Some(why.to_owned()));
    }

    fn push(
        &mut self,
        claim: &str,
        verdict: Verdict,
        claimed: Value,
        found: Value,
        why: Option<String>,
    ) {
        self.0.push(Finding { claim: claim.to_owned(), verdict, claimed, found, why });
    }

    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.0.iter()
    }

    /// Whether something was said about a claim.
    pub fn has(&self, claim: &str) -> bool {
        self.0.iter().any(|f| f.claim == claim)
    }

    /// Whether a claim came out so.
    pub fn is(&self, claim: &str, verdict: Verdict) -> bool {
        self.0.iter().any(|f| f.claim == claim && f.verdict == verdict)
    }

    /// How many came out so.
    pub fn count(&self, verdict: Verdict) -> usize {
        self.0.iter().filter(|f| f.verdict == verdict).count()
    }

    /// What came of all of them. What is on record only counts as unchecked where that is asked for.
    pub fn outcome(&self, strict: bool) -> Outcome {
        let left = self.count(Verdict::NotChecked);
        let recorded = if strict { self.count(Verdict::Recorded) } else { 0 };
        match (self.count(Verdict::DoesNotHold), left + recorded) {
            (0, 0) => Outcome::Holds,
            (0, _) => Outcome::NotChecked,
            _ => Outcome::DoesNotHold,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_outcome_tells_the_three_apart() {
        let mut found = Findings::default();
        assert_eq!(found.outcome(true), Outcome::Holds);
        found.compared("a", 1, 1, true);
        found.recorded("seconds", &Value::Null, "time");
        assert_eq!(
            (found.outcome(false), found.outcome(true)),
            (Outcome::Holds, Outcome::NotChecked)
        );
        assert_eq!((found.count(Verdict::Holds), found.count(Verdict::Recorded)), (1, 1));
        found.not_checked("b", 2, "too large");
        assert_eq!(found.outcome(false), Outcome::NotChecked);
        assert!(found.has("b") && !found.has("c") && found.is("b", Verdict::NotChecked));
        assert!(!found.is("b", Verdict::Holds) && !found.is("a", Verdict::NotChecked));
        found.refused("c", &Value::Null, "no");
        assert_eq!(found.outcome(false), Outcome::DoesNotHold);
        found.said("d", 1, 2, false, None);
        assert_eq!((found.count(Verdict::DoesNotHold), found.iter().count()), (2, 5));
    }
}
