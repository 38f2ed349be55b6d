//! `iodyno kv-cache DIR`: how many requests each second an inference server answers in time with its key-value cache on a storage.
//!
//! The rate is doubled until a share of the requests waits too long for the first token, and then bisected. Exit status: 0;
//! 1 a run failed; 2 the command is wrong; 128 + n stopped by signal n.

mod point;
mod report;
mod workload;

use clap::Parser;
use iodyno_dialect::native::WorldArguments;
use iodyno_dialect::{Loader, conversations};
use iodyno_engine::world::World;
use iodyno_model::kv_cache::{BlockLayout, CacheRequests, KvServer, RecordedRequest};
use iodyno_model::{Diagnostic, Origin, Size, units};

use self::point::ServingPoint;
use self::report::ServingFigures;
use self::workload::{LanguageModel, LayoutName, ServingRun, StoragePlace};
use crate::bucket_target;
use crate::doubling;
use crate::experiment::{self, Experiment};
use crate::experiment_ranks;
use crate::loader::HostLoader;
use crate::option_values::{positive_number, positive_time, setting, share, tokens};
use crate::report_output::{ReportArguments, ReportOutput};
use crate::runs::{one, parsed};
use crate::work_directory::{ExperimentData, MadePath};
use crate::{leftovers, simulated_device};

/// What a trace says itself.
const DRAWN: [&str; 8] =
    ["sessions", "turns", "prompt", "answer", "prefixes", "prefix_tokens", "prefix_share", "theta"];

#[derive(Parser)]
#[command(name = "iodyno kv-cache", about = "Find how many requests a key-value cache on a storage serves in time",
    disable_version_flag = true, after_help = AFTER)]
pub struct KvCacheArgs {
    /// A directory: the cache is made in it, and removed at the end. Or s3://BUCKET/PREFIX: an object for each block
    #[arg(value_name = "TARGET", required_unless_present = "on", conflicts_with = "on")]
    pub target: Option<String>,
    /// In place of a directory: a simulated device, in virtual time (iodyno devices lists them)
    #[arg(long, value_name = "DEVICE")]
    pub on: Option<String>,
    /// Whose keys and values are cached, and how long computing takes
    #[arg(long, value_name = "NAME", default_value = "llama3-8b")]
    pub model: LanguageModel,
    /// Keys and values of a token, in place of the model's
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
    pub bytes_per_token: Option<u64>,
    /// Tokens of a block [default: 16; of a trace 512]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub block_tokens: Option<u64>,
    /// A file for each block, or one large file
    #[arg(long, value_name = "NAME", default_value = "files")]
    pub layout: LayoutName,
    /// Size of the cache [default: 4GiB, at most half of what is free; of a device, all it holds]
    #[arg(long, value_name = "SIZE", value_parser = units::parse_bytes)]
    pub capacity: Option<u64>,
    /// Memory above it, with the blocks that were used last
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = units::parse_bytes)]
    pub memory: u64,
    /// Conversations that go on at the same time
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    pub sessions: u64,
    /// Requests of a conversation
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub turns: u32,
    /// Tokens that a request adds: a number, or from A-B
    #[arg(long, value_name = "TOKENS", default_value = "128-896", value_parser = tokens)]
    pub prompt: Size,
    /// Tokens of an answer: a number, or from A-B
    #[arg(long, value_name = "TOKENS", default_value = "64-448", value_parser = tokens)]
    pub answer: Size,
    /// Beginnings that conversations have in common
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(..=100_000_000))]
    pub prefixes: u64,
    /// Tokens of such a beginning
    #[arg(long, value_name = "TOKENS", default_value_t = 1024, value_parser = clap::value_parser!(u64).range(..=10_000_000))]
    pub prefix_tokens: u64,
    /// Conversations that begin with one, percent
    #[arg(long, value_name = "PERCENT", default_value = "50", value_parser = share)]
    pub prefix_share: f64,
    /// How unequal the popularity of conversations and beginnings is: Zipf's exponent
    #[arg(long, value_name = "THETA", default_value_t = 0.9, value_parser = exponent)]
    pub theta: f64,
    /// Accelerators, or groups of them, each of which computes on one request at a time
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub accelerators: u32,
    /// Tokens each second that one of them computes, in place of the model's on H100s
    #[arg(long, value_name = "TOKENS", value_parser = positive_number)]
    pub prefill: Option<f64>,
    /// Time to the first token that 95 % of the requests must keep
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = positive_time)]
    pub target_ttft: u64,
    /// Only at these rates, requests each second
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = positive_number)]
    pub rate: Vec<f64>,
    /// Requests that are served at the same time at most
    #[arg(long, value_name = "N", default_value_t = 32, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub concurrency: u32,
    /// Blocks of a request that are moved at the same time
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=256))]
    pub depth: u32,
    /// Length of each point; longer where fewer than 100 requests would come
    #[arg(long, value_name = "TIME", default_value = "20s", value_parser = positive_time)]
    pub time: u64,
    /// Recorded conversations in place of drawn ones, in Mooncake's columns: timestamp, input_length, output_length, hash_ids, as
    /// JSON lines or CSV
    #[arg(long, value_name = "FILE", conflicts_with_all = DRAWN)]
    pub trace: Option<String>,
    /// Of a trace only at the rate at which it was recorded
    #[arg(long, requires = "trace", conflicts_with = "rate")]
    pub as_recorded: bool,
    /// Seed of requests and arrivals
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// A setting of the engine of a bucket, e.g. endpoint=http://host:9000; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    #[command(flatten)]
    pub world: WorldArguments,
    #[command(flatten)]
    pub output: ReportArguments,
}

const AFTER: &str = "Computing is a sleep; what is cached is read, and what is new is stored. The time to first token counts from \
a request's arrival. After MLPerf Storage, not a result of it. docs/kv-cache.md explains the table.";

/// The cache of a directory, unless the command says it: at most this, and half of what is free.
const CAPACITY_BYTES: u64 = 4 << 30;
/// A simulated device's, unless the command says it: at most so many blocks.
const MOST_BLOCKS: u64 = 1 << 20;
/// Requests of a point at least, so that one in twenty is several.
const LEAST_REQUESTS: f64 = 100.0;
/// How close a search comes to the largest rate, as a part of it.
const CLOSE: f64 = 0.05;
/// Tokens of a block, unless the command says it: vLLM's, and that of Mooncake's traces.
const BLOCK_TOKENS: u64 = 16;
const TRACE_BLOCK_TOKENS: u64 = 512;
/// Blocks begin at multiples of this.
const ALIGN_BYTES: u64 = 4096;

fn exponent(text: &str) -> Result<f64, String> {
    let theta = text.parse().ok().filter(|theta: &f64| (0.0..=10.0).contains(theta));
    theta.ok_or_else(|| "expected 0 to 10".into())
}

/// Does `iodyno kv-cache ARGUMENTS…`; the exit status.
pub fn answer(world: &mut World, arguments: &[String]) -> u8 {
    let words = match parsed::<KvCacheArgs>("iodyno kv-cache", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let inputs: Vec<&str> = words.trace.as_deref().into_iter().collect();
    let asked = (words.on.as_deref(), inputs.as_slice());
    if let Some(status) = experiment_ranks::elsewhere(world, "kv-cache", arguments, &words.world, asked) {
        return status;
    }
    let (run, files) = match ReportOutput::of(lowered(world, &words), &words.output) {
        Ok(prepared) => prepared,
        Err(status) => return status,
    };
    let _removed = MadePath(run.path().into());
    let mut experiment = Experiment::new(world, "kv-cache", arguments);
    experiment.lasts = run.ranks > 1 || run.is_bucket();
    let mut started = None;
    let mut measure = |rate: f64| {
        experiment::progress(&format!("{rate} requests/s"));
        let (start, record) = experiment.run(run.plan(rate), "serving")?;
        let point = ServingPoint::of(rate, &run, &start, &record);
        started.get_or_insert(start);
        let is_good = point.keeps(words.target_ttft);
        Ok((point, is_good))
    };
    let recorded = run.recorded_rate().filter(|_| words.as_recorded);
    let rates: Vec<f64> = recorded.into_iter().chain(words.rate.iter().copied()).collect();
    let points = match rates.as_slice() {
        [] => doubling::largest_rate(run.computed_rate() / 2.0, CLOSE, measure),
        rates => rates.iter().map(|rate| measure(*rate).map(|(point, _)| point)).collect(),
    };
    files.write_points(points, started, |started, points| {
        ServingFigures { words: &words, run: &run, started, points }.report()
    })
}

/// What all points have in common.
///
/// # Errors
/// What is wrong with the command, or does not fit the directory.
fn lowered(world: &World, words: &KvCacheArgs) -> Result<ServingRun, Vec<Diagnostic>> {
    let token_bytes = words.bytes_per_token.unwrap_or(words.model.token_bytes()).max(1);
    let usual = if words.trace.is_some() { TRACE_BLOCK_TOKENS } else { BLOCK_TOKENS };
    let block_tokens = words.block_tokens.unwrap_or(usual);
    let block_bytes = (token_bytes * block_tokens).next_multiple_of(ALIGN_BYTES);
    let recorded = words.trace.as_deref().map(|path| recorded(world, path, block_tokens)).transpose();
    let recorded = recorded.map_err(one)?.unwrap_or_default();
    let (place, bytes) = place(world, words, block_bytes)?;
    let requests = CacheRequests {
        sessions: words.sessions,
        theta: words.theta,
        turns: words.turns,
        prompt: words.prompt.clone(),
        answer: words.answer.clone(),
        prefixes: words.prefixes,
        prefix_tokens: words.prefix_tokens,
        prefixed_percent: words.prefix_share,
        block_tokens,
        capacity: bytes / block_bytes,
        memory: words.memory / block_bytes,
        seed: words.seed,
        recorded,
        ..CacheRequests::default()
    };
    let longest = requests.most_tokens().div_ceil(block_tokens);
    if requests.capacity < longest {
        let message = format!(
            "a cache of {} holds {} blocks, and the longest conversation has {longest}",
            units::binary(bytes),
            requests.capacity
        );
        let needed = units::binary(longest * block_bytes);
        let hint = format!("--capacity {needed} or more, fewer --turns, or shorter prompts");
        return Err(one(Diagnostic::error(&Origin::argument("--capacity"), message).hint(hint)));
    }
    let on_device = matches!(place, StoragePlace::Device(_));
    let is_slab = !matches!(place, StoragePlace::Path(_)) || words.layout == LayoutName::Slab;
    let engine = match &place {
        StoragePlace::Device(_) => "sim".into(),
        StoragePlace::Bucket { .. } => "s3".into(),
        StoragePlace::Path(_) => experiment::engine(None, &HostLoader::new(world)).map_err(one)?,
    };
    if on_device {
        experiment_ranks::one_clock(world).map_err(one)?;
    }
    Ok(ServingRun {
        server: KvServer {
            requests,
            layout: if is_slab { BlockLayout::Slab } else { BlockLayout::Files },
            block_bytes,
            workers: words.concurrency,
            depth: words.depth,
            accelerators: words.accelerators,
            token_ns: 1e9 / words.prefill.unwrap_or(words.model.prefill_per_second()),
            time_ns: 0,
        },
        time_ns: words.time,
        token_bytes,
        place,
        engine,
        ranks: world.size(),
        origin: Origin::argument(words.target.as_deref().unwrap_or("--on")),
    })
}

/// Where the cache lies, and its size.
fn place(
    world: &World,
    words: &KvCacheArgs,
    block_bytes: u64,
) -> Result<(StoragePlace, u64), Vec<Diagnostic>> {
    if let Some(device) = &words.on {
        bucket_target::no_settings(&words.set).map_err(one)?;
        let device = simulated_device::named(device, "--on")?;
        let most = words.capacity.unwrap_or(MOST_BLOCKS * block_bytes);
        let bytes = simulated_device::capacity_bytes(&device).min(most);
        return Ok((StoragePlace::Device(Box::new(device)), bytes));
    }
    let directory = words.target.as_deref().unwrap_or_default();
    if bucket_target::is_meant(directory) {
        return bucket(directory, words).map_err(one);
    }
    bucket_target::no_settings(&words.set).map_err(one)?;
    let data = ExperimentData {
        directory,
        asked_bytes: words.capacity,
        option: "--capacity",
        most_bytes: CAPACITY_BYTES,
    };
    let bytes = data.bytes(world).map_err(one)?;
    Ok((StoragePlace::Path(leftovers::temporary(directory, "kv-cache")), bytes))
}

/// An object for each block.
fn bucket(url: &str, words: &KvCacheArgs) -> Result<(StoragePlace, u64), Diagnostic> {
    if words.layout == LayoutName::Slab {
        let wrong =
            Diagnostic::error(&Origin::argument("--layout slab"), "an object cannot be overwritten in parts");
        return Err(wrong.hint("leave it out: each block is an object"));
    }
    let (url, settings) = (bucket_target::own_prefix(url, "kv-cache")?, bucket_target::settings(&words.set));
    Ok((StoragePlace::Bucket { url, settings }, words.capacity.unwrap_or(CAPACITY_BYTES)))
}

/// The requests of a trace.
fn recorded(world: &World, path: &str, block_tokens: u64) -> Result<Vec<RecordedRequest>, Diagnostic> {
    let origin = Origin::argument(path);
    let hint = "name a trace of conversations: docs/kv-cache.md tells its columns";
    let bytes =
        HostLoader::new(world).read(path).map_err(|why| Diagnostic::error(&origin, why).hint(hint))?;
    let text =
        String::from_utf8(bytes).map_err(|_| Diagnostic::error(&origin, "this is no text").hint(hint))?;
    conversations::parse(&text, path, block_tokens)
}
