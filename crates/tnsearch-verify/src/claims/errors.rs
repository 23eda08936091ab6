//! Claims about errors, and whether they are what was asked for.

use super::class::is_tree;
use super::{Checks, Command, is_root, number};
use crate::{Array, Measure, Unchecked, agree, error, rse, sums};
use serde_json::{Value, json};

/// The names of errors in summaries, and what they are measured by.
const ERRORS: [(&str, &str); 4] =
    [("rse", "squared"), ("kl", "kl"), ("poisson", "poisson"), ("huber", "huber")];
/// What missing the error by as much again costs, in units of phi.
const MISS: f64 = 0.02;
/// Ulps below which a rounded network's error is not seen, at most.
const FLOOR: f64 = 64.0;

/// What was asked for: the numbers of an objective.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Goal {
    /// The least phi + lambda * error.
    Lambda(f64),
    /// The fewest params with at most this error.
    MaxError(f64),
    /// The least error with at most so many params.
    MaxParams(f64),
}

impl Goal {
    /// That of an objective in JSON; `id` is what the error is called.
    pub fn of(objective: &Value, id: &str) -> Option<Self> {
        let fields = objective.as_object().filter(|f| f.len() == 1)?;
        let positive = |name: &str| {
            fields.get(name).and_then(Value::as_f64).filter(|x| x.is_finite() && *x > 0.0)
        };
        let error = positive(&format!("max_{id}"));
        error
            .map(Goal::MaxError)
            .or(positive("lambda").map(Goal::Lambda))
            .or(positive("max_params").map(Goal::MaxParams))
    }

    /// The loss of a structure.
    pub fn loss(self, params: f64, entries: f64, error: f64) -> f64 {
        let phi = params / entries;
        match self {
            Goal::Lambda(lambda) => phi + lambda * error,
            Goal::MaxError(eps) => phi + MISS * (error / eps - 1.0).max(0.0),
            Goal::MaxParams(most) if params > most => 1.0 + params / most,
            Goal::MaxParams(_) => error,
        }
    }

    /// Whether a structure is what was asked for.
    pub fn reached(self, params: f64, error: f64) -> bool {
        match self {
            Goal::Lambda(_) => true,
            Goal::MaxError(eps) => error <= eps,
            Goal::MaxParams(most) => params <= most,
        }
    }
}

/// What the error of a summary is called, and measured by.
pub(super) fn measured(summary: &Value) -> (&'static str, &'static str) {
    let own = ERRORS.into_iter().find(|(id, _)| summary.get(id).is_some());
    own.unwrap_or(ERRORS[0])
}

impl Checks<'_> {
    /// The RSE of the network on the known entries.
    pub(super) fn rse(&self) -> Result<f64, Unchecked> {
        let none = Err(Unchecked::Stopped);
        let z = self.tensor.as_ref().unwrap_or(&none).as_ref().map_err(Clone::clone)?;
        Ok(rse(self.given.x, self.given.known, z).unwrap_or(f64::NAN))
    }

    /// Whether numbers have 32 bits or fewer.
    pub(super) fn is_narrow(&self) -> bool {
        let kinds = [Some(self.given.dtype), self.given.network.as_ref().map(|n| &*n.dtype)];
        kinds.into_iter().flatten().any(|kind| matches!(kind, "f16" | "f32" | "complex64"))
    }

    /// Whether two errors are the same but for what the arithmetic of a fit rounds.
    pub(super) fn same(&self, claimed: f64, found: f64) -> bool {
        let rounding = if self.is_narrow() { 1e-5 } else { 1e-12 };
        agree(claimed, found, rounding) || agree(claimed, found, rounding.max(self.cancelled()))
    }

    /// What rounding takes where large parts of a network cancel: a few ulp of the network of absolute values, relative
    /// to the tensor.
    fn cancelled(&self) -> f64 {
        let Some(network) = self.network else { return 0.0 };
        let mut sizes = network.clone();
        for core in &mut sizes.cores {
            let im = std::mem::take(&mut core.im);
            core.re.iter_mut().for_each(|x| *x = x.abs());
            core.re.iter_mut().zip(&im).for_each(|(x, y)| *x = x.hypot(*y));
        }
        let Ok(sum) = sizes.contract(self.limits) else { return 0.0 };
        let ulp = if self.is_narrow() { f64::from(f32::EPSILON) } else { f64::EPSILON };
        relative(&sum.into_array(), self.given.x) * 8.0 * ulp * network.external.len() as f64
    }

    /// The errors of a summary, and what follows from them.
    pub(super) fn errors(&mut self, summary: &Value) {
        match self.command {
            Command::Certify => return self.compared_net(summary),
            // Its error is one that no fit goes below.
            Command::Bound => return,
            Command::Round => return self.rounded(summary),
            Command::Generate => self.norm(summary),
            Command::Complete => self.holes(summary),
            _ => {}
        }
        let (id, name) = measured(summary);
        let Some(claimed) = summary.get(id) else { return };
        let known = self.network.is_some();
        let Some(claimed) = claimed.as_f64() else {
            if known {
                self.found.refused(id, claimed, "the network has one");
            }
            return;
        };
        let asked = self.given.loss.unwrap_or(name);
        let none = Err(Unchecked::Stopped);
        let z = self.tensor.as_ref().unwrap_or(&none);
        let found = match (z, Measure::named(asked)) {
            _ if !known => return self.found.not_checked(id, claimed, "there is no network"),
            (Err(why), _) => return self.found.not_checked(id, claimed, why.to_string()),
            (_, None) => {
                let why = format!("the loss '{asked}' is not known here");
                return self.found.not_checked(id, claimed, why);
            }
            (Ok(z), Some(measure)) => error(measure, self.given.x, self.given.known, z),
        };
        let found = found.unwrap_or(f64::NAN);
        let holds = match id {
            "rse" => self.same(claimed, found),
            _ => (claimed - found).abs() <= 1e-9 * found.abs() + 1e-12,
        };
        if id == "huber" && !holds && self.given.loss.is_none() {
            let why = "its delta is not in the summary: give --loss huber:D as it was";
            return self.found.not_checked(id, claimed, why);
        }
        self.found.compared(id, claimed, found, holds);
        if let Some(re) = summary.get("re").filter(|_| id == "rse") {
            // The root of what it says, and of what it is.
            let root = re.as_f64().is_some_and(|re| is_root(re, claimed));
            self.found.compared("re", re.clone(), found.sqrt(), root && holds);
        }
        self.goal(summary, id, found, Some(claimed).filter(|_| holds));
        if self.command == Command::Compress {
            self.psnr(summary, found);
        }
    }

    /// The loss, and whether the target was reached. Where the error claimed holds, its loss is that of this error:
    /// far from a small one it grows what was rounded.
    fn goal(&mut self, summary: &Value, id: &str, error: f64, claimed: Option<f64>) {
        let Some(network) = self.network else { return };
        let entries = network.dims.iter().map(|&d| d as f64).product::<f64>();
        let params = network.params().unwrap_or(u128::MAX) as f64;
        let goal = match summary.get("objective") {
            Some(objective) => {
                let goal = Goal::of(objective, id);
                if goal.is_none() {
                    self.found.refused("objective", objective, "it is one number above 0");
                }
                goal
            }
            None => number(summary, "max_rse").map(Goal::MaxError),
        };
        if let Some((said, goal)) = summary.get("loss").zip(goal) {
            let found = goal.loss(params, entries, claimed.unwrap_or(error));
            let holds =
                said.as_f64().is_some_and(|s| (s - found).abs() <= 1e-9 * found.abs() + 1e-12);
            self.found.compared("loss", said.clone(), found, holds);
        }
        let Some(said) = summary["target_reached"].as_bool() else { return };
        match goal {
            // Ranks were given, and those it has.
            None if self.command == Command::Fit && summary["max_rse"].is_null() => {
                self.found.compared("target_reached", said, true, said);
            }
            None => {
                let why = "the summary does not say what was asked for";
                self.found.not_checked("target_reached", said, why);
            }
            // Right at the threshold rounding decides.
            Some(Goal::MaxError(eps)) if error != eps && self.same(eps, error) => {
                let why = Some("at the threshold, where rounding decides".to_owned());
                let own = claimed.map(|c| c <= eps);
                self.found.said("target_reached", said, own, own != Some(!said), why);
            }
            Some(goal) => {
                let found = goal.reached(params, error);
                self.found.compared("target_reached", said, found, said == found);
            }
        }
    }

    /// The claims of a network that was rounded: its error is that against the network given.
    fn rounded(&mut self, summary: &Value) {
        if self.network.is_none() {
            return;
        }
        let claimed = number(summary, "rse").unwrap_or(f64::NAN);
        let floor = number(summary, "rse_floor").unwrap_or(0.0);
        let input = summary["input"].as_str().unwrap_or_default();
        let ulp = if self.is_narrow() { f64::from(f32::EPSILON) } else { f64::EPSILON };
        let most = FLOOR * ulp * (1.0 + 1e-9);
        // Of trees errors are seen much further down.
        let least = if self.network.is_some_and(is_tree) { 0.0 } else { most * (1.0 - 2e-9) };
        self.found.compared("rse_floor", floor, most, (least..=most).contains(&floor));
        let before = self.tools.network(input);
        let found = before.as_ref().map_err(Clone::clone).and_then(|before| {
            before.check().map_err(|e| e.to_string())?;
            let z = self.tensor.as_ref().unwrap_or(&Err(Unchecked::Stopped)).as_ref();
            let z = z.map_err(ToString::to_string)?;
            let before = before.contract(self.limits).map_err(|e| e.to_string())?;
            Ok(rse(&before.into_array(), None, z).unwrap_or(f64::NAN))
        });
        match (&before, summary.get("params_before")) {
            (_, None) => {}
            (Err(why), Some(said)) => self.found.not_checked("params_before", said.clone(), why),
            (Ok(before), Some(said)) => {
                let found = before.params();
                let holds = said.as_u64().map(u128::from) == found;
                let found = found.and_then(|p| u64::try_from(p).ok());
                self.found.compared("params_before", said.clone(), found, holds);
            }
        }
        match found {
            Err(why) => {
                self.found.not_checked("rse", claimed, &why);
                self.found.not_checked("re", summary["re"].clone(), &why);
                self.found.not_checked("target_reached", summary["target_reached"].clone(), why);
            }
            Ok(found) => {
                let floor = floor.clamp(0.0, most);
                let holds = self.same(claimed, found) || agree(claimed, found, floor.sqrt());
                self.found.compared("rse", claimed, found, holds);
                let re = number(summary, "re").unwrap_or(f64::NAN);
                self.found.compared("re", re, found.sqrt(), holds && is_root(re, claimed));
                self.goal(summary, "rse", found.min(claimed), Some(claimed));
            }
        }
        let most = number(summary, "rse_tensor_at_most").unwrap_or(f64::NAN);
        match self.rse() {
            Err(why) => self.found.not_checked("rse_tensor_at_most", most, why.to_string()),
            Ok(found) => {
                let holds = found <= most || self.same(most, found);
                self.found.compared("rse_tensor_at_most", most, found, holds);
            }
        }
    }

    /// What `certify` says about the network.
    fn compared_net(&mut self, summary: &Value) {
        let net = &summary["net"];
        let Some(network) = self.network else { return };
        if net.is_null() {
            return;
        }
        self.strangers("net", net, &["params", "rse", "gap", "certified_optimal", "reaches"]);
        let params = network.params();
        if let Some(claimed) = net.get("params") {
            let holds = claimed.as_u64().map(u128::from) == params;
            let found = params.and_then(|p| u64::try_from(p).ok());
            self.found.compared("params", claimed.clone(), found, holds);
        }
        let claimed = net["rse"].as_f64().unwrap_or(f64::NAN);
        match self.rse() {
            Err(why) => self.found.not_checked("rse", claimed, why.to_string()),
            Ok(found) => {
                let holds = self.same(claimed, found);
                self.found.compared("rse", claimed, found, holds);
                let said =
                    json!({"objective": summary["objective"], "target_reached": net["reaches"]});
                self.goal(&said, "rse", found, None);
            }
        }
    }

    /// The norm of a tensor that was made.
    fn norm(&mut self, summary: &Value) {
        let mut copy = self.given.x.clone();
        let power = copy.normalise();
        let found = (sums::squares(&copy.re) + sums::squares(&copy.im)).sqrt();
        let found = crate::arrays::scaled(found, power);
        let claimed = summary["norm"].as_f64().unwrap_or(f64::NAN);
        let holds = (claimed - found).abs() <= 1e-9 * found;
        self.found.compared("norm", claimed, found, holds);
    }

    /// Which entries are known, and how well those that were removed came back.
    fn holes(&mut self, summary: &Value) {
        let (x, known) = (self.given.x, self.given.known);
        let entries = x.re.len();
        let observed = known.map_or(entries, |k| k.iter().filter(|k| **k).count());
        let counts =
            [("entries", entries), ("observed", observed), ("missing", entries - observed)];
        for (name, found) in counts {
            if let Some(claimed) = summary.get(name) {
                let holds = claimed.as_u64() == Some(found as u64);
                self.found.compared(name, claimed.clone(), found, holds);
            }
        }
        let slices = &summary["empty_slices"];
        if self.given.reshaped.is_null() {
            let found = json!(empty_slices(x, known));
            self.found.compared("empty_slices", slices.clone(), found.clone(), *slices == found);
        } else {
            let why = "they are slices of the tensor before it was reshaped";
            self.found.not_checked("empty_slices", slices.clone(), why);
        }
        let claimed = &summary["recovered"];
        if claimed.is_null() {
            return;
        }
        self.strangers("recovered", claimed, &["entries", "rse", "re", "rmse", "psnr"]);
        let (Some((whole, removed)), Some(Ok(z))) = (&self.given.removed, &self.tensor) else {
            let why = "which entries were removed is said by --missing and --seed, as they were";
            return self.found.not_checked("recovered", claimed.clone(), why);
        };
        let count = removed.iter().filter(|r| **r).count();
        let found = rse(whole, Some(removed), z).unwrap_or(f64::NAN);
        let squares = (0..removed.len())
            .filter(|k| removed[*k])
            .map(|k| whole.re[k] * whole.re[k] + whole.im.get(k).map_or(0.0, |y| y * y));
        let rmse = (found * squares.sum::<f64>() / count as f64).sqrt();
        let share = whole.im.is_empty() && whole.re.iter().all(|x| (0.0..=1.0).contains(x));
        let psnr = share.then(|| -20.0 * rmse.log10());
        let is = |name: &str, found: f64| {
            number(claimed, name).is_some_and(|c| (c - found).abs() <= 1e-6 * found.abs() + 1e-12)
        };
        let holds = claimed["entries"].as_u64() == Some(count as u64)
            && is("rse", found)
            && is("re", found.sqrt())
            && is("rmse", rmse)
            && psnr.map_or(claimed["psnr"].is_null(), |psnr| is("psnr", psnr));
        let found = json!({"entries": count, "rse": found, "rmse": rmse, "psnr": psnr});
        self.found.compared("recovered", claimed.clone(), found, holds);
    }

    /// The signal beside the noise of a compressed array.
    fn psnr(&mut self, summary: &Value, rse: f64) {
        let x = self.given.x;
        if summary["picture"].as_bool() == Some(true) || !self.given.reshaped.is_null() {
            return;
        }
        let largest = (0..x.re.len())
            .map(|k| x.re[k].hypot(x.im.get(k).copied().unwrap_or(0.0)))
            .fold(0.0, f64::max);
        let squares = sums::squares(&x.re) + sums::squares(&x.im);
        let rmse = (rse * squares / x.re.len() as f64).sqrt();
        let found = 20.0 * (largest / rmse).log10();
        let is = |name: &str, found: f64| {
            number(summary, name).is_some_and(|c| (c - found).abs() <= 1e-5 * found.abs())
        };
        let holds = [("peak", largest), ("psnr", found)]
            .map(|(name, found)| (name, found, is(name, found)));
        for (name, found, holds) in holds {
            self.found.compared(name, summary[name].clone(), found, holds);
        }
    }
}

/// The slices, a mode and an index each, without a known entry.
fn empty_slices(x: &Array, known: Option<&[bool]>) -> Vec<(usize, usize)> {
    let Some(known) = known else { return Vec::new() };
    let mut seen: Vec<Vec<bool>> = x.dims.iter().map(|&d| vec![false; d]).collect();
    for k in (0..known.len()).filter(|&k| known[k]) {
        let mut left = k;
        for (mode, &d) in x.dims.iter().enumerate().rev() {
            seen[mode][left % d] = true;
            left /= d;
        }
    }
    let bare = |(mode, seen): (usize, &Vec<bool>)| {
        let bare: Vec<usize> = (0..seen.len()).filter(|&i| !seen[i]).collect();
        bare.into_iter().map(move |i| (mode, i))
    };
    seen.iter().enumerate().flat_map(bare).collect()
}

/// The norm of a tensor in units of that of another.
fn relative(sum: &Array, x: &Array) -> f64 {
    let norm = |a: &Array| {
        let parts = a.re.iter().chain(&a.im);
        let most = parts.clone().fold(f64::MIN_POSITIVE, |most, x| most.max(x.abs()));
        (parts.map(|x| (x / most) * (x / most)).sum::<f64>().sqrt(), most)
    };
    let ((a, large), (b, small)) = (norm(sum), norm(x));
    (a / b) * (large / small)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_one_number_above_zero() {
        let of = |objective: Value| Goal::of(&objective, "rse");
        assert_eq!(of(json!({"max_rse": 0.1})), Some(Goal::MaxError(0.1)));
        assert_eq!(of(json!({"lambda": 2.0})), Some(Goal::Lambda(2.0)));
        assert_eq!(of(json!({"max_params": 30})), Some(Goal::MaxParams(30.0)));
        assert_eq!(Goal::of(&json!({"max_kl": 0.1}), "kl"), Some(Goal::MaxError(0.1)));
        for bad in [
            json!({"max_kl": 0.1}),
            json!({"max_rse": 0.0}),
            json!({"lambda": -1.0}),
            json!({"lambda": null}),
            json!({"max_rse": 0.1, "lambda": 2.0}),
            json!({}),
            json!(null),
            json!(3),
        ] {
            assert_eq!(of(bad.clone()), None, "{bad}");
        }
    }

    #[test]
    fn losses_and_targets_are_those_of_the_goal() {
        let same = |a: f64, b: f64| assert!((a - b).abs() < 1e-15, "{a} {b}");
        same(Goal::Lambda(3.0).loss(10.0, 40.0, 0.2), 0.25 + 0.6);
        same(Goal::MaxError(0.1).loss(10.0, 40.0, 0.05), 0.25);
        same(Goal::MaxError(0.1).loss(10.0, 40.0, 0.1), 0.25);
        same(Goal::MaxError(0.1).loss(10.0, 40.0, 0.3), 0.25 + 0.02 * 2.0);
        same(Goal::MaxParams(10.0).loss(10.0, 40.0, 0.3), 0.3);
        same(Goal::MaxParams(10.0).loss(15.0, 40.0, 0.3), 2.5);
        for (goal, params, error, expected) in [
            (Goal::Lambda(3.0), 1e9, 1.0, true),
            (Goal::MaxError(0.1), 1e9, 0.1, true),
            (Goal::MaxError(0.1), 1.0, 0.11, false),
            (Goal::MaxParams(10.0), 10.0, 1.0, true),
            (Goal::MaxParams(10.0), 11.0, 0.0, false),
        ] {
            assert_eq!(goal.reached(params, error), expected, "{goal:?} {params} {error}");
        }
        let names = ["rse", "kl", "poisson", "huber"].map(|id| measured(&json!({ id: 0.1 })).0);
        assert_eq!(names, ["rse", "kl", "poisson", "huber"]);
        assert_eq!(measured(&json!({"re": 0.1})), ("rse", "squared"));
    }

    #[test]
    fn slices_without_an_entry_are_found_in_every_mode() {
        let x = Array::real(vec![2, 3, 2], vec![0.0; 12]).unwrap();
        assert_eq!(empty_slices(&x, None), []);
        assert_eq!(empty_slices(&x, Some(&[true; 12])), []);
        // Entry (1, 2, 0) alone.
        let mut known = [false; 12];
        known[6 + 4] = true;
        assert_eq!(empty_slices(&x, Some(&known)), [(0, 0), (1, 0), (1, 1), (2, 1)]);
        known[1] = true;
        assert_eq!(empty_slices(&x, Some(&known)), [(1, 1)]);
    }

    #[test]
    fn norms_are_compared_whatever_their_size() {
        let of = |re: &[f64], im: &[f64]| Array {
            dims: vec![re.len()],
            re: re.to_vec(),
            im: im.to_vec(),
        };
        let (five, ten) = (of(&[3.0, 4.0], &[]), of(&[6.0, 0.0], &[0.0, 8.0]));
        assert_eq!((relative(&ten, &five), relative(&five, &ten)), (2.0, 0.5));
        let (large, small) = (of(&[3e200, -4e200], &[]), of(&[5e-200], &[]));
        let found = relative(&large, &of(&[5e199], &[]));
        assert!((found - 10.0).abs() < 1e-14, "{found}");
        assert!((relative(&small, &of(&[-1e-200], &[])) - 5.0).abs() < 1e-14);
    }
}
