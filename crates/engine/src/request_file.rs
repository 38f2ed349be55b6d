//! Load files of requests, read once for all workers of a rank: whoever checks the plan reads them before workers fork.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use iodyno_trace::requests::RequestList;

use crate::failure::{Failure, strerror};

/// A file as it was when it was read.
type Stamp = (String, u64, Option<SystemTime>);

/// The load that was read last.
static LAST: Mutex<Option<(Stamp, Arc<RequestList>)>> = Mutex::new(None);

/// Reads a load file, unless it is the one that was read last.
///
/// # Errors
/// It cannot be read, or is no load.
pub fn load(path: &str) -> Result<Arc<RequestList>, Failure> {
    let unreadable = |error: std::io::Error| {
        Failure::new(format!("{path}: {}", strerror(error.raw_os_error().unwrap_or(libc::EIO))))
            .hint("name a load file of dbench")
    };
    let facts = std::fs::metadata(path).map_err(unreadable)?;
    let stamp = (path.to_string(), facts.len(), facts.modified().ok());
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, list)) = last.as_ref().filter(|(known, _)| *known == stamp) {
        return Ok(Arc::clone(list));
    }
    let bytes = std::fs::read(path).map_err(unreadable)?;
    let list = RequestList::read(&bytes).map_err(|no_load| {
        let place = no_load.line.map_or(String::new(), |line| format!(":{line}"));
        Failure::new(format!("{path}{place}: {}", no_load.why))
            .hint("a line of a load file of dbench: Close 7 NT_STATUS_OK")
    })?;
    let list = Arc::new(list);
    *last = Some((stamp, Arc::clone(&list)));
    Ok(list)
}
