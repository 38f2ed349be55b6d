//! What a plan asks for, as an audit of somebody else's figures wants to know it.
//!
//! Works from the plan alone: no file is looked at, since the machine that ran it is another one.

use iodyno_model::{
    Content, Direct, EngineTrait, Job, Kind, OpenSync, Pick, Place, Plan, Prepare, Refresh, Target,
    TargetKind, Verb, Workload,
};
use iodyno_truth::audit::{Data, MeasuredLoad};

use super::amount::{self, PlanFacts};

/// What is asked for by all jobs of the plan together; where they differ, the kinder case.
pub fn asked(plan: &Plan, traits: &dyn Fn(&str) -> &'static [EngineTrait]) -> MeasuredLoad {
    let scene = PlanFacts { plan, facts: &[], traits };
    let jobs: Vec<&Job> = plan.phases.iter().flat_map(|phase| &phase.jobs).collect();
    let mut asked = MeasuredLoad::default();
    let is_network =
        |job: &Job| scene.targets(job).any(|target| matches!(target.kind, TargetKind::Endpoint { .. }));
    let has = |kind: Kind| jobs.iter().any(|job| amount::share(job, |verb| verb.kind() == kind) > 0.0);
    asked.network = jobs.iter().any(|job| is_network(job));
    (asked.reads, asked.writes) = (has(Kind::Read) && !asked.network, has(Kind::Write) && !asked.network);
    asked.names = jobs.iter().any(|job| amount::share(job, is_of_names) > 0.5);
    asked.workers = jobs.iter().map(|job| job.workers).max();
    asked.depth = jobs.iter().map(|job| job.depth.most.max(1)).max();
    asked.one_at_a_time = all(&jobs, |job| scene.engine_is(job, EngineTrait::OneAtATime));
    asked.buffered_inline = all(&jobs, |job| scene.engine_is(job, EngineTrait::SubmitsBufferedInline));
    asked.seconds = jobs.iter().filter_map(|job| job.limit.time_ns).max().map(|ns| ns as f64 / 1e9);
    asked.ramp_seconds = jobs.iter().map(|job| job.limit.ramp_ns).max().map(|ns| ns as f64 / 1e9);
    asked.paced = Some(jobs.iter().any(|job| job.pace.has_rate()));
    asked.open_loop = Some(jobs.iter().all(|job| job.pace.open_loop));
    asked.repeated = Some(plan.repeat.times.max(1));
    let stored: Vec<(&Job, &Target)> = jobs
        .iter()
        .flat_map(|job| scene.targets(job).map(move |target| (*job, target)))
        .filter(|(_, target)| is_storage(target))
        .collect();
    asked.pretended = pretended(plan, &jobs);
    if !stored.is_empty() {
        of_targets(&mut asked, &stored, &scene);
        of_patterns(&mut asked, &jobs);
        asked.reads_own = Some(reads_own(&jobs));
        asked.own_names =
            asked.names.then(|| jobs.iter().all(|job| !matches!(job.place, Place::ShiftNodes(_))));
    }
    asked
}

/// Whether a verb works on names.
fn is_of_names(verb: Verb) -> bool {
    verb.kind() == Kind::Metadata
}

fn is_storage(target: &Target) -> bool {
    matches!(target.kind, TargetKind::File { .. } | TargetKind::FileSet { .. } | TargetKind::Device { .. })
}

/// Whether all say so; nothing where there are none.
fn all(jobs: &[&Job], says: impl Fn(&Job) -> bool) -> Option<bool> {
    (!jobs.is_empty()).then(|| jobs.iter().all(|job| says(job)))
}

/// A target that is memory or nothing, where no other is used.
fn pretended(plan: &Plan, jobs: &[&Job]) -> Option<String> {
    let targets = || jobs.iter().flat_map(|job| &job.targets).filter_map(|index| plan.targets.get(*index));
    let memory = |path: &&str| ["/dev/shm/", "/run/shm/"].iter().any(|start| path.starts_with(start));
    let nothing = |path: &&str| *path == "/dev/null";
    let paths: Vec<&str> = targets().filter_map(Target::path).filter(|path| *path != "/dev/zero").collect();
    let is_pretended = !paths.is_empty() && paths.iter().all(|path| memory(path) || nothing(path));
    is_pretended.then(|| paths.first().map(|path| (*path).to_string())).flatten()
}

fn of_targets(asked: &mut MeasuredLoad, stored: &[(&Job, &Target)], scene: &PlanFacts<'_>) {
    asked.direct = Some(stored.iter().all(|(_, target)| target.open.direct != Direct::No));
    asked.synced = Some(
        stored
            .iter()
            .filter(|(job, _)| amount::writes(job) > 0.0)
            .all(|(job, target)| is_synced(job, target)),
    );
    let read = || stored.iter().filter(|(job, _)| amount::reads(job) > 0.0);
    asked.invalidated = Some(read().all(|(_, target)| target.open.invalidate));
    let spans = stored.iter().map(|(job, target)| {
        let index = scene.plan.targets.iter().position(|other| std::ptr::eq(other, *target))?;
        Some(scene.span(job, target).filter(|span| *span > 0)?.saturating_mul(scene.copies(index, target)))
    });
    // Several jobs touch the same as often as not: the largest of them.
    asked.span_bytes = spans.collect::<Option<Vec<u64>>>().and_then(|spans| spans.into_iter().max());
    let holes = read().map(|(_, target)| target.prepare);
    asked.holes = holes.fold(None, |so_far, prepare| match prepare {
        Prepare::Filled => so_far.or(Some(false)),
        Prepare::AsItIs | Prepare::Absent => so_far,
        _ => Some(true),
    });
    let is_device = stored.iter().all(|(_, target)| matches!(target.kind, TargetKind::Device { .. }));
    asked.part_of_device = is_device && asked.span_bytes.is_some();
    let shared = |(job, target): &(&Job, &Target)| {
        let is_template =
            target.path().is_some_and(|path| path.contains("{worker}") || path.contains("{rank}"));
        matches!(target.kind, TargetKind::File { .. }) && !is_template && job.workers > 1
    };
    asked.shared_file = Some(stored.iter().any(shared));
}

/// Whether what is written is durable inside the measured time.
fn is_synced(job: &Job, target: &Target) -> bool {
    let every = match &job.workload {
        Workload::Pattern(pattern) => pattern.every.iter().any(|every| every.verb.kind() == Kind::Sync),
        _ => amount::share(job, |verb| verb.kind() == Kind::Sync) > 0.0,
    };
    job.finish.sync.is_some() || every || target.open.sync != OpenSync::No
}

fn of_patterns(asked: &mut MeasuredLoad, jobs: &[&Job]) {
    let patterns = || {
        jobs.iter().filter_map(|job| match &job.workload {
            Workload::Pattern(pattern) => Some((*job, pattern)),
            _ => None,
        })
    };
    let sizes = patterns().filter_map(|(job, pattern)| {
        let size = if amount::reads(job) > 0.0 { &pattern.size.read } else { &pattern.size.write };
        size.least_bytes()
    });
    asked.block_bytes = sizes.min();
    asked.random = patterns()
        .map(|(job, pattern)| {
            let pick = if amount::reads(job) > 0.0 { &pattern.pick.read } else { &pattern.pick.write };
            is_random(pick)
        })
        .reduce(|a, b| a || b);
    asked.data = jobs.iter().filter(|job| amount::writes(job) > 0.0).map(|job| data(job)).max_by_key(
        |data| match data {
            Data::Random => 0,
            Data::Repeating => 1,
            Data::Zeros => 2,
        },
    );
}

fn is_random(pick: &Pick) -> bool {
    matches!(
        pick,
        Pick::Uniform | Pick::Zipf { .. } | Pick::Pareto { .. } | Pick::Normal { .. } | Pick::Zones(_)
    )
}

fn data(job: &Job) -> Data {
    let payload = &job.payload;
    match &payload.content {
        Content::Zero => Data::Zeros,
        _ if payload.compress_percent > 0 || payload.dedupe_percent > 0 => Data::Repeating,
        Content::Pattern(_) | Content::Repeated(_) => Data::Repeating,
        _ if payload.refresh == Refresh::Once => Data::Repeating,
        _ => Data::Random,
    }
}

/// Whether a phase reads what one before it wrote, on the same host.
fn reads_own(jobs: &[&Job]) -> bool {
    let written = |until: usize, job: &Job| {
        jobs.iter().take(until).any(|earlier| {
            amount::writes(earlier) > 0.0 && earlier.targets.iter().any(|one| job.targets.contains(one))
        })
    };
    jobs.iter().enumerate().any(|(index, job)| {
        amount::reads(job) > 0.0 && !matches!(job.place, Place::ShiftNodes(_)) && written(index, job)
    })
}
