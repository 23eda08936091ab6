//! Where an answer differs from the recorded one.

use serde_json::Value;

/// The fields of `now` that differ from those `then` has, each as one line. Fields that `then` lacks are new, and
/// no difference; a list is one value of a given length.
pub fn differences(name: &str, then: &Value, now: &Value) -> Vec<String> {
    let inner = |key: &str| if name.is_empty() { key.into() } else { format!("{name}.{key}") };
    match (then, now) {
        (Value::Object(then), Value::Object(now)) => then
            .iter()
            .flat_map(|(key, value)| match now.get(key) {
                Some(now) => differences(&inner(key), value, now),
                None => vec![format!("{}: was {value}, is gone", inner(key))],
            })
            .collect(),
        (Value::Array(then), Value::Array(now)) if then.len() == now.len() => then
            .iter()
            .zip(now)
            .enumerate()
            .flat_map(|(k, (then, now))| differences(&format!("{name}[{k}]"), then, now))
            .collect(),
        _ if then == now => Vec::new(),
        _ => vec![format!("{name}: was {then}, is {now}")],
    }
}

/// What of an answer rounding does not decide: how the command ended, and of a search that proves its answer how
/// large that is.
pub fn robust(run: &str, answer: &Value) -> Value {
    let heuristic = ["tnls", "tnale", "tnga-plus", "tnga-star", "greedy", "annealing", "random"];
    let proven = run.starts_with("search ")
        && !heuristic.iter().any(|s| run.contains(&format!("--strategy {s}")))
        && answer["summary"]["objective"].get("max_rse").is_some()
        && answer["summary"]["certified_optimal"] == true;
    let mut names = vec!["order", "dims", "objective", "target_reached"];
    if proven {
        names.extend(["params", "phi", "certified_optimal", "proven_impossible", "lower_bound"]);
    }
    let fields = names.iter().filter_map(|&name| Some((name, answer["summary"].get(name)?)));
    let summary: Value = fields
        .map(|(name, value)| (name.to_owned(), value.clone()))
        .collect::<serde_json::Map<_, _>>()
        .into();
    serde_json::json!({"exit_code": answer["exit_code"], "summary": summary})
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_changed_digit_is_named_and_a_new_field_is_not() {
        let then = json!({"summary": {"rse": 0.1, "history": [{"loss": 2.0}, {"loss": 1.0}]}});
        let mut now = then.clone();
        now["summary"]["new"] = 7.into();
        now["summary"]["history"][1]["new"] = 7.into();
        assert!(differences("", &then, &now).is_empty());
        now["summary"]["history"][1]["loss"] = json!(1.0 + f64::EPSILON);
        let found = differences("", &then, &now);
        assert_eq!(found, ["summary.history[1].loss: was 1.0, is 1.0000000000000002"]);
        now["summary"]["history"] = json!([{"loss": 2.0}]);
        assert_eq!(differences("", &then, &now).len(), 1);
        now["summary"].as_object_mut().unwrap().remove("rse");
        assert_eq!(differences("", &then, &now)[1], "summary.rse: was 0.1, is gone");
    }

    #[test]
    fn only_a_proof_tells_the_size_where_rounding_differs() {
        let answer = json!({"exit_code": 0, "cores": "ab", "summary": {"params": 9, "rse": 0.1,
            "certified_optimal": true, "target_reached": true, "objective": {"max_rse": 0.2}}});
        let exact = robust("search x.npy --strategy exact", &answer);
        assert_eq!((&exact["summary"]["params"], exact.get("cores")), (&json!(9), None));
        for run in ["search x.npy --strategy tnls", "decompose x.npy"] {
            let other = robust(run, &answer);
            assert_eq!((other["summary"].get("params"), &other["exit_code"]), (None, &json!(0)));
            assert_eq!(other["summary"]["target_reached"], true);
        }
    }
}
