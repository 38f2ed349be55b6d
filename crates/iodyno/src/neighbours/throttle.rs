//! A control group that limits what is read from and written to one disk, of whichever version the machine has.
//!
//! Removed when dropped; of a program that was killed, by the next start.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use iodyno_engine::witness::identity;
use iodyno_model::{Diagnostic, Origin};

use crate::leftovers;
use crate::loader::plain;
use crate::rate_pair::RatePair;

/// Where control groups are mounted.
const ROOT: &str = "/sys/fs/cgroup";
/// What the names of groups begin with.
const PREFIX: &str = "iodyno-neighbour-";
/// The list of a group of version 2: which controllers its children have.
const SUBTREE: &str = "cgroup.subtree_control";

/// A hierarchy of control groups that limits I/O.
#[derive(Clone, Debug, PartialEq, Eq)]
enum GroupHierarchy {
    /// Version 1: the folder of its controller.
    First(PathBuf),
    /// Version 2: the folder of all controllers, by itself or beside those of version 1.
    Second(PathBuf),
}

impl GroupHierarchy {
    /// The one below a folder that has the controller of I/O; a controller belongs to one hierarchy only.
    fn below(root: &Path) -> Option<GroupHierarchy> {
        let has_io = |folder: &PathBuf| {
            let listed = fs::read_to_string(folder.join("cgroup.controllers")).unwrap_or_default();
            listed.split_whitespace().any(|name| name == "io")
        };
        let second = [root.to_path_buf(), root.join("unified")].into_iter().find(has_io);
        let first = || Some(root.join("blkio")).filter(|folder| folder.is_dir());
        second.map(GroupHierarchy::Second).or_else(|| first().map(GroupHierarchy::First))
    }

    fn folder(&self) -> &Path {
        match self {
            GroupHierarchy::First(folder) | GroupHierarchy::Second(folder) => folder,
        }
    }
}

/// The group of one workload.
pub struct ThrottledGroup {
    folder: PathBuf,
    /// A list that the controller was added to for this group; it is taken out again.
    added_to: Option<PathBuf>,
}

impl ThrottledGroup {
    /// A group that limits the disk beneath a path.
    ///
    /// # Errors
    /// There is no disk beneath it, or no control group that limits I/O.
    pub fn new(label: &str, path: &str, limit: RatePair) -> Result<ThrottledGroup, Diagnostic> {
        let origin = Origin::argument("--io-max");
        let number = identity::disk_of(path).and_then(|disk| {
            fs::read_to_string(format!("/sys/block/{disk}/dev")).ok().map(|number| number.trim().to_string())
        });
        let number = number.ok_or_else(|| {
            Diagnostic::error(&origin, format!("{path}: no single disk lies beneath it"))
                .hint("limits are those of a disk: name a target on one, or leave --io-max out")
        })?;
        let hierarchy = GroupHierarchy::below(Path::new(ROOT)).ok_or_else(|| {
            Diagnostic::error(&origin, format!("no control group below {ROOT} has the controller of I/O"))
                .hint("mount it: mount -t cgroup2 none /sys/fs/cgroup; or leave --io-max out")
        })?;
        ThrottledGroup::within(&hierarchy, label, &number, limit).map_err(|error| {
            let message = format!("{}: no limit on I/O: {}", hierarchy.folder().display(), plain(&error));
            let hint = match hierarchy {
                GroupHierarchy::First(_) => "run as root",
                GroupHierarchy::Second(_) => {
                    "run as root of the whole machine: a container may not turn the io controller on in cgroup.subtree_control"
                }
            };
            Diagnostic::error(&origin, message).hint(hint)
        })
    }

    fn within(
        hierarchy: &GroupHierarchy,
        label: &str,
        number: &str,
        limit: RatePair,
    ) -> io::Result<ThrottledGroup> {
        let folder = hierarchy.folder().join(format!("{PREFIX}{label}-{}", leftovers::own_name()));
        let added_to = match hierarchy {
            GroupHierarchy::First(_) => None,
            GroupHierarchy::Second(parent) => turned_on(&parent.join(SUBTREE))?,
        };
        fs::create_dir(&folder)?;
        let group = ThrottledGroup { folder, added_to };
        match hierarchy {
            GroupHierarchy::First(_) => group.limit_first(number, limit),
            GroupHierarchy::Second(_) => group.limit_second(number, limit),
        }
        .map(|()| group)
    }

    fn limit_first(&self, number: &str, limit: RatePair) -> io::Result<()> {
        let files = [("iops", limit.iops), ("bps", limit.bandwidth)];
        for (what, value) in files.into_iter().filter_map(|(what, value)| Some((what, value?))) {
            for direction in ["read", "write"] {
                let file = self.folder.join(format!("blkio.throttle.{direction}_{what}_device"));
                fs::write(file, format!("{number} {}", value.round() as u64))?;
            }
        }
        Ok(())
    }

    fn limit_second(&self, number: &str, limit: RatePair) -> io::Result<()> {
        let words = [("iops", limit.iops), ("bps", limit.bandwidth)];
        let words = words.into_iter().filter_map(|(what, value)| {
            let value = value?.round() as u64;
            Some(format!("r{what}={value} w{what}={value}"))
        });
        fs::write(self.folder.join("io.max"), format!("{number} {}", words.collect::<Vec<_>>().join(" ")))
    }

    pub fn path(&self) -> String {
        self.folder.display().to_string()
    }

    /// Removes the groups of programs that are over.
    pub fn remove_left() {
        let hierarchy = GroupHierarchy::below(Path::new(ROOT));
        let groups = hierarchy.iter().flat_map(|parent| fs::read_dir(parent.folder())).flatten().flatten();
        for group in groups {
            let name = group.file_name().to_string_lossy().into_owned();
            let process = name.strip_prefix(PREFIX).and_then(|rest| rest.split_once('-'));
            if process.is_some_and(|(_, process)| leftovers::is_over(process) == Some(true)) {
                let _ = fs::remove_dir(group.path());
            }
        }
    }
}

impl Drop for ThrottledGroup {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.folder);
        // As long as another group needs it the kernel keeps it on.
        if let Some(list) = &self.added_to {
            let _ = fs::write(list, "-io");
        }
    }
}

/// Turns the controller of I/O on for the children of a group; the list, if it was off.
fn turned_on(list: &Path) -> io::Result<Option<PathBuf>> {
    let on = fs::read_to_string(list)?;
    if on.split_whitespace().any(|name| name == "io") {
        return Ok(None);
    }
    fs::write(list, "+io").map(|()| Some(list.to_path_buf()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: RatePair = RatePair { iops: Some(500.0), bandwidth: Some(20e6) };

    /// A folder with these files.
    fn pretended(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        root
    }

    fn text(path: PathBuf) -> String {
        fs::read_to_string(path).unwrap()
    }

    #[test]
    fn version_2_gets_its_controller_and_one_line() {
        let root = pretended(&[("cgroup.controllers", "cpu io memory\n"), (SUBTREE, "cpu memory\n")]);
        let hierarchy = GroupHierarchy::below(root.path()).unwrap();
        assert_eq!(hierarchy, GroupHierarchy::Second(root.path().into()));
        let group = ThrottledGroup::within(&hierarchy, "a", "8:16", LIMIT).unwrap();
        assert_eq!(text(root.path().join(SUBTREE)), "+io");
        assert_eq!(text(group.folder.join("io.max")), "8:16 riops=500 wiops=500 rbps=20000000 wbps=20000000");
        // What a pretended tree keeps, the kernel's would not have as a file.
        fs::remove_file(group.folder.join("io.max")).unwrap();
        let folder = group.folder.clone();
        drop(group);
        assert!(!folder.exists());
        assert_eq!(text(root.path().join(SUBTREE)), "-io");
    }

    #[test]
    fn what_was_on_stays_on() {
        let root =
            pretended(&[("unified/cgroup.controllers", "io\n"), ("unified/cgroup.subtree_control", "io\n")]);
        let hierarchy = GroupHierarchy::below(root.path()).unwrap();
        assert_eq!(hierarchy, GroupHierarchy::Second(root.path().join("unified")));
        let only = RatePair { iops: None, bandwidth: Some(1e6) };
        let group = ThrottledGroup::within(&hierarchy, "b", "8:0", only).unwrap();
        assert_eq!(text(group.folder.join("io.max")), "8:0 rbps=1000000 wbps=1000000");
        drop(group);
        assert_eq!(text(root.path().join("unified/cgroup.subtree_control")), "io\n");
    }

    #[test]
    fn version_1_has_a_file_for_each_limit() {
        let root = pretended(&[("blkio/tasks", ""), ("unified/cgroup.controllers", "")]);
        let hierarchy = GroupHierarchy::below(root.path()).unwrap();
        assert_eq!(hierarchy, GroupHierarchy::First(root.path().join("blkio")));
        let group = ThrottledGroup::within(&hierarchy, "a", "7:0", LIMIT).unwrap();
        for (file, limit) in
            [("read_iops", 500), ("write_iops", 500), ("read_bps", 20_000_000), ("write_bps", 20_000_000)]
        {
            assert_eq!(
                text(group.folder.join(format!("blkio.throttle.{file}_device"))),
                format!("7:0 {limit}")
            );
        }
        assert_eq!(GroupHierarchy::below(&root.path().join("blkio")), None);
    }
}
