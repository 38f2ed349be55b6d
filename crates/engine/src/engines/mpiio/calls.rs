//! The calls of MPI-IO, and its errors as the system's numbers.

use std::ffi::{c_char, c_int, c_void};

use crate::memory::errno;
use crate::shared_library::library_calls;
use crate::world::mpi::Open;
use crate::world::mpi::abi::{Handle, Kind};

type CText = *const c_char;
type Room = *mut c_void;
type Bytes = *const c_void;
type Out = *mut Handle;

library_calls! {
    []
    open: c"MPI_File_open"(Handle, CText, c_int, Handle, Out) -> c_int;
    close: c"MPI_File_close"(Out) -> c_int;
    read_at: c"MPI_File_read_at"(Handle, i64, Room, c_int, Handle, Room) -> c_int;
    write_at: c"MPI_File_write_at"(Handle, i64, Bytes, c_int, Handle, Room) -> c_int;
    read_at_all: c"MPI_File_read_at_all"(Handle, i64, Room, c_int, Handle, Room) -> c_int;
    write_at_all: c"MPI_File_write_at_all"(Handle, i64, Bytes, c_int, Handle, Room) -> c_int;
    sync: c"MPI_File_sync"(Handle) -> c_int;
    set_size: c"MPI_File_set_size"(Handle, i64) -> c_int;
    preallocate: c"MPI_File_preallocate"(Handle, i64) -> c_int;
    set_view: c"MPI_File_set_view"(Handle, i64, Handle, Handle, CText, Handle) -> c_int;
    get_info: c"MPI_File_get_info"(Handle, Out) -> c_int;
    info_free: c"MPI_Info_free"(Out) -> c_int;
    info_count: c"MPI_Info_get_nkeys"(Handle, *mut c_int) -> c_int;
    info_key: c"MPI_Info_get_nthkey"(Handle, c_int, *mut c_char) -> c_int;
    info_get: c"MPI_Info_get"(Handle, CText, c_int, *mut c_char, *mut c_int) -> c_int;
    error_class: c"MPI_Error_class"(c_int, *mut c_int) -> c_int;
    get_count: c"MPI_Get_count"(Bytes, Handle, *mut c_int) -> c_int;
    contiguous: c"MPI_Type_contiguous"(c_int, Handle, Out) -> c_int;
    resized: c"MPI_Type_create_resized"(Handle, isize, isize, Out) -> c_int;
    commit: c"MPI_Type_commit"(Out) -> c_int;
    type_free: c"MPI_Type_free"(Out) -> c_int;
}

/// Error classes of files (Open MPI's, which the standard ABI took over, and MPICH's), and the system's numbers that say
/// the same.
const CLASSES: &[(c_int, c_int, i32)] = &[
    (20, 20, libc::EACCES),
    (23, 22, libc::EINVAL),
    (28, 25, libc::EEXIST),
    (29, 26, libc::EBUSY),
    (39, 34, libc::ENOMEM),
    (41, 36, libc::ENOSPC),
    (42, 37, libc::ENOENT),
    (44, 39, libc::EDQUOT),
    (45, 40, libc::EROFS),
];

/// The system's number for an error code; what the library leaves open is what the system said last, or `EIO`.
pub(crate) fn errno_of(open: &Open, calls: &Calls, code: c_int) -> i32 {
    let said = errno();
    let mut class = 0;
    // SAFETY: the class is valid for writing.
    unsafe { (calls.error_class)(code, &raw mut class) };
    let mpich = open.library().abi.kind == Kind::Mpich;
    match CLASSES.iter().find(|(other, of_mpich, _)| class == if mpich { *of_mpich } else { *other }) {
        Some((_, _, errno)) => *errno,
        None if said > 0 => said,
        None => libc::EIO,
    }
}
