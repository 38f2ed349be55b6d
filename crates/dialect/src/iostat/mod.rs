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
pub mod report;

use iodyno_model::{Diagnostic, Intent, Origin, Phase, Plan, Record, Watching};

use crate::{Dialect, Loader, Request, Run};
use cell::{Colours, FigureStyle};
use columns::Layout;
use command::{Command, EarlyExit, Unit};
use device::{DeviceNames, names, watched};
use report::{Reports, Selection, Settings};

pub const DIALECT: Dialect = Dialect {
    name: "iostat",
    about: "report the kernel's counters of block devices and processors (sysstat)",
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
    let command = match command::parse(arguments) {
        Ok(command) => command,
        Err(EarlyExit::Version) => {
            let ours = env!("CARGO_PKG_VERSION");
            let out = format!("sysstat version {}\n(iodyno {ours})\n", layout.version());
            return Ok(Request::Print { out, status: 0 });
        }
        Err(EarlyExit::Wrong(what)) => return refuse(format!("iostat: {what}\n{}", options::usage())),
    };
    let names = match names(&command, loader) {
        Ok(names) => names,
        Err(what) => return refuse(format!("iostat: {what}\n")),
    };
    let selection = selection(&command, &names, loader);
    let plan = plan(&command, &selection);
    let settings = settings(command, layout, selection, names, loader);
    Ok(Request::Run(Box::new(run(plan, settings))))
}

fn run(plan: Plan, settings: Settings) -> Run {
    Run {
        own_voice: true,
        findings: false,
        translate: |_| None,
        status: Some(Box::new(status)),
        ..Run::of(plan, Box::new(Reports::new(settings)))
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
fn selection(command: &Command, names: &DeviceNames, loader: &mut dyn Loader) -> Selection {
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
    let mut alone = all(&command.devices);
    if !command.groups.is_empty() {
        let groups = command.groups.iter().map(|group| (group.name.clone(), all(&group.devices))).collect();
        return Selection::Groups { alone, groups, only: command.only_groups };
    }
    let partitions = command.all_partitions;
    if alone.is_empty() || partitions || command.unused {
        return Selection::All { unused: command.unused, sorted: !partitions };
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
fn plan(command: &Command, selection: &Selection) -> Plan {
    let every_ns = command.interval.unwrap_or(0) * SECOND_NS;
    let first = u64::from(command.without_first);
    let count = match (every_ns, command.count) {
        (0, _) => 1,
        (_, None) => 0,
        (_, Some(count)) => count.saturating_add(first),
    };
    let watch = Watching {
        every_ns,
        count,
        devices: devices(selection),
        partitions: command.all_partitions,
        since_boot: true,
    };
    let phase = Phase { name: "watch".into(), watch: Some(watch), ..Phase::default() };
    Plan { name: "iostat".into(), intent: Intent::Device, phases: vec![phase], ..Plan::default() }
}

fn settings(
    command: Command,
    layout: Layout,
    selection: Selection,
    names: DeviceNames,
    loader: &mut dyn Loader,
) -> Settings {
    let posix = loader.variable("POSIXLY_CORRECT").is_some();
    let default = if posix || layout == Layout::Nine { Unit::Sectors } else { Unit::Kilo };
    let colours = match loader.variable("S_COLORS").as_deref() {
        Some("always") => true,
        Some("never") => false,
        _ => loader.colour() && layout == Layout::Twelve,
    };
    let sgr = loader.variable("S_COLORS_SGR").unwrap_or_default();
    let style = FigureStyle {
        unit: command.unit.unwrap_or(default),
        decimals: command.decimals.unwrap_or(2),
        human: command.human,
        colours: colours.then(|| Colours::new(&sgr)),
    };
    let iso = loader.variable("S_TIME_FORMAT").as_deref() == Some("ISO");
    let (east_s, architecture, cpus) = (loader.east_s(), architecture(loader), cpus(loader));
    Settings { command, layout, style, iso, east_s, selection, names, architecture, cpus }
}

/// What the kernel calls the machine's architecture; `unknown` where it does not tell.
fn architecture(loader: &mut dyn Loader) -> String {
    let name = loader.read("/proc/sys/kernel/arch").unwrap_or_default();
    let name = String::from_utf8_lossy(&name).trim().to_string();
    if name.is_empty() { "unknown".into() } else { name }
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
