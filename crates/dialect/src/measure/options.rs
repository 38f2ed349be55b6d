//! The options of `iodyno measure`, each with the text of its help.

use clap::Parser;
use iodyno_model::units;

use super::DIALECT;
use super::disk_mark::{self, MarkProfile};
use crate::native::{ExportArguments, KeepArguments, WatchArguments, WorldArguments};

/// What is said about the command in its help.
const AFTER: &str = "A directory gets a temporary file that is always removed. An existing file or a device is only read, never written, \
unless a --long run has --destroy. A store (s3://BUCKET/PREFIX, rados://POOL/PREFIX, hdfs://NAMENODE/DIRECTORY) gets \
objects below a prefix of the run's own that are always removed; its keys are read from the environment or from \
~/.aws/credentials. The report goes to standard output; what its figures mean is in docs/numbers.md.";

#[derive(Debug, Parser)]
#[command(name = "iodyno measure", about = DIALECT.about, after_help = AFTER, disable_version_flag = true)]
pub(super) struct Options {
    /// A directory, an existing file, a block device, or the address of a store
    #[arg(default_value = ".")]
    pub(super) path: String,
    /// About 15 s: three short passes, depths 1 4 16 64
    #[arg(long, conflicts_with = "full")]
    pub(super) quick: bool,
    /// About 6 minutes: 5 s a measurement, depths to 256
    #[arg(long)]
    pub(super) full: bool,
    /// The tests and the table of CrystalDiskMark or KDiskMark: crystaldiskmark, or crystaldiskmark-nvme, -peak, -nvme-peak,
    /// -real-world, -demo; -mix behind it adds reads and writes together
    #[arg(long, value_name = "NAME", value_parser = disk_mark::profile, conflicts_with_all = ["quick", "full", "long"])]
    pub(super) profile: Option<&'static MarkProfile>,
    /// Time of each measurement, e.g. 2s or 500ms
    #[arg(long, value_name = "T", value_parser = time)]
    pub(super) time: Option<u64>,
    /// Random 4 KiB I/O for this long, e.g. 2h, to see its stability and what became of the drive's health (70 % reads;
    /// on a file or device 100 %)
    #[arg(long, value_name = "T", value_parser = time, conflicts_with_all = ["quick", "full", "time"])]
    pub(super) long: Option<u64>,
    /// Fail if this condition holds, e.g. 'read.p99 > 5ms'; a cell by its name, e.g. 'SEQ1M Q8T1 read.iops < 900'; repeatable
    #[arg(long = "fail-if", value_name = "CONDITION")]
    pub(super) fail_if: Vec<String>,
    /// Print explained findings in full
    #[arg(long)]
    pub(super) details: bool,
    /// Bytes to read and write [default: 1 GiB or half of the free space; all of a file or device]
    #[arg(long, value_name = "S", value_parser = size)]
    pub(super) size: Option<u64>,
    /// Engine [default: io_uring, or the best that is available]
    #[arg(long, value_name = "NAME")]
    pub(super) engine: Option<String>,
    /// Seed of every offset and byte
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(super) seed: u64,
    #[command(flatten)]
    pub(super) export: ExportArguments,
    #[command(flatten)]
    pub(super) watch: WatchArguments,
    #[command(flatten)]
    pub(super) keep: KeepArguments,
    #[command(flatten)]
    pub(super) world: WorldArguments,
    #[command(flatten)]
    pub(super) lasting: LongArguments,
    #[command(flatten)]
    pub(super) store: StoreArguments,
}

/// What is done for long.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Options of --long")]
pub(super) struct LongArguments {
    /// Operations in flight [default: 4]
    #[arg(long, value_name = "N", requires = "long", value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub(super) depth: Option<u32>,
    /// Bytes of each operation [default: 4KiB]
    #[arg(long, value_name = "S", requires = "long", value_parser = block)]
    pub(super) block: Option<u64>,
    /// Percentage of reads, the others write [default: 70; of a file or device 100]
    #[arg(long, value_name = "READS", requires = "long", value_parser = percentage)]
    pub(super) mix: Option<f64>,
    /// Write to this device, which loses all that is on it; the same name as PATH
    #[arg(long, value_name = "DEVICE", requires = "long")]
    pub(super) destroy: Option<String>,
}

/// What is said of a store.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Options of stores")]
pub(super) struct StoreArguments {
    /// Where the store listens, e.g. http://127.0.0.1:9000 [default: AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL]
    #[arg(long, value_name = "URL")]
    pub(super) endpoint: Option<String>,
    /// The region that requests are signed for [default: AWS_REGION, or us-east-1]
    #[arg(long, value_name = "REGION")]
    pub(super) region: Option<String>,
    /// Where the bucket's name stands: path or virtual [default: path]
    #[arg(long, value_name = "HOW", value_parser = ["path", "virtual"])]
    pub(super) addressing: Option<String>,
    /// environment, profile, profile:NAME, file:PATH or anonymous [default: environment, then profile]
    #[arg(long, value_name = "WHERE")]
    pub(super) credentials: Option<String>,
    /// A setting of the engine, as `iodyno engines s3` lists them; repeatable
    #[arg(long = "setting", value_name = "NAME=VALUE")]
    pub(super) settings: Vec<String>,
    /// A price list: what the run's requests cost
    #[arg(long, value_name = "FILE")]
    pub(super) prices: Option<String>,
}

fn time(text: &str) -> Result<u64, String> {
    units::parse_ns(text).and_then(|ns| match ns {
        0..10_000_000 => Err("a measurement takes at least 10ms".into()),
        ns => Ok(ns),
    })
}

/// What storage can be asked for at once: whole sectors.
fn block(text: &str) -> Result<u64, String> {
    match units::parse_bytes(text)? {
        bytes if bytes > 0 && bytes.is_multiple_of(512) => Ok(bytes),
        bytes => Err(format!("{bytes} bytes are no whole sectors of 512")),
    }
}

fn percentage(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    let percent = number.parse().ok().filter(|percent| (0.0..=100.0).contains(percent));
    percent.ok_or_else(|| "expected a percentage of reads from 0 to 100, e.g. 30".into())
}

fn size(text: &str) -> Result<u64, String> {
    units::parse_bytes(text)
}
