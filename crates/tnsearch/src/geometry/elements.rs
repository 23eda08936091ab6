//! Going through a group one element at a time.

/// All symmetries of a graph, the identity first. Each is a product of one representative of each level's
/// orbit, and each product is another symmetry.
#[derive(Debug, Clone)]
pub struct Elements {
    /// For each base vertex a symmetry that maps it to each point of its orbit, itself first.
    levels: Vec<Vec<Vec<usize>>>,
    at: Vec<usize>,
    identity: Vec<usize>,
    done: bool,
}

impl Elements {
    pub(super) fn new(
        vertices: usize,
        base: &[usize],
        generators: &[(usize, Vec<usize>)],
    ) -> Elements {
        let identity: Vec<usize> = (0..vertices).collect();
        let representatives = |(level, &point): (usize, &usize)| {
            let mut found = vec![identity.clone()];
            let mut seen = vec![false; vertices];
            seen[point] = true;
            let mut next = 0;
            while next < found.len() {
                for (_, p) in generators.iter().filter(|g| g.0 >= level) {
                    let image = p[found[next][point]];
                    if !std::mem::replace(&mut seen[image], true) {
                        found.push(compose(p, &found[next]));
                    }
                }
                next += 1;
            }
            found
        };
        let levels: Vec<_> = base.iter().enumerate().map(representatives).collect();
        Elements { at: vec![0; levels.len()], levels, identity, done: false }
    }
}

impl Iterator for Elements {
    type Item = Vec<usize>;

    fn next(&mut self) -> Option<Vec<usize>> {
        if self.done {
            return None;
        }
        let chosen = self.levels.iter().zip(&self.at).rev().filter(|(_, k)| **k > 0);
        let element = chosen.fold(self.identity.clone(), |p, (level, &k)| compose(&level[k], &p));
        self.done = true;
        for (k, level) in self.at.iter_mut().zip(&self.levels) {
            *k += 1;
            if *k < level.len() {
                self.done = false;
                break;
            }
            *k = 0;
        }
        Some(element)
    }
}

/// First `q`, then `p`.
pub(super) fn compose(p: &[usize], q: &[usize]) -> Vec<usize> {
    q.iter().map(|&v| p[v]).collect()
}

/// The inverse of a permutation.
pub(super) fn inverse(p: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; p.len()];
    p.iter().enumerate().for_each(|(v, &w)| inverse[w] = v);
    inverse
}
