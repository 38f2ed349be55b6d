//! Files of recorded operations, opened for whoever reads them: our own format, and all that can be imported.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use iodyno_trace::format::{Reader, SIGNATURE};
use iodyno_trace::{RecordSource, TraceError};

/// What is read of a trace at once, bytes.
const BUFFER_BYTES: usize = 1 << 18;

/// Opens a trace of any format that is known; `format`: the name of its format, or nothing where its content tells.
///
/// # Errors
/// It cannot be opened, or is none.
pub fn open(path: &str, format: &str) -> Result<Box<dyn RecordSource + Send>, TraceError> {
    let mut file = File::open(path)?;
    if !file.metadata()?.is_file() {
        return Err(TraceError::new("a replay reads its trace more than once, and this is no regular file")
            .hint("write it to a file first: iodyno trace import"));
    }
    let mut start = [0; SIGNATURE.len()];
    let is_ours = file.read(&mut start)? == start.len() && start == SIGNATURE;
    file.seek(SeekFrom::Start(0))?;
    match is_ours || format == "iot" {
        true => Ok(Box::new(Reader::open(BufReader::with_capacity(BUFFER_BYTES, file))?)),
        false => import(path, format),
    }
}

fn import(path: &str, format: &str) -> Result<Box<dyn RecordSource + Send>, TraceError> {
    _ = (path, format);
    Err(TraceError::new("it is no trace of ours (.iot)")
        .hint("iodyno trace import makes one of other formats"))
}
