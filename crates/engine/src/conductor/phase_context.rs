//! The data that the workers of a phase share, and the life of one worker.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};

use iodyno_model::{
    EngineTrait, Fatal, Job, Kind, PartRecord, Phase, PhaseRecord, Placement, Plan, Record, Sighting, Submit,
    TargetKind, Verb, WorkerKind, WorkerState, Workload, record,
};

use iodyno_simulation::Simulation;
use iodyno_trace::replay::Share;

use super::journal_limit;
use crate::cache::{self, WorkerShare};
use crate::check::CheckedPlan;
use crate::clock::Tick;
use crate::connections::Connections;
use crate::facts::EngineFacts;
use crate::failure::Failure;
use crate::io::{Files, Handle};
use crate::journal::Journals;
use crate::memory::{Ballast, Memory};
use crate::names::templates::{Asker, set_root, tells_apart};
use crate::objects::ObjectSet;
use crate::open;
use crate::prepare::{self, Unready};
use crate::preread::Preread;
use crate::priorities;
use crate::registry::{self, EngineEntry};
use crate::shared_device::SharedDevice;
use crate::source::pools::Found;
use crate::source::replay::tree::{self, TreeNames};
use crate::source::replay::{self, SharedEnds, Supply};
use crate::source::{self, SharedObjects, Source, SourceContext};
use crate::start_barrier::StartBarrier;
use crate::worker::Worker;
use crate::worker_counters::CounterMapping;
use crate::worker_findings::WorkerFindings;
use crate::world::World;
use crate::world::place::Owners;
use crate::world::rank_share::RankShare;
use crate::{hooks, placement, witness};

/// Everything the workers of a phase share.
pub(crate) struct PhaseContext {
    pub(super) plan: Arc<Plan>,
    pub(super) phase: usize,
    pub(crate) barrier: StartBarrier,
    pub(crate) counters: CounterMapping,
    /// Job of each worker, and its place among those that this rank has of it.
    pub(crate) seats: Vec<(usize, u32)>,
    /// This rank's part of each job.
    pub(super) parts: Vec<RankShare>,
    /// Whose data the workers of each job work on.
    owners: Vec<Owners>,
    pub(super) rank: u32,
    /// Targets that could not be made ready, where each worker stands alone.
    unready: Vec<Unready>,
    pub(super) labels: Vec<Vec<(String, Verb)>>,
    /// For each job, by label, the I/O priority that its operations carry, where any does.
    priorities: Vec<Option<Box<[u16]>>>,
    kinds: Vec<Vec<Kind>>,
    pub(super) entries: Vec<&'static EngineEntry>,
    /// The traits of each job's engine, whoever drives it.
    pub(super) traits: Vec<&'static [EngineTrait]>,
    goals: Vec<Option<Goal>>,
    /// By job, the names of the files of a trace that works in a tree.
    trees: Vec<Option<TreeNames>>,
    /// By job, how long the files of its tree are made, where places are mapped to those that are there.
    made_lengths: Vec<Option<Arc<[u64]>>>,
    /// By job, which operations of a trace have ended, where its workers wait for each other.
    ends: Vec<Option<SharedEnds>>,
    /// By job: passes that were done in the phases that its script's items follow.
    passed: Vec<u64>,
    /// By job: the rate of each worker that is a part of an earlier phase's, operations per second.
    rates: Vec<Option<f64>>,
    pub(super) shared: SharedObjects,
    pub(super) journals: Option<Journals>,
    pub(super) findings: WorkerFindings,
    /// The last tick of virtual clocks that was told of; 0 before the first.
    pub(super) ticked: AtomicU64,
    /// The connections of its workers.
    pub(super) connections: Connections,
    processors: usize,
    /// The plan's simulated device; none: it has none, or it is at work.
    device: PlanDevice,
}

/// A plan's simulated device, which lasts from phase to phase.
pub(super) type PlanDevice = Arc<Mutex<Option<Simulation>>>;

impl PhaseContext {
    pub(super) fn new(
        world: &World,
        checked: &CheckedPlan,
        index: usize,
        earlier: &Record,
        PhaseLayout { unready, fresh }: PhaseLayout,
        device: &PlanDevice,
    ) -> Result<PhaseContext, Failure> {
        let CheckedPlan { plan, engines, .. } = checked;
        let phase = &plan.phases[index];
        let labels: Vec<_> = phase.jobs.iter().map(source::labels).collect();
        let priorities =
            phase.jobs.iter().zip(&labels).map(|(job, labels)| priorities::by_label(job, labels)).collect();
        let kinds =
            labels.iter().map(|labels| labels.iter().map(|(_, verb)| verb.kind()).collect()).collect();
        let parts: Vec<RankShare> = phase.jobs.iter().map(|job| world.part(job)).collect();
        let seats: Vec<_> = parts
            .iter()
            .enumerate()
            .flat_map(|(job, part)| (0..part.here).map(move |worker| (job, worker)))
            .collect();
        let lines = labels.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let workers: Vec<u32> = parts.iter().map(|part| part.here).collect();
        let parted = phase.jobs.iter().any(|job| job.measure.submission && job.measure.latency);
        let journaled = phase.jobs.iter().any(|job| job.measure.journal.is_some());
        hold(world, phase, &parts)?;
        let ends = phase
            .jobs
            .iter()
            .zip(&parts)
            .map(|(job, part)| replay::shared_ends(job, engines.of(job).facts, (part.here, part.all)));
        let ends = ends.collect::<Result<_, _>>()?;
        let lengths = phase.jobs.iter().map(|job| made_lengths(checked, job)).collect::<Result<_, _>>()?;
        let barrier = StartBarrier::new(&workers).map_err(|errno| Failure::call("mmap", errno))?;
        let bell = (!world.is_alone()).then(|| barrier.bell());
        Ok(PhaseContext {
            plan: Arc::clone(plan),
            phase: index,
            barrier: barrier.with_meetings(&phase.jobs, world.is_alone()),
            counters: CounterMapping::new(seats.len(), lines, parted)
                .map_err(|errno| Failure::call("mmap", errno))?,
            journals: journaled.then(|| Journals::new(seats.len(), journal_limit(world))).transpose()?,
            findings: WorkerFindings::new(phase.jobs.len()),
            ticked: AtomicU64::new(0),
            connections: Connections::default(),
            processors: placement::processors(),
            device: Arc::clone(device),
            seats,
            parts,
            owners: phase.jobs.iter().map(|job| world.owners(plan, phase, job)).collect(),
            rank: world.rank(),
            unready,
            labels,
            priorities,
            kinds,
            entries: phase.jobs.iter().map(|job| entry(job, engines.of(job))).collect(),
            traits: phase.jobs.iter().map(|job| engines.of(job).facts.traits).collect(),
            goals: phase.jobs.iter().map(|job| goal(job, earlier)).collect(),
            trees: phase.jobs.iter().map(|job| names(checked, job)).collect::<Result<_, _>>()?,
            made_lengths: lengths,
            ends,
            passed: phase.jobs.iter().map(|job| passed(plan, phase, job, earlier)).collect(),
            rates: phase.jobs.iter().map(|job| rate(job, earlier)).collect::<Result<_, _>>()?,
            shared: shared(world, checked, phase, &fresh)?.over_ranks(bell),
        })
    }

    pub(crate) fn phase(&self) -> &Phase {
        &self.plan.phases[self.phase]
    }

    /// Whether a worker changes nothing of its thread that the next one would notice.
    pub(super) fn leaves_its_thread(&self, number: u32) -> bool {
        let job = &self.phase().jobs[self.seats[number as usize].0];
        job.placement == Placement::default() && self.entries[self.seats[number as usize].0].facts.is_stream()
    }

    /// A worker's number within its job, counted over all ranks.
    pub(crate) fn number(&self, job: usize, place: u32) -> u32 {
        self.parts[job].first + place
    }

    /// Tells this rank's workers of a set of jobs to stop.
    pub(super) fn stop_set(&self, set: u32) {
        let seats = self.seats.iter().enumerate().filter(|(_, (job, _))| self.phase().jobs[*job].set == set);
        seats.for_each(|(number, _)| self.barrier.stop_one(number as u32));
    }

    /// Who asks for names, for a worker of this rank.
    pub(super) fn asker(&self, job: usize, place: u32) -> Asker<'_> {
        let (name, repetition) = (&self.phase().jobs[job].name, self.phase().repetition);
        let owner = self.owners[job].of(self.number(job, place));
        Asker { job: name, owner, all: self.parts[job].all, repetition }
    }

    /// Whether a worker shares the plan's simulated device.
    pub(super) fn is_on_device(&self, number: u32) -> bool {
        self.plan.device.is_some() && self.entries[self.seats[number as usize].0].facts.on_device.is_some()
    }

    /// What all workers of the plan's simulated device do, on one thread.
    pub(super) fn sit_on_device(self: &Arc<Self>) {
        let numbers: Vec<u32> =
            (0..self.seats.len() as u32).filter(|number| self.is_on_device(*number)).collect();
        let device = || self.device.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(mut simulation) = device().take() else { return };
        simulation.mark();
        let task = |number: u32| -> Box<dyn FnOnce()> {
            let context = Arc::clone(self);
            Box::new(move || {
                context.carry_out(number);
                context.leave(number);
            })
        };
        let (simulation, failure) = SharedDevice::run(simulation, &self.barrier, &numbers, task);
        if let Some(failure) = failure {
            numbers.iter().for_each(|number| self.never_came(*number, &failure));
        }
        *device() = Some(simulation);
    }

    /// What a worker does on its seat, whatever happens to it.
    pub(super) fn sit(&self, number: u32) {
        let (job, _) = self.seats[number as usize];
        let counters = self.counters.of(number as usize);
        let before = witness::usage();
        let account = self.account(job);
        self.carry_out(number);
        let after = witness::usage();
        counters.spend(&std::array::from_fn(|field| after[field].saturating_sub(before[field])));
        let since = |(after, before): (u64, u64)| after.saturating_sub(before);
        let (waited, moved) = self.account(job);
        let moved = moved.zip(account.1).map(|(a, b)| [since((a[0], b[0])), since((a[1], b[1]))]);
        counters.account(waited.zip(account.0).map(since), moved);
        self.leave(number);
    }

    /// A worker's work, and how it ended.
    fn carry_out(&self, number: u32) {
        let (job, worker) = self.seats[number as usize];
        let counters = self.counters.of(number as usize);
        counters.head.pid.store(placement::pid(), Relaxed);
        match catch_unwind(AssertUnwindSafe(|| self.work(number, job, worker))) {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => self.break_off(number, &failure),
            Err(_) => counters.fail("internal error: the worker panicked\nplease report it with the plan"),
        }
    }

    fn leave(&self, number: u32) {
        let counters = self.counters.of(number as usize);
        counters.enter(WorkerState::Ended);
        counters.head.over.store(1, Relaxed);
        self.barrier.leave(self.seats[number as usize].0, number);
    }

    /// What the parts of the plan's simulated device have done since the phase began.
    pub(super) fn part_records(&self) -> Vec<PartRecord> {
        let device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        device.as_ref().map_or_else(Vec::new, Simulation::records)
    }

    /// How long this worker has waited for a processor, and what it has moved where it is a process of its own.
    fn account(&self, job: usize) -> (Option<u64>, Option<[u64; 2]>) {
        let apart = self.phase().jobs[job].kind == WorkerKind::Processes;
        (witness::own::waited_ns(), apart.then(witness::own::moved).flatten())
    }

    /// Notes why a worker ends before its time, and how far it had come.
    fn break_off(&self, number: u32, failure: &Failure) {
        let counters = self.counters.of(number as usize);
        let unready = self.unready(number);
        let stage = match (unready, counters.head.began.load(Relaxed)) {
            (Some(_), _) => record::Stage::Prepare,
            (None, 0) => record::Stage::Start,
            _ => record::Stage::Run,
        };
        let targets = &self.phase().jobs[self.seats[number as usize].0].targets;
        let position = |unready: &Unready| targets.iter().position(|target| *target == unready.target);
        let target = unready.and_then(position).map(|position| position as u32);
        counters.fail(&failure_text(failure));
        counters.end_by(&Fatal { errno: failure.errno, stage, target, ..Fatal::default() });
    }

    /// Takes the place of a worker that could not be started.
    pub(super) fn never_came(&self, number: u32, failure: &Failure) {
        self.break_off(number, failure);
        self.counters.of(number as usize).head.over.store(1, Relaxed);
        self.barrier.leave(self.seats[number as usize].0, number);
    }

    /// The target of a worker that could not be made ready.
    fn unready(&self, number: u32) -> Option<&Unready> {
        let (job, worker) = self.seats[number as usize];
        let owner = self.owners[job].of(self.number(job, worker)).worker;
        let its = |unready: &&Unready| unready.job == job && unready.worker.is_none_or(|one| one == owner);
        self.unready.iter().find(its)
    }

    /// Pages that were to leave the cache before the start line and did not, by job.
    pub(super) fn undropped(&self) -> Vec<Sighting> {
        let of = |index: usize, job: &Job| -> u64 {
            let seats = self.seats.iter().enumerate().filter(|(_, seat)| seat.0 == index);
            let left = seats.map(|(number, _)| self.counters.of(number).head.undropped.load(Relaxed));
            // A file that all of them share is looked at by each, of a set each looks after its part.
            let each = job.targets.iter().any(|target| {
                let target = &self.plan.targets[*target];
                matches!(target.kind, TargetKind::FileSet { .. }) || target.path().is_some_and(tells_apart)
            });
            if each { left.sum() } else { left.max().unwrap_or(0) }
        };
        let jobs = self.phase().jobs.iter().enumerate().map(|(index, job)| (job, of(index, job)));
        jobs.filter(|(_, left)| *left > 0)
            .map(|(job, left_bytes)| Sighting::Undropped {
                of: job.name.clone(),
                left_bytes,
                reason: "dirty again, mapped, locked, or in use by somebody else".into(),
            })
            .collect()
    }

    /// Empties the cache of what is open, or will be opened inside the measured time; the bytes that stayed.
    fn drop_cached(&self, job: &Job, asker: Asker<'_>, files: &Files, stopped: &dyn Fn() -> bool) -> u64 {
        let invalidates = || job.targets.iter().any(|target| self.plan.targets[*target].open.invalidate);
        let share = WorkerShare { number: u64::from(asker.owner.worker), of: u64::from(job.workers.max(1)) };
        match job.start.open && invalidates() {
            true => {
                let there = open::there_already(&self.plan, job, asker);
                cache::drop_targets(&self.plan, &there, share, stopped)
            }
            false => cache::drop_targets(&self.plan, files, share, stopped),
        }
    }

    /// Opens what a worker of a job works on.
    fn open(&self, index: usize, asker: Asker<'_>, engine: &EngineFacts) -> Result<Files, Failure> {
        let job = &self.phase().jobs[index];
        let mut files = open::open_files(&self.plan, job, asker, engine)?;
        files.handles.extend((0..source::extra_handles(job)).map(|_| Handle::closed()));
        if let (Some(names), Some(set)) = (&self.trees[index], files.handles.first_mut()) {
            set.names.get_or_insert_default().listed = Some(Arc::clone(names));
        }
        Ok(files)
    }

    /// What is read ahead for a worker that replays a trace in a file.
    fn supply(&self, index: usize, place: u32, files: &Files) -> Result<Supply, Failure> {
        let (job, supply) = (&self.phase().jobs[index], Supply::default());
        if let Workload::Trace(trace) = &job.workload
            && trace.path.is_some()
            && !trace.replay.served
        {
            let share = Share { worker: self.number(index, place), workers: self.parts[index].all };
            let (engine, ends) = (self.entries[index].facts, self.ends[index].as_ref());
            let made_lengths = self.made_lengths[index].as_deref();
            supply.set(Some(replay::supply(
                (&self.plan, job, trace),
                share,
                files,
                engine,
                ends,
                made_lengths,
            )?));
        }
        Ok(supply)
    }

    /// What a source of a job's worker may know.
    fn source_context<'a>(
        &'a self,
        index: usize,
        asker: Asker<'a>,
        (files, memory): (&'a Files, &'a Memory),
        start: Tick,
        supply: &'a Supply,
    ) -> SourceContext<'a> {
        let (job, engine) = (&self.phase().jobs[index], self.entries[index].facts);
        SourceContext {
            plan: &self.plan,
            job,
            engine,
            worker: asker.owner.worker,
            asker,
            files,
            memory,
            depth: job.depth.most.min(engine.most_depth),
            start,
            goal: self.goals[index].as_ref().map(|goal| goal.of(asker.owner.worker)),
            passed: self.passed[index],
            rate: self.rates[index],
            shared: Some(&self.shared),
            supply: Some(supply),
        }
    }

    fn work(&self, number: u32, index: usize, place: u32) -> Result<(), Failure> {
        if let Some(unready) = self.unready(number) {
            return Err(unready.failure.clone());
        }
        let (job, entry) = (&self.phase().jobs[index], self.entries[index]);
        // Who shares a thread and does nothing on the machine is placed nowhere.
        if !self.is_on_device(number) {
            placement::apply(&job.placement, job.kind, place)?;
        }
        let _ballast = Ballast::new(&job.buffers)?;
        let asker = self.asker(index, place);
        let engine = entry.facts;
        let paths = if engine.opens_files { open::paths(&self.plan, job, asker) } else { Vec::new() };
        let targets = job.targets.iter().map(|index| &self.plan.targets[*index]);
        let objects: Vec<_> = targets.map(|target| ObjectSet::of(target, asker)).collect();
        let open = || self.open(index, asker, engine);
        let files = if job.start.open { Files::default() } else { open()? };
        let left = self.drop_cached(job, asker, &files, &|| self.barrier.is_stopped(number));
        let counters = self.counters.of(number as usize);
        counters.head.undropped.store(left, Relaxed);
        let preread = Preread::of(&self.plan, job, asker, &files, &|| self.barrier.is_stopped(number))?;
        let depth = job.depth.most.min(engine.most_depth);
        counters.head.deepest.store(depth, Relaxed);
        let count = depth.saturating_mul(job.buffers.turns.max(1));
        let memory = Memory::of(count, source::buffer_bytes(job), &job.buffers)?;
        let supply = self.supply(index, place, &files)?;
        let make = |files: &_, start| {
            Source::new(&self.source_context(index, asker, (files, &memory), start, &supply))
        };
        let after = job.start.after_job.as_ref();
        let after = after.and_then(|name| self.phase().jobs.iter().position(|job| job.name == *name));
        let journals = self.journals.as_ref().filter(|_| job.measure.journal.is_some());
        let marked = if engine.marks_answers && journals.is_some() { depth } else { 0 };
        let mut seat = Worker {
            marks: (0..marked).map(|_| AtomicU64::new(0)).collect(),
            plan: &self.plan,
            job,
            barrier: &self.barrier,
            counters,
            writer: journals.map(|journals| journals.writer(number as usize, &counters.head.journaled)),
            kinds: &self.kinds[index],
            files,
            memory: &memory,
            preread,
            paths: &paths,
            objects: &objects,
            depth,
            open: job.start.open.then_some(&open as &dyn Fn() -> Result<Files, Failure>),
            number,
            index,
            seat: self.number(index, place),
            seats: self.parts[index].all,
            priorities: self.priorities[index].as_deref(),
            has_processor: self.parts[index].all as usize <= self.processors,
            // Chance is another in each pass, as it is in the world.
            seed: self.plan.seed.wrapping_add(u64::from(self.phase().repetition) << 32),
            after,
            findings: &self.findings,
            connections: &self.connections,
            source: &make,
        };
        hooks::before(job)?;
        let takes_turns =
            job.targets.iter().any(|target| self.plan.targets[*target].open.surrounds_operations());
        let drive = entry.drive_in_turns.filter(|_| takes_turns).unwrap_or(entry.drive);
        let outcome = drive(&mut seat);
        drop(seat);
        outcome.and(hooks::after(job))
    }
}

/// The engine of a job's workers, or the one that hands its operations over to threads.
fn entry(job: &Job, engine: &'static EngineEntry) -> &'static EngineEntry {
    let is_offloaded = job.depth.submit == Submit::Offload && engine.facts.uses_files;
    if is_offloaded { registry::OFFLOAD } else { engine }
}

/// The names of the tree that a job's trace works in, where its engine touches files.
fn names(checked: &CheckedPlan, job: &Job) -> Result<Option<TreeNames>, Failure> {
    match tree::of(job).filter(|_| checked.engines.of(job).facts.uses_files) {
        Some(trace) => Ok(Some(tree::names(trace, &*checked.surveys.of(trace)?)?)),
        None => Ok(None),
    }
}

/// How long the files of a job's tree are made, where places are mapped to those that are there.
fn made_lengths(checked: &CheckedPlan, job: &Job) -> Result<Option<Arc<[u64]>>, Failure> {
    match tree::of(job).filter(|_| checked.engines.of(job).facts.uses_files) {
        Some(trace) => Ok(tree::made_lengths(trace, &*checked.surveys.of(trace)?)),
        None => Ok(None),
    }
}

/// What the workers of this rank share: sets that none of them picks from need no room here.
fn shared(
    world: &World,
    checked: &CheckedPlan,
    phase: &Phase,
    fresh: &[usize],
) -> Result<SharedObjects, Failure> {
    let jobs = phase.jobs.iter().filter(|job| world.part(job).here > 0).cloned().collect();
    let here = Phase { jobs, shared: phase.shared.clone(), repetition: phase.repetition, ..Phase::default() };
    SharedObjects::of(&checked.plan, &here, |target| found(world, checked, &here, target, fresh))
        .map(|shared| shared.on_rank(world.rank(), world.size()))
        .map_err(|errno| Failure::call("mmap", errno))
}

/// What of a set is there when a phase begins that did not lay it out: phases before, or others, have changed it.
fn found(
    world: &World,
    CheckedPlan { plan, engines, .. }: &CheckedPlan,
    phase: &Phase,
    target: usize,
    fresh: &[usize],
) -> Option<Found> {
    let TargetKind::FileSet { root, items } = &plan.targets[target].kind else { return None };
    let job = phase.jobs.iter().find(|job| job.targets.contains(&target))?;
    if fresh.contains(&target) || !engines.of(job).facts.uses_files {
        return None;
    }
    let part = world.part(job);
    let owner = world.owners(plan, phase, job).of(part.first);
    let asker = Asker { job: &job.name, owner, all: part.all, repetition: phase.repetition };
    Some(prepare::sets::found_at(&set_root(root, items, asker), items, asker))
}

/// How a phase was laid out.
#[derive(Debug, Default)]
pub(super) struct PhaseLayout {
    /// Targets that could not be made ready, where each worker stands alone.
    pub unready: Vec<Unready>,
    /// Sets that were laid out where nothing was.
    pub fresh: Vec<usize>,
}

/// Whether what the workers of this machine are to hold besides their buffers can be had.
fn hold(world: &World, phase: &Phase, parts: &[RankShare]) -> Result<(), Failure> {
    let facts = world.facts();
    let ranks = u64::from(facts.on_node(facts.node(world.rank())));
    let each = |job: &Job| job.buffers.held_bytes.saturating_add(job.buffers.locked_bytes);
    let holders = || phase.jobs.iter().zip(parts).filter(|(job, _)| each(job) > 0);
    let workers: u64 = holders().map(|(_, part)| u64::from(part.here)).sum();
    let bytes = holders().map(|(job, part)| each(job).saturating_mul(part.here.into()));
    let bytes = bytes.fold(0, u64::saturating_add);
    if bytes == 0 {
        return Ok(());
    }
    let available = witness::memory::read().map_or(u64::MAX, |levels| levels.available);
    Ballast::check(workers * ranks, bytes.saturating_mul(ranks), available)
}

fn failure_text(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{}\n{hint}", failure.message),
        None => failure.message.clone(),
    }
}

/// The operations to do, where the limit is "as many as in that phase".
struct Goal {
    /// By worker, where one job had been there.
    each: Vec<u64>,
    /// The most any worker did.
    most: u64,
}

impl Goal {
    /// As many as the owner of the data did; where that is not known, as the one that did most.
    fn of(&self, owner: u32) -> u64 {
        self.each.get(owner as usize).copied().unwrap_or(self.most)
    }
}

/// Passes that a worker did in the phases that a job's script follows: as many as all wore out to, or all that there were.
/// At each point of a sweep the plan begins anew.
fn passed(plan: &Plan, phase: &Phase, job: &Job, earlier: &Record) -> u64 {
    let Some(name) = source::follows(job) else { return 0 };
    let of = |phase: &PhaseRecord| {
        let limit = plan.phases.get(phase.index)?.jobs.first().map(|job| &job.limit)?;
        let worn = phase.jobs.first().and_then(|job| job.worn);
        worn.map(|worn| worn.operations_most).or(limit.passes)
    };
    let is_followed =
        |earlier: &&PhaseRecord| earlier.name == name && earlier.coordinates == phase.coordinates;
    earlier.phases.iter().filter(is_followed).filter_map(of).sum()
}

/// The rate of each worker, where that is a part of what a worker of the same job did in an earlier phase.
fn rate(job: &Job, earlier: &Record) -> Result<Option<f64>, Failure> {
    let Some(share) = &job.pace.share else { return Ok(None) };
    let phase = earlier.phases.iter().rev().find(|phase| phase.name == share.phase);
    let found =
        phase.and_then(|phase| phase.jobs.iter().find(|known| known.name == job.name).zip(Some(phase)));
    let rate = found.map(|(job, phase)| {
        let workers = job.workers.len().max(1) as f64;
        job.tally.all_operations() as f64 / (phase.elapsed_ns.max(1) as f64 / 1e9) / workers
    });
    match rate.filter(|rate| *rate > 0.0) {
        Some(rate) => Ok(Some(rate * share.percent / 100.0)),
        None => {
            let what = format!(
                "job {}: nothing was done in phase {}, so there is no rate to go by",
                job.name, share.phase
            );
            Err(Failure::new(what).hint("let that phase run longer, or give a rate of its own"))
        }
    }
}

fn goal(job: &Job, earlier: &Record) -> Option<Goal> {
    let name = job.limit.as_phase.as_ref()?;
    let phase = earlier.phases.iter().rev().find(|phase| phase.name == *name)?;
    let workers = || phase.jobs.iter().flat_map(|job| &job.workers);
    let most = workers().map(|worker| worker.operations).max()?;
    let in_order = workers().enumerate().all(|(place, worker)| worker.index as usize == place);
    let each = if in_order { workers().map(|worker| worker.operations).collect() } else { Vec::new() };
    Some(Goal { each, most })
}
