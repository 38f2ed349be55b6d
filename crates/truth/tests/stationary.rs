//! The experiment behind finding 7 (and 8): how often a run whose rate only scatters is called unsteady, and how often one
//! that falls is found. The table stands in `docs/decisions/0007-steady-in-seconds.md`; `--nocapture` prints it.
//!
//! A worker at depth 1 keeps a device of known, stationary service times busy, in virtual time: a renewal process, counted
//! in rows. Drawn one by one where operations are few; where they are many, a row's count is normal (central limit theorem
//! of renewal processes: variance = mean × squared coefficient of variation).

use iodyno_model::{
    Job, JobRecord, Line, Pattern, Phase, PhaseRecord, Pick, Plan, Record, Series, SeriesRow, Severity, Verb,
    Workload,
};
use iodyno_truth::steady;

const SECOND: u64 = 1_000_000_000;
/// Runs of a cell of the table.
const RUNS: u64 = 100;
/// Operations of a run up to which each is drawn.
const DRAWN: f64 = 500.0;
/// Kernels write back and ext4 commits so often, s.
const COMMIT: f64 = 5.0;

/// Seeded noise.
struct Noise(u64);

impl Noise {
    /// Above 0, below 1.
    fn unit(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        ((self.0 >> 11) as f64 + 0.5) / (1u64 << 53) as f64
    }

    /// Normal, mean 0, deviation 1 (Box and Muller).
    fn normal(&mut self) -> f64 {
        (-2.0 * self.unit().ln()).sqrt() * (std::f64::consts::TAU * self.unit()).cos()
    }
}

/// How service times of mean 1 are distributed.
#[derive(Clone, Copy)]
enum Service {
    Constant,
    Exponential,
    /// With this deviation of the logarithm: the squared coefficient of variation is exp(σ²) - 1.
    LogNormal(f64),
}

impl Service {
    fn draw(self, noise: &mut Noise) -> f64 {
        match self {
            Service::Constant => 1.0,
            Service::Exponential => -noise.unit().ln(),
            Service::LogNormal(sigma) => (sigma * noise.normal() - sigma * sigma / 2.0).exp(),
        }
    }

    fn variation(self) -> f64 {
        match self {
            Service::Constant => 0.0,
            Service::Exponential => 1.0,
            Service::LogNormal(sigma) => (sigma * sigma).exp() - 1.0,
        }
    }
}

/// How the rate goes over a run; times in s, shares of the mean rate.
#[derive(Clone, Copy)]
enum Course {
    Even,
    /// Nothing is served for so long every five seconds, from a moment that is drawn.
    Commit(f64),
    /// The rate wanders: deviation, and the time over which it forgets.
    Wander(f64, f64),
    /// In a line from 1 to this at the end.
    Line(f64),
    /// This from that share of the run on.
    Step(f64, f64),
    /// Fast and slow by turns, so many times, at this rate while slow.
    Turns(f64, f64),
}

impl Course {
    /// The share of the rate in each row.
    fn shares(self, count: usize, row: f64, noise: &mut Noise) -> Vec<f64> {
        let phase = noise.unit() * COMMIT;
        let mut wander = noise.normal();
        let share = |index: usize| {
            let (from, at) = (index as f64 * row, (index as f64 + 0.5) / count as f64);
            match self {
                Course::Even => 1.0,
                Course::Commit(stall) => {
                    let stalled = |until: f64| {
                        let turns = (until / COMMIT).floor();
                        turns * stall + (until - turns * COMMIT).min(stall)
                    };
                    1.0 - (stalled(from + row + phase) - stalled(from + phase)) / row
                }
                Course::Wander(deviation, forgets) => {
                    let kept = (-row / forgets).exp();
                    wander = kept * wander + (1.0 - kept * kept).sqrt() * noise.normal();
                    (1.0 + deviation * wander).max(0.0)
                }
                Course::Line(end) => 1.0 + (end - 1.0) * at,
                Course::Step(when, then) => {
                    if at < when {
                        1.0
                    } else {
                        then
                    }
                }
                Course::Turns(times, slow) => {
                    if (at * times).fract() < 0.5 {
                        1.0
                    } else {
                        slow
                    }
                }
            }
        };
        (0..count).map(share).collect()
    }
}

/// What is counted in each row.
fn counts(
    service: Service,
    course: Course,
    rate: f64,
    count: usize,
    row: f64,
    noise: &mut Noise,
) -> Vec<u64> {
    let shares = course.shares(count, row, noise);
    if rate * row * count as f64 > DRAWN {
        let scatter = service.variation().sqrt();
        let row = shares.iter().map(|share| {
            let mean = share * rate * row;
            (mean + scatter * mean.sqrt() * noise.normal()).max(0.0).round() as u64
        });
        return row.collect();
    }
    // In the time of the device, which stands still as far as the rate is below 1; a run begins between two operations.
    let mut next = noise.unit() * service.draw(noise);
    let mut done = 0.0;
    let row = shares.iter().map(|share| {
        done += share * rate * row;
        let mut counted = 0;
        while next < done {
            (next, counted) = (next + service.draw(noise), counted + 1);
        }
        counted
    });
    row.collect()
}

/// What the judge says of such rows: nothing, a note or worse.
fn judged(counts: &[u64], row: f64) -> Option<Severity> {
    let job = Job::new(
        "j",
        "io_uring",
        vec![],
        Workload::Pattern(Box::new(Pattern::of(Verb::Read, Pick::Uniform, 4096))),
    );
    let phase = Phase { name: "p".into(), jobs: vec![job], ..Phase::default() };
    let plan = Plan { phases: vec![phase], ..Plan::default() };
    let mut found = JobRecord { name: "j".into(), engine: "io_uring".into(), ..JobRecord::default() };
    let mut line = Line::empty("read", Verb::Read);
    line.operations = counts.iter().sum();
    found.tally.lines.push(line);
    let interval_ns = (row * SECOND as f64) as u64;
    let rows = counts.iter().map(|reads| SeriesRow { reads: *reads, ..SeriesRow::default() }).collect();
    found.tally.series = Series { interval_ns, rows, ..Series::default() };
    let end = interval_ns * counts.len() as u64;
    (found.tally.first_done_ns, found.tally.last_done_ns) = (end, end);
    let phase = PhaseRecord { name: "p".into(), jobs: vec![found], ..PhaseRecord::default() };
    let record = Record { phases: vec![phase], ..Record::default() };
    steady::check(&plan, &record).into_iter().map(|suspicion| suspicion.finding.severity).max()
}

/// Percent of the runs of a cell that are told at all, and that are doubted.
fn cell(service: Service, course: Course, rate: f64, seconds: f64, row: f64) -> (f64, f64) {
    let mut noise = Noise(rate.to_bits() ^ seconds.to_bits().rotate_left(7) ^ row.to_bits().rotate_left(13));
    let (mut told, mut doubted) = (0, 0);
    for _ in 0..RUNS {
        let count = (seconds / row).round() as usize;
        let said = judged(&counts(service, course, rate, count, row, &mut noise), row);
        told += u64::from(said.is_some());
        doubted += u64::from(said >= Some(Severity::Doubtful));
    }
    let percent = |count: u64| count as f64 * 100.0 / RUNS as f64;
    (percent(told), percent(doubted))
}

/// Lengths of runs, s.
const LENGTHS: [f64; 6] = [1.0, 2.0, 4.0, 10.0, 30.0, 60.0];
/// Lengths of rows, s: one for short runs, fio's, and the usual one.
const ROWS: [f64; 3] = [0.2, 0.5, 1.0];
/// The row for short runs is for runs up to this, s.
const SHORT: f64 = 10.0;
/// Operations a second.
const RATES: [f64; 4] = [20.0, 200.0, 2_000.0, 20_000.0];

/// A line of the table: over all rates and rows, the percent of the runs of each length that are reported, and doubted.
fn line(name: &str, service: Service, course: Course, rates: &[f64]) -> Vec<(f64, f64)> {
    let of_length = |seconds: f64| {
        let rows = ROWS.iter().filter(|row| **row >= 0.5 || seconds <= SHORT);
        let cells = rows.flat_map(|row| rates.iter().map(|rate| cell(service, course, *rate, seconds, *row)));
        let cells: Vec<(f64, f64)> = cells.collect();
        let mean = |of: fn(&(f64, f64)) -> f64| cells.iter().map(of).sum::<f64>() / cells.len() as f64;
        (mean(|cell| cell.0), mean(|cell| cell.1))
    };
    let found = LENGTHS.map(of_length).to_vec();
    let cells: Vec<String> =
        found.iter().map(|(told, doubted)| format!("{told:.1} / {doubted:.1}")).collect();
    println!("| {name} | {} |", cells.join(" | "));
    found
}

#[test]
fn what_only_scatters_is_not_doubted() {
    let stationary = [
        ("constant", Service::Constant, Course::Even),
        ("exponential", Service::Exponential, Course::Even),
        ("log-normal, σ 1", Service::LogNormal(1.0), Course::Even),
        ("log-normal, σ 1.5", Service::LogNormal(1.5), Course::Even),
        ("commits of 0.3 s", Service::Exponential, Course::Commit(0.3)),
        ("commits of 1 s", Service::Exponential, Course::Commit(1.0)),
        ("wandering, 10 %, 0.5 s", Service::Exponential, Course::Wander(0.10, 0.5)),
        ("wandering, 5 %, 2 s", Service::Exponential, Course::Wander(0.05, 2.0)),
    ];
    for (name, service, course) in stationary {
        let found = line(name, service, course, &RATES);
        assert!(found.iter().all(|(_, doubted)| *doubted <= 1.0), "{name}: {found:?}");
    }
}

/// Beyond what is promised: wide swings, stalls of seconds at 20 operations a second, and rates that wander for as long as a round.
#[test]
fn what_wanders_for_seconds_is_seldom_doubted() {
    let courses = [
        ("log-normal, σ 2", Service::LogNormal(2.0), Course::Even),
        ("commits of 1.5 s", Service::Exponential, Course::Commit(1.5)),
        ("wandering, 20 %, 0.5 s", Service::Exponential, Course::Wander(0.20, 0.5)),
        ("wandering, 10 %, 2 s", Service::Exponential, Course::Wander(0.10, 2.0)),
    ];
    for (name, service, course) in courses {
        let found = line(name, service, course, &RATES);
        assert!(found.iter().all(|(_, doubted)| *doubted <= 4.0), "{name}: {found:?}");
    }
}

/// Where counting noise does not hide it, of 10 s and more always; in a shorter run, where it falls all the time. What
/// is not doubted is reported.
#[test]
fn what_falls_is_doubted() {
    let courses = [
        ("line to 80 %", Course::Line(0.8), [0.0, 0.0, 0.0, 60.0]),
        ("line to 50 %", Course::Line(0.5), [0.0, 0.0, 60.0, 90.0]),
        ("line to 20 %", Course::Line(0.2), [0.0, 0.0, 60.0, 90.0]),
        ("line to 200 %", Course::Line(2.0), [0.0, 0.0, 60.0, 90.0]),
        ("half from 40 % on", Course::Step(0.4, 0.5), [0.0, 0.0, 60.0, 90.0]),
        ("half from 80 % on", Course::Step(0.8, 0.5), [0.0, 0.0, 0.0, 0.0]),
        ("double from 50 % on", Course::Step(0.5, 2.0), [0.0, 0.0, 0.0, 90.0]),
        ("half by turns, 3", Course::Turns(3.0, 0.5), [0.0; 4]),
    ];
    for (name, course, least) in courses {
        let found = line(name, Service::Exponential, course, &RATES[2..]);
        let least = least.iter().chain([&90.0; 2]);
        assert!(found.iter().zip(least).all(|((_, doubted), least)| doubted >= least), "{name}: {found:?}");
    }
}
