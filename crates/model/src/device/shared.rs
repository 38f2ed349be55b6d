//! What many clients share: queues, volumes of a cloud, networks, servers, clusters.

use super::{positive, when};
use crate::reflect::Reflect;

/// A queue with servers: M/M/c and M/G/1 of queueing theory.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Station {
    /// The part that a request goes to afterwards; none: it is answered.
    #[reflect(omit_empty)]
    pub over: Option<String>,
    /// What it holds; 0: there is no end.
    #[reflect(default)]
    pub capacity_bytes: u64,
    /// Requests that are served at once; the others wait in order.
    #[reflect(default = 1, positive)]
    pub servers: u32,
    /// The mean service.
    #[reflect(default = 100_000, positive)]
    pub service_ns: u64,
    /// The squared coefficient of variation of the service: 0 constant, below 1 Erlang, 1 exponential, above
    /// hyperexponential with balanced means.
    #[reflect(default = 1.0)]
    pub variation: f64,
    /// Bytes per second of each server, added to the service; 0: no time.
    #[reflect(default, form = "bytes per second")]
    pub rate: u64,
    /// The mean service of a write; 0: as of a read.
    #[reflect(default)]
    pub write_ns: u64,
    /// Bytes per second of a write; 0: as of a read.
    #[reflect(default, form = "bytes per second")]
    pub write_rate: u64,
    /// Servers that writes have for themselves; 0: reads and writes share all of them.
    #[reflect(default)]
    pub write_servers: u32,
    /// What a request takes besides that does not go on where the one before ended.
    #[reflect(default)]
    pub random_ns: u64,
    /// The longest request that the part behind gets; longer ones are split. 0: none is.
    #[reflect(default)]
    pub split_bytes: u64,
    /// The service as its percentiles, evenly spaced from the shortest to the longest, drawn with straight lines between them:
    /// in place of `service` and `variation`.
    #[reflect(default)]
    pub percentiles_ns: Vec<u64>,
    /// The same of writes; none: as of reads, unless `write` is said.
    #[reflect(default)]
    pub write_percentiles_ns: Vec<u64>,
}

impl Station {
    pub(super) fn problems(&self) -> Vec<(String, &'static str)> {
        let mut wrong: Vec<_> = variation(self.variation).into_iter().collect();
        let lists =
            [("percentiles", &self.percentiles_ns), ("write_percentiles", &self.write_percentiles_ns)];
        for (key, list) in lists {
            let is_wrong = list.len() == 1
                || !list.is_sorted()
                || list.last().is_some_and(|longest| *longest > super::LONGEST_NS);
            let message = format!("`{key}` are no percentiles");
            let hint =
                "at least two times of an hour at most, the shortest first: [\"80us\", \"90us\", \"2ms\"]";
            wrong.extend(when(is_wrong, message, hint));
        }
        wrong.extend(when(
            self.split_bytes > 0 && self.over.is_none(),
            "`split` without a part behind",
            "say over = \"NAME\" of the part that gets the pieces",
        ));
        wrong
    }
}

/// What is wrong with a squared coefficient of variation.
fn variation(variation: f64) -> Option<(String, &'static str)> {
    let is_wrong = !variation.is_finite() || !(0.0..=100.0).contains(&variation);
    when(is_wrong, format!("a variation of {variation}"), "from 0 (constant) over 1 (exponential) to 100")
}

/// A volume of a cloud: limits of operations and of bytes beside each other, each with a bucket for bursts.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Cloud {
    /// What it holds.
    #[reflect(default = 1_000_000_000_000)]
    pub capacity_bytes: u64,
    /// Operations per second in the long run.
    #[reflect(default = 3_000)]
    pub iops: u64,
    /// Operations per second while credits last; 0: as in the long run.
    #[reflect(default)]
    pub burst_iops: u64,
    /// Operations that can be saved up for a burst.
    #[reflect(default)]
    pub iops_credits: u64,
    /// Bytes per second in the long run; 0: no limit.
    #[reflect(default = 125_000_000, form = "bytes per second")]
    pub bandwidth: u64,
    /// Bytes per second while credits last; 0: as in the long run.
    #[reflect(default, form = "bytes per second")]
    pub burst_bandwidth: u64,
    /// Bytes that can be saved up for a burst.
    #[reflect(default)]
    pub bandwidth_credits_bytes: u64,
    /// The time to an answer where no limit holds it up.
    #[reflect(default = 500_000)]
    pub latency_ns: u64,
    /// The squared coefficient of variation of that.
    #[reflect(default)]
    pub variation: f64,
    /// A longer request counts as so many operations as this fits into it; 0: each request counts once.
    #[reflect(default)]
    pub accounted_bytes: u64,
    /// The longest request that reaches it, as `max_sectors_kb` of the host says; longer ones are split. 0: none is.
    #[reflect(default)]
    pub split_bytes: u64,
    /// Requests longer than this are charged more bytes than they have; 0: none is.
    #[reflect(default)]
    pub large_bytes: u64,
    /// What they are charged for each of their bytes.
    #[reflect(default = 1.0)]
    pub large_charge: f64,
    /// What the first request to a block takes besides: the volume was made from a snapshot, whose blocks are fetched when they
    /// are first touched. 0: it was not.
    #[reflect(default)]
    pub cold_ns: u64,
    /// Bytes per second at which blocks of the snapshot are fetched, one after the other; 0: no limit.
    #[reflect(default, form = "bytes per second")]
    pub cold_rate: u64,
    /// What is fetched together.
    #[reflect(default = 524_288, positive)]
    pub cold_block_bytes: u64,
}

/// More blocks than a simulated volume keeps in mind.
const MOST_COLD_BLOCKS: u64 = 1 << 28;

impl Cloud {
    /// Whether its blocks lie in a snapshot until they are first touched.
    pub fn is_cold(&self) -> bool {
        self.cold_ns > 0 || self.cold_rate > 0
    }

    pub(super) fn problems(&self) -> Vec<(String, &'static str)> {
        [
            positive("iops", self.iops, "e.g. iops = 3000"),
            positive("capacity", self.capacity_bytes, "e.g. capacity = \"1TB\""),
            variation(self.variation),
            when(
                (self.burst_iops > self.iops) != (self.iops_credits > 0),
                "`burst_iops` above `iops` and `iops_credits` go together",
                "a burst lasts credits / (burst_iops - iops) seconds",
            ),
            when(
                (self.burst_bandwidth > self.bandwidth) != (self.bandwidth_credits_bytes > 0),
                "`burst_bandwidth` above `bandwidth` and `bandwidth_credits` go together",
                "a burst lasts credits / (burst_bandwidth - bandwidth) seconds",
            ),
            when(
                !(1.0..=100.0).contains(&self.large_charge),
                format!("`large_charge` of {}", self.large_charge),
                "from 1 (their bytes) to 100",
            ),
            when(
                self.is_cold() && self.capacity_bytes / self.cold_block_bytes.max(1) > MOST_COLD_BLOCKS,
                format!("more than {MOST_COLD_BLOCKS} blocks to fetch"),
                "say a larger cold_block, or less capacity",
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// A network between the clients and what lies behind.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Network {
    /// The part behind it.
    pub over: String,
    /// Bytes per second in each direction; 0: no time.
    #[reflect(default = 1_250_000_000, form = "bytes per second")]
    pub rate: u64,
    /// From the first bit of a short message to its answer.
    #[reflect(default = 100_000)]
    pub round_trip_ns: u64,
    /// The share of packets that is lost.
    #[reflect(default)]
    pub loss_percent: f64,
    /// The data of a packet.
    #[reflect(default = 1_448, positive)]
    pub packet_bytes: u64,
    /// After this time without an answer a message is sent again.
    #[reflect(default = 200_000_000, positive)]
    pub retransmit_ns: u64,
    /// What a switch holds for a client at most: what comes beyond is lost (incast). 0: there is no end.
    #[reflect(default)]
    pub buffer_bytes: u64,
    /// What a request or an answer has besides its data.
    #[reflect(default = 128)]
    pub header_bytes: u64,
}

impl Network {
    pub(super) fn problems(&self) -> Vec<(String, &'static str)> {
        let loss = self.loss_percent;
        [
            when(!(0.0..=50.0).contains(&loss), format!("a loss of {loss} %"), "from 0% to 50%"),
            when(
                self.buffer_bytes > 0 && self.rate == 0,
                "a `buffer` that is emptied in no time is never full",
                "say the rate, or leave the buffer out",
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// A storage server: threads, and a cache of what lies behind.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Server {
    /// The part behind it.
    pub over: String,
    /// Requests that are worked on at once. A thread is held until the answer of the part behind.
    #[reflect(default = 8, positive)]
    pub threads: u32,
    /// What a thread takes for a read or write.
    #[reflect(default = 20_000)]
    pub operation_ns: u64,
    /// What a thread takes for names and attributes, which it answers from memory.
    #[reflect(default = 50_000)]
    pub metadata_ns: u64,
    /// The squared coefficient of variation of both.
    #[reflect(default)]
    pub variation: f64,
    /// Its cache for reads; 0: none.
    #[reflect(default)]
    pub cache_bytes: u64,
    /// What is kept or dropped together.
    #[reflect(default = 65_536, positive)]
    pub line_bytes: u64,
    /// Whether it answers writes before they are on the part behind (NFS `async`).
    #[reflect(default)]
    pub write_back: bool,
}

/// The most lines of a cache whose places are simulated.
const MOST_LINES: u64 = 1 << 20;

impl Server {
    pub(super) fn problems(&self) -> Vec<(String, &'static str)> {
        let lines = self.cache_bytes / self.line_bytes.max(1);
        [
            variation(self.variation),
            when(
                lines > MOST_LINES,
                format!("a cache of {lines} lines"),
                "at most 1048576: say longer lines, e.g. line = \"1MiB\"",
            ),
            when(
                self.cache_bytes > 0 && lines < 8,
                "a cache of fewer than 8 lines",
                "say a larger cache, or shorter lines",
            ),
            when(
                self.write_back && self.cache_bytes == 0,
                "`write_back` needs memory",
                "say how much: cache = \"1GiB\"",
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

/// Servers that share the data.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub struct Cluster {
    /// The part that each server is.
    pub over: String,
    /// How many.
    #[reflect(default = 3, positive)]
    pub servers: u32,
    /// Where the pieces of the data lie.
    #[reflect(default)]
    pub placing: Placing,
    /// The pieces that are placed on their own (objects, stripes).
    #[reflect(default = 4_194_304, positive)]
    pub piece_bytes: u64,
    /// Copies of each piece.
    #[reflect(default = 3, positive)]
    pub replicas: u32,
    /// With an erasure code, the parts of a piece that hold data (k); 0: copies.
    #[reflect(default)]
    pub data: u32,
    /// And the parts that hold parity (m).
    #[reflect(default)]
    pub parity: u32,
    /// Copies or parts that must be written before a write is answered; 0: all.
    #[reflect(default)]
    pub write_quorum: u32,
    /// Copies that are asked for a read, which is answered by the last of them; 0: one. Parts: k, or more.
    #[reflect(default)]
    pub read_quorum: u32,
    /// Servers that are slow, the first ones.
    #[reflect(default)]
    pub slow: u32,
    /// How many times longer everything takes there.
    #[reflect(default = 1.0)]
    pub slow_factor: f64,
}

/// Where the pieces of the data lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub enum Placing {
    /// On servers that a hash of the piece names.
    #[default]
    Hash,
    /// On the servers in turn.
    #[reflect(key = "in turn")]
    InTurn,
}

impl Cluster {
    /// Copies or parts of each piece.
    pub fn width(&self) -> u32 {
        if self.data > 0 { self.data + self.parity } else { self.replicas }
    }

    /// How many of that many stored bytes are the user's.
    pub fn shares(&self) -> (u32, u32) {
        if self.data > 0 { (self.data, self.width()) } else { (1, self.replicas) }
    }

    pub(super) fn problems(&self) -> Vec<(String, &'static str)> {
        let width = self.data.checked_add(self.parity).map_or(u32::MAX, |_| self.width());
        [
            when(
                width > self.servers,
                format!(
                    "{width} copies or parts of a piece need as many servers, and there are {}",
                    self.servers
                ),
                "more servers, or fewer copies",
            ),
            when(
                self.parity > 0 && self.data == 0,
                "`parity` without `data`",
                "an erasure code has both: data = 4, parity = 2",
            ),
            when(
                self.write_quorum.max(self.read_quorum) > width,
                format!("a quorum of more than {width}"),
                "at most the number of copies or parts",
            ),
            when(
                self.data > 0 && (1..self.data).contains(&self.read_quorum),
                format!("{} parts do not make a piece", self.read_quorum),
                "at least as many as hold data (k)",
            ),
            when(self.slow > self.servers, "more slow servers than servers", "slow = 1"),
            when(
                !(1.0..=1000.0).contains(&self.slow_factor),
                format!("`slow_factor` of {}", self.slow_factor),
                "from 1 (as the others) to 1000",
            ),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}
