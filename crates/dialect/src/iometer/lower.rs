//! From a configuration to a plan: a phase for each run of an access specification, a job for each target of each worker.
//!
//! ```text
//!   i-th assigned specification × points of the cycling ─► phase ─► managers × workers × targets ─► jobs
//! ```
//! A worker's targets are worked on side by side, each with its own outstanding I/O. It refuses targets that are not here,
//! and to fill a file system to its end.

use iodyno_model::{
    Coordinate, Depth, Diagnostic, Direct, Extent, Intent, Job, Limit, Measure, Open, Origin, Pace,
    Parameter, Payload, Phase, Plan, Prepare, Ranks, Refresh, Span, Target, TargetKind, Value, Workload,
};

use super::command::Command;
use super::cycle::{self, Point};
use super::settings::{Manager, Settings, Worker};

use super::specification::{SECTOR, Specification};
use crate::engine_choice::{ASYNCHRONOUS, POSITIONED_CALLS};
use crate::{Loader, PathKind, index_of};

/// The file that a directory's space is measured in, as IOMeter calls it.
const TEST_FILE: &str = "iobw.tst";
/// A specification that does nothing, and needs no definition.
const IDLE: &str = "Idle";

/// What a phase of the plan is to the reader.
#[derive(Clone, Debug, Default)]
pub struct RunPhase {
    /// The specification, or the first of several.
    pub name: String,
    /// What each job is, in the jobs' order.
    pub disks: Vec<Disk>,
    /// How many workers of each manager take part.
    pub workers: Vec<usize>,
}

/// A target of a worker.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    /// The manager, by index.
    pub manager: usize,
    /// The worker, by index in its manager.
    pub worker: usize,
    pub specification: String,
    /// The target, as the file calls it.
    pub target: String,
    /// Outstanding operations.
    pub depth: u32,
}

/// The plan, and what each of its phases is.
pub struct LoweredTest {
    pub plan: Plan,
    /// Its phases.
    pub parts: Vec<RunPhase>,
}

/// Lowers a configuration.
///
/// # Errors
/// Everything that cannot be done here.
pub fn plan(
    configuration: &Settings,
    command: &Command,
    loader: &mut dyn Loader,
) -> Result<LoweredTest, Vec<Diagnostic>> {
    let engine = ASYNCHRONOUS.iter().find(|name| loader.engine_available(name).is_ok());
    let engine = engine.unwrap_or(&POSITIONED_CALLS);
    let seed = loader.now_unix_ns();
    let mut builder = Builder {
        configuration,
        command,
        loader,
        engine,
        plan: Plan { name: "iometer".into(), seed, intent: Intent::Device, ..Plan::default() },
        parts: Vec::new(),
        wrong: Vec::new(),
    };
    builder.machines();
    let runs = builder.workers().map(|worker| assigned(configuration, worker).len()).max().unwrap_or(0);
    for run in 0..runs {
        cycle::points(configuration).into_iter().for_each(|point| builder.phase(run, point));
    }
    builder.done()
}

/// What a worker does, run by run: names with their lines.
fn assigned(configuration: &Settings, worker: &Worker) -> Vec<(u32, String)> {
    if !worker.assigned.is_empty() {
        return worker.assigned.clone();
    }
    let by_default = configuration.specifications.iter().filter(|known| matches!(known.assignment, 1 | 2));
    by_default.map(|known| (worker.line, known.name.clone())).collect()
}

struct Builder<'a> {
    configuration: &'a Settings,
    command: &'a Command,
    loader: &'a mut dyn Loader,
    engine: &'a str,
    plan: Plan,
    parts: Vec<RunPhase>,
    wrong: Vec<Diagnostic>,
}

impl<'a> Builder<'a> {
    fn workers(&self) -> impl Iterator<Item = &'a Worker> + use<'a> {
        self.configuration.managers.iter().flat_map(|manager| &manager.workers)
    }

    fn refuse(&mut self, line: u32, message: impl Into<String>, hint: &str) {
        let origin = Origin::file(&self.configuration.path, line);
        let told = Diagnostic::error(&origin, message).hint(hint);
        if !self.wrong.contains(&told) {
            self.wrong.push(told);
        }
    }

    /// A manager is a machine: one of them is this one, or each of several; several are as many ranks.
    fn machines(&mut self) {
        let (managers, ranks) = (self.configuration.managers.len(), self.loader.world().ranks() as usize);
        if managers > 1 && managers != ranks {
            let line = self.configuration.managers[1].line;
            let message =
                format!("{managers} managers, and {ranks} machine{}", if ranks == 1 { "" } else { "s" });
            self.refuse(line, message, "name a host for each manager, in their order: --also hosts=h1,h2");
        }
    }

    fn phase(&mut self, run: usize, point: Point) {
        let (mut part, mut jobs) = (RunPhase::default(), Vec::new());
        for (index, manager) in self.configuration.managers.iter().enumerate() {
            let mut left = point.serial;
            let count = point.workers.unwrap_or(u32::MAX) as usize;
            part.workers.push(0);
            for (number, worker) in manager.workers.iter().take(count).enumerate() {
                let Some((line, name)) = assigned(self.configuration, worker).get(run).cloned() else {
                    continue;
                };
                if name.eq_ignore_ascii_case(IDLE) && self.known(&name).is_none() {
                    continue;
                }
                let Some(specification) = self.known(&name) else {
                    let hint = "it is defined above";
                    self.refuse(line, format!("`{name}`: no such access specification"), hint);
                    continue;
                };
                let most = left.or(point.targets).unwrap_or(u32::MAX) as usize;
                let targets: Vec<_> = worker.targets.iter().take(most).cloned().collect();
                if let Some(left) = &mut left {
                    *left -= targets.len() as u32;
                }
                part.workers[index] += usize::from(!targets.is_empty());
                for target in targets {
                    let depth = point.depth.unwrap_or(worker.depth);
                    let Some(job) = self.job(index, manager, worker, specification, &target, depth) else {
                        continue;
                    };
                    jobs.push(job);
                    let (manager, worker) = (index, number);
                    let specification = name.clone();
                    part.disks.push(Disk { manager, worker, specification, target: target.1, depth });
                }
            }
        }
        let Some(first) = part.disks.first() else { return };
        part.name = first.specification.clone();
        let name = part.name.clone();
        self.plan.phases.push(Phase { name, jobs, coordinates: coordinates(point), ..Phase::default() });
        self.parts.push(part);
    }

    fn known(&self, name: &str) -> Option<&'a Specification> {
        self.configuration.specifications.iter().find(|known| known.name.eq_ignore_ascii_case(name))
    }

    fn job(
        &mut self,
        index: usize,
        manager: &Manager,
        worker: &Worker,
        specification: &Specification,
        target: &(u32, String),
        depth: u32,
    ) -> Option<Job> {
        let span = span(worker);
        let pattern = specification.pattern(span).map_err(|wrong| {
            let new: Vec<_> = wrong.into_iter().filter(|told| !self.wrong.contains(told)).collect();
            self.wrong.extend(new);
        });
        let place = self.target(worker, target);
        let (pattern, place) = (pattern.ok()?, place?);
        let known = self.plan.targets.iter().position(|known| known.kind == place.kind);
        let place = known.unwrap_or_else(|| index_of(&mut self.plan.targets, place));
        let one = self.configuration.managers.len() == 1;
        let workload = Workload::Pattern(Box::new(pattern));
        let name = match manager.name.as_str() {
            "" => format!("{} on {}", worker.name, target.1),
            manager => format!("{manager}: {} on {}", worker.name, target.1),
        };
        Some(Job {
            seed: worker.seed,
            ranks: if one { Ranks::All } else { Ranks::Only(index as u32) },
            depth: Depth { most: depth, ..Depth::default() },
            pace: Pace { think: specification.think(), open_loop: false, ..Pace::default() },
            limit: Limit {
                time_ns: Some(self.configuration.run_s * 1_000_000_000),
                ramp_ns: self.configuration.ramp_s * 1_000_000_000,
                ..Limit::default()
            },
            payload: payload(worker),
            measure: Measure { each: true, ..Measure::default() },
            origin: Origin::file(&self.configuration.path, worker.line),
            ..Job::new(&name, self.engine, vec![place], workload)
        })
    }

    /// What a target's name means here.
    fn target(&mut self, worker: &Worker, (line, name): &(u32, String)) -> Option<Target> {
        let Some(path) = self.path(name) else {
            let hint = format!("say where it is: --map '{name}=/mnt/disk', a directory, a file or a device");
            self.refuse(*line, format!("`{name}`: no such target here"), &hint);
            return None;
        };
        let kind = self.loader.look(&path).map(|facts| facts.kind);
        let bytes = (worker.sectors > 0).then(|| (worker.first_sector + worker.sectors) * SECTOR);
        let file = match kind {
            Some(PathKind::BlockDevice) => None,
            Some(PathKind::File) => Some(path.clone()),
            Some(PathKind::Directory) => Some(format!("{}/{TEST_FILE}", path.trim_end_matches('/'))),
            _ => {
                let hint = "a directory, a file or a block device";
                self.refuse(*line, format!("{path} can be no target"), hint);
                return None;
            }
        };
        if let Some(file) = file.as_ref().filter(|file| bytes.is_none() && self.loader.look(file).is_none()) {
            let message = format!("{file} is not there, and would fill what it lies on");
            self.refuse(*line, message, "`Disk maximum size` says how many sectors of 512 bytes it has");
            return None;
        }
        let is_file = file.is_some();
        let kind = match file {
            Some(path) => TargetKind::File { path, size: bytes.map_or(Extent::Rest, Extent::Bytes) },
            None => TargetKind::Device { path },
        };
        Some(Target {
            name: name.clone(),
            kind,
            open: Open { create: is_file && bytes.is_some(), direct: Direct::IfPossible, ..Open::default() },
            prepare: if is_file && bytes.is_some() { Prepare::Filled } else { Prepare::AsItIs },
            remove: false,
            origin: Origin::file(&self.configuration.path, *line),
        })
    }

    /// The path of a target: as the user says, or as IOMeter calls it on Linux.
    fn path(&self, name: &str) -> Option<String> {
        let mapped = self.command.maps.iter().find(|(from, _)| from.eq_ignore_ascii_case(name));
        if let Some((_, path)) = mapped {
            return Some(path.clone());
        }
        // `/mnt/disk [xfs]`, or a device without its folder.
        let plain = name.split(" [").next().unwrap_or(name).trim();
        let path = if plain.starts_with('/') { plain.to_string() } else { format!("/dev/{plain}") };
        let fits = !plain.is_empty() && !plain.contains([':', '{', '}', '\\', '"']);
        (fits && self.loader.look(&path).is_some()).then_some(path)
    }

    fn done(mut self) -> Result<LoweredTest, Vec<Diagnostic>> {
        if self.wrong.is_empty() && self.parts.is_empty() {
            let line = self.workers().next().map_or(1, |worker| worker.line);
            let hint = "'Assigned access specs and 'Target assignments of a worker";
            self.refuse(line, "no worker has both an access specification and a target", hint);
        }
        match self.wrong.is_empty() {
            true => Ok(LoweredTest { plan: self.plan, parts: self.parts }),
            false => Err(self.wrong),
        }
    }
}

fn span(worker: &Worker) -> Span {
    Span {
        offset: Extent::Bytes(worker.first_sector * SECTOR),
        length: match worker.sectors {
            0 => Extent::Rest,
            sectors => Extent::Bytes(sectors * SECTOR),
        },
        ..Span::default()
    }
}

fn payload(worker: &Worker) -> Payload {
    use iodyno_model::Content;
    let (content, refresh) = match worker.content {
        0 => (Content::Pattern(vec![0xA5]), Refresh::Once),
        1 => (Content::Random, Refresh::Once),
        _ => (Content::Random, Refresh::EachWrite),
    };
    Payload { content, refresh, ..Payload::default() }
}

fn coordinates(point: Point) -> Vec<Coordinate> {
    let number = |parameter, value: u32| Coordinate { parameter, value: Value::Number(value.into()) };
    let workers = point.workers.map(|count| number(Parameter::Workers, count));
    let depth = point.depth.map(|depth| number(Parameter::Depth, depth));
    workers.into_iter().chain(depth).collect()
}
