//! Claims about single cuts: what `bound` and `certify` list, and the rank that a template needs.

use super::errors::Goal;
use super::{Checks, Command, close, is_root, number};
use crate::certificate::{Class, Graph};
use crate::{Network, Tails, Unchecked, Verdict, spectrum};
use serde_json::{Value, json};

/// The most internal vertices whose sides are all tried.
const MOST_INTERNAL: usize = 14;
/// What sampled singular values may miss of a tail, in parts of it and of the error asked for.
const MISSED: f64 = 0.07;

/// The least product of ranks across a cut between the modes of a set and the others, wherever the internal vertices are;
/// none where there are too many of them.
fn width(network: &Network, modes: &[usize]) -> Option<f64> {
    let internal: Vec<usize> =
        (0..network.external.len()).filter(|&v| !network.external[v]).collect();
    if internal.len() > MOST_INTERNAL {
        return None;
    }
    // Whatever is cut, the terms are as many as the rank.
    if network.hub.is_some() {
        return network.edges.first().map(|e| e[2] as f64);
    }
    let mut inside: Vec<bool> = vec![false; network.external.len()];
    modes.iter().for_each(|&m| inside[network.at[m]] = true);
    let product = |choice: usize| {
        let mut inside = inside.clone();
        internal.iter().enumerate().for_each(|(k, &v)| inside[v] = choice >> k & 1 == 1);
        let crossed = network.edges.iter().filter(|e| inside[e[0]] != inside[e[1]]);
        crossed.map(|e| e[2] as f64).product::<f64>()
    };
    (0..1usize << internal.len()).map(product).reduce(f64::min)
}

/// The least rank with which an error is not ruled out: at least this, and at most that.
fn rank_at(tails: &Tails, eps: f64) -> (u64, u64) {
    let first = |tail: &dyn Fn(u64) -> f64| (0..).find(|&k| tail(k) <= eps).unwrap_or(0).max(1);
    (first(&|k| tails.certain(k)), first(&|k| tails.of(k)))
}

/// The least R with R^k >= n.
fn root(n: u64, k: usize) -> u64 {
    let reaches = |r: u64| {
        let power = (0..k).try_fold(1u64, |p, _| p.checked_mul(r));
        power.is_none_or(|p| p >= n)
    };
    if k == 0 && n > 1 { u64::MAX } else { (1..).find(|&r| reaches(r)).unwrap_or(u64::MAX) }
}

/// All sets of so many of the first `order` numbers.
fn sets(order: usize, size: usize) -> Vec<Vec<usize>> {
    let mut all = vec![Vec::new()];
    for _ in 0..size {
        let longer = |set: Vec<usize>| {
            let from = set.last().map_or(0, |m| m + 1);
            (from..order).map(move |m| set.iter().copied().chain([m]).collect::<Vec<usize>>())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

impl Checks<'_> {
    /// The cuts that a summary lists.
    pub(super) fn cuts(&mut self, summary: &Value) {
        let name = match self.command {
            Command::Bound => "cuts",
            Command::Certify => "binding_cuts",
            _ => return,
        };
        self.strangers(name, &summary[name], &["modes", "width", "needed", "rse"]);
        let Some(listed) = summary[name].as_array().cloned() else {
            return self.found.refused(name, &summary[name], "it is no list of cuts");
        };
        let Some(about) = self.about.clone() else {
            let why = Some("there is no structure that could have any".to_owned());
            return self.found.said(name, Value::Null, Value::Null, listed.is_empty(), why);
        };
        let eps = match Goal::of(&summary["objective"], "rse") {
            Some(Goal::MaxError(eps)) => eps,
            _ => 0.0,
        };
        for (k, cut) in listed.iter().enumerate() {
            if listed[..k].iter().any(|other| other["modes"] == cut["modes"]) {
                return self.found.refused(name, cut, format!("cut {k} stands there twice"));
            }
            match self.cut(&about, cut, eps) {
                Ok(None) => {}
                Ok(Some(why)) => {
                    return self.found.refused(name, cut, format!("cut {k}: {why}"));
                }
                Err(why) => {
                    return self.found.not_checked(name, cut.clone(), format!("cut {k}: {why}"));
                }
            }
        }
        let why = format!("{} cuts: their widths and what they leave", listed.len());
        self.found.said(name, Value::Null, Value::Null, true, Some(why));
        if self.command == Command::Bound {
            self.least(summary, &listed);
        }
    }

    /// What is wrong with a cut.
    fn cut(&self, about: &Network, cut: &Value, eps: f64) -> Result<Option<String>, String> {
        let x = self.given.x;
        let modes: Vec<usize> = match serde_json::from_value(cut["modes"].clone()) {
            Ok(modes) => modes,
            Err(_) => return Ok(Some("it has no modes".to_owned())),
        };
        let mut sorted = modes.clone();
        sorted.dedup();
        if sorted.is_empty()
            || sorted.len() != modes.len()
            || modes.iter().any(|&m| m >= x.dims.len())
        {
            return Ok(Some("its modes are none".to_owned()));
        }
        let Some(wide) = width(about, &modes) else {
            return Err("there are too many vertices without a mode".to_owned());
        };
        if number(cut, "width") != Some(wide) {
            return Ok(Some(format!("its width is {wide}")));
        }
        let tails = spectrum(x, &modes, eps, self.limits).map_err(|e: Unchecked| e.to_string())?;
        let tail = if wide < 1e18 { tails.of(wide as u64) } else { 0.0 };
        let said = number(cut, "rse").unwrap_or(f64::NAN);
        // Less than it is because of rounding, and because not all was computed.
        let rounded = if self.is_narrow() { 1e-3 * tail.sqrt() + 1e-6 } else { 1e-11 };
        let least = tail - MISSED * tail.max(eps) - rounded;
        if !(said <= tail * (1.0 + 1e-9) + 1e-13 && said >= least && said >= 0.0) {
            return Ok(Some(format!("it leaves {tail:e}")));
        }
        let Some(needed) = cut.get("needed") else { return Ok(None) };
        let (low, high) = rank_at(&tails, eps);
        let low = rank_at(&tails, eps * (1.0 + MISSED)).0.min(low);
        let holds = needed.as_u64().is_some_and(|n| (low..=high).contains(&n));
        Ok((!holds).then(|| format!("it needs rank {high}")))
    }

    /// The bound of one structure: the most that a cut says.
    fn least(&mut self, summary: &Value, listed: &[Value]) {
        let most = listed.iter().filter_map(|cut| number(cut, "rse")).fold(0.0, f64::max);
        let claimed = number(summary, "rse").unwrap_or(f64::NAN);
        self.found.compared("rse", claimed, most, close(claimed, most));
        let re = number(summary, "re").unwrap_or(f64::NAN);
        self.found.compared("re", re, most.sqrt(), is_root(re, claimed));
        match self.rse() {
            Ok(own) if own < most && !self.same(most, own) => {
                let why = format!("the network itself has {own:e}");
                self.found.refused("rse", &json!(claimed), why);
            }
            _ => {}
        }
    }

    /// The rank that the template needs at least, wherever the modes sit.
    pub(super) fn needed_rank(&mut self, summary: &Value, class: Option<&Class>) {
        let name = "needed_rank";
        let Some(claimed) = summary.get(name).filter(|v| !v.is_null()) else { return };
        self.strangers(name, claimed, &["rank", "modes", "width"]);
        let goal = Goal::of(&summary["objective"], "rse");
        let (Some(Goal::MaxError(eps)), Some(Class::Graph(graph)), Some(true)) =
            (goal, class, summary["proven_impossible"].as_bool())
        else {
            let why = "it is claimed where no error is proven to be out of reach of a graph";
            return self.found.refused(name, claimed, why);
        };
        let modes: Vec<usize> =
            serde_json::from_value(claimed["modes"].clone()).unwrap_or_default();
        let order = self.given.x.dims.len();
        let Some(rank) = claimed["rank"].as_u64() else {
            return self.found.refused(name, claimed, "it has no rank");
        };
        if modes.is_empty() || modes.iter().any(|&m| m >= order) {
            return self.found.refused(name, claimed, "its modes are none");
        }
        if summary["bound_over"]["max_rank"].as_u64().is_some_and(|most| rank <= most) {
            return self.found.refused(name, claimed, "such ranks were allowed");
        }
        match self.needed(graph, eps, &modes) {
            Err(why) => self.found.not_checked(name, claimed.clone(), why),
            Ok(((low, high), (narrow, broad))) => {
                let wide = claimed["width"].as_u64();
                let holds = (low..=high).contains(&rank)
                    && wide.is_some_and(|wide| (narrow..=broad).contains(&wide));
                let found = json!({"rank": high, "width": broad});
                self.found.compared(name, claimed.clone(), found, holds);
            }
        }
    }

    /// The rank needed and the width of a cut: each at least this and at most that.
    #[allow(clippy::type_complexity, reason = "two ranges")]
    fn needed(
        &self,
        graph: &Graph,
        eps: f64,
        modes: &[usize],
    ) -> Result<((u64, u64), (u64, u64)), String> {
        let (x, order) = (self.given.x, self.given.x.dims.len());
        let external: Vec<bool> = graph.vertices.iter().map(|v| v.mode).collect();
        let at: Vec<usize> = (0..external.len()).filter(|&v| external[v]).collect();
        if order > 12 || at.len() != order {
            return Err("there are too many cuts".to_owned());
        }
        // Rank 2 everywhere: a width counts edges.
        let edges = graph.edges.iter().map(|e| [e[0], e[1], 2]).collect();
        let network =
            Network { dims: x.dims.clone(), external, at, edges, hub: None, cores: Vec::new() };
        let (mut best, mut own) = ((1, 1), None);
        for size in 1..=order / 2 {
            let mut needs = (Vec::new(), Vec::new());
            let mut crossed = Vec::new();
            for set in sets(order, size) {
                let tails = spectrum(x, &set, eps, self.limits).map_err(|e| e.to_string())?;
                let certain = rank_at(&tails, eps * (1.0 + MISSED)).0;
                let (low, high) = (certain.min(rank_at(&tails, eps).0), rank_at(&tails, eps).1);
                let others = (0..order).filter(|m| !set.contains(m));
                if set == modes || others.eq(modes.iter().copied()) {
                    own = Some((low, high));
                }
                needs.0.push(low);
                needs.1.push(high);
                let wide = width(&network, &set).ok_or("there are too many vertices")?;
                crossed.push(wide.log2().round() as usize);
            }
            crossed.sort_unstable_by(|a, b| b.cmp(a));
            let least = |needs: &mut Vec<u64>| {
                needs.sort_unstable_by(|a, b| b.cmp(a));
                needs.iter().zip(&crossed).map(|(n, k)| root(*n, *k)).max().unwrap_or(1)
            };
            best = (best.0.max(least(&mut needs.0)), best.1.max(least(&mut needs.1)));
        }
        Ok((best, own.ok_or("its cut is none of these")?))
    }

    /// Whether a claim was refused.
    pub(super) fn is_wrong(&self, claim: &str) -> bool {
        self.found.is(claim, Verdict::DoesNotHold)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_are_least_over_internal_vertices() {
        let network = Network {
            dims: vec![2; 3],
            external: vec![true, true, true, false],
            at: vec![2, 0, 1],
            edges: vec![[0, 3, 2], [1, 3, 3], [2, 3, 7]],
            hub: None,
            cores: Vec::new(),
        };
        // Mode 0 is on vertex 2: rank 7, or the others' 2 * 3 with the centre on its side.
        assert_eq!(width(&network, &[0]), Some(6.0));
        assert_eq!(width(&network, &[1]), Some(2.0));
        assert_eq!(width(&network, &[1, 2]), Some(6.0));
    }

    #[test]
    fn every_side_of_internal_vertices_is_tried() {
        // Either of the two on the side of mode 0, the other beyond: 2 * 2.
        let between = |[a, b]: [usize; 2]| Network {
            dims: vec![2; 2],
            external: vec![true, true, false, false],
            at: vec![0, 1],
            edges: vec![[0, a, 5], [a, 1, 2], [0, b, 2], [b, 1, 5]],
            hub: None,
            cores: Vec::new(),
        };
        assert_eq!([[2, 3], [3, 2]].map(|k| width(&between(k), &[0])), [Some(4.0); 2]);
    }

    #[test]
    fn roots_and_sets_are_all_there() {
        assert_eq!([root(8, 3), root(9, 3), root(9, 2), root(10, 2), root(5, 1)], [2, 3, 3, 4, 5]);
        assert_eq!((root(1, 0), root(2, 0), root(1, 4)), (1, u64::MAX, 1));
        assert_eq!(sets(3, 2), [[0, 1], [0, 2], [1, 2]]);
        assert_eq!((sets(6, 3).len(), sets(4, 1).len(), sets(4, 0).len()), (20, 4, 1));
    }

    #[test]
    fn the_rank_of_an_error_is_the_first_whose_tail_is_no_larger() {
        // Squares 4, 1, 1 / 4 of 21 / 4.
        let x = crate::Array::real(vec![3, 3], vec![2., 0., 0., 0., 1., 0., 0., 0., 0.5]).unwrap();
        let limits = crate::Limits { bytes: u64::MAX, stop: &|| false };
        let tails = spectrum(&x, &[0], 1e-6, &limits).unwrap();
        let (one, two) = (1.25 / 5.25, 0.25 / 5.25);
        for (eps, expected) in
            [(1.5, 1), (one + 1e-9, 1), (one - 1e-9, 2), (two + 1e-9, 2), (two - 1e-9, 3), (0.0, 3)]
        {
            assert_eq!(rank_at(&tails, eps), (expected, expected), "{eps}");
        }
        // Just below the tail rounding decides: at least this, at most that.
        assert_eq!(rank_at(&tails, tails.of(1) - 1e-14), (1, 2));
        assert_eq!(rank_at(&tails, tails.of(1)), (1, 1));
    }

    #[test]
    fn too_many_vertices_without_a_mode_have_no_width() {
        let star = |internal: usize| Network {
            dims: vec![2; 2],
            external: (0..2 + internal).map(|v| v < 2).collect(),
            at: vec![0, 1],
            edges: (0..internal).flat_map(|k| [[0, 2 + k, 2], [1, 2 + k, 3]]).collect(),
            hub: None,
            cores: Vec::new(),
        };
        assert_eq!(width(&star(3), &[0]), Some(8.0));
        assert_eq!(width(&star(MOST_INTERNAL), &[0]), Some(2f64.powi(14)));
        assert_eq!(width(&star(MOST_INTERNAL + 1), &[0]), None);
    }
}
