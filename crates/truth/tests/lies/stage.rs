//! A stage: a phase of one job on one target and what became of it, honest until something is changed.

use iodyno_model::{
    DeviceActivity, Direct, Extent, Finding, Intent, Job, JobRecord, Line, Open, Origin, Pattern, Phase,
    PhaseRecord, Pick, Plan, Prepare, Record, Series, SeriesRow, Severity, Sighting, Target, TargetFacts,
    TargetKind, Verb, WorkerRecord, Workload,
};
use iodyno_truth::judge;

pub const MIB: u64 = 1 << 20;
pub const GIB: u64 = 1 << 30;
pub const SECOND: u64 = 1_000_000_000;
pub const MILLISECOND: u64 = 1_000_000;

/// A phase of one job on one target, and what became of it.
#[derive(Clone)]
pub struct Stage {
    pub target: Target,
    /// Targets besides.
    pub others: Vec<Target>,
    pub job: Job,
    pub found: PhaseRecord,
    pub intent: Intent,
}

/// An honest run: 4 KiB random reads past the cache from a disk that moved them all.
pub fn honest(verb: Verb) -> Stage {
    let kind = TargetKind::File { path: "/data/file".into(), size: Extent::Bytes(GIB) };
    let open = Open { direct: Direct::Yes, ..Open::default() };
    let (prepare, origin) = (Prepare::Filled, Origin::Default);
    let target = Target { name: "file".into(), kind, open, prepare, remove: true, origin };
    let pattern = Pattern::of(verb, Pick::Uniform, 4096);
    let job = Job::new("j", "io_uring", vec![0], Workload::Pattern(Box::new(pattern)));
    let found = PhaseRecord { name: "p".into(), jobs: vec![job_record(verb)], ..PhaseRecord::default() };
    let mut stage = Stage { target, others: Vec::new(), job, found, intent: Intent::Device };
    stage.found.sightings.push(Sighting::Target(Box::new(facts("ext4", "sda"))));
    stage.device(GIB);
    stage
}

pub fn facts(file_system: &str, disk: &str) -> TargetFacts {
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
pub fn job_record(verb: Verb) -> JobRecord {
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

pub fn with_rows(record: &mut JobRecord, reads: &[u64]) {
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
    pub fn device(&mut self, bytes: u64) {
        self.found.sightings.retain(|sighting| !matches!(sighting, Sighting::Device(_)));
        let activity = DeviceActivity {
            device: "sda".into(),
            read_bytes: bytes,
            write_bytes: bytes,
            ..Default::default()
        };
        self.found.sightings.push(Sighting::Device(activity));
    }

    /// All targets, in the plan's order.
    pub fn targets(&self) -> Vec<Target> {
        std::iter::once(&self.target).chain(&self.others).cloned().collect()
    }

    /// A second file on a disk of its own, which moved so much both ways; the job works on both.
    pub fn second_disk(&mut self, bytes: u64) {
        let other = Target { name: "other".into(), ..self.target.clone() };
        let facts = TargetFacts { target: "other".into(), path: "/mnt/other".into(), ..facts("ext4", "sdb") };
        let activity = DeviceActivity {
            device: "sdb".into(),
            read_bytes: bytes,
            write_bytes: bytes,
            ..Default::default()
        };
        self.job.targets.push(1 + self.others.len());
        self.others.push(other);
        self.found.sightings.push(Sighting::Target(Box::new(facts)));
        self.found.sightings.push(Sighting::Device(activity));
    }

    pub fn no_device(&mut self) {
        self.found.sightings.clear();
    }

    pub fn buffered(&mut self) {
        self.target.open.direct = Direct::No;
    }

    pub fn resident(&mut self, before: u64, after: u64) {
        let (target, span_bytes) = ("file".into(), GIB);
        self.found.sightings.push(Sighting::Residency {
            target,
            span_bytes,
            before_bytes: before,
            after_bytes: after,
        });
    }

    pub fn dirty(&mut self, growth: u64) {
        self.found.sightings.push(Sighting::Memory {
            total_bytes: 16 * GIB,
            available_bytes: 8 * GIB,
            dirty_before_bytes: MIB,
            dirty_after_bytes: MIB + growth,
        });
    }

    pub fn record(&mut self) -> &mut JobRecord {
        &mut self.found.jobs[0]
    }

    pub fn judged(&self) -> Vec<Finding> {
        together(std::slice::from_ref(self))
    }

    pub fn caught(&self) -> Vec<(u8, Severity)> {
        self.judged().iter().map(|finding| (finding.code, finding.severity)).collect()
    }
}

/// Several phases of one run.
pub fn together(stages: &[Stage]) -> Vec<Finding> {
    let mut plan = Plan { intent: stages[0].intent, targets: stages[0].targets(), ..Plan::default() };
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

/// What is found where the user said what the way to the storage carries, bit/s.
pub fn told(stage: &Stage, ceiling_bits: Option<u64>) -> Vec<Finding> {
    let phase = Phase { name: stage.found.name.clone(), jobs: vec![stage.job.clone()], ..Phase::default() };
    let plan = Plan { targets: stage.targets(), phases: vec![phase], ceiling_bits, ..Plan::default() };
    judge(&plan, &Record { phases: vec![stage.found.clone()], ..Record::default() })
}

/// A change to an honest run.
pub type Change = fn(&mut Stage);

pub fn staged(verb: Verb, change: Change) -> Stage {
    let mut stage = honest(verb);
    change(&mut stage);
    stage
}

#[track_caller]
pub fn lie(verb: Verb, expected: (u8, Severity), change: Change) {
    assert_eq!(staged(verb, change).caught(), [expected]);
}

#[track_caller]
pub fn twin(verb: Verb, change: Change) {
    assert_eq!(staged(verb, change).judged(), []);
}
