//! The certificate of a replay as lines of text: how late, how fast, how deep, what was left out, what came back.

use iodyno_model::{ReasonCount, RecordedTree, ReplayRecord, ReplayRow};
use iodyno_truth::replay::{ReplayVerdict, judge, limit_ns};

use crate::curve::sparkline;
use crate::native::errno;
use crate::number;

/// Results that are told; the rest are counted together.
const RESULTS_MOST: usize = 12;
/// Characters of a curve.
const CURVE: usize = 24;

/// The lines, the verdict first; a label, and what is said of it.
pub fn lines(record: &ReplayRecord) -> Vec<(&'static str, String)> {
    let judgement = judge(record);
    let mut lines = vec![("replay", verdict(judgement.verdict, &judgement.because))];
    lines.push(("issued", issued(record)));
    if record.lateness.is_empty() {
        lines.push(("lateness", "nothing was due at a time".into()));
    } else {
        lines.push(("lateness", lateness(record)));
    }
    lines.extend(curves(record));
    lines.push((
        "distance",
        format!(
            "sizes {:.3}, offsets {:.3} (Kolmogorov-Smirnov: 0 alike, 1 apart)",
            record.size_distance, record.offset_distance
        ),
    ));
    let told = |reason: &ReasonCount| format!("{}: {}", number::thousands(reason.count), reason.reason);
    lines.extend(record.skipped.iter().map(|reason| ("left out", told(reason))));
    lines.extend(record.changed.iter().map(|reason| ("changed", told(reason))));
    lines.extend(results(record));
    if record.checked_bytes + record.unjudged_bytes > 0 {
        let [checked, unjudged] = [record.checked_bytes, record.unjudged_bytes].map(number::thousands);
        lines.push(("content", format!("{checked} bytes checked, {unjudged} not judged: there before")));
    }
    lines
}

/// What of a tree was made before the first record, and what was found.
pub fn tree(tree: &RecordedTree) -> String {
    let told = |[directories, files, links, bytes]: [u64; 4]| {
        let counts =
            [(directories, "directory", "directories"), (files, "file", "files"), (links, "link", "links")];
        let counts: Vec<String> = counts
            .into_iter()
            .filter(|(count, ..)| *count > 0)
            .map(|(count, one, many)| {
                format!("{} {}", number::thousands(count), if count == 1 { one } else { many })
            })
            .collect();
        match counts.is_empty() {
            true => "nothing".into(),
            false if files > 0 => format!("{}, {} bytes", counts.join(", "), number::thousands(bytes)),
            false => counts.join(", "),
        }
    };
    let made = told([tree.made_directories, tree.made_files, tree.made_links, tree.made_bytes]);
    let found = told([tree.found_directories, tree.found_files, tree.found_links, tree.found_bytes]);
    format!("{}: made {made}; found {found}", tree.target)
}

fn verdict(verdict: ReplayVerdict, because: &[String]) -> String {
    format!("{}: {}", verdict.name(), because.join("; "))
}

fn issued(record: &ReplayRecord) -> String {
    format!(
        "{} of {} operations, in {} (recorded: {})",
        number::thousands(record.issued),
        number::thousands(record.recorded),
        number::latency(record.issued_ns as f64),
        number::latency(record.recorded_ns as f64)
    )
}

fn lateness(record: &ReplayRecord) -> String {
    let count = record.lateness.count();
    let share = |part: u64| format!("{:.2} %", part as f64 * 100.0 / count.max(1) as f64);
    let at = |percent: f64| number::latency(record.lateness.percentile(percent) as f64);
    format!(
        "p50 {}, p99 {}, p99.9 {}, max {}; {} within 100 µs, {} within 1 ms (in time: {})",
        at(50.0),
        at(99.0),
        at(99.9),
        number::latency(record.lateness.max as f64),
        share(record.within_100us),
        share(record.within_1ms),
        number::latency(limit_ns(record) as f64)
    )
}

/// Rates and depths over time, recorded above issued.
fn curves(record: &ReplayRecord) -> Vec<(&'static str, String)> {
    let (rows, mut lines) = (&record.rows, Vec::new());
    if rows.len() < 2 || record.row_ns == 0 {
        return lines;
    }
    let per_second = 1e9 / record.row_ns as f64;
    let curve = |what: &str, of: &dyn Fn(&ReplayRow) -> f64| {
        let values: Vec<f64> = rows.iter().map(of).collect();
        let most = values.iter().copied().fold(0.0, f64::max);
        format!("{} {what}, at most {}", sparkline(&values, CURVE), number::significant(most))
    };
    let each = number::latency(record.row_ns as f64);
    lines.push(("rate", curve("IOPS recorded", &|row| row.due as f64 * per_second)));
    lines.push((
        "",
        format!("{}, rows of {each}", curve("IOPS issued", &|row| row.issued as f64 * per_second)),
    ));
    let mean = |sum: u64, count: u64| if count > 0 { sum as f64 / count as f64 } else { 0.0 };
    if record.depth_known {
        lines.push(("depth", curve("in flight recorded", &|row| mean(row.depth_recorded, row.due))));
        lines.push(("", curve("in flight issued", &|row| mean(row.depth_issued, row.issued))));
    } else {
        lines.push((
            "depth",
            curve("in flight issued; the trace does not tell", &|row| mean(row.depth_issued, row.issued)),
        ));
    }
    lines
}

fn results(record: &ReplayRecord) -> Vec<(&'static str, String)> {
    if record.compared == 0 {
        return vec![("results", "the trace has none to compare with".into())];
    }
    let mut lines = vec![(
        "results",
        format!(
            "{} compared, {} differ",
            number::thousands(record.compared),
            number::thousands(record.mismatches())
        ),
    )];
    let word = |number: i32| if number == 0 { "success".into() } else { errno(number) };
    let mut results = record.results.clone();
    results.sort_by_key(|result| (result.recorded == result.got, std::cmp::Reverse(result.count)));
    for result in results.iter().take(RESULTS_MOST) {
        let times = number::thousands(result.count);
        lines.push(match result.recorded == result.got {
            true => ("", format!("{} {times} times: {}, as recorded", result.verb, word(result.got))),
            false => (
                "",
                format!(
                    "{} {times} times: {}, recorded {}",
                    result.verb,
                    word(result.got),
                    word(result.recorded)
                ),
            ),
        });
    }
    if results.len() > RESULTS_MOST {
        let rest: u64 = results[RESULTS_MOST..].iter().map(|result| result.count).sum();
        lines.push(("", format!("{} further results of other kinds", number::thousands(rest))));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Histogram, ResultCount, Timing, Verb};

    #[test]
    fn a_tree_is_told_by_what_was_made_and_found() {
        let mut made = RecordedTree { target: "dir".into(), ..RecordedTree::default() };
        assert_eq!(tree(&made), "dir: made nothing; found nothing");
        (made.made_directories, made.made_files, made.made_bytes) = (1, 2000, 75_536);
        (made.found_files, made.found_bytes, made.found_links) = (1, 10, 3);
        assert_eq!(
            tree(&made),
            "dir: made 1 directory, 2,000 files, 75,536 bytes; found 1 file, 3 links, 10 bytes"
        );
    }

    #[test]
    fn a_certificate_says_all_that_its_verdict_rests_on() {
        let mut lateness = Histogram::default();
        (0..1000).for_each(|number| lateness.add(if number < 5 { 3_000_000 } else { 2000 }));
        let row = |due, issued| ReplayRow { due, issued, depth_recorded: due * 2, depth_issued: issued };
        let mut record = ReplayRecord {
            timing: Timing::AsRecorded,
            recorded: 1003,
            issued: 1000,
            recorded_ns: 1_500_000_000,
            issued_ns: 1_500_003_000,
            resolution_ns: 1,
            lateness,
            within_100us: 995,
            within_1ms: 995,
            row_ns: 1_000_000_000,
            rows: vec![row(800, 790), row(200, 210)],
            depth_known: true,
            skipped: vec![ReasonCount { reason: "trim: left out as asked".into(), count: 3 }],
            changed: vec![ReasonCount { reason: "aligned".into(), count: 7 }],
            compared: 1000,
            results: vec![
                ResultCount { verb: Verb::Stat, recorded: 2, got: 2, count: 9 },
                ResultCount { verb: Verb::Open, recorded: 0, got: 13, count: 1 },
            ],
            ..ReplayRecord::default()
        };
        let text = |record: &ReplayRecord| {
            let lines = lines(record);
            lines.iter().map(|(label, text)| format!("{label:9}{text}\n")).collect::<String>()
        };
        assert_eq!(
            text(&record),
            "\
replay   faithful: 99 % were issued at most 2 µs late
issued   1,000 of 1,003 operations, in 1.50 s (recorded: 1.50 s)
lateness p50 2.00 µs, p99 2.00 µs, p99.9 3.00 ms, max 3.00 ms; 99.50 % within 100 µs, 99.50 % within 1 ms (in time: 100 µs)
rate     █▃ IOPS recorded, at most 800
         █▃ IOPS issued, at most 790, rows of 1.00 s
depth    ██ in flight recorded, at most 2.00
         ██ in flight issued, at most 1.00
distance sizes 0.000, offsets 0.000 (Kolmogorov-Smirnov: 0 alike, 1 apart)
left out 3: trim: left out as asked
changed  7: aligned
results  1,000 compared, 1 differ
         open 1 times: EACCES, permission denied, recorded success
         stat 9 times: ENOENT, no such file, as recorded
"
        );
        record.timing = Timing::AsFast;
        record.lateness = Histogram::default();
        record.compared = 0;
        let text = text(&record);
        assert!(text.starts_with("replay   not comparable: it kept no recorded times"), "{text}");
        assert!(
            text.contains("nothing was due at a time") && text.contains("none to compare with"),
            "{text}"
        );
    }
}
