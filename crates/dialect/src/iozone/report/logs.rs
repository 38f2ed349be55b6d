//! Files beside the report: every operation with its offset and latency, and histograms of latency.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io;

use iodyno_model::{Histogram, JournalEntry, JournalPart, PhaseRecord, histogram};
use iodyno_report::Output;

use super::Access;
use crate::date;
use crate::iozone::lower::Pass;

/// Upper ends of the bands, in µs, and their names.
const BANDS: &[&[(u64, &str)]] = &[
    &[(20, "20us"), (40, "40us"), (60, "60us"), (80, "80us"), (100, "100us")],
    &[(200, "200us"), (400, "400us"), (600, "600us"), (800, "800us"), (1_000, "1ms")],
    &[(2_000, "2ms"), (4_000, "4ms"), (6_000, "6ms"), (8_000, "8ms"), (10_000, "10ms")],
    &[(12_000, "12ms"), (14_000, "14ms"), (16_000, "16ms"), (18_000, "18ms"), (20_000, "20ms")],
    &[(40_000, "40ms"), (60_000, "60ms"), (80_000, "80ms"), (100_000, "100ms")],
    &[(200_000, "200ms"), (400_000, "400ms"), (600_000, "600ms"), (800_000, "800ms"), (1_000_000, "1s")],
    &[(2_000_000, "2s"), (4_000_000, "4s"), (6_000_000, "6s"), (8_000_000, "8s"), (10_000_000, "10s")],
    &[
        (20_000_000, "20s"),
        (40_000_000, "40s"),
        (60_000_000, "60s"),
        (80_000_000, "80s"),
        (120_000_000, "120s"),
    ],
];

/// Which files were begun.
#[derive(Default)]
pub struct Logs {
    begun: BTreeSet<String>,
}

impl Logs {
    /// Operations of one stream, in the file of its pass.
    pub fn operations(&mut self, of: Pass, part: &JournalPart, output: &mut Output<'_>) -> io::Result<()> {
        let facts = of.access.facts();
        let path = match of.streams {
            0 if facts.is_always_logged() => format!("{}.dat", facts.log),
            0 => return Ok(()),
            _ => format!("Child_{}_{}.dat", part.worker as usize + part.job, facts.log),
        };
        let mut text = String::new();
        if self.begun.insert(path.clone()) {
            let gap = if of.access == Access::Write { " " } else { "  " };
            let _ = writeln!(text, "Offset in kBytes   Latency in microseconds{gap}Transfer size in bytes");
        }
        for entry in &part.entries {
            if let JournalEntry::Done { offset, bytes, latency_ns, .. } = entry {
                let latency_us = *latency_ns as f64 / 1000.0;
                let _ = writeln!(text, "{:10} {latency_us:10.3} {bytes:10}", offset / 1024);
            }
        }
        output.files.file(&path)?.write_all(text.as_bytes())
    }

    /// The histograms of each stream of a pass.
    pub fn histograms(&mut self, of: Pass, phase: &PhaseRecord, output: &mut Output<'_>) -> io::Result<()> {
        let workers = phase.jobs.iter().flat_map(|job| &job.workers);
        for (number, worker) in workers.enumerate() {
            let mut all = Histogram::default();
            worker.tally.iter().flat_map(|tally| &tally.lines).for_each(|line| all.merge(&line.latency));
            let path = format!("Iozone_histogram_child_{number}.txt");
            let text = bands(number, of.access.facts().histogram, &all);
            output.files.file(&path)?.write_all(text.as_bytes())?;
        }
        Ok(())
    }
}

/// A line for each stream of a pass, in a file of its own: when it began and ended, and what it moved.
pub fn times(of: Pass, phase: &PhaseRecord, east_s: i64, output: &mut Output<'_>) -> io::Result<()> {
    let workers = phase.jobs.iter().flat_map(|job| &job.workers);
    for (number, worker) in workers.enumerate() {
        let began_ns = worker.began_clock_ns;
        let ended_ns = began_ns + worker.ended_ns.saturating_sub(worker.began_ns);
        let at = |ns: u64| format!("{}.{:06}", date::stamp(ns, east_s), ns % 1_000_000_000 / 1000);
        let (began, ended, kb) = (at(began_ns), at(ended_ns), worker.bytes / 1024);
        let text = format!("{:<15} {began}   {ended} {kb:12} kB\n", of.access.word());
        output.files.file(&format!("Child_{number}.log"))?.write_all(text.as_bytes())?;
    }
    Ok(())
}

fn bands(child: usize, operation: &str, all: &Histogram) -> String {
    let mut text = format!("Child: {child} Op: {operation}\n");
    let mut below = 0;
    for (index, band) in BANDS.iter().enumerate() {
        let _ = write!(text, "Band {}:   ", index + 1);
        for (end_us, name) in *band {
            let up_to = up_to(all, end_us * 1000);
            let _ = write!(text, "{name:>5}:{:<8}", up_to - below);
            below = up_to;
        }
        text.push('\n');
    }
    let _ = writeln!(text, "Band {}:   {:>5}:{:<8}\n", BANDS.len() + 1, "120+s", all.count() - below);
    text
}

/// How many values are at most so large, by the middles of their buckets.
fn up_to(all: &Histogram, most: u64) -> u64 {
    let within = |(bucket, _): &&(u32, u64)| histogram::middle(*bucket as usize) <= most;
    all.buckets().iter().filter(within).map(|(_, count)| count).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bands_are_those_of_iozone() {
        let mut all = Histogram::default();
        [5_000, 30_000, 30_000, 150_000, 130_000_000_000].into_iter().for_each(|ns| all.add(ns));
        let text = bands(0, "write", &all);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "Child: 0 Op: write");
        assert_eq!(
            lines[1],
            "Band 1:    20us:1        40us:2        60us:0        80us:0       100us:0       "
        );
        assert_eq!(
            lines[2],
            "Band 2:   200us:1       400us:0       600us:0       800us:0         1ms:0       "
        );
        assert_eq!(lines[9], "Band 9:   120+s:1       ");
    }
}
