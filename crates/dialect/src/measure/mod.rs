//! `iodyno measure [PATH]`: the honest card of a directory, a file or a device, in about a minute.
//!
//! Words to plan here and in [`plan`]; events to the card in [`card`]. A directory gets a temporary file that is always
//! removed; a file or a device that exists is only ever read: there is no option that would change that.

pub(crate) mod advice;
mod card;
mod cells;
mod class;
mod gather;
mod left;
mod plan;
mod text;

use clap::Parser;
use iodyno_model::{Diagnostic, Origin, units};
use iodyno_report::Reporter;
use iodyno_report::native::Native;

use crate::engine_choice::{ASYNCHRONOUS, SYNCHRONOUS};
use crate::native::{ExportArguments, KeepArguments, WatchArguments, WorldArguments};
use crate::run_options::RunOptions;
use crate::{Dialect, Loader, PathFacts, PathKind, Request, Run};
use cells::Budget;

/// The command in the list of dialects.
pub const DIALECT: Dialect = Dialect {
    name: "measure",
    about: "an honest profile of a directory, a file or a device, in about a minute",
    drop_in: false,
    also: &[],
    lower,
};

/// How often the live line is fed, ns.
const LIVE_NS: u64 = 500_000_000;

/// What is said about the command in its help.
const AFTER: &str = "A directory gets a temporary file that is always removed. An existing file or a device is only \
read, never written. The report goes to standard output; what its figures mean is in docs/numbers.md.";

#[derive(Debug, Parser)]
#[command(name = "iodyno measure", about = DIALECT.about, after_help = AFTER, disable_version_flag = true)]
struct Options {
    /// A directory, an existing file, or a block device
    #[arg(default_value = ".")]
    path: String,
    /// About 15 s: three short passes, depths 1 4 16 64
    #[arg(long, conflicts_with = "full")]
    quick: bool,
    /// About 6 minutes: 5 s a measurement, depths to 256
    #[arg(long)]
    full: bool,
    /// Time of each measurement, e.g. 2s or 500ms
    #[arg(long, value_name = "T", value_parser = time)]
    time: Option<u64>,
    /// Random 4 KiB I/O for this long, e.g. 2h, to see its stability (70 % reads; on a file or device 100 %)
    #[arg(long, value_name = "T", value_parser = time, conflicts_with_all = ["quick", "full", "time"])]
    long: Option<u64>,
    /// Fail if this condition holds, e.g. 'read.p99 > 5ms'; a cell by its name, e.g. 'PHASE.read.iops < 6000'; repeatable
    #[arg(long = "fail-if", value_name = "CONDITION")]
    fail_if: Vec<String>,
    /// Print explained findings in full
    #[arg(long)]
    details: bool,
    /// Bytes to read and write [default: 1 GiB or half of the free space; all of a file or device]
    #[arg(long, value_name = "S", value_parser = size)]
    size: Option<u64>,
    /// Engine [default: io_uring, or the best that is available]
    #[arg(long, value_name = "NAME")]
    engine: Option<String>,
    /// Seed of every offset and byte
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    #[command(flatten)]
    export: ExportArguments,
    #[command(flatten)]
    watch: WatchArguments,
    #[command(flatten)]
    keep: KeepArguments,
    #[command(flatten)]
    world: WorldArguments,
}

fn time(text: &str) -> Result<u64, String> {
    units::parse_ns(text).and_then(|ns| match ns {
        0..10_000_000 => Err("a measurement takes at least 10ms".into()),
        ns => Ok(ns),
    })
}

fn size(text: &str) -> Result<u64, String> {
    units::parse_bytes(text)
}

/// What is measured and how, decided before the plan is written.
#[derive(Clone, Debug)]
struct Setup {
    path: String,
    kind: PathKind,
    /// Bytes that are touched, whole MiB.
    span_bytes: u64,
    budget: Budget,
    engine: &'static str,
    /// Why the engine is not the one that would be best.
    engine_note: Option<String>,
    seed: u64,
    /// Makes names unique: the process.
    unique: String,
    /// What will not be measured, and why.
    skipped: Vec<String>,
    facts: PathFacts,
}

impl Setup {
    /// Whether only reads are allowed.
    fn reads_only(&self) -> bool {
        self.kind != PathKind::Directory
    }
}

fn lower(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let arguments: Vec<String> = crate::dashes(arguments).into_iter().map(long_option).collect();
    let options: Options = match crate::native::parsed("iodyno measure", &arguments)? {
        Ok(options) => options,
        Err(help) => return Ok(help),
    };
    if let Some(elsewhere) = options.world.elsewhere(loader)? {
        return Ok(Request::Hosts(elsewhere));
    }
    let setup = setup(&options, loader).map_err(|wrong| vec![wrong])?;
    let mut plan = match options.long {
        Some(ns) => plan::long(&setup, ns),
        None => plan::plan(&setup),
    };
    let asked = RunOptions { fail_if: options.fail_if.clone(), ..RunOptions::default() };
    asked.apply(&mut plan, "").map_err(|wrong| vec![wrong])?;
    let left = left::find(&setup, loader);
    let engine = setup.engine_note.iter().map(|note| Diagnostic::note(&Origin::Default, note.as_str()));
    let messages = engine.chain(left.unknown).collect();
    let reporter: Box<dyn Reporter> = match options.long {
        Some(_) => Box::new(Native::new(loader.colour()).details(options.details)),
        None => Box::new(card::Card::new(setup, loader.colour(), options.details)),
    };
    Ok(Request::Run(Box::new(Run {
        files: options.export.clone().files(),
        keep: options.keep.clone().keep(),
        messages,
        abandoned: left.abandoned,
        live_ns: LIVE_NS,
        unwatched: options.watch.unwatched(),
        tells_all: true,
        translate: advice::translate,
        ..Run::of(plan, reporter)
    })))
}

/// An option with both its hyphens: a web page makes one dash of the two, and there is no other option than a long one.
fn long_option(argument: String) -> String {
    match argument.strip_prefix('-') {
        Some(word) if word.len() > 1 && !word.starts_with('-') => format!("--{word}"),
        _ => argument,
    }
}

fn setup(options: &Options, loader: &mut dyn Loader) -> Result<Setup, Diagnostic> {
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
    Ok(Setup {
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
fn whole_blocks(bytes: u64) -> u64 {
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
