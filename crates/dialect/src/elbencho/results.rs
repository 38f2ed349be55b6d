//! What a phase came to: entries, operations and bytes when the first thread was done, and when all were; latencies.
//!
//! What was done until the first thread was done is read off the rows of the series, which are a thousandth of the phase and
//! less; elbencho itself looks at its counters then.

use iodyno_model::{Histogram, JobRecord, Line, PhaseRecord, Series, Verb};

use super::view::{BESIDE, ENTRY, INLINE, PhaseRole};

/// Counts of one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub entries: u64,
    pub operations: u64,
    pub bytes: u64,
}

impl Counts {
    /// So much per second, rounded down as elbencho does.
    pub fn per_second(self, us: u64) -> Counts {
        let rate = |count: u64| {
            let rate = u128::from(count) * 1_000_000 / u128::from(us.max(1));
            if us == 0 { 0 } else { u64::try_from(rate).unwrap_or(u64::MAX) }
        };
        Counts { entries: rate(self.entries), operations: rate(self.operations), bytes: rate(self.bytes) }
    }

    /// The sum of both.
    pub fn with(self, other: Counts) -> Counts {
        Counts {
            entries: self.entries + other.entries,
            operations: self.operations + other.operations,
            bytes: self.bytes + other.bytes,
        }
    }

    pub fn is_empty(self) -> bool {
        self.entries == 0 && self.bytes == 0
    }
}

/// Of what a phase does, or of reads within a phase of writes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DirectionTotals {
    /// When the first thread was done.
    pub first: Counts,
    /// When all were.
    pub last: Counts,
    /// Latencies of entries and of operations, ns.
    pub entries: Histogram,
    pub operations: Histogram,
}

/// What a phase came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PhaseTotals {
    pub first_us: u64,
    pub last_us: u64,
    pub main: DirectionTotals,
    /// Reads of a phase of writes.
    pub mixed: DirectionTotals,
    /// Of each thread, us.
    pub each_us: Vec<u64>,
    /// Of each host, the time of its slowest thread, us.
    pub hosts_us: Vec<u64>,
    /// How busy the machine's processors were, percent.
    pub cpu_percent: Option<f64>,
}

impl PhaseTotals {
    /// Of all threads of a phase.
    pub fn of(phase: &PhaseRecord, lines: ResultLines) -> Self {
        let workers = || phase.jobs.iter().flat_map(|job| &job.workers);
        let ended = || workers().filter(|worker| worker.ended_ns > 0).map(|worker| worker.ended_ns / 1000);
        let (first_us, last_us) = (ended().min().unwrap_or(0), ended().max().unwrap_or(0));
        let ranks = workers().map(|worker| worker.rank).max().unwrap_or(0);
        let host = |rank| {
            workers()
                .filter(|worker| worker.rank == rank)
                .map(|worker| worker.ended_ns / 1000)
                .max()
                .unwrap_or(0)
        };
        let mut each: Vec<(u32, u32, u64)> =
            workers().map(|worker| (worker.rank, worker.index, worker.ended_ns / 1000)).collect();
        each.sort_by_key(|(rank, index, _)| (*rank, *index));
        let mut totals = PhaseTotals {
            first_us,
            last_us,
            each_us: each.into_iter().map(|(_, _, us)| us).collect(),
            hosts_us: (0..=ranks).map(host).collect(),
            cpu_percent: busy_percent(phase),
            ..PhaseTotals::default()
        };
        totals.count(phase, lines);
        totals.at_first(phase, lines);
        if !lines.has_entries {
            // Of files that all threads remove, no latencies are told.
            totals.main.entries = Histogram::default();
        }
        if lines.reads_blocks {
            totals.main.first.entries = totals.main.first.operations / lines.blocks.max(1);
            totals.main.last.entries = totals.main.last.operations / lines.blocks.max(1);
        }
        totals
    }

    fn count(&mut self, phase: &PhaseRecord, lines: ResultLines) {
        let role = lines.role;
        for job in &phase.jobs {
            for (line, mixed) in lines.of(job) {
                let direction = if mixed { &mut self.mixed } else { &mut self.main };
                if line.verb.moves_data() && role.moves_data() {
                    direction.last.operations += line.operations;
                    direction.last.bytes += line.bytes;
                    direction.operations.merge(&line.latency);
                } else if line.label == ENTRY {
                    direction.last.entries += line.operations;
                    direction.entries.merge(&line.latency);
                }
                if line.label == ENTRY && line.bytes > 0 {
                    // An entry that moves its data as one operation: an object.
                    direction.last.operations += line.operations * lines.blocks.max(1);
                    direction.last.bytes += line.bytes;
                    if lines.blocks <= 1 {
                        direction.operations.merge(&line.latency);
                    }
                }
            }
        }
    }

    /// What was done when the first thread was done.
    fn at_first(&mut self, phase: &PhaseRecord, lines: ResultLines) {
        let role = lines.role;
        if self.first_us == self.last_us || self.each_us.len() < 2 {
            (self.main.first, self.mixed.first) = (self.main.last, self.mixed.last);
            return;
        }
        for job in &phase.jobs {
            let parts =
                Shares::of(&job.tally.series, self.first_us * 1000, self.last_us * 1000).at_least(own(job));
            for (line, mixed) in lines.of(job) {
                let direction = if mixed { &mut self.mixed.first } else { &mut self.main.first };
                let part = |count: u64, share: f64| (count as f64 * share).round() as u64;
                if line.verb.moves_data() && role.moves_data() {
                    let (operations, bytes) =
                        if line.verb == Verb::Read { parts.reads } else { parts.writes };
                    direction.operations += part(line.operations, operations);
                    direction.bytes += part(line.bytes, bytes);
                } else if line.label == ENTRY {
                    direction.entries += part(line.operations, parts.others);
                }
                if line.label == ENTRY && line.bytes > 0 {
                    direction.operations += part(line.operations * lines.blocks.max(1), parts.others);
                    direction.bytes += part(line.bytes, parts.others);
                }
            }
        }
    }
}

/// Which lines of a phase's tallies are results.
#[derive(Clone, Copy)]
pub struct ResultLines {
    pub role: PhaseRole,
    /// What a phase of writes reads is to check them, and no result.
    pub checks: bool,
    /// Blocks of an entry.
    pub blocks: u64,
    /// Files are its own, and not all threads'.
    pub has_entries: bool,
    /// Entries are counted by the blocks that are read of them.
    pub reads_blocks: bool,
}

impl ResultLines {
    /// ResultLines of a job, each with whether it tells of reads within a phase of writes.
    fn of(self, job: &JobRecord) -> impl Iterator<Item = (&Line, bool)> {
        let writes = self.role == PhaseRole::Write;
        let reader = writes && job.name == super::lower::READERS;
        let lines = job.tally.lines.iter().filter(move |line| {
            let is_check = self.checks && writes && line.verb == Verb::Read;
            line.label != BESIDE && line.label != INLINE && !is_check
        });
        lines.map(move |line| (line, reader || (writes && line.verb == Verb::Read)))
    }
}

/// Which parts of all that a series counts were done at some time: operations and bytes.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Shares {
    reads: (f64, f64),
    writes: (f64, f64),
    others: f64,
}

impl Shares {
    /// Of a series that ends then: its last row may be shorter.
    fn of(series: &Series, at_ns: u64, end_ns: u64) -> Shares {
        let length = series.interval_ns.max(1);
        let whole = (at_ns / length) as usize;
        let begins = whole as u64 * length;
        let row = end_ns.saturating_sub(begins).clamp(1, length);
        let within = ((at_ns - begins) as f64 / row as f64).min(1.0);
        let share = |of: fn(&iodyno_model::SeriesRow) -> u64| {
            let all: u64 = series.rows.iter().map(of).sum();
            let before: u64 = series.rows.iter().take(whole).map(of).sum();
            let during = series.rows.get(whole).map_or(0.0, |row| of(row) as f64 * within);
            if all == 0 { 1.0 } else { (before as f64 + during) / all as f64 }
        };
        Shares {
            reads: (share(|row| row.reads), share(|row| row.read_bytes)),
            writes: (share(|row| row.writes), share(|row| row.write_bytes)),
            others: share(|row| row.others),
        }
    }

    /// At least what is certain.
    fn at_least(self, share: f64) -> Shares {
        let both = |(operations, bytes): (f64, f64)| (operations.max(share), bytes.max(share));
        Shares { reads: both(self.reads), writes: both(self.writes), others: self.others.max(share) }
    }
}

/// The part of a job's operations that its first thread to be done did: by then they were done for certain.
fn own(job: &JobRecord) -> f64 {
    let all: u64 = job.workers.iter().map(|worker| worker.operations).sum();
    let first = job.workers.iter().filter(|worker| worker.ended_ns > 0).min_by_key(|worker| worker.ended_ns);
    first.map_or(0.0, |worker| worker.operations as f64 / all.max(1) as f64)
}

fn busy_percent(phase: &PhaseRecord) -> Option<f64> {
    phase.sightings.iter().find_map(|sighting| match sighting {
        iodyno_model::Sighting::Cpu { user_percent, system_percent, .. } => {
            Some(user_percent + system_percent)
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::SeriesRow;

    #[test]
    fn rates_are_rounded_down_and_nothing_is_divided_by_nothing() {
        let counts = Counts { entries: 4000, operations: 3, bytes: u64::MAX };
        assert_eq!(counts.per_second(54_713).entries, 73_108);
        assert_eq!(counts.per_second(0), Counts::default());
        assert_eq!(counts.per_second(1).bytes, u64::MAX);
    }

    #[test]
    fn a_row_that_is_cut_counts_in_part() {
        let row = |writes: u64| SeriesRow { writes, write_bytes: writes * 10, ..SeriesRow::default() };
        let series =
            Series { interval_ns: 100, rows: vec![row(10), row(20), row(10)], latencies: Vec::new() };
        let shares = Shares::of(&series, 150, 300);
        assert_eq!((shares.writes, shares.others), ((0.5, 0.5), 1.0));
        assert_eq!(Shares::of(&series, 300, 300).writes, (1.0, 1.0));
        // The last row is as long as the phase goes on.
        assert_eq!(Shares::of(&series, 205, 210).writes, (0.875, 0.875));
        assert_eq!(shares.at_least(0.75).writes, (0.75, 0.75));
    }
}
