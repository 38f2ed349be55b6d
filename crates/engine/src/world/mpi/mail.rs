//! Messages between ranks: sent without waiting, received when somebody asks.
//!
//! What is sent is kept until the library has no more use for it, and what comes is taken in the order in which a rank
//! sent it. Nothing here waits: a large message arrives over several questions.

use std::cell::RefCell;
use std::ffi::{c_int, c_void};

use super::abi::Status;
use super::library::Library;
use super::pending::{Pending, room_of, start_of};
use crate::world::{BrokenWorld, Topic};

/// One larger than the largest number of a topic.
const TOPICS: usize = 4;

/// A message that arrives, and who sent it.
type Coming = (u32, Pending<Vec<u8>>);

/// What is on its way, in both directions.
#[derive(Default)]
pub(super) struct Mail {
    out: RefCell<Vec<Pending<Vec<u8>>>>,
    coming: [RefCell<Option<Coming>>; TOPICS],
}

/// A message's length as MPI counts.
pub(super) fn count(bytes: &[u8]) -> Option<c_int> {
    c_int::try_from(bytes.len()).ok()
}

impl Mail {
    /// Sends a message; one that cannot be sent is lost, as to a rank that is gone.
    pub(super) fn send(&self, library: &'static Library, to: u32, tag: c_int, bytes: Vec<u8>) {
        self.progress();
        if let Ok(flight) = post(library, to, tag, bytes) {
            self.out.borrow_mut().push(flight);
        }
    }

    /// Whether everything that was sent is on its way, and its memory free again.
    pub(super) fn progress(&self) -> bool {
        let mut out = self.out.borrow_mut();
        // What fails is over as well; its memory is left to the library.
        out.retain_mut(|flight| matches!(flight.is_done(), Ok(false)));
        out.is_empty()
    }

    /// The next message of a topic, once all of it is here.
    pub(super) fn receive(
        &self,
        library: &'static Library,
        topic: Topic,
    ) -> Result<Option<(u32, Vec<u8>)>, BrokenWorld> {
        self.progress();
        let mut coming = self.coming[topic as usize].borrow_mut();
        if coming.is_none() {
            *coming = announced(library, topic as c_int)?;
        }
        let Some((from, flight)) = coming.as_mut() else { return Ok(None) };
        if !flight.is_done()? {
            return Ok(None);
        }
        let message = (*from, flight.kept());
        *coming = None;
        Ok(Some(message))
    }
}

/// Begins to send.
pub(super) fn post(
    library: &'static Library,
    to: u32,
    tag: c_int,
    bytes: Vec<u8>,
) -> Result<Pending<Vec<u8>>, BrokenWorld> {
    let abi = library.abi;
    let Some(length) = count(&bytes) else {
        return Err(BrokenWorld("a message is longer than 2 GiB".into()));
    };
    Pending::begin(library, "MPI_Isend", bytes, |calls, bytes, request| {
        let from = start_of(bytes);
        // SAFETY: the bytes stay where they are until the flight is done.
        unsafe { (calls.isend)(from, length, abi.byte, to as c_int, tag, abi.comm_world, request) }
    })
}

/// Begins to receive so many bytes.
pub(super) fn expect(
    library: &'static Library,
    from: c_int,
    tag: c_int,
    length: usize,
) -> Result<Pending<Vec<u8>>, BrokenWorld> {
    let abi = library.abi;
    Pending::begin(library, "MPI_Irecv", vec![0; length], |calls, bytes, request| {
        let (to, length) = (room_of(bytes), bytes.len() as c_int);
        // SAFETY: the bytes stay where they are until the flight is done.
        unsafe { (calls.irecv)(to, length, abi.byte, from, tag, abi.comm_world, request) }
    })
}

/// Begins to receive the next message of a topic, where one is announced.
fn announced(library: &'static Library, tag: c_int) -> Result<Option<Coming>, BrokenWorld> {
    let (abi, calls) = (&library.abi, &library.calls);
    let (mut there, mut length, mut status) = (0, 0, Status([0; 64]));
    let at: *mut c_void = (&raw mut status).cast();
    // SAFETY: the flag and the status are valid for writing, and the status is larger than any library's.
    let class = unsafe { (calls.iprobe)(abi.any_source, tag, abi.comm_world, &raw mut there, at) };
    if class != 0 {
        return Err(BrokenWorld(library.words("MPI_Iprobe", class)));
    }
    if there == 0 {
        return Ok(None);
    }
    // SAFETY: the status was filled by the call above.
    let class = unsafe { (calls.get_count)(at, abi.byte, &raw mut length) };
    if class != 0 {
        return Err(BrokenWorld(library.words("MPI_Get_count", class)));
    }
    let field = &status.0[abi.status_source_at..][..size_of::<c_int>()];
    let from = c_int::from_ne_bytes(field.try_into().unwrap_or_default());
    // Between ranks of one topic nothing can overtake: the next message from there is the one that was announced.
    let flight = expect(library, from, tag, usize::try_from(length).unwrap_or(0))?;
    Ok(Some((from as u32, flight)))
}
