//! The rows of results: who each is of, its figures, and the 80 columns that they become.
//!
//! Times are in ms, raw times in ns. It refuses to make figures of what was not counted: failures are not operations.

use iodyno_model::histogram::upper_edge;
use iodyno_model::{Histogram, JobRecord, PhaseRecord, ProcessorShare, Sighting, Tally, Verb};

use super::super::lower::RunPhase;
use super::super::settings::{ResultScope, Settings};

const HEADING: &str = "'Target Type,Target Name,Access Specification Name,# Managers,# Workers,# Disks,IOps,Read IOps,\
    Write IOps,MiBps (Binary),Read MiBps (Binary),Write MiBps (Binary),MBps (Decimal),Read MBps (Decimal),\
    Write MBps (Decimal),Transactions per Second,Connections per Second,Average Response Time,\
    Average Read Response Time,Average Write Response Time,Average Transaction Time,Average Connection Time,\
    Maximum Response Time,Maximum Read Response Time,Maximum Write Response Time,Maximum Transaction Time,\
    Maximum Connection Time,Errors,Read Errors,Write Errors,Bytes Read,Bytes Written,Read I/Os,Write I/Os,Connections,\
    Transactions per Connection,Total Raw Read Response Time,Total Raw Write Response Time,\
    Total Raw Transaction Time,Total Raw Connection Time,Maximum Raw Read Response Time,\
    Maximum Raw Write Response Time,Maximum Raw Transaction Time,Maximum Raw Connection Time,Total Raw Run Time,\
    Starting Sector,Maximum Size,Queue Depth,% CPU Utilization,% User Time,% Privileged Time,% DPC Time,\
    % Interrupt Time,Processor Speed,Interrupts per Second,CPU Effectiveness,Packets/Second,Packet Errors,\
    Segments Retransmitted/Second,0 to 50 uS,50 to 100 uS,100 to 200 uS,200 to 500 uS,0.5 to 1 mS,1 to 2 mS,2 to 5 mS,\
    5 to 10 mS,10 to 15 mS,15 to 20 mS,20 to 30 mS,30 to 50 mS,50 to 100 mS,100 to 200 mS,200 to 500 mS,0.5 to 1 S,\
    1 to 2 s,2 to 4.7 s,4.7 to 5 s,5 to 10 s, >= 10 s";

/// Where latencies are parted, µs.
const BANDS: [u64; 20] = [
    50, 100, 200, 500, 1000, 2000, 5000, 10_000, 15_000, 20_000, 30_000, 50_000, 100_000, 200_000, 500_000,
    1_000_000, 2_000_000, 4_700_000, 5_000_000, 10_000_000,
];

/// The columns' names.
pub fn heading() -> &'static str {
    HEADING
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowScope {
    /// Everybody's.
    All,
    /// A machine's.
    Manager,
    /// A worker's.
    Worker,
    /// A target's.
    Disk,
    /// A processor's of a manager.
    Processor,
}

impl RowScope {
    /// How much must be recorded for it to be written.
    pub fn recorded(self) -> ResultScope {
        match self {
            RowScope::All => ResultScope::Sum,
            RowScope::Manager | RowScope::Processor => ResultScope::Managers,
            RowScope::Worker => ResultScope::Workers,
            RowScope::Disk => ResultScope::Targets,
        }
    }

    fn word(self) -> &'static str {
        ["ALL", "MANAGER", "WORKER", "DISK", "PROCESSOR"][self as usize]
    }
}

/// What somebody did.
#[derive(Clone, Debug, Default)]
pub struct ResultFigures {
    /// Latencies of reads and of writes.
    pub latency: (Histogram, Histogram),
    /// Reads and writes.
    pub count: (u64, u64),
    /// Bytes read and written.
    pub moved: (u64, u64),
    /// Reads and writes that failed.
    pub failed: (u64, u64),
    /// The longest measured time of all that is in it, ns.
    pub measured_ns: u64,
}

impl ResultFigures {
    fn add(&mut self, tally: &Tally) {
        for line in &tally.lines {
            let reads = line.verb == Verb::Read;
            let own = if reads { &mut self.latency.0 } else { &mut self.latency.1 };
            own.merge(&line.latency);
            let pick = |pair: &mut (u64, u64), more: u64| if reads { pair.0 += more } else { pair.1 += more };
            pick(&mut self.count, line.operations);
            pick(&mut self.moved, line.bytes);
            pick(&mut self.failed, line.failed);
        }
        self.measured_ns = self.measured_ns.max(tally.last_done_ns.saturating_sub(tally.began_ns));
    }

    /// Reads and writes.
    pub fn operations(&self) -> u64 {
        self.count.0 + self.count.1
    }

    /// Bytes both ways.
    pub fn bytes(&self) -> u64 {
        self.moved.0 + self.moved.1
    }

    /// Latencies of both.
    pub fn both(&self) -> Histogram {
        let mut both = self.latency.0.clone();
        both.merge(&self.latency.1);
        both
    }

    /// A count for each second.
    pub fn rate(&self, count: u64) -> f64 {
        if self.measured_ns == 0 { 0.0 } else { count as f64 / (self.measured_ns as f64 / 1e9) }
    }
}

#[derive(Clone, Debug)]
pub struct ResultRow {
    pub kind: RowScope,
    pub name: String,
    pub specification: String,
    /// Managers, workers and targets it is made of, where that is told.
    pub counts: [Option<usize>; 3],
    /// First sector, sectors and depth.
    pub place: Option<(u64, u64, u32)>,
    /// What was done.
    pub figures: ResultFigures,
    /// Processor time: user and system, percent.
    pub cpu: Option<(f64, f64)>,
    /// Of a processor's row: its time in interrupts, percent.
    pub interrupts: Option<f64>,
}

/// Whose a tally is.
struct MachineShare<'a> {
    /// The machine: a manager, or of one manager on several machines the rank.
    machine: u32,
    disk: usize,
    tally: &'a Tally,
}

/// The rows of a run, everybody's first.
pub fn rows(
    configuration: &Settings,
    part: &RunPhase,
    phase: &PhaseRecord,
    host: &dyn Fn(u32) -> String,
) -> Vec<ResultRow> {
    let shares: Vec<MachineShare<'_>> = part
        .disks
        .iter()
        .zip(&phase.jobs)
        .enumerate()
        .flat_map(|(disk, (_, job))| shares(disk, job))
        .collect();
    let mut machines: Vec<u32> = shares.iter().map(|share| share.machine).collect();
    machines.sort_unstable();
    machines.dedup();
    let cpu = phase.sightings.iter().find_map(|sighting| match sighting {
        Sighting::Cpu { user_percent, system_percent, .. } => Some((*user_percent, *system_percent)),
        _ => None,
    });
    let each = phase.sightings.iter().find_map(|sighting| match sighting {
        Sighting::Processors(activity) => Some(activity.each.as_slice()),
        _ => None,
    });
    let gathered =
        RowSums { configuration, part, shares: &shares, cpu, each: each.unwrap_or_default(), host };
    let workers = |machine: &u32| gathered.workers(*machine).len();
    let mut all = gathered.row(RowScope::All, "All".into(), |_| true);
    all.counts = [Some(machines.len()), Some(machines.iter().map(workers).sum()), Some(shares.len())];
    all.cpu = cpu.filter(|_| machines.len() == 1);
    let mut rows = vec![all];
    machines.iter().for_each(|machine| rows.extend(gathered.machine(*machine, machines.len() == 1)));
    rows
}

fn shares(disk: usize, job: &JobRecord) -> Vec<MachineShare<'_>> {
    let each = job.workers.iter().filter_map(|worker| {
        worker.tally.as_deref().map(|tally| MachineShare { machine: worker.rank, disk, tally })
    });
    let each: Vec<_> = each.collect();
    match each.is_empty() {
        true => vec![MachineShare { machine: 0, disk, tally: &job.tally }],
        false => each,
    }
}

struct RowSums<'a> {
    configuration: &'a Settings,
    part: &'a RunPhase,
    shares: &'a [MachineShare<'a>],
    cpu: Option<(f64, f64)>,
    /// The processors, where there is one machine.
    each: &'a [ProcessorShare],
    host: &'a dyn Fn(u32) -> String,
}

impl RowSums<'_> {
    fn row(&self, kind: RowScope, name: String, of: impl Fn(&MachineShare<'_>) -> bool) -> ResultRow {
        let mut figures = ResultFigures::default();
        let mut specification = None;
        for share in self.shares.iter().filter(|share| of(share)) {
            figures.add(share.tally);
            specification.get_or_insert(&self.part.disks[share.disk].specification);
        }
        let specification = specification.unwrap_or(&self.part.name).clone();
        ResultRow {
            kind,
            name,
            specification,
            counts: [None; 3],
            place: None,
            figures,
            cpu: None,
            interrupts: None,
        }
    }

    /// The workers of a machine, by manager and number.
    fn workers(&self, machine: u32) -> Vec<(usize, usize)> {
        let mut workers: Vec<_> = self
            .shares
            .iter()
            .filter(|share| share.machine == machine)
            .map(|share| (self.part.disks[share.disk].manager, self.part.disks[share.disk].worker))
            .collect();
        workers.dedup();
        workers
    }

    fn machine(&self, machine: u32, alone: bool) -> Vec<ResultRow> {
        let workers = self.workers(machine);
        let named = workers.first().map(|(manager, _)| &self.configuration.managers[*manager].name);
        let one = self.configuration.managers.len() == 1 && !alone;
        let name = match named {
            Some(name) if !name.is_empty() && !one => name.clone(),
            _ => (self.host)(machine),
        };
        let mut manager = self.row(RowScope::Manager, name, |share| share.machine == machine);
        let disks = self.shares.iter().filter(|share| share.machine == machine).count();
        manager.counts = [None, Some(workers.len()), Some(disks)];
        manager.cpu = self.cpu.filter(|_| alone);
        let mut rows = vec![manager];
        if alone {
            rows.extend(self.each.iter().map(processor));
        }
        workers.into_iter().for_each(|worker| rows.extend(self.worker(machine, worker)));
        rows
    }

    fn worker(&self, machine: u32, (manager, number): (usize, usize)) -> Vec<ResultRow> {
        let worker = &self.configuration.managers[manager].workers[number];
        let of = |share: &MachineShare<'_>| {
            let disk = &self.part.disks[share.disk];
            share.machine == machine && (disk.manager, disk.worker) == (manager, number)
        };
        let mut row = self.row(RowScope::Worker, worker.name.clone(), of);
        let own: Vec<&MachineShare<'_>> = self.shares.iter().filter(|share| of(share)).collect();
        let place = |share: &MachineShare<'_>| {
            (worker.first_sector, worker.sectors, self.part.disks[share.disk].depth)
        };
        row.counts = [None, None, Some(own.len())];
        row.place = own.first().map(|share| place(share));
        let mut rows = vec![row];
        for share in own {
            let name = self.part.disks[share.disk].target.clone();
            let mut disk = self.row(RowScope::Disk, name, |other| std::ptr::eq(other, share));
            disk.place = Some(place(share));
            rows.push(disk);
        }
        rows
    }
}

/// A processor of a manager.
fn processor(share: &ProcessorShare) -> ResultRow {
    ResultRow {
        kind: RowScope::Processor,
        name: format!("CPU {}", share.number),
        specification: String::new(),
        counts: [None; 3],
        place: None,
        figures: ResultFigures::default(),
        cpu: Some((share.user_percent, share.system_percent)),
        interrupts: Some(share.interrupt_percent),
    }
}

/// Columns between a row's counts and its processor time.
const IO_COLUMNS: usize = 42;

impl ResultRow {
    /// Its columns, and a line's end.
    pub fn line(&self) -> String {
        if self.kind == RowScope::Processor {
            return self.processor_line();
        }
        let mut columns = vec![self.kind.word().to_string(), plain(&self.name), plain(&self.specification)];
        columns.extend(self.counts.map(|count| count.map(|count| count.to_string()).unwrap_or_default()));
        columns.extend(self.rates());
        columns.extend(self.times());
        columns.extend(self.totals());
        columns.extend(match self.place {
            Some((first, sectors, depth)) => [first.to_string(), sectors.to_string(), depth.to_string()],
            None => [String::new(), String::new(), String::new()],
        });
        columns.extend(self.processor());
        columns.extend(bands(&self.figures.both()).map(|count| count.to_string()));
        columns.join(",") + "\n"
    }

    /// A processor does no I/O of its own: all columns but those of its time are empty.
    fn processor_line(&self) -> String {
        let (user, system) = self.cpu.unwrap_or_default();
        let time = [user + system, user, system].map(decimal);
        let empty = |count: usize| vec![String::new(); count];
        let mut columns = vec![self.kind.word().to_string(), plain(&self.name)];
        columns.extend(empty(4 + IO_COLUMNS));
        columns.extend(time);
        columns.push(String::new());
        columns.extend([self.interrupts.unwrap_or_default(), 1e9].map(decimal));
        columns.extend(empty(5 + BANDS.len() + 1));
        columns.join(",") + "\n"
    }

    fn rates(&self) -> Vec<String> {
        let figures = &self.figures;
        let three = |(read, write): (u64, u64), divisor: f64| {
            [read + write, read, write].map(|count| decimal(figures.rate(count) / divisor))
        };
        let mut columns = three(figures.count, 1.0).to_vec();
        columns.extend(three(figures.moved, (1 << 20) as f64));
        columns.extend(three(figures.moved, 1e6));
        // An operation is a transaction, and there are no connections.
        columns.extend([decimal(figures.rate(figures.operations())), decimal(0.0)]);
        columns
    }

    /// Average and longest, ms.
    fn times(&self) -> Vec<String> {
        let both = self.figures.both();
        let (read, write) = &self.figures.latency;
        let all = [&both, read, write, &both];
        let mut columns: Vec<String> = all.iter().map(|latency| decimal(latency.mean() / 1e6)).collect();
        columns.push(decimal(0.0));
        columns.extend(all.iter().map(|latency| decimal(latency.max as f64 / 1e6)));
        columns.push(decimal(0.0));
        columns
    }

    fn totals(&self) -> Vec<String> {
        let ResultFigures { count, moved, failed, latency: (read, write), measured_ns } = &self.figures;
        let mut columns: Vec<u128> = Vec::new();
        columns.extend([failed.0 + failed.1, failed.0, failed.1].map(u128::from));
        columns.extend([moved.0, moved.1, count.0, count.1, 0, 0].map(u128::from));
        columns.extend([read.sum, write.sum, read.sum + write.sum, 0]);
        columns.extend([read.max, write.max, read.max.max(write.max), 0, *measured_ns].map(u128::from));
        columns.iter().map(ToString::to_string).collect()
    }

    /// Shares of processor time, the clock's speed, and what is only a network's.
    fn processor(&self) -> Vec<String> {
        let Some((user, system)) = self.cpu else {
            return vec![String::new(); 11];
        };
        let busy = user + system;
        let effectiveness =
            if busy > 0.0 { self.figures.rate(self.figures.operations()) / busy } else { 0.0 };
        let columns = [busy, user, system, 0.0, 0.0, 1e9, 0.0, effectiveness, 0.0, 0.0, 0.0];
        columns.map(decimal).to_vec()
    }
}

fn decimal(number: f64) -> String {
    format!("{number:.6}")
}

/// A name that parts no columns.
fn plain(name: &str) -> String {
    name.replace(',', ";").replace(['\n', '\r'], " ")
}

fn bands(latency: &Histogram) -> [u64; 21] {
    let mut counts = [0; 21];
    for (bucket, count) in latency.buckets() {
        let ns = upper_edge(*bucket as usize);
        counts[BANDS.iter().take_while(|band| ns >= **band * 1000).count()] += count;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_every_column() {
        let mut figures = ResultFigures {
            count: (2, 1),
            moved: (8192, 4096),
            measured_ns: 500_000_000,
            ..ResultFigures::default()
        };
        [40_000, 2_000_000].into_iter().for_each(|ns| figures.latency.0.add(ns));
        figures.latency.1.add(11_000_000_000);
        let row = ResultRow {
            kind: RowScope::Disk,
            name: "a,b".into(),
            specification: "4K".into(),
            counts: [None; 3],
            place: Some((0, 16, 4)),
            figures,
            cpu: Some((10.0, 20.0)),
            interrupts: None,
        };
        let line = row.line();
        let columns: Vec<&str> = line.trim_end().split(',').collect();
        assert_eq!((columns.len(), heading().split(',').count()), (80, 80));
        assert_eq!(columns[..9], ["DISK", "a;b", "4K", "", "", "", "6.000000", "4.000000", "2.000000"]);
        assert_eq!((columns[30], columns[31], columns[47], columns[48]), ("8192", "4096", "4", "30.000000"));
        assert_eq!((columns[59], columns[65], columns[79]), ("1", "1", "1"));
    }

    #[test]
    fn a_processor_has_its_time_under_its_headings() {
        let (number, user_percent, system_percent, interrupt_percent) = (3, 10.0, 20.0, 5.0);
        let line =
            processor(&ProcessorShare { number, user_percent, system_percent, interrupt_percent }).line();
        let (columns, headings): (Vec<_>, Vec<_>) =
            (line.trim_end().split(',').collect(), heading().split(',').collect());
        assert_eq!((columns.len(), columns[0], columns[1]), (80, "PROCESSOR", "CPU 3"));
        let filled = columns.iter().zip(&headings).skip(2).filter(|(column, _)| !column.is_empty());
        let filled: Vec<_> = filled.map(|(column, heading)| (heading.trim(), *column)).collect();
        let expected = [
            ("% CPU Utilization", "30.000000"),
            ("% User Time", "10.000000"),
            ("% Privileged Time", "20.000000"),
            ("% Interrupt Time", "5.000000"),
            ("Processor Speed", "1000000000.000000"),
        ];
        assert_eq!(filled, expected);
    }
}
