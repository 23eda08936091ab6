//! One truncated SVD of an unfolding: the first modes against the others, each side one core. What whoever knows no
//! tensor networks would do.

use super::Aim;
use super::cuts::Cuts;
use crate::graph::Structure;

/// The best of the unfoldings "first modes x the others", with the rank that the aim asks for; none where none of
/// rank 1 is within it, or their spectra are too much work.
pub(super) fn unfolded(
    cuts: &Cuts<'_>,
    dims: &[usize],
    aim: Aim,
    max_rank: usize,
) -> Option<Structure> {
    let order = dims.len();
    let of = |first: usize| -> Option<(f64, usize, usize)> {
        let length = |modes: &[usize]| modes.iter().map(|&d| d as f64).product::<f64>();
        let params = length(&dims[..first]) + length(&dims[first..]);
        if matches!(aim, Aim::Params(most) if params > most) {
            return None;
        }
        let curve = cuts.curve((1 << first) - 1)?;
        let most = max_rank.min(curve.full()).max(1);
        let (value, rank) = match aim {
            Aim::Error(eps) => {
                let rank = curve.rank_within(eps).max(1);
                (rank as f64 * params, rank)
            }
            Aim::Params(budget) => {
                let rank = most.min((budget / params) as usize);
                (curve.tail(rank), rank)
            }
            Aim::Price(price) => {
                let value = |rank: usize| rank as f64 * params + price * curve.tail(rank);
                let rank = (1..=most).min_by(|&a, &b| value(a).total_cmp(&value(b)))?;
                (value(rank), rank)
            }
        };
        (rank <= most).then_some((value, first, rank))
    };
    let best = (1..order).filter_map(of).min_by(|a, b| a.0.total_cmp(&b.0))?;
    let (_, first, rank) = best;
    let groups = [(0..first).collect(), (first..order).collect::<Vec<_>>()];
    Structure::from_groups("any-tree", &groups, &[(0, 1, rank)]).ok()
}
