//! A directory of the exercise's own below the one under test, and all that is in it, removed at the end.

use std::ffi::CString;
use std::path::{Path, PathBuf};

use super::calls;
use iodyno_engine::Failure;
use iodyno_engine::io::c_path;
use iodyno_engine::memory::errno;

/// A directory that is removed with its value.
pub struct Sandbox {
    path: PathBuf,
}

impl Sandbox {
    /// Makes one where so many bytes fit.
    ///
    /// # Errors
    /// It cannot be made, or there is no room.
    pub fn new(directory: &str, bytes: u64) -> Result<Sandbox, Failure> {
        let wrong = |_| Failure::new("the directory's path holds a zero byte");
        let place = c_path(directory).map_err(wrong)?;
        let room = calls::room(&place).map_err(|number| Failure::call(directory, number))?;
        // Some file systems count nothing.
        if room > 0 && room < bytes {
            let hint = format!("free some, or let the files be smaller: {room} bytes are left");
            return Err(Failure::new(format!("{directory} has no room for {bytes} bytes")).hint(hint));
        }
        let template = c_path(&format!("{directory}/iodyno-exercise-XXXXXX")).map_err(wrong)?;
        let name = template.into_raw();
        // SAFETY: the template is a string of our own, which the call changes in place.
        let template = unsafe {
            let made = !libc::mkdtemp(name).is_null();
            let failed = errno();
            let name = CString::from_raw(name);
            if made { Ok(name) } else { Err(failed) }
        };
        let name = template.map_err(|number| Failure::call(directory, number).hint("it must be writable"))?;
        Ok(Sandbox { path: PathBuf::from(name.to_string_lossy().into_owned()) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        // Nothing is left to be reported when even this fails.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}
