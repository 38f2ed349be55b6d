//! The results as InfluxDB's line protocol (version 2): a line for each label of a job, for each second of it, and for each
//! finding, with times of the wall clock in nanoseconds.
//!
//! Format: `measurement,tag=value field=value time`; tags escape commas, equals signs and blanks, whole numbers end in `i`.
//! Lines are written at the end of each phase, when its figures are known.

use std::fmt::Write as _;
use std::io;

use iodyno_model::{Event, Finding, JobRecord, Line, PhaseRecord, RunStart, SeriesRow};

use crate::{Output, Reporter, shape};

/// The measurements, with what each of their lines is.
pub const MEASUREMENTS: &[(&str, &str)] = &[
    ("iodyno_result", "a label of a job, at the end of its phase"),
    ("iodyno_series", "an interval of a job, at the interval's end"),
    ("iodyno_finding", "what spoils a figure"),
];

/// Percentiles of a result, with the names of their fields.
const PERCENTILES: [(f64, &str); 4] = [
    (50.0, "latency_p50_ns"),
    (99.0, "latency_p99_ns"),
    (99.9, "latency_p99_9_ns"),
    (99.99, "latency_p99_99_ns"),
];

/// Writes line protocol.
#[derive(Clone, Debug, Default)]
pub struct Influx {
    run: Vec<(&'static str, String)>,
    at_unix_ns: u64,
    /// Measured time of the phases so far, ns: the times of runs that have no wall clock.
    elapsed_ns: u64,
}

impl Influx {
    /// A reporter of lines.
    pub fn new() -> Self {
        Influx::default()
    }

    fn start(&mut self, started: &RunStart) {
        self.at_unix_ns = started.at_unix_ns;
        self.run = vec![("host", started.machine.host.clone()), ("plan", started.plan.name.clone())];
    }

    fn phase(&mut self, phase: &PhaseRecord) -> String {
        let mut text = String::new();
        for job in &phase.jobs {
            let began = match job.began_unix_ns {
                0 => self.at_unix_ns + self.elapsed_ns,
                told => told,
            };
            let mut tags = self.run.clone();
            tags.extend([
                ("phase", phase.name.clone()),
                ("phase_index", phase.index.to_string()),
                ("repetition", phase.repetition.to_string()),
                ("job", job.name.clone()),
            ]);
            let point: Vec<String> = phase.coordinates.iter().map(ToString::to_string).collect();
            tags.push(("point", point.join(" ")));
            for line in &job.tally.lines {
                let mut tags = tags.clone();
                tags.push(("label", line.label.clone()));
                let fields = result(line, phase, job);
                text.push_str(&written("iodyno_result", &tags, &fields, began + job.tally.last_done_ns));
            }
            let series = &job.tally.series;
            for (index, row) in series.rows.iter().enumerate() {
                let at = began + (index as u64 + 1) * series.interval_ns;
                text.push_str(&written("iodyno_series", &tags, &interval(row), at));
            }
        }
        self.elapsed_ns += phase.elapsed_ns;
        text
    }

    fn finding(&self, finding: &Finding) -> String {
        let mut tags = self.run.clone();
        tags.extend([
            ("code", finding.code.to_string()),
            ("severity", format!("{:?}", finding.severity).to_lowercase()),
            ("phase", finding.phase.clone()),
            ("job", finding.job.clone().unwrap_or_default()),
        ]);
        let sentence = finding.sentence.replace('\\', "\\\\").replace('"', "\\\"");
        let fields = [("sentence", format!("\"{sentence}\""))];
        written("iodyno_finding", &tags, &fields, self.at_unix_ns + self.elapsed_ns)
    }
}

impl Reporter for Influx {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        let text = match event {
            Event::Started(started) => {
                self.start(started);
                return Ok(());
            }
            Event::PhaseEnded(phase) => self.phase(phase),
            Event::Finding(finding) => self.finding(finding),
            _ => return Ok(()),
        };
        output.out.write_all(text.as_bytes())
    }
}

type Fields = Vec<(&'static str, String)>;

fn whole(number: u64) -> String {
    format!("{number}i")
}

fn result(line: &Line, phase: &PhaseRecord, job: &JobRecord) -> Fields {
    let mut fields = vec![
        ("operations", whole(line.operations)),
        ("bytes", whole(line.bytes)),
        ("failed", whole(line.failed)),
    ];
    let rates = [
        ("operations_per_second", shape::per_second(line.operations, phase, job)),
        ("bytes_per_second", shape::per_second(line.bytes, phase, job)),
    ];
    fields.extend(rates.into_iter().map(|(name, rate)| (name, rate.to_string())));
    if !line.latency.is_empty() {
        fields.push(("latency_mean_ns", line.latency.mean().to_string()));
        fields.push(("latency_max_ns", whole(line.latency.max)));
        // As in the record: a percentile of fewer than ten samples is none.
        let told = PERCENTILES.iter().filter(|(percent, _)| line.latency.beyond(*percent) >= 10);
        fields.extend(told.map(|(percent, name)| (*name, whole(line.latency.percentile(*percent)))));
    }
    fields
}

fn interval(row: &SeriesRow) -> Fields {
    vec![
        ("reads", whole(row.reads)),
        ("read_bytes", whole(row.read_bytes)),
        ("writes", whole(row.writes)),
        ("write_bytes", whole(row.write_bytes)),
        ("trims", whole(row.trims)),
        ("others", whole(row.others)),
        ("latency_max_ns", whole(row.latency_max_ns)),
    ]
}

/// A line; a tag without a value is left out, as the format has none.
fn written(
    measurement: &str,
    tags: &[(&'static str, String)],
    fields: &[(&'static str, String)],
    at_ns: u64,
) -> String {
    let mut line = measurement.to_string();
    for (name, value) in tags.iter().filter(|(_, value)| !value.is_empty()) {
        let _ = write!(line, ",{name}={}", escaped(value));
    }
    let fields: Vec<String> = fields.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let _ = writeln!(line, " {} {at_ns}", fields.join(","));
    line
}

/// A tag's value; a line break would end the line, and a backslash at the end would take the blank behind it.
fn escaped(value: &str) -> String {
    let mut text = String::new();
    for letter in value.chars() {
        match letter {
            ',' | '=' | ' ' => text.extend(['\\', letter]),
            '\n' | '\r' => text.push_str("\\ "),
            _ => text.push(letter),
        }
    }
    if text.ends_with('\\') { text + "_" } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_escaped_and_empty_ones_left_out() {
        let tags = [("host", "a b".to_string()), ("job", "x=1,y\n".into()), ("plan", String::new())];
        let line = written("iodyno_result", &tags, &[("operations", whole(3))], 17);
        assert_eq!(line, "iodyno_result,host=a\\ b,job=x\\=1\\,y\\  operations=3i 17\n");
        assert_eq!(escaped("C:\\"), "C:\\_");
    }

    #[test]
    fn a_finding_quotes_its_sentence() {
        let kind = iodyno_model::FindingKind::CachedReads;
        let severity = iodyno_model::Severity::Invalid;
        let finding = Finding::new(kind, severity, "p".into(), "\"x\" of \\".into(), Vec::new());
        let line = Influx { run: vec![("host", "h".into())], at_unix_ns: 5, elapsed_ns: 2 }.finding(&finding);
        assert_eq!(
            line,
            "iodyno_finding,host=h,code=1,severity=invalid,phase=p sentence=\"\\\"x\\\" of \\\\\" 7\n"
        );
    }
}
