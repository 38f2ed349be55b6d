//! hdparm's output format: a device's name, then a line for each timing, on standard output.

use std::io::{self, Write};

use iodyno_model::{Event, PhaseRecord, Record};
use iodyno_report::{Output, Reporter};

use crate::strerror::of_system as reason;

/// What is printed before a phase's figures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhaseHeading {
    /// The device, if this is its first phase.
    pub device: Option<String>,
    /// The timing's label; none: nothing is timed.
    pub label: Option<String>,
}

/// Writes hdparm's lines.
#[derive(Clone, Debug)]
pub struct Timings {
    headings: Vec<PhaseHeading>,
}

impl Timings {
    /// The reporter of a plan whose phases have these headings.
    pub fn new(headings: Vec<PhaseHeading>) -> Self {
        Timings { headings }
    }

    fn begin(&self, index: usize, out: &mut dyn Write) -> io::Result<()> {
        let Some(PhaseHeading { device, label }) = self.headings.get(index) else { return Ok(()) };
        if let Some(device) = device {
            write!(out, "\n{device}:\n")?;
        }
        if let Some(label) = label {
            write!(out, " {label} ")?;
        }
        out.flush()
    }

    fn end(&self, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        if self.headings.get(phase.index).is_none_or(|heading| heading.label.is_none()) {
            return Ok(());
        }
        if let Some(error) = phase.jobs.iter().flat_map(|job| &job.tally.errors).next() {
            writeln!(output.out)?;
            return writeln!(output.err, "read() failed: {}", reason(error.errno));
        }
        let bytes = phase.jobs.iter().map(|job| job.tally.all_bytes()).sum();
        writeln!(output.out, "{}", figures(bytes, phase.elapsed_ns))
    }

    fn ended(&self, record: &Record, err: &mut dyn Write) -> io::Result<()> {
        for error in &record.errors {
            writeln!(err, "{}: {}", error.origin, error.message)?;
            if let Some(hint) = &error.hint {
                writeln!(err, " hint: {hint}")?;
            }
        }
        Ok(())
    }
}

/// `374 MB in  3.01 seconds = 124.32 MB/sec`; whole MB of 2^20 bytes, kB where it is less than one each second.
pub fn figures(bytes: u64, elapsed_ns: u64) -> String {
    let (whole, seconds) = (bytes >> 20, elapsed_ns as f64 / 1e9);
    let rate = whole as f64 / seconds;
    let (rate, unit) = if rate >= 1.0 { (rate, "MB") } else { (rate * 1024.0, "kB") };
    format!("{whole:3} MB in {seconds:5.2} seconds = {rate:6.2} {unit}/sec")
}

impl Reporter for Timings {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::PhaseStarted { index, .. } => self.begin(*index, output.out),
            Event::PhaseEnded(phase) => self.end(phase, output),
            Event::Ended(record) => self.ended(record, output.err),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_as_hdparm_writes_them() {
        let mib = |mib: u64| mib << 20;
        for (bytes, elapsed_ns, text) in [
            (mib(300), 450_000_000, "300 MB in  0.45 seconds = 666.67 MB/sec"),
            (mib(150), 3_000_000_000, "150 MB in  3.00 seconds =  50.00 MB/sec"),
            (mib(40), 3_000_000_000, " 40 MB in  3.00 seconds =  13.33 MB/sec"),
            (mib(10), 3_500_000_000, " 10 MB in  3.50 seconds =   2.86 MB/sec"),
            (mib(2), 3_333_333_000, "  2 MB in  3.33 seconds = 614.40 kB/sec"),
            (mib(2), 9_000_000_000, "  2 MB in  9.00 seconds = 227.56 kB/sec"),
            (mib(2), 40_000_000_000, "  2 MB in 40.00 seconds =  51.20 kB/sec"),
            (mib(15_080), 1_996_600_000, "15080 MB in  2.00 seconds = 7552.84 MB/sec"),
            (mib(2), 0, "  2 MB in  0.00 seconds =    inf MB/sec"),
        ] {
            assert_eq!(figures(bytes, elapsed_ns), text);
        }
    }
}
