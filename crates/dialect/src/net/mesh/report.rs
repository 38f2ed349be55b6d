//! The matrix: a row for each sender, a column for each receiver, and what is slow in it.

use std::io;

use iodyno_model::{Event, Histogram, JobRecord, PhaseRecord, Record};
use iodyno_report::number::{percentile, significant};
use iodyno_report::table::Table;
use iodyno_report::{Output, Reporter, findings, paint::Paint};

use super::plan::{MeshMeasure, Outline};
use super::rounds::RankPair;
use super::verdict::{Verdict, judge};

/// Who prints it.
pub struct Matrix {
    /// What the plan's phases are.
    pub outline: Outline,
    /// A name for each rank.
    pub names: Vec<String>,
    /// The title above it.
    pub title: String,
    pub paint: Paint,
    /// Whether findings that another one explains are printed in full, too.
    pub details: bool,
}

impl Reporter for Matrix {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        match event {
            Event::Message(wrong) => writeln!(output.err, "{wrong}"),
            Event::Ended(record) => output.out.write_all(self.text(record).as_bytes()),
            _ => Ok(()),
        }
    }
}

impl Matrix {
    fn text(&self, record: &Record) -> String {
        let throughput = self.links(record, MeshMeasure::Throughput, |_, answers| rate(answers));
        let trips =
            |percent: f64| self.links(record, MeshMeasure::RoundTrip, move |asks, _| trip(asks, percent));
        let mut text = self.matrices(&throughput, [&trips(50.0), &trips(99.0)]);
        if let Some(signal) = record.stopped_by {
            text += &format!("\nstopped by signal {signal}: rounds are missing\n");
        }
        let told = findings::text(&record.findings, self.details, self.paint);
        if told.is_empty() { text } else { format!("{text}\n{told}") }
    }

    /// The matrices: of throughput, given in Gbit/s and shown in what fits it, with what is slow in it, and of round trips,
    /// µs: median and 99th percentile.
    pub(super) fn matrices(&self, throughput: &[(RankPair, f64)], trips: [&[(RankPair, f64)]; 2]) -> String {
        let paint = self.paint;
        let mut text = format!("{}\n", self.title);
        if !throughput.is_empty() {
            let (unit, factor) = unit(throughput);
            let shown: Vec<(RankPair, f64)> =
                throughput.iter().map(|(flow, rate)| (*flow, rate * factor)).collect();
            text += &format!("\nthroughput, {unit}\n{}", self.table(&shown, paint, significant));
            text += &self.verdict(&judge(&shown), unit);
        }
        for (links, name) in trips.into_iter().zip(["median", "99th percentile"]) {
            if !links.is_empty() {
                text += &format!("\nround trip, {name}, µs\n{}", self.table(links, paint, significant));
            }
        }
        text
    }

    /// A figure for each flow that was measured, of both its jobs.
    fn links(
        &self,
        record: &Record,
        measured: MeshMeasure,
        figure: impl Fn(&JobRecord, &JobRecord) -> Option<f64>,
    ) -> Vec<(RankPair, f64)> {
        let of = |phase: &PhaseRecord| -> Vec<(RankPair, f64)> {
            let Some((kind, flows)) = self.outline.get(phase.index) else { return Vec::new() };
            if *kind != measured {
                return Vec::new();
            }
            let pairs = flows.iter().zip(phase.jobs.chunks(2));
            pairs.filter_map(|(flow, jobs)| Some((*flow, figure(jobs.get(1)?, jobs.first()?)?))).collect()
        };
        record.phases.iter().flat_map(of).collect()
    }

    fn table(&self, links: &[(RankPair, f64)], paint: Paint, show: fn(f64) -> String) -> String {
        let mut headings = vec!["from \\ to".to_string()];
        headings.extend(self.names.iter().cloned());
        let mut table = Table::new(1, &headings);
        for (from, name) in self.names.iter().enumerate() {
            let cell = |to: usize| {
                let here =
                    |(flow, _): &&(RankPair, f64)| (flow.from as usize, flow.to as usize) == (from, to);
                links.iter().find(here).map_or_else(|| "-".to_string(), |(_, figure)| show(*figure))
            };
            let mut cells = vec![name.clone()];
            cells.extend((0..self.names.len()).map(cell));
            table.row(&cells);
        }
        table.text(2, paint)
    }

    fn verdict(&self, verdict: &Verdict, unit: &str) -> String {
        let name = |rank: u32| self.names.get(rank as usize).map_or("?", String::as_str);
        let mut text = String::new();
        for (flow, figure) in &verdict.slow {
            let percent = 100.0 * figure / verdict.median;
            text += &format!(
                "slow link: {} to {}: {} {unit}, {percent:.0} % of the median link ({})\n",
                name(flow.from),
                name(flow.to),
                significant(*figure),
                significant(verdict.median)
            );
        }
        for (ranks, does) in [(&verdict.senders, "sends"), (&verdict.receivers, "receives")] {
            for rank in ranks {
                text += &format!("slow host: {} {does} slowly on most of its links\n", name(*rank));
            }
        }
        text
    }
}

/// The unit in which the fastest link is more than one, and how many of it a Gbit/s is.
fn unit(links: &[(RankPair, f64)]) -> (&'static str, f64) {
    match links.iter().map(|(_, rate)| *rate).fold(0.0, f64::max) {
        1.0.. => ("Gbit/s", 1.0),
        1e-3.. => ("Mbit/s", 1e3),
        _ => ("kbit/s", 1e6),
    }
}

/// What arrived, Gbit/s.
fn rate(answers: &JobRecord) -> Option<f64> {
    let worker = answers.workers.first()?;
    let ns = worker.ended_ns.checked_sub(worker.began_ns).filter(|ns| *ns > 0)?;
    (worker.bytes > 0).then(|| worker.bytes as f64 * 8.0 / ns as f64)
}

/// A percentile of the round trips, µs.
fn trip(asks: &JobRecord, percent: f64) -> Option<f64> {
    let mut all = Histogram::default();
    asks.tally.lines.iter().for_each(|line| all.merge(&line.latency));
    percentile(&all, percent).map(|ns| ns as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_are_shown_in_the_unit_that_fits() {
        let names: Vec<String> = ["a", "b", "c"].map(String::from).into();
        let matrix =
            Matrix { outline: Vec::new(), names, title: "mesh".into(), paint: Paint::PLAIN, details: false };
        let text = |rate: f64| {
            let flows = (0..3).flat_map(|from| (0..3).map(move |to| RankPair { from, to }));
            let rate = |flow: RankPair| if (flow.from, flow.to) == (0, 1) { rate / 2.0 } else { rate };
            let links: Vec<_> = flows.filter(|f| f.from != f.to).map(|flow| (flow, rate(flow))).collect();
            matrix.matrices(&links, [&[], &[]])
        };
        for (rate, title, slow) in [
            (
                0.09,
                "throughput, Mbit/s\n",
                "slow link: a to b: 45.0 Mbit/s, 50 % of the median link (90.0)\n",
            ),
            (9.4, "throughput, Gbit/s\n", "slow link: a to b: 4.70 Gbit/s, 50 % of the median link (9.40)\n"),
            (
                0.0005,
                "throughput, kbit/s\n",
                "slow link: a to b: 250 kbit/s, 50 % of the median link (500)\n",
            ),
        ] {
            let text = text(rate);
            assert!(text.contains(title) && text.contains(slow), "{text}");
        }
    }
}
