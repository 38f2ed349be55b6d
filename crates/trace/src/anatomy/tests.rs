//! Calls and requests of known times.

use super::*;

fn range(sector: u64, sectors: u32) -> BlockRange {
    BlockRange { device: 7 << 20, sector, sectors, kind: RequestKind::Read }
}

fn analysed(events: &[(u64, u32, AnatomyEvent)]) -> Anatomy {
    let mut analysis = AnatomyAnalysis::default();
    for (at_ns, thread, event) in events {
        analysis.add(&TimedEvent { at_ns: *at_ns, thread: *thread, event: *event });
    }
    analysis.finish()
}

/// ns of submission, cache, journal, scheduler, device and completion.
fn parts(anatomy: &Anatomy, verb: Verb) -> [u128; PARTS] {
    anatomy.calls[&verb].sums()
}

use AnatomyEvent::{CommitBegan, CommitEnded, Completed, Enter, Exit, Issued, LogForced, Lost, Queued};

#[test]
fn a_direct_read_is_split_to_the_nanosecond() {
    let anatomy = analysed(&[
        (1000, 1, Enter(Verb::Read)),
        (1007, 1, Queued(range(8, 8))),
        (1020, 1, Issued(range(8, 8))),
        // The interrupt comes while another thread runs.
        (1520, 9, Completed(range(8, 8))),
        (1533, 1, Exit),
    ]);
    assert_eq!(parts(&anatomy, Verb::Read), [7, 0, 0, 13, 500, 13]);
    assert_eq!(anatomy.requests[&(true, RequestKind::Read)].sums(), [0, 0, 0, 13, 500, 0]);
    assert_eq!((anatomy.lost, anatomy.dropped), (0, 0));
}

#[test]
fn a_read_from_the_cache_has_no_device_part() {
    let anatomy = analysed(&[(10, 1, Enter(Verb::Read)), (25, 1, Exit)]);
    assert_eq!(parts(&anatomy, Verb::Read), [0, 15, 0, 0, 0, 0]);
}

#[test]
fn a_sync_waits_for_its_data_then_for_the_journal() {
    let commit = 7 << 20;
    let anatomy = analysed(&[
        (100, 1, Enter(Verb::Fsync)),
        (110, 1, Queued(range(0, 16))),
        (120, 1, Issued(range(0, 16))),
        (220, 5, Completed(range(0, 16))),
        (230, 2, CommitBegan(commit)),
        // The journal's thread writes.
        (240, 2, Queued(range(900, 8))),
        (250, 2, Issued(range(900, 8))),
        (400, 5, Completed(range(900, 8))),
        (410, 2, CommitEnded(commit)),
        (417, 1, Exit),
    ]);
    assert_eq!(parts(&anatomy, Verb::Fsync), [10, 0, 180, 10, 100, 17]);
    assert_eq!(anatomy.requests[&(true, RequestKind::Read)].latency_ns.count(), 1);
    assert_eq!(anatomy.requests[&(false, RequestKind::Read)].sums(), [0, 0, 0, 10, 150, 0]);
}

#[test]
fn a_call_that_has_forced_its_log_waits_for_it_until_it_returns() {
    let anatomy = analysed(&[
        (100, 1, Enter(Verb::Fsync)),
        (110, 1, Queued(range(0, 16))),
        (120, 1, Issued(range(0, 16))),
        (220, 5, Completed(range(0, 16))),
        (230, 1, LogForced),
        // Nobody's call.
        (235, 3, LogForced),
        (240, 2, Queued(range(900, 8))),
        (250, 2, Issued(range(900, 8))),
        (400, 5, Completed(range(900, 8))),
        (405, 1, LogForced),
        (417, 1, Exit),
        (500, 1, Enter(Verb::Fsync)),
        (530, 1, Exit),
    ]);
    assert_eq!(parts(&anatomy, Verb::Fsync), [10, 30, 187, 10, 100, 10]);
}

#[test]
fn merged_and_split_requests_are_followed_by_their_sectors() {
    let anatomy = analysed(&[
        (0, 1, Enter(Verb::Write)),
        (1, 1, Queued(range(0, 8))),
        (2, 1, Queued(range(8, 8))),
        // Both go as one, the second bio's other half follows alone.
        (10, 1, Issued(range(0, 12))),
        (11, 1, Issued(range(12, 4))),
        (50, 1, Completed(range(0, 12))),
        (70, 1, Completed(range(12, 4))),
        (80, 1, Exit),
    ]);
    assert_eq!(parts(&anatomy, Verb::Write), [1, 0, 0, 9, 60, 10]);
    assert_eq!(anatomy.requests[&(true, RequestKind::Read)].sums(), [0, 0, 0, 17, 100, 0]);
}

#[test]
fn requests_one_after_the_other_leave_the_file_system_between_them() {
    let one = |sector, at| {
        [
            (at, 1, Queued(range(sector, 8))),
            (at + 5, 1, Issued(range(sector, 8))),
            (at + 25, 1, Completed(range(sector, 8))),
        ]
    };
    let events =
        [vec![(0, 1, Enter(Verb::Read))], one(0, 3).to_vec(), one(64, 40).to_vec(), vec![(70, 1, Exit)]];
    assert_eq!(parts(&analysed(&events.concat()), Verb::Read), [3, 12, 0, 10, 40, 5]);
}

#[test]
fn lost_events_drop_what_was_open_and_nothing_else() {
    let anatomy = analysed(&[
        (0, 1, Enter(Verb::Read)),
        (5, 1, Queued(range(0, 8))),
        (6, 1, Lost(40)),
        (20, 1, Issued(range(0, 8))),
        (30, 1, Completed(range(0, 8))),
        (40, 1, Exit),
        (50, 1, Enter(Verb::Read)),
        (58, 1, Exit),
    ]);
    assert_eq!((anatomy.lost, anatomy.dropped), (40, 2));
    assert_eq!(parts(&anatomy, Verb::Read), [0, 8, 0, 0, 0, 0]);
    assert!(anatomy.requests.is_empty());
}

#[test]
fn a_return_before_its_call_is_left_out() {
    let anatomy = analysed(&[(10, 1, Enter(Verb::Read)), (5, 1, Exit), (20, 1, Exit)]);
    assert_eq!((anatomy.dropped, anatomy.calls.len()), (1, 0));
}

#[test]
fn a_percentile_has_the_parts_of_its_own_latencies() {
    let mut table = PartTable::default();
    // 990 fast ones that the device makes, ten slow ones that the scheduler makes.
    (0..990).for_each(|_| table.add(&[0, 0, 0, 0, 100_000, 0]));
    (0..10).for_each(|_| table.add(&[0, 0, 0, 900_000, 100_000, 0]));
    let near = |a: f64, b: f64| (a - b).abs() < 0.01;
    assert!(near(table.shares_at(50.0)[LatencyPart::Device as usize], 100.0));
    assert!(near(table.shares_at(99.9)[LatencyPart::Scheduler as usize], 90.0));
    assert!(near(table.shares()[LatencyPart::Scheduler as usize], 9_000_000.0 / 109_000_000.0 * 100.0));
}

#[test]
fn lines_of_the_trace_pipe_become_events() {
    let calls: CallNumbers<'_> = &[(0, Verb::Read), (74, Verb::Fsync)];
    let line = |text: &str| parse_line(text, calls);
    let event = |at_ns, thread, event| Some(TimedEvent { at_ns, thread, event });
    let enter = "             dd-4711    [000] .....  5000.000012: sys_enter: NR 0 (3, 7f, 1000, 0, 0, 0)";
    assert_eq!(line(enter), event(5_000_000_012_000, 4711, Enter(Verb::Read)));
    assert_eq!(line("my: prog [x]-12 [001] d..1. 1.5: sys_exit: NR 74 = 0"), event(1_500_000_000, 12, Exit));
    assert_eq!(line("a-1 [000] ..... 1.000001: sys_exit: NR 9 = 0"), None);
    let issue =
        "kworker/0:1-9 [000] d..1. 2.000003: block_rq_issue: 7,0 R 4096 () 1024 + 8 none,0,0 [kworker/0:1]";
    assert_eq!(line(issue), event(2_000_003_000, 9, Issued(range(1024, 8))));
    let flush = BlockRange { device: 7 << 20 | 3, sector: 0, sectors: 0, kind: RequestKind::Flush };
    let complete = "<idle>-0 [001] d.h.. 2.000004: block_rq_complete: 7,3 FF () 0 + 0 none,0,0 [0]";
    assert_eq!(line(complete), event(2_000_004_000, 0, Completed(flush)));
    let queue = "x-5 [001] ..... 3.0: block_bio_queue: 7,3 FWS 0 + 0 [x]";
    assert_eq!(line(queue), event(3_000_000_000, 5, Queued(flush)));
    let commit = "jbd2/loop0-8-77 [001] ..... 3.000001: jbd2_start_commit: dev 7,0 transaction 5 sync 0";
    assert_eq!(line(commit), event(3_000_001_000, 77, CommitBegan(7 << 20)));
    let force = "fio-8 [001] ..... 3.000002: xfs_log_force: dev 7:0 lsn 0x2a caller xfs_file_fsync";
    assert_eq!(line(force), event(3_000_002_000, 8, LogForced));
    assert_eq!(line("CPU:1 [LOST 42 EVENTS]"), event(0, 0, Lost(42)));
    for bad in [
        "",
        ": ",
        "a-1 [000] ..... x: sys_enter: NR 0",
        "a [0] 1.0: block_rq_issue: 7 R",
        "ü: block_bio_queue: ü",
    ] {
        assert_eq!(line(bad), None, "{bad}");
    }
}
