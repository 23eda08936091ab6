//! A table with room for very many values, of which few are ever computed.

use std::sync::OnceLock;

/// The values of a page.
const PAGE: usize = 64;

/// Values by their number, each computed once; pages are made when a value of theirs is asked for.
pub(super) struct Table<V> {
    len: usize,
    pages: Vec<OnceLock<Box<[OnceLock<V>]>>>,
}

impl<V> Table<V> {
    /// Room for so many.
    pub fn new(len: usize) -> Self {
        Table { len, pages: (0..len.div_ceil(PAGE)).map(|_| OnceLock::new()).collect() }
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A value that was computed.
    pub fn get(&self, at: usize) -> Option<&V> {
        self.pages[at / PAGE].get()?[at % PAGE].get()
    }

    /// A value, computed now where it was not before.
    pub fn get_or_init(&self, at: usize, make: impl FnOnce() -> V) -> &V {
        let page = self.pages[at / PAGE]
            .get_or_init(|| (0..PAGE).map(|_| OnceLock::new()).collect::<Vec<_>>().into());
        page[at % PAGE].get_or_init(make)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_computed_once_each_in_their_place() {
        let table: Table<usize> = Table::new(200);
        assert!(table.len() == 200 && !table.is_empty() && Table::<usize>::new(0).is_empty());
        for at in [0, 2, 63, 64, 130, 199] {
            assert_eq!(table.get(at), None);
            assert_eq!(
                (*table.get_or_init(at, || 7 * at), table.get(at)),
                (7 * at, Some(&(7 * at)))
            );
            assert_eq!(*table.get_or_init(at, || panic!("it is known")), 7 * at);
        }
        assert_eq!((table.get(1), table.get(66), table.get(194)), (None, None, None));
    }
}
