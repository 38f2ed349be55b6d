//! The world a run is in: its ranks, and on which machines they are.
//!
//! A rank is one process of ours; without a launcher there is one. Times of different ranks are reported on one scale,
//! that of the first rank's clock, as exactly as [`WorldFacts::clock_error_ns`] says.

use crate::reflect::Reflect;

/// The ranks of a run, and where they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Reflect)]
pub struct WorldFacts {
    /// The host name of each machine (node), in the order of their first ranks.
    #[reflect(default)]
    pub hosts: Vec<String>,
    /// The node of each rank, by index in `hosts`.
    #[reflect(default)]
    pub nodes: Vec<u32>,
    /// What joins the ranks, with its version (`Open MPI 4.1.4`); none: there is one rank.
    #[reflect(default)]
    pub library: Option<String>,
    /// The largest error of what is assumed about the distance between two ranks' clocks, ns.
    #[reflect(default)]
    pub clock_error_ns: u64,
    /// Ranks that were lost before they could report.
    #[reflect(default)]
    pub lost: Vec<u32>,
}

impl WorldFacts {
    /// One rank on a machine of that name.
    pub fn alone(host: &str) -> Self {
        WorldFacts { hosts: vec![host.into()], nodes: vec![0], ..WorldFacts::default() }
    }

    /// How many ranks, at least 1.
    pub fn ranks(&self) -> u32 {
        self.nodes.len().max(1) as u32
    }

    /// How many machines, at least 1.
    pub fn machines(&self) -> u32 {
        self.hosts.len().max(1) as u32
    }

    /// The node of a rank.
    pub fn node(&self, rank: u32) -> u32 {
        self.nodes.get(rank as usize).copied().unwrap_or(0)
    }

    /// How many ranks are on a node.
    pub fn on_node(&self, node: u32) -> u32 {
        self.nodes.iter().filter(|other| **other == node).count().max(1) as u32
    }

    /// The host name of a rank's machine; empty where it is not known.
    pub fn host(&self, rank: u32) -> &str {
        self.hosts.get(self.node(rank) as usize).map_or("", String::as_str)
    }
}
