//! Arrays in a guest, their script, and what their members were asked for.
//!
//! What iodyno itself reads of a device before a run, to see whether it is somebody's (its signatures), is among the requests of the
//! members as well: so many reads at most may be more than the simulation says. Writes are equal, one by one. Which member a
//! random request goes to is chance: each member's part lies within four standard deviations of its share.

use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;
use testbed::{Case, Need, Outcome, Skip};

use crate::archive::Archive;
use crate::boot::{add_programs, boot};

/// Where `cargo xtask against raid` has laid a kernel, its modules, a shell and mdadm.
const PARTS: &str = "IODYNO_RAID_GUEST";
/// In the order in which they need each other.
const MODULES: [&str; 13] = [
    "crc32c_generic.ko",
    "libcrc32c.ko",
    "xor.ko",
    "raid6_pq.ko",
    "async_tx.ko",
    "async_memcpy.ko",
    "async_xor.ko",
    "async_pq.ko",
    "async_raid6_recov.ko",
    "md-mod.ko",
    "raid0.ko",
    "raid456.ko",
    "loop.ko",
];
/// Reads of signatures, and their bytes.
const SIGNATURE_READS: u64 = 40;
const SIGNATURE_BYTES: u64 = 512 << 10;

/// A load on an array.
struct ArrayLoad {
    level: u32,
    members: u64,
    verb: &'static str,
    pick: &'static str,
    block_kib: u64,
    operations: u64,
}

const LOADS: [ArrayLoad; 5] = [
    // Small reads; small writes, which read data and parity and write both; whole stripes.
    ArrayLoad { level: 5, members: 4, verb: "read", pick: "random", block_kib: 4, operations: 600 },
    ArrayLoad { level: 5, members: 4, verb: "write", pick: "random", block_kib: 4, operations: 600 },
    ArrayLoad { level: 5, members: 4, verb: "write", pick: "sequential", block_kib: 192, operations: 60 },
    ArrayLoad { level: 0, members: 12, verb: "read", pick: "random", block_kib: 4, operations: 600 },
    ArrayLoad { level: 0, members: 12, verb: "read", pick: "sequential", block_kib: 768, operations: 20 },
];

impl ArrayLoad {
    fn name(&self) -> String {
        format!("raid{} {} {} {}k", self.level, self.pick, self.verb, self.block_kib)
    }

    /// Its plan on a target.
    fn plan(&self, head: &str, engine: &str) -> String {
        let ArrayLoad { verb, pick, block_kib, operations, .. } = self;
        format!(
            "name = \"array\"\n{head}\n[[phase]]\nname = \"load\"\n[[phase.job]]\nname = \"load\"\non = \"t\"\nengine = \"{engine}\"\n\
             do = \"{verb}\"\npick = \"{pick}\"\nblock = \"{block_kib}KiB\"\nuntil = {{ operations = {operations} }}\n"
        )
    }

    /// What the simulated array asks its disks for: requests and bytes.
    fn simulated(&self) -> Result<(u64, u64), Box<dyn std::error::Error>> {
        let head = format!(
            "[target.t]\nnothing = \"64MiB\"\n[device]\nname = \"array\"\n[device.part.array.raid]\nover = \"member\"\nlevel = {}\n\
             disks = {}\nchunk = \"64KiB\"\n[device.part.member.station]\ncapacity = \"64MiB\"",
            self.level, self.members
        );
        let home = tempfile::tempdir()?;
        std::fs::write(home.path().join("plan.toml"), self.plan(&head, "sim"))?;
        let mut command = Command::new(env!("CARGO_BIN_EXE_iodyno"));
        command.args(["run", "plan.toml", "--no-save", "--json", "r.json"]).current_dir(home.path());
        let said = command.output()?;
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
        let record: Value = serde_json::from_slice(&std::fs::read(home.path().join("r.json"))?)?;
        let parts = record["phases"][0]["parts"].as_array().ok_or("no parts")?;
        let member = parts.iter().find(|part| part["name"] == "member").ok_or("no member")?;
        let figure = |key: &str| member[key].as_u64().ok_or(format!("no {key}: {member}"));
        Ok((figure("requests")?, figure("bytes")?))
    }

    /// The script's lines for it.
    fn script(&self) -> String {
        let plan = self.plan("[target.t]\ndevice = \"/dev/md0\"\ndirect = true", "psync");
        format!(
            "cat > p.toml <<END\n{plan}END\nstats before {name}\niodyno run p.toml --destroy /dev/md0 --no-save > /tmp/said 2>&1 \
             || cat /tmp/said\nstats after {name}\n",
            name = self.name()
        )
    }
}

/// The first program of the guest: modules, members, each array with its loads, two neighbours with a limit, the end.
///
/// Without a bitmap and with its superblocks written (a write before, and none when it rests) an array writes nothing of its own.
/// With `rmw_level` 2 RAID 5 reads and writes what it must of a small write: of four members reading the others is as much, and
/// md would do that.
const FIRST: &str = "#!/bin/busybox sh
/bin/busybox --install -s /bin
export PATH=/bin LD_LIBRARY_PATH=/lib IODYNO_HISTORY=off IODYNO_FINDINGS=0
mount -t proc proc /proc
mount -t sysfs sys /sys
mount -t devtmpfs dev /dev
mount -t tmpfs -o size=600m tmp /tmp
for module in MODULES; do insmod /lib/$module; done
cd /tmp
members() {
    list=
    n=0
    while [ $n -lt $1 ]; do
        [ -b /dev/loop$n ] || mknod /dev/loop$n b 7 $n
        losetup -d /dev/loop$n 2> /dev/null
        rm -f member$n
        truncate -s $2 member$n
        losetup /dev/loop$n member$n
        list=\"$list /dev/loop$n\"
        n=$((n + 1))
    done
}
stats() {
    echo \"== $*\"
    for device in $list; do echo member $(cat /sys/block/${device#/dev/}/stat); done
}
array() {
    members $2 $3
    mdadm --create /dev/md0 --run --level=$1 --raid-devices=$2 --chunk=64 $4 --metadata=1.2 $list
    [ $1 = 0 ] || echo 2 > /sys/block/md0/md/rmw_level
    echo 0 > /sys/block/md0/md/safe_mode_delay
    dd if=/dev/zero of=/dev/md0 bs=64k count=1 oflag=direct 2> /dev/null
    sleep 1
}
ARRAYS
mdadm --stop /dev/md0
mount -t cgroup2 none /sys/fs/cgroup
echo \"== neighbours\"
iodyno neighbours /dev/loop0 /dev/loop0 --io-max iops=50 --loads 100 --time 2s --json 2>&1
echo \"== groups\"
ls /sys/fs/cgroup | grep iodyno
cat /sys/fs/cgroup/cgroup.subtree_control
echo \"== over\"
poweroff -f
";

pub fn cases() -> Vec<Case> {
    let tools = ["qemu-system-x86_64", "ldd"].map(Need::Tool);
    let needs: Vec<Need> = [Need::That(parts_there)].into_iter().chain(tools).collect();
    vec![
        Case::new("raid_members_of_md_are_asked_for_what_the_simulation_says", &needs, members)
            .alone()
            .against(),
    ]
}

fn parts() -> Option<PathBuf> {
    std::env::var_os(PARTS).map(PathBuf::from)
}

fn parts_there() -> Result<(), Skip> {
    match parts().is_some_and(|folder| folder.join("vmlinuz").is_file()) {
        true => Ok(()),
        false => Err(Skip::new("only `cargo xtask against raid` fetches a kernel with md for a guest")),
    }
}

fn first_file_system(parts: &std::path::Path) -> Result<Vec<u8>, String> {
    let mut archive = Archive::default();
    ["bin", "lib", "lib64", "proc", "sys", "dev", "tmp", "run"]
        .iter()
        .for_each(|name| archive.directory(name));
    let loads = |level| LOADS.iter().filter(move |load| load.level == level).map(ArrayLoad::script);
    let arrays = format!(
        "array 5 4 24M '--assume-clean --bitmap=none'\n{}mdadm --stop /dev/md0\narray 0 12 16M ''\n{}",
        loads(5).collect::<String>(),
        loads(0).collect::<String>()
    );
    let first = FIRST.replace("MODULES", &MODULES.join(" ")).replace("ARRAYS", &arrays);
    archive.program("init", first.as_bytes());
    archive.copy("bin/busybox", &parts.join("busybox"))?;
    let programs = [("iodyno", PathBuf::from(env!("CARGO_BIN_EXE_iodyno"))), ("mdadm", parts.join("mdadm"))];
    add_programs(&mut archive, &programs, Vec::new())?;
    for module in MODULES {
        archive.copy(&format!("lib/{module}"), &parts.join(module))?;
    }
    Ok(archive.done())
}

/// What a member was asked for: reads, bytes read, writes, bytes written.
type MemberCounts = [u64; 4];

/// The counts of each member at a title.
fn counts(said: &str, title: &str) -> Result<Vec<MemberCounts>, String> {
    let part =
        said.split(&format!("== {title}\n")).nth(1).ok_or_else(|| format!("{title}: not run:\n{said}"))?;
    let of = |line: &str| -> Option<MemberCounts> {
        let words = line.strip_prefix("member ")?.split_whitespace();
        let fields: Vec<u64> = words.filter_map(|word| word.parse().ok()).collect();
        Some([*fields.first()?, fields.get(2)? * 512, *fields.get(4)?, fields.get(6)? * 512])
    };
    Ok(part.lines().map_while(of).collect())
}

fn members() -> Outcome {
    let parts = parts().ok_or("no parts")?;
    let said = boot(&parts, &first_file_system(&parts)?, 1536)?;
    for load in &LOADS {
        let (before, after) = (
            counts(&said, &format!("before {}", load.name()))?,
            counts(&said, &format!("after {}", load.name()))?,
        );
        let each: Vec<MemberCounts> = before
            .iter()
            .zip(&after)
            .map(|(before, after)| std::array::from_fn(|at| after[at] - before[at]))
            .collect();
        judge(load, &each).map_err(|why| format!("{}: {why}: {each:?}\n{said}", load.name()))?;
        eprintln!("{}: {each:?}", load.name());
    }
    neighbours(&said).map_err(|why| format!("{why}\n{said}").into())
}

fn judge(load: &ArrayLoad, each: &[MemberCounts]) -> Result<(), String> {
    let sum = |at: usize| each.iter().map(|counts| counts[at]).sum::<u64>();
    let (requests, bytes) = load.simulated().map_err(|error| error.to_string())?;
    if each.len() as u64 != load.members {
        return Err("not all members".into());
    }
    let is_small_write = load.verb == "write" && load.pick == "random";
    let (writes, written) = match (load.verb, is_small_write) {
        ("read", _) => (0, 0),
        (_, true) => (requests / 2, bytes / 2),
        _ => (requests, bytes),
    };
    let (reads, read) = (requests - writes, bytes - written);
    if (sum(2), sum(3)) != (writes, written) {
        return Err(format!("{writes} writes of {written} bytes were simulated"));
    }
    let (more, more_bytes) = (sum(0).checked_sub(reads), sum(1).checked_sub(read));
    let is_near = more.is_some_and(|more| more <= SIGNATURE_READS)
        && more_bytes.is_some_and(|more| more <= SIGNATURE_BYTES);
    if !is_near {
        return Err(format!("{reads} reads of {read} bytes were simulated"));
    }
    for counts in each {
        let (share, of) =
            (1.0 / load.members as f64, if load.verb == "read" { (0, reads) } else { (2, writes) });
        let expected = of.1 as f64 * share;
        let deviation = if load.pick == "random" { (expected * (1.0 - share)).sqrt() } else { 0.0 };
        let most = 4.0 * deviation + if load.verb == "read" { SIGNATURE_READS as f64 } else { 0.0 };
        if (counts[of.0] as f64 - expected).abs() > most {
            return Err(format!("a member has {} of {expected:.0}, at most {most:.0} off", counts[of.0]));
        }
    }
    Ok(())
}

/// The one that is limited by `io.max` of version 2 does no more than it may, and nothing is left behind.
fn neighbours(said: &str) -> Result<(), String> {
    let part =
        |title: &str| said.split(&format!("== {title}\n")).nth(1).and_then(|rest| rest.split("== ").next());
    let text = part("neighbours").ok_or("no neighbours")?;
    let json = &text[text.find("{\n").ok_or("no report of neighbours")?..];
    let report: Value = serde_json::from_str(json.trim()).map_err(|error| error.to_string())?;
    let sections = report["sections"].as_array().ok_or("no sections")?;
    let limited =
        |section: &&Value| section["title"].as_str().is_some_and(|title| title.contains("which may do"));
    let rates: Vec<f64> = sections
        .iter()
        .filter(limited)
        .filter_map(|section| section["rows"].as_array()?.last()?[1].as_f64())
        .collect();
    // The kernel lets pass at once what a slice of time allows.
    match rates.len() == 2 && rates.iter().all(|rate| *rate <= 50.0 * 1.2) {
        true => {}
        false => return Err(format!("limited to 50 operations a second, they did {rates:?}")),
    }
    match part("groups").map(str::trim) {
        Some("") => Ok(()),
        left => Err(format!("groups or controllers are left: {left:?}")),
    }
}
