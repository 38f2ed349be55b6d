//! The known lies that a plan walks into, before it runs: one sentence each, and the key that would change it.
//!
//! The numbers are those of the list of known lies, as in findings. Says nothing that the plan or the facts do not
//! prove: a plan without traps gets no line.

use iodyno_model::{
    Content, Direct, EngineTrait, Finding, Finish, Intent, Job, Kind, Machine, OpenMode, OpenSync, Payload,
    Phase, Prepare, Refresh, Remedy, Severity, Target, TargetKind, Workload,
};

use super::amount::{self, PlanFacts};
use super::exact::{bytes, many, time};
use super::explain::{Explainer, cached, name, where_};
use iodyno_model::units;

/// A trap of one job.
type JobCheck = fn(&PlanFacts<'_>, &Machine, &Phase, &Job) -> Option<Trap>;

/// A trap of one target of a job.
type TargetCheck = fn(&PlanFacts<'_>, &Machine, &Job, &Target) -> Option<Trap>;

const OF_TARGETS: &[TargetCheck] = &[missing, cached_reads, cached_writes, holes, misaligned, not_a_device];
const OF_JOBS: &[JobCheck] = &[easy_data, depth_ignored, few_operations, too_short, endless];

/// Every trap once, in the order of the plan: of a sweep's points the last, which is mostly the worst.
pub(crate) fn all(scene: &PlanFacts<'_>, explainer: &Explainer<'_>) -> Vec<String> {
    let machine = explainer.machine;
    let mut traps = Traps::default();
    for phase in &scene.plan.phases {
        for job in &phase.jobs {
            let place = where_(phase, job);
            for target in scene.targets(job) {
                for (number, check) in OF_TARGETS.iter().enumerate() {
                    traps.add(
                        format!("target {number} {}", section(target)),
                        check(scene, machine, job, target),
                    );
                }
            }
            for (number, check) in OF_JOBS.iter().enumerate() {
                traps.add(format!("job {number} {place}"), check(scene, machine, phase, job));
            }
        }
        traps.add(format!("crowded {}", phase.name), crowded(machine, phase));
        traps.add(format!("watches {}", phase.name), watches_for_ever(phase));
    }
    for (target, text) in no_room(scene) {
        traps.add(format!("room {target}"), Some(text));
    }
    traps.0.into_iter().filter_map(|(_, trap)| trap.worded(explainer.worded)).collect()
}

/// Traps by what they are and where: a later one of the same kind takes the place of the earlier.
#[derive(Default)]
struct Traps(Vec<(String, Trap)>);

impl Traps {
    fn add(&mut self, key: String, trap: Option<Trap>) {
        let Some(trap) = trap else { return };
        match self.0.iter_mut().find(|(known, _)| *known == key) {
            Some((_, known)) => *known = trap,
            None => self.0.push((key, trap)),
        }
    }
}

/// What a plan walks into.
struct Trap {
    sentence: String,
    /// What to do, where a finding of the run would say so.
    remedy: Option<Remedy>,
    /// What to do, in the plan's keys.
    key: String,
}

impl Trap {
    /// As a line: with the plan's key, or in a tool's words. Nothing where the tool prints nothing that it concerns.
    fn worded(self, worded: Option<fn(Finding) -> Option<Finding>>) -> Option<String> {
        let lie = self.remedy.map_or(String::new(), |remedy| format!(" (lie {})", remedy.kind().number()));
        let sentence = format!("{}{lie}", self.sentence);
        let Some(worded) = worded else { return Some(format!("{sentence} → {}", self.key)) };
        let Some(remedy) = self.remedy else { return Some(sentence) };
        let found = Finding::new(remedy.kind(), Severity::Note, String::new(), String::new(), Vec::new());
        let advice = remedy.words().into();
        let found = worded(Finding { remedy: Some(remedy), advice, ..found })?;
        Some(format!("{sentence} → {}", found.advice))
    }
}

fn trap(remedy: Option<Remedy>, sentence: impl Into<String>, key: &str) -> Option<Trap> {
    Some(Trap { sentence: sentence.into(), remedy, key: key.into() })
}

/// Whether numbers of the page cache would be lies.
fn storage(scene: &PlanFacts<'_>) -> bool {
    matches!(scene.plan.intent, Intent::Device | Intent::WholeDevice)
}

/// The name under which the plan file knows a target.
fn section(target: &Target) -> String {
    let name = target.name.split(" (").next().unwrap_or(&target.name);
    format!("[target.{name}]")
}

fn memory(scene: &PlanFacts<'_>, machine: &Machine, target: &Target) -> Option<u64> {
    let told = scene.facts(target).and_then(|facts| facts.memory_bytes);
    told.or(Some(machine.memory_bytes)).filter(|bytes| *bytes > 0)
}

fn missing(scene: &PlanFacts<'_>, _: &Machine, job: &Job, target: &Target) -> Option<Trap> {
    let is_made = |target: &Target| target.open.create || target.prepare != Prepare::AsItIs;
    // An original that writes and reads a file opens it in two ways.
    let mut same = scene.plan.targets.iter().filter(|other| name(other) == name(target));
    let made = same.any(is_made) || scene.pretends(job);
    let gone = scene.facts(target).is_some_and(|facts| facts.missing);
    let file = matches!(target.kind, TargetKind::File { .. });
    if made || !gone || !file {
        return None;
    }
    let what = format!("{} is not there, and nothing makes it", name(target));
    let key = match amount::reads(job) > 0.0 {
        true => format!("prepare = \"filled\" with a size in {}", section(target)),
        false => format!("create = true in {}", section(target)),
    };
    trap((amount::reads(job) > 0.0).then_some(Remedy::FillBeforeReading), what, &key)
}

fn cached_reads(scene: &PlanFacts<'_>, machine: &Machine, job: &Job, target: &Target) -> Option<Trap> {
    if !storage(scene) || scene.pretends(job) || !cached(target) || amount::reads(job) == 0.0 {
        return None;
    }
    let (span, memory) = (scene.span(job, target)?, memory(scene, machine, target)?);
    if span >= memory || (target.open.invalidate && is_read_once(scene, job, target, span)) {
        return None;
    }
    let what = format!(
        "reads of {} ({}) will come from the page cache, as it fits into the {} of memory",
        name(target),
        bytes(span),
        units::binary(memory)
    );
    trap(
        Some(Remedy::BypassPageCache),
        what,
        &format!("direct = true in {}, or intent = \"cache\" if that is meant", section(target)),
    )
}

/// Whether nothing of a target is read again: then an emptied cache answers nothing.
fn is_read_once(scene: &PlanFacts<'_>, job: &Job, target: &Target, span: u64) -> bool {
    let index = scene.plan.targets.iter().position(|other| std::ptr::eq(other, target));
    let copies = index.map_or(1, |index| scene.copies(index, target));
    scene.moved(job).is_some_and(|moved| moved <= span.saturating_mul(copies))
}

fn cached_writes(scene: &PlanFacts<'_>, _: &Machine, job: &Job, target: &Target) -> Option<Trap> {
    let synced = job.finish != Finish::default() && job.finish.sync.is_some();
    let every = match &job.workload {
        Workload::Pattern(pattern) => pattern.every.iter().any(|every| every.verb.kind() == Kind::Sync),
        _ => amount::share(job, |verb| verb.kind() == Kind::Sync) > 0.0,
    };
    let safe = synced || every || target.open.sync != OpenSync::No;
    let is_read = target.open.mode == OpenMode::Read;
    if !storage(scene)
        || scene.pretends(job)
        || !cached(target)
        || safe
        || is_read
        || amount::writes(job) == 0.0
    {
        return None;
    }
    let what =
        format!("writes to {} stay in memory, as nothing syncs them inside the measured time", name(target));
    trap(
        Some(Remedy::IncludeFlush),
        what,
        &format!("finish = \"fsync\" in the job, or direct = true in {}", section(target)),
    )
}

fn holes(scene: &PlanFacts<'_>, _: &Machine, job: &Job, target: &Target) -> Option<Trap> {
    let empty = matches!(
        target.prepare,
        Prepare::Sparse | Prepare::Reserved | Prepare::ReservedBeyondEnd | Prepare::Empty | Prepare::Absent
    );
    if !storage(scene) || scene.pretends(job) || !empty || amount::reads(job) == 0.0 {
        return None;
    }
    let what = format!("reads of {} find holes that no device has to read", name(target));
    trap(Some(Remedy::FillBeforeReading), what, &format!("prepare = \"filled\" in {}", section(target)))
}

fn misaligned(scene: &PlanFacts<'_>, _: &Machine, job: &Job, target: &Target) -> Option<Trap> {
    let Workload::Pattern(pattern) = &job.workload else { return None };
    if target.open.direct != Direct::Yes || scene.pretends(job) {
        return None;
    }
    let facts = scene.facts(target)?;
    let unit = facts.direct_align_bytes.or(facts.logical_block_bytes).filter(|unit| *unit > 0)?;
    let size = if amount::reads(job) > 0.0 { &pattern.size.read } else { &pattern.size.write };
    let block = size.least_bytes().filter(|block| !block.is_multiple_of(unit))?;
    let what = format!(
        "blocks of {} cannot be moved past the page cache of {}, which wants multiples of {}",
        bytes(block),
        name(target),
        bytes(unit)
    );
    trap(None, what, &format!("block = \"{}\" in the job", units::binary(unit).replace(' ', "")))
}

fn not_a_device(scene: &PlanFacts<'_>, _: &Machine, job: &Job, target: &Target) -> Option<Trap> {
    if !storage(scene) || scene.pretends(job) {
        return None;
    }
    let facts = scene.facts(target)?;
    let system = facts.file_system.as_deref().unwrap_or("");
    let looped = facts.disk.iter().chain(&facts.device).any(|name| name.starts_with("loop"));
    let is = match system {
        "tmpfs" | "ramfs" => "is memory, not a device".to_string(),
        "overlay" => "lies on an overlay, and the figures are those of the layer beneath".into(),
        system if system.starts_with("fuse") => format!("is served by a program ({system}), not by a device"),
        _ if looped => "lies on a loop device, which is a file on another file system".into(),
        _ => return None,
    };
    let key = match target.kind {
        TargetKind::Device { .. } => "device",
        TargetKind::FileSet { .. } => "files",
        _ => "file",
    };
    trap(
        Some(Remedy::ChooseStorage),
        format!("{} {is}", name(target)),
        &format!("{key} = \"…\" on another mount in {}", section(target)),
    )
}

fn easy_data(scene: &PlanFacts<'_>, _: &Machine, phase: &Phase, job: &Job) -> Option<Trap> {
    if !storage(scene) || scene.pretends(job) || amount::writes(job) == 0.0 {
        return None;
    }
    let Payload { content, refresh, .. } = &job.payload;
    let what = match (content, refresh) {
        (Content::Zero, _) => "writes zeros",
        (Content::Pattern(_), _) => "writes one pattern over and over",
        (Content::Scrambled, _) => "writes nearly constant data",
        (_, Refresh::Once) => "writes the same bytes every time",
        _ => return None,
    };
    let what = format!("{} {what}, which some storage compresses or deduplicates away", where_(phase, job));
    trap(Some(Remedy::WriteRandomData), what, "payload = \"random\" in the job")
}

fn depth_ignored(scene: &PlanFacts<'_>, _: &Machine, phase: &Phase, job: &Job) -> Option<Trap> {
    if !scene.engine_is(job, EngineTrait::OneAtATime) || job.depth.most <= 1 {
        return None;
    }
    let what = format!(
        "{} asks for depth {}, but {} does one operation at a time",
        where_(phase, job),
        job.depth.most,
        job.engine
    );
    trap(
        Some(Remedy::UseAsynchronousEngine),
        what,
        &format!("engine = \"io_uring\", or workers = {} with depth = 1", job.depth.most),
    )
}

/// Fewer and the 99th percentile rests on less than ten operations.
const OPERATIONS_FOR_P99: u64 = 1000;

fn few_operations(scene: &PlanFacts<'_>, _: &Machine, phase: &Phase, job: &Job) -> Option<Trap> {
    let correct = scene.plan.intent == Intent::Correctness;
    let count = scene.operations(job).filter(|count| *count < OPERATIONS_FOR_P99 && !correct)?;
    let what = format!(
        "{} does {} at most, too few for a 99th percentile",
        where_(phase, job),
        many(count, "operation")
    );
    trap(Some(Remedy::ReadLowerPercentile), what, "until = { operations = 20000 } in the job, or more")
}

const SHORTEST_NS: u64 = 1_000_000_000;

fn too_short(scene: &PlanFacts<'_>, _: &Machine, phase: &Phase, job: &Job) -> Option<Trap> {
    let short = job.limit.time_ns.filter(|ns| *ns < SHORTEST_NS && !scene.pretends(job))?;
    if scene.plan.intent == Intent::Correctness {
        return None;
    }
    let what =
        format!("{} runs for {}, too short for start and stop to vanish", where_(phase, job), time(short));
    trap(Some(Remedy::RunLonger), what, "until = { time = \"10s\" } in the job")
}

fn endless(_: &PlanFacts<'_>, _: &Machine, phase: &Phase, job: &Job) -> Option<Trap> {
    let limit = &job.limit;
    let ends = limit.time_ns.is_some()
        || limit.bytes.is_some()
        || limit.operations.is_some()
        || limit.as_phase.is_some();
    if ends || !amount::endless(job) {
        return None;
    }
    trap(
        None,
        format!("{} runs until it is stopped", where_(phase, job)),
        "until = { time = \"10s\" } in the job",
    )
}

fn crowded(machine: &Machine, phase: &Phase) -> Option<Trap> {
    let workers: u64 = phase.jobs.iter().map(|job| u64::from(job.workers)).sum();
    if machine.cpus == 0 || workers <= machine.cpus.into() {
        return None;
    }
    let what = format!(
        "{} has {} for {}, so latency may hold waiting for a CPU",
        phase.name,
        many(workers, "worker"),
        many(machine.cpus.into(), "CPU")
    );
    trap(None, what, "fewer workers, and depth with engine = \"io_uring\"")
}

fn watches_for_ever(phase: &Phase) -> Option<Trap> {
    let ends = phase.watch.as_ref().is_some_and(|watching| watching.count > 0);
    if !phase.jobs.is_empty() || phase.watch_ns > 0 || ends {
        return None;
    }
    trap(None, format!("{} watches until it is stopped", phase.name), "watch = \"10s\" in the phase")
}

fn no_room(scene: &PlanFacts<'_>) -> Vec<(String, Trap)> {
    let targets = scene.plan.targets.iter().enumerate();
    let check = |(index, target): (usize, &Target)| {
        let used = scene
            .plan
            .phases
            .iter()
            .flat_map(|phase| &phase.jobs)
            .any(|job| job.targets.contains(&index) && !scene.pretends(job));
        let facts = scene.facts(target)?;
        let there = facts.file_bytes.unwrap_or(0);
        let needed = scene.length(target)?.saturating_mul(scene.copies(index, target)).saturating_sub(there);
        let stored = matches!(target.kind, TargetKind::File { .. } | TargetKind::FileSet { .. });
        let free = facts.free_bytes.filter(|free| used && stored && needed > *free)?;
        let what = format!(
            "{} needs {} more, but only {} are free",
            name(target),
            bytes(needed),
            units::binary(free)
        );
        Some((section(target), trap(None, what, &format!("a smaller size in {}", section(target)))?))
    };
    targets.filter_map(check).collect()
}
