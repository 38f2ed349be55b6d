//! Everything that is reported, computed once; the formats only write it down, so they cannot drift apart.
//!
//! A reported job is one clone, or all clones and neighbours of a group that asks for group reporting.

use iodyno_model::{Histogram, JobRecord, Kind, PhaseRecord, Plan, Stage, SteadyRecord, Tally, WorkerRecord};

use super::direction::{Direction, KINDS, per_second};
use super::disks::{Disk, disks};
use super::spectrum::Spectrum;
use super::trouble::Failure;
use crate::fio::view::{JobView, ReportContext, UnifiedReporting};

/// What a report says.
pub struct Summary<'a> {
    /// Each reported job, in order.
    pub jobs: Vec<ReportedJob<'a>>,
    /// Each group of jobs that ran together.
    pub groups: Vec<GroupSummary<'a>>,
    /// Each block device.
    pub disks: Vec<Disk>,
}

/// One reported job.
#[derive(Clone)]
pub struct ReportedJob<'a> {
    /// How its first member was written.
    pub view: &'a JobView,
    /// How many workers it stands for.
    pub members: u32,
    /// The first worker's.
    pub pid: u32,
    /// What ended one of them, if something did.
    pub failure: Option<Failure>,
    /// Operations that failed, and the first's error number.
    pub errors: (u64, i32),
    /// Reads, writes, trims; where all are reported as one, all are in the first.
    pub directions: [Direction; 3],
    /// All as one, where that is wanted besides.
    pub all: Option<Direction>,
    /// Operations that made data durable, and their latency, ns.
    pub syncs: (u64, Histogram),
    /// Time summed over workers, ns: at work, in user space, in the kernel.
    pub times_ns: [u64; 3],
    /// Context switches.
    pub switches: u64,
    /// Page faults, major and minor.
    pub faults: (u64, u64),
    /// How the counts are spread over depths, batches and latencies.
    pub spectrum: Spectrum,
    /// The depth at the end.
    pub depth: u32,
    /// What was found where steadiness was asked for.
    pub steady: Option<SteadyRecord>,
    /// When the first worker began, ns since 1970.
    pub began_unix_ns: u64,
}

/// Jobs that ran together.
pub struct GroupSummary<'a> {
    /// A member, for its units.
    pub view: &'a JobView,
    /// Reads, writes, trims, and all as one where that is wanted besides.
    pub directions: [GroupDirection; 4],
}

/// One direction of a group: extremes over its reported jobs.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct GroupDirection {
    /// Bytes moved.
    pub bytes: u64,
    /// Shortest and longest time, ms.
    pub run_ms: (u64, u64),
    /// Smallest and largest bandwidth, bytes per second.
    pub bandwidth: (u64, u64),
}

impl GroupDirection {
    /// All bytes over the longest time, per second.
    pub fn aggregate(&self) -> u64 {
        per_second(self.bytes, self.run_ms.1)
    }

    fn add(&mut self, direction: &Direction) {
        let (ms, rate) = (direction.runtime_ms, direction.bytes_per_second());
        self.join(&GroupDirection { bytes: direction.bytes, run_ms: (ms, ms), bandwidth: (rate, rate) });
    }

    fn join(&mut self, other: &GroupDirection) {
        if other.run_ms.1 == 0 {
            return;
        }
        let first = self.run_ms.1 == 0;
        let least = |mine: u64, theirs: u64| if first { theirs } else { mine.min(theirs) };
        self.run_ms = (least(self.run_ms.0, other.run_ms.0), self.run_ms.1.max(other.run_ms.1));
        self.bandwidth =
            (least(self.bandwidth.0, other.bandwidth.0), self.bandwidth.1.max(other.bandwidth.1));
        self.bytes += other.bytes;
    }
}

/// Computes it from what ran so far: the records of phases that ended, and of those that run.
pub fn summary<'a>(view: &'a ReportContext, plan: &Plan, phases: &[PhaseRecord]) -> Summary<'a> {
    let mut jobs: Vec<ReportedJob<'a>> = Vec::new();
    let mut last: Option<u32> = None;
    for job in view.jobs.iter().filter(|job| job.figures.stats) {
        let record = phases.iter().find(|phase| phase.index == job.phase);
        let record = record.and_then(|phase| phase.jobs.get(job.job));
        for part in parts(job, record, plan) {
            match jobs.last_mut() {
                Some(whole) if job.group_reporting && last == Some(job.group) => whole.add(&part),
                _ => jobs.push(part),
            }
            last = Some(job.group);
        }
    }
    jobs.iter_mut().for_each(ReportedJob::unify);
    let groups = groups(&jobs, view);
    let watched = view.jobs.iter().any(|job| job.figures.disk_util) && !phases.iter().all(never_began);
    let disks = if watched { disks(phases.iter()) } else { Vec::new() };
    Summary { jobs, groups, disks }
}

/// Whether the files of no worker could be made ready.
fn never_began(phase: &PhaseRecord) -> bool {
    let unready =
        |worker: &WorkerRecord| worker.fatal.as_ref().is_some_and(|fatal| fatal.stage == Stage::Prepare);
    let mut workers = phase.jobs.iter().flat_map(|job| &job.workers).peekable();
    workers.peek().is_some() && workers.all(unready)
}

/// Each worker by itself; the job as one where its workers' tallies were not kept apart.
fn parts<'a>(view: &'a JobView, record: Option<&JobRecord>, plan: &Plan) -> Vec<ReportedJob<'a>> {
    let Some(record) = record else { return vec![ReportedJob::empty(view); view.clones.max(1) as usize] };
    let apart = record.workers.iter().all(|worker| worker.tally.is_some());
    match record.workers.as_slice() {
        [] => vec![ReportedJob::empty(view)],
        [worker] => {
            let tally = worker.tally.as_deref().unwrap_or(&record.tally);
            vec![ReportedJob::of(view, record, worker, tally, plan)]
        }
        workers if apart => {
            let part = |worker: &WorkerRecord| {
                let tally = worker.tally.as_deref().unwrap_or(&record.tally);
                ReportedJob::of(view, record, worker, tally, plan)
            };
            workers.iter().map(part).collect()
        }
        [first, rest @ ..] => vec![together(view, record, first, rest, plan)],
    }
}

/// A job whose workers' tallies were merged: counts are of all, times are each worker's.
fn together<'a>(
    view: &'a JobView,
    record: &JobRecord,
    first: &WorkerRecord,
    rest: &[WorkerRecord],
    plan: &Plan,
) -> ReportedJob<'a> {
    let longest = std::iter::once(first).chain(rest).max_by_key(|worker| worker.ended_ns - worker.began_ns);
    let span = WorkerRecord {
        began_ns: longest.map_or(0, |worker| worker.began_ns),
        ended_ns: longest.map_or(0, |worker| worker.ended_ns),
        ..first.clone()
    };
    let mut whole = ReportedJob::of(view, record, &span, &record.tally, plan);
    whole.times_ns = [0; 3];
    whole.add_times(first);
    for worker in rest {
        whole.add_times(worker);
        whole.switches += worker.switches.0 + worker.switches.1;
        whole.faults = (whole.faults.0 + worker.faults.0, whole.faults.1 + worker.faults.1);
        whole.failure = whole.failure.take().or_else(|| Failure::of(worker, plan));
        whole.steady = whole.steady.take().or_else(|| worker.steady.clone());
        whole.members += 1;
    }
    whole
}

impl<'a> ReportedJob<'a> {
    fn empty(view: &'a JobView) -> Self {
        ReportedJob {
            view,
            members: 1,
            pid: 0,
            failure: None,
            errors: (0, 0),
            directions: Default::default(),
            all: None,
            syncs: Default::default(),
            times_ns: [0; 3],
            switches: 0,
            faults: (0, 0),
            spectrum: Spectrum::default(),
            depth: view.depth,
            steady: None,
            began_unix_ns: 0,
        }
    }

    fn of(view: &'a JobView, record: &JobRecord, worker: &WorkerRecord, tally: &Tally, plan: &Plan) -> Self {
        let directions = KINDS.map(|kind| Direction::of(kind, tally, worker, view));
        let errno = tally.errors.first().map_or(0, |error| error.errno);
        let first_error = if errno < 0 { 84 } else { errno };
        let forgiven = view.counts_errors && tally.failed() > 0;
        let failure = Failure::of(worker, plan);
        let mut one = ReportedJob {
            pid: worker.pid,
            failure: failure.or_else(|| forgiven.then(|| Failure::counted(first_error))),
            errors: (tally.failed(), first_error),
            syncs: (tally.operations(Kind::Sync), tally.latency(Kind::Sync)),
            switches: worker.switches.0 + worker.switches.1,
            faults: worker.faults,
            spectrum: Spectrum::of(tally, &directions),
            directions,
            depth: worker.found_depth.map_or(view.depth, |found| found.depth),
            steady: worker.steady.clone(),
            began_unix_ns: match worker.began_clock_ns {
                0 => record.began_unix_ns + worker.began_ns,
                clock => clock,
            },
            ..ReportedJob::empty(view)
        };
        one.add_times(worker);
        one
    }

    fn add_times(&mut self, worker: &WorkerRecord) {
        let times = [worker.ended_ns.saturating_sub(worker.began_ns), worker.user_ns, worker.system_ns];
        self.times_ns.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
    }

    fn add(&mut self, other: &ReportedJob<'a>) {
        self.members += other.members;
        self.failure = self.failure.take().or_else(|| other.failure.clone());
        let first_error = if self.errors.1 == 0 { other.errors.1 } else { self.errors.1 };
        self.errors = (self.errors.0 + other.errors.0, first_error);
        self.directions.iter_mut().zip(&other.directions).for_each(|(mine, theirs)| mine.add(theirs));
        self.syncs.0 += other.syncs.0;
        self.syncs.1.merge(&other.syncs.1);
        self.times_ns.iter_mut().zip(other.times_ns).for_each(|(sum, time)| *sum += time);
        self.switches += other.switches;
        self.faults = (self.faults.0 + other.faults.0, self.faults.1 + other.faults.1);
        self.spectrum.add(&other.spectrum);
        self.depth = other.depth;
        self.steady = self.steady.take().or_else(|| other.steady.clone());
        self.began_unix_ns = match self.began_unix_ns {
            0 => other.began_unix_ns,
            began => began.min(other.began_unix_ns.max(1)),
        };
    }

    /// Reports all directions as one where that is asked for.
    fn unify(&mut self) {
        if self.view.figures.unified == UnifiedReporting::No {
            return;
        }
        let mut all = Direction::default();
        self.directions.iter().for_each(|direction| all.add(direction));
        match self.view.figures.unified {
            UnifiedReporting::Mixed => self.directions = [all, Direction::default(), Direction::default()],
            _ => self.all = Some(all),
        }
    }

    /// All reported jobs of several hosts as one, reported as that view says; `None`: there is one job.
    pub fn sum(jobs: &mut dyn Iterator<Item = &ReportedJob<'a>>, view: &'a JobView) -> Option<Self> {
        let first = jobs.next()?.clone();
        let mut rest = jobs.peekable();
        rest.peek()?;
        let mut sum = ReportedJob { view, pid: 0, steady: None, ..first };
        let mut results = 1;
        rest.for_each(|job| {
            sum.add(job);
            results += 1;
        });
        // fio counts what it adds up, however many workers each stands for.
        sum.members = results;
        Some(sum)
    }

    /// Whether it stands for all jobs of several hosts.
    pub fn is_sum(&self) -> bool {
        self.view.clones == 0
    }

    /// The error number that its report carries.
    pub fn errno(&self) -> i32 {
        self.failure.as_ref().map_or(0, |failure| failure.errno)
    }

    /// Whether all directions are reported as one and nothing else.
    pub fn is_mixed(&self) -> bool {
        self.view.figures.unified == UnifiedReporting::Mixed
    }

    /// Whether anything was done.
    pub fn did_something(&self) -> bool {
        self.directions.iter().any(|direction| direction.bytes > 0 || direction.issued > 0)
    }

    /// Shares of the time in user space and in the kernel, percent.
    pub fn cpu_percent(&self) -> (f64, f64) {
        let [run, user, system] = self.times_ns;
        // Of a very short run, most of what a worker did was done before and after.
        let run = run.max(user + system);
        let share = |time: u64| if run == 0 { 0.0 } else { time as f64 * 100.0 / run as f64 };
        (share(user), share(system))
    }
}

fn groups<'a>(jobs: &[ReportedJob<'a>], view: &'a ReportContext) -> Vec<GroupSummary<'a>> {
    let count = view.jobs.iter().map(|job| job.group + 1).max().unwrap_or(0);
    let group = |number: u32| {
        let member = view.jobs.iter().rfind(|job| job.group == number).or(view.jobs.first())?;
        let mut directions = [GroupDirection::default(); 4];
        for job in jobs.iter().filter(|job| job.view.group == number) {
            directions.iter_mut().zip(&job.directions).for_each(|(sum, one)| sum.add(one));
        }
        if member.figures.unified == UnifiedReporting::Both {
            let (apart, all) = directions.split_at_mut(3);
            apart.iter().for_each(|direction| all[0].join(direction));
        }
        Some(GroupSummary { view: member, directions })
    };
    (0..count).filter_map(group).collect()
}
