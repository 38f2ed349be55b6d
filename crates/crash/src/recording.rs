//! A workload is done once on a new file system, and what it writes is recorded.

use std::io;
use std::path::Path;

use iodyno_model::{Diagnostic, Origin};

use crate::disk::{FuseDisk, RecordingDisk};
use crate::file_system::FileSystem;
use crate::image::DiskContent;
use crate::log::{MOST_BYTES, WriteLog};
use crate::workload::{Oracle, Workload};

/// What was recorded of a workload.
pub struct Recording {
    /// The disk when the file system was mounted for the workload.
    pub base: DiskContent,
    pub log: WriteLog,
    pub oracle: Box<dyn Oracle>,
    /// What the device writes as a whole.
    pub sector_bytes: u32,
}

/// Why there is no recording.
#[derive(Debug)]
pub enum RecordFailure {
    /// The file system does not have what the workload does.
    Missing(String),
    Failed(Box<Diagnostic>),
}

impl From<Diagnostic> for RecordFailure {
    fn from(failure: Diagnostic) -> RecordFailure {
        RecordFailure::Failed(Box::new(failure))
    }
}

/// Records a workload. Mounts in `home`, an existing directory, and leaves nothing there.
///
/// # Errors
/// What the machine lacks, or what went wrong with the file system while nothing had failed yet.
pub fn record(
    file_system: &FileSystem,
    workload: &dyn Workload,
    home: &Path,
    sector_bytes: u32,
) -> Result<Recording, RecordFailure> {
    let (behind, place) = (home.join("disk"), home.join("recorded"));
    for directory in [&behind, &place] {
        std::fs::create_dir_all(directory).map_err(|error| told(&directory.display().to_string(), &error))?;
    }
    let disk = FuseDisk::start(&behind, file_system.bytes, sector_bytes).map_err(|error| no_disk(&error))?;
    let disk: Box<dyn RecordingDisk> = Box::new(disk);
    let recorded = record_on(&*disk, file_system, workload, &place);
    let detached = disk.detach().map_err(|error| told("detaching the recording disk", &error));
    let (base, log, oracle) = recorded?;
    detached?;
    Ok(Recording { base, log, oracle, sector_bytes })
}

type Recorded = (DiskContent, WriteLog, Box<dyn Oracle>);

fn record_on(
    disk: &dyn RecordingDisk,
    file_system: &FileSystem,
    workload: &dyn Workload,
    place: &Path,
) -> Result<Recorded, RecordFailure> {
    let mount = || {
        let what = format!("mounting {} ({})", file_system.name, file_system.options);
        let hint = "the options are those of mount(8); the kernel's log says more";
        file_system.mount(disk.device(), place).map_err(|error| told(&what, &error).hint(hint))
    };
    let unmounting = |error| {
        told(&format!("unmounting after {}", workload.name()), &error).hint(
            "a program of the workload may still use the directory: let it end before the workload does",
        )
    };
    file_system
        .make(disk.device())
        .map_err(|error| told("mkfs", &error).hint("--size gives the file system a larger disk"))?;
    let prepared = mount()?;
    workload.prepare(place).map_err(|error| failed(workload, &error))?;
    prepared.unmount().map_err(unmounting)?;
    let base = DiskContent::read(disk.content()).map_err(|error| told("copying the disk", &error))?;
    let from = disk.log().bytes().map_err(|error| told("the log", &error))?;
    let mounted = mount()?;
    let oracle = workload.run(place, &mut disk.log()).map_err(|error| failed(workload, &error))?;
    mounted.unmount().map_err(unmounting)?;
    let log = disk.log().read(from).map_err(|error| told("the log", &error))?;
    Ok((base, log, oracle))
}

fn failed(workload: &dyn Workload, error: &io::Error) -> RecordFailure {
    if error.kind() == io::ErrorKind::Unsupported {
        return RecordFailure::Missing(iodyno_model::origin::plain(error));
    }
    let told = told(&format!("workload {}", workload.name()), error);
    let told = match error.raw_os_error() {
        Some(libc::EIO) => told.hint(format!(
            "a recording keeps {} of writes at most: let the workload write less",
            iodyno_model::units::binary(MOST_BYTES)
        )),
        Some(libc::ENOSPC) => told.hint("--size gives the file system a larger disk"),
        _ => {
            told.hint("its own messages stand above; {dir} in its words is where the file system is mounted")
        }
    };
    told.into()
}

/// Why there is no recording disk.
fn no_disk(error: &io::Error) -> Diagnostic {
    let told = told("a recording disk", error);
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) => told.hint("it mounts file systems: run it as root"),
        _ => told.hint("it needs FUSE and loop devices: modprobe fuse loop"),
    }
}

/// An error of the system, with what was done.
pub fn told(what: &str, error: &io::Error) -> Diagnostic {
    Diagnostic::error(&Origin::Default, format!("{what}: {}", iodyno_model::origin::plain(error)))
}
