//! On which machines the ranks are, and which of them read the same clock: from what each rank says of itself.
//!
//! A node is a host name on a kernel, so that namespaces with names of their own are nodes of their own, while two
//! machines that are both called `localhost` stay two. A monotonic clock belongs to a kernel and a time namespace.

use iodyno_model::WorldFacts;

/// Separates a rank's three words; none of them can hold it.
const BETWEEN: char = '\n';

/// What this rank says of itself: host name, kernel, clock.
pub(super) fn identity() -> String {
    let host = crate::witness::machine().host;
    let boot = read("/proc/sys/kernel/random/boot_id");
    let time = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
    // Without a kernel's identity two ranks share a clock if they share the host name.
    let kernel = if boot.is_empty() { host.clone() } else { boot };
    [&host, &kernel, &format!("{kernel} {}", time.display())]
        .map(|word| word.replace(BETWEEN, " "))
        .join("\n")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_string()
}

/// Where ranks are, and whose clocks they read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Map {
    /// The host name of each node, in the order of their first ranks.
    pub(super) hosts: Vec<String>,
    /// The node of each rank.
    pub(super) nodes: Vec<u32>,
    /// The clock of each rank; that of the first is 0.
    pub(super) clocks: Vec<u32>,
}

/// The map of what the ranks said, in their order.
pub(super) fn map(identities: &[String]) -> Map {
    let mut known_nodes: Vec<(&str, &str)> = Vec::new();
    let mut known_clocks: Vec<&str> = Vec::new();
    let mut map = Map::default();
    for identity in identities {
        let mut words = identity.split(BETWEEN);
        let mut word = || words.next().unwrap_or_default();
        let (host, kernel, clock) = (word(), word(), word());
        map.nodes.push(place(&mut known_nodes, (host, kernel)));
        map.clocks.push(place(&mut known_clocks, clock));
    }
    map.hosts = known_nodes.iter().map(|(host, _)| host.to_string()).collect();
    map
}

/// Where it is among what is known; new things are added.
fn place<T: PartialEq>(known: &mut Vec<T>, what: T) -> u32 {
    let place = known.iter().position(|other| *other == what).unwrap_or_else(|| {
        known.push(what);
        known.len() - 1
    });
    place as u32
}

impl Map {
    /// What a run tells of its world.
    pub(super) fn facts(&self, library: &str) -> WorldFacts {
        WorldFacts {
            hosts: self.hosts.clone(),
            nodes: self.nodes.clone(),
            library: Some(library.into()),
            ..WorldFacts::default()
        }
    }

    /// How many ranks share the node of this one.
    pub(super) fn on_node_of(&self, rank: u32) -> u32 {
        let node = self.nodes.get(rank as usize);
        self.nodes.iter().filter(|other| Some(*other) == node).count() as u32
    }

    /// The first rank of each clock but the first.
    pub(super) fn keepers(&self) -> Vec<u32> {
        let clocks = self.clocks.iter().max().map_or(0, |last| *last);
        let first = |clock: u32| self.clocks.iter().position(|other| *other == clock).map(|rank| rank as u32);
        (1..=clocks).filter_map(first).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_names_on_kernels_and_clocks_are_kernels() {
        let of = |host: &str, kernel: &str, clock: &str| [host, kernel, clock].join("\n");
        let map = map(&[
            of("a", "k1", "k1 t1"),
            of("b", "k1", "k1 t1"),
            of("a", "k2", "k2 t1"),
            of("a", "k1", "k1 t2"),
            of("b", "k1", "k1 t1"),
        ]);
        assert_eq!(map.hosts, ["a", "b", "a"]);
        assert_eq!(map.nodes, [0, 1, 2, 0, 1]);
        assert_eq!(map.clocks, [0, 0, 1, 2, 0]);
        assert_eq!(map.keepers(), [2, 3]);
    }

    #[test]
    fn a_rank_says_three_words() {
        let identity = identity();
        assert_eq!(identity.split(BETWEEN).count(), 3);
        assert_eq!(map(&[identity.clone(), identity]).nodes, [0, 0]);
    }
}
