//! How far the clocks of the ranks are apart.
//!
//! Ranks on one kernel (and in one time namespace) read the same monotonic clock; what differs is only how each has
//! scaled the processor's counter, which it sees by reading both. For every other clock its first rank, the keeper,
//! answers pings of the first rank with its time: the quickest answer counts, and half of its round trip is the error.

use super::collectives;
use super::library::Library;
use super::mail;
use super::nodes::NodeMap;
use super::pending::Pending;
use crate::clock::{self, Tick};
use crate::world::{BrokenWorld, Patience};

const PING: i32 = 101;
const ANSWER: i32 = 102;
/// How often each keeper is asked: enough that one answer finds the way free.
const ROUNDS: u32 = 24;

/// From the first rank's clock to this one's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Distance {
    /// To be added to a time of the first rank, ns.
    ahead_ns: i64,
    /// The largest error of any rank's, ns.
    pub(super) error_ns: u64,
}

impl Distance {
    /// A time of the first rank by this rank's clock.
    pub(super) fn mine(self, of_first: Tick) -> Tick {
        match of_first {
            clock::NEVER => clock::NEVER,
            time => time.saturating_add_signed(self.ahead_ns),
        }
    }
}

/// Two readings that were to be the same, and by how much that may be wrong, ns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Apart {
    ns: i64,
    error_ns: u64,
}

/// Measures it on all ranks together.
pub(super) fn compare(
    library: &'static Library,
    rank: u32,
    map: &NodeMap,
    patience: Patience<'_>,
) -> Result<Distance, BrokenWorld> {
    let own = own_scale();
    let mut apart = vec![Apart { ns: 0, error_ns: 0 }];
    for keeper in map.keepers() {
        if rank == 0 {
            apart.push(ask(library, keeper, patience)?);
        } else if rank == keeper {
            answer(library, patience)?;
        }
    }
    let worst = collectives::begin(library, crate::world::Reduce::Most, vec![own.error_ns])?;
    let worst_ns = worst.wait(patience)?.all[0];
    let answer = collectives::broadcast(library, written(own, &apart), patience)?;
    let (first, apart) =
        read(&answer).ok_or_else(|| BrokenWorld("another rank has another version of iodyno".into()))?;
    let clock = map.clocks.get(rank as usize).map_or(0, |clock| *clock as usize);
    let kept = apart.get(clock).map_or(0, |apart| apart.ns);
    let farthest_ns = apart.iter().map(|apart| apart.error_ns).max().unwrap_or(0);
    Ok(Distance { ahead_ns: kept + own.ns - first.ns, error_ns: farthest_ns + first.error_ns + worst_ns })
}

/// How far our reading of the clock is from the system's; the tightest of a few tries.
fn own_scale() -> Apart {
    let read = || {
        let before = clock::now();
        let system = clock::monotonic();
        let after = clock::now();
        let took_ns = after.saturating_sub(before);
        Apart { ns: (before + took_ns / 2) as i64 - system as i64, error_ns: took_ns / 2 }
    };
    (0..16).map(|_| read()).min_by_key(|apart| apart.error_ns).unwrap_or(Apart { ns: 0, error_ns: 0 })
}

/// The first rank's side: how far a keeper's clock is ahead of ours.
fn ask(library: &'static Library, keeper: u32, patience: Patience<'_>) -> Result<Apart, BrokenWorld> {
    let mut best = Apart { ns: 0, error_ns: u64::MAX };
    for round in 0..ROUNDS {
        let answer = mail::expect(library, keeper as i32, ANSWER, 8)?;
        let asked = clock::monotonic();
        let ping = mail::post(library, keeper, PING, round.to_ne_bytes().to_vec())?;
        let bytes = at_once(answer, patience)?;
        let received = clock::monotonic();
        at_once(ping, patience)?;
        let there = u64::from_ne_bytes(bytes.try_into().unwrap_or_default());
        let trip_ns = received - asked;
        let apart = Apart { ns: there as i64 - (asked + trip_ns / 2) as i64, error_ns: trip_ns.div_ceil(2) };
        // The first trip opens connections.
        if round > 0 && apart.error_ns < best.error_ns {
            best = apart;
        }
    }
    Ok(best)
}

/// A keeper's side.
fn answer(library: &'static Library, patience: Patience<'_>) -> Result<(), BrokenWorld> {
    for round in 0..ROUNDS {
        let ping = mail::expect(library, 0, PING, 4)?;
        // The first rank may still be busy with other keepers.
        if round == 0 {
            ping.wait(patience)?
        } else {
            at_once(ping, patience)?
        };
        let now = clock::monotonic().to_ne_bytes().to_vec();
        at_once(mail::post(library, 0, ANSWER, now)?, patience)?;
    }
    Ok(())
}

/// Waits without sleeping, since both sides are here and a sleep would be measured; for a short while only.
fn at_once(mut flight: Pending<Vec<u8>>, patience: Patience<'_>) -> Result<Vec<u8>, BrokenWorld> {
    const SPUN_NS: u64 = 5_000_000;
    let since = clock::monotonic();
    while clock::monotonic() < since + SPUN_NS {
        if flight.is_done()? {
            return Ok(flight.kept());
        }
        std::thread::yield_now();
    }
    flight.wait(patience)
}

/// The first rank's own scale and the distances of all clocks, as bytes.
fn written(own: Apart, apart: &[Apart]) -> Vec<u8> {
    let one = |apart: &Apart| [apart.ns.to_le_bytes(), apart.error_ns.to_le_bytes()].concat();
    std::iter::once(&own).chain(apart).flat_map(one).collect()
}

fn read(bytes: &[u8]) -> Option<(Apart, Vec<Apart>)> {
    let (pairs, rest) = bytes.as_chunks::<16>();
    let one = |pair: &[u8; 16]| {
        let (ns, error_ns) = pair.split_at(8);
        Some(Apart {
            ns: i64::from_le_bytes(ns.try_into().ok()?),
            error_ns: u64::from_le_bytes(error_ns.try_into().ok()?),
        })
    };
    let mut all: Vec<Apart> = pairs.iter().map(one).collect::<Option<_>>()?;
    (rest.is_empty() && !all.is_empty()).then(|| (all.remove(0), all))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let own = Apart { ns: -5, error_ns: 9 };
        let apart = vec![Apart { ns: 0, error_ns: 0 }, Apart { ns: -(1 << 60), error_ns: u64::MAX }];
        assert_eq!(read(&written(own, &apart)), Some((own, apart)));
        assert_eq!(read(&[0; 17]), None);
        assert_eq!(read(&[]), None);
    }

    #[test]
    fn never_stays_never() {
        let distance = Distance { ahead_ns: -7, error_ns: 0 };
        assert_eq!(distance.mine(100), 93);
        assert_eq!(distance.mine(clock::NEVER), clock::NEVER);
    }
}
