//! The best of each format, where a search covers several.

use crate::graph::{GraphError, ModeGraph, Structure, StructureFile, Template, TemplateRef};
use crate::problem::{CheckedObjective, Measure, Objective, Score};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// The format of a structure that is not one of the graph searched, as its record has it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OtherFormat {
    /// Its name: `ring`, `any-tree`.
    pub name: String,
    /// Its graph.
    pub template: TemplateRef,
}

impl OtherFormat {
    /// The format of a structure; none where it is that of `home`.
    pub fn of(structure: &Structure, home: Option<&Arc<Template>>) -> Option<Self> {
        let template = structure.template();
        let other = home.is_some_and(|home| !Arc::ptr_eq(home, template) && home != template);
        // Where vertices carry several modes it goes by its graph: a name stands for one mode at each.
        let graph = || structure.to_file().template;
        other.then(|| OtherFormat { name: template.name().to_owned(), template: graph() })
    }

    /// The structure with this permutation and these ranks of the graph's edges. A name stands for its graph on the
    /// vertices that carry modes, which may be fewer than the modes: so 0.3.0 recorded paths of such vertices.
    pub fn structure(
        &self,
        permutation: &[usize],
        ranks: &[usize],
    ) -> Result<Structure, GraphError> {
        let edges = match &self.template {
            TemplateRef::Graph { edges, .. } => edges,
            TemplateRef::Name(name) => {
                let mut carrying = permutation.to_vec();
                carrying.sort_unstable();
                carrying.dedup();
                let template = Template::parse(name, carrying.len())?;
                return Structure::new(Arc::new(template), permutation.to_vec(), ranks.to_vec());
            }
        };
        if edges.len() != ranks.len() {
            let (ranks, edges) = (ranks.len(), edges.len());
            return Err(GraphError::BadRank(format!("{ranks} ranks for {edges} edges")));
        }
        Structure::from_file(&StructureFile {
            template: self.template.clone(),
            permutation: permutation.to_vec(),
            edges: edges.iter().zip(ranks).map(|(&[u, v], &r)| [u, v, r]).collect(),
        })
    }
}

/// The best structure of one format that was fitted.
#[derive(Debug, Clone, PartialEq)]
pub struct FormatBest {
    /// The name of its template.
    pub format: String,
    /// Its numbers.
    pub score: Score,
    /// When it was found, in seconds since the search began.
    pub seconds: f64,
    /// Whether it is what was asked for.
    pub target_reached: bool,
}

/// Keeps the best of each format.
#[derive(Debug, Default)]
pub struct BestOfFormats(Vec<Line>);

/// The best of a format.
#[derive(Debug, Clone)]
struct Line {
    name: String,
    template: Arc<Template>,
    graph: ModeGraph,
    score: Score,
    seconds: f64,
    /// Whether it was found in this format, not in one that it contains.
    own: bool,
}

impl Line {
    /// Whether what another format has found is a structure of this one: trees of any-tree, paths of a ring, all without
    /// vertices of several modes or none of any graph.
    fn contains(&self, other: &Line) -> bool {
        let plain = !other.graph.is_grouped() && other.graph.internal() == 0;
        match &*self.name {
            "any-tree" => other.graph.is_forest(),
            "any" => plain,
            "ring" | "path" => {
                plain && Structure::in_template(&self.template, &other.graph).is_some()
            }
            _ => false,
        }
    }
}

impl BestOfFormats {
    /// A structure of the format of this name was fitted.
    pub fn add(
        &mut self,
        objective: CheckedObjective,
        (name, structure): (&str, &Structure),
        score: Score,
        seconds: f64,
    ) {
        let at = self.0.iter().position(|line| line.name == name);
        if at.is_some_and(|k| !objective.compare_answers(&score, &self.0[k].score).is_lt()) {
            return;
        }
        let line = Line {
            name: name.to_owned(),
            template: structure.template().clone(),
            graph: structure.canonical().graph,
            score,
            seconds,
            own: true,
        };
        match at {
            Some(k) => self.0[k] = line,
            None => self.0.push(line),
        }
    }

    /// The formats, the best first; none where there is only one. No line is worse than that of a format it contains.
    pub fn finish(self, objective: CheckedObjective) -> Vec<FormatBest> {
        let found = self.0;
        if found.len() < 2 {
            return Vec::new();
        }
        let mut lines = found.clone();
        for line in &mut lines {
            for other in &found {
                let better = objective.compare_answers(&other.score, &line.score).is_lt();
                if better && line.contains(other) {
                    (line.score, line.seconds, line.own) = (other.score, other.seconds, false);
                }
            }
        }
        lines.sort_by(|a, b| {
            let by_score = objective.compare_answers(&a.score, &b.score);
            by_score.then(b.own.cmp(&a.own)).then_with(|| a.name.cmp(&b.name))
        });
        let best = |line: Line| FormatBest {
            target_reached: objective.reached(line.score.params, line.score.error),
            format: line.name,
            score: line.score,
            seconds: line.seconds,
        };
        lines.into_iter().map(best).collect()
    }
}

/// Why the first of several formats was chosen, in words; none where there was no choice. `number` writes a quantity.
///
/// ```
/// use tnsearch::problem::{Measure, Objective, Score};
/// use tnsearch::search::{FormatBest, chosen_format};
/// let best = |format: &str, params| {
///     let score = Score { loss: 0.0, error: 1e-5, params };
///     FormatBest { format: format.into(), score, seconds: 1.0, target_reached: true }
/// };
/// let formats = [best("any-tree", 88), best("ring", 100)];
/// let why = chosen_format(&formats, Objective::MaxError(1e-4), &Measure::RSE, |x| format!("{x:.0}"));
/// assert_eq!(why.unwrap(), "any-tree, because it has the fewest params: 12 % fewer than the next, ring");
/// ```
pub fn chosen_format(
    formats: &[FormatBest],
    objective: Objective,
    measure: &Measure,
    number: impl Fn(f64) -> String,
) -> Option<String> {
    let [best, next, ..] = formats else { return None };
    let (name, other) = (&best.format, &next.format);
    if !best.target_reached {
        return Some(format!("{name}, because it came nearest; no format reached the target"));
    }
    if !next.target_reached {
        return Some(format!("{name}, because no other format reached the target"));
    }
    let less = |a: f64, b: f64| if b > 0.0 { 100.0 * (1.0 - a / b) } else { 0.0 };
    let (a, b) = (&best.score, &next.score);
    let (what, much, than) = match objective {
        Objective::MaxError(_) => {
            ("the fewest params", less(a.params as f64, b.params as f64), "fewer")
        }
        Objective::MaxParams(_) => ("the smallest error", less(a.error, b.error), "less"),
        Objective::Lambda(_) => ("the smallest loss", less(a.loss, b.loss), "less"),
    };
    if much <= 0.0 {
        return Some(match a.error < b.error {
            true => format!(
                "{name}, because of those that are as good, {other} among them, it has the smallest {}",
                measure.name
            ),
            false => format!("{name}, which was fitted first; {other} is as good"),
        });
    }
    Some(format!("{name}, because it has {what}: {} % {than} than the next, {other}", number(much)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formats(objective: Objective, of: &[(&str, u128, f64)]) -> Vec<FormatBest> {
        let objective = objective.check().unwrap();
        let mut formats = BestOfFormats::default();
        for (k, &(name, params, error)) in of.iter().enumerate() {
            let score = objective.score(params, params as f64 / 100.0, error);
            let template = Arc::new(Template::parse(name, 4).unwrap());
            let ranks = vec![2; template.edges().len()];
            let structure = Structure::identity(template, ranks).unwrap();
            formats.add(objective, (name, &structure), score, k as f64);
        }
        formats.finish(objective)
    }

    #[test]
    fn the_best_of_each_format_is_kept_and_the_best_stands_first() {
        let of = [
            ("ring", 50, 0.05),
            ("path", 40, 0.2),
            ("ring", 30, 0.05),
            ("path", 60, 0.01),
            ("ring", 40, 0.05),
        ];
        let found = formats(Objective::MaxError(0.1), &of);
        let said: Vec<_> = found.iter().map(|f| (&*f.format, f.score.params, f.seconds)).collect();
        assert_eq!(said, [("ring", 30, 2.0), ("path", 60, 3.0)]);
        assert!(found.iter().all(|f| f.target_reached));
        assert!(formats(Objective::MaxError(0.1), &of[..1]).is_empty(), "one format is no choice");
    }

    #[test]
    fn no_line_is_worse_than_that_of_a_format_it_contains() {
        let of = [("path", 40, 0.05), ("ring", 50, 0.05), ("ht", 30, 0.05), ("cp", 20, 0.05)];
        let found = formats(Objective::MaxError(0.1), &of);
        let said: Vec<_> = found.iter().map(|f| (&*f.format, f.score.params, f.seconds)).collect();
        // What was found in a format stands before what it contains.
        let path = [("path", 40, 0.0), ("ring", 40, 0.0)];
        assert_eq!(said, [&[("cp", 20, 3.0), ("ht", 30, 2.0)][..], &path].concat());
        // A ring is no path, and a path that misses the error is no better ring.
        let of = [("path", 60, 0.05), ("ring", 50, 0.05)];
        let found = formats(Objective::MaxError(0.1), &of);
        assert_eq!(found.iter().map(|f| f.score.params).collect::<Vec<_>>(), [50, 60]);
        let found = formats(Objective::MaxError(0.1), &[("path", 40, 0.2), ("ring", 50, 0.05)]);
        assert_eq!(found.iter().map(|f| f.score.params).collect::<Vec<_>>(), [50, 40]);
    }

    #[test]
    fn a_structure_of_another_graph_survives_its_record() {
        let home = Arc::new(Template::ring(4).unwrap());
        let own =
            Template::from_graph("mine", vec![true; 4], vec![(0, 3), (1, 3), (2, 3)]).unwrap();
        for (template, other) in
            [(Template::path(4).unwrap(), true), (own, true), (Template::ring(4).unwrap(), false)]
        {
            let ranks: Vec<usize> = (2..).take(template.edges().len()).collect();
            let s = Structure::new(Arc::new(template), vec![3, 1, 0, 2], ranks).unwrap();
            assert_eq!(OtherFormat::of(&s, None), None);
            let Some(format) = OtherFormat::of(&s, Some(&home)) else {
                assert!(!other);
                continue;
            };
            let back: OtherFormat =
                serde_json::from_str(&serde_json::to_string(&format).unwrap()).unwrap();
            assert_eq!((&back.name[..], other), (s.template().name(), true));
            let again = back.structure(s.permutation(), s.ranks()).unwrap();
            assert_eq!(again.canonical().graph, s.canonical().graph);
            assert_eq!(again.params(&[2, 3, 4, 5]), s.params(&[2, 3, 4, 5]));
            assert!(back.structure(s.permutation(), &[2]).is_err());
            assert!(back.structure(&[0, 1, 2, 9], s.ranks()).is_err());
        }
    }

    /// Several modes at a vertex, on every small graph: also on the paths that are called any-tree.
    #[test]
    fn a_structure_with_several_modes_at_a_vertex_survives_its_record() {
        let groups: [&[Vec<usize>]; 5] = [
            &[vec![0, 1, 2, 3]],
            &[vec![0, 1], vec![2, 3]],
            &[vec![1, 3], vec![0], vec![2]],
            &[vec![0, 3], vec![], vec![1], vec![2]],
            &[vec![2], vec![0], vec![3], vec![1]],
        ];
        let dims = [2, 3, 4, 5];
        for (k, groups) in groups.into_iter().enumerate() {
            let n = groups.len();
            let path: Vec<_> = (1..n).map(|v| (v - 1, v, v + 1)).collect();
            let star: Vec<_> = (1..n).map(|v| (0, v, v + 1)).collect();
            let ring = path.iter().copied().chain((n > 2).then_some((0, n - 1, 7))).collect();
            for edges in [path.clone(), star, ring] {
                for (home, name) in
                    [("any-tree", "any-tree"), ("formats", "any-tree"), ("ring", "graph")]
                {
                    let home = Arc::new(Template::parse(home, 4).unwrap());
                    let s = Structure::from_groups(name, groups, &edges).unwrap();
                    let Some(format) = OtherFormat::of(&s, Some(&home)) else {
                        assert_eq!(s.template(), &home);
                        continue;
                    };
                    let back: OtherFormat =
                        serde_json::from_str(&serde_json::to_string(&format).unwrap()).unwrap();
                    assert_eq!(back.name, name);
                    let again = back.structure(s.permutation(), s.ranks()).unwrap();
                    assert_eq!(again.canonical().graph, s.canonical().graph, "{k}");
                    assert_eq!((again.edges(), again.params(&dims)), (s.edges(), s.params(&dims)));
                    // As 0.3.0 wrote those that it called by a name.
                    if let TemplateRef::Name(known) = s.template().to_ref() {
                        let old = OtherFormat { template: TemplateRef::Name(known), ..back };
                        let again = old.structure(s.permutation(), s.ranks()).unwrap();
                        assert_eq!(again.canonical().graph, s.canonical().graph, "{k}");
                    }
                }
            }
        }
    }

    #[test]
    fn the_reason_follows_from_the_numbers() {
        let why = |objective: Objective, of: &[(&str, u128, f64)]| {
            chosen_format(&formats(objective, of), objective, &Measure::RSE, |x| format!("{x:.1}"))
        };
        let eps = Objective::MaxError(0.1);
        assert_eq!(why(eps, &[("ring", 50, 0.05)]), None);
        let said = why(eps, &[("ring", 50, 0.05), ("ht", 40, 0.05)]).unwrap();
        assert_eq!(said, "ht, because it has the fewest params: 20.0 % fewer than the next, ring");
        let said = why(eps, &[("ring", 50, 0.05), ("ht", 40, 0.5)]).unwrap();
        assert_eq!(said, "ring, because no other format reached the target");
        let said = why(eps, &[("ring", 40, 0.3), ("ht", 50, 0.5)]).unwrap();
        assert_eq!(said, "ring, because it came nearest; no format reached the target");
        let said = why(eps, &[("ring", 10, 0.301), ("ht", 90, 0.3)]).unwrap();
        assert_eq!(said, "ht, because it came nearest; no format reached the target");
        let said = why(eps, &[("ring", 40, 0.03), ("ht", 40, 0.05)]).unwrap();
        assert!(
            said.starts_with("ring, because of those that are as good, ht among them"),
            "{said}"
        );
        let said = why(Objective::MaxParams(90), &[("ring", 50, 0.3), ("ht", 40, 0.4)]).unwrap();
        assert_eq!(said, "ring, because it has the smallest error: 25.0 % less than the next, ht");
        let said = why(Objective::Lambda(1.0), &[("ring", 50, 0.5), ("ht", 40, 0.4)]).unwrap();
        assert_eq!(said, "ht, because it has the smallest loss: 20.0 % less than the next, ring");
    }
    /// Where there is nothing to choose by but the order, that is said; also where both errors are 0.
    #[test]
    fn formats_that_are_as_good_are_called_so() {
        let why = |objective: Objective, of: &[(&str, u128, f64)]| {
            chosen_format(&formats(objective, of), objective, &Measure::RSE, |x| format!("{x:.1}"))
        };
        let first = Some("ht, which was fitted first; ring is as good".to_owned());
        let both = [("ring", 40, 0.05), ("ht", 40, 0.05)];
        assert_eq!(why(Objective::MaxError(0.1), &both), first);
        assert_eq!(why(Objective::Lambda(1.0), &both), first);
        let exact = [("ring", 40, 0.0), ("ht", 40, 0.0)];
        assert_eq!(why(Objective::MaxParams(90), &exact), first);
        let one = [("ring", 40, 0.1), ("ht", 40, 0.0)];
        let said = why(Objective::MaxParams(90), &one).unwrap();
        assert_eq!(said, "ht, because it has the smallest error: 100.0 % less than the next, ring");
    }

    /// Of structures of one format that are as good, the first is the one that counts.
    #[test]
    fn the_first_of_equals_is_kept() {
        let of = [("ring", 30, 0.05), ("ring", 30, 0.05), ("path", 60, 0.05)];
        assert_eq!(formats(Objective::MaxError(0.1), &of)[0].seconds, 0.0);
    }
}
