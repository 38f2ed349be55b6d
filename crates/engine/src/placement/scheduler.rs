//! The I/O scheduler of the device that holds a path, through sysfs.

use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// A scheduler that was chosen, and the one before it, put back on drop.
#[derive(Debug)]
pub struct SchedulerChoice {
    file: PathBuf,
    before: String,
}

/// Chooses a scheduler for the device that holds a path; `None`: it was chosen already.
///
/// # Errors
/// No device beneath, or a scheduler it does not have.
pub fn choose(path: &str, name: &str) -> Result<Option<SchedulerChoice>, Failure> {
    let file = file_of(path).ok_or_else(|| {
        Failure::new(format!("{path}: no block device with an I/O scheduler lies beneath"))
            .hint("leave the I/O scheduler out")
    })?;
    let text = std::fs::read_to_string(&file).unwrap_or_default();
    let before = text.split(['[', ']']).nth(1).unwrap_or(text.trim()).to_string();
    if before == name {
        return Ok(None);
    }
    std::fs::write(&file, name).map_err(|error| {
        Failure::new(format!("{}: {name}: {error}", file.display()))
            .hint(format!("schedulers there: {}", text.trim()))
    })?;
    Ok(Some(SchedulerChoice { file, before }))
}

impl Drop for SchedulerChoice {
    fn drop(&mut self) {
        // Whoever took it away meanwhile has a reason.
        let _ = std::fs::write(&self.file, &self.before);
    }
}

/// The sysfs file of the device that a path is, or lies on; of a partition its disk's.
#[cfg(target_os = "linux")]
fn file_of(path: &str) -> Option<PathBuf> {
    use std::os::unix::fs::{FileTypeExt, MetadataExt};
    let about = Path::new(path).ancestors().find_map(|path| {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        std::fs::metadata(path).ok()
    })?;
    let device = if about.file_type().is_block_device() { about.rdev() } else { about.dev() };
    let (major, minor) = (libc::major(device), libc::minor(device));
    let own = std::fs::canonicalize(format!("/sys/dev/block/{major}:{minor}")).ok()?;
    own.ancestors().take(2).map(|device| device.join("queue/scheduler")).find(|file| file.exists())
}

#[cfg(not(target_os = "linux"))]
fn file_of(_path: &str) -> Option<PathBuf> {
    None
}
