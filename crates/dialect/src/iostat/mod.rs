//! iostat: what the kernel counted of block devices and processors, in sysstat's columns.
//!
//! A plan without jobs: one phase that only watches. The figures come from the same witness as everywhere else; old
//! scripts find old columns with `layout=`.

mod cell;
pub mod columns;
pub mod command;
mod device;
mod figures;
mod json;
pub mod options;
pub mod text;

use iodyno_model::{Diagnostic, Intent, Origin, Phase, Plan, Record, Watching};

use crate::{Dialect, Loader, Request, Run};
use cell::{Colours, Style};
use columns::Layout;
use command::{Command, Partitions, Stop, Unit};
use device::{Names, names, watched};
use text::{Reports, Selection, View};

/// The dialect.
pub const DIALECT: Dialect = Dialect {
    name: "iostat",
    about: "what the kernel counted of block devices and processors (sysstat)",
    drop_in: true,
    also: &["layout"],
    lower: request,
};

const SECOND_NS: u64 = 1_000_000_000;

fn request(arguments: &[String], loader: &mut dyn Loader) -> Result<Request, Vec<Diagnostic>> {
    let refuse = |err: String| Ok(Request::Refuse { err, status: 1 });
    let layout = match loader.also("layout").map(|word| (Layout::named(&word), word)) {
        None => Layout::default(),
        Some((Some(layout), _)) => layout,
        Some((None, word)) => {
            let wrong = format!("`layout={word}`: expected 9, 10, 11 or 12, a version of sysstat");
            return Err(vec![Diagnostic::error(&Origin::argument("--also"), wrong)]);
        }
    };
    let wanted = match command::parse(arguments) {
        Ok(wanted) => wanted,
        Err(Stop::Version) => {
            let ours = env!("CARGO_PKG_VERSION");
            let out = format!("sysstat version {}\n(iodyno {ours})\n", layout.version());
            return Ok(Request::Print { out, status: 0 });
        }
        Err(Stop::Wrong(what)) => return refuse(format!("iostat: {what}\n{}", options::usage())),
    };
    let names = match names(&wanted, loader) {
        Ok(names) => names,
        Err(what) => return refuse(format!("iostat: {what}\n")),
    };
    let selection = selection(&wanted, &names, loader);
    let plan = plan(&wanted, &selection);
    let view = view(&wanted, layout, selection, names, loader);
    Ok(Request::Run(Box::new(run(plan, view))))
}

fn run(plan: Plan, view: View) -> Run {
    Run {
        own_voice: true,
        findings: false,
        translate: |_| None,
        status: Some(Box::new(status)),
        ..Run::of(plan, Box::new(Reports::new(view)))
    }
}

/// An interrupt is how a run without an end ends.
fn status(record: &Record) -> u8 {
    const SIGINT: i32 = 2;
    match record.stopped_by {
        None | Some(SIGINT) => u8::from(!record.errors.is_empty()),
        Some(signal) => (128 + signal) as u8,
    }
}

/// Which devices are shown.
fn selection(wanted: &Command, names: &Names, loader: &mut dyn Loader) -> Selection {
    let mut all = |typed: &[(String, bool)]| {
        let mut found: Vec<String> = Vec::new();
        for (name, partitions) in typed {
            for device in watched(name, *partitions, names, loader) {
                if !found.contains(&device) {
                    found.push(device);
                }
            }
        }
        found
    };
    let mut alone = all(&wanted.devices);
    if !wanted.groups.is_empty() {
        let groups = wanted.groups.iter().map(|group| (group.name.clone(), all(&group.devices))).collect();
        return Selection::Groups { alone, groups, only: wanted.only_groups };
    }
    let partitions = wanted.partitions == Partitions::OfAll;
    if alone.is_empty() || partitions || wanted.unused {
        return Selection::All { unused: wanted.unused, sorted: !partitions };
    }
    alone.sort();
    Selection::Named(alone)
}

/// The devices that must be watched for a selection; none: all.
fn devices(selection: &Selection) -> Vec<String> {
    match selection {
        Selection::All { .. } => Vec::new(),
        Selection::Named(names) => names.clone(),
        Selection::Groups { groups, .. } if groups.iter().any(|(_, devices)| devices.is_empty()) => {
            Vec::new()
        }
        Selection::Groups { alone, groups, .. } => {
            let mut all: Vec<String> =
                alone.iter().chain(groups.iter().flat_map(|(_, devices)| devices)).cloned().collect();
            all.sort();
            all.dedup();
            all
        }
    }
}

/// The plan: one phase that watches. The first sample is always taken: it tells which devices were ever used.
fn plan(wanted: &Command, selection: &Selection) -> Plan {
    let every_ns = wanted.interval.unwrap_or(0) * SECOND_NS;
    let first = u64::from(wanted.without_first);
    let count = match (every_ns, wanted.count) {
        (0, _) => 1,
        (_, None) => 0,
        (_, Some(count)) => count.saturating_add(first),
    };
    let watch = Watching {
        every_ns,
        count,
        devices: devices(selection),
        partitions: wanted.partitions == Partitions::OfAll,
        since_boot: true,
    };
    let phase = Phase { name: "watch".into(), watch: Some(watch), ..Phase::default() };
    Plan { name: "iostat".into(), intent: Intent::Device, phases: vec![phase], ..Plan::default() }
}

fn view(
    wanted: &Command,
    layout: Layout,
    selection: Selection,
    names: Names,
    loader: &mut dyn Loader,
) -> View {
    let posix = loader.variable("POSIXLY_CORRECT").is_some();
    let default = if posix || layout == Layout::Nine { Unit::Sectors } else { Unit::Kilo };
    let colours = match loader.variable("S_COLORS").as_deref() {
        Some("always") => true,
        Some("never") => false,
        _ => loader.colour() && layout == Layout::Twelve,
    };
    let sgr = loader.variable("S_COLORS_SGR").unwrap_or_default();
    View {
        layout,
        extended: wanted.extended,
        short: wanted.short,
        pretty: wanted.pretty,
        compact: wanted.compact,
        style: Style {
            unit: wanted.unit.unwrap_or(default),
            decimals: wanted.decimals,
            human: wanted.human,
            colours: colours.then(|| Colours::new(&sgr)),
        },
        json: wanted.json,
        timed: wanted.timed,
        iso: loader.variable("S_TIME_FORMAT").as_deref() == Some("ISO"),
        east_s: loader.east_s(),
        cpu: wanted.shows_cpu(),
        disks: wanted.shows_disks(),
        without_idle: wanted.without_idle,
        without_first: wanted.without_first && wanted.interval.is_some_and(|seconds| seconds > 0),
        selection,
        names,
        architecture: architecture(loader),
        cpus: cpus(loader),
    }
}

/// What the kernel calls the machine's architecture; `unknown` where it does not tell.
fn architecture(loader: &mut dyn Loader) -> String {
    let told = loader.read("/proc/sys/kernel/arch").ok();
    let told = told.map(|bytes| String::from_utf8_lossy(&bytes).trim().to_string());
    told.filter(|name| !name.is_empty()).unwrap_or_else(|| "unknown".into())
}

/// The machine's processors, those that this program may not use included: `0-3,6`.
fn cpus(loader: &mut dyn Loader) -> Option<u32> {
    let list = loader.read("/sys/devices/system/cpu/online").ok()?;
    let list = String::from_utf8_lossy(&list).trim().to_string();
    let range = |range: &str| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        last.parse::<u32>().ok()?.checked_sub(first.parse().ok()?)?.checked_add(1)
    };
    list.split(',').map(range).sum()
}
