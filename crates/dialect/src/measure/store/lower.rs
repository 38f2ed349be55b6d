//! The plan of `measure` for a store: interleaved passes over the cells, the sweep of the concurrency, the requests without
//! data, and the promises of consistency.

use iodyno_model::{
    Depth, ErrorPolicy, Extent, Intent, ItemData, Items, Job, Limit, Mix, Open, Origin, Pattern, Phase, Pick,
    Plan, Prepare, Setting, Size, Span, Stop, Target, TargetKind, Verb, Workload,
};

use super::budget::{
    CELLS, CONSISTENCY, MIX, ObjectSize, PART_BYTES, PARTS_AT_ONCE, REQUESTS, REQUESTS_DEPTH, StoreCell,
};
use super::consistency;
use super::settings::StoreSettings;
use crate::measure::cells::{DEPTH, MIX_READS};
use crate::measure::lower::swept;

/// Targets by index, behind those of [`ObjectSize`]: the objects made for requests without data, and where promises are
/// tried.
const MADE: usize = 3;
const TRIED: usize = 4;

/// The depth of the long run.
const LONG_DEPTH: u32 = 4;

/// The plan of the settings, written out.
pub fn plan(settings: &StoreSettings) -> Plan {
    let mut phases = Vec::new();
    for pass in 0..settings.budget.passes {
        let cells = CELLS.iter().map(|cell| phase(data(settings, cell)));
        let mix = (!settings.engine.has_one_writer).then(|| phase(mix(settings)));
        phases.extend(cells.chain(mix).map(|phase| Phase { repetition: pass, ..phase }));
    }
    phases.extend(depths(settings));
    phases.extend(REQUESTS.iter().map(|(name, verb)| phase(requests(settings, name, *verb))));
    phases.push(promises(settings));
    whole(settings, String::new(), targets(settings), phases)
}

/// One job for hours: how stable the store is, rather than how fast.
pub fn long(settings: &StoreSettings, time_ns: u64) -> Plan {
    let mut job = mix(settings);
    if settings.engine.has_one_writer {
        job = data(settings, &CELLS[0]);
    }
    if settings.engine.keeps_depth {
        job.depth.most = LONG_DEPTH;
    } else {
        job.workers = LONG_DEPTH;
    }
    job.name = "long run".into();
    job.limit.time_ns = Some(time_ns);
    let targets = targets(settings).into_iter().take(1).collect();
    whole(settings, ", long".into(), targets, vec![phase(job)])
}

fn whole(settings: &StoreSettings, more: String, targets: Vec<Target>, phases: Vec<Phase>) -> Plan {
    Plan {
        name: format!("measure {}{more}", settings.url),
        seed: settings.seed,
        intent: Intent::Device,
        targets,
        phases,
        ..Plan::default()
    }
}

fn phase(job: Job) -> Phase {
    Phase { name: job.name.clone(), jobs: vec![job], ..Phase::default() }
}

/// A job with so many requests in flight: by the engine, or by as many workers where it keeps only one.
fn deep(settings: &StoreSettings, cell: &StoreCell, name: &str, mut pattern: Pattern, time_ns: u64) -> Job {
    let keeps_depth = settings.engine.keeps_depth;
    let workers = if keeps_depth { 1 } else { cell.depth };
    if pattern.pick.write == Pick::Sequential && workers > 1 {
        // Each writes objects of its own.
        let objects = settings.budget.objects[cell.size as usize];
        let part = Extent::Bytes((objects / u64::from(workers)).max(1) * cell.size.bytes());
        pattern.span = Span { length: part, increment: part, ..Span::default() };
    }
    let mut job = job(settings, name, cell.size as usize, pattern);
    job.workers = workers;
    job.depth = Depth { most: cell.depth / workers, ..Depth::default() };
    job.limit.time_ns = Some(time_ns);
    if settings.has_parts() && cell.size.bytes() > PART_BYTES {
        job.settings.push(Setting::new("part_size", PART_BYTES));
        if cell.verb == Verb::Write {
            job.settings.push(Setting::new("parts_at_once", PARTS_AT_ONCE));
        }
    }
    job
}

fn job(settings: &StoreSettings, name: &str, target: usize, pattern: Pattern) -> Job {
    let mut job = Job::new(name, settings.engine.name, vec![target], Workload::Pattern(Box::new(pattern)));
    job.settings = settings.settings.clone();
    // An answer that says too busy is counted, and the next is asked for.
    job.errors = ErrorPolicy::Continue;
    job
}

/// The job by which the store is asked before the run.
pub fn job_of_looks(settings: &StoreSettings) -> Job {
    job(settings, "look", 0, Pattern::of(Verb::Readdir, Pick::Sequential, 0))
}

fn data(settings: &StoreSettings, cell: &StoreCell) -> Job {
    let pick = if cell.verb == Verb::Read { Pick::Uniform } else { Pick::Sequential };
    let pattern = Pattern::of(cell.verb, pick, cell.block_bytes);
    deep(settings, cell, &cell.name(settings.engine.keeps_depth), pattern, settings.budget.cell_ns)
}

fn mix(settings: &StoreSettings) -> Job {
    let mut pattern = Pattern::of(Verb::Read, Pick::Uniform, MIX.block_bytes);
    pattern.mix = Mix::reads(MIX_READS);
    deep(settings, &MIX, &MIX.name(settings.engine.keeps_depth), pattern, settings.budget.cell_ns)
}

fn depths(settings: &StoreSettings) -> Vec<Phase> {
    let cell = StoreCell { depth: 1, ..CELLS[0] };
    let pattern = Pattern::of(Verb::Read, Pick::Uniform, cell.block_bytes);
    let phase = phase(deep(settings, &cell, DEPTH, pattern, settings.budget.depth_ns));
    swept(phase, settings.engine.keeps_depth, settings.budget.depths)
}

/// Objects are made as long as there is time; what follows takes as many, but for lists, which have all of them each.
fn requests(settings: &StoreSettings, name: &str, verb: Verb) -> Job {
    let makes = verb == Verb::Create;
    let bytes = if makes { ObjectSize::Small.bytes() } else { 0 };
    let mut pattern = Pattern::of(verb, Pick::Sequential, bytes);
    pattern.item_data = makes.then(ItemData::default);
    let mut job = job(settings, name, MADE, pattern);
    if verb != Verb::Readdir && settings.engine.keeps_depth {
        job.depth.most = REQUESTS_DEPTH;
    }
    job.limit = match verb {
        Verb::Create => Limit { time_ns: Some(settings.budget.made_ns), passes: Some(1), ..Limit::default() },
        Verb::Readdir => Limit { time_ns: Some(settings.budget.cell_ns), ..Limit::default() },
        _ => Limit { as_phase: Some(REQUESTS[0].0.into()), ..Limit::default() },
    };
    job
}

/// What is right or wrong is no figure of speed: nothing about speed is judged here.
fn promises(settings: &StoreSettings) -> Phase {
    let tries = consistency::workload(settings.budget.tries);
    let (checker, known) = settings.engine.request_checker();
    let mut job = Job::new(CONSISTENCY, checker, vec![TRIED], tries);
    job.settings =
        settings.settings.iter().filter(|setting| known.contains(&setting.name.as_str())).cloned().collect();
    Phase { intent: Some(Intent::Correctness), stop: Stop::Alone, ..phase(job) }
}

fn targets(settings: &StoreSettings) -> Vec<Target> {
    let base = settings.own_prefix();
    let target = |name: &str, below: &str, items: Items, prepare: Prepare| Target {
        name: name.into(),
        kind: TargetKind::Bucket { url: format!("{base}/{below}"), items },
        open: Open::default(),
        prepare,
        remove: true,
        origin: Origin::argument(&settings.url),
    };
    let laid_out = |size: ObjectSize| {
        let count = settings.budget.objects[size as usize];
        let items = Items { count, size: Size::Fixed(size.bytes()), ..Items::default() };
        target(&format!("objects of {}", size.title()), size.title(), items, Prepare::Filled)
    };
    let mut targets: Vec<Target> = ObjectSize::ALL.into_iter().map(laid_out).collect();
    let size = Size::Fixed(ObjectSize::Small.bytes());
    let items = Items { count: settings.budget.made, size, ..Items::default() };
    targets.push(target("objects, made", "new", items, Prepare::Empty));
    let none = Items { count: 0, ..Items::default() };
    targets.push(Target { remove: false, ..target("promises", "promises", none, Prepare::AsItIs) });
    targets
}
