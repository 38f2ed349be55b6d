//! IOR: segments of a shared file, read back by another rank, and a stonewall that is worn out.

use iodyno_model::{
    Content, Extent, Finish, Job, Limit, Open, OpenMode, Pattern, Payload, Pick, Place, Refresh, Repeat,
    Span, Stamp, Start, Target, Verb, Verify, WorkerKind, Workload,
};

use super::{file, golden, phase, plan};

const WORDS: &str =
    "ior -o shared.dat -b 16m -t 1m -s 8 -i 3 -G 27 -C -Q 1 -e -g -w -R -D 30 -O stoneWallingWearOut=1";

fn transfers(verb: Verb) -> Pattern {
    let pick = Pick::Segmented { block_bytes: 16 << 20, count: 8, stride_bytes: 0, shuffled: false };
    let span = Span { increment: Extent::Bytes(16 << 20), ..Span::default() };
    Pattern { span, ..Pattern::of(verb, pick, 1 << 20) }
}

/// Open, transfer and close all count; ranks wait for each other around the transfers (-g).
fn rank(name: &str, target: usize, verb: Verb) -> Job {
    let content = Payload {
        content: Content::Random,
        refresh: Refresh::EachWrite,
        seed: Some(27),
        verify: None,
        ..Payload::default()
    };
    Job {
        kind: WorkerKind::Processes,
        payload: content,
        start: Start { open: true, barrier: true, ..Start::default() },
        finish: Finish { close: true, barrier: true, ..Finish::default() },
        ..Job::new(name, "psync", vec![target], Workload::Pattern(Box::new(transfers(verb))))
    }
}

#[test]
fn golden_segments_read_back_elsewhere_after_a_stonewall() {
    let write = rank("write", 0, Verb::Write);
    let write = Job {
        limit: Limit { time_ns: Some(30_000_000_000), passes: Some(1), wear_out: true, ..Limit::default() },
        finish: Finish { sync: Some(Verb::Fsync), ..write.finish },
        ..write
    };
    let read = rank("read", 1, Verb::Read);
    let check = Verify { stamp: Stamp::Content, ..Verify::default() };
    let read = Job {
        place: Place::ShiftNodes(1),
        payload: Payload { verify: Some(check), ..read.payload },
        limit: Limit { as_phase: Some("write".into()), ..Limit::default() },
        ..read
    };
    let shared = file("shared.dat", Extent::Rest);
    let written = Open { mode: OpenMode::ReadWrite, create: true, ..Open::default() };
    let read_only = Open { mode: OpenMode::Read, ..Open::default() };
    let targets = vec![
        Target { open: written, remove: true, ..shared.clone() },
        Target { open: read_only, remove: true, ..shared },
    ];
    let mut plan =
        plan("shared.dat", 27, targets, vec![phase("write", vec![write]), phase("read", vec![read])]);
    plan.repeat = Repeat { times: 3, ..Repeat::default() };
    golden("ior-shared-segments", WORDS, &plan);
}
