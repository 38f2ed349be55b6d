//! From a command line to a plan without jobs: one phase that only watches.

use iodyno_model::{Intent, Phase, Plan, Watching};

use super::command::Command;
use super::settings::Selection;

const SECOND_NS: u64 = 1_000_000_000;

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
pub fn plan(command: &Command, selection: &Selection) -> Plan {
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
