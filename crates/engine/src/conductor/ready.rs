//! Prepares a phase on every rank: lays out files, makes control groups, drops caches, runs commands.
//!
//! Shared targets are laid out by one rank after the other, a worker's own by all ranks at once.

use iodyno_model::{Diagnostic, Errand, Event, Origin, Phase, Sighting, Stop, When};

use super::agree::{Trouble, agree, agreed, highest, patience};
use super::phase_context::PhaseLayout;
use super::rank_mail::{pack, unpack};
use super::{Emit, Options, pause, remount};
use crate::check::CheckedPlan;
use crate::placement::Surroundings;
use crate::prepare::{self, MadeFiles, Unready, Whose};
use crate::world::{BrokenWorld, World};
use crate::{clock, hooks, signal, witness};

/// Makes ready what the phase needs. What could not be is handed on where each worker stands alone.
///
/// # Errors
/// What keeps everybody from starting.
pub fn make_ready(
    world: &World,
    checked: &CheckedPlan,
    phase: &Phase,
    options: &Options,
    made: &mut MadeFiles,
    emit: Emit<'_>,
) -> Result<Ready, Trouble> {
    let (plan, is_alone) = (&checked.plan, world.is_alone());
    errands(world, phase, When::BeforeLayout, emit)?;
    for (job, files, total_bytes) in prepare::outstanding(world, checked, phase) {
        emit(&Event::LayingOut { job: phase.jobs[job].name.clone(), files, total_bytes });
    }
    let mut told_at = 0;
    if !is_alone && prepare::expect(world, plan, phase, made) {
        highest(world, [0])?;
    }
    let mut lay_out = |whose: Whose| {
        prepare::prepare(world, checked, phase, whose, made, &mut |target, done_bytes, total_bytes| {
            let now = clock::monotonic();
            if options.live_ns > 0 && (now > told_at + options.live_ns || done_bytes == total_bytes) {
                told_at = now;
                emit(&Event::Preparing { target: target.into(), done_bytes, total_bytes });
            }
            signal::interruptions().0 == 0
        })
    };
    let mut unready = Vec::new();
    if is_alone {
        unready = lay_out(Whose::All);
    } else {
        for leader in prepare::leaders(world, plan, phase) {
            if leader == world.rank() {
                unready.extend(lay_out(Whose::Everybodys));
            }
            let ended = ends(phase, &unready);
            if highest(world, [u64::from(ended)])? != [0] {
                break;
            }
        }
        if !ends(phase, &unready) {
            unready.extend(lay_out(Whose::Own));
        }
    }
    let wrong = || unready.iter().map(|unready| unready.diagnostic(plan)).collect::<Vec<Diagnostic>>();
    agree(world, &if ends(phase, &unready) { Err(wrong()) } else { Ok(()) })?;
    let surroundings = agreed(world, Surroundings::new(plan, phase))?;
    pause(checked, phase);
    let remounted = match &phase.remount {
        Some(mount) if world.place_on_node() == 0 => remount::remount(mount),
        _ => Ok(()),
    };
    let remounted = remounted.map_err(|failure| vec![failure.diagnostic(&Origin::Default, "")]);
    agree(world, &remounted)?;
    errands(world, phase, When::BeforeStart, emit)?;
    let refused = phase.drop_caches && world.place_on_node() == 0;
    let refused = refused.then(witness::drop_caches).and_then(Result::err);
    if let Some(reason) = &refused {
        let told = format!("the caches of {} were not dropped: {reason}", witness::machine().host);
        let hint = "run as root, or leave drop_caches out";
        emit(&Event::Message(Diagnostic::warning(&Default::default(), told).hint(hint)));
    }
    let beside = companions(world, phase, emit);
    let undropped = refused.map(|reason| Sighting::Undropped { of: String::new(), left_bytes: 0, reason });
    let trees = std::mem::take(&mut made.recorded).into_iter().map(Sighting::Tree);
    let sightings = undropped.into_iter().chain(trees).collect();
    let laid = PhaseLayout { unready, fresh: std::mem::take(&mut made.fresh) };
    Ok(Ready { laid, _surroundings: surroundings, _beside: beside, sightings })
}

/// What was made ready.
pub struct Ready {
    pub laid: PhaseLayout,
    /// What lasts as long as the phase.
    pub _surroundings: Surroundings,
    /// Commands that run as long.
    pub _beside: Vec<hooks::Companion>,
    /// The trees of traces, and the machine's caches where they were to be dropped and could not be.
    pub sightings: Vec<Sighting>,
}

/// Runs a phase's commands of that time, on the rank that each names or on the first of each machine; one that fails is
/// told. Afterwards all have been run everywhere.
///
/// # Errors
/// Ranks do not come together.
pub fn errands(world: &World, phase: &Phase, when: When, emit: Emit<'_>) -> Result<(), BrokenWorld> {
    let mut any = false;
    for errand in phase.errands.iter().filter(|errand| errand.when == when) {
        if errand.meets && any {
            highest(world, [0])?;
        }
        any = true;
        emit_all(run_here(world, errand), emit);
    }
    if any {
        highest(world, [0])?;
    }
    Ok(())
}

/// Runs a phase's last commands, whatever became of it; where the run goes on or ends as it should, ranks wait for each
/// other as before it. What is told comes to the first rank.
///
/// # Errors
/// Ranks do not come together.
pub fn last_errands(world: &World, phase: &Phase, ends: bool, emit: Emit<'_>) -> Result<(), BrokenWorld> {
    let due: Vec<&Errand> = phase.errands.iter().filter(|errand| errand.when == When::AfterEnd).collect();
    let mut told = Vec::new();
    for (place, errand) in due.iter().enumerate() {
        if errand.meets && place > 0 && !ends {
            highest(world, [0])?;
        }
        told.extend(run_here(world, errand));
    }
    if !ends && !due.is_empty() && !world.is_alone() {
        let all = world.gather(pack(&told), &mut patience)?;
        told = all.iter().filter_map(|bytes| unpack::<Vec<Diagnostic>>(bytes)).flatten().collect();
    }
    emit_all(told, emit);
    Ok(())
}

/// Runs a command where it is to be run: what is told of it.
fn run_here(world: &World, errand: &Errand) -> Option<Diagnostic> {
    let mine = errand.rank.map_or(world.place_on_node() == 0, |rank| rank == world.rank());
    let failure = mine.then(|| hooks::errand(&errand.command)).and_then(Result::err)?;
    Some(Diagnostic::warning(&errand.origin, failure.message).hint("the run goes on"))
}

fn emit_all(told: impl IntoIterator<Item = Diagnostic>, emit: Emit<'_>) {
    told.into_iter().for_each(|told| emit(&Event::Message(told)));
}

/// Begins the commands that run beside a phase, on the first rank of each machine; one that cannot be is reported.
fn companions(world: &World, phase: &Phase, emit: Emit<'_>) -> Vec<hooks::Companion> {
    let due = |errand: &&Errand| errand.when == When::Beside && world.place_on_node() == 0;
    let begin = |errand: &Errand| match hooks::Companion::begin(&errand.command) {
        Ok(companion) => Some(companion),
        Err(failure) => {
            emit(&Event::Message(Diagnostic::warning(&errand.origin, failure.message)));
            None
        }
    };
    phase.errands.iter().filter(due).filter_map(begin).collect()
}

/// Whether what is not ready keeps everybody from starting.
fn ends(phase: &Phase, unready: &[Unready]) -> bool {
    !unready.is_empty() && (phase.stop != Stop::Alone || signal::interruptions().0 > 0)
}
