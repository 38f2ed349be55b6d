//! `iodyno cache`: how much of files lies in the page cache, and how to get it out before a measurement.
//!
//! The kernel takes the advice to drop pages as advice. So what stayed is counted afterwards, and the exit status says whether
//! anything did.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};

use clap::Parser;
use iodyno_engine::cache::{DropResult, drop_pages};
use iodyno_engine::witness::{drop_caches, page_cache};
use iodyno_model::{Diagnostic, Origin, units};
use serde_json::{Value, json};

use crate::loader::plain;
use crate::runs::{ended, one, parsed, print};
use crate::session::say;

#[derive(Parser)]
#[command(name = "iodyno cache", about = "Show how much of files is in the page cache, and drop it",
    disable_version_flag = true, after_help = AFTER)]
pub struct CacheArgs {
    /// Files and directories; of a directory all files below it on the same file system
    #[arg(value_name = "PATH", required_unless_present = "drop")]
    paths: Vec<PathBuf>,
    /// Write the files back and drop their pages; wait until they are gone
    #[arg(long)]
    evict: bool,
    /// Write everything back and drop all caches of the machine, names too (root)
    #[arg(long)]
    drop: bool,
    /// As JSON
    #[arg(long)]
    json: bool,
}

const AFTER: &str = "Exit status: 0; 1 pages stayed that were to go (they are mapped, locked, or in use); 2 the request was wrong. \
On tmpfs pages are the storage: they stay. Block devices have no size here; their pages go with --drop.";

/// A file's pages before and after.
struct CachedFile {
    path: PathBuf,
    bytes: u64,
    /// Bytes in the cache; none: the kernel does not tell.
    resident: Option<u64>,
    dirty: Option<u64>,
    after: Option<DropResult>,
}

/// Does `iodyno cache ARGUMENTS…`; the exit status.
pub fn answer(arguments: &[String]) -> u8 {
    match parsed::<CacheArgs>("iodyno cache", arguments) {
        Ok(words) => ended(done(&words).map_err(one)),
        Err(status) => status,
    }
}

fn done(words: &CacheArgs) -> Result<u8, Diagnostic> {
    let mut paths = Vec::new();
    for path in &words.paths {
        collect(path, &mut paths)?;
    }
    let mut files: Vec<CachedFile> = paths.into_iter().map(seen).collect();
    if words.drop {
        drop_caches().map_err(|reason| {
            Diagnostic::error(&Origin::argument("--drop"), format!("cannot drop caches: {reason}"))
                .hint("run as root, or use --evict for files of your own")
        })?;
    }
    if words.drop || words.evict {
        for file in &mut files {
            let open = File::open(&file.path).map_err(|error| unreadable(&file.path, &error))?;
            file.after = Some(drop_pages(open.as_raw_fd()));
        }
    }
    let stayed = files.iter().any(|file| {
        file.after.is_some_and(|after| !after.is_memory && after.left_bytes.is_some_and(|left| left > 0))
    });
    print(&if words.json { as_json(&files) } else { as_text(&files) });
    if stayed {
        say("warning: some pages stayed: another program has them mapped, locked or in use");
    }
    Ok(u8::from(stayed))
}

/// The regular files at or below a path, without other file systems and without following links below it.
fn collect(path: &Path, into: &mut Vec<PathBuf>) -> Result<(), Diagnostic> {
    use std::os::unix::fs::MetadataExt;
    let facts = std::fs::metadata(path).map_err(|error| unreadable(path, &error))?;
    if facts.is_file() {
        into.push(path.into());
        return Ok(());
    }
    if !facts.is_dir() {
        let wrong =
            Diagnostic::error(&Origin::argument(&path.to_string_lossy()), "neither a file nor a directory");
        return Err(wrong.hint("--drop drops the pages of devices, too"));
    }
    let mut folders = vec![path.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|error| unreadable(&folder, &error))?;
        let mut found: Vec<PathBuf> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
        found.sort();
        for item in found {
            // What vanished meanwhile is in no cache.
            let Ok(inner) = std::fs::symlink_metadata(&item) else { continue };
            if inner.is_dir() && inner.dev() == facts.dev() {
                folders.push(item);
            } else if inner.is_file() {
                into.push(item);
            }
        }
    }
    Ok(())
}

fn unreadable(path: &Path, error: &std::io::Error) -> Diagnostic {
    Diagnostic::error(&Origin::argument(&path.to_string_lossy()), format!("cannot be read: {}", plain(error)))
        .hint("name files and directories that you may read")
}

fn seen(path: PathBuf) -> CachedFile {
    let name = path.to_string_lossy().into_owned();
    let looked = page_cache::resident(&name);
    let bytes =
        looked.map_or_else(|| std::fs::metadata(&path).map_or(0, |facts| facts.len()), |(bytes, _)| bytes);
    CachedFile {
        resident: looked.map(|(_, resident)| resident),
        dirty: page_cache::dirty(&name),
        after: None,
        bytes,
        path,
    }
}

/// Lines of a list that is no longer read by anybody are left out; the sum stays.
const LINES_MOST: usize = 40;

fn as_text(files: &[CachedFile]) -> String {
    if files.is_empty() {
        return "caches dropped\n".into();
    }
    let dropped = files.iter().any(|file| file.after.is_some());
    let mut text = format!("{:>11} {:>11} {:>6} {:>11}", "size", "cached", "share", "dirty");
    text.push_str(&if dropped { format!(" {:>11}  file\n", "after") } else { "  file\n".into() });
    for file in files.iter().take(LINES_MOST) {
        text.push_str(&row(file, dropped, &file.path.display().to_string()));
    }
    if files.len() > LINES_MOST {
        text.push_str(&format!("… {} more files\n", files.len() - LINES_MOST));
    }
    if files.len() > 1 {
        text.push_str(&row(&total(files), dropped, &format!("all {} files", files.len())));
    }
    text
}

fn total(files: &[CachedFile]) -> CachedFile {
    let sum = |each: fn(&CachedFile) -> Option<u64>| files.iter().map(each).sum::<Option<u64>>();
    let left = sum(|file| file.after.and_then(|after| after.left_bytes));
    CachedFile {
        path: PathBuf::new(),
        bytes: files.iter().map(|file| file.bytes).sum(),
        resident: sum(|file| file.resident),
        dirty: sum(|file| file.dirty),
        after: Some(DropResult { left_bytes: left, is_memory: false }),
    }
}

fn row(file: &CachedFile, dropped: bool, name: &str) -> String {
    let shown = |bytes: Option<u64>| bytes.map_or_else(|| "unknown".into(), units::binary);
    let share = match file.resident {
        Some(resident) if file.bytes > 0 => format!("{:.0} %", 100.0 * resident as f64 / file.bytes as f64),
        _ => "-".into(),
    };
    let size = shown(Some(file.bytes));
    let mut line = format!("{size:>11} {:>11} {share:>6} {:>11}", shown(file.resident), shown(file.dirty));
    if dropped {
        line.push_str(&format!(" {:>11}", shown(file.after.and_then(|after| after.left_bytes))));
    }
    line + &format!("  {name}\n")
}

fn as_json(files: &[CachedFile]) -> String {
    let list: Vec<Value> = files
        .iter()
        .map(|file| {
            let mut entry = json!({ "path": file.path.to_string_lossy(), "bytes": file.bytes,
                "cached_bytes": file.resident, "dirty_bytes": file.dirty });
            if let Some(after) = file.after {
                entry["after_bytes"] = json!(after.left_bytes);
                entry["is_memory"] = json!(after.is_memory);
            }
            entry
        })
        .collect();
    format!("{:#}\n", json!({ "files": list }))
}
