//! What happens during a run as lines of JSON, each written when it happens: for programs that show a run while it lasts.
//!
//! Rates and latencies are those of the interval that has just ended. Where counters began again (behind the ramp) there is no
//! such interval, and nothing is said. It refuses to keep a line back: each is flushed.

use std::io;

use iodyno_model::histogram::{BUCKETS, middle};
use iodyno_model::{
    Diagnostic, Event, Finding, Histogram, Live, LiveJob, Origin, Phase, PhaseRecord, Plan, RunStart, Sample,
    WorkerState,
};
use serde_json::{Value, json};

use iodyno_report::live::planned_ns;
use iodyno_report::{Output, Reporter};

/// The version of the lines: more may be said in each, nothing else changes.
const FORMAT: &str = "iodyno.progress/1";
/// Devices of a line at most, the busiest.
const DEVICES_MOST: usize = 8;

/// The file that `--progress` names, and the other arguments.
///
/// # Errors
/// It names nothing.
pub fn take(arguments: &[String]) -> Result<(Option<String>, Vec<String>), Diagnostic> {
    const OPTION: &str = "--progress";
    let (mut path, mut kept) = (None, Vec::new());
    let mut words = arguments.iter();
    while let Some(word) = words.next() {
        match word.strip_prefix(OPTION) {
            Some("") => path = words.next().cloned().or(Some(String::new())),
            Some(rest) if rest.starts_with('=') => path = Some(rest[1..].to_string()),
            _ => kept.push(word.clone()),
        }
    }
    if path.as_deref() == Some("") {
        let wrong = Diagnostic::error(&Origin::argument(OPTION), "a file must follow");
        return Err(wrong.hint("--progress FILE; /dev/stderr and /dev/stdout are taken too"));
    }
    Ok((path, kept))
}

/// Writes the lines.
#[derive(Debug, Default)]
pub struct ProgressLines {
    /// What each phase takes at most, ns; 0: cannot be told.
    phases_ns: Vec<u64>,
    /// Whether each phase begins with a ramp.
    ramps: Vec<bool>,
    phase: usize,
    /// Whether the ramp had not ended at the last live line: counters begin again behind it.
    ramping: bool,
    last: Live,
    /// Latencies of the last live line, of all jobs.
    last_latency: Histogram,
    /// Findings that were told, as they are told.
    told: Vec<Value>,
}

impl ProgressLines {
    /// A reporter of lines.
    pub fn new() -> Self {
        ProgressLines::default()
    }

    fn start(&mut self, started: &RunStart) -> Value {
        let alone = |phase: &Phase| planned_ns(&Plan { phases: vec![phase.clone()], ..Plan::default() });
        self.phases_ns = started.plan.phases.iter().map(alone).collect();
        let has_ramp = |phase: &Phase| phase.jobs.iter().any(|job| job.limit.ramp_ns > 0);
        self.ramps = started.plan.phases.iter().map(has_ramp).collect();
        let phases = started.plan.phases.iter().zip(&self.phases_ns);
        let phases: Vec<Value> =
            phases.map(|(phase, ns)| json!({ "name": phase.name, "planned_ns": known(*ns) })).collect();
        let machine = &started.machine;
        json!({
            "event": "started", "format": FORMAT, "plan": started.plan.name, "host": machine.host, "cpus": machine.cpus,
            "at_unix_ns": started.at_unix_ns, "ranks": started.world.ranks(), "hosts": started.world.hosts, "phases": phases,
        })
    }

    fn live(&mut self, live: &Live) -> Value {
        let latency = latency(live);
        let states: Vec<(WorkerState, u32)> =
            live.jobs.iter().flat_map(|job| job.states.iter().copied()).collect();
        let ramping = states.iter().any(|(state, _)| *state == WorkerState::Ramping);
        // Counters that are smaller began again, too: the ramps of several jobs end one by one.
        let restarted = live.elapsed_ns <= self.last.elapsed_ns
            || counted(live) < counted(&self.last)
            || (self.ramping && !ramping);
        self.ramping = ramping;
        let since_ns = live.elapsed_ns.saturating_sub(self.last.elapsed_ns);
        let rate = |of: fn(&LiveJob) -> u64| {
            let sum = |live: &Live| live.jobs.iter().map(of).sum::<u64>();
            let more = sum(live).saturating_sub(sum(&self.last));
            (!restarted).then(|| more as f64 * 1e9 / since_ns as f64)
        };
        let new = (!restarted).then(|| difference(&latency, &self.last_latency)).flatten();
        let in_phase = self.in_phase_ns(live);
        let value = json!({
            "event": "live", "phase": live.phase, "elapsed_ns": live.elapsed_ns,
            "phase_left_ns": in_phase, "left_ns": self.left_ns(in_phase),
            "ramping": ramping,
            "running": live.jobs.iter().map(|job| job.running).sum::<u32>(),
            "operations": live.jobs.iter().map(|job| job.operations).sum::<u64>(),
            "bytes": live.jobs.iter().map(|job| job.read_bytes + job.write_bytes).sum::<u64>(),
            "errors": live.jobs.iter().map(|job| job.errors).sum::<u64>(),
            "rate": {
                "operations": rate(|job| job.operations), "reads": rate(|job| job.reads.0), "writes": rate(|job| job.writes.0),
                "read_bytes": rate(|job| job.read_bytes), "write_bytes": rate(|job| job.write_bytes),
            },
            "latency_ns": new.as_ref().map(figures),
            "latency_so_far_ns": (!latency.is_empty()).then(|| figures(&latency)),
            "jobs": live.jobs.iter().map(job).collect::<Vec<_>>(),
        });
        (self.last, self.last_latency) = (live.clone(), latency);
        value
    }

    /// Time left in the running phase, ns.
    fn in_phase_ns(&self, live: &Live) -> Option<u64> {
        let planned = self.phases_ns.get(self.phase).copied().and_then(known);
        live.left_ns.or_else(|| planned.map(|ns| ns.saturating_sub(live.elapsed_ns)))
    }

    /// Time left in the whole run, ns, if every phase that is still to come has a limit.
    fn left_ns(&self, in_phase_ns: Option<u64>) -> Option<u64> {
        let later = self.phases_ns.get(self.phase + 1..)?;
        let is_known = later.iter().all(|ns| *ns > 0);
        in_phase_ns.filter(|_| is_known).map(|ns| later.iter().fold(ns, |sum, ns| sum.saturating_add(*ns)))
    }

    fn found(&mut self, finding: &Finding) -> Option<Value> {
        let value = json!({
            "event": "finding", "code": finding.code, "severity": format!("{:?}", finding.severity).to_lowercase(),
            "phase": finding.phase, "job": finding.job, "sentence": finding.sentence, "advice": finding.advice,
            "figures": finding.figures.iter().map(figure).collect::<Vec<_>>(),
        });
        if self.told.contains(&value) {
            return None;
        }
        self.told.push(value.clone());
        Some(value)
    }

    fn lines(&mut self, event: &Event) -> Vec<Value> {
        match event {
            Event::Started(started) => vec![self.start(started)],
            Event::Preparing { target, done_bytes, total_bytes } => {
                vec![
                    json!({ "event": "preparing", "target": target, "done_bytes": done_bytes, "total_bytes": total_bytes }),
                ]
            }
            Event::LayingOut { job, files, total_bytes } => {
                vec![json!({ "event": "laying out", "job": job, "files": files, "total_bytes": total_bytes })]
            }
            Event::PhaseStarted { index, count, name, repetition, coordinates } => {
                (self.last, self.last_latency) = (Live::default(), Histogram::default());
                self.phase = *index;
                self.ramping = self.ramps.get(*index).copied().unwrap_or_default();
                let place: Vec<String> = coordinates.iter().map(ToString::to_string).collect();
                vec![json!({
                    "event": "phase started", "phase": index, "phases": count, "name": name, "repetition": repetition,
                    "place": place, "planned_ns": self.phases_ns.get(*index).copied().and_then(known),
                })]
            }
            Event::Live(live) => vec![self.live(live)],
            Event::Watched(sample) => vec![watched(sample)],
            Event::PhaseEnded(phase) => vec![ended(phase)],
            Event::Finding(finding) => self.found(finding).into_iter().collect(),
            Event::Message(message) => vec![json!({ "event": "message", "text": message.to_string() })],
            Event::Ended(record) => {
                let mut lines: Vec<Value> =
                    record.findings.iter().filter_map(|finding| self.found(finding)).collect();
                let errors: Vec<String> = record.errors.iter().map(ToString::to_string).collect();
                lines.push(json!({
                    "event": "ended", "stopped_by": record.stopped_by, "errors": errors, "phases": record.phases.len(),
                }));
                lines
            }
            _ => Vec::new(),
        }
    }
}

impl Reporter for ProgressLines {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        for line in self.lines(event) {
            writeln!(output.out, "{line}")?;
            output.out.flush()?;
        }
        Ok(())
    }
}

fn figure(figure: &iodyno_model::Figure) -> Value {
    json!({ "name": figure.name, "value": figure.value, "unit": figure.unit })
}

/// A time that is known.
fn known(ns: u64) -> Option<u64> {
    (ns > 0).then_some(ns)
}

fn counted(live: &Live) -> u64 {
    live.jobs.iter().map(|job| job.operations + job.read_bytes + job.write_bytes).sum()
}

fn latency(live: &Live) -> Histogram {
    let mut all = Histogram::default();
    for job in &live.jobs {
        [&job.latency.read, &job.latency.write, &job.latency.trim]
            .into_iter()
            .for_each(|part| all.merge(part));
    }
    all
}

/// What came since an earlier look; its extremes are only known to the width of a bucket. None: nothing did.
fn difference(now: &Histogram, before: &Histogram) -> Option<Histogram> {
    let mut counts = vec![0; BUCKETS];
    now.buckets().iter().for_each(|(bucket, count)| counts[*bucket as usize] += count);
    for (bucket, count) in before.buckets() {
        counts[*bucket as usize] = u64::checked_sub(counts[*bucket as usize], *count)?;
    }
    let (first, last) =
        (counts.iter().position(|count| *count > 0)?, counts.iter().rposition(|count| *count > 0)?);
    let most = middle(last).min(now.max);
    let sum = now.sum.checked_sub(before.sum)?;
    Some(Histogram::from_counts(counts.into_iter(), sum, middle(first).min(most), most))
}

fn figures(latency: &Histogram) -> Value {
    json!({
        "mean": latency.mean(), "p50": latency.percentile(50.0), "p99": latency.percentile(99.0), "max": latency.max,
        "count": latency.count(),
    })
}

fn job(job: &LiveJob) -> Value {
    json!({
        "name": job.name, "running": job.running, "operations": job.operations, "read_bytes": job.read_bytes,
        "write_bytes": job.write_bytes, "errors": job.errors,
    })
}

fn watched(sample: &Sample) -> Value {
    let mut devices: Vec<_> = sample.devices.iter().filter(|did| did.interval_ns > 0).collect();
    devices.sort_by_key(|did| std::cmp::Reverse(did.busy_ns));
    let device = |did: &&iodyno_model::DeviceActivity| {
        let seconds = did.interval_ns as f64 / 1e9;
        json!({
            "name": did.device, "busy_percent": did.busy_ns as f64 / did.interval_ns as f64 * 100.0,
            "read_bytes": did.read_bytes as f64 / seconds, "write_bytes": did.write_bytes as f64 / seconds,
            "depth": did.weighted_ns as f64 / did.interval_ns as f64,
        })
    };
    let cpu = sample.cpu.as_ref().map(|cpu| {
        json!({
            "user_percent": cpu.user_percent + cpu.nice_percent, "system_percent": cpu.system_percent,
            "iowait_percent": cpu.iowait_percent, "steal_percent": cpu.steal_percent, "idle_percent": cpu.idle_percent,
        })
    });
    json!({
        "event": "watched", "at_ns": sample.at_ns, "interval_ns": sample.interval_ns, "cpu": cpu,
        "devices": devices.iter().take(DEVICES_MOST).map(device).collect::<Vec<_>>(),
    })
}

fn ended(phase: &PhaseRecord) -> Value {
    let jobs = phase.jobs.iter().map(|job| {
        let lines = job.tally.lines.iter();
        let lines: Vec<Value> = lines
            .map(|line| json!({ "label": line.label, "operations": line.operations, "bytes": line.bytes }))
            .collect();
        json!({ "name": job.name, "lines": lines, "failed": job.tally.failed() })
    });
    json!({
        "event": "phase ended", "phase": phase.index, "elapsed_ns": phase.elapsed_ns, "jobs": jobs.collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{FindingKind, Severity};
    use iodyno_report::NoFiles;

    fn told(progress: &mut ProgressLines, event: &Event) -> Vec<Value> {
        let mut out = Vec::new();
        let mut output = Output { out: &mut out, err: &mut io::sink(), files: &mut NoFiles };
        progress.event(event, &mut output).unwrap();
        String::from_utf8(out).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    fn live(second: u64, reads: u64, state: WorkerState, ns: &[u64]) -> Event {
        let mut job = LiveJob {
            operations: reads,
            reads: (reads, 0),
            read_bytes: reads * 4096,
            states: vec![(state, 1)],
            ..LiveJob::default()
        };
        ns.iter().for_each(|ns| job.latency.read.add(*ns));
        let elapsed_ns = second * 1_000_000_000;
        Event::Live(Box::new(Live { elapsed_ns, jobs: vec![job], ..Live::default() }))
    }

    #[test]
    fn rates_are_of_the_last_interval_and_never_across_a_restart() {
        let mut progress = ProgressLines::new();
        let mut tell = |event: Event| told(&mut progress, &event).remove(0);
        assert_eq!(tell(live(1, 1000, WorkerState::Ramping, &[1000]))["rate"]["reads"], json!(1000.0));
        let second = tell(live(2, 3000, WorkerState::Ramping, &[1000, 8000, 8000]));
        assert_eq!((&second["rate"]["reads"], &second["ramping"]), (&json!(2000.0), &json!(true)));
        assert_eq!(
            (&second["latency_ns"]["mean"], &second["latency_ns"]["count"]),
            (&json!(8000.0), &json!(2))
        );
        let restart = tell(live(3, 500, WorkerState::Running, &[2000]));
        assert_eq!((&restart["rate"]["reads"], &restart["latency_ns"]), (&Value::Null, &Value::Null));
        assert_eq!((&restart["ramping"], &restart["operations"]), (&json!(false), &json!(500)));
        assert_eq!(
            tell(live(4, 1500, WorkerState::Running, &[2000, 4000]))["rate"]["read_bytes"],
            json!(4_096_000.0)
        );
        // More than in the whole ramp, and yet counted from its end.
        tell(live(5, 1600, WorkerState::Ramping, &[]));
        let behind = tell(live(6, 9000, WorkerState::Running, &[2000; 9]));
        assert_eq!((&behind["rate"]["operations"], &behind["latency_ns"]), (&Value::Null, &Value::Null));
    }

    #[test]
    fn a_ramp_that_ends_before_the_first_line_is_no_time_without_operations() {
        let mut progress = ProgressLines { ramps: vec![true], ..ProgressLines::default() };
        let begun = Event::PhaseStarted {
            index: 0,
            count: 1,
            name: "a".into(),
            repetition: 0,
            coordinates: Vec::new(),
        };
        told(&mut progress, &begun);
        let first = told(&mut progress, &live(1, 0, WorkerState::Running, &[])).remove(0);
        assert_eq!(first["rate"]["operations"], Value::Null);
        let next = told(&mut progress, &live(2, 70, WorkerState::Running, &[])).remove(0);
        assert_eq!(next["rate"]["operations"], json!(70.0));
    }

    #[test]
    fn its_option_is_taken_out() {
        let take = |line: &str| take(&line.split(' ').map(String::from).collect::<Vec<_>>()).map_err(drop);
        let kept = || vec!["a.toml".to_string(), "--tag".into(), "x".into()];
        assert_eq!(take("a.toml --progress f --tag x"), Ok((Some("f".into()), kept())));
        assert_eq!(take("a.toml --progress=f --tag x"), Ok((Some("f".into()), kept())));
        assert_eq!(take("a.toml --tag x"), Ok((None, kept())));
        assert_eq!((take("a --progress"), take("a --progress=")), (Err(()), Err(())));
    }

    #[test]
    fn a_finding_is_told_once() {
        let mut progress = ProgressLines::new();
        let finding =
            Finding::new(FindingKind::CachedReads, Severity::Invalid, "p".into(), "cached".into(), vec![]);
        assert_eq!(told(&mut progress, &Event::Finding(Box::new(finding.clone()))).len(), 1);
        let record = iodyno_model::Record { findings: vec![finding], ..Default::default() };
        let lines = told(&mut progress, &Event::Ended(Box::new(record)));
        assert_eq!((lines.len(), &lines[0]["event"]), (1, &json!("ended")));
    }
}
