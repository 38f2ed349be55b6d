//! What is printed of the samples: which devices, under which names, in whose columns, with the environment's say.

use super::cell::{Colours, FigureStyle};
use super::columns::Layout;
use super::command::{Command, Unit};
use super::device::{DeviceNames, watched};
use crate::Loader;

/// Which devices are shown, in which order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// Every one.
    All {
        /// Those that were never used, too.
        unused: bool,
        /// By name; else as the kernel lists them.
        sorted: bool,
    },
    /// Those of these names.
    Named(Vec<String>),
    /// These alone, then groups.
    Groups {
        /// Devices outside any group.
        alone: Vec<String>,
        /// Each group's name and devices; none: all that were used.
        groups: Vec<(String, Vec<String>)>,
        /// The groups' own lines only.
        only: bool,
    },
}

/// What is printed of the samples.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The options.
    pub command: Command,
    /// Whose columns.
    pub layout: Layout,
    /// How figures are printed.
    pub style: FigureStyle,
    /// The time as ISO 8601.
    pub iso: bool,
    /// Seconds that local time is east of Greenwich.
    pub east_s: i64,
    /// Which devices.
    pub selection: Selection,
    /// What they are called.
    pub names: DeviceNames,
    /// The machine's architecture, as the kernel calls it.
    pub architecture: String,
    /// The machine's processors; none: as many as may be used.
    pub cpus: Option<u32>,
}

impl Selection {
    /// Which devices a command line shows.
    pub fn of(command: &Command, names: &DeviceNames, loader: &mut dyn Loader) -> Self {
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
            let groups =
                command.groups.iter().map(|group| (group.name.clone(), all(&group.devices))).collect();
            return Selection::Groups { alone, groups, only: command.only_groups };
        }
        let partitions = command.all_partitions;
        if alone.is_empty() || partitions || command.unused {
            return Selection::All { unused: command.unused, sorted: !partitions };
        }
        alone.sort();
        Selection::Named(alone)
    }
}

impl Settings {
    /// What a command line and the environment ask for.
    pub fn of(
        command: Command,
        layout: Layout,
        selection: Selection,
        names: DeviceNames,
        loader: &mut dyn Loader,
    ) -> Self {
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
