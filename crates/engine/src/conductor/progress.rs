//! The report of a phase while it runs and at its end: live figures, the record so far, journals.
//!
//! It only reads what workers publish, and makes none of them wait.

use std::sync::atomic::Ordering::Relaxed;

use iodyno_model::merge::Seen;
use iodyno_model::{
    EngineTrait, Event, Job, JobRecord, JournalPart, Kind, Line, Live, LiveJob, PhaseRecord, Sighting, Tally,
    VerifyWhen, WorkerKind, WorkerState,
};

use super::log_steps::LogSteps;
use super::{Emit, Options, PhaseContext, Ranks, gather};
use crate::clock::{self, NEVER, Tick};
use crate::failure::Failure;
use crate::journal::Reader;
use crate::open;
use crate::signal;
use crate::source::VERIFY_LABEL;
use crate::witness::Watch;
use crate::witness::sampler::Sampler;

/// Entries of a journal that are reported at once, at most.
const PART_ENTRIES: usize = 1 << 16;
/// Journals that hold less than this are reported when the phase is over; larger ones while it runs, bytes.
const TOLD_WHILE_RUNNING: u64 = 256 << 20;
/// How long journals are read at a time while the phase runs, ns: a stop must be seen.
const READ_NS: u64 = 100_000_000;

/// Keeping a record takes at most this part of the time.
const KEPT_COSTS: u64 = 100;

/// Between two looks at what would be gone at the end, ns, at least.
const LOOK_NS: u64 = 100_000_000;

/// What was told of a phase, and what is due next.
pub struct Progress<'a> {
    context: &'a PhaseContext,
    watch: Option<Watch>,
    sampler: Option<Sampler>,
    next_look: Tick,
    next_live: Tick,
    next_interim: Tick,
    next_kept: Tick,
    readers: Vec<Reader>,
    clocks: Vec<(i32, u64)>,
    sayings: LogSteps,
}

impl<'a> Progress<'a> {
    /// For a phase whose barrier was opened.
    pub fn new(context: &'a PhaseContext, watch: Option<Watch>) -> Self {
        let passed = clock::now().saturating_sub(context.barrier.started());
        let clocks = match &context.journals {
            Some(_) => clock::all().into_iter().map(|(id, ns)| (id, ns.saturating_sub(passed))).collect(),
            None => Vec::new(),
        };
        let readers = context.journals.iter().flat_map(|_| context.seats.iter().map(|_| Reader::default()));
        let begin = |watch: &Watch| {
            Sampler::begin(watch.scope(), context.barrier.started()).with(watch.connections())
        };
        let sampler = watch.as_ref().map(begin);
        let readers = readers.collect();
        let (next_look, next_live, next_interim, next_kept) = (0, 0, 0, 0);
        let sayings = LogSteps::of(context);
        Progress {
            context,
            watch,
            sampler,
            next_look,
            next_live,
            next_interim,
            next_kept,
            readers,
            clocks,
            sayings,
        }
    }

    /// Tells what is due by now, or was asked for.
    pub fn tell(&mut self, options: &Options, now: Tick, ranks: &mut Ranks<'_>, emit: Emit<'_>) {
        let (asked, start) = (signal::was_asked(), self.context.barrier.started());
        self.cases(emit);
        self.sayings.tell(self.context, now, emit);
        let live = due(&mut self.next_live, options.live_ns, start, now);
        let elapsed_ns = now.saturating_sub(start);
        if !ranks.is_first() {
            if live {
                ranks.tell_live(self.context.live(elapsed_ns, false, options.live_latency));
            }
            ranks.tell_so_far(now, || self.context.gather(now));
        } else if asked || live {
            self.live(options, elapsed_ns, asked, ranks, emit);
        }
        let interim = due(&mut self.next_interim, options.interim_ns, start, now) || asked;
        let kept = due(&mut self.next_kept, options.keep_ns, start, now);
        if ranks.is_first() && (interim || kept) {
            self.so_far(now, (interim, kept), ranks, emit);
        }
        if kept {
            // Of very many workers it takes long: it is done less often then, rather than in the way.
            let cost_ns = clock::now().saturating_sub(now);
            self.next_kept = self.next_kept.max(now + cost_ns * KEPT_COSTS);
        }
        let much = |held: u64| held > TOLD_WHILE_RUNNING;
        if self.context.journals.as_ref().is_some_and(|journals| much(journals.held_bytes())) {
            // An unreadable journal is reported as such at the end.
            let _ = self.read(clock::now() + READ_NS, emit);
        }
    }

    /// Tells what is due at a time of virtual clocks, which all of them show; whether live figures were.
    pub fn tell_at(&mut self, options: &Options, now: Tick, ranks: &mut Ranks<'_>, emit: Emit<'_>) -> bool {
        let live = due(&mut self.next_live, options.live_ns, 0, now);
        if live {
            self.live(options, now, false, ranks, emit);
        }
        if due(&mut self.next_interim, options.interim_ns, 0, now) {
            self.so_far(now, (true, false), ranks, emit);
        }
        live
    }

    /// When live figures and the record so far are due next; 0 before the first.
    pub fn due(&self) -> [Tick; 2] {
        [self.next_live, self.next_interim]
    }

    fn live(&self, options: &Options, elapsed_ns: u64, asked: bool, ranks: &mut Ranks<'_>, emit: Emit<'_>) {
        let mut live = self.context.live(elapsed_ns, asked, options.live_latency);
        ranks.add_live(&mut live);
        emit(&Event::Live(Box::new(live)));
    }

    /// Tells the record so far: to who wants to see it, and to who keeps it.
    fn so_far(&self, now: Tick, (interim, kept): (bool, bool), ranks: &mut Ranks<'_>, emit: Emit<'_>) {
        let sightings = self.watch.as_ref().map_or_else(Vec::new, Watch::so_far);
        let mut record = PhaseRecord { sightings, ..self.context.gather(now) };
        ranks.add_so_far(&mut record);
        if kept {
            emit(&Event::Kept(Box::new(record.clone())));
        }
        if interim {
            emit(&Event::Interim(Box::new(record)));
        }
    }

    /// Takes the samples that are due by now; what the first rank sees is reported.
    pub fn sample(&mut self, now: Tick, is_first: bool, emit: Emit<'_>) {
        let (Some(watch), Some(sampler)) = (&mut self.watch, &mut self.sampler) else { return };
        if now >= self.next_look {
            watch.look();
            self.next_look = now + LOOK_NS;
        }
        if let Some(sample) = sampler.take(now).filter(|_| is_first) {
            emit(&Event::Watched(Box::new(sample)));
        }
    }

    /// Tells what was before the start line, where that was asked for.
    pub fn since_boot(&mut self, is_first: bool, emit: Emit<'_>) {
        let sample = self.sampler.as_mut().and_then(Sampler::since_boot);
        if let Some(sample) = sample.filter(|_| is_first) {
            emit(&Event::Watched(Box::new(sample)));
        }
    }

    /// Whether as many samples were taken as were asked for; none: no number was, or others take them.
    pub fn has_watched(&self) -> Option<bool> {
        self.sampler.as_ref().and_then(Sampler::is_done)
    }

    /// When the next sample is due.
    pub fn next_sample(&self) -> Tick {
        self.sampler.as_ref().map_or(NEVER, Sampler::next)
    }

    /// Ends the watch: what was seen, if somebody watched, in all and over time.
    pub fn seen(&mut self, is_first: bool, emit: Emit<'_>) -> Option<Seen> {
        let (watch, mut sampler) = (self.watch.take()?, self.sampler.take()?);
        if let Some(sample) = sampler.rest().filter(|_| is_first) {
            emit(&Event::Watched(Box::new(sample)));
        }
        let sightings = watch.close(self.context.processes_ns());
        Some(Seen { kernel: gather::kernel(), sightings, samples: sampler.finish() })
    }

    /// Tells what is left of the journals: everybody is over.
    ///
    /// # Errors
    /// When a journal cannot be read.
    pub fn rest(&mut self, emit: Emit<'_>) -> Result<(), Failure> {
        self.cases(emit);
        self.read(NEVER, emit)
    }

    /// Tells which cases have ended.
    fn cases(&self, emit: Emit<'_>) {
        for (job, _) in self.context.phase().jobs.iter().enumerate() {
            let news = self.context.findings.news(job);
            if !news.is_empty() {
                emit(&Event::Cases(job, news));
            }
        }
    }

    /// Tells what the journals hold, as far as there is time.
    fn read(&mut self, until: Tick, emit: Emit<'_>) -> Result<(), Failure> {
        let Some(journals) = &self.context.journals else { return Ok(()) };
        for (number, reader) in self.readers.iter_mut().enumerate() {
            let (job, worker) = self.context.seats[number];
            let counters = self.context.counters.of(number);
            let start = self.context.start_of(job);
            loop {
                let entries = reader
                    .entries(journals, number, &counters.head.journaled, start, PART_ENTRIES)
                    .map_err(|errno| Failure::call("reading the journal", errno))?;
                if entries.is_empty() {
                    break;
                }
                let part = JournalPart {
                    phase: self.context.phase,
                    job,
                    worker: self.context.number(job, worker),
                    pid: counters.head.pid.load(Relaxed),
                    files: self.context.files(job, worker),
                    began_ns: counters.began().saturating_sub(start),
                    clocks: self.clocks.clone(),
                    entries,
                };
                emit(&Event::Journal(Box::new(part)));
                if clock::now() >= until {
                    return Ok(());
                }
            }
        }
        Ok(())
    }
}

/// Whether something is due that comes every so often; 0: never. Then the next time is set.
fn due(next: &mut Tick, every_ns: u64, start: Tick, now: Tick) -> bool {
    if every_ns == 0 {
        return false;
    }
    if *next == 0 {
        *next = start + every_ns;
    }
    let is_due = now >= *next;
    while now >= *next {
        *next += every_ns;
    }
    is_due
}

impl PhaseContext {
    /// Whether no worker goes by the system's clock.
    pub(super) fn is_virtual(&self) -> bool {
        !self.entries.is_empty() && self.entries.iter().all(|entry| entry.facts.is_virtual)
    }

    /// The point in time that a job's workers count from.
    fn start_of(&self, job: usize) -> Tick {
        if self.entries[job].facts.is_virtual { 0 } else { self.barrier.started() }
    }

    /// The names of the files that a worker opened, in their order.
    fn files(&self, job: usize, worker: u32) -> Vec<String> {
        open::paths(&self.plan, &self.phase().jobs[job], self.asker(job, worker))
    }

    /// Time that workers took which are processes of their own, ns.
    pub(super) fn processes_ns(&self) -> u64 {
        let seats = self.seats.iter().enumerate();
        let apart = seats.filter(|(_, (job, _))| self.phase().jobs[*job].kind == WorkerKind::Processes);
        apart.map(|(number, _)| self.counters.of(number).spent_ns()).sum()
    }

    /// Bytes that workers which are processes of their own made the storage read and write.
    pub(super) fn processes_moved(&self) -> [u64; 2] {
        let counters = (0..self.seats.len()).map(|number| self.counters.of(number));
        counters.fold([0; 2], |sum, counters| {
            std::array::from_fn(|way| sum[way] + counters.head.moved[way].load(Relaxed))
        })
    }

    fn live(&self, elapsed_ns: u64, asked: bool, latency: bool) -> Live {
        let phase = self.phase();
        let total = |job: &Job| job.limit.time_ns.map(|time| time + job.limit.ramp_ns + job.start.after_ns);
        let left_ns = phase.jobs.iter().map(total).try_fold(0, |most, time| time.map(|time| time.max(most)));
        let jobs =
            phase.jobs.iter().enumerate().map(|(index, job)| self.live_job(index, job, latency)).collect();
        let left_ns = left_ns.map(|total| total.saturating_sub(elapsed_ns));
        Live { phase: self.phase, elapsed_ns, left_ns, jobs, asked }
    }

    fn live_job(&self, index: usize, job: &Job, latency: bool) -> LiveJob {
        let mut live =
            LiveJob { name: job.name.clone(), running: self.barrier.running(index), ..LiveJob::default() };
        let labels = &self.labels[index];
        let seats = self.seats.iter().enumerate().filter(|(_, (seat, _))| *seat == index);
        for (number, _) in seats {
            let counters = self.counters.of(number);
            let kinds = [Kind::Read, Kind::Write, Kind::Trim, Kind::Sync, Kind::Metadata, Kind::Network];
            let progress = kinds.map(|kind| counters.progress(labels, kind));
            live.operations += progress.iter().map(|(operations, ..)| operations).sum::<u64>();
            live.reads = (live.reads.0 + progress[0].0, live.reads.1 + progress[0].1);
            live.writes = (live.writes.0 + progress[1].0, live.writes.1 + progress[1].1);
            live.trims = (live.trims.0 + progress[2].0, live.trims.1 + progress[2].1);
            live.read_bytes += progress[0].2;
            live.write_bytes += progress[1].2;
            live.trim_bytes += progress[2].2;
            live.syncs += progress[3].0;
            live.errors += counters.failures();
            let state = self.state(number, job);
            match live.states.last_mut().filter(|(last, _)| *last == state) {
                Some((_, count)) => *count += 1,
                None => live.states.push((state, 1)),
            }
            if latency {
                live.latency.read.merge(&counters.latency(labels, Kind::Read));
                live.latency.write.merge(&counters.latency(labels, Kind::Write));
                live.latency.trim.merge(&counters.latency(labels, Kind::Trim));
            }
        }
        live
    }

    /// What a worker is doing. That it reads back only after all its writes shows in what it counts.
    fn state(&self, number: usize, job: &Job) -> WorkerState {
        let counters = self.counters.of(number);
        let at_end = job.payload.verify.as_ref().is_some_and(|verify| verify.when == VerifyWhen::AfterWrites);
        match counters.state() {
            WorkerState::Running if at_end => {
                let labels = &self.labels[self.seats[number].0];
                let checks = labels.iter().position(|(label, _)| label == VERIFY_LABEL);
                match checks.is_some_and(|line| counters.operations(line) > 0) {
                    true => WorkerState::Verifying,
                    false => WorkerState::Running,
                }
            }
            state => state,
        }
    }

    /// The phase's record by now; final once everybody is over.
    pub(super) fn gather(&self, now: Tick) -> PhaseRecord {
        let phase = self.phase();
        let began_unix_ns =
            clock::unix_ns().saturating_sub(clock::now().saturating_sub(self.barrier.started()));
        let mut jobs: Vec<JobRecord> = phase
            .jobs
            .iter()
            .zip(&self.traits)
            .map(|(job, traits)| JobRecord { began_unix_ns, ..empty_record(job, traits) })
            .collect();
        let mut elapsed_ns = 0;
        for (number, (index, worker)) in self.seats.iter().enumerate() {
            let (counters, start) = (self.counters.of(number), self.start_of(*index));
            // How far a virtual clock is by now only its ticks tell.
            let now = if self.entries[*index].facts.is_virtual { self.ticked.load(Relaxed) } else { now };
            let mut tally = counters.tally(&self.labels[*index], start, now);
            // Workers know handles; the record knows the plan's targets.
            let targets = &phase.jobs[*index].targets;
            tally.errors.iter_mut().for_each(|error| {
                error.first_target =
                    targets.get(error.first_target as usize).map_or(0, |target| *target as u32);
            });
            elapsed_ns = elapsed_ns.max(tally.last_done_ns);
            jobs[*index].tally.merge(&tally);
            let mut record = counters.worker_record(self.number(*index, *worker), start, now);
            record.rank = self.rank;
            if let Some(target) = record.fatal.as_mut().and_then(|fatal| fatal.target.as_mut()) {
                *target = targets.get(*target as usize).map_or(0, |target| *target as u32);
            }
            if let Some(worn) = counters.worn(start) {
                let all = &mut jobs[*index].worn;
                *all = Some(all.map_or(worn, |all| all.merged(worn)));
            }
            record.operations = work(&tally);
            record.tally = phase.jobs[*index].measure.each.then(|| Box::new(tally));
            jobs[*index].workers.push(record);
        }
        for (index, job) in jobs.iter_mut().enumerate() {
            let entries = self.findings.read(index);
            (job.cases, job.exercise, job.features) = (entries.cases, entries.exercise, entries.features);
            job.replay = entries.replay;
        }
        let elapsed_ns =
            if self.seats.is_empty() { now.saturating_sub(self.barrier.started()) } else { elapsed_ns };
        PhaseRecord {
            name: phase.name.clone(),
            index: self.phase,
            repetition: phase.repetition,
            coordinates: phase.coordinates.clone(),
            elapsed_ns,
            jobs,
            sightings: Vec::<Sighting>::new(),
            samples: Vec::new(),
            cache: None,
            parts: Vec::new(),
        }
    }
}

/// Operations, where there are others without those that only make them durable or control.
fn work(tally: &Tally) -> u64 {
    let beside = |line: &&Line| matches!(line.verb.kind(), Kind::Sync | Kind::Control);
    let sum = |lines: &mut dyn Iterator<Item = &Line>| lines.map(|line| line.operations).sum::<u64>();
    match sum(&mut tally.lines.iter().filter(|line| !beside(line))) {
        0 => sum(&mut tally.lines.iter()),
        work => work,
    }
}

fn empty_record(job: &Job, traits: &[EngineTrait]) -> JobRecord {
    JobRecord {
        name: job.name.clone(),
        engine: job.engine.clone(),
        engine_traits: Some(traits.to_vec()),
        depth: job.depth.most,
        tally: Tally::default(),
        ..JobRecord::default()
    }
}
