//! Whether a replay may stand for what was recorded: by the certificate that it wrote of itself.
//!
//! One limit for all of it: 99 of 100 operations. In time: issued within 100 µs of when they were due, which is what
//! Buttress promised and measured (Anderson, Kallahalla, Uysal, Swaminathan: Buttress: a toolkit for flexible and high
//! fidelity I/O benchmarking, FAST '04; it shows that tools without such accuracy report latencies up to 350 % wrong). A
//! clock that recorded in longer steps cannot tell less than its step.

use iodyno_model::{ReplayRecord, Timing, units};

/// Operations of which the limits are kept, percent. Source: the share that Buttress states (FAST '04).
const MOST_PERCENT: f64 = 99.0;
/// Within this of the time it was due an operation is in time, ns. Source: Buttress (FAST '04).
pub const IN_TIME_NS: u64 = 100_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayVerdict {
    Faithful,
    Late,
    NotComparable,
}

impl ReplayVerdict {
    pub const fn name(self) -> &'static str {
        match self {
            ReplayVerdict::Faithful => "faithful",
            ReplayVerdict::Late => "late",
            ReplayVerdict::NotComparable => "not comparable",
        }
    }
}

/// A verdict and what it rests on.
#[derive(Clone, Debug, PartialEq)]
pub struct ReplayJudgement {
    pub verdict: ReplayVerdict,
    /// A sentence each, without an end.
    pub because: Vec<String>,
}

/// The lateness that still is in time, ns.
pub fn limit_ns(record: &ReplayRecord) -> u64 {
    IN_TIME_NS.max(record.resolution_ns)
}

/// Whether a timing says when operations are due.
pub fn keeps_time(timing: Timing) -> bool {
    matches!(timing, Timing::AsRecorded | Timing::Scaled(_) | Timing::ThinkTimes)
}

/// What a certificate comes to.
pub fn judge(record: &ReplayRecord) -> ReplayJudgement {
    let unlike = unlike(record);
    if !unlike.is_empty() {
        return ReplayJudgement { verdict: ReplayVerdict::NotComparable, because: unlike };
    }
    let limit = limit_ns(record);
    let p99 = record.lateness.percentile(MOST_PERCENT);
    let figures = format!("99 % were issued at most {} late", units::duration(p99 as f64));
    if p99 <= limit {
        return ReplayJudgement { verdict: ReplayVerdict::Faithful, because: vec![figures] };
    }
    let late = late(record);
    let who = match () {
        () if is_held_by_target(record) => {
            format!(
                "the target could not keep up: {} of {late} late operations found as many in flight as the depth allows",
                record.held_by_depth
            )
        }
        () if record.starved > 0 => {
            "this machine could not keep up: the trace was not read fast enough".into()
        }
        () => "this machine could not keep up: slots were free and the loop came late".into(),
    };
    let allowed = format!("{figures}, more than {}", units::duration(limit as f64));
    ReplayJudgement { verdict: ReplayVerdict::Late, because: vec![who, allowed] }
}

/// How many operations were issued late, at least one.
fn late(record: &ReplayRecord) -> u64 {
    record.issued.saturating_sub(record.within_100us).max(1)
}

/// Whether most of what came late waited for the target.
pub fn is_held_by_target(record: &ReplayRecord) -> bool {
    record.held_by_depth.saturating_mul(2) >= late(record)
}

/// Why it cannot be compared with what was recorded.
fn unlike(record: &ReplayRecord) -> Vec<String> {
    let mut because = Vec::new();
    if !keeps_time(record.timing) {
        because.push("it kept no recorded times".into());
    }
    let beyond = |part: u64, whole: u64| part as f64 * 100.0 > (100.0 - MOST_PERCENT) * whole as f64;
    let skipped: u64 = record.skipped.iter().map(|reason| reason.count).sum();
    if beyond(skipped, record.recorded) {
        because.push(format!("{skipped} of {} operations were left out", record.recorded));
    }
    let wanted = record.recorded.saturating_sub(skipped);
    if record.ended_early {
        because.push(format!("it ended before the trace did, after {} operations", record.issued));
    } else if beyond(wanted.saturating_sub(record.issued), wanted) {
        because.push(format!("it issued {} of {wanted} operations", record.issued));
    }
    for (what, distance) in [("sizes", record.size_distance), ("offsets", record.offset_distance)] {
        if distance * 100.0 > 100.0 - MOST_PERCENT {
            because.push(format!("{what} differ from the recorded ones: distance {distance:.3}"));
        }
    }
    let mismatches = record.mismatches();
    if beyond(mismatches, record.compared) {
        because.push(format!("{mismatches} of {} results differ from the recorded ones", record.compared));
    }
    because
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Histogram, ReasonCount, ResultCount, Verb};

    /// A hundred operations, so many of which were this late.
    fn record(late: u64, ns: u64) -> ReplayRecord {
        let mut lateness = Histogram::default();
        (0..100).for_each(|number| lateness.add(if number < late { ns } else { 1000 }));
        ReplayRecord {
            timing: Timing::AsRecorded,
            recorded: 100,
            issued: 100,
            within_100us: if ns > IN_TIME_NS { 100 - late } else { 100 },
            compared: 100,
            lateness,
            ..ReplayRecord::default()
        }
    }

    fn verdict(record: &ReplayRecord) -> (ReplayVerdict, String) {
        let judgement = judge(record);
        (judgement.verdict, judgement.because.join("; "))
    }

    #[test]
    fn ninety_nine_in_time_are_faithful_and_ninety_eight_are_late() {
        assert_eq!(verdict(&record(1, 5_000_000)).0, ReplayVerdict::Faithful);
        assert_eq!(verdict(&record(100, 99_000)).0, ReplayVerdict::Faithful, "all of them within the limit");
        let (late, because) = verdict(&record(2, 5_000_000));
        assert_eq!(late, ReplayVerdict::Late);
        assert!(because.contains("this machine could not keep up: slots were free"), "{because}");
        let held = ReplayRecord { held_by_depth: 1, ..record(2, 5_000_000) };
        assert!(verdict(&held).1.starts_with("the target could not keep up: 1 of 2"), "{}", verdict(&held).1);
        let starved = ReplayRecord { starved: 7, ..record(2, 5_000_000) };
        assert!(verdict(&starved).1.contains("not read fast enough"));
    }

    #[test]
    fn a_coarse_clock_cannot_tell_less_than_its_step() {
        let coarse = ReplayRecord { resolution_ns: 1_000_000_000, ..record(50, 900_000_000) };
        assert_eq!(verdict(&coarse).0, ReplayVerdict::Faithful);
    }

    #[test]
    fn what_is_not_like_the_trace_is_not_compared_with_it() {
        let reason = |count| vec![ReasonCount { reason: "r".into(), count }];
        let differ = |count| vec![ResultCount { verb: Verb::Open, recorded: 2, got: 0, count }];
        let again = vec![ResultCount { verb: Verb::Open, recorded: 2, got: 2, count: 50 }];
        let cases = [
            (ReplayRecord { timing: Timing::AsFast, ..record(0, 0) }, "no recorded times"),
            (ReplayRecord { skipped: reason(2), ..record(0, 0) }, "2 of 100 operations were left out"),
            (ReplayRecord { issued: 98, ..record(0, 0) }, "issued 98 of 100"),
            (ReplayRecord { ended_early: true, ..record(0, 0) }, "before the trace did"),
            (ReplayRecord { size_distance: 0.011, ..record(0, 0) }, "sizes differ"),
            (ReplayRecord { offset_distance: 0.4, ..record(0, 0) }, "offsets differ"),
            (ReplayRecord { results: differ(2), ..record(0, 0) }, "2 of 100 results differ"),
        ];
        for (record, because) in cases {
            let (found, said) = verdict(&record);
            assert_eq!(found, ReplayVerdict::NotComparable, "{because}");
            assert!(said.contains(because), "{said}");
        }
        for like in [
            ReplayRecord { skipped: reason(1), issued: 99, ..record(0, 0) },
            ReplayRecord { issued: 99, ..record(0, 0) },
            ReplayRecord { size_distance: 0.01, offset_distance: 0.01, ..record(0, 0) },
            ReplayRecord { results: differ(1), ..record(0, 0) },
            ReplayRecord { results: again, ..record(0, 0) },
        ] {
            assert_eq!(verdict(&like).0, ReplayVerdict::Faithful, "{like:?}");
        }
    }
}
