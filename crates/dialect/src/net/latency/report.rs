//! What `net latency` says: the same percentiles idle and under load beside each other, and the difference.

use iodyno_model::{Histogram, JobRecord, units};
use iodyno_report::number::{NONE, latency, percentile, significant};
use iodyno_report::paint::Paint;
use iodyno_report::table::Table;

use super::super::test_sequence::{FinalText, FinishedStage, SequenceOutcome};
use crate::netperf::omni_client::Measurement;

/// Names of stages and tests.
pub(super) const IDLE: &str = "idle";
pub(super) const TRIPS: &str = "round trip";
pub(super) const CONNECTS: &str = "connect";
pub(super) const OUT: &str = "load out";
pub(super) const BACK: &str = "load in";

/// Percentiles that are printed.
const PERCENTILES: [(f64, &str); 4] = [(50.0, "median"), (90.0, "90 %"), (99.0, "99 %"), (99.9, "99.9 %")];
/// A schedule counts as kept when so much of it was done.
const KEPT: f64 = 0.95;

/// What was asked for.
#[derive(Clone, Debug)]
pub(super) struct Heading {
    pub(super) host: String,
    pub(super) under: Option<String>,
    pub(super) message_bytes: u64,
    /// A second; 0: as fast as they go, or none.
    pub(super) rate: f64,
    pub(super) connects: f64,
    pub(super) time_ns: u64,
    pub(super) paint: Paint,
}

impl Heading {
    /// The whole report.
    pub(super) fn report(&self, outcome: &SequenceOutcome) -> FinalText {
        let mut said = FinalText::default();
        if !outcome.done.is_empty() {
            said.out = self.text(outcome);
        }
        if let Some((what, hint)) = &outcome.broken {
            said.err = format!("iodyno net latency: {what}\n hint: {hint}\n");
            said.status = 1;
        }
        said
    }

    fn text(&self, outcome: &SequenceOutcome) -> String {
        let paint = self.paint;
        let rate = match self.rate {
            0.0 => "one after the other".to_string(),
            rate => format!("{} a second by a schedule", significant(rate)),
        };
        let peer = if outcome.ours { "iodyno netserver" } else { "netserver" };
        let mut text = format!(
            "net latency: {} ({}, {peer}) · {} requests {rate} · {} each\n\n",
            self.host,
            outcome.peer,
            units::binary(self.message_bytes),
            units::duration(self.time_ns as f64)
        );
        text += &self.table(outcome).text(2, paint);
        outcome.done.iter().for_each(|done| text += &self.kept(done));
        if let [idle, loaded] = outcome.done.as_slice() {
            text += &self.verdict(idle, loaded);
        }
        if let Some(signal) = outcome.interrupted {
            text += &format!("stopped by signal {signal}\n");
        }
        text
    }

    fn table(&self, outcome: &SequenceOutcome) -> Table {
        let mut headings = vec![String::new()];
        headings.extend(outcome.done.iter().map(|done| done.stage.name.clone()));
        let compares = outcome.done.len() == 2;
        headings.extend(compares.then(|| ["difference".to_string(), "times".into()]).into_iter().flatten());
        let mut table = Table::new(1, &headings);
        for test in [TRIPS, CONNECTS] {
            let found: Vec<Histogram> = outcome.done.iter().map(|done| histogram(done, test)).collect();
            if found.iter().all(Histogram::is_empty) {
                continue;
            }
            let mut row = |name: &str, of: &dyn Fn(&Histogram) -> Option<u64>| {
                let values: Vec<Option<u64>> = found.iter().map(of).collect();
                let mut cells = vec![format!("{test}, {name}")];
                cells.extend(values.iter().map(|ns| ns.map_or(NONE.into(), |ns| latency(ns as f64))));
                if compares {
                    cells.extend(difference(values[0], values[1]));
                }
                table.row(&cells);
            };
            for (percent, name) in PERCENTILES {
                row(name, &move |histogram| percentile(histogram, percent));
            }
            row("most", &|histogram| (!histogram.is_empty()).then_some(histogram.max));
        }
        table
    }

    /// Whether what was asked for each second was done.
    fn kept(&self, done: &FinishedStage) -> String {
        let mut text = String::new();
        for (test, rate) in [(TRIPS, self.rate), (CONNECTS, self.connects)] {
            let Some(job) = job(done, test).filter(|_| rate > 0.0) else { continue };
            let reached = job.tally.all_operations() as f64 / seconds(job).max(1e-9);
            if reached < KEPT * rate {
                text += &format!(
                    "{}: {} of {} {test}s a second were done: what waited counts from when it was due\n",
                    done.stage.name,
                    significant(reached),
                    significant(rate)
                );
            }
            let failed = job.tally.failed();
            if failed > 0 {
                text += &format!("{}: {failed} {test}s failed\n", done.stage.name);
            }
        }
        text
    }

    fn verdict(&self, idle: &FinishedStage, loaded: &FinishedStage) -> String {
        let mut text = String::new();
        let (out, back) = (moved(loaded, OUT), moved(loaded, BACK));
        let way =
            |bps: f64, name: &str| (bps > 0.0).then(|| format!("{} Gbit/s {name}", significant(bps / 1e9)));
        let ways: Vec<String> = [way(out, "out"), way(back, "in")].into_iter().flatten().collect();
        text +=
            &format!("load: {}\n", if ways.is_empty() { "nothing moved".into() } else { ways.join(", ") });
        let under = self.under.as_deref().unwrap_or("load");
        for test in [TRIPS, CONNECTS] {
            let median = |done| percentile(&histogram(done, test), 50.0);
            let (Some(before), Some(after)) = (median(idle), median(loaded)) else { continue };
            let (what, by) =
                if after >= before { ("longer", after - before) } else { ("shorter", before - after) };
            text += &format!(
                "under {under} the median {test} takes {} {what}: {} times the idle one\n",
                latency(by as f64),
                significant(after as f64 / before.max(1) as f64)
            );
        }
        text
    }
}

/// How much longer, and how many times as long.
fn difference(before: Option<u64>, after: Option<u64>) -> [String; 2] {
    let (Some(before), Some(after)) = (before, after) else { return [NONE.into(), NONE.into()] };
    let by = latency(before.abs_diff(after) as f64);
    let sign = if after >= before { "+" } else { "-" };
    [format!("{sign}{by}"), format!("×{}", significant(after as f64 / before.max(1) as f64))]
}

fn job<'a>(done: &'a FinishedStage, test: &str) -> Option<&'a JobRecord> {
    done.phase.jobs.iter().find(|job| job.name.starts_with(test))
}

fn histogram(done: &FinishedStage, test: &str) -> Histogram {
    let mut all = Histogram::default();
    job(done, test).into_iter().flat_map(|job| &job.tally.lines).for_each(|line| all.merge(&line.latency));
    all
}

fn seconds(job: &JobRecord) -> f64 {
    let ns = |worker: &iodyno_model::WorkerRecord| worker.ended_ns.saturating_sub(worker.began_ns);
    job.workers.iter().map(ns).max().unwrap_or(0) as f64 / 1e9
}

/// What a load moved, bit/s: what arrived, where that is known.
fn moved(done: &FinishedStage, way: &str) -> f64 {
    let tests = done.stage.asks.iter().zip(&done.heard).zip(&done.phase.jobs);
    let bits = tests.filter(|((ask, _), _)| ask.name.starts_with(way)).map(|((ask, heard), job)| {
        let ours = || job.tally.all_bytes() as f64 / seconds(job).max(1e-9);
        match ask.kind {
            Measurement::Sends(_) | Measurement::SendsDatagrams(_) if heard.elapsed_s > 0.0 => {
                heard.received_bytes as f64 / heard.elapsed_s
            }
            _ => ours(),
        }
    });
    bits.sum::<f64>() * 8.0
}
