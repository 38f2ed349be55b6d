//! Passes together: what a job came to that was done more than once, as medians with what they range over.
//!
//! Passes are phases of one name and place whose repetitions differ. Where steadiness was waited for, the last of them
//! are the result and the others were its price. Refuses to judge: whether the passes were steady is said elsewhere.

use iodyno_model::{Histogram, JobRecord, Line, PhaseRecord, Record, Verb};

use crate::quantity::seconds;
use crate::statistics::median;

/// A job with all of its passes.
#[derive(Clone, Debug)]
pub struct Passes<'a> {
    /// Those that are the result, in order; at least one.
    pub result: Vec<(&'a PhaseRecord, &'a JobRecord)>,
    pub made: usize,
}

/// A figure of several passes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The middle one, or the mean of the two in the middle.
    pub median: f64,
    /// The smallest.
    pub least: f64,
    /// The largest.
    pub most: f64,
}

/// What passes counted under one label.
#[derive(Clone, Debug)]
pub struct Together {
    pub label: String,
    pub verb: Verb,
    /// Operations of all passes.
    pub operations: u64,
    /// Failed operations of all passes.
    pub failed: u64,
    /// Operations per second.
    pub rate: Spread,
    /// Bytes per second; none where no bytes were moved.
    pub bytes: Option<Spread>,
    /// Mean latency, ns; none where it was not measured.
    pub mean_ns: Option<Spread>,
    /// All latencies of all passes.
    pub latency: Histogram,
}

impl Spread {
    /// Of figures in any order; none of none.
    pub fn of(figures: &[f64]) -> Option<Spread> {
        let least = figures.iter().copied().reduce(f64::min)?;
        let most = figures.iter().copied().reduce(f64::max)?;
        Some(Spread { median: median(figures)?, least, most })
    }

    /// Largest minus smallest, in percent of the median; none where that is 0.
    pub fn range_percent(&self) -> Option<f64> {
        (self.median > 0.0).then(|| (self.most - self.least) / self.median * 100.0)
    }
}

/// Every job with its passes, in the order in which they were first done.
pub fn passes(record: &Record) -> Vec<Passes<'_>> {
    let mut groups: Vec<(usize, Passes<'_>)> = Vec::new();
    for phase in &record.phases {
        for (index, job) in phase.jobs.iter().enumerate() {
            let joins = |(at, group): &&mut (usize, Passes<'_>)| *at == index && is_pass(group, phase, job);
            match groups.iter_mut().rev().find(joins) {
                Some((_, group)) => group.result.push((phase, job)),
                None => groups.push((index, Passes { result: vec![(phase, job)], made: 0 })),
            }
        }
    }
    let window = record.rounds.as_ref().map_or(0, |rounds| rounds.window as usize);
    groups.into_iter().map(|(_, group)| group.settled(window)).collect()
}

/// Whether a job of a phase is a further pass of others.
fn is_pass(group: &Passes<'_>, phase: &PhaseRecord, job: &JobRecord) -> bool {
    let (first, known) = group.result[0];
    let is_like =
        first.name == phase.name && first.coordinates == phase.coordinates && known.name == job.name;
    is_like && group.result.iter().all(|(other, _)| other.repetition != phase.repetition)
}

impl Passes<'_> {
    /// With the last so many as the result; 0: all of them.
    fn settled(mut self, window: usize) -> Self {
        self.made = self.result.len();
        if window > 0 && self.made > window {
            self.result.drain(..self.made - window);
        }
        self
    }

    /// Whether there is more than one to be put together.
    pub fn is_several(&self) -> bool {
        self.result.len() > 1
    }

    /// What they counted, label by label; a pass that did nothing of a label has no figure of it.
    pub fn together(&self) -> Vec<Together> {
        let mut names: Vec<(&str, Verb)> = Vec::new();
        for line in self.result.iter().flat_map(|(_, job)| &job.tally.lines) {
            let name = (line.label.as_str(), line.verb);
            if line.operations > 0 && !names.contains(&name) {
                names.push(name);
            }
        }
        names.into_iter().filter_map(|(label, verb)| self.of(label, verb)).collect()
    }

    fn of(&self, label: &str, verb: Verb) -> Option<Together> {
        let is_it = |line: &&Line| line.label == label && line.verb == verb;
        let done: Vec<(f64, &Line)> = self
            .result
            .iter()
            .filter_map(|(phase, job)| Some((seconds(phase, job), job.tally.lines.iter().find(is_it)?)))
            .filter(|(_, line)| line.operations > 0)
            .collect();
        let spread = |of: &dyn Fn(&Line) -> u64| {
            let rate = |(seconds, line): &(f64, &Line)| of(line) as f64 / seconds.max(1e-9);
            Spread::of(&done.iter().map(rate).collect::<Vec<_>>())
        };
        let timed = done.iter().filter(|(_, line)| !line.latency.is_empty());
        let means: Vec<f64> = timed.map(|(_, line)| line.latency.mean()).collect();
        let mut latency = Histogram::default();
        done.iter().for_each(|(_, line)| latency.merge(&line.latency));
        let sum = |of: fn(&Line) -> u64| done.iter().map(|(_, line)| of(line)).sum();
        Some(Together {
            label: label.into(),
            verb,
            operations: sum(|line| line.operations),
            failed: sum(|line| line.failed),
            rate: spread(&|line| line.operations)?,
            bytes: spread(&|line| line.bytes).filter(|spread| spread.most > 0.0),
            mean_ns: Spread::of(&means),
            latency,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::RoundsRecord;

    fn record(rates: &[u64]) -> Record {
        let phase = |(index, rate): (usize, &u64)| {
            let mut line = Line { operations: *rate, bytes: rate * 4096, ..Line::empty("read", Verb::Read) };
            line.latency.add(1000 * (index as u64 + 1));
            let mut job = JobRecord { name: "j".into(), ..JobRecord::default() };
            job.tally.lines.push(line);
            job.tally.last_done_ns = 1_000_000_000;
            let repetition = index as u32;
            PhaseRecord { name: "p".into(), repetition, jobs: vec![job], ..PhaseRecord::default() }
        };
        Record { phases: rates.iter().enumerate().map(phase).collect(), ..Record::default() }
    }

    #[test]
    fn several_passes_are_their_median_and_range() {
        let record = record(&[1241, 1900, 1862, 1850, 1870]);
        let all = passes(&record);
        assert!(all.len() == 1 && all[0].is_several());
        let together = all[0].together();
        let Spread { median, least, most } = together[0].rate;
        assert_eq!((median, least, most), (1862.0, 1241.0, 1900.0));
        assert!((together[0].rate.range_percent().unwrap() - 35.4).abs() < 0.1);
        assert_eq!((together[0].operations, together[0].latency.count()), (8723, 5));
        assert_eq!(together[0].bytes.unwrap().median, 1862.0 * 4096.0);
        assert_eq!(together[0].mean_ns.unwrap().median, 3000.0);
    }

    #[test]
    fn what_is_no_other_repetition_is_no_pass() {
        let mut record = record(&[100, 200]);
        record.phases[1].repetition = 0;
        assert_eq!(passes(&record).len(), 2, "two phases of one name");
        record.phases[1].repetition = 1;
        record.phases[1].jobs[0].name = "other".into();
        assert_eq!(passes(&record).len(), 2);
    }

    #[test]
    fn the_price_of_steadiness_is_no_result() {
        let mut record = record(&[900, 500, 100, 110, 120]);
        record.rounds = Some(RoundsRecord { window: 3, ..RoundsRecord::default() });
        let all = passes(&record);
        assert_eq!((all[0].made, all[0].result.len()), (5, 3));
        assert_eq!(all[0].together()[0].rate.median, 110.0);
    }
}
