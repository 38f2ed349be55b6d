//! What is measured and how: the options, resolved against the path, the free space and the engines of this machine.
//!
//! Refuses a path that is not there or may not be touched, and a span too small for the cells to mean something.

use iodyno_model::{Diagnostic, Origin, units};

use super::cells::Budget;
use super::options::Options;
use crate::engine_choice::{ASYNCHRONOUS, SYNCHRONOUS};
use crate::{Loader, PathFacts, PathKind};

/// What is measured and how, decided before the plan is written.
#[derive(Clone, Debug)]
pub(super) struct Settings {
    pub path: String,
    pub kind: PathKind,
    /// Bytes that are touched, whole MiB.
    pub span_bytes: u64,
    pub budget: Budget,
    pub engine: &'static str,
    /// Why the engine is not the one that would be best.
    pub engine_note: Option<String>,
    pub seed: u64,
    /// Makes names unique: the process.
    pub unique: String,
    /// What will not be measured, and why.
    pub skipped: Vec<String>,
    pub facts: PathFacts,
}

impl Settings {
    /// Whether only reads are allowed.
    pub fn reads_only(&self) -> bool {
        self.kind != PathKind::Directory
    }
}

/// What the options come to on this machine.
pub(super) fn resolve(options: &Options, loader: &mut dyn Loader) -> Result<Settings, Diagnostic> {
    let origin = Origin::argument(&options.path);
    let facts = loader.look(&options.path).ok_or_else(|| {
        Diagnostic::error(&origin, "no such file or directory")
            .hint("name a directory to measure in, or a file or device that exists to read from")
    })?;
    let kind = facts.kind;
    if !matches!(kind, PathKind::File | PathKind::Directory | PathKind::BlockDevice) {
        return Err(Diagnostic::error(&origin, "neither a directory nor a file nor a block device")
            .hint("name a directory to measure in, e.g. iodyno measure /tmp"));
    }
    if kind != PathKind::Directory && !facts.readable {
        return Err(Diagnostic::error(&origin, "it cannot be read: permission denied").hint(match kind {
            PathKind::BlockDevice => "run as root, or as a member of the device's group",
            _ => "name a file that you may read, or a directory that you may write to",
        }));
    }
    if kind == PathKind::Directory && !facts.writable {
        return Err(Diagnostic::error(&origin, "this directory cannot be written to").hint(
            "measure needs a temporary file there; to measure reads alone, name a large file that exists in it",
        ));
    }
    let span_bytes = span(options, &facts, &origin)?;
    let (engine, engine_note) = engine(options.engine.as_deref(), loader)?;
    let mut budget = match (options.quick, options.full) {
        (true, _) => Budget::QUICK,
        (_, true) => Budget::FULL,
        _ => Budget::DEFAULT,
    };
    if let Some(ns) = options.time {
        (budget.cell_ns, budget.depth_ns, budget.made_ns) = (ns, ns, ns);
    }
    let skipped = match kind {
        PathKind::Directory => Vec::new(),
        PathKind::BlockDevice => vec!["writes, mix, appends and metadata: a device is only read".into()],
        _ => vec!["writes, mix, appends and metadata: a file that was there before is only read".into()],
    };
    Ok(Settings {
        path: options.path.clone(),
        kind,
        span_bytes,
        budget,
        engine,
        engine_note,
        seed: options.seed,
        unique: loader.process(),
        skipped,
        facts,
    })
}

/// The smallest span in which the cells mean something: 16 blocks of the largest.
const SPAN_LEAST: u64 = 16 << 20;

/// Whole blocks of the largest cell, 1 MiB.
pub(super) fn whole_blocks(bytes: u64) -> u64 {
    bytes & !((1 << 20) - 1)
}

fn span(options: &Options, facts: &PathFacts, origin: &Origin) -> Result<u64, Diagnostic> {
    let free = facts.target.free_bytes;
    let (bytes, there) = match facts.kind {
        PathKind::Directory => (options.size.unwrap_or((1 << 30).min(free.unwrap_or(u64::MAX) / 2)), free),
        _ => (options.size.unwrap_or(facts.bytes), Some(facts.bytes)),
    };
    let bytes = whole_blocks(bytes);
    if let (Some(there), Some(asked)) = (there.filter(|there| bytes > *there), options.size) {
        let (asked, there) = (units::binary(asked), units::binary(there));
        let what = if facts.kind == PathKind::Directory { "are free" } else { "is all it has" };
        return Err(Diagnostic::error(origin, format!("--size {asked}: only {there} {what}"))
            .hint("leave --size out to take what fits"));
    }
    if bytes < SPAN_LEAST {
        let (bytes, least) = (units::binary(bytes), units::binary(SPAN_LEAST));
        return Err(match facts.kind {
            PathKind::Directory if options.size.is_none() => {
                let free = units::binary(free.unwrap_or(0));
                Diagnostic::error(origin, format!("too little free space: {free}"))
                    .hint(format!("measure takes half of what is free and needs at least {least}"))
            }
            _ => Diagnostic::error(origin, format!("{bytes} are too few to measure"))
                .hint(format!("it takes at least {least}")),
        });
    }
    Ok(bytes)
}

/// Engines in order of preference.
fn engines() -> impl Iterator<Item = &'static str> {
    ASYNCHRONOUS.into_iter().chain(SYNCHRONOUS.into_iter().take(3))
}

fn engine(asked: Option<&str>, loader: &dyn Loader) -> Result<(&'static str, Option<String>), Diagnostic> {
    if let Some(asked) = asked {
        let origin = Origin::argument(&format!("--engine {asked}"));
        let Some(name) = engines().find(|name| *name == asked) else {
            let names: Vec<&str> = engines().collect();
            return Err(Diagnostic::error(&origin, "no engine of that name measures storage")
                .hint(format!("one of {}", names.join(", "))));
        };
        return match loader.engine_available(name) {
            Ok(()) => Ok((name, None)),
            Err(why) => {
                Err(Diagnostic::error(&origin, why).hint("leave --engine out to take the best that works"))
            }
        };
    }
    let mut note = None;
    for name in engines() {
        match loader.engine_available(name) {
            Ok(()) => {
                let note = note.map(|why: String| format!("{name} stands in for {}: {why}", ASYNCHRONOUS[0]));
                return Ok((name, note));
            }
            Err(why) => {
                note.get_or_insert(why);
            }
        }
    }
    Err(Diagnostic::error(&Origin::Default, "no engine works on this machine")
        .hint("iodyno engines tells what is missing"))
}
