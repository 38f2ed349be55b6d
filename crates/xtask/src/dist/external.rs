//! Programs that make packages, and files on the way to them; each failure is a sentence with its place.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::shell;

/// Packing takes seconds; a registry that hangs is not to be had.
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// What a program printed, in the C locale.
///
/// # Errors
/// It is not here, or failed: its last words.
pub fn lines_of(program: &str, words: &[&str], folder: &Path) -> Result<Vec<String>, String> {
    let mut command = Command::new(program);
    command.args(words).current_dir(folder);
    lines(command)
}

/// What a command printed, in the C locale.
///
/// # Errors
/// It is not here, or failed: its last words.
pub fn lines(command: Command) -> Result<Vec<String>, String> {
    lines_within(command, LIMIT)
}

/// As `lines`, with a limit of its own.
///
/// # Errors
/// It is not here, failed, or did not end in time.
pub fn lines_within(mut command: Command, limit: Duration) -> Result<Vec<String>, String> {
    command.env("LC_ALL", "C.UTF-8").env("TZ", "UTC");
    let name = command.get_program().to_string_lossy().into_owned();
    let ended = shell::run(command, None, limit)?;
    if ended.success {
        return Ok(ended.lines);
    }
    let why = if ended.timed_out { "it did not end in time" } else { "" };
    let from = ended.lines.len().saturating_sub(12);
    Err(format!("{name}: {why}{}", ended.lines[from..].join("\n    ")))
}

/// Reads a text.
///
/// # Errors
/// The path and the reason.
pub fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Reads a file.
///
/// # Errors
/// The path and the reason.
pub fn read_bytes(path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))
}

/// Writes a file whole, under another name first; its folder is made.
///
/// # Errors
/// The path and the reason; nothing is left then.
pub fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(path.parent().unwrap_or(path)).map_err(cannot)?;
    let mut name = path.as_os_str().to_owned();
    name.push(".new");
    let fresh = PathBuf::from(name);
    std::fs::write(&fresh, bytes).and_then(|()| std::fs::rename(&fresh, path)).map_err(|error| {
        let _ = std::fs::remove_file(&fresh);
        cannot(error)
    })
}

/// The names of the files in a folder, in order.
///
/// # Errors
/// The folder and the reason.
pub fn files(folder: &Path) -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let is_file = |entry: &std::fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_file());
    let mut names: Vec<String> = entries
        .flatten()
        .filter(is_file)
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    Ok(names)
}

/// An empty folder of that path; whatever lay there is gone.
///
/// # Errors
/// The path and the reason.
pub fn empty_folder(path: &Path) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("{}: {error}", path.display());
    match std::fs::remove_dir_all(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(cannot(error)),
        _ => {}
    }
    std::fs::create_dir_all(path).map_err(cannot)
}

/// The SHA-256 of bytes, in hexadecimal digits.
///
/// # Errors
/// There is no sha256sum.
pub fn sha256(path: &Path) -> Result<String, String> {
    let said = lines_of("sha256sum", &["--", &path.display().to_string()], Path::new("/"))?;
    let digits = said.first().and_then(|line| line.trim_start_matches('\\').split(' ').next());
    digits.map(str::to_string).ok_or_else(|| format!("sha256sum said nothing of {}", path.display()))
}
