//! Inducing points on a uniform grid along a feature, and interpolation between them.
//!
//! Keys' cubic convolution (1981): a function known at the points `g_0 < g_1 < ...`, a step h apart, is taken at `x` as a sum
//! over the four points around it, `sum_j c((x - g_j) / h) f(g_j)` with
//!
//! `c(t) = 1.5 |t|^3 - 2.5 |t|^2 + 1` for `|t| <= 1`, `-0.5 |t|^3 + 2.5 |t|^2 - 4 |t| + 2` for `1 < |t| <= 2`, else 0.
//!
//! The error falls with `h^3`. In the first and last cell one of the four is beyond the grid: its value is that of the parabola
//! through the three points at the end, `f(g_-1) = 3 f(g_0) - 3 f(g_1) + f(g_2)` (of the line through two where there are no
//! more), so that small grids lose no cell. What lies beyond the grid is taken at its end.

use serde::{Deserialize, Serialize};

/// Points that the weights of a number are on.
pub const NEAR: usize = 4;

/// A uniform grid along one feature.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Grid {
    /// The first point.
    pub from: f64,
    /// The distance between points.
    pub step: f64,
    /// How many there are; at least 2.
    pub points: usize,
}

/// The weights of a number: those of `points[first..first + 4]`, as far as there are so many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Weights {
    /// The first point with a weight.
    pub first: u32,
    /// The weights; beyond the last point 0.
    pub weights: [f64; NEAR],
}

impl Grid {
    /// So many points over a range and a twentieth of a step beyond it at either end.
    pub fn over(low: f64, high: f64, points: usize) -> Grid {
        // (points - 1) steps cover the range and a tenth of a step.
        let step = (high - low) / (points as f64 - 1.1);
        Grid { from: low - 0.05 * step, step, points }
    }

    /// The points.
    pub fn at(&self) -> impl Iterator<Item = f64> + '_ {
        (0..self.points).map(|k| self.from + k as f64 * self.step)
    }

    /// The weights of a number.
    pub fn weights(&self, x: f64) -> Weights {
        let last = self.points - 1;
        let t = ((x - self.from) / self.step).clamp(0.0, last as f64);
        let cell = (t.floor() as usize).min(last - 1);
        let s = t - cell as f64;
        let (s2, s3) = (s * s, s * s * s);
        let near = [
            -0.5 * s3 + s2 - 0.5 * s,
            1.5 * s3 - 2.5 * s2 + 1.0,
            -1.5 * s3 + 2.0 * s2 + 0.5 * s,
            0.5 * s3 - 0.5 * s2,
        ];
        // The four are around points cell - 1, ..., cell + 2.
        let first = (cell.max(1) - 1).min(self.points.saturating_sub(NEAR));
        let mut weights = [0.0; NEAR];
        for (k, c) in near.into_iter().enumerate() {
            let place = (cell + k) as isize - 1;
            for (point, part) in self.inside(place).into_iter().flatten() {
                weights[point - first] += c * part;
            }
        }
        Weights { first: first as u32, weights }
    }

    /// The value at a place, which may be one beyond either end, as a sum over the points there are.
    fn inside(&self, place: isize) -> [Option<(usize, f64)>; 3] {
        let last = self.points - 1;
        let ends = match usize::try_from(place) {
            Ok(point) if point <= last => return [Some((point, 1.0)), None, None],
            Ok(_) => [Some(last), last.checked_sub(1), last.checked_sub(2)],
            Err(_) => [Some(0), Some(1), (last >= 2).then_some(2)],
        };
        let factors = if ends[2].is_some() { [3.0, -3.0, 1.0] } else { [2.0, -1.0, 0.0] };
        [0, 1, 2].map(|k| ends[k].map(|point| (point, factors[k])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn interpolated(grid: &Grid, f: impl Fn(f64) -> f64, x: f64) -> f64 {
        let values: Vec<f64> = grid.at().map(f).collect();
        let w = grid.weights(x);
        w.weights.iter().zip(&values[w.first as usize..]).map(|(w, f)| w * f).sum()
    }

    #[test]
    fn weights_inside_are_those_of_the_kernel() {
        let keys = |t: f64| match t.abs() {
            t if t <= 1.0 => 1.5 * t.powi(3) - 2.5 * t * t + 1.0,
            t if t <= 2.0 => -0.5 * t.powi(3) + 2.5 * t * t - 4.0 * t + 2.0,
            _ => 0.0,
        };
        let grid = Grid::over(0.0, 1.0, 9);
        let points: Vec<f64> = grid.at().collect();
        assert!(points[0] < 0.0 && points[0] > -grid.step && points[8] > 1.0);
        for k in 0..100 {
            let x = points[1] + (points[7] - points[1]) * f64::from(k) / 99.0;
            let w = grid.weights(x);
            for (j, &weight) in w.weights.iter().enumerate() {
                let want = keys((x - points[w.first as usize + j]) / grid.step);
                assert!((weight - want).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn parabolas_are_exact_on_every_grid_and_lines_on_two_points() {
        for points in 2..8 {
            let grid = Grid::over(-1.0, 2.0, points);
            for k in 0..50 {
                let x = -1.0 + 3.0 * f64::from(k) / 49.0;
                let line = interpolated(&grid, |x| 2.0 - x, x);
                assert!((line - 2.0 + x).abs() < 1e-12, "{points}");
                let parabola = interpolated(&grid, |x| x * x - x, x);
                assert!(points == 2 || (parabola - x * x + x).abs() < 1e-12, "{points}");
            }
            // Beyond the ends: as at the ends.
            let end = grid.at().last().unwrap();
            let (there, beyond) =
                (interpolated(&grid, f64::exp, end), interpolated(&grid, f64::exp, 99.0));
            assert!((there - beyond).abs() < 1e-12, "{points}");
        }
    }

    #[test]
    fn the_error_falls_with_the_third_power_of_the_step() {
        let worst = |points: usize| {
            let grid = Grid::over(0.0, 1.0, points);
            let error = |k: i32| {
                let x = f64::from(k) / 500.0;
                (interpolated(&grid, |x| (5.0 * x).sin(), x) - (5.0 * x).sin()).abs()
            };
            (0..=500).map(error).fold(0.0, f64::max)
        };
        let (coarse, fine) = (worst(21), worst(41));
        assert!(fine < coarse / 6.0 && fine < 2e-4, "{coarse} {fine}");
    }
}
