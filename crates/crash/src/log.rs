//! What a disk was asked to do, in order, with the steps of the workload between.
//!
//! The log is a file in memory that several processes append to, each entry by one call: the kernel orders them, so that a
//! mark and the flush before it stand as they happened.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsRawFd, FromRawFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use crate::workload::{Marks, Reach};

/// More than this no recording keeps.
pub const MOST_BYTES: u64 = 2 << 30;

/// One request to the disk, or one mark of the workload.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogEntry {
    Write {
        offset: u64,
        data: Vec<u8>,
    },
    /// What is there reads as zeroes.
    Discard {
        offset: u64,
        bytes: u64,
    },
    Zero {
        offset: u64,
        bytes: u64,
    },
    /// Everything that was written before is durable; of a device that lies: only so many of the last writes that were not.
    Flush {
        most: Option<usize>,
    },
    Begin(u32),
    End(u32),
    /// A mark of the user's program.
    Note(String),
}

impl LogEntry {
    /// Where it changes the disk: offset and bytes.
    pub fn range(&self) -> Option<(u64, u64)> {
        match self {
            LogEntry::Write { offset, data } => Some((*offset, data.len() as u64)),
            LogEntry::Discard { offset, bytes } | LogEntry::Zero { offset, bytes } => Some((*offset, *bytes)),
            _ => None,
        }
    }

    /// How far the workload has come once this has happened.
    pub fn reached(&self, reach: Reach) -> Reach {
        match self {
            LogEntry::Begin(step) => Reach { begun: reach.begun.max(step + 1), ..reach },
            LogEntry::End(step) => Reach { ended: reach.ended.max(step + 1), ..reach },
            LogEntry::Note(_) => Reach { begun: reach.begun + 1, ended: reach.ended + 1 },
            _ => reach,
        }
    }

    /// The bytes that it leaves at a place within its range.
    pub fn content(&self, offset: u64, bytes: u64) -> Vec<u8> {
        match self {
            LogEntry::Write { offset: start, data } => {
                let from = (offset - start) as usize;
                data[from..from + bytes as usize].to_vec()
            }
            _ => vec![0; bytes as usize],
        }
    }
}

/// A whole recording, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WriteLog {
    pub entries: Vec<LogEntry>,
}

impl WriteLog {
    /// How far the workload had come before an entry.
    pub fn reach(&self, cut: usize) -> Reach {
        let before = &self.entries[..cut.min(self.entries.len())];
        before.iter().fold(Reach::default(), |reach, entry| entry.reached(reach))
    }

    /// Writes, discards and zeroes.
    pub fn writes(&self) -> usize {
        self.entries.iter().filter(|entry| entry.range().is_some()).count()
    }

    pub fn flushes(&self) -> usize {
        self.entries.iter().filter(|entry| matches!(entry, LogEntry::Flush { .. })).count()
    }
}

const WRITE: u64 = 1;
const DISCARD: u64 = 2;
const ZERO: u64 = 3;
const FLUSH: u64 = 4;
const BEGIN: u64 = 5;
const END: u64 = 6;
const NOTE: u64 = 7;
/// Kind, offset (of a mark: its step), bytes, and how many of them follow.
const HEADER_BYTES: usize = 32;

/// The log while it is written; all clones of its descriptor append to the same.
#[derive(Debug)]
pub struct LogFile {
    file: File,
}

impl LogFile {
    /// An empty log in memory.
    ///
    /// # Errors
    /// The system's own.
    pub fn create() -> io::Result<LogFile> {
        let file = memory_file("iodyno-crash-log")?;
        // SAFETY: the descriptor is open, and the call takes numbers only.
        match unsafe { libc::fcntl(file.as_raw_fd(), libc::F_SETFL, libc::O_APPEND) } {
            0 => Ok(LogFile { file }),
            _ => Err(io::Error::last_os_error()),
        }
    }

    /// One that another process has made.
    pub fn inherit(file: File) -> LogFile {
        LogFile { file }
    }

    pub fn file(&self) -> &File {
        &self.file
    }

    /// Appends a request.
    ///
    /// # Errors
    /// ENOSPC: the log is full.
    pub fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.append(WRITE, offset, data.len() as u64, data)
    }

    /// # Errors
    /// As [`write`](Self::write).
    pub fn discard(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.append(DISCARD, offset, bytes, &[])
    }

    /// # Errors
    /// As [`write`](Self::write).
    pub fn zero(&self, offset: u64, bytes: u64) -> io::Result<()> {
        self.append(ZERO, offset, bytes, &[])
    }

    /// # Errors
    /// As [`write`](Self::write).
    pub fn flush(&self) -> io::Result<()> {
        self.append(FLUSH, 0, 0, &[])
    }

    /// A mark of the user's program.
    ///
    /// # Errors
    /// As [`write`](Self::write).
    pub fn note(&self, text: &str) -> io::Result<()> {
        self.append(NOTE, 0, text.len() as u64, text.as_bytes())
    }

    fn append(&self, kind: u64, offset: u64, bytes: u64, payload: &[u8]) -> io::Result<()> {
        if self.bytes()? + payload.len() as u64 > MOST_BYTES {
            return Err(io::Error::from_raw_os_error(libc::ENOSPC));
        }
        let mut header = [0; HEADER_BYTES];
        for (at, word) in [kind, offset, bytes, payload.len() as u64].into_iter().enumerate() {
            header[8 * at..8 * at + 8].copy_from_slice(&word.to_le_bytes());
        }
        let whole = HEADER_BYTES + payload.len();
        match (&self.file).write_vectored(&[IoSlice::new(&header), IoSlice::new(payload)])? {
            written if written == whole => Ok(()),
            _ => Err(io::Error::from_raw_os_error(libc::ENOSPC)),
        }
    }

    /// Its length by now: where the next entry will begin.
    ///
    /// # Errors
    /// The system's own.
    pub fn bytes(&self) -> io::Result<u64> {
        Ok(self.file.metadata()?.len())
    }

    /// What was appended from a place on.
    ///
    /// # Errors
    /// The system's own; InvalidData: an entry is not whole.
    pub fn read(&self, from: u64) -> io::Result<WriteLog> {
        let mut bytes = vec![0; (self.bytes()? - from) as usize];
        self.file.read_exact_at(&mut bytes, from)?;
        let mut entries = Vec::new();
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let (entry, after) = parse(rest).ok_or_else(|| {
                io::Error::new(io::ErrorKind::InvalidData, "an entry of the log is not whole")
            })?;
            entries.push(entry);
            rest = after;
        }
        Ok(WriteLog { entries })
    }
}

fn parse(bytes: &[u8]) -> Option<(LogEntry, &[u8])> {
    let (header, rest) = bytes.split_at_checked(HEADER_BYTES)?;
    let word = |at: usize| header[8 * at..8 * at + 8].try_into().map(u64::from_le_bytes).ok();
    let (kind, offset, bytes) = (word(0)?, word(1)?, word(2)?);
    let (payload, rest) = rest.split_at_checked(word(3)? as usize)?;
    let entry = match kind {
        WRITE => LogEntry::Write { offset, data: payload.to_vec() },
        DISCARD => LogEntry::Discard { offset, bytes },
        ZERO => LogEntry::Zero { offset, bytes },
        FLUSH => LogEntry::Flush { most: None },
        BEGIN => LogEntry::Begin(offset as u32),
        END => LogEntry::End(offset as u32),
        NOTE => LogEntry::Note(String::from_utf8_lossy(payload).into_owned()),
        _ => return None,
    };
    Some((entry, rest))
}

impl Marks for &LogFile {
    fn begin(&mut self, step: u32) -> io::Result<()> {
        self.append(BEGIN, u64::from(step), 0, &[])
    }

    fn end(&mut self, step: u32) -> io::Result<()> {
        self.append(END, u64::from(step), 0, &[])
    }

    fn file(&self) -> Option<PathBuf> {
        Some(format!("/proc/{}/fd/{}", std::process::id(), self.file.as_raw_fd()).into())
    }
}

/// A file that lies in memory and goes with the last process that has it. `losetup` shows its name, with the number of the
/// process that made it.
///
/// # Errors
/// The system's own.
pub fn memory_file(name: &str) -> io::Result<File> {
    let name = CString::new(format!("{name}-{}", std::process::id()))?;
    // SAFETY: the name is a C string; the descriptor it gives is ours alone.
    unsafe {
        match libc::memfd_create(name.as_ptr(), libc::MFD_CLOEXEC) {
            -1 => Err(io::Error::last_os_error()),
            descriptor => Ok(File::from_raw_fd(descriptor)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_reads_back_in_order_and_from_a_place_on() {
        let log = LogFile::create().unwrap();
        log.write(4096, b"data").unwrap();
        let from = log.bytes().unwrap();
        (&log).begin(0).unwrap();
        log.discard(0, 8).unwrap();
        log.zero(8, 8).unwrap();
        log.flush().unwrap();
        log.note("mine").unwrap();
        (&log).end(0).unwrap();
        let read = log.read(from).unwrap();
        assert_eq!(
            read.entries,
            [
                LogEntry::Begin(0),
                LogEntry::Discard { offset: 0, bytes: 8 },
                LogEntry::Zero { offset: 8, bytes: 8 },
                LogEntry::Flush { most: None },
                LogEntry::Note("mine".into()),
                LogEntry::End(0),
            ]
        );
        assert_eq!((log.read(0).unwrap().writes(), log.read(0).unwrap().flushes()), (3, 1));
        assert_eq!(read.reach(1), Reach { begun: 1, ended: 0 });
        // A mark of a program is a step that begins and ends at once.
        let marked = WriteLog { entries: vec![LogEntry::Note("a".into()), LogEntry::Note("b".into())] };
        assert_eq!(
            (marked.reach(1), marked.reach(2)),
            (Reach { begun: 1, ended: 1 }, Reach { begun: 2, ended: 2 })
        );
    }

    #[test]
    fn half_an_entry_is_no_log() {
        let log = LogFile::create().unwrap();
        log.write(0, b"data").unwrap();
        log.file().set_len(log.bytes().unwrap() - 1).unwrap();
        assert_eq!(log.read(0).unwrap_err().kind(), io::ErrorKind::InvalidData);
    }
}
