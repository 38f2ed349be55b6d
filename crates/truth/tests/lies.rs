//! Each known lie, staged as data, and an honest twin that must stay silent. No disk, no clock.

use iodyno_model::{
    DeviceActivity, Direct, ErrorCount, Extent, Finding, Finish, Intent, Job, JobRecord, Line, Open, Origin,
    Pattern, Phase, PhaseRecord, Pick, Plan, Prepare, Rate, Record, Series, SeriesRow, Severity, Sighting,
    Target, TargetFacts, TargetKind, Verb, WorkerRecord, Workload,
};
use iodyno_truth::judge;

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
const SECOND: u64 = 1_000_000_000;
const MILLISECOND: u64 = 1_000_000;

/// A phase of one job on one target, and what became of it.
#[derive(Clone)]
struct Stage {
    target: Target,
    job: Job,
    found: PhaseRecord,
    intent: Intent,
}

/// An honest run: 4 KiB random reads past the cache from a disk that moved them all.
fn honest(verb: Verb) -> Stage {
    let kind = TargetKind::File { path: "/data/file".into(), size: Extent::Bytes(GIB) };
    let open = Open { direct: Direct::Yes, ..Open::default() };
    let (prepare, origin) = (Prepare::Filled, Origin::Default);
    let target = Target { name: "file".into(), kind, open, prepare, remove: true, origin };
    let pattern = Pattern::of(verb, Pick::Uniform, 4096);
    let job = Job::new("j", "io_uring", vec![0], Workload::Pattern(Box::new(pattern)));
    let found = PhaseRecord { name: "p".into(), jobs: vec![job_record(verb)], ..PhaseRecord::default() };
    let mut stage = Stage { target, job, found, intent: Intent::Device };
    stage.found.sightings.push(Sighting::Target(Box::new(facts("ext4", "sda"))));
    stage.device(GIB);
    stage
}

fn facts(file_system: &str, disk: &str) -> TargetFacts {
    TargetFacts {
        target: "file".into(),
        path: "/data/file".into(),
        file_system: Some(file_system.into()),
        disk: Some(disk.into()),
        size_bytes: Some(100 * GIB),
        ..TargetFacts::default()
    }
}

/// A GiB in 4 KiB operations over ten seconds.
fn job_record(verb: Verb) -> JobRecord {
    let mut line = Line::empty(verb.name(), verb);
    (line.operations, line.bytes) = (GIB / 4096, GIB);
    (0..30_000u64).for_each(|index| line.latency.add(100_000 + index % 1000));
    let mut record =
        JobRecord { name: "j".into(), engine: "io_uring".into(), depth: 1, ..JobRecord::default() };
    record.tally.lines.push(line);
    record.tally.depths = vec![0, GIB / 4096];
    (record.tally.first_done_ns, record.tally.last_done_ns) = (10 * SECOND, 10 * SECOND);
    record.workers.push(WorkerRecord { operations: GIB / 4096, bytes: GIB, ..WorkerRecord::default() });
    with_rows(&mut record, &[26_214; 10]);
    record
}

fn with_rows(record: &mut JobRecord, reads: &[u64]) {
    let row = |reads: &u64| SeriesRow { reads: *reads, read_bytes: reads * 4096, ..SeriesRow::default() };
    let mut rows: Vec<SeriesRow> = reads.iter().map(row).collect();
    // The row that was cut off at the end.
    rows.push(SeriesRow::default());
    record.tally.series = Series { interval_ns: SECOND, rows, ..Series::default() };
    let end = reads.len() as u64 * SECOND + MILLISECOND;
    (record.tally.first_done_ns, record.tally.last_done_ns) = (end, end);
}

impl Stage {
    /// What the disk moved, both ways.
    fn device(&mut self, bytes: u64) {
        self.found.sightings.retain(|sighting| !matches!(sighting, Sighting::Device(_)));
        let activity = DeviceActivity {
            device: "sda".into(),
            read_bytes: bytes,
            write_bytes: bytes,
            ..Default::default()
        };
        self.found.sightings.push(Sighting::Device(activity));
    }

    fn no_device(&mut self) {
        self.found.sightings.clear();
    }

    fn buffered(&mut self) {
        self.target.open.direct = Direct::No;
    }

    fn resident(&mut self, before: u64, after: u64) {
        let (target, span_bytes) = ("file".into(), GIB);
        self.found.sightings.push(Sighting::Residency {
            target,
            span_bytes,
            before_bytes: before,
            after_bytes: after,
        });
    }

    fn dirty(&mut self, growth: u64) {
        self.found.sightings.push(Sighting::Memory {
            total_bytes: 16 * GIB,
            available_bytes: 8 * GIB,
            dirty_before_bytes: MIB,
            dirty_after_bytes: MIB + growth,
        });
    }

    fn record(&mut self) -> &mut JobRecord {
        &mut self.found.jobs[0]
    }

    fn judged(&self) -> Vec<Finding> {
        together(std::slice::from_ref(self))
    }

    fn caught(&self) -> Vec<(u8, Severity)> {
        self.judged().iter().map(|finding| (finding.code, finding.severity)).collect()
    }
}

/// Several phases of one run.
fn together(stages: &[Stage]) -> Vec<Finding> {
    let mut plan =
        Plan { intent: stages[0].intent, targets: vec![stages[0].target.clone()], ..Plan::default() };
    let mut record = Record::default();
    for (index, stage) in stages.iter().enumerate() {
        let (name, repetition) = (stage.found.name.clone(), stage.found.repetition);
        plan.phases.push(Phase { name, repetition, jobs: vec![stage.job.clone()], ..Phase::default() });
        record.phases.push(PhaseRecord { index, ..stage.found.clone() });
    }
    let findings = judge(&plan, &record);
    for finding in &findings {
        assert!(!finding.figures.is_empty() && !finding.sentence.is_empty(), "{finding:?}");
        assert!(!finding.advice.is_empty() && finding.figures.iter().all(|figure| figure.value.is_finite()));
    }
    findings
}

/// A change to an honest run.
type Change = fn(&mut Stage);

fn staged(verb: Verb, change: Change) -> Stage {
    let mut stage = honest(verb);
    change(&mut stage);
    stage
}

#[track_caller]
fn lie(verb: Verb, expected: (u8, Severity), change: Change) {
    assert_eq!(staged(verb, change).caught(), [expected]);
}

#[track_caller]
fn twin(verb: Verb, change: Change) {
    assert_eq!(staged(verb, change).judged(), []);
}

#[test]
fn an_honest_run_is_not_accused() {
    twin(Verb::Read, |_| {});
    twin(Verb::Write, |_| {});
}

#[test]
fn reads_from_the_page_cache() {
    lie(Verb::Read, (1, Severity::Invalid), |s| (s.buffered(), s.device(0)).0);
    lie(Verb::Read, (1, Severity::Doubtful), |s| (s.buffered(), s.device(GIB / 10 * 7)).0);
    twin(Verb::Read, |s| (s.buffered(), s.device(GIB)).0);
    // Past the cache, what the device did not move is another lie (3).
    twin(Verb::Read, |s| s.device(0));
    twin(Verb::Read, |s| (s.buffered(), s.device(0), s.intent = Intent::Cache).0);
    twin(Verb::Read, |s| (s.buffered(), s.device(0), s.intent = Intent::Correctness).0);
    // Nothing was read at all by an engine that only pretends.
    twin(Verb::Read, |s| (s.buffered(), s.device(0), s.record().engine = "null".into()).0);
    // A handful of requests proves nothing.
    twin(Verb::Read, |s| (s.buffered(), s.device(0), s.record().tally.lines[0].bytes = MIB / 2).0);
}

#[test]
fn reads_from_the_page_cache_where_no_device_can_be_watched() {
    lie(Verb::Read, (1, Severity::Invalid), |s| (s.buffered(), s.no_device(), s.resident(GIB, GIB)).0);
    twin(Verb::Read, |s| (s.buffered(), s.no_device(), s.resident(0, GIB)).0);
    twin(Verb::Read, |s| (s.no_device(), s.resident(GIB, GIB)).0);
    // Cannot tell is no accusation.
    twin(Verb::Read, |s| (s.buffered(), s.no_device()).0);
    // Four passes over a span that stayed: three of them came from memory.
    lie(Verb::Read, (1, Severity::Invalid), |s| {
        (s.buffered(), s.no_device(), s.resident(0, GIB), s.record().tally.lines[0].bytes = 4 * GIB).0
    });
    // The same over a span that did not stay.
    twin(Verb::Read, |s| {
        (s.buffered(), s.no_device(), s.resident(0, GIB / 2), s.record().tally.lines[0].bytes = 4 * GIB).0
    });
    // A device that moved it all outweighs what was resident.
    twin(Verb::Read, |s| (s.buffered(), s.resident(GIB, GIB)).0);
}

#[test]
fn writes_absorbed_by_memory() {
    fn synced(stage: &mut Stage) {
        stage.job.finish = Finish { sync: Some(Verb::Fsync), ..Finish::default() };
    }
    lie(Verb::Write, (2, Severity::Invalid), |s| (s.buffered(), s.device(10 * MIB)).0);
    lie(Verb::Write, (2, Severity::Doubtful), |s| (s.buffered(), s.device(GIB / 10 * 8)).0);
    lie(Verb::Write, (2, Severity::Invalid), |s| (s.buffered(), s.no_device(), s.dirty(GIB)).0);
    twin(Verb::Write, |s| (s.buffered(), s.device(GIB)).0);
    twin(Verb::Write, |s| (s.buffered(), s.device(10 * MIB), synced(s)).0);
    twin(Verb::Write, |s| (s.buffered(), s.no_device(), s.dirty(100 * MIB)).0);
    twin(Verb::Write, |s| (s.buffered(), s.no_device(), s.dirty(GIB), synced(s)).0);
    twin(Verb::Write, |s| (s.buffered(), s.no_device()).0);
    twin(Verb::Write, |s| (s.buffered(), s.device(0), s.intent = Intent::Cache).0);
    twin(Verb::Write, |s| (s.buffered(), s.device(0), s.target.open.sync = iodyno_model::OpenSync::Data).0);
}

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
    lie(Verb::Read, (7, Severity::Doubtful), |s| rows(s, &[9000, 9000, 5000, 9000, 9000]));
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

#[test]
fn depth_that_was_never_reached() {
    fn depths(stage: &mut Stage, asked: u32, reached: &[u64]) {
        (stage.record().depth, stage.job.depth.most) = (asked, asked);
        stage.record().tally.depths = reached.to_vec();
    }
    lie(Verb::Read, (13, Severity::Doubtful), |s| {
        (depths(s, 32, &[0, 100_000]), s.record().engine = "psync".into()).0
    });
    lie(Verb::Read, (13, Severity::Doubtful), |s| {
        (depths(s, 2, &[0, 100_000]), s.record().engine = "mmap".into()).0
    });
    lie(Verb::Read, (13, Severity::Doubtful), |s| depths(s, 32, &[0, 50_000, 50_000, 1000]));
    twin(Verb::Read, |s| depths(s, 4, &[0, 1, 1, 1, 100_000]));
    // All complete together and are handed over one after the other.
    twin(Verb::Read, |s| depths(s, 4, &[0, 25_000, 25_000, 25_000, 25_000]));
    twin(Verb::Read, |s| (depths(s, 1, &[0, 100_000]), s.record().engine = "psync".into()).0);
    // Fewer operations than would fill the queue a few times.
    twin(Verb::Read, |s| depths(s, 32, &[0, 50]));
    twin(Verb::Read, |s| (depths(s, 32, &[0, 100_000]), s.job.pace.rate.read = Rate::Operations(1000.0)).0);
}

#[test]
fn errors_that_count_as_work() {
    fn failed(stage: &mut Stage, errno: i32) {
        let verb = stage.record().tally.lines[0].verb;
        stage.record().tally.lines[0].failed = 7;
        let error = ErrorCount { verb, errno, count: 7, first_offset: 8192, first_target: 0 };
        stage.record().tally.errors.push(error);
    }
    let wrong = (20, Severity::Invalid);
    lie(Verb::Read, wrong, |s| failed(s, 5));
    lie(Verb::Read, wrong, |s| failed(s, -1));
    lie(Verb::Read, wrong, |s| (failed(s, -1), s.intent = Intent::Correctness).0);
    lie(Verb::Write, wrong, |s| s.record().tally.lines[0].short = 1);
    lie(Verb::Read, wrong, |s| s.record().tally.lines[0].short = 9);
    lie(Verb::Read, wrong, |s| s.record().workers[0].failure = Some("no memory\nless depth".into()));
    // The last block of a file may be short, once for each worker.
    twin(Verb::Read, |s| s.record().tally.lines[0].short = 1);
    let stage = staged(Verb::Read, |s| failed(s, 5));
    let finding = stage.judged().remove(0);
    assert_eq!(
        finding.sentence,
        "7 of 262151 operations failed, most often read with EIO (first at offset 8192)"
    );
}

#[test]
fn targets_in_disguise() {
    fn lies_on(stage: &mut Stage, file_system: &str, disk: &str) {
        stage.no_device();
        stage.found.sightings.push(Sighting::Target(Box::new(facts(file_system, disk))));
    }
    for memory in ["tmpfs", "ramfs"] {
        let mut stage = honest(Verb::Read);
        lies_on(&mut stage, memory, "");
        // Said once: that its pages are resident is no second lie.
        stage.buffered();
        stage.resident(GIB, GIB);
        assert_eq!(stage.caught(), [(22, Severity::Doubtful)]);
        stage.intent = Intent::Cache;
        assert_eq!(stage.judged(), []);
    }
    lie(Verb::Read, (22, Severity::Doubtful), |s| lies_on(s, "ext4", "zram0"));
    for (file_system, disk) in
        [("overlay", "sda"), ("ext4", "loop3"), ("fuse.sshfs", ""), ("fuseblk", "sdb"), ("nfs4", "")]
    {
        let mut stage = honest(Verb::Read);
        lies_on(&mut stage, file_system, disk);
        assert_eq!(stage.caught(), [(22, Severity::Note)], "{file_system} on {disk}");
    }
    for (file_system, disk) in
        [("ext4", "sda"), ("xfs", "nvme0n1"), ("btrfs", "vda"), ("ext4", "dm-0"), ("zfs", "")]
    {
        let mut stage = honest(Verb::Read);
        lies_on(&mut stage, file_system, disk);
        assert_eq!(stage.judged(), [], "{file_system} on {disk}");
    }
}

#[test]
fn forty_phases_of_one_lie_are_one_finding() {
    let stage = |index: u64| {
        let mut stage = honest(Verb::Read);
        stage.found.name = format!("p{index}");
        stage.buffered();
        stage.device(index * MIB);
        stage
    };
    let stages: Vec<Stage> = (0..40).map(stage).collect();
    let found = together(&stages);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].phase, "p0, p1, p2, p3 and 36 more");
    assert!(found[0].sentence.starts_with("100 % of the bytes read came from the page cache"));
}

/// A small generator, so that the honest runs are the same every time.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % sides
    }

    /// About a Poisson count of this mean.
    fn scatter(&mut self, mean: f64) -> u64 {
        let normal = (0..12).map(|_| self.roll(1 << 20) as f64 / f64::from(1 << 20)).sum::<f64>() - 6.0;
        (mean + normal * mean.sqrt()).max(0.0).round() as u64
    }
}

fn any_honest(dice: &mut Dice) -> Stage {
    let verb = if dice.roll(2) == 0 { Verb::Read } else { Verb::Write };
    let mut stage = honest(verb);
    let bytes = (1 + dice.roll(64)) * 64 * MIB;
    stage.record().tally.lines[0].bytes = bytes;
    // Read-ahead, journals and neighbours: the device moves somewhat more.
    stage.device(bytes + bytes / 100 * dice.roll(30));
    if dice.roll(2) == 0 {
        stage.buffered();
        stage.job.finish.sync = Some(Verb::Fdatasync);
    }
    if dice.roll(3) == 0 {
        stage.resident(dice.roll(GIB), GIB);
    }
    if dice.roll(3) == 0 {
        stage.dirty(dice.roll(50) * MIB / 10);
    }
    let depth = 1 << dice.roll(7);
    (stage.record().depth, stage.job.depth.most) = (depth, depth);
    let mut depths = vec![0; depth as usize + 1];
    let even = dice.roll(2) == 0;
    depths.iter_mut().skip(1).for_each(|count| *count = if even { 5000 } else { 1 });
    depths[depth as usize] += 10_000;
    stage.record().tally.depths = depths;
    let (seconds, mean) = (1 + dice.roll(120), 2.0 * 10f64.powi(dice.roll(5) as i32));
    let rows: Vec<u64> = (0..seconds).map(|_| dice.scatter(mean)).collect();
    with_rows(stage.record(), &rows);
    stage.record().tally.lines[0].short = u64::from(verb == Verb::Read && dice.roll(4) == 0);
    stage
}

#[test]
fn two_hundred_honest_runs_are_not_accused() {
    let mut dice = Dice(20);
    for run in 0..200 {
        let stage = any_honest(&mut dice);
        assert_eq!(stage.judged(), [], "run {run}");
    }
}

/// The same runs with one lie each: the judge is not merely asleep.
#[test]
fn two_hundred_liars_are_caught() {
    let mut dice = Dice(20);
    for run in 0..200 {
        let mut stage = any_honest(&mut dice);
        stage.buffered();
        stage.job.finish.sync = None;
        stage.device(0);
        let codes: Vec<u8> = stage.judged().iter().map(|finding| finding.code).collect();
        assert!(codes == [1] || codes == [2], "run {run}: {codes:?}");
    }
}

/// How much of what a stage read came from the page cache.
fn share(stage: &Stage) -> Option<iodyno_model::CacheShare> {
    let plan = Plan {
        intent: stage.intent,
        targets: vec![stage.target.clone()],
        phases: vec![Phase {
            name: stage.found.name.clone(),
            jobs: vec![stage.job.clone()],
            ..Phase::default()
        }],
        ..Plan::default()
    };
    iodyno_truth::cache::share(&plan, &Record::default(), &stage.found)
}

fn shared(change: Change) -> (Option<u64>, String) {
    let found = share(&staged(Verb::Read, change)).unwrap();
    assert_eq!(found.read_bytes % GIB, 0);
    (found.cached_bytes, found.because)
}

/// A file on a network file system, whose client counted so many bytes.
fn on_nfs(stage: &mut Stage, read_bytes: Option<u64>) {
    stage.no_device();
    let facts = TargetFacts { mount_point: Some("/data".into()), disk: None, ..facts("nfs4", "") };
    stage.found.sightings.push(Sighting::Target(Box::new(facts)));
    match read_bytes {
        Some(read_bytes) => stage.found.sightings.push(Sighting::Mount(iodyno_model::MountActivity {
            mount_point: "/data".into(),
            file_system: "nfs4".into(),
            read_bytes,
            write_bytes: 0,
        })),
        None => stage.found.sightings.push(Sighting::CannotTell {
            witness: "device".into(),
            reason: "/data/file: nfs4: a network file system whose counters cannot be read here".into(),
        }),
    }
}

#[test]
fn the_share_of_the_cache_is_what_no_device_delivered() {
    assert_eq!(shared(|s| (s.buffered(), s.device(GIB / 4)).0).0, Some(GIB / 4 * 3));
    assert_eq!(shared(|s| (s.buffered(), s.device(2 * GIB)).0).0, Some(0));
    assert_eq!(shared(|s| s.buffered()).1, format!("sda delivered {GIB} bytes"));
    // Past the cache nothing came from it, whatever the device says.
    assert_eq!(shared(|s| s.device(0)).0, Some(0));
    assert_eq!(share(&honest(Verb::Write)), None, "nothing was read");
    assert_eq!(share(&staged(Verb::Read, |s| s.record().engine = "null".into())), None);
    let memory = |s: &mut Stage| {
        (s.no_device(), s.found.sightings.push(Sighting::Target(Box::new(facts("tmpfs", ""))))).0
    };
    assert_eq!(shared(memory), (Some(GIB), "/data/file is memory".into()));
    let percent = share(&staged(Verb::Read, |s| (s.buffered(), s.device(GIB / 4)).0)).unwrap().percent();
    assert_eq!(percent, Some(75.0));
}

#[test]
fn what_cannot_be_told_is_not_zero() {
    let (cached, because) = shared(|s| (s.buffered(), on_nfs(s, None)).0);
    assert_eq!(cached, None);
    assert!(because.contains("nfs4") && because.starts_with("/data/file"), "{because}");
    // Nothing lay in the cache, but who knows what the file system keeps besides.
    assert_eq!(shared(|s| (s.buffered(), on_nfs(s, None), s.resident(0, GIB)).0).0, None);
    // What lay there before is a proof, as far as it goes.
    let (cached, because) = shared(|s| (s.buffered(), on_nfs(s, None), s.resident(GIB / 2, GIB)).0);
    assert_eq!(cached, Some(GIB / 2));
    assert!(because.starts_with("at least"), "{because}");
    assert_eq!(shared(|s| (s.buffered(), s.no_device()).0).0, None);
}

#[test]
fn the_client_of_a_network_file_system_is_a_witness() {
    assert_eq!(shared(|s| (s.buffered(), on_nfs(s, Some(GIB / 4))).0).0, Some(GIB / 4 * 3));
    let codes = |read| {
        let mut stage = honest(Verb::Read);
        stage.buffered();
        on_nfs(&mut stage, Some(read));
        stage.caught().into_iter().filter(|(code, _)| *code == 1).collect::<Vec<_>>()
    };
    assert_eq!(codes(0), [(1, Severity::Invalid)]);
    assert_eq!(codes(GIB), []);
}

#[test]
fn pages_that_did_not_leave_are_told() {
    fn stays(stage: &mut Stage, of: &str, left_bytes: u64) {
        let (of, reason) = (of.into(), "mapped".into());
        stage.found.sightings.push(Sighting::Undropped { of, left_bytes, reason });
    }
    lie(Verb::Read, (1, Severity::Note), |s| stays(s, "j", 5 * MIB));
    lie(Verb::Read, (1, Severity::Note), |s| stays(s, "", 0));
    twin(Verb::Read, |s| stays(s, "j", 4096));
    twin(Verb::Read, |s| (stays(s, "j", GIB), s.intent = Intent::Cache).0);
}

#[test]
fn neighbours_on_one_node_share_its_cache() {
    fn shifted(stage: &mut Stage) {
        (stage.job.place, stage.job.workers) = (iodyno_model::Place::ShiftNodes(1), 4);
        stage.buffered();
    }
    lie(Verb::Read, (1, Severity::Note), shifted);
    twin(Verb::Read, |s| (shifted(s), s.target.open.direct = Direct::Yes).0);
    twin(Verb::Read, |s| (shifted(s), s.target.open.invalidate = true).0);
    twin(Verb::Read, |s| (shifted(s), s.job.workers = 1).0);
    twin(Verb::Read, |s| (shifted(s), s.intent = Intent::Cache).0);
    // Repetitions are one matter.
    let mut stages = [staged(Verb::Read, shifted), staged(Verb::Read, shifted)];
    stages[1].found.repetition = 1;
    let findings = together(&stages);
    assert_eq!(findings.len(), 1);
    assert_eq!(findings[0].figures[0], iodyno_model::Figure::new("nodes", 1.0, ""));
}
