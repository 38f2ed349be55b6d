//! The numbers and handles that a header of MPI would define: three sets of them cover the libraries of the field.
//!
//! A handle is a pointer-sized number everywhere. Open MPI's are addresses of exported objects, MPICH's and its
//! family's are 32-bit numbers, which travel in the same registers, and the standard ABI of MPI 5 has small numbers of
//! its own. Values are those of the libraries' public headers. Only what is used is here.

use std::ffi::{CStr, c_int};

/// An MPI object: a communicator, a request, a file, an info …; out-parameters must be zeroed before the call.
pub(crate) type Handle = usize;

/// Which header a program of this library would have been compiled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Open MPI, of any version up to 5, and what descends from it.
    OpenMpi,
    /// MPICH since 3, Intel MPI, Cray MPICH, MVAPICH.
    Mpich,
    /// The standard ABI of MPI 5, whoever wrote the library.
    Standard,
}

/// Constants of one ABI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Abi {
    pub(crate) kind: Kind,
    pub(crate) comm_world: Handle,
    pub(crate) comm_self: Handle,
    pub(crate) byte: Handle,
    pub(crate) uint64: Handle,
    pub(crate) sum: Handle,
    pub(crate) least: Handle,
    pub(crate) most: Handle,
    pub(crate) info_null: Handle,
    pub(crate) file_null: Handle,
    pub(crate) datatype_null: Handle,
    pub(crate) request_null: Handle,
    pub(crate) errors_return: Handle,
    pub(crate) any_source: c_int,
    pub(crate) thread_multiple: c_int,
    /// Handed in where a status is not wanted, as an address.
    pub(crate) status_ignore: usize,
    /// Where in a status the sender's rank is, bytes.
    pub(crate) status_source_at: usize,
    pub(crate) mode: Modes,
    /// `MPI_SEEK_SET`.
    pub(crate) seek_set: c_int,
}

/// `MPI_MODE_*`: how a file is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Modes {
    pub(crate) create: c_int,
    pub(crate) read_only: c_int,
    pub(crate) write_only: c_int,
    pub(crate) read_write: c_int,
    pub(crate) delete_on_close: c_int,
    pub(crate) unique_open: c_int,
    pub(crate) exclusive: c_int,
    pub(crate) append: c_int,
    pub(crate) sequential: c_int,
}

/// More than any library's status takes (20 to 32 bytes), aligned for all of them.
#[repr(C, align(16))]
pub(crate) struct Status(pub(crate) [u8; 64]);

/// Open MPI and MPICH agree on these: both have them from ROMIO.
const ROMIO_MODES: Modes = Modes {
    create: 1,
    read_only: 2,
    write_only: 4,
    read_write: 8,
    delete_on_close: 16,
    unique_open: 32,
    exclusive: 64,
    append: 128,
    sequential: 256,
};

impl Abi {
    /// Open MPI's, whose handles are looked up.
    ///
    /// # Errors
    /// The name of an object that the library does not export.
    pub(crate) fn open_mpi(address: impl Fn(&CStr) -> Option<usize>) -> Result<Abi, String> {
        let at = |name: &CStr| address(name).ok_or_else(|| name.to_string_lossy().into_owned());
        Ok(Abi {
            kind: Kind::OpenMpi,
            comm_world: at(c"ompi_mpi_comm_world")?,
            comm_self: at(c"ompi_mpi_comm_self")?,
            byte: at(c"ompi_mpi_byte")?,
            uint64: at(c"ompi_mpi_uint64_t")?,
            sum: at(c"ompi_mpi_op_sum")?,
            least: at(c"ompi_mpi_op_min")?,
            most: at(c"ompi_mpi_op_max")?,
            info_null: at(c"ompi_mpi_info_null")?,
            file_null: at(c"ompi_mpi_file_null")?,
            datatype_null: at(c"ompi_mpi_datatype_null")?,
            request_null: at(c"ompi_request_null")?,
            errors_return: at(c"ompi_mpi_errors_return")?,
            any_source: -1,
            thread_multiple: 3,
            status_ignore: 0,
            status_source_at: 0,
            mode: ROMIO_MODES,
            seek_set: 600,
        })
    }

    /// That of MPICH and its family.
    pub(crate) const MPICH: Abi = Abi {
        kind: Kind::Mpich,
        comm_world: 0x4400_0000,
        comm_self: 0x4400_0001,
        byte: 0x4c00_010d,
        uint64: 0x4c00_083e,
        sum: 0x5800_0003,
        least: 0x5800_0002,
        most: 0x5800_0001,
        info_null: 0x1c00_0000,
        file_null: 0,
        datatype_null: 0x0c00_0000,
        request_null: 0x2c00_0000,
        errors_return: 0x5400_0001,
        any_source: -2,
        thread_multiple: 3,
        status_ignore: 1,
        status_source_at: 8,
        mode: ROMIO_MODES,
        seek_set: 600,
    };

    /// The standard one of MPI 5.
    pub(crate) const STANDARD: Abi = Abi {
        kind: Kind::Standard,
        comm_world: 0x101,
        comm_self: 0x102,
        byte: 0x247,
        uint64: 0x259,
        sum: 0x21,
        least: 0x22,
        most: 0x23,
        info_null: 0x130,
        file_null: 0x118,
        datatype_null: 0x200,
        request_null: 0x180,
        errors_return: 0x143,
        any_source: -1,
        thread_multiple: 4096,
        status_ignore: 0,
        status_source_at: 0,
        mode: Modes {
            append: 1,
            create: 2,
            delete_on_close: 4,
            exclusive: 8,
            read_only: 16,
            read_write: 32,
            sequential: 64,
            unique_open: 128,
            write_only: 256,
        },
        seek_set: 403,
    };
}
