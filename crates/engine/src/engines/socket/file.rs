//! A file at an end of a stream: what is sent comes out of it, or what comes is written to it.
//!
//! The sender's end of the file is the end of its job. A file that is to be written is made; one that is there already
//! is written to only where this process made it, or where it is no regular file (`/dev/null`, a device, a pipe): it
//! refuses to write over what somebody has.

use std::fs::{File, Metadata};
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use super::block::Block;
use super::line::Line;
use crate::engines::Failure;

/// Files that this process made as sinks: device, inode, and who has it open.
static MADE: Mutex<Vec<(u64, u64, Weak<File>)>> = Mutex::new(Vec::new());

fn number(error: &std::io::Error) -> i32 {
    error.raw_os_error().unwrap_or(libc::EIO)
}

/// A file that is sent.
pub struct FileSource {
    file: File,
    /// The kernel sends from it, without a copy through our memory.
    direct: bool,
}

impl FileSource {
    /// Opens it.
    ///
    /// # Errors
    /// The system's.
    pub fn open(path: &str, direct: bool) -> Result<FileSource, Failure> {
        let file = File::open(path);
        let file = file.map_err(|error| Failure::call(&format!("open {path}"), number(&error)))?;
        Ok(FileSource { file, direct: direct && cfg!(target_os = "linux") })
    }

    /// Sends the next bytes of it; 0: there are no more.
    pub fn send(&mut self, line: &Line, block: &mut Block, bytes: usize) -> i64 {
        if self.direct {
            return self.send_directly(line, bytes);
        }
        let room = block.room(bytes);
        let mut filled = 0;
        while filled < room.len() {
            match self.file.read(&mut room[filled..]) {
                Ok(0) => break,
                Ok(more) => filled += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return -i64::from(number(&error)),
            }
        }
        if filled == 0 { 0 } else { line.send(&block.bytes(filled)[..filled]) }
    }

    #[cfg(target_os = "linux")]
    fn send_directly(&mut self, line: &Line, bytes: usize) -> i64 {
        let file = self.file.as_raw_fd();
        // SAFETY: without an offset the file's own position is used and moved.
        let call = |at: usize| unsafe { libc::sendfile(line.fd, file, std::ptr::null_mut(), bytes - at) };
        line.in_parts(bytes, call(0), libc::POLLOUT, call)
    }

    #[cfg(not(target_os = "linux"))]
    fn send_directly(&mut self, _: &Line, _: usize) -> i64 {
        -i64::from(libc::EOPNOTSUPP)
    }
}

/// A file that is written.
pub struct Sink(Arc<File>);

impl Sink {
    /// Makes it, or begins one anew that this process made; streams of one run write to the same.
    ///
    /// # Errors
    /// It is there already, or the system's reason.
    pub fn open(path: &str) -> Result<Sink, Failure> {
        let failed = |error: std::io::Error| Failure::call(&format!("open {path}"), number(&error));
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        match File::options().write(true).create_new(true).mode(0o600).open(path) {
            Ok(file) => {
                let (about, file) = (file.metadata().map_err(failed)?, Arc::new(file));
                made.retain(|(device, inode, _)| !is(&about, *device, *inode));
                made.push((about.dev(), about.ino(), Arc::downgrade(&file)));
                Ok(Sink(file))
            }
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                let file = Arc::new(File::options().write(true).open(path).map_err(failed)?);
                let about = file.metadata().map_err(failed)?;
                if !about.is_file() {
                    return Ok(Sink(file));
                }
                let ours = made.iter_mut().find(|(device, inode, _)| is(&about, *device, *inode));
                let taken = || Failure::new(format!("{path} is there already, and nothing is written over"));
                let ours = ours.ok_or_else(|| taken().hint("remove it, or name another file"))?;
                if let Some(open) = ours.2.upgrade() {
                    return Ok(Sink(open));
                }
                file.set_len(0).map_err(failed)?;
                ours.2 = Arc::downgrade(&file);
                Ok(Sink(file))
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// Writes what came: how much, or the error.
    pub fn write(&self, bytes: &[u8]) -> i64 {
        match (&*self.0).write_all(bytes) {
            Ok(()) => bytes.len() as i64,
            Err(error) => -i64::from(number(&error)),
        }
    }
}

fn is(about: &Metadata, device: u64, inode: u64) -> bool {
    (about.dev(), about.ino()) == (device, inode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sink_is_made_begun_anew_and_shared_but_never_taken() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sink").display().to_string();
        let first = Sink::open(&path).unwrap();
        assert_eq!(first.write(b"first"), 5);
        assert_eq!(Sink::open(&path).unwrap().write(b", second"), 8);
        drop(first);
        assert_eq!(std::fs::read(&path).unwrap(), b"first, second");
        assert_eq!(Sink::open(&path).unwrap().write(b"anew"), 4);
        assert_eq!(std::fs::read(&path).unwrap(), b"anew");
        let theirs = folder.path().join("theirs");
        std::fs::write(&theirs, "kept").unwrap();
        let refused = Sink::open(&theirs.display().to_string()).err().unwrap();
        assert!(refused.message.contains("is there already"), "{}", refused.message);
        assert_eq!(std::fs::read(&theirs).unwrap(), b"kept");
        assert!(Sink::open("/dev/null").is_ok());
    }
}
