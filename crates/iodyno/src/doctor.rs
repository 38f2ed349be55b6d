//! `iodyno doctor`: what this machine lets iodyno do, what it lacks, and how to get that.
//!
//! Every line comes from trying: a device is opened, a library is loaded, a kernel file is read. Nothing is installed, mounted
//! or changed.

use std::fs::{self, OpenOptions};
use std::path::Path;

use clap::Parser;
use iodyno_dialect::Loader;
use iodyno_engine::registry::all_facts;
use iodyno_engine::world::World;
use iodyno_engine::{EngineFacts, clock};
use iodyno_report::table::wrapped;
use serde_json::{Value, json};

use crate::archive;
use crate::hosts::{any_launcher, is_root};
use crate::loader::{HostLoader, plain};
use crate::runs::{paint, parsed, print};

#[derive(Parser)]
#[command(name = "iodyno doctor", about = "Say what this machine lacks for measuring, and how to get it",
    disable_version_flag = true, after_help = AFTER)]
pub struct DoctorArgs {
    /// As JSON
    #[arg(long)]
    json: bool,
}

const AFTER: &str = "Nothing is installed, mounted or changed. Exit status: always 0, since a machine without MPI or root is no \
failure.";

/// One thing that was tried.
struct Check {
    name: &'static str,
    works: bool,
    /// What was found, or why it is missing.
    found: String,
    /// What is possible only with it.
    serves: &'static str,
    /// How to get it; empty where it works.
    remedy: &'static str,
}

impl Check {
    fn of(
        name: &'static str,
        tried: Result<String, String>,
        serves: &'static str,
        remedy: &'static str,
    ) -> Check {
        match tried {
            Ok(found) => Check { name, works: true, found, serves, remedy: "" },
            Err(found) => Check { name, works: false, found, serves, remedy },
        }
    }
}

/// Does `iodyno doctor ARGUMENTS…`; the exit status.
pub fn answer(arguments: &[String]) -> u8 {
    let words = match parsed::<DoctorArgs>("iodyno doctor", arguments) {
        Ok(words) => words,
        Err(status) => return status,
    };
    let checks = checks();
    print(&if words.json { as_json(&checks) } else { as_text(&checks, paint().columns) })
}

fn checks() -> Vec<Check> {
    system().into_iter().chain(witnesses()).chain(engines()).collect()
}

/// Everything that was tried, with what came of it.
pub fn checked() -> Value {
    listed(&checks())
}

fn system() -> Vec<Check> {
    vec![
        Check::of(
            "root",
            if is_root() { Ok("this user is root".into()) } else { Err("this user is not root".into()) },
            "dropping caches, block devices, namespaces, the kernel's tracing",
            "run it with sudo where a report asks for it; most measurements need no root",
        ),
        Check::of(
            "fuse",
            opens("/dev/fuse"),
            "`iodyno record --fuse`, `iodyno crash --view`, `iodyno powerfail` with a lying disk",
            "modprobe fuse; in a container: --device /dev/fuse --cap-add SYS_ADMIN",
        ),
        Check::of(
            "loop devices",
            opens("/dev/loop-control"),
            "`iodyno crash FS`",
            "modprobe loop, as root; in a container: --privileged",
        ),
        Check::of(
            "tracing",
            tracing(),
            "`iodyno why`, `iodyno record DEVICE`",
            "mount -t tracefs tracefs /sys/kernel/tracing, as root, outside of a container",
        ),
        Check::of("clock", clock_source(), "latencies of microseconds", CLOCK_REMEDY),
        Check::of(
            "history",
            history(),
            "`iodyno runs`, `compare`, `watch` over restarts",
            "IODYNO_HISTORY=FILE, in a directory that exists and can be written to",
        ),
        Check::of(
            "open files",
            open_files(),
            "thousands of workers, connections or files at once",
            "ulimit -Hn 65536 as root in the shell that starts it, or hard nofile in /etc/security/limits.conf",
        ),
        Check::of(
            "launcher",
            launcher(),
            "one command on several hosts or ranks",
            "apt install openmpi-bin, or mpich; without it --hosts reaches others by ssh",
        ),
    ]
}

/// Where runs are kept: the nearest directory above the file that is there must take a new one.
fn history() -> Result<String, String> {
    let place = archive::place().map_err(|wrong| wrong.message)?;
    let place = place.ok_or("IODYNO_HISTORY is off: no run is kept")?;
    let folder = place.ancestors().skip(1).find(|folder| folder.as_os_str().is_empty() || folder.is_dir());
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let looked = if place.exists() { place.as_path() } else { folder };
    let facts = HostLoader::new(&World::alone()).look(&looked.display().to_string());
    match facts.is_some_and(|facts| facts.writable) {
        true => Ok(format!("runs are kept in {}", place.display())),
        false => Err(format!("{} cannot be written", looked.display())),
    }
}

/// Fewer are soon used up.
const OPEN_FILES_LEAST: u64 = 4096;

/// What the kernel lets this process open: the hard limit, which a run takes for itself.
fn open_files() -> Result<String, String> {
    let limits = fs::read_to_string("/proc/self/limits").map_err(|error| plain(&error))?;
    let line = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
    let word =
        line.and_then(|line| line.split_whitespace().nth(1)).ok_or("/proc/self/limits does not say it")?;
    match word.parse::<u64>() {
        Ok(most) if most < OPEN_FILES_LEAST => Err(format!("{most} at most")),
        _ => Ok(format!("{word} at most")),
    }
}

fn launcher() -> Result<String, String> {
    let found = any_launcher().map(|path| path.display().to_string());
    found.ok_or_else(|| "no mpirun, mpiexec, srun, flux or palsrun on PATH".into())
}

const CLOCK_REMEDY: &str = "echo tsc > /sys/devices/system/clocksource/clocksource0/current_clocksource, if the processor has a steady one";

fn witnesses() -> Vec<Check> {
    vec![
        Check::of(
            "dropping caches",
            writable("/proc/sys/vm/drop_caches"),
            "cold reads and cold names (`drop_caches = true`)",
            "run as root; without it use direct I/O, or `iodyno cache FILE --evict` for files of your own",
        ),
        Check::of(
            "device counters",
            readable("/proc/diskstats"),
            "findings about caches, other users and amplification",
            "outside of a container that hides /proc/diskstats",
        ),
        Check::of(
            "pressure",
            readable("/proc/pressure/io"),
            "finding 11: a machine shared with other load",
            "a kernel with CONFIG_PSI, booted with psi=1",
        ),
        Check::of(
            "own I/O account",
            readable("/proc/self/io"),
            "telling this program's I/O from that of others",
            "a kernel with CONFIG_TASK_IO_ACCOUNTING",
        ),
    ]
}

/// Engines that depend on the kernel or on a library.
fn engines() -> Vec<Check> {
    let depends = |facts: &&'static EngineFacts| remedy_of(facts.name).is_some();
    all_facts()
        .filter(depends)
        .map(|facts| {
            let tried =
                (facts.available)().map(|()| "available".to_string()).map_err(|failure| failure.message);
            Check::of(facts.name, tried, facts.about, remedy_of(facts.name).unwrap_or_default())
        })
        .collect()
}

/// How to get what an engine needs.
fn remedy_of(engine: &str) -> Option<&'static str> {
    Some(match engine {
        "io_uring" => {
            "a kernel of 5.6 or later, with sysctl kernel.io_uring_disabled=0; in a container: --security-opt seccomp=unconfined"
        }
        "libaio" => "a kernel with CONFIG_AIO; any distribution has it",
        "mpiio" => "apt install openmpi-bin, or mpich; or IODYNO_MPI=/path/to/libmpi.so",
        "hdf5" => "apt install libhdf5-openmpi-103-1, built for the MPI that you run",
        "ncmpi" => "apt install libpnetcdf0d",
        "rados" => "apt install librados2",
        "hdfs" => "libhdfs.so of Hadoop 3.2 or later on LD_LIBRARY_PATH, and a Java",
        _ => return None,
    })
}

#[cfg(target_os = "linux")]
fn tracing() -> Result<String, String> {
    let opened = iodyno_recorder::tracefs::Tracefs::open();
    opened.map(|_| "the kernel's tracefs can be used".into()).map_err(|error| error.to_string())
}

#[cfg(not(target_os = "linux"))]
fn tracing() -> Result<String, String> {
    Err("tracefs is part of Linux".into())
}

fn opens(path: &str) -> Result<String, String> {
    let opened = OpenOptions::new().read(true).write(true).open(path);
    opened.map(|_| format!("{path} opens")).map_err(|error| format!("{path}: {}", plain(&error)))
}

fn writable(path: &str) -> Result<String, String> {
    let opened = OpenOptions::new().write(true).open(path);
    opened.map(|_| format!("{path} can be written")).map_err(|error| format!("{path}: {}", plain(&error)))
}

fn readable(path: &str) -> Result<String, String> {
    let read = fs::read_to_string(path).map_err(|error| plain(&error));
    match read {
        Ok(text) if text.trim().is_empty() => Err(format!("{path} is empty here")),
        Ok(_) => Ok(format!("{path} can be read")),
        Err(reason) => Err(format!("{path}: {reason}")),
    }
}

/// Nanoseconds of a clock reading, beyond which latencies of a page cache are mostly those of the clock.
const READING_NS_MOST: u64 = 1000;
/// Readings whose mean is taken.
const READINGS: u64 = 1000;

/// The kernel's clock source, and what one reading costs.
fn clock_source() -> Result<String, String> {
    let source = fs::read_to_string(
        Path::new("/sys/devices/system/clocksource/clocksource0").join("current_clocksource"),
    );
    let source = source.map_or_else(|_| "unknown".to_string(), |text| text.trim().to_string());
    let began = clock::monotonic();
    for _ in 0..READINGS {
        std::hint::black_box(clock::monotonic());
    }
    let each = (clock::monotonic() - began) / READINGS;
    let text = format!("{source}, {each} ns a reading");
    if each > READING_NS_MOST { Err(text) } else { Ok(text) }
}

fn as_text(checks: &[Check], columns: usize) -> String {
    const INDENT: usize = 19;
    let mut text = String::new();
    for check in checks {
        let mark = if check.works { "ok" } else { "--" };
        let width = columns.saturating_sub(INDENT);
        text.push_str(&format!("{mark} {:<15} {}\n", check.name, wrapped(&check.found, width, INDENT)));
        if !check.works {
            let needed = format!("needed for {}", check.serves);
            text.push_str(&format!("{:INDENT$}{}\n", "", wrapped(&needed, width, INDENT)));
            text.push_str(&format!("{:INDENT$}→ {}\n", "", wrapped(check.remedy, width - 2, INDENT + 2)));
        }
    }
    let missing = checks.iter().filter(|check| !check.works).count();
    text + &match missing {
        0 => "\nNothing is missing.\n".to_string(),
        missing => {
            format!("\n{missing} of {} are missing. `iodyno measure .` works without them.\n", checks.len())
        }
    }
}

fn as_json(checks: &[Check]) -> String {
    format!("{:#}\n", json!({ "format": "iodyno.doctor/1", "checks": listed(checks) }))
}

fn listed(checks: &[Check]) -> Value {
    let list: Vec<Value> = checks
        .iter()
        .map(|check| {
            json!({ "name": check.name, "works": check.works, "found": check.found,
                "serves": check.serves, "remedy": check.remedy })
        })
        .collect();
    json!(list)
}
