//! `iodyno whatif`: what would be, by computation: `--promises` says what a store can promise.
//!
//! Exit status: 0; 2 the command is wrong.

mod promises;

use clap::Parser;

use crate::runs::{ended, parsed};

#[derive(Parser)]
#[command(name = "iodyno whatif", about = "Compute what would be: what a store can promise", disable_version_flag = true,
    after_help = AFTER)]
pub struct WhatifArgs {
    /// What a store can promise: nines of durability and availability, and its consistency
    #[arg(long, required = true)]
    promises: bool,
    #[command(flatten)]
    store: promises::StoreArguments,
    /// Seed of the Monte Carlo
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// As JSON
    #[arg(long)]
    json: bool,
}

const AFTER: &str = "Examples:\n  iodyno whatif --promises --afr 1.5% --replicas 3 --repair 12h\n  \
iodyno whatif --promises --afr 1.5% --code 8+3 --domains 11 --repair 12h --outages 4 --outage 30min\n\
docs/whatif.md explains the figures.";

/// Does `iodyno whatif ARGUMENTS…`; the exit status.
pub fn answer(arguments: &[String]) -> u8 {
    match parsed::<WhatifArgs>("iodyno whatif", arguments) {
        Ok(words) => ended(promises::told(&words)),
        Err(status) => status,
    }
}
