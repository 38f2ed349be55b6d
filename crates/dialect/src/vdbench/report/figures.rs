//! What was done between two moments of a run: counts and latencies by operation, as the difference of two records.

use iodyno_model::{Histogram, PhaseRecord, Tally, Verb, histogram};

/// The label of reads that check what was written.
const CHECKS: &str = "verify";

/// What one kind of operation came to.
#[derive(Clone, Debug, Default)]
pub struct OperationFigures {
    pub operations: u64,
    pub bytes: u64,
    pub latency: Histogram,
}

impl OperationFigures {
    pub fn mean_ms(&self) -> f64 {
        self.latency.mean() / 1e6
    }

    pub fn max_ms(&self) -> f64 {
        self.latency.max as f64 / 1e6
    }

    fn add(&mut self, other: &OperationFigures) {
        self.operations += other.operations;
        self.bytes += other.bytes;
        self.latency.merge(&other.latency);
    }
}

/// What was done in one interval, or in several.
#[derive(Clone, Debug, Default)]
pub struct IntervalFigures {
    pub seconds: f64,
    /// By the label of the operations.
    pub by_label: Vec<(String, OperationFigures)>,
}

impl IntervalFigures {
    pub fn of(&self, label: &str) -> OperationFigures {
        let found = self.by_label.iter().find(|(known, _)| known == label);
        found.map(|(_, figures)| figures.clone()).unwrap_or_default()
    }

    /// Operations of several labels together.
    pub fn together(&self, labels: &[&str]) -> OperationFigures {
        let mut all = OperationFigures::default();
        for (label, figures) in &self.by_label {
            if labels.contains(&label.as_str()) {
                all.add(figures);
            }
        }
        all
    }

    pub fn rate(&self, count: u64) -> f64 {
        if self.seconds > 0.0 { count as f64 / self.seconds } else { 0.0 }
    }

    pub fn requested_rate(&self, requested: &[&str]) -> f64 {
        self.rate(self.together(requested).operations)
    }

    /// Reads, writes, and whatever else was done, each with its latencies; the first is all together.
    pub fn histograms(&self) -> Vec<(String, Histogram)> {
        let all: Vec<&str> = self.by_label.iter().map(|(label, _)| label.as_str()).collect();
        let used = self.by_label.iter().filter(|(_, figures)| figures.operations > 0);
        let each =
            used.clone().map(|(label, figures)| (format!("Operation: {label}"), figures.latency.clone()));
        let total = ("Reads and writes".to_string(), self.together(&all).latency);
        let total = if used.clone().all(|(label, _)| ["read", "write"].contains(&label.as_str())) {
            total
        } else {
            ("All operations".to_string(), total.1)
        };
        match used.count() {
            0 => Vec::new(),
            1 => each.collect(),
            _ => std::iter::once(total).chain(each).collect(),
        }
    }

    fn add(&mut self, other: &IntervalFigures) {
        self.seconds += other.seconds;
        for (label, figures) in &other.by_label {
            self.entry(label).add(figures);
        }
    }

    fn entry(&mut self, label: &str) -> &mut OperationFigures {
        let place = self.by_label.iter().position(|(known, _)| known == label);
        let place = place.unwrap_or_else(|| {
            self.by_label.push((label.into(), OperationFigures::default()));
            self.by_label.len() - 1
        });
        &mut self.by_label[place].1
    }

    /// What a tally has beyond an earlier one.
    fn since(tally: &Tally, before: &Tally, seconds: f64) -> IntervalFigures {
        let mut figures = IntervalFigures { seconds, ..IntervalFigures::default() };
        // A run that only checks what another one wrote has no other reads.
        let only_checks = tally.lines.iter().all(|line| line.operations == 0 || line.label == CHECKS);
        for line in tally.lines.iter().filter(|line| counts(line.verb)) {
            let old = before.lines.iter().find(|old| old.label == line.label && old.verb == line.verb);
            let (operations, bytes) = old.map_or((0, 0), |old| (old.operations, old.bytes));
            let empty = Histogram::default();
            let latency = difference(&line.latency, old.map_or(&empty, |old| &old.latency));
            let label = if only_checks && line.label == CHECKS { "read" } else { &line.label };
            figures.entry(label).add(&OperationFigures {
                operations: line.operations.saturating_sub(operations),
                bytes: line.bytes.saturating_sub(bytes),
                latency,
            });
        }
        figures
    }
}

fn counts(verb: Verb) -> bool {
    verb.kind() != iodyno_model::Kind::Control
}

/// The values of a histogram beyond those of an earlier one. The largest of them is exact where it is the largest of all,
/// else the upper end of its bucket.
fn difference(now: &Histogram, before: &Histogram) -> Histogram {
    let old = |bucket: u32| {
        let found = before.buckets().binary_search_by_key(&bucket, |(bucket, _)| *bucket);
        found.map_or(0, |place| before.buckets()[place].1)
    };
    let more: Vec<(u32, u64)> =
        now.buckets().iter().map(|(bucket, count)| (*bucket, count.saturating_sub(old(*bucket)))).collect();
    let used: Vec<u32> = more.iter().filter(|(_, count)| *count > 0).map(|(bucket, _)| *bucket).collect();
    let (Some(first), Some(last)) = (used.first(), used.last()) else { return Histogram::default() };
    let max = match now.max > before.max {
        true => now.max,
        false => histogram::upper_edge(*last as usize).min(now.max),
    };
    let min = histogram::lower_edge(*first as usize).max(now.min);
    let sum = now.sum.saturating_sub(before.sum);
    let mut counts = vec![0_u64; *last as usize + 1];
    more.iter().filter(|(_, count)| *count > 0).for_each(|(bucket, count)| counts[*bucket as usize] = *count);
    Histogram::from_counts(counts.into_iter(), sum, min, max)
}

/// The figures of a run by report: all together, each storage or tree, each workload.
#[derive(Debug, Default)]
pub struct PhaseFigures {
    before: Vec<(String, Tally)>,
    before_ns: u64,
    last: Vec<(String, IntervalFigures)>,
    counted: Vec<(String, IntervalFigures)>,
}

/// The names under which a job is reported: `WORKLOAD on STORAGE` is part of both.
fn names(job: &str) -> Vec<String> {
    let job = job.split(", host ").next().unwrap_or(job);
    let Some((workload, storage)) = job.split_once(" on ") else { return vec!["summary".into()] };
    let workload = workload.split(' ').next().unwrap_or(workload);
    ["summary", storage, workload].iter().map(ToString::to_string).collect()
}

impl PhaseFigures {
    /// Takes a record so far.
    pub fn take(&mut self, phase: &PhaseRecord, counts: bool) {
        let mut tallies: Vec<(String, Tally)> = Vec::new();
        for job in &phase.jobs {
            for name in names(&job.name) {
                match tallies.iter_mut().find(|(known, _)| *known == name) {
                    Some((_, tally)) => merge(tally, &job.tally),
                    None => tallies.push((name, lines_of(&job.tally))),
                }
            }
        }
        let seconds = phase.elapsed_ns.saturating_sub(self.before_ns) as f64 / 1e9;
        let empty = Tally::default();
        self.last = tallies
            .iter()
            .map(|(name, tally)| {
                let before =
                    self.before.iter().find(|(known, _)| known == name).map_or(&empty, |(_, tally)| tally);
                (name.clone(), IntervalFigures::since(tally, before, seconds))
            })
            .collect();
        if counts {
            for (name, figures) in &self.last {
                match self.counted.iter_mut().find(|(known, _)| known == name) {
                    Some((_, all)) => all.add(figures),
                    None => self.counted.push((name.clone(), figures.clone())),
                }
            }
        }
        (self.before, self.before_ns) = (tallies, phase.elapsed_ns);
    }

    /// The last interval.
    pub fn last(&self) -> IntervalFigures {
        summary(&self.last)
    }

    pub fn last_of_each(&self) -> Vec<(String, IntervalFigures)> {
        self.last.clone()
    }

    /// All intervals that count; where none does, the last one.
    pub fn counted(&self) -> IntervalFigures {
        summary(if self.counted.is_empty() { &self.last } else { &self.counted })
    }

    pub fn counted_of_each(&self) -> Vec<(String, IntervalFigures)> {
        if self.counted.is_empty() { self.last.clone() } else { self.counted.clone() }
    }
}

fn summary(of_each: &[(String, IntervalFigures)]) -> IntervalFigures {
    of_each.first().map(|(_, figures)| figures.clone()).unwrap_or_default()
}

/// Only what is needed of a tally: its lines.
fn lines_of(tally: &Tally) -> Tally {
    Tally { lines: tally.lines.clone(), ..Tally::default() }
}

fn merge(into: &mut Tally, tally: &Tally) {
    into.merge(&lines_of(tally));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_has_the_later_values() {
        let (mut before, mut now) = (Histogram::default(), Histogram::default());
        for value in [1000, 5000, 90_000] {
            before.add(value);
            now.add(value);
        }
        for value in [2000, 4000] {
            now.add(value);
        }
        let more = difference(&now, &before);
        assert_eq!((more.count(), more.sum, more.mean()), (2, 6000, 3000.0));
        assert!(more.max >= 4000 && more.max < 4100, "{}", more.max);
        now.add(200_000);
        assert_eq!(difference(&now, &before).max, 200_000);
        assert!(difference(&now, &now).is_empty());
    }

    #[test]
    fn a_job_is_part_of_its_storage_and_its_workload() {
        assert_eq!(names("wd1 on sd2"), ["summary", "sd2", "wd1"]);
        assert_eq!(names("wd1 on sd2, host 2"), ["summary", "sd2", "wd1"]);
        assert_eq!(names("fwd1 read on fsd1"), ["summary", "fsd1", "fwd1"]);
    }
}
