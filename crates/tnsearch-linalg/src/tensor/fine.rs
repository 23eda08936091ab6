//! How the modes of a tensor and those it was reshaped to hang together.

use super::{Reshape, unflatten};

/// Finer modes of which both shapes are made: each mode of either is a list of them, the most significant first.
#[derive(Debug, Clone, PartialEq)]
pub struct Fine {
    /// The length of each.
    pub lengths: Vec<usize>,
    /// What the modes of the tensor's own (padded) shape are made of.
    pub own: Vec<Vec<usize>>,
    /// What the modes of the other shape are made of.
    pub other: Vec<Vec<usize>>,
}

impl Fine {
    /// The modes themselves, where nothing was reshaped.
    pub fn same(dims: &[usize]) -> Self {
        let each: Vec<Vec<usize>> = (0..dims.len()).map(|n| vec![n]).collect();
        Fine { lengths: dims.to_vec(), own: each.clone(), other: each }
    }
}

impl Reshape {
    /// The finer modes of which both shapes are made; none where there are no such, as for 2 x 3 and 3 x 2.
    pub fn fine(&self) -> Option<Fine> {
        if let Some(digits) = self.digit_sides() {
            let (count, rest) = (digits.len(), &self.padded_shape()[2..]);
            let lengths = digits.iter().flatten().chain(rest).copied().collect();
            let every = |of: usize| (0..count).map(|k| 2 * k + of).collect::<Vec<_>>();
            let rest: Vec<Vec<usize>> = (0..rest.len()).map(|k| vec![2 * count + k]).collect();
            let pairs = (0..count).map(|k| vec![2 * k, 2 * k + 1]);
            let own = [every(0), every(1)].into_iter().chain(rest.iter().cloned()).collect();
            return Some(Fine { lengths, own, other: pairs.chain(rest).collect() });
        }
        let (from, to) = (self.padded_shape(), self.to());
        let mut fine = Fine {
            lengths: Vec::new(),
            own: vec![Vec::new(); from.len()],
            other: vec![Vec::new(); to.len()],
        };
        // From the mode whose index runs fastest on.
        let fastest = |count: usize| -> Vec<usize> {
            let all = 0..count;
            if self.column_major() { all.collect() } else { all.rev().collect() }
        };
        let (mut of_own, mut of_other) =
            (fastest(from.len()).into_iter(), fastest(to.len()).into_iter());
        let (mut a, mut b) = ((0, 1), (0, 1));
        loop {
            while a.1 == 1 {
                let Some(mode) = of_own.next() else { break };
                a = (mode, from[mode]);
            }
            while b.1 == 1 {
                let Some(mode) = of_other.next() else { break };
                b = (mode, to[mode]);
            }
            let step = a.1.min(b.1);
            if step <= 1 {
                break;
            }
            if a.1 % step != 0 || b.1 % step != 0 {
                return None;
            }
            let label = fine.lengths.len();
            fine.lengths.push(step);
            fine.own[a.0].push(label);
            fine.other[b.0].push(label);
            (a.1, b.1) = (a.1 / step, b.1 / step);
        }
        // The least significant came first.
        fine.own.iter_mut().chain(&mut fine.other).for_each(|labels| labels.reverse());
        Some(fine)
    }

    /// Where the entry at an index of the tensor's own shape is in the other one.
    ///
    /// ```
    /// use tnsearch_linalg::tensor::Reshape;
    /// let split = Reshape::shape(&[6, 2], vec![2, 3, 2], false).unwrap().unwrap();
    /// assert_eq!(split.index_of(&[4, 1]), [1, 1, 1]);
    /// ```
    ///
    /// # Panics
    /// If there is no such entry.
    pub fn index_of(&self, own: &[usize]) -> Vec<usize> {
        let sides = self.padded_shape();
        assert!(
            own.len() == sides.len() && own.iter().zip(self.from()).all(|(i, d)| i < d),
            "an entry there is"
        );
        if let Some(digits) = self.digit_sides() {
            let of = |side: usize| -> Vec<usize> {
                let radices: Vec<usize> = digits.iter().map(|d| d[side]).collect();
                unflatten(own[side], &radices)
            };
            let pairs = of(0).into_iter().zip(of(1)).zip(digits).map(|((a, b), d)| a * d[1] + b);
            return pairs.chain(own[2..].iter().copied()).collect();
        }
        if !self.column_major() {
            return unflatten(flat(own.iter().zip(sides)), self.to());
        }
        let backwards: Vec<usize> = self.to().iter().rev().copied().collect();
        let mut index = unflatten(flat(own.iter().zip(sides).rev()), &backwards);
        index.reverse();
        index
    }
}

fn flat<'a>(index: impl Iterator<Item = (&'a usize, &'a usize)>) -> usize {
    index.fold(0, |flat, (i, side)| flat * side + i)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tensor::{AnyTensor, Tensor};

    fn reshapes() -> Vec<Reshape> {
        let shape = |from: &[usize], to: &[usize], f| {
            Reshape::shape(from, to.to_vec(), f).unwrap().unwrap()
        };
        vec![
            shape(&[6, 4], &[2, 3, 2, 2], false),
            shape(&[6, 4], &[2, 3, 2, 2], true),
            shape(&[6, 4, 1], &[3, 8], false),
            shape(&[2, 3, 4], &[6, 4], true),
            shape(&[6, 4], &[4, 6], false),
            Reshape::padded(&[5, 3], &[6, 4], vec![2, 3, 4], false).unwrap(),
            Reshape::digits(&[7, 8, 3], vec![[2, 4], [2, 1], [2, 2]]).unwrap(),
        ]
    }

    #[test]
    fn entries_are_found_where_they_went() {
        for reshape in reshapes() {
            let count = reshape.from().iter().product::<usize>();
            let x = (0..count).map(|k| k as f64).collect();
            let x = AnyTensor::from(Tensor::new(reshape.from().to_vec(), x).unwrap());
            let y = reshape.apply(x.clone());
            for k in 0..count {
                let there = reshape.index_of(&unflatten(k, reshape.from()));
                let at = flat(there.iter().zip(reshape.to()));
                assert_eq!(y.entry(at), x.entry(k), "{reshape:?} {k}");
            }
        }
    }

    #[test]
    fn finer_modes_make_both_shapes() {
        let mut without = 0;
        for reshape in reshapes() {
            let Some(fine) = reshape.fine() else {
                without += 1;
                continue;
            };
            let side = |labels: &Vec<usize>| labels.iter().map(|&l| fine.lengths[l]).product();
            assert_eq!(fine.own.iter().map(side).collect::<Vec<usize>>(), reshape.padded_shape());
            assert_eq!(fine.other.iter().map(side).collect::<Vec<usize>>(), reshape.to());
            // Every index is made of the same digits in both.
            let count = reshape.from().iter().product::<usize>();
            for k in 0..count {
                let own = unflatten(k, reshape.from());
                let mut digits = vec![0; fine.lengths.len()];
                let parts = |labels: &[usize], i: usize| {
                    let radices: Vec<usize> = labels.iter().map(|&l| fine.lengths[l]).collect();
                    labels.iter().copied().zip(unflatten(i, &radices)).collect::<Vec<_>>()
                };
                for (labels, &i) in fine.own.iter().zip(&own) {
                    parts(labels, i).into_iter().for_each(|(l, d)| digits[l] = d);
                }
                for (labels, i) in fine.other.iter().zip(reshape.index_of(&own)) {
                    assert!(parts(labels, i).iter().all(|&(l, d)| digits[l] == d), "{reshape:?}");
                }
            }
        }
        assert_eq!(without, 1);
    }
}
