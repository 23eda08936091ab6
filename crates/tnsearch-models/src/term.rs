//! A term of a layer: cores whose contraction is a tensor of the layer's entries.
//!
//! What the cores are is said by an `einsum` text as NumPy reads it: small letters are modes (factors of rows and columns, in
//! their order), capital letters are bonds. A layer is the sum of its terms, each reshaped to the layer's shape.

use super::pairing::Pairing;
use super::sum::Product;
use thiserror::Error;
use tnsearch::linalg::{Factor, matmul};
use tnsearch::network::Network;
use tnsearch::tensor::{AnyTensor, Scalar, Tensor};

/// A term of a layer.
#[derive(Debug, Clone, PartialEq)]
pub struct Term<T> {
    /// The factors of rows, then of columns.
    pub modes: Vec<usize>,
    /// What the axes of the cores are.
    pub einsum: String,
    /// The cores.
    pub cores: Vec<Tensor<T>>,
    /// The pairing of a sum of Kronecker products: it is added to a matrix without a matrix of its own.
    pub pairing: Option<Pairing>,
}

/// A description of cores that does not go with them.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("einsum '{einsum}' does not go with its cores: {reason}")]
pub struct TermError {
    einsum: String,
    reason: String,
}

/// The letter of a mode, and of a bond.
fn mode_letter(k: usize) -> char {
    char::from(b'a' + k as u8)
}
fn bond_letter(k: usize) -> char {
    char::from(b'A' + k as u8)
}

/// The modes of a pairing, sides of one left out, with the letters of (r1, c1) and of (r2, c2).
fn pairing_modes(p: &Pairing) -> (Vec<usize>, String, String) {
    let (mut modes, mut first, mut second) = (Vec::new(), String::new(), String::new());
    for (side, of_first) in [(p.r1, true), (p.r2, false), (p.c1, true), (p.c2, false)] {
        if side > 1 {
            if of_first { &mut first } else { &mut second }.push(mode_letter(modes.len()));
            modes.push(side);
        }
    }
    (modes, first, second)
}

/// The einsum of a sum of Kronecker products, its modes, and the shapes of its two cores.
pub fn product_form(p: &Pairing, rank: usize) -> (String, Vec<usize>, [Vec<usize>; 2]) {
    let (modes, first, second) = pairing_modes(p);
    let out: String = (0..modes.len()).map(mode_letter).collect();
    let shape = |a: usize, b: usize| -> Vec<usize> {
        [a, b].into_iter().filter(|s| *s > 1).chain([rank]).collect()
    };
    (format!("{first}A,{second}A->{out}"), modes, [shape(p.r1, p.c1), shape(p.r2, p.c2)])
}

impl<T: Scalar> Term<T> {
    /// From a sum of Kronecker products.
    pub fn of_product(product: Product<T>) -> Self {
        let Product { pairing, y, x, rank } = product;
        let (einsum, modes, [a, b]) = product_form(&pairing, rank);
        let core = |shape, data| Tensor::new(shape, data).unwrap_or_else(|e| unreachable!("{e}"));
        Term { modes, einsum, cores: vec![core(a, y), core(b, x)], pairing: Some(pairing) }
    }

    /// From a network whose modes are those of the layer. None where its cores are of another kind.
    pub fn of_network(network: &Network) -> Option<Self> {
        let einsum = tree_einsum(&network.structure().groups(), &network.structure().edges());
        let core = |core: &AnyTensor| T::of(core).cloned();
        let cores: Option<Vec<Tensor<T>>> = network.cores().iter().map(core).collect();
        Some(Term { modes: network.dims().to_vec(), einsum, cores: cores?, pairing: None })
    }

    /// The entries of its cores.
    pub fn params(&self) -> u64 {
        self.cores.iter().map(|c| c.len() as u64).sum()
    }

    /// Adds `sign` times it to a layer.
    pub fn add_to(&self, w: &mut [T], sign: f64) -> Result<(), TermError> {
        match (&self.pairing, &self.cores[..]) {
            (Some(pairing), [y, x]) => {
                let rank = y.dims().last().copied().unwrap_or(0);
                pairing.add(w, y.data(), x.data(), rank, sign);
            }
            _ => {
                let z = self.dense()?;
                w.iter_mut().zip(z.data()).for_each(|(w, z)| *w += z.scale(sign));
            }
        }
        Ok(())
    }

    /// The tensor of its modes.
    pub fn dense(&self) -> Result<Tensor<T>, TermError> {
        let labels = Labels::new(&self.einsum, self.cores.iter().map(|c| c.dims()), &self.modes)?;
        let mut parts: Vec<Option<Tensor<T>>> = self.cores.iter().cloned().map(Some).collect();
        let mut names = labels.cores.clone();
        for (a, b) in cheapest(&labels.cores, &labels.sides, &labels.out).1 {
            let (Some(one), Some(other)) = (parts[a].take(), parts[b].take()) else { continue };
            let (tensor, name) = contract(&one, &names[a], &other, &names[b]);
            (parts[a], names[a]) = (Some(tensor), name);
        }
        let last = parts.iter().position(Option::is_some).unwrap_or(0);
        let Some(tensor) = parts[last].take() else { return Err(labels.bad("there are no cores")) };
        let place = |l: &char| names[last].iter().position(|n| n == l);
        let axes: Option<Vec<usize>> = labels.out.iter().map(place).collect();
        let axes = axes.filter(|a| a.len() == names[last].len());
        let axes = axes.ok_or_else(|| labels.bad("a bond is left over"))?;
        Ok(match axes.iter().enumerate().all(|(k, a)| k == *a) {
            true => tensor,
            false => tensor.permuted(&axes),
        })
    }
}

/// The einsum of a network: the modes of each vertex, and its edges.
pub fn tree_einsum(groups: &[Vec<usize>], edges: &[[usize; 3]]) -> String {
    let order: usize = groups.iter().map(Vec::len).sum();
    let core = |(v, modes): (usize, &Vec<usize>)| -> String {
        let at = |e: &[usize; 3]| e[0] == v || e[1] == v;
        let bonds = edges.iter().enumerate().filter(|(_, e)| at(e)).map(|(k, _)| bond_letter(k));
        bonds.chain(modes.iter().map(|&n| mode_letter(n))).collect()
    };
    let cores: Vec<String> = groups.iter().enumerate().map(core).collect();
    let out: String = (0..order).map(mode_letter).collect();
    format!("{}->{out}", cores.join(","))
}

/// The letters of an einsum with their sides.
struct Labels {
    einsum: String,
    cores: Vec<Vec<char>>,
    out: Vec<char>,
    sides: Vec<(char, usize)>,
}

impl Labels {
    fn new<'s>(
        einsum: &str,
        shapes: impl Iterator<Item = &'s [usize]>,
        modes: &[usize],
    ) -> Result<Self, TermError> {
        let bad = |reason: &str| TermError { einsum: einsum.to_owned(), reason: reason.to_owned() };
        let (cores, out) = einsum.split_once("->").ok_or_else(|| bad("it has no '->'"))?;
        let cores: Vec<Vec<char>> = cores.split(',').map(|c| c.chars().collect()).collect();
        let out: Vec<char> = out.chars().collect();
        let shapes: Vec<&[usize]> = shapes.collect();
        if cores.len() != shapes.len() || out.len() != modes.len() {
            return Err(bad("it names another number of them"));
        }
        let mut sides: Vec<(char, usize)> = Vec::new();
        let named = cores.iter().zip(&shapes).map(|(c, s)| (c, *s));
        for (letters, shape) in named.chain([(&out, modes)]) {
            if letters.len() != shape.len() {
                return Err(bad("a core has another number of axes"));
            }
            for (k, (&letter, &side)) in letters.iter().zip(shape).enumerate() {
                if !letter.is_ascii_alphabetic() || letters[..k].contains(&letter) {
                    return Err(bad("a letter is no letter, or comes twice"));
                }
                match sides.iter().find(|(l, _)| *l == letter) {
                    Some((_, s)) if *s != side => return Err(bad("one letter has two sides")),
                    Some(_) => {}
                    None => sides.push((letter, side)),
                }
            }
        }
        let count = |l: char| cores.iter().filter(|c| c.contains(&l)).count();
        let once = out.iter().all(|l| count(*l) == 1);
        let bonds = sides.iter().filter(|(l, _)| !out.contains(l)).all(|(l, _)| count(*l) == 2);
        if !once || !bonds || cores.len() > MOST_CORES {
            return Err(bad("a mode must be in one core and a bond in two"));
        }
        Ok(Labels { einsum: einsum.to_owned(), cores, out, sides })
    }

    fn bad(&self, reason: &str) -> TermError {
        TermError { einsum: self.einsum.clone(), reason: reason.to_owned() }
    }
}

/// The contraction of two tensors over the letters they share.
fn contract<T: Scalar>(
    a: &Tensor<T>,
    la: &[char],
    b: &Tensor<T>,
    lb: &[char],
) -> (Tensor<T>, Vec<char>) {
    let shared: Vec<char> = la.iter().copied().filter(|l| lb.contains(l)).collect();
    let free =
        |l: &[char]| -> Vec<char> { l.iter().copied().filter(|c| !shared.contains(c)).collect() };
    let (fa, fb) = (free(la), free(lb));
    let arranged = |t: &Tensor<T>, l: &[char], order: Vec<char>| {
        let axes: Vec<usize> = order.iter().filter_map(|c| l.iter().position(|x| x == c)).collect();
        t.permuted(&axes)
    };
    let a = arranged(a, la, fa.iter().chain(&shared).copied().collect());
    let b = arranged(b, lb, fb.iter().chain(&shared).copied().collect());
    let dims: Vec<usize> =
        a.dims()[..fa.len()].iter().chain(&b.dims()[..fb.len()]).copied().collect();
    let size = |d: &[usize]| d.iter().product::<usize>();
    let (m, n) = (size(&a.dims()[..fa.len()]), size(&b.dims()[..fb.len()]));
    let k = size(&a.dims()[fa.len()..]);
    let mut out = vec![T::ZERO; m * n];
    if m > 0 && n > 0 && k > 0 {
        let (a, b) = (Factor::row_major(a.data(), k), Factor::row_major(b.data(), k).transposed());
        matmul((m, n, k), &mut out, a, b);
    }
    let tensor = Tensor::new(dims, out).unwrap_or_else(|e| unreachable!("as many entries: {e}"));
    (tensor, fa.into_iter().chain(fb).collect())
}

/// More cores are not contracted.
const MOST_CORES: usize = 14;

/// The cheapest order of contracting pairs: its multiply-adds, and the pairs, the second of which goes into the first.
fn cheapest(
    cores: &[Vec<char>],
    sides: &[(char, usize)],
    out: &[char],
) -> (f64, Vec<(usize, usize)>) {
    let count = cores.len();
    let side = |l: &char| sides.iter().find(|(s, _)| s == l).map_or(1.0, |s| s.1 as f64);
    let letters = |set: usize| -> Vec<char> {
        let inside =
            |l: char| (0..count).filter(|v| set >> v & 1 == 1 && cores[*v].contains(&l)).count();
        let all = |l: char| cores.iter().filter(|c| c.contains(&l)).count();
        let open = |l: char| out.contains(&l) || inside(l) < all(l);
        sides.iter().map(|s| s.0).filter(|l| inside(*l) > 0 && open(*l)).collect()
    };
    let whole = (1usize << count) - 1;
    let mut best: Vec<(f64, usize)> = vec![(0.0, 0); 1 << count];
    let opened: Vec<Vec<char>> = (0..=whole).map(letters).collect();
    for set in 1..=whole {
        if set & (set - 1) == 0 {
            continue;
        }
        best[set] = (f64::INFINITY, 0);
        let mut part = (set - 1) & set;
        while part > 0 {
            let rest = set ^ part;
            if part > rest {
                let work: f64 = {
                    let mut all = opened[part].clone();
                    all.extend(opened[rest].iter().filter(|l| !opened[part].contains(l)));
                    all.iter().map(side).product()
                };
                let cost = best[part].0 + best[rest].0 + work;
                if cost < best[set].0 {
                    best[set] = (cost, part);
                }
            }
            part = (part - 1) & set;
        }
    }
    let mut pairs = Vec::new();
    unfold(&best, whole, &mut pairs);
    (best[whole].0, pairs)
}

/// The pairs that make a set of cores into one; the place of the result.
fn unfold(best: &[(f64, usize)], set: usize, pairs: &mut Vec<(usize, usize)>) -> usize {
    if set & set.wrapping_sub(1) == 0 {
        return set.trailing_zeros() as usize;
    }
    let part = best[set].1;
    let (a, b) = (unfold(best, part, pairs), unfold(best, set ^ part, pairs));
    pairs.push((a, b));
    a
}

/// The multiply-adds of applying a term to one input: a vector over the modes behind the first `rows` (letters of the
/// einsum's result) is contracted with the cores in the cheapest order.
pub fn multiply_adds(
    einsum: &str,
    shapes: &[Vec<usize>],
    modes: &[usize],
    rows: usize,
) -> Result<u64, TermError> {
    let labels = Labels::new(einsum, shapes.iter().map(|s| &s[..]), modes)?;
    let mut cores = labels.cores.clone();
    cores.push(labels.out[rows..].to_vec());
    Ok(cheapest(&cores, &labels.sides, &labels.out[..rows]).0 as u64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tnsearch::rng::stream;

    fn tensor(dims: &[usize], seed: u64) -> Tensor<f64> {
        let mut rng = stream(seed, b"term");
        Tensor::new(
            dims.to_vec(),
            (0..dims.iter().product()).map(|_| f64::normal(&mut rng)).collect(),
        )
        .unwrap()
    }

    #[test]
    fn products_become_what_they_add_up_to() {
        let p = Pairing { r1: 2, c1: 3, r2: 5, c2: 4 };
        let (y, x) = (tensor(&[6, 2], 1).into_data(), tensor(&[20, 2], 2).into_data());
        let mut want = vec![0.0; 10 * 12];
        p.add(&mut want, &y, &x, 2, 1.0);
        let term = Term::of_product(Product { pairing: p, y, x, rank: 2 });
        assert_eq!((&term.einsum[..], &term.modes[..]), ("acA,bdA->abcd", &[2, 5, 3, 4][..]));
        assert_eq!(term.params(), 52);
        let found = term.dense().unwrap();
        assert!(found.data().iter().zip(&want).all(|(a, b)| (a - b).abs() < 1e-12));
        term.add_to(&mut want, -1.0).unwrap();
        assert!(want.iter().all(|w| w.abs() < 1e-12));
        let plain = product_form(&Pairing::plain(7, 9), 3);
        assert_eq!(plain, ("aA,bA->ab".to_owned(), vec![7, 9], [vec![7, 3], vec![9, 3]]));
        // A column of blocks: (2 x 1) (x) (3 x 5).
        let column = product_form(&Pairing { r1: 2, c1: 1, r2: 3, c2: 5 }, 1);
        assert_eq!(column, ("aA,bcA->abc".to_owned(), vec![2, 3, 5], [vec![2, 1], vec![3, 5, 1]]));
    }

    #[test]
    fn a_network_is_contracted_as_by_hand() {
        let (a, b, c) = (tensor(&[2, 3], 1), tensor(&[2, 4, 5], 2), tensor(&[4, 6, 2], 3));
        let einsum = tree_einsum(&[vec![1], vec![0], vec![2, 3]], &[[0, 1, 2], [1, 2, 4]]);
        assert_eq!(einsum, "Ab,ABa,Bcd->abcd");
        let term = Term {
            modes: vec![5, 3, 6, 2],
            einsum,
            cores: vec![a.clone(), b.clone(), c.clone()],
            pairing: None,
        };
        let z = term.dense().unwrap();
        for (p, found) in z.data().iter().enumerate() {
            let at = tnsearch::tensor::unflatten(p, z.dims());
            let mut want = 0.0;
            for e in 0..2 {
                for f in 0..4 {
                    want += a.at(&[e, at[1]]) * b.at(&[e, f, at[0]]) * c.at(&[f, at[2], at[3]]);
                }
            }
            assert!((found - want).abs() < 1e-12);
        }
        let bad =
            |einsum: &str| Term { einsum: einsum.to_owned(), ..term.clone() }.dense().is_err();
        for einsum in [
            "",
            "Ab,ABa",
            "Ab,ABa,Bcd->abc",
            "Ab,Aba,Bcd->abcd",
            "Ab,ABa,Ccd->abcd",
            "Ab,ABa,BcB->abcd",
            "A1,ABa,Bcd->a1cd",
        ] {
            assert!(bad(einsum), "{einsum}");
        }
    }

    #[test]
    fn multiply_adds_are_those_of_the_cheapest_order() {
        let count = |p: Pairing, rank| {
            let (einsum, modes, shapes) = product_form(&p, rank);
            let rows = [p.r1, p.r2].iter().filter(|s| **s > 1).count();
            multiply_adds(&einsum, &shapes, &modes, rows).unwrap()
        };
        assert_eq!(count(Pairing::plain(30, 20), 4), 4 * (30 + 20));
        // (A X) B' is cheaper than A (X B') here.
        let p = Pairing { r1: 2, c1: 8, r2: 16, c2: 4 };
        assert_eq!(count(p, 1), 2 * 8 * 4 + 2 * 4 * 16);
    }
}
