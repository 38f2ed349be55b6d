//! The ranks of a run: one line about the world, who was slowest, and on request a table with a row for each rank.
//!
//! A rank's figures are those of its workers. Of a world of one rank nothing is said.

use std::collections::BTreeMap;
use std::io;

use iodyno_model::{Event, JobRecord, PhaseRecord, Record, WorkerRecord, WorldFacts};

use crate::number;
use crate::paint::Paint;
use crate::table::Table;
use crate::{Output, Reporter};

/// Hosts that are named in the line about the world.
const HOSTS_MOST: usize = 8;

/// The world in one line; empty for one rank.
pub fn line(world: &WorldFacts) -> String {
    if world.ranks() < 2 {
        return String::new();
    }
    let named: Vec<&str> = world.hosts.iter().take(HOSTS_MOST).map(String::as_str).collect();
    let more = match world.hosts.len().saturating_sub(HOSTS_MOST) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let nodes = if world.machines() == 1 { "node" } else { "nodes" };
    let library = world.library.as_ref().map_or_else(String::new, |name| format!(" · {name}"));
    let clocks = match world.clock_error_ns {
        0 => String::new(),
        ns => format!(" · clocks within {}", number::latency(ns as f64)),
    };
    let (ranks, machines) = (world.ranks(), world.machines());
    format!("{ranks} ranks on {machines} {nodes} ({}{more}){library}{clocks}", named.join(", "))
}

/// One rank's part in a job.
#[derive(Clone, Copy, Debug, Default)]
struct RankSums {
    workers: u32,
    operations: u64,
    bytes: u64,
    errors: u64,
    began_ns: u64,
    first_ns: u64,
    last_ns: u64,
}

impl RankSums {
    fn add(&mut self, worker: &WorkerRecord) {
        let first = self.workers == 0;
        let earlier = |mine: u64, theirs: u64| if first { theirs } else { mine.min(theirs) };
        self.began_ns = earlier(self.began_ns, worker.began_ns);
        self.first_ns = earlier(self.first_ns, worker.ended_ns);
        self.last_ns = self.last_ns.max(worker.ended_ns);
        self.workers += 1;
        self.operations += worker.operations;
        self.bytes += worker.bytes;
        self.errors += worker.errors;
    }

    fn per_second(&self, count: u64) -> f64 {
        count as f64 * 1e9 / self.last_ns.saturating_sub(self.began_ns).max(1) as f64
    }
}

fn rows(job: &JobRecord) -> BTreeMap<u32, RankSums> {
    let mut rows: BTreeMap<u32, RankSums> = BTreeMap::new();
    job.workers.iter().for_each(|worker| rows.entry(worker.rank).or_default().add(worker));
    rows
}

/// The rank whose last worker of a job was done last, with its host; nothing where one rank did it all.
pub fn slowest(world: &WorldFacts, job: &JobRecord) -> Option<String> {
    let rows = rows(job);
    let (rank, row) = rows.iter().max_by_key(|(rank, row)| (row.last_ns, std::cmp::Reverse(**rank)))?;
    let text = || {
        let rate = number::iops(row.per_second(row.operations));
        let done = number::latency(row.last_ns as f64);
        format!("slowest: rank {rank} on {}, {rate} IOPS, done after {done}", world.host(*rank))
    };
    (rows.len() > 1).then(text)
}

/// A table with a row for each rank of each job.
pub fn table(world: &WorldFacts, phases: &[PhaseRecord], paint: Paint) -> String {
    // A job that is called as its phase, the only one, needs no column; nor do failures that none had.
    let jobs = || phases.iter().flat_map(|phase| phase.jobs.iter().map(move |job| (phase, job)));
    let names_job = jobs().any(|(phase, job)| job.name != phase.name || phase.jobs.len() > 1);
    let has_failures = jobs().any(|(_, job)| job.workers.iter().any(|worker| worker.errors > 0));
    let left = if names_job { 2 } else { 1 };
    let shown = |name: &&str| match *name {
        "job" => names_job,
        "failed" => has_failures,
        _ => true,
    };
    let headings = [
        "phase",
        "job",
        "rank",
        "host",
        "workers",
        "done",
        "IOPS",
        paint.rates.name(),
        "failed",
        "began",
        "first",
        "last",
    ];
    let mut table =
        Table::new(left, &headings.iter().copied().filter(|name| shown(name)).collect::<Vec<_>>());
    for (phase, job) in jobs() {
        for (rank, row) in rows(job) {
            let name = match phase.repetition {
                0 => phase.name.clone(),
                repetition => format!("{} · {}", phase.name, repetition + 1),
            };
            let cells = [
                name,
                job.name.clone(),
                rank.to_string(),
                world.host(rank).to_string(),
                row.workers.to_string(),
                number::thousands(row.operations),
                number::iops(row.per_second(row.operations)),
                paint.rates.figure(row.per_second(row.bytes)),
                number::thousands(row.errors),
                number::latency(row.began_ns as f64),
                number::latency(row.first_ns as f64),
                number::latency(row.last_ns as f64),
            ];
            let cells: Vec<String> =
                headings.iter().zip(cells).filter(|(name, _)| shown(name)).map(|(_, cell)| cell).collect();
            table.row(&cells);
        }
    }
    if table.is_empty() {
        String::new()
    } else {
        let told =
            paint.aside("began, first, last: when its workers began, the first ended and the last ended");
        format!("\n{}\n{}  {told}\n", paint.heading("ranks"), table.text(2, paint))
    }
}

/// Writes the table at the end of a run.
pub struct RankTable {
    paint: Paint,
    talk: bool,
}

impl RankTable {
    /// On standard output; or, as talk, on standard error.
    pub fn new(paint: Paint, talk: bool) -> Self {
        RankTable { paint, talk }
    }

    fn text(&self, record: &Record) -> String {
        table(&record.world, &record.phases, self.paint)
    }
}

impl Reporter for RankTable {
    fn event(&mut self, event: &Event, output: &mut Output<'_>) -> io::Result<()> {
        let Event::Ended(record) = event else { return Ok(()) };
        let to: &mut dyn io::Write = if self.talk { output.err } else { output.out };
        to.write_all(self.text(record).as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn world() -> WorldFacts {
        WorldFacts {
            hosts: vec!["one".into(), "two".into()],
            nodes: vec![0, 1],
            library: Some("Open MPI 4.1.4".into()),
            clock_error_ns: 1_500,
            lost: Vec::new(),
        }
    }

    fn job() -> JobRecord {
        let worker = |index: u32, operations: u64, ended_ns: u64| WorkerRecord {
            index,
            rank: index / 2,
            operations,
            bytes: operations * 4096,
            began_ns: 1_000_000,
            ended_ns,
            ..WorkerRecord::default()
        };
        let workers = vec![
            worker(0, 1000, 501_000_000),
            worker(1, 1000, 601_000_000),
            worker(2, 500, 1_001_000_000),
            worker(3, 500, 901_000_000),
        ];
        JobRecord { name: "job".into(), workers, ..JobRecord::default() }
    }

    #[test]
    fn the_world_and_the_slowest_are_named() {
        assert_eq!(line(&world()), "2 ranks on 2 nodes (one, two) · Open MPI 4.1.4 · clocks within 1.50 µs");
        assert_eq!(line(&WorldFacts::alone("one")), "");
        let told = slowest(&world(), &job()).unwrap();
        assert_eq!(told, "slowest: rank 1 on two, 1,000 IOPS, done after 1.00 s");
        let alone = JobRecord { workers: job().workers[..2].to_vec(), ..job() };
        assert_eq!(slowest(&world(), &alone), None);
    }

    #[test]
    fn each_rank_has_a_row() {
        let phase = PhaseRecord { name: "write".into(), jobs: vec![job()], ..PhaseRecord::default() };
        let text = table(&world(), &[phase], Paint::default());
        let rows: Vec<Vec<&str>> = text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(rows[4][..6], ["write", "job", "1", "two", "2", "1,000"]);
        assert_eq!(rows.len(), 6, "{text}");
    }

    #[test]
    fn a_row_of_a_long_run_fits_80_columns() {
        let big = |mut job: JobRecord, name: &str| {
            job.name = name.into();
            for worker in &mut job.workers {
                (worker.rank, worker.operations, worker.bytes) =
                    (worker.rank + 127, 12_345_678, 987_654_321_000);
                (worker.began_ns, worker.ended_ns) = (123_000_000, 301_000_000_000);
            }
            job
        };
        let nodes = (0..256).map(|rank| rank / 128).collect();
        let world = WorldFacts { hosts: vec!["node001".into(), "node002".into()], nodes, ..world() };
        let phase = PhaseRecord {
            name: "write".into(),
            repetition: 2,
            jobs: vec![big(job(), "write")],
            ..PhaseRecord::default()
        };
        let text = table(&world, &[phase], Paint::default());
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= 80 && text.contains("write · 3") && !text.contains("failed"), "{widest}\n{text}");
    }
}
