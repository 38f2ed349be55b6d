//! The file of a simulated device that a command found.

use std::path::Path;

use iodyno_model::{Device, Diagnostic};
use iodyno_report::device::toml;

use crate::new_file::NewFile;

pub struct DeviceFile(NewFile);

impl DeviceFile {
    /// # Errors
    /// It exists, or cannot be made.
    pub fn open(path: &str) -> Result<DeviceFile, Diagnostic> {
        NewFile::create(path).map(DeviceFile)
    }

    /// What the device is called: as its file.
    pub fn name(&self) -> String {
        let stem = Path::new(self.0.path()).file_stem().map(|stem| stem.to_string_lossy().into_owned());
        stem.filter(|stem| !stem.is_empty()).unwrap_or_else(|| "found".into())
    }

    /// # Errors
    /// There is no room.
    pub fn write(self, device: &Device) -> Result<(), Diagnostic> {
        self.0.write(toml(device).as_bytes())
    }
}
