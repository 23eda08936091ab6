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
        let plain = (false, false);
        View::from(self).times(other.into(), plain, None, lengths, &mut Scratch::default())
    }

    /// The same with its axes in this order.
    pub fn ordered(&self, labels: &[Label], lengths: &[usize]) -> Part<T> {
        Part::new(labels.to_vec(), View::from(self).ordered(labels, lengths))
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

/// A part whose entries lie elsewhere.
#[derive(Debug)]
pub(crate) struct View<'v, T> {
    pub labels: &'v [Label],
    pub data: &'v [T],
}

impl<T> Clone for View<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for View<'_, T> {}

impl<'p, T> From<&'p Part<T>> for View<'p, T> {
    fn from(part: &'p Part<T>) -> Self {
        View { labels: &part.labels, data: &part.data }
    }
}

impl<T: Scalar> View<'_, T> {
    /// The sum over all shared labels of the product. `conj` says of each side whether it is conjugated; with `want`, the
    /// axes are in that order.
    pub fn times(
        self,
        other: View<'_, T>,
        conj: (bool, bool),
        want: Option<&[Label]>,
        lengths: &[usize],
        scratch: &mut Scratch<T>,
    ) -> Part<T> {
        let plan = Contraction::plan(self.labels, other.labels, lengths, want);
        let plan = plan.conjugated(conj.0, conj.1);
        scratch.reserve(&plan);
        let mut data = vec![T::ZERO; plan.result_len()];
        plan.run(self.data, other.data, &mut data, scratch);
        Part::new(plan.labels().to_vec(), data)
    }

    /// The entries with the axes in another order.
    pub fn ordered(self, labels: &[Label], lengths: &[usize]) -> Vec<T> {
        if self.labels == labels {
            return self.data.to_vec();
        }
        let mut out = vec![T::ZERO; self.data.len()];
        reorder(self.labels, labels, lengths).apply(self.data, &mut out);
        out
    }
}

/// The number of entries of a part with these labels.
pub(crate) fn entries(labels: &[Label], lengths: &[usize]) -> usize {
    labels.iter().map(|&l| lengths[l]).product()
}

/// The same where it may be more than can be counted.
fn size(labels: &[Label], lengths: &[usize]) -> f64 {
    labels.iter().map(|&l| lengths[l] as f64).product()
}

/// What is left to be contracted: a part as it was given, or a product.
enum Left<'v, T> {
    Given(View<'v, T>),
    Made(Part<T>),
}

impl<T> Left<'_, T> {
    fn view(&self) -> View<'_, T> {
        match self {
            Left::Given(view) => *view,
            Left::Made(part) => part.into(),
        }
    }
}

/// Contracts parts to one, the pair that grows least first. Each comes with whether it is conjugated.
pub(crate) fn contract_all<T: Scalar>(
    parts: &[(View<'_, T>, bool)],
    want: &[Label],
    lengths: &[usize],
    scratch: &mut Scratch<T>,
) -> Part<T> {
    let mut left: Vec<(Left<'_, T>, bool)> =
        parts.iter().map(|&(part, conj)| (Left::Given(part), conj)).collect();
    while left.len() > 1 {
        let labels: Vec<&[Label]> = left.iter().map(|(part, _)| part.view().labels).collect();
        let (i, j) = cheapest(&labels, lengths);
        let (b, conj_b) = left.swap_remove(j);
        let (a, conj_a) = left.swap_remove(i);
        let last = left.is_empty();
        // Conjugation is put off as long as both sides agree.
        let both = conj_a && conj_b && !last;
        let conj = if both { (false, false) } else { (conj_a, conj_b) };
        let want = last.then_some(want);
        let product = a.view().times(b.view(), conj, want, lengths, scratch);
        left.push((Left::Made(product), both));
    }
    match left.pop() {
        Some((part, conj)) => {
            let mut data = part.view().ordered(want, lengths);
            if conj {
                data.iter_mut().for_each(|x| *x = x.conj());
            }
            Part::new(want.to_vec(), data)
        }
        None => Part::one(),
    }
}

/// The pair of parts whose product grows least, `i < j`.
fn cheapest(labels: &[&[Label]], lengths: &[usize]) -> (usize, usize) {
    let size = |l: &[Label]| entries(l, lengths) as f64;
    let mut best = (f64::INFINITY, (0, 1));
    for i in 0..labels.len() {
        for j in i + 1..labels.len() {
            let growth = size(&open(labels[i], labels[j])) - size(labels[i]) - size(labels[j]);
            if growth < best.0 {
                best = (growth, (i, j));
            }
        }
    }
    best.1
}

/// The labels of a product.
fn open(a: &[Label], b: &[Label]) -> Vec<Label> {
    let of_a = a.iter().filter(|l| !b.contains(l));
    of_a.chain(b.iter().filter(|l| !a.contains(l))).copied().collect()
}

/// Multiply-adds of [`contract_all`] and the entries of its largest product.
pub(crate) fn cost_of_all(parts: &[&[Label]], lengths: &[usize]) -> (f64, f64) {
    let mut left: Vec<Vec<Label>> = parts.iter().map(|p| p.to_vec()).collect();
    let (mut flops, mut largest) = (0.0, 0.0f64);
    while left.len() > 1 {
        let labels: Vec<&[Label]> = left.iter().map(|b| &b[..]).collect();
        let (i, j) = cheapest(&labels, lengths);
        let (b, a) = (left.swap_remove(j), left.swap_remove(i));
        let both = open(&a, &b);
        let size = |l: &[Label]| size(l, lengths);
        flops += (size(&a) * size(&b) * size(&both)).sqrt();
        largest = largest.max(size(&both));
        left.push(both);
    }
    (flops, largest)
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
        size(labels, self.lengths)
    }

    fn joined(&self, a: usize, b: usize) -> Option<(Vec<Label>, f64, f64)> {
        let (a, b) = (self.parts[a].as_ref()?, self.parts[b].as_ref()?);
        let open = open(a, b);
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
