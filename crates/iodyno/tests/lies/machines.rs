//! Lies of the machine: a generator that is too slow, processors that are taken away, strangers on the device, clocks that
//! are set, a network that is full.
//!
//! Each is staged in a corner of its own (a control group, a network namespace, a library that only our child loads), so
//! that nothing of it is felt outside.

use std::fs;
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::Relaxed};
use std::thread::JoinHandle;

use iodyno_model::Finding;
use tempfile::TempDir;
use testbed::fuse::{Config, Device, Service};
use testbed::{Need, Skip, wait};

use crate::ground::{self, DISK};
use crate::program;
use crate::stage::{Lie, StagedFindings, heard};

const MILLISECOND: u64 = 1_000_000;
const FUSE: &[Need] = &[Need::Root, Need::Fuse];
const GROUP: &[Need] = &[Need::Root, Need::Fuse, Need::That(may_limit)];
const CLOCK: &[Need] = &[Need::Root, Need::Fuse, Need::Tool("cc"), Need::Tool("unshare")];
const NETWORK: &[Need] = &[Need::Root, Need::Tool("unshare"), Need::Tool("ip"), Need::Tool("tc")];
const NOTES: &[u8] = &[6, 22];

/// The lies of this file.
pub fn lies() -> Vec<Lie> {
    vec![
        Lie::new(10, "the load generator was the bottleneck", FUSE, laboured, light)
            .besides(NOTES)
            .alone()
            .twin_alone(),
        Lie::new(11, "the machine was not ours", GROUP, held_back, unlimited).besides(NOTES).twin_alone(),
        Lie::new(11, "one busy machine, found out once", &[Need::Tool("timeout")], busy, busy)
            .part("busy")
            .besides(NOTES)
            .alone()
            .without_twin(),
        Lie::new(12, "somebody else used the device", DISK, crowded, alone).besides(NOTES),
        Lie::new(15, "a clock that was set", CLOCK, set_forward, elsewhere).besides(NOTES),
        Lie::new(18, "the network was the limit", NETWORK, shaped, open).besides(&[6, 23]),
    ]
}

/// Runs a command that leaves a JSON document behind, and whatever else beside it; its findings.
fn said(mut command: Command, json: &Path) -> StagedFindings {
    command.current_dir(json.parent().unwrap_or(json));
    let told = program::told(command);
    if told.code() != 0 { Err(told.to_string().into()) } else { heard(&told, json) }
}

/// fio's way of writing 256 KiB blocks, with or without a digest of each.
fn writes(extra: &[&str]) -> StagedFindings {
    let config = Config { write: Service::Constant(MILLISECOND / 10), ..Config::default() };
    let device = Device::mount(config)?;
    let home = TempDir::new()?;
    let json = home.path().join("out.json");
    let mut command =
        program::iodyno(["fio", "--name=writes", "--rw=write", "--direct=1", "--bs=256k", "--size=64m"]);
    command.args(["--ioengine=psync", "--time_based", "--runtime=2", "--output-format=json"]).args(extra);
    command.arg(format!("--filename={}", device.path().display())).arg("--output").arg(&json);
    said(command, &json)
}

fn laboured() -> StagedFindings {
    writes(&["--verify=sha3-512", "--do_verify=0", "--refill_buffers"])
}

/// Buffers that stay as they are: to fill them takes half of the time of a program that was not optimised.
fn light() -> StagedFindings {
    writes(&["--scramble_buffers=0"])
}

const CPU: &str = "/sys/fs/cgroup/cpu";

/// Whether processor time can be limited here; by control groups of the first version, or by the second's.
fn may_limit() -> Result<(), Skip> {
    let known = fs::metadata(format!("{CPU}/cpu.cfs_quota_us")).is_ok();
    let second = fs::read_to_string("/sys/fs/cgroup/cgroup.subtree_control");
    if known || second.is_ok_and(|controllers| controllers.contains("cpu")) {
        return Ok(());
    }
    Err(Skip::new("no control group here limits processor time"))
}

/// A control group of our own; dropping it takes it away.
struct Group(PathBuf);

impl Group {
    fn new(quota_us: Option<u32>) -> io::Result<Group> {
        let first = Path::new(CPU).join("cpu.cfs_quota_us").exists();
        let root = if first { CPU } else { "/sys/fs/cgroup" };
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("iodyno-lies-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
        let group = Group(Path::new(root).join(name));
        fs::create_dir(&group.0)?;
        if let Some(quota) = quota_us {
            match first {
                true => fs::write(group.0.join("cpu.cfs_quota_us"), quota.to_string())?,
                false => fs::write(group.0.join("cpu.max"), format!("{quota} 100000"))?,
            }
        }
        Ok(group)
    }

    /// The command will run in it.
    fn take(&self, command: &mut Command) {
        let members = self.0.join("cgroup.procs");
        // SAFETY: between fork and exec the closure only opens, writes and closes a file.
        unsafe { command.pre_exec(move || fs::write(&members, "0")) };
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The last member may only just have ended.
        let gone = wait::until("an empty control group", || fs::remove_dir(&self.0).is_ok());
        if gone.is_err() {
            eprintln!("warning: {} could not be removed", self.0.display());
        }
    }
}

/// Reads that cost processor time, in a group with so much of it for each tenth of a second.
fn grouped(quota_us: Option<u32>) -> StagedFindings {
    let device = Device::mount(Config { read: Service::Constant(MILLISECOND), ..Config::default() })?;
    let group = Group::new(quota_us)?;
    let home = TempDir::new()?;
    let json = home.path().join("out.json");
    let mut command =
        program::iodyno(["fio", "--name=reads", "--rw=randread", "--direct=1", "--bs=4k", "--size=64m"]);
    command.args(["--time_based", "--runtime=3", "--thinktime_spin=2000", "--thinktime=2000"]);
    command.args(["--thread", "--output-format=json"]);
    command.arg(format!("--filename={}", device.path().display())).arg("--output").arg(&json);
    group.take(&mut command);
    said(command, &json)
}

fn held_back() -> StagedFindings {
    grouped(Some(10_000))
}

fn unlimited() -> StagedFindings {
    grouped(None)
}

/// Processes that do nothing but want a processor, for as long as GNU timeout lets them.
struct Burners(Vec<Child>);

impl Burners {
    fn start(count: usize, seconds: &str) -> io::Result<Burners> {
        let one = || Command::new("timeout").args([seconds, "sh", "-c", "while :; do :; done"]).spawn();
        Ok(Burners((0..count).map(|_| one()).collect::<io::Result<_>>()?))
    }
}

impl Drop for Burners {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(|burner| drop(burner.wait()));
    }
}

/// Reads that others take the processors from for the first half of the time: late, and unsteady for it. The user reads one
/// cause with what it explains, above it the verdict, and on request everything.
fn busy() -> StagedFindings {
    let home = TempDir::new_in("/dev/shm")?;
    let (plan, json) = (home.path().join("plan.toml"), home.path().join("record.json"));
    fs::write(
        &plan,
        "[target.f]\nfile = \"f\"\nsize = \"64MiB\"\nprepare = \"filled\"\n[[phase]]\n[[phase.job]]\non = \"f\"\n\
         do = \"read\"\npick = \"random\"\nuntil = \"8s\"\n",
    )?;
    let processors = std::thread::available_parallelism()?.get();
    let burners = Burners::start(6 * processors, "4")?;
    let ours = |words: &[&str]| {
        let mut command = program::iodyno(words);
        command.env("IODYNO_HISTORY", home.path().join("history")).current_dir(home.path());
        program::told(command)
    };
    let told = ours(&["run", "--quiet", "--json", &json.display().to_string(), &plan.display().to_string()]);
    drop(burners);
    if told.code() != 0 {
        return Err(told.to_string().into());
    }
    let findings = heard(&told, &json)?;
    let is_effect = |one: &&Finding| [7, 8].contains(&one.code) && one.explained_by == Some(11);
    let effect = findings.iter().find(is_effect);
    let Some(effect) = effect else { return Err(format!("nothing is explained\n{told}").into()) };
    // Of eight rows a rate that jumps is a doubt or a note, as the burners end between two rows or in one.
    let weight = format!("{:?}", effect.severity).to_lowercase();
    let effect = effect.code;
    let under = |text: &str| {
        let (_, findings) = text.split_once("\nfindings\n")?;
        Some(findings.split_whitespace().collect::<Vec<_>>().join(" "))
    };
    let folded = under(&told.out).unwrap_or_default();
    assert!(folded.contains(" doubtful"), "{told}");
    assert!(folded.contains(": a machine shared with other load (processors taken by others"), "{told}");
    assert!(folded.contains("quote these figures only together with this"), "{told}");
    assert!(folded.contains("explains") && !folded.contains(&format!("[{effect}] phase")), "{told}");
    let details = ours(&["runs", "show", "--details"]);
    let full = under(&details.out).unwrap_or_default();
    assert!(full.contains(&format!("{weight} [{effect}] phase")), "{details}");
    assert!(full.contains("explained by [11]") && !full.contains("explains"), "{details}");
    Ok(findings)
}

/// Somebody else who reads a device from end to end, again and again, until he is dropped.
struct Stranger {
    enough: Arc<AtomicBool>,
    reader: Option<JoinHandle<io::Result<()>>>,
}

impl Stranger {
    fn on(device: &Path) -> io::Result<Stranger> {
        let file = fs::File::options().read(true).custom_flags(libc::O_DIRECT).open(device)?;
        let enough = Arc::new(AtomicBool::new(false));
        let until = Arc::clone(&enough);
        let reader = std::thread::spawn(move || {
            let mut room = vec![0u8; (1 << 20) + 4096];
            let start = room.as_ptr().align_offset(4096);
            let mut offset = 0;
            while !until.load(Relaxed) {
                let read = file.read_at(&mut room[start..start + (1 << 20)], offset)?;
                offset = if read == 0 { 0 } else { offset + read as u64 };
            }
            Ok(())
        });
        Ok(Stranger { enough, reader: Some(reader) })
    }
}

impl Drop for Stranger {
    fn drop(&mut self) {
        self.enough.store(true, Relaxed);
        if let Some(Ok(Err(error))) = self.reader.take().map(JoinHandle::join) {
            eprintln!("warning: the stranger stopped: {error}");
        }
    }
}

/// Reads of a file on a disk.
fn on_disk(disk: &ground::Disk) -> StagedFindings {
    crate::stage::run(&format!(
        r#"
        [target.data]
        file = "{}/data"
        size = "32MiB"
        prepare = "filled"
        direct = true
        [[phase]]
        pause = "1s"
        [[phase.job]]
        on = "data"
        do = "read"
        pick = "random"
        until = "2s"
        "#,
        disk.folder().display()
    ))
}

fn crowded() -> StagedFindings {
    let disk = ground::ext4()?;
    let _stranger = Stranger::on(disk.device())?;
    on_disk(&disk)
}

fn alone() -> StagedFindings {
    on_disk(&ground::ext4()?)
}

/// A wall clock that goes on by an hour, two seconds after it was first read. Everything else stays as it is.
const SET_FORWARD: &str = r"
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t clock, struct timespec *now) {
    static struct timespec first;
    struct timespec steady;
    long failed = syscall(SYS_clock_gettime, clock, now);
    if (failed || clock != CLOCK_REALTIME) return failed;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &steady);
    if (!first.tv_sec) first = steady;
    if (steady.tv_sec - first.tv_sec >= 2) now->tv_sec += 3600;
    return 0;
}
";

/// Four seconds of reads, the program started by another.
fn under(mut command: Command) -> StagedFindings {
    let device = Device::mount(Config { read: Service::Constant(2 * MILLISECOND), ..Config::default() })?;
    let home = TempDir::new()?;
    let json = home.path().join("out.json");
    command.args(["fio", "--name=reads", "--rw=randread", "--direct=1", "--bs=4k", "--size=64m"]);
    command.args(["--time_based", "--runtime=4", "--output-format=json", "--thread"]);
    command.arg(format!("--filename={}", device.path().display())).arg("--output").arg(&json);
    said(command, &json)
}

fn set_forward() -> StagedFindings {
    let home = TempDir::new()?;
    let (source, library) = (home.path().join("clock.c"), home.path().join("clock.so"));
    fs::write(&source, SET_FORWARD)?;
    let mut cc = Command::new("cc");
    cc.args(["-shared", "-fPIC", "-o"]).arg(&library).arg(&source);
    let built = program::told(cc);
    if built.code() != 0 {
        return Err(Skip::new(format!("cc: {}", built.err)).into());
    }
    let mut command = program::iodyno::<&str>([]);
    command.env("LD_PRELOAD", &library);
    under(command)
}

/// In a time namespace whose steady clock is an hour ahead: another time, and nothing wrong with it.
fn elsewhere() -> StagedFindings {
    let mut command = Command::new("unshare");
    command
        .args(["--time", "--fork", "--monotonic", "3600", "--boottime", "3600", "--"])
        .arg(program::IODYNO);
    under(command)
}

/// Two jobs that talk over the loop of a network namespace, behind what `setting` puts before it.
fn talk(setting: &str) -> StagedFindings {
    let home = TempDir::new()?;
    let (json, job) = (home.path().join("out.json"), home.path().join("net.fio"));
    fs::write(
        &job,
        "[global]\nioengine=net\nport=8765\nprotocol=tcp\nbs=16k\nsize=10m\n[listen]\nlisten\nrw=read\n\
         [send]\nhostname=127.0.0.1\nstartdelay=1\nrw=write\n",
    )?;
    let script = format!(
        "ip link set lo up && {setting} && exec '{}' fio --output-format=json --output='{}' '{}'",
        program::IODYNO,
        json.display(),
        job.display()
    );
    let mut command = Command::new("unshare");
    command.args(["--net", "--mount", "--", "sh", "-ec", &script]);
    said(command, &json)
}

/// 40 Mbit/s: 10 MiB take two seconds.
fn shaped() -> StagedFindings {
    talk("ip link set lo mtu 1500 && tc qdisc add dev lo root tbf rate 40mbit burst 64kb latency 200ms")
}

fn open() -> StagedFindings {
    talk("true")
}
