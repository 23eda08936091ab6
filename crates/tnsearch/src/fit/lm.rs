//! Levenberg-Marquardt: a damped Gauss-Newton step on all cores at once.
//!
//! With `E_v` the network without core v (all other modes x the edges of v), the Jacobian of Z with
//! respect to core v is `E_v (x) I`, so the blocks of `J^T J` are products of pairs of E's. For few
//! parameters this is cheap, and it crosses the swamps in which ALS crawls. Real numbers only.

use super::FitSettings;
use super::adam::rse_and_gradient;
use super::control::{Control, Progress};
use super::dense::Improve;
use super::plan::{Plan, Walk};
use super::workspace::Workspace;
use crate::linalg::{Cholesky, Route};
use crate::network::contraction::{Contraction, Label, Scratch};
use crate::network::tree::Node;
use crate::tensor::Scalar;

/// Iterations over which the error must fall by the tolerance.
const WINDOW: usize = 3;
/// Dampings tried in one iteration before it is given up.
const TRIES: usize = 12;
/// The least damping, relative to the mean diagonal entry; 4 ulp where that is more.
const FLOOR: f64 = 1e-14;

/// Levenberg-Marquardt.
pub(super) struct Lm;

impl Lm {
    /// Floating-point operations of one iteration: the pairs of environments and the factorisation.
    pub fn iteration_flops<T: Scalar>(plan: &Plan<T>) -> f64 {
        let widths: f64 = plan.leaves.iter().map(|l| l.width as f64).sum();
        let params: f64 = plan.core_lens().iter().map(|&n| n as f64).sum();
        plan.x.len() as f64 * widths * widths + params.powi(3) / 3.0
    }
}

impl<T: Scalar> Improve<T> for Lm {
    fn walk(&self) -> Walk {
        Walk::Reading
    }

    fn extra_entries(&self, plan: &Plan<T>) -> f64 {
        let params: f64 = plan.core_lens().iter().map(|&n| n as f64).sum();
        let environments: f64 =
            plan.leaves.iter().map(|l| plan.x.len() as f64 / l.dim as f64 * l.width as f64).sum();
        2.0 * params * params + 2.0 * environments
    }

    fn improve(&self, ws: &mut Workspace<T>, settings: &FitSettings, control: &Control) -> usize {
        let mut normal = NormalEquations::new(ws.plan());
        normal.scratch.obey(Some(control.stop));
        let stopped = || control.stopped();
        let params = normal.params;
        let mut gradient: Vec<Vec<T>> =
            ws.plan().core_lens().iter().map(|&n| vec![T::ZERO; n]).collect();
        let mut factor = vec![T::ZERO; params * params];
        let mut step = vec![T::ZERO; params];
        let mut kept = vec![T::ZERO; params];
        let mut cholesky = Cholesky::new::<T>(params, 1);
        let floor = FLOOR.max(4.0 * T::KIND.epsilon());
        let norm_squared = ws.plan().norm_squared;
        ws.rescale_to_target();
        ws.refresh();
        if ws.halted() {
            return 0;
        }
        let mut rse = ws.rse();
        let mut progress = Progress::with_window(settings, WINDOW);
        let (mut damping, mut growth) = (1e-2, 2.0);
        for iteration in 1..=settings.max_sweeps {
            if control.stopped() || progress.finished(rse) {
                return iteration - 1;
            }
            rse_and_gradient(ws, &mut gradient);
            normal.assemble(ws);
            if ws.halted() || normal.scratch.halted() {
                return iteration - 1;
            }
            let diagonal = (0..params).map(|i| normal.matrix[i * params + i].re());
            let mean = diagonal.sum::<f64>() / params as f64;
            let mut accepted = false;
            for _ in 0..TRIES {
                factor.copy_from_slice(&normal.matrix);
                for i in 0..params {
                    factor[i * params + i] += T::from_parts(damping * mean, 0.0);
                }
                // J^T (X - Z) is minus half the gradient of ||X - Z||^2.
                for (s, g) in step.iter_mut().zip(gradient.iter().flatten()) {
                    *s = g.scale(-0.5 * norm_squared);
                }
                let route = Route::Blocked;
                let Some(positive) = cholesky.factor_until(&mut factor, params, route, &stopped)
                else {
                    return iteration - 1;
                };
                if positive {
                    cholesky.solve(&factor, &mut step, params, route);
                    ws.copy_cores_to(&mut kept);
                    ws.add_to_cores(&step, 1.0);
                    ws.refresh();
                    let trial = if ws.halted() { f64::INFINITY } else { ws.rse() };
                    if trial < rse {
                        rse = trial;
                        accepted = true;
                        damping = (damping / 3.0).max(floor);
                        growth = 2.0;
                        break;
                    }
                    ws.set_cores_between(&kept, &kept, 0.0);
                    if ws.halted() {
                        return iteration;
                    }
                }
                damping *= growth;
                growth *= 2.0;
            }
            if !accepted {
                return iteration;
            }
        }
        settings.max_sweeps
    }
}

/// The matrix `J^T J` of a network, computed block by block.
pub(super) struct NormalEquations<T> {
    /// Entry (p, q) for parameters p, q: the cores one after the other, each as `[mode, edges]`.
    pub matrix: Vec<T>,
    pub params: usize,
    offsets: Vec<usize>,
    /// E of every node of the tree: how it comes from its parent's E and its sibling's block.
    environments: Vec<Environment<T>>,
    /// The environment of each vertex.
    of_vertex: Vec<usize>,
    blocks: Vec<Block>,
    scratch: Scratch<T>,
    block_buffer: Vec<T>,
}

struct Environment<T> {
    labels: Vec<Label>,
    data: Vec<T>,
    /// The parent's environment, the sibling's node and the contraction; none below the root, where
    /// it is the sibling's block itself.
    from: Option<(usize, usize, Contraction)>,
    sibling: usize,
}

/// One block of the matrix: vertices v <= w and the product of their environments.
struct Block {
    v: usize,
    w: usize,
    plan: Contraction,
}

impl<T: Scalar> NormalEquations<T> {
    pub fn new(plan: &Plan<T>) -> Self {
        let lengths = &plan.labels.lengths;
        let edge_count = plan.graph.edges().len();
        let mut environments: Vec<Environment<T>> = Vec::new();
        let mut of_vertex = vec![0; plan.leaves.len()];
        let mut scratch = Scratch::default();
        // Depth first from the root's children.
        let halves = plan.tree.halves().into_iter();
        let mut todo: Vec<_> =
            halves.flat_map(|(left, right)| [(left, right, None), (right, left, None)]).collect();
        while let Some((node, sibling, parent)) = todo.pop() {
            let block: &[Label] = &plan.block[sibling].1;
            let (labels, from) = match parent {
                None => (block.to_vec(), None),
                Some(parent) => {
                    let above: &Environment<T> = &environments[parent];
                    let c = Contraction::plan(&above.labels, block, lengths, None);
                    scratch.reserve(&c);
                    (c.labels().to_vec(), Some((parent, sibling, c)))
                }
            };
            let len = labels.iter().map(|&l| lengths[l]).product();
            environments.push(Environment { labels, data: vec![T::ZERO; len], from, sibling });
            let this = environments.len() - 1;
            match plan.tree.nodes[node] {
                Node::Leaf(v) => of_vertex[v] = this,
                Node::Pair(b, c) => {
                    todo.push((b, c, Some(this)));
                    todo.push((c, b, Some(this)));
                }
            }
        }
        let core_labels = |v: usize| -> Vec<Label> {
            let mode = (v < plan.graph.modes()).then_some(v);
            mode.into_iter().chain(plan.labels.edges_at(plan.graph, v)).collect()
        };
        let mut blocks = Vec::new();
        for v in 0..plan.leaves.len() {
            for w in v..plan.leaves.len() {
                let twin = |&l: &Label| if l >= plan.graph.modes() { l + edge_count } else { l };
                let of_v = &environments[of_vertex[v]].labels;
                let of_w: Vec<Label> = environments[of_vertex[w]].labels.iter().map(twin).collect();
                // E_v holds mode w and E_w holds mode v: rows are (mode v, edges of v).
                let (rows, columns) = if v == w {
                    (core_labels(v)[(v < plan.graph.modes()) as usize..].to_vec(), {
                        let own = core_labels(v);
                        own[(v < plan.graph.modes()) as usize..]
                            .iter()
                            .map(twin)
                            .collect::<Vec<_>>()
                    })
                } else {
                    (core_labels(v), core_labels(w).iter().map(twin).collect())
                };
                let want: Vec<Label> = rows.into_iter().chain(columns).collect();
                let c = Contraction::plan(of_v, &of_w, lengths, Some(&want));
                scratch.reserve(&c);
                blocks.push(Block { v, w, plan: c });
            }
        }
        let mut offsets = vec![0];
        for len in plan.core_lens() {
            offsets.push(offsets[offsets.len() - 1] + len);
        }
        let params = offsets[offsets.len() - 1];
        let largest = blocks.iter().map(|b| b.plan.result_len()).max().unwrap_or(0);
        NormalEquations {
            matrix: vec![T::ZERO; params * params],
            params,
            offsets,
            environments,
            of_vertex,
            blocks,
            scratch,
            block_buffer: vec![T::ZERO; largest],
        }
    }

    /// Computes the matrix at the workspace's cores, whose blocks are fresh.
    pub fn assemble(&mut self, ws: &Workspace<T>) {
        for k in 0..self.environments.len() {
            let mut data = std::mem::take(&mut self.environments[k].data);
            match &self.environments[k].from {
                None => data.copy_from_slice(ws.block(self.environments[k].sibling)),
                Some((parent, sibling, plan)) => plan.run(
                    &self.environments[*parent].data,
                    ws.block(*sibling),
                    &mut data,
                    &mut self.scratch,
                ),
            }
            self.environments[k].data = data;
        }
        for Block { v, w, plan } in &self.blocks {
            let environment = |u: usize| &self.environments[self.of_vertex[u]].data;
            let out = &mut self.block_buffer[..plan.result_len()];
            plan.run(environment(*v), environment(*w), out, &mut self.scratch);
            let (rows, columns) = (self.offsets[*v], self.offsets[*w]);
            if v == w {
                let width = ws.plan().leaves[*v].width;
                for i in 0..ws.plan().leaves[*v].dim {
                    for (p, row) in out.chunks_exact(width).enumerate() {
                        let at = (rows + i * width + p) * self.params + columns + i * width;
                        self.matrix[at..at + width].copy_from_slice(row);
                    }
                }
            } else {
                let width = self.offsets[*w + 1] - columns;
                for (p, row) in out.chunks_exact(width).enumerate() {
                    for (q, &value) in row.iter().enumerate() {
                        self.matrix[(rows + p) * self.params + columns + q] = value;
                        self.matrix[(columns + q) * self.params + rows + p] = value;
                    }
                }
            }
        }
    }
}
