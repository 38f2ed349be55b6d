//! fio: jobs side by side with think time, verification in rounds, flow weights.

use iodyno_model::{
    Checksum, Content, Coverage, Depth, Direct, Extent, HeaderStamp, Job, Limit, Mix, Open, Pace, Pattern,
    Payload, Phase, Pick, Prepare, Refresh, Shared, SharedKind, SharedUse, Stamp, Target, Think, Verb,
    Verify, VerifyWhen, WorkerKind, Workload,
};

use super::{file, golden, phase, plan};

const MIB: u64 = 1 << 20;

/// fio's default: a process whose file is laid out before and whose buffers are scrambled.
fn job(name: &str, engine: &str, target: usize, pattern: Pattern) -> Job {
    let payload = Payload { content: Content::Scrambled, ..Payload::default() };
    Job {
        kind: WorkerKind::Processes,
        payload,
        ..Job::new(name, engine, vec![target], Workload::Pattern(Box::new(pattern)))
    }
}

fn laid_out(path: &str, bytes: u64, direct: Direct) -> Target {
    let open = Open { create: true, direct, invalidate: true, ..Open::default() };
    Target { open, prepare: Prepare::Filled, ..file(path, Extent::Bytes(bytes)) }
}

fn thinks(sleep_ns: u64) -> Pace {
    Pace { think: Some(Think { sleep_ns, every: 1, ..Think::default() }), ..Pace::default() }
}

fn depth(most: u32) -> Depth {
    Depth { most, ..Depth::default() }
}

const DATABASE: &str = "
[global]
randseed=1
direct=1
invalidate=1
bs=4k

[bgwriter]
rw=randwrite
ioengine=libaio
iodepth=32
size=32m

[query-a]
rw=randread
ioengine=mmap
direct=0
thinktime=3
size=64m

[query-b]
rw=randread
ioengine=mmap
direct=0
thinktime=5
size=64m

[bgupdater]
rw=randrw
ioengine=libaio
iodepth=16
thinktime=40
size=32m
";

#[test]
fn golden_a_small_database() {
    let uniform = |verb| Pattern::of(verb, Pick::Uniform, 4096);
    let update = Pattern { mix: Mix::reads(50.0), ..uniform(Verb::Read) };
    let bytes = |bytes| Limit { bytes: Some(bytes), ..Limit::default() };
    let jobs = vec![
        Job {
            depth: depth(32),
            limit: bytes(32 * MIB),
            ..job("bgwriter", "libaio", 0, uniform(Verb::Write))
        },
        Job { pace: thinks(3_000), limit: bytes(64 * MIB), ..job("query-a", "mmap", 1, uniform(Verb::Read)) },
        Job { pace: thinks(5_000), limit: bytes(64 * MIB), ..job("query-b", "mmap", 2, uniform(Verb::Read)) },
        Job {
            depth: depth(16),
            pace: thinks(40_000),
            limit: bytes(32 * MIB),
            ..job("bgupdater", "libaio", 3, update)
        },
    ];
    let targets = vec![
        laid_out("bgwriter.{worker}.0", 32 * MIB, Direct::Yes),
        laid_out("query-a.{worker}.0", 64 * MIB, Direct::No),
        laid_out("query-b.{worker}.0", 64 * MIB, Direct::No),
        laid_out("bgupdater.{worker}.0", 32 * MIB, Direct::Yes),
    ];
    golden("fio-database", DATABASE, &plan("database.fio", 1, targets, vec![phase("group 0", jobs)]));
}

const BACKLOG: &str = "
[write-and-verify]
rw=randwrite
bs=4k
size=64m
direct=1
ioengine=libaio
iodepth=16
verify=crc32c
verify_interval=4k
verify_backlog=1024
verify_backlog_batch=256
verify_fatal=1
";

#[test]
fn golden_verify_backlog() {
    let verify = Verify {
        stamp: Stamp::Header(HeaderStamp::new(Checksum::Crc32c)),
        when: VerifyWhen::Backlog { writes: 1024, batch: 256 },
        interval_bytes: 4096,
        fatal: true,
        ..Verify::default()
    };
    let job = Job {
        depth: depth(16),
        payload: Payload { refresh: Refresh::EachWrite, verify: Some(verify), ..Payload::default() },
        limit: Limit { bytes: Some(64 * MIB), ..Limit::default() },
        ..job("write-and-verify", "libaio", 0, Pattern::of(Verb::Write, Pick::Uniform, 4096))
    };
    let targets = vec![laid_out("write-and-verify.{worker}.0", 64 * MIB, Direct::Yes)];
    golden(
        "fio-verify-backlog",
        BACKLOG,
        &plan("backlog.fio", 1, targets, vec![phase("group 0", vec![job])]),
    );
}

const FLOW: &str = "
[global]
filename=shared.dat
size=256m
rw=randrw
norandommap
bs=4k
flow_id=1
time_based
runtime=10s

[heavy]
flow=8

[light]
flow=1
";

#[test]
fn golden_flow_weights() {
    let pattern = Pattern {
        mix: Mix::reads(50.0),
        coverage: Coverage::Repeating,
        ..Pattern::of(Verb::Read, Pick::Uniform, 4096)
    };
    let weighs = |name: &str, weight| Job {
        pace: Pace { shared: vec![SharedUse::new("flow 1", weight)], ..Pace::default() },
        limit: Limit { time_ns: Some(10_000_000_000), ..Limit::default() },
        ..job(name, "psync", 0, pattern.clone())
    };
    let group = Phase {
        shared: vec![Shared { name: "flow 1".into(), kind: SharedKind::Weights { most: 1024 } }],
        ..phase("group 0", vec![weighs("heavy", 8), weighs("light", 1)])
    };
    let targets = vec![laid_out("shared.dat", 256 * MIB, Direct::No)];
    golden("fio-flow", FLOW, &plan("flow.fio", 1, targets, vec![group]));
}
