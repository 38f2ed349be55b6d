//! Histograms of response times, in the buckets of the original or in those that a file names.

use iodyno_model::Histogram;
use iodyno_model::histogram::middle;
use iodyno_report::number::thousands;

/// The upper ends of the buckets, µs, where none are named.
pub const BUCKETS: [u64; 26] = [
    20, 40, 60, 80, 100, 200, 400, 600, 800, 1000, 2000, 4000, 6000, 8000, 10_000, 20_000, 40_000, 60_000,
    80_000, 100_000, 200_000, 400_000, 600_000, 800_000, 1_000_000, 2_000_000,
];

/// A table; nothing where nothing was counted.
pub fn text(title: &str, latency: &Histogram, buckets: &[u64]) -> String {
    let total = latency.count();
    if total == 0 {
        return String::new();
    }
    let mut counts = vec![0_u64; buckets.len() + 1];
    for (bucket, count) in latency.buckets() {
        let us = middle(*bucket as usize) / 1000;
        counts[buckets.partition_point(|end| *end <= us)] += count;
    }
    let mut text = format!(
        "{title}\n {:>8} <  {:>10}   {:>10} {:>8} {:>8}  '+': Individual%; '+-': Cumulative%\n\n",
        "min(ms)", "max(ms)", "count", "%%", "cum%%"
    );
    let mut sum = 0;
    for (index, count) in counts.iter().enumerate() {
        sum += count;
        let (share, all) = (*count as f64 * 100.0 / total as f64, sum as f64 * 100.0 / total as f64);
        let low = if index == 0 { 0 } else { buckets[index - 1] };
        let high = buckets.get(index).map_or("max".into(), |end| milliseconds(*end));
        let bars = "+".repeat((share / 2.0) as usize) + &"-".repeat(((all - share) / 2.0) as usize);
        let count = thousands(*count);
        let low = milliseconds(low);
        text += &format!(" {low:>8} < {high:>11} {count:>12} {share:>8.4} {all:>8.4}  {bars}\n");
    }
    text + "\n"
}

fn milliseconds(us: u64) -> String {
    format!("{:.3}", us as f64 / 1000.0).chars().take(8).collect::<String>().trim_end_matches('.').into()
}

/// Upper ends of buckets, µs, of `histogram=(NAME,LIST)`: a number that is not larger than the one before is the step to
/// the next.
///
/// # Errors
/// What is wrong with the list, as a lower-case fragment.
pub fn buckets(values: &[String]) -> Result<Vec<u64>, String> {
    let (mut all, mut step): (Vec<u64>, u64) = (Vec::new(), 0);
    for value in values.iter().skip(1).filter(|value| !"suppress".starts_with(value.as_str())) {
        let (digits, factor) = match value.as_bytes().last() {
            Some(b'u') => (&value[..value.len() - 1], 1),
            Some(b'm') => (&value[..value.len() - 1], 1000),
            Some(b's') => (&value[..value.len() - 1], 1_000_000),
            _ => (value.as_str(), 1),
        };
        let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(factor));
        let number = number.filter(|number| *number > 0).ok_or_else(|| format!("`{value}` is no time"))?;
        let last = all.last().copied().unwrap_or(0);
        if number <= last {
            step = number;
            continue;
        }
        let mut next = last + step;
        while step > 0 && next < number && all.len() < 64 {
            all.push(next);
            next += step;
        }
        (step, _) = (0, all.push(number));
    }
    match all.len() {
        0 if values.len() > 2 => Err("no times".into()),
        0 => Ok(BUCKETS.to_vec()),
        64.. => Err("more than 64 buckets".into()),
        _ => Ok(all),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn latencies_fall_into_their_buckets() {
        let mut latency = Histogram::default();
        [10_000, 50_000, 50_000, 3_000_000_000].into_iter().for_each(|ns| latency.add(ns));
        let text = text("Total", &latency, &BUCKETS);
        let rows: Vec<Vec<&str>> =
            text.lines().skip(3).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[0][..6], ["0.000", "<", "0.020", "1", "25.0000", "25.0000"]);
        assert_eq!(rows[2][..6], ["0.040", "<", "0.060", "2", "50.0000", "75.0000"]);
        assert_eq!(rows[26][..6], ["2000.000", "<", "max", "1", "25.0000", "100.0000"]);
        assert_eq!(rows[2][6], format!("{}{}", "+".repeat(25), "-".repeat(12)));
    }

    #[test]
    fn lists_of_buckets_have_units_and_steps() {
        let of = |text: &str| buckets(&text.split(',').map(String::from).collect::<Vec<_>>());
        assert_eq!(of("default,20,1m,1s"), Ok(vec![20, 1000, 1_000_000]));
        assert_eq!(of("default,100,50,300"), Ok(vec![100, 150, 200, 250, 300]));
        assert_eq!(of("default,suppress"), Ok(BUCKETS.to_vec()));
        assert!(of("default,x,y").is_err() && of("default,1,1,1000").is_err());
    }
}
