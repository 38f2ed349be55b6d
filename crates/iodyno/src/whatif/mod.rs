//! `iodyno whatif`: what would be, by computation: a workload on simulated devices, and what a store can promise.
//!
//! Exit status: 0; 1 a simulated run failed; 2 the command is wrong.

mod calibrate;
mod cells;
mod on;
mod promises;
mod until;

use clap::Parser;
use iodyno_engine::world::World;

use crate::report_output::ReportArguments;
use crate::runs::{ended, parsed};

#[derive(Parser)]
#[command(name = "iodyno whatif", about = "Compute what would be: a workload on other devices, what a store can promise",
    disable_version_flag = true, after_help = AFTER)]
pub struct WhatifArgs {
    /// A plan (.toml), a job file (.fio), a script (.ior, .f), a trace, or a kept run: its number, a tag, last
    #[arg(value_name = "PLAN|TRACE|RUN", required_unless_present_any = ["promises", "calibrate"],
        conflicts_with_all = ["promises", "calibrate"])]
    workload: Option<String>,
    /// Simulated devices, by comma: names that iodyno devices lists, or files
    #[arg(long, value_name = "DEVICES", value_delimiter = ',', conflicts_with = "promises")]
    on: Vec<String>,
    /// Find the limit at which this still holds, e.g. 'read.p99 < 5ms' or 'write.iops > 6000'
    #[arg(long, value_name = "CONDITION", conflicts_with = "promises")]
    until: Option<String>,
    /// What --until varies
    #[arg(long, value_name = "WHAT", value_enum, default_value = "load", requires = "until")]
    vary: until::Variable,
    /// What a store can promise: nines of durability and availability, and its consistency
    #[arg(long)]
    promises: bool,
    #[command(flatten)]
    store: promises::StoreArguments,
    /// Fit a simulated device to a run: its number, a tag, last, or a JSON file of it
    #[arg(long, value_name = "RUN", requires = "to", conflicts_with_all = ["promises", "on", "until"])]
    calibrate: Option<String>,
    /// The device file that --calibrate writes; it must not exist
    #[arg(long, value_name = "FILE", requires = "calibrate")]
    to: Option<String>,
    /// Seed of what is drawn
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    #[command(flatten)]
    report: ReportArguments,
}

const AFTER: &str = "Examples:\n  iodyno whatif examples/depth.toml --on hdd-7200,cloud-6000\n  \
iodyno whatif last --on cloud-6000 --until 'read.p99 < 5ms' --vary cap\n  \
iodyno whatif --calibrate last --to my-device.toml\n  \
iodyno whatif --promises --afr 1.5% --replicas 3 --repair 12h\n\
docs/whatif.md explains the figures.";

/// Does `iodyno whatif ARGUMENTS…`; the exit status.
pub fn answer(world: &mut World, arguments: &[String]) -> u8 {
    match parsed::<WhatifArgs>("iodyno whatif", arguments) {
        Ok(words) if words.promises => ended(promises::told(&words)),
        Ok(words) => match &words.calibrate {
            Some(run) => ended(calibrate::told(&words, run)),
            None => ended(on::told(world, &words, arguments)),
        },
        Err(status) => status,
    }
}
