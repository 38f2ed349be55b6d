//! Control groups: found below the hierarchy that controls I/O, made where they are missing, joined by workers,
//! weighted, and removed again.

use std::path::{Path, PathBuf};

use iodyno_model::{ControlGroup, WorkerKind};

use crate::failure::Failure;

/// The group's directory: as named, or below the mounted hierarchy that controls I/O.
///
/// # Errors
/// No such hierarchy is mounted.
pub fn directory(group: &ControlGroup) -> Result<PathBuf, Failure> {
    let path = Path::new(&group.path);
    if path.is_absolute() {
        return Ok(path.into());
    }
    let mounts = std::fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let root = hierarchy(&mounts).ok_or_else(|| {
        Failure::new("no hierarchy of control groups is mounted that controls I/O")
            .hint("mount cgroup2, or the blkio controller of cgroup")
    })?;
    Ok(root.join(path))
}

/// Where the I/O controller's hierarchy is mounted: its own (v1), or the unified one.
fn hierarchy(mounts: &str) -> Option<PathBuf> {
    let lines =
        || mounts.lines().map(|line| line.split(' ').collect::<Vec<_>>()).filter(|line| line.len() > 3);
    let first = lines().find(|line| line[2] == "cgroup" && line[3].split(',').any(|word| word == "blkio"));
    first.or_else(|| lines().find(|line| line[2] == "cgroup2")).map(|line| PathBuf::from(line[1]))
}

/// Makes the group where it is missing, and sets its weight; the directory where it was made and is to be removed.
///
/// # Errors
/// What the system refused.
pub fn make(group: &ControlGroup) -> Result<Option<PathBuf>, Failure> {
    let path = directory(group)?;
    let told = |what: &Path, error: std::io::Error| {
        Failure::new(format!("{}: {error}", what.display()))
            .hint("control groups need root, or a delegated group")
    };
    let made = !path.exists();
    if made {
        std::fs::create_dir(&path).map_err(|error| told(&path, error))?;
    }
    let ours = made.then(|| path.clone()).filter(|_| !group.keep);
    if let Some(weight) = group.weight
        && let Err(failure) = set_weight(&path, weight)
    {
        ours.map(std::fs::remove_dir);
        return Err(failure);
    }
    Ok(ours)
}

/// Writes the weight into the first of the files that kernels know it by.
fn set_weight(path: &Path, weight: u32) -> Result<(), Failure> {
    let names = ["io.bfq.weight", "io.weight", "blkio.bfq.weight", "blkio.weight"];
    let Some(file) = names.iter().map(|name| path.join(name)).find(|file| file.exists()) else {
        let message = format!("{}: this group has no I/O weight", path.display());
        return Err(
            Failure::new(message).hint("a weight needs the bfq scheduler, or the io controller enabled")
        );
    };
    std::fs::write(&file, weight.to_string()).map_err(|error| {
        Failure::new(format!("{}: {error}", file.display()))
            .hint("weights are 10 to 1000 (v1), 1 to 10000 (v2)")
    })
}

/// Moves the calling worker into the group.
///
/// # Errors
/// What the system refused.
pub fn join(group: &ControlGroup, kind: WorkerKind) -> Result<(), Failure> {
    let path = directory(group)?;
    // The older hierarchies take threads, the unified one whole processes.
    let tasks = path.join("tasks");
    let file = match (tasks.exists(), kind) {
        (true, _) => tasks,
        (false, WorkerKind::Processes) => path.join("cgroup.procs"),
        (false, WorkerKind::Threads) => {
            return Err(Failure::new("a control group of its own needs processes").hint("processes = true"));
        }
    };
    std::fs::write(&file, "0").map_err(|error| Failure::new(format!("{}: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hierarchy_is_found() {
        let old = "tmpfs /sys/fs/cgroup tmpfs rw 0 0\ncgroup /sys/fs/cgroup/blkio cgroup rw,relatime,blkio 0 0\n\
                   cgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        assert_eq!(hierarchy(old), Some("/sys/fs/cgroup/blkio".into()));
        assert_eq!(hierarchy("cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n"), Some("/sys/fs/cgroup".into()));
        assert_eq!(hierarchy("proc /proc proc rw 0 0\n"), None);
    }
}
