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

/// Where hierarchies are mounted that control I/O: of version 1, then of version 2.
const FIRST: &str = "/sys/fs/cgroup/blkio";
const SECOND: &str = "/sys/fs/cgroup";
/// What the names of groups begin with.
const PREFIX: &str = "iodyno-neighbour-";

/// The group of one workload.
pub struct ThrottledGroup(PathBuf);

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
        let is_first = Path::new(FIRST).is_dir();
        let parent = if is_first { FIRST } else { SECOND };
        let group =
            ThrottledGroup(Path::new(parent).join(format!("{PREFIX}{label}-{}", leftovers::own_name())));
        let made = fs::create_dir(&group.0).and_then(|()| match is_first {
            true => group.limit_first(&number, limit),
            false => group.limit_second(&number, limit),
        });
        made.map(|()| group).map_err(|error| {
            Diagnostic::error(&origin, format!("no control group limits I/O here: {}", plain(&error)))
                .hint("run as root; of version 2 the io controller must be on in /sys/fs/cgroup/cgroup.subtree_control")
        })
    }

    fn limit_first(&self, number: &str, limit: RatePair) -> io::Result<()> {
        let files = [("iops", limit.iops), ("bps", limit.bandwidth)];
        for (what, value) in files.into_iter().filter_map(|(what, value)| Some((what, value?))) {
            for direction in ["read", "write"] {
                let file = self.0.join(format!("blkio.throttle.{direction}_{what}_device"));
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
        fs::write(self.0.join("io.max"), format!("{number} {}", words.collect::<Vec<_>>().join(" ")))
    }

    pub fn path(&self) -> String {
        self.0.display().to_string()
    }

    /// Removes the groups of programs that are over.
    pub fn remove_left() {
        let groups = [FIRST, SECOND]
            .into_iter()
            .flat_map(|parent| fs::read_dir(parent).into_iter().flatten().flatten());
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
        let _ = fs::remove_dir(&self.0);
    }
}
