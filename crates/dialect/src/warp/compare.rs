//! Two runs held against each other, in warp's words.

use std::fmt::Write as _;

use super::aggregate::{KindSums, SecondRate, Sums};
use super::settings::go_time;
use super::test::Telling;

const MIB: f64 = 1_048_576.0;

/// What changed from one run to another, kind by kind.
pub fn text(before: &Sums, after: &Sums, telling: &Telling) -> String {
    let mut text = String::new();
    for (kind, old) in &before.by_kind {
        let is_told = telling.operation.as_ref().is_none_or(|wanted| wanted == kind);
        let Some(new) = after.by_kind.get(kind).filter(|_| is_told) else { continue };
        text += "-------------------\n";
        let _ = writeln!(text, "Operation: {kind}");
        match (&old.seconds, &new.seconds) {
            (Some(_), Some(_)) => text += &changes(old, new),
            _ => text += "Skipping: too few samples. Longer benchmark run required for reliable results.\n",
        }
    }
    if text.is_empty() { "No operation is in both.\n".into() } else { text }
}

fn changes(old: &KindSums, new: &KindSums) -> String {
    let mut text = String::new();
    let (Some(was), Some(is)) = (&old.seconds, &new.seconds) else { return text };
    if old.requests != new.requests {
        let _ = writeln!(text, "Operations: {} -> {}", old.requests, new.requests);
    }
    if old.threads != new.threads {
        let _ = writeln!(text, "Concurrency: {} -> {}", old.threads, new.threads);
    }
    if was.each.len() != is.each.len() {
        let length = |count: usize| go_time(count as u64 * 1_000_000_000);
        let _ = writeln!(text, "Duration: {} -> {}", length(was.each.len()), length(is.each.len()));
    }
    let rate = |seconds: &super::aggregate::Seconds| SecondRate {
        bytes: seconds.bytes_per_s(),
        objects: seconds.objects_per_s(),
        ..SecondRate::default()
    };
    let _ = writeln!(text, "* Average: {}", rates(rate(was), rate(is)));
    if let (Some(was), Some(is)) = (old.times(), new.times()) {
        let pairs = [
            ("Avg", was.mean, is.mean),
            ("P50", was.median, is.median),
            ("P99", was.p99, is.p99),
            ("Best", was.fastest, is.fastest),
            ("Worst", was.slowest, is.slowest),
            ("StdDev", was.deviation, is.deviation),
        ];
        let _ = writeln!(text, "* Requests: {}", times(&pairs));
    }
    if let (Some(was), Some(is)) = (old.first_byte(), new.first_byte()) {
        let pairs = [
            ("Average", was.times.mean, is.times.mean),
            ("Median", was.times.median, is.times.median),
            ("Best", was.times.fastest, is.times.fastest),
            ("Worst", was.times.slowest, is.times.slowest),
        ];
        let _ = writeln!(text, "* First Byte: {}", times(&pairs));
    }
    for ((name, was), is) in ["Fastest", "50% Median", "Slowest"].iter().zip(was.ranked()).zip(is.ranked()) {
        let _ = writeln!(text, "* {name}: {}", rates(was, is));
    }
    text
}

fn percent(was: f64, is: f64) -> f64 {
    if was > 0.0 { (is - was) / was * 100.0 } else { 0.0 }
}

fn rates(was: SecondRate, is: SecondRate) -> String {
    let bytes = match was.bytes > 0.0 || is.bytes > 0.0 {
        true => {
            let mib = (is.bytes - was.bytes) / MIB;
            format!("{:+.2}% ({mib:+.1} MiB/s) throughput, ", percent(was.bytes, is.bytes))
        }
        false => String::new(),
    };
    format!("{bytes}{:+.2}% ({:+.1}) obj/s", percent(was.objects, is.objects), is.objects - was.objects)
}

/// Pairs of times in ms.
fn times(pairs: &[(&str, f64, f64)]) -> String {
    let one = |(name, was, is): &(&str, f64, f64)| {
        let difference = is - was;
        let sign = if difference < 0.0 { '-' } else { '+' };
        let ns = (difference.abs() * 1e6).round() as u64;
        format!("{name}: {sign}{} ({:+.0}%)", go_time(ns), percent(*was, *is))
    };
    pairs.iter().map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::aggregate::sums;
    use super::super::requests::WarpRequest;
    use super::*;

    fn run(per_second: u64, ms: u64) -> Sums {
        let gap = 1_000_000_000 / per_second;
        let request = |number: u64| WarpRequest {
            kind: "GET".into(),
            objects: 1,
            bytes: 1 << 20,
            began: 1_795_306_500_000_000_000 + number * gap,
            ended: 1_795_306_500_000_000_000 + number * gap + ms * 1_000_000,
            ..WarpRequest::default()
        };
        sums(&(0..per_second * 10).map(request).collect::<Vec<_>>(), "")
    }

    #[test]
    fn changes_are_told_from_before_to_after() {
        assert_eq!(
            text(&run(20, 10), &run(40, 5), &Telling::default()),
            "-------------------\nOperation: GET\nOperations: 200 -> 400\n\
             * Average: +100.00% (+20.0 MiB/s) throughput, +100.00% (+20.0) obj/s\n\
             * Requests: Avg: -5ms (-50%), P50: -5ms (-50%), P99: -5ms (-50%), Best: -5ms (-50%), Worst: -5ms (-50%), StdDev: +0s (+0%)\n\
             * Fastest: +100.00% (+20.0 MiB/s) throughput, +100.00% (+20.0) obj/s\n\
             * 50% Median: +100.00% (+20.0 MiB/s) throughput, +100.00% (+20.0) obj/s\n\
             * Slowest: +100.00% (+20.0 MiB/s) throughput, +100.00% (+20.0) obj/s\n"
        );
        let other = Telling { operation: Some("PUT".into()), ..Telling::default() };
        assert_eq!(text(&run(20, 10), &run(20, 10), &other), "No operation is in both.\n");
    }
}
