//! `iodyno vector-search DIR`: how many searches of a vector index a storage answers each second, as DiskANN reads it.
//!
//! The number of searching threads is doubled until one search in a hundred takes too long, and then bisected. Exit status: 0;
//! 1 a run failed; 2 the command is wrong; 128 + n stopped by signal n.

mod index;
mod report;

use clap::Parser;
use iodyno_dialect::native::WorldArguments;
use iodyno_dialect::{Loader, PathKind};
use iodyno_engine::world::World;
use iodyno_model::{Diagnostic, Origin};

use self::index::{IndexPlace, SearchPoint, SearchRun, VectorIndex, VectorType};
use self::report::SearchFigures;
use crate::bucket_target;
use crate::experiment::{self, Experiment};
use crate::experiment_ranks;
use crate::loader::HostLoader;
use crate::option_values::{count, positive_time, setting, share};
use crate::report_output::{ReportArguments, ReportOutput};
use crate::runs::{one, parsed};
use crate::work_directory::{ExperimentData, MadePath};
use crate::{doubling, leftovers, simulated_device};

#[derive(Parser)]
#[command(name = "iodyno vector-search", about = "Find how many vector searches a storage answers each second",
    disable_version_flag = true, after_help = AFTER)]
pub struct VectorSearchArgs {
    /// A directory or s3://BUCKET/PREFIX: an index is made in it, and removed at the end. Or a file or device: it is only read
    #[arg(value_name = "TARGET", required_unless_present = "on", conflicts_with = "on")]
    pub target: Option<String>,
    /// In place of a directory: a simulated device, in virtual time (iodyno devices lists them)
    #[arg(long, value_name = "DEVICE")]
    pub on: Option<String>,
    /// Vectors in the index [default: as many as fit 4GiB, at most half of what is free; of a file or device, all it holds]
    #[arg(long, value_name = "N", value_parser = count)]
    pub vectors: Option<u64>,
    /// Numbers of a vector
    #[arg(long, value_name = "N", default_value_t = 768, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    pub dimensions: u64,
    /// What a number of a vector is
    #[arg(long = "type", value_name = "NAME", default_value = "float")]
    pub kind: VectorType,
    /// Neighbours of a node
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(2..=4096))]
    pub degree: u64,
    /// Nodes that a search reads side by side
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=128))]
    pub beam: u32,
    /// Length of the search list: so many nodes are looked at [default: 100]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=100_000), conflicts_with = "recall")]
    pub list: Option<u64>,
    /// In place of it: the shortest list with this recall@10 in DiskANN's own example, percent
    #[arg(long, value_name = "PERCENT", value_parser = share)]
    pub recall: Option<f64>,
    /// Levels of the graph that are held in memory, from the entry on
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub cached_levels: u64,
    /// Computing time after each round of reads: distances
    #[arg(long, value_name = "TIME", default_value = "0us", value_parser = iodyno_model::units::parse_ns)]
    pub compute: u64,
    /// Time that 99 % of the searches must keep
    #[arg(long, value_name = "TIME", default_value = "10ms", value_parser = positive_time)]
    pub target_p99: u64,
    /// Only these numbers of threads, on each rank
    #[arg(long, value_name = "N,…", value_delimiter = ',', value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub threads: Vec<u32>,
    /// Threads at most, on all ranks together
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub most: u32,
    /// Length of each point
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = positive_time)]
    pub time: u64,
    /// Seed of the nodes that searches come to
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// An engine that keeps several reads in flight, e.g. libaio [default: the best that works]
    #[arg(long, value_name = "NAME")]
    pub engine: Option<String>,
    /// A setting of the engine of a bucket, e.g. endpoint=http://host:9000; repeatable
    #[arg(long, value_name = "NAME=VALUE", value_parser = setting)]
    pub set: Vec<(String, String)>,
    #[command(flatten)]
    pub world: WorldArguments,
    #[command(flatten)]
    pub output: ReportArguments,
}

const AFTER: &str = "No vectors are compared: a search reads as many nodes, in as many rounds one after the other, as DiskANN \
would. After MLPerf Storage, not a result of it. docs/vector-search.md explains the table.";

/// The index of a directory, unless the command says it: at most this, and half of what is free.
const INDEX_BYTES: u64 = 4 << 30;
/// The search list, unless the command says it.
const LIST: u64 = 100;

/// Does `iodyno vector-search ARGUMENTS…`; the exit status.
pub fn answer(world: &mut World, arguments: &[String]) -> u8 {
    let words = match parsed::<VectorSearchArgs>("iodyno vector-search", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let asked: (Option<&str>, &[&str]) = (words.on.as_deref(), &[]);
    if let Some(status) = experiment_ranks::elsewhere(world, "vector-search", arguments, &words.world, asked)
    {
        return status;
    }
    let (run, files) = match ReportOutput::of(lowered(world, &words), &words.output) {
        Ok(prepared) => prepared,
        Err(status) => return status,
    };
    let _removed = MadePath(run.place.made().into());
    let mut experiment = Experiment::new(world, "vector-search", arguments);
    experiment.lasts = (run.ranks > 1 && !run.place.made().is_empty()) || run.is_bucket();
    let mut started = None;
    // Each rank has as many.
    let mut measure = |each: u32| {
        let threads = each * run.ranks;
        experiment::progress(&format!("{threads} threads"));
        let (start, record) = experiment.run(run.plan(each), "the search")?;
        let point = SearchPoint::of(threads, &run, &start, &record);
        started.get_or_insert(start);
        let is_good = point.keeps(words.target_p99);
        Ok((point, is_good))
    };
    let points = match words.threads.as_slice() {
        [] => doubling::largest_number((words.most / run.ranks).max(1), measure),
        threads => threads.iter().map(|threads| measure(*threads).map(|(point, _)| point)).collect(),
    };
    files.write_points(points, started, |started, points| {
        SearchFigures { words: &words, run: &run, started, points }.report()
    })
}

/// What all points have in common.
///
/// # Errors
/// What is wrong with the command, or does not fit the directory.
fn lowered(world: &World, words: &VectorSearchArgs) -> Result<SearchRun, Vec<Diagnostic>> {
    let list = match words.recall {
        Some(recall) => index::list_of_recall(recall).ok_or_else(|| {
            let wrong = Diagnostic::error(&Origin::argument("--recall"), "no list of the table is that good");
            one(wrong.hint("at most 99.91; or say the length: --list 200"))
        })?,
        None => words.list.unwrap_or(LIST),
    };
    let mut index = VectorIndex {
        vectors: 0,
        node_bytes: words.dimensions * words.kind.bytes() + index::COUNT_BYTES * (words.degree + 1),
        degree: words.degree,
    };
    let (place, bytes) = place(world, words, &index)?;
    let held = index.vectors_of(bytes);
    index.vectors = words.vectors.unwrap_or(held);
    if index.vectors > held || index.vectors < 2 {
        let message = format!("an index of {} vectors, and there is room for {held}", index.vectors);
        return Err(one(Diagnostic::error(&Origin::argument("--vectors"), message).hint("ask for fewer")));
    }
    let engine = match (&place, &words.engine) {
        (IndexPlace::Bucket { .. }, None) => "s3".into(),
        (IndexPlace::Bucket { .. }, Some(_)) => {
            let wrong =
                Diagnostic::error(&Origin::argument("--engine"), "a bucket is reached by the engine s3");
            return Err(one(wrong.hint("leave it out; --set sets its options")));
        }
        (IndexPlace::Device(_), None) => "sim".into(),
        (IndexPlace::Device(_), Some(_)) => {
            let wrong = Diagnostic::error(&Origin::argument("--engine"), "a simulated device has its own");
            return Err(one(wrong.hint("leave it out")));
        }
        (_, asked) => experiment::engine(asked.as_deref(), &HostLoader::new(world)).map_err(one)?,
    };
    let origin = Origin::argument(words.target.as_deref().unwrap_or("--on"));
    let run = SearchRun {
        index,
        place,
        engine,
        beam: words.beam,
        list,
        cached_levels: words.cached_levels,
        compute_ns: words.compute,
        time_ns: words.time,
        seed: words.seed,
        ranks: world.size(),
        origin,
    };
    if run.reads() == 0 {
        let message = "all that a search looks at lies in memory".to_string();
        let wrong = Diagnostic::error(&Origin::argument("--cached-levels"), message);
        return Err(one(wrong.hint(format!("a search has {} rounds: say fewer levels", run.all_rounds()))));
    }
    Ok(run)
}

/// Where the index lies, and how large it may be.
fn place(
    world: &World,
    words: &VectorSearchArgs,
    index: &VectorIndex,
) -> Result<(IndexPlace, u64), Vec<Diagnostic>> {
    if let Some(device) = &words.on {
        bucket_target::no_settings(&words.set).map_err(one)?;
        experiment_ranks::one_clock(world).map_err(one)?;
        let device = simulated_device::named(device, "--on")?;
        let bytes = simulated_device::capacity_bytes(&device);
        return Ok((IndexPlace::Device(Box::new(device)), bytes));
    }
    let target = words.target.as_deref().unwrap_or_default();
    let asked_bytes = words.vectors.map(|vectors| VectorIndex { vectors, ..*index }.bytes());
    if bucket_target::is_meant(target) {
        let url = bucket_target::own_prefix(target, "vector-search").map_err(one)?;
        let settings = bucket_target::settings(&words.set);
        return Ok((IndexPlace::Bucket { url, settings }, asked_bytes.unwrap_or(INDEX_BYTES)));
    }
    bucket_target::no_settings(&words.set).map_err(one)?;
    let facts = HostLoader::new(world).look(target);
    if let Some(facts) = facts.filter(|facts| facts.kind != PathKind::Directory) {
        let is_device = facts.kind == PathKind::BlockDevice;
        return Ok((IndexPlace::Found { path: target.into(), is_device }, facts.bytes));
    }
    let data =
        ExperimentData { directory: target, asked_bytes, option: "--vectors", most_bytes: INDEX_BYTES };
    let bytes = data.bytes(world).map_err(one)?;
    Ok((IndexPlace::Made(leftovers::temporary(target, "vector-search")), bytes))
}
