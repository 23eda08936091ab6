//! One budget over all layers: water-filling over their fronts.
//!
//! For a price of the error every layer takes the point of least `cost + price * error`, which lies on the lower convex hull of its
//! points; prices are bisected until the budget is met. What is left is then spent on single points, hull or not.

/// A point of a layer's front.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Choice {
    /// What it costs.
    pub cost: f64,
    /// Its error, as it counts in the whole.
    pub error: f64,
}

/// Bisections of the price.
const STEPS: usize = 200;

/// Each layer's point of least `cost + price * error`; of equals the one of less cost.
pub fn priced(layers: &[Vec<Choice>], price: f64) -> Vec<usize> {
    let value = |c: &Choice| c.cost + price * c.error;
    let best = |points: &Vec<Choice>| {
        let by = |a: &usize, b: &usize| {
            let (a, b) = (&points[*a], &points[*b]);
            value(a).total_cmp(&value(b)).then(a.cost.total_cmp(&b.cost))
        };
        (0..points.len()).min_by(by).unwrap_or(0)
    };
    layers.iter().map(best).collect()
}

/// The sums over the chosen points.
pub fn total(layers: &[Vec<Choice>], chosen: &[usize]) -> Choice {
    let points = layers.iter().zip(chosen).map(|(points, &k)| points[k]);
    points.fold(Choice { cost: 0.0, error: 0.0 }, |a, b| Choice {
        cost: a.cost + b.cost,
        error: a.error + b.error,
    })
}

/// The least of all costs.
pub fn least_cost(layers: &[Vec<Choice>]) -> f64 {
    let least = |points: &Vec<Choice>| points.iter().map(|c| c.cost).fold(f64::INFINITY, f64::min);
    layers.iter().map(least).sum()
}

/// The prices between which the choice changes, from one that keeps to `fits` to one that does not: the last that does.
fn bisect(
    layers: &[Vec<Choice>],
    fits: impl Fn(Choice) -> bool,
    fine_is_dear: bool,
) -> Option<Vec<usize>> {
    let (mut low, mut high) = (-400.0f64, 400.0f64);
    let at = |log: f64| priced(layers, 2f64.powf(log));
    // With a limit on cost a low price fits; with one on the error a high price does.
    let sure = if fine_is_dear { low } else { high };
    let mut best = Some(at(sure)).filter(|chosen| fits(total(layers, chosen)))?;
    for _ in 0..STEPS {
        let middle = 0.5 * (low + high);
        let chosen = at(middle);
        let good = fits(total(layers, &chosen));
        if good {
            best = chosen;
        }
        if good == fine_is_dear {
            low = middle
        } else {
            high = middle
        }
        if high - low < 1e-9 {
            break;
        }
    }
    Some(best)
}

/// Changes single layers for as long as `better` finds a point for one: given the point now, another and what is left.
fn spend(
    layers: &[Vec<Choice>],
    chosen: &mut [usize],
    mut left: f64,
    takes: impl Fn(Choice, Choice) -> f64,
    gains: impl Fn(Choice, Choice) -> f64,
) {
    loop {
        let mut best: Option<(f64, usize, usize)> = None;
        for (l, points) in layers.iter().enumerate() {
            let now = points[chosen[l]];
            for (k, &other) in points.iter().enumerate() {
                let gain = gains(now, other);
                let fits = takes(now, other) <= left && gain > 0.0;
                if fits && best.is_none_or(|b| gain > b.0) {
                    best = Some((gain, l, k));
                }
            }
        }
        let Some((_, l, k)) = best else { return };
        left -= takes(layers[l][chosen[l]], layers[l][k]);
        chosen[l] = k;
    }
}

/// One of the numbers of a point.
type Part = fn(Choice) -> f64;

/// More layers are not changed two at a time.
const PAIRED: usize = 400;

/// Changes two layers at a time for as long as that lowers the total of `low`. `fit` finds the best point of a layer within
/// what `limit` leaves to it, if there is one.
fn exchange(
    layers: &[Vec<Choice>],
    chosen: &mut [usize],
    most: f64,
    (limit, low): (Part, Part),
    fit: fn(&[Choice], f64) -> Option<usize>,
) {
    if layers.len() > PAIRED {
        return;
    }
    for _ in 0..layers.len() {
        let mut best: Option<(f64, [(usize, usize); 2])> = None;
        let taken = limit(total(layers, chosen));
        for a in 0..layers.len() {
            for b in (0..layers.len()).filter(|&b| b != a) {
                let (now_a, now_b) = (layers[a][chosen[a]], layers[b][chosen[b]]);
                let others = taken - limit(now_a) - limit(now_b);
                for (k, &point) in layers[a].iter().enumerate() {
                    let Some(j) = fit(&layers[b], most - others - limit(point)) else { continue };
                    let gain = low(now_a) + low(now_b) - low(point) - low(layers[b][j]);
                    let real = gain > 1e-9 * (low(now_a) + low(now_b));
                    if real && best.is_none_or(|b| gain > b.0) {
                        best = Some((gain, [(a, k), (b, j)]));
                    }
                }
            }
        }
        let Some((_, pair)) = best else { return };
        pair.into_iter().for_each(|(layer, point)| chosen[layer] = point);
    }
}

/// The points of least total error within a cost. None where even the cheapest cost more.
pub fn within_cost(layers: &[Vec<Choice>], most: f64) -> Option<Vec<usize>> {
    let mut chosen = bisect(layers, |c| c.cost <= most, true)?;
    let left = most - total(layers, &chosen).cost;
    spend(layers, &mut chosen, left, |a, b| b.cost - a.cost, |a, b| a.error - b.error);
    // Points come by rising cost and falling error.
    exchange(layers, &mut chosen, most, (|c| c.cost, |c| c.error), |points, most| {
        points.partition_point(|c| c.cost <= most).checked_sub(1)
    });
    Some(chosen)
}

/// The points of least total cost within an error. None where even the best have more.
pub fn within_error(layers: &[Vec<Choice>], most: f64) -> Option<Vec<usize>> {
    let mut chosen = bisect(layers, |c| c.error <= most, false)?;
    let left = most - total(layers, &chosen).error;
    spend(layers, &mut chosen, left, |a, b| b.error - a.error, |a, b| a.cost - b.cost);
    exchange(layers, &mut chosen, most, (|c| c.error, |c| c.cost), |points, most| {
        Some(points.partition_point(|c| c.error > most)).filter(|k| *k < points.len())
    });
    Some(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::RngExt as _;
    use tnsearch::rng::stream;

    fn fronts(seed: u64) -> Vec<Vec<Choice>> {
        let mut rng = stream(seed, b"budget");
        let mut layer = || {
            let scale = 1.0 + 9.0 * rng.random::<f64>();
            let power = 0.5 + 2.0 * rng.random::<f64>();
            let point = |k: u32| Choice {
                cost: f64::from(2 * k + 1),
                error: scale / f64::from(k + 1).powf(power),
            };
            let mut points: Vec<Choice> = (0..20).map(point).collect();
            points.push(Choice { cost: 60.0, error: 0.0 });
            points
        };
        (0..3).map(|_| layer()).collect()
    }

    /// All choices there are.
    fn brute(layers: &[Vec<Choice>]) -> Vec<Choice> {
        let mut all = vec![Choice { cost: 0.0, error: 0.0 }];
        for points in layers {
            all = all
                .iter()
                .flat_map(|a| {
                    points
                        .iter()
                        .map(|b| Choice { cost: a.cost + b.cost, error: a.error + b.error })
                })
                .collect();
        }
        all
    }

    #[test]
    fn budgets_are_kept_and_nearly_as_well_spent_as_can_be() {
        for seed in 0..20 {
            let layers = fronts(seed);
            let all = brute(&layers);
            for most in [3.0, 20.0, 45.0, 75.0, 500.0] {
                let found = total(&layers, &within_cost(&layers, most).unwrap());
                let best = all
                    .iter()
                    .filter(|c| c.cost <= most)
                    .map(|c| c.error)
                    .fold(f64::INFINITY, f64::min);
                assert!(
                    found.cost <= most && found.error <= 1.02 * best + 1e-12,
                    "{seed} {most}: {found:?} {best}"
                );
            }
            for most in [0.0, 0.5, 3.0, 30.0] {
                let found = total(&layers, &within_error(&layers, most).unwrap());
                let best = all
                    .iter()
                    .filter(|c| c.error <= most)
                    .map(|c| c.cost)
                    .fold(f64::INFINITY, f64::min);
                assert!(
                    found.error <= most && found.cost <= 1.02 * best + 1e-12,
                    "{seed} {most}: {found:?} {best}"
                );
            }
            assert_eq!((within_cost(&layers, 2.9), least_cost(&layers)), (None, 3.0));
        }
    }

    #[test]
    fn a_layer_that_matters_more_gets_more() {
        let front = |scale: f64| {
            (1..30).map(|k| Choice { cost: f64::from(k), error: scale / f64::from(k) }).collect()
        };
        let layers: Vec<Vec<Choice>> = vec![front(1.0), front(16.0)];
        let chosen = within_cost(&layers, 25.0).unwrap();
        // The optimum of a/x + b/y has x : y as the roots of a : b.
        assert_eq!(chosen, [4, 19]);
    }
}
