//! Open MPI's help texts, kept from holding up the run.
//!
//! A rank of Open MPI 4 hands such a text ("a peer has disconnected") to the launcher and waits until it was taken. The
//! launcher, about to kill everybody since a host is gone, sleeps between its signals and takes nothing: the first rank
//! would wait for it, in whatever call of MPI it was, for all of the second that it has to report. So texts are sent
//! here instead: whole on the first rank, by their titles on the others.

use std::ffi::{CStr, c_char, c_int};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use super::library::Library;

/// What is called with a text's file and title, and the values in it.
type Show = unsafe extern "C" fn(*const c_char, *const c_char, bool) -> c_int;

/// The variable through which Open MPI 4 shows texts, and who showed them before the launcher was known.
pub(super) struct Help {
    variable: *mut Show,
    local: Show,
}

impl Help {
    /// Before the library is initialised.
    pub(super) fn of(library: &Library) -> Option<Help> {
        if !library.version.starts_with("Open MPI 4.") {
            return None;
        }
        let variable = library.address(c"opal_show_help")? as *mut Show;
        // SAFETY: in every Open MPI 4 the symbol is a variable that holds a function's address from the beginning.
        let local = unsafe { variable.read() };
        Some(Help { variable, local })
    }

    /// After it was initialised, which made the launcher the one who shows texts.
    pub(super) fn keep_here(self, is_first: bool) {
        let show = if is_first { self.local } else { title as Show };
        // SAFETY: as above; the library only ever calls what it finds there. A function that looks at the first three
        // arguments may be called with more of them, where the caller takes them away, as C's callers do.
        unsafe { self.variable.write_volatile(show) };
    }
}

/// Titles sent at most, as a peer that is gone is seen again and again.
const TITLES: usize = 4;

unsafe extern "C" fn title(file: *const c_char, title: *const c_char, _framed: bool) -> c_int {
    static TOLD: AtomicUsize = AtomicUsize::new(0);
    if file.is_null() || title.is_null() || TOLD.fetch_add(1, Relaxed) >= TITLES {
        return 0;
    }
    // SAFETY: both are texts that the library keeps for the call.
    let (file, title) = unsafe { (CStr::from_ptr(file), CStr::from_ptr(title)) };
    use std::io::Write;
    // Nobody may be listening on standard error.
    let _ = writeln!(std::io::stderr(), "Open MPI: {} ({})", title.to_string_lossy(), file.to_string_lossy());
    0
}
