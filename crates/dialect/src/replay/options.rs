//! The options of `iodyno replay`, each with the text of its help.

use clap::{Parser, ValueEnum};
use iodyno_model::{Verb, units};

use super::DIALECT;
use crate::native::{Manner, WorldArguments};

/// What is said about the command in its help.
const AFTER: &str = "TRACE is a file of iodyno (.iot) or of any format that iodyno trace import reads. A trace of devices \
goes to devices or files, in the order of the trace, or to a directory with a file for each; a trace of files goes to a \
directory, in which everything is made that the trace needs. What holds data is written only with --destroy. The report \
ends with a certificate: how late operations were, what was left out, what came back. docs/replay.md describes it.";

#[derive(Debug, Parser)]
#[command(name = "iodyno replay", about = DIALECT.about, after_help = AFTER, disable_version_flag = true)]
pub(super) struct Options {
    /// The recorded trace
    pub(super) trace: String,
    /// Devices, files, or one directory
    #[arg(value_name = "TARGET")]
    pub(super) targets: Vec<String>,
    /// Format of the trace, where its content does not say it (iodyno trace import --list)
    #[arg(long = "as", value_name = "NAME")]
    pub(super) format: Option<String>,
    /// When operations are issued
    #[arg(long, value_enum, default_value = "original")]
    pub(super) mode: Mode,
    /// Replay so many times faster, e.g. 2 or 0.5
    #[arg(long, value_name = "FACTOR", value_parser = factor)]
    pub(super) speed: Option<f64>,
    /// Cut pauses longer than this to this, e.g. 1s
    #[arg(long, value_name = "T", value_parser = units::parse_ns)]
    pub(super) idle: Option<u64>,
    /// Replay the trace so many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) loops: u64,
    /// Issue each record so many times, side by side
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1024))]
    pub(super) copies: u32,
    /// Distance of one copy's offsets from the next's, e.g. 10GiB [default: each copy has its own targets]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
    pub(super) shift: Option<u64>,
    /// Replay this file or device of the trace on this target, e.g. 8,0=/dev/sdb; repeatable
    #[arg(long, value_name = "SRC=DST")]
    pub(super) map: Vec<String>,
    /// Map offsets beyond the end of a target, or of a file that is there in a tree
    #[arg(long, value_enum)]
    pub(super) remap: Option<RemapWord>,
    /// Round offsets down and sizes up to a multiple of this, e.g. 4k
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
    pub(super) align: Option<u64>,
    /// Leave out these verbs, e.g. trim,sync; or any verb's name
    #[arg(long, value_name = "VERBS", value_delimiter = ',')]
    pub(super) skip: Vec<String>,
    /// Engine [default: io_uring or the best that is available; psync for a trace of files]
    #[arg(long, value_name = "NAME")]
    pub(super) engine: Option<String>,
    /// Setting of the engine, e.g. service=50us of sim; repeatable
    #[arg(long, value_name = "NAME=VALUE")]
    pub(super) set: Vec<String>,
    /// Maximum operations in flight of each worker [default: 1024 with recorded times, else the recorded depth]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub(super) depth: Option<u32>,
    /// Workers [default: 1; for a trace of files its threads, at most 64, but with --mode fast or --verify 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub(super) workers: Option<u32>,
    /// How records are divided among workers
    #[arg(long, value_enum, default_value = "threads")]
    pub(super) divide: DivisionWord,
    /// Write all data that the trace reads before the start
    #[arg(long)]
    pub(super) prefill: bool,
    /// Check what is read against what the replay wrote
    #[arg(long)]
    pub(super) verify: bool,
    /// Use the page cache of devices and files [default: bypassed if possible]
    #[arg(long)]
    pub(super) cached: bool,
    /// Print what would be done, and what would be left out
    #[arg(long)]
    pub(super) dry_run: bool,
    /// Make the tree of a trace of files, tell what was made, and replay nothing
    #[arg(long, conflicts_with = "dry_run")]
    pub(super) prepare: bool,
    /// Remove what the replay made
    #[arg(long)]
    pub(super) remove: bool,
    #[command(flatten)]
    pub(super) manner: Manner,
    #[command(flatten)]
    pub(super) world: WorldArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Mode {
    /// At their recorded times, whatever the target does
    Original,
    /// One after the other, as fast as possible
    Fast,
    /// By thread: after the recorded think time since the completion before
    Think,
    /// As soon as everything has ended that each depends on
    Dependencies,
    /// By thread: as many in flight as recorded
    Depth,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum RemapWord {
    /// Scale all offsets to the target
    Linear,
    /// Wrap at the end of the target
    Modulo,
    /// Deal blocks of 4 KiB by a hash; the same block stays the same
    Hash,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DivisionWord {
    /// By recorded thread
    Threads,
    /// By file or device
    Files,
    /// In turn
    Turns,
}

fn factor(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('x').parse::<f64>().ok();
    let number = number.filter(|number| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| format!("`{text}`: expected a number above 0, e.g. 2 or 0.5"))
}

/// The verbs that a word of `--skip` stands for; none: it is no word.
pub(super) fn skipped(word: &str) -> Option<Vec<Verb>> {
    let word = word.trim();
    Some(match word {
        "trim" => vec![Verb::Trim, Verb::Discard],
        "sync" => vec![Verb::Fsync, Verb::Fdatasync, Verb::SyncFileRange, Verb::Syncfs, Verb::Msync],
        word => vec![Verb::named(word)?],
    })
}
