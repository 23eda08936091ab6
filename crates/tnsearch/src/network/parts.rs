//! Tensors whose axes have labels, and the contraction of many of them to one.

use super::contraction::{Contraction, Label, Scratch, reorder};
use crate::tensor::{Scalar, power};

/// A tensor with a label for each axis, row-major. Two parts that share a label are summed over it when they meet.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Part<T> {
    pub labels: Vec<Label>,
    pub data: Vec<T>,
}

impl<T: Scalar> Part<T> {
    pub fn new(labels: Vec<Label>, data: Vec<T>) -> Self {
        Part { labels, data }
    }

    /// The number 1.
    pub fn one() -> Self {
        Part::new(Vec::new(), vec![T::ONE])
    }

    /// The identity between two labels of one length.
    pub fn identity(a: Label, b: Label, length: usize) -> Self {
        let mut data = vec![T::ZERO; length * length];
        data.iter_mut().step_by(length + 1).for_each(|x| *x = T::ONE);
        Part::new(vec![a, b], data)
    }

    /// The sum over all shared labels of the product.
    pub fn times(&self, other: &Part<T>, lengths: &[usize]) -> Part<T> {
        let plan = Contraction::plan(&self.labels, &other.labels, lengths, None);
        let mut scratch = Scratch::default();
        scratch.reserve(&plan);
        let mut data = vec![T::ZERO; plan.result_len()];
        plan.run(&self.data, &other.data, &mut data, &mut scratch);
        Part::new(plan.labels().to_vec(), data)
    }

    /// The same with its axes in this order.
    pub fn ordered(&self, labels: &[Label], lengths: &[usize]) -> Part<T> {
        let plan = reorder(&self.labels, labels, lengths);
        let mut data = vec![T::ZERO; self.data.len()];
        plan.apply(&self.data, &mut data);
        Part::new(labels.to_vec(), data)
    }

    /// The same with one label called another.
    pub fn renamed(mut self, from: Label, to: Label) -> Part<T> {
        self.labels.iter_mut().filter(|l| **l == from).for_each(|l| *l = to);
        self
    }

    /// The same with labels moved by a rule, and every entry conjugated.
    pub fn conjugated(&self, rule: impl Fn(Label) -> Label) -> Part<T> {
        let data = self.data.iter().map(|x| x.conj()).collect();
        Part::new(self.labels.iter().map(|&l| rule(l)).collect(), data)
    }

    /// Divides by a power of two so that the largest entry is near 1; its exponent. Zero stays as it is.
    pub fn normalise(&mut self) -> i64 {
        let exponent = power::exponent(&self.data).unwrap_or(0);
        power::multiply(&mut self.data, -exponent);
        exponent
    }
}

/// The number of entries of a block with these labels.
pub(crate) fn entries(labels: &[Label], lengths: &[usize]) -> usize {
    labels.iter().map(|&l| lengths[l]).product()
}

/// In which order parts are contracted, found from their labels alone.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    /// Which two parts meet; the result goes to the end of the list.
    steps: Vec<(usize, usize)>,
    /// Multiplications, and the most entries that are held at once.
    flops: f64,
    pub peak: f64,
}

impl Order {
    /// The cheaper of two greedy orders: the pair whose product adds least, anywhere, or to a block that grows.
    pub fn find(parts: &[Vec<Label>], lengths: &[usize]) -> Order {
        let anywhere = Builder::new(parts, lengths).anywhere();
        let growing = Builder::new(parts, lengths).growing();
        if growing.flops < anywhere.flops { growing } else { anywhere }
    }

    /// The parts as one, and the exponent of the power of two it was divided by.
    pub fn run<T: Scalar>(&self, parts: Vec<Part<T>>, lengths: &[usize]) -> (Part<T>, i64) {
        let mut parts: Vec<Option<Part<T>>> = parts.into_iter().map(Some).collect();
        let mut exponent = 0;
        for &(a, b) in &self.steps {
            let (Some(a), Some(b)) = (parts[a].take(), parts[b].take()) else {
                unreachable!("every part meets once")
            };
            let mut made = a.times(&b, lengths);
            exponent += made.normalise();
            parts.push(Some(made));
        }
        (parts.pop().flatten().unwrap_or_else(Part::one), exponent)
    }
}

/// The state of a search for an order.
struct Builder<'l> {
    lengths: &'l [usize],
    parts: Vec<Option<Vec<Label>>>,
    held: f64,
    order: Order,
}

impl<'l> Builder<'l> {
    fn new(parts: &[Vec<Label>], lengths: &'l [usize]) -> Self {
        let mut builder = Builder {
            lengths,
            parts: parts.iter().cloned().map(Some).collect(),
            held: 0.0,
            order: Order { steps: Vec::new(), flops: 0.0, peak: 0.0 },
        };
        builder.held = parts.iter().map(|p| builder.size(p)).sum();
        builder.order.peak = builder.held;
        builder
    }

    fn size(&self, labels: &[Label]) -> f64 {
        labels.iter().map(|&l| self.lengths[l] as f64).product()
    }

    fn joined(&self, a: usize, b: usize) -> Option<(Vec<Label>, f64, f64)> {
        let (a, b) = (self.parts[a].as_ref()?, self.parts[b].as_ref()?);
        let open: Vec<Label> = a
            .iter()
            .filter(|l| !b.contains(l))
            .chain(b.iter().filter(|l| !a.contains(l)))
            .copied()
            .collect();
        let made = self.size(&open);
        Some((open, made, made - self.size(a) - self.size(b)))
    }

    fn merge(&mut self, a: usize, b: usize) -> usize {
        let Some((open, made, more)) = self.joined(a, b) else { unreachable!("both are there") };
        let shared: f64 = self.parts[a]
            .iter()
            .flatten()
            .filter(|l| self.parts[b].iter().flatten().any(|m| m == *l))
            .map(|&l| self.lengths[l] as f64)
            .product();
        self.order.flops += made * shared;
        self.order.peak = self.order.peak.max(self.held + made);
        self.held += more;
        (self.parts[a], self.parts[b]) = (None, None);
        self.parts.push(Some(open));
        self.order.steps.push((a, b));
        self.parts.len() - 1
    }

    fn live(&self) -> Vec<usize> {
        (0..self.parts.len()).filter(|&k| self.parts[k].is_some()).collect()
    }

    /// Pairs of parts that share a label, by their labels.
    fn neighbours(&self) -> Vec<(usize, usize)> {
        let mut owner: Vec<Option<usize>> = vec![None; self.lengths.len()];
        let mut pairs = Vec::new();
        for (k, part) in self.parts.iter().enumerate() {
            for &label in part.iter().flatten() {
                match owner[label] {
                    Some(other) if !pairs.contains(&(other, k)) => pairs.push((other, k)),
                    Some(_) => {}
                    None => owner[label] = Some(k),
                }
            }
        }
        pairs
    }

    /// The pair whose product adds least; where none shares a label, the two smallest.
    fn best(&self, pairs: impl Iterator<Item = (usize, usize)>) -> (usize, usize) {
        let more = |&(a, b): &(usize, usize)| self.joined(a, b).map_or(f64::INFINITY, |j| j.2);
        let costs = pairs.map(|pair| (more(&pair), pair));
        let best = costs.reduce(|x, y| if y.0 < x.0 { y } else { x });
        best.map_or_else(
            || {
                let mut live = self.live();
                let size = |k: usize| self.parts[k].as_ref().map_or(0.0, |p| self.size(p));
                live.sort_by(|&a, &b| size(a).total_cmp(&size(b)));
                (live[0], live[1])
            },
            |b| b.1,
        )
    }

    fn anywhere(mut self) -> Order {
        while self.live().len() > 1 {
            let (a, b) = self.best(self.neighbours().into_iter());
            self.merge(a.min(b), a.max(b));
        }
        self.order
    }

    fn growing(mut self) -> Order {
        let mut block = 0;
        while self.live().len() > 1 {
            let touching = self.neighbours().into_iter().filter(|p| p.0 == block || p.1 == block);
            let (a, b) = self.best(touching);
            block = self.merge(a.min(b), a.max(b));
        }
        self.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::stream;

    fn random<T: Scalar>(labels: &[Label], lengths: &[usize], seed: u64) -> Part<T> {
        let mut rng = stream(seed, b"part");
        let data = (0..entries(labels, lengths)).map(|_| T::normal(&mut rng)).collect();
        Part::new(labels.to_vec(), data)
    }

    #[test]
    fn every_order_gives_the_same_number() {
        // A ring of four matrices against itself, by the definition.
        let lengths = vec![2, 3, 2, 4];
        let ring: Vec<Part<f64>> =
            (0..4).map(|k| random(&[k, (k + 1) % 4], &lengths, k as u64)).collect();
        let labels: Vec<Vec<Label>> = ring.iter().map(|p| p.labels.clone()).collect();
        let mut want = 0.0;
        for at in 0..lengths.iter().product::<usize>() {
            let i = crate::tensor::unflatten(at, &lengths);
            let entry = |k: usize| ring[k].data[i[k] * lengths[(k + 1) % 4] + i[(k + 1) % 4]];
            want += (0..4).map(entry).product::<f64>();
        }
        for order in [
            Order::find(&labels, &lengths),
            Builder::new(&labels, &lengths).anywhere(),
            Builder::new(&labels, &lengths).growing(),
        ] {
            let (made, exponent) = order.run(ring.clone(), &lengths);
            let got = made.data[0] * 2f64.powi(exponent as i32);
            assert!((got - want).abs() < 1e-12 * want.abs().max(1.0), "{got} {want}");
        }
        assert!(Order::find(&labels, &lengths).peak >= 20.0);
    }
}
