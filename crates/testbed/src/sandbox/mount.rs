//! Mounts in fresh directories, and a disk that is full.

use super::{LoopDevice, skip_or_panic};
use crate::case::find_tool;
use crate::{Need, Outcome, Skip};
use iodyno_block::{MountedDirectory, free_bytes, hide_mounts, mount};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// A mounted file system. Dropping it unmounts it, detached if it is still in use.
#[derive(Debug)]
pub struct Mount {
    mounted: MountedDirectory,
    _home: TempDir,
}

impl Mount {
    /// Mounts `source` (a device's path, or any word for a file system without one) in a fresh directory, with
    /// mount(8)'s comma-separated options: `ro,noatime,size=1m`.
    ///
    /// # Errors
    /// A [`Skip`] where mounting is not permitted or the kernel lacks the file system.
    #[track_caller]
    pub fn new(source: impl AsRef<Path>, file_system: &str, options: &str) -> Result<Mount, Skip> {
        Need::Mount.check()?;
        let home = fresh_directory();
        let place = home.path().join("mnt");
        std::fs::create_dir(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
        let mounted = MountedDirectory::mount(source.as_ref(), &place, file_system, options)
            .map_err(|error| skip_or_panic(&format!("mounting {file_system} ({options})"), error))?;
        Ok(Mount { mounted, _home: home })
    }

    /// A file system in memory that holds this much.
    #[track_caller]
    pub fn tmpfs(bytes: u64) -> Result<Mount, Skip> {
        Mount::new("testbed", "tmpfs", &format!("size={bytes},mode=0777"))
    }

    /// An NTFS on a loop device, through the program ntfs-3g, with owners and modes.
    ///
    /// # Errors
    /// A [`Skip`] where that program is not installed, or cannot mount.
    #[track_caller]
    pub fn ntfs(device: &LoopDevice) -> Result<Mount, Skip> {
        Need::Fuse.check()?;
        let program = find_tool("ntfs-3g")?;
        let home = fresh_directory();
        let place = home.path().join("mnt");
        std::fs::create_dir(&place).unwrap_or_else(|error| panic!("{}: {error}", place.display()));
        let mounted = Command::new(program)
            .args(["-o", "permissions,acl,noatime"])
            .arg(device.path())
            .arg(&place)
            .stdin(Stdio::null())
            .output()
            .unwrap_or_else(|error| panic!("ntfs-3g: {error}"));
        let complaint = String::from_utf8_lossy(&mounted.stderr);
        match mounted.status.success() {
            true => Ok(Mount { mounted: MountedDirectory::adopt(&place), _home: home }),
            false => Err(Skip::new(format!("ntfs-3g: {}", complaint.trim()))),
        }
    }

    /// `lower` seen through a writable layer; `layer` must be an empty directory that allows it (not overlay).
    #[track_caller]
    pub fn overlay(lower: &Path, layer: &Path) -> Result<Mount, Skip> {
        let (upper, work) = (layer.join("upper"), layer.join("work"));
        for directory in [&upper, &work] {
            std::fs::create_dir_all(directory)
                .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
        }
        let layers =
            format!("lowerdir={},upperdir={},workdir={}", lower.display(), upper.display(), work.display());
        Mount::new("testbed", "overlay", &layers)
    }

    /// An existing directory once more, where nothing can be written.
    #[track_caller]
    pub fn read_only(directory: &Path) -> Result<Mount, Skip> {
        let bound = Mount::new(directory, "none", "bind")?;
        bound.remount("bind,ro")?;
        Ok(bound)
    }

    /// Changes the options of the mount: `ro` under a running program, say.
    #[track_caller]
    pub fn remount(&self, options: &str) -> Result<(), Skip> {
        let changed = mount(Path::new("none"), self.path(), "none", &format!("remount,{options}"));
        changed.map_err(|error| skip_or_panic(&format!("remounting with {options}"), error))
    }

    /// Where it is mounted.
    pub fn path(&self) -> &Path {
        self.mounted.path()
    }
}

/// Runs something where its mounts are nobody else's.
pub fn hidden(body: impl FnOnce(&Path) -> Outcome + Send + 'static) -> Outcome {
    let run = move || -> Result<(), String> {
        hide_mounts().map_err(|error| error.to_string())?;
        let home = tempfile::tempdir().map_err(|error| error.to_string())?;
        body(home.path()).map_err(|error| error.to_string())
    };
    std::thread::spawn(run).join().map_err(|_| "a panic, above")?.map_err(Into::into)
}

fn fresh_directory() -> TempDir {
    let mut builder = tempfile::Builder::new();
    let builder = builder.prefix("testbed-").permissions(Permissions::from_mode(0o755));
    builder.tempdir().unwrap_or_else(|error| panic!("a temporary directory: {error}"))
}

/// A mounted file system with hardly any room left.
#[derive(Debug)]
pub struct FullDisk {
    mount: Mount,
    _device: Option<LoopDevice>,
}

impl FullDisk {
    /// A tmpfs that has room for `free_bytes` more, rounded to its pages.
    #[track_caller]
    pub fn tmpfs(free_bytes: u64) -> Result<FullDisk, Skip> {
        let mount = Mount::tmpfs(free_bytes + (1 << 20))?;
        fill(mount.path(), free_bytes);
        Ok(FullDisk { mount, _device: None })
    }

    /// An ext4 on a loop device that has room for about `free_bytes` more.
    #[track_caller]
    pub fn ext4(free_bytes: u64) -> Result<FullDisk, Skip> {
        let device = LoopDevice::new(free_bytes + (16 << 20))?;
        device.mkfs("ext4")?;
        let mount = Mount::new(device.path(), "ext4", "")?;
        fill(mount.path(), free_bytes);
        Ok(FullDisk { mount, _device: Some(device) })
    }

    /// Where it is mounted. The file `ballast` in it takes up the room.
    pub fn path(&self) -> &Path {
        self.mount.path()
    }
}

/// Writes ballast until no more than `free` bytes are available.
#[track_caller]
fn fill(place: &Path, free: u64) {
    let filled = || -> io::Result<()> {
        let mut ballast = File::create(place.join("ballast"))?;
        while let Some(surplus) = free_bytes(place).and_then(|available| available.checked_sub(free + 1)) {
            ballast.write_all(&vec![0xBA; (surplus + 1).min(1 << 20) as usize])?;
            // Delayed allocation would leave the figure of free space behind.
            ballast.sync_all()?;
        }
        Ok(())
    };
    match filled() {
        Err(error) if error.kind() != io::ErrorKind::StorageFull => {
            panic!("filling {}: {error}", place.display())
        }
        _ => {}
    }
}
