//! What the conversations of the network's tools have in common: words of structs on the wire, socket options and targets, facts
//! of a job, who gives way where there are too many peers, what an input belongs to, and the end that a signal asks for.

use std::collections::BTreeMap;

use iodyno_model::conversation::{Action, Connection, Input, RunNumber};
use iodyno_model::{JobRecord, Open, Origin, Prepare, Target, TargetKind};

/// The word of 32 bits of that number, in network order.
pub fn word(bytes: &[u8], index: usize) -> Option<u32> {
    bytes.get(index * 4..index * 4 + 4)?.try_into().ok().map(u32::from_be_bytes)
}

/// Words in network order.
pub fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_be_bytes()).collect()
}

/// Options of a socket, as the engine names them.
#[derive(Default)]
pub struct SocketOptions(pub Vec<(String, String)>);

impl SocketOptions {
    pub fn set(&mut self, name: &str, value: Option<impl ToString>) {
        self.0.extend(value.map(|value| (name.to_string(), value.to_string())));
    }

    /// Those that are on.
    pub fn switch<const N: usize>(&mut self, switches: [(&str, bool); N]) {
        let on = switches.into_iter().filter(|(_, is_on)| *is_on);
        self.0.extend(on.map(|(name, _)| (name.to_string(), "on".to_string())));
    }
}

/// An endpoint as the target of a job: a connection or a place of the conversation by its number (transport `connection`),
/// or an address.
pub fn endpoint(name: &str, transport: &str, address: String, listen: bool) -> Target {
    Target {
        name: name.into(),
        kind: TargetKind::Endpoint { transport: transport.into(), address, listen },
        open: Open::default(),
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Origin::Default,
    }
}

pub fn fact(facts: &[(String, u64)], name: &str) -> Option<u64> {
    facts.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
}

/// A fact of a job: the sum over its workers.
pub fn fact_of(job: &JobRecord, name: &str) -> Option<u64> {
    job.workers.iter().filter_map(|worker| fact(&worker.facts, name)).reduce(|a, b| a + b)
}

/// Who gives way to a newcomer: of the peers that are silent (number, host, since when) the one that has been so for
/// longest, of a host, or of the host that has most such. So nobody shuts out others by saying nothing.
pub fn longest_silent<N: Copy>(
    silent: impl Iterator<Item = (N, String, u64)>,
    host: Option<&str>,
) -> Option<N> {
    let mut by_host: BTreeMap<String, Vec<(u64, N)>> = BTreeMap::new();
    silent.for_each(|(number, host, since_ns)| by_host.entry(host).or_default().push((since_ns, number)));
    let of_host = match host {
        Some(host) => by_host.get(host)?,
        None => by_host.values().max_by_key(|peers| peers.len())?,
    };
    of_host.iter().min_by_key(|(since_ns, _)| *since_ns).map(|(_, number)| *number)
}

/// The connection, or the place, that something has happened to.
pub fn connection_of(input: &Input) -> Option<Connection> {
    match input {
        Input::Ready(number, _)
        | Input::Failed(number, ..)
        | Input::Bytes(number, _)
        | Input::Closed(number) => Some(*number),
        Input::Accepted { at, .. } | Input::Datagram { at, .. } => Some(*at),
        _ => None,
    }
}

/// The run that something is reported of.
pub fn run_of(input: &Input) -> Option<RunNumber> {
    match input {
        Input::Told(run, _) | Input::Ended(run, _) => Some(*run),
        _ => None,
    }
}

/// Whether two secrets are the same, in a time that does not tell where they differ.
pub fn is_same_secret(one: &str, other: &str) -> bool {
    let differences = one.bytes().zip(other.bytes()).fold(0, |sum, (a, b)| sum | (a ^ b));
    one.len() == other.len() && differences == 0
}

/// The end that a signal asks for, with the shell's status for it.
pub fn end_by(signal: i32) -> Action {
    Action::End((128 + signal).clamp(1, 255) as u8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_in_network_order() {
        let bytes = words(&[1, 0xffff_fffe]);
        assert_eq!(bytes, [0, 0, 0, 1, 255, 255, 255, 254]);
        assert_eq!((word(&bytes, 1), word(&bytes, 2)), (Some(0xffff_fffe), None));
    }

    #[test]
    fn the_longest_silent_peer_gives_way() {
        let peers = [(1, "a", 5), (2, "b", 4), (3, "b", 3), (4, "c", 1)];
        let silent = || peers.iter().map(|(number, host, since_ns)| (*number, host.to_string(), *since_ns));
        assert_eq!(longest_silent(silent(), Some("a")), Some(1));
        assert_eq!(longest_silent(silent(), None), Some(3));
        assert_eq!(longest_silent(silent(), Some("d")), None);
        assert_eq!(longest_silent(silent().take(0), None), None);
    }
}
