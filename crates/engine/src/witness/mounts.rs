//! What the clients of network file systems moved: NFS, SMB, Lustre and GPFS count their own bytes.
//!
//! Sources: `/proc/self/mountstats` (nfs: `bytes:`, the fifth and sixth number are what went to and came from the server),
//! `/proc/fs/cifs/Stats`, Lustre's `osc.*.stats` under debugfs or procfs, and `mmpmon` of GPFS (`fs_io_s`), which counts
//! what its own cache served as well: that its client was asked, not that its servers were. Others count nothing that can be read
//! without their own tools; of those it is said that nothing can be reported, with the reason.

use std::io::Write;
use std::process::{Command, Stdio};

use iodyno_model::{MountActivity, TargetFacts};

use super::bounded_probe;

/// Where GPFS has its commands, which are seldom on the path.
const GPFS_COMMANDS: &str = "/usr/lpp/mmfs/bin";

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
    /// A path below it that is worked on.
    path: String,
    before: MountTraffic,
}

impl WatchedMount {
    /// The mount beneath a target, if its file system counts what it moves.
    pub fn of(facts: &TargetFacts) -> Option<WatchedMount> {
        let (point, kind) = (facts.mount_point.as_deref()?, facts.file_system.as_deref()?);
        let source = facts.source.as_deref().unwrap_or_default();
        let before = read(kind, point, source)?;
        let path = facts.path.clone();
        Some(WatchedMount {
            point: point.into(),
            file_system: kind.into(),
            source: source.into(),
            path,
            before,
        })
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
            includes_cache: self.file_system == "gpfs",
        })
    }

    /// Why nothing can be told of the servers, where its client counts its cache as well.
    pub fn reason(&self, activity: &MountActivity) -> Option<String> {
        activity.includes_cache.then(|| {
            format!(
                "{}: {}: its client counted {} bytes read and {} bytes written, its own cache included (mmpmon); what \
                 went to and came from its servers it does not count",
                self.path, self.file_system, activity.read_bytes, activity.write_bytes
            )
        })
    }
}

fn read(kind: &str, point: &str, source: &str) -> Option<MountTraffic> {
    match kind {
        "nfs" | "nfs4" => nfs(&std::fs::read_to_string("/proc/self/mountstats").ok()?, point),
        "cifs" | "smb3" => smb(&std::fs::read_to_string("/proc/fs/cifs/Stats").ok()?, source),
        "lustre" => lustre(source),
        "gpfs" => {
            let source = source.to_string();
            bounded_probe::ask(move || gpfs(&mmpmon()?, &source)).flatten()
        }
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

/// What `mmpmon` says about the file systems that are mounted here; only root may ask.
fn mmpmon() -> Option<String> {
    let named = std::env::var_os("PATH").unwrap_or_default();
    let places = std::env::split_paths(&named).chain([GPFS_COMMANDS.into()]);
    let program = places.map(|place| place.join("mmpmon")).find(|program| program.is_file())?;
    let mut asked = Command::new(program)
        .args(["-p", "-s"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // Closed at once: the end of its input ends it.
    let written = asked.stdin.take().map(|mut input| input.write_all(b"fs_io_s\n"));
    let answer = asked.wait_with_output().ok()?;
    written?.ok().filter(|()| answer.status.success())?;
    Some(String::from_utf8_lossy(&answer.stdout).into_owned())
}

/// Lines `_fs_io_s_ _n_ ADDRESS … _rc_ 0 … _fs_ NAME … _br_ BYTES _bw_ BYTES …`: keys with their values. The mount table may
/// call a file system otherwise; the only one there is will do.
fn gpfs(text: &str, source: &str) -> Option<MountTraffic> {
    let name = source.rsplit('/').next()?;
    let of = |line: &str| {
        let words: Vec<&str> = line.strip_prefix("_fs_io_s_")?.split_whitespace().collect();
        let value = |key: &str| words.chunks_exact(2).find(|pair| pair[0] == key).map(|pair| pair[1]);
        let number = |key: &str| value(key)?.parse::<u64>().ok();
        let traffic = MountTraffic { read_bytes: number("_br_")?, write_bytes: number("_bw_")? };
        (value("_rc_")? == "0").then_some((value("_fs_")?.to_string(), traffic))
    };
    let all: Vec<_> = text.lines().filter_map(of).collect();
    match (all.iter().find(|(known, _)| known == name), all.as_slice()) {
        (Some((_, traffic)), _) | (None, [(_, traffic)]) => Some(*traffic),
        _ => None,
    }
}

/// Why nothing can be told of a target that no device and no such client counts for.
pub fn reason(facts: &TargetFacts) -> String {
    let kind = facts.file_system.as_deref().unwrap_or("a file system that no mount table names");
    let why = match kind {
        "tmpfs" | "ramfs" | "hugetlbfs" | "devtmpfs" => "it is memory, nothing lies beneath",
        "nfs" | "nfs4" | "cifs" | "smb3" => "a network file system whose counters cannot be read here",
        "lustre" => "a network file system; its counters (osc.*.stats) can be read by root alone",
        "gpfs" => {
            "a network file system whose counters are mmpmon's, which only root may ask where GPFS runs"
        }
        "beegfs" | "ceph" | "9p" | "virtiofs" | "afs" | "glusterfs" | "orangefs" | "pvfs2" => {
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
    fn gpfs_counts_by_file_system() {
        let one = "_fs_io_s_ _n_ 10.0.0.5 _nn_ node5 _rc_ 0 _t_ 1579358234 _tu_ 53212 _cl_ c.domain _fs_ scratch _d_ 48 \
                   _br_ 205607400434 _bw_ 74839282351 _oc_ 2 _cc_ 2 _rdc_ 5 _wc_ 1 _dir_ 4 _iu_ 5\n";
        let two = "_fs_io_s_ _n_ 10.0.0.5 _nn_ node5 _rc_ 0 _t_ 1 _tu_ 2 _cl_ c.domain _fs_ project _d_ 9 _br_ 7 _bw_ 8 _oc_ 0\n";
        let scratch = MountTraffic { read_bytes: 205_607_400_434, write_bytes: 74_839_282_351 };
        for source in ["scratch", "/dev/scratch"] {
            assert_eq!(gpfs(&format!("{two}{one}"), source), Some(scratch));
        }
        assert_eq!(gpfs(one, "remote_scratch"), Some(scratch), "the only one there is");
        assert_eq!(gpfs(&format!("{one}{two}"), "else"), None);
        assert_eq!(gpfs(&one.replace("_rc_ 0", "_rc_ 1"), "scratch"), None);
        assert_eq!(gpfs("mmpmon: cannot connect\n", "scratch"), None);
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
