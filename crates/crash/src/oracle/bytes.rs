//! The size and the bytes of a file that was found.

use super::found::FoundBytes;
use super::{Alternatives, Given, ModelInode, PromiseKind};
use crate::promise::Damage;
use crate::stamp::{BlockStamp, ByteOrigin, UNIT};

const PAGE: usize = 4096;
const FOREIGN: Given = Given { kind: PromiseKind::NoForeignBytes, step: None };

type Report<'a> = &'a mut dyn FnMut(Given, Damage, String);

/// Reports a size out of its bounds, and each run of bytes with the same damage. Bytes that no promise covers are held against what
/// was ever there, where the file system shows no foreign ones; none are where nothing covers the file.
pub(super) fn judge_bytes(
    inode: &ModelInode,
    found: &FoundBytes,
    is_covered: bool,
    hides_foreign: bool,
    report: Report,
) {
    let size = &inode.size;
    if !(size.smallest..=size.largest).contains(&found.size) {
        let given = size.promise.unwrap_or(FOREIGN);
        let expected = match (size.smallest, size.largest) {
            (smallest, largest) if smallest == largest => format!("{smallest}"),
            (smallest, largest) => format!("{smallest} to {largest}"),
        };
        if size.promise.is_some() || hides_foreign {
            report(given, Damage::WrongSize, format!("{} bytes instead of {expected}", found.size));
        }
    }
    if !is_covered {
        return;
    }
    if let Some(given) = inode.whole_pages {
        torn_pages(given, found, report);
    }
    let mut run: Option<DamagedRun> = None;
    for (start, end, range) in inode.bytes.below(found.bytes.len() as u64) {
        let end = end.min(found.bytes.len() as u64);
        let mut at = start;
        while at < end {
            let next = (at - at % UNIT + UNIT).min(end);
            let unit = &found.bytes[at as usize..next as usize];
            let given = covering(inode, range, at, hides_foreign);
            let damage = given.and_then(|_| damage_of(range, at, unit));
            let given = given.unwrap_or(FOREIGN);
            let is_same = run
                .as_ref()
                .is_some_and(|run| Some(run.damage) == damage && run.given == given && run.end == at);
            if let Some(run) = run.as_mut().filter(|_| is_same) {
                run.end = next;
            } else {
                run.take().into_iter().for_each(|run| run.tell(report));
                run = damage.map(|damage| DamagedRun {
                    given,
                    damage,
                    start: at,
                    end: next,
                    text: described(range, at, unit, damage),
                });
            }
            at = next;
        }
    }
    run.into_iter().for_each(|run| run.tell(report));
}

/// Reports each page that is of several writes.
fn torn_pages(given: Given, found: &FoundBytes, report: Report) {
    for (number, page) in found.bytes.chunks_exact(PAGE).enumerate() {
        let mut writes: Vec<_> = page
            .chunks(UNIT as usize)
            .map(|unit| BlockStamp::read(unit).map(|stamp| stamp.generation))
            .collect();
        writes.dedup();
        if writes.len() > 1 {
            let word = |write: &Option<u32>| write.map_or("none".into(), |write| format!("write {write}"));
            let parts: Vec<String> = writes.iter().map(word).collect();
            report(given, Damage::Torn, format!("page {number}: parts of {}", parts.join(", ")));
        }
    }
}

/// The promise that covers a byte. None covers what lies beyond the size that was promised, or in a hole that is being filled.
fn covering(
    inode: &ModelInode,
    range: &Alternatives<ByteOrigin>,
    at: u64,
    hides_foreign: bool,
) -> Option<Given> {
    let is_hole = range.allowed.len() > 1 && range.allows(&ByteOrigin::Zero);
    let is_promised = at < inode.size.promised && (hides_foreign || !is_hole);
    range.promise.filter(|_| is_promised).or(hides_foreign.then_some(FOREIGN))
}

/// Neighbouring bytes with the same damage.
struct DamagedRun {
    given: Given,
    damage: Damage,
    start: u64,
    end: u64,
    /// Of the first unit.
    text: String,
}

impl DamagedRun {
    fn tell(self, report: Report) {
        report(self.given, self.damage, format!("bytes {} to {}: {}", self.start, self.end, self.text));
    }
}

fn is_from(origin: ByteOrigin, at: u64, unit: &[u8]) -> bool {
    let mut expected = [0; UNIT as usize];
    let expected = &mut expected[..unit.len()];
    origin.fill(at, expected);
    expected == unit
}

fn damage_of(range: &Alternatives<ByteOrigin>, at: u64, unit: &[u8]) -> Option<Damage> {
    if range.allowed.iter().any(|origin| is_from(*origin, at, unit)) {
        return None;
    }
    if unit.iter().all(|byte| *byte == 0) {
        return Some(Damage::Zeroed);
    }
    if range.ever.iter().any(|origin| is_from(*origin, at, unit)) {
        return Some(Damage::Stale);
    }
    Some(if is_torn(range, at, unit) { Damage::Torn } else { Damage::Garbage })
}

/// Whether each byte comes from something that was there once, or is zero, and not all from the same. Sixteen bytes are looked at
/// together: single ones are alike by chance.
fn is_torn(range: &Alternatives<ByteOrigin>, at: u64, unit: &[u8]) -> bool {
    let known = |part: usize, bytes: &[u8]| {
        let at = at + part as u64 * 16;
        bytes.iter().all(|byte| *byte == 0) || range.ever.iter().any(|origin| is_from(*origin, at, bytes))
    };
    unit.chunks(16).enumerate().all(|(part, bytes)| known(part, bytes))
}

fn described(range: &Alternatives<ByteOrigin>, at: u64, unit: &[u8], damage: Damage) -> String {
    let text = |origin: ByteOrigin| match origin {
        ByteOrigin::Zero => "zeroes".to_string(),
        ByteOrigin::Write { generation, .. } => format!("write {generation}"),
    };
    let expected = text(range.current);
    match damage {
        Damage::Zeroed => format!("zeroes instead of {expected}"),
        Damage::Stale => {
            let found = range.ever.iter().find(|origin| is_from(**origin, at, unit));
            format!("{} instead of {expected}", found.map_or_else(String::new, |origin| text(*origin)))
        }
        Damage::Torn => format!("pieces of several writes instead of {expected}"),
        _ => match BlockStamp::read(unit) {
            Some(stamp) => format!(
                "misdirected: write {} of file {} for offset {}",
                stamp.generation, stamp.file, stamp.offset
            ),
            None => format!("what nobody wrote there instead of {expected}"),
        },
    }
}
