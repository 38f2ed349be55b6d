//! Merges the records of all ranks into one, on the first rank.
//!
//! The cost depends on the number of workers and on filled histogram buckets, not on the number of operations.

use iodyno_model::merge::{Seen, combine};
use iodyno_model::{Diagnostic, Kind, Phase, PhaseRecord, Plan, Verb, Watching};

use super::agree::Trouble;
use super::rank_mail::{FinalReport, PhaseOutcome};
use super::ranks::Ranks;
use crate::names::templates::{Asker, resolve, tells_apart};
use crate::open;
use crate::placement::group_directory;
use crate::source;
use crate::witness::{self, Scene, WatchedTarget};
use crate::world::World;
use crate::world::rank_share::part;

/// What a phase came to.
#[derive(Default)]
pub struct PhaseEnd {
    /// On the first rank: of all ranks. Elsewhere what later phases refer to.
    pub record: PhaseRecord,
    /// What went wrong besides.
    pub errors: Vec<Diagnostic>,
    /// Whether no further phase is wanted.
    pub ends_run: bool,
    /// Ranks that had no last word.
    pub lost: Vec<u32>,
}

/// Makes one of what all ranks have to say.
///
/// # Errors
/// On another rank than the first: that one did not answer.
pub fn gather(ranks: &mut Ranks<'_>, mine: FinalReport) -> PhaseEnd {
    let (others, lost) = ranks.collect();
    let FinalReport { mut record, seen, mut errors, .. } = mine;
    let mut nodes: Vec<Seen> = seen.into_iter().collect();
    for (_, last) in others {
        record.merge(last.record);
        nodes.extend(last.seen);
        errors.extend(last.errors);
    }
    (record.sightings, record.samples) = combine(nodes);
    PhaseEnd { record, errors, ends_run: ranks.ends_run, lost }
}

/// On another rank than the first: hands in what this one has to say, and hears what is to be known of the whole.
///
/// # Errors
/// The first rank did not answer.
pub fn hand_in(ranks: Ranks<'_>, mine: FinalReport) -> Result<PhaseEnd, Trouble> {
    let PhaseOutcome { ends, record } = ranks.part(mine)?;
    Ok(PhaseEnd { record, ends_run: ends, ..PhaseEnd::default() })
}

/// Files of one target that are watched on a node.
const WATCHED_MOST: u32 = 128;

/// Whether this rank watches for its node.
pub fn watches(world: &World) -> bool {
    world.place_on_node() == 0
}

/// What tells this machine's kernel from others, however many nodes it pretends to be.
pub fn kernel() -> String {
    let told = std::fs::read_to_string("/proc/sys/kernel/random/boot_id");
    told.map_or_else(|_| witness::machine().host, |id| id.trim().to_string())
}

/// Verbs that make objects with names.
const MAKERS: [Verb; 7] =
    [Verb::Create, Verb::Mkdir, Verb::Link, Verb::Symlink, Verb::Mknod, Verb::Mkfifo, Verb::Rename];

/// What witnesses are to look at. Without jobs, where nothing else is said, at every device.
pub fn scene(world: &World, plan: &Plan, phase: &Phase) -> Scene {
    let groups = phase.jobs.iter().filter_map(|job| job.placement.cgroup.as_ref());
    let does = |is: &dyn Fn(Verb) -> bool| {
        phase.jobs.iter().any(|job| source::labels(job).iter().any(|(_, verb)| is(*verb)))
    };
    let watches_only = phase.jobs.is_empty().then(Watching::default);
    Scene {
        watched: watched(world, plan, phase),
        groups: groups.filter_map(|group| group_directory(group).ok()).collect(),
        watching: phase.watch.clone().or(watches_only),
        reads: does(&|verb| verb.kind() == Kind::Read),
        makes: does(&|verb| MAKERS.contains(&verb)),
        health: phase.jobs.iter().any(|job| job.measure.health),
    }
}

/// The files, directories and devices that a phase works on, by the names that they have for the first worker on this
/// node.
fn watched(world: &World, plan: &Plan, phase: &Phase) -> Vec<WatchedTarget> {
    let facts = world.facts();
    let node = facts.node(world.rank());
    let here: Vec<u32> = (0..world.size()).filter(|rank| facts.node(*rank) == node).collect();
    let mut all: Vec<WatchedTarget> = Vec::new();
    for job in &phase.jobs {
        let mut parts = here.iter().map(|rank| part(job.ranks, job.workers, *rank, world.size()));
        let Some(part) = parts.find(|part| part.here > 0) else { continue };
        let owners = world.owners(plan, phase, job);
        for target in job.targets.iter().map(|index| &plan.targets[*index]) {
            let Some(template) = target.path() else { continue };
            // Of a thousand files some hundred say as much about the cache as all of them.
            for worker in part.first..part.first + part.here.min(WATCHED_MOST) {
                let (all_workers, repetition) = (part.all, phase.repetition);
                let owner = owners.of(worker);
                let asker = Asker { job: &job.name, owner, all: all_workers, repetition };
                let path = resolve(template, asker);
                // Where not all workers are looked at, what the others touch is not known.
                let is_seen = tells_apart(template) || part.all <= WATCHED_MOST;
                let span = open::reach(job, target, asker, &path).filter(|_| is_seen);
                let known = all.iter_mut().find(|known| known.target == target.name && known.path == path);
                match known {
                    Some(known) => known.touch(span),
                    None if witness::is_storage(&path) => {
                        all.push(WatchedTarget { target: target.name.clone(), path, span });
                    }
                    None => {}
                }
            }
        }
    }
    all
}
