//! From dd's words to a plan: one phase, one job, one worker, a script of read and write.
//!
//! The only place where the two vocabularies meet. What dd would find out by opening files and what the loader
//! already knows is said here; all else the engine room finds out and the reporter says.

use iodyno_model::{
    Action, AtEnd, Content, Direct, Extent, Intent, Job, Limit, Offset, Open, OpenMode, OpenSync, Operation,
    Origin, Phase, Plan, Prepare, Script, Size, Step, Target, TargetKind, Transfer, Verb, Workload,
};

use super::amount;
use super::charset;
use super::command::{EarlyExit, Operands};
use super::quote;
use crate::{Loader, PathFacts, PathKind};

/// The labels of the two steps.
pub const READ: &str = "read";
/// The label of the write.
pub const WRITE: &str = "write";

/// The plan of a copy, and what is to be said before it begins (without `dd: `).
///
/// # Errors
/// What GNU dd would say to what the loader already sees.
pub fn lower(operands: &Operands, loader: &mut dyn Loader) -> Result<(Plan, Vec<String>), EarlyExit> {
    let mut warnings = operands.warnings.clone();
    check_memory(operands, loader)?;
    let skip_bytes = bytes_of(
        operands.skip.value,
        operands.skip.bytes || operands.input_flags.contains(&"skip_bytes"),
        operands.read_bytes(),
    )
    .ok_or_else(|| {
        let name = quote::name(operands.input.as_deref().unwrap_or("standard input"));
        EarlyExit::Error(format!("{name}: cannot skip: Value too large for defined data type"))
    })?;
    let seek_bytes = bytes_of(
        operands.seek.value,
        operands.seek.bytes || operands.output_flags.contains(&"seek_bytes"),
        operands.write_bytes(),
    )
    .ok_or_else(|| {
        EarlyExit::Error(format!(
            "offset too large: cannot truncate to a length of seek={} ({}-byte) blocks",
            operands.seek.value,
            operands.write_bytes()
        ))
    })?;
    let input = input(operands, skip_bytes, loader, &mut warnings);
    let output = output(operands, seek_bytes, loader)?;
    let job = job(operands, skip_bytes, seek_bytes);
    let plan = Plan {
        name: "dd".into(),
        intent: Intent::Device,
        targets: vec![input, output],
        phases: vec![Phase { name: "dd".into(), jobs: vec![job], ..Phase::default() }],
        signatures_allowed: true,
        ..Plan::default()
    };
    Ok((plan, warnings))
}

fn bytes_of(number: u64, in_bytes: bool, block_bytes: u64) -> Option<u64> {
    let bytes = if in_bytes { Some(number) } else { number.checked_mul(block_bytes) };
    bytes.filter(|bytes| i64::try_from(*bytes).is_ok())
}

fn check_memory(operands: &Operands, loader: &dyn Loader) -> Result<(), EarlyExit> {
    let memory_bytes = loader.machine().memory_bytes;
    for (which, bytes) in [("input", operands.read_bytes()), ("output", operands.write_bytes())] {
        if memory_bytes > 0 && bytes > memory_bytes {
            let size = amount::bytes_binary(bytes);
            return Err(EarlyExit::Error(format!("memory exhausted by {which} buffer of size {size}")));
        }
    }
    Ok(())
}

fn cannot_open(path: &str, errno: i32) -> EarlyExit {
    EarlyExit::Error(format!("failed to open {}: {}", quote::name(path), crate::strerror::of_system(errno)))
}

/// Of blocks that follow each other faster than this about one is timed in this time, ns.
const SAMPLE_NS: u64 = 100_000;

const EEXIST: i32 = 17;
const EISDIR: i32 = 21;

fn input(
    operands: &Operands,
    skip_bytes: u64,
    loader: &mut dyn Loader,
    warnings: &mut Vec<String>,
) -> Target {
    let flags = &operands.input_flags;
    let mut open = Open { mode: OpenMode::Read, ..open_of(flags) };
    // Nothing to copy, cache to be dropped: GNU then drops all of the file.
    open.invalidate = open.drop_behind && operands.count.is_some_and(|count| count.value == 0);
    let facts = loader.look(operands.input.as_deref().unwrap_or("/dev/stdin"));
    let facts = facts.unwrap_or(PathFacts { kind: PathKind::Other, ..PathFacts::default() });
    if facts.kind == PathKind::File && skip_bytes > facts.bytes && operands.speaks() {
        let name = operands.input.as_deref().unwrap_or("standard input");
        warnings.push(format!("{}: cannot skip to specified offset", quote::name_if_needed(name)));
    }
    let Some(path) = &operands.input else {
        return target("standard input", TargetKind::Descriptor { number: 0 }, open, &Origin::Default);
    };
    // What is not there says so itself when it is opened, with the system's own reason.
    target(path, kind_of(path, facts.kind), open, &Origin::argument(&format!("if={path}")))
}

fn output(operands: &Operands, seek_bytes: u64, loader: &mut dyn Loader) -> Result<Target, EarlyExit> {
    let mut open = Open { mode: OpenMode::Write, ..open_of(&operands.output_flags) };
    let Some(path) = &operands.output else {
        return Ok(target("standard output", TargetKind::Descriptor { number: 1 }, open, &Origin::Default));
    };
    let facts = loader.look(path);
    let kind = facts.as_ref().map_or(PathKind::File, |facts| facts.kind);
    match &facts {
        Some(_) if operands.converts("excl") => return Err(cannot_open(path, EEXIST)),
        Some(_) if kind == PathKind::Directory => return Err(cannot_open(path, EISDIR)),
        _ => {}
    }
    // A device that goes away in between must not come back as a file that fills the memory behind /dev.
    open.create = kind == PathKind::File && !operands.converts("nocreat");
    open.exclusive = operands.converts("excl");
    // Only a file has a length to cut; devices and pipes would answer with an error.
    open.truncate = kind == PathKind::File && !operands.converts("notrunc");
    open.truncate_bytes = if open.truncate { seek_bytes } else { 0 };
    open.invalidate = open.drop_behind && operands.count.is_some_and(|count| count.value == 0);
    Ok(target(path, kind_of(path, kind), open, &Origin::argument(&format!("of={path}"))))
}

fn kind_of(path: &str, kind: PathKind) -> TargetKind {
    match kind {
        PathKind::BlockDevice => TargetKind::Device { path: path.into() },
        _ => TargetKind::File { path: path.into(), size: Extent::Rest },
    }
}

fn target(name: &str, kind: TargetKind, open: Open, origin: &Origin) -> Target {
    Target { name: name.into(), kind, open, prepare: Prepare::AsItIs, remove: false, origin: origin.clone() }
}

fn open_of(flags: &[&str]) -> Open {
    let has = |flag| flags.contains(&flag);
    Open {
        append: has("append"),
        direct: if has("direct") { Direct::Yes } else { Direct::No },
        sync: match () {
            () if has("sync") => OpenSync::All,
            () if has("dsync") => OpenSync::Data,
            () => OpenSync::No,
        },
        nonblock: has("nonblock"),
        noatime: has("noatime"),
        nofollow: has("nofollow"),
        directory: has("directory"),
        noctty: has("noctty"),
        drop_behind: has("nocache"),
        ..Open::default()
    }
}

fn job(operands: &Operands, skip_bytes: u64, seek_bytes: u64) -> Job {
    let steps = vec![read_step(operands, skip_bytes), write_step(operands, seek_bytes)];
    let script = Workload::Script(Script { actors: Vec::new(), steps });
    let mut job = Job::new("dd", "psync", vec![0, 1], script);
    job.payload.content = Content::Carried;
    job.limit = Limit { passes: Some(passes(operands)), ..Limit::default() };
    job.finish.sync = match () {
        () if operands.converts("fsync") => Some(Verb::Fsync),
        () if operands.converts("fdatasync") => Some(Verb::Fdatasync),
        () => None,
    };
    job.finish.close = true;
    // Nothing of it is printed: of small blocks a few are timed.
    job.measure.sample_ns = SAMPLE_NS;
    job
}

/// Whether `count` is in bytes.
fn counts_bytes(operands: &Operands) -> Option<u64> {
    let by_flag = operands.input_flags.contains(&"count_bytes");
    operands.count.filter(|count| count.bytes || by_flag).map(|count| count.value)
}

/// Input blocks to copy; without `count` until the input ends.
fn passes(operands: &Operands) -> u64 {
    match (counts_bytes(operands), operands.count) {
        (Some(bytes), _) => bytes.div_ceil(operands.read_bytes()),
        (None, Some(count)) => count.value,
        (None, None) => u64::MAX,
    }
}

fn from(bytes: u64) -> Offset {
    if bytes == 0 { Offset::Next } else { Offset::NextFrom(bytes) }
}

fn read_step(operands: &Operands, skip_bytes: u64) -> Step {
    let read = Operation {
        offset: from(skip_bytes),
        size: Size::Fixed(operands.read_bytes()),
        transfer: Transfer {
            full: operands.input_flags.contains(&"fullblock"),
            pad: operands.converts("sync"),
            skip_failed: operands.converts("noerror"),
            total_bytes: counts_bytes(operands),
            ..Transfer::default()
        },
        at_end: AtEnd::Finish,
        conversion: charset::conversion(operands).map(Box::new),
        ..Operation::on(Verb::Read, 0)
    };
    read.step(READ)
}

fn write_step(operands: &Operands, seek_bytes: u64) -> Step {
    let as_read = !operands.gathers() && !operands.converts("sync");
    let write = Operation {
        // Where it is opened to append, the system moves every write to the end.
        offset: from(seek_bytes),
        size: if as_read { Size::ResultOf(READ.into()) } else { Size::Fixed(operands.write_bytes()) },
        transfer: Transfer {
            full: true,
            gather: operands.gathers(),
            sparse: operands.converts("sparse"),
            ..Transfer::default()
        },
        ..Operation::on(Verb::Write, 1)
    };
    write.step(WRITE)
}

/// The operation of a step; scripts of dd have no blocks.
pub fn operation(step: &Step) -> Option<&Operation> {
    match &step.action {
        Action::Do(operation) => Some(operation),
        Action::Block(_) | Action::Call(_) => None,
    }
}
