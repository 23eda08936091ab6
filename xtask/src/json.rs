//! Numbers out of JSON, with errors that name the field.

use anyhow::{Context, Result};
use serde_json::Value;

/// The number at a key of an object.
pub fn number(value: &Value, key: &str) -> Result<f64> {
    value[key].as_f64().with_context(|| format!("the JSON has no number \"{key}\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_number_is_named() {
        let value = serde_json::json!({"params": 78, "rse": null});
        assert_eq!(number(&value, "params").unwrap(), 78.0);
        for key in ["rse", "phi"] {
            let error = number(&value, key).unwrap_err().to_string();
            assert_eq!(error, format!("the JSON has no number \"{key}\""));
        }
    }
}
