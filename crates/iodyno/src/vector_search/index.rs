//! An index on storage as DiskANN lays it out, the reads of a search, and what searching came to.
//!
//! A node is a vector, the number of its neighbours and their numbers, each of four bytes; nodes lie in sectors of 4 KiB, several
//! in one or one in several, behind a sector of header. Source: the disk index of DiskANN.

use clap::ValueEnum;
use iodyno_model::kv_cache::{all_done, block};
use iodyno_model::{
    Depth, Device, Direct, Extent, Histogram, Intent, Items, Job, Offset, Open, OpenMode, Operation, Origin,
    Phase, Pick, Plan, Prepare, Record, RunStart, Script, Setting, Size, Step, Target, TargetKind, Verb,
    Workload,
};
use iodyno_truth::limit::{processor_ns, processors_percent};

use crate::experiment_ranks;
use crate::limiting_part::limiting_part;

/// What a number in a node takes, bytes.
pub const COUNT_BYTES: u64 = 4;
const SECTOR_BYTES: u64 = 4096;

/// Lists of the search and the recall@10 that they had, percent. Source: DiskANN's page on SSD indices, an example of a hundred
/// thousand vectors of 128 numbers.
const RECALLS: [(f64, u64); 6] =
    [(81.79, 10), (96.42, 20), (98.78, 30), (99.40, 40), (99.63, 50), (99.91, 100)];

/// The shortest list with that recall.
pub fn list_of_recall(percent: f64) -> Option<u64> {
    RECALLS.iter().find(|(recall, _)| *recall >= percent).map(|(_, list)| *list)
}

/// What a list's recall was there; none: no list of it is as long.
pub fn recall_of_list(list: u64) -> Option<f64> {
    RECALLS.iter().rev().find(|(_, known)| *known == list).map(|(recall, _)| *recall)
}

/// The type of a vector's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum VectorType {
    Float,
    Int8,
    Uint8,
}

impl VectorType {
    pub fn bytes(self) -> u64 {
        if self == VectorType::Float { 4 } else { 1 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VectorIndex {
    pub vectors: u64,
    /// Of a node.
    pub node_bytes: u64,
    pub degree: u64,
}

impl VectorIndex {
    /// What a node's read brings: whole sectors.
    pub fn read_bytes(&self) -> u64 {
        self.node_bytes.next_multiple_of(SECTOR_BYTES)
    }

    /// Nodes in what a read brings.
    fn nodes_each(&self) -> u64 {
        (SECTOR_BYTES / self.node_bytes).max(1)
    }

    /// With its header.
    pub fn bytes(&self) -> u64 {
        self.vectors
            .div_ceil(self.nodes_each())
            .saturating_mul(self.read_bytes())
            .saturating_add(SECTOR_BYTES)
    }

    /// Vectors of an index of that size.
    pub fn vectors_of(&self, bytes: u64) -> u64 {
        (bytes.saturating_sub(SECTOR_BYTES) / self.read_bytes()).saturating_mul(self.nodes_each())
    }

    /// Nodes of so many levels from the entry on, each as many as the graph's degree allows.
    pub fn nodes_of(&self, levels: u64) -> u64 {
        let (mut all, mut level) = (0u64, 1u64);
        for _ in 0..levels.min(64) {
            all = all.saturating_add(level).min(self.vectors);
            level = level.saturating_mul(self.degree);
        }
        all
    }
}

#[derive(Clone, Debug)]
pub enum IndexPlace {
    /// A file that is made and removed.
    Made(String),
    /// What is there already, and only read.
    Found {
        path: String,
        is_device: bool,
    },
    /// Objects below a prefix, one after the other, with the settings of their engine.
    Bucket {
        url: String,
        settings: Vec<Setting>,
    },
    Device(Box<Device>),
}

/// Of each object that an index in a bucket lies in: at most so many reads. Chosen: 32 MiB of nodes of 4 KiB, as parts of
/// segments are.
const OBJECT_READS: u64 = 8192;

impl IndexPlace {
    /// What is to be removed.
    pub fn made(&self) -> &str {
        if let IndexPlace::Made(path) = self { path } else { "" }
    }
}

/// What the points of a search have in common.
#[derive(Clone, Debug)]
pub struct SearchRun {
    pub index: VectorIndex,
    pub place: IndexPlace,
    pub engine: String,
    pub beam: u32,
    pub list: u64,
    pub cached_levels: u64,
    pub compute_ns: u64,
    pub time_ns: u64,
    pub seed: u64,
    /// Each has as many threads.
    pub ranks: u32,
    pub origin: Origin,
}

/// Labels: a whole search, one round of it, and a node's read.
const SEARCH: &str = "search";
const ROUND: &str = "round";
const NODE: &str = "read node";

impl SearchRun {
    /// Rounds of a search: the entry by itself, then as many as the beam is wide, until the list has been looked at.
    pub fn all_rounds(&self) -> u64 {
        1 + (self.list - 1).div_ceil(self.beam.into())
    }

    /// Those that read, one after the other.
    pub fn rounds(&self) -> u64 {
        self.all_rounds().saturating_sub(self.cached_levels)
    }

    /// Nodes that a search reads.
    pub fn reads(&self) -> u64 {
        let cached = match self.cached_levels {
            0 => 0,
            levels => 1 + (levels - 1).saturating_mul(self.beam.into()),
        };
        self.list.saturating_sub(cached)
    }

    pub fn device(&self) -> Option<&Device> {
        if let IndexPlace::Device(device) = &self.place { Some(device) } else { None }
    }

    pub fn is_bucket(&self) -> bool {
        matches!(self.place, IndexPlace::Bucket { .. })
    }

    /// Of an index in a bucket: its objects and their length. None of them has a header.
    fn objects(&self) -> (u64, u64) {
        let nodes = (self.index.bytes() - SECTOR_BYTES) / self.index.read_bytes();
        let each = nodes.clamp(1, OBJECT_READS);
        (nodes.div_ceil(each), each * self.index.read_bytes())
    }

    /// With so many threads on each rank.
    pub fn plan(&self, threads: u32) -> Plan {
        let script = Script { steps: vec![block(SEARCH, self.search())], ..Script::default() };
        let mut job = Job::new("searcher", &self.engine, vec![0], Workload::Script(script));
        job.workers = threads;
        job.depth = Depth { most: self.beam, ..job.depth };
        job.limit.time_ns = Some(self.time_ns);
        // To see which rank is late.
        job.measure.each = self.ranks > 1;
        if let IndexPlace::Bucket { settings, .. } = &self.place {
            job.settings.clone_from(settings);
        }
        let phase =
            Phase { name: format!("{} threads", threads * self.ranks), jobs: vec![job], ..Phase::default() };
        Plan {
            name: "vector-search".into(),
            seed: self.seed,
            intent: Intent::Device,
            targets: vec![self.target()],
            phases: vec![phase],
            device: self.device().cloned(),
            ..Plan::default()
        }
    }

    fn search(&self) -> Vec<Step> {
        let entry = u64::from(self.cached_levels == 0);
        let beam = u64::from(self.beam);
        let (whole, rest) = ((self.reads() - entry) / beam, (self.reads() - entry) % beam);
        let round = |reads: u64, repeat: u64| Step { repeat, ..block(ROUND, self.round(reads)) };
        let rounds = [(entry, 1), (beam, whole), (rest, 1)].into_iter();
        rounds
            .filter(|(reads, repeat)| *reads > 0 && *repeat > 0)
            .map(|(reads, repeat)| round(reads, repeat))
            .collect()
    }

    /// Reads side by side, each into memory of its own, and what is computed when all are there.
    fn round(&self, reads: u64) -> Vec<Step> {
        let read = |buffer: u64| {
            let span_bytes = match (self.is_bucket(), self.objects()) {
                (true, (count, bytes)) => count * bytes,
                (false, _) => self.index.bytes() - SECTOR_BYTES,
            };
            let offset = Offset::Drawn { pick: Pick::Uniform, span_bytes };
            let size = Size::Fixed(self.index.read_bytes());
            let read = Operation { offset, size, buffer: buffer as u32, ..Operation::on(Verb::Read, 0) };
            Operation { background: self.beam > 1, ..read }.step(NODE)
        };
        let mut steps: Vec<Step> = (0..reads).map(read).collect();
        steps.extend((self.beam > 1).then(|| all_done("all read")));
        if self.compute_ns > 0 {
            // A simulated device's time goes on only while somebody sleeps.
            let verb = if self.device().is_some() { Verb::Think } else { Verb::Spin };
            steps.push(Operation { time_ns: self.compute_ns, ..Operation::control(verb) }.step("compute"));
        }
        steps
    }

    fn target(&self) -> Target {
        let bytes = self.index.bytes();
        let direct = Open { direct: Direct::IfPossible, mode: OpenMode::Read, ..Open::default() };
        let (kind, open, prepare) = match &self.place {
            IndexPlace::Device(_) => (TargetKind::Nothing { bytes }, Open::default(), Prepare::AsItIs),
            IndexPlace::Bucket { url, .. } => {
                let (count, bytes) = self.objects();
                let items = Items { count, size: Size::Fixed(bytes), ..Items::default() };
                (TargetKind::Bucket { url: url.clone(), items }, Open::default(), Prepare::Filled)
            }
            IndexPlace::Found { path, is_device: true } => {
                (TargetKind::Device { path: path.clone() }, direct, Prepare::AsItIs)
            }
            IndexPlace::Found { path, is_device: false } => {
                (TargetKind::File { path: path.clone(), size: Extent::Rest }, direct, Prepare::AsItIs)
            }
            IndexPlace::Made(path) => {
                let kind = TargetKind::File { path: path.clone(), size: Extent::Bytes(bytes) };
                (kind, Open { create: true, ..direct }, Prepare::Filled)
            }
        };
        Target { name: "index".into(), kind, open, prepare, remove: false, origin: self.origin.clone() }
    }
}

/// What so many threads came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SearchPoint {
    pub threads: u32,
    pub per_second: f64,
    /// Of whole searches, ns.
    pub latency: Histogram,
    pub reads_per_second: f64,
    pub bytes_per_second: f64,
    /// Processor time as a share of all processors, percent; none: the time is virtual.
    pub processors_percent: Option<f64>,
    /// What came from the page cache, percent; none: it is unknown.
    pub cached_percent: Option<f64>,
    /// What kept more searches from being answered in time.
    pub limit: String,
    /// Of several ranks, the one that was latest.
    pub late: Option<String>,
}

impl SearchPoint {
    pub fn of(threads: u32, run: &SearchRun, started: &RunStart, record: &Record) -> SearchPoint {
        let mut point = SearchPoint { threads, ..SearchPoint::default() };
        let Some((phase, job)) = record.phases.last().and_then(|phase| Some((phase, phase.jobs.first()?)))
        else {
            return point;
        };
        let seconds = phase.elapsed_ns.max(1) as f64 / 1e9;
        let line = |label: &str| job.tally.lines.iter().find(|line| line.label == label);
        point.latency = line(SEARCH).map(|line| line.latency.clone()).unwrap_or_default();
        point.per_second = point.latency.count() as f64 / seconds;
        let node = line(NODE);
        point.reads_per_second = node.map_or(0.0, |line| line.operations as f64 / seconds);
        point.bytes_per_second = node.map_or(0.0, |line| line.bytes as f64 / seconds);
        point.cached_percent = phase.cache.as_ref().and_then(|cache| cache.percent());
        if run.device().is_none() {
            let machines = record.world.machines();
            let percent = processors_percent(processor_ns(job), phase, &started.machine, machines);
            point.processors_percent = Some(percent);
        }
        point.limit = limiting_part(phase, point.processors_percent, run.device());
        point.late = experiment_ranks::late(job, SEARCH, &record.world);
        point
    }

    pub fn keeps(&self, target_ns: u64) -> bool {
        self.latency.count() > 0 && self.latency.percentile(99.0) <= target_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn index(dimensions: u64, degree: u64) -> VectorIndex {
        VectorIndex { vectors: 1000, node_bytes: 4 * dimensions + COUNT_BYTES * (degree + 1), degree }
    }

    #[test]
    fn nodes_share_a_sector_or_take_several() {
        // 768 numbers and 64 neighbours are 3332 bytes; 128 and 32 are 644, of which six are in a sector.
        assert_eq!((index(768, 64).read_bytes(), index(768, 64).bytes()), (4096, 4096 * 1001));
        assert_eq!((index(128, 32).read_bytes(), index(128, 32).bytes()), (4096, 4096 * 168));
        assert_eq!(index(1536, 64).read_bytes(), 8192);
        for index in [index(768, 64), index(1536, 64)] {
            assert_eq!(index.vectors_of(index.bytes()), 1000);
        }
        assert_eq!((index(768, 64).nodes_of(2), index(768, 64).nodes_of(9)), (65, 1000));
    }

    #[test]
    fn the_list_of_a_recall_is_the_shortest_of_the_table() {
        assert_eq!([90.0, 96.42, 99.0, 99.9].map(list_of_recall), [Some(20), Some(20), Some(40), Some(100)]);
        assert_eq!(
            (list_of_recall(99.95), recall_of_list(20), recall_of_list(21)),
            (None, Some(96.42), None)
        );
    }
}
