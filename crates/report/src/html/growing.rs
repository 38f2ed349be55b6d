//! A run that still goes on, as the page is told it: the phases that have ended, and what the running one has done so far.
//!
//! Rates and latencies over time are the differences between what the running jobs said at two moments, put into rows of
//! a second; once a phase has ended, its own record takes their place.

use iodyno_model::histogram::coarse_of;
use iodyno_model::{
    Event, Histogram, JobRecord, Line, Live, LiveJob, PhaseRecord, Record, Sample, Series, SeriesRow, Verb,
};

use super::{Page, Run};
use crate::shape::Context;

/// Length of a row at first, ns; neighbours are joined when there are too many.
const ROW_NS: u64 = 1_000_000_000;
/// Rows and samples at most.
const ROWS_MOST: usize = 1024;

/// What has happened so far.
#[derive(Default)]
pub struct Growing {
    context: Context,
    record: Record,
    /// What the running jobs said last.
    last: Vec<LiveJob>,
    running: bool,
    ended: bool,
}

impl Growing {
    /// Keeps what an event tells; whether there is more to show than before.
    pub fn event(&mut self, event: &Event) -> bool {
        self.context.event(event);
        match event {
            Event::Started(started) => {
                self.record.name.clone_from(&started.plan.name);
                self.record.seed = started.plan.seed;
                self.record.machine = started.machine.clone();
                self.record.world = started.world.clone();
            }
            Event::PhaseStarted { index, name, repetition, coordinates, .. } => {
                let (index, repetition) = (*index, *repetition);
                let (name, coordinates) = (name.clone(), coordinates.clone());
                self.begin(PhaseRecord { name, index, repetition, coordinates, ..PhaseRecord::default() });
            }
            Event::Live(live) => self.live(live),
            Event::Watched(sample) => self.watched(sample),
            Event::PhaseEnded(phase) => self.end((**phase).clone()),
            Event::Finding(finding) => self.record.findings.push((**finding).clone()),
            Event::Ended(record) => {
                self.record = (**record).clone();
                self.ended = true;
            }
            _ => return false,
        }
        true
    }

    /// All of it as a page.
    pub fn page(&self) -> Page {
        Page { live: !self.ended, ..Page::of(vec![Run::of(&self.context, &self.record)]) }
    }

    fn begin(&mut self, phase: PhaseRecord) {
        self.record.phases.push(phase);
        self.last.clear();
        self.running = true;
    }

    fn end(&mut self, phase: PhaseRecord) {
        if self.running {
            self.record.phases.pop();
        }
        self.record.phases.push(phase);
        self.running = false;
    }

    fn live(&mut self, live: &Live) {
        let engine = |index: usize| {
            let plan = &self.context.started.as_ref()?.plan;
            plan.phases.get(live.phase)?.jobs.get(index).map(|job| (job.engine.clone(), job.depth.most))
        };
        let engines: Vec<_> = (0..live.jobs.len()).map(engine).collect();
        let Some(phase) = self.record.phases.last_mut().filter(|_| self.running) else { return };
        phase.elapsed_ns = live.elapsed_ns;
        phase.jobs.resize(live.jobs.len(), JobRecord::default());
        self.last.resize(live.jobs.len(), LiveJob::default());
        for (index, (job, now)) in phase.jobs.iter_mut().zip(&live.jobs).enumerate() {
            job.name.clone_from(&now.name);
            if let Some(Some((engine, depth))) = engines.get(index) {
                (job.engine, job.depth) = (engine.clone(), *depth);
            }
            grow(job, &self.last[index], now, live.elapsed_ns);
        }
        self.last.clone_from(&live.jobs);
    }

    fn watched(&mut self, sample: &Sample) {
        let Some(phase) = self.record.phases.last_mut().filter(|_| self.running) else { return };
        if phase.samples.len() >= ROWS_MOST {
            // The page's lines need no more; the record has them all.
            let mut index = 0;
            phase.samples.retain(|_| {
                index += 1;
                index % 2 == 0
            });
        }
        phase.samples.push(sample.clone());
    }
}

/// Brings a running job's record up to date.
fn grow(job: &mut JobRecord, before: &LiveJob, now: &LiveJob, elapsed_ns: u64) {
    job.tally.lines = [
        line("read", Verb::Read, now.reads.0, now.read_bytes, &now.latency.read),
        line("write", Verb::Write, now.writes.0, now.write_bytes, &now.latency.write),
        line("trim", Verb::Trim, now.trims.0, now.trim_bytes, &now.latency.trim),
    ]
    .into_iter()
    .flatten()
    .collect();
    let data = now.reads.0 + now.writes.0 + now.trims.0;
    if data == 0 && now.operations > 0 {
        let line = Line { operations: now.operations, ..Line::empty("operations", Verb::Stat) };
        job.tally.lines.push(line);
    }
    job.tally.last_done_ns = elapsed_ns;
    add(&mut job.tally.series, before, now, elapsed_ns);
}

fn line(label: &str, verb: Verb, operations: u64, bytes: u64, latency: &Histogram) -> Option<Line> {
    let line = Line { operations, bytes, latency: latency.clone(), ..Line::empty(label, verb) };
    (operations > 0).then_some(line)
}

/// Adds what was done since the last time to the row of this moment.
fn add(series: &mut Series, before: &LiveJob, now: &LiveJob, elapsed_ns: u64) {
    series.interval_ns = series.interval_ns.max(ROW_NS);
    while elapsed_ns / series.interval_ns >= ROWS_MOST as u64 {
        series.coarsen();
    }
    let index = (elapsed_ns.saturating_sub(1) / series.interval_ns) as usize;
    if series.rows.len() <= index {
        series.rows.resize(index + 1, SeriesRow::default());
        series.latencies.resize(index + 1, Vec::new());
    }
    let kinds = |job: &LiveJob| job.reads.0 + job.writes.0 + job.trims.0;
    let (latencies, sum_ns) = between(before, now);
    let row = SeriesRow {
        reads: now.reads.0.saturating_sub(before.reads.0),
        read_bytes: now.read_bytes.saturating_sub(before.read_bytes),
        writes: now.writes.0.saturating_sub(before.writes.0),
        write_bytes: now.write_bytes.saturating_sub(before.write_bytes),
        trims: now.trims.0.saturating_sub(before.trims.0),
        trim_bytes: now.trim_bytes.saturating_sub(before.trim_bytes),
        others: (now.operations.saturating_sub(kinds(now)))
            .saturating_sub(before.operations.saturating_sub(kinds(before))),
        latency_sum_ns: sum_ns,
        latency_max_ns: 0,
    };
    series.rows[index].merge(&row);
    let one = Series {
        interval_ns: series.interval_ns,
        rows: vec![SeriesRow::default()],
        latencies: vec![latencies],
    };
    let mut both = Series {
        interval_ns: series.interval_ns,
        rows: vec![SeriesRow::default()],
        latencies: vec![std::mem::take(&mut series.latencies[index])],
    };
    both.merge(&one);
    series.latencies[index] = both.latencies.swap_remove(0);
}

/// The latencies between two moments in coarse buckets, and their sum.
fn between(before: &LiveJob, now: &LiveJob) -> (Vec<(u16, u32)>, u64) {
    let all = |job: &LiveJob| {
        let mut all = job.latency.read.clone();
        all.merge(&job.latency.write);
        all.merge(&job.latency.trim);
        all
    };
    let (before, now) = (all(before), all(now));
    let mut coarse: std::collections::BTreeMap<u16, i64> = std::collections::BTreeMap::new();
    for (sign, histogram) in [(1, &now), (-1, &before)] {
        for (bucket, count) in histogram.buckets() {
            *coarse.entry(coarse_of(*bucket as usize) as u16).or_default() += sign * *count as i64;
        }
    }
    let coarse = coarse.into_iter().filter(|(_, count)| *count > 0);
    let sum = now.sum.saturating_sub(before.sum).min(u128::from(u64::MAX)) as u64;
    (coarse.map(|(bucket, count)| (bucket, count.min(i64::from(u32::MAX)) as u32)).collect(), sum)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(elapsed_ns: u64, reads: u64) -> Event {
        let mut job = LiveJob {
            name: "j".into(),
            operations: reads,
            reads: (reads, 0),
            read_bytes: reads * 4096,
            ..LiveJob::default()
        };
        (0..reads).for_each(|_| job.latency.read.add(100_000));
        Event::Live(Box::new(Live { elapsed_ns, jobs: vec![job], ..Live::default() }))
    }

    fn started() -> Event {
        let (name, coordinates) = ("p".to_string(), Vec::new());
        Event::PhaseStarted { index: 0, count: 1, name, repetition: 0, coordinates }
    }

    #[test]
    fn rows_are_differences_and_lose_nothing() {
        let mut growing = Growing::default();
        assert!(growing.event(&started()));
        for (at, reads) in [(500_000_000, 10), (1_000_000_000, 30), (1_500_000_000, 35), (3_900_000_000, 100)]
        {
            assert!(growing.event(&live(at, reads)));
        }
        let series = &growing.record.phases[0].jobs[0].tally.series;
        let reads: Vec<u64> = series.rows.iter().map(|row| row.reads).collect();
        assert_eq!(reads, [30, 5, 0, 65]);
        let counted: Vec<u32> =
            series.latencies.iter().map(|row| row.iter().map(|(_, count)| count).sum()).collect();
        assert_eq!(counted, [30, 5, 0, 65]);
        assert!(growing.page().live);
    }

    #[test]
    fn the_record_of_an_ended_phase_takes_its_place() {
        let mut growing = Growing::default();
        growing.event(&started());
        growing.event(&live(1_000_000_000, 5));
        let phase = PhaseRecord { name: "p".into(), elapsed_ns: 7, ..PhaseRecord::default() };
        growing.event(&Event::PhaseEnded(Box::new(phase.clone())));
        assert_eq!(growing.record.phases, [phase]);
        growing.event(&Event::Ended(Box::default()));
        assert!(!growing.page().live);
    }
}
