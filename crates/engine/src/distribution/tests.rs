//! Empirical frequencies against the closed forms, with fixed seeds: a failure is a change, not bad luck.

use iodyno_model::Blend;
use proptest::prelude::*;

use super::*;

const DRAWS: u32 = 200_000;

fn distribution(pick: Pick, blocks: u64) -> Distribution {
    Distribution::new(&pick, blocks, 4096, 11).unwrap()
}

/// How often each block comes.
fn counts(distribution: &Distribution) -> Vec<f64> {
    let mut random = Random::from_seed(5, 0);
    let mut counts = vec![0.0; distribution.blocks as usize];
    (0..DRAWS).for_each(|_| counts[distribution.draw(&mut random) as usize] += 1.0);
    counts
}

/// Chi-square in deviations from its mean; bins expected less than ten times are pooled.
fn surprise(counts: impl Iterator<Item = f64>, probabilities: &[f64]) -> f64 {
    let (mut sum, mut bins, mut pool) = (0.0, 0.0, (0.0, 0.0));
    for (count, probability) in counts.zip(probabilities) {
        pool = (pool.0 + count, pool.1 + probability * f64::from(DRAWS));
        if pool.1 >= 10.0 {
            sum += (pool.0 - pool.1).powi(2) / pool.1;
            bins += 1.0;
            pool = (0.0, 0.0);
        }
    }
    (sum - (bins - 1.0)) / (2.0 * (bins - 1.0f64)).sqrt()
}

/// The counts in order of popularity, as the seed scattered them.
fn by_rank(counts: &[f64], scatter: &Permutation) -> Vec<f64> {
    (0..counts.len() as u64).map(|rank| counts[scatter.at(rank) as usize]).collect()
}

#[test]
fn zipf_has_its_closed_form() {
    for (theta, blocks) in [(0.3, 1000), (0.9, 1000), (1.0, 500), (1.2, 5000), (2.5, 100), (1.1, 1), (1.1, 2)]
    {
        let zipf = distribution(Pick::Zipf { theta, center: None }, blocks);
        let weights: Vec<f64> = (1..=blocks).map(|k| (k as f64).powf(-theta)).collect();
        let total: f64 = weights.iter().sum();
        let expected: Vec<f64> = weights.iter().map(|weight| weight / total).collect();
        let ranked = by_rank(&counts(&zipf), &Permutation::new(blocks, 11));
        let surprise = surprise(ranked.iter().copied(), &expected);
        assert!(blocks == 1 || surprise.abs() < 3.5, "theta {theta} n {blocks}: {surprise}");
    }
}

#[test]
fn pareto_sends_the_rest_of_h_to_h_of_the_places() {
    for h in [0.1, 0.2, 0.4] {
        let blocks = 1000u64;
        let power = f64::ln(h) / f64::ln(1.0 - h);
        let cumulated = |k: u64| (k as f64 / blocks as f64).powf(1.0 / power);
        let expected: Vec<f64> = (0..blocks).map(|k| cumulated(k + 1) - cumulated(k)).collect();
        let ranked = by_rank(
            &counts(&distribution(Pick::Pareto { h, center: None }, blocks)),
            &Permutation::new(blocks, 11),
        );
        let surprise = surprise(ranked.iter().copied(), &expected);
        assert!(surprise.abs() < 3.5, "h {h}: {surprise}");
        let hot: f64 = ranked[..(h * blocks as f64) as usize].iter().sum();
        assert!((hot / f64::from(DRAWS) - (1.0 - h)).abs() < 0.005, "h {h}: {hot}");
    }
}

#[test]
fn popular_places_are_scattered() {
    let counts = counts(&distribution(Pick::Zipf { theta: 1.2, center: None }, 10_000));
    let mut order: Vec<usize> = (0..counts.len()).collect();
    order.sort_by(|a, b| counts[*b].total_cmp(&counts[*a]));
    let quarters: std::collections::BTreeSet<usize> = order[..16].iter().map(|place| place / 2500).collect();
    assert_eq!(quarters.len(), 4, "{:?}", &order[..16]);
}

#[test]
fn normal_has_its_deviation_and_stays_inside() {
    let blocks = 10_000;
    let counts = counts(&distribution(Pick::Normal { deviation_percent: 10.0 }, blocks));
    let moment = |power: i32| {
        let sum: f64 =
            counts.iter().enumerate().map(|(k, c)| c * (k as f64 + 0.5 - 5000.0).powi(power)).sum();
        sum / f64::from(DRAWS)
    };
    assert!(moment(1).abs() < 10.0, "{}", moment(1));
    assert!((moment(2).sqrt() - 1000.0).abs() < 8.0, "{}", moment(2).sqrt());
    let within: f64 = counts[4000..6000].iter().sum();
    assert!((within / f64::from(DRAWS) - 0.682_69).abs() < 0.004, "{within}");
    // So wide that most draws fall outside and come again: nearly even.
    let wide = self::counts(&distribution(Pick::Normal { deviation_percent: 1000.0 }, 100));
    assert!(surprise(wide.iter().copied(), &[0.01; 100]) < 4.0);
}

#[test]
fn uniform_is_even() {
    let counts = counts(&distribution(Pick::Uniform, 1000));
    assert!(surprise(counts.iter().copied(), &[0.001; 1000]).abs() < 3.5);
}

fn zone(accesses_percent: f64, extent: Extent) -> Zone {
    Zone { accesses_percent, extent }
}

#[test]
fn zones_share_accesses_and_span() {
    let zones = vec![
        zone(60.0, Extent::Percent(10.0)),
        zone(30.0, Extent::Bytes(200 * 4096)),
        zone(0.0, Extent::Bytes(100 * 4096)),
        zone(10.0, Extent::Rest),
    ];
    let counts = counts(&distribution(Pick::Zones(zones), 1000));
    let part = |range: std::ops::Range<usize>| counts[range].iter().sum::<f64>() / f64::from(DRAWS);
    for (found, expected) in
        [(part(0..100), 0.6), (part(100..300), 0.3), (part(300..400), 0.0), (part(400..1000), 0.1)]
    {
        assert!((found - expected).abs() < 0.004, "{found} {expected}");
    }
    assert!(counts[400..].iter().all(|&count| count > 0.0), "the whole zone is used");
}

#[test]
fn a_blend_mixes_its_ways() {
    let ways = vec![
        Blend { percent: 25.0, pick: Pick::Uniform },
        Blend { percent: 75.0, pick: Pick::Zones(vec![zone(100.0, Extent::Percent(10.0))]) },
    ];
    let counts = counts(&distribution(Pick::Blend(ways), 100));
    let hot = counts[..10].iter().sum::<f64>() / f64::from(DRAWS);
    assert!((hot - 0.775).abs() < 0.004, "{hot}");
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |pick: &Pick| Distribution::new(pick, 100, 4096, 1).unwrap_err().message;
    for (pick, word) in [
        (Pick::Sequential, "walked"),
        (Pick::Zipf { theta: 0.0, center: None }, "zipf"),
        (Pick::Zipf { theta: f64::NAN, center: None }, "zipf"),
        (Pick::Pareto { h: 1.0, center: None }, "pareto"),
        (Pick::Normal { deviation_percent: -1.0 }, "normal"),
        (Pick::Zones(vec![]), "shares"),
        (Pick::Zones(vec![zone(100.0, Extent::Percent(110.0))]), "zone 1 ends beyond"),
        (Pick::Zones(vec![zone(50.0, Extent::Percent(0.1)), zone(50.0, Extent::Rest)]), "zone 1 is smaller"),
        (Pick::Blend(vec![Blend { percent: 100.0, pick: Pick::Append }]), "walked"),
    ] {
        assert!(refused(&pick).contains(word), "{}", refused(&pick));
        assert!(!Distribution::draws(&Pick::Blend(vec![Blend { percent: 1.0, pick: Pick::Stream }])));
    }
    assert!(Distribution::new(&Pick::Uniform, 0, 4096, 1).is_err());
    assert!(Sizes::new(&Size::Whole).is_err());
    assert!(Sizes::new(&Size::Uniform { least_bytes: 2, most_bytes: 1, step_bytes: 1 }).is_err());
    assert!(Sizes::new(&Size::Gamma { mean_bytes: 0.0, shape: 1.0 }).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn no_draw_leaves_the_span(
        blocks in prop_oneof![1u64..5, 1u64..100_000, (1u64 << 40)..=(1 << 63)],
        theta in 0.01f64..8.0, h in 0.001f64..0.999, deviation_percent in 0.0f64..200.0, seed: u64,
    ) {
        let mut random = Random::from_seed(seed, 0);
        let (zipf, pareto) = (Pick::Zipf { theta, center: None }, Pick::Pareto { h, center: None });
        for pick in [Pick::Uniform, zipf, pareto, Pick::Normal { deviation_percent }] {
            let distribution = Distribution::new(&pick, blocks, 512, seed).unwrap();
            for _ in 0..200 {
                prop_assert!(distribution.draw(&mut random) < blocks, "{:?}", pick);
            }
        }
    }
}

fn sizes(size: Size) -> Vec<u64> {
    let sizes = Sizes::new(&size).unwrap();
    let mut random = Random::from_seed(9, 0);
    (0..DRAWS).map(|_| sizes.draw(&mut random)).collect()
}

#[test]
fn sizes_follow_their_table() {
    let drawn = sizes(Size::Split(vec![(4096, 50.0), (8192, 0.0), (65_536, 40.0), (512, 10.0)]));
    let part = |bytes| drawn.iter().filter(|&&size| size == bytes).count() as f64 / f64::from(DRAWS);
    for (bytes, expected) in [(4096, 0.5), (8192, 0.0), (65_536, 0.4), (512, 0.1)] {
        assert!((part(bytes) - expected).abs() < 0.004, "{bytes}: {}", part(bytes));
    }
    let drawn = sizes(Size::Uniform { least_bytes: 1024, most_bytes: 4096, step_bytes: 1024 });
    assert!(drawn.iter().all(|size| (1024..=4096).contains(size) && size % 1024 == 0));
    let largest = drawn.iter().filter(|&&size| size == 4096).count() as f64 / f64::from(DRAWS);
    assert!((largest - 0.25).abs() < 0.004, "both ends belong to the range: {largest}");
    let range = Size::Uniform { least_bytes: 1, most_bytes: 2, step_bytes: 1 };
    let drawn = sizes(Size::Blend(vec![(Size::Fixed(9), 60.0), (range, 40.0)]));
    for (bytes, expected) in [(9, 0.6), (1, 0.2), (2, 0.2)] {
        let found = drawn.iter().filter(|&&size| size == bytes).count() as f64 / f64::from(DRAWS);
        assert!((found - expected).abs() < 0.004, "{bytes}: {found}");
    }
    assert!(Sizes::new(&Size::Blend(vec![(Size::Whole, 1.0)])).is_err());
    assert!(sizes(Size::Fixed(7)).iter().all(|&size| size == 7));
}

#[test]
fn gamma_has_its_mean_and_variance() {
    for shape in [0.5, 1.5, 8.0] {
        let drawn = sizes(Size::Gamma { mean_bytes: 16_384.0, shape });
        let mean = drawn.iter().map(|&size| size as f64).sum::<f64>() / f64::from(DRAWS);
        let variance = drawn.iter().map(|&size| (size as f64 - mean).powi(2)).sum::<f64>() / f64::from(DRAWS);
        assert!((mean / 16_384.0 - 1.0).abs() < 0.015, "shape {shape}: mean {mean}");
        assert!(
            (variance * shape / 16_384f64.powi(2) - 1.0).abs() < 0.04,
            "shape {shape}: variance {variance}"
        );
    }
}

#[test]
fn normal_and_poisson_have_their_means_and_deviations() {
    let normal = Size::Normal { mean_bytes: 16_384.0, deviation_bytes: 2_048.0 };
    for (size, mean, deviation) in [(normal, 16_384.0, 2_048.0), (Size::Poisson { mean: 9.0 }, 9.0, 3.0)] {
        let drawn = sizes(size.clone());
        let found = drawn.iter().map(|&size| size as f64).sum::<f64>() / f64::from(DRAWS);
        let spread = drawn.iter().map(|&size| (size as f64 - found).powi(2)).sum::<f64>() / f64::from(DRAWS);
        assert!((found / mean - 1.0).abs() < 0.005, "{size:?}: mean {found}");
        assert!((spread.sqrt() / deviation - 1.0).abs() < 0.01, "{size:?}: deviation {}", spread.sqrt());
    }
    for wrong in [
        Size::Poisson { mean: 0.0 },
        Size::Poisson { mean: 701.0 },
        Size::Normal { mean_bytes: 5.0, deviation_bytes: -1.0 },
    ] {
        assert!(Sizes::new(&wrong).is_err(), "{wrong:?}");
    }
}

/// If this fails, recorded seeds no longer visit the blocks they visited: do not bless it away.
#[test]
fn draws_are_pinned() {
    let first = |pick: Pick| {
        let distribution = distribution(pick, 1_000_000);
        let mut random = Random::from_seed(1, 0);
        [(); 4].map(|()| distribution.draw(&mut random))
    };
    assert_eq!(first(Pick::Uniform), [417_521, 113_809, 211_563, 743_586]);
    assert_eq!(first(Pick::Zipf { theta: 1.2, center: None }), [916_988, 193_615, 213_184, 20_075]);
    assert_eq!(first(Pick::Zipf { theta: 1.0, center: None }), [584_856, 804_296, 306_774, 70_259]);
    assert_eq!(first(Pick::Pareto { h: 0.2, center: None }), [363_966, 359_182, 725_960, 604_891]);
    assert_eq!(first(Pick::Normal { deviation_percent: 20.0 }), [459_416, 338_014, 194_515, 279_975]);
    let gamma = Sizes::new(&Size::Gamma { mean_bytes: 16_384.0, shape: 1.5 }).unwrap();
    let mut random = Random::from_seed(1, 0);
    assert_eq!([(); 4].map(|()| gamma.draw(&mut random)), [10_496, 29_328, 3_672, 23_057]);
}
