//! A file of results: new, there before anything is measured, gone again where nothing came of it.

use std::fs::{self, File};
use std::io::Write;

use iodyno_model::Diagnostic;

use crate::sink::unwritable;

pub struct NewFile {
    path: String,
    file: File,
    is_written: bool,
}

impl NewFile {
    /// # Errors
    /// It exists, or cannot be made.
    pub fn create(path: &str) -> Result<NewFile, Diagnostic> {
        let file = File::options().write(true).create_new(true).open(path);
        let file = file.map_err(|error| unwritable(path, &error))?;
        Ok(NewFile { path: path.into(), file, is_written: false })
    }

    pub fn path(&self) -> &str {
        &self.path
    }

    /// # Errors
    /// There is no room.
    pub fn write(mut self, bytes: &[u8]) -> Result<(), Diagnostic> {
        self.file.write_all(bytes).map_err(|error| unwritable(&self.path, &error))?;
        self.is_written = true;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_written {
            drop(fs::remove_file(&self.path));
        }
    }
}
