//! What ranks must agree on, so that all of them go on or none does: whether a step went well everywhere.
//!
//! Every rank calls these at the same places, also after a failure of its own; otherwise the others would wait for ever.

use iodyno_model::{Diagnostic, WorldFacts};

use super::rank_mail::{pack, unpack};
use crate::signal;
use crate::world::{BrokenWorld, Reduce, World};

/// Why a phase, or the run, does not go on.
#[derive(Debug)]
pub enum Trouble {
    /// Something is wrong; on other ranks than the first it is told there, and empty here.
    Wrong(Vec<Diagnostic>),
    /// Ranks no longer come together.
    Broken(BrokenWorld),
}

impl From<Vec<Diagnostic>> for Trouble {
    fn from(wrong: Vec<Diagnostic>) -> Self {
        Trouble::Wrong(wrong)
    }
}

impl From<BrokenWorld> for Trouble {
    fn from(broken: BrokenWorld) -> Self {
        Trouble::Broken(broken)
    }
}

/// How long ranks wait for each other: until there is no time left.
pub fn patience() -> bool {
    !signal::is_hurried()
}

/// Whether all ranks went through a step well.
///
/// # Errors
/// Some did not: what was wrong, on the first rank.
pub fn agree<T>(world: &World, mine: &Result<T, Vec<Diagnostic>>) -> Result<(), Trouble> {
    let wrong = mine.as_ref().err();
    if world.is_alone() {
        return wrong.map_or(Ok(()), |wrong| Err(Trouble::Wrong(wrong.clone())));
    }
    let failed = world.reduce(Reduce::Most, vec![u64::from(wrong.is_some())], &mut patience)?;
    if failed == [0] {
        return Ok(());
    }
    let mine: Vec<Diagnostic> = wrong.cloned().unwrap_or_default();
    let all = world.gather(pack(&mine), &mut patience)?;
    let all: Vec<Vec<Diagnostic>> = all.iter().map(|bytes| unpack(bytes).unwrap_or_default()).collect();
    Err(Trouble::Wrong(merged(world.facts(), &all)))
}

/// The same, keeping the value.
///
/// # Errors
/// As of [`agree`].
pub fn agreed<T>(world: &World, mine: Result<T, Vec<Diagnostic>>) -> Result<T, Trouble> {
    agree(world, &mine)?;
    mine.map_err(Trouble::Wrong)
}

/// The highest of each rank's values, on every rank.
///
/// # Errors
/// Ranks do not come together.
pub fn highest<const N: usize>(world: &World, values: [u64; N]) -> Result<[u64; N], BrokenWorld> {
    if world.is_alone() {
        return Ok(values);
    }
    let all = world.reduce(Reduce::Most, values.to_vec(), &mut patience)?;
    all.try_into().map_err(|_| BrokenWorld("another number of values came back".into()))
}

/// Messages of ranks that are reported at most: a missing directory has as many as there are ranks.
const GROUPS_MOST: usize = 8;

/// What is wrong on all ranks: once, and with the ranks and hosts where it is not the same everywhere.
fn merged(facts: &WorldFacts, all: &[Vec<Diagnostic>]) -> Vec<Diagnostic> {
    let mut groups: Vec<(Diagnostic, Vec<u32>)> = Vec::new();
    for (rank, wrong) in all.iter().enumerate() {
        for wrong in wrong {
            match groups.iter_mut().find(|(known, _)| known == wrong) {
                Some((_, ranks)) => ranks.push(rank as u32),
                None => groups.push((wrong.clone(), vec![rank as u32])),
            }
        }
    }
    let said = |(wrong, ranks): (Diagnostic, Vec<u32>)| match ranks.len() == all.len() {
        true => wrong,
        false => {
            let message = format!("{}: {}", named(facts, &ranks), wrong.message);
            Diagnostic { message, ..wrong }
        }
    };
    let more = groups.len().saturating_sub(GROUPS_MOST);
    let mut all: Vec<Diagnostic> = groups.into_iter().take(GROUPS_MOST).map(said).collect();
    if more > 0 {
        all.push(Diagnostic::error(&Default::default(), format!("and {more} more of other ranks")));
    }
    all
}

/// Ranks in words, with the hosts they are on.
pub fn named(facts: &WorldFacts, ranks: &[u32]) -> String {
    const NUMBERS_MOST: usize = 8;
    const HOSTS_MOST: usize = 8;
    let mut hosts: Vec<&str> = ranks.iter().map(|rank| facts.host(*rank)).collect();
    hosts.dedup();
    hosts.sort_unstable();
    hosts.dedup();
    let more = hosts.len().saturating_sub(HOSTS_MOST);
    hosts.truncate(HOSTS_MOST);
    let hosts = match more {
        0 => hosts.join(", "),
        more => format!("{} and {more} more", hosts.join(", ")),
    };
    match ranks {
        [one] => format!("rank {one} on {hosts}"),
        few if few.len() <= NUMBERS_MOST => {
            let numbers: Vec<String> = few.iter().map(u32::to_string).collect();
            format!("ranks {} on {hosts}", numbers.join(", "))
        }
        many => format!("{} ranks on {hosts}", many.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts() -> WorldFacts {
        WorldFacts { hosts: vec!["a".into(), "b".into()], nodes: vec![0, 0, 1, 1], ..WorldFacts::default() }
    }

    #[test]
    fn what_is_wrong_everywhere_is_said_once_and_elsewhere_with_rank_and_host() {
        let wrong = |text: &str| Diagnostic::error(&Default::default(), text);
        let all = vec![
            vec![wrong("bad plan")],
            vec![wrong("bad plan"), wrong("no libaio")],
            vec![wrong("bad plan"), wrong("full")],
            vec![wrong("bad plan"), wrong("full")],
        ];
        let texts: Vec<String> = merged(&facts(), &all).into_iter().map(|wrong| wrong.message).collect();
        assert_eq!(texts, ["bad plan", "rank 1 on a: no libaio", "ranks 2, 3 on b: full"]);
    }

    #[test]
    fn many_ranks_are_counted() {
        let facts = WorldFacts {
            hosts: vec!["a".into(), "b".into()],
            nodes: (0..64).map(|rank| rank / 32).collect(),
            ..WorldFacts::default()
        };
        let all: Vec<u32> = (0..64).collect();
        assert_eq!(named(&facts, &all), "64 ranks on a, b");
        assert_eq!(named(&facts, &all[40..]), "24 ranks on b");
    }
}
