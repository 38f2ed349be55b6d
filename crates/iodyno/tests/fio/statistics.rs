//! Are two samples of one distribution? Kolmogorov-Smirnov for places, chi-squared for sorts.
//!
//! Both refuse at one in ten thousand: with some hundred comparisons a run, a false alarm comes once in a hundred runs
//! at most, and seeds are fixed, so in practice it comes never or always.

/// Where D times the root of nm/(n+m) is beyond chance: the asymptotic quantile at 0.9999.
const KS_LIMIT: f64 = 2.225;
/// The normal quantile at 0.9999, for chi-squared after Wilson and Hilferty.
const NORMAL_LIMIT: f64 = 3.719;

/// The two-sample Kolmogorov-Smirnov test.
///
/// # Errors
/// The distance and the limit, when one distribution cannot have given both.
pub fn same_distribution(left: &[u64], right: &[u64]) -> Result<(), String> {
    if left.is_empty() || right.is_empty() {
        return Err(format!("{} values there and {} here: nothing to compare", left.len(), right.len()));
    }
    let distance = distance(left, right);
    let (n, m) = (left.len() as f64, right.len() as f64);
    let limit = KS_LIMIT * ((n + m) / (n * m)).sqrt();
    let said = format!("KS distance {distance:.4}, limit {limit:.4}, of {n} and {m} values");
    if distance <= limit { Ok(()) } else { Err(said) }
}

/// The greatest gap between the two cumulative shares.
fn distance(left: &[u64], right: &[u64]) -> f64 {
    let sorted = |values: &[u64]| {
        let mut values = values.to_vec();
        values.sort_unstable();
        values
    };
    let (left, right) = (sorted(left), sorted(right));
    let share =
        |values: &[u64], limit: u64| values.partition_point(|v| *v <= limit) as f64 / values.len() as f64;
    left.iter().chain(&right).map(|at| (share(&left, *at) - share(&right, *at)).abs()).fold(0.0, f64::max)
}

/// Each value replaced by the rank of its popularity, the most frequent being 0.
pub fn ranks(values: &[u64]) -> Vec<u64> {
    let mut counts = std::collections::BTreeMap::new();
    values.iter().for_each(|value| *counts.entry(*value).or_insert(0u64) += 1);
    let mut counts: Vec<u64> = counts.into_values().collect();
    counts.sort_unstable_by(|a, b| b.cmp(a));
    let rank = |(rank, count): (usize, u64)| std::iter::repeat_n(rank as u64, count as usize);
    counts.into_iter().enumerate().flat_map(rank).collect()
}

/// Chi-squared for two rows of counts of the same sorts.
///
/// # Errors
/// The statistic and the limit, when the proportions differ by more than chance.
pub fn same_proportions(left: &[u64], right: &[u64]) -> Result<(), String> {
    let (n, m) = (left.iter().sum::<u64>() as f64, right.iter().sum::<u64>() as f64);
    if n == 0.0 || m == 0.0 {
        return Err("nothing to compare".into());
    }
    let cell = |seen: u64, total: f64, both: u64| {
        let expected = total * both as f64 / (n + m);
        if expected > 0.0 { (seen as f64 - expected).powi(2) / expected } else { 0.0 }
    };
    let sorts = left.iter().zip(right).filter(|(l, r)| **l + **r > 0);
    let chi: f64 = sorts.clone().map(|(l, r)| cell(*l, n, l + r) + cell(*r, m, l + r)).sum();
    let freedom = (sorts.count() as f64 - 1.0).max(1.0);
    let part = 2.0 / (9.0 * freedom);
    let limit = freedom * (1.0 - part + NORMAL_LIMIT * part.sqrt()).powi(3);
    let said = format!("chi-squared {chi:.1}, limit {limit:.1}: {left:?} there and {right:?} here");
    if chi <= limit { Ok(()) } else { Err(said) }
}

/// The cases of this file.
pub fn checks() -> Vec<(&'static str, fn())> {
    vec![
        ("statistics_equal_samples_pass_and_others_fail", equal_samples_pass_and_others_fail),
        ("statistics_ranks_forget_the_places", ranks_forget_the_places),
        ("statistics_proportions", proportions),
    ]
}

fn equal_samples_pass_and_others_fail() {
    let even: Vec<u64> = (0..1000).collect();
    let odd: Vec<u64> = (0..1000).map(|i| (i * 617) % 1000).collect();
    let low: Vec<u64> = (0..1000).map(|i| i * i / 1000).collect();
    assert_eq!(same_distribution(&even, &odd), Ok(()));
    assert!(same_distribution(&even, &low).is_err());
    assert!(same_distribution(&even, &[]).is_err());
}

fn ranks_forget_the_places() {
    assert_eq!(ranks(&[7, 7, 3]), [0, 0, 1]);
    assert_eq!(ranks(&[1, 9, 9]), ranks(&[7, 7, 3]));
}

fn proportions() {
    assert_eq!(same_proportions(&[300, 700], &[310, 690]), Ok(()));
    assert!(same_proportions(&[300, 700], &[700, 300]).is_err());
    assert_eq!(same_proportions(&[300, 700, 0], &[30, 70, 0]), Ok(()));
}
