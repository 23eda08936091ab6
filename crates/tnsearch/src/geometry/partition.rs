//! Ordered partitions of the vertices, refined until vertices of a cell have as many neighbours in each cell.

use super::ColouredGraph;

/// The vertices in cells, the cells in an order that depends on the graph alone and not on its vertex numbers.
#[derive(Debug, Clone)]
pub(super) struct Partition {
    /// The vertices, cell after cell.
    order: Vec<u32>,
    /// Where each vertex stands in `order`.
    place: Vec<u32>,
    /// For each vertex the place of the first of its cell.
    start: Vec<u32>,
    /// For each place that starts a cell, the cell's length.
    length: Vec<u32>,
}

impl Partition {
    /// The vertices by colour, refined.
    pub fn new(graph: &ColouredGraph) -> Partition {
        let n = graph.vertices();
        let mut order: Vec<u32> = (0..n as u32).collect();
        order.sort_by_key(|&v| graph.colours()[v as usize]);
        let mut partition =
            Partition { order, place: vec![0; n], start: vec![0; n], length: vec![0; n] };
        let mut starts = Vec::new();
        let colour = |p: &Partition, at: usize| graph.colours()[p.order[at] as usize];
        let mut at = 0;
        while at < n {
            let mut end = at + 1;
            while end < n && colour(&partition, end) == colour(&partition, at) {
                end += 1;
            }
            partition.make_cell(at, end);
            starts.push(at);
            at = end;
        }
        partition.refine(graph, starts);
        partition
    }

    fn make_cell(&mut self, from: usize, to: usize) {
        self.length[from] = (to - from) as u32;
        for at in from..to {
            let v = self.order[at] as usize;
            (self.place[v], self.start[v]) = (at as u32, from as u32);
        }
    }

    /// The place where the cell of a vertex starts: the cell's name.
    pub fn cell_of(&self, vertex: usize) -> usize {
        self.start[vertex] as usize
    }

    /// The vertices of the cell that starts at a place.
    pub fn cell(&self, start: usize) -> &[u32] {
        &self.order[start..start + self.length[start] as usize]
    }

    /// The first of the smallest cells with more than one vertex; none where all vertices are told apart.
    pub fn target(&self) -> Option<usize> {
        let mut best: Option<usize> = None;
        let mut at = 0;
        while at < self.order.len() {
            let length = self.length[at];
            if length > 1 && best.is_none_or(|b| length < self.length[b]) {
                best = Some(at);
            }
            at += length as usize;
        }
        best
    }

    /// Tells a vertex apart from the others of its cell, and refines. Returns a fingerprint of what happened:
    /// where a symmetry maps one partition and vertex to another, the fingerprints are equal.
    pub fn individualise(&mut self, graph: &ColouredGraph, vertex: usize) -> u64 {
        let start = self.cell_of(vertex);
        let end = start + self.length[start] as usize;
        self.order.swap(start, self.place[vertex] as usize);
        self.make_cell(start, start + 1);
        if start + 1 < end {
            self.make_cell(start + 1, end);
        }
        self.refine(graph, vec![start])
    }

    /// The map that sends the vertex at each place to that of `other` where both are alone, and fixes all
    /// others; none where the other cells differ.
    pub fn map_to(&self, other: &Partition) -> Option<Vec<usize>> {
        let mut map: Vec<usize> = (0..self.order.len()).collect();
        for (at, &v) in self.order.iter().enumerate() {
            let start = self.start[v as usize] as usize;
            if self.length[start] == 1 {
                map[v as usize] = other.order[at] as usize;
            } else if other.start[v as usize] != self.start[v as usize] {
                return None;
            }
        }
        Some(map)
    }

    /// Splits cells by the labels of their edges into each of the cells in `queue`, and into every cell that
    /// comes of it.
    fn refine(&mut self, graph: &ColouredGraph, mut queue: Vec<usize>) -> u64 {
        let n = self.order.len();
        let mut waiting = vec![false; n];
        queue.iter().for_each(|&s| waiting[s] = true);
        let mut sum = vec![0u64; n];
        let mut print = 0u64;
        let mut next = 0;
        while let Some(&splitter) = queue.get(next) {
            next += 1;
            waiting[splitter] = false;
            let mut touched: Vec<u32> = Vec::new();
            for &v in self.cell(splitter) {
                for &(u, label) in graph.near(v as usize) {
                    if sum[u] == 0 {
                        touched.push(u as u32);
                    }
                    // Odd, so a sum of fewer than 2^63 of them that wraps to zero is out of reach in practice;
                    // were it to happen, the partition would only be coarser.
                    sum[u] = sum[u].wrapping_add(mix(label as u64 + 1) | 1);
                }
            }
            let mut cells: Vec<u32> = touched.iter().map(|&u| self.start[u as usize]).collect();
            cells.sort_unstable();
            cells.dedup();
            for cell in cells {
                self.split(cell as usize, &sum, &mut print, &mut waiting, &mut queue);
            }
            touched.iter().for_each(|&u| sum[u as usize] = 0);
        }
        print
    }

    /// Splits one cell by `sum`, smaller sums first, and queues the parts (all but the largest, which the
    /// others determine, unless the whole cell was waiting).
    fn split(
        &mut self,
        cell: usize,
        sum: &[u64],
        print: &mut u64,
        waiting: &mut [bool],
        queue: &mut Vec<usize>,
    ) {
        let end = cell + self.length[cell] as usize;
        self.order[cell..end].sort_unstable_by_key(|&v| sum[v as usize]);
        let value = |p: &Partition, at: usize| sum[p.order[at] as usize];
        let mut parts = Vec::new();
        let mut at = cell;
        while at < end {
            let mut to = at + 1;
            while to < end && value(self, to) == value(self, at) {
                to += 1;
            }
            *print = mix(*print ^ mix(value(self, at)) ^ ((at as u64) << 32 | to as u64));
            parts.push((at, to));
            at = to;
        }
        for &(from, to) in &parts {
            self.make_cell(from, to);
        }
        let whole = waiting[cell];
        let largest = (0..parts.len()).rev().max_by_key(|&k| parts[k].1 - parts[k].0);
        for (k, &(from, _)) in parts.iter().enumerate() {
            if !waiting[from] && (whole || Some(k) != largest) {
                waiting[from] = true;
                queue.push(from);
            }
        }
    }
}

/// The finaliser of SplitMix64.
fn mix(mut z: u64) -> u64 {
    z = z.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
