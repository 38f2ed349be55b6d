//! `ncmpi`: one variable of bytes in a file of PnetCDF, one access for each transfer.
//!
//! The variable has one dimension and is called `iodyno`; or, with `block_bytes` and `transfer_bytes`, it is IOR's:
//! `data_var(segments_times_np, number_of_transfers, transfer_size)`, whose bytes lie in the same order.
//!
//! The library must be one that was built for the MPI library of this run; both are opened at run time. Its file (CDF-5,
//! so that a variable may be of any length) is a container: offsets are those within the variable, and the file is
//! longer than that by its header. One worker on each rank is all that can use it.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::OnceLock;

use iodyno_model::{Diagnostic, Job, Verb, VerbSet};

use super::parallel::{self, Container, Opening, ParallelLibrary, RankGroup};
use super::{EngineFacts, Failure, Setup, SyncEngine, check_switches, check_values, spec, whole_number};
use crate::io::{AT_END, Files, Io};
use crate::open::needs;
use crate::shared_library::library_calls;
use crate::world::mpi::abi::Handle;

/// Names the library.
const VARIABLE: &str = "IODYNO_PNETCDF";
const NAMES: &[&str] = &[
    "libpnetcdf.so.8",
    "libpnetcdf.so.7",
    "libpnetcdf.so.6",
    "libpnetcdf.so.4",
    "libpnetcdf.so.0d",
    "libpnetcdf.so",
];
/// What a variable of one dimension and its dimension are called.
const NAME: &CStr = c"iodyno";
/// IOR's variable and its dimensions.
const DATA: &CStr = c"data_var";
const DIMENSIONS: [&CStr; 3] = [c"segments_times_np", c"number_of_transfers", c"transfer_size"];
/// `NC_64BIT_DATA`, `NC_NOWRITE`, `NC_WRITE`, `NC_BYTE`.
const CDF_5: c_int = 0x20;
const READ_ONLY: c_int = 0;
const READ_WRITE: c_int = 1;
const BYTE: c_int = 1;

type CText = *const c_char;
type Number = *mut c_int;
type Sizes = *const i64;

library_calls! {
    []
    words: c"ncmpi_strerror"(c_int) -> *const c_char;
    create: c"ncmpi_create"(Handle, CText, c_int, Handle, Number) -> c_int;
    open: c"ncmpi_open"(Handle, CText, c_int, Handle, Number) -> c_int;
    define_dimension: c"ncmpi_def_dim"(c_int, CText, i64, Number) -> c_int;
    define_variable: c"ncmpi_def_var"(c_int, CText, c_int, c_int, *const c_int, Number) -> c_int;
    end_definitions: c"ncmpi_enddef"(c_int) -> c_int;
    find_dimension: c"ncmpi_inq_dimid"(c_int, CText, Number) -> c_int;
    dimension_bytes: c"ncmpi_inq_dimlen"(c_int, c_int, *mut i64) -> c_int;
    find_variable: c"ncmpi_inq_varid"(c_int, CText, Number) -> c_int;
    begin_alone: c"ncmpi_begin_indep_data"(c_int) -> c_int;
    end_alone: c"ncmpi_end_indep_data"(c_int) -> c_int;
    write: c"ncmpi_put_vara_schar"(c_int, c_int, Sizes, Sizes, *const c_void) -> c_int;
    write_together: c"ncmpi_put_vara_schar_all"(c_int, c_int, Sizes, Sizes, *const c_void) -> c_int;
    read: c"ncmpi_get_vara_schar"(c_int, c_int, Sizes, Sizes, *mut c_void) -> c_int;
    read_together: c"ncmpi_get_vara_schar_all"(c_int, c_int, Sizes, Sizes, *mut c_void) -> c_int;
    sync: c"ncmpi_sync"(c_int) -> c_int;
    close: c"ncmpi_close"(c_int) -> c_int;
}

impl Calls {
    fn library() -> Result<ParallelLibrary, Failure> {
        let names: Vec<String> = NAMES.iter().map(|name| name.to_string()).collect();
        ParallelLibrary::first("PnetCDF", VARIABLE, &names, c"ncmpi_create")
    }

    fn opened() -> Result<Calls, Failure> {
        let library = Calls::library()?;
        Calls::find(|name| library.at(name))
    }

    fn get() -> Result<&'static Calls, Failure> {
        static CALLS: OnceLock<Result<Calls, Failure>> = OnceLock::new();
        CALLS.get_or_init(Calls::opened).as_ref().map_err(Failure::clone)
    }

    fn check(&self, call: &str, number: c_int) -> Result<(), Failure> {
        if number == 0 {
            return Ok(());
        }
        // SAFETY: the library's texts are zero-terminated and stay.
        let words = unsafe { CStr::from_ptr((self.words)(number)) }.to_string_lossy();
        Err(Failure::new(format!("{call}: {words}")).errno(errno_of(number)))
    }
}

/// PnetCDF's numbers below -200 are those of MPI-IO's errors.
fn errno_of(number: c_int) -> i32 {
    match number {
        -220 => libc::ENOENT,
        -35 | -221 => libc::EEXIST,
        -208 => libc::EACCES,
        -37 => libc::EPERM,
        -219 => libc::ENOSPC,
        _ => libc::EIO,
    }
}

/// A variable in a file.
pub struct Ncmpi {
    group: RankGroup,
    calls: &'static Calls,
    files: Vec<File>,
}

struct File {
    file: c_int,
    variable: c_int,
    shape: Shape,
}

/// How long a variable is, in its dimensions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shape {
    /// In one: so many bytes.
    Bytes(u64),
    /// In three, as IOR has it: blocks, transfers of a block, bytes of a transfer.
    Blocks([u64; 3]),
}

/// Where an access begins, and how far it goes, in each dimension.
type Place = ([i64; 3], [i64; 3]);

impl Shape {
    fn bytes(self) -> u64 {
        match self {
            Shape::Bytes(bytes) => bytes,
            Shape::Blocks(lengths) => lengths.iter().product(),
        }
    }

    /// The place of some bytes; none: they are no box of the variable.
    fn place(self, offset: u64, bytes: u64) -> Option<Place> {
        let Shape::Blocks([_, transfers, transfer]) = self else {
            return Some(([offset as i64, 0, 0], [bytes as i64, 1, 1]));
        };
        let block = transfers * transfer;
        let within = offset % block.max(1);
        let start = [offset / block.max(1), within / transfer.max(1), within % transfer.max(1)];
        let count = match start[2] == 0 && bytes.is_multiple_of(transfer.max(1)) {
            true if within + bytes <= block => [1, bytes / transfer.max(1), transfer],
            false if start[2] + bytes <= transfer => [1, 1, bytes],
            _ => return None,
        };
        Some((start.map(|number| number as i64), count.map(|number| number as i64)))
    }
}

impl SyncEngine for Ncmpi {
    const FACTS: EngineFacts = EngineFacts {
        about: "a variable of PnetCDF, independent or collective",
        verbs: VerbSet::of(&[Verb::Read, Verb::Write, Verb::Fsync, Verb::Fdatasync]),
        settings: &[
            parallel::COLLECTIVE,
            parallel::HINTS_FILE,
            spec("block_bytes", "bytes of a block, in IOR's layout; 0: a variable of one dimension"),
            spec("transfer_bytes", "bytes of a transfer, in IOR's layout"),
        ],
        available: Self::available,
        check: Self::check,
        ..parallel::facts(EngineFacts::named("ncmpi"))
    };

    fn start(setup: &Setup<'_>) -> Result<Self, Failure> {
        let group = RankGroup::join(setup)?;
        let calls = Calls::get()?;
        let mut engine = Ncmpi { group, calls, files: Vec::new() };
        for index in 0..setup.paths.len() {
            engine.open(setup, index)?;
        }
        Ok(engine)
    }

    fn perform(&mut self, io: &Io, _files: &mut Files) -> i64 {
        let Some(file) = self.files.get(io.file as usize) else { return -i64::from(libc::EBADF) };
        match io.verb {
            Verb::Read | Verb::Write if io.offset < AT_END => self.transfer(io, file),
            Verb::Fsync | Verb::Fdatasync => {
                // SAFETY: the file is open.
                let number = unsafe { (self.calls.sync)(file.file) };
                if number == 0 { 0 } else { -i64::from(errno_of(number)) }
            }
            _ => -i64::from(libc::EOPNOTSUPP),
        }
    }

    fn agree(&mut self, over: bool) -> bool {
        self.group.agree(over)
    }

    fn close(&mut self) -> Result<(), Failure> {
        let (calls, mut outcome) = (self.calls, Ok(()));
        for file in self.files.drain(..) {
            // SAFETY: the file is open, in the mode it was put into, and is closed once.
            unsafe {
                if !self.group.collective {
                    outcome = outcome.and(calls.check("ncmpi_end_indep_data", (calls.end_alone)(file.file)));
                }
                outcome = outcome.and(calls.check("ncmpi_close", (calls.close)(file.file)));
            }
        }
        outcome
    }
}

impl Ncmpi {
    fn available() -> Result<(), Failure> {
        crate::world::mpi::can_open()?;
        Calls::library().map(drop)
    }

    fn check(job: &Job) -> Vec<Diagnostic> {
        let mut found = check_switches(job, &["collective"]);
        let is_whole = |value: &str| value.parse::<u64>().is_ok();
        let hint = "say a whole number of bytes";
        found.extend(check_values(job, &["block_bytes", "transfer_bytes"], is_whole, hint));
        found.extend(parallel::check(job, Self::FACTS.name));
        found.extend(parallel::check_one_worker(job, Self::FACTS.name));
        found
    }

    fn open(&mut self, setup: &Setup<'_>, index: usize) -> Result<(), Failure> {
        let calls = self.calls;
        let Opening { path, name, comm, hints } = self.group.opening(setup, index, Self::FACTS.name)?;
        let (container, mut file) = (Container::of(setup, index, &self.group)?, 0);
        let mode = if needs(setup.job, index).1 { READ_WRITE } else { READ_ONLY };
        // SAFETY: communicator and hints are the MPI library's, the name is zero-terminated, and there is room for the
        // answers.
        unsafe {
            let opened = match container.makes {
                true => (calls.create)(comm, name.as_ptr(), CDF_5, hints.handle(), &raw mut file),
                false => (calls.open)(comm, name.as_ptr(), mode, hints.handle(), &raw mut file),
            };
            calls.check(&format!("cannot open {path}"), opened)?;
            let shape = shape(setup, container.bytes);
            let (variable, shape) =
                if container.makes { (self.make(file, shape)?, shape) } else { self.find(file, shape)? };
            if !self.group.collective {
                calls.check("ncmpi_begin_indep_data", (calls.begin_alone)(file))?;
            }
            self.files.push(File { file, variable, shape });
        }
        Ok(())
    }

    /// # Safety
    /// The file is new, and the whole group is here.
    unsafe fn make(&self, file: c_int, shape: Shape) -> Result<c_int, Failure> {
        let (calls, mut variable) = (self.calls, 0);
        let (name, dimensions) = named(shape);
        let mut numbers = [0; 3];
        // SAFETY: the file is open, the names are zero-terminated, and there is room for the answers.
        unsafe {
            for ((dimension, length), number) in dimensions.iter().zip(&mut numbers) {
                let defined =
                    (calls.define_dimension)(file, dimension.as_ptr(), *length as i64, &raw mut *number);
                calls.check("ncmpi_def_dim", defined)?;
            }
            let (count, at) = (dimensions.len() as c_int, &raw mut variable);
            let defined = (calls.define_variable)(file, name.as_ptr(), BYTE, count, numbers.as_ptr(), at);
            calls.check("ncmpi_def_var", defined)?;
            calls.check("ncmpi_enddef", (calls.end_definitions)(file))?;
        }
        Ok(variable)
    }

    /// The variable of a file, and how long it is.
    ///
    /// # Safety
    /// The file is open.
    unsafe fn find(&self, file: c_int, shape: Shape) -> Result<(c_int, Shape), Failure> {
        let (calls, mut variable, mut lengths) = (self.calls, 0, [0; 3]);
        let (name, dimensions) = named(shape);
        // SAFETY: the names are zero-terminated, and there is room for the answers.
        unsafe {
            for ((dimension, _), length) in dimensions.iter().zip(&mut lengths) {
                let (mut number, mut found) = (0, 0i64);
                let named = (calls.find_dimension)(file, dimension.as_ptr(), &raw mut number);
                calls.check(&format!("dimension {}: ncmpi_inq_dimid", dimension.to_string_lossy()), named)?;
                calls.check("ncmpi_inq_dimlen", (calls.dimension_bytes)(file, number, &raw mut found))?;
                *length = found.max(0) as u64;
            }
            calls.check("ncmpi_inq_varid", (calls.find_variable)(file, name.as_ptr(), &raw mut variable))?;
        }
        let shape = match shape {
            Shape::Bytes(_) => Shape::Bytes(lengths[0]),
            Shape::Blocks(_) => Shape::Blocks(lengths),
        };
        Ok((variable, shape))
    }

    fn transfer(&self, io: &Io, file: &File) -> i64 {
        let calls = self.calls;
        let inside = match parallel::inside(io, file.shape.bytes()) {
            Ok(inside) => inside,
            Err(result) => return result,
        };
        let Some((start, count)) = file.shape.place(io.offset, inside) else {
            return -i64::from(libc::EINVAL);
        };
        let (start, count) = (start.as_ptr(), count.as_ptr());
        let (to, from): (*mut c_void, *const c_void) = (io.buffer.cast(), io.buffer.cast_const().cast());
        // SAFETY: the place lies inside the variable, the buffer holds so many bytes, and the file is in the mode that
        // the call wants.
        let number = unsafe {
            match (io.verb, self.group.collective) {
                (Verb::Read, false) => (calls.read)(file.file, file.variable, start, count, to),
                (Verb::Read, true) => (calls.read_together)(file.file, file.variable, start, count, to),
                (_, false) => (calls.write)(file.file, file.variable, start, count, from),
                (_, true) => (calls.write_together)(file.file, file.variable, start, count, from),
            }
        };
        if number == 0 { inside as i64 } else { -i64::from(errno_of(number)) }
    }
}

/// How long a variable is to be, by the job's settings.
fn shape(setup: &Setup<'_>, bytes: u64) -> Shape {
    let number = |name| whole_number(setup.job, name).filter(|number| *number > 0);
    match (number("block_bytes"), number("transfer_bytes")) {
        (Some(block), Some(transfer)) => Shape::Blocks([bytes / block, block / transfer, transfer]),
        _ => Shape::Bytes(bytes),
    }
}

/// The names of a variable and of its dimensions, with their lengths.
fn named(shape: Shape) -> (&'static CStr, Vec<(&'static CStr, u64)>) {
    match shape {
        Shape::Bytes(bytes) => (NAME, vec![(NAME, bytes)]),
        Shape::Blocks(lengths) => (DATA, DIMENSIONS.into_iter().zip(lengths).collect()),
    }
}

impl Drop for Ncmpi {
    fn drop(&mut self) {
        // Those who share the files wait for everybody to close them, also when one of them fails.
        let _ = self.close();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_a_place_in_blocks_of_transfers() {
        let shape = Shape::Blocks([6, 4, 100]);
        assert_eq!(shape.bytes(), 2400);
        assert_eq!(shape.place(900, 100), Some(([2, 1, 0], [1, 1, 100])));
        assert_eq!(shape.place(900, 300), Some(([2, 1, 0], [1, 3, 100])));
        assert_eq!(shape.place(930, 20), Some(([2, 1, 30], [1, 1, 20])));
        assert_eq!(shape.place(900, 400), None, "over the end of a block");
        assert_eq!(shape.place(930, 100), None, "over the end of a transfer");
        assert_eq!(Shape::Bytes(9).place(3, 2), Some(([3, 0, 0], [2, 1, 1])));
    }
}
