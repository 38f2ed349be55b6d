//! fio's `merge_blktrace_file`: block traces are merged into a file.

use std::fs::{self, File};
use std::io::{self, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use iodyno_dialect::MergedTrace;
use iodyno_trace::TraceError;
use iodyno_trace::import::{self, BlktracePart, Input};

use crate::loader::plain;

/// Merges block traces. A file that is there is replaced if it is empty or a block trace, and none of the parts.
///
/// # Errors
/// The reason.
pub fn merge_blktraces(parts: &[MergedTrace], to: &str) -> Result<(), String> {
    let path = Path::new(to);
    check_place(parts, path)?;
    let beside = beside(path).ok_or_else(|| format!("{to}: no name of a file"))?;
    let done = write(parts, &beside);
    let moved = done.and_then(|()| {
        fs::rename(&beside, path).map_err(|error| format!("{to}: cannot be written: {}", plain(&error)))
    });
    if moved.is_err() {
        // Why it failed is told; that this could not be removed says nothing more.
        let _ = fs::remove_file(&beside);
    }
    moved
}

fn check_place(parts: &[MergedTrace], path: &Path) -> Result<(), String> {
    let Ok(place) = path.canonicalize() else { return Ok(()) };
    if parts.iter().any(|part| Path::new(&part.path).canonicalize().is_ok_and(|part| part == place)) {
        return Err(format!("{}: it is one of the traces that are merged", path.display()));
    }
    let mut start = Vec::new();
    let read = match place.is_file() {
        true => File::open(&place).and_then(|file| file.take(4).read_to_end(&mut start)),
        false => return Err(format!("{}: it is no file", path.display())),
    };
    match read {
        Ok(0) => Ok(()),
        Ok(_) if import::is_blktrace(&start) => Ok(()),
        Ok(_) => Err(format!("{}: it exists and is no block trace, so it is not replaced", path.display())),
        Err(error) => Err(format!("{}: cannot be read: {}", path.display(), plain(&error))),
    }
}

/// Where the file is written before it takes its place.
fn beside(path: &Path) -> Option<PathBuf> {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name()?);
    name.push(format!(".{}", std::process::id()));
    Some(path.with_file_name(name))
}

fn write(parts: &[MergedTrace], beside: &Path) -> Result<(), String> {
    let inputs: Vec<BlktracePart> = parts.iter().map(input).collect();
    let unwritable = |error: io::Error| format!("{}: cannot be written: {}", beside.display(), plain(&error));
    let mut file = BufWriter::new(File::create_new(beside).map_err(unwritable)?);
    let records = import::merge_blktraces(&inputs, &mut file).map_err(|error| said(&error))?;
    file.flush().map_err(unwritable)?;
    if records == 0 { Err("no request was queued in these traces".into()) } else { Ok(()) }
}

fn said(error: &TraceError) -> String {
    match &error.hint {
        Some(hint) => format!("{error} ({hint})"),
        None => error.to_string(),
    }
}

fn input(part: &MergedTrace) -> BlktracePart {
    let path = part.path.clone();
    let open = move || -> io::Result<Box<dyn Read + Send>> { Ok(Box::new(File::open(&path)?)) };
    let input = Input { name: part.path.clone(), open: Box::new(open), is_seekable: true };
    BlktracePart { input, percent: part.percent, iterations: part.iterations }
}
