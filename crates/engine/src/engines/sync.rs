//! `sync`: lseek, then read or write, in the worker itself: how programs without pread do it.
//!
//! The seek is left out where the file's position is known to be right already. Operations at the file's own position
//! find it where they left it.

use std::os::fd::RawFd;

use iodyno_model::{EngineTrait, Verb};

use super::{EngineFacts, Failure, Setup, SyncEngine};
use crate::call;
use crate::io::{AT_END, AT_POSITION, Files, Io};
use crate::memory::errno;

/// Seeks and synchronous calls.
pub struct Sync {
    seeker: Seeker,
}

impl SyncEngine for Sync {
    const FACTS: EngineFacts = EngineFacts {
        about: "lseek, then read or write, two calls for each operation out of order",
        takes_turns: true,
        traits: &[EngineTrait::CountedByBlockLayer, EngineTrait::OneAtATime],
        ..EngineFacts::named("sync")
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        Ok(Sync { seeker: Seeker::new(setup.files.handles.len()) })
    }

    #[inline(always)]
    fn perform(&mut self, io: &Io, files: &mut Files) -> i64 {
        match io.verb {
            Verb::Read | Verb::Write if io.offset < AT_END => {
                self.seeker.at(io.file, files.fd(io.file), io.offset, |fd| {
                    let here = Io { offset: AT_POSITION, ..*io };
                    call::transfer(&here, fd)
                })
            }
            _ => self.seeker.other(io, files),
        }
    }
}

/// Where the positions of files are. Each has two: the one that positioned operations use up, and its own, which
/// operations at the position must find again.
pub struct Seeker {
    places: Vec<FilePosition>,
}

#[derive(Clone, Copy)]
struct FilePosition {
    fd: RawFd,
    /// The file's own position, once it was left.
    own: Option<libc::off_t>,
    /// Where the position is, if that is known.
    at: Option<u64>,
    /// Writes go to the end, wherever the position was.
    appends: bool,
}

const NOWHERE: FilePosition = FilePosition { fd: -1, own: None, at: None, appends: false };

impl Seeker {
    pub fn new(handles: usize) -> Self {
        Seeker { places: vec![NOWHERE; handles] }
    }

    /// Brings a file's position to an offset and runs a transfer there. The result is the transfer's, or `-errno`.
    #[inline(always)]
    pub fn at(&mut self, file: u32, fd: RawFd, offset: u64, transfer: impl FnOnce(RawFd) -> i64) -> i64 {
        let index = file as usize;
        if self.places.get(index).is_none_or(|place| place.fd != fd) {
            self.meet(index, fd);
        }
        let place = &mut self.places[index];
        if place.at != Some(offset) {
            place.at = None;
            let Ok(wanted) = libc::off_t::try_from(offset) else { return -i64::from(libc::EINVAL) };
            // SAFETY: the call takes no pointers.
            if unsafe { libc::lseek(fd, wanted, libc::SEEK_SET) } < 0 {
                return -i64::from(errno());
            }
        }
        let result = transfer(fd);
        let place = &mut self.places[index];
        place.at = (result >= 0 && !place.appends).then(|| offset + result.max(0) as u64);
        result
    }

    /// A new descriptor: its own position is remembered before it is left.
    #[cold]
    fn meet(&mut self, index: usize, fd: RawFd) {
        if index >= self.places.len() {
            self.places.resize(index + 1, NOWHERE);
        }
        // SAFETY: the calls take no pointers.
        let (own, flags) = unsafe { (libc::lseek(fd, 0, libc::SEEK_CUR), libc::fcntl(fd, libc::F_GETFL)) };
        let appends = flags >= 0 && flags & libc::O_APPEND != 0;
        self.places[index] = FilePosition { fd, own: (own >= 0).then_some(own), at: None, appends };
    }

    /// Everything but positioned transfers.
    #[inline(never)]
    pub fn other(&mut self, io: &Io, files: &mut Files) -> i64 {
        let fd = files.fd(io.file);
        let place = self.places.get_mut(io.file as usize).filter(|place| place.fd == fd);
        if let (true, Some(FilePosition { own: Some(own), at, .. })) = (io.offset == AT_POSITION, place) {
            *at = None;
            // SAFETY: the calls take no pointers.
            unsafe { libc::lseek(fd, *own, libc::SEEK_SET) };
            let result = call::perform(io, files);
            // SAFETY: as above.
            *own = unsafe { libc::lseek(fd, 0, libc::SEEK_CUR) };
            return result;
        }
        let result = call::perform(io, files);
        if !io.verb.moves_data() {
            // A number may stand for another file now, and another call may have moved the position.
            self.places.fill(NOWHERE);
        }
        result
    }
}
