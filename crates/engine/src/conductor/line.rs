//! The start line of all ranks: everybody waits there, then all start at one agreed time.

use super::PhaseContext;
use super::agree::{Trouble, highest, patience};
use crate::clock;
use crate::facts::WorkloadClass;
use crate::placement;
use crate::signal;
use crate::world::rank_share::part;
use crate::world::worker_group::WorkerGroup;
use crate::world::{BrokenWorld, World};
use iodyno_model::{Diagnostic, Job, Phase, SharedKind, SharedObject, Stop};

/// How long the news of the start may take, ns: at least, more for each rank on the fullest node, and at most.
const NEWS_NS: (u64, u64, u64) = (5_000_000, 500_000, 500_000_000);

/// How long before the start workers are awake, ns: a scheduler lets another program finish its slice of 3 ms first.
const AWAKE_NS: u64 = 4_000_000;

/// Opens the barrier of every rank at one time; where somebody failed before it or was interrupted, nobody starts.
///
/// # Errors
/// Ranks do not come together.
pub fn start(world: &World, context: &PhaseContext, group: &WorkerGroup) -> Result<(), Trouble> {
    if world.is_alone() {
        context.barrier.open();
        return Ok(());
    }
    let failed = context.barrier.over() > 0 && context.phase().stop != Stop::Alone;
    let (interrupted, signal) = signal::interruptions();
    let signal = if interrupted > 0 { signal as u64 } else { 0 };
    let [failed, signal] = highest(world, [u64::from(failed), signal])?;
    if signal > 0 {
        signal::interrupted_elsewhere(signal as i32);
    }
    if failed > 0 || signal > 0 {
        context.barrier.stop();
        group.nudge(|_| true);
    }
    let start = world.broadcast((clock::now() + news_ns(world)).to_ne_bytes().to_vec(), &mut patience)?;
    let start: [u8; 8] = start.try_into().map_err(|_| BrokenWorld("no time to start came".into()))?;
    let start = world.mine(u64::from_ne_bytes(start));
    context.barrier.open_at(start, awake_ns(world, context.seats.len()));
    while clock::now() < start && signal::interruptions().0 == 0 {
        clock::sleep_until(start, NEWS_NS.2);
    }
    Ok(())
}

/// How long workers wait for the start awake: where each has a processor, longer than the system takes to wake one up
/// beside other programs; where not, they would only keep each other from it.
fn awake_ns(world: &World, workers: usize) -> u64 {
    if workers.saturating_mul(fullest(world) as usize) <= placement::processors() {
        AWAKE_NS
    } else {
        clock::SPIN_NS
    }
}

/// Ranks on the node that has most of them.
fn fullest(world: &World) -> u32 {
    let facts = world.facts();
    (0..facts.machines()).map(|node| facts.on_node(node)).max().unwrap_or(1)
}

fn news_ns(world: &World) -> u64 {
    let news_ns = NEWS_NS.0 + NEWS_NS.1 * u64::from(fullest(world)) + 2 * world.facts().clock_error_ns;
    news_ns.min(NEWS_NS.2)
}

/// The first job of a phase that works on another rank than the one before it, or on several.
fn spread<'a>(world: &World, phase: &'a Phase) -> Option<&'a Job> {
    let here = |job: &Job, rank: u32| part(job.ranks, job.workers, rank, world.size()).here > 0;
    let mut only = None;
    phase.jobs.iter().find(|job| {
        let mut ranks = (0..world.size()).filter(|rank| here(job, *rank));
        ranks.any(|rank| *only.get_or_insert(rank) != rank)
    })
}

/// What a plan asks of all workers together that this program keeps within one rank.
pub fn check(world: &World, plan: &iodyno_model::Plan) -> Vec<Diagnostic> {
    let mut wrong = Vec::new();
    if world.size() < 2 {
        return wrong;
    }
    let mut refuse = |origin: &iodyno_model::Origin, what: String, hint: &str| {
        wrong.push(Diagnostic::error(origin, format!("{what} in a world of several ranks")).hint(hint));
    };
    for aging in &plan.aging {
        refuse(
            &aging.origin,
            format!("{}: it cannot be aged", aging.directory),
            "age it before, on one rank",
        );
    }
    if let Some(device) = &plan.device {
        refuse(
            &device.origin,
            format!("device {}: its one clock cannot be kept", device.name),
            &format!(
                "leave the launcher out and give the jobs {} times the workers: as many on one clock",
                world.size()
            ),
        );
    }
    for phase in &plan.phases {
        let own = |shared: &&SharedObject| !shared.each_rank && shared.kind != SharedKind::Barrier;
        let shared = phase.shared.iter().find(own);
        if let (Some(shared), Some(job)) = (shared, spread(world, phase)) {
            let what = format!("phase {}: `{}` cannot be shared", phase.name, shared.name);
            refuse(&job.origin, what, "give each worker its own rate, or run it on one rank");
        }
        let common =
            phase.shared.iter().find(|shared| !shared.each_rank && shared.kind == SharedKind::Barrier);
        let at_end = phase.jobs.iter().find(|job| job.limit.wear_out || job.finish.barrier);
        if let (Some(shared), Some(job)) = (common, at_end) {
            let what = format!(
                "phase {}: `{}` and a barrier at the end cannot both be kept",
                phase.name, shared.name
            );
            refuse(&job.origin, what, "leave out one of them");
        }
        for job in &phase.jobs {
            if job.limit.steady.is_some() {
                let what = format!("job {}: its steadiness cannot be judged", job.name);
                refuse(&job.origin, what, "give it a time limit");
            }
            if WorkloadClass::of(&job.workload) != WorkloadClass::Stream {
                let what = format!("job {}: the engine {} has no part", job.name, job.engine);
                refuse(&job.origin, what, "start it by itself, as one program on one machine");
            }
            if job.placement.identity.is_some() {
                let what = format!(
                    "job {}: its workers, which are threads, have no identity of their own",
                    job.name
                );
                refuse(&job.origin, what, "start the ranks as that user");
            }
        }
    }
    wrong
}
