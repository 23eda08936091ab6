//! Trees in layers.

use super::layout::{STEP, neighbours};
use tnsearch::graph::Template;

/// The distance between neighbouring leaves.
const LEAVES: f64 = 0.68 * STEP;

/// A tree with its root on top: leaves side by side, each other vertex above the middle of its children.
pub(super) fn rooted(template: &Template, root: usize) -> Vec<(f64, f64)> {
    let n = template.vertices();
    let mut place = vec![(0.0, 0.0); n];
    let mut next = 0.0;
    // On the way down the depths, on the way up the middles; a stack, because a path can be deep.
    let mut stack = vec![(root, usize::MAX, 0usize, false)];
    while let Some((v, parent, depth, done)) = stack.pop() {
        let children: Vec<usize> = neighbours(template, v).filter(|&w| w != parent).collect();
        if children.is_empty() {
            place[v] = (next, depth as f64 * 0.95 * STEP);
            next += LEAVES;
        } else if done {
            let first = children.first().map_or(0.0, |&c| place[c].0);
            let last = children.last().map_or(0.0, |&c| place[c].0);
            place[v] = ((first + last) / 2.0, depth as f64 * 0.95 * STEP);
        } else {
            stack.push((v, parent, depth, true));
            stack.extend(children.into_iter().rev().map(|c| (c, v, depth + 1, false)));
        }
    }
    place
}

/// A vertex from which no other is farther than need be.
pub(super) fn centre(template: &Template) -> usize {
    let n = template.vertices();
    let farthest = |v: usize| super::stress::distances(template, v).into_iter().max().unwrap_or(0);
    (0..n).min_by_key(|&v| (farthest(v), v)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn children_stand_below_and_around_their_parent() {
        let tree = Template::tree(11).unwrap();
        let place = rooted(&tree, 0);
        for &(parent, child) in tree.edges() {
            assert!(place[child].1 > place[parent].1);
        }
        for v in 0..5 {
            let (left, right) = (place[2 * v + 1].0, place[2 * v + 2].0);
            assert!((place[v].0 - (left + right) / 2.0).abs() < 1e-9);
        }
    }

    #[test]
    fn the_centre_of_a_path_is_its_middle() {
        assert_eq!(centre(&Template::path(7).unwrap()), 3);
        assert_eq!(centre(&Template::star(5).unwrap()), 0);
    }
}
