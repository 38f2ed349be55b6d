//! `iodyno trace COMMAND`: recorded I/O is shown, shaped and written in other formats.
//!
//! Each command is a file here: its words for clap, and a function from them to the exit status. The work on records is
//! the crate `trace`'s; here files are opened and messages are printed.

mod anonymise;
mod blktraces;
mod cut;
mod dump;
mod export;
mod filter;
mod fit;
mod import;
mod input;
mod merge;
pub mod output;
mod remap;
mod scale;
mod stat;
mod words;
mod written;

pub use blktraces::merge_blktraces;

use clap::{Parser, Subcommand};
use iodyno_model::Diagnostic;

use crate::runs::{ended, one, parsed};

#[derive(Parser)]
#[command(name = "iodyno trace", about = "Show, shape and convert recorded I/O", disable_version_flag = true,
    subcommand_required = true, disable_help_subcommand = true, after_help = AFTER)]
pub struct TraceArgs {
    #[command(subcommand)]
    command: TraceCommand,
}

const AFTER: &str = "A trace is a file of ours (.iot); - is standard input. Every command has its own --help; \
docs/trace.md explains them.";

#[derive(Subcommand)]
enum TraceCommand {
    /// Make a trace of what other programs recorded
    Import(Box<import::ImportArgs>),
    /// Derive a synthetic plan that resembles the trace, and say how far it is from it
    Fit(fit::FitArgs),
    /// What the load is: sizes, mix, hot spots, caches, arrivals, depth, latency
    Stat(stat::StatArgs),
    /// Print a trace as text that `trace import` reads back
    Dump(dump::DumpArgs),
    /// Write a trace in the format of another program
    Export(export::ExportArgs),
    /// Keep a part of a trace, by time or by record
    Cut(cut::CutArgs),
    /// Keep some of the records
    Filter(filter::FilterArgs),
    /// Multiply times or offsets
    Scale(scale::ScaleArgs),
    /// Merge traces by their times
    Merge(merge::MergeArgs),
    /// Rename files and devices, or make them shorter
    Remap(remap::RemapArgs),
    /// Replace names and digests by numbers
    Anonymise(anonymise::AnonymiseArgs),
}

/// What a command comes to: its exit status, or what is wrong.
type Answer = Result<u8, Diagnostic>;

/// Does `iodyno trace ARGUMENTS…`; the exit status.
pub fn answer(arguments: &[String]) -> u8 {
    let words = match parsed::<TraceArgs>("iodyno trace", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let done = match words.command {
        TraceCommand::Import(words) => import::answer(&words),
        TraceCommand::Dump(words) => dump::answer(&words),
        TraceCommand::Export(words) => export::answer(&words),
        TraceCommand::Cut(words) => cut::answer(&words),
        TraceCommand::Filter(words) => filter::answer(&words),
        TraceCommand::Scale(words) => scale::answer(&words),
        TraceCommand::Merge(words) => merge::answer(&words),
        TraceCommand::Remap(words) => remap::answer(&words),
        TraceCommand::Anonymise(words) => anonymise::answer(&words),
        TraceCommand::Fit(words) => fit::answer(&words),
        TraceCommand::Stat(words) => stat::answer(&words),
    };
    ended(done.map_err(one))
}
