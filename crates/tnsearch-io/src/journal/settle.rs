//! First lines of two times, made comparable: what an older version did not say, and which of several differences is to
//! blame for the others.

use super::header::{SAME_FITS, VERSION};
use serde_json::{Map, Value, json};
use tnsearch::search::{StrategySpec, WalkSettings};

/// Settings that others follow from, the first to blame first: where one differs, the rest is not looked at.
const FIRST: [&str; 8] =
    ["version", "tnsearch", "reshaped", "data", "measure", "direct", "template", "strategy"];

/// Strategies that follow from the template where none is asked for; the template follows from the others.
pub(super) const OF_TEMPLATE: [&str; 4] = ["auto", "walk", "formats", "trees"];

/// Makes a first line of an equal program or an older version comparable with that of now.
pub(super) fn settle(then: &mut Map<String, Value>, now: &Value) {
    let equal =
        then.get("tnsearch").and_then(Value::as_str).is_some_and(|v| SAME_FITS.contains(&v));
    let version = then.get("version").and_then(Value::as_u64);
    let older = |than: u64| version.is_some_and(|v| (1..than).contains(&v));
    // Left out once, where they had these values.
    for (name, value) in
        [("reshaped", Value::Null), ("direct", false.into()), ("shrink", true.into())]
    {
        then.entry(name).or_insert(value);
    }
    let same = [
        ("tnsearch", equal),
        ("version", older(VERSION)),
        ("searched", older(3)),
        ("max_rank", older(5)),
        ("fingerprint", older(5)),
    ];
    let of_now = |name: &str| now.get(name).cloned().unwrap_or_default();
    for (name, _) in same.into_iter().filter(|(_, same)| *same) {
        then.insert(name.to_owned(), of_now(name));
    }
    if let Some(data) = then.get_mut("data").and_then(Value::as_object_mut).filter(|_| older(5)) {
        for name in ["dtype", "observed"] {
            data.insert(name.to_owned(), now["data"][name].clone());
        }
    }
    // Until 0.3.0 the default search was recorded with the settings of tnls, and its walks had their defaults.
    let settings = then.get("settings").cloned().unwrap_or_default();
    let walks = now["settings"].get("steps").is_some() && settings.get("steps").is_none();
    if then.get("strategy").is_some_and(|s| *s == StrategySpec::default().name) && walks {
        let mut walked = json!(WalkSettings::default());
        walked["max_rank"] = settings["max_rank"].clone();
        then.insert("settings".to_owned(), walked);
    }
    let of_then =
        |then: &Map<String, Value>, name: &str| then.get(name).cloned().unwrap_or_default();
    let asked = |strategy: Value| !OF_TEMPLATE.contains(&strategy.as_str().unwrap_or_default());
    let mut first = FIRST;
    if asked(of_then(then, "strategy")) || asked(of_now("strategy")) {
        first[6..].reverse();
    }
    let blamed = first.into_iter().find(|name| of_then(then, name) != of_now(name));
    if let (Some(name), Some(fields)) = (blamed, now.as_object()) {
        let value = of_then(then, name);
        *then = fields.clone();
        then.insert(name.to_owned(), value);
    }
    // Another method has other defaults.
    let method = then.get("fit").and_then(|fit| fit.get("method")).cloned();
    if let Some(method) = method.filter(|method| *method != now["fit"]["method"]) {
        let mut fit = now["fit"].clone();
        fit["method"] = method;
        then.insert("fit".to_owned(), fit);
    }
}
