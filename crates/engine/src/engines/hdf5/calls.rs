//! The calls of parallel HDF5, opened at run time: of the library that was built for this MPI.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::OnceLock;

use crate::engines::parallel::{ParallelLibrary, flavours};
use crate::failure::Failure;
use crate::shared_library::library_calls;
use crate::world::mpi::abi::Handle;

/// An object of HDF5 (64 bits since 1.10); negative: a failure.
pub type Id = i64;

/// Names the library.
const VARIABLE: &str = "IODYNO_HDF5";
/// Numbers of the library's file since 1.10, the newest first.
const VERSIONS: &[&str] = &[".320", ".310", ".200", ".103", ".101", ".100", ""];

type Sizes = *const u64;

library_calls! {
    // `H5P_FILE_ACCESS`, `H5P_DATASET_XFER`, `H5P_DATASET_CREATE`, `H5T_NATIVE_UCHAR`, `H5T_NATIVE_LLONG`, `H5P_DEFAULT`.
    [access_class: Id, transfer_class: Id, data_class: Id, byte: Id, long: Id, default_list: Id]
    create_list: c"H5Pcreate"(Id) -> Id;
    close_list: c"H5Pclose"(Id) -> c_int;
    set_mpi: c"H5Pset_fapl_mpio"(Id, Handle, Handle) -> c_int;
    set_transfer: c"H5Pset_dxpl_mpio"(Id, c_int) -> c_int;
    set_alignment: c"H5Pset_alignment"(Id, u64, u64) -> c_int;
    set_metadata_reads: c"H5Pset_all_coll_metadata_ops"(Id, bool) -> c_int;
    set_metadata_writes: c"H5Pset_coll_metadata_write"(Id, bool) -> c_int;
    set_fill_time: c"H5Pset_fill_time"(Id, c_int) -> c_int;
    set_chunk: c"H5Pset_chunk"(Id, c_int, Sizes) -> c_int;
    create_file: c"H5Fcreate"(*const c_char, c_uint, Id, Id) -> Id;
    open_file: c"H5Fopen"(*const c_char, c_uint, Id) -> Id;
    flush: c"H5Fflush"(Id, c_int) -> c_int;
    close_file: c"H5Fclose"(Id) -> c_int;
    make_space: c"H5Screate_simple"(c_int, Sizes, Sizes) -> Id;
    points: c"H5Sget_simple_extent_npoints"(Id) -> i64;
    select: c"H5Sselect_hyperslab"(Id, c_int, Sizes, Sizes, Sizes, Sizes) -> c_int;
    close_space: c"H5Sclose"(Id) -> c_int;
    make_data: c"H5Dcreate2"(Id, *const c_char, Id, Id, Id, Id, Id) -> Id;
    open_data: c"H5Dopen2"(Id, *const c_char, Id) -> Id;
    space_of: c"H5Dget_space"(Id) -> Id;
    write: c"H5Dwrite"(Id, Id, Id, Id, Id, *const c_void) -> c_int;
    read: c"H5Dread"(Id, Id, Id, Id, Id, *mut c_void) -> c_int;
    close_data: c"H5Dclose"(Id) -> c_int;
}

impl Calls {
    fn library() -> Result<ParallelLibrary, Failure> {
        let flavour = flavours();
        let names: Vec<String> = flavour
            .iter()
            .map(|flavour| format!("libhdf5_{flavour}.so"))
            .chain(["libhdf5.so".to_string()])
            .flat_map(|name| VERSIONS.iter().map(move |version| format!("{name}{version}")))
            .collect();
        ParallelLibrary::first("HDF5", VARIABLE, &names, c"H5Pset_fapl_mpio")
    }

    /// Whether the library is there; it is not initialised for that.
    pub fn can_open() -> Result<(), Failure> {
        Calls::library().map(drop)
    }

    /// The library's calls, once it is initialised.
    pub fn get() -> Result<&'static Calls, Failure> {
        static CALLS: OnceLock<Result<Calls, Failure>> = OnceLock::new();
        CALLS.get_or_init(Calls::opened).as_ref().map_err(Failure::clone)
    }

    fn opened() -> Result<Calls, Failure> {
        let library = Calls::library()?;
        let (mut major, mut minor, mut release) = (0, 0, 0);
        // SAFETY: these functions have the same arguments in every HDF5, and the numbers are valid for writing. Without
        // a handler the library prints nothing of its own.
        let ready = unsafe {
            let version: unsafe extern "C" fn(*mut c_uint, *mut c_uint, *mut c_uint) -> c_int =
                std::mem::transmute(library.at(c"H5get_libversion")?);
            version(&raw mut major, &raw mut minor, &raw mut release);
            if (major, minor) < (1, 10) {
                let message = format!("{}: HDF5 {major}.{minor}.{release} is older than 1.10", library.path);
                return Err(
                    Failure::new(message).hint(format!("{VARIABLE}=/path/to/libhdf5.so names another"))
                );
            }
            let open: unsafe extern "C" fn() -> c_int = std::mem::transmute(library.at(c"H5open")?);
            let quiet: unsafe extern "C" fn(Id, *const c_void, *const c_void) -> c_int =
                std::mem::transmute(library.at(c"H5Eset_auto2")?);
            let ready = open();
            quiet(0, std::ptr::null(), std::ptr::null());
            ready
        };
        let mut calls = Calls::find(|name| library.at(name))?;
        calls.done("H5open", ready)?;
        // SAFETY: a variable of that name holds a handle since the library was initialised.
        let number = |name: &std::ffi::CStr| Ok::<Id, Failure>(unsafe { *(library.at(name)? as *const Id) });
        calls.access_class = number(c"H5P_CLS_FILE_ACCESS_ID_g")?;
        calls.transfer_class = number(c"H5P_CLS_DATASET_XFER_ID_g")?;
        calls.data_class = number(c"H5P_CLS_DATASET_CREATE_ID_g")?;
        calls.byte = number(c"H5T_NATIVE_UCHAR_g")?;
        calls.long = number(c"H5T_NATIVE_LLONG_g")?;
        Ok(calls)
    }

    /// A handle that a call answered.
    ///
    /// # Errors
    /// It answered none.
    pub fn made(&self, call: &str, id: Id) -> Result<Id, Failure> {
        if id >= 0 { Ok(id) } else { Err(Failure::new(format!("{call} failed")).errno(libc::EIO)) }
    }

    /// What a call answered.
    ///
    /// # Errors
    /// That it failed.
    pub fn done(&self, call: &str, answer: c_int) -> Result<(), Failure> {
        self.made(call, i64::from(answer)).map(drop)
    }
}
