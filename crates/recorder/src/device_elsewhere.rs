//! Systems whose devices cannot be recorded: a refusal.

use std::io::{self, Read};
use std::path::Path;

use iodyno_trace::TraceError;

/// Never made.
pub struct DeviceTrace {
    pub device: (u32, u32),
    pub bytes: Option<u64>,
}

impl DeviceTrace {
    /// # Errors
    /// Always.
    pub fn begin(_path: &Path) -> Result<DeviceTrace, TraceError> {
        Err(TraceError::new("devices are recorded on Linux only"))
    }

    /// # Errors
    /// Always.
    pub fn events(&self, _is_over: Box<dyn FnMut() -> bool + Send>) -> Result<DeviceEvents, TraceError> {
        Err(TraceError::new("devices are recorded on Linux only"))
    }

    /// # Errors
    /// Never.
    pub fn end(self) -> Result<u64, TraceError> {
        Ok(0)
    }

    pub fn holds(&self, _file: &Path) -> bool {
        false
    }
}

/// Never made.
pub struct DeviceEvents;

impl Read for DeviceEvents {
    fn read(&mut self, _into: &mut [u8]) -> io::Result<usize> {
        Ok(0)
    }
}
