//! `iodyno why`: latency of programs on devices whose service time is known.

use std::path::Path;

use serde_json::Value;
use testbed::fuse::{Config, Device};
use testbed::sandbox::{LoopDevice, LoopOptions, Mount};
use testbed::{Case, Need, Outcome, Skip};

use crate::program::{IODYNO, Running, iodyno, scratch, told};

/// Service time of the slow device, ns, and what is left of it when both ends are rounded to µs.
const SERVICE_NS: u64 = 2_000_000;
const SERVICE_LEAST_NS: u64 = SERVICE_NS - 2_000;

pub fn cases() -> Vec<Case> {
    let needs = [Need::Root, Need::Loop, Need::That(tracing)];
    let with = |other: &[Need]| [needs.to_vec(), other.to_vec()].concat();
    vec![
        Case::new("reads and syncs on ext4 are split", &with(&[Need::Mount, Need::FileSystem("ext4")]), ext4)
            .waits(),
        Case::new("syncs on xfs wait for its log", &with(&[Need::Mount, Need::FileSystem("xfs")]), xfs)
            .waits(),
        Case::new("the device's part is at least its service time", &with(&[Need::Fuse]), service).waits(),
        Case::new("a running program is watched", &needs, running).waits(),
        Case::new("why beside a tool's run", &needs, beside).waits(),
        Case::new("why beside a recording of a device", &needs, recorded).alone(),
        Case::new("what cannot be watched is told", &[], refused),
    ]
}

/// Tracing works where a buffer of our own can be made.
fn tracing() -> Result<(), Skip> {
    let tried = told(iodyno(["why", "--", IODYNO, "--version"]));
    match tried.code() {
        0 => Ok(()),
        _ => Err(Skip::new(format!("tracefs cannot be used: {}", tried.err.trim()))),
    }
}

/// The report of a command in JSON, which is the last thing on standard error.
fn why(command: &[&str], at: &Path) -> Result<Value, Box<dyn std::error::Error>> {
    let mut program = iodyno(["why", "--json", "--"]);
    program.args(command).current_dir(at);
    let output = told(program);
    output.expect(0, &[]);
    let json = output.err.find("{\n").map_or("", |at| &output.err[at..]);
    Ok(serde_json::from_str(json).map_err(|error| format!("{error}: {output}"))?)
}

fn sum(table: &Value, part: &str) -> u64 {
    table["sums_ns"][part].as_u64().unwrap_or(0)
}

fn requests<'a>(json: &'a Value, kind: &str, own: bool) -> Option<&'a Value> {
    let all = json["requests"].as_array()?;
    all.iter().find(|table| table["kind"] == kind && table["own"] == own)
}

fn ext4() -> Outcome {
    let device = LoopDevice::new(64 << 20)?;
    device.mkfs("ext4")?;
    let mount = Mount::new(device.path(), "ext4", "")?;
    let size = ["--size=400k", "--bs=4k", "--ioengine=psync", "--filename=data"];
    let fio = |arguments: &[&str]| {
        why(&[&[IODYNO, "fio", "--name=x"], arguments, &size[..]].concat(), mount.path())
    };
    let written = fio(&["--rw=write", "--fsync=1"])?;
    let (writes, syncs) = (&written["calls"]["write"], &written["calls"]["fsync"]);
    assert!(writes["count"].as_u64() >= Some(100) && syncs["count"].as_u64() >= Some(100), "{written:#}");
    // Buffered writes wait for no device; syncs do, and for the journal.
    assert_eq!(sum(writes, "device"), 0, "{written:#}");
    assert!(sum(syncs, "device") > 0 && sum(syncs, "journal") > 0, "{written:#}");
    // The journal's thread is not the program.
    assert!(
        requests(&written, "write", false).is_some() && requests(&written, "write", true).is_some(),
        "{written:#}"
    );
    let read = fio(&["--rw=randread", "--direct=1"])?;
    let reads = requests(&read, "read", true).ok_or("no reads")?;
    assert!(reads["count"].as_u64() >= Some(100) && sum(&read["calls"]["read"], "device") > 0, "{read:#}");
    let cached = fio(&["--rw=read", "--direct=0", "--invalidate=0", "--loops=2"])?;
    assert!(sum(&cached["calls"]["read"], "cache") > 0, "{cached:#}");
    Ok(())
}

fn xfs() -> Outcome {
    let device = LoopDevice::new(512 << 20)?;
    device.mkfs("xfs")?;
    let mount = Mount::new(device.path(), "xfs", "")?;
    let load = ["--size=400k", "--bs=4k", "--ioengine=psync", "--filename=data", "--rw=write", "--fsync=1"];
    let written = why(&[&[IODYNO, "fio", "--name=x"][..], &load].concat(), mount.path())?;
    let syncs = &written["calls"]["fsync"];
    assert!(syncs["count"].as_u64() >= Some(100) && sum(syncs, "journal") > 0, "{written:#}");
    assert_eq!(sum(&written["calls"]["write"], "journal"), 0, "{written:#}");
    Ok(())
}

fn service() -> Outcome {
    let slow = Device::mount(Config::constant(SERVICE_NS))?;
    let device = LoopDevice::over(slow.path(), &LoopOptions { direct_io: true, ..LoopOptions::default() })?;
    let home = scratch();
    let name = format!("--filename={}", device.path().display());
    let json = why(
        &[
            IODYNO,
            "fio",
            "--name=x",
            "--rw=randread",
            "--direct=1",
            "--ioengine=psync",
            "--bs=4k",
            "--number_ios=40",
            "--size=1m",
            &name,
        ],
        home.path(),
    )?;
    let requests = requests(&json, "read", true).ok_or_else(|| format!("no reads: {json:#}"))?;
    let count = requests["count"].as_u64().unwrap_or(0);
    assert!(count >= 40, "{json:#}");
    let reads = &json["calls"]["read"];
    // Every read of the device waits for one request at least.
    assert!(sum(reads, "device") >= 40 * SERVICE_LEAST_NS, "{json:#}");
    assert!(sum(requests, "device") >= 40 * SERVICE_LEAST_NS, "{json:#}");
    Ok(())
}

fn running() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    let name = format!("--filename={}", device.path().display());
    let mut load = Running::start(iodyno([
        "fio",
        "--name=x",
        "--rw=randread",
        "--direct=1",
        "--ioengine=psync",
        "--bs=4k",
        "--thread",
        "--time_based",
        "--runtime=60",
        &name,
    ]));
    let process = load.pid().to_string();
    let disk = device.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    // The first field is how many reads have ended (Documentation/block/stat.rst).
    let reads = || -> u64 {
        let text = std::fs::read_to_string(format!("/sys/block/{disk}/stat")).unwrap_or_default();
        text.split_whitespace().next().and_then(|reads| reads.parse().ok()).unwrap_or(0)
    };
    let before = reads();
    load.until("the load reads its device", || reads() > before + 200);
    let seen = told(iodyno(["why", &process, "--for", "1s"]));
    load.signal(libc::SIGINT);
    load.end();
    seen.expect(0, &["read", "device", "requests to devices", "of", "is"]);
    assert!(seen.out.lines().all(|line| line.chars().count() <= 80), "{}", seen.out);
    Ok(())
}

fn beside() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    let name = format!("--filename={}", device.path().display());
    let arguments = [
        "fio",
        "--also=why",
        "--name=x",
        "--rw=randread",
        "--direct=1",
        "--ioengine=io_uring",
        "--iodepth=4",
        "--bs=4k",
        "--number_ios=2000",
        &name,
    ];
    let output = told(iodyno(arguments));
    output.expect(0, &["why fio", "requests to devices", "read (its own)"]);
    assert!(!output.out.contains("requests to devices"), "{output}");
    Ok(())
}

/// A recording sets the machine's own trace buffer to binary records.
fn recorded() -> Outcome {
    let (device, home) = (LoopDevice::new(16 << 20)?, scratch());
    let path = device.path().display().to_string();
    let record = |time: &str| {
        let mut command = iodyno(["record", "device", &path, "-o", "t.iot", "--force", "--for", time]);
        command.current_dir(home.path());
        command
    };
    let tried = told(record("1ms"));
    if tried.code() != 0 {
        return Err(Skip::new(format!("the tracer cannot be had: {}", tried.err.trim())).into());
    }
    let mut recording = Running::start(record("60s"));
    let disk = device.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
    let enabled = || std::fs::read_to_string(format!("/sys/block/{disk}/trace/enable")).unwrap_or_default();
    recording.until("the device is traced", || enabled().trim() == "1");
    let name = format!("--filename={path}");
    let load = ["--name=x", "--rw=randread", "--direct=1", "--ioengine=psync", "--bs=4k", "--number_ios=40"];
    let json = why(&[&[IODYNO, "fio"], &load[..], &["--size=1m", &name]].concat(), home.path());
    recording.signal(libc::SIGINT);
    recording.end();
    let json = json?;
    let reads = requests(&json, "read", true).ok_or_else(|| format!("no reads: {json:#}"))?;
    assert!(reads["count"].as_u64() >= Some(40), "{json:#}");
    Ok(())
}

fn refused() -> Outcome {
    told(iodyno(["why"])).refused(&["PID"]);
    told(iodyno(["why", "1", "--for", "0s"])).refused(&["expected more than 0"]);
    told(iodyno(["why", "4194304999"])).expect(1, &["cannot tell: there is no process"]).one_error();
    // Where tracing cannot be had that is what is told.
    let gone = told(iodyno(["why", "4194303"]));
    assert_eq!(gone.code(), 1, "{gone}");
    gone.expect(1, &["cannot tell: "]).one_error();
    Ok(())
}
