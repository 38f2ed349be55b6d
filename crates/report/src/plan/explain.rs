//! A plan explained before it runs: who does what, how much, how long, what it costs, where the traps are.
//!
//! Works from the plan and from facts it is handed; opens nothing and promises nothing about speed.

use iodyno_model::{
    Direct, EngineTrait, Finding, Job, Machine, OpenMode, Phase, Plan, Prepare, Target, TargetFacts,
    TargetKind, WorkerKind, Workload, sweep,
};

use super::amount::{self, PlanFacts};
use super::exact::{bytes, many, number, time};
use super::{layout, line, pitfall};
use crate::table::wrapped;
use iodyno_model::units;

/// What an explanation needs besides the plan.
pub struct Explainer<'a> {
    /// What is known of its targets.
    pub facts: &'a [TargetFacts],
    pub machine: &'a Machine,
    /// What is known of an engine, by name.
    pub traits: &'a dyn Fn(&str) -> &'static [EngineTrait],
    /// Whose data each worker of a job works on.
    pub owners: &'a dyn Fn(&Plan, &Phase, &Job) -> Vec<u32>,
    /// How a tool words what to do about a pitfall; none: in the plan's own keys.
    pub worded: Option<fn(Finding) -> Option<Finding>>,
    /// Columns that a line may take.
    pub columns: usize,
}

/// The plan in plain words.
pub fn explain(plan: &Plan, explainer: &Explainer<'_>) -> String {
    let expanded = sweep::expand(plan).unwrap_or_else(|_| plan.clone());
    let scene = PlanFacts { plan: &expanded, facts: explainer.facts, traits: explainer.traits };
    let sections = [
        ("What it does", deeds(plan, &expanded)),
        ("How much", amounts(&scene)),
        ("How long", vec![duration(&expanded)]),
        ("What it changes", changes(&scene)),
        ("Where the data lies", layout::lines(&scene, explainer)),
        ("Watch out", pitfall::all(&scene, explainer)),
    ];
    let mut out = String::new();
    for (title, lines) in sections.iter().filter(|(_, lines)| !lines.is_empty()) {
        line(&mut out, 0, title);
        for text in lines {
            // A drawing is as wide as it is.
            match text.starts_with(' ') {
                true => line(&mut out, 1, text),
                false => line(&mut out, 1, &wrapped(text, explainer.columns - 4, 4)),
            }
        }
    }
    out
}

/// The phases as written, and how a sweep or repetition multiplies them.
fn deeds(plan: &Plan, expanded: &Plan) -> Vec<String> {
    let mut lines = vec![format!("It means to measure {}.", super::phrase::word(&plan.intent))];
    for phase in &plan.phases {
        if phase.jobs.is_empty() {
            lines.push(format!("{}: only watches.", phase.name));
        }
        lines.extend(phase.jobs.iter().map(|job| format!("{}: {}.", phase.name, deed(plan, job))));
    }
    if expanded.phases.len() != plan.phases.len() {
        lines.push(format!("In all {} phases, one for each point and repetition.", expanded.phases.len()));
    }
    lines
}

fn deed(plan: &Plan, job: &Job) -> String {
    let worker = if job.kind == WorkerKind::Processes { "processe" } else { "thread" };
    let who = match (job.workers, job.kind) {
        (1, WorkerKind::Processes) => "1 process".into(),
        (count, _) => many(count.into(), worker),
    };
    let names: Vec<_> = job.targets.iter().filter_map(|index| plan.targets.get(*index)).map(name).collect();
    let what = match &job.workload {
        Workload::Pattern(pattern) => {
            super::pattern::lines(pattern, None).swap_remove(0).replace(" · ", ", ")
        }
        Workload::Script(script) => format!("a script of {}", many(script.steps.len() as u64, "step")),
        Workload::Trace(_) => "a recorded trace".into(),
        Workload::Cases(cases) => many(cases.cases.len() as u64, "case"),
        Workload::Exercise(_) => "a random exercise held against a model".into(),
    };
    format!(
        "{who} on {} through {}, {} in flight each: {what}",
        names.join(" and "),
        job.engine,
        job.depth.most
    )
}

/// What a user calls a target: its path.
pub(crate) fn name(target: &Target) -> String {
    match &target.kind {
        TargetKind::File { path, .. } | TargetKind::Device { path } => path.clone(),
        TargetKind::FileSet { root, .. } => root.clone(),
        TargetKind::Bucket { url, .. } => url.clone(),
        TargetKind::Endpoint { address, .. } => address.clone(),
        TargetKind::Descriptor { number } => format!("descriptor {number}"),
        TargetKind::Nothing { .. } => "nothing".into(),
    }
}

fn amounts(scene: &PlanFacts<'_>) -> Vec<String> {
    let mut lines = Vec::new();
    lines.push(format!("It reads {}.", total(scene, amount::reads)));
    lines.push(format!("It writes {}.", total(scene, amount::writes)));
    let prepared = distinct(scene).map(|(index, target)| Some(scene.prepared(index, target)));
    let prepared = amount::sum(prepared).unwrap_or(0);
    if prepared > 0 {
        lines.push(format!("Before that it lays out {}.", rough(prepared)));
    }
    lines.extend(drive_writes(scene));
    lines
}

/// Targets that are the same file count once, however often a sweep copied them: the longest.
fn distinct<'a>(scene: &'a PlanFacts<'_>) -> impl Iterator<Item = (usize, &'a Target)> {
    let all = || scene.plan.targets.iter().enumerate();
    let real = |index: usize| {
        scene.plan.phases.iter().flat_map(|phase| &phase.jobs).any(|job| job.targets.contains(&index))
    };
    all().filter(move |(index, target)| {
        let longer = |(other, rival): (usize, &Target)| {
            other != *index
                && real(other)
                && name(rival) == name(target)
                && (scene.length(rival), index) > (scene.length(target), &other)
        };
        real(*index) && !all().any(longer)
    })
}

fn total(scene: &PlanFacts<'_>, share: fn(&Job) -> f64) -> String {
    let (mut known, mut ns, mut open) = (0u64, 0u64, false);
    for phase in &scene.plan.phases {
        let mut longest = 0;
        for job in phase.jobs.iter().filter(|job| share(job) > 0.0) {
            match (scene.moved(job), job.limit.time_ns) {
                (Some(bytes), _) => known = known.saturating_add((bytes as f64 * share(job)) as u64),
                (None, Some(time)) => longest = time.max(longest),
                (None, None) => open = true,
            }
        }
        ns = ns.saturating_add(longest);
    }
    let mut words = Vec::new();
    if known > 0 {
        words.push(format!("{} at most", rough(known)));
    }
    if ns > 0 {
        words.push(format!("as much as fits into {}", time(ns)));
    }
    if open {
        words.push("an amount that the plan does not tell".into());
    }
    if words.is_empty() { "nothing".into() } else { words.join(", and ") }
}

/// Sums are for the eye.
fn rough(amount: u64) -> String {
    units::binary(amount)
}

/// What the writes are in drive writes, for each device that is known.
fn drive_writes(scene: &PlanFacts<'_>) -> Vec<String> {
    let mut devices: Vec<(&str, u64, u64)> = Vec::new();
    for (index, target) in scene.plan.targets.iter().enumerate() {
        let Some((device, size)) = scene.facts(target).and_then(device) else { continue };
        let prepared =
            if distinct(scene).any(|(other, _)| other == index) { scene.prepared(index, target) } else { 0 };
        let bytes = prepared.saturating_add(written(scene, index));
        match devices.iter_mut().find(|(name, ..)| *name == device) {
            Some((_, _, sum)) => *sum = sum.saturating_add(bytes),
            None => devices.push((device, size, bytes)),
        }
    }
    let told = devices.into_iter().filter(|(_, _, bytes)| *bytes > 0);
    told.map(|(name, size, bytes)| {
        let times = number_small(bytes as f64 / size as f64);
        format!("What is known of it is {times} drive writes of {name} ({}).", rough(size))
    })
    .collect()
}

/// A device that wears, and its size; memory does not.
fn device(facts: &TargetFacts) -> Option<(&str, u64)> {
    let size = facts.size_bytes.filter(|size| *size > 0)?;
    let name = facts.disk.as_deref().or(facts.device.as_deref())?;
    Some((name, size))
}

/// Bytes that all jobs write to one target; a job spreads them evenly over its targets.
fn written(scene: &PlanFacts<'_>, index: usize) -> u64 {
    let jobs =
        scene.plan.phases.iter().flat_map(|phase| &phase.jobs).filter(|job| job.targets.contains(&index));
    let part = |job: &Job| {
        let moved = scene.moved(job)? as f64 * amount::writes(job);
        Some((moved / job.targets.len() as f64) as u64)
    };
    amount::sum(jobs.filter(|job| amount::writes(job) > 0.0).filter_map(part).map(Some)).unwrap_or(0)
}

/// A ratio that may be tiny.
fn number_small(value: f64) -> String {
    if value < 0.0001 { "less than 0.0001".into() } else { number(value) }
}

fn duration(plan: &Plan) -> String {
    let known: Vec<_> = plan.phases.iter().map(amount::phase_ns).collect();
    let sum = amount::sum(known.iter().flatten().map(|ns| Some(*ns))).unwrap_or(0);
    match (sum, known.iter().filter(|ns| ns.is_none()).count()) {
        (0, 0) if plan.phases.is_empty() => "Until its work is done: no time limits it.".into(),
        (sum, 0) => format!("{} at most, besides making things ready.", time(sum)),
        (0, _) => "Until its work is done: no time limits it.".into(),
        (sum, 1) => format!("{}, and one phase until its work is done.", time(sum)),
        (sum, open) => format!("{}, and {open} phases until their work is done.", time(sum)),
    }
}

fn changes(scene: &PlanFacts<'_>) -> Vec<String> {
    let mut lines: Vec<_> =
        distinct(scene).flat_map(|(index, target)| change(scene, index, target)).collect();
    lines.dedup();
    lines.extend(scene.plan.aging.iter().map(|aging| format!("It {}.", super::aged(aging))));
    if lines.is_empty() {
        lines.push("Nothing that is stored.".into());
    }
    lines
}

fn change(scene: &PlanFacts<'_>, index: usize, target: &Target) -> Vec<String> {
    let path = name(target);
    let mut jobs =
        scene.plan.phases.iter().flat_map(|phase| &phase.jobs).filter(|job| job.targets.contains(&index));
    let written = target.open.mode != OpenMode::Read && jobs.any(amount::changes);
    let there = scene.facts(target).map(|facts| !facts.missing);
    let size = scene.length(target).map(|size| format!(", {}", rough(size))).unwrap_or_default();
    let made = target.open.create || target.prepare != Prepare::AsItIs;
    let mut lines = Vec::new();
    match &target.kind {
        TargetKind::Device { .. } if written => {
            lines.push(format!("Destroys what is on {path}{size}; this needs --destroy {path}."));
        }
        TargetKind::File { .. } | TargetKind::FileSet { .. } if made || (written && there != Some(false)) => {
            lines.push(match there {
                Some(true) if written => format!("Overwrites {path}, which is there."),
                Some(true) if long_enough(scene, target) => format!("Leaves {path} as it is."),
                Some(true) => format!("Extends {path}{size}."),
                Some(false) => format!("Creates {path}{size}."),
                None if written => format!("Creates or overwrites {path}{size}."),
                None => format!("Creates {path} where it is missing{size}."),
            })
        }
        _ => {}
    }
    if target.open.truncate && there == Some(true) {
        lines.push(format!("Cuts {path} to {}.", bytes(target.open.truncate_bytes)));
    }
    if target.remove {
        lines.push(format!("Removes {path} at the end, if the run made it."));
    }
    lines
}

/// Whether a file that is there needs nothing to be made ready.
fn long_enough(scene: &PlanFacts<'_>, target: &Target) -> bool {
    let there = scene.facts(target).and_then(|facts| facts.file_bytes);
    there.zip(scene.length(target)).is_some_and(|(there, wanted)| there >= wanted)
}

/// Whether reads and writes of a target pass through the page cache.
pub(crate) fn cached(target: &Target) -> bool {
    let stored = matches!(
        target.kind,
        TargetKind::File { .. } | TargetKind::FileSet { .. } | TargetKind::Device { .. }
    );
    stored && target.open.direct == Direct::No
}

/// The name of the phase for messages.
pub(crate) fn where_(phase: &Phase, job: &Job) -> String {
    format!("{}/{}", phase.name, job.name)
}
