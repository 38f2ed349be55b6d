//! What the file system has of all that can be drawn: each kind is tried once before the first is drawn.

use super::calls;
use super::harness::Harness;
use super::operation::{OpKind, Operation, Way};
use iodyno_engine::Failure;
use iodyno_engine::failure::strerror;

/// Alignments that are tried for what moves blocks, beyond the file system's own.
const BLOCKS: [u64; 3] = [4096, 16_384, 65_536];
/// Alignments that are tried for what goes past the page cache, where the file system does not say.
const DIRECT: [u64; 3] = [512, 4096, 65_536];

/// Answers that say: there is no such thing here.
const MISSING: [i32; 7] =
    [libc::EOPNOTSUPP, libc::EINVAL, libc::ENOSYS, libc::ENOTTY, libc::EXDEV, libc::EBADF, libc::ENODEV];

/// What it came to.
pub struct ProbeResult {
    /// What blocks are multiples of, bytes.
    pub block: u64,
    /// What direct operations are multiples of, bytes.
    pub direct: u64,
    /// What it does not have, and its answer.
    pub refused: Vec<(OpKind, String)>,
}

/// Tries these kinds.
///
/// # Errors
/// What broke.
pub fn probe(harness: &mut Harness, kinds: &[OpKind]) -> Result<ProbeResult, Failure> {
    let own = calls::block(harness.files_under_test.fd(0)).unwrap_or(4096).max(512);
    let mut blocks = vec![own];
    blocks.extend(BLOCKS.iter().filter(|block| **block > own));
    let said = calls::direct_alignment(harness.files_under_test.direct_fd(0));
    let direct: Vec<u64> = said.map_or(DIRECT.to_vec(), |said| vec![said]);
    let mut probed = ProbeResult { block: own, direct: direct[0], refused: Vec::new() };
    for kind in kinds {
        match kind {
            OpKind::DirectRead | OpKind::DirectWrite => {
                probed.direct = attempt(harness, *kind, &direct, &mut probed)?
            }
            OpKind::CollapseRange | OpKind::InsertRange | OpKind::Clone | OpKind::Dedupe => {
                probed.block = attempt(harness, *kind, &blocks, &mut probed)?.max(probed.block);
            }
            _ => drop(attempt(harness, *kind, &[own], &mut probed)?),
        }
    }
    harness.renew()?;
    harness.tallies = Default::default();
    Ok(probed)
}

/// Tries a kind with each unit; the first that does, or what is known already when none does.
fn attempt(
    harness: &mut Harness,
    kind: OpKind,
    units: &[u64],
    probed: &mut ProbeResult,
) -> Result<u64, Failure> {
    let mut answer = None;
    let most = (harness.most / 4).min(harness.files_under_test.stride());
    for unit in units.iter().filter(|unit| **unit <= most) {
        match try_one(harness, kind, *unit)? {
            None => return Ok(*unit),
            Some(errno) => answer = Some(errno),
        }
    }
    let said = answer.map_or("the files are too small for it".into(), strerror);
    probed.refused.push((kind, said));
    Ok(if kind.is_direct() { probed.direct } else { probed.block })
}

/// Tries a kind where both files hold three units; its answer, where that says that it is not there.
fn try_one(harness: &mut Harness, kind: OpKind, unit: u64) -> Result<Option<i32>, Failure> {
    harness.renew()?;
    let plain = |file, part| {
        let (seed, way) = (1, Way::Pvsync);
        Operation { file, seed, way, ..Operation::new(OpKind::Write, part * unit, unit) }
    };
    for file in [0, 1] {
        for part in 0..3 {
            // Whatever is wrong with the content shows again, where it counts.
            let _ = harness.round(&[plain(file, part)]);
        }
    }
    if kind == OpKind::Seek {
        return Ok(calls::seek(harness.files_under_test.fd(0), 0, true).err());
    }
    let mut tried = Operation { seed: 2, to: 1, way: Way::Pvsync, ..Operation::new(kind, 0, unit) };
    tried.target = unit;
    let _ = harness.round(&[tried]);
    Ok(harness.files_under_test.result(0).err().filter(|errno| MISSING.contains(errno)))
}
