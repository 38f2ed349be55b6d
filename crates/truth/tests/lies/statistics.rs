//! Lies of few samples (6) and of rates that were not steady (7).

use iodyno_model::{Finish, Line, Rate, Severity, Verb};

use crate::stage::*;

#[test]
fn percentiles_of_a_few_samples() {
    fn samples(stage: &mut Stage, count: u64) {
        let latency = &mut stage.record().tally.lines[0].latency;
        *latency = Default::default();
        (0..count).for_each(|index| latency.add(1000 + index));
    }
    lie(Verb::Read, (6, Severity::Note), |s| samples(s, 500));
    lie(Verb::Read, (6, Severity::Note), |s| samples(s, 5000));
    twin(Verb::Read, |s| samples(s, 10_000));
    let [few, more] = [500, 5000].map(|count| {
        let mut stage = honest(Verb::Read);
        samples(&mut stage, count);
        stage.judged().remove(0).sentence
    });
    assert_eq!(few, "p99 of read rests on 5 of 500 samples");
    assert_eq!(more, "p99.9 of read rests on 5 of 5000 samples");
}

#[test]
fn rates_that_are_not_steady() {
    fn rows(stage: &mut Stage, reads: &[u64]) {
        with_rows(stage.record(), reads);
    }
    lie(Verb::Read, (7, Severity::Doubtful), |s| {
        rows(s, &[9000, 8500, 8000, 7500, 7000, 6500, 6000, 5500, 5000, 4500])
    });
    // One slow second of five may come and go; five slow seconds of twenty-five do not come and go.
    lie(Verb::Read, (7, Severity::Note), |s| rows(s, &[9000, 9000, 5000, 9000, 9000]));
    lie(Verb::Read, (7, Severity::Doubtful), |s| {
        rows(s, &[&[9000u64; 10][..], &[5000; 5], &[9000; 10]].concat())
    });
    // A real disk for four seconds in eight rows, whose rate wandered and did not drift.
    let wandered = staged(Verb::Read, |s| {
        rows(s, &[8861, 10775, 9979, 7097, 6962, 9882, 9036, 10491]);
        s.record().tally.series.interval_ns = SECOND / 2;
        s.record().tally.first_done_ns = 4 * SECOND;
    });
    let found = wandered.judged();
    assert_eq!((found[0].code, found[0].severity), (7, Severity::Note));
    assert!(
        found[0].sentence.ends_with("a run of this length does not tell whether it was steady"),
        "{found:?}"
    );
    twin(Verb::Read, |s| rows(s, &[9000, 9200, 8900, 9100, 9000, 9050, 8950, 9000]));
    // One slow second of twenty is no drift (spikes are another lie).
    twin(Verb::Read, |s| rows(s, &[&[9000u64; 10][..], &[7000], &[9000; 9]].concat()));
    // Too short for a verdict.
    twin(Verb::Read, |s| rows(s, &[9000, 5000, 2000, 1000]));
    // A slow disk: 15 operations a second scatter like this by chance.
    twin(Verb::Read, |s| rows(s, &[15, 11, 18, 16, 13]));
    // A rate that the job kept itself.
    twin(Verb::Read, |s| {
        (rows(s, &[9000, 5000, 2000, 1000, 500]), s.job.pace.rate.read = Rate::Operations(9000.0)).0
    });
}

/// Five even seconds, and a sync that takes the rest of ten: of each file at the end, or as the last step of a script.
fn flushed(stage: &mut Stage, rows: &[u64], flush_ns: u64) {
    let others: Vec<u64> = rows.to_vec();
    with_rows(stage.record(), &others);
    let mut line = Line::empty("fsync", Verb::Fsync);
    line.operations = 1;
    line.latency.add(flush_ns);
    stage.record().tally.lines.push(line);
    let rows = &mut stage.record().tally.series.rows;
    rows.iter_mut().for_each(|row| (row.writes, row.reads) = (row.reads, 0));
}

fn ends_with_a_sync(stage: &mut Stage) {
    stage.job.finish = Finish { sync: Some(Verb::Fsync), ..Finish::default() };
}

#[test]
fn the_flush_at_the_end_is_no_slow_tail() {
    const FLUSHED: [u64; 10] = [9000, 9000, 9000, 9000, 9000, 5000, 0, 0, 0, 0];
    twin(Verb::Write, |s| (ends_with_a_sync(s), flushed(s, &FLUSHED, 4_500_000_000)).0);
    // A copy's last step.
    twin(Verb::Write, |s| flushed(s, &FLUSHED, 4_500_000_000));
    // Workers that end before others flush; the rate falls as they come to it.
    twin(Verb::Write, |s| {
        s.job.workers = 4;
        ends_with_a_sync(s);
        flushed(s, &[9000, 9000, 9000, 9000, 9000, 7000, 5000, 2000, 500, 0], 5_000_000_000);
    });
    // What fell before the flush fell.
    lie(Verb::Write, (8, Severity::Doubtful), |s| {
        ends_with_a_sync(s);
        flushed(s, &[9000, 9000, 9000, 9000, 3000, 3000, 3000, 3000, 0, 0], 2_000_000_000);
    });
    // A stall without a sync is one.
    let stalled = staged(Verb::Write, |s| {
        flushed(s, &FLUSHED, 4_500_000_000);
        s.record().tally.lines.pop();
    });
    assert_eq!(stalled.caught(), [(8, Severity::Doubtful)]);
}

#[test]
fn workers_that_end_one_by_one_are_no_drift() {
    twin(Verb::Read, |s| {
        with_rows(s.record(), &[9000, 9000, 9000, 9000, 9000, 9000, 4000, 2000, 1000]);
        s.record().tally.first_done_ns = 6 * SECOND;
    });
}

#[test]
fn passes_are_judged_together() {
    let pass = |repetition: u32, reads: u64| {
        let mut stage = honest(Verb::Read);
        stage.found.repetition = repetition;
        with_rows(stage.record(), &[reads; 2]);
        stage.record().tally.lines[0].operations = reads * 2;
        stage
    };
    let steady: Vec<Stage> = (0..5).map(|index| pass(index, 9000 + u64::from(index % 2) * 100)).collect();
    assert_eq!(together(&steady), []);
    let falling: Vec<Stage> = (0..5).map(|index| pass(index, 9000 - u64::from(index) * 1000)).collect();
    let found = together(&falling);
    assert_eq!(found.iter().map(|finding| finding.code).collect::<Vec<_>>(), [7]);
    assert!(found[0].sentence.contains("over 5 passes"), "{}", found[0].sentence);
    assert_eq!(together(&falling[..2]), []);
}
