//! The graphs that the names of templates stand for (`docs/templates.md`), written once more.

/// Which vertices carry a mode, and the edges, sorted, of a named template of so many modes; none where the name is not
/// known here.
///
/// ```
/// let (external, edges) = tnsearch_verify::family("tucker", 3).unwrap();
/// assert_eq!((external, edges), (vec![true, true, true, false], vec![[0, 3], [1, 3], [2, 3]]));
/// ```
pub fn family(name: &str, order: usize) -> Option<(Vec<bool>, Vec<[usize; 2]>)> {
    let line = || (1..order).map(|v| [v - 1, v]);
    let mut edges: Vec<[usize; 2]> = match name {
        "path" => line().collect(),
        "ring" if order > 2 => line().chain([[0, order - 1]]).collect(),
        "ring" => line().collect(),
        "star" => (1..order).map(|v| [0, v]).collect(),
        "tree" => (1..order).map(|v| [(v - 1) / 2, v]).collect(),
        "complete" | "any" => {
            (0..order).flat_map(|u| (u + 1..order).map(move |v| [u, v])).collect()
        }
        "tucker" => (0..order).map(|v| [v, order]).collect(),
        "ht" => {
            let (mut edges, mut next) = (Vec::new(), order);
            halves(0, order, &mut next, &mut edges);
            edges
        }
        _ => {
            let (rows, columns) = name.strip_prefix("peps:")?.split_once('x')?;
            let (rows, columns): (usize, usize) = (rows.parse().ok()?, columns.parse().ok()?);
            if rows.checked_mul(columns)? != order {
                return None;
            }
            let across = (0..order).filter(|v| (v + 1) % columns != 0).map(|v| [v, v + 1]);
            let down = (0..order - columns.min(order)).map(|v| [v, v + columns]);
            across.chain(down).collect()
        }
    };
    edges.sort_unstable();
    let vertices = edges.iter().map(|e| e[1] + 1).max().unwrap_or(1).max(order);
    Some(((0..vertices).map(|v| v < order).collect(), edges))
}

/// The vertex of a range of leaves; each range of two or more is halved, the left half gets the odd one.
fn halves(from: usize, to: usize, next: &mut usize, edges: &mut Vec<[usize; 2]>) -> usize {
    if to - from < 2 {
        return from;
    }
    let middle = from + (to - from).div_ceil(2);
    let (left, right) = (halves(from, middle, next, edges), halves(middle, to, next, edges));
    let own = *next;
    *next += 1;
    edges.extend([[left, own], [right, own]]);
    own
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_stands_for_its_graph() {
        let cases: [(&str, usize, usize, &[[usize; 2]]); 17] = [
            ("path", 1, 1, &[]),
            ("path", 4, 4, &[[0, 1], [1, 2], [2, 3]]),
            ("ring", 2, 2, &[[0, 1]]),
            ("ring", 3, 3, &[[0, 1], [0, 2], [1, 2]]),
            ("ring", 4, 4, &[[0, 1], [0, 3], [1, 2], [2, 3]]),
            ("star", 4, 4, &[[0, 1], [0, 2], [0, 3]]),
            ("tree", 6, 6, &[[0, 1], [0, 2], [1, 3], [1, 4], [2, 5]]),
            ("complete", 3, 3, &[[0, 1], [0, 2], [1, 2]]),
            ("any", 4, 4, &[[0, 1], [0, 2], [0, 3], [1, 2], [1, 3], [2, 3]]),
            ("tucker", 2, 3, &[[0, 2], [1, 2]]),
            ("ht", 1, 1, &[]),
            ("ht", 2, 3, &[[0, 2], [1, 2]]),
            ("ht", 5, 9, &[[0, 5], [1, 5], [2, 6], [3, 7], [4, 7], [5, 6], [6, 8], [7, 8]]),
            ("peps:2x3", 6, 6, &[[0, 1], [0, 3], [1, 2], [1, 4], [2, 5], [3, 4], [4, 5]]),
            ("peps:3x2", 6, 6, &[[0, 1], [0, 2], [1, 3], [2, 3], [2, 4], [3, 5], [4, 5]]),
            ("peps:1x3", 3, 3, &[[0, 1], [1, 2]]),
            ("peps:3x1", 3, 3, &[[0, 1], [1, 2]]),
        ];
        for (name, order, vertices, edges) in cases {
            let (external, found) = family(name, order).unwrap();
            assert_eq!(found, edges, "{name} {order}");
            let carries: Vec<bool> = (0..vertices).map(|v| v < order).collect();
            assert_eq!(external, carries, "{name} {order}");
        }
        for (name, order) in
            [("mera", 4), ("peps:2", 2), ("peps:2xa", 4), ("peps:2x3", 5), ("peps:2x3", 7)]
        {
            assert_eq!(family(name, order), None, "{name}");
        }
        assert_eq!(family(&format!("peps:{}x{}", usize::MAX, 3), 3), None);
    }
}
