//! Where the entries go: a file elsewhere, standard output, or a listener on another host.
//!
//! What is put is there before the call returns: a step that the log does not know must not begin.

use std::fs::File;
use std::io::{self, Write};
use std::sync::{Mutex, PoisonError};

use super::channel::EntryChannel;
use super::entry::{LogEntry, LogHeader, LogLine, sealed};

/// What keeps the entries.
pub enum LogPlace {
    /// Its entries are made durable.
    File(File),
    /// Standard output, say: who reads it keeps it.
    Stream(Box<dyn Write + Send>),
    Listener(EntryChannel),
}

impl LogPlace {
    fn put(&mut self, text: &str) -> io::Result<()> {
        match self {
            LogPlace::File(file) => {
                file.write_all(text.as_bytes())?;
                file.sync_data()
            }
            LogPlace::Stream(stream) => {
                stream.write_all(text.as_bytes())?;
                stream.flush()
            }
            LogPlace::Listener(channel) => channel.put(text),
        }
    }
}

/// The log that the threads of a writer share.
pub struct PromiseLog {
    place: Mutex<LogPlace>,
    clock: fn() -> u64,
}

impl PromiseLog {
    /// Begins a log. `clock`: wall-clock time, ns since 1970.
    ///
    /// # Errors
    /// Its place cannot keep it.
    pub fn begin(mut place: LogPlace, header: &LogHeader, clock: fn() -> u64) -> io::Result<PromiseLog> {
        place.put(&sealed(&header.to_string()))?;
        Ok(PromiseLog { place: Mutex::new(place), clock })
    }

    /// Adds entries of a thread, which are there when it returns.
    ///
    /// # Errors
    /// Its place cannot keep them.
    pub fn put(&self, thread: u32, entries: &[LogEntry]) -> io::Result<()> {
        let at_unix_ns = self.now();
        let text: String = entries
            .iter()
            .map(|entry| sealed(&LogLine { thread, at_unix_ns, entry: *entry }.to_string()))
            .collect();
        self.place.lock().unwrap_or_else(PoisonError::into_inner).put(&text)
    }

    pub fn now(&self) -> u64 {
        (self.clock)()
    }
}
