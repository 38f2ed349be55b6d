//! The recorder of latency's anatomy where there is no tracefs: it says so.

use iodyno_trace::TraceError;
use iodyno_trace::anatomy::Anatomy;

/// Nothing that could be made.
pub enum AnatomyRecorder {}

fn none() -> TraceError {
    TraceError::new("the kernel's events are read from tracefs, which Linux has")
}

impl AnatomyRecorder {
    /// # Errors
    /// Always.
    pub fn of_process(_process: u32) -> Result<AnatomyRecorder, TraceError> {
        Err(none())
    }

    /// # Errors
    /// Always.
    pub fn of_children() -> Result<AnatomyRecorder, TraceError> {
        Err(none())
    }

    /// # Errors
    /// None: there is no such recorder.
    pub fn started(&mut self) -> Result<(), TraceError> {
        match *self {}
    }

    /// # Errors
    /// None: there is no such recorder.
    pub fn poll(&mut self) -> Result<(), TraceError> {
        match *self {}
    }

    /// # Errors
    /// None: there is no such recorder.
    pub fn finish(self) -> Result<Anatomy, TraceError> {
        match self {}
    }
}
