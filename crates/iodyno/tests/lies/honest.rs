//! Honest runs, each a real one of a dialect on disks of known speed with a file system, or over a cable between two network
//! namespaces, that nobody may accuse.
//!
//! None of them runs on `sim`: the checks of storage do not look at it, so such a run could not fail. What is doubted of a run
//! is a false alarm, unless figures prove that the machine did it: then the run is skipped with them. A note is true of a run
//! of a second or two, and no alarm. A test run takes one in four of them, `cargo xtask lies honest` all.

use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use testbed::{Case, Need, Outcome, Skip, free_port, wait};

use crate::ground::{DEEP, Disk};
use crate::hidden::{NEIGHBOURS, neighboured};
use crate::program;
use crate::stage::{self, StagedFindings, heard};

/// A test run takes one of so many.
const SAMPLE: usize = 4;

/// Where a run works.
#[derive(Clone, Copy, PartialEq)]
enum Ground {
    /// A disk with this file system.
    On(&'static str),
    /// Two disks: `HERE` and `THERE`.
    Two,
    /// A neighbour writes to another disk, which is no business of the run's.
    Apart,
    /// A neighbour reads from the same disk, and that is told.
    Shared,
    /// The other end of a cable, where this server of ours listens at `PORT`; its address is `THERE`.
    Cable(&'static str),
}

use Ground::{Apart, Cable, On, Shared, Two};

/// Scripts of filebench, by the word that stands for them in a command line.
const SCRIPTS: [(&str, &str); 3] = [
    (
        "READERS",
        "define fileset name=f,path=HERE,size=16m,entries=4,dirwidth=100,prealloc=100
         define process name=p,instances=1 { thread name=t,instances=2,memsize=1m {
           flowop read name=r,filesetname=f,iosize=4k,random,directio,opennext
         } }
         system \"sync\"
         run 3",
    ),
    (
        "MAIL",
        "define fileset name=f,path=HERE,size=16k,entries=200,dirwidth=1000000,prealloc=80
         define process name=p,instances=1 { thread name=t,instances=4,memsize=1m {
           flowop deletefile name=d,filesetname=f
           flowop createfile name=c,filesetname=f,fd=1
           flowop appendfilerand name=a,iosize=16k,fd=1
           flowop fsync name=s,fd=1
           flowop closefile name=z,fd=1
         } }
         system \"sync\"
         run 3",
    ),
    (
        "DATABASE",
        "define fileset name=f,path=HERE,size=8m,entries=4,dirwidth=100,prealloc=100
         define process name=w,instances=1 { thread name=w,instances=2,memsize=1m {
           flowop aiowrite name=w,filesetname=f,iosize=4k,workingset=8m,random,iters=10,opennext,directio,dsync
           flowop semblock name=b,value=20,highwater=20
           flowop aiowait name=a
         } }
         define process name=r,instances=1 { thread name=r,instances=4,memsize=1m {
           flowop read name=r,filesetname=f,iosize=4k,workingset=8m,random,opennext,directio
           flowop sempost name=p,value=1,target=b,blocking
         } }
         system \"sync\"
         run 3",
    ),
];

/// What runs where. `HERE` is the disk's folder, `THERE` that of a second one.
const RUNS: &[(Ground, &str)] = &[
    (On("ext4"), "fio --name=a --rw=randread --size=64m --direct=1 --runtime=4 --time_based"),
    (On("ext4"), "fio --name=a --rw=randwrite --size=64m --direct=1 --runtime=2 --time_based --overwrite=1"),
    (On("ext4"), "fio --name=a --rw=randrw --size=64m --direct=1 --runtime=2 --time_based --overwrite=1"),
    (On("ext4"), "fio --name=a --rw=read --bs=128k --size=64m --direct=1 --io_size=512m"),
    (On("ext4"), "fio --name=a --rw=write --bs=128k --size=256m --end_fsync=1"),
    (On("ext4"), "fio --name=a --rw=write --bs=128k --size=128m --direct=1 --fallocate=posix"),
    (On("ext4"), "fio --name=a --rw=write --bs=128k --size=32m --direct=1 --loops=4 --overwrite=1"),
    (
        On("ext4"),
        "fio --name=a --rw=randread --size=64m --direct=1 --runtime=2 --time_based --ioengine=io_uring --iodepth=16",
    ),
    (
        On("ext4"),
        "fio --name=a --rw=randread --size=64m --direct=1 --runtime=2 --time_based --ioengine=libaio --iodepth=4",
    ),
    (
        On("ext4"),
        "fio --name=a --rw=randwrite --size=64m --fdatasync=1 --runtime=2 --time_based --overwrite=1",
    ),
    (On("ext4"), "fio --name=a --rw=randread --size=64m --direct=1 --rate_iops=200 --runtime=2 --time_based"),
    (
        On("ext4"),
        "fio --name=a --rw=randread --size=16m --numjobs=4 --direct=1 --runtime=2 --time_based --group_reporting",
    ),
    (On("ext4"), "fio --name=a --rw=write --bs=64k --size=128m --fsync=16 --direct=1"),
    (
        On("ext4"),
        "fio --name=a --rw=randread --bssplit=4k/60:64k/40 --size=64m --direct=1 --runtime=2 --time_based",
    ),
    (
        On("ext4"),
        "fio --name=a --rw=randwrite --bsrange=4k-32k --size=64m --direct=1 --runtime=2 --time_based --overwrite=1",
    ),
    (On("xfs"), "fio --name=a --rw=randread --size=64m --direct=1 --runtime=4 --time_based"),
    (On("xfs"), "fio --name=a --rw=randwrite --size=64m --direct=1 --runtime=2 --time_based --overwrite=1"),
    (On("xfs"), "fio --name=a --rw=write --bs=128k --size=256m --end_fsync=1"),
    (On("xfs"), "fio --name=a --rw=write --bs=128k --size=128m --direct=1 --fallocate=posix"),
    (
        On("xfs"),
        "fio --name=a --rw=randwrite --size=64m --fdatasync=1 --runtime=2 --time_based --overwrite=1",
    ),
    (On("btrfs"), "fio --name=a --rw=randread --size=64m --direct=1 --runtime=4 --time_based"),
    (On("btrfs"), "fio --name=a --rw=randwrite --size=64m --direct=1 --runtime=2 --time_based --overwrite=1"),
    (On("btrfs"), "fio --name=a --rw=write --bs=128k --size=256m --end_fsync=1"),
    (On("btrfs"), "fio --name=a --rw=write --bs=128k --size=128m --direct=1 --fallocate=posix"),
    (
        On("btrfs"),
        "fio --name=a --rw=randwrite --size=64m --fdatasync=1 --runtime=2 --time_based --overwrite=1",
    ),
    (On("ext4"), "ior -w -r -t 256k -b 128m -e -o HERE/ior --posix.odirect"),
    (On("ext4"), "ior -w -t 256k -b 128m -e -o HERE/ior"),
    (On("ext4"), "ior -w -r -z -t 64k -b 32m -e -o HERE/ior --posix.odirect"),
    (On("ext4"), "ior -w -r -C -t 128k -b 64m -e -o HERE/ior --posix.odirect"),
    (On("ext4"), "ior -w -r -F -t 256k -b 64m -e -o HERE/ior --posix.odirect"),
    (On("ext4"), "mdtest -n 20000 -C -r -d HERE/mdtest"),
    (On("ext4"), "dd if=/dev/zero of=HERE/dd bs=256k count=256 oflag=direct"),
    (On("ext4"), "dd if=/dev/zero of=HERE/dd bs=256k count=512 conv=fsync"),
    (On("ext4"), "iozone -I -e -i 0 -i 1 -r 64k -s 32m -f HERE/iozone"),
    (On("ext4"), "iozone -I -e -i 0 -i 2 -r 16k -s 16m -f HERE/iozone"),
    (On("ext4"), "measure --quick --size 64MiB HERE"),
    (On("ext4"), "filebench -f READERS"),
    (On("ext4"), "filebench -f MAIL"),
    (On("ext4"), "filebench -f DATABASE"),
    (On("xfs"), "filebench -f READERS"),
    (Cable("iperf3 -s -1 -p PORT"), "iperf3 -c THERE -p PORT -t 3"),
    (Cable("iperf3 -s -1 -p PORT"), "iperf3 -c THERE -p PORT -t 3 -b 200M"),
    (Cable("iperf3 -s -1 -p PORT"), "iperf3 -c THERE -p PORT -t 3 -R -P 2 -b 100M"),
    (Cable("iperf3 -s -1 -p PORT"), "iperf3 -c THERE -p PORT -t 3 -u -b 20M"),
    (Cable("netserver -D -4 -p PORT"), "netperf -H THERE -p PORT -l 3 -t TCP_STREAM"),
    (Cable("netserver -D -4 -p PORT"), "netperf -H THERE -p PORT -l 3 -t TCP_RR"),
    (Cable("netserver -D -4 -p PORT"), "netperf -H THERE -p PORT -l 3 -t UDP_RR"),
    (
        Two,
        "fio --name=a --filename=HERE/data:THERE/data --rw=randread --size=64m --direct=1 --runtime=2 --time_based",
    ),
    (
        Two,
        "fio --name=a --rw=randread --size=32m --direct=1 --runtime=2 --time_based --directory=HERE:THERE --numjobs=2",
    ),
    (Apart, "fio --name=a --rw=randread --size=64m --direct=1 --runtime=4 --time_based"),
    (Apart, "fio --name=a --rw=randwrite --size=64m --direct=1 --runtime=2 --time_based --overwrite=1"),
    (Apart, "fio --name=a --rw=write --bs=128k --size=128m --direct=1 --fallocate=posix"),
    (Shared, "fio --name=a --rw=randread --size=64m --direct=1 --runtime=4 --time_based"),
    (
        Shared,
        "fio --name=a --rw=randread --size=64m --direct=1 --runtime=2 --time_based --ioengine=io_uring --iodepth=16",
    ),
];

/// A case for each of them, or for each of the sample.
pub fn cases() -> Vec<Case> {
    let all = RUNS.iter().enumerate().filter(|(index, _)| stage::is_wanted() || index.is_multiple_of(SAMPLE));
    all.map(|(index, (ground, run))| case(index, *ground, run)).collect()
}

fn case(index: usize, ground: Ground, run: &'static str) -> Case {
    let mut needs = DEEP.to_vec();
    match ground {
        Cable(_) => needs = vec![Need::Root, Need::Tool("ip")],
        On("xfs") => needs.extend([Need::FileSystem("xfs"), Need::Tool("mkfs.xfs")]),
        On("btrfs") => needs.extend([Need::FileSystem("btrfs"), Need::Tool("mkfs.btrfs")]),
        _ => {}
    }
    let tool = run.split(' ').next().unwrap_or_default();
    let body = move || judged(ground, run);
    Case::new(format!("honest_{index:02}_{tool}"), &needs, body).alone()
}

/// Runs it, and writes the verdict down.
fn judged(ground: Ground, run: &str) -> Outcome {
    let told = stage::watched(|| on(ground, run))?;
    let accusations = told.accusations();
    let is_excused = told.findings.iter().any(|finding| finding.severity > iodyno_model::Severity::Note);
    let word = match (accusations.is_empty(), is_excused) {
        (false, _) => "false alarm",
        (true, true) => "skipped",
        (true, false) => "silent",
    };
    let what = told.list();
    stage::note(0, "honest", word, run, &what);
    match word {
        "silent" => Ok(()),
        "skipped" => Err(Skip::new(format!("the machine's doing: {what}")).into()),
        _ => Err(format!("`{run}`: {what}").into()),
    }
}

/// Makes the ground and runs it there.
fn on(ground: Ground, run: &str) -> StagedFindings {
    if let Cable(server) = ground {
        return over_a_cable(server, run);
    }
    let file_system = if let On(file_system) = ground { file_system } else { "ext4" };
    let disk = Disk::new(512, 400)?.formatted(file_system, "")?;
    let here = disk.folder();
    if let On(_) = ground {
        return real(here, here, run);
    }
    if ground == Shared {
        let mut told = neighboured(here, "read", || real(here, here, run))?;
        told.retain(|finding| !NEIGHBOURS.contains(&finding.code));
        return Ok(told);
    }
    let other = Disk::new(512, 400)?.formatted("ext4", "")?;
    match ground {
        Apart => neighboured(other.folder(), "write", || real(here, here, run)),
        _ => real(here, other.folder(), run),
    }
}

/// A network namespace of its own at the other end of a cable. Dropping it takes both down.
struct Wire {
    name: String,
}

/// The addresses of both ends, of the block that is kept for benchmarks (RFC 2544).
const ENDS: [&str; 2] = ["198.18.77.1", "198.18.77.2"];

impl Wire {
    fn laid() -> Result<Wire, Skip> {
        static LAID: AtomicU32 = AtomicU32::new(0);
        // Names of interfaces have fifteen letters at most, and one that is taken down stays for a moment.
        let name = format!("io{}n{}", std::process::id(), LAID.fetch_add(1, Relaxed));
        let wire = Wire { name };
        let name = &wire.name;
        for line in [
            format!("netns add {name}"),
            format!("link add {name} type veth peer name eth0 netns {name}"),
            format!("addr add {}/30 dev {name}", ENDS[0]),
            format!("link set {name} up"),
            format!("-n {name} addr add {}/30 dev eth0", ENDS[1]),
            format!("-n {name} link set eth0 up"),
            format!("-n {name} link set lo up"),
        ] {
            ip(&line)?;
        }
        Ok(wire)
    }

    /// The program at the other end.
    fn there(&self, words: &str) -> Command {
        let mut command = Command::new("ip");
        command.args(["netns", "exec", &self.name, program::IODYNO]);
        program::dressed(command, words.split(' '))
    }
}

impl Drop for Wire {
    fn drop(&mut self) {
        // The cable goes with either of its ends.
        let _ = ip(&format!("netns del {}", self.name));
    }
}

fn ip(line: &str) -> Result<(), Skip> {
    let told = Command::new("ip").args(line.split(' ')).output();
    let told = told.map_err(|error| Skip::new(format!("ip: {error}")))?;
    match told.status.success() {
        true => Ok(()),
        false => Err(Skip::new(format!("ip {line}: {}", String::from_utf8_lossy(&told.stderr).trim()))),
    }
}

/// Runs it against a server at the other end of a cable.
fn over_a_cable(server: &str, run: &str) -> StagedFindings {
    let wire = Wire::laid()?;
    let port = free_port()?;
    let with = |line: &str| line.replace("PORT", &port.to_string()).replace("THERE", ENDS[1]);
    let mut server = program::Running::start(wire.there(&with(server)));
    // In the table of the namespace that it was started in.
    let tables = ["tcp", "tcp6"].map(|table| format!("/proc/{}/net/{table}", server.pid()));
    let listening = format!(":{port:04X} ");
    let listens = |table: &String| {
        let table = std::fs::read_to_string(table).unwrap_or_default();
        table.lines().any(|line| line.contains(&listening) && line.contains(" 0A "))
    };
    wait::until("a server that listens", || tables.iter().any(listens) || !server.is_there())?;
    let home = tempfile::TempDir::new()?;
    let told = real(home.path(), home.path(), &with(run));
    server.signal_all(libc::SIGKILL);
    let _ = server.outcome();
    told
}

/// Runs it and hears its findings.
fn real(here: &Path, there: &Path, run: &str) -> StagedFindings {
    let home = tempfile::TempDir::new()?;
    let json = home.path().join("honest.json");
    let mut run = run.to_string();
    for (word, text) in SCRIPTS.iter().filter(|(word, _)| run.ends_with(word)).collect::<Vec<_>>() {
        let script = home.path().join("script.f");
        std::fs::write(&script, text.replace("HERE", &here.display().to_string()))?;
        run = run.replace(word, &script.display().to_string());
    }
    let run = run.as_str();
    let words =
        run.replace("THERE", &there.display().to_string()).replace("HERE", &here.display().to_string());
    let mut command = program::iodyno(words.split_whitespace());
    if run.starts_with("fio ") {
        // A program that was not optimised takes half of its time for filling buffers, and is told so rightly.
        command.arg("--scramble_buffers=0");
    }
    command.current_dir(here);
    match run.starts_with("measure ") {
        true => command.arg("--json").arg(&json),
        false => command.env("IODYNO_ALSO", format!("json={}", json.display())),
    };
    let told = program::told(command);
    if told.code() != 0 {
        return Err(format!("{run}: {told}").into());
    }
    heard(&told, &json)
}
