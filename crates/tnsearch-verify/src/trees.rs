//! The least parameters over all trees, whatever their topology, from the widths of cuts alone.

use crate::certificate::Cut;
use crate::{Limits, Unchecked};

/// Beyond this many modes there are too many sets.
const MOST_MODES: usize = 16;

/// What hangs on a vertex: the product of the widths of what is at it, and the parameters beyond.
type Bundle = (u128, u128);

/// The least parameters of a tree with the edge between a set of modes and the others as wide as the cut says.
///
/// A bundle on a set of modes is one bare mode `(I, 0)`; two bundles on parts of it `(w1 w2, c1 + c2)`; or a vertex with a bundle
/// behind an edge of rank r, `(r, r w + c)`. Everything later grows with both numbers, so of each set only those that no other
/// beats in both are kept. Hung up at the vertex of mode 0, a tree has `I_0 w + c` parameters for a bundle on all other modes.
pub(crate) fn least<'c>(
    dims: &[usize],
    cuts: impl Iterator<Item = &'c Cut>,
    limits: &Limits<'_>,
) -> Result<u128, Unchecked> {
    let order = dims.len();
    if order > MOST_MODES {
        return Err(Unchecked::Long { operations: 3f64.powi(order as i32) });
    }
    let sets = 1usize << (order - 1);
    let mut width = vec![1u128; sets];
    for cut in cuts {
        // The side without mode 0.
        let inside = |m: usize| cut.modes.contains(&m) != cut.modes.contains(&0);
        let set = (1..order).filter(|&m| inside(m)).fold(0usize, |set, m| set | 1 << (m - 1));
        width[set] = width[set].max(u128::from(cut.width));
    }
    let mut bundles: Vec<Vec<Bundle>> = vec![Vec::new(); sets];
    let mut held = sets as u128;
    for set in 1..sets {
        limits.poll()?;
        let mut found: Vec<Bundle> = Vec::new();
        if set.is_power_of_two() {
            found.push((dims[set.trailing_zeros() as usize + 1] as u128, 0));
        }
        let first = set & set.wrapping_neg();
        // Every part with the first mode, and what is left.
        let rest = set ^ first;
        let mut some = rest;
        while some != 0 {
            some = (some - 1) & rest;
            let (a, b) = (some | first, rest ^ some);
            for &(w1, c1) in &bundles[a] {
                for &(w2, c2) in &bundles[b] {
                    found.push((w1.saturating_mul(w2), c1.saturating_add(c2)));
                }
            }
            if found.len() > 4096 {
                limits.poll()?;
                found = best(found);
                limits.check(size_of::<Bundle>() as u128 * (held + found.len() as u128))?;
            }
        }
        let behind =
            found.iter().map(|(w, c)| width[set].saturating_mul(*w).saturating_add(*c)).min();
        found.extend(behind.map(|cost| (width[set], cost)));
        bundles[set] = best(found);
        held += bundles[set].len() as u128;
        limits.check(size_of::<Bundle>() as u128 * held)?;
    }
    let all = &bundles[sets - 1];
    let total = all.iter().map(|(w, c)| w.saturating_mul(dims[0] as u128).saturating_add(*c)).min();
    Ok(total.unwrap_or(u128::MAX))
}

/// Those that no other beats in both numbers.
fn best(mut all: Vec<Bundle>) -> Vec<Bundle> {
    all.sort_unstable();
    let mut least = u128::MAX;
    all.retain(|(_, cost)| {
        let better = *cost < least;
        least = least.min(*cost);
        better
    });
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cut(modes: &[usize], width: u64) -> Cut {
        Cut { modes: modes.to_vec(), width, tail: 0.5, slack: 0.0 }
    }

    fn of(dims: &[usize], cuts: &[Cut]) -> u128 {
        least(dims, cuts.iter(), &Limits { bytes: u64::MAX, stop: &|| false }).unwrap()
    }

    #[test]
    fn small_trees_are_as_small_as_they_can_be() {
        // Nothing is needed: one vector for each mode, joined by edges of rank 1.
        assert_eq!(of(&[4, 5], &[]), 9);
        assert_eq!(of(&[4, 5, 6], &[]), 15);
        // A matrix of rank 2 and one of full rank.
        assert_eq!(of(&[4, 5], &[cut(&[0], 2)]), 18);
        assert_eq!(of(&[4, 5], &[cut(&[1], 4)]), 20);
        // A chain 0 - 1 - 2 of ranks 2 and 3: 8 + 2 * 5 * 3 + 18.
        let cuts = [cut(&[0], 2), cut(&[2], 3), cut(&[1], 5)];
        assert_eq!(of(&[4, 5, 6], &cuts), 8 + 30 + 18);
    }

    #[test]
    fn modes_are_parted_in_every_way() {
        // Pairs behind edges of rank 2, all else wide: 2 * 2 * 2 at the vertex of mode 0, and 2 * 4 * 4 for each pair.
        for pairs in [[[1, 2], [3, 4]], [[1, 3], [2, 4]], [[1, 4], [2, 3]]] {
            let sets = (1u32..16).map(|bits| (1..5).filter(|m| bits >> (m - 1) & 1 == 1).collect());
            let width = |set: &Vec<usize>| match set.len() {
                2 if pairs.iter().any(|pair| set[..] == *pair) => 2,
                1 => 4,
                4 => 2,
                _ => 16,
            };
            let cuts: Vec<Cut> = sets.map(|set: Vec<usize>| cut(&set, width(&set))).collect();
            assert_eq!(of(&[2, 4, 4, 4, 4], &cuts), 8 + 32 + 32, "{pairs:?}");
        }
    }

    #[test]
    fn what_is_beyond_the_limits_is_not_tried() {
        let of = |dims: &[usize], bytes: u64, stop: bool| {
            least(dims, [].iter(), &Limits { bytes, stop: &|| stop })
        };
        assert_eq!(
            of(&[2; 17], u64::MAX, true),
            Err(Unchecked::Long { operations: 3f64.powi(17) })
        );
        assert_eq!(of(&[2; 16], u64::MAX, true), Err(Unchecked::Stopped));
        // Four sets, and (5, 0), (1, 5); (6, 0), (1, 6); (1, 11), (5, 6), (6, 5), (30, 0): 32 bytes each.
        assert_eq!(of(&[4, 5, 6], 384, false), Ok(15));
        assert_eq!(of(&[4, 5, 6], 383, false), Err(Unchecked::Memory { needed: 384 }));
        assert_eq!(of(&[4, 5, 6], 255, false), Err(Unchecked::Memory { needed: 256 }));
    }

    #[test]
    fn bundles_are_kept_unless_another_is_as_good_in_both() {
        let all = vec![(3, 4), (1, 9), (2, 9), (3, 5), (5, 4), (6, 1), (2, 7)];
        assert_eq!(best(all), [(1, 9), (2, 7), (3, 4), (6, 1)]);
    }
}
