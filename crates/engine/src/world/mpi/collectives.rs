//! What all ranks do together: wait for each other, hear the first, tell the first, make their values one.
//!
//! Everything is a nonblocking collective of the whole world. Large things go in rounds, because MPI counts with 31
//! bits. Ranks must come here in the same order; after one of them gave up, none of this may be used again.

use std::ffi::c_int;

use super::abi::Handle;
use super::library::Library;
use super::pending::{Pending, room_of, start_of};
use crate::world::{BrokenWorld, Patience, Reduce};

/// The most that one round carries over all ranks, bytes.
const ROUND_BYTES: usize = 1 << 30;

/// A reduction's values: every rank's own, and of all ranks.
#[derive(Default)]
pub(crate) struct Values {
    own: Vec<u64>,
    pub(crate) all: Vec<u64>,
}

/// What a gathering of one round needs: the own bytes, everybody's, how many each has and where they go.
#[derive(Default)]
struct Round {
    own: Vec<u8>,
    all: Vec<u8>,
    counts: Vec<c_int>,
    places: Vec<c_int>,
}

pub(super) fn barrier(library: &'static Library, patience: Patience<'_>) -> Result<(), BrokenWorld> {
    let comm = library.abi.comm_world;
    // SAFETY: the communicator is the library's own.
    let start = |calls: &super::library::Calls, _: &mut (), request: *mut Handle| unsafe {
        (calls.ibarrier)(comm, request)
    };
    Pending::begin(library, "MPI_Ibarrier", (), start)?.wait(patience)
}

/// The first rank's bytes, of any length.
pub(super) fn broadcast(
    library: &'static Library,
    bytes: Vec<u8>,
    patience: Patience<'_>,
) -> Result<Vec<u8>, BrokenWorld> {
    let length = round(library, (bytes.len() as u64).to_ne_bytes().to_vec(), patience)?;
    let length = u64::from_ne_bytes(length.try_into().unwrap_or_default()) as usize;
    let mut bytes = bytes;
    bytes.resize(length, 0);
    if length <= ROUND_BYTES {
        return if length == 0 { Ok(bytes) } else { round(library, bytes, patience) };
    }
    for at in (0..length).step_by(ROUND_BYTES) {
        let part = at..length.min(at + ROUND_BYTES);
        let received = round(library, bytes[part.clone()].to_vec(), patience)?;
        bytes[part].copy_from_slice(&received);
    }
    Ok(bytes)
}

/// The first rank's bytes, as many as every rank hands in.
fn round(library: &'static Library, bytes: Vec<u8>, patience: Patience<'_>) -> Result<Vec<u8>, BrokenWorld> {
    let abi = library.abi;
    Pending::begin(library, "MPI_Ibcast", bytes, |calls, bytes, request| {
        let (at, count) = (room_of(bytes), bytes.len() as c_int);
        // SAFETY: the bytes stay where they are until the flight is done.
        unsafe { (calls.ibcast)(at, count, abi.byte, 0, abi.comm_world, request) }
    })?
    .wait(patience)
}

/// On the first rank everybody's bytes, of any length; elsewhere nothing.
pub(super) fn gather(
    library: &'static Library,
    (rank, size): (u32, u32),
    bytes: Vec<u8>,
    patience: Patience<'_>,
) -> Result<Vec<Vec<u8>>, BrokenWorld> {
    let longest = begin(library, Reduce::Most, vec![bytes.len() as u64])?;
    let lengths = lengths(library, size, bytes.len())?;
    let longest = longest.wait(patience)?.all[0] as usize;
    let lengths = lengths.wait(patience)?.all;
    let most = ROUND_BYTES / size as usize;
    let mut gathered = match rank {
        0 => lengths.iter().map(|length| Vec::with_capacity(*length as usize)).collect(),
        _ => Vec::new(),
    };
    for at in (0..longest).step_by(most) {
        let part = |length: usize| length.saturating_sub(at).min(most);
        let own = bytes[at.min(bytes.len())..][..part(bytes.len())].to_vec();
        let counts =
            if rank == 0 { lengths.iter().map(|l| part(*l as usize) as c_int).collect() } else { Vec::new() };
        let round = gather_round(library, own, counts, patience)?;
        let parts = round.counts.iter().zip(&round.places);
        for (whole, (count, place)) in gathered.iter_mut().zip(parts) {
            whole.extend_from_slice(&round.all[*place as usize..][..*count as usize]);
        }
    }
    Ok(gathered)
}

/// Begins to tell the first rank how many bytes each has.
fn lengths(library: &'static Library, size: u32, own: usize) -> Result<Pending<Values>, BrokenWorld> {
    let abi = library.abi;
    let values = Values { own: vec![own as u64], all: vec![0; size as usize] };
    Pending::begin(library, "MPI_Igather", values, |calls, values, request| {
        let (from, to) = (start_of(&values.own), room_of(&mut values.all));
        // SAFETY: both lists stay where they are until the flight is done, and the second has a place for every rank.
        unsafe { (calls.igather)(from, 1, abi.uint64, to, 1, abi.uint64, 0, abi.comm_world, request) }
    })
}

fn gather_round(
    library: &'static Library,
    own: Vec<u8>,
    counts: Vec<c_int>,
    patience: Patience<'_>,
) -> Result<Round, BrokenWorld> {
    let mut places = Vec::with_capacity(counts.len());
    let all = counts.iter().fold(0, |place: c_int, count| {
        places.push(place);
        place + count
    });
    let round = Round { own, all: vec![0; all as usize], counts, places };
    let abi = library.abi;
    Pending::begin(library, "MPI_Igatherv", round, |calls, round, request| {
        let (from, count, to) = (start_of(&round.own), round.own.len() as c_int, room_of(&mut round.all));
        let (counts, places) = (start_of(&round.counts), start_of(&round.places));
        let comm = abi.comm_world;
        // SAFETY: all four lists stay where they are until the flight is done; on the first rank, the only one that
        // reads them, the last two have a number for every rank, and what they say fits the second.
        unsafe { (calls.igatherv)(from, count, abi.byte, to, counts, places, abi.byte, 0, comm, request) }
    })?
    .wait(patience)
}

/// Begins to make the values of all ranks one.
pub(super) fn begin(
    library: &'static Library,
    how: Reduce,
    own: Vec<u64>,
) -> Result<Pending<Values>, BrokenWorld> {
    let abi = library.abi;
    let how = match how {
        Reduce::Sum => abi.sum,
        Reduce::Least => abi.least,
        Reduce::Most => abi.most,
    };
    let values = Values { all: vec![0; own.len()], own };
    Pending::begin(library, "MPI_Iallreduce", values, |calls, values, request| {
        let count = values.own.len() as c_int;
        let (from, to) = (start_of(&values.own), room_of(&mut values.all));
        // SAFETY: both lists stay where they are until the flight is done, and are equally long.
        unsafe { (calls.iallreduce)(from, to, count, abi.uint64, how, abi.comm_world, request) }
    })
}
