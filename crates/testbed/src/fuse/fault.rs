//! What the configured faults do to one request, decided once when it is admitted.
//!
//! Deciding in one place, under the queue's lock, gives every request its number and its fate in arrival order. The
//! rest of the server only carries the fate out.

use super::config::{Fault, Pick, RequestKind};
use super::log::Header;
use std::sync::atomic::Ordering::AcqRel;

/// A request as faults see it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FaultRequest {
    pub(crate) kind: RequestKind,
    /// From 1, per kind.
    pub(crate) number: u64,
    pub(crate) offset: u64,
    pub(crate) bytes: u64,
}

impl FaultRequest {
    fn covers(&self, byte: u64) -> bool {
        byte >= self.offset && byte - self.offset < self.bytes
    }
}

/// What happens to a request beyond what it asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) errno: Option<i32>,
    /// At most this many bytes are transferred and reported.
    pub(crate) short: Option<u64>,
    pub(crate) stall_ns: u64,
    pub(crate) freeze: bool,
    /// Bits to invert: byte within the request, mask.
    pub(crate) flips: Vec<(usize, u8)>,
    /// At most this many bytes reach the media, whatever is reported.
    pub(crate) applied: Option<u64>,
    /// Where the write lands instead of its offset.
    pub(crate) landing: Option<u64>,
}

/// Decides the fate of a request; `header` counts the matches of faults that need a count.
pub(crate) fn decide(faults: &[Fault], asked: FaultRequest, header: &Header) -> Fate {
    let mut fate = Fate::default();
    for (index, fault) in faults.iter().enumerate() {
        let picked =
            |on: RequestKind, pick: Pick| on == asked.kind && meets(pick, asked, || next(header, index));
        fate.suffer(fault, asked, picked);
    }
    fate
}

fn next(header: &Header, index: usize) -> u64 {
    header.matches[index].fetch_add(1, AcqRel) + 1
}

fn meets(pick: Pick, asked: FaultRequest, next: impl FnOnce() -> u64) -> bool {
    match pick {
        Pick::All => true,
        Pick::Nth(n) => asked.number == n,
        Pick::EveryNth(n) => asked.number.is_multiple_of(n),
        Pick::At(offset) => asked.covers(offset),
        Pick::NthAt { offset, n } => asked.covers(offset) && next() == n,
    }
}

impl Fate {
    fn suffer(&mut self, fault: &Fault, asked: FaultRequest, picked: impl Fn(RequestKind, Pick) -> bool) {
        match *fault {
            Fault::Error { on, pick, errno } if picked(on, pick) => self.errno = Some(errno),
            Fault::Short { on, pick, bytes } if picked(on, pick) => self.short = Some(bytes),
            Fault::Stall { on, pick, ns } if picked(on, pick) => self.stall_ns += ns,
            Fault::Freeze { on, pick, ns } if picked(on, pick) => {
                self.stall_ns += ns;
                self.freeze = true;
            }
            Fault::FlipBit { on, offset, bit } if picked(on, Pick::At(offset)) => {
                self.flips.push(((offset - asked.offset) as usize, 1 << (bit & 7)));
            }
            Fault::Lost { pick } if picked(RequestKind::Write, pick) => self.applied = Some(0),
            Fault::Stale { offset } if picked(RequestKind::Write, Pick::NthAt { offset, n: 2 }) => {
                self.applied = Some(0);
            }
            Fault::Torn { pick, sectors } if picked(RequestKind::Write, pick) => {
                self.applied = Some(sectors * 512)
            }
            Fault::Misdirected { from, to } if picked(RequestKind::Write, Pick::At(from)) => {
                self.landing = Some((asked.offset + to).saturating_sub(from));
            }
            // A swap is a property of the media, not of a request: see `swaps`.
            _ => {}
        }
    }
}

/// The parts of a read that swaps replace: where in the read, how many bytes, and where they come from.
pub(crate) fn swaps(faults: &[Fault], offset: u64, bytes: u64) -> Vec<(usize, usize, u64)> {
    let mut parts = Vec::new();
    for fault in faults {
        let Fault::Swapped { a, b, bytes: block } = *fault else { continue };
        for (here, there) in [(a, b), (b, a)] {
            let first = here.max(offset);
            let last = (here + block).min(offset + bytes);
            if first < last {
                parts.push(((first - offset) as usize, (last - first) as usize, there + (first - here)));
            }
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(number: u64, offset: u64, bytes: u64) -> FaultRequest {
        FaultRequest { kind: RequestKind::Write, number, offset, bytes }
    }

    #[test]
    fn picks_by_number_and_by_place() {
        let never = || -> u64 { panic!("this pick counts nothing") };
        assert!(meets(Pick::Nth(3), write(3, 0, 1), never));
        assert!(!meets(Pick::Nth(3), write(4, 0, 1), never));
        assert!(meets(Pick::EveryNth(2), write(4, 0, 1), never));
        assert!(meets(Pick::At(4095), write(1, 0, 4096), never));
        assert!(!meets(Pick::At(4096), write(1, 0, 4096), never));
        assert!(meets(Pick::NthAt { offset: 0, n: 2 }, write(9, 0, 1), || 2));
    }

    #[test]
    fn a_swap_replaces_only_what_is_read() {
        let swap = [Fault::Swapped { a: 4096, b: 16384, bytes: 4096 }];
        assert_eq!(swaps(&swap, 0, 4096), vec![]);
        assert_eq!(swaps(&swap, 0, 8192), vec![(4096, 4096, 16384)]);
        assert_eq!(swaps(&swap, 18432, 512), vec![(0, 512, 6144)]);
    }
}
