//! When a rate is steady enough to end its jobs: intervals sampled from the workers' counters, judged over a window that
//! rolls.
//!
//! Two criteria: no interval deviates from the window's mean by more than a limit, or the least-squares line through the
//! window is flatter than it. Judges only what the plan asks; findings about steadiness are elsewhere.

use std::collections::VecDeque;

use iodyno_model::{Criterion, Steady, SteadyRecord};

use super::PhaseContext;
use crate::clock::Tick;

/// All that is judged in a phase.
pub struct Steadiness {
    judged: Vec<SteadinessGroup>,
}

/// Workers that are judged together.
struct SteadinessGroup {
    rule: Steady,
    seats: Vec<usize>,
    before: Sample,
    at: Tick,
    next: Tick,
    window: RateWindow,
}

/// Counters of some workers at one time.
#[derive(Clone, Copy, Debug, Default)]
struct Sample {
    operations: u64,
    bytes: u64,
    latency_ns: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct IntervalRates {
    operations: f64,
    bytes: f64,
    latency_ns: f64,
}

/// The last intervals, and how steady they are.
#[derive(Clone, Debug, Default)]
struct RateWindow {
    rows: VecDeque<IntervalRates>,
    record: SteadyRecord,
}

impl Steadiness {
    /// What a phase's jobs ask to be judged, from its start line on.
    pub(crate) fn new(context: &PhaseContext, start: Tick) -> Self {
        let mut judged: Vec<(Option<&str>, SteadinessGroup)> = Vec::new();
        for (seat, (job, _)) in context.seats.iter().enumerate() {
            let job = &context.phase().jobs[*job];
            let Some(rule) = job.limit.steady else { continue };
            let group = job.group.as_deref();
            let ramp = job.limit.ramp_ns;
            match judged.iter_mut().find(|(other, _)| group.is_some() && *other == group) {
                Some((_, judged)) => judged.seats.push(seat),
                None => judged.push((group, SteadinessGroup::new(rule, seat, start + ramp))),
            }
        }
        Steadiness { judged: judged.into_iter().map(|(_, judged)| judged).collect() }
    }

    /// When the next interval ends.
    pub fn next(&self) -> Option<Tick> {
        let going = self.judged.iter().filter(|judged| !judged.window.record.attained);
        going.map(|judged| judged.next).min()
    }

    /// Looks where it is time to; those that are steady are asked to stop.
    pub(crate) fn look(&mut self, context: &PhaseContext, now: Tick) {
        for judged in self.judged.iter_mut().filter(|judged| now >= judged.next) {
            if !judged.window.record.attained && judged.look(context, now) {
                judged.seats.iter().for_each(|seat| context.barrier.stop_one(*seat as u32));
            }
        }
    }

    /// How steady the workers became: of those judged together, with the first of each job.
    pub(crate) fn records(self, context: &PhaseContext) -> Vec<(usize, SteadyRecord)> {
        let mut records = Vec::new();
        for judged in self.judged {
            let mut last_job = None;
            for seat in judged.seats {
                let job = context.seats[seat].0;
                if last_job != Some(job) {
                    records.push((seat, judged.window.record()));
                }
                last_job = Some(job);
            }
        }
        records
    }
}

impl SteadinessGroup {
    fn new(rule: Steady, seat: usize, start: Tick) -> Self {
        let at = start + rule.ramp_ns;
        let (before, next) = (Sample::default(), at + rule.interval_ns.max(1));
        SteadinessGroup { rule, seats: vec![seat], before, at, next, window: RateWindow::default() }
    }

    /// Takes the interval that ends now; whether all is steady with it.
    fn look(&mut self, context: &PhaseContext, now: Tick) -> bool {
        let sample = self.seats.iter().fold(Sample::default(), |sum, seat| {
            let (operations, bytes, latency_ns) = context.counters.of(*seat).totals();
            Sample {
                operations: sum.operations + operations,
                bytes: sum.bytes + bytes,
                latency_ns: sum.latency_ns.wrapping_add(latency_ns),
            }
        });
        // The first interval after a ramp begins with counters that were not read then.
        let first = self.before.operations == 0 && self.window.rows.is_empty() && self.rule.ramp_ns > 0;
        let (before, ns) = (self.before, now.saturating_sub(self.at).max(1));
        (self.before, self.at) = (sample, now);
        self.next += self.rule.interval_ns.max(1) * (1 + (now - self.next) / self.rule.interval_ns.max(1));
        // Counters fall when a worker's own ramp is over.
        if first || sample.operations < before.operations {
            return false;
        }
        let operations = (sample.operations - before.operations) as f64;
        let per_second = 1e9 / ns as f64;
        self.window.take(
            &self.rule,
            IntervalRates {
                operations: operations * per_second,
                bytes: (sample.bytes - before.bytes) as f64 * per_second,
                latency_ns: sample.latency_ns.wrapping_sub(before.latency_ns) as f64 / operations.max(1.0),
            },
        )
    }
}

impl RateWindow {
    /// Takes an interval; whether the window is full and steady.
    fn take(&mut self, rule: &Steady, row: IntervalRates) -> bool {
        let most = (rule.window_ns / rule.interval_ns.max(1)).max(1) as usize;
        if self.rows.len() == most {
            self.rows.pop_front();
        }
        self.rows.push_back(row);
        if self.rows.len() < most {
            return false;
        }
        let values: Vec<f64> = self.rows.iter().map(|row| row.of(rule.criterion)).collect();
        let mean = values.iter().sum::<f64>() / most as f64;
        let found = match rule.slope {
            true => {
                self.record.slope = slope(&values, mean);
                self.record.slope
            }
            false => {
                self.record.deviation = values.iter().map(|value| (value - mean).abs()).fold(0.0, f64::max);
                self.record.deviation
            }
        };
        let found = if rule.percent { 100.0 * found / mean } else { found };
        self.record.found = Some(found);
        self.record.attained = found.abs() < rule.limit;
        self.record.attained
    }

    fn record(&self) -> SteadyRecord {
        let column = |of: fn(&IntervalRates) -> f64| self.rows.iter().map(of).collect();
        SteadyRecord {
            operations: column(|row| row.operations),
            bytes: column(|row| row.bytes),
            latency_ns: column(|row| row.latency_ns),
            ..self.record.clone()
        }
    }
}

impl IntervalRates {
    fn of(&self, criterion: Criterion) -> f64 {
        match criterion {
            Criterion::Operations => self.operations,
            Criterion::Bytes => self.bytes,
            Criterion::Latency => self.latency_ns,
        }
    }
}

/// The slope of the least-squares line through equally spaced values, per interval.
fn slope(values: &[f64], mean: f64) -> f64 {
    let middle = (values.len() as f64 - 1.0) / 2.0;
    let (mut above, mut below) = (0.0, 0.0);
    for (index, value) in values.iter().enumerate() {
        let distance = index as f64 - middle;
        above += distance * (value - mean);
        below += distance * distance;
    }
    if below > 0.0 { above / below } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(slope: bool, limit: f64, percent: bool) -> Steady {
        let (window_ns, interval_ns) = (4_000_000_000, 1_000_000_000);
        Steady { criterion: Criterion::Operations, slope, limit, percent, window_ns, ramp_ns: 0, interval_ns }
    }

    /// The interval with which these rates are steady, and what the record says.
    fn judged(rule: Steady, rates: &[f64]) -> (Option<usize>, SteadyRecord) {
        let mut window = RateWindow::default();
        let row = |operations: &f64| IntervalRates {
            operations: *operations,
            bytes: 4096.0 * operations,
            latency_ns: 1.0,
        };
        let end = rates.iter().position(|rate| window.take(&rule, row(rate)));
        (end, window.record())
    }

    #[test]
    fn a_window_without_deviation_is_steady() {
        let rates = [10.0, 500.0, 100.0, 104.0, 96.0, 100.0, 100.0];
        let (end, record) = judged(rule(false, 5.0, false), &rates);
        assert_eq!((end, record.deviation, record.found, record.attained), (Some(5), 4.0, Some(4.0), true));
        assert_eq!(record.operations, [100.0, 104.0, 96.0, 100.0]);
        assert_eq!(record.bytes[1], 104.0 * 4096.0);
        assert_eq!(judged(rule(false, 4.1, true), &rates).0, Some(5));
        let (end, record) = judged(rule(false, 4.0, true), &rates[..6]);
        assert_eq!((end, record.attained, record.found), (None, false, Some(4.0)));
        assert_eq!(judged(rule(false, 4.0, false), &rates[..3]).1.found, None, "the window was never full");
    }

    #[test]
    fn a_flat_line_is_steady_however_it_jumps() {
        let (end, record) = judged(rule(true, 0.5, true), &[10.0, 20.0, 30.0, 40.0, 20.0, 30.0, 35.0, 25.0]);
        assert_eq!(end, None);
        assert!((record.slope - 2.0).abs() < 1e-9, "{record:?}");
        let jumps = [90.0, 110.0, 110.0, 90.0];
        assert_eq!(judged(rule(true, 0.5, true), &jumps).0, Some(3));
        let (_, rising) = judged(rule(true, 0.5, false), &[10.0, 13.0, 16.0, 19.0]);
        assert!((rising.slope - 3.0).abs() < 1e-9 && !rising.attained);
    }
}
