//! Lies of the storage: holes (3), content (4), a warm device (5), amplification (16), flushes (17), another shape (19),
//! names in memory (21), no peak (24), a short stroke (25).

use iodyno_model::{
    Content, Coordinate, DeviceActivity, Extent, Figure, Intent, Items, Layout, Line, NameCache, Parameter,
    Phase, PhaseRecord, Pick, Plan, Record, Sample, Severity, Sighting, TargetKind, Value, Verb, Workload,
};

use crate::stage::*;

fn with_layout(stage: &mut Stage, change: impl Fn(&mut Layout)) {
    let mut layout = Layout { target: "file".into(), files: 1, file_bytes: GIB, ..Layout::default() };
    layout.data_bytes = GIB;
    change(&mut layout);
    stage.found.sightings.push(Sighting::Layout(layout));
}

#[test]
fn reads_of_holes() {
    // The device says it, past the cache; or the file system does.
    lie(Verb::Read, (3, Severity::Invalid), |s| s.device(GIB / 10));
    lie(Verb::Read, (3, Severity::Invalid), |s| (s.device(0), with_layout(s, |l| l.hole_bytes = GIB)).0);
    lie(Verb::Read, (3, Severity::Doubtful), |s| {
        (s.device(GIB / 10 * 7), with_layout(s, |l| l.unwritten_bytes = GIB / 10 * 3)).0
    });
    // Through the cache, it is not the cache that answered.
    lie(Verb::Read, (3, Severity::Invalid), |s| {
        (s.buffered(), s.device(0), with_layout(s, |l| l.hole_bytes = GIB)).0
    });
    lie(Verb::Read, (3, Severity::Invalid), |s| {
        (s.no_device(), s.resident(0, 0), with_layout(s, |l| l.unwritten_bytes = GIB)).0
    });
    twin(Verb::Read, |s| with_layout(s, |_| {}));
    // The part that was read is the part that holds data.
    twin(Verb::Read, |s| with_layout(s, |l| l.hole_bytes = GIB / 2));
    twin(Verb::Write, |s| with_layout(s, |l| l.unwritten_bytes = GIB));
    twin(Verb::Read, |s| (s.device(0), s.intent = Intent::Cache).0);
    // A file system of several devices, or one that keeps data in its own way, may have read elsewhere.
    twin(Verb::Read, |s| {
        s.found.sightings.clear();
        s.found.sightings.push(Sighting::Target(Box::new(facts("btrfs", "sda"))));
        s.device(0);
    });
}

#[test]
fn the_cache_is_not_blamed_for_holes() {
    let stage = staged(Verb::Read, |s| {
        (s.buffered(), s.device(GIB / 2), with_layout(s, |l| l.hole_bytes = GIB / 2)).0
    });
    assert_eq!(stage.caught(), [(3, Severity::Invalid)]);
    let both =
        staged(Verb::Read, |s| (s.buffered(), s.device(0), with_layout(s, |l| l.hole_bytes = GIB / 2)).0);
    assert_eq!(both.caught(), [(1, Severity::Invalid), (3, Severity::Invalid)]);
}

fn compressing(stage: &mut Stage) {
    stage.no_device();
    let options = Some("rw,relatime,compress=zstd:3,space_cache=v2".into());
    let facts = iodyno_model::TargetFacts { mount_options: options, ..facts("btrfs", "sda") };
    stage.found.sightings.push(Sighting::Target(Box::new(facts)));
    stage.device(GIB / 10);
}

#[test]
fn what_was_not_compressed_is_not_accused_of_it() {
    // Asked to compress, and it did not: space that was reserved before is written as it is.
    lie(Verb::Write, (4, Severity::Invalid), |s| (compressing(s), s.job.payload.content = Content::Zero).0);
    twin(Verb::Write, |s| {
        compressing(s);
        s.job.payload.content = Content::Zero;
        s.device(GIB);
    });
    twin(Verb::Write, |s| {
        compressing(s);
        s.job.payload.content = Content::Zero;
        with_layout(s, |_| {});
    });
    // What is in memory yet may be compressed on its way; and a layer beneath sees all of it.
    lie(Verb::Write, (4, Severity::Invalid), |s| {
        compressing(s);
        s.job.payload.content = Content::Zero;
        with_layout(s, |_| {});
        s.found.sightings.push(Sighting::Dirty { target: "file".into(), bytes: GIB / 2 });
    });
    lie(Verb::Write, (4, Severity::Invalid), |s| {
        compressing(s);
        s.job.payload.content = Content::Zero;
        s.device(GIB);
        for sighting in &mut s.found.sightings {
            if let Sighting::Target(facts) = sighting {
                facts.layers.push("device-mapper volume vdo0".into());
            }
        }
    });
}

#[test]
fn data_that_compresses_where_it_is_compressed() {
    lie(Verb::Write, (4, Severity::Invalid), |s| (compressing(s), s.job.payload.content = Content::Zero).0);
    lie(Verb::Write, (4, Severity::Invalid), |s| (compressing(s), s.job.payload.compress_percent = 80).0);
    lie(Verb::Write, (4, Severity::Doubtful), |s| (compressing(s), s.job.payload.dedupe_percent = 30).0);
    // What lies there encoded proves it, whatever wrote it.
    lie(Verb::Read, (4, Severity::Invalid), |s| {
        (compressing(s), with_layout(s, |l| l.encoded_bytes = GIB)).0
    });
    lie(Verb::Read, (4, Severity::Invalid), |s| with_layout(s, |l| l.encoded_bytes = GIB));
    // Blocks that resemble their neighbours compress together with them.
    lie(Verb::Write, (4, Severity::Invalid), |s| {
        let Workload::Pattern(pattern) = &mut s.job.workload else { unreachable!() };
        pattern.pick.write = Pick::Sequential;
        (compressing(s), s.job.payload.content = Content::Scrambled).0
    });
    twin(Verb::Write, |s| (compressing(s), s.job.payload.content = Content::Scrambled).0);
    twin(Verb::Write, compressing);
    twin(Verb::Write, |s| s.job.payload.content = Content::Zero);
    twin(Verb::Write, |s| (compressing(s), s.job.payload.compress_percent = 10).0);
    twin(Verb::Read, |s| (compressing(s), s.job.payload.content = Content::Zero).0);
    twin(Verb::Write, |s| {
        (compressing(s), s.job.payload.content = Content::Zero, s.intent = Intent::Cache).0
    });
}

#[test]
fn compressed_files_are_not_called_cached() {
    let stage = staged(Verb::Read, |s| {
        (compressing(s), s.buffered(), s.device(GIB / 20), with_layout(s, |l| l.encoded_bytes = GIB)).0
    });
    assert_eq!(stage.caught(), [(4, Severity::Invalid)]);
}

/// Reads of a GiB for each of these rows, over a span of so much.
fn passes(stage: &mut Stage, span: u64, rows: &[u64]) {
    let bytes: u64 = rows.iter().map(|reads| reads * 4096).sum();
    stage.target.kind = TargetKind::File { path: "/data/file".into(), size: Extent::Bytes(span) };
    with_rows(stage.record(), rows);
    stage.record().tally.lines[0].bytes = bytes;
    stage.device(bytes);
}

fn codes(stage: &Stage) -> Vec<u8> {
    stage.judged().iter().map(|finding| finding.code).filter(|code| *code != 7 && *code != 8).collect()
}

#[test]
fn a_second_pass_that_is_faster() {
    let warm = [1000u64, 1010, 990, 1000, 1000, 3000, 3100, 2900, 3000, 3050];
    let stage = staged(Verb::Read, |s| {
        passes(s, 5000 * 4096, &[1000, 1010, 990, 1000, 1000, 3000, 3100, 2900, 3000, 3050])
    });
    assert_eq!(codes(&stage), [5]);
    assert_eq!(
        stage.judged().iter().find(|f| f.code == 5).unwrap().figures[0],
        Figure::new("first pass", 1000.0, "1/s")
    );
    // The same as fast as before; one pass only; and through the page cache, which is another matter.
    assert_eq!(codes(&staged(Verb::Read, |s| passes(s, 5000 * 4096, &[1000; 10]))), [0u8; 0]);
    assert_eq!(
        codes(&staged(Verb::Read, |s| passes(s, GIB, &[1000, 1000, 1000, 1000, 3000, 3000, 3000]))),
        [0u8; 0]
    );
    let mut cached = staged(Verb::Read, |s| passes(s, 5000 * 4096, &[1000; 10]));
    passes(&mut cached, 5000 * 4096, &warm);
    cached.buffered();
    assert_eq!(codes(&cached), [0u8; 0]);
    // Rows that overlap are no two passes.
    assert_eq!(
        codes(&staged(Verb::Read, |s| passes(
            s,
            5000 * 4096,
            &[1000, 2500, 1000, 1000, 500, 2000, 2000, 2400, 2000, 2100]
        ))),
        [0u8; 0]
    );
}

/// Each second of the device: reads, what one took it, and bytes that were moved for others.
fn seconds(stage: &mut Stage, each: &[(u64, u64, u64)]) {
    stage.found.samples = (1..)
        .zip(each)
        .map(|(second, (reads, read_ns, others))| Sample {
            at_ns: second * SECOND,
            interval_ns: SECOND,
            devices: vec![DeviceActivity {
                device: "sda".into(),
                reads: *reads,
                read_bytes: reads * 4096,
                write_bytes: *others,
                read_ns: reads * read_ns,
                ..DeviceActivity::default()
            }],
            ..Sample::default()
        })
        .collect();
}

#[test]
fn a_speed_up_is_a_cache_only_where_reads_cost_the_device_less() {
    const ROWS: [u64; 10] = [100, 100, 100, 100, 100, 5300, 5300, 5300, 5300, 5300];
    let judged = |cold: (u64, u64, u64), warm: (u64, u64, u64)| {
        let mut stage = staged(Verb::Read, |s| passes(s, 500 * 4096, &ROWS));
        seconds(&mut stage, &[[cold; 5], [warm; 5]].concat());
        stage.judged().into_iter().find(|finding| finding.code == 5)
    };
    let cached = judged((100, 9_000_000, 0), (5300, 180_000, 0)).unwrap();
    assert_eq!(cached.severity, Severity::Invalid);
    assert!(cached.figures.iter().any(|f| f.name == "a read in the device, first pass" && f.value == 9e6));
    // A limit that ended let more of them through; each took as long as before.
    assert_eq!(judged((100, 180_000, 0), (5300, 180_000, 0)), None);
    // A neighbour that went away.
    assert_eq!(judged((100, 9_000_000, 200 << 20), (5300, 180_000, 0)), None);
    // Where no second was looked at, there are other reasons for a rate.
    let unseen = staged(Verb::Read, |s| passes(s, 500 * 4096, &ROWS)).judged();
    assert_eq!(unseen.iter().find(|f| f.code == 5).unwrap().severity, Severity::Doubtful);
}

#[test]
fn a_later_phase_that_is_faster() {
    let phase = |name: &str, reads: u64| {
        let mut stage = honest(Verb::Read);
        stage.found.name = name.into();
        passes(&mut stage, 4000 * 4096, &[reads; 4]);
        stage.record().tally.lines[0].operations = reads * 4;
        stage
    };
    let found = together(&[phase("cold", 1000), phase("warm", 4000)]);
    assert_eq!(
        found.iter().map(|finding| (finding.code, finding.phase.as_str())).collect::<Vec<_>>(),
        [(5, "warm")]
    );
    assert_eq!(together(&[phase("a", 1000), phase("b", 1100)]), []);
}

/// The device's requests and bytes, reads then writes.
fn moved(stage: &mut Stage, reads: (u64, u64), writes: (u64, u64)) {
    stage.device(0);
    for sighting in &mut stage.found.sightings {
        if let Sighting::Device(device) = sighting {
            (device.reads, device.read_bytes) = reads;
            (device.writes, device.write_bytes) = writes;
        }
    }
}

/// So many operations of so many bytes.
fn sized(stage: &mut Stage, count: u64, bytes: u64) {
    let line: &mut Line = &mut stage.record().tally.lines[0];
    (line.operations, line.bytes) = (count, count * bytes);
}

#[test]
fn amplification() {
    lie(Verb::Read, (16, Severity::Doubtful), |s| {
        (sized(s, 100_000, 512), s.buffered(), moved(s, (100_000, 100_000 * 4096), (0, 0))).0
    });
    lie(Verb::Read, (16, Severity::Note), |s| {
        (sized(s, 100_000, 4096), s.buffered(), moved(s, (120_000, 100_000 * 10_000), (0, 0))).0
    });
    // A read before each write of half a block.
    lie(Verb::Write, (16, Severity::Doubtful), |s| {
        (sized(s, 50_000, 2048), moved(s, (50_000, 50_000 * 4096), (50_000, 50_000 * 4096))).0
    });
    // A journal's commit for each.
    lie(Verb::Write, (16, Severity::Doubtful), |s| {
        s.target.open.sync = iodyno_model::OpenSync::All;
        (sized(s, 10_000, 4096), moved(s, (0, 0), (70_000, 10_000 * 81_920))).0
    });
    twin(Verb::Read, |s| moved(s, (GIB / 4096, GIB), (0, 0)));
    // An inode, a journal's commit: what a sync costs.
    twin(Verb::Write, |s| {
        s.target.open.sync = iodyno_model::OpenSync::All;
        (sized(s, 10_000, 4096), moved(s, (0, 0), (50_000, 10_000 * 20_480))).0
    });
    // What others read, by the kernel's account of this program, is another matter.
    lie(Verb::Read, (12, Severity::Doubtful), |s| {
        let own = Sighting::Own { read_bytes: GIB, write_bytes: 0 };
        (moved(s, (GIB / 4096, 3 * GIB), (0, 0)), s.found.sightings.push(own)).0
    });
    // Requests of somebody else, and read ahead, are other matters.
    twin(Verb::Read, |s| moved(s, (9 * GIB / 4096, 9 * GIB), (0, 0)));
    twin(Verb::Write, |s| moved(s, (0, 0), (GIB / 4096, GIB + GIB / 4)));
}

fn syncs(stage: &mut Stage, count: u64, ns: u64, write_cache: Option<&str>, flushes: u64) {
    let mut line = Line::empty("fsync", Verb::Fsync);
    line.operations = count;
    (0..count).for_each(|index| line.latency.add(ns + index % 10));
    sized(stage, count, 64 << 10);
    stage.record().tally.lines.push(line);
    stage.found.sightings.clear();
    let facts =
        iodyno_model::TargetFacts { write_cache: write_cache.map(Into::into), ..facts("ext4", "sda") };
    stage.found.sightings.push(Sighting::Target(Box::new(facts)));
    let device = DeviceActivity {
        device: "sda".into(),
        write_bytes: count * (64 << 10),
        writes: count,
        flushes,
        ..DeviceActivity::default()
    };
    stage.found.sightings.push(Sighting::Device(device));
}

/// Judged on a kernel of this release.
fn on_kernel(stage: &Stage, kernel: &str) -> Vec<u8> {
    let mut record = Record::default();
    record.machine.kernel = kernel.into();
    record.phases.push(stage.found.clone());
    let phase = Phase { name: stage.found.name.clone(), jobs: vec![stage.job.clone()], ..Phase::default() };
    let plan = Plan { targets: vec![stage.target.clone()], phases: vec![phase], ..Plan::default() };
    iodyno_truth::judge(&plan, &record).iter().map(|finding| finding.code).collect()
}

#[test]
fn flushes_that_never_came() {
    let judged = |cache: Option<&str>, flushes: u64, kernel: &str| {
        let mut stage = honest(Verb::Write);
        syncs(&mut stage, 2000, 900_000, cache, flushes);
        on_kernel(&stage, kernel)
    };
    assert_eq!(judged(Some("write back"), 0, "Linux 6.1.0"), [17]);
    assert_eq!(judged(Some("write back"), 2, "Linux 6.1.0"), [17]);
    assert_eq!(judged(Some("write back"), 2000, "Linux 6.1.0"), [0u8; 0]);
    // Workers share a journal's commit, but not by the hundred.
    assert_eq!(judged(Some("write back"), 400, "Linux 6.1.0"), [0u8; 0]);
    assert_eq!(judged(Some("write through"), 0, "Linux 6.1.0"), [0u8; 0]);
    assert_eq!(judged(None, 0, "Linux 6.1.0"), [0u8; 0]);
    assert_eq!(judged(Some("write back"), 0, "Linux 5.4.0"), [0u8; 0], "it does not count them");
}

#[test]
fn nine_syncs_prove_nothing() {
    let judged = |count: u64| {
        let mut stage = honest(Verb::Write);
        syncs(&mut stage, count, 900_000, Some("write back"), 0);
        on_kernel(&stage, "Linux 6.1.0").contains(&17)
    };
    assert!(judged(10) && !judged(9));
}

#[test]
fn syncs_sooner_than_any_storage() {
    let judged = |ns: u64| {
        let mut stage = honest(Verb::Write);
        syncs(&mut stage, 2000, ns, None, 0);
        stage.found.sightings.retain(|sighting| !matches!(sighting, Sighting::Device(_)));
        on_kernel(&stage, "Linux 6.1.0")
    };
    assert_eq!(judged(900), [17]);
    assert_eq!(judged(60_000), [0u8; 0]);
}

#[test]
fn another_shape_at_the_device() {
    let note = (19, Severity::Note);
    // Read ahead, merged past the cache, and a large direct one in pieces.
    lie(Verb::Read, note, |s| (s.buffered(), moved(s, (GIB / (128 << 10), GIB), (0, 0))).0);
    lie(Verb::Write, note, |s| moved(s, (0, 0), (GIB >> 20, GIB)));
    lie(Verb::Read, note, |s| (sized(s, 256, 4 << 20), moved(s, (GIB / (512 << 10), GIB), (0, 0))).0);
    twin(Verb::Read, |s| moved(s, (GIB / 4096, GIB), (0, 0)));
    // Writing through the page cache means that it gathers.
    twin(Verb::Write, |s| {
        s.job.finish.sync = Some(Verb::Fsync);
        (s.buffered(), moved(s, (0, 0), (GIB >> 20, GIB))).0
    });
    // A queue's limit cuts a MiB in two; the page cache reads large operations as it likes.
    twin(Verb::Read, |s| (sized(s, 1024, 1 << 20), moved(s, (2048, GIB), (0, 0))).0);
    twin(Verb::Read, |s| {
        (s.buffered(), sized(s, 1024, 1 << 20), moved(s, (GIB / (128 << 10), GIB), (0, 0))).0
    });
    twin(Verb::Read, |s| (s.buffered(), moved(s, (10, GIB), (0, 0)), s.intent = Intent::Cache).0);
}

#[test]
fn the_edges_of_another_shape() {
    let told = |count: u64, bytes: u64, requests: u64, percent: u64| {
        let mut stage = honest(Verb::Read);
        sized(&mut stage, count, bytes);
        moved(&mut stage, (requests, count * bytes / 100 * percent), (0, 0));
        stage.judged().iter().any(|finding| finding.code == 19)
    };
    // Operations that are small, or no longer; four to a request.
    assert!(told(4000, 64 << 10, 1000, 100) && !told(4000, 65 << 10, 1000, 100));
    // As many as tell a mean.
    assert!(told(100, 4096, 10, 100) && !told(99, 4096, 10, 100));
    // What the device moved of what was asked.
    let moved = |percent: u64| told(100_000, 4096, 10_000, percent);
    assert_eq!([79, 81, 129, 131].map(moved), [false, true, true, false]);
}

/// What this program made the storage move.
fn own(stage: &mut Stage, read_bytes: u64, write_bytes: u64) {
    stage.found.sightings.push(Sighting::Own { read_bytes, write_bytes });
}

fn but_for_the_neighbour(stage: &Stage) -> Vec<u8> {
    stage.judged().iter().map(|finding| finding.code).filter(|code| *code != 12).collect()
}

#[test]
fn requests_of_others_are_not_ours() {
    // Large ones that went as they are, beside a neighbour's many small ones.
    let large = |requests: u64, bytes: u64| {
        let mut stage = honest(Verb::Read);
        sized(&mut stage, 256, 4 << 20);
        moved(&mut stage, (requests, bytes), (0, 0));
        own(&mut stage, GIB, 0);
        but_for_the_neighbour(&stage)
    };
    assert_eq!(large(1024 + 50_000, GIB + 50_000 * 4096), [0u8; 0]);
    assert_eq!(large(GIB / (512 << 10), GIB), [19], "in pieces, and nobody else there");
    // Small ones that were read ahead, beside a neighbour that moves twice as much.
    let ahead = staged(Verb::Read, |s| {
        (s.buffered(), moved(s, (GIB / (64 << 10), 3 * GIB), (0, 0)), own(s, GIB, 0)).0
    });
    assert_eq!(but_for_the_neighbour(&ahead), [19]);
}

/// A phase that looks at the names of a set.
fn looks(stage: &mut Stage, count: u64, objects: u64, read_bytes: u64) {
    let items = Items { count: objects, ..Items::default() };
    stage.target.kind = TargetKind::FileSet { root: "/data/set".into(), items };
    stage.record().tally = Default::default();
    let mut line = Line::empty("stat", Verb::Stat);
    line.operations = count;
    stage.record().tally.lines.push(line);
    stage.device(read_bytes);
}

#[test]
fn names_in_memory() {
    let doubtful = (21, Severity::Doubtful);
    lie(Verb::Read, doubtful, |s| looks(s, 10_000, 10_000, 0));
    lie(Verb::Read, doubtful, |s| looks(s, 1_000_000, 10_000, 4096));
    lie(Verb::Read, doubtful, |s| {
        let names = NameCache { dentries: (9000, 9000), inodes: (9000, 9000), dropped: false };
        (looks(s, 10_000, 10_000, 0), s.found.sightings.push(Sighting::Names(names))).0
    });
    twin(Verb::Read, |s| looks(s, 10_000, 10_000, 10_000 * 256));
    twin(Verb::Read, |s| {
        let names = NameCache { dropped: true, ..NameCache::default() };
        (looks(s, 10_000, 10_000, 0), s.found.sightings.push(Sighting::Names(names))).0
    });
    // A handful; names that were made rather than looked at; the caches on purpose.
    twin(Verb::Read, |s| looks(s, 300, 300, 0));
    twin(Verb::Read, |s| (looks(s, 9000, 9000, 0), s.record().tally.lines[0].verb = Verb::Create).0);
    twin(Verb::Read, |s| (looks(s, 9000, 9000, 0), s.intent = Intent::Cache).0);
    twin(Verb::Read, |s| (looks(s, 9000, 9000, 0), s.no_device()).0);
}

/// A sweep over depth with these rates.
fn swept(points: &[(u64, u64)]) -> Vec<u8> {
    let stages = points.iter().map(|(depth, reads)| {
        let mut stage = honest(Verb::Read);
        stage.found.coordinates =
            vec![Coordinate { parameter: Parameter::Depth, value: Value::Number(*depth) }];
        (stage.record().depth, stage.job.depth.most) = (*depth as u32, *depth as u32);
        stage.record().tally.depths = vec![0; *depth as usize + 1];
        stage.record().tally.depths[*depth as usize] = 100_000;
        with_rows(stage.record(), &[*reads; 10]);
        stage.record().tally.lines[0].operations = reads * 10;
        stage
    });
    together(&stages.collect::<Vec<_>>()).iter().map(|finding| finding.code).collect()
}

#[test]
fn sweeps_that_end_before_the_peak() {
    assert_eq!(swept(&[(1, 1000), (2, 2000), (4, 3900)]), [24]);
    assert_eq!(swept(&[(4, 3900), (1, 1000), (2, 2000)]), [24]);
    assert_eq!(swept(&[(1, 1000), (2, 2000), (4, 3900), (8, 4100)]), [0u8; 0]);
    assert_eq!(swept(&[(1, 1000), (32, 8000)]), [0u8; 0], "two points that far apart say nothing of the end");
    assert_eq!(swept(&[(32, 8000)]), [0u8; 0]);
}

/// A device that was busy so much of ten seconds.
fn busy(stage: &mut Stage, depth: u32, percent: u64) {
    (stage.record().depth, stage.job.depth.most) = (depth, depth);
    stage.record().tally.depths = vec![0; depth as usize + 1];
    stage.record().tally.depths[depth as usize] = 100_000;
    stage.found.elapsed_ns = 10 * SECOND;
    moved(stage, (GIB / 4096, GIB), (0, 0));
    for sighting in &mut stage.found.sightings {
        if let Sighting::Device(device) = sighting {
            device.busy_ns = percent * SECOND / 10;
        }
    }
}

#[test]
fn a_device_that_had_time_to_spare() {
    lie(Verb::Read, (24, Severity::Note), |s| busy(s, 8, 60));
    twin(Verb::Read, |s| busy(s, 8, 99));
    // The processors were the limit, which is another matter.
    let busy_machine = staged(Verb::Read, |s| {
        let interval_ns = 10 * SECOND;
        let processors = iodyno_model::ProcessorActivity {
            cpus: 2,
            busy_ns: 20 * SECOND,
            interval_ns,
            ..Default::default()
        };
        (busy(s, 8, 60), s.found.sightings.push(Sighting::Processors(processors))).0
    });
    assert!(busy_machine.caught().iter().all(|(code, _)| *code != 24), "{:?}", busy_machine.judged());
    // A neighbour that moves as much again does not hide it.
    let beside = staged(Verb::Read, |s| {
        busy(s, 8, 60);
        for sighting in &mut s.found.sightings {
            if let Sighting::Device(device) = sighting {
                device.read_bytes *= 2;
            }
        }
        own(s, GIB, 0);
    });
    assert_eq!(but_for_the_neighbour(&beside), [24]);
    // Flushes do not count as busy.
    twin(Verb::Read, |s| {
        let mut line = Line::empty("fsync", Verb::Fsync);
        line.operations = 1000;
        (busy(s, 8, 60), s.record().tally.lines.push(line)).0
    });
    // What it moved besides, and less than was asked; a phase that is too short for its clock.
    let share = |percent: u64| {
        let mut stage = honest(Verb::Read);
        busy(&mut stage, 8, 60);
        for sighting in &mut stage.found.sightings {
            if let Sighting::Device(device) = sighting {
                (device.read_bytes, device.write_bytes) = (GIB / 100 * percent, 0);
            }
        }
        stage.judged().iter().any(|finding| finding.code == 24)
    };
    assert_eq!([89, 91, 119, 121].map(share), [false, true, true, false]);
    let lasting = |ns: u64| {
        let mut stage = honest(Verb::Read);
        busy(&mut stage, 8, 2);
        stage.found.elapsed_ns = ns;
        stage.judged().iter().any(|finding| finding.code == 24)
    };
    assert!(lasting(SECOND / 2) && !lasting(SECOND / 2 - 1));
    // One at a time is how long one takes.
    twin(Verb::Read, |s| busy(s, 1, 60));
    twin(Verb::Read, |s| (busy(s, 8, 60), s.job.pace.think = Some(Default::default())).0);
}

fn whole_device(stage: &mut Stage, span: Extent) {
    stage.intent = Intent::WholeDevice;
    stage.target.kind = TargetKind::Device { path: "/dev/sda".into() };
    let Workload::Pattern(pattern) = &mut stage.job.workload else { unreachable!() };
    pattern.span.length = span;
}

#[test]
fn short_strokes() {
    lie(Verb::Read, (25, Severity::Invalid), |s| whole_device(s, Extent::Percent(10.0)));
    lie(Verb::Read, (25, Severity::Doubtful), |s| whole_device(s, Extent::Percent(80.0)));
    // From one end to the other, as far as it came.
    lie(Verb::Read, (25, Severity::Invalid), |s| {
        whole_device(s, Extent::Rest);
        let Workload::Pattern(pattern) = &mut s.job.workload else { unreachable!() };
        pattern.pick.read = Pick::Sequential;
    });
    twin(Verb::Read, |s| whole_device(s, Extent::Rest));
    twin(Verb::Read, |s| (whole_device(s, Extent::Percent(10.0)), s.intent = Intent::Device).0);
}

#[test]
fn phases_that_nobody_planned_are_left_alone() {
    let record = Record { phases: vec![PhaseRecord::default()], ..Record::default() };
    assert_eq!(iodyno_truth::judge(&Plan::default(), &record), []);
}
