//! Files of recorded operations, opened for whoever reads them: our own format, and all that can be imported.

use std::fs::{File, OpenOptions};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use iodyno_trace::format::{Reader, SIGNATURE};
use iodyno_trace::import::{self, ImportOptions, Input, Scratch, ScratchFile};
use iodyno_trace::{RecordSource, TraceError};

use crate::failure::strerror;

/// What is read of a trace at once, bytes.
const BUFFER_BYTES: usize = 1 << 18;

/// Opens a trace of any format that is known; `format`: the name of its format, or nothing where its content tells.
///
/// # Errors
/// It cannot be opened, or is none.
pub fn open(path: &str, format: &str) -> Result<Box<dyn RecordSource + Send>, TraceError> {
    let unreadable = |error: io::Error| {
        TraceError::new(strerror(error.raw_os_error().unwrap_or(libc::EIO)))
            .hint("name a trace; iodyno record and iodyno trace import make one")
    };
    let mut file = File::open(path).map_err(unreadable)?;
    if !file.metadata().map_err(unreadable)?.is_file() {
        return Err(TraceError::new("a replay reads its trace more than once, and this is no regular file")
            .hint("write it to a file first: iodyno trace import"));
    }
    let mut start = [0; SIGNATURE.len()];
    let is_ours = file.read(&mut start)? == start.len() && start == SIGNATURE;
    file.seek(SeekFrom::Start(0))?;
    match is_ours || format == "iot" {
        true => Ok(Box::new(Reader::open(BufReader::with_capacity(BUFFER_BYTES, file))?)),
        false => imported(path, format),
    }
}

/// A trace of another program, unpacked and understood as it is read.
fn imported(path: &str, format: &str) -> Result<Box<dyn RecordSource + Send>, TraceError> {
    let owned = path.to_string();
    let open = move || -> io::Result<Box<dyn Read + Send>> {
        Ok(Box::new(BufReader::with_capacity(BUFFER_BYTES, File::open(&owned)?)))
    };
    let input = Input { name: path.into(), open: Box::new(open), is_seekable: true };
    let format = Some(format.to_string()).filter(|format| !format.is_empty());
    let options = ImportOptions { format, scratch: Some(SCRATCH), ..ImportOptions::default() };
    Ok(Box::new(import::import(&[input], &options)?))
}

/// A file below TMPDIR without a name: what is in it is gone with the program, however that ends.
pub const SCRATCH: Scratch = Scratch(scratch);

fn scratch() -> io::Result<Box<dyn ScratchFile>> {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let name = format!("iodyno-sort-{}-{}", std::process::id(), MADE.fetch_add(1, Relaxed));
    let path = std::env::temp_dir().join(name);
    let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(Box::new(file))
}
