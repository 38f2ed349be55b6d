//! Libraries that are opened at run time, and tables of their calls.

use std::ffi::{CStr, c_int, c_void};

/// An open library, which is never closed: what `dlopen` gave, as a number, so that threads may share it.
pub(crate) struct SharedLibrary(usize);

impl SharedLibrary {
    /// # Errors
    /// The loader's reason.
    pub(crate) fn open(path: &CStr, flags: c_int) -> Result<SharedLibrary, String> {
        // SAFETY: the path is a valid string; the initialisers of a library that the user or the launcher chose run.
        let library = unsafe { libc::dlopen(path.as_ptr(), flags) };
        if library.is_null() { Err(loader_error()) } else { Ok(SharedLibrary(library as usize)) }
    }

    /// The address of a symbol.
    pub(crate) fn address(&self, name: &CStr) -> Option<usize> {
        // SAFETY: the handle is that of an open library, which is never closed.
        let address = unsafe { libc::dlsym(self.0 as *mut c_void, name.as_ptr()) };
        (!address.is_null()).then_some(address as usize)
    }
}

/// The last error of the system's loader.
fn loader_error() -> String {
    // SAFETY: the text belongs to the loader and is copied before another call of it in this thread.
    unsafe {
        let text = libc::dlerror();
        if text.is_null() { "not loaded".into() } else { CStr::from_ptr(text).to_string_lossy().into_owned() }
    }
}

/// Declares the calls of a library, and fields for what else is known of it once it is open.
macro_rules! library_calls {
    ([$($extra:ident: $type:ty),*] $($field:ident: $name:literal($($argument:ty),*) -> $answer:ty;)*) => {
        /// Calls by their names; arguments as in the library's header, with handles as numbers.
        pub(crate) struct Calls {
            $(pub(crate) $extra: $type,)*
            $(pub(crate) $field: unsafe extern "C" fn($($argument),*) -> $answer,)*
        }

        impl Calls {
            /// # Errors
            /// A call that the library does not have.
            pub(crate) fn find<F>(address: impl Fn(&std::ffi::CStr) -> Result<usize, F>) -> Result<Calls, F> {
                // SAFETY: a function of that name has these arguments in every version of the library that is used:
                // pointers, numbers, and handles that are pointers or `int`s, which travel in the same registers.
                unsafe {
                    Ok(Calls {
                        $($extra: Default::default(),)*
                        $($field: std::mem::transmute::<usize, unsafe extern "C" fn($($argument),*) -> $answer>(
                            address($name)?
                        ),)*
                    })
                }
            }
        }
    };
}
pub(crate) use library_calls;
