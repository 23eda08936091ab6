//! What came of each claim, for people.

use crate::commands::describe::line;
use crate::text::number;
use serde_json::Value;
use tnsearch_verify::Verdict;
use tnsearch_verify::claims::{Finding, Findings};

/// A line for each claim, one for what is on record, and how many came out how.
pub fn write(out: &mut String, claims: &Findings) {
    for finding in claims.iter().filter(|f| f.verdict != Verdict::Recorded) {
        // A field of a file may be called anything, and a terminal obeys it.
        let claim = tnsearch_io::text::shown(&finding.claim);
        line(out, &format!("{claim:<19}"), tnsearch_io::text::shown(&said(finding)));
    }
    let recorded: Vec<&str> = claims
        .iter()
        .filter(|f| f.verdict == Verdict::Recorded)
        .map(|f| f.claim.as_str())
        .collect();
    if !recorded.is_empty() {
        line(out, &format!("{:<19}", "on record only"), recorded.join(", "));
    }
    let [held, failed, left] =
        [Verdict::Holds, Verdict::DoesNotHold, Verdict::NotChecked].map(|v| claims.count(v));
    let left = if left > 0 { format!(", {left} not checked") } else { String::new() };
    let said = match failed {
        0 => format!("{held} claims hold{left}"),
        1 => format!("1 claim does NOT hold; {held} hold{left}"),
        n => format!("{n} claims do NOT hold; {held} hold{left}"),
    };
    line(out, "verdict", said);
}

fn said(finding: &Finding) -> String {
    let (claimed, found) = (shown(&finding.claimed), shown(&finding.found));
    let why = finding.why.as_deref();
    let more = why.map_or(String::new(), |why| format!(" ({why})"));
    match finding.verdict {
        Verdict::Holds if finding.claimed.is_null() => match why {
            Some(why) => format!("holds: {why}"),
            None => "holds".to_owned(),
        },
        Verdict::Holds => format!("holds: {claimed}{more}"),
        Verdict::DoesNotHold if finding.found.is_null() => {
            format!("does NOT hold: {}", why.unwrap_or("it is wrong"))
        }
        Verdict::DoesNotHold => format!("does NOT hold: claimed {claimed}, found {found}{more}"),
        _ => format!("not checked: {}", why.unwrap_or("no reason")),
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
