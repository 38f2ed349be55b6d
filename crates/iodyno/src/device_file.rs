//! The file of a simulated device that a command found: new, there before anything is measured, gone again where nothing came of it.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use iodyno_model::{Device, Diagnostic};
use iodyno_report::device::toml;

use crate::sink::unwritable;

pub struct DeviceFile {
    path: String,
    file: File,
    is_written: bool,
}

impl DeviceFile {
    /// # Errors
    /// It exists, or cannot be made.
    pub fn open(path: &str) -> Result<DeviceFile, Diagnostic> {
        let made = File::options().write(true).create_new(true).open(path);
        let file = made.map_err(|error| unwritable(path, &error))?;
        Ok(DeviceFile { path: path.into(), file, is_written: false })
    }

    /// What the device is called: as its file.
    pub fn name(&self) -> String {
        let stem = Path::new(&self.path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        stem.filter(|stem| !stem.is_empty()).unwrap_or_else(|| "found".into())
    }

    /// # Errors
    /// There is no room.
    pub fn write(mut self, device: &Device) -> Result<(), Diagnostic> {
        self.file.write_all(toml(device).as_bytes()).map_err(|error| unwritable(&self.path, &error))?;
        self.is_written = true;
        Ok(())
    }
}

impl Drop for DeviceFile {
    fn drop(&mut self) {
        if !self.is_written {
            drop(fs::remove_file(&self.path));
        }
    }
}
