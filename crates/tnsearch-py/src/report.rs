//! What functions are given as a structure, and what they say about one.

use crate::errors::raise;
use crate::network::PyNetwork;
use crate::structure::PyStructure;
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyString;
use serde::Serialize;
use serde_json::{Value, json};
use tnsearch::graph::Structure;
use tnsearch::tensor::Reshape;

/// A structure, and what is known of the tensor it is for.
pub struct Given<'py> {
    pub structure: Structure,
    /// How the tensor was reshaped before.
    pub reshape: Option<Reshape>,
    /// The network that it comes from.
    pub network: Option<Bound<'py, PyNetwork>>,
}

impl<'py> Given<'py> {
    /// A structure from a `Structure`, a dict, JSON text, a `Network`, or something that has one of these (`result.network`).
    pub fn of(given: &Bound<'py, PyAny>) -> PyResult<Self> {
        // Itself, or what something has: one step, since who has himself has no end.
        let mut given = given.clone();
        for name in ["network", "structure"] {
            let known =
                given.is_instance_of::<PyNetwork>() || given.is_instance_of::<PyStructure>();
            let found = if known { None } else { given.getattr_opt(name)? };
            if let Some(found) = found
                && (found.is_instance_of::<PyNetwork>() || found.is_instance_of::<PyStructure>())
            {
                given = found;
            }
        }
        if let Ok(network) = given.cast::<PyNetwork>() {
            let inside = network.get();
            return Ok(Given {
                structure: inside.network.structure().clone(),
                reshape: inside.reshape.clone(),
                network: Some(network.clone()),
            });
        }
        let plain = given.is_instance_of::<PyString>() || given.hasattr("keys")?;
        if !plain && !given.is_instance_of::<PyStructure>() {
            return Err(PyTypeError::new_err(format!(
                "a {} is no structure; give a Structure, a dict, JSON text or a Network",
                given.get_type()
            )));
        }
        let made = given.py().get_type::<PyStructure>().call1((given,))?;
        let structure = made.cast::<PyStructure>()?.get().0.clone();
        Ok(Given { structure, reshape: None, network: None })
    }

    /// Refuses a tensor that the structure is not for.
    pub fn check_shape(&self, dims: &[usize]) -> PyResult<()> {
        if let Some(network) = &self.network {
            let known = network.get().network.dims();
            if known != dims {
                let text = format!("the network is for a tensor of shape {known:?}, not {dims:?}");
                return Err(PyValueError::new_err(text));
            }
        }
        self.structure.check_order(dims.len()).map_err(raise)
    }
}

/// A count that JSON can hold.
pub fn whole(n: u128) -> u64 {
    u64::try_from(n).unwrap_or(u64::MAX)
}

/// A structure and its size on a tensor.
pub fn structure_values(structure: &Structure, dims: &[usize]) -> Value {
    let phi = structure.phi(dims);
    json!({
        "structure": structure.to_file(),
        "dims": dims,
        "params": whole(structure.params(dims)),
        "phi": phi,
        "log10_cr": -phi.log10(),
    })
}

/// Adds what a summary says.
pub fn add(values: &mut Value, summary: &impl Serialize) -> PyResult<()> {
    let more = serde_json::to_value(summary).map_err(|e| PyValueError::new_err(e.to_string()))?;
    if let (Some(all), Value::Object(more)) = (values.as_object_mut(), more) {
        all.extend(more);
    }
    Ok(())
}
