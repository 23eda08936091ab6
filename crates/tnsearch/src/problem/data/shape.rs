//! A tensor of which only the shape is known: what structures are proposed for that somebody else evaluates.

use super::{Holes, Inner, Shrunk, Target};
use crate::tensor::{AnyTensor, Tensor, TensorError};
use std::sync::Arc;

impl Inner {
    /// A tensor with entries.
    pub(super) fn new(
        tensor: Arc<AnyTensor>,
        (norm_squared, exponent): (f64, i32),
        shrunk: Option<Shrunk>,
        holes: Option<Holes>,
        beside: u64,
    ) -> Self {
        Inner { tensor, norm_squared, exponent, shrunk, holes, beside, shape: None }
    }
}

impl Target {
    /// A tensor without entries. Structures can be proposed for it and their parameters counted, whatever its size; errors
    /// come from elsewhere ([`Search::executor`](crate::Search::executor)), and a fit is refused.
    ///
    /// ```
    /// use tnsearch::problem::Target;
    /// let x = Target::of_shape(vec![4; 20]).unwrap();
    /// assert_eq!((x.entries(), x.held_bytes(), x.has_entries()), (1 << 40, 8, false));
    /// assert!(Target::of_shape(vec![4]).is_err() && Target::of_shape(vec![4, 0]).is_err());
    /// ```
    pub fn of_shape(dims: Vec<usize>) -> Result<Self, TensorError> {
        if let Some(axis) = dims.iter().position(|&d| d == 0) {
            return Err(TensorError::Empty { axis, dims });
        }
        // One entry in the place of all: nothing reads it.
        let stand_in = Tensor::new(vec![1; dims.len()], vec![1.0])?;
        stand_in.check().map_err(|e| match e {
            TensorError::Order { order, .. } => TensorError::Order { order, dims: dims.clone() },
            other => other,
        })?;
        let tensor = Arc::new(stand_in.into());
        Ok(Target(Arc::new(Inner {
            shape: Some(dims),
            ..Inner::new(tensor, (1.0, 0), None, None, 0)
        })))
    }

    /// Whether there are entries to fit networks to.
    pub fn has_entries(&self) -> bool {
        self.0.shape.is_none()
    }
}
