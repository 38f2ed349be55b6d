//! The native text report of any record: rates with what makes them comparable, latency, errors, depth, workers,
//! steadiness, sweeps as tables and curves, and at the end what spoils a figure.
//!
//! Phases are written as they end; those of a sweep or of repetitions are gathered into one table.

use std::io;

use iodyno_model::{
    DemandRecord, Event, Figure, JobRecord, Kind, PhaseRecord, Record, ReplayRecord, RoundsRecord, Severity,
    Sighting, Verb, tally,
};
use iodyno_truth::quantity::whole_rows;

use crate::aging;
use crate::cache;
use crate::curve::sparkline;
use crate::device;
use crate::findings;
use crate::health;
use crate::json::depth_mean;
use crate::number;
use crate::paint::Paint;
use crate::ranks;
use crate::replay;
use crate::requests;
use crate::shape::{self, Context};
use crate::stability;
use crate::sweep;
use crate::table::{Table, wrapped};
use crate::training;
use crate::{Output, Reporter};

/// Writes the native text report.
#[derive(Default)]
pub struct Native {
    paint: Paint,
    context: Context,
    details: bool,
}

impl Native {
    pub fn new(paint: Paint) -> Self {
        Native { paint, ..Native::default() }
    }

    /// `details`: whether findings that another one explains are told in full, too.
    pub fn details(self, details: bool) -> Self {
        Native { details, ..self }
    }

    fn phase(&self, phase: &PhaseRecord) -> String {
        let mut heading = phase.name.clone();
        phase.coordinates.iter().for_each(|place| heading.push_str(&format!(" · {place}")));
        if phase.repetition > 0 {
            heading.push_str(&format!(" · repetition {}", phase.repetition + 1));
        }
        let mut text =
            format!("\n{} · {}\n", self.paint.heading(&heading), number::latency(phase.elapsed_ns as f64));
        if phase.jobs.is_empty() {
            text.push_str("  watched only\n");
        }
        self.grouped(phase)
            .iter()
            .for_each(|(group, job)| text.push_str(&self.job(phase, group.as_deref(), job)));
        if let Some(line) = training::line(phase) {
            text.push_str(&labelled("training", &line, self.paint));
        }
        text.push_str(&device::table(&phase.parts, self.paint));
        for sighting in &phase.sightings {
            if let Sighting::Tree(tree) = sighting {
                text.push_str(&labelled("tree", &replay::tree(tree), self.paint));
            }
        }
        for line in health::lines(&phase.sightings) {
            text.push_str(&labelled("health", &line, self.paint));
        }
        if let Some(share) = &phase.cache {
            text.push_str(&format!("  {}\n", self.paint.aside(&cache::line(share))));
        }
        text
    }

    /// The jobs of a phase; those of one group are merged where its first job stands.
    fn grouped(&self, phase: &PhaseRecord) -> Vec<(Option<String>, JobRecord)> {
        let mut all: Vec<(Option<String>, JobRecord)> = Vec::new();
        for job in &phase.jobs {
            let group = self.context.job(phase, job).and_then(|planned| planned.group.clone());
            let known = all.iter_mut().find(|(known, _)| group.is_some() && *known == group);
            match known {
                Some((_, merged)) => {
                    merged.tally.merge(&job.tally);
                    merged.workers.extend(job.workers.iter().cloned());
                }
                None => all.push((group, job.clone())),
            }
        }
        all
    }

    /// One job, or the jobs of one group; what makes it comparable is said of the first.
    fn job(&self, phase: &PhaseRecord, group: Option<&str>, job: &JobRecord) -> String {
        let shape = self.context.shape(phase, job);
        let name = group.unwrap_or(&job.name);
        let mut text = match name == phase.name {
            true => String::new(),
            false => format!("  {}\n", self.paint.heading(name)),
        };
        let line = format!("  {}", wrapped(&shape.line(), self.paint.columns - 4, 4));
        text.push_str(&format!("{}\n", self.paint.aside(&line)));
        text.push_str(&rates(phase, job, self.paint));
        text.push_str(&latencies(job, self.paint));
        text.push_str(&self.errors(job));
        text.push_str(&depth(job));
        text.push_str(&workers(job, self.paint));
        text.push_str(&self.slowest(job));
        if let Some(record) = &job.replay {
            text.push_str(&certificate(record, self.paint));
        }
        text.push_str(&series(job, self.paint));
        for line in requests::lines(job).into_iter().chain(stability::lines(job)) {
            text.push_str(&format!("  {}\n", wrapped(&line, self.paint.columns - 4, 4)));
        }
        text
    }

    fn errors(&self, job: &JobRecord) -> String {
        errors(job, &self.context)
            .iter()
            .map(|error| format!("  {}\n", self.paint.severity(Severity::Invalid, error)))
            .collect()
    }

    /// The rank that the others waited for.
    fn slowest(&self, job: &JobRecord) -> String {
        let world = self.context.started.as_ref().map(|started| &started.world);
        let told = world.and_then(|world| ranks::slowest(world, job));
        told.map_or_else(String::new, |told| format!("  {told}\n"))
    }

    fn ended(&self, record: &Record) -> String {
        let mut text: String = record.aging.iter().map(|aged| format!("\n{}", aging::table(aged))).collect();
        text.push_str(&sweep::tables(record, &self.context, self.paint));
        text.push_str(&passes(record, self.paint));
        text.push_str(&demands(record, self.paint));
        text.push_str(&findings::text(&record.findings, self.details, self.paint));
        for error in &record.errors {
            text.push_str(&format!("\n{error}\n"));
        }
        if let Some(signal) = record.stopped_by {
            text.push_str(&format!(
                "\nstopped by signal {signal}: the figures are those of the time until then\n"
            ));
        }
        text
    }
}

impl Reporter for Native {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        self.context.event(event);
        match event {
            Event::Started(started) => {
                let machine = &started.machine;
                writeln!(
                    output.out,
                    "{} · seed {} · {} · {} · {} CPUs",
                    self.paint.heading(&started.plan.name),
                    started.plan.seed,
                    machine.host,
                    machine.kernel,
                    machine.cpus
                )?;
                match ranks::line(&started.world) {
                    line if line.is_empty() => Ok(()),
                    line => writeln!(output.out, "{line}"),
                }
            }
            Event::Message(message) => writeln!(output.err, "{message}"),
            Event::PhaseEnded(phase) if phase.coordinates.is_empty() => {
                output.out.write_all(self.phase(phase).as_bytes())
            }
            Event::Ended(record) => output.out.write_all(self.ended(record).as_bytes()),
            _ => Ok(()),
        }
    }
}

fn rates(phase: &PhaseRecord, job: &JobRecord, paint: Paint) -> String {
    let headings = ["", "operations", "IOPS", paint.rates.name(), "bytes", "short", "failed"];
    let mut table = Table::new(1, &headings);
    for line in &job.tally.lines {
        let bytes = shape::per_second(line.bytes, phase, job);
        let moves = line.bytes > 0;
        let if_moves = |text: String| if moves { text } else { number::NONE.into() };
        table.row(&[
            line.label.clone(),
            number::thousands(line.operations),
            number::iops(shape::per_second(line.operations, phase, job)),
            if_moves(paint.rates.figure(bytes)),
            if_moves(iodyno_model::units::binary(line.bytes)),
            number::thousands(line.short),
            number::thousands(line.failed),
        ]);
    }
    let makes_a_tree = phase.sightings.iter().any(|sighting| matches!(sighting, Sighting::Tree(_)));
    match table.is_empty() {
        // What was made is told.
        true if makes_a_tree => String::new(),
        true => "  nothing was counted\n".into(),
        false => table.text(2, paint),
    }
}

fn latencies(job: &JobRecord, paint: Paint) -> String {
    let headings = ["latency", "mean", "p50", "p90", "p99", "p99.9", "max", "samples"];
    let mut table = Table::new(1, &headings);
    for line in &job.tally.lines {
        let both = [
            (line.label.clone(), Some(&line.latency)),
            (format!("{} service", line.label), line.service.as_ref()),
        ];
        for (label, histogram) in both {
            let Some(histogram) = histogram.filter(|histogram| !histogram.is_empty()) else { continue };
            table.row(&[
                label,
                number::latency(histogram.mean()),
                number::percentile_text(histogram, 50.0),
                number::percentile_text(histogram, 90.0),
                number::percentile_text(histogram, 99.0),
                number::percentile_text(histogram, 99.9),
                number::latency(histogram.max as f64),
                number::thousands(histogram.count().saturating_sub(line.untimed)),
            ]);
        }
    }
    if table.is_empty() { String::new() } else { table.text(2, paint) }
}

/// Complaints that are printed of one job; the counts tell how many there were.
const COMPLAINTS_MOST: usize = 10;

/// A job's failures, one sentence each: verb, error, how often, and where first.
pub fn errors(job: &JobRecord, context: &Context) -> Vec<String> {
    let sentence = |error: &iodyno_model::ErrorCount| {
        let times = if error.count == 1 {
            "once".into()
        } else {
            format!("{} times", number::thousands(error.count))
        };
        let target = context.target(error.first_target);
        format!(
            "{} failed {times}: {}; first at {}{target}",
            error.verb,
            errno(error.errno),
            place(error.verb, error.first_offset)
        )
    };
    let failures = job.workers.iter().filter_map(|worker| {
        worker.failure.as_ref().map(|failure| format!("worker {} failed: {failure}", worker.index))
    });
    let complaints = job.workers.iter().flat_map(|worker| worker.complaints.iter().cloned());
    job.tally.errors.iter().map(sentence).chain(complaints.take(COMPLAINTS_MOST)).chain(failures).collect()
}

fn place(verb: Verb, offset: u64) -> String {
    match (verb.kind(), offset) {
        // Streams and appends have no place of their own.
        (_, u64::MAX) => String::new(),
        (Kind::Metadata, item) => format!("item {} of ", number::thousands(item)),
        (_, offset) => format!("offset {} of ", number::thousands(offset)),
    }
}

/// An error number in words, with its name where the number means the same on every system we know.
pub fn errno(number: i32) -> String {
    let name = match number {
        0 => return "short transfer".into(),
        ..0 => {
            return tally::corruption(number)
                .map_or(format!("corruption {number}"), |kind| format!("corrupt, {kind}"));
        }
        1 => "EPERM, not permitted",
        2 => "ENOENT, no such file",
        5 => "EIO, input/output error",
        9 => "EBADF, bad file descriptor",
        11 => "EAGAIN, try again later",
        12 => "ENOMEM, out of memory",
        13 => "EACCES, permission denied",
        16 => "EBUSY, busy",
        17 => "EEXIST, exists already",
        19 => "ENODEV, no such device",
        22 => "EINVAL, invalid argument",
        24 => "EMFILE, too many open files",
        27 => "EFBIG, file too large",
        28 => "ENOSPC, no space left",
        30 => "EROFS, read-only file system",
        _ => return format!("error {number}"),
    };
    name.into()
}

/// The certificate of a replay, its labels in a column.
fn certificate(record: &ReplayRecord, paint: Paint) -> String {
    replay::lines(record).into_iter().map(|(label, text)| labelled(label, &text, paint)).collect()
}

fn labelled(label: &str, text: &str, paint: Paint) -> String {
    let text = wrapped(text, paint.columns - 11, 11);
    format!("  {}{text}\n", paint.aside(&format!("{label:9}")))
}

fn depth(job: &JobRecord) -> String {
    match depth_mean(&job.tally.depths) {
        Some(mean) if job.depth > 1 => {
            format!("  depth reached: mean {mean:.1} of {} asked, per worker\n", job.depth)
        }
        _ => String::new(),
    }
}

fn workers(job: &JobRecord, paint: Paint) -> String {
    if job.workers.len() < 2 {
        return String::new();
    }
    let operations = number::Repeats::of(job.workers.iter().map(|worker| worker.operations as f64));
    let ends = number::Repeats::of(job.workers.iter().map(|worker| worker.ended_ns as f64));
    let text = |value: Option<f64>| number::thousands(value.unwrap_or(0.0).round() as u64);
    let line = format!(
        "workers: {} to {} operations, median {}; first done after {}, last after {}",
        text(operations.least()),
        text(operations.most()),
        text(operations.median()),
        number::latency(ends.least().unwrap_or(0.0)),
        number::latency(ends.most().unwrap_or(0.0)),
    );
    format!("  {}\n", wrapped(&line, paint.columns - 4, 4))
}

fn series(job: &JobRecord, paint: Paint) -> String {
    // What the end cut short is no rate.
    let (series, whole) = (&job.tally.series, whole_rows(job));
    if whole < 3 {
        return String::new();
    }
    let rates: Vec<f64> = series.rows[..whole].iter().map(|row| row.operations() as f64).collect();
    let per_second = 1e9 / series.interval_ns.max(1) as f64;
    let repeats = number::Repeats::of(rates.iter().map(|rate| rate * per_second));
    let characters = paint.columns.saturating_sub(17).min(50);
    let line = format!(
        "over time: {} {} to {} IOPS, one character {}",
        sparkline(&rates, characters),
        number::iops(repeats.least().unwrap_or(0.0)),
        number::iops(repeats.most().unwrap_or(0.0)),
        number::latency(series.interval_ns as f64 * (rates.len().div_ceil(characters)) as f64),
    );
    format!("  {}\n", wrapped(&line, paint.columns - 4, 4))
}

/// What passes have to say together, and how they came to their end; nothing where there is one.
pub fn passes(record: &Record, paint: Paint) -> String {
    let mut text = repeats(record, paint);
    if let Some(rounds) = &record.rounds {
        text.push_str(&format!("  {}\n", wrapped(&rounds_line(rounds), paint.columns - 4, 4)));
    }
    text
}

/// What became of demands; nothing where there is none.
pub fn demands(record: &Record, paint: Paint) -> String {
    if record.demands.is_empty() {
        return String::new();
    }
    let lines: String = record.demands.iter().map(|demand| demand_line(demand, paint)).collect();
    format!("\n{}\n{lines}", paint.heading("demands"))
}

fn rounds_line(rounds: &RoundsRecord) -> String {
    let mut words = vec![format!("{} passes", rounds.passes)];
    if let Some((range, slope)) = rounds.steady {
        words.push(format!(
            "the last ranged over {} of their mean and drifted by {slope:.1} %",
            number::percent(range)
        ));
    }
    if let Some(width) = rounds.interval_percent {
        words.push(format!("the widest interval of a rate is {} of it", number::percent(width)));
    }
    if rounds.passes == 0 {
        return "no pass was made".into();
    }
    let slowest = if rounds.slowest.is_empty() { String::new() } else { format!(" ({})", rounds.slowest) };
    words.push(match rounds.attained {
        true => "good enough".into(),
        false => format!("not good enough when it ended{slowest}"),
    });
    words.join(" · ")
}

fn demand_line(demand: &DemandRecord, paint: Paint) -> String {
    let word = match demand.failed {
        true => paint.severity(Severity::Invalid, "fails   "),
        false => "kept    ".into(),
    };
    let found = match demand.found {
        Some(found) => number::figure(&Figure::new("", found, &demand.unit), paint.rates).trim().to_string(),
        None => "there is nothing to hold it against".into(),
    };
    let place = if demand.place.is_empty() { String::new() } else { format!(" ({})", demand.place) };
    format!("  {word} {}: {found}{place}\n", demand.text)
}

/// Medians over phases of one name and place that ran more than once.
fn repeats(record: &Record, paint: Paint) -> String {
    let mut names: Vec<(&str, &[iodyno_model::Coordinate])> = Vec::new();
    for phase in &record.phases {
        let key = (phase.name.as_str(), phase.coordinates.as_slice());
        if !names.contains(&key) {
            names.push(key);
        }
    }
    let mut table = Table::new(1, &["", "passes", "IOPS, median", "least", "most", "range"]);
    for (name, coordinates) in names {
        let passes =
            record.phases.iter().filter(|phase| phase.name == name && phase.coordinates == coordinates);
        let rate = |phase: &PhaseRecord| -> f64 {
            phase.jobs.iter().map(|job| shape::per_second(job.tally.all_operations(), phase, job)).sum()
        };
        let mut rates: Vec<f64> = passes.map(rate).collect();
        let window = record.rounds.as_ref().map_or(0, |rounds| rounds.window as usize);
        let all = rates.len();
        if window > 0 {
            rates.drain(..all.saturating_sub(window));
        }
        let count =
            if rates.len() < all { format!("last {} of {all}", rates.len()) } else { all.to_string() };
        let repeats = number::Repeats::of(rates);
        if repeats.count() > 1 {
            let text = |value: Option<f64>| value.map_or_else(|| number::NONE.into(), number::iops);
            let mut label = name.to_string();
            coordinates.iter().for_each(|place| label.push_str(&format!(" · {place}")));
            table.row(&[
                label,
                count,
                text(repeats.median()),
                text(repeats.least()),
                text(repeats.most()),
                repeats.range_percent().map_or_else(|| number::NONE.into(), number::percent),
            ]);
        }
    }
    match table.is_empty() {
        true => String::new(),
        false => format!("\n{}\n{}", paint.heading("repetitions"), table.text(2, paint)),
    }
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Event, Job, Machine, Pattern, Phase, Pick, Plan, RunStart, Workload};

    use super::*;

    #[test]
    fn jobs_of_a_group_are_reported_as_one() {
        let pattern = Pattern::of(Verb::Read, Pick::Uniform, 4096);
        let planned = |name: &str| {
            let workload = Workload::Pattern(Box::new(pattern.clone()));
            Job { group: Some("both".into()), ..Job::new(name, "null", Vec::new(), workload) }
        };
        let jobs = vec![planned("a"), planned("b")];
        let plan = Plan { phases: vec![Phase { jobs, ..Phase::default() }], ..Plan::default() };
        let started = RunStart {
            plan,
            targets: Vec::new(),
            machine: Machine::default(),
            at_unix_ns: 0,
            world: Default::default(),
        };
        let mut native = Native::new(Paint::PLAIN);
        native.context.event(&Event::Started(Box::new(started)));
        let record = |name: &str| {
            let mut job = JobRecord { name: name.into(), ..JobRecord::default() };
            job.tally.line_mut("read", Verb::Read).operations = 7;
            job
        };
        let phase = PhaseRecord { jobs: vec![record("a"), record("b")], ..PhaseRecord::default() };
        let grouped = native.grouped(&phase);
        assert_eq!(grouped.len(), 1);
        assert_eq!((grouped[0].0.as_deref(), grouped[0].1.tally.all_operations()), (Some("both"), 14));
    }
}
