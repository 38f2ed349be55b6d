//! Hosts: which ranks a definition's hosts are, and where the command goes.
//!
//! Each `hd=` is a rank, in their order. It refuses shells other than ssh: the ranks start over the user's own.

use iodyno_model::{Diagnostic, Origin, Ranks};

use crate::Loader;
use crate::hosts::{Elsewhere, Host, is_host};
use crate::vdbench::definition::{Definition, Definitions, MistakeList, matches};

/// The hosts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sites {
    /// Labels, each with the name of its host.
    labels: Vec<(String, String)>,
    ranks: u32,
}

/// What hosts come to.
pub enum Whereabouts {
    Here(Sites),
    /// The same command runs there.
    There(Elsewhere),
}

impl Sites {
    /// Where a command runs: here, or on the hosts that its files name.
    ///
    /// # Errors
    /// Hosts that cannot be reached, or not as they are described.
    pub fn of(all: &Definitions, loader: &dyn Loader) -> Result<Whereabouts, Vec<Diagnostic>> {
        let mut wrong = MistakeList::default();
        let labels: Vec<_> = all.hosts.iter().flat_map(|host| labels(host, &mut wrong)).collect();
        let world = loader.world();
        let (ranks, is_launched) = (world.ranks() as usize, world.library.is_some());
        let is_remote = labels.iter().any(|(_, name)| !is_local(name));
        match (is_remote, is_launched) {
            _ if !wrong.0.is_empty() => Err(wrong.0),
            // Processes of one machine are its threads.
            (false, _) => Ok(Whereabouts::Here(Sites { labels, ranks: 1 })),
            (true, true) if ranks == labels.len() => {
                Ok(Whereabouts::Here(Sites { labels, ranks: ranks as u32 }))
            }
            (true, true) => {
                let message = format!("{} hosts, and {ranks} ranks", labels.len());
                let hint = "leave the launcher out: hd= names the hosts";
                Err(vec![Diagnostic::error(&Origin::argument("hd="), message).hint(hint)])
            }
            (true, false) => {
                let hosts = labels.iter().map(|(_, name)| Host { name: name.clone(), slots: 1 }).collect();
                Ok(Whereabouts::There(Elsewhere { hosts, ..Elsewhere::default() }))
            }
        }
    }

    pub fn count(&self) -> u32 {
        self.ranks.max(1)
    }

    /// The ranks that a definition's `host=` means; none: all.
    fn ranks(&self, definition: &Definition, wrong: &mut MistakeList) -> Option<Vec<u32>> {
        let names = definition.values("host");
        if names.is_empty() || names.iter().any(|name| name == "*") {
            return None;
        }
        let mut found = Vec::new();
        for name in names {
            let is = |(label, host): &(String, String)| matches(name, label) || matches(name, host);
            let before = found.len();
            found.extend((0..).zip(&self.labels).filter(|(_, label)| is(label)).map(|(rank, _)| rank));
            if found.len() == before {
                let all: Vec<_> = self.labels.iter().map(|(label, _)| label.as_str()).collect();
                let hint = format!("there are: {}", all.join(" "));
                wrong.add(definition.place("host"), format!("no hd={name}"), hint);
            }
        }
        found.sort_unstable();
        found.dedup();
        (self.ranks > 1).then_some(found)
    }

    /// On which ranks a workload on some storage runs, a job for each entry; and how many ranks that are.
    pub fn places(&self, definitions: &[&Definition], wrong: &mut MistakeList) -> (Vec<Ranks>, u32) {
        let mut common: Option<Vec<u32>> = None;
        for definition in definitions {
            let ranks = self.ranks(definition, wrong);
            common = match (common, ranks) {
                (None, ranks) => ranks,
                (Some(ranks), None) => Some(ranks),
                (Some(ranks), Some(others)) => {
                    Some(ranks.into_iter().filter(|rank| others.contains(rank)).collect())
                }
            };
        }
        match common {
            None => (vec![Ranks::All], self.count()),
            Some(ranks) => {
                let count = ranks.len() as u32;
                (ranks.into_iter().map(Ranks::Only).collect(), count)
            }
        }
    }
}

/// The labels of a host, one for each of its clients.
fn labels(host: &Definition, wrong: &mut MistakeList) -> Vec<(String, String)> {
    let name = host.text("system").unwrap_or(&host.name).to_string();
    let shell = host.text("shell").unwrap_or("ssh");
    if shell != "ssh" && !is_local(&name) {
        let hint = "say shell=ssh: the ranks start over your own ssh";
        wrong.add(host.place("shell"), format!("`shell={shell}` needs a daemon of the original"), hint);
    }
    if !is_host(&name) {
        wrong.add(&host.origin, format!("`{name}` is no host's name"), "hd=LABEL,system=NAME");
    }
    let clients = host.number("clients").unwrap_or(1.0).clamp(1.0, 1024.0) as u32;
    let label = |client| if clients > 1 { format!("{}_cl{client}", host.name) } else { host.name.clone() };
    (0..clients).map(|client| (label(client), name.clone())).collect()
}

fn is_local(name: &str) -> bool {
    matches!(name, "localhost" | "127.0.0.1" | "::1")
}
