//! The MPI library of the site, opened at run time, and the calls of it that are used here.
//!
//! It stays open until the program ends, as its helpers' threads and handlers would not survive its going. Symbols are
//! made global, since Open MPI's plug-ins look them up so. A library of another family than the launcher's is looked
//! at, but not taken.

use std::ffi::{CStr, CString, c_char, c_int, c_void};

use super::abi::{Abi, Handle};
use super::launcher::Family;
use crate::failure::Failure;
use crate::shared_library::{SharedLibrary, library_calls};

/// An open library.
pub(crate) struct Library {
    shared: SharedLibrary,
    /// What was opened: a path, or a name that the system's loader found.
    pub(crate) path: String,
    /// Its name and version, as people say it: `Open MPI 4.1.4`.
    pub(crate) version: String,
    pub(crate) family: Family,
    pub(crate) abi: Abi,
    pub(crate) calls: Calls,
}

type Bytes = *const c_void;
type Room = *mut c_void;
type Out = *mut Handle;
type Int = *mut c_int;

library_calls! {
    []
    init_thread: c"MPI_Init_thread"(Int, Room, c_int, Int) -> c_int;
    initialized: c"MPI_Initialized"(Int) -> c_int;
    finalize: c"MPI_Finalize"() -> c_int;
    abort: c"MPI_Abort"(Handle, c_int) -> c_int;
    set_errhandler: c"MPI_Comm_set_errhandler"(Handle, Handle) -> c_int;
    error_string: c"MPI_Error_string"(c_int, *mut c_char, Int) -> c_int;
    comm_rank: c"MPI_Comm_rank"(Handle, Int) -> c_int;
    comm_size: c"MPI_Comm_size"(Handle, Int) -> c_int;
    comm_group: c"MPI_Comm_group"(Handle, Out) -> c_int;
    group_range: c"MPI_Group_range_incl"(Handle, c_int, *const [c_int; 3], Out) -> c_int;
    group_free: c"MPI_Group_free"(Out) -> c_int;
    create_group: c"MPI_Comm_create_group"(Handle, Handle, c_int, Out) -> c_int;
    ibarrier: c"MPI_Ibarrier"(Handle, Out) -> c_int;
    ibcast: c"MPI_Ibcast"(Room, c_int, Handle, c_int, Handle, Out) -> c_int;
    igather: c"MPI_Igather"(Bytes, c_int, Handle, Room, c_int, Handle, c_int, Handle, Out) -> c_int;
    igatherv: c"MPI_Igatherv"(Bytes, c_int, Handle, Room, Bytes, Bytes, Handle, c_int, Handle, Out) -> c_int;
    iallreduce: c"MPI_Iallreduce"(Bytes, Room, c_int, Handle, Handle, Handle, Out) -> c_int;
    test: c"MPI_Test"(Out, Int, Room) -> c_int;
    isend: c"MPI_Isend"(Bytes, c_int, Handle, c_int, c_int, Handle, Out) -> c_int;
    irecv: c"MPI_Irecv"(Room, c_int, Handle, c_int, c_int, Handle, Out) -> c_int;
    iprobe: c"MPI_Iprobe"(c_int, c_int, Handle, Int, Room) -> c_int;
    get_count: c"MPI_Get_count"(Bytes, Handle, Int) -> c_int;
}

impl Library {
    /// The first of these that can be opened and is of one of the families; no families: of any.
    ///
    /// # Errors
    /// Every one that was tried, with the loader's reason.
    pub(crate) fn first(candidates: &[String], families: &[Family]) -> Result<Library, Vec<String>> {
        let mut tried = Vec::new();
        for path in candidates {
            match Library::open(path, families) {
                Ok(library) => return Ok(library),
                Err(reason) => tried.push(says(path, &reason)),
            }
        }
        Err(tried)
    }

    fn open(path: &str, families: &[Family]) -> Result<Library, String> {
        let name = CString::new(path).map_err(|_| "the path has a zero byte".to_string())?;
        // Its symbols stay out of the way until it is known to be the right one.
        let shared = SharedLibrary::open(&name, libc::RTLD_LAZY | libc::RTLD_LOCAL)?;
        let text = version(&shared)?;
        let family = family(&text);
        if !families.is_empty() && !families.contains(&family) {
            return Err(format!("that is {}", short(&text)));
        }
        let shared = SharedLibrary::open(&name, libc::RTLD_NOW | libc::RTLD_GLOBAL)?;
        let at =
            |name: &CStr| shared.address(name).ok_or_else(|| format!("it has no {}", name.to_string_lossy()));
        let calls = Calls::find(at)?;
        let abi = abi(&shared, path)?;
        Ok(Library { shared, path: path.into(), version: short(&text), family, abi, calls })
    }

    /// The address of a symbol, for calls that are not declared here.
    pub(crate) fn address(&self, name: &CStr) -> Option<usize> {
        self.shared.address(name)
    }

    /// An error class in the library's own words, after the name of the call.
    pub(crate) fn words(&self, call: &str, class: c_int) -> String {
        const ROOM: usize = 8192;
        let mut text = [0_u8; ROOM];
        let mut length = 0;
        // SAFETY: no library's error text is longer than this room (`MPI_MAX_ERROR_STRING` is 256 to 1024).
        unsafe { (self.calls.error_string)(class, text.as_mut_ptr().cast(), &raw mut length) };
        let text = &text[..usize::try_from(length).unwrap_or(0).min(ROOM)];
        format!("{call}: {}", String::from_utf8_lossy(text).trim())
    }

    /// A call's result.
    ///
    /// # Errors
    /// What the library says of it.
    pub(crate) fn check(&self, call: &str, class: c_int) -> Result<(), Failure> {
        if class == 0 { Ok(()) } else { Err(Failure::new(self.words(call, class))) }
    }
}

/// A library that was tried, and the loader's reason, which mostly begins with its name.
fn says(path: &str, reason: &str) -> String {
    let reason = reason.strip_prefix(path).unwrap_or(reason).trim_start_matches(": ");
    format!("{path} ({reason})")
}

/// What the library says of itself; may be asked before anything is initialised.
fn version(library: &SharedLibrary) -> Result<String, String> {
    let address =
        library.address(c"MPI_Get_library_version").ok_or("it is no MPI library of MPI 3 or later")?;
    // SAFETY: the function of this name has these arguments since MPI 3.
    let ask: unsafe extern "C" fn(*mut c_char, Int) -> c_int = unsafe { std::mem::transmute(address) };
    const ROOM: usize = 16384;
    let mut text = vec![0_u8; ROOM];
    let mut length = 0;
    // SAFETY: no library's text is longer than this room (`MPI_MAX_LIBRARY_VERSION_STRING` is 256 to 8192).
    unsafe { ask(text.as_mut_ptr().cast(), &raw mut length) };
    text.truncate(usize::try_from(length).unwrap_or(0));
    Ok(String::from_utf8_lossy(&text).trim_end_matches('\0').into())
}

fn family(version: &str) -> Family {
    let is_open = ["Open MPI", "Spectrum MPI"].iter().any(|name| version.contains(name));
    if is_open { Family::OpenMpi } else { Family::Mpich }
}

/// The name and the number out of `Open MPI v4.1.4, package: …` or `MPICH Version:\t4.0.2\nMPICH Release date: …`.
fn short(version: &str) -> String {
    let line = version.lines().next().unwrap_or_default();
    let line = line.split(',').next().unwrap_or_default();
    let words = line.replace("Version:", " ").replace("(R)", "");
    let word = |word: &str| match word.strip_prefix('v') {
        Some(number) if number.starts_with(|c: char| c.is_ascii_digit()) => number.to_string(),
        _ => word.to_string(),
    };
    words.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

fn abi(library: &SharedLibrary, path: &str) -> Result<Abi, String> {
    if is_standard(library, path) {
        return Ok(Abi::STANDARD);
    }
    if library.address(c"ompi_mpi_comm_world").is_none() {
        return Ok(Abi::MPICH);
    }
    Abi::open_mpi(|name| library.address(name)).map_err(|name| format!("it has no {name}"))
}

/// Whether the library itself says that it has the standard ABI. MPICH 5 has the question in both of its libraries.
fn is_standard(library: &SharedLibrary, path: &str) -> bool {
    let Some(address) = library.address(c"MPI_Abi_get_version") else { return path.contains("libmpi_abi") };
    // SAFETY: the function of this name has these arguments in MPI 5, and may be called at any time.
    let ask: unsafe extern "C" fn(Int, Int) -> c_int = unsafe { std::mem::transmute(address) };
    let (mut major, mut minor) = (-1, -1);
    // SAFETY: both numbers are valid for writing.
    let class = unsafe { ask(&raw mut major, &raw mut minor) };
    class == 0 && major > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_told_in_short() {
        let open = "Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022";
        assert_eq!((short(open).as_str(), family(open)), ("Open MPI 4.1.4", Family::OpenMpi));
        let mpich = "MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr 7 12:34:45 CDT 2022\n";
        assert_eq!((short(mpich).as_str(), family(mpich)), ("MPICH 4.0.2", Family::Mpich));
        let intel = "Intel(R) MPI Library 2021.8 for Linux* OS\n";
        assert_eq!(
            (short(intel).as_str(), family(intel)),
            ("Intel MPI Library 2021.8 for Linux* OS", Family::Mpich)
        );
    }

    #[test]
    fn what_is_no_mpi_library_is_refused_with_the_reason() {
        let tried =
            Library::first(&["/nowhere/libmpi.so".into(), "libc.so.6".into()], &[]).err().expect("none");
        assert_eq!(tried.len(), 2);
        assert!(tried[0].starts_with("/nowhere/libmpi.so (cannot open"), "{tried:?}");
        assert!(tried[1].contains("no MPI library"), "{tried:?}");
    }
}
