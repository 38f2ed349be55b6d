//! `mpiio`: the files of the MPI library, each rank for itself or all together.
//!
//! The library is the site's own, the one that joins the ranks; without a launcher it is opened for one rank alone. A
//! file with one name for all workers is opened by those at the same place on every rank together; one with a name for
//! each worker is opened by that worker. With collective calls all workers of the group end with the same operation:
//! before each one they agree whether to go on. It refuses what a library could not do: another thread's calls without
//! `MPI_THREAD_MULTIPLE`, forked workers, O_DIRECT of its own.

use std::ffi::{c_int, c_void};

use iodyno_model::{Diagnostic, Extent, Job, OpenMode, Pick, TargetKind, Verb, VerbSet, Workload};

use super::parallel::{self, RankGroup};
use super::{EngineFacts, Failure, Setup, SyncEngine, check_switches, spec, switched_on};
use crate::failure::strerror;
use crate::io::{AT_END, Files, Io};
use crate::names::templates::tells_apart;
use crate::open::needs;
use crate::world::mpi::abi::{Handle, Status};
use calls::{Calls, errno_of};

mod calls;

/// Files of the MPI library.
pub struct Mpiio {
    group: RankGroup,
    calls: Calls,
    files: Vec<File>,
    /// Whether operations come that the whole group must make.
    agrees: bool,
    facts: Vec<(&'static str, u64)>,
}

/// An open file.
struct File {
    handle: Handle,
    view: Option<FileView>,
}

/// Where a worker's blocks lie: what is beyond them is not seen.
struct FileView {
    begin: u64,
    block: u64,
    stride: u64,
    kind: Handle,
}

impl FileView {
    /// A place in the file as a place in the view.
    fn place(&self, offset: u64) -> u64 {
        let beyond = offset.saturating_sub(self.begin);
        beyond / self.stride * self.block + beyond % self.stride
    }
}

impl SyncEngine for Mpiio {
    const FACTS: EngineFacts = EngineFacts {
        about: "MPI-IO through the site's MPI library, independent or collective",
        verbs: VerbSet::of(&[Verb::Read, Verb::Write, Verb::Fsync, Verb::Fdatasync, Verb::Truncate]),
        settings: &[
            parallel::COLLECTIVE,
            parallel::HINTS_FILE,
            spec("show_hints", "on or off: numbers among the hints in use are recorded"),
            spec("preallocate", "on or off: the file's space is reserved when it is opened"),
            spec("file_view", "on or off: each worker sees its own blocks alone"),
        ],
        check: Self::check,
        ..parallel::facts(EngineFacts::named("mpiio"))
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let group = RankGroup::join(setup)?;
        let calls = Calls::find(|name| group.open().address(name))?;
        let agrees = group.collective || syncs_between(setup.job);
        let mut engine = Mpiio { group, calls, files: Vec::new(), agrees, facts: Vec::new() };
        for handle in 0..setup.paths.len() {
            engine.open(setup, handle)?;
        }
        Ok(engine)
    }

    fn perform(&mut self, io: &Io, _files: &mut Files) -> i64 {
        let Some(file) = self.files.get(io.file as usize) else { return -i64::from(libc::EBADF) };
        let handle = file.handle;
        // What the library says less precisely than the system did is looked up there.
        clear_errno();
        // SAFETY: the file is open, and the calls take no pointers of ours.
        let code = unsafe {
            match io.verb {
                Verb::Read | Verb::Write if io.offset < AT_END => return self.transfer(io),
                Verb::Fsync | Verb::Fdatasync => (self.calls.sync)(handle),
                Verb::Truncate => (self.calls.set_size)(handle, io.bytes as i64),
                _ => return -i64::from(libc::EOPNOTSUPP),
            }
        };
        if code == 0 { 0 } else { self.failed(code) }
    }

    fn agree(&mut self, over: bool) -> bool {
        if self.agrees { self.group.any(over) } else { over }
    }

    fn facts(&self) -> Vec<(&'static str, u64)> {
        self.facts.clone()
    }

    fn close(&mut self) -> Result<(), Failure> {
        let mut outcome = Ok(());
        for mut file in self.files.drain(..) {
            // SAFETY: the file is open, and is closed once; its view's type goes with it.
            let code = unsafe { (self.calls.close)(&raw mut file.handle) };
            outcome = outcome.and(self.group.open().library().check("MPI_File_close", code));
            if let Some(view) = &mut file.view {
                // SAFETY: the type is ours, and no file has it any more.
                unsafe { (self.calls.type_free)(&raw mut view.kind) };
            }
        }
        outcome
    }
}

impl Mpiio {
    fn check(job: &Job) -> Vec<Diagnostic> {
        let mut found = check_switches(job, &["collective", "show_hints", "preallocate", "file_view"]);
        found.extend(parallel::check(job, Self::FACTS.name));
        found
    }

    /// Opens the file of a handle, together with those who share it.
    fn open(&mut self, setup: &Setup<'_>, index: usize) -> Result<(), Failure> {
        let file = self.group.opening(setup, index, Self::FACTS.name)?;
        let mut handle: Handle = 0;
        clear_errno();
        // SAFETY: the name is zero-terminated, the hints are a handle of the library's, and there is room for the file.
        let code = unsafe {
            let mode = self.mode(setup, index);
            (self.calls.open)(file.comm, file.name.as_ptr(), mode, file.hints.handle(), &raw mut handle)
        };
        if code != 0 {
            return Err(self.call_failure(&format!("cannot open {}", file.path), "MPI_File_open", code));
        }
        self.files.push(File { handle, view: None });
        self.make_ready(setup, index, handle)
    }

    /// What is done with a file that was just opened.
    fn make_ready(&mut self, setup: &Setup<'_>, index: usize, handle: Handle) -> Result<(), Failure> {
        let Some(target) = setup.target(index) else { return Ok(()) };
        let position = index;
        let writes = needs(setup.job, position).1;
        if target.open.truncate && writes {
            // SAFETY: the file is open.
            let code = unsafe { (self.calls.set_size)(handle, target.open.truncate_bytes as i64) };
            if code != 0 {
                return Err(self.call_failure(&setup.paths[index], "MPI_File_set_size", code));
            }
        }
        if let (true, true, TargetKind::File { size: Extent::Bytes(bytes), .. }) =
            (switched_on(setup.job, "preallocate"), writes, &target.kind)
        {
            // SAFETY: the file is open.
            let code = unsafe { (self.calls.preallocate)(handle, *bytes as i64) };
            if code != 0 {
                return Err(self.call_failure(&setup.paths[index], "MPI_File_preallocate", code));
            }
        }
        if switched_on(setup.job, "file_view") {
            let view = self.view(setup, index, handle)?;
            self.files[index].view = view;
        }
        if switched_on(setup.job, "show_hints") && index == 0 {
            self.facts = self.hints_in_use(handle);
        }
        Ok(())
    }

    fn mode(&self, setup: &Setup<'_>, index: usize) -> c_int {
        let modes = &self.group.open().library().abi.mode;
        let Some(target) = setup.target(index) else { return modes.read_only };
        let (reads, writes) = needs(setup.job, index);
        let access = match (target.open.mode, reads, writes) {
            (OpenMode::Read, ..) | (OpenMode::AsNeeded, _, false) => modes.read_only,
            (OpenMode::Write, ..) | (OpenMode::AsNeeded, false, true) => modes.write_only,
            (OpenMode::ReadWrite, ..) | (OpenMode::AsNeeded, true, true) => modes.read_write,
        };
        // A file that is only read may neither be made nor be exclusive.
        let makes = access != modes.read_only;
        let flag = |wanted: bool, flag: c_int| if wanted && makes { flag } else { 0 };
        access
            | flag(target.open.create, modes.create)
            | flag(target.open.exclusive, modes.exclusive)
            | flag(target.open.append, modes.append)
    }

    /// Hints that a file has, as far as they are numbers, or switches.
    fn hints_in_use(&self, file: Handle) -> Vec<(&'static str, u64)> {
        let (mut info, mut count): (Handle, c_int) = (0, 0);
        let mut found = Vec::new();
        // SAFETY: the file is open; there is room for the handle and for the number.
        if unsafe { (self.calls.get_info)(file, &raw mut info) } != 0 {
            return found;
        }
        // SAFETY: as above.
        unsafe { (self.calls.info_count)(info, &raw mut count) };
        for index in 0..count {
            let (mut key, mut value, mut there) = ([0u8; 512], [0u8; 2048], 0);
            // SAFETY: no library's keys (at most 256 bytes) and values (at most 1024) are longer than these rooms.
            unsafe {
                (self.calls.info_key)(info, index, key.as_mut_ptr().cast());
                let room = value.as_mut_ptr().cast();
                (self.calls.info_get)(info, key.as_ptr().cast(), 1024, room, &raw mut there);
            }
            let number = match text(&value) {
                "true" | "enable" => Some(1),
                "false" | "disable" => Some(0),
                other => other.parse().ok(),
            };
            if let Some(number) = number {
                // Once for each file of a worker, and a few words long: as good as static.
                found.push((&*format!("hint.{}", text(&key)).leak(), number));
            }
        }
        // SAFETY: the copy of the hints is ours.
        unsafe { (self.calls.info_free)(&raw mut info) };
        found
    }

    /// The view of a worker's own blocks of a shared file; none: all of the file is its own.
    fn view(&self, setup: &Setup<'_>, index: usize, handle: Handle) -> Result<Option<FileView>, Failure> {
        let (Workload::Pattern(pattern), Some(target)) = (&setup.job.workload, setup.target(index)) else {
            return Ok(None);
        };
        let verb = if needs(setup.job, index).1 { Verb::Write } else { Verb::Read };
        let pick = if verb == Verb::Write { &pattern.pick.write } else { &pattern.pick.read };
        let own = target.path().is_some_and(tells_apart);
        let Pick::Segmented { block_bytes: block, stride_bytes, shuffled: false, .. } = *pick else {
            return Ok(None);
        };
        if own || block == 0 || block > i32::MAX as u64 {
            return Ok(None);
        }
        let stride = if stride_bytes == 0 { block * u64::from(setup.seats.max(1)) } else { stride_bytes };
        let library = self.group.open().library();
        let (mut plain, mut kind): (Handle, Handle) = (0, 0);
        let begin = setup.files.handles[index].base;
        // SAFETY: there is room for both types, the file is open, and the name of the representation is a text.
        unsafe {
            let code = (self.calls.contiguous)(block as c_int, library.abi.byte, &raw mut plain);
            library.check("MPI_Type_contiguous", code)?;
            let code = (self.calls.resized)(plain, 0, stride as isize, &raw mut kind);
            library.check("MPI_Type_create_resized", code)?;
            library.check("MPI_Type_commit", (self.calls.commit)(&raw mut kind))?;
            (self.calls.type_free)(&raw mut plain);
            let (byte, none) = (library.abi.byte, library.abi.info_null);
            let code = (self.calls.set_view)(handle, begin as i64, byte, kind, c"native".as_ptr(), none);
            library.check("MPI_File_set_view", code)?;
        }
        Ok(Some(FileView { begin, block, stride, kind }))
    }

    /// Moves a transfer, in parts that the library can count.
    fn transfer(&self, io: &Io) -> i64 {
        const MOST: u64 = 1 << 30;
        let file = &self.files[io.file as usize];
        let start = file.view.as_ref().map_or(io.offset, |view| view.place(io.offset));
        let mut done = 0;
        loop {
            let part = (io.bytes - done).min(MOST);
            // SAFETY: the buffer holds `bytes` bytes, of which this part begins at `done`.
            let moved = unsafe {
                let buffer = io.buffer.add(done as usize).cast();
                self.part(file.handle, io.verb, start + done, buffer, part as c_int)
            };
            match moved {
                Ok(moved) => done += moved,
                Err(code) => return self.failed(code),
            }
            // Collective calls are made by all alike: nobody stops in between.
            if part < MOST || done == io.bytes {
                return done as i64;
            }
        }
    }

    /// One call.
    ///
    /// # Safety
    /// The buffer holds so many bytes.
    unsafe fn part(
        &self,
        file: Handle,
        verb: Verb,
        offset: u64,
        buffer: *mut c_void,
        bytes: c_int,
    ) -> Result<u64, c_int> {
        let (calls, byte) = (&self.calls, self.group.open().library().abi.byte);
        let mut status = Status([0; 64]);
        let state: *mut c_void = (&raw mut status).cast();
        let (offset, mut count) = (offset as i64, 0);
        // SAFETY: the buffer is as the caller promises, and the status has room for that of any library.
        let code = unsafe {
            match (verb, self.group.collective) {
                (Verb::Read, false) => (calls.read_at)(file, offset, buffer, bytes, byte, state),
                (Verb::Read, true) => (calls.read_at_all)(file, offset, buffer, bytes, byte, state),
                (_, false) => (calls.write_at)(file, offset, buffer, bytes, byte, state),
                (_, true) => (calls.write_at_all)(file, offset, buffer, bytes, byte, state),
            }
        };
        if code != 0 {
            return Err(code);
        }
        // SAFETY: the call above filled the status.
        unsafe { (calls.get_count)(state, byte, &raw mut count) };
        Ok(count.max(0) as u64)
    }

    fn failed(&self, code: c_int) -> i64 {
        -i64::from(errno_of(self.group.open(), &self.calls, code))
    }

    /// A failure in the library's words.
    fn call_failure(&self, what: &str, call: &str, code: c_int) -> Failure {
        let number = errno_of(self.group.open(), &self.calls, code);
        let words = self.group.open().library().words(call, code);
        Failure::new(format!("{what}: {} ({words})", strerror(number))).errno(number)
    }
}

impl Drop for Mpiio {
    fn drop(&mut self) {
        // Those who share the files wait for everybody to close them, also when one of them fails.
        let _ = self.close();
    }
}

/// Whether a job syncs between its operations, which everybody who shares a file does together.
fn syncs_between(job: &Job) -> bool {
    matches!(&job.workload, Workload::Pattern(pattern) if !pattern.every.is_empty())
}

fn clear_errno() {
    // SAFETY: the location is this thread's own.
    #[cfg(target_os = "linux")]
    unsafe {
        *libc::__errno_location() = 0;
    }
}

/// What stands before the first zero byte.
fn text(room: &[u8]) -> &str {
    let end = room.iter().position(|byte| *byte == 0).unwrap_or(room.len());
    std::str::from_utf8(&room[..end]).unwrap_or("")
}
