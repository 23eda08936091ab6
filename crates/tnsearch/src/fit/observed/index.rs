//! Which rows of two tables meet in an entry of the data.
//!
//! A table has one row per combination of indices of some modes, but only for those that occur among the entries. Where
//! the modes of two tables are joined, the pairs of rows that occur are the combinations of all these modes.

/// The row of a table that belongs to each entry.
#[derive(Debug, Clone)]
pub(super) struct Rows {
    /// One row number per entry.
    pub of_entry: Vec<u32>,
    /// Rows in all; numbers go from 0.
    pub count: usize,
}

impl Rows {
    /// One row for all entries.
    pub fn single(entries: usize) -> Self {
        Rows { of_entry: vec![0; entries], count: 1 }
    }
}

/// The pairs of rows of a *fixed* and a *stacked* table that occur, grouped by the fixed one; the result has one row per
/// pair, in this order.
#[derive(Debug)]
pub(super) struct Pairs {
    /// Whether the fixed table is the left one.
    pub left_is_fixed: bool,
    /// The fixed row of each group, and where the group begins in `stacked`.
    pub groups: Vec<(u32, u32)>,
    /// The stacked rows.
    pub stacked: Vec<u32>,
}

/// Direct addresses are used up to this many times the number of entries (and some).
const ROOM: usize = 4;

impl Pairs {
    /// The pairs that occur among the first `entries` entries, and the rows of the result.
    pub fn new(left: &Rows, right: &Rows, entries: usize) -> (Pairs, Rows) {
        // The table with fewer rows is the fixed one: then its rows meet many of the other.
        let left_is_fixed = left.count <= right.count;
        let (fixed, stacked) = if left_is_fixed { (left, right) } else { (right, left) };
        let keys = fixed.of_entry[..entries].iter().zip(&stacked.of_entry[..entries]);
        let keys = keys.map(|(&f, &s)| f as usize * stacked.count + s as usize);
        let every = fixed.count.saturating_mul(stacked.count);
        let (found, of_entry) = match every <= ROOM * entries + (1 << 16) {
            true => addressed(keys, every),
            false => sorted(keys.collect()),
        };
        let mut groups: Vec<(u32, u32)> = Vec::new();
        let mut rows = Vec::with_capacity(found.len());
        for (place, key) in found.iter().enumerate() {
            let fixed = (key / stacked.count) as u32;
            if groups.last().is_none_or(|last| last.0 != fixed) {
                groups.push((fixed, place as u32));
            }
            rows.push((key % stacked.count) as u32);
        }
        let count = found.len();
        (Pairs { left_is_fixed, groups, stacked: rows }, Rows { of_entry, count })
    }
}

/// The different keys, rising, and the place of each entry's key among them; all keys are below `every`.
fn addressed(keys: impl Iterator<Item = usize> + Clone, every: usize) -> (Vec<usize>, Vec<u32>) {
    let mut place = vec![u32::MAX; every];
    keys.clone().for_each(|key| place[key] = 0);
    let mut found = Vec::new();
    for (key, place) in place.iter_mut().enumerate() {
        if *place == 0 {
            *place = found.len() as u32;
            found.push(key);
        }
    }
    let of_entry = keys.map(|key| place[key]).collect();
    (found, of_entry)
}

/// The same for keys far apart.
fn sorted(keys: Vec<usize>) -> (Vec<usize>, Vec<u32>) {
    let mut found = keys.clone();
    found.sort_unstable();
    found.dedup();
    let place = |key: &usize| found.binary_search(key).unwrap_or_else(|at| at) as u32;
    let of_entry = keys.iter().map(place).collect();
    (found, of_entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_are_found_by_address_and_by_sorting_alike() {
        let keys = [7, 3, 3, 9, 0, 7, 8];
        let (found, of_entry) = addressed(keys.into_iter(), 10);
        assert_eq!(found, [0, 3, 7, 8, 9]);
        assert_eq!(of_entry, [2, 1, 1, 4, 0, 2, 3]);
        assert_eq!(sorted(keys.to_vec()), (found, of_entry));
    }

    #[test]
    fn each_entry_finds_its_pair() {
        let left = Rows { of_entry: vec![0, 1, 1, 0, 2], count: 3 };
        let right = Rows { of_entry: vec![1, 1, 0, 1, 0], count: 2 };
        let (pairs, rows) = Pairs::new(&left, &right, 4);
        assert!(!pairs.left_is_fixed);
        assert_eq!(pairs.groups, [(0, 0), (1, 1)]);
        assert_eq!(pairs.stacked, [1, 0, 1]);
        assert_eq!((rows.of_entry, rows.count), (vec![1, 2, 0, 1], 3));
    }
}
