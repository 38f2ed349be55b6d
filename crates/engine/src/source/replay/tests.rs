//! Each timing of a replay, to the nanosecond: a device on which every operation takes 100 ns.

use iodyno_model::{Payload, Replay, Timing, Trace, Verb, Verify, VerifyWhen, Workload};
use iodyno_trace::format::Writer;
use iodyno_trace::replay::{Share, Survey};
use iodyno_trace::{
    Dependency, MemorySource, RecordFlags, Tables, TraceFile, TraceHeader, TraceRecord, TraceThread,
};

use super::{SharedEnds, WorkerEnds};
use crate::io::Io;
use crate::source::testing::{SourceBench, TallyEntry};
use crate::source::{Next, Source};

/// A record of a thread: when it was issued, how long it took, what it did at which offset.
fn record(thread: u32, at_ns: u64, latency_ns: u64, verb: Verb, offset: u64) -> TraceRecord {
    let latency_ns = Some(latency_ns);
    TraceRecord { thread, latency_ns, ..TraceRecord::new(at_ns, verb, 0, offset, 512) }
}

fn memory(records: Vec<TraceRecord>) -> MemorySource {
    let tables = Tables {
        files: vec![TraceFile { name: "d".into(), ..TraceFile::default() }],
        threads: vec![TraceThread::default(); 4],
    };
    MemorySource::new(TraceHeader { resolution_ns: 1, ..TraceHeader::default() }, tables, records)
}

/// A job that replays these records at a depth; targets are 64 KiB long.
fn bench(records: Vec<TraceRecord>, timing: Timing, depth: u32, settings: Replay) -> SourceBench {
    let records = memory(records);
    let facts = Survey::of(&mut records.clone(), &settings.skip).unwrap().facts;
    let replay = Replay { facts, certified: true, ..settings };
    let trace = Trace {
        path: Some("memory".into()),
        timing,
        replay: Box::new(replay),
        ..Trace::of(Vec::new(), timing)
    };
    let mut bench = SourceBench::new(Workload::Trace(trace), &[65536, 65536]);
    // In virtual time the reader of the trace is waited for: what it takes is no time of the replay.
    bench.job().engine = "sim".into();
    bench.depth = depth;
    bench.records = Some(records);
    bench
}

fn starts(all: &[TallyEntry]) -> Vec<(u64, u64)> {
    let mut starts: Vec<_> = all.iter().map(|one| (one.offset, one.started)).collect();
    starts.sort();
    starts
}

/// Four reads at offsets that number them.
fn four() -> Vec<TraceRecord> {
    let at = [0, 5000, 5050, 90_000];
    let one = |(number, at): (u64, u64)| record(0, at, 40, Verb::Read, number * 512);
    at.into_iter().enumerate().map(|(number, at)| one((number as u64, at))).collect()
}

#[test]
fn recorded_times_are_kept_to_the_nanosecond() {
    for (timing, cut, expected) in [
        (Timing::AsRecorded, 0, [0, 5000, 5050, 90_000]),
        (Timing::Scaled(2.0), 0, [0, 2500, 2525, 45_000]),
        (Timing::AsRecorded, 10_000, [0, 5000, 5050, 15_050]),
        (Timing::NoEarlier, 0, [0, 5000, 5050, 90_000]),
        (Timing::AsFast, 0, [0, 0, 0, 0]),
    ] {
        let mut bench = bench(four(), timing, 4, Replay { idle_most_ns: cut, ..Replay::default() });
        let all = bench.run();
        let expected: Vec<_> = expected.iter().enumerate().map(|(n, at)| (n as u64 * 512, *at)).collect();
        assert_eq!(starts(&all), expected, "{timing:?}");
        let replayed = bench.replayed.unwrap();
        assert_eq!((replayed.recorded, replayed.issued), (4, 4));
        assert_eq!((replayed.lateness.max, replayed.size_distance, replayed.offset_distance), (0, 0.0, 0.0));
        let timed = matches!(timing, Timing::AsRecorded | Timing::Scaled(_));
        assert_eq!(replayed.within_100us, if timed { 4 } else { 0 });
    }
}

/// Reads and writes with something else now and then, of which enough follow each other that they are read by columns.
fn mixed(result: Option<i64>) -> Vec<TraceRecord> {
    let one = |number: u64| {
        let verb = match number {
            150 | 400 => Verb::Fsync,
            401 => Verb::Unlink,
            _ if number % 3 == 1 => Verb::Write,
            _ => Verb::Read,
        };
        let result = if number == 300 { Some(-5) } else { result };
        let bytes = 512 * (1 + number % 2);
        TraceRecord { result, bytes, ..record(0, number * 700, 1500, verb, number % 100 * 512) }
    };
    (0..500).map(one).collect()
}

/// All that a run did and measured, and a digest of what it wrote.
fn told(bench: &mut SourceBench) -> String {
    bench.memos.iter_mut().for_each(|memo| memo.bytes.fill(0));
    let all = bench.run();
    let written = bench.memos.iter().map(|memo| crc32c::crc32c(&memo.bytes)).collect::<Vec<_>>();
    let mut replayed = bench.replayed.clone().unwrap();
    if bench.job().limit.operations.is_some() {
        // How far the reader was ahead when it was stopped is not the replay's.
        (replayed.recorded, replayed.recorded_ns) = (0, 0);
        replayed.rows.iter_mut().for_each(|row| (row.due, row.depth_recorded) = (0, 0));
        (replayed.skipped, replayed.changed) = (Vec::new(), Vec::new());
    }
    format!("{all:?} {replayed:?} {written:?}")
}

#[test]
fn ranges_by_the_batch_are_what_each_is_by_itself() {
    for (depth, passes, operations) in
        [(1, 1, None), (4, 1, None), (8, 2, None), (4, 1, Some(333)), (4, 2, Some(120))]
    {
        for result in [None, Some(512)] {
            let records = mixed(result);
            let mut bytes = Vec::new();
            let mut writer = Writer::new(&mut bytes, memory(Vec::new()).header).unwrap();
            writer.define_file(TraceFile { name: "d".into(), ..TraceFile::default() }).unwrap();
            writer.push_all(&records).unwrap();
            writer.finish().unwrap();
            let mut bench = bench(records, Timing::AsFast, depth, Replay::default());
            (bench.job().limit.passes, bench.job().limit.operations) = (Some(passes), operations);
            let one_by_one = told(&mut bench);
            bench.written = Some(bytes);
            let by_the_batch = told(&mut bench);
            assert!(
                one_by_one == by_the_batch,
                "depth {depth}, {passes} passes, {operations:?}:\n{one_by_one}\n{by_the_batch}"
            );
            let compared = bench.replayed.as_ref().unwrap().compared;
            assert_eq!(compared > 100, result.is_some(), "{compared}");
        }
    }
}

#[test]
fn a_slow_target_makes_an_open_loop_late_and_latency_counts_from_the_recorded_time() {
    let records = (0..4).map(|number| record(0, number * 1000, 10, Verb::Read, number * 512)).collect();
    let mut bench = bench(records, Timing::AsRecorded, 1, Replay::default());
    bench.service_ns = 300_000;
    let all = bench.run();
    assert_eq!(starts(&all), [(0, 0), (512, 300_000), (1024, 600_000), (1536, 900_000)]);
    assert_eq!(all.iter().map(|one| one.latency).collect::<Vec<_>>(), [300_000, 599_000, 898_000, 1_197_000]);
    let replayed = bench.replayed.unwrap();
    assert_eq!((replayed.lateness.max, replayed.within_100us, replayed.within_1ms), (897_000, 1, 4));
    assert_eq!(replayed.held_by_depth, 3, "the one slot was taken");
    let judgement = iodyno_truth::replay::judge(&replayed);
    assert_eq!(judgement.verdict, iodyno_truth::replay::ReplayVerdict::Late);
    assert!(judgement.because[0].starts_with("the target could not keep up: 3 of 3"), "{judgement:?}");
}

#[test]
fn think_times_follow_the_completions_of_their_thread() {
    let records = vec![
        record(0, 0, 1000, Verb::Read, 0),
        record(1, 200, 300, Verb::Read, 512),
        // 500 after the first ended.
        record(0, 1500, 10, Verb::Read, 1024),
        // While the one before was in flight: 505 after the first ended.
        record(0, 1505, 10, Verb::Read, 1536),
        record(1, 2500, 10, Verb::Read, 2048),
    ];
    let mut bench = bench(records, Timing::ThinkTimes, 8, Replay::default());
    let all = bench.run();
    // Each takes 100 here: the first ends at 100, that of the other thread at 300.
    assert_eq!(starts(&all), [(0, 0), (512, 200), (1024, 600), (1536, 605), (2048, 2300)]);
    assert_eq!(bench.replayed.as_ref().unwrap().lateness.max, 0);
    bench.job().limit.passes = Some(2);
    let all = bench.run();
    assert_eq!(all.len(), 10);
    assert!(all.iter().filter(|one| one.offset == 0).any(|one| one.started >= 705), "{:?}", starts(&all));
}

#[test]
fn dependencies_let_the_rest_float() {
    let records = vec![
        record(0, 0, 1000, Verb::Write, 0),
        record(1, 2000, 10, Verb::Read, 4096),
        // Reads what the first wrote.
        record(2, 3000, 10, Verb::Read, 0),
        record(3, 4000, 10, Verb::Read, 8192),
        // Overwrites what was read.
        record(1, 5000, 10, Verb::Write, 0),
    ];
    let mut bench = bench(records, Timing::Dependencies, 8, Replay::default());
    let all = bench.run();
    assert_eq!(starts(&all), [(0, 0), (0, 100), (0, 200), (4096, 0), (8192, 0)]);
    bench.job().limit.passes = Some(2);
    let all = bench.run();
    assert_eq!(
        starts(&all)[6..],
        [(4096, 0), (4096, 300), (8192, 0), (8192, 300)],
        "a pass waits for the last"
    );
}

#[test]
fn a_dependency_that_the_trace_tells_is_kept_with_its_think_time() {
    let mut records = four();
    records[3].after = Some(Dependency { back: 3, think_ns: 250 });
    records.iter_mut().enumerate().for_each(|(thread, record)| record.thread = thread as u32);
    let mut bench = bench(records, Timing::Dependencies, 4, Replay::default());
    assert_eq!(starts(&bench.run()), [(0, 0), (512, 0), (1024, 0), (1536, 350)]);
}

#[test]
fn the_recorded_depth_of_each_thread_is_preserved() {
    let records = vec![
        // Two at a time, then one.
        record(0, 0, 100, Verb::Read, 0),
        record(0, 10, 100, Verb::Read, 512),
        record(0, 105, 100, Verb::Read, 1024),
        record(0, 500, 100, Verb::Read, 1536),
        record(1, 20, 10, Verb::Read, 2048),
        record(1, 50, 10, Verb::Read, 2560),
    ];
    let mut records = records;
    records.sort_by_key(|record| record.at_ns);
    let mut bench = bench(records, Timing::Depths, 8, Replay::default());
    let all = bench.run();
    assert_eq!(starts(&all), [(0, 0), (512, 0), (1024, 100), (1536, 200), (2048, 0), (2560, 100)]);
}

#[test]
fn copies_shift_or_have_targets_of_their_own() {
    let settings = Replay { copies: 2, copy_shift_bytes: 8192, ..Replay::default() };
    let mut shifted = bench(four(), Timing::AsRecorded, 8, settings);
    let all = shifted.run();
    assert_eq!(all.len(), 8);
    assert_eq!(starts(&all)[4..], [(8192, 0), (8704, 5000), (9216, 5050), (9728, 90_000)]);
    let mut own = bench(four(), Timing::AsRecorded, 8, Replay { copies: 2, ..Replay::default() });
    let all = own.run();
    assert_eq!((all.len(), own.replayed.unwrap().issued), (8, 8));
}

#[test]
fn what_is_beyond_the_target_is_refused_or_mapped_and_counted() {
    let mut far = four();
    far[3].offset = 1 << 20;
    let mut refused = bench(far.clone(), Timing::AsFast, 4, Replay::default());
    assert_eq!(refused.run().len(), 3);
    let remap = iodyno_model::Remap::Linear;
    let mut mapped = bench(far, Timing::AsFast, 4, Replay { remap, ..Replay::default() });
    let all = mapped.run();
    assert_eq!(all.iter().map(|one| one.offset).max(), Some(65024));
    let replayed = mapped.replayed.unwrap();
    assert_eq!(replayed.changed[0].reason, "moved to the target's places");
    assert!(replayed.offset_distance > 0.2, "{}", replayed.offset_distance);
}

#[test]
fn a_flush_that_a_write_carries_goes_before_or_after_it() {
    let mut records = vec![record(0, 0, 10, Verb::Write, 0), record(0, 1000, 10, Verb::Write, 512)];
    records[0].flags = RecordFlags::PREFLUSH.with(RecordFlags::FUA);
    let mut bench = bench(records, Timing::AsRecorded, 8, Replay::default());
    let all = bench.run();
    let verbs: Vec<_> = all.iter().map(|one| (one.verb, one.started)).collect();
    let expected = [(Verb::Fdatasync, 0), (Verb::Write, 100), (Verb::Fdatasync, 200), (Verb::Write, 1000)];
    assert_eq!(verbs, expected);
}

#[test]
fn recorded_errors_are_what_is_to_come() {
    let mut records = four();
    records[0].result = Some(-5);
    records[1].result = Some(-5);
    records[2].result = Some(512);
    let mut bench = bench(records, Timing::AsFast, 1, Replay::default());
    bench.meddle = Box::new(|number, _, _| (number == 0 || number == 2).then_some(-5));
    let all = bench.run();
    assert_eq!(all.iter().map(|one| one.result).collect::<Vec<_>>(), [0, 512, -5, 512]);
    let replayed = bench.replayed.unwrap();
    let mut results: Vec<_> =
        replayed.results.iter().map(|result| (result.recorded, result.got, result.count)).collect();
    results.sort();
    assert_eq!(
        (results, replayed.compared, replayed.mismatches()),
        (vec![(0, 5, 1), (5, 0, 1), (5, 5, 1)], 3, 2)
    );
}

#[test]
fn verification_finds_the_block_that_was_damaged_and_no_other() {
    let writes = (0..8).map(|number| record(0, number, 1, Verb::Write, number * 512));
    let reads = (0..8).map(|number| record(0, 100 + number, 1, Verb::Read, number * 512));
    let again = [record(0, 300, 1, Verb::Write, 512), record(0, 301, 1, Verb::Read, 512)];
    let records: Vec<_> = writes.chain(reads).chain(again).collect();
    let verify = Verify { when: VerifyWhen::OnRead, ..Verify::default() };
    let mut bench = bench(records, Timing::AsFast, 4, Replay::default());
    bench.job().payload = Payload { verify: Some(verify), ..Payload::default() };
    assert!(bench.run().iter().all(|one| one.result == 512), "{:?}", bench.complaints);
    bench.meddle = Box::new(|number, io, memo| {
        if number == 8 {
            memo.bytes[3 * 512 + 100] ^= 1;
        }
        _ = io;
        None
    });
    let all = bench.run();
    let wrong: Vec<_> = all.iter().filter(|one| one.result < 0).map(|one| (one.verb, one.offset)).collect();
    assert_eq!(wrong, [(Verb::Read, 1536)], "{:?}", bench.complaints);
}

#[test]
fn more_records_than_the_ring_holds_are_all_issued() {
    let records: Vec<_> =
        (0..200_000).map(|number| record(0, number, 1, Verb::Read, number % 100 * 512)).collect();
    let mut bench = bench(records, Timing::AsFast, 16, Replay::default());
    let all = bench.run();
    assert_eq!(all.len(), 200_000);
    assert_eq!(bench.replayed.unwrap().issued, 200_000);
}

/// Records of four threads on eight blocks, each of a length of its own, by which it is known again.
fn scattered(count: u64) -> Vec<TraceRecord> {
    let mut at_ns = 0;
    let one = |number: u64| {
        let draw = |of: u64, salt: u64| crate::random::mix(number << 8 | salt) % of;
        at_ns += draw(300, 1);
        let verb = if draw(3, 2) == 0 { Verb::Write } else { Verb::Read };
        let (thread, latency_ns) = (draw(4, 3) as u32, Some(draw(1500, 4)));
        let offset = draw(8, 5) * 8192;
        TraceRecord { thread, latency_ns, ..TraceRecord::new(at_ns, verb, 0, offset, 512 + number) }
    };
    (0..count).map(one).collect()
}

/// Operations by their length, which tells their record, and when each began: none did before what it depends on had ended.
fn keeps_dependencies(records: &[TraceRecord], began: impl Iterator<Item = (u64, u64)>, service_ns: u64) {
    // By record: when it began and when it ended.
    let mut times = vec![(0, 0); records.len()];
    for (bytes, started) in began {
        times[bytes as usize - 512] = (started, started + service_ns);
    }
    let (mut edges, mut kept) = (0, 0);
    for (later, b) in records.iter().enumerate() {
        for (earlier, a) in records[..later].iter().enumerate() {
            let conflicts = (a.verb == Verb::Write || b.verb == Verb::Write) && a.offset == b.offset;
            if a.ended_ns().unwrap() <= b.at_ns && (conflicts || a.thread == b.thread) {
                edges += 1;
                kept += u64::from(times[earlier].1 <= times[later].0);
            }
        }
    }
    assert!(edges > 10_000, "{edges}");
    assert_eq!(kept, edges, "each of them is kept");
}

#[test]
fn no_operation_is_begun_before_what_it_depends_on_has_ended() {
    let records = scattered(1500);
    let mut bench = bench(records.clone(), Timing::Dependencies, 8, Replay::default());
    let all = bench.run();
    assert_eq!(all.len(), records.len());
    keeps_dependencies(&records, all.iter().map(|one| (one.result as u64, one.started)), bench.service_ns);
    // And something floats: it took less time than one after the other.
    let took = all.iter().map(|one| one.started).max().unwrap();
    assert!(took < 1500 * bench.service_ns * 2 / 3, "{took}");
}

#[test]
fn more_than_four_dependencies_are_waited_for_and_nothing_else_is() {
    let mut records: Vec<_> =
        (0..6).map(|thread| record(thread, 0, 40, Verb::Write, u64::from(thread) * 512)).collect();
    // Another thread has one in flight beside them, and a second one when the read begins.
    records.push(record(9, 0, 40, Verb::Read, 1 << 14));
    records.push(record(9, 50, 400, Verb::Read, (1 << 14) + 512));
    let read = record(8, 60, 40, Verb::Read, 0);
    records.push(TraceRecord { bytes: 3072, ..read });
    let mut bench = bench(records, Timing::Dependencies, 16, Replay::default());
    let all = bench.run();
    let begun = |offset: u64| {
        let one = all.iter().find(|one| (one.verb, one.offset) == (Verb::Read, offset)).expect("issued");
        one.started
    };
    assert_eq!(begun((1 << 14) + 512), 100, "after the one of its thread");
    assert_eq!(begun(0), 100, "after the writes, and beside the other read");
}

#[test]
fn gaps_pass_at_their_speed_and_a_flush_has_all_before_it_ended() {
    let mut records = four();
    records[1].verb = Verb::Write;
    records[1].flags = RecordFlags::PREFLUSH;
    let settings = Replay { gap_speed_percent: 200, offset_divisor: 2, ..Replay::default() };
    let mut bench = bench(records, Timing::Gaps, 4, settings);
    let all = bench.run();
    let told: Vec<_> = all.iter().map(|one| (one.verb, one.offset, one.started)).collect();
    let expected = [
        (Verb::Read, 0, 0),
        (Verb::Fdatasync, 0, 2500),
        // The flush that it waits for takes 100 ns.
        (Verb::Write, 256, 2600),
        (Verb::Read, 512, 2625),
    ];
    assert_eq!(told[..4], expected, "{told:?}");
    assert_eq!((told[4].0, told[4].1), (Verb::Read, 768));
}

/// Runs several workers that divide a trace by its threads, in one virtual time: by worker, the offsets and lengths of what
/// it began, and when. Each has so many slots.
fn run_jointly(bench: &SourceBench, workers: u32, depth: u32) -> Vec<Vec<(u64, u64, u64)>> {
    let shared = SharedEnds::new(workers).unwrap();
    let source = |worker| {
        let ends = WorkerEnds::new(shared.clone(), worker);
        bench.source_of(Share { worker, workers }, Some(ends)).unwrap()
    };
    let mut sources: Vec<Option<Source>> = (0..workers).map(|worker| Some(source(worker))).collect();
    let mut flying: Vec<(u64, usize, u32, Io)> = Vec::new();
    let mut began = vec![Vec::new(); workers as usize];
    let (mut now, mut stuck) = (0, 0);
    while sources.iter().any(Option::is_some) {
        for (worker, place) in sources.iter_mut().enumerate() {
            while let Some(source) = place {
                let is_free =
                    |slot: &u32| flying.iter().all(|(_, of, other, _)| (*of, *other) != (worker, *slot));
                let Some(slot) = (0..depth).find(is_free) else { break };
                let mut io = Io { buffer: bench.memory.buffer(slot), ..source.template() };
                match source.next(now, slot, &mut io) {
                    Next::Io => {
                        began[worker].push((io.offset, io.bytes, now));
                        flying.push((now + bench.service_ns, worker, slot, io));
                    }
                    Next::Done if flying.iter().all(|(_, of, ..)| *of != worker) => *place = None,
                    _ => break,
                }
            }
        }
        // All that end at one time end before anything else begins.
        let Some(next) = flying.iter().map(|(at, ..)| *at).min() else {
            stuck += 1;
            assert!(stuck < 1000, "everybody waits: {began:?}");
            continue;
        };
        (now, stuck) = (next, 0);
        let (ended, others) = flying.into_iter().partition(|(at, ..)| *at == now);
        flying = others;
        for (_, worker, slot, mut io) in ended {
            let source = sources[worker].as_mut().unwrap();
            source.done(slot, &mut io, 512, now);
        }
    }
    began
}

#[test]
fn workers_wait_for_each_others_operations_to_the_nanosecond() {
    let records = vec![
        record(0, 0, 1000, Verb::Write, 0),
        record(1, 2000, 10, Verb::Read, 4096),
        // What thread 0 wrote.
        record(1, 3000, 10, Verb::Read, 0),
        record(0, 4000, 10, Verb::Read, 8192),
        // Over what thread 1 read.
        record(0, 5000, 10, Verb::Write, 0),
        // A sync waits for all writes, and the write behind it for the sync.
        record(1, 6000, 10, Verb::Fsync, 0),
        record(0, 7000, 10, Verb::Write, 12_288),
    ];
    let mut bench = bench(records, Timing::Dependencies, 8, Replay::default());
    let run = |bench: &SourceBench| {
        let places =
            |all: Vec<(u64, u64, u64)>| all.into_iter().map(|(offset, _, at)| (offset, at)).collect();
        run_jointly(bench, 2, 8).into_iter().map(places).collect::<Vec<Vec<_>>>()
    };
    let began = run(&bench);
    assert_eq!(began[0], [(0, 0), (8192, 100), (0, 200), (12_288, 400)]);
    assert_eq!(began[1], [(4096, 0), (0, 100), (0, 300)]);
    bench.job().limit.passes = Some(2);
    let began = run(&bench);
    assert_eq!(began[0][4..], [(0, 500), (8192, 600), (0, 700), (12_288, 900)], "a pass waits for the last");
    assert_eq!(began[1][3..], [(4096, 500), (0, 600), (0, 800)]);
}

#[test]
fn however_many_workers_divide_a_trace_nothing_begins_before_what_it_depends_on_has_ended() {
    for workers in [2, 3, 4] {
        let records = scattered(1500);
        let bench = bench(records.clone(), Timing::Dependencies, 4, Replay::default());
        let began = run_jointly(&bench, workers, 4);
        assert!(began.iter().all(|all| all.len() > 200), "each has its share");
        keeps_dependencies(&records, began.concat().into_iter().map(|(_, bytes, at)| (bytes, at)), 100);
    }
    // More than the window holds.
    let mut records = scattered(30_000);
    records.iter_mut().for_each(|record| record.bytes = 512);
    let bench = bench(records, Timing::Dependencies, 4, Replay::default());
    assert_eq!(run_jointly(&bench, 4, 4).concat().len(), 30_000);
}

#[test]
fn nobody_waits_for_a_worker_that_has_left() {
    let records = vec![
        record(0, 0, 1000, Verb::Write, 0),
        record(0, 2000, 10, Verb::Write, 4096),
        record(1, 3000, 10, Verb::Read, 4096),
    ];
    let bench = bench(records, Timing::Dependencies, 8, Replay::default());
    let shared = SharedEnds::new(2).unwrap();
    let of = |worker| {
        let ends = WorkerEnds::new(shared.clone(), worker);
        bench.source_of(Share { worker, workers: 2 }, Some(ends)).unwrap()
    };
    let (first, mut second) = (of(0), of(1));
    let mut io = Io { buffer: bench.memory.buffer(0), ..second.template() };
    assert!(matches!(second.next(0, 0, &mut io), Next::Later(1..)));
    drop(first);
    assert_eq!(second.next(7, 0, &mut io), Next::Io);
    assert_eq!(io.offset, 4096);
}
