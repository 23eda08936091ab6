//! A structure drawn in text, for a terminal.

use crate::graph::{Layout, Structure};
use crate::tensor::ModeNames;
use std::fmt::Write as _;

/// The widest line, where labels allow.
const WIDTH: usize = 78;

/// Draws a structure in plain text, several lines each ended by a newline.
///
/// `(m3:4)` is mode 3 of dimension 4, `[i9]` the internal vertex 9, `*` the hub of a hyperedge, `--5--` an edge of rank 5, and
/// dots an edge of the template that has rank 1 and so is none. Paths are drawn as a chain, rings
/// and lattices on a grid, trees indented below their root; other graphs vertex by vertex.
///
/// ```
/// use std::sync::Arc;
/// use tnsearch::graph::{Structure, Template};
/// use tnsearch::network::draw;
/// let path = Arc::new(Template::path(3).unwrap());
/// let structure = Structure::new(path, vec![1, 0, 2], vec![5, 1]).unwrap();
/// assert_eq!(draw(&structure, &[4, 3, 6]), "(m1:3)--5--(m0:4).....(m2:6)\n");
/// ```
pub fn draw(structure: &Structure, dims: &[usize]) -> String {
    draw_named(structure, dims, ModeNames::default())
}

/// The same with the names that the modes have after a split: `(m0.1:4)`.
pub fn draw_named(structure: &Structure, dims: &[usize], names: ModeNames<'_>) -> String {
    let template = structure.template();
    let picture = Picture::new(structure, dims, names);
    match template.layout() {
        Some(Layout::Line) => picture.chain(false),
        Some(Layout::Circle) if template.order() == 2 => picture.chain(false),
        Some(Layout::Circle) => picture.ring().unwrap_or_else(|| picture.chain(true)),
        Some(Layout::Grid { columns }) => {
            picture.grid(|v| (v / columns, v % columns)).unwrap_or_else(|| picture.list())
        }
        _ if template.edges().len() + 1 == template.vertices() => picture.tree(),
        _ => picture.list(),
    }
}

struct Picture<'a> {
    structure: &'a Structure,
    label: Vec<String>,
}

impl<'a> Picture<'a> {
    fn new(structure: &'a Structure, dims: &[usize], names: ModeNames<'_>) -> Self {
        let mode = |&n: &usize| match dims.get(n) {
            Some(d) => format!("{}:{d}", names.of(n)),
            None => names.of(n).into_owned(),
        };
        let label =
            structure.groups().into_iter().enumerate().map(|(v, modes)| match modes.is_empty() {
                true if structure.template().copy_vertex() == Some(v) => "*".to_owned(),
                true => format!("[i{v}]"),
                false => format!("({})", modes.iter().map(mode).collect::<Vec<_>>().join(" ")),
            });
        Picture { structure, label: label.collect() }
    }

    /// The vertices joined to `v` by the template, with the ranks.
    fn neighbours(&self, v: usize) -> Vec<(usize, usize)> {
        let t = self.structure.template();
        let ends = t.incident(v).map(|e| (t.edges()[e], self.structure.ranks()[e]));
        ends.map(|((a, b), r)| (if a == v { b } else { a }, r)).collect()
    }

    /// The rank of the edge between two vertices.
    fn rank(&self, u: usize, v: usize) -> usize {
        let edges = self.structure.template().edges();
        edges.binary_search(&(u.min(v), u.max(v))).map_or(1, |e| self.structure.ranks()[e])
    }

    /// The vertices in order with the ranks between them.
    fn chain(&self, closed: bool) -> String {
        let last = self.label.len() - 1;
        let mut words = vec![self.label[0].clone()];
        words.extend((1..=last).map(|v| link(self.rank(v - 1, v)) + &self.label[v]));
        if closed {
            words.push(format!("{}back to {}", link(self.rank(0, last)), self.label[0]));
        }
        wrapped(&words, 2)
    }

    /// The first half from left to right above the second half from right to left.
    fn ring(&self) -> Option<String> {
        let n = self.label.len();
        let cols = n.div_ceil(2);
        self.grid(|v| if v < cols { (0, v) } else { (1, n - 1 - v) })
    }

    /// Vertices on a grid: `cell` gives the row and column of a vertex. Edges run between
    /// neighbouring cells, or down and then left around a corner (in a ring of odd order). None if
    /// it would be too wide.
    fn grid(&self, cell: impl Fn(usize) -> (usize, usize)) -> Option<String> {
        let widest = self.label.iter().map(String::len).max().unwrap_or(0);
        let digits = self.structure.ranks().iter().map(|r| r.to_string().len()).max();
        let pitch = widest + digits.unwrap_or(1) + 4;
        let centre = |v: usize| (cell(v).0 * 4, cell(v).1 * pitch + widest / 2);
        let mut canvas = Canvas::default();
        // Lines first, from centre to centre; labels and ranks are written over them.
        for [u, v, rank] in self.structure.edges() {
            let ((y, x), (to_y, to_x)) = (centre(u), centre(v));
            let (dash, bar, corner) = if rank == 1 { ('.', '.', '.') } else { ('-', '|', '+') };
            (y..=to_y).filter(|_| y < to_y).for_each(|y| canvas.put(y, x, bar));
            (x.min(to_x)..=x.max(to_x))
                .filter(|_| x != to_x)
                .for_each(|x| canvas.put(to_y, x, dash));
            if x != to_x && y != to_y {
                canvas.put(to_y, x, corner);
            }
        }
        for [u, v, rank] in self.structure.edges().into_iter().filter(|e| e[2] > 1) {
            let ((y, x), (to_y, to_x)) = (centre(u), centre(v));
            let middle = if y == to_y { (x + to_x) / 2 } else { x };
            canvas.write((y + to_y) / 2, middle, &rank.to_string());
        }
        for (v, label) in self.label.iter().enumerate() {
            canvas.write(centre(v).0, centre(v).1, label);
        }
        (canvas.0.iter().all(|line| line.len() <= WIDTH)).then(|| canvas.text())
    }

    /// A tree indented below its root: the top of a hierarchical format, else vertex 0.
    fn tree(&self) -> String {
        let n = self.label.len();
        let template = self.structure.template();
        let root = if template.is_external(0) && !template.is_external(n - 1) { n - 1 } else { 0 };
        let mut out = format!("{}\n", self.label[root]);
        // (vertex, its parent, what stands left of its children)
        let mut stack = self.children(root, None, "");
        while let Some((v, parent, rank, indent, last)) = stack.pop() {
            let corner = if last { '`' } else { '|' };
            let edge = match rank {
                1 => "....".to_owned(),
                r => format!("-{r}--"),
            };
            let _ = writeln!(out, "{indent}{corner}{edge}{}", self.label[v]);
            let bar = if last { ' ' } else { '|' };
            let inner = format!("{indent}{bar}{}", " ".repeat(edge.len()));
            stack.extend(self.children(v, Some(parent), &inner));
        }
        out
    }

    /// The children of `v`, in reverse, as (vertex, its parent, rank, indent, whether the last).
    fn children(
        &self,
        v: usize,
        parent: Option<usize>,
        indent: &str,
    ) -> Vec<(usize, usize, usize, String, bool)> {
        let mut below = self.neighbours(v);
        below.retain(|&(w, _)| Some(w) != parent);
        below.reverse();
        let child = |(k, (w, r))| (w, v, r, format!("{indent}  "), k == 0);
        below.into_iter().enumerate().map(child).collect()
    }

    /// One line per vertex with its neighbours.
    fn list(&self) -> String {
        let widest = self.label.iter().map(String::len).max().unwrap_or(0);
        let line = |(v, label): (usize, &String)| {
            let mut words = vec![format!("{label:widest$}")];
            let joined = self.neighbours(v).into_iter().filter(|e| e.1 > 1);
            words.extend(joined.map(|(w, r)| format!("  {}{}", link(r), self.label[w])));
            if words.len() == 1 {
                words.push("  alone".into());
            }
            wrapped(&words, widest)
        };
        self.label.iter().enumerate().map(line).collect()
    }
}

/// `--5--`, or dots for rank 1.
fn link(rank: usize) -> String {
    match rank {
        1 => ".....".to_owned(),
        r => format!("--{r}--"),
    }
}

/// Words one after the other, going on in an indented line where the width is spent.
fn wrapped(words: &[String], indent: usize) -> String {
    let (mut out, mut used) = (String::new(), 0);
    for (k, word) in words.iter().enumerate() {
        if k > 0 && used + word.len() > WIDTH {
            let _ = write!(out, "\n{:indent$}", "");
            used = indent;
        }
        out += word;
        used += word.len();
    }
    out + "\n"
}

/// Lines of characters, as long as what is put on them.
#[derive(Default)]
struct Canvas(Vec<Vec<char>>);

impl Canvas {
    fn put(&mut self, y: usize, x: usize, c: char) {
        if self.0.len() <= y {
            self.0.resize(y + 1, Vec::new());
        }
        if self.0[y].len() <= x {
            self.0[y].resize(x + 1, ' ');
        }
        self.0[y][x] = c;
    }

    /// Writes a word with its middle at `x`.
    fn write(&mut self, y: usize, x: usize, word: &str) {
        let from = x.saturating_sub(word.len() / 2);
        word.chars().enumerate().for_each(|(k, c)| self.put(y, from + k, c));
    }

    fn text(&self) -> String {
        let lines = self.0.iter().map(|line| line.iter().collect::<String>());
        lines.map(|line| line.trim_end().to_owned() + "\n").collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Template;
    use crate::graph::testing::{all, random};
    use crate::rng::stream;
    use std::sync::Arc;

    fn picture(spec: &str, ranks: &[usize], dims: &[usize]) -> String {
        let template = Arc::new(Template::parse(spec, dims.len()).unwrap());
        let text = draw(&Structure::identity(template, ranks.to_vec()).unwrap(), dims);
        format!("\n{text}")
    }

    #[test]
    fn chains_wrap() {
        let expected = "
(m0:3)--2--(m1:3).....(m2:3)--3--(m3:3)--12--(m4:3)--4--(m5:3)--4--(m6:3)
  --4--(m7:3)--4--(m8:3)--4--(m9:3)
";
        assert_eq!(picture("path", &[2, 1, 3, 12, 4, 4, 4, 4, 4], &[3; 10]), expected);
        assert_eq!(picture("ring", &[2], &[3, 4]), "\n(m0:3)--2--(m1:4)\n");
    }

    #[test]
    fn modes_have_the_names_of_their_factors() {
        let split = crate::tensor::Reshape::shape(&[6, 4], vec![2, 3, 4], false).unwrap();
        let path = Arc::new(Template::path(3).unwrap());
        let structure = Structure::identity(path, vec![2, 3]).unwrap();
        let drawn = draw_named(&structure, &[2, 3, 4], ModeNames::new(split.as_ref()));
        assert_eq!(drawn, "(m0.0:2)--2--(m0.1:3)--3--(m1:4)\n");
    }

    #[test]
    fn rings_close() {
        let expected = "
(m0:3)---2---(m1:4)---3---(m2:5)
   |                         |
  10                         4
   |                         |
(m5:8)---6---(m4:7).......(m3:16)
";
        assert_eq!(picture("ring", &[2, 10, 3, 4, 1, 6], &[3, 4, 5, 16, 7, 8]), expected);
        let odd = "
(m0:3)--2--(m1:3)
   .          |
   .          7
   .          |
(m2:3)--------+
";
        assert_eq!(picture("ring", &[2, 1, 7], &[3; 3]), odd);
        let wide = picture("ring", &[3; 16], &[10; 16]);
        assert!(wide.contains("--3--back to (m0:10)"), "{wide}");
    }

    #[test]
    fn lattices_and_trees() {
        let lattice = "
(m0:3)--2--(m1:4)--3--(m2:5)
   |          .          |
   9          .          5
   |          .          |
(m3:6)--6--(m4:7)--7--(m5:3)
";
        assert_eq!(picture("peps:2x3", &[2, 9, 3, 1, 5, 6, 7], &[3, 4, 5, 6, 7, 3]), lattice);
        let tree = "
[i6]
  |-5--[i4]
  |      |-2--(m0:3)
  |      `-10--(m1:4)
  `-6--[i5]
         |-3--(m2:5)
         `....(m3:16)
";
        assert_eq!(picture("ht", &[2, 10, 3, 1, 5, 6], &[3, 4, 5, 16]), tree);
        let list = "
(m0:3)  --2--(m1:3)
(m1:3)  --2--(m0:3)
(m2:3)  alone
(m3:3)  alone
";
        assert_eq!(picture("complete", &[2, 1, 1, 1, 1, 1], &[3; 4]), list);
    }

    #[test]
    fn every_vertex_is_drawn_within_the_width() {
        let mut rng = stream(1, b"text");
        for order in (2..=10).chain([16]) {
            for template in all(order) {
                let s = random(&Arc::new(template), 3, &mut rng);
                let dims: Vec<usize> = (0..order).map(|n| n % 5 + 2).collect();
                let text = draw(&s, &dims);
                for (n, d) in dims.iter().enumerate() {
                    assert!(text.contains(&format!("(m{n}:{d})")), "{text}");
                }
                for v in order..s.template().vertices() {
                    assert!(text.contains(&format!("[i{v}]")), "{text}");
                }
                assert!(text.lines().all(|l| l.len() <= WIDTH && l == l.trim_end()), "{text}");
            }
        }
    }
}
