//! The run as OpenMetrics text (version 1.0.0, which Prometheus reads): counters of running and finished jobs, latencies,
//! and what the witnesses see.
//!
//! The whole text is written anew at every event that changes it; whoever opens the reporter puts it in the place of the
//! text before. Names end in their units, and times are seconds, as the format asks for.

use std::fmt::Write as _;
use std::io;

use iodyno_model::{
    CpuShares, DeviceActivity, Event, Finding, Histogram, Kind, Live, LiveJob, PhaseRecord, RunStart, Sample,
};

use crate::{Output, Reporter};

/// Every family: its name, its type, its unit where it has one, and what it is.
const FAMILIES: &[(&str, &str, &str, &str)] = &[
    ("iodyno_run", "info", "", "What runs, and where."),
    ("iodyno_running", "gauge", "", "1 while it runs, 0 afterwards."),
    ("iodyno_phase_running", "gauge", "", "The phase that runs."),
    ("iodyno_elapsed_seconds", "gauge", "seconds", "Measured time of a phase."),
    ("iodyno_workers", "gauge", "", "Workers of a job that run."),
    ("iodyno_operations", "counter", "", "Operations that a job completed."),
    ("iodyno_moved_bytes", "counter", "bytes", "Bytes that a job moved."),
    ("iodyno_failures", "counter", "", "Operations of a job that failed."),
    ("iodyno_latency_seconds", "summary", "seconds", "Latency of a job's operations since the phase began."),
    ("iodyno_device_operation_rate", "gauge", "", "Requests that a device completed each second."),
    ("iodyno_device_byte_rate", "gauge", "", "Bytes that a device moved each second."),
    ("iodyno_device_await_seconds", "gauge", "seconds", "Mean time of a device's request."),
    ("iodyno_device_busy_ratio", "gauge", "ratio", "Share of time with a request in flight."),
    ("iodyno_device_depth", "gauge", "", "Requests in flight, the mean over time."),
    ("iodyno_cpu_ratio", "gauge", "ratio", "Shares of the processors' time."),
    ("iodyno_memory_bytes", "gauge", "bytes", "The machine's memory."),
    ("iodyno_pressure_ratio", "gauge", "ratio", "Share of time that work waited."),
    ("iodyno_finding", "gauge", "", "What spoils a figure, by its number in the list of lies."),
];

const QUANTILES: [f64; 5] = [0.5, 0.9, 0.99, 0.999, 0.9999];

/// The shares of the processors' time, by the names that sysstat gave them.
pub fn shares(cpu: &CpuShares) -> [(&'static str, f64); 6] {
    [
        ("user", cpu.user_percent),
        ("nice", cpu.nice_percent),
        ("system", cpu.system_percent),
        ("iowait", cpu.iowait_percent),
        ("steal", cpu.steal_percent),
        ("idle", cpu.idle_percent),
    ]
}

/// A sample's family and its line.
type Lines = Vec<(&'static str, String)>;

/// Writes the metrics.
#[derive(Clone, Debug, Default)]
pub struct Metrics {
    about: Lines,
    finished: Lines,
    findings: Lines,
    phase: Lines,
    live: Lines,
    watched: Lines,
    current: (String, usize),
    running: bool,
}

impl Metrics {
    /// A reporter of metrics.
    pub fn new() -> Self {
        Metrics::default()
    }

    /// The whole text.
    pub fn text(&self) -> String {
        let running = [("iodyno_running", format!("iodyno_running {}\n", u8::from(self.running)))];
        let groups: [&[(&str, String)]; 7] =
            [&self.about, &running, &self.phase, &self.finished, &self.live, &self.watched, &self.findings];
        let mut text = String::new();
        for (name, kind, unit, help) in FAMILIES {
            let lines: Vec<&str> = groups
                .iter()
                .flat_map(|group| group.iter())
                .filter(|(family, _)| family == name)
                .map(|(_, line)| line.as_str())
                .collect();
            if lines.is_empty() {
                continue;
            }
            let _ = writeln!(text, "# TYPE {name} {kind}");
            if !unit.is_empty() {
                let _ = writeln!(text, "# UNIT {name} {unit}");
            }
            let _ = writeln!(text, "# HELP {name} {help}");
            lines.iter().for_each(|line| text.push_str(line));
        }
        text + "# EOF\n"
    }

    fn start(&mut self, started: &RunStart) {
        let machine = &started.machine;
        let labels = labels(&[
            ("plan", &started.plan.name),
            ("host", &machine.host),
            ("kernel", &machine.kernel),
            ("version", &machine.version),
        ]);
        self.about = vec![("iodyno_run", format!("iodyno_run_info{labels} 1\n"))];
        self.running = true;
    }

    fn begin(&mut self, index: usize, name: &str) {
        self.current = (name.into(), index);
        (self.live, self.watched) = (Lines::new(), Lines::new());
        self.phase = Lines::new();
        let place = self.place();
        gauge(&mut self.phase, "iodyno_phase_running", &place, &[], 1.0);
    }

    /// The labels of the running phase.
    fn place(&self) -> Vec<(&'static str, String)> {
        vec![("phase", self.current.0.clone()), ("phase_index", self.current.1.to_string())]
    }

    fn live(&mut self, live: &Live) {
        let place = self.place();
        let mut lines = Lines::new();
        gauge(&mut lines, "iodyno_elapsed_seconds", &place, &[], seconds(live.elapsed_ns));
        for (index, job) in live.jobs.iter().enumerate() {
            let counts = JobCounts::of_live(job);
            counts.write(&mut lines, &with_job(&place, &job.name, index));
        }
        self.live = lines;
    }

    fn end(&mut self, phase: &PhaseRecord) {
        (self.live, self.phase, self.watched) = (Lines::new(), Lines::new(), Lines::new());
        let place = self.place();
        gauge(&mut self.finished, "iodyno_elapsed_seconds", &place, &[], seconds(phase.elapsed_ns));
        for (index, job) in phase.jobs.iter().enumerate() {
            let mut counts = JobCounts { failed: job.tally.failed(), ..JobCounts::default() };
            for line in &job.tally.lines {
                counts.add(direction(line.verb.kind()), line.operations, line.bytes, &line.latency);
            }
            counts.write(&mut self.finished, &with_job(&place, &job.name, index));
        }
    }

    fn watch(&mut self, sample: &Sample) {
        let mut lines = Lines::new();
        sample.devices.iter().for_each(|did| device(&mut lines, did));
        if let Some(cpu) = &sample.cpu {
            for (mode, percent) in shares(cpu) {
                gauge(&mut lines, "iodyno_cpu_ratio", &[], &[("mode", mode)], percent / 100.0);
            }
        }
        if let Some(memory) = &sample.memory {
            for (state, bytes) in [
                ("available", memory.available_bytes),
                ("cached", memory.cached_bytes),
                ("dirty", memory.dirty_bytes),
                ("writeback", memory.writeback_bytes),
            ] {
                gauge(&mut lines, "iodyno_memory_bytes", &[], &[("state", state)], bytes as f64);
            }
        }
        if let Some(pressure) = sample.pressure.as_ref().filter(|pressure| pressure.interval_ns > 0) {
            for (resource, share, ns) in [
                ("cpu", "some", pressure.cpu_some_ns),
                ("memory", "some", pressure.memory_some_ns),
                ("memory", "full", pressure.memory_full_ns),
                ("io", "some", pressure.io_some_ns),
                ("io", "full", pressure.io_full_ns),
            ] {
                let ratio = ns as f64 / pressure.interval_ns as f64;
                let labels = [("resource", resource), ("share", share)];
                gauge(&mut lines, "iodyno_pressure_ratio", &[], &labels, ratio);
            }
        }
        self.watched = lines;
    }

    fn find(&mut self, finding: &Finding) {
        let severity = format!("{:?}", finding.severity).to_lowercase();
        let (code, job) = (finding.code.to_string(), finding.job.clone().unwrap_or_default());
        let labels =
            [("code", code.as_str()), ("severity", &severity), ("phase", &finding.phase), ("job", &job)];
        gauge(&mut self.findings, "iodyno_finding", &[], &labels, 1.0);
        // A label set stands once.
        let mut seen = std::collections::BTreeSet::new();
        self.findings.retain(|(_, line)| seen.insert(line.clone()));
    }
}

impl Reporter for Metrics {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Started(started) => self.start(started),
            Event::PhaseStarted { index, name, .. } => self.begin(*index, name),
            Event::Live(live) => self.live(live),
            Event::Watched(sample) => self.watch(sample),
            Event::PhaseEnded(phase) => self.end(phase),
            Event::Finding(finding) => self.find(finding),
            Event::Ended(_) => self.running = false,
            _ => return Ok(()),
        }
        output.out.write_all(self.text().as_bytes())
    }
}

/// What a job did, by direction.
#[derive(Default)]
struct JobCounts {
    workers: Option<u32>,
    failed: u64,
    kinds: Vec<(&'static str, u64, u64, Histogram)>,
}

impl JobCounts {
    fn of_live(job: &LiveJob) -> Self {
        let mut counts = JobCounts { workers: Some(job.running), failed: job.errors, kinds: Vec::new() };
        let known = job.reads.0 + job.writes.0 + job.trims.0 + job.syncs;
        counts.add("read", job.reads.0, job.read_bytes, &job.latency.read);
        counts.add("write", job.writes.0, job.write_bytes, &job.latency.write);
        counts.add("trim", job.trims.0, job.trim_bytes, &job.latency.trim);
        counts.add("sync", job.syncs, 0, &Histogram::default());
        counts.add("other", job.operations.saturating_sub(known), 0, &Histogram::default());
        counts
    }

    fn add(&mut self, kind: &'static str, operations: u64, bytes: u64, latency: &Histogram) {
        match self.kinds.iter_mut().find(|(known, ..)| *known == kind) {
            Some((_, all, all_bytes, all_latency)) => {
                *all += operations;
                *all_bytes += bytes;
                all_latency.merge(latency);
            }
            None => self.kinds.push((kind, operations, bytes, latency.clone())),
        }
    }

    fn write(&self, lines: &mut Lines, place: &[(&'static str, String)]) {
        if let Some(workers) = self.workers {
            gauge(lines, "iodyno_workers", place, &[], f64::from(workers));
        }
        let all = labels(place);
        lines.push(("iodyno_failures", format!("iodyno_failures_total{all} {}\n", self.failed)));
        for (kind, operations, bytes, latency) in
            self.kinds.iter().filter(|(_, operations, ..)| *operations > 0)
        {
            let mut place = place.to_vec();
            place.push(("kind", (*kind).into()));
            let all = labels(&place);
            lines.push(("iodyno_operations", format!("iodyno_operations_total{all} {operations}\n")));
            if *bytes > 0 {
                lines.push(("iodyno_moved_bytes", format!("iodyno_moved_bytes_total{all} {bytes}\n")));
            }
            summary(lines, &place, latency);
        }
    }
}

/// The quantiles of latencies, with their count and sum.
fn summary(lines: &mut Lines, place: &[(&'static str, String)], latency: &Histogram) {
    const NAME: &str = "iodyno_latency_seconds";
    if latency.is_empty() {
        return;
    }
    for quantile in QUANTILES {
        let mut place = place.to_vec();
        place.push(("quantile", quantile.to_string()));
        let value = seconds(latency.percentile(quantile * 100.0));
        lines.push((NAME, format!("{NAME}{} {value}\n", labels(&place))));
    }
    let all = labels(place);
    lines.push((NAME, format!("{NAME}_count{all} {}\n", latency.count())));
    lines.push((NAME, format!("{NAME}_sum{all} {}\n", latency.sum as f64 / 1e9)));
}

fn device(lines: &mut Lines, did: &DeviceActivity) {
    let name = [("device", did.device.clone())];
    let interval = seconds(did.interval_ns);
    if interval <= 0.0 {
        return;
    }
    for (kind, count, bytes, ns) in [
        ("read", did.reads, did.read_bytes, did.read_ns),
        ("write", did.writes, did.write_bytes, did.write_ns),
        ("discard", did.discards, did.discard_bytes, did.discard_ns),
        ("flush", did.flushes, 0, did.flush_ns),
    ] {
        let kinds = [("kind", kind)];
        gauge(lines, "iodyno_device_operation_rate", &name, &kinds, count as f64 / interval);
        if kind != "flush" {
            gauge(lines, "iodyno_device_byte_rate", &name, &kinds, bytes as f64 / interval);
        }
        if count > 0 {
            gauge(lines, "iodyno_device_await_seconds", &name, &kinds, seconds(ns) / count as f64);
        }
    }
    gauge(lines, "iodyno_device_busy_ratio", &name, &[], seconds(did.busy_ns) / interval);
    gauge(lines, "iodyno_device_depth", &name, &[], seconds(did.weighted_ns) / interval);
}

fn direction(kind: Kind) -> &'static str {
    match kind {
        Kind::Read => "read",
        Kind::Write => "write",
        Kind::Trim => "trim",
        Kind::Sync => "sync",
        Kind::Metadata | Kind::Network | Kind::Control => "other",
    }
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

fn with_job(place: &[(&'static str, String)], job: &str, index: usize) -> Vec<(&'static str, String)> {
    let mut all = place.to_vec();
    all.extend([("job", job.to_string()), ("job_index", index.to_string())]);
    all
}

fn gauge(
    lines: &mut Lines,
    family: &'static str,
    place: &[(&'static str, String)],
    more: &[(&'static str, &str)],
    value: f64,
) {
    let mut all = place.to_vec();
    all.extend(more.iter().map(|(name, value)| (*name, value.to_string())));
    lines.push((family, format!("{family}{} {value}\n", labels(&all))));
}

/// Labels in braces; nothing where there are none. Source of the escapes: OpenMetrics 1.0.0, "label".
pub fn labels<S: AsRef<str>>(labels: &[(&'static str, S)]) -> String {
    if labels.is_empty() {
        return String::new();
    }
    let one = |(name, value): &(&str, S)| {
        let value = value.as_ref().replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        format!("{name}=\"{value}\"")
    };
    format!("{{{}}}", labels.iter().map(one).collect::<Vec<_>>().join(","))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{CpuShares, JobRecord, Line, PerDirection, Plan, Record, Verb};

    fn told(events: &[Event]) -> Vec<String> {
        let mut metrics = Metrics::new();
        let one = |event: &Event| {
            let mut out = Vec::new();
            let mut output = Output { out: &mut out, err: &mut io::sink(), files: &mut crate::NoFiles };
            metrics.event(event, &mut output).unwrap();
            String::from_utf8(out).unwrap()
        };
        events.iter().map(one).collect()
    }

    fn events() -> Vec<Event> {
        let started = RunStart {
            plan: Plan { name: "a\"b\\\n".into(), ..Plan::default() },
            targets: vec![],
            machine: Default::default(),
            at_unix_ns: 0,
            world: Default::default(),
        };
        let begun =
            Event::PhaseStarted { index: 0, count: 1, name: "p".into(), repetition: 0, coordinates: vec![] };
        let mut read = Histogram::default();
        (0..100).for_each(|_| read.add(1_000_000));
        let latency = PerDirection { read: read.clone(), ..PerDirection::default() };
        let job = LiveJob {
            name: "j".into(),
            operations: 100,
            reads: (100, 0),
            read_bytes: 400,
            running: 2,
            latency,
            ..LiveJob::default()
        };
        let live = Live { elapsed_ns: 500_000_000, jobs: vec![job], ..Live::default() };
        let did = DeviceActivity {
            device: "sda".into(),
            reads: 50,
            interval_ns: 500_000_000,
            ..Default::default()
        };
        let sample = Sample { devices: vec![did], cpu: Some(CpuShares::default()), ..Sample::default() };
        let mut ended = JobRecord { name: "j".into(), ..JobRecord::default() };
        ended.tally.lines =
            vec![Line { operations: 150, bytes: 600, latency: read, ..Line::empty("read", Verb::Read) }];
        let phase = PhaseRecord {
            name: "p".into(),
            elapsed_ns: 1_000_000_000,
            jobs: vec![ended],
            ..Default::default()
        };
        vec![
            Event::Started(Box::new(started)),
            begun,
            Event::Live(Box::new(live)),
            Event::Watched(Box::new(sample)),
            Event::PhaseEnded(Box::new(phase)),
            Event::Ended(Box::<Record>::default()),
        ]
    }

    #[test]
    fn counters_of_running_and_finished_jobs_have_the_same_names() {
        let texts = told(&events());
        let labels = "{phase=\"p\",phase_index=\"0\",job=\"j\",job_index=\"0\",kind=\"read\"}";
        assert!(texts[2].contains(&format!("iodyno_operations_total{labels} 100\n")), "{}", texts[2]);
        assert!(texts[3].contains("iodyno_device_operation_rate{device=\"sda\",kind=\"read\"} 100\n"));
        assert!(
            texts[3].contains("iodyno_running 1\n") && texts[3].contains("# UNIT iodyno_cpu_ratio ratio\n")
        );
        let last = &texts[5];
        assert!(
            last.contains(&format!("iodyno_operations_total{labels} 150\n"))
                && last.contains("iodyno_running 0\n")
        );
        assert!(last.contains("plan=\"a\\\"b\\\\\\n\"") && last.ends_with("# EOF\n"), "{last}");
        let quantile = labels.replace('}', ",quantile=\"0.5\"}");
        let line =
            last.lines().find(|line| line.starts_with(&format!("iodyno_latency_seconds{quantile}"))).unwrap();
        let value: f64 = line.rsplit(' ').next().unwrap().parse().unwrap();
        assert!((value - 0.001).abs() < 0.000_02, "{line}");
    }

    #[test]
    fn a_family_stands_once_and_no_line_twice() {
        for text in told(&events()) {
            let mut lines: Vec<&str> = text.lines().collect();
            let count = lines.len();
            lines.sort_unstable();
            lines.dedup();
            assert_eq!(lines.len(), count, "{text}");
        }
    }

    /// The names that samples of a family have.
    fn samples(name: &str, kind: &str) -> Vec<String> {
        let ends: &[&str] = match kind {
            "counter" => &["_total"],
            "info" => &["_info"],
            "summary" => &["", "_sum", "_count"],
            _ => &[""],
        };
        ends.iter().map(|end| format!("{name}{end}")).collect()
    }

    #[test]
    fn the_dashboard_shows_every_metric_and_no_other() {
        let text = include_str!("../../../examples/grafana/iodyno.json");
        let dashboard: serde_json::Value = serde_json::from_str(text).unwrap();
        let known: Vec<String> = FAMILIES.iter().flat_map(|(name, kind, ..)| samples(name, kind)).collect();
        let panels = dashboard["panels"].as_array().unwrap();
        let queries: Vec<&str> = panels
            .iter()
            .flat_map(|panel| panel["targets"].as_array().unwrap())
            .map(|target| target["expr"].as_str().unwrap())
            .collect();
        let is_of_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
        let words = queries.iter().flat_map(|query| query.split(|letter| !is_of_name(letter)));
        let named: Vec<&str> = words.filter(|word| word.starts_with("iodyno_")).collect();
        let unknown = named.iter().find(|name| known.iter().all(|known| known != *name));
        assert_eq!(unknown, None, "the dashboard asks for what is not published");
        let missing = FAMILIES.iter().find(|(name, kind, ..)| {
            samples(name, kind).iter().all(|sample| !named.contains(&sample.as_str()))
        });
        assert_eq!(missing, None, "the dashboard leaves out a metric");
    }
}
