//! Pictures with other sides: bicubic after Catmull and Rom, first along columns, then along rows.

/// The Catmull-Rom spline: 1 at 0, 0 at all other whole numbers, nothing beyond 2.
fn spline(x: f32) -> f32 {
    let a = x.abs();
    let sixfold = match a {
        a if a < 1.0 => 9.0 * a.powi(3) - 15.0 * a.powi(2) + 6.0,
        a if a < 2.0 => -3.0 * a.powi(3) + 15.0 * a.powi(2) - 24.0 * a + 12.0,
        _ => 0.0,
    };
    sixfold / 6.0
}

/// For each of `to` samples: the first of the `from` samples that it is made of, and their weights, whose sum is 1.
fn weights(from: usize, to: usize) -> Vec<(usize, Vec<f32>)> {
    let ratio = from as f32 / to as f32;
    // Where it gets smaller the spline is wider: all samples that fall together count.
    let wide = ratio.max(1.0);
    let weights = |k: usize| {
        let middle = (k as f32 + 0.5) * ratio;
        let first = ((middle - 2.0 * wide).floor().max(0.0) as usize).min(from - 1);
        let end = ((middle + 2.0 * wide).ceil().max(0.0) as usize).clamp(first + 1, from);
        let weight = |i: usize| spline((i as f32 - (middle - 0.5)) / wide);
        let weights: Vec<f32> = (first..end).map(weight).collect();
        let sum: f32 = weights.iter().sum();
        (first, weights.iter().map(|w| w / sum).collect())
    };
    (0..to).map(weights).collect()
}

/// Samples `[row, column, channel]` with other sides, from 0 to 1.
pub(super) fn resampled(
    samples: &[f64],
    (height, width, channels): (usize, usize, usize),
    (to_height, to_width): (usize, usize),
) -> Vec<f64> {
    let row = width * channels;
    let mut tall = Vec::with_capacity(to_height * row);
    for (first, weights) in weights(height, to_height) {
        tall.extend((0..row).map(|at| {
            let sample = |(i, w): (usize, &f32)| samples[(first + i) * row + at] as f32 * w;
            weights.iter().enumerate().map(sample).fold(0.0, |sum, x| sum + x)
        }));
    }
    let weights = weights(width, to_width);
    let mut made = Vec::with_capacity(to_height * to_width * channels);
    for line in tall.chunks_exact(row) {
        for (first, weights) in &weights {
            made.extend((0..channels).map(|channel| {
                let sample = |(i, w): (usize, &f32)| line[(first + i) * channels + channel] * w;
                let sum: f32 = weights.iter().enumerate().map(sample).fold(0.0, |sum, x| sum + x);
                f64::from(sum.clamp(0.0, 1.0))
            }));
        }
    }
    made
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spline_through_the_samples() {
        let at = [0.0, 0.5, 1.0, 1.5, 2.0, -0.5].map(spline);
        assert_eq!(at, [1.0, 0.5625, 0.0, -0.0625, 0.0, 0.5625]);
        assert_eq!([2.5, -3.0].map(spline), [0.0; 2]);
        for (from, to) in [(5, 9), (9, 5), (1, 4), (4, 1), (100, 3)] {
            for (first, weights) in weights(from, to) {
                assert!(first + weights.len() <= from && !weights.is_empty(), "{from} {to}");
                assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{from} {to}");
            }
        }
    }

    /// Made by Pillow 13 (`Image.resize`, `BICUBIC`) of the same samples.
    #[test]
    fn as_other_programs_make_them() {
        let samples: Vec<f64> = (0..24).map(|k| f64::from(k * k % 17) / 17.0).collect();
        let made = resampled(&samples, (4, 6, 1), (2, 3));
        let told =
            [0.327_549_76, 0.599_346_1, 0.552_436_5, 0.460_057_82, 0.595_308_54, 0.213_835_6];
        assert_eq!(made.len(), 6);
        for (made, told) in made.iter().zip(told) {
            assert!((made - told).abs() < 1e-6, "{made} {told}");
        }
    }

    #[test]
    fn weights_are_those_of_all_samples() {
        for (from, to) in [(5, 9), (9, 5), (1, 4), (7, 1), (50, 3), (9, 2), (13, 4)] {
            assert_eq!(weights(from, to).len(), to);
            for (k, (first, found)) in weights(from, to).into_iter().enumerate() {
                let ratio = from as f32 / to as f32;
                let at = |i: usize| i as f32 + 0.5 - (k as f32 + 0.5) * ratio;
                let all: Vec<f32> = (0..from).map(|i| spline(at(i) / ratio.max(1.0))).collect();
                let sum: f32 = all.iter().sum();
                for (i, weight) in all.iter().enumerate() {
                    let own = i.checked_sub(first).and_then(|i| found.get(i)).unwrap_or(&0.0);
                    assert!((own - weight / sum).abs() < 1e-5, "{from} {to} {k} {i}");
                }
            }
        }
    }

    #[test]
    fn channels_are_resampled_one_by_one() {
        let channel = |c: usize| (0..20).map(move |k| ((k * k + 7 * c) % 11) as f64 / 11.0);
        let parts = [0, 1, 2].map(|c| channel(c).collect::<Vec<f64>>());
        let all: Vec<f64> = (0..20).flat_map(|k| [parts[0][k], parts[1][k], parts[2][k]]).collect();
        let made = resampled(&all, (4, 5, 3), (3, 7));
        for (c, part) in parts.iter().enumerate() {
            let own: Vec<f64> = made.iter().copied().skip(c).step_by(3).collect();
            assert_eq!(own, resampled(part, (4, 5, 1), (3, 7)));
        }
    }
}
