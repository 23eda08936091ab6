//! What came of each claim.

use crate::commands::describe::line;
use crate::text::number;
use serde::Serialize;
use serde_json::Value;
use tnsearch_verify::Verdict;

/// One claim.
#[derive(Debug, Serialize)]
struct Finding {
    claim: &'static str,
    verdict: Verdict,
    /// What was claimed, and what was found; null where that is no single value.
    claimed: Value,
    found: Value,
    /// More in words.
    why: Option<String>,
}

/// All claims, in the order in which they were looked at.
#[derive(Debug, Default, Serialize)]
#[serde(transparent)]
pub struct Findings(Vec<Finding>);

impl Findings {
    /// A claim with what was claimed and what was found.
    pub fn compared(
        &mut self,
        claim: &'static str,
        claimed: impl Into<Value>,
        found: impl Into<Value>,
        holds: bool,
    ) {
        self.said(claim, claimed, found, holds, None);
    }

    /// The same with more in words.
    pub fn said(
        &mut self,
        claim: &'static str,
        claimed: impl Into<Value>,
        found: impl Into<Value>,
        holds: bool,
        why: Option<String>,
    ) {
        let verdict = if holds { Verdict::Holds } else { Verdict::DoesNotHold };
        self.0.push(Finding { claim, verdict, claimed: claimed.into(), found: found.into(), why });
    }

    /// A claim that was not checked.
    pub fn not_checked(&mut self, claim: &'static str, claimed: impl Into<Value>, why: String) {
        let (claimed, found) = (claimed.into(), Value::Null);
        let verdict = Verdict::NotChecked;
        self.0.push(Finding { claim, verdict, claimed, found, why: Some(why) });
    }

    /// Whether some claim came out so.
    pub fn any(&self, verdict: Verdict) -> bool {
        self.0.iter().any(|f| f.verdict == verdict)
    }

    /// Whether a claim came out so.
    pub fn is(&self, claim: &str, verdict: Verdict) -> bool {
        self.0.iter().any(|f| f.claim == claim && f.verdict == verdict)
    }

    /// How many hold, do not hold, and were not checked.
    pub fn counts(&self) -> (usize, usize, usize) {
        let count = |verdict| self.0.iter().filter(|f| f.verdict == verdict).count();
        (count(Verdict::Holds), count(Verdict::DoesNotHold), count(Verdict::NotChecked))
    }

    /// A line for each.
    pub fn lines(&self, out: &mut String) {
        for finding in &self.0 {
            let (claimed, found) = (shown(&finding.claimed), shown(&finding.found));
            let why = finding.why.as_deref();
            let more = why.map_or(String::new(), |why| format!(" ({why})"));
            let said = match finding.verdict {
                Verdict::Holds if finding.claimed.is_null() => match why {
                    Some(why) => format!("holds: {why}"),
                    None => "holds".to_owned(),
                },
                Verdict::Holds => format!("holds: {claimed}{more}"),
                Verdict::DoesNotHold if finding.claimed.is_null() => {
                    format!("does NOT hold: {}", why.unwrap_or("it is wrong"))
                }
                Verdict::DoesNotHold => {
                    format!("does NOT hold: claimed {claimed}, found {found}{more}")
                }
                Verdict::NotChecked => format!("not checked: {}", why.unwrap_or("no reason")),
            };
            line(out, &format!("{:<19}", finding.claim), tnsearch_io::text::shown(&said));
        }
    }
}

/// A value for people.
fn shown(value: &Value) -> String {
    match value {
        Value::Number(n) if !n.is_u64() && !n.is_i64() => match n.as_f64() {
            Some(x) if x.abs() < 1e-3 || x.abs() >= 1e5 => format!("{x:.6e}"),
            Some(x) => format!("{x}"),
            None => number(f64::NAN),
        },
        Value::Null => "nothing".to_owned(),
        // A file may hold anything, and a terminal obeys it.
        Value::String(text) => tnsearch_io::text::shown(text),
        other => {
            let mut text = other.to_string();
            if text.chars().count() > 120 {
                text = text.chars().take(117).chain("...".chars()).collect();
            }
            text
        }
    }
}
