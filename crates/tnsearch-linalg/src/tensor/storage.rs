//! Where the entries of a tensor are: in memory of its own, or in memory that somebody else holds.

use serde::{Serialize, Serializer};
use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Entries that are held elsewhere (a NumPy array, a mapped file) and stay as they are.
pub type SharedEntries<T> = Arc<dyn AsRef<[T]> + Send + Sync>;

/// The entries of a tensor; shared ones are copied when they are to be changed.
#[derive(Clone)]
pub(super) enum Storage<T> {
    Owned(Vec<T>),
    Shared(SharedEntries<T>),
}

impl<T: Clone> Storage<T> {
    /// The entries, to be changed.
    pub fn to_mut(&mut self) -> &mut Vec<T> {
        if let Storage::Shared(shared) = self {
            *self = Storage::Owned((**shared).as_ref().to_vec());
        }
        match self {
            Storage::Owned(entries) => entries,
            Storage::Shared(_) => unreachable!("just copied"),
        }
    }

    /// The entries themselves.
    pub fn into_vec(self) -> Vec<T> {
        match self {
            Storage::Owned(entries) => entries,
            Storage::Shared(shared) => (*shared).as_ref().to_vec(),
        }
    }
}

impl<T> Deref for Storage<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Storage::Owned(entries) => entries,
            Storage::Shared(shared) => (**shared).as_ref(),
        }
    }
}

impl<T> From<Vec<T>> for Storage<T> {
    fn from(entries: Vec<T>) -> Self {
        Storage::Owned(entries)
    }
}

impl<T: fmt::Debug> fmt::Debug for Storage<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: PartialEq> PartialEq for Storage<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Serialize> Serialize for Storage<T> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        (**self).serialize(serializer)
    }
}

#[cfg(test)]
mod tests {
    use crate::tensor::Tensor;
    use std::sync::Arc;

    #[test]
    fn shared_entries_are_read_in_place_and_copied_when_changed() {
        let held: Arc<Vec<f64>> = Arc::new(vec![1.0, 2.0, 3.0, 4.0]);
        let shared = Tensor::shared(vec![2, 2], held.clone()).unwrap();
        assert_eq!(shared.data().as_ptr(), held.as_ptr());
        let owned = Tensor::new(vec![2, 2], held.to_vec()).unwrap();
        assert_eq!(shared, owned);
        assert_eq!(serde_json::to_string(&shared).unwrap(), serde_json::to_string(&owned).unwrap());
        let mut changed = shared.clone();
        changed.data_mut()[0] = 9.0;
        assert_eq!((changed.data()[0], held[0], shared.data()[0]), (9.0, 1.0, 1.0));
        assert_eq!(shared.into_data(), *held);
        assert!(Tensor::shared(vec![3], held).is_err());
    }
}
