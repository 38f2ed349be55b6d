//! On which machines the ranks are, and which of them read the same clock: from what each rank says of itself.
//!
//! A node is a host name on a kernel, so that namespaces with names of their own are nodes of their own, while two
//! machines that are both called `localhost` stay two. A monotonic clock belongs to a kernel and a time namespace, the
//! number of a process to a kernel and a process namespace.

use iodyno_model::WorldFacts;

/// Separates a rank's words; none of them can hold it.
const BETWEEN: char = '\n';

/// What this rank says of itself: host name, kernel, clock, process.
pub(super) fn identity() -> String {
    let host = crate::witness::machine().host;
    let boot = read("/proc/sys/kernel/random/boot_id");
    let space = |name: &str| std::fs::read_link(format!("/proc/self/ns/{name}")).unwrap_or_default();
    // Without a kernel's identity two ranks share a clock if they share the host name.
    let kernel = if boot.is_empty() { host.clone() } else { boot };
    let (time, processes) = (space("time"), space("pid"));
    let clock = format!("{kernel} {}", time.display());
    let process = format!("{} {kernel} {}", std::process::id(), processes.display());
    [&host, &kernel, &clock, &process].map(|word| word.replace(BETWEEN, " ")).join("\n")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_string()
}

/// Where ranks are, and whose clocks they read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NodeMap {
    /// The host name of each node, in the order of their first ranks.
    pub(super) hosts: Vec<String>,
    /// The node of each rank.
    pub(super) nodes: Vec<u32>,
    /// The clock of each rank; that of the first is 0.
    pub(super) clocks: Vec<u32>,
    /// The process of each rank.
    pub(super) processes: Vec<Process>,
}

/// A process: its number, and where that counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Process {
    pub(super) id: i32,
    pub(super) space: String,
}

impl Process {
    fn of(word: &str) -> Process {
        let (id, space) = word.split_once(' ').unwrap_or_default();
        Process { id: id.parse().unwrap_or(-1), space: space.into() }
    }
}

/// The map of what the ranks said, in their order.
pub(super) fn map(identities: &[String]) -> NodeMap {
    let mut known_nodes: Vec<(&str, &str)> = Vec::new();
    let mut known_clocks: Vec<&str> = Vec::new();
    let mut map = NodeMap::default();
    for identity in identities {
        let mut words = identity.split(BETWEEN);
        let mut word = || words.next().unwrap_or_default();
        let (host, kernel, clock) = (word(), word(), word());
        map.nodes.push(place(&mut known_nodes, (host, kernel)));
        map.clocks.push(place(&mut known_clocks, clock));
        map.processes.push(Process::of(word()));
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

impl NodeMap {
    /// What a run reports of its world.
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
        let of = |host: &str, kernel: &str, clock: &str| [host, kernel, clock, "7 k p"].join("\n");
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
        assert_eq!(map.processes[4], Process { id: 7, space: "k p".into() });
    }

    #[test]
    fn a_rank_says_four_words() {
        let identity = identity();
        assert_eq!(identity.split(BETWEEN).count(), 4);
        let map = map(&[identity.clone(), identity]);
        assert_eq!(map.nodes, [0, 0]);
        assert_eq!(map.processes[0].id, std::process::id() as i32);
    }
}
