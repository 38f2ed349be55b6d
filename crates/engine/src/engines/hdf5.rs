//! `hdf5`: data sets in a file of parallel HDF5, one hyperslab for each transfer.
//!
//! ```text
//!   one data set of bytes, `iodyno`; or, with `data_set_bytes`, as IOR has them, of 64-bit integers:
//!   Dataset-0000.0000 │ Dataset-0000.0001 │ …       offset / data_set_bytes is the set
//! ```
//! The library must be one that was built for the MPI library of this run; both are opened at run time. Its file is a
//! container: offsets are those within the data sets, and the file is longer than that. HDF5 is not safe for threads as
//! it is usually built, so one worker on each rank is all that can use it. It refuses HDF5 older than 1.10, whose
//! handles were narrower.

use std::ffi::{CStr, CString, c_int, c_uint, c_void};

use iodyno_model::{Diagnostic, Job, Verb, VerbSet};

use super::parallel::{self, Container, Opening, RankGroup};
use super::{
    EngineFacts, Failure, Setup, SyncEngine, check_switches, check_values, spec, switched_on, whole_number,
};
use crate::io::{AT_END, Files, Io};
use crate::open::needs;
use calls::{Calls, Id};

mod calls;

/// What a single data set is called.
const DATA_SET: &str = "iodyno";
/// Bytes of an element of IOR's data sets.
const ELEMENT_BYTES: u64 = 8;
/// All of a file are made when it is opened, by all ranks together: more take too long.
const MOST_DATA_SETS: u64 = 65_536;
/// Transfers of one rank alone, or of all together (`H5FD_mpio_xfer_t`).
const INDEPENDENT: c_int = 0;
const COLLECTIVE: c_int = 1;
/// `H5F_ACC_*`.
const READ_ONLY: c_uint = 0;
const READ_WRITE: c_uint = 1;
const TRUNCATE: c_uint = 2;
/// `H5S_SELECT_SET`.
const SELECT_SET: c_int = 0;
/// `H5D_FILL_TIME_NEVER`.
const FILL_NEVER: c_int = 1;
/// `H5F_SCOPE_GLOBAL`.
const GLOBAL: c_int = 1;

/// Data sets in files.
pub struct Hdf5 {
    group: RankGroup,
    calls: &'static Calls,
    files: Vec<File>,
    /// How transfers are made.
    transfer: Id,
    /// The memory of a transfer, and how long it is, elements.
    memory: (Id, u64),
}

/// An open file and its data sets.
struct File {
    file: Id,
    sets: Vec<DataSet>,
    /// Bytes of each data set, and of an element.
    set_bytes: u64,
    element_bytes: u64,
    /// Bytes of all of them.
    bytes: u64,
}

/// An open data set.
struct DataSet {
    data: Id,
    space: Id,
}

impl SyncEngine for Hdf5 {
    const FACTS: EngineFacts = EngineFacts {
        about: "data sets of parallel HDF5, independent or collective",
        verbs: VerbSet::of(&[Verb::Read, Verb::Write, Verb::Fsync, Verb::Fdatasync]),
        settings: &[
            parallel::COLLECTIVE,
            parallel::HINTS_FILE,
            spec("collective_metadata", "on or off: metadata by all workers together"),
            spec("no_fill", "on or off: a new data set is not filled with zeros"),
            spec("alignment", "data sets begin at multiples of so many bytes"),
            spec("chunk_size", "bytes of a chunk; 0: the data set lies in one piece"),
            spec(
                "data_set_bytes",
                "bytes of each of several data sets, in IOR's layout; 0: one for the whole file",
            ),
        ],
        available: Self::available,
        check: Self::check,
        ..parallel::facts(EngineFacts::named("hdf5"))
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let group = RankGroup::join(setup)?;
        let calls = Calls::get()?;
        // SAFETY: the class is the library's own.
        let transfer = calls.made("H5Pcreate", unsafe { (calls.create_list)(calls.transfer_class) })?;
        let mode = if group.collective { COLLECTIVE } else { INDEPENDENT };
        // SAFETY: the list is that of a transfer.
        calls.done("H5Pset_dxpl_mpio", unsafe { (calls.set_transfer)(transfer, mode) })?;
        let mut engine = Hdf5 { group, calls, files: Vec::new(), transfer, memory: (-1, 0) };
        for index in 0..setup.paths.len() {
            engine.open(setup, index)?;
        }
        Ok(engine)
    }

    fn perform(&mut self, io: &Io, _files: &mut Files) -> i64 {
        match io.verb {
            Verb::Read | Verb::Write if io.offset < AT_END => self.transfer(io),
            Verb::Fsync | Verb::Fdatasync => match self.files.get(io.file as usize) {
                // SAFETY: the file is open.
                Some(file) if unsafe { (self.calls.flush)(file.file, GLOBAL) } >= 0 => 0,
                _ => -i64::from(libc::EIO),
            },
            _ => -i64::from(libc::EOPNOTSUPP),
        }
    }

    fn agree(&mut self, over: bool) -> bool {
        self.group.agree(over)
    }

    fn close(&mut self) -> Result<(), Failure> {
        let (calls, mut outcome) = (self.calls, Ok(()));
        for file in self.files.drain(..) {
            // SAFETY: all of them are open, and are closed once.
            unsafe {
                for set in file.sets {
                    outcome = outcome.and(calls.done("H5Sclose", (calls.close_space)(set.space)));
                    outcome = outcome.and(calls.done("H5Dclose", (calls.close_data)(set.data)));
                }
                outcome = outcome.and(calls.done("H5Fclose", (calls.close_file)(file.file)));
            }
        }
        outcome
    }
}

impl Hdf5 {
    fn available() -> Result<(), Failure> {
        crate::world::mpi::can_open()?;
        Calls::can_open()
    }

    fn check(job: &Job) -> Vec<Diagnostic> {
        let mut found = check_switches(job, &["collective", "collective_metadata", "no_fill"]);
        let hint = "say a whole number of bytes";
        found.extend(check_values(job, &["alignment", "chunk_size"], |v| v.parse::<u64>().is_ok(), hint));
        let is_whole = |value: &str| value.parse::<u64>().is_ok_and(|bytes| bytes % ELEMENT_BYTES == 0);
        found.extend(check_values(job, &["data_set_bytes"], is_whole, "say a multiple of 8 bytes"));
        found.extend(parallel::check(job, Self::FACTS.name));
        found.extend(parallel::check_one_worker(job, Self::FACTS.name));
        found
    }

    fn open(&mut self, setup: &Setup<'_>, index: usize) -> Result<(), Failure> {
        let calls = self.calls;
        let Opening { path, name, comm, hints } = self.group.opening(setup, index, Self::FACTS.name)?;
        let container = Container::of(setup, index, &self.group)?;
        // SAFETY: the class is the library's own, the communicator and the hints are the MPI library's, and the name is
        // zero-terminated.
        unsafe {
            let access = calls.made("H5Pcreate", (calls.create_list)(calls.access_class))?;
            calls.done("H5Pset_fapl_mpio", (calls.set_mpi)(access, comm, hints.handle()))?;
            if let Some(bytes) = whole_number(setup.job, "alignment").filter(|bytes| *bytes > 1) {
                calls.done("H5Pset_alignment", (calls.set_alignment)(access, 1, bytes))?;
            }
            if switched_on(setup.job, "collective_metadata") {
                calls.done("H5Pset_all_coll_metadata_ops", (calls.set_metadata_reads)(access, true))?;
                calls.done("H5Pset_coll_metadata_write", (calls.set_metadata_writes)(access, true))?;
            }
            let writes = needs(setup.job, index).1;
            let file = match container.makes {
                true => (calls.create_file)(name.as_ptr(), TRUNCATE, calls.default_list, access),
                false if writes => (calls.open_file)(name.as_ptr(), READ_WRITE, access),
                false => (calls.open_file)(name.as_ptr(), READ_ONLY, access),
            };
            (calls.close_list)(access);
            let file = calls.made(&format!("cannot open {path}: H5Fopen"), file)?;
            let set_bytes = whole_number(setup.job, "data_set_bytes").filter(|bytes| *bytes > 0);
            let element_bytes = set_bytes.map_or(1, |_| ELEMENT_BYTES);
            // Closed with the others also where one of its data sets is missing.
            self.files.push(File { file, sets: Vec::new(), set_bytes: 0, element_bytes, bytes: 0 });
            let names = |index: u64| match set_bytes {
                Some(_) => CString::new(format!("Dataset-0000.{index:04}")).expect("no zero byte"),
                None => CString::new(DATA_SET).expect("no zero byte"),
            };
            if container.makes {
                let each = set_bytes.unwrap_or(container.bytes);
                let count = container.bytes.div_ceil(each.max(1)).max(1);
                if count > MOST_DATA_SETS {
                    let message = format!("{path}: {count} data sets, at most {MOST_DATA_SETS} are made");
                    return Err(Failure::new(message).hint("make blocks larger, and segments fewer"));
                }
                for index in 0..count {
                    let data = self.make(setup, file, &names(index), each)?;
                    self.add(data)?;
                }
            } else {
                let what = format!("{path}: no data set of ours: H5Dopen");
                self.add(calls.made(&what, (calls.open_data)(file, names(0).as_ptr(), calls.default_list))?)?;
                for index in (1..MOST_DATA_SETS).take_while(|_| set_bytes.is_some()) {
                    match (calls.open_data)(file, names(index).as_ptr(), calls.default_list) {
                        data if data >= 0 => self.add(data)?,
                        _ => break,
                    }
                }
            }
        }
        Ok(())
    }

    /// Adds a data set to the file that was opened last.
    ///
    /// # Safety
    /// It is an open data set of that file.
    unsafe fn add(&mut self, data: Id) -> Result<(), Failure> {
        let calls = self.calls;
        // SAFETY: the caller says so.
        let space = calls.made("H5Dget_space", unsafe { (calls.space_of)(data) })?;
        // SAFETY: the space was just made.
        let points = unsafe { (calls.points)(space) }.max(0) as u64;
        let file = self.files.last_mut().expect("one was opened");
        let bytes = points.saturating_mul(file.element_bytes);
        if file.sets.is_empty() {
            file.set_bytes = bytes;
        }
        file.bytes += bytes;
        file.sets.push(DataSet { data, space });
        Ok(())
    }

    /// Makes a data set of a new file.
    ///
    /// # Safety
    /// The file is open for writing by the whole group.
    unsafe fn make(&self, setup: &Setup<'_>, file: Id, name: &CStr, bytes: u64) -> Result<Id, Failure> {
        let calls = self.calls;
        let (kind, element_bytes) = match self.files.last().map(|file| file.element_bytes) {
            Some(ELEMENT_BYTES) => (calls.long, ELEMENT_BYTES),
            _ => (calls.byte, 1),
        };
        let points = bytes / element_bytes;
        // SAFETY: all lists and spaces are the library's own, and the numbers live as long as the calls.
        unsafe {
            let space =
                calls.made("H5Screate_simple", (calls.make_space)(1, &raw const points, std::ptr::null()))?;
            let list = calls.made("H5Pcreate", (calls.create_list)(calls.data_class))?;
            if switched_on(setup.job, "no_fill") {
                calls.done("H5Pset_fill_time", (calls.set_fill_time)(list, FILL_NEVER))?;
            }
            if let Some(chunk) = whole_number(setup.job, "chunk_size").filter(|chunk| *chunk > 0) {
                let chunk = (chunk / element_bytes).clamp(1, points.max(1));
                calls.done("H5Pset_chunk", (calls.set_chunk)(list, 1, &raw const chunk))?;
            }
            let none = calls.default_list;
            let data = (calls.make_data)(file, name.as_ptr(), kind, space, none, list, none);
            (calls.close_list)(list);
            (calls.close_space)(space);
            calls.made("H5Dcreate", data)
        }
    }

    fn transfer(&mut self, io: &Io) -> i64 {
        let Some(file) = self.files.get(io.file as usize) else { return -i64::from(libc::EBADF) };
        let inside = match parallel::inside(io, file.bytes) {
            Ok(inside) => inside,
            Err(result) => return result,
        };
        let (index, within) = (io.offset / file.set_bytes.max(1), io.offset % file.set_bytes.max(1));
        let element = file.element_bytes;
        // A transfer lies in one data set, and begins and ends with an element.
        let is_aligned = within.is_multiple_of(element) && inside.is_multiple_of(element);
        let Some(set) =
            file.sets.get(index as usize).filter(|_| is_aligned && within + inside <= file.set_bytes)
        else {
            return if inside == 0 { 0 } else { -i64::from(libc::EINVAL) };
        };
        let (data, space, start, count) = (set.data, set.space, within / element, inside / element);
        let calls = self.calls;
        let kind = if element == ELEMENT_BYTES { calls.long } else { calls.byte };
        if self.memory.1 != count {
            // SAFETY: a space that was made before is ours.
            unsafe {
                if self.memory.0 >= 0 {
                    (calls.close_space)(self.memory.0);
                }
                self.memory = ((calls.make_space)(1, &raw const count, std::ptr::null()), count);
            }
        }
        // SAFETY: the place lies inside the data set, the buffer holds so many bytes, and all handles are open.
        let answer = unsafe {
            let none = std::ptr::null();
            if (calls.select)(space, SELECT_SET, &raw const start, none, &raw const count, none) < 0 {
                return -i64::from(libc::EIO);
            }
            match io.verb {
                Verb::Read => {
                    let room: *mut c_void = io.buffer.cast();
                    (calls.read)(data, kind, self.memory.0, space, self.transfer, room)
                }
                _ => {
                    let bytes: *const c_void = io.buffer.cast_const().cast();
                    (calls.write)(data, kind, self.memory.0, space, self.transfer, bytes)
                }
            }
        };
        if answer < 0 { -i64::from(libc::EIO) } else { inside as i64 }
    }
}

impl Drop for Hdf5 {
    fn drop(&mut self) {
        // Those who share the files wait for everybody to close them, also when one of them fails.
        let _ = self.close();
        // SAFETY: both are ours, and nothing uses them any more.
        unsafe {
            if self.memory.0 >= 0 {
                (self.calls.close_space)(self.memory.0);
            }
            (self.calls.close_list)(self.transfer);
        }
    }
}
