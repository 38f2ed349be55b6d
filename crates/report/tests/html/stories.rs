//! Made-up runs with everything that a report can show. Nothing here was measured.

use iodyno_model::histogram::coarse_of;
use iodyno_model::{
    Coordinate, CpuShares, DemandRecord, DeviceActivity, Figure, Finding, FindingKind, Histogram, JobRecord,
    Line, Machine, MemoryLevels, Parameter, PhaseRecord, Plan, Pressure, Record, RunStart, Sample, Series,
    SeriesRow, Severity, Sighting, TargetFacts, Value, Verb, WorkerRecord, WorldFacts,
};
use iodyno_report::html::Run;
use iodyno_report::shape::Context;

/// Numbers that look like noise and are always the same.
struct Noise(u64);

impl Noise {
    /// Between -1 and 1.
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }
}

/// A run as the page is told it.
pub fn run(title: &str, record: &Record) -> Run {
    let started = RunStart {
        plan: Plan { name: record.name.clone(), seed: record.seed, ..Plan::default() },
        targets: vec![TargetFacts {
            target: "data".into(),
            path: "/srv/data".into(),
            file_system: Some("xfs".into()),
            device: Some("nvme0n1".into()),
            scheduler: Some(if title.contains('B') { "mq-deadline" } else { "none" }.into()),
            size_bytes: Some(1 << 40),
            ..TargetFacts::default()
        }],
        machine: record.machine.clone(),
        at_unix_ns: 1_794_000_000_000_000_000,
        world: WorldFacts::alone("bench-7"),
    };
    Run { title: title.into(), ..Run::of(&Context { started: Some(Box::new(started)) }, record) }
}

fn machine() -> Machine {
    Machine {
        host: "bench-7".into(),
        kernel: "Linux 6.18.2".into(),
        processor: "a processor with sixteen cores".into(),
        cpus: 16,
        memory_bytes: 64 << 30,
        clock: "tsc, 17 ns".into(),
        version: "0.1.0".into(),
        facts: vec![("governor".into(), "performance".into()), ("mitigations".into(), "on".into())],
    }
}

fn record(name: &str, phases: Vec<PhaseRecord>) -> Record {
    Record { name: name.into(), seed: 1, phases, machine: machine(), ..Record::default() }
}

/// Latencies around a centre, with a tail.
fn latencies(centre_ns: f64, count: u64, noise: &mut Noise) -> Histogram {
    let mut histogram = Histogram::default();
    for at in 0..count {
        let bell = noise.next() + noise.next() + noise.next();
        let tail = if at % 97 == 0 { 3.0 + noise.next() * 2.0 } else { 0.0 };
        histogram.add((centre_ns * (bell * 0.25 + tail * 0.8).exp()) as u64);
    }
    histogram
}

fn line(label: &str, verb: Verb, operations: u64, block: u64, latency: Histogram) -> Line {
    Line { operations, bytes: operations * block, latency, ..Line::empty(label, verb) }
}

fn coarse(histogram: &Histogram) -> Vec<(u16, u32)> {
    let mut row: Vec<(u16, u32)> = Vec::new();
    for (bucket, count) in histogram.buckets() {
        let bucket = coarse_of(*bucket as usize) as u16;
        match row.last_mut() {
            Some(last) if last.0 == bucket => last.1 += *count as u32,
            _ => row.push((bucket, *count as u32)),
        }
    }
    row
}

/// A long mixed job: it slows down after a while, and stops for a moment now and then.
pub fn long(speed: f64, rows: usize, seed: u64) -> Record {
    let noise = &mut Noise(seed);
    let interval_ns = 8_000_000_000;
    let mut series = Series { interval_ns, ..Series::default() };
    for at in 0..rows {
        let cliff = if at > rows / 3 { 0.62 } else { 1.0 };
        let stall = if at % 211 == 210 { 0.1 } else { 1.0 };
        let rate = 9_000.0 * speed * cliff * stall * (1.0 + 0.04 * noise.next());
        let histogram = latencies(110_000.0 / (speed * cliff), 400, noise);
        let reads = (rate * 8.0 * 0.7) as u64;
        let writes = (rate * 8.0 * 0.3) as u64;
        series.rows.push(SeriesRow {
            reads,
            read_bytes: reads * 4096,
            writes,
            write_bytes: writes * 4096,
            latency_sum_ns: ((reads + writes) as f64 * histogram.mean()) as u64,
            latency_max_ns: (histogram.max as f64 / stall) as u64,
            ..SeriesRow::default()
        });
        series.latencies.push(coarse(&histogram));
    }
    let sum = |of: fn(&SeriesRow) -> u64| series.rows.iter().map(of).sum::<u64>();
    let elapsed_ns = interval_ns * rows as u64;
    let mut job =
        JobRecord { name: "mixed".into(), engine: "io_uring".into(), depth: 16, ..JobRecord::default() };
    job.tally.lines = vec![
        line("read", Verb::Read, sum(|row| row.reads), 4096, latencies(110_000.0 / speed, 60_000, noise)),
        line("write", Verb::Write, sum(|row| row.writes), 4096, latencies(38_000.0 / speed, 30_000, noise)),
    ];
    job.tally.last_done_ns = elapsed_ns;
    job.workers = (0..16).map(|index| worker(index, elapsed_ns, noise)).collect();
    let samples = samples(&series, noise);
    job.tally.series = series;
    let phase = PhaseRecord {
        name: "mixed".into(),
        elapsed_ns,
        jobs: vec![job],
        samples,
        sightings: sightings(),
        ..PhaseRecord::default()
    };
    let demands = vec![DemandRecord {
        text: "read.p99 > 5ms".into(),
        place: "mixed".into(),
        found: Some(1_400_000.0),
        unit: "ns".into(),
        failed: false,
    }];
    Record { findings: findings(), demands, ..record("two hours of mixed load", vec![phase]) }
}

fn worker(index: u32, elapsed_ns: u64, noise: &mut Noise) -> WorkerRecord {
    let operations = (2_000_000.0 * (1.0 + 0.1 * noise.next())) as u64;
    WorkerRecord {
        index,
        operations,
        bytes: operations * 4096,
        ended_ns: elapsed_ns,
        user_ns: elapsed_ns / 40,
        system_ns: elapsed_ns / 12,
        ..WorkerRecord::default()
    }
}

fn samples(series: &Series, noise: &mut Noise) -> Vec<Sample> {
    let sample = |(at, row): (usize, &SeriesRow)| {
        let device = DeviceActivity {
            device: "nvme0n1".into(),
            reads: row.reads,
            read_bytes: row.read_bytes,
            writes: row.writes,
            write_bytes: (row.write_bytes as f64 * 1.2) as u64,
            busy_ns: (series.interval_ns as f64 * (0.9 + 0.05 * noise.next())) as u64,
            interval_ns: series.interval_ns,
            ..DeviceActivity::default()
        };
        Sample {
            at_ns: (at as u64 + 1) * series.interval_ns,
            interval_ns: series.interval_ns,
            devices: vec![device],
            cpu: Some(CpuShares {
                user_percent: 11.0 + 3.0 * noise.next(),
                system_percent: 24.0 + 4.0 * noise.next(),
                iowait_percent: 9.0 + 2.0 * noise.next(),
                ..CpuShares::default()
            }),
            memory: Some(MemoryLevels {
                dirty_bytes: ((at % 40) as u64 + 1) << 23,
                writeback_bytes: ((at % 7) as u64) << 20,
                cached_bytes: 9 << 30,
                available_bytes: 40 << 30,
            }),
            pressure: Some(Pressure {
                io_some_ns: (series.interval_ns as f64 * (0.4 + 0.2 * noise.next())) as u64,
                cpu_some_ns: series.interval_ns / 50,
                interval_ns: series.interval_ns,
                ..Pressure::default()
            }),
            ..Sample::default()
        }
    };
    series.rows.iter().enumerate().map(sample).collect()
}

fn sightings() -> Vec<Sighting> {
    let device = DeviceActivity {
        device: "nvme0n1".into(),
        reads: 123_456,
        read_bytes: 1 << 33,
        busy_ns: 6_000_000_000_000,
        ..DeviceActivity::default()
    };
    let blind =
        Sighting::CannotTell { witness: "clock".into(), reason: "there is no second clock here".into() };
    vec![Sighting::Device(device), blind]
}

fn findings() -> Vec<Finding> {
    let finding = |code, severity, sentence: &str, advice: &str, figures: Vec<Figure>| Finding {
        code,
        kind: FindingKind::numbered(code),
        severity,
        phase: "mixed".into(),
        job: Some("mixed".into()),
        sentence: sentence.into(),
        figures,
        advice: advice.into(),
        remedy: None,
        explained_by: None,
    };
    vec![
        finding(
            11,
            Severity::Doubtful,
            "the device ran on credit: after 40 min 8 s it fell to 62 % of its rate, and stayed there",
            "measure until the rate is steady: --until-steady",
            vec![Figure::new("rate before", 9000.0, "1/s"), Figure::new("rate after", 5580.0, "1/s")],
        ),
        finding(
            7,
            Severity::Note,
            "somebody else wrote to nvme0n1 meanwhile",
            "measure while nobody else works there",
            vec![Figure::new("written by others", 5.2e9, "bytes"), Figure::new("share", 16.7, "%")],
        ),
    ]
}

/// A depth sweep with a knee, and a surface of size and depth.
pub fn sweeps() -> Record {
    let noise = &mut Noise(3);
    let mut phases = Vec::new();
    for depth in [1u64, 2, 4, 8, 16, 32, 64, 128] {
        let rate = (depth.min(16) as f64 * 9_000.0 + depth as f64 * 40.0) as u64;
        let place = vec![coordinate(Parameter::Depth, depth)];
        phases.push(point("randread", place, rate, 4096, depth as f64 * 1e9 / rate as f64, noise));
    }
    for size in [4u64, 16, 64, 256, 1024] {
        for depth in [1u64, 4, 16, 64] {
            let rate = (depth.min(16) as f64 * 9_000.0 / (1.0 + size as f64 / 24.0)) as u64;
            let place =
                vec![coordinate(Parameter::BlockBytes, size << 10), coordinate(Parameter::Depth, depth)];
            phases.push(point("surface", place, rate, size << 10, depth as f64 * 1e9 / rate as f64, noise));
        }
    }
    let mut record = record("how it scales", phases);
    record.phases.iter_mut().enumerate().for_each(|(index, phase)| phase.index = index);
    record.findings.push(Finding {
        code: 3,
        kind: Some(FindingKind::UnwrittenReads),
        severity: Severity::Invalid,
        phase: "randread".into(),
        job: None,
        sentence: "these reads came from the page cache".into(),
        figures: vec![Figure::new("read by the device", 0.0, "bytes")],
        advice: "direct = true, or a span larger than memory".into(),
        remedy: None,
        explained_by: None,
    });
    record
}

fn coordinate(parameter: Parameter, value: u64) -> Coordinate {
    Coordinate { parameter, value: Value::Number(value) }
}

fn point(
    name: &str,
    coordinates: Vec<Coordinate>,
    rate: u64,
    block: u64,
    latency_ns: f64,
    noise: &mut Noise,
) -> PhaseRecord {
    let mut job =
        JobRecord { name: name.into(), engine: "io_uring".into(), depth: 1, ..JobRecord::default() };
    job.tally.lines = vec![line("read", Verb::Read, rate * 2, block, latencies(latency_ns, 3_000, noise))];
    job.tally.last_done_ns = 2_000_000_000;
    job.workers = vec![worker(0, 2_000_000_000, noise)];
    PhaseRecord {
        name: name.into(),
        elapsed_ns: 2_000_000_000,
        coordinates,
        jobs: vec![job],
        ..PhaseRecord::default()
    }
}

/// Five passes over one job.
pub fn passes() -> Record {
    let noise = &mut Noise(31);
    let rates = [1241, 1900, 1862, 1850, 1870].into_iter().enumerate();
    let pass = |(index, rate): (usize, u64)| PhaseRecord {
        index,
        repetition: index as u32,
        ..point("SEQ1M Q8T1 read", Vec::new(), rate, 1 << 20, 80_000.0, noise)
    };
    record("passes", rates.map(pass).collect())
}

/// A test that writes and reads three times, of whose last time the reading was left out.
pub fn repetitions() -> Record {
    let mut noise = Noise(3);
    let mut phase = |name: &str, verb, repetition, mib: u64| {
        let bytes = mib << 20;
        let latency = latencies(80_000.0, 2000, &mut noise);
        let mut job =
            JobRecord { name: name.into(), engine: "psync".into(), depth: 1, ..JobRecord::default() };
        job.tally.lines = vec![Line { bytes, ..line(name, verb, bytes >> 18, 1 << 18, latency) }];
        PhaseRecord {
            name: name.into(),
            repetition,
            elapsed_ns: 1_000_000_000,
            jobs: vec![job],
            ..PhaseRecord::default()
        }
    };
    let (write, read) = (Verb::Write, Verb::Read);
    let phases = vec![
        phase("write", write, 0, 100),
        phase("read", read, 0, 400),
        phase("write", write, 1, 300),
        phase("read", read, 1, 800),
        phase("write", write, 2, 200),
    ];
    record("IOR", phases)
}

/// Names of everything that try to become markup.
pub fn hostile() -> Record {
    const EVIL: &str = "</script><img src=x onerror=\"console.error('broke out')\">\u{2028}<!--'\"&amp;`${1}";
    let mut record = long(1.0, 40, 9);
    record.name = EVIL.into();
    record.machine.host = EVIL.into();
    record.machine.facts.push((EVIL.into(), EVIL.into()));
    record.findings.iter_mut().for_each(|finding| {
        (finding.sentence, finding.advice) = (EVIL.into(), EVIL.into());
        (finding.phase, finding.job) = (EVIL.into(), Some(EVIL.into()));
        finding.figures[0].name = EVIL.into();
    });
    let phase = &mut record.phases[0];
    phase.name = EVIL.into();
    phase.samples.iter_mut().for_each(|sample| sample.devices[0].device = EVIL.into());
    let job = &mut phase.jobs[0];
    (job.name, job.engine) = (EVIL.into(), EVIL.into());
    job.tally.lines[0].label = EVIL.into();
    job.workers[0].failure = Some(EVIL.into());
    record.demands[0].text = EVIL.into();
    record
}
