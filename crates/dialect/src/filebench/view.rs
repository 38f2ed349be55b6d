//! What the report needs beside the record: rows in their order, what they count as, and what is said before the run.
//!
//! Refuses to know how anything is lowered.

use super::flowops::FlowopClass;

#[derive(Clone, Debug, PartialEq)]
pub struct BreakdownRow {
    /// The flowop's name.
    pub label: String,
    /// What it counts as.
    pub class: FlowopClass,
    /// Labels whose bytes are this row's too.
    pub inner: Vec<String>,
    /// The value that it looks at, if that is all it does.
    pub value: Option<ObservedValue>,
}

/// A value that a flowop looks at.
#[derive(Clone, Debug, PartialEq)]
pub enum ObservedValue {
    At(String),
    /// One that is drawn; squares of deviations are counted around this.
    Drawn(f64),
}

/// A run of a script.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunReport {
    /// The lines before it.
    pub lines: Vec<String>,
    /// Processes and how many instances they have.
    pub processes: Vec<(String, u64)>,
    /// Its rows, in the order of definition.
    pub rows: Vec<BreakdownRow>,
    /// How often it is reported while it runs, s; negative: counts begin anew after each; 0: at its end alone.
    pub period_s: f64,
    /// How long it is meant to take, s.
    pub time_s: f64,
    /// Run before anything is counted, s.
    pub ramp_s: f64,
    /// Seconds of the measured time at whose end it is reported; the last one is the run's own end.
    pub snaps: Vec<f64>,
    /// Reports that go into files.
    pub dumps: Vec<Dump>,
    /// Whether any thread waits for what others do: waits are then no sign of a pool that was empty.
    pub blocks: bool,
}

/// All that the report needs.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportContext {
    /// The runs, in their order.
    pub parts: Vec<RunReport>,
    /// Whether rows carry histograms (`enable lathist`).
    pub latencies: bool,
    /// The lines after the last run.
    pub last: Vec<String>,
}

/// A report that goes into a file too.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Dump {
    /// The file.
    pub path: String,
    /// As XML rather than as it is printed.
    pub xml: bool,
    /// Which of the run's snaps it is.
    pub snap: usize,
}

impl ReportContext {
    /// The run that a phase's name tells of.
    pub fn part(&self, phase: &str) -> Option<&RunReport> {
        let number: usize = phase.rsplit(' ').next()?.parse().ok()?;
        self.parts.get(number.checked_sub(1)?)
    }

    /// How often a record is wanted while it runs so that every report can be made in its time, s; 0: never.
    pub fn every(&self) -> f64 {
        let times = self.parts.iter().flat_map(|part| {
            let asked = part.period_s != 0.0 || !part.snaps.is_empty();
            let ramp = asked.then_some(part.ramp_s);
            part.snaps.iter().copied().chain([part.period_s.abs()]).chain(ramp).collect::<Vec<_>>()
        });
        let common = times.map(|time| (time * 1e3).round() as u64).fold(0, divisor);
        common as f64 / 1e3
    }
}

/// The greatest common divisor.
fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}
