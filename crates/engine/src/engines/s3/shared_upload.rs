//! One object that several workers write: an upload whose parts each of them puts, on one rank or on many.
//!
//! The first worker of all begins the upload and tells its id; each rank keeps what the store answered for its parts; when
//! the last worker has ended, the first one makes an object of all parts. Where one is missing the upload is given up, so that
//! no parts stay behind.

use std::collections::BTreeMap;
use std::ffi::{c_int, c_void};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use iodyno_model::TargetKind;
use iodyno_s3::body::{self, ErrorBody, Part};
use iodyno_s3::{RequestHead, operation};

use super::connection::Ending;
use super::{Lane, S3};
use crate::engines::Setup;
use crate::failure::{Failure, strerror};
use crate::io::Slot;
use crate::names::templates::tells_apart;
use crate::world::mpi::abi::Handle;
use crate::world::mpi::{self, Open};

/// Between two looks at whether the worker is to stop.
const LOOK: Duration = Duration::from_millis(100);

/// An upload, as the workers of one rank share it.
#[derive(Default)]
pub struct SharedUpload {
    state: Mutex<UploadState>,
    changed: Condvar,
}

#[derive(Default)]
struct UploadState {
    /// Its id, or why there is none; none: it has not begun yet.
    id: Option<Result<String, Failure>>,
    /// Parts that this rank put, by their index.
    parts: BTreeMap<u32, Part>,
    /// Whether a part could not be put.
    has_failed: bool,
    /// Workers of this rank that have yet to end.
    left: u32,
    /// Whether its end is known.
    is_over: bool,
}

/// Uploads of this process, by their objects' addresses.
static UPLOADS: Mutex<BTreeMap<String, Arc<SharedUpload>>> = Mutex::new(BTreeMap::new());

impl SharedUpload {
    /// The upload of an object, which so many workers of this rank share.
    fn of(address: &str, workers: u32) -> Arc<SharedUpload> {
        let mut all = UPLOADS.lock().unwrap_or_else(PoisonError::into_inner);
        let made = || {
            let state = UploadState { left: workers, ..UploadState::default() };
            Arc::new(SharedUpload { state: Mutex::new(state), changed: Condvar::new() })
        };
        Arc::clone(all.entry(address.to_string()).or_insert_with(made))
    }

    fn forget(address: &str) {
        UPLOADS.lock().unwrap_or_else(PoisonError::into_inner).remove(address);
    }

    fn state(&self) -> MutexGuard<'_, UploadState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the state and wakes all who wait for that.
    fn change(&self, change: impl FnOnce(&mut UploadState)) {
        change(&mut self.state());
        self.changed.notify_all();
    }

    /// Waits until the state says something; none: `gives_up` came before.
    fn wait<T>(&self, gives_up: impl Fn() -> bool, found: impl Fn(&UploadState) -> Option<T>) -> Option<T> {
        let mut state = self.state();
        loop {
            match found(&state) {
                None if gives_up() => return None,
                None => {}
                some => return some,
            }
            let waited = self.changed.wait_timeout(state, LOOK).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
        }
    }

    /// A part was put.
    pub fn put(&self, index: u32, part: Part) {
        self.state().parts.insert(index, part);
    }

    /// A part could not be put: what becomes of the others is no object.
    pub fn fail(&self) {
        self.state().has_failed = true;
    }
}

/// A worker's place at an upload.
pub struct UploadSeat {
    pub upload: Arc<SharedUpload>,
    pub id: String,
    address: String,
    /// The handle that it is of.
    pub file: u32,
    /// Whether it speaks for its rank.
    speaks: bool,
    /// Whether it begins and ends the upload.
    leads: bool,
    /// Parts that the object has; none: as many as one worker wrote, one after the other.
    parts: Option<u32>,
    ranks: UploadRanks,
    is_closed: bool,
}

/// The ranks of an upload, which tell each other its id, its parts and its end.
enum UploadRanks {
    Alone,
    Mpi { open: &'static Open, comm: Handle, broadcast: Broadcast, rank: u32, size: u32 },
}

type Broadcast = unsafe extern "C" fn(*mut c_void, c_int, Handle, c_int, Handle) -> c_int;

impl UploadRanks {
    /// Those whose first workers all come here.
    fn join(ranks: u32) -> Result<UploadRanks, Failure> {
        if ranks <= 1 {
            return Ok(UploadRanks::Alone);
        }
        let open = mpi::library()?;
        let (rank, size) = open.place()?;
        if !open.is_multiple() {
            let version = &open.library().version;
            let message = format!("{version} does not let several threads call it (no MPI_THREAD_MULTIPLE)");
            return Err(Failure::new(message).hint("use a library that was built with it"));
        }
        let comm = open.communicator(ranks)?;
        let broadcast = open.address(c"MPI_Bcast")?;
        // SAFETY: the function of this name has these arguments in every MPI library.
        let broadcast = unsafe { std::mem::transmute::<usize, Broadcast>(broadcast) };
        Ok(UploadRanks::Mpi { open, comm, broadcast, rank, size: ranks.min(size) })
    }

    /// What one of them says, on all of them.
    fn share(&self, from: u32, said: Vec<u8>) -> Result<Vec<u8>, Failure> {
        let UploadRanks::Mpi { open, comm, broadcast, rank, .. } = self else { return Ok(said) };
        let mut bytes = if *rank == from { said } else { Vec::new() };
        let mut length = (bytes.len() as u64).to_ne_bytes();
        let send = |start: *mut u8, count: usize| {
            let byte = open.library().abi.byte;
            // SAFETY: so many bytes are valid there for reading and writing, and the communicator is this thread's own.
            let class = unsafe { broadcast(start.cast(), count as c_int, byte, from as c_int, *comm) };
            open.library().check("MPI_Bcast", class)
        };
        send(length.as_mut_ptr(), length.len())?;
        bytes.resize(u64::from_ne_bytes(length) as usize, 0);
        send(bytes.as_mut_ptr(), bytes.len())?;
        Ok(bytes)
    }

    /// What each of them says, on all of them.
    fn share_all(&self, said: Vec<u8>) -> Result<Vec<Vec<u8>>, Failure> {
        match self {
            UploadRanks::Alone => Ok(vec![said]),
            UploadRanks::Mpi { size, .. } => (0..*size).map(|from| self.share(from, said.clone())).collect(),
        }
    }
}

/// What a rank says of its parts: whether one failed, then a line for each.
fn written(has_failed: bool, parts: &BTreeMap<u32, Part>) -> Vec<u8> {
    let mut text = format!("{}\n", u8::from(has_failed));
    for (index, part) in parts {
        let checksum =
            part.checksum.as_ref().map_or(String::new(), |(name, value)| format!("{name}\t{value}"));
        text.push_str(&format!("{index}\t{}\t{checksum}\n", part.etag));
    }
    text.into_bytes()
}

/// Reads that; whether a part failed.
fn read(bytes: &[u8], parts: &mut BTreeMap<u32, Part>, algorithm: Option<&'static str>) -> bool {
    let text = String::from_utf8_lossy(bytes);
    let mut lines = text.lines();
    let has_failed = lines.next() != Some("0");
    for line in lines {
        let mut fields = line.split('\t');
        let (Some(Ok(index)), Some(etag)) = (fields.next().map(str::parse), fields.next()) else { continue };
        let value = fields.nth(1).map(String::from);
        parts.insert(index, Part { etag: etag.into(), checksum: algorithm.zip(value) });
    }
    has_failed
}

impl S3 {
    /// Takes this worker's place at the uploads of the objects that its job writes.
    pub(super) fn join_uploads(&mut self, setup: &Setup<'_>) -> Result<(), Failure> {
        for (file, handle) in setup.files.handles.iter().enumerate() {
            let target = &setup.plan.targets[handle.target as usize];
            let TargetKind::Bucket { url, items } = &target.kind else { continue };
            let is_own = tells_apart(url) || tells_apart(&items.name) || items.own;
            let Some(Some(bucket)) = self.buckets.get(file) else { continue };
            let (address, object) = (bucket.set.address(0), bucket.set.object_bytes);
            let parts = object.div_ceil(self.settings.part_bytes.max(1)) as u32;
            let workers = setup.job.workers.max(1);
            let (place, ranks) = (setup.seat % workers, setup.seats.div_ceil(workers));
            let here = if is_own { 1 } else { workers.min(setup.seats - (setup.seat - place)) };
            let mut seat = UploadSeat {
                upload: SharedUpload::of(&address, here),
                id: String::new(),
                address,
                file: file as u32,
                speaks: is_own || place == 0,
                leads: is_own || setup.seat == 0,
                parts: (!is_own).then_some(parts),
                ranks: UploadRanks::Alone,
                is_closed: false,
            };
            if seat.speaks {
                let ranks = if is_own { 1 } else { ranks };
                let id = self.begin_upload(&mut seat, ranks, file == 0 && setup.seat == 0);
                seat.upload.change(|state| state.id = Some(id));
            }
            let stops = || self.stops();
            let id = seat.upload.wait(stops, |state| state.id.clone());
            match id.unwrap_or_else(|| Err(Failure::new("stopped before the upload began"))) {
                Ok(id) => seat.id = id,
                Err(failure) => {
                    SharedUpload::forget(&seat.address);
                    return Err(failure);
                }
            }
            self.uploads.push(seat);
        }
        Ok(())
    }

    /// Begins an upload on the first rank, and hears its id on the others.
    fn begin_upload(&mut self, seat: &mut UploadSeat, ranks: u32, is_first: bool) -> Result<String, Failure> {
        seat.ranks = UploadRanks::join(ranks)?;
        let ready = if is_first && self.settings.preflight { self.preflight() } else { Ok(()) };
        let begun = match seat.leads {
            true => ready.and_then(|()| self.create_upload(seat)),
            false => Ok(String::new()),
        };
        let said = match &begun {
            Ok(id) => format!("0{id}"),
            Err(failure) => format!("1{}", failure.message),
        };
        let heard = String::from_utf8_lossy(&seat.ranks.share(0, said.into_bytes())?).into_owned();
        match (begun, heard.split_at_checked(1)) {
            (Err(failure), _) => Err(failure),
            (_, Some(("0", id))) => Ok(id.into()),
            (_, heard) => Err(Failure::new(heard.map_or("", |(_, why)| why))),
        }
    }

    fn create_upload(&mut self, seat: &UploadSeat) -> Result<String, Failure> {
        let key = self.key(seat.file, 0);
        let options = self.settings.write.clone();
        let text =
            self.ask(seat, "begin", Vec::new(), |at, _| operation::create_upload(at, &key, &options))?;
        body::upload_id(&text).map_err(|what| Failure::new(format!("{}: {what}", seat.address)))
    }

    /// Ends this worker's part in all uploads; the last of all completes them.
    pub(super) fn close_uploads(&mut self) -> Result<(), Failure> {
        let mut outcome = Ok(());
        for mut seat in std::mem::take(&mut self.uploads) {
            if !std::mem::replace(&mut seat.is_closed, true) {
                outcome = outcome.and(self.close_upload(&seat));
            }
        }
        outcome
    }

    fn close_upload(&mut self, seat: &UploadSeat) -> Result<(), Failure> {
        seat.upload.change(|state| state.left = state.left.saturating_sub(1));
        if !seat.speaks {
            // Who speaks for this rank says how it ended.
            seat.upload.wait(|| false, |state| state.is_over.then_some(()));
            return Ok(());
        }
        seat.upload.wait(|| false, |state| (state.left == 0).then_some(()));
        let outcome = self.end_upload(seat);
        SharedUpload::forget(&seat.address);
        seat.upload.change(|state| state.is_over = true);
        outcome
    }

    /// Gathers the parts of all ranks; the first one makes an object of them. The others wait for that: nobody is to read
    /// what is not there yet.
    fn end_upload(&mut self, seat: &UploadSeat) -> Result<(), Failure> {
        let mine = {
            let state = seat.upload.state();
            written(state.has_failed, &state.parts)
        };
        let algorithm = self.settings.write.checksum.map(|checksum| checksum.algorithm());
        let (mut parts, mut has_failed) = (BTreeMap::new(), false);
        for said in seat.ranks.share_all(mine)? {
            has_failed |= read(&said, &mut parts, algorithm);
        }
        let outcome = if seat.leads { self.complete(seat, parts, has_failed) } else { Ok(()) };
        seat.ranks.share(0, vec![u8::from(outcome.is_ok())])?;
        outcome
    }

    fn complete(
        &mut self,
        seat: &UploadSeat,
        parts: BTreeMap<u32, Part>,
        has_failed: bool,
    ) -> Result<(), Failure> {
        let key = self.key(seat.file, 0);
        let follow = parts.keys().copied().eq(0..parts.len() as u32);
        let count = parts.len() as u32;
        let is_whole = follow && seat.parts.is_none_or(|all| all == count);
        if has_failed || !is_whole || count == 0 {
            self.ask(seat, "give up", Vec::new(), |at, id| operation::abort_upload(at, &key, id))?;
            if !has_failed && count == 0 {
                return Ok(());
            }
            let all = seat.parts.map_or(String::new(), |all| format!(" of {all}"));
            let message = match has_failed {
                true => format!("{}: a part could not be written: the upload was given up", seat.address),
                false => {
                    format!("{}: {count}{all} parts were written: the upload was given up", seat.address)
                }
            };
            return Err(Failure::new(message).errno(libc::EIO));
        }
        let parts: Vec<Part> = parts.into_values().collect();
        let text = body::complete_upload(&parts).into_bytes();
        let length = text.clone();
        let answered =
            self.ask(seat, "complete", text, |at, id| operation::complete_upload(at, &key, id, &length));
        if answered.is_err() {
            // What failed already is what is told.
            let _ = self.ask(seat, "give up", Vec::new(), |at, id| operation::abort_upload(at, &key, id));
        }
        answered.map(drop)
    }

    /// One request of an upload besides its parts, and the answer's body.
    fn ask(
        &mut self,
        seat: &UploadSeat,
        what: &str,
        text: Vec<u8>,
        request: impl FnOnce(&iodyno_s3::address::BucketAddress, &str) -> RequestHead,
    ) -> Result<Vec<u8>, Failure> {
        let mut lane = Lane::new(u32::MAX, 0);
        let Some(Some(bucket)) = self.buckets.get(seat.file as usize) else { return Ok(Vec::new()) };
        let at = bucket.at[0].clone();
        let request = RequestHead { has_customer_key: what != "give up", ..request(&at, &seat.id) };
        let ending = self.once(&mut lane, &request, text)?;
        let wrong = |why: String| Failure::new(format!("{}: cannot {what} the upload: {why}", seat.address));
        let connection = lane.connection;
        match (ending, &connection.answer) {
            (Ending::Answered, Some(answer)) => {
                let (status, error) = (answer.status, ErrorBody::within(&connection.text));
                if (200..300).contains(&status) && error.is_none() {
                    return Ok(connection.text);
                }
                let error = error.unwrap_or_else(|| ErrorBody::parse(&connection.text));
                self.tally.answer(status, &error.code);
                let errno = super::tally::errno_of(status, &error.code);
                let hint = match error.code.as_str() {
                    "EntityTooSmall" => "this store's parts are at least 5 MiB, but for the last",
                    _ => "the store's own log says more",
                };
                Err(wrong(format!("{status} {} {}", error.code, error.message)).errno(errno).hint(hint))
            }
            (Ending::Broken { errno, .. }, _) => Err(wrong(strerror(errno)).errno(errno)),
            _ => Err(wrong("the answer is none of a store".into()).errno(libc::EPROTO)),
        }
    }

    /// The upload of a handle, where it has one.
    pub(super) fn upload_of(&self, file: u32) -> Option<&UploadSeat> {
        self.uploads.iter().find(|seat| seat.file == file)
    }

    /// A part of a shared upload came to its end.
    pub(super) fn shared_part_done(&mut self, slot: Slot, index: u32, part: Option<Part>) {
        let file = self.slots[slot as usize].file();
        if let Some(seat) = self.upload_of(file) {
            match part {
                Some(part) => seat.upload.put(index, part),
                None => seat.upload.fail(),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ranks_say_of_their_parts_is_read_back() {
        let part = |etag: &str, checksum| Part { etag: etag.into(), checksum };
        let mut mine = BTreeMap::new();
        mine.insert(0, part("\"a\"", Some(("CRC32C", "x==".to_string()))));
        mine.insert(7, part("\"b\"", Some(("CRC32C", "y==".to_string()))));
        let mut read_back = BTreeMap::new();
        assert!(!read(&written(false, &mine), &mut read_back, Some("CRC32C")));
        assert_eq!(read_back, mine);
        let plain = BTreeMap::from([(3, part("\"c\"", None))]);
        let mut read_back = BTreeMap::new();
        assert!(read(&written(true, &plain), &mut read_back, None));
        assert_eq!(read_back, plain);
    }
}
