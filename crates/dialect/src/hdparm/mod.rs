//! hdparm: `-T` and `-t`, the two lines everybody knows; nothing that touches a drive's settings.
//!
//! Cached reads are a phase that means the cache, device reads one that means the device; both are plain patterns.

pub(crate) mod advice;
pub mod options;
pub mod text;

use iodyno_model::{
    Diagnostic, Direct, Extent, Intent, Job, Limit, Open, OpenMode, Origin, Pattern, Phase, Pick, Plan,
    Prepare, Span, Target, TargetKind, Verb, Workload,
};

use crate::option::{Arguments, GivenOption, Misfit, Syntax, Token};
use crate::{Dialect, Loader, PathKind, Request, Run};
use options::TABLE;
use text::{Part, Timings};

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    name: "hdparm",
    about: "time cached and device reads (hdparm -T -t)",
    drop_in: true,
    also: &[],
    lower: request,
};

/// One read.
const BLOCK_BYTES: u64 = 2 << 20;
const CACHED_NS: u64 = 2_000_000_000;
const DEVICE_NS: u64 = 3_000_000_000;
const ENOENT: i32 = 2;
const EINVAL: i32 = 22;

/// What the command line says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Command {
    /// `-T`.
    pub cached: bool,
    /// `-t`.
    pub device: bool,
    /// `--direct`.
    pub direct: bool,
    /// `--offset`, in GiB.
    pub offset_gib: Option<u64>,
    /// The devices.
    pub devices: Vec<String>,
}

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let refuse = |err: String, status: i32| Ok(Request::Refuse { err, status });
    let wanted = match parse(arguments) {
        Ok(Ok(wanted)) => wanted,
        Ok(Err(print)) => return Ok(Request::Print { out: print, status: 0 }),
        Err(err) => return refuse(err, EINVAL),
    };
    for device in &wanted.devices {
        match loader.look(device) {
            None => return refuse(format!("{device}: {}\n", crate::strerror::of_system(ENOENT)), ENOENT),
            Some(facts)
                if matches!(facts.kind, PathKind::File | PathKind::BlockDevice)
                    && facts.bytes < BLOCK_BYTES =>
            {
                return refuse(format!("{device}: device too small: 2 MiB is read at a time\n"), 5);
            }
            Some(_) => {}
        }
    }
    let (plan, parts) = lower(&wanted, loader);
    Ok(Request::Run(Box::new(Run {
        dies_of_signals: true,
        own_voice: true,
        translate: advice::translate,
        error_status: 5,
        ..Run::of(plan, Box::new(Timings::new(parts)))
    })))
}

/// What is wanted, or a text to print instead.
///
/// # Errors
/// What is wrong, for standard error.
pub fn parse(arguments: &[String]) -> Result<Result<Command, String>, String> {
    let mut wanted = Command::default();
    let mut rest = Arguments::new(&TABLE, Syntax::GETOPT, arguments);
    while let Some(token) = rest.next() {
        match token {
            Ok(Token::Option(given)) => {
                if let Some(print) = take(given, &mut wanted)? {
                    return Ok(Err(print));
                }
            }
            Ok(Token::Operand(device)) => wanted.devices.push(device.into()),
            Ok(Token::Separator) => {
                wanted.devices.extend_from_slice(rest.rest());
                break;
            }
            Err(Misfit::Unfinished { .. }) => wanted.offset_gib = Some(gibibytes("")?),
            Err(misfit) => return Err(format!("{}: unknown flag\n\n{}", misfit.name(), options::help())),
        }
    }
    match wanted.devices.is_empty() || !(wanted.cached || wanted.device) {
        true => Err(format!("hdparm: nothing to time: name -t or -T, and a device\n\n{}", options::help())),
        false => Ok(Ok(wanted)),
    }
}

/// The bytes of an offset in GiB.
fn gibibytes(text: &str) -> Result<u64, String> {
    let fits = |gib: &u64| *gib < 1 << 33;
    text.parse()
        .ok()
        .filter(fits)
        .ok_or_else(|| format!("hdparm: --offset: `{text}`: expected a number of GiB\n"))
}

fn take(given: GivenOption<'_>, wanted: &mut Command) -> Result<Option<String>, String> {
    TABLE.check(given.entry.name, &Origin::Default).map_err(|refused| {
        let hint = refused.hint.map(|hint| format!(" hint: {hint}\n")).unwrap_or_default();
        format!("hdparm: {}\n{hint}", refused.message)
    })?;
    match given.entry.name {
        "offset" => wanted.offset_gib = Some(gibibytes(given.value.unwrap_or_default())?),
        "t" => wanted.device = true,
        "T" => wanted.cached = true,
        "direct" => wanted.direct = true,
        "h" => return Ok(Some(options::help())),
        "V" => return Ok(Some(format!("hdparm (iodyno) {}\n", env!("CARGO_PKG_VERSION")))),
        _ => {}
    }
    Ok(None)
}

/// The plan, and what each of its phases is to the reader.
pub fn lower(wanted: &Command, loader: &mut dyn Loader) -> (Plan, Vec<Part>) {
    let mut plan = Plan { name: "hdparm".into(), intent: Intent::Device, ..Plan::default() };
    let mut parts = Vec::new();
    for device in &wanted.devices {
        let mut first = Some(device.clone());
        if wanted.cached {
            let at = add_target(&mut plan, device, wanted.direct, false, loader);
            plan.phases.push(warm(device, at));
            parts.push(Part::Quiet { device: first.take() });
            plan.phases.push(cached(device, at));
            parts.push(Part::Timed { device: None, label: cached_label(wanted.direct) });
        }
        if wanted.device {
            let at = add_target(&mut plan, device, wanted.direct, true, loader);
            plan.phases.push(sequential(device, at, wanted.offset_gib.unwrap_or(0) << 30));
            parts.push(Part::Timed { device: first.take(), label: device_label(wanted) });
        }
    }
    (plan, parts)
}

fn cached_label(direct: bool) -> String {
    format!("Timing {}cached reads:  ", if direct { "O_DIRECT " } else { "" })
}

fn device_label(wanted: &Command) -> String {
    let what = if wanted.direct { "O_DIRECT" } else { "buffered" };
    let offset = wanted.offset_gib.map(|gib| format!(" (offset {gib} GB)")).unwrap_or_default();
    format!("Timing {what} disk reads{offset}:")
}

fn add_target(plan: &mut Plan, device: &str, direct: bool, emptied: bool, loader: &mut dyn Loader) -> usize {
    let block = loader.look(device).is_some_and(|facts| facts.kind == PathKind::BlockDevice);
    let path = device.to_string();
    let kind =
        if block { TargetKind::Device { path } } else { TargetKind::File { path, size: Extent::Rest } };
    let direct = if direct { Direct::Yes } else { Direct::No };
    let open = Open { mode: OpenMode::Read, direct, invalidate: emptied, ..Open::default() };
    let origin = Origin::argument(device);
    plan.targets.push(Target {
        name: device.into(),
        kind,
        open,
        prepare: Prepare::AsItIs,
        remove: false,
        origin,
    });
    plan.targets.len() - 1
}

/// The first block once, so that it is in the cache.
fn warm(device: &str, target: usize) -> Phase {
    let job = job("warm", target, Span { length: Extent::Bytes(BLOCK_BYTES), ..Span::default() });
    phase(
        format!("{device} warm"),
        Job { limit: Limit { passes: Some(1), ..Limit::default() }, ..job },
        Intent::Cache,
    )
}

fn cached(device: &str, target: usize) -> Phase {
    let job = job("cached", target, Span { length: Extent::Bytes(BLOCK_BYTES), ..Span::default() });
    let limit = Limit { time_ns: Some(CACHED_NS), ..Limit::default() };
    phase(format!("{device} cached"), Job { limit, ..job }, Intent::Cache)
}

fn sequential(device: &str, target: usize, offset_bytes: u64) -> Phase {
    let job = job("device", target, Span { offset: Extent::Bytes(offset_bytes), ..Span::default() });
    let limit = Limit { time_ns: Some(DEVICE_NS), passes: Some(1), ..Limit::default() };
    phase(format!("{device} device"), Job { limit, ..job }, Intent::Device)
}

fn job(name: &str, target: usize, span: Span) -> Job {
    let pattern = Pattern { span, ..Pattern::of(Verb::Read, Pick::Sequential, BLOCK_BYTES) };
    Job::new(name, "psync", vec![target], Workload::Pattern(Box::new(pattern)))
}

fn phase(name: String, job: Job, intent: Intent) -> Phase {
    Phase { name, jobs: vec![job], intent: Some(intent), ..Phase::default() }
}
