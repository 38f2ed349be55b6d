//! iozone: writes and reads replayed from telemetry, with their pauses.

use iodyno_model::{Extent, Job, Open, Prepare, Target, Timing, Trace, TraceEntry, Verb, Workload};

use super::{file, golden, phase, plan};

const WORDS: &str = "
iozone -f iozone.tmp -s 1m -X write.tele -Y read.tele

write.tele:
0 65536 0
65536 65536 2
131072 4096

read.tele:
131072 4096 10
0 65536 0
";

fn replay(verb: Verb, entries: &[(u64, u64, u64)]) -> Workload {
    let entry = |&(offset, bytes, pause_ms): &(u64, u64, u64)| TraceEntry {
        at_ns: pause_ms * 1_000_000,
        verb,
        target: 0,
        offset,
        bytes,
        repeat: 1,
    };
    let entries = entries.iter().map(entry).collect();
    Workload::Trace(Trace::of(entries, Timing::Pauses))
}

#[test]
fn golden_telemetry_replay() {
    let write = replay(Verb::Write, &[(0, 65536, 0), (65536, 65536, 2), (131_072, 4096, 0)]);
    let read = replay(Verb::Read, &[(131_072, 4096, 10), (0, 65536, 0)]);
    let open = Open { create: true, ..Open::default() };
    let targets = vec![Target { open, remove: true, ..file("iozone.tmp", Extent::Bytes(1 << 20)) }];
    let targets = targets.into_iter().map(|target| Target { prepare: Prepare::AsItIs, ..target }).collect();
    let phases = vec![
        phase("write", vec![Job::new("write", "psync", vec![0], write.clone())]),
        phase("rewrite", vec![Job::new("rewrite", "psync", vec![0], write)]),
        phase("read", vec![Job::new("read", "psync", vec![0], read.clone())]),
        phase("reread", vec![Job::new("reread", "psync", vec![0], read)]),
    ];
    golden("iozone-telemetry", WORDS, &plan("iozone", 0, targets, phases));
}
