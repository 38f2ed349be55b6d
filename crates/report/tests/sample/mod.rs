//! Stored runs for golden tests: a plan's events as a simple seeded device would have caused them.
//!
//! No disk, no clock, no engine: service times, channels and link speeds in, the same events out on every machine.
#![allow(dead_code)]

use iodyno_model::*;

pub mod recorded;

/// A device of textbook simplicity: so many channels, each with a service time, behind a link.
#[derive(Clone)]
pub struct Device {
    /// One small random read or write, ns.
    pub read_ns: f64,
    pub write_ns: f64,
    /// How many it serves at once.
    pub channels: f64,
    /// What a link or platter moves, bytes per second.
    pub link: f64,
    /// Whether sequential access spares the positioning (disks).
    pub seeks: bool,
    pub sync_ns: f64,
    pub metadata_ns: f64,
    /// Whether the kernel counts what the device does.
    pub counted: bool,
}

/// What goes wrong in a stored run.
#[derive(Clone, Copy, Default)]
pub struct Trouble {
    /// Writes fail with this error number in phases whose name ends in `write`.
    pub write_errno: Option<i32>,
    /// Ctrl-C after so many phases.
    pub stop_after: Option<usize>,
}

pub const NVME: Device = Device {
    read_ns: 82_000.0,
    write_ns: 19_000.0,
    channels: 48.0,
    link: 3.4e9,
    seeks: false,
    sync_ns: 480_000.0,
    metadata_ns: 6_500.0,
    counted: true,
};

pub const DISK: Device = Device {
    read_ns: 13_100_000.0,
    write_ns: 13_800_000.0,
    channels: 1.0,
    link: 182e6,
    seeks: true,
    sync_ns: 25_000_000.0,
    metadata_ns: 11_000.0,
    counted: true,
};

pub const MEMORY: Device = Device {
    read_ns: 1_150.0,
    write_ns: 1_420.0,
    channels: 1.0,
    link: 9.1e9,
    seeks: false,
    sync_ns: 310.0,
    metadata_ns: 2_100.0,
    counted: false,
};

/// Numbers between 0 and 1 from a seed.
pub struct Noise(u64);

impl Noise {
    pub fn new(seed: u64) -> Self {
        Noise(seed)
    }

    pub fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 11) as f64 / (1u64 << 53) as f64
    }

    /// 1 with a deviation of so many percent to either side.
    fn about(&mut self, percent: f64) -> f64 {
        1.0 + (self.next() * 2.0 - 1.0) * percent / 100.0
    }
}

/// The machine of all stored runs.
pub fn machine() -> Machine {
    Machine {
        host: "bench".into(),
        kernel: "Linux 6.1.0".into(),
        processor: "Example CPU".into(),
        cpus: 8,
        memory_bytes: 16 << 30,
        clock: "tsc, 16 ns".into(),
        version: "0.1.0".into(),
        facts: Vec::new(),
    }
}

/// The events of a plan that is already expanded.
pub fn events(
    plan: &Plan,
    device: &Device,
    targets: Vec<TargetFacts>,
    findings: Vec<Finding>,
    trouble: Trouble,
) -> Vec<Event> {
    let mut noise = Noise::new(plan.seed);
    let started = RunStart {
        plan: plan.clone(),
        targets,
        machine: machine(),
        at_unix_ns: 1_700_000_000_000_000_000,
        world: Default::default(),
    };
    let mut events = vec![Event::Started(Box::new(started))];
    let mut record = Record {
        name: plan.name.clone(),
        seed: plan.seed,
        machine: machine(),
        findings,
        ..Record::default()
    };
    for (index, phase) in plan.phases.iter().enumerate() {
        if trouble.stop_after == Some(index) {
            record.stopped_by = Some(2);
            break;
        }
        events.push(Event::PhaseStarted {
            index,
            count: plan.phases.len(),
            name: phase.name.clone(),
            repetition: phase.repetition,
            coordinates: phase.coordinates.clone(),
        });
        let answer = phase_record(plan, index, phase, device, trouble, &mut noise);
        record.phases.push(answer.clone());
        events.push(Event::PhaseEnded(Box::new(answer)));
    }
    events.extend(record.findings.iter().cloned().map(|finding| Event::Finding(Box::new(finding))));
    events.push(Event::Ended(Box::new(record)));
    events
}

fn phase_record(
    plan: &Plan,
    index: usize,
    phase: &Phase,
    device: &Device,
    trouble: Trouble,
    noise: &mut Noise,
) -> PhaseRecord {
    let jobs: Vec<JobRecord> =
        phase.jobs.iter().map(|job| job_record(plan, phase, job, device, trouble, noise)).collect();
    let elapsed_ns = jobs.iter().map(|job| job.tally.last_done_ns).max().unwrap_or(phase.watch_ns);
    let (reads, writes) = jobs
        .iter()
        .fold((0, 0), |sum, job| (sum.0 + job.tally.bytes(Kind::Read), sum.1 + job.tally.bytes(Kind::Write)));
    let activity = DeviceActivity {
        device: "nvme0n1".into(),
        read_bytes: reads,
        write_bytes: writes,
        reads: reads / 4096,
        writes: writes / 4096,
        busy_ns: (elapsed_ns as f64 * 0.985) as u64,
        weighted_ns: elapsed_ns * u64::from(phase.jobs.first().map_or(1, |job| job.depth.most)),
        interval_ns: elapsed_ns,
        ..DeviceActivity::default()
    };
    let sightings = match device.counted {
        true => vec![Sighting::Device(activity)],
        false => vec![Sighting::CannotTell {
            witness: "diskstats".into(),
            reason: "no block device beneath".into(),
        }],
    };
    PhaseRecord {
        name: phase.name.clone(),
        index,
        repetition: phase.repetition,
        coordinates: phase.coordinates.clone(),
        elapsed_ns,
        jobs,
        sightings,
        samples: Vec::new(),
        cache: None,
        parts: Vec::new(),
    }
}

/// One verb's part in a job: label, verb, share of all operations, bytes of one, its own service time in ns.
struct Part {
    label: String,
    verb: Verb,
    share: f64,
    bytes: u64,
    service_ns: f64,
}

fn three_errors(verb: Verb, errno: i32) -> ErrorCount {
    ErrorCount { verb, errno, count: 3, first_offset: 734_003_200, first_target: 0 }
}

fn job_record(
    plan: &Plan,
    phase: &Phase,
    job: &Job,
    device: &Device,
    trouble: Trouble,
    noise: &mut Noise,
) -> JobRecord {
    let items = match &plan.targets[job.targets[0]].kind {
        TargetKind::FileSet { items, .. } => items.count as f64,
        _ => 1.0,
    };
    let parts = parts(job, device);
    let loads = f64::from(job.depth.most * job.workers);
    let mean_ns: f64 = parts.iter().map(|part| part.share * part.service_ns).sum();
    let mean_bytes: f64 = parts.iter().map(|part| part.share * part.bytes as f64).sum();
    let mut rate = loads.min(device.channels) / mean_ns * 1e9 * noise.about(3.0);
    if mean_bytes > 0.0 {
        rate = rate.min(device.link / mean_bytes * noise.about(1.0));
    }
    let elapsed_ns = job.limit.time_ns.unwrap_or_else(|| {
        let passes = job.limit.passes.unwrap_or(1) as f64;
        (passes * items * parts.len() as f64 / rate * 1e9) as u64
    });
    let operations = rate * elapsed_ns as f64 / 1e9;
    // Little's law: what is in flight waits in proportion to its share of the service time.
    let stretch = loads / rate * 1e9 / mean_ns;
    let mut tally = Tally { last_done_ns: elapsed_ns, first_done_ns: elapsed_ns, ..Tally::default() };
    tally.depths = vec![0; job.depth.most as usize + 1];
    tally.depths[job.depth.most as usize] = operations as u64;
    for part in &parts {
        let failed =
            part.verb.kind() == Kind::Write && trouble.write_errno.is_some() && phase.name.ends_with("write");
        let count = (operations * part.share).round() as u64;
        let line = tally.line_mut(&part.label, part.verb);
        line.latency = spread(count, part.service_ns * stretch);
        line.operations = count;
        line.bytes = count * part.bytes;
        if failed {
            line.failed = 3;
            tally.errors.push(three_errors(part.verb, trouble.write_errno.unwrap_or_default()));
        }
    }
    tally.series = series(&tally, elapsed_ns, noise);
    let workers = (0..job.workers).map(|index| WorkerRecord {
        index,
        operations: tally.all_operations() / u64::from(job.workers),
        bytes: tally.all_bytes() / u64::from(job.workers),
        errors: tally.failed(),
        ended_ns: elapsed_ns - u64::from(index) * 1_000_000,
        ..WorkerRecord::default()
    });
    JobRecord {
        name: job.name.clone(),
        engine: job.engine.clone(),
        depth: job.depth.most,
        workers: workers.collect(),
        tally,
        began_unix_ns: 0,
        worn: None,
        engine_facts: Vec::new(),
        ..JobRecord::default()
    }
}

fn parts(job: &Job, device: &Device) -> Vec<Part> {
    let pattern = match &job.workload {
        Workload::Pattern(pattern) => pattern,
        Workload::Script(script) => {
            let steps = script.steps.iter().filter_map(|step| match &step.action {
                Action::Do(operation) => Some((step, operation.as_ref())),
                Action::Block(_) | Action::Call(_) => None,
            });
            let share = 1.0 / script.steps.len() as f64;
            let part = |(step, operation): (&Step, &Operation)| Part {
                label: step.label.clone(),
                verb: operation.verb,
                share,
                bytes: 0,
                service_ns: device.metadata_ns,
            };
            return steps.map(part).collect();
        }
        Workload::Trace(_) | Workload::Cases(_) | Workload::Exercise(_) => return Vec::new(),
    };
    let sequential = matches!(pattern.pick.read, Pick::Sequential | Pick::Append);
    let syncs: f64 = pattern.every.iter().map(|every| 1.0 / every.operations as f64).sum();
    let total: f64 = pattern.mix.shares.iter().map(|share| share.weight).sum::<f64>() * (1.0 + syncs);
    let data = pattern.mix.shares.iter().filter(|share| share.weight > 0.0).map(|share| {
        let write = share.verb == Verb::Write;
        let bytes = if write { &pattern.size.write } else { &pattern.size.read }.most_bytes().unwrap_or(4096);
        let place_ns = if write { device.write_ns } else { device.read_ns };
        if share.verb.kind() == Kind::Metadata {
            let (label, share) = (share.verb.name().into(), share.weight / total);
            let verb = pattern.mix.shares[0].verb;
            return Part { label, verb, share, bytes: 0, service_ns: device.metadata_ns };
        }
        let place_ns = if device.seeks && sequential || syncs > 0.0 { 3_000.0 } else { place_ns };
        Part {
            label: share.verb.name().into(),
            verb: share.verb,
            share: share.weight / total,
            bytes,
            service_ns: place_ns + bytes as f64 / device.link * 1e9,
        }
    });
    let syncs = pattern.every.iter().map(|every| Part {
        label: every.verb.name().into(),
        verb: every.verb,
        share: 1.0 / every.operations as f64 / (1.0 + syncs),
        bytes: 0,
        service_ns: device.sync_ns,
    });
    data.chain(syncs).collect()
}

/// So many latencies around a mean, with a tail to the right.
fn spread(count: u64, mean_ns: f64) -> Histogram {
    let steps = 400.min(count);
    let mut counts = vec![0; histogram::BUCKETS];
    let (mut given, mut sum, mut least, mut most) = (0, 0, u64::MAX, 0);
    for step in 0..steps {
        let part = (step as f64 + 0.5) / steps as f64;
        // Mean 1 over all parts: 0.85 + 0.15 × an exponential quantile.
        let value = (mean_ns * (0.85 - 0.15 * (1.0 - part).ln())).round() as u64;
        let upto = (count as f64 * (step + 1) as f64 / steps as f64).round() as u64;
        counts[histogram::bucket_of(value)] += upto - given;
        sum += u128::from(value) * u128::from(upto - given);
        (given, least, most) = (upto, value.min(least), value.max(most));
    }
    Histogram::from_counts(counts.into_iter(), sum, if steps == 0 { 0 } else { least }, most)
}

fn series(tally: &Tally, elapsed_ns: u64, noise: &mut Noise) -> Series {
    let interval_ns = 1_000_000_000;
    let seconds = elapsed_ns.div_ceil(interval_ns);
    let share = |count: u64, about: f64| (count as f64 / seconds as f64 * about) as u64;
    let rows = (0..seconds).map(|_| {
        let about = noise.about(6.0);
        SeriesRow {
            reads: share(tally.operations(Kind::Read), about),
            read_bytes: share(tally.bytes(Kind::Read), about),
            writes: share(tally.operations(Kind::Write), about),
            write_bytes: share(tally.bytes(Kind::Write), about),
            ..SeriesRow::default()
        }
    });
    Series { interval_ns, rows: rows.collect(), ..Series::default() }
}

/// Compares text with a golden file, or rewrites it when `IODYNO_BLESS=1`.
pub fn golden(folder: &str, name: &str, text: &str) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden").join(folder).join(name);
    if std::env::var_os("IODYNO_BLESS").is_some_and(|value| value == "1") {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    if expected != text {
        let wrong = text.lines().zip(expected.lines()).position(|(a, b)| a != b);
        let line = wrong.unwrap_or_else(|| text.lines().count().min(expected.lines().count()));
        panic!(
            "golden/{folder}/{name} differs from line {}:\n expected: {:?}\n but was:  {:?}\n(IODYNO_BLESS=1 rewrites it)",
            line + 1,
            expected.lines().nth(line),
            text.lines().nth(line)
        );
    }
}
