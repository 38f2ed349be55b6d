//! The control plane: phases in order, the start line, ticks while it runs, the gathering afterwards.
//!
//! Nothing here is on the data plane: the conductor sleeps while the workers work.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use iodyno_model::{
    Diagnostic, Event, Fatal, FileLock, Job, Kind, Phase, PhaseRecord, Plan, Record, Started, Stop, Submit,
    Verb, WorkerKind, WorkerState, record,
};

use crate::check::check;
use crate::clock;
use crate::exits::{self, Exits};
use crate::failure::Failure;
use crate::gate::Gate;
use crate::io::Handle;
use crate::journal::Journals;
use crate::memory::{Ballast, Memory};
use crate::open::{self, Access, Asker};
use crate::placement::Surroundings;
use crate::prepare::{self, Made, Unready};
use crate::registry::{self, Entry};
use crate::sheet::Sheets;
use crate::source::{self, Brief, SharedObjects, Source};
use crate::steadiness::Steadiness;
use crate::warm::warm;
use crate::witness::{self, Watch, Watched};
use crate::worker::Worker;
use crate::world::{Task, World};
use crate::{hooks, placement, signal};

/// How a plan is run, beyond what it says itself.
#[derive(Clone, Debug)]
pub struct Options {
    /// How often a live event is wanted, ns; 0: never.
    pub live_ns: u64,
    /// Whether live events carry the latencies so far.
    pub live_latency: bool,
    /// How often the record so far of a running phase is wanted, ns; 0: only when the user asks.
    pub interim_ns: u64,
    /// Whether witnesses watch.
    pub witness: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { live_ns: 500_000_000, live_latency: false, interim_ns: 0, witness: true }
    }
}

mod telling;

use telling::Telling;

/// Who is told what happens.
pub type Emit<'a> = &'a mut dyn FnMut(&Event);

/// Runs a plan and returns its record. Failures while it runs are in the record, not in the result.
///
/// # Errors
/// Everything that keeps the plan from starting.
pub fn run(plan: &Plan, options: &Options, emit: Emit<'_>) -> Result<Record, Vec<Diagnostic>> {
    clock::begin_calibration();
    let plan = check(plan)?;
    raise_file_limit();
    signal::install();
    let machine = witness::machine();
    let targets = if options.witness { witness::targets(&plan) } else { Vec::new() };
    let mut record =
        Record { name: plan.name.clone(), seed: plan.seed, machine: machine.clone(), ..Default::default() };
    let started = Started { plan: plan.clone(), targets, machine, at_unix_ns: clock::unix_ns() };
    emit(&Event::Started(Box::new(started)));
    clock::calibrate();
    let plan = Arc::new(plan);
    let mut made = Made::default();
    for index in 0..plan.phases.len() {
        if signal::interruptions().0 > 0 {
            break;
        }
        match run_phase(&plan, index, options, &record, &mut made, emit) {
            Ok((phase, ends_run)) => {
                emit(&Event::PhaseEnded(Box::new(phase.clone())));
                let alone = plan.phases[index].stop == Stop::Alone;
                let failed = if alone { exits::failures(&plan, &phase) } else { first_failure(&phase) };
                let ends = ends_run || (!alone && !failed.is_empty());
                record.phases.push(phase);
                fail(&mut record, failed, emit);
                if ends {
                    break;
                }
            }
            Err(wrong) => {
                if signal::interruptions().0 == 0 {
                    fail(&mut record, wrong, emit);
                }
                break;
            }
        }
    }
    let stays = made.remove().into_iter().map(|what| Diagnostic::warning(&Default::default(), what));
    stays.for_each(|what| emit(&Event::Message(what)));
    if let (1.., signal) = signal::interruptions() {
        record.stopped_by = Some(signal);
    }
    record.findings = iodyno_truth::judge(&plan, &record);
    record.findings.iter().for_each(|finding| emit(&Event::Finding(Box::new(finding.clone()))));
    emit(&Event::Ended(Box::new(record.clone())));
    Ok(record)
}

fn fail(record: &mut Record, wrong: Vec<Diagnostic>, emit: Emit<'_>) {
    wrong.iter().for_each(|wrong| emit(&Event::Message(wrong.clone())));
    record.errors.extend(wrong);
}

/// The first worker that broke off, and why.
fn first_failure(phase: &PhaseRecord) -> Vec<Diagnostic> {
    let first = phase.jobs.iter().find_map(|job| {
        let broken = job.workers.iter().find(|worker| worker.failure.is_some())?;
        let text = broken.failure.as_ref()?;
        Some(match job.workers.len() {
            // Whose it is goes without saying, as in the drop-ins.
            1 => worker_failure("", text),
            _ => worker_failure(&format!("{}, worker {}: ", job.name, broken.index), text),
        })
    });
    first.into_iter().collect()
}

/// A worker's failure text back into message and hint.
pub(crate) fn worker_failure(who: &str, text: &str) -> Diagnostic {
    let (message, hint) = text.split_once('\n').unwrap_or((text, ""));
    let diagnostic = Diagnostic::error(&Default::default(), format!("{who}{message}"));
    if hint.is_empty() { diagnostic } else { diagnostic.hint(hint) }
}

/// Everything the workers of a phase share.
pub(crate) struct Stage {
    plan: Arc<Plan>,
    phase: usize,
    pub(crate) gate: Gate,
    pub(crate) sheets: Sheets,
    /// Job and number within the job of each worker.
    pub(crate) seats: Vec<(usize, u32)>,
    /// Targets that could not be made ready, where each worker stands alone.
    unready: Vec<Unready>,
    labels: Vec<Vec<(String, Verb)>>,
    kinds: Vec<Vec<Kind>>,
    entries: Vec<&'static Entry>,
    goals: Vec<Option<u64>>,
    shared: SharedObjects,
    journals: Option<Journals>,
}

impl Stage {
    fn new(
        plan: &Arc<Plan>,
        index: usize,
        earlier: &Record,
        unready: Vec<Unready>,
    ) -> Result<Stage, Failure> {
        let phase = &plan.phases[index];
        let labels: Vec<_> = phase.jobs.iter().map(source::labels).collect();
        let kinds =
            labels.iter().map(|labels| labels.iter().map(|(_, verb)| verb.kind()).collect()).collect();
        let seats: Vec<_> = phase
            .jobs
            .iter()
            .enumerate()
            .flat_map(|(job, j)| (0..j.workers).map(move |w| (job, w)))
            .collect();
        let lines = labels.iter().map(Vec::len).max().unwrap_or(0).max(1);
        let workers: Vec<u32> = phase.jobs.iter().map(|job| job.workers).collect();
        let parted = phase.jobs.iter().any(|job| job.measure.submission && job.measure.latency);
        let journaled = phase.jobs.iter().any(|job| job.measure.journal.is_some());
        let entry = |job: &Job| {
            let found = registry::engine(&job.engine);
            let found = found.ok_or_else(|| Failure::new(format!("no engine `{}`", job.engine)))?;
            let helped = job.depth.submit == Submit::Offload && found.files;
            Ok(if helped { registry::OFFLOAD } else { found })
        };
        Ok(Stage {
            plan: Arc::clone(plan),
            phase: index,
            gate: Gate::new(&workers).map_err(|errno| Failure::call("mmap", errno))?,
            sheets: Sheets::new(seats.len(), lines, parted).map_err(|errno| Failure::call("mmap", errno))?,
            journals: journaled.then(|| Journals::new(seats.len(), journal_limit())).transpose()?,
            seats,
            unready,
            labels,
            kinds,
            entries: phase.jobs.iter().map(entry).collect::<Result<_, Failure>>()?,
            goals: phase.jobs.iter().map(|job| goal(job, earlier)).collect(),
            shared: SharedObjects::new(&phase.shared).map_err(|errno| Failure::call("mmap", errno))?,
        })
    }

    pub(crate) fn phase(&self) -> &Phase {
        &self.plan.phases[self.phase]
    }

    /// What a worker does on its seat, whatever happens to it.
    fn sit(&self, number: u32) {
        let (job, worker) = self.seats[number as usize];
        let sheet = self.sheets.sheet(number as usize);
        let before = witness::usage();
        sheet.head.pid.store(placement::pid(), Relaxed);
        match catch_unwind(AssertUnwindSafe(|| self.work(number, job, worker))) {
            Ok(Ok(())) => {}
            Ok(Err(failure)) => self.break_off(number, &failure),
            Err(_) => sheet.fail("internal error: the worker panicked\nplease report it with the plan"),
        }
        let after = witness::usage();
        sheet.spend(&std::array::from_fn(|field| after[field].saturating_sub(before[field])));
        sheet.enter(WorkerState::Ended);
        sheet.head.over.store(1, Relaxed);
        self.gate.leave(job);
    }

    /// Notes why a worker ends before its time, and how far it had come.
    fn break_off(&self, number: u32, failure: &Failure) {
        let sheet = self.sheets.sheet(number as usize);
        let unready = self.unready(number);
        let stage = match (unready, sheet.head.began.load(Relaxed)) {
            (Some(_), _) => record::Stage::Prepare,
            (None, 0) => record::Stage::Start,
            _ => record::Stage::Run,
        };
        let targets = &self.phase().jobs[self.seats[number as usize].0].targets;
        let position = |unready: &Unready| targets.iter().position(|target| *target == unready.target);
        let target = unready.and_then(position).map(|position| position as u32);
        sheet.fail(&told(failure));
        sheet.end_by(&Fatal { errno: failure.errno, stage, target, ..Fatal::default() });
    }

    /// Takes the place of a worker that could not be started.
    fn never_came(&self, number: u32, failure: &Failure) {
        self.break_off(number, failure);
        self.sheets.sheet(number as usize).head.over.store(1, Relaxed);
        self.gate.leave(self.seats[number as usize].0);
    }

    /// The target of a worker that could not be made ready.
    fn unready(&self, number: u32) -> Option<&Unready> {
        let (job, worker) = self.seats[number as usize];
        let its = |unready: &&Unready| unready.job == job && unready.worker.is_none_or(|one| one == worker);
        self.unready.iter().find(its)
    }

    fn work(&self, number: u32, index: usize, worker: u32) -> Result<(), Failure> {
        if let Some(unready) = self.unready(number) {
            return Err(unready.failure.clone());
        }
        let (job, entry) = (&self.phase().jobs[index], self.entries[index]);
        placement::apply(&job.placement, job.kind, worker)?;
        let _ballast = Ballast::new(job.buffers.locked_bytes)?;
        let asker = Asker { job: &job.name, worker, repetition: self.phase().repetition };
        let access = Access {
            files: entry.files,
            reads_to_write: entry.reads_to_write,
            writes_to_read: entry.writes_to_read,
            peers: entry.peers,
        };
        let mut files = open::open_files(&self.plan, job, asker, access)?;
        files.handles.extend((0..source::extra_handles(job)).map(|_| Handle::closed()));
        if job.targets.iter().any(|target| self.plan.targets[*target].open.invalidate) {
            prepare::invalidate(&files);
        }
        warm(&self.plan, job, asker, &files, &|| self.gate.is_stopped(number))?;
        let depth = job.depth.most.min(entry.most_depth);
        self.sheets.sheet(number as usize).head.deepest.store(depth, Relaxed);
        let memory = Memory::of(depth, source::buffer_bytes(job), &job.buffers)?;
        let goal = self.goals[index];
        let make = |files: &_, start| {
            let (plan, memory, shared) = (&self.plan, &memory, Some(&self.shared));
            Source::new(&Brief { plan, job, worker, files, memory, depth, start, goal, shared })
        };
        let after = job.start.after_job.as_ref();
        let after = after.and_then(|name| self.phase().jobs.iter().position(|job| job.name == *name));
        let sheet = self.sheets.sheet(number as usize);
        let journals = self.journals.as_ref().filter(|_| job.measure.journal.is_some());
        let mut seat = Worker {
            plan: &self.plan,
            job,
            gate: &self.gate,
            sheet,
            pen: journals.map(|journals| journals.pen(number as usize, &sheet.head.journaled)),
            kinds: &self.kinds[index],
            files,
            memory: &memory,
            depth,
            number,
            seat: worker,
            seed: self.plan.seed,
            after,
            source: &make,
        };
        hooks::before(job)?;
        let takes_turns =
            job.targets.iter().any(|target| self.plan.targets[*target].open.lock != FileLock::No);
        let drive = entry.drive_in_turns.filter(|_| takes_turns).unwrap_or(entry.drive);
        let outcome = drive(&mut seat);
        drop(seat);
        outcome.and(hooks::after(job))
    }
}

fn told(failure: &Failure) -> String {
    match &failure.hint {
        Some(hint) => format!("{}\n{hint}", failure.message),
        None => failure.message.clone(),
    }
}

/// The operations each worker does when its limit is "as many as that phase did": the most any worker did there.
fn goal(job: &Job, earlier: &Record) -> Option<u64> {
    let name = job.limit.as_phase.as_ref()?;
    let phase = earlier.phases.iter().rev().find(|phase| phase.name == *name)?;
    phase.jobs.iter().flat_map(|job| &job.workers).map(|worker| worker.operations).max()
}

/// Who ends workers before their own limits do.
struct Watchers {
    exits: Exits,
    steadiness: Steadiness,
}

/// Starts the workers of a phase; one that cannot be started ends alone, where each does.
fn start_world(stage: &Arc<Stage>) -> Result<World, Vec<Diagnostic>> {
    let phase = stage.phase();
    let task: Task = Arc::new({
        let stage = Arc::clone(stage);
        move |number| stage.sit(number)
    });
    let kind = |kind| {
        let of = move |(_, (job, _)): &(usize, &(usize, u32))| phase.jobs[*job].kind == kind;
        stage.seats.iter().enumerate().filter(of).map(|(number, _)| number as u32).collect::<Vec<_>>()
    };
    let started = World::start(&task, &kind(WorkerKind::Processes), &kind(WorkerKind::Threads));
    match started {
        Ok(world) => Ok(world),
        Err((world, missing, reason)) if phase.stop == Stop::Alone => {
            let failure = Failure::new(reason).errno(libc::EAGAIN).hint("fewer workers");
            missing.iter().for_each(|number| stage.never_came(*number, &failure));
            Ok(world)
        }
        Err((world, _, reason)) => {
            stage.gate.stop();
            world.join();
            Err(vec![Diagnostic::error(&phase.jobs[0].origin, reason).hint("fewer workers")])
        }
    }
}

/// Runs one phase.
fn run_phase(
    plan: &Arc<Plan>,
    index: usize,
    options: &Options,
    earlier: &Record,
    made: &mut Made,
    emit: Emit<'_>,
) -> Result<(PhaseRecord, bool), Vec<Diagnostic>> {
    let phase = &plan.phases[index];
    let mut told_at = 0;
    for (job, files, total_bytes) in prepare::outstanding(plan, phase) {
        emit(&Event::LayingOut { job: phase.jobs[job].name.clone(), files, total_bytes });
    }
    let unready = prepare::prepare(plan, phase, made, &mut |target, done_bytes, total_bytes| {
        let now = clock::monotonic();
        if options.live_ns > 0 && (now > told_at + options.live_ns || done_bytes == total_bytes) {
            told_at = now;
            emit(&Event::Preparing { target: target.into(), done_bytes, total_bytes });
        }
        signal::interruptions().0 == 0
    });
    if !unready.is_empty() && (phase.stop != Stop::Alone || signal::interruptions().0 > 0) {
        return Err(unready.iter().map(|unready| unready.diagnostic(plan)).collect());
    }
    let _surroundings = Surroundings::new(plan, phase)?;
    pause(phase.pause_ns);
    if phase.drop_caches {
        witness::drop_caches();
    }
    let place = |failure: Failure| {
        let mut wrong = Diagnostic::error(&Default::default(), failure.message);
        wrong.hint = failure.hint;
        vec![wrong]
    };
    let stage = Arc::new(Stage::new(plan, index, earlier, unready).map_err(place)?);
    let mut world = start_world(&stage)?;
    wait_for_line(&stage, &mut world);
    let watch = options.witness.then(|| Watch::open(&watched(plan, phase)));
    stage.gate.open();
    emit(&Event::PhaseStarted {
        index,
        count: plan.phases.len(),
        name: phase.name.clone(),
        repetition: phase.repetition,
        coordinates: phase.coordinates.clone(),
    });
    let mut telling = Telling::new(&stage, watch);
    let mut watchers =
        Watchers { exits: Exits::new(&stage), steadiness: Steadiness::new(&stage, stage.gate.started()) };
    let all_over = watch_over(&stage, &mut world, &mut watchers, options, &mut telling, emit);
    let end = clock::now();
    let sightings = telling.sightings();
    if all_over {
        world.join()
    } else {
        world.abandon()
    }
    telling.rest(emit).map_err(place)?;
    let mut record = PhaseRecord { sightings, ..stage.gather(end) };
    for (seat, steady) in watchers.steadiness.records(&stage) {
        let (job, worker) = stage.seats[seat];
        record.jobs[job].workers[worker as usize].steady = Some(steady);
    }
    Ok((record, watchers.exits.ends_run))
}

/// The files, directories and devices that a phase works on.
fn watched(plan: &Plan, phase: &Phase) -> Vec<Watched> {
    let mut all: Vec<Watched> = Vec::new();
    for job in &phase.jobs {
        let asker = Asker { job: &job.name, worker: 0, repetition: phase.repetition };
        for target in job.targets.iter().map(|index| &plan.targets[*index]) {
            let path = target.path().map(|path| open::resolve(path, asker));
            if let Some(path) = path.filter(|path| witness::is_storage(path)) {
                all.push(Watched { target: target.name.clone(), path });
            }
        }
    }
    all.dedup();
    all
}

fn pause(ns: u64) {
    let until = clock::now() + ns;
    while clock::now() < until && signal::interruptions().0 == 0 {
        clock::sleep_until(until, 100_000_000);
    }
}

/// Waits until everybody is at the line or has failed before it.
fn wait_for_line(stage: &Stage, world: &mut World) {
    let everybody = stage.seats.len() as u32;
    loop {
        let (ready, over) = (stage.gate.ready(), stage.gate.over());
        note_deaths(stage, world);
        if over > 0 && stage.phase().stop != Stop::Alone {
            // Somebody failed: nobody starts, and nobody goes on waiting for a peer.
            stage.gate.stop();
            world.nudge(|_| true);
        }
        if ready + over >= everybody || signal::interruptions().0 > 0 {
            return;
        }
        stage.gate.wait_for_ready(ready, 50_000_000);
    }
}

/// Takes the place of a process that died without leaving.
fn note_deaths(stage: &Stage, world: &mut World) {
    for (number, how) in world.deaths() {
        let head = stage.sheets.sheet(number as usize);
        if head.head.over.swap(1, Relaxed) == 0 {
            head.fail(&how);
            stage.gate.leave(stage.seats[number as usize].0);
        }
    }
}

/// How long workers have to see the stop flag, ns.
const NUDGE_AFTER_NS: u64 = 200_000_000;

/// Watches the phase until everybody is over; `false`: the user would not wait for those that hang.
fn watch_over(
    stage: &Stage,
    world: &mut World,
    watchers: &mut Watchers,
    options: &Options,
    telling: &mut Telling<'_>,
    emit: Emit<'_>,
) -> bool {
    let everybody = stage.seats.len() as u32;
    let start = stage.gate.started();
    let wishes = [options.live_ns, options.interim_ns, 200_000_000].into_iter().filter(|ns| *ns > 0);
    let slice_ns = wishes.min().unwrap_or(200_000_000);
    let mut nudge_at = clock::NEVER;
    loop {
        let over = stage.gate.over();
        let now = clock::now();
        note_deaths(stage, world);
        if everybody == 0 {
            let until =
                if stage.phase().watch_ns == 0 { clock::NEVER } else { start + stage.phase().watch_ns };
            if now >= until || signal::interruptions().0 > 0 {
                return true;
            }
            clock::sleep_until(until, slice_ns);
            continue;
        }
        if over >= everybody {
            return true;
        }
        match signal::interruptions().0 {
            0 => {}
            1 => stage.gate.stop(),
            _ => return false,
        }
        if over > 0 && stops(stage) {
            stage.gate.stop();
        }
        watchers.exits.look(stage, over);
        watchers.steadiness.look(stage, now);
        // Most see the flag by themselves; those that wait in the kernel do not.
        if now >= nudge_at {
            world.nudge(|number| stage.gate.is_stopped(number));
        } else if stage.gate.stopped_any() && nudge_at == clock::NEVER {
            nudge_at = now + NUDGE_AFTER_NS;
        }
        telling.tell(options, now, emit);
        let soon = watchers.steadiness.next().map_or(slice_ns, |next| next.saturating_sub(now));
        stage.gate.wait_for_end(over, slice_ns.min(soon.max(1)));
    }
}

/// Whether those that are over end the phase for the others.
fn stops(stage: &Stage) -> bool {
    let phase = stage.phase();
    let failed =
        || (0..stage.seats.len()).any(|number| stage.sheets.sheet(number).failed_because().is_some());
    match phase.stop {
        Stop::Each => failed(),
        Stop::Alone => false,
        Stop::FirstDone => true,
        Stop::FirstJobDone => failed() || (0..phase.jobs.len()).any(|job| stage.gate.running(job) == 0),
        Stop::FirstError => failed() || (0..stage.seats.len()).any(|n| stage.sheets.sheet(n).failures() > 0),
    }
}

/// How much of the journals may lie in memory at a time, bytes: half of what is available.
fn journal_limit() -> u64 {
    witness::memory::read().map_or(1 << 30, |memory| memory.available / 2)
}

/// As many open files as the system allows: ten thousand workers open as many.
fn raise_file_limit() {
    // SAFETY: the structure is valid for both calls.
    unsafe {
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 && limit.rlim_cur < limit.rlim_max {
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}
