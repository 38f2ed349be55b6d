//! From the settings of jobs to a plan, and to what the reporters need beside it: the only place where fio's words meet
//! ours.
//!
//! ```text
//!   Settings ─┬─ direction, blocks, names, size ─► targets, pattern, limit ─┐
//!             ├─ engine, payload, pace, placement ─────────────────────────┼─► Job, JobView ─► Plan, View
//!             └─ stonewall, groups ─► phases ──────────────────────────────┘
//! ```
//! Each file lowers one subject; all read the settings through [`OptionReader`]. Nothing here opens, waits or prints. What a
//! plan cannot say yet is refused at its option, with a reason.

pub mod advice;
pub mod blocks;
pub mod direction;
pub mod engine;
pub mod errors;
pub mod figures;
pub mod limit;
pub mod names;
pub mod number;
pub mod objects;
pub mod option_reader;
pub mod pace;
pub mod pattern;
pub mod payload;
pub mod peers;
pub mod placement;
pub mod preconditioning;
pub mod priority;
pub mod replay;
pub mod size;
pub mod targets;
pub mod template;
pub mod verify;
pub mod view;

use std::collections::HashMap;

use iodyno_model::{
    Diagnostic, Extent, FileOrder, Job, Pattern, Phase, Pick, Plan, Prepare, Size, Start, Stop, Target,
    TargetKind, WorkerKind, Workload,
};

use super::debug;
use super::settings::Settings;
use super::view::{ReportContext, ReportStyle};
use crate::Loader;
use blocks::Blocks;
use direction::Direction;
use engine::Engine;
use names::TargetFile;
use option_reader::OptionReader;
use replay::Replay;
use size::{SizeContext, Sizes};

/// What lowering needs beside the jobs.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// What the plan is called: the job file, or `fio`.
    pub name: String,
    /// How the report is written.
    pub style: ReportStyle,
    /// `[global]`, for the report.
    pub global: Vec<(String, String)>,
    /// `--readonly`: jobs that write are refused.
    pub readonly: bool,
    /// How many ranks run every job: its clones are counted over all of them.
    pub ranks: u32,
}

/// What comes of a set of jobs.
#[derive(Clone, Debug)]
pub struct LoweredJobs {
    /// What is to be done.
    pub plan: Plan,
    /// What the reporters need to know of it.
    pub view: ReportContext,
    /// What is worth saying before the start.
    pub notes: Vec<Diagnostic>,
}

/// Lowers jobs in the order they were written.
///
/// # Errors
/// Everything that is wrong with them, all at once.
pub fn plan(
    jobs: &[Settings],
    context: Context,
    loader: &mut dyn Loader,
) -> Result<LoweredJobs, Vec<Diagnostic>> {
    let mut lowering = Lowering::new(jobs, context, loader);
    jobs.iter().for_each(|settings| lowering.job(settings));
    if lowering.wrong.is_empty() {
        if lowering.view.style.debug.shows_operations() {
            let jobs = lowering.plan.phases.iter_mut().flat_map(|phase| &mut phase.jobs);
            jobs.for_each(debug::record_operations);
        }
        let view = ReportContext { notes: lowering.notes.clone(), ..lowering.view };
        Ok(LoweredJobs { plan: lowering.plan, view, notes: lowering.notes })
    } else {
        Err(lowering.wrong)
    }
}

/// What grows while jobs are lowered.
struct Lowering<'a> {
    loader: &'a mut dyn Loader,
    readonly: bool,
    ranks: u32,
    plan: Plan,
    view: ReportContext,
    wrong: Vec<Diagnostic>,
    notes: Vec<Diagnostic>,
    /// Reporting group, and how many jobs it has.
    group: (u32, u32),
    /// Threads or processes so far, over all jobs.
    threads: u32,
    /// Targets by their names.
    by_name: HashMap<String, Vec<usize>>,
    /// How long files are laid out, by the first clone's name: all of that happens before the first job starts.
    made: HashMap<String, u64>,
}

/// The seed where none is given.
const SEED: u64 = 1;

impl<'a> Lowering<'a> {
    fn new(jobs: &[Settings], context: Context, loader: &'a mut dyn Loader) -> Self {
        let seed = jobs.first().map_or(SEED, |first| seed(&OptionReader::new(first), loader));
        let plan = Plan { name: context.name, seed, signatures_allowed: true, ..Plan::default() };
        let view = ReportContext { style: context.style, global: context.global, ..ReportContext::default() };
        Lowering {
            loader,
            readonly: context.readonly,
            ranks: context.ranks.max(1),
            plan,
            view,
            wrong: Vec::new(),
            notes: Vec::new(),
            group: (0, 0),
            threads: 0,
            by_name: HashMap::new(),
            made: HashMap::new(),
        }
    }

    fn job(&mut self, settings: &Settings) {
        let mut ask = OptionReader::new(settings);
        self.begin(&ask);
        let clones = ask.count("numjobs").unwrap_or(1).max(1);
        // Clones that play different recordings back are jobs of their own.
        let (turns, clones) = if replay::listed(&ask).len() > 1 { (clones, 1) } else { (1, clones) };
        let clones = clones.saturating_mul(self.ranks);
        for turn in 0..turns {
            self.lower(&mut ask, clones, turn as usize);
            self.threads = self.threads.saturating_add(clones);
        }
        self.group.1 += 1;
        self.wrong.append(&mut ask.wrong);
        self.notes.append(&mut ask.notes);
    }

    /// A stone wall begins a phase; it and `new_group` begin a reporting group.
    fn begin(&mut self, ask: &OptionReader<'_>) {
        let wall = ask.flag("stonewall", false);
        if (wall || ask.flag("new_group", false)) && self.group.1 > 0 {
            self.group = (self.group.0 + 1, 0);
        }
        let started = self.plan.phases.last().is_some_and(|phase| !phase.jobs.is_empty());
        if self.plan.phases.is_empty() || (wall && started) {
            let name = format!("group {}", self.group.0);
            self.plan.phases.push(Phase { name, stop: Stop::Alone, ..Phase::default() });
        }
    }

    fn lower(&mut self, ask: &mut OptionReader<'_>, clones: u32, turn: usize) {
        let replay = Replay::of(ask, turn, self.readonly, self.loader);
        let found = JobContext::of(ask, clones, replay, &self.made, self.loader);
        if ask.flag("allow_mounted_write", false) {
            self.plan.mounted_allowed.extend(found.files.iter().map(|file| file.path.clone()));
        }
        if self.readonly && found.direction.changes() {
            ask.refuse(
                "rw",
                format!("job <{}> has write bit set, but fio is in read-only mode", ask.job()),
                "leave --readonly out, or say rw=read",
            );
        }
        let job = self.make(ask, clones, &found);
        let phase = self.plan.phases.len() - 1;
        let known = view::LoweredJob {
            job: &job,
            found: &found,
            place: (phase, self.plan.phases[phase].jobs.len()),
            group: self.group.0,
            first_number: self.threads.saturating_add(1),
        };
        self.view.jobs.push(view::view(ask, &known));
        self.plan.phases[phase].jobs.push(job);
    }

    fn make(&mut self, ask: &mut OptionReader<'_>, clones: u32, found: &JobContext) -> Job {
        let targets = targets::targets(ask, found);
        self.remember(&targets);
        let targets = targets.into_iter().map(|target| self.target(target)).collect();
        let workload = match &found.replay {
            Some(replay) => Workload::Trace(replay.trace.clone()),
            None => Workload::Pattern(Box::new(pattern::pattern(ask, found))),
        };
        let drawn = matches!(&workload, Workload::Pattern(pattern) if is_drawn(pattern));
        let verify = verify::verify(ask, found, self.threads, clones, self.loader);
        let payload = payload::payload(ask, found, verify, self.loader);
        let phase = self.plan.phases.last_mut().expect("a phase was begun");
        Job {
            workers: clones / self.ranks,
            // A process that MPI has joined to others must not be forked, and fio makes threads of jobs with objects.
            kind: match ask.flag("thread", false) || self.ranks > 1 || found.engine.store.is_some() {
                true => WorkerKind::Threads,
                false => WorkerKind::Processes,
            },
            seed: drawn.then(|| seed(ask, self.loader).wrapping_add(self.threads.into())),
            settings: found.engine.settings.clone(),
            depth: engine::depth(ask, found),
            pace: pace::pace(ask, found, phase),
            limit: limit::limit(ask, found),
            start: Start { after_job: waits_for(ask, &self.view, phase), ..limit::start(ask) },
            payload,
            placement: placement::placement(ask),
            buffers: placement::buffers(ask),
            hooks: placement::hooks(ask),
            errors: errors::policy(ask),
            finish: limit::finish(ask, found),
            group: ask.flag("group_reporting", false).then(|| format!("group {}", self.group.0)),
            set: self.group.0,
            exit: errors::exit(ask),
            measure: figures::measure(ask, found, clones),
            origin: ask.settings.origin.clone(),
            ..Job::new(ask.job(), found.engine.name, targets, workload)
        }
    }

    fn remember(&mut self, targets: &[Target]) {
        for target in targets {
            if let (TargetKind::File { path, size: Extent::Bytes(bytes) }, true) =
                (&target.kind, !matches!(target.prepare, Prepare::AsItIs | Prepare::Empty))
            {
                let made = self.made.entry(names::first(path)).or_default();
                *made = (*made).max(*bytes);
            }
        }
    }

    /// The index of a target; jobs that use the same file in the same way share it.
    fn target(&mut self, target: Target) -> usize {
        let alike = |index: &usize| {
            let known = &self.plan.targets[*index];
            Target { origin: known.origin.clone(), ..target.clone() } == *known
        };
        let namesakes = self.by_name.entry(target.name.clone()).or_default();
        if let Some(index) = namesakes.iter().copied().find(alike) {
            return index;
        }
        namesakes.push(self.plan.targets.len());
        self.plan.targets.push(target);
        self.plan.targets.len() - 1
    }
}

/// Whether chance decides anything that a job does.
fn is_drawn(pattern: &Pattern) -> bool {
    let picks = [&pattern.pick.read, &pattern.pick.write, &pattern.pick.trim];
    let sizes = [&pattern.size.read, &pattern.size.write, &pattern.size.trim];
    picks.iter().any(|pick| !matches!(pick, Pick::Sequential | Pick::Gap(_)))
        || sizes.iter().any(|size| !matches!(size, Size::Fixed(_)))
        || (pattern.mix.shares.len() > 1 && !pattern.mix.in_turn)
        || matches!(pattern.files, FileOrder::Drawn { .. })
}

/// `wait_for`: a job that was written earlier; one of an earlier phase has ended anyway.
fn waits_for(ask: &mut OptionReader<'_>, view: &ReportContext, phase: &Phase) -> Option<String> {
    let name = ask.text("wait_for")?;
    let same = view.jobs.iter().filter(|job| job.name == name).count();
    let message = match same {
        1 => return phase.jobs.iter().any(|job| job.name == name).then(|| name.to_string()),
        0 if name == ask.job() => format!("{name}: a job cannot wait for itself"),
        0 => format!("{}: waitee job {name} unknown", ask.job()),
        _ => format!("{}: waitee job {name} is ambiguous", ask.job()),
    };
    ask.refuse("wait_for", message, "name one job that stands earlier in the file");
    None
}

/// What several parts of a job depend on.
#[derive(Clone, Debug)]
pub struct JobContext {
    pub direction: Direction,
    /// Block sizes.
    pub blocks: Blocks,
    pub engine: Engine,
    pub files: Vec<TargetFile>,
    /// How much of them.
    pub sizes: Sizes,
    pub clones: u32,
    /// What is played back.
    pub replay: Option<Replay>,
}

impl JobContext {
    /// The longest block that can be written or read, bytes; `None`: a recording says.
    fn block_bytes_most(&self) -> Option<u64> {
        let ends = self.blocks.used(&self.direction);
        let most = ends.iter().map(|(_, most)| *most).max();
        most.filter(|most| *most > 0 && self.replay.is_none())
    }

    fn of(
        ask: &mut OptionReader<'_>,
        clones: u32,
        replay: Option<Replay>,
        made: &HashMap<String, u64>,
        loader: &mut dyn Loader,
    ) -> JobContext {
        let direction = Direction::of(ask);
        if let Some(played) = &replay {
            let (direction, engine) = (played.direction(direction), Engine::of(ask));
            let (files, sizes) = (played.files(ask, loader), played.sizes(engine.diskless));
            let blocks = Blocks::of(ask, &direction);
            return JobContext { direction, blocks, engine, files, sizes, clones, replay };
        }
        let blocks = Blocks::of(ask, &direction);
        let engine = Engine::of(ask);
        // Those that are only named are computed; one stands for all.
        let mut files = match engine.names {
            Some(_) => vec![TargetFile::alone(ask)],
            None if engine.peer => vec![TargetFile::alone(ask)],
            None => names::files(ask, &direction, clones, loader),
        };
        for file in &mut files {
            file.made_bytes = made.get(&names::first(&file.path)).copied().unwrap_or(0);
        }
        let scene = SizeContext { files: &files, blocks: &blocks, clones, sizeless: engine.sizeless };
        let mut sizes = Sizes::of(ask, &scene);
        preconditioning::amount_moved(ask, &scene, &mut sizes);
        JobContext { direction, blocks, engine, files, sizes, clones, replay }
    }
}

/// The seed of a job's draws: its own, the same in every run, or another each time.
fn seed(ask: &OptionReader<'_>, loader: &dyn Loader) -> u64 {
    match ask.whole("randseed") {
        Some(seed) => seed as u64,
        None if ask.flag("randrepeat", true) || ask.flag("allrandrepeat", false) => SEED,
        None => loader.now_unix_ns(),
    }
}
