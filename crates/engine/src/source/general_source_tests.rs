//! Paces, think times, shared objects and reading back, each against times and offsets known beforehand.

use iodyno_model::{
    Arrivals, Mix, Overlap, Pace, Pattern, Payload, PerDirection, Pick, Rate, SharedKind, SharedObject,
    SharedUse, Size, Stamp, Think, Timing, Trace, TraceEntry, Verb, Verify, VerifyWhen, Workload,
};

use super::super::testing::{SourceBench, TallyEntry};
use super::super::{VERIFY_LABEL, labels};

fn pattern(verb: Verb, pick: Pick) -> Pattern {
    Pattern::of(verb, pick, 4096)
}

fn stage(pattern: Pattern) -> SourceBench {
    SourceBench::new(Workload::Pattern(Box::new(pattern)), &[64 * 4096])
}

fn paced(pace: Pace) -> SourceBench {
    let mut stage = stage(pattern(Verb::Read, Pick::Sequential));
    stage.job().pace = pace;
    stage
}

fn reads_at(rate: Rate) -> Pace {
    Pace { rate: PerDirection { read: rate, ..PerDirection::default() }, open_loop: true, ..Pace::default() }
}

fn starts(all: &[TallyEntry]) -> Vec<u64> {
    all.iter().map(|one| one.started).collect()
}

#[test]
fn an_even_rate_is_exact_and_late_operations_count_from_when_they_were_due() {
    for (rate, gap) in [(Rate::Operations(1000.0), 1_000_000), (Rate::Bytes(4_096_000), 1_000_000)] {
        let mut stage = paced(reads_at(rate));
        let all = stage.run();
        assert_eq!(starts(&all), (0..64).map(|index| index * gap).collect::<Vec<_>>());
        assert!(all.iter().all(|one| one.latency == 100));
        // Slower than the rate: the schedule goes on, the latency shows the queue.
        stage.service_ns = 3_000_000;
        let latencies: Vec<u64> = stage.run().iter().take(3).map(|one| one.latency).collect();
        assert_eq!(latencies, [3_000_000, 5_000_000, 7_000_000]);
    }
    let mut closed = paced(Pace { open_loop: false, ..reads_at(Rate::Operations(1000.0)) });
    closed.service_ns = 3_000_000;
    assert!(closed.run().iter().all(|one| one.latency == 3_000_000));
}

#[test]
fn bursts_are_due_together_at_the_same_rate() {
    let mut stage = paced(Pace { burst: 4, ..reads_at(Rate::Operations(1000.0)) });
    stage.depth = 4;
    let due: Vec<u64> = stage.run().iter().take(9).map(|one| one.started).collect();
    assert_eq!(due, [0, 0, 0, 0, 4_000_000, 4_000_000, 4_000_000, 4_000_000, 8_000_000]);
}

#[test]
fn poisson_arrivals_have_the_mean_and_the_spread() {
    let mut stage = paced(Pace { arrivals: Arrivals::Poisson, ..reads_at(Rate::Operations(1_000_000.0)) });
    stage.job().limit.operations = Some(20_000);
    stage.service_ns = 1;
    let starts = starts(&stage.run());
    let gaps: Vec<f64> = starts.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
    let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
    let deviation = (gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64).sqrt();
    assert!((mean - 1000.0).abs() < 35.0 && (deviation / mean - 1.0).abs() < 0.06, "{mean} {deviation}");
}

#[test]
fn think_time_comes_after_so_many_and_drains_where_told() {
    let think = Think { sleep_ns: 10_000, every: 3, drain: true, ..Think::default() };
    let mut stage = paced(Pace { think: Some(think), ..Pace::default() });
    stage.job().limit.operations = Some(7);
    assert_eq!(starts(&stage.run()), [0, 100, 200, 10_300, 10_400, 10_500, 20_600]);
    stage.depth = 3;
    let starts = starts(&stage.run());
    assert_eq!(starts[..4], [0, 0, 0, 10_100], "what is in flight completes first");
}

#[test]
fn a_pause_may_be_so_many_times_as_long_as_the_operation_before_it() {
    let think = Think { times_latency: 100_000.0, every: 1, ..Think::default() };
    let mut stage = paced(Pace { think: Some(think), ..Pace::default() });
    stage.job().limit.operations = Some(3);
    assert_eq!(starts(&stage.run()), [0, 10_000_100, 20_000_200]);
}

#[test]
fn below_the_least_rate_the_worker_fails() {
    let mut stage = paced(Pace {
        rate_least: PerDirection { read: Rate::Operations(100.0), ..PerDirection::default() },
        ..Pace::default()
    });
    stage.job().limit.operations = Some(1000);
    stage.service_ns = 20_000_000;
    assert_eq!(stage.run().len(), 150, "it ends with the first window after two seconds");
    stage.job().pace.rate_window_ns = 500_000_000;
    assert_eq!(stage.run().len(), 125);
    stage.service_ns = 5_000_000;
    assert_eq!(stage.run().len(), 1000);
}

#[test]
fn one_that_takes_too_long_ends_the_worker() {
    let mut stage = stage(pattern(Verb::Read, Pick::Sequential));
    stage.service_ns = 1000;
    stage.job().limit.latency_ns = PerDirection { read: 999, ..PerDirection::default() };
    assert_eq!(stage.run().len(), 1);
    stage.job().limit.latency_ns = PerDirection { read: 1000, write: 1, ..PerDirection::default() };
    assert_eq!(stage.run().len(), 64);
}

#[test]
fn pauses_count_completions_shift_rates_and_end_by_themselves() {
    let think = Think { sleep_ns: 10_000, every: 2, completed: true, drain: true, ..Think::default() };
    let mut stage = paced(Pace { think: Some(think), ..Pace::default() });
    (stage.depth, stage.job().limit.operations) = (2, Some(6));
    // One is done and one more begins, before the other is counted.
    assert_eq!(starts(&stage.run()), [0, 0, 100, 10_200, 10_200, 10_300]);
    let think = Think { sleep_ns: 3_000_000, every: 2, ..Think::default() };
    let mut stage = paced(Pace { think: Some(think), ..reads_at(Rate::Operations(1000.0)) });
    stage.job().limit.operations = Some(6);
    let ms = |stage: &mut SourceBench| {
        starts(&stage.run()).iter().map(|start| start / 1_000_000).collect::<Vec<_>>()
    };
    // The pause begins when the third is asked for, at once after the second.
    assert_eq!(ms(&mut stage), [0, 1, 4, 4, 7, 7], "what was missed is caught up");
    stage.job().pace.think_shifts_rate = true;
    assert_eq!(ms(&mut stage), [0, 1, 5, 6, 10, 11], "the schedule moves on");
    let either = Think { sleep_ns: 10_000, every: 5, after_ns: 250, ..Think::default() };
    let mut stage = paced(Pace { think: Some(either), ..Pace::default() });
    stage.job().limit.operations = Some(5);
    assert_eq!(starts(&stage.run()), [0, 100, 200, 10_300, 10_400]);
}

#[test]
fn shared_tokens_gate_every_operation() {
    let uses = vec![SharedUse::new("t", 2)];
    let mut stage = paced(Pace { shared: uses, ..Pace::default() });
    assert!(stage.source().is_err(), "an object that is not there is said");
    stage.share(vec![SharedObject::new("t", SharedKind::Tokens { per_second: 1e6, queue_s: 0.0 })]);
    let starts = starts(&stage.run());
    assert!(starts.windows(2).all(|pair| (1999..2110).contains(&(pair[1] - pair[0]))), "{starts:?}");
}

#[test]
fn serialised_operations_never_overlap() {
    let wide = Pattern {
        overlap: Overlap::Serialised,
        coverage: iodyno_model::Coverage::Repeating,
        ..pattern(Verb::Read, Pick::Uniform)
    };
    let mut stage = SourceBench::new(Workload::Pattern(Box::new(wide)), &[3 * 4096]);
    stage.depth = 8;
    stage.job().limit.operations = Some(500);
    let all = stage.run();
    assert_eq!(all.len(), 500);
    for (index, one) in all.iter().enumerate() {
        let together = all[..index].iter().rev().take(8);
        let clash = together.filter(|other| other.offset == one.offset && one.started < other.started + 100);
        assert_eq!(clash.count(), 0, "{one:?}");
    }
    assert!(stage.waits > 0);
}

fn verified(pick: Pick, mix: Mix, when: VerifyWhen) -> SourceBench {
    let mut stage = stage(Pattern { mix, ..pattern(Verb::Write, pick) });
    let verify = Verify { stamp: Stamp::Block, when, ..Verify::default() };
    stage.job().payload = Payload { verify: Some(verify), ..Payload::default() };
    stage.depth = 4;
    stage
}

fn read_back(stage: &mut SourceBench, all: &[TallyEntry]) -> Vec<i64> {
    let labels = labels(stage.job());
    let label = labels.iter().position(|(label, _)| label == VERIFY_LABEL).unwrap();
    all.iter().filter(|one| usize::from(one.label) == label).map(|one| one.result).collect()
}

#[test]
fn everything_written_is_read_back_at_the_end() {
    let mut stage = verified(Pick::Uniform, Mix::only(Verb::Write), VerifyWhen::AfterWrites);
    let all = stage.run();
    assert_eq!(read_back(&mut stage, &all), [4096; 64]);
    let mut cut = verified(Pick::Uniform, Mix::only(Verb::Write), VerifyWhen::AfterWrites);
    cut.job().limit.time_ns = Some(1);
    let all = cut.run_until(250);
    assert_eq!(read_back(&mut cut, &all).len(), all.len() / 2, "also when the time is up");
    assert!(all.len() >= 16);
}

#[test]
fn a_backlog_is_read_back_in_rounds_and_to_the_end() {
    let when = VerifyWhen::Backlog { writes: 10, batch: 4 };
    let mut stage = verified(Pick::Sequential, Mix::only(Verb::Write), when);
    stage.depth = 1;
    let all = stage.run();
    let verbs: String =
        all.iter().take(30).map(|one| if one.verb == Verb::Write { 'w' } else { 'r' }).collect();
    assert_eq!(verbs, "wwwwwwwwwwrrrrwwwwrrrrwwwwrrrr");
    let read: Vec<u64> =
        all.iter().filter(|one| one.verb == Verb::Read).map(|one| one.offset / 4096).collect();
    assert_eq!(read, (0..64).collect::<Vec<_>>(), "each once, oldest first, and the last ten at the end");
    let results = read_back(&mut stage, &all);
    assert_eq!(results.len(), 64);
    assert!(results.iter().all(|result| *result == 4096));
}

#[test]
fn rewrites_and_mixed_reads_expect_the_last_write() {
    let repeating = Pattern {
        coverage: iodyno_model::Coverage::Repeating,
        mix: Mix::reads(50.0),
        ..pattern(Verb::Read, Pick::Uniform)
    };
    let mut stage = verified(Pick::Uniform, Mix::reads(50.0), VerifyWhen::OnRead);
    stage.job().workload = Workload::Pattern(Box::new(repeating));
    stage.job().limit.operations = Some(2000);
    let all = stage.run();
    assert!(all.iter().all(|one| one.result == 4096), "{:?}", stage.complaints);
    // A write that never reaches the medium: the block keeps its older generation.
    stage.meddle =
        Box::new(|number, io, _| (number > 500 && io.verb == Verb::Write).then_some(io.bytes as i64));
    let bad = stage.run().iter().filter(|one| one.result < 0).count();
    assert!(bad > 100, "{bad}");
    assert!(stage.complaints.iter().any(|text| text.contains("f0: byte") && text.contains("stale")));
    assert!(stage.complaints.len() <= 20);
}

#[test]
fn corruption_is_named_and_may_be_fatal() {
    let flip = |fatal| {
        let mut stage = verified(Pick::Sequential, Mix::only(Verb::Write), VerifyWhen::AfterWrites);
        stage.depth = 1;
        stage.job().payload.verify.as_mut().unwrap().fatal = fatal;
        stage.meddle = Box::new(|_, io, memo| {
            if io.verb == Verb::Read && io.offset == 5 * 4096 {
                memo.bytes[5 * 4096 + 700] ^= 4;
            }
            None
        });
        let all = stage.run();
        (read_back(&mut stage, &all), stage.complaints)
    };
    let (results, complaints) = flip(false);
    assert_eq!((results.len(), results[5]), (64, -1001));
    assert!(complaints[0].contains("bit flip") && complaints[0].contains("21,180"), "{complaints:?}");
    assert_eq!(flip(true).0.len(), 6, "the first bad block is the last");
}

#[test]
fn a_later_phase_checks_what_an_earlier_wrote() {
    let mut stage = verified(Pick::Uniform, Mix::only(Verb::Write), VerifyWhen::OnRead);
    stage.run();
    stage.job().workload = Workload::Pattern(Box::new(pattern(Verb::Read, Pick::Uniform)));
    assert!(stage.run().iter().all(|one| one.result == 4096), "{:?}", stage.complaints);
    stage.memos[0].bytes[..4096].fill(0);
    let bad: Vec<i64> = stage.run().iter().map(|one| one.result).filter(|result| *result < 0).collect();
    assert_eq!(bad, [-1006], "lost");
}

#[test]
fn sizes_that_are_no_sectors_are_not_verified() {
    let mut stage = verified(Pick::Uniform, Mix::only(Verb::Write), VerifyWhen::OnRead);
    let odd = Pattern { size: PerDirection::same(Size::Fixed(1000)), ..pattern(Verb::Write, Pick::Uniform) };
    stage.job().workload = Workload::Pattern(Box::new(odd));
    assert!(stage.source().err().unwrap().message.contains("sectors"));
}

#[test]
fn writes_are_filled_and_differ() {
    let mut stage = stage(pattern(Verb::Write, Pick::Sequential));
    stage.run();
    let mut blocks: Vec<&[u8]> = stage.memos[0].bytes.chunks(4096).collect();
    blocks.sort_unstable();
    blocks.dedup();
    assert_eq!(blocks.len(), 64);
    let mut zeros =
        SourceBench::new(Workload::Pattern(Box::new(pattern(Verb::Write, Pick::Uniform))), &[64 * 4096]);
    zeros.memos[0].bytes.fill(1);
    zeros.job().payload = Payload { content: iodyno_model::Content::Zero, ..Payload::default() };
    zeros.run();
    assert!(zeros.memos[0].bytes.iter().all(|byte| *byte == 0));
}

#[test]
fn what_a_simulated_device_is_given_is_not_made() {
    let mut stage =
        SourceBench::new(Workload::Pattern(Box::new(pattern(Verb::Write, Pick::Uniform))), &[64 * 4096]);
    stage.job().engine = "sim".into();
    stage.run();
    assert!(stage.memos[0].bytes.iter().all(|byte| *byte == 0), "what was in the buffers");
    stage.job().engine = "null".into();
    stage.run();
    assert!(stage.memos[0].bytes.iter().any(|byte| *byte != 0));
}

#[test]
fn an_entry_of_a_trace_is_repeated_behind_itself() {
    let entry =
        |offset, repeat| TraceEntry { at_ns: 0, verb: Verb::Read, target: 0, offset, bytes: 512, repeat };
    let trace = |entries| Workload::Trace(Trace::of(entries, Timing::AsFast));
    let all = SourceBench::new(trace(vec![entry(0, 3), entry(4096, 1)]), &[8192]).run();
    assert_eq!(all.iter().map(|one| one.offset).collect::<Vec<_>>(), [0, 512, 1024, 4096]);
    // The last of these would be beyond the end.
    assert!(SourceBench::new(trace(vec![entry(7168, 3)]), &[8192]).source().is_err());
}

#[test]
fn traces_keep_their_times() {
    let entry =
        |at_ns, offset| TraceEntry { at_ns, verb: Verb::Read, target: 0, offset, bytes: 512, repeat: 1 };
    let trace = |timing| Trace::of(vec![entry(0, 0), entry(5000, 512), entry(6000, 4096)], timing);
    for (timing, expected) in [
        (Timing::AsRecorded, [0, 5000, 6000]),
        (Timing::Scaled(2.0), [0, 2500, 3000]),
        (Timing::Pauses, [0, 5100, 11_200]),
        (Timing::Gaps, [0, 5000, 11_000]),
        (Timing::NoEarlier, [0, 5000, 6000]),
        (Timing::AsFast, [0, 100, 200]),
    ] {
        let mut stage = SourceBench::new(Workload::Trace(trace(timing)), &[8192]);
        let all = stage.run();
        assert_eq!(starts(&all), expected, "{timing:?}");
        assert_eq!(all.iter().map(|one| one.offset).collect::<Vec<_>>(), [0, 512, 4096]);
    }
    assert!(SourceBench::new(Workload::Trace(trace(Timing::AsFast)), &[600]).source().is_err());
}
