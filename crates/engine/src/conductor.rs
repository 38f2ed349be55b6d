//! The control plane: runs phases in order, opens the start barrier, reports progress, gathers the record.
//!
//! Nothing here is on the data plane: the conductor sleeps while the workers work.

use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError};

use iodyno_model::merge::Seen;
use iodyno_model::sweep::Coordinate;
use iodyno_model::{
    Diagnostic, Event, Phase, PhaseRecord, Plan, Record, RunStart, Stop, Watching, WorkerKind,
};
use iodyno_simulation::Simulation;

use crate::aging;
use crate::check::{CheckedPlan, check};
use crate::clock;
use crate::failure::Failure;
use crate::idleness::IdlenessProfiler;
use crate::placement;
use crate::prepare::MadeFiles;
use crate::signal;
use crate::source;
use crate::witness::{self, Watch};
use crate::world::threads::ThreadPool;
use crate::world::worker_group::{Task, WorkerGroup};
use crate::world::{BrokenWorld, World};

mod agree;
mod barriers;
mod exit_policy;
mod gather;
mod line;
mod log_steps;
mod options;
mod passes;
mod phase_context;
mod progress;
mod rank_mail;
mod rank_roles;
mod ranks;
mod ready;
mod remount;
mod steadiness;
mod ticks;

use agree::{Trouble, agreed, highest, patience};
use barriers::Barriers;
use exit_policy::ExitPolicy;
use gather::PhaseEnd;
use passes::Passes;
use progress::Progress;
use rank_mail::{FinalReport, Mailbox, pack, unpack};
use ranks::Ranks;
use steadiness::Steadiness;
use ticks::Ticks;

pub use options::{Halt, LastingDevice, Options};
pub(crate) use phase_context::PhaseContext;
use phase_context::PlanDevice;
pub use rank_mail::StopScope;
pub use rank_roles::{follow, lead, part};

/// Who is told what happens.
pub type Emit<'a> = &'a mut dyn FnMut(&Event);

/// Between two comparisons of the ranks' clocks, ns: what a bad quartz loses in that time is what was not known before.
const COMPARE_NS: u64 = 20_000_000_000;

/// Runs a plan and returns its record. Failures while it runs are in the record, not in the result.
///
/// # Errors
/// Everything that keeps the plan from starting.
pub fn run(plan: &Plan, options: &Options, emit: Emit<'_>) -> Result<Record, Vec<Diagnostic>> {
    run_in(&mut World::alone(), plan, options, emit)
}

/// The same on every rank of a world. Only the first rank's record is that of the whole world, and only there is
/// everything told that there is to tell. Where ranks were lost the world is [broken](World::is_broken) afterwards.
///
/// # Errors
/// Everything that keeps the plan from starting; told on the first rank.
pub fn run_in(
    world: &mut World,
    plan: &Plan,
    options: &Options,
    emit: Emit<'_>,
) -> Result<Record, Vec<Diagnostic>> {
    let post = Mailbox::default();
    let began = clock::monotonic();
    let repeat = plan.repeat.clone();
    clock::begin_calibration();
    signal::install();
    witness::names::made();
    let checked = match agreed(world, checked(world, plan)) {
        Ok(checked) => CheckedPlan { surveys: options.surveys.clone(), ..checked },
        Err(Trouble::Wrong(wrong)) => return Err(wrong),
        Err(Trouble::Broken(broken)) => {
            world.lose(&[]);
            return Err(vec![apart(world, &broken.0)]);
        }
    };
    // From here on it is the plan with its sweeps written out.
    let expanded = Arc::clone(&checked.plan);
    let plan = &*expanded;
    raise_file_limit();
    let mut machine = witness::machine();
    let watch = options.witness && world.is_first();
    let targets = if watch { witness::targets(plan) } else { Vec::new() };
    if watch {
        machine.facts = witness::environment::machine();
        machine.facts.extend(witness::environment::file_systems(&targets));
    }
    let mut record =
        Record { name: plan.name.clone(), seed: plan.seed, machine: machine.clone(), ..Default::default() };
    clock::calibrate();
    let compared = world.compare_clocks(&mut patience);
    record.world.clone_from(world.facts());
    let facts = world.facts().clone();
    let started =
        RunStart { plan: plan.clone(), targets, machine, at_unix_ns: clock::unix_ns(), world: facts };
    emit(&Event::Started(Box::new(started)));
    let profiler = plan.idleness.then(IdlenessProfiler::calibrate).transpose();
    let mut profiler = profiler.map_err(|failure| vec![failure.diagnostic(&Default::default(), "")])?;
    if let Some(profiler) = &mut profiler {
        profiler.start();
    }
    let mut run = Run {
        checked,
        passes: Passes::new(plan, repeat),
        options,
        post,
        made: MadeFiles::default(),
        record,
        began,
        threads: ThreadPool::of(placement::processors()),
        device: (options.device.clone().unwrap_or_default().0, Vec::new()),
    };
    let walked = match compared {
        Ok(()) if run.aged(emit) => run.walk(world, emit),
        Ok(()) => Ok(()),
        Err(broken) => Err(broken),
    };
    if let Err(broken) = walked {
        let gone = world.gone();
        world.lose(&gone);
        run.record.world.lost.extend(&gone);
        fail(&mut run.record, vec![apart(world, &broken.0)], emit);
    }
    run.record.idleness = profiler.map(IdlenessProfiler::stop);
    Ok(run.end(world, emit))
}

/// A run under way, on one rank.
struct Run<'a> {
    /// As it runs; of passes that depend on how it goes, those that were decided on.
    checked: CheckedPlan,
    passes: Passes,
    options: &'a Options,
    post: Mailbox,
    made: MadeFiles,
    record: Record,
    began: clock::Tick,
    /// Those of the phase before.
    threads: ThreadPool,
    /// The plan's simulated device, and the point of a sweep that it was made for.
    device: (PlanDevice, Vec<Coordinate>),
}

/// What becomes of the next phase.
enum Next {
    Runs,
    IsLeftOut,
    Ends,
}

impl Run<'_> {
    /// Makes file systems old, where that is asked for; whether the phases may follow.
    fn aged(&mut self, emit: Emit<'_>) -> bool {
        let plan = Arc::clone(&self.checked.plan);
        for asked in &plan.aging {
            let target = format!("aging {}", asked.directory);
            let aged = aging::age(asked, plan.seed, &mut |done_bytes, total_bytes| {
                emit(&Event::Preparing { target: target.clone(), done_bytes, total_bytes });
            });
            match aged {
                Ok(record) => self.record.aging.push(record),
                Err(wrong) => fail(&mut self.record, vec![wrong], emit),
            }
            if !self.record.errors.is_empty() || signal::interruptions().0 > 0 {
                return false;
            }
        }
        true
    }

    /// The plan's simulated device lasts from phase to phase, as a real one would; at each point of a sweep it is new, unless
    /// it is to outlast them.
    fn renew_device(&mut self, index: usize) -> Result<(), Vec<Diagnostic>> {
        let plan = &self.checked.plan;
        let (device, made_for) = &mut self.device;
        let coordinates = &plan.phases[index].coordinates;
        let mut device = device.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wanted) = &plan.device
            && (device.is_none() || (made_for != coordinates && self.options.device.is_none()))
        {
            let made = Simulation::new(wanted, plan.seed);
            *device = Some(made.map_err(|wrong| vec![Diagnostic::error(&wanted.origin, wrong)])?);
            made_for.clone_from(coordinates);
        }
        Ok(())
    }

    /// Phase after phase, and pass after pass, on every rank the same.
    fn walk(&mut self, world: &mut World, emit: Emit<'_>) -> Result<(), BrokenWorld> {
        let mut compared = clock::monotonic();
        let mut index = 0;
        loop {
            while index < self.checked.plan.phases.len() {
                if self.phase(world, index, &mut compared, emit)? {
                    return Ok(());
                }
                index += 1;
            }
            let wanted = world.is_first() && self.passes.want(&self.checked.plan, &mut self.record);
            if highest(world, [u64::from(wanted)])? == [0] {
                return Ok(());
            }
            self.passes.append(&mut self.checked.plan);
        }
    }

    /// One phase; whether no other follows.
    fn phase(
        &mut self,
        world: &mut World,
        index: usize,
        compared: &mut clock::Tick,
        emit: Emit<'_>,
    ) -> Result<bool, BrokenWorld> {
        match self.next(world, index, compared)? {
            Next::Runs => {}
            Next::IsLeftOut => return Ok(false),
            Next::Ends => return Ok(true),
        }
        match run_phase(world, self, index, emit) {
            Ok(outcome) => {
                let ends = match world.is_first() {
                    true => self.close(world, index, outcome, emit),
                    false => {
                        self.record.phases.push(outcome.record);
                        outcome.ends_run
                    }
                };
                ready::last_errands(world, &self.checked.plan.phases[index], ends, emit)?;
                Ok(ends)
            }
            Err(Trouble::Broken(broken)) => Err(broken),
            Err(Trouble::Wrong(wrong)) => {
                if signal::interruptions().0 == 0 {
                    fail(&mut self.record, wrong, emit);
                }
                Ok(true)
            }
        }
    }

    /// Whether a phase runs; the first rank's clock says whether it is too late for it.
    fn next(&self, world: &mut World, index: usize, compared: &mut clock::Tick) -> Result<Next, BrokenWorld> {
        let (now, latest_ns) = (clock::monotonic(), self.checked.plan.phases[index].latest_ns);
        let (interrupted, signal) = signal::interruptions();
        let late = world.is_first() && latest_ns > 0 && now > self.began.saturating_add(latest_ns);
        let phase = &self.checked.plan.phases[index];
        let spoilt = phase.unless_failed && something_failed(&self.record)
            || phase.unless_timed_out && something_timed_out(&self.checked.plan, &self.record);
        let late = late || (world.is_first() && spoilt);
        let drifted = world.is_first() && now > compared.saturating_add(COMPARE_NS);
        let signal = if interrupted > 0 { signal as u64 } else { 0 };
        let [signal, late, drifted] = highest(world, [signal, u64::from(late), u64::from(drifted)])?;
        if signal > 0 {
            signal::interrupted_elsewhere(signal as i32);
            return Ok(Next::Ends);
        }
        if late > 0 {
            return Ok(Next::IsLeftOut);
        }
        if drifted > 0 {
            world.compare_clocks(&mut patience)?;
            *compared = now;
        }
        Ok(Next::Runs)
    }

    /// On the first rank: tells of a phase that is over, and the other ranks that it is; whether no other follows.
    fn close(&mut self, world: &mut World, index: usize, outcome: PhaseEnd, emit: Emit<'_>) -> bool {
        let PhaseEnd { mut record, mut errors, ends_run, lost } = outcome;
        record.cache = iodyno_truth::cache::share(&self.checked.plan, &self.record, &record);
        emit(&Event::PhaseEnded(Box::new(record.clone())));
        let alone = self.checked.plan.phases[index].stop == Stop::Alone;
        let failed =
            if alone { exit_policy::failures(&self.checked.plan, &record) } else { first_failure(&record) };
        let broke_off = !alone && !failed.is_empty();
        let ends = ends_run || broke_off || !errors.is_empty() || !lost.is_empty();
        errors.extend(failed);
        dismiss(world, &self.checked.plan, &record, ends);
        self.record.phases.push(record);
        if !lost.is_empty() {
            world.lose(&lost);
            errors.extend(ranks::lose(&mut self.record, &lost));
        }
        fail(&mut self.record, errors, emit);
        ends
    }

    /// Cleans up, judges, and tells how it went; where ranks are lost there may be no time left to do both.
    fn end(mut self, world: &mut World, emit: Emit<'_>) -> Record {
        if self.options.stays || (world.is_broken() && world.is_first()) {
            let mut made = std::mem::take(&mut self.made);
            world.at_last(move || made.remove());
        } else {
            clean_up(world, &mut self.made, emit);
        }
        let mut record = self.record;
        record.world.clock_error_ns = world.facts().clock_error_ns;
        if let (1.., signal) = signal::interruptions() {
            record.stopped_by = Some(signal);
        }
        if world.is_first() {
            record.findings = iodyno_truth::judge(&self.checked.plan, &record);
            record.findings.iter().for_each(|finding| emit(&Event::Finding(Box::new(finding.clone()))));
            record.rounds = self.passes.told(&self.checked.plan, &record);
            record.demands = iodyno_truth::demand::judge(&self.checked.plan, &record);
        }
        emit(&Event::Ended(Box::new(record.clone())));
        record
    }
}

/// The plan as it runs here, or what is wrong with it.
fn checked(world: &World, plan: &Plan) -> Result<CheckedPlan, Vec<Diagnostic>> {
    if world.is_alone() {
        return check(plan);
    }
    let wrong = line::check(world, plan);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    let mut checked = check(plan)?;
    // A process that MPI has joined to others must not be forked.
    let jobs = Arc::make_mut(&mut checked.plan).phases.iter_mut().flat_map(|phase| &mut phase.jobs);
    jobs.for_each(|job| job.kind = WorkerKind::Threads);
    Ok(checked)
}

/// That ranks no longer come together, and why.
fn apart(world: &World, why: &str) -> Diagnostic {
    let (gone, hint) = (world.gone(), "what was measured until then is in the report");
    let message = match gone.is_empty() {
        true => format!("the ranks do not come together: {why}"),
        false => format!("{} ended before the others", agree::named(world.facts(), &gone)),
    };
    Diagnostic::error(&Default::default(), message).hint(hint)
}

/// Removes what was made and is not to stay; what cannot be removed is reported.
fn clean_up(world: &World, made: &mut MadeFiles, emit: Emit<'_>) {
    let mut stays = made.remove();
    if !world.is_broken() && !world.is_alone() {
        // Directories in which other ranks had something.
        if world.barrier(&mut patience).is_ok() {
            stays.extend(made.remove());
        }
        let all = world.gather(pack(&stays), &mut patience).unwrap_or_default();
        stays = all.iter().filter_map(|bytes| unpack::<Vec<String>>(bytes)).flatten().collect();
        stays.dedup();
    }
    let stays = stays.into_iter().map(|what| Diagnostic::warning(&Default::default(), what));
    stays.for_each(|what| emit(&Event::Message(what)));
}

/// Tells the other ranks that a phase is over everywhere.
fn dismiss(world: &World, plan: &Plan, record: &PhaseRecord, ends: bool) {
    let jobs = plan.phases.iter().flat_map(|phase| &phase.jobs);
    let referred = jobs
        .flat_map(|job| [job.limit.as_phase.as_deref(), source::follows(job)])
        .flatten()
        .any(|name| name == record.name);
    ranks::dismiss(world, record, referred, ends);
}

fn fail(record: &mut Record, wrong: Vec<Diagnostic>, emit: Emit<'_>) {
    wrong.iter().for_each(|wrong| emit(&Event::Message(wrong.clone())));
    record.errors.extend(wrong);
}

/// Whether a phase ended because its time was up.
fn something_timed_out(plan: &Plan, record: &Record) -> bool {
    record.phases.iter().any(|phase| {
        let jobs = plan.phases.get(phase.index).map_or(&[][..], |phase| &phase.jobs);
        let limit = jobs.iter().filter_map(|job| job.limit.time_ns).min();
        limit.is_some_and(|limit_ns| phase.elapsed_ns >= limit_ns)
    })
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

/// Who ends workers before their own limits do, and who brings them together with those of other ranks.
struct Watchers<'a> {
    exits: ExitPolicy,
    steadiness: Steadiness,
    meetings: Barriers<'a>,
    /// Where all clocks are virtual and something is to be told at times of theirs.
    ticks: Option<Ticks>,
}

impl<'a> Watchers<'a> {
    /// For a phase whose barrier was opened; with ticks, what is steady goes by them.
    fn new(world: &'a World, context: &'a PhaseContext, ticks: Option<(Ticks, Steadiness)>) -> Self {
        let (exits, meetings) =
            (ExitPolicy::new(context), Barriers::new(world, context.phase(), &context.shared));
        match ticks {
            Some((ticks, steadiness)) => Watchers { exits, steadiness, meetings, ticks: Some(ticks) },
            None => {
                let steadiness = Steadiness::new(context, context.barrier.started());
                Watchers { exits, steadiness, meetings, ticks: None }
            }
        }
    }

    /// What is to be reported by the system's clock.
    fn untold(&self, options: &Options) -> Options {
        match self.ticks {
            Some(_) => Options { live_ns: 0, interim_ns: 0, ..options.clone() },
            None => options.clone(),
        }
    }

    /// Looks how steady the workers are, and tells of ticks of virtual clocks.
    fn look(
        &mut self,
        context: &PhaseContext,
        over: u32,
        now: clock::Tick,
        progress: &mut Progress<'_>,
        ranks: &mut Ranks<'_>,
        emit: Emit<'_>,
    ) {
        match &mut self.ticks {
            None => self.steadiness.look(context, now),
            Some(ticks) => ticks.look(context, over, &mut self.steadiness, progress, ranks, emit),
        }
    }

    /// When there is something to look at, by the system's clock.
    fn next(&self, context: &PhaseContext, now: clock::Tick) -> Option<clock::Tick> {
        match self.ticks {
            None => self.steadiness.next(),
            // A tick that lies beyond the next one is waited for by nobody who would say so again.
            Some(_) => context.barrier.all_at_horizon().then_some(now),
        }
    }
}

/// Starts the workers of a phase; one that cannot be started ends alone, where each does.
fn start_crew(context: &Arc<PhaseContext>, pool: &mut ThreadPool) -> Result<WorkerGroup, Vec<Diagnostic>> {
    let phase = context.phase();
    let task: Task = Arc::new({
        let context = Arc::clone(context);
        move |number| match context.is_on_device(number) {
            true => context.sit_on_device(),
            false => context.sit(number),
        }
    });
    let numbers = || 0..context.seats.len() as u32;
    let kind = |kind| {
        let of = |number: &u32| {
            phase.jobs[context.seats[*number as usize].0].kind == kind && !context.is_on_device(*number)
        };
        numbers().filter(of).collect::<Vec<_>>()
    };
    // One thread is all of those who share a simulated device.
    let threads = numbers().find(|number| context.is_on_device(*number)).into_iter();
    let threads: Vec<u32> = threads.chain(kind(WorkerKind::Threads)).collect();
    let started = WorkerGroup::start(&task, &kind(WorkerKind::Processes), &threads, pool);
    match started {
        Ok(group) => Ok(group),
        // Whoever stops it is not told who has not begun.
        Err((group, ..)) if signal::interruptions().0 > 0 => {
            context.barrier.stop();
            group.join();
            Err(Vec::new())
        }
        Err((group, missing, reason)) if phase.stop == Stop::Alone => {
            let failure = Failure::new(reason).errno(libc::EAGAIN).hint("fewer workers");
            missing.iter().for_each(|number| context.never_came(*number, &failure));
            Ok(group)
        }
        Err((group, _, reason)) => {
            context.barrier.stop();
            group.join();
            Err(vec![Diagnostic::error(&phase.jobs[0].origin, reason).hint("fewer workers")])
        }
    }
}

/// Runs one phase. On other ranks than the first, what is to be told is told there.
fn run_phase(world: &World, run: &mut Run<'_>, index: usize, emit: Emit<'_>) -> Result<PhaseEnd, Trouble> {
    run.renew_device(index)?;
    let Run { checked, options, post, made, record: earlier, threads, device, .. } = run;
    let mut forward = |event: &Event| post.forward(world, event);
    let emit: Emit<'_> = if world.is_first() { emit } else { &mut forward };
    let (plan, phase) = (&checked.plan, &checked.plan.phases[index]);
    let mut ready = ready::make_ready(world, checked, phase, options, made, emit)?;
    let laid = std::mem::take(&mut ready.laid);
    let set = set_up(world, checked, index, earlier, (laid, &device.0), threads);
    if let (Err(trouble), Ok((context, _))) = (agree::agree(world, &set), &set) {
        // Somebody elsewhere has none: ours go home.
        context.barrier.stop();
        set.into_iter().for_each(|(_, group)| group.join());
        return Err(trouble);
    }
    let (context, mut group) = set?;
    let mut ranks = Ranks::new(world, post, &context);
    wait_for_line(&context, &mut group);
    let watches = (options.witness || phase.watch.is_some()) && gather::watches(world);
    let watch = watches.then(|| Watch::open(gather::scene(world, plan, phase), context.connections.clone()));
    let own_ns = witness::cpu::own_ns();
    let moved = options.witness.then(witness::own::moved).flatten();
    let steadiness = Steadiness::new(&context, 0);
    let ticks = Ticks::of(&context, world.is_alone(), options, &steadiness);
    if let Err(trouble) = line::start(world, &context, &group) {
        context.barrier.stop();
        group.abandon();
        return Err(trouble);
    }
    emit(&Event::PhaseStarted {
        index,
        count: plan.phases.len(),
        name: phase.name.clone(),
        repetition: phase.repetition,
        coordinates: phase.coordinates.clone(),
    });
    let mut progress = Progress::new(&context, watch);
    progress.since_boot(world.is_first(), emit);
    let mut watchers = Watchers::new(world, &context, ticks.map(|ticks| (ticks, steadiness)));
    let options = &watchers.untold(options);
    let all_over = watch_over(&context, &mut group, &mut watchers, &mut ranks, options, &mut progress, emit);
    let end = clock::now();
    let mut seen = progress.seen(world.is_first(), emit);
    if options.witness && !watches {
        let own = witness::own_time(own_ns, context.processes_ns());
        seen = Some(Seen { kernel: gather::kernel(), sightings: vec![own], ..Seen::default() });
    }
    if let (Some(seen), Some(before)) = (&mut seen, moved) {
        seen.sightings.extend(witness::own::since(before, context.processes_moved()));
    }
    let further = context.undropped().into_iter().chain(std::mem::take(&mut ready.sightings));
    further.for_each(|sighting| seen.get_or_insert_default().sightings.push(sighting));
    if all_over {
        group.join_and_keep(threads, |number| context.leaves_its_thread(number))
    } else {
        group.abandon()
    }
    let errors = progress.rest(emit).err().map(unplaced).into_iter().collect();
    let mut record = context.gather(end);
    record.parts = context.part_records();
    for (seat, steady) in watchers.steadiness.records(&context) {
        let (job, worker) = context.seats[seat];
        record.jobs[job].workers[worker as usize].steady = Some(steady);
    }
    let last = FinalReport { record, seen, errors, ..FinalReport::default() };
    match world.is_first() {
        true => Ok(gather::gather(&mut ranks, last)),
        false => gather::hand_in(ranks, last),
    }
}

/// The context of a phase, and the workers on their way to the start line.
fn set_up(
    world: &World,
    checked: &CheckedPlan,
    index: usize,
    earlier: &Record,
    (laid, device): (phase_context::PhaseLayout, &PlanDevice),
    pool: &mut ThreadPool,
) -> Result<(Arc<PhaseContext>, WorkerGroup), Vec<Diagnostic>> {
    let phase = &checked.plan.phases[index];
    if is_virtual(checked, phase) {
        rest(device, phase.pause_ns);
    }
    let context = PhaseContext::new(world, checked, index, earlier, laid, device);
    let context = Arc::new(context.map_err(|failure| vec![unplaced(failure)])?);
    let group = start_crew(&context, pool)?;
    Ok((context, group))
}

/// A failure that belongs to no line of what the user wrote.
fn unplaced(failure: Failure) -> Diagnostic {
    failure.diagnostic(&Default::default(), "")
}

/// Whether time passes only as its simulated devices say.
fn is_virtual(checked: &CheckedPlan, phase: &Phase) -> bool {
    !phase.jobs.is_empty() && phase.jobs.iter().all(|job| checked.engines.of(job).facts.is_virtual)
}

/// The plan's simulated device goes on for so long with nothing to do: buckets refill, caches are emptied. A worker's own
/// device begins anew in each phase.
fn rest(device: &PlanDevice, ns: u64) {
    let mut device = device.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(simulation) = device.as_mut() {
        simulation.advance(simulation.now().saturating_add(ns), &mut Vec::new());
    }
}

/// The pause before a phase; what is simulated has it in its own time.
fn pause(checked: &CheckedPlan, phase: &Phase) {
    if is_virtual(checked, phase) {
        return;
    }
    let until = clock::now() + phase.pause_ns;
    while clock::now() < until && signal::interruptions().0 == 0 {
        clock::sleep_until(until, 100_000_000);
    }
}

/// Waits until everybody is at the line or has failed before it.
fn wait_for_line(context: &PhaseContext, group: &mut WorkerGroup) {
    let everybody = context.seats.len() as u32;
    loop {
        let (ready, over) = (context.barrier.ready(), context.barrier.over());
        note_deaths(context, group);
        if over > 0 && context.phase().stop != Stop::Alone {
            // Somebody failed: nobody starts, and nobody goes on waiting for a peer.
            context.barrier.stop();
            group.nudge(|_| true);
        }
        if ready + over >= everybody || signal::interruptions().0 > 0 {
            return;
        }
        context.barrier.wait_for_ready(ready, 50_000_000);
    }
}

/// Takes the place of a process that died without leaving.
fn note_deaths(context: &PhaseContext, group: &mut WorkerGroup) {
    for (number, how) in group.deaths() {
        let head = context.counters.of(number as usize);
        if head.head.over.swap(1, Relaxed) == 0 {
            head.fail(&how);
            context.barrier.leave(context.seats[number as usize].0, number);
        }
    }
}

/// How long workers have to see the stop flag, ns.
const NUDGE_AFTER_NS: u64 = 200_000_000;

/// Watches the phase until everybody is over; `false`: the user would not wait for those that hang.
fn watch_over(
    context: &PhaseContext,
    group: &mut WorkerGroup,
    watchers: &mut Watchers<'_>,
    ranks: &mut Ranks<'_>,
    options: &Options,
    progress: &mut Progress<'_>,
    emit: Emit<'_>,
) -> bool {
    let everybody = context.seats.len() as u32;
    let slice_ns = slice_ns(options, ranks);
    let (mut nudge_at, mut wait_ns) = (clock::NEVER, 0);
    loop {
        let over = context.barrier.over();
        let now = clock::now();
        note_deaths(context, group);
        ranks.look(context, now, emit);
        watchers.meetings.look(&context.barrier);
        progress.sample(now, ranks.is_first(), emit);
        let all_over = || over >= everybody && watchers.meetings.are_over();
        let here =
            if context.phase().jobs.is_empty() { has_watched(context, progress, now) } else { all_over() };
        if here && ranks.are_in() {
            return true;
        }
        match signal::interruptions() {
            (0, _) => {}
            (1, signal) if !signal::is_hurried() || ranks.is_alone() => {
                if !context.barrier.stopped() {
                    ranks.stop(context, StopScope::Signal(signal));
                }
            }
            _ => return false,
        }
        if ranks.are_silent(now) {
            context.barrier.stop();
            return false;
        }
        if !context.barrier.stopped() && stops(context, ranks, over) {
            ranks.stop(context, StopScope::Phase);
        }
        if options.is_halted() {
            ranks.stop(context, StopScope::Run);
        }
        for whom in watchers.exits.look(context, over) {
            ranks.stop(context, whom);
        }
        watchers.look(context, over, now, progress, ranks, emit);
        // Most see the flag by themselves; those that wait in the kernel do not.
        if now >= nudge_at {
            group.nudge(|number| context.barrier.is_stopped(number));
        } else if context.barrier.stopped_any() && nudge_at == clock::NEVER {
            let hurried_ns = Some(options.halt_ns()).filter(|ns| *ns > 0);
            nudge_at = now + hurried_ns.unwrap_or(NUDGE_AFTER_NS);
        }
        context.barrier.beat();
        progress.tell(options, now, ranks, emit);
        if here {
            wait_ns = ranks::longer(wait_ns);
            clock::sleep_ns(wait_ns);
            continue;
        }
        let soon = watchers.next(context, now).map_or(slice_ns, |next| next.saturating_sub(now));
        let soon = soon.min(watchers.meetings.patience_ns()).min(progress.next_sample().saturating_sub(now));
        context.barrier.wait_for_end(over, slice_ns.min(soon.max(1)));
    }
}

/// How long the conductor sleeps at most while workers run, ns.
fn slice_ns(options: &Options, ranks: &Ranks<'_>) -> u64 {
    let wishes = [
        options.live_ns,
        options.interim_ns,
        options.keep_ns,
        ranks.look_ns(),
        options.halt_ns(),
        200_000_000,
    ];
    wishes.into_iter().filter(|ns| *ns > 0).min().unwrap_or(200_000_000)
}

/// Whether a phase that only watches has done so for long enough.
fn has_watched(context: &PhaseContext, progress: &Progress<'_>, now: clock::Tick) -> bool {
    let phase = context.phase();
    let ns = phase.watch.as_ref().and_then(Watching::whole_ns);
    let ns = ns.or((phase.watch_ns > 0).then_some(phase.watch_ns));
    let by_time = || ns.is_some_and(|ns| now >= context.barrier.started() + ns);
    progress.has_watched().unwrap_or_else(by_time) || signal::interruptions().0 > 0
}

/// Whether those that are over end the phase for the others.
fn stops(context: &PhaseContext, ranks: &Ranks<'_>, over: u32) -> bool {
    let phase = context.phase();
    let any = |of: &dyn Fn(usize) -> bool| (0..context.seats.len()).any(of);
    let failed = || any(&|number| context.counters.of(number).failed_because().is_some());
    let job_done = || (0..phase.jobs.len()).any(|job| ranks.is_over(context, job));
    match phase.stop {
        Stop::FirstJobDone => job_done() || (over > 0 && failed()),
        _ if over == 0 => false,
        Stop::Each => failed(),
        Stop::Alone => false,
        Stop::FirstDone => true,
        Stop::FirstError => failed() || any(&|number| context.counters.of(number).failures() > 0),
    }
}

/// How much of the journals may lie in memory at a time, bytes: half of what is available to this rank.
fn journal_limit(world: &World) -> u64 {
    let here = u64::from(world.facts().on_node(world.facts().node(world.rank())));
    witness::memory::read().map_or(1 << 30, |memory| memory.available / 2) / here
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
