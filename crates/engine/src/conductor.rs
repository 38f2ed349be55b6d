//! The control plane: phases in order, the start line, ticks while it runs, the gathering afterwards.
//!
//! Nothing here is on the data plane: the conductor sleeps while the workers work.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use iodyno_model::{Diagnostic, Event, Phase, PhaseRecord, Plan, Record, Started, Stop, WorkerKind};

use crate::check::check;
use crate::clock;
use crate::exits::{self, Exits};
use crate::failure::Failure;
use crate::open::{self, Asker};
use crate::placement::Surroundings;
use crate::prepare::{self, Made};
use crate::signal;
use crate::steadiness::Steadiness;
use crate::witness::{self, Watch, Watched};
use crate::world::World;
use crate::world::crew::{Crew, Task};

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

mod stage;
mod telling;

pub(crate) use stage::Stage;
use telling::Telling;

/// Who is told what happens.
pub type Emit<'a> = &'a mut dyn FnMut(&Event);

/// Runs a plan and returns its record. Failures while it runs are in the record, not in the result.
///
/// # Errors
/// Everything that keeps the plan from starting.
pub fn run(plan: &Plan, options: &Options, emit: Emit<'_>) -> Result<Record, Vec<Diagnostic>> {
    run_in(&mut World::alone(), plan, options, emit)
}

/// The same on every rank of a world. Only the first rank's record is that of the whole world, and only there is
/// everything told that there is to tell.
///
/// # Errors
/// Everything that keeps the plan from starting, on every rank.
pub fn run_in(
    world: &mut World,
    plan: &Plan,
    options: &Options,
    emit: Emit<'_>,
) -> Result<Record, Vec<Diagnostic>> {
    let began = clock::monotonic();
    clock::begin_calibration();
    let plan = check(plan)?;
    raise_file_limit();
    signal::install();
    let machine = witness::machine();
    let targets = if options.witness { witness::targets(&plan) } else { Vec::new() };
    let mut record =
        Record { name: plan.name.clone(), seed: plan.seed, machine: machine.clone(), ..Default::default() };
    record.world.clone_from(world.facts());
    let facts = world.facts().clone();
    let started =
        Started { plan: plan.clone(), targets, machine, at_unix_ns: clock::unix_ns(), world: facts };
    emit(&Event::Started(Box::new(started)));
    clock::calibrate();
    let plan = Arc::new(plan);
    let mut made = Made::default();
    for index in 0..plan.phases.len() {
        if signal::interruptions().0 > 0 {
            break;
        }
        let latest_ns = plan.phases[index].latest_ns;
        if latest_ns > 0 && clock::monotonic() > began.saturating_add(latest_ns) {
            continue;
        }
        if plan.phases[index].unless_failed && something_failed(&record) {
            continue;
        }
        match run_phase(world, &plan, index, options, &record, &mut made, emit) {
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

/// Whether an operation of a phase failed.
fn something_failed(record: &Record) -> bool {
    let jobs = record.phases.iter().flat_map(|phase| &phase.jobs);
    !record.errors.is_empty() || jobs.into_iter().any(|job| job.tally.failed() > 0)
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

/// Who ends workers before their own limits do.
struct Watchers {
    exits: Exits,
    steadiness: Steadiness,
}

/// Starts the workers of a phase; one that cannot be started ends alone, where each does.
fn start_crew(stage: &Arc<Stage>) -> Result<Crew, Vec<Diagnostic>> {
    let phase = stage.phase();
    let task: Task = Arc::new({
        let stage = Arc::clone(stage);
        move |number| stage.sit(number)
    });
    let kind = |kind| {
        let of = move |(_, (job, _)): &(usize, &(usize, u32))| phase.jobs[*job].kind == kind;
        stage.seats.iter().enumerate().filter(of).map(|(number, _)| number as u32).collect::<Vec<_>>()
    };
    let started = Crew::start(&task, &kind(WorkerKind::Processes), &kind(WorkerKind::Threads));
    match started {
        Ok(crew) => Ok(crew),
        Err((crew, missing, reason)) if phase.stop == Stop::Alone => {
            let failure = Failure::new(reason).errno(libc::EAGAIN).hint("fewer workers");
            missing.iter().for_each(|number| stage.never_came(*number, &failure));
            Ok(crew)
        }
        Err((crew, _, reason)) => {
            stage.gate.stop();
            crew.join();
            Err(vec![Diagnostic::error(&phase.jobs[0].origin, reason).hint("fewer workers")])
        }
    }
}

/// Runs one phase.
#[allow(clippy::too_many_arguments)]
fn run_phase(
    world: &World,
    plan: &Arc<Plan>,
    index: usize,
    options: &Options,
    earlier: &Record,
    made: &mut Made,
    emit: Emit<'_>,
) -> Result<(PhaseRecord, bool), Vec<Diagnostic>> {
    let phase = &plan.phases[index];
    let mut told_at = 0;
    for (job, files, total_bytes) in prepare::outstanding(world, plan, phase) {
        emit(&Event::LayingOut { job: phase.jobs[job].name.clone(), files, total_bytes });
    }
    let unready = prepare::prepare(world, plan, phase, made, &mut |target, done_bytes, total_bytes| {
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
    let stage = Arc::new(Stage::new(world, plan, index, earlier, unready).map_err(place)?);
    let mut crew = start_crew(&stage)?;
    wait_for_line(&stage, &mut crew);
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
    let all_over = watch_over(&stage, &mut crew, &mut watchers, options, &mut telling, emit);
    let end = clock::now();
    let sightings = telling.sightings();
    if all_over {
        crew.join()
    } else {
        crew.abandon()
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
        let asker = Asker::first(&job.name, phase.repetition);
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
fn wait_for_line(stage: &Stage, crew: &mut Crew) {
    let everybody = stage.seats.len() as u32;
    loop {
        let (ready, over) = (stage.gate.ready(), stage.gate.over());
        note_deaths(stage, crew);
        if over > 0 && stage.phase().stop != Stop::Alone {
            // Somebody failed: nobody starts, and nobody goes on waiting for a peer.
            stage.gate.stop();
            crew.nudge(|_| true);
        }
        if ready + over >= everybody || signal::interruptions().0 > 0 {
            return;
        }
        stage.gate.wait_for_ready(ready, 50_000_000);
    }
}

/// Takes the place of a process that died without leaving.
fn note_deaths(stage: &Stage, crew: &mut Crew) {
    for (number, how) in crew.deaths() {
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
    crew: &mut Crew,
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
        note_deaths(stage, crew);
        if stage.phase().jobs.is_empty() {
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
            crew.nudge(|number| stage.gate.is_stopped(number));
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
