use super::*;
use crate::rng::stream;
use crate::tensor::{Complex, unflatten};
use rand_distr::{Distribution, StandardNormal};

fn random(dims: &[usize], seed: u64) -> Target {
    let mut rng = stream(seed, b"spectra");
    let n = dims.iter().product();
    let data: Vec<f64> = (0..n).map(|_| StandardNormal.sample(&mut rng)).collect();
    Target::new(Tensor::new(dims.to_vec(), data).unwrap()).unwrap()
}

#[test]
fn the_gram_route_agrees_with_the_svd_far_within_the_slack() {
    for (dims, seed) in
        [(vec![2, 3, 4, 2], 1), (vec![3; 6], 2), (vec![5, 1, 7, 2, 2], 3), (vec![2; 9], 4)]
    {
        let target = random(&dims, seed);
        let gram = Spectra::new(&target, SpectraSettings::default());
        let svd = Spectra::new(&target, SpectraSettings { svd: true, ..Default::default() });
        for set in 1..(1u64 << dims.len()) - 1 {
            let (a, b) = (gram.of(set).unwrap(), svd.of(set).unwrap());
            let count = a.values().len();
            assert_eq!(count, b.values().len());
            assert!((a.tail(0) - 1.0).abs() < 1e-12 && a.tail(count) == 0.0);
            for k in 0..count {
                assert!((a.tail(k) - b.tail(k)).abs() < a.slack(k) / 3.0, "{dims:?} {set} {k}");
            }
        }
    }
}

/// The spectra of every kind against an SVD of each unfolding, laid out by its definition.
fn agrees_with_unfoldings<T: Scalar>() {
    let dims = [2, 3, 2, 4];
    let mut rng = stream(7, b"kinds");
    let data: Vec<T> = (0..48).map(|_| T::normal(&mut rng)).collect();
    let target = Target::new(Tensor::new(dims.to_vec(), data.clone()).unwrap()).unwrap();
    for svd in [false, true] {
        let spectra = Spectra::new(&target, SpectraSettings { svd, ..Default::default() });
        for set in 1..(1u64 << 4) - 1 {
            let side = |at: &[usize], inside: bool| {
                let modes = (0..4).filter(|n| (set >> n & 1 == 1) == inside);
                modes.fold(0, |k, n| k * dims[n] + at[n])
            };
            let length = |inside: bool| -> usize {
                (0..4).filter(|n| (set >> n & 1 == 1) == inside).map(|n| dims[n]).product()
            };
            let mut unfolding = faer::Mat::<Complex<f64>>::zeros(length(true), length(false));
            for (flat, x) in data.iter().enumerate() {
                let at = unflatten(flat, &dims);
                unfolding[(side(&at, true), side(&at, false))] = Complex::new(x.re(), x.im());
            }
            let values = unfolding.singular_values().unwrap();
            let s = spectra.of(set).unwrap();
            for k in 0..values.len() {
                let tail: f64 = values[k..].iter().map(|s| s * s).sum();
                let want = tail / target.norm_squared();
                // As exact as for 64-bit numbers, whatever the kind.
                assert!((s.tail(k) - want).abs() < 1e-13, "{} {set} {k}", T::KIND);
                assert!(s.bound(k) <= want);
            }
        }
    }
}

#[test]
fn spectra_of_every_kind_are_those_of_the_unfoldings() {
    agrees_with_unfoldings::<f32>();
    agrees_with_unfoldings::<f64>();
    agrees_with_unfoldings::<Complex<f32>>();
    agrees_with_unfoldings::<Complex<f64>>();
}

#[test]
fn a_rank_is_decided_with_the_slack_in_favour_of_the_smaller() {
    // diag(4, 3, 0...) : squares 16, 9; tails 1, 9/25, 0.
    let mut x = Tensor::<f64>::zeros(vec![3, 4]);
    (x.data_mut()[0], x.data_mut()[5]) = (4.0, 3.0);
    let target = Target::new(x).unwrap();
    for svd in [false, true] {
        let spectra = Spectra::new(&target, SpectraSettings { svd, ..Default::default() });
        let s = spectra.of(0b10).unwrap();
        let edge = 9.0 / 25.0;
        assert_eq!(s.rank(0.5), 1);
        assert_eq!(s.rank(edge), 1, "right at the threshold the smaller rank stays possible");
        assert_eq!(s.rank(edge - 2.0 * s.slack(1)), 2);
        assert_eq!((s.rank(0.0), s.bound(2)), (2, 0.0));
        assert!(s.bound(1) <= edge && s.bound(1) > edge - 1e-12);
    }
}

#[test]
fn what_is_not_computed_in_time_bounds_nothing_and_is_counted() {
    let target = random(&[3, 4, 5, 2], 6);
    let spectra = || Spectra::new(&target, SpectraSettings::default());
    let late = Stop::new().within(std::time::Duration::ZERO);
    let stopped = spectra().stoppable(&late);
    stopped.prepare(&Stop::new());
    assert_eq!((stopped.of(0b10), stopped.left_out().late), (None, 8));
    let abandoned = spectra();
    abandoned.prepare(&late);
    assert_eq!((abandoned.of(0b10), abandoned.left_out().late), (None, 1));
    let whole = spectra().stoppable(&Stop::new().within_seconds(1e9));
    whole.prepare(&Stop::new().within_seconds(1e9));
    assert_eq!(whole.left_out(), LeftOut::default());
}

#[test]
fn both_sides_of_a_cut_are_one() {
    let target = random(&[3, 4, 5], 5);
    let spectra = Spectra::new(&target, SpectraSettings::default());
    assert_eq!(spectra.of(0b001), spectra.of(0b110));
    assert_eq!(spectra.of(0b001).unwrap().values().len(), 3);
    assert!(spectra.of(0).is_none() && spectra.of(0b111).is_none());
    assert!(spectra.known(0b010).is_none() && spectra.known(0b110).is_some());
    assert_eq!(spectra.left_out().text(), None);
    let stop = Stop::new();
    stop.set();
    let late = Spectra::new(&target, SpectraSettings::default()).stoppable(&stop);
    assert!(late.of(0b010).is_none() && late.left_out().late == 1);
}

/// A smooth tensor of large sides, with a little noise.
fn smooth(noise: f64) -> Target {
    let mut rng = stream(9, b"smooth");
    let dims = vec![9, 12, 11, 10];
    let entries = (0..dims.iter().product::<usize>()).map(|k| {
        let at: Vec<f64> = unflatten(k, &dims).iter().map(|&i| i as f64 / 10.0).collect();
        let x = 1.0 / (1.0 + at[0] + 2.0 * at[1] * at[2]) + (at[3] * at[1]).sin();
        let z: f64 = StandardNormal.sample(&mut rng);
        x + noise * z
    });
    let data = entries.collect();
    Target::new(Tensor::new(dims, data).unwrap()).unwrap()
}

#[test]
fn sketched_spectra_enclose_the_whole_ones() {
    for noise in [0.0, 1e-4, 1e-2] {
        let target = smooth(noise);
        let whole = Spectra::new(&target, SpectraSettings::default());
        for eps in [1e-2, 1e-4, 1e-6] {
            let settings =
                SpectraSettings { max_side: 50, matters: Some(eps), ..Default::default() };
            let spectra = Spectra::new(&target, settings);
            for set in [0b0011, 0b0101, 0b0110] {
                let (a, b) = (spectra.of(set).unwrap(), whole.of(set).unwrap());
                for k in 0..b.values().len() {
                    assert!(a.tail(k) >= b.tail(k) - 1e-13, "{noise} {eps} {k}");
                    assert!(a.bound(k) <= b.tail(k), "{noise} {eps} {k}");
                }
                assert!(a.rank(eps) <= b.rank(eps) && a.reach(eps) >= b.reach(eps));
                assert!(a.missed() <= SMALL_PART * eps || noise > 0.0, "{noise} {eps}");
            }
        }
    }
}

/// A matrix that falls off along its diagonal, with noise.
fn matrix(
    (side, long): (usize, usize),
    value: impl Fn(usize) -> f64,
    noise: f64,
    scale: f64,
) -> Target {
    let mut rng = stream(11, b"matrix");
    let entry = |k: usize| {
        let z: f64 = StandardNormal.sample(&mut rng);
        let (i, j) = (k / long, k % long);
        scale * (if i == j { value(i) } else { 0.0 } + noise * z)
    };
    let data = (0..side * long).map(entry).collect();
    Target::new(Tensor::new(vec![side, long], data).unwrap()).unwrap()
}

/// How many values of a matrix are computed where an error matters and sides beyond 50 are too long, and what they miss.
fn sketched(target: &Target, eps: f64) -> (usize, f64) {
    let settings = SpectraSettings { max_side: 50, matters: Some(eps), ..Default::default() };
    let spectra = Spectra::new(target, settings);
    let found = spectra.of(0b10).unwrap();
    let whole = Spectra::new(target, SpectraSettings::default());
    let whole = whole.of(0b10).unwrap();
    for k in 0..target.dims()[0] {
        assert!(found.tail(k) >= whole.tail(k) - 1e-13 && found.bound(k) <= whole.tail(k), "{k}");
    }
    (found.values().len(), found.missed())
}

#[test]
fn a_sketch_goes_on_until_what_it_misses_does_not_matter() {
    for scale in [1e-3, 1.0, 1e3] {
        // Squares that fall by 4: the first 16 columns hold all but some 1e-9.
        let steep = matrix((120, 130), |k| 0.5f64.powi(k as i32), 0.0, scale);
        let (count, missed) = sketched(&steep, 1e-4);
        assert!(count == 16 && missed <= 1e-6, "{scale}: {count} {missed}");
        // By 0.64: neither 16 nor 32 are enough, but 40 are, a third.
        let flat = matrix((120, 130), |k| 0.8f64.powi(k as i32), 0.0, scale);
        let (count, missed) = sketched(&flat, 1e-4);
        assert!(count == 40 && missed <= 1e-6, "{scale}: {count} {missed}");
        // Noise of about a hundredth: when 16 more columns find little more of it, the rank being clear, that is enough.
        let one = |k: usize| if k == 0 { 1.0 } else { 0.0 };
        let noisy = matrix((120, 130), one, 8e-4, scale);
        let (count, missed) = sketched(&noisy, 0.1);
        assert!(count == 32 && missed > 2e-3, "{scale}: {count} {missed}");
        // Where the rank is not clear it goes on, to a third of the side.
        let (count, missed) = sketched(&noisy, 5e-3);
        assert!(count == 40 && missed > 2e-3, "{scale}: {count} {missed}");
    }
    // Of a short side to twice the first columns, and no further than there are values.
    let noise = |side: usize| matrix((side, 130), |_| 0.0, 1.0, 1.0);
    assert_eq!(sketched(&noise(60), 1e-6).0, 32);
    assert_eq!(sketched(&noise(99), 1e-6).0, 33);
    let settings = SpectraSettings { max_side: 10, ..Default::default() };
    let spectra = Spectra::new(&noise(20), settings);
    let found = spectra.of(0b10).unwrap();
    assert!(found.values().len() == 20 && found.missed() < 1e-12);
}

#[test]
fn a_sketch_rounds_as_gram_matrices_do_whatever_the_route() {
    let flat = matrix((120, 130), |k| 0.8f64.powi(k as i32), 0.0, 1.0);
    let with = |svd| SpectraSettings { max_side: 50, matters: Some(1e-4), svd };
    let (svd, gram) = (Spectra::new(&flat, with(true)), Spectra::new(&flat, with(false)));
    assert_eq!(svd.of(0b10).unwrap(), gram.of(0b10).unwrap());
}

#[test]
fn where_many_values_matter_all_are_computed_if_there_is_room() {
    let noise = matrix((400, 400), |_| 0.0, 1.0, 1.0);
    let settings = SpectraSettings { matters: Some(1e-6), ..Default::default() };
    let spectra = Spectra::new(&noise, settings);
    assert!(spectra.sketches(400, 160_000.0));
    let found = spectra.of(0b10).unwrap();
    assert_eq!((found.values().len(), found.missed()), (400, 0.0));
}

#[test]
fn a_sketch_ends_with_what_there_is_when_the_time_is_up() {
    let noise = matrix((120, 130), |_| 0.0, 1.0, 1.0);
    let settings = SpectraSettings { max_side: 50, ..Default::default() };
    // One look before it is begun, the next after the first columns.
    let spectra = Spectra::new(&noise, settings).stoppable(&Stop::after_looks(1));
    assert_eq!(spectra.of(0b10).unwrap().values().len(), 16);
}

#[test]
fn a_spectrum_that_the_stop_ended_is_counted() {
    let target = random(&[3, 4, 5], 8);
    // One look before it is begun, the next within.
    let spectra =
        Spectra::new(&target, SpectraSettings::default()).stoppable(&Stop::after_looks(1));
    assert!(spectra.of(0b10).is_none());
    assert_eq!((spectra.left_out().late, spectra.left_out().failed), (1, 0));
}

#[test]
fn large_unfoldings_are_sketched_where_an_error_matters() {
    let target = random(&[2, 2], 1);
    let plain = Spectra::new(&target, SpectraSettings::default());
    let matters = Spectra::new(&target, SpectraSettings::default()).mattering(Some(1e-3));
    // 2 * 1e7 * 97 operations and more.
    assert!(matters.sketches(97, 1e7) && !plain.sketches(97, 1e7));
    // A short side, and few operations: 2 * 1e6 * 97 + 8 * 97^3.
    assert!(!matters.sketches(96, 1e9) && !matters.sketches(97, 1e6));
    assert!(matters.sketches(2049, 1e7) && plain.sketches(2049, 1e7) && !plain.sketches(2048, 1e7));
}

#[test]
fn operations_and_bytes_are_those_of_gram_matrices_or_sketches() {
    let target = random(&[2, 3, 4], 2);
    let with =
        |max_side: usize| Spectra::new(&target, SpectraSettings { max_side, ..Default::default() });
    // The shorter sides: 3 and 4 of modes 1 and 2, and 2 of mode 0.
    let whole = 2.0 * 24.0 * (3.0 + 4.0 + 2.0) + 8.0 * (27.0 + 64.0 + 8.0);
    assert_eq!(with(9).prepare_flops(), whole);
    // Sketches: 256 operations for each entry.
    assert_eq!(with(1).prepare_flops(), 3.0 * 256.0 * 24.0);
    let sketch_of_four = 256.0 * 24.0 + 2.0 * 24.0 * 5.0 + 8.0 * (27.0 + 8.0);
    assert_eq!(with(3).prepare_flops(), sketch_of_four);
    let ones = |order: usize| {
        let target = Target::new(Tensor::<f64>::new(vec![1; order], vec![2.0]).unwrap()).unwrap();
        Spectra::new(&target, SpectraSettings::default())
    };
    assert!(ones(20).prepare_flops().is_finite() && ones(21).prepare_flops().is_infinite());
    // A copy of 8 bytes an entry, and three times the square of the side; for a sketch as much as the tensor again.
    let square = random(&[4, 4], 3);
    let bytes = |target: &Target, max_side: usize| {
        Spectra::new(target, SpectraSettings { max_side, ..Default::default() }).bytes()
    };
    assert_eq!(bytes(&square, 2048), 8.0 * (16.0 + 3.0 * 16.0));
    assert_eq!(bytes(&square, 2), 8.0 * (16.0 + 16.0 + 3.0 * 4.0));
    let complex = Tensor::new(vec![4, 4], vec![Complex::new(1.0f32, 2.0); 16]).unwrap();
    assert_eq!(bytes(&Target::new(complex).unwrap(), 2048), 16.0 * (16.0 + 3.0 * 16.0));
}

#[test]
fn cuts_that_direct_methods_ask_for_come_first() {
    let target = random(&[2; 6], 4);
    let spectra = Spectra::new(&target, SpectraSettings::default());
    let asked = |set: u64| {
        // Beside mode 0: one mode; all but one, or all; or the last ones.
        let last = (1..6).any(|n| set == (0b11_1111 >> n) << n);
        set.count_ones() == 1 || set.count_ones() >= 4 || last
    };
    let sets: Vec<u64> = (1..32).map(|k| k << 1).collect();
    let first = sets.iter().filter(|&&s| asked(s)).count() as u64;
    // Two looks for each cut.
    let stop = Stop::after_looks(2 * first);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap();
    pool.install(|| spectra.prepare(&stop));
    for set in sets {
        assert_eq!(spectra.known(set).is_some(), asked(set), "{set:b}");
    }
}

#[test]
fn what_is_left_out_is_said() {
    let ones = Tensor::<f64>::new(vec![1; 27], vec![2.0]).unwrap();
    let spectra = Spectra::new(&Target::new(ones).unwrap(), SpectraSettings::default());
    assert!(spectra.of(0b10).is_none() && spectra.known(0).is_none());
    let said = |late, failed, too_many_modes| LeftOut { late, failed, too_many_modes }.text();
    let modes = "cuts are known up to order 26";
    assert_eq!(spectra.left_out().text().as_deref(), Some(modes));
    let late = "2 times a cut was not computed for want of time";
    let failed = "the singular values of 1 cuts did not converge";
    assert_eq!(said(2, 0, false).as_deref(), Some(late));
    assert_eq!(said(0, 1, false).as_deref(), Some(failed));
    assert_eq!(said(2, 1, true), Some(format!("{modes}; {late}; {failed}")));
    let ones = Tensor::<f64>::new(vec![1; 26], vec![2.0]).unwrap();
    let spectra = Spectra::new(&Target::new(ones).unwrap(), SpectraSettings::default());
    assert!(spectra.of(0b10).is_some());
}

#[test]
fn the_slack_is_what_the_documents_say() {
    fn slack<T: Scalar>(svd: bool) -> f64 {
        // Squares 16 and 9: the tail beyond one is 0.36, its root 0.6.
        let mut x = Tensor::<T>::zeros(vec![3, 4]);
        (x.data_mut()[0], x.data_mut()[5]) = (T::from_parts(4.0, 0.0), T::from_parts(3.0, 0.0));
        let target = Target::new(x).unwrap();
        let spectra = Spectra::new(&target, SpectraSettings { svd, ..Default::default() });
        spectra.of(0b10).unwrap().slack(1)
    }
    // 4 ulp for each of 3 values and the root of 4 columns; and for fits twice 2e-13.
    let eta = 20.0 * f64::EPSILON;
    let near = |a: f64, b: f64| (a - b).abs() < 1e-3 * b;
    assert!(near(slack::<f64>(false), eta + 4e-13 * 0.6), "{}", slack::<f64>(false));
    let by_svd = 3.0 * eta * eta + (2.0 * eta * 3.0f64.sqrt() + 4e-13) * 0.6;
    assert!(near(slack::<f64>(true), by_svd), "{}", slack::<f64>(true));
    let single = eta + 4e-13 * 2.0f64.powi(29) * 0.6;
    assert!(near(slack::<f32>(false), single), "{}", slack::<f32>(false));
}

/// A sum of two products over very many modes, with noise of a ten-thousandth.
fn many_modes(modes: usize) -> Target {
    two_products(modes, 0.05)
}

fn two_products(modes: usize, noise: f64) -> Target {
    let mut rng = stream(12, b"many");
    let angle = |a: usize, n: usize| ((3 + a) * (n + 1)) as f64;
    let entry = |k: usize| {
        let z: f64 = StandardNormal.sample(&mut rng);
        let product = |a: usize| -> f64 {
            (0..modes).map(|n| (angle(a, n) + (k >> n & 1) as f64 * 0.7).sin() + 1.2).product()
        };
        product(0) + 3.0 * product(1) + noise * z
    };
    let data: Vec<f64> = (0..1 << modes).map(entry).collect();
    Target::new(Tensor::new(vec![2; modes], data).unwrap()).unwrap()
}

#[test]
fn groups_of_modes_of_large_tensors_are_projected_and_enclose_the_spectra() {
    let order: Vec<usize> = (0..18).collect();
    let target = many_modes(18);
    let whole = Spectra::new(&target, SpectraSettings::default());
    let eps = 1e-2;
    // Groups of four modes: on one side of the cut, on the other, and one of them split; whole and sketched.
    for max_side in [2048, 1] {
        let settings = SpectraSettings { max_side, matters: Some(eps), ..Default::default() };
        let spectra = Spectra::new(&target, settings);
        spectra.compress(&order);
        for set in [0b1111u64, 0b1111_0000, 0b11_0000_1111, 0b11_1111] {
            let (a, b) = (spectra.of(set).unwrap(), whole.of(set).unwrap());
            assert!(a.missed() > 0.0 && a.missed() <= (PROJECTED + SMALL_PART) * eps, "{set:b}");
            assert!(a.values().len() < b.values().len(), "{set:b}: {}", a.values().len());
            for k in 0..=b.values().len() {
                assert!(a.tail(k) >= b.tail(k) - 1e-13, "{max_side} {set:b} {k}");
                assert!(a.bound(k) <= b.tail(k), "{max_side} {set:b} {k}");
                assert!(a.tail(k) <= b.tail(k) + a.missed() + 1e-13, "{max_side} {set:b} {k}");
            }
        }
        assert_eq!(spectra.left_out(), LeftOut::default());
    }
    // No error that matters, and smaller tensors: as they are.
    let plain = Spectra::new(&target, SpectraSettings::default());
    plain.compress(&order);
    assert_eq!(plain.of(0b1111).unwrap().missed(), 0.0);
    let small = Spectra::new(&many_modes(10), SpectraSettings::default()).mattering(Some(eps));
    small.compress(&order[..10]);
    assert_eq!(small.of(0b1111).unwrap().missed(), 0.0);
}

/// Those who look after their time themselves get cuts also where the preparation was given up, but none out of time.
#[test]
fn few_cuts_are_had_as_long_as_there_is_time() {
    let target = random(&[2, 3, 4], 6);
    let (set, free) = (0b010, Stop::new());
    let stopped = Stop::new();
    stopped.set();
    let new = || Spectra::new(&target, SpectraSettings::default());
    let plain = new();
    let whole = plain.of(set).unwrap();
    // The preparation was ended before it began.
    let given_up = new();
    given_up.prepare(&stopped);
    assert!(given_up.of(set).is_none());
    assert_eq!(given_up.of_few(set, &free), Some(whole));
    // By either side of the cut.
    assert_eq!(new().of_few(0b101, &free), Some(whole));
    // The time of either is up; what is known is had even then.
    assert!(new().of_few(set, &stopped).is_none());
    let ended = new().stoppable(&stopped);
    assert!(ended.of_few(set, &free).is_none());
    assert_eq!(given_up.of_few(set, &stopped), Some(whole));
    // The empty cut, and what has no cuts.
    assert!(new().of_few(0, &free).is_none() && new().of_few(0b111, &free).is_none());
    let many = Tensor::<f64>::new(vec![1; 27], vec![2.0]).unwrap();
    let many = Spectra::new(&Target::new(many).unwrap(), SpectraSettings::default());
    assert!(many.of_few(0b10, &free).is_none());
}

/// An SVD takes two copies more, and five squares of the side.
#[test]
fn an_svd_takes_more_memory() {
    let target = random(&[4, 4], 3);
    let bytes = |svd: bool, max_side: usize| {
        Spectra::new(&target, SpectraSettings { max_side, svd, ..Default::default() }).bytes()
    };
    assert_eq!(bytes(true, 2048), bytes(false, 2048) + 8.0 * (2.0 * 16.0 + 5.0 * 16.0));
    assert_eq!(bytes(true, 2), bytes(false, 2) + 8.0 * (2.0 * 16.0 + 5.0 * 4.0));
}

/// Groups are projected where there is room for three copies of wide numbers, and squares are fine enough.
#[test]
fn groups_are_projected_only_where_there_is_room_and_squares_will_do() {
    let target = many_modes(18);
    let order: Vec<usize> = (0..18).collect();
    let projected = |room: f64, eps: f64| {
        let spectra = Spectra::new(&target, SpectraSettings::default()).mattering(Some(eps));
        let spectra = spectra.with_room(room);
        spectra.compress(&order);
        spectra.of(0b1111).unwrap().missed() > 0.0
    };
    let copies = 3.0 * 8.0 * f64::from(1 << 18);
    assert!(projected(copies, 1e-2) && !projected(copies - 1.0, 1e-2));
    // Of 16 values two are left of what has no noise, unless the error is so small that squares do not see it.
    let exact = two_products(18, 0.0);
    let count = |eps: f64| {
        let spectra = Spectra::new(&exact, SpectraSettings::default()).mattering(Some(eps));
        spectra.compress(&order);
        spectra.of(0b1111).unwrap().values().len()
    };
    assert!(count(1e-9) < 16, "{}", count(1e-9));
    assert_eq!(count(1e-11), 16);
}

/// Long matrices with one large singular value and many tiny ones: all are seen, whatever kernels take for zero.
#[test]
fn small_singular_values_of_long_matrices_are_seen() {
    for (side, long, tiny) in [(12, 600, 1e-9), (12, 600, 1e-12), (100, 220, 2e-13)] {
        let mut rng = stream(4, b"long");
        // Orthogonal rows, so that their lengths are the singular values.
        let mut rows: Vec<Vec<f64>> = Vec::new();
        for _ in 0..side {
            let mut row: Vec<f64> = (0..long).map(|_| StandardNormal.sample(&mut rng)).collect();
            for _ in 0..2 {
                for other in &rows {
                    let dot: f64 = row.iter().zip(other).map(|(a, b)| a * b).sum();
                    row.iter_mut().zip(other).for_each(|(a, b)| *a -= dot * b);
                }
            }
            let norm = sum_of_squares(&row).sqrt();
            row.iter_mut().for_each(|a| *a /= norm);
            rows.push(row);
        }
        let length = |k: usize| if k == 0 { 1.0 } else { tiny };
        let rows = rows.iter().enumerate();
        let data: Vec<f64> =
            rows.flat_map(|(k, row)| row.iter().map(move |a| a * length(k))).collect();
        for precise in [false, true] {
            let squares = squares_by_svd(&data, side, long, precise, &Stop::new()).unwrap();
            assert_eq!(squares.len(), side);
            assert!((squares[0] - 1.0).abs() < 1e-12);
            for (k, square) in squares.iter().enumerate().skip(1) {
                let off = (square.sqrt() - tiny).abs();
                assert!(off < 0.1 * tiny, "{side} {tiny} {precise} {k}: {}", square.sqrt());
            }
        }
    }
    let stop = Stop::new();
    stop.set();
    assert!(squares_by_svd(&[1.0; 240], 12, 20, true, &stop).is_none());
}
