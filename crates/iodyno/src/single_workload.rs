//! One workload that a command varies: of a plan file or job file, or of a directory, a file or a device.
//!
//! In a directory a temporary file is made and removed. What was there before is only read, unless it is a device that was
//! given up by name.

use std::path::Path;

use iodyno_dialect::engine_choice::keeps_depth;
use iodyno_dialect::{DIALECTS, Loader, PathFacts, PathKind, Request, native};
use iodyno_engine::world::World;
use iodyno_model::{
    Depth, Diagnostic, Direct, Extent, Intent, Job, Limit, Machine, Open, OpenMode, Origin, Pattern, Phase,
    Plan, Prepare, RunStart, Target, TargetKind, Verb, Workload, units,
};
use iodyno_report::shape::Shape;

use crate::experiment::{self, no_reporter};
use crate::leftovers;
use crate::loader::HostLoader;
use crate::session::say;

/// The temporary file of a directory, unless said otherwise.
const FILE_BYTES: u64 = 1 << 30;
/// A file holds whole blocks of this.
const BLOCK_BYTES: u64 = 1 << 20;
/// What devices take that do not say.
const SECTOR_BYTES: u64 = 512;
/// This part of each time is run and not counted.
pub const RAMP_PART: u64 = 10;

/// What a command line says of its workload.
pub struct WorkloadRequest<'a> {
    /// A plan file, a job file, or what is measured.
    pub target: &'a str,
    /// Tells the temporary files of one process apart.
    pub label: &'a str,
    /// The workload on a directory, a file or a device.
    pub pattern: Pattern,
    /// Options that a plan file leaves no room for, where one was given.
    pub for_targets_only: Option<&'a str>,
    pub size: Option<u64>,
    pub engine: Option<&'a str>,
    pub seed: Option<u64>,
    pub destroy: &'a [String],
}

/// One workload: a plan whose one phase has one job.
#[derive(Clone, Debug)]
pub struct SingleWorkload {
    plan: Plan,
    /// What was named.
    pub target: String,
    /// How large that is, where it was there before or is pretended.
    pub bytes: Option<u64>,
    /// The smallest operation that it takes past the page cache.
    pub block_bytes: u64,
}

impl SingleWorkload {
    /// # Errors
    /// What is wrong with the plan file, or with the target.
    pub fn of(world: &World, request: &WorkloadRequest<'_>) -> Result<SingleWorkload, Vec<Diagnostic>> {
        let is_plan = [".toml", ".fio"].iter().any(|ending| request.target.ends_with(ending));
        let mut loader = HostLoader::new(world);
        let mut plan = match is_plan && Path::new(request.target).is_file() {
            true => of_file(request, &mut loader)?,
            false => of_target(request, &loader).map_err(|wrong| vec![wrong])?,
        };
        plan.seed = request.seed.unwrap_or(plan.seed);
        plan.destroy.extend(request.destroy.iter().cloned());
        let facts = loader.look(request.target).filter(|facts| facts.kind != PathKind::Directory && !is_plan);
        let bytes = match plan.targets.first().map(|target| &target.kind) {
            Some(TargetKind::Nothing { bytes }) => Some(*bytes),
            _ => facts.as_ref().map(|facts| facts.bytes),
        };
        let block_bytes = facts.and_then(|facts| facts.target.logical_block_bytes).unwrap_or(SECTOR_BYTES);
        Ok(SingleWorkload { plan, target: request.target.into(), bytes, block_bytes })
    }

    /// A workload that a command made itself, over files that do not exist before.
    pub fn made(plan: Plan, target: &str) -> SingleWorkload {
        SingleWorkload { plan, target: target.into(), bytes: None, block_bytes: SECTOR_BYTES }
    }

    /// Two workloads at once: the targets of both, and phases of both's jobs. [`SingleWorkload::second`] makes the jobs of
    /// the other one.
    pub fn beside(&self, other: &SingleWorkload, name: String, phases: Vec<Phase>) -> Plan {
        let mut plan = Plan { name, phases, ..self.plan.clone() };
        let called = |number: &str, target: &Target| Target {
            name: format!("{number} {}", target.name),
            ..target.clone()
        };
        let first = self.plan.targets.iter().map(|target| called("A", target));
        plan.targets = first.chain(other.plan.targets.iter().map(|target| called("B", target))).collect();
        plan.destroy.extend(other.plan.destroy.iter().cloned());
        plan
    }

    /// A job of the other workload of [`SingleWorkload::beside`].
    pub fn second(&self, mut job: Job) -> Job {
        job.targets.iter_mut().for_each(|target| *target += self.plan.targets.len());
        job
    }

    /// The path of its target, or nothing.
    pub fn target_path(&self) -> String {
        self.plan.targets[0].path().unwrap_or_default().into()
    }

    pub fn target_kind(&self) -> &TargetKind {
        &self.plan.targets[0].kind
    }

    pub fn job(&self) -> &Job {
        &self.plan.phases[0].jobs[0]
    }

    /// Whether depth is made by the engine, or else by workers.
    pub fn keeps_depth(&self) -> bool {
        keeps_depth(&self.job().engine)
    }

    /// Whether no storage is touched.
    pub fn is_simulated(&self) -> bool {
        self.job().engine == "sim"
    }

    /// The same targets, other phases.
    pub fn with(&self, command: &str, phases: Vec<Phase>) -> Plan {
        Plan { name: format!("{command} {}", self.target), phases, ..self.plan.clone() }
    }

    /// A phase for so long, with a change to its job. A tenth of the time is run and not counted.
    pub fn phase(&self, name: &str, time_ns: u64, change: impl FnOnce(&mut Job)) -> Phase {
        let mut phase = self.plan.phases[0].clone();
        let job = &mut phase.jobs[0];
        job.limit = Limit { time_ns: Some(time_ns), ramp_ns: time_ns / RAMP_PART, ..Limit::default() };
        change(job);
        phase.name = name.into();
        phase
    }

    pub fn set_depth(&self, job: &mut Job, depth: u32) {
        match self.keeps_depth() {
            true => job.depth = Depth { most: depth.div_ceil(job.workers), ..job.depth },
            false => job.workers = depth,
        }
    }

    /// What was measured and where, for the head of a report.
    pub fn facts(&self, started: &RunStart) -> Vec<(String, String)> {
        let plan = &started.plan;
        let first = plan.phases.first().and_then(|phase| phase.jobs.first());
        let line = first.map_or_else(String::new, |job| Shape::of(plan, job, &started.targets).line());
        // What is varied is in the tables.
        let is_varied =
            |part: &&str| part.starts_with("depth ") || part.ends_with("worker") || part.ends_with("workers");
        let line = line.split(" · ").filter(|part| !is_varied(part)).collect::<Vec<_>>().join(" · ");
        let device = started.targets.first().map_or_else(String::new, |facts| {
            let parts = [facts.file_system.clone(), facts.device.clone(), facts.model.clone()];
            parts.into_iter().flatten().collect::<Vec<_>>().join(" · ")
        });
        vec![
            ("workload".into(), line),
            ("target".into(), device),
            ("machine".into(), machine(&started.machine)),
        ]
    }

    /// What is said below figures that no storage made.
    pub fn remarks(&self) -> Vec<String> {
        let simulated = "All figures are simulated: no storage was touched.".to_string();
        self.is_simulated().then_some(simulated).into_iter().collect()
    }
}

fn machine(machine: &Machine) -> String {
    format!("iodyno {} · {} · {}", machine.version, machine.host, machine.kernel)
}

/// The plan of a file, which must have one workload.
fn of_file(request: &WorkloadRequest<'_>, loader: &mut HostLoader) -> Result<Plan, Vec<Diagnostic>> {
    let arguments = [request.target.to_string()];
    let origin = Origin::argument(request.target);
    let wrong = |message: &str, hint: &str| vec![Diagnostic::error(&origin, message).hint(hint)];
    if let Some(options) = request.for_targets_only {
        return Err(wrong(&format!("{options} belong to a TARGET"), "say it in the plan file"));
    }
    let fio =
        DIALECTS.iter().find(|dialect| dialect.name == "fio").filter(|_| request.target.ends_with(".fio"));
    let parsed = match fio {
        Some(fio) => (fio.lower)(&arguments, loader)?,
        None => native::run(&arguments, loader, &|_| no_reporter())?,
    };
    let Request::Run(run) = parsed else {
        return Err(wrong("there is nothing to run in it", "name a plan of one job"));
    };
    let plan = run.plan;
    if !plan.sweep.is_empty() {
        return Err(wrong(
            "it has a sweep of its own",
            "take the sweep out: the command varies the workload",
        ));
    }
    match plan.phases.as_slice() {
        [phase] if matches!(phase.jobs.as_slice(), [job] if matches!(job.workload, Workload::Pattern(_))) => {
            Ok(plan)
        }
        _ => Err(wrong(
            "it is more than one job with a pattern",
            "a load is that of one workload: a plan of one phase with one job; its mix may have several kinds",
        )),
    }
}

/// A plan for a directory, a file or a device.
fn of_target(request: &WorkloadRequest<'_>, loader: &HostLoader) -> Result<Plan, Diagnostic> {
    let origin = Origin::argument(request.target);
    // First of all: it may be what fills the file system.
    leftovers::remove_temporaries(request.target).iter().for_each(say);
    let facts = loader.look(request.target).ok_or_else(|| {
        Diagnostic::error(&origin, "no such file or directory")
            .hint("name a plan file, a directory to measure in, or a file or device that exists")
    })?;
    let writes = request.pattern.mix.has(Verb::Write);
    let is_given_up = request.destroy.iter().any(|named| named == request.target);
    let kind = match facts.kind {
        PathKind::Directory => {
            let bytes = file_bytes(request, &facts, &origin)?;
            let name = leftovers::temporary(request.target, request.label);
            TargetKind::File { path: name, size: Extent::Bytes(bytes) }
        }
        PathKind::BlockDevice if writes && !is_given_up => {
            return Err(Diagnostic::error(&origin, "its content would be overwritten")
                .hint(format!("if that is meant: --destroy {}", request.target)));
        }
        PathKind::File if writes && !is_given_up => {
            return Err(Diagnostic::error(&origin, "a file that was there before is only read").hint(
                format!(
                    "name its directory, where a temporary file is made; or give it up: --destroy {}",
                    request.target
                ),
            ));
        }
        PathKind::BlockDevice => TargetKind::Device { path: request.target.to_string() },
        PathKind::File => TargetKind::File { path: request.target.to_string(), size: Extent::Rest },
        _ => {
            return Err(Diagnostic::error(&origin, "neither a directory nor a file nor a block device")
                .hint("name a directory to measure in, e.g. /srv"));
        }
    };
    let is_made = facts.kind == PathKind::Directory;
    let open = Open {
        mode: if writes || is_made { OpenMode::AsNeeded } else { OpenMode::Read },
        create: is_made,
        direct: Direct::IfPossible,
        invalidate: true,
        ..Open::default()
    };
    let target = Target {
        name: "data".into(),
        kind,
        open,
        prepare: if is_made { Prepare::Filled } else { Prepare::AsItIs },
        remove: is_made,
        origin,
    };
    let engine = experiment::engine(request.engine, loader)?;
    let job = Job::new("load", &engine, vec![0], Workload::Pattern(Box::new(request.pattern.clone())));
    Ok(Plan {
        seed: 1,
        intent: Intent::Device,
        targets: vec![target],
        phases: vec![Phase { name: "load".into(), jobs: vec![job], ..Phase::default() }],
        ..Plan::default()
    })
}

fn file_bytes(request: &WorkloadRequest<'_>, facts: &PathFacts, origin: &Origin) -> Result<u64, Diagnostic> {
    if !facts.writable {
        return Err(Diagnostic::error(origin, "this directory cannot be written to")
            .hint("name one where a temporary file may be made, or a large file that exists"));
    }
    let free = facts.target.free_bytes.unwrap_or(u64::MAX);
    let bytes = request.size.unwrap_or(FILE_BYTES.min(free / 2));
    let bytes = bytes / BLOCK_BYTES * BLOCK_BYTES;
    if bytes == 0 || bytes > free {
        return Err(Diagnostic::error(
            origin,
            format!("{} are free for the temporary file", units::binary(free)),
        )
        .hint("--size says how large it is: at least 1 MiB, at most what is free"));
    }
    Ok(bytes)
}
