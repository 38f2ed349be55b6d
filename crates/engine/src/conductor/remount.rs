//! A mount point unmounted and mounted again before a phase, so that nothing of what lies below it is left in memory.
//!
//! The system's own `umount` and `mount` do it, as the mount table or `/etc/fstab` says it was mounted. It refuses what
//! would be lost by it: file systems that live in memory, and those that it does not know how to mount again.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::failure::Failure;
use crate::signal;

/// How often a mount point that is in use is tried again, and how long after.
const TRIES: (u32, Duration) = (50, Duration::from_millis(100));
/// File systems whose content ends with their mount.
const IN_MEMORY: &[&str] = &["tmpfs", "ramfs", "devtmpfs", "hugetlbfs", "proc", "sysfs"];

/// How a mount point is mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MountPoint {
    kind: String,
    source: String,
    options: String,
}

/// Unmounts a mount point and mounts it again.
///
/// # Errors
/// It is none, it would lose its content, it is in use, or it cannot be mounted again.
pub fn remount(path: &str) -> Result<(), Failure> {
    let told = |what: &str| Failure::new(format!("{path} cannot be mounted anew: {what}"));
    let point = fs::canonicalize(path).map_err(|error| told(&error.to_string()))?;
    let table = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    let Some(mounted) = entry(&table, &point) else {
        return Err(told("it is no mount point").hint("name the directory that a file system is mounted on"));
    };
    if IN_MEMORY.contains(&mounted.kind.as_str()) || point == Path::new("/") {
        let message = told(&format!("{} would not outlive it", mounted.kind));
        return Err(message.hint("name a file system that lies on a device or a server"));
    }
    let listed = fs::read_to_string("/etc/fstab").is_ok_and(|fstab| lists(&fstab, &point));
    if mounted.kind.starts_with("fuse") && !listed {
        return Err(told("only its own program knows how").hint("give it a line in /etc/fstab"));
    }
    // A loop device that nobody has open lets go of its file.
    let _held = File::open(&mounted.source);
    unmount(&point)?;
    let mut mount = Command::new("mount");
    if !listed {
        mount.args(["-t", &mounted.kind, "-o", &mounted.options]).arg(&mounted.source);
    }
    run(mount.arg(&point))
        .map_err(|why| told(&why).hint(format!("it is unmounted now: {}", again(&mounted, &point))))
}

fn again(mounted: &MountPoint, point: &Path) -> String {
    format!("mount -t {} -o {} {} {}", mounted.kind, mounted.options, mounted.source, point.display())
}

/// Whoever has just used it may need a moment to let go.
fn unmount(point: &Path) -> Result<(), Failure> {
    let mut tries = TRIES.0;
    loop {
        let Err(why) = run(Command::new("umount").arg(point)) else { return Ok(()) };
        tries -= 1;
        if tries == 0 || signal::interruptions().0 > 0 || !why.contains("busy") {
            let failure = Failure::new(format!("{} cannot be unmounted: {why}", point.display()));
            return Err(failure.hint("run as root, from a directory that is not below it"));
        }
        std::thread::sleep(TRIES.1);
    }
}

fn run(command: &mut Command) -> Result<(), String> {
    let output = command.stdin(Stdio::null()).output().map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
    match output.status.success() {
        true => Ok(()),
        false if said.is_empty() => Err(output.status.to_string()),
        false => Err(said.lines().next().unwrap_or_default().to_string()),
    }
}

/// The uppermost mount on a directory; fields as `proc_pid_mountinfo(5)` numbers them.
fn entry(table: &str, point: &Path) -> Option<MountPoint> {
    table.lines().rev().find_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let left: Vec<&str> = left.split(' ').collect();
        let right: Vec<&str> = right.split(' ').collect();
        (PathBuf::from(plain(left.get(4)?)) == point).then(|| MountPoint {
            kind: right.first().copied().unwrap_or_default().to_string(),
            source: plain(right.get(1).copied().unwrap_or_default()),
            options: [left.get(5), right.get(2)].into_iter().flatten().copied().collect::<Vec<_>>().join(","),
        })
    })
}

fn lists(fstab: &str, point: &Path) -> bool {
    let entries = fstab.lines().filter(|line| !line.trim_start().starts_with('#'));
    let mut points = entries.filter_map(|line| line.split_whitespace().nth(1));
    points.any(|listed| PathBuf::from(plain(listed)) == point)
}

fn plain(text: &str) -> String {
    text.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_be_lost_is_refused() {
        assert!(remount("/nowhere/at/all").unwrap_err().message.contains("/nowhere/at/all"));
        assert!(remount("/proc").unwrap_err().message.contains("cannot be mounted anew"));
        let home = tempfile::tempdir().unwrap();
        let path = home.path().display().to_string();
        assert!(remount(&path).unwrap_err().message.contains("no mount point"));
    }

    #[test]
    fn the_uppermost_mount_is_the_one() {
        let table = "22 1 8:1 / / rw - ext4 /dev/sda1 rw\n30 22 7:0 / /mnt/a\\040b rw,noatime - ext4 /dev/loop0 rw\n\
                     31 30 7:1 / /mnt/a\\040b rw - xfs /dev/loop1 rw\n";
        let found = entry(table, Path::new("/mnt/a b")).unwrap();
        assert_eq!((found.kind.as_str(), found.source.as_str()), ("xfs", "/dev/loop1"));
        assert!(entry(table, Path::new("/mnt")).is_none());
        assert!(lists("# x /mnt/a\n/dev/sda1 /mnt ext4 defaults 0 0\n", Path::new("/mnt")));
    }
}
