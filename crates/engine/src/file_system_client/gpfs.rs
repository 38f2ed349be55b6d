//! GPFS: hints by `gpfs_fcntl` of its library. From `gpfs_fcntl.h`.

use std::ffi::{CString, c_int, c_void};
use std::os::fd::RawFd;

use crate::failure::Failure;
use crate::memory::errno;
use crate::shared_library::{SharedLibrary, library_calls};

/// Where the library is: by the loader's path, and where GPFS installs it.
const LIBRARIES: [&str; 3] = ["libgpfs.so", "/usr/lpp/mmfs/lib/libgpfs.so", "/usr/lpp/mmfs/lib64/libgpfs.so"];
/// Names another one.
const VARIABLE: &str = "IODYNO_GPFS";

library_calls! { []
    fcntl: c"gpfs_fcntl"(c_int, *mut c_void) -> c_int;
}

/// The library, which stays open.
pub struct Gpfs {
    calls: Calls,
}

impl std::fmt::Debug for Gpfs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Gpfs")
    }
}

/// `gpfsFcntlHeader_t`.
#[repr(C)]
struct FcntlHeader {
    total_bytes: i32,
    version: i32,
    error_offset: i32,
    reserved: i32,
}

/// What follows the header: its length, what it is, and its own fields.
#[repr(C)]
struct Hint<T> {
    header: FcntlHeader,
    bytes: i32,
    kind: i32,
    fields: T,
}

/// The fields of `gpfsAccessRange_t`.
#[repr(C)]
struct AccessRange {
    start: i64,
    length: i64,
    is_write: i32,
    padding: i32,
}

/// The fields of `gpfsFreeRange_t`.
#[repr(C)]
struct FreeRange {
    start: i64,
    length: i64,
}

/// The fields of `gpfsFineGrainWriteSharing_t`; -1: not said.
#[repr(C)]
struct FineGrainWrites {
    on: i32,
    task: i32,
    tasks: i32,
    record_bytes: i32,
}

/// The fields of `gpfsFineGrainReadSharing_t` and `gpfsCreateSharing_t`.
#[repr(C)]
struct Switch {
    on: i32,
    padding: i32,
}

const ACCESS_RANGE: i32 = 1001;
const FREE_RANGE: i32 = 1002;
const FINE_GRAIN_WRITE_SHARING: i32 = 1005;
const FINE_GRAIN_READ_SHARING: i32 = 1007;
const CREATE_SHARING: i32 = 1008;

impl Gpfs {
    /// Opens the library.
    ///
    /// # Errors
    /// It is not there, or has no `gpfs_fcntl`.
    pub fn open() -> Result<Gpfs, Failure> {
        let named = std::env::var(VARIABLE).ok().filter(|path| !path.is_empty());
        let places = named.as_deref().map_or(LIBRARIES.to_vec(), |path| vec![path]);
        let mut reasons = Vec::new();
        for place in places {
            let path =
                CString::new(place).map_err(|_| Failure::new(format!("{VARIABLE} has a zero byte")))?;
            let missing = |name: &std::ffi::CStr| format!("{place} has no {}", name.to_string_lossy());
            let calls = SharedLibrary::open(&path, libc::RTLD_NOW)
                .and_then(|library| Calls::find(|name| library.address(name).ok_or_else(|| missing(name))));
            match calls {
                Ok(calls) => return Ok(Gpfs { calls }),
                Err(reason) => reasons.push(reason),
            }
        }
        let why = reasons.into_iter().next().unwrap_or_default();
        let failure = Failure::new(format!("hints to GPFS need its library: {why}"));
        Err(failure.hint(format!("install gpfs.base, or name the library: {VARIABLE}=/path/to/libgpfs.so")))
    }

    /// A range will be read or written.
    ///
    /// # Errors
    /// The system's error number; so for all of these.
    pub fn access_range(&self, fd: RawFd, start: u64, length: u64, writes: bool) -> Result<(), i32> {
        let (start, length) = (start as i64, length as i64);
        self.tell(fd, ACCESS_RANGE, AccessRange { start, length, is_write: writes.into(), padding: 0 })
    }

    /// A range will not be used any more; of length 0: up to the file's end.
    pub fn free_range(&self, fd: RawFd, start: u64, length: u64) -> Result<(), i32> {
        self.tell(fd, FREE_RANGE, FreeRange { start: start as i64, length: length as i64 })
    }

    /// Many tasks will write a little each.
    pub fn fine_grain_writes(&self, fd: RawFd) -> Result<(), i32> {
        let fields = FineGrainWrites { on: 1, task: -1, tasks: -1, record_bytes: -1 };
        self.tell(fd, FINE_GRAIN_WRITE_SHARING, fields)
    }

    /// Many tasks will read a little each.
    pub fn fine_grain_reads(&self, fd: RawFd) -> Result<(), i32> {
        self.tell(fd, FINE_GRAIN_READ_SHARING, Switch { on: 1, padding: 0 })
    }

    /// Many tasks will make files in a directory, or no longer.
    pub fn create_sharing(&self, fd: RawFd, on: bool) -> Result<(), i32> {
        self.tell(fd, CREATE_SHARING, Switch { on: on.into(), padding: 0 })
    }

    fn tell<T>(&self, fd: RawFd, kind: i32, fields: T) -> Result<(), i32> {
        let mut hint = hint(kind, fields);
        // SAFETY: the library reads and writes as many bytes as the header says, which are those of the structure.
        let told = unsafe { (self.calls.fcntl)(fd, (&raw mut hint).cast()) };
        if told == 0 { Ok(()) } else { Err(errno()) }
    }
}

fn hint<T>(kind: i32, fields: T) -> Hint<T> {
    let all = size_of::<Hint<T>>();
    let header = FcntlHeader { total_bytes: all as i32, version: 1, error_offset: 0, reserved: 0 };
    Hint { header, bytes: (all - size_of::<FcntlHeader>()) as i32, kind, fields }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_headers_lengths() {
        let access = hint(ACCESS_RANGE, AccessRange { start: 0, length: 0, is_write: 0, padding: 0 });
        assert_eq!((access.header.total_bytes, access.bytes, access.header.version), (48, 32, 1));
        let free = hint(FREE_RANGE, FreeRange { start: 0, length: 0 });
        assert_eq!((free.header.total_bytes, free.bytes), (40, 24));
        let fields = FineGrainWrites { on: 1, task: -1, tasks: -1, record_bytes: -1 };
        assert_eq!(hint(FINE_GRAIN_WRITE_SHARING, fields).bytes, 24);
        assert_eq!(hint(CREATE_SHARING, Switch { on: 1, padding: 0 }).bytes, 16);
    }
}
