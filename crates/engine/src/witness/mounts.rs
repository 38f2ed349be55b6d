//! What the clients of network file systems moved: NFS, SMB and Lustre count their own bytes.
//!
//! Sources: `/proc/self/mountstats` (nfs: `bytes:`, the fifth and sixth number are what went to and came from the server),
//! `/proc/fs/cifs/Stats`, and Lustre's `osc.*.stats` under debugfs or procfs. Others count nothing that can be read
//! without their own tools; of those it is said that nothing can be reported, with the reason.

use iodyno_model::{MountActivity, TargetFacts};

/// Bytes read from and written to the servers since the mount.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MountTraffic {
    read_bytes: u64,
    write_bytes: u64,
}

/// One mount, and what it had moved when it was first looked at.
#[derive(Clone, Debug)]
pub struct WatchedMount {
    point: String,
    file_system: String,
    source: String,
    before: MountTraffic,
}

impl WatchedMount {
    /// The mount beneath a target, if its file system counts what it moves.
    pub fn of(facts: &TargetFacts) -> Option<WatchedMount> {
        let (point, kind) = (facts.mount_point.as_deref()?, facts.file_system.as_deref()?);
        let source = facts.source.as_deref().unwrap_or_default();
        let before = read(kind, point, source)?;
        Some(WatchedMount { point: point.into(), file_system: kind.into(), source: source.into(), before })
    }

    /// Whether it is the same mount.
    pub fn is(&self, other: &WatchedMount) -> bool {
        self.point == other.point
    }

    /// What it moved since then.
    pub fn activity(&self) -> Option<MountActivity> {
        let now = read(&self.file_system, &self.point, &self.source)?;
        Some(MountActivity {
            mount_point: self.point.clone(),
            file_system: self.file_system.clone(),
            read_bytes: now.read_bytes.saturating_sub(self.before.read_bytes),
            write_bytes: now.write_bytes.saturating_sub(self.before.write_bytes),
        })
    }
}

fn read(kind: &str, point: &str, source: &str) -> Option<MountTraffic> {
    match kind {
        "nfs" | "nfs4" => nfs(&std::fs::read_to_string("/proc/self/mountstats").ok()?, point),
        "cifs" | "smb3" => smb(&std::fs::read_to_string("/proc/fs/cifs/Stats").ok()?, source),
        "lustre" => lustre(source),
        _ => None,
    }
}

/// The lines of one mount in `mountstats`; mount points are escaped as in the mount table.
fn nfs(text: &str, point: &str) -> Option<MountTraffic> {
    let escaped = point.replace('\\', "\\134").replace(' ', "\\040").replace('\t', "\\011");
    let place = format!(" mounted on {escaped} with fstype nfs");
    // Of several mounts on one point the last is the visible one.
    let part = text.split("\ndevice ").filter(|part| part.lines().next().is_some_and(|l| l.contains(&place)));
    let bytes = part.last()?.lines().find_map(|line| line.trim_start().strip_prefix("bytes:"))?;
    let numbers: Vec<u64> = bytes.split_whitespace().filter_map(|word| word.parse().ok()).collect();
    Some(MountTraffic { read_bytes: *numbers.get(4)?, write_bytes: *numbers.get(5)? })
}

/// The paragraph of one share: `1) \\server\share`, then `Bytes read: N  Bytes written: M`, in older kernels
/// `Reads: n Bytes: N` and `Writes: m Bytes: M`.
fn smb(text: &str, source: &str) -> Option<MountTraffic> {
    let share = source.replace('/', "\\").to_lowercase();
    let begins = |line: &str| line.split_once(") ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
    let is_it = |line: &str| {
        line.split_once(") ").is_some_and(|(_, name)| name.to_lowercase().trim_end().starts_with(&share))
    };
    let mut lines = text.lines().skip_while(|line| !(begins(line) && is_it(line))).skip(1);
    let after = |line: &str, word: &str| {
        let rest = line.split_once(word)?.1;
        rest.split_whitespace().next()?.parse::<u64>().ok()
    };
    let (mut read_bytes, mut write_bytes) = (None, None);
    for line in lines.by_ref().take_while(|line| !begins(line)) {
        read_bytes = read_bytes.or_else(|| after(line, "Bytes read:"));
        write_bytes = write_bytes.or_else(|| after(line, "Bytes written:"));
        if line.trim_start().starts_with("Reads:") {
            read_bytes = read_bytes.or_else(|| after(line, "Bytes:"));
        }
        if line.trim_start().starts_with("Writes:") {
            write_bytes = write_bytes.or_else(|| after(line, "Bytes:"));
        }
    }
    Some(MountTraffic { read_bytes: read_bytes?, write_bytes: write_bytes.unwrap_or(0) })
}

/// What all object storage clients of a file system moved; its name is behind the last slash and colon of the source.
fn lustre(source: &str) -> Option<MountTraffic> {
    let name = source.rsplit(":/").next().filter(|name| !name.is_empty())?;
    let name = name.split('/').next()?;
    let places = ["/sys/kernel/debug/lustre/osc", "/proc/fs/lustre/osc"];
    let clients = places.iter().find_map(|place| std::fs::read_dir(place).ok())?;
    let ours = clients.flatten().filter(|entry| {
        entry.file_name().to_string_lossy().strip_prefix(name).is_some_and(|rest| rest.starts_with("-OST"))
    });
    let texts: Vec<String> =
        ours.filter_map(|entry| std::fs::read_to_string(entry.path().join("stats")).ok()).collect();
    if texts.is_empty() { None } else { Some(object_clients(&texts)) }
}

/// Lines `read_bytes COUNT samples [bytes] LEAST MOST SUM …`; a client that moved nothing has none.
fn object_clients(texts: &[String]) -> MountTraffic {
    let sum = |word: &str| {
        let lines = texts.iter().flat_map(|text| text.lines());
        let of = |line: &str| {
            let mut words = line.split_whitespace();
            if words.next() != Some(word) { None } else { words.nth(5)?.parse::<u64>().ok() }
        };
        lines.filter_map(of).sum()
    };
    MountTraffic { read_bytes: sum("read_bytes"), write_bytes: sum("write_bytes") }
}

/// Why nothing can be told of a target that no device and no such client counts for.
pub fn reason(facts: &TargetFacts) -> String {
    let kind = facts.file_system.as_deref().unwrap_or("a file system that no mount table names");
    let why = match kind {
        "tmpfs" | "ramfs" | "hugetlbfs" | "devtmpfs" => "it is memory, nothing lies beneath",
        "nfs" | "nfs4" | "cifs" | "smb3" => "a network file system whose counters cannot be read here",
        "lustre" => "a network file system; its counters (osc.*.stats) can be read by root alone",
        "gpfs" | "beegfs" | "ceph" | "9p" | "virtiofs" | "afs" | "glusterfs" | "orangefs" | "pvfs2" => {
            "a network file system that keeps no counters of bytes where they can be read"
        }
        "overlay" | "aufs" => "its layers lie on several devices, or on none that can be seen from here",
        "zfs" | "btrfs" | "bcachefs" => "it lies on several devices, or on none that is named",
        name if name.starts_with("fuse") => {
            "a process in user space answers, and its sources cannot be watched"
        }
        _ => "no block device with counters lies beneath",
    };
    format!("{}: {kind}: {why}", facts.path)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MOUNTSTATS: &str = "\
device sysfs mounted on /sys with fstype sysfs
device 10.0.0.1:/export mounted on /mnt/a\\040b with fstype nfs4 statvers=1.1
	opts:	rw,vers=4.2,rsize=1048576,wsize=1048576
	age:	120
	caps:	caps=0x3ffbffff
	events:	1 2 3
	bytes:	1000 2000 30 40 5000 6000 7 8
	RPC iostats version: 1.1  p/v: 100003/4 (nfs)
device 10.0.0.1:/other mounted on /mnt/b with fstype nfs statvers=1.1
	bytes:	1 2 3 4 77 88 5 6
";

    #[test]
    fn nfs_counts_what_the_server_sent() {
        assert_eq!(nfs(MOUNTSTATS, "/mnt/a b"), Some(MountTraffic { read_bytes: 5000, write_bytes: 6000 }));
        assert_eq!(nfs(MOUNTSTATS, "/mnt/b"), Some(MountTraffic { read_bytes: 77, write_bytes: 88 }));
        assert_eq!(nfs(MOUNTSTATS, "/sys"), None);
        assert_eq!(nfs("device x mounted on /m with fstype nfs4\n\tbytes: 1 2", "/m"), None);
    }

    #[test]
    fn smb_counts_by_share_in_both_layouts() {
        let text = "Resources in use\nCIFS Session: 1\n0 session 0 share reconnects\n\n1) \\\\srv\\Data\nSMBs: 68\n\
                    Bytes read: 125760  Bytes written: 4096\nOpen files: 1 total\n2) \\\\srv\\old\nSMBs: 9\n\
                    Reads:  3 Bytes: 300\nWrites: 4 Bytes: 400\n";
        assert_eq!(smb(text, "//srv/data"), Some(MountTraffic { read_bytes: 125_760, write_bytes: 4096 }));
        assert_eq!(smb(text, "//srv/old"), Some(MountTraffic { read_bytes: 300, write_bytes: 400 }));
        assert_eq!(smb(text, "//srv/none"), None);
    }

    #[test]
    fn object_clients_are_summed() {
        let one = "snapshot_time 1 secs\nread_bytes 3 samples [bytes] 4096 1048576 2101248 9\n\
                   write_bytes 1 samples [bytes] 7 7 7 49\n";
        let two = "req_waittime 9 samples [usec] 1 2 3 4\nread_bytes 1 samples [bytes] 8 8 8 64\n";
        let moved = object_clients(&[one.into(), two.into(), String::new()]);
        assert_eq!(moved, MountTraffic { read_bytes: 2_101_256, write_bytes: 7 });
    }

    #[test]
    fn every_reason_names_path_and_kind() {
        for kind in ["fuse.sshfs", "nfs4", "gpfs", "tmpfs", "xyz"] {
            let facts =
                TargetFacts { path: "/p".into(), file_system: Some(kind.into()), ..Default::default() };
            assert!(reason(&facts).starts_with(&format!("/p: {kind}: ")));
        }
    }
}
