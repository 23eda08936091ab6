//! Networks contracted with one vector for each mode, for many rows at once, without the grid ever being formed.
//!
//! The value of a row is `g = <v, phi_1 x ... x phi_d>`, v the tensor of the network. It is linear in every core:
//! `g = <core_v, e_v x (phi of its modes)>`, and `e_v`, the *surroundings* of the core for that row, is the rest of the network
//! contracted with the row's vectors.

use super::TgpError;
use tnsearch::graph::ModeGraph;
use tnsearch::linalg::{Factor, matmul};

/// Entries of the largest tensor in a contraction, of one row.
const LARGEST: usize = 1 << 22;
/// Entries of all rows that are contracted together, about.
const TOGETHER: usize = 1 << 16;

/// A vertex: what its core is made of.
#[derive(Debug, Clone)]
pub struct Vertex {
    /// Its modes.
    pub modes: Vec<usize>,
    /// The product of the ranks of its edges.
    pub width: usize,
    /// The product of the dimensions of its modes.
    pub span: usize,
    /// Its edges.
    edges: Vec<usize>,
}

impl Vertex {
    /// The entries of its core.
    pub fn params(&self) -> usize {
        self.width * self.span
    }
}

/// A graph prepared to be contracted.
#[derive(Debug, Clone)]
pub struct Contraction {
    graph: ModeGraph,
    dims: Vec<usize>,
    vertices: Vec<Vertex>,
    /// How the surroundings of each vertex are computed.
    around: Vec<Route>,
    /// The same of the network with itself, for its norm.
    doubled: Vec<Route>,
    rows: usize,
}

/// Pairs to be contracted, and the order of the axes at the end.
#[derive(Debug, Clone)]
struct Route {
    pairs: Vec<Pair>,
    /// Where the result is at the end; none where there is nothing to be contracted.
    last: Option<usize>,
    /// Where each entry of the result is in the last one; none where it is there already.
    order: Option<Vec<u32>>,
    largest: usize,
}

/// Two tensors become one, which takes the place of the first.
#[derive(Debug, Clone)]
struct Pair {
    first: usize,
    second: usize,
    /// Places in the first, kept x summed, and in the second, summed x kept.
    left: Vec<u32>,
    right: Vec<u32>,
    kept: (usize, usize),
    summed: usize,
}

impl Contraction {
    /// Prepares a graph for modes of these dimensions.
    pub fn new(graph: &ModeGraph, dims: &[usize]) -> Result<Self, TgpError> {
        let vertex = |v: usize| {
            let edges: Vec<usize> = graph.incident(v).collect();
            let modes = graph.modes_at(v);
            let width = edges.iter().fold(1usize, |w, &e| w.saturating_mul(graph.edges()[e].2));
            let span = modes.iter().fold(1usize, |s, &n| s.saturating_mul(dims[n]));
            Vertex { modes, width, span, edges }
        };
        let vertices: Vec<Vertex> = (0..graph.vertices()).map(vertex).collect();
        let ranks: Vec<usize> = graph.edges().iter().map(|e| e.2).collect();
        let plain: Vec<Vec<usize>> = vertices.iter().map(|v| v.edges.clone()).collect();
        let twice = |edges: &Vec<usize>| -> Vec<usize> {
            edges.iter().copied().chain(edges.iter().map(|e| e + ranks.len())).collect()
        };
        let double: Vec<Vec<usize>> = plain.iter().map(twice).collect();
        let double_ranks: Vec<usize> = ranks.iter().chain(&ranks).copied().collect();
        let all = 0..vertices.len();
        let around: Vec<Route> =
            all.clone().map(|v| Route::new(&plain, v, &ranks)).collect::<Result<_, _>>()?;
        let doubled =
            all.map(|v| Route::new(&double, v, &double_ranks)).collect::<Result<_, _>>()?;
        let largest = around.iter().map(|r: &Route| r.largest).max().unwrap_or(1);
        let largest = vertices.iter().map(|v| v.params()).fold(largest, usize::max);
        let rows = (TOGETHER / largest.max(1)).clamp(8, 256);
        Ok(Contraction {
            graph: graph.clone(),
            dims: dims.to_vec(),
            vertices,
            around,
            doubled,
            rows,
        })
    }

    /// The graph.
    pub fn graph(&self) -> &ModeGraph {
        &self.graph
    }

    /// The dimensions of the modes.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The vertices.
    pub fn vertices(&self) -> &[Vertex] {
        &self.vertices
    }

    /// How many rows are best contracted together.
    pub fn rows_together(&self) -> usize {
        self.rows
    }

    /// The vectors of the modes of a vertex, multiplied out: a row of `span` numbers for each row. `phi[k]` holds the vectors
    /// of mode k for these rows.
    pub fn vectors(&self, v: usize, phi: &[&[f64]], rows: usize) -> Vec<f64> {
        let mut out = vec![1.0; rows];
        let mut span = 1;
        for &mode in &self.vertices[v].modes {
            let m = self.dims[mode];
            let mut next = Vec::with_capacity(rows * span * m);
            for (held, x) in out.chunks_exact(span).zip(phi[mode].chunks_exact(m)) {
                held.iter().for_each(|h| next.extend(x.iter().map(|x| h * x)));
            }
            (out, span) = (next, span * m);
        }
        out
    }

    /// The core of a vertex contracted with the vectors of its modes: `width` numbers for each row.
    pub fn local(&self, v: usize, core: &[f64], vectors: &[f64], rows: usize) -> Vec<f64> {
        let Vertex { width, span, .. } = self.vertices[v];
        let mut out = vec![0.0; rows * width];
        let core = Factor::row_major(core, span).transposed();
        matmul((rows, width, span), &mut out, Factor::row_major(vectors, span), core);
        out
    }

    /// The surroundings of a vertex, `width` numbers for each row, from the locals of the others (its own is not looked at).
    pub fn around(&self, v: usize, locals: &[Vec<f64>], rows: usize) -> Vec<f64> {
        self.around[v].run(locals, rows)
    }

    /// The surroundings of a vertex in `<v, v>`: E with `<v, v> = core (E x I) core`, row-major width x width.
    pub fn norm_around(&self, v: usize, cores: &[Vec<f64>]) -> Vec<f64> {
        let square = |(u, core): (usize, &Vec<f64>)| {
            let Vertex { width, span, .. } = self.vertices[u];
            if u == v {
                return Vec::new();
            }
            let mut gram = vec![0.0; width * width];
            let core = Factor::row_major(core, span);
            matmul((width, width, span), &mut gram, core, core.transposed());
            gram
        };
        let squares: Vec<Vec<f64>> = cores.iter().enumerate().map(square).collect();
        self.doubled[v].run(&squares, 1)
    }

    /// `<v, v>`.
    pub fn norm_squared(&self, cores: &[Vec<f64>]) -> f64 {
        let around = self.norm_around(0, cores);
        self.norm_with(0, &cores[0], &around)
    }

    /// `core (E x I) core`.
    pub fn norm_with(&self, v: usize, core: &[f64], around: &[f64]) -> f64 {
        self.times_around(v, core, around).iter().zip(core).map(|(a, b)| a * b).sum()
    }

    /// `(E x I) core`.
    pub fn times_around(&self, v: usize, core: &[f64], around: &[f64]) -> Vec<f64> {
        let Vertex { width, span, .. } = self.vertices[v];
        let mut out = vec![0.0; width * span];
        let (around, core) = (Factor::row_major(around, width), Factor::row_major(core, span));
        matmul((width, span, width), &mut out, around, core);
        out
    }

    /// Makes the columns of a core's unfolding along the edge to another vertex orthonormal, and puts what that takes into the
    /// other core: the tensor stays the same. Nothing happens where there is no such edge, or its rank is not full.
    pub fn shift(&self, from: usize, to: usize, cores: &mut [Vec<f64>]) {
        if from == to {
            return;
        }
        let near = &self.vertices[from].edges;
        let Some(&edge) = near.iter().find(|e| self.vertices[to].edges.contains(e)) else { return };
        let rank = self.graph.edges()[edge].2;
        let inner = |v: usize| -> usize {
            let place = self.vertices[v].edges.iter().position(|&e| e == edge).unwrap_or(0);
            let after = self.vertices[v].edges[place + 1..].iter();
            after.map(|&e| self.graph.edges()[e].2).product::<usize>() * self.vertices[v].span
        };
        let at =
            |r: usize, rest: usize, inner: usize| (rest / inner * rank + r) * inner + rest % inner;
        let (here, there) = (inner(from), inner(to));
        let rests = cores[from].len() / rank;
        let mut gram = vec![0.0; rank * rank];
        for i in 0..rank {
            for j in 0..=i {
                let dot = |r: usize| cores[from][at(i, r, here)] * cores[from][at(j, r, here)];
                // Column-major, lower triangle.
                gram[j * rank + i] = (0..rests).map(dot).sum();
            }
        }
        let largest = (0..rank).map(|k| gram[k * rank + k]).fold(0.0, f64::max);
        let full = tnsearch::linalg::cholesky(&mut gram, rank);
        let least = (0..rank).map(|k| gram[k * rank + k]).fold(f64::INFINITY, f64::min);
        if !full || least.is_nan() || least * least < 1e-9 * largest {
            return;
        }
        // Rows of the unfolding: q L^T = row, so q = L^-1 row; the other core is multiplied by L^T.
        for r in 0..rests {
            for i in 0..rank {
                let mut x = cores[from][at(i, r, here)];
                for j in 0..i {
                    x -= gram[j * rank + i] * cores[from][at(j, r, here)];
                }
                cores[from][at(i, r, here)] = x / gram[i * rank + i];
            }
        }
        for r in 0..cores[to].len() / rank {
            for i in 0..rank {
                // (L^T x)_i = sum_{j >= i} L_ji x_j.
                let sum = (i..rank).map(|j| gram[i * rank + j] * cores[to][at(j, r, there)]).sum();
                cores[to][at(i, r, there)] = sum;
            }
        }
    }
}

impl Route {
    /// How all tensors but one are contracted. `labels[v]` are the axes of tensor v, by their numbers.
    fn new(labels: &[Vec<usize>], without: usize, ranks: &[usize]) -> Result<Route, TgpError> {
        let mut held: Vec<Option<Vec<usize>>> = labels.iter().cloned().map(Some).collect();
        held[without] = None;
        let size = |l: &[usize]| l.iter().fold(1usize, |s, &e| s.saturating_mul(ranks[e]));
        let joined = |a: &[usize], b: &[usize]| -> Vec<usize> {
            let kept = a.iter().filter(|e| !b.contains(e));
            kept.chain(b.iter().filter(|e| !a.contains(e))).copied().collect()
        };
        let mut route = Route { pairs: Vec::new(), last: None, order: None, largest: 1 };
        loop {
            let left: Vec<usize> = (0..held.len()).filter(|&k| held[k].is_some()).collect();
            let of = |k: usize| held[k].as_deref().unwrap_or(&[]);
            let pairs = left.iter().flat_map(|&a| left.iter().map(move |&b| (a, b)));
            // What makes the least of the two; those that share nothing come last, the smallest first.
            let price = |&(a, b): &(usize, usize)| {
                let made = size(&joined(of(a), of(b))) as f64;
                let apart = !of(a).iter().any(|e| of(b).contains(e));
                (apart, made - (size(of(a)) + size(of(b))) as f64 * f64::from(u8::from(!apart)))
            };
            let best = pairs.filter(|(a, b)| a < b).min_by(|p, q| {
                let (p, q) = (price(p), price(q));
                p.0.cmp(&q.0).then(p.1.total_cmp(&q.1))
            });
            let Some((first, second)) = best else { break };
            let pair = Pair::new((first, of(first)), (second, of(second)), ranks);
            let made = joined(of(first), of(second));
            let entries = size(&made).max(size(of(first))).max(size(of(second)));
            route.largest = route.largest.max(entries);
            if route.largest > LARGEST {
                return Err(TgpError::Contraction { entries: route.largest });
            }
            route.pairs.push(pair);
            (held[first], held[second]) = (Some(made), None);
        }
        route.last = held.iter().position(Option::is_some);
        let last = held.into_iter().flatten().next().unwrap_or_default();
        let wanted = &labels[without];
        route.largest = route.largest.max(size(wanted));
        if route.largest > LARGEST {
            return Err(TgpError::Contraction { entries: route.largest });
        }
        if last != *wanted {
            route.order = Some(places(&last, wanted, ranks));
        }
        Ok(route)
    }

    fn run(&self, tensors: &[Vec<f64>], rows: usize) -> Vec<f64> {
        let mut made: Vec<Option<Vec<f64>>> = vec![None; tensors.len()];
        for pair in &self.pairs {
            let of = |k: usize| made[k].as_deref().unwrap_or(&tensors[k]);
            let next = pair.run(of(pair.first), of(pair.second), rows);
            (made[pair.first], made[pair.second]) = (Some(next), None);
        }
        let all = match self.last {
            Some(k) => made[k].take().unwrap_or_else(|| tensors[k].clone()),
            None => vec![1.0; rows],
        };
        match &self.order {
            None => all,
            Some(order) => all
                .chunks_exact(order.len())
                .flat_map(|row| order.iter().map(|&k| row[k as usize]))
                .collect(),
        }
    }
}

/// Where the entries of a tensor with axes `to` are in one with axes `from`.
fn places(from: &[usize], to: &[usize], ranks: &[usize]) -> Vec<u32> {
    let stride = |e: usize| -> usize {
        match from.iter().position(|&f| f == e) {
            Some(k) => from[k + 1..].iter().map(|&f| ranks[f]).product(),
            None => 0,
        }
    };
    let mut out = vec![0u32];
    for &e in to {
        let step = stride(e) as u32;
        out = out.iter().flat_map(|&at| (0..ranks[e] as u32).map(move |r| at + r * step)).collect();
    }
    out
}

impl Pair {
    fn new((first, a): (usize, &[usize]), (second, b): (usize, &[usize]), ranks: &[usize]) -> Pair {
        let of = |l: &[usize], other: &[usize], shared: bool| -> Vec<usize> {
            l.iter().copied().filter(|e| other.contains(e) == shared).collect()
        };
        let (only_a, both, only_b) = (of(a, b, false), of(a, b, true), of(b, a, false));
        let size = |l: &[usize]| l.iter().map(|&e| ranks[e]).product::<usize>();
        let left: Vec<usize> = only_a.iter().chain(&both).copied().collect();
        let right: Vec<usize> = both.iter().chain(&only_b).copied().collect();
        Pair {
            first,
            second,
            left: places(a, &left, ranks),
            right: places(b, &right, ranks),
            kept: (size(&only_a), size(&only_b)),
            summed: size(&both),
        }
    }

    fn run(&self, a: &[f64], b: &[f64], rows: usize) -> Vec<f64> {
        let ((ka, kb), s) = (self.kept, self.summed);
        let mut out = vec![0.0; rows * ka * kb];
        let mut gathered = vec![0.0; s * kb];
        let rows =
            a.chunks_exact(ka * s).zip(b.chunks_exact(s * kb)).zip(out.chunks_exact_mut(ka * kb));
        for ((a, b), out) in rows {
            for (g, &k) in gathered.iter_mut().zip(&self.right) {
                *g = b[k as usize];
            }
            for (places, out) in self.left.chunks_exact(s).zip(out.chunks_exact_mut(kb)) {
                for (&k, g) in places.iter().zip(gathered.chunks_exact(kb)) {
                    let x = a[k as usize];
                    out.iter_mut().zip(g).for_each(|(o, g)| *o += x * g);
                }
            }
        }
        out
    }
}

#[cfg(test)]
pub(super) mod tests;
