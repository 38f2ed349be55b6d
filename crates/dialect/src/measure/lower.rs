//! The plan of `measure`: interleaved passes over the cells, then the queue-depth sweep, then the metadata verbs.
//!
//! Passes are interleaved so that a slow minute of the machine spoils one pass of every cell and not one cell's whole
//! figure. In a pass reads come before writes, so that no read competes with what the writes before it left behind.

use iodyno_model::{
    Depth, Direct, Every, Extent, Intent, Items, Job, Limit, Mix, Open, OpenMode, Origin, Parameter, Pattern,
    Phase, Pick, Plan, Prepare, Span, Sweep, Target, TargetKind, Value, Verb, Workload, sweep,
};

use super::cells::{self, APPEND, CELLS, CardCell, DEPTH, METADATA, MIX_CELL, MIX_READS};
use super::long::LongManner;
use super::settings::{Settings, whole_blocks};
use crate::PathKind;
use crate::engine_choice::{POSITIONED_CALLS, keeps_depth};

/// Targets by index: the data, the file that is appended to, and the metadata set as it is made, as it is used, and
/// under its new names.
const DATA: usize = 0;
const APPENDED: usize = 1;
const MADE: usize = 2;
const SET: usize = 3;
const RENAMED: usize = 4;

/// A pass of the appends ends here at the latest: a cheap fsync must not fill the file system. Bytes.
const APPEND_MOST: u64 = 64 << 20;

/// What the names of all that is made begin with; the process that makes it follows.
pub const PREFIX: &str = ".iodyno-measure-";
/// What they end with.
pub const ENDINGS: [&str; 3] = [".append.tmp", ".tmp", ".d"];

/// The plan of the settings, written out.
pub fn plan(settings: &Settings) -> Plan {
    let mut phases = passes(settings);
    phases.extend(depths(settings));
    if !settings.reads_only() {
        phases.extend(METADATA.iter().map(|verb| metadata(settings, *verb)));
    }
    Plan {
        name: format!("measure {}", settings.path),
        seed: settings.seed,
        intent: Intent::Device,
        targets: targets(settings),
        phases,
        ..Plan::default()
    }
}

/// One job for hours: how stable it is, rather than how fast.
pub fn long(settings: &Settings, time_ns: u64, manner: LongManner) -> Plan {
    let LongManner { depth, block_bytes, reads_percent, is_destroyed } = manner;
    let mut pattern = Pattern::of(Verb::Read, Pick::Uniform, block_bytes);
    if reads_percent < 100.0 {
        pattern.mix = Mix::reads(reads_percent);
    }
    let mut target = targets(settings).swap_remove(DATA);
    if is_destroyed {
        target.open.mode = OpenMode::default();
    }
    let mut job = deep(settings, "long run", pattern, depth, time_ns);
    job.measure.health = true;
    Plan {
        name: format!("measure {}, long", settings.path),
        seed: settings.seed,
        intent: Intent::Device,
        targets: vec![target],
        phases: vec![phase(job)],
        destroy: if is_destroyed { vec![settings.path.clone()] } else { Vec::new() },
        ..Plan::default()
    }
}

fn passes(settings: &Settings) -> Vec<Phase> {
    let mut phases = Vec::new();
    for pass in 0..settings.budget.passes {
        let mut once: Vec<Phase> = CELLS.iter().map(|cell| data(settings, cell, Verb::Read)).collect();
        if !settings.reads_only() {
            once.extend(CELLS.iter().map(|cell| data(settings, cell, Verb::Write)));
            once.push(mix(settings));
            once.push(append(settings));
        }
        phases.extend(once.into_iter().map(|phase| Phase { repetition: pass, ..phase }));
    }
    phases
}

fn phase(job: Job) -> Phase {
    Phase { name: job.name.clone(), jobs: vec![job], ..Phase::default() }
}

fn data(settings: &Settings, cell: &CardCell, verb: Verb) -> Phase {
    let pick = if cell.random { Pick::Uniform } else { Pick::Sequential };
    let pattern = Pattern::of(verb, pick, cell.block_bytes);
    phase(deep(
        settings,
        &cell.phase(verb, keeps_depth(settings.engine)),
        pattern,
        cell.depth,
        settings.budget.cell_ns,
    ))
}

fn mix(settings: &Settings) -> Phase {
    let mut pattern = Pattern::of(Verb::Read, Pick::Uniform, MIX_CELL.block_bytes);
    pattern.mix = Mix::reads(MIX_READS);
    phase(deep(
        settings,
        &cells::mix(keeps_depth(settings.engine)),
        pattern,
        MIX_CELL.depth,
        settings.budget.cell_ns,
    ))
}

/// A job with so many I/Os in flight: by the engine, or by as many workers where it keeps only one.
fn deep(settings: &Settings, name: &str, mut pattern: Pattern, depth: u32, time_ns: u64) -> Job {
    let workers = if keeps_depth(settings.engine) { 1 } else { depth };
    pattern.span = span(settings, &pattern, u64::from(workers));
    let mut job = Job::new(name, settings.engine, vec![DATA], Workload::Pattern(Box::new(pattern)));
    job.workers = workers;
    job.depth = Depth { most: depth / workers, ..Depth::default() };
    job.limit.time_ns = Some(time_ns);
    job
}

/// The part that is touched; several workers that go sequentially get a part each, so that none reads what another has.
fn span(settings: &Settings, pattern: &Pattern, workers: u64) -> Span {
    let part = match pattern.pick.read == Pick::Sequential && workers > 1 {
        true => whole_blocks(settings.span_bytes / workers),
        false => settings.span_bytes,
    };
    let increment = if part < settings.span_bytes { part } else { 0 };
    Span { length: Extent::Bytes(part), increment: Extent::Bytes(increment), ..Span::default() }
}

fn append(settings: &Settings) -> Phase {
    let mut pattern = Pattern::of(Verb::Write, Pick::Append, 4096);
    pattern.every = vec![Every::new(Verb::Fsync, 1)];
    let mut job = Job::new(APPEND, POSITIONED_CALLS, vec![APPENDED], Workload::Pattern(Box::new(pattern)));
    job.limit.time_ns = Some(settings.budget.cell_ns);
    job.limit.bytes = Some(APPEND_MOST.min(settings.span_bytes));
    phase(job)
}

fn depths(settings: &Settings) -> Vec<Phase> {
    let pattern = Pattern::of(Verb::Read, Pick::Uniform, 4096);
    let phase = phase(deep(settings, DEPTH, pattern, 1, settings.budget.depth_ns));
    swept(phase, keeps_depth(settings.engine), settings.budget.depths)
}

/// A phase for each depth, written out by the one mechanism there is for it; workers take the place of a depth that is not
/// kept.
pub(super) fn swept(phase: Phase, keeps_depth: bool, depths: &[u64]) -> Vec<Phase> {
    let parameter = if keeps_depth { Parameter::Depth } else { Parameter::Workers };
    let values = depths.iter().map(|depth| Value::Number(*depth)).collect();
    let swept = Plan {
        phases: vec![phase],
        sweep: vec![Sweep { parameter, values, origin: Origin::Default }],
        ..Plan::default()
    };
    sweep::expand(&swept).map(|plan| plan.phases).unwrap_or_default()
}

/// Files are made as long as there is time, a full file system is the end of it; all other verbs take as many.
fn metadata(settings: &Settings, verb: Verb) -> Phase {
    let target = match verb {
        Verb::Create => MADE,
        Verb::Unlink => RENAMED,
        _ => SET,
    };
    let pattern = Pattern::of(verb, Pick::Sequential, 0);
    let mut job = Job::new(verb.name(), POSITIONED_CALLS, vec![target], Workload::Pattern(Box::new(pattern)));
    job.limit = match verb {
        Verb::Create => Limit {
            time_ns: Some(settings.budget.made_ns),
            passes: Some(1),
            until_full: true,
            ..Limit::default()
        },
        _ => Limit { as_phase: Some(Verb::Create.name().into()), ..Limit::default() },
    };
    // Their names were just made, and lie in memory: the card says so.
    let cached = matches!(verb, Verb::Stat | Verb::Open).then_some(Intent::Cache);
    Phase { intent: cached, ..phase(job) }
}

fn targets(settings: &Settings) -> Vec<Target> {
    if settings.reads_only() {
        return vec![only_read(settings)];
    }
    let base = format!("{}/{PREFIX}{}", settings.path.trim_end_matches('/'), settings.unique);
    let target = |name: &str, kind: TargetKind, open: Open, prepare: Prepare| Target {
        name: name.into(),
        kind,
        open,
        prepare,
        remove: true,
        origin: Origin::argument(&settings.path),
    };
    let file = |path: String, size: Extent| TargetKind::File { path, size };
    let direct = Open { create: true, direct: Direct::IfPossible, invalidate: true, ..Open::default() };
    let empty = Open { create: true, truncate: true, ..Open::default() };
    let files = settings.budget.files;
    let set = |name: String| TargetKind::FileSet {
        root: format!("{base}.d"),
        items: Items { count: files, name, present_percent: 0.0, ..Items::default() },
    };
    let (old, new) = ("file-{item}".to_string(), format!("file-{{item+{files}}}"));
    let as_it_is = |name: &str, kind: TargetKind| target(name, kind, Open::default(), Prepare::AsItIs);
    vec![
        target(
            "data",
            file(format!("{base}.tmp"), Extent::Bytes(settings.span_bytes)),
            direct,
            Prepare::Filled,
        ),
        target("append", file(format!("{base}.append.tmp"), Extent::Bytes(0)), empty, Prepare::Empty),
        target("files, made", set(old.clone()), Open { create: true, ..Open::default() }, Prepare::Empty),
        as_it_is("files", set(old)),
        as_it_is("files, renamed", set(new)),
    ]
}

/// The data alone.
pub(super) fn data_target(settings: &Settings) -> Vec<Target> {
    let mut targets = targets(settings);
    targets.truncate(DATA + 1);
    targets
}

/// A file or device that was there before: opened for reading, left as it is, never removed.
fn only_read(settings: &Settings) -> Target {
    let path = settings.path.clone();
    let kind = match settings.kind {
        PathKind::BlockDevice => TargetKind::Device { path },
        _ => TargetKind::File { path, size: Extent::Rest },
    };
    let open = Open { mode: OpenMode::Read, direct: Direct::IfPossible, invalidate: true, ..Open::default() };
    Target {
        name: "data".into(),
        kind,
        open,
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Origin::argument(&settings.path),
    }
}
