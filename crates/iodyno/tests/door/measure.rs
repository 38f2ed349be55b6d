//! `iodyno measure` in good places and bad ones.

use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;
use testbed::sandbox::{FullDisk, LoopDevice, LoopOptions, Mount, UnprivilegedUser, seccomp_forbid_io_uring};
use testbed::{Case, Need, Outcome};

use crate::program::{
    IODYNO, Program, ProgramOutput, Running, dressed, fingerprint, iodyno, names, noise, quick, scratch, told,
};

pub fn cases() -> Vec<Case> {
    let without = &[];
    vec![
        Case::new("a directory gets a card and keeps nothing", without, a_directory),
        Case::new("a cell is demanded by its name on the card", without, a_demand),
        Case::new("an existing file is only read", without, a_file),
        Case::new("a device is only read", &[Need::Loop], a_device),
        Case::new("a device that was given up is written for long", &[Need::Loop], given_up),
        Case::new("tmpfs is named as memory", &[Need::Mount], tmpfs),
        Case::new("a read-only mount refuses a directory and reads a file", &[Need::Mount], read_only),
        Case::new("a missing path is one message", without, missing),
        Case::new("a full disk is one message and keeps nothing", &[Need::Mount], full),
        Case::new("a disk that fills up in the middle is told", &[Need::Mount], fills_up),
        Case::new("what nobody may do is said first", &[Need::Root], nobody),
        Case::new("where io_uring is forbidden libaio stands in", &[Need::IoUring], without_io_uring),
        Case::new("SIGINT leaves a partial card and nothing else", without, || stopped(libc::SIGINT)),
        Case::new("SIGTERM leaves a partial card and nothing else", without, || stopped(libc::SIGTERM)),
        Case::new("a signal while the file is laid out removes it", without, stopped_in_layout),
        Case::new("what a killed run left is removed by the next one, and told", without, killed),
        Case::new("results go to new files only", without, result_files),
        Case::new("a reader that goes away ends it quietly", without, closed_pipe),
        Case::new("a full report file is told", &[Need::That(dev_full)], full_report),
    ]
}

fn dev_full() -> Result<(), testbed::Skip> {
    match std::path::Path::new("/dev/full").exists() {
        true => Ok(()),
        false => Err(testbed::Skip::new("there is no /dev/full")),
    }
}

/// A whole card on stdout, and none of it on stderr.
#[track_caller]
fn card(told: &ProgramOutput, words: &[&str]) {
    told.expect(0, words).expect(0, &["SEQ1M Q8T1", "RND4K Q1T1", "Queue depth:", "machine", "looks like"]);
    assert!(told.out.starts_with("measuring "), "{told}");
    assert!(!told.err.contains("Queue depth:"), "{told}");
    assert!(!told.out.contains('\u{1b}'), "colour goes to terminals only\n{told}");
}

fn a_directory() -> Outcome {
    let home = scratch();
    let told = told(iodyno(quick(home.path())));
    card(&told, &["APPEND4K fsync", "rename", "iodyno measure"]);
    assert_eq!(names(home.path()), [""; 0]);
    Ok(())
}

fn a_demand() -> Outcome {
    let home = scratch();
    let demanded = |conditions: &[&str]| {
        let mut command = iodyno(quick(home.path()));
        for condition in conditions {
            command.args(["--fail-if", condition]);
        }
        told(command)
    };
    let failed = demanded(&["SEQ1M Q8T1 read.iops > 0", "RND4K Q32T1 mix.write.iops < 0"]);
    failed.expect(1, &["fails SEQ1M Q8T1 read.iops > 0", "kept RND4K Q32T1 mix.write.iops < 0"]);
    demanded(&["SEQ2M Q8T1 read.iops > 0"])
        .refused(&["no phase, job or operation `SEQ2M Q8T1 read`", "SEQ1M Q8T1 read"]);
    Ok(())
}

fn a_file() -> Outcome {
    let home = scratch();
    let file = home.path().join("precious.iso");
    noise(&file, 20);
    let (before, facts) = (fingerprint(&file), file.metadata()?);
    card(&told(iodyno(quick(&file))), &["only read"]);
    assert_eq!(fingerprint(&file), before);
    assert_eq!(file.metadata()?.modified()?, facts.modified()?);
    assert_eq!(names(home.path()), ["precious.iso"]);
    Ok(())
}

fn a_device() -> Outcome {
    let options = LoopOptions { bytes: 20 << 20, prefill: Some(0x5A), ..LoopOptions::default() };
    let device = LoopDevice::with(&options)?;
    let before = fingerprint(device.path());
    card(&told(iodyno(quick(device.path()))), &["a device is only read"]);
    assert_eq!(fingerprint(device.path()), before);
    assert_eq!(fingerprint(device.image()), before, "what lies behind it");
    let read_only = LoopDevice::with(&LoopOptions { read_only: true, ..options })?;
    card(&told(iodyno(quick(read_only.path()))), &["a device is only read"]);
    Ok(())
}

/// A loop device is no drive that tells of its health, and that is said.
fn given_up() -> Outcome {
    let options = LoopOptions { bytes: 20 << 20, prefill: Some(0x5A), ..LoopOptions::default() };
    let device = LoopDevice::with(&options)?;
    let before = fingerprint(device.path());
    let long = |more: &[&str]| {
        let mut command =
            iodyno(["measure", "--long", "50ms", "--no-save", "--mix", "0", "--block", "16KiB"]);
        command.args(["--depth", "8"]).args(more).arg(device.path());
        told(command)
    };
    long(&[]).refused(&["all that is on it be lost", "--destroy /dev/loop"]);
    assert_eq!(fingerprint(device.path()), before);
    let name = device.path().display().to_string();
    let told = long(&["--destroy", &name]);
    told.expect(
        0,
        &["16 KiB", "depth 8", "write", "health", "cannot tell: loop", "neither an NVMe nor a SATA drive"],
    );
    assert_ne!(fingerprint(device.path()), before);
    Ok(())
}

fn tmpfs() -> Outcome {
    let mount = Mount::tmpfs(64 << 20)?;
    card(&told(iodyno(quick(mount.path()))), &["[22]", "tmpfs"]);
    assert_eq!(names(mount.path()), [""; 0]);
    Ok(())
}

fn read_only() -> Outcome {
    let home = scratch();
    noise(&home.path().join("data"), 20);
    let mount = Mount::read_only(home.path())?;
    told(iodyno(quick(mount.path()))).refused(&["cannot be written to", "name a large file"]);
    card(&told(iodyno(quick(mount.path().join("data")))), &["only read"]);
    assert_eq!(names(home.path()), ["data"]);
    Ok(())
}

fn missing() -> Outcome {
    let home = scratch();
    let nowhere = home.path().join("nowhere");
    told(iodyno(quick(&nowhere))).refused(&["nowhere: no such file or directory", "name a directory"]);
    told(iodyno(quick("/dev/null"))).refused(&["neither a directory nor a file nor a block device"]);
    assert_eq!(names(home.path()), [""; 0]);
    Ok(())
}

fn full() -> Outcome {
    let disk = FullDisk::tmpfs(2 << 20)?;
    told(iodyno(quick(disk.path()))).refused(&["only 2 MiB are free", "leave --size out"]);
    let command = iodyno(["measure".as_ref(), "--quick".as_ref(), disk.path().as_os_str()]);
    told(command).refused(&["too little free space: 2 MiB"]);
    assert_eq!(names(disk.path()), ["ballast"]);
    Ok(())
}

/// Just enough room for the data, but none for what is appended.
fn fills_up() -> Outcome {
    let disk = FullDisk::tmpfs(16 << 20)?;
    let told = told(iodyno(quick(disk.path())));
    told.expect(1, &["APPEND4K fsync: write failed", "ENOSPC, no space left", "not measured"]);
    assert_eq!(names(disk.path()), ["ballast"], "{told}");
    Ok(())
}

fn nobody() -> Outcome {
    let user = UnprivilegedUser::new()?;
    card(&told(dressed(user.command(IODYNO), quick("."))), &[]);
    let home = UnprivilegedUser::new()?;
    let closed = home.directory().join("closed");
    std::fs::create_dir(&closed)?;
    let secret = home.directory().join("secret");
    noise(&secret, 17);
    std::fs::set_permissions(&secret, PermissionsExt::from_mode(0o600))?;
    told(dressed(user.command(IODYNO), quick(&closed)))
        .refused(&["closed: this directory cannot be written to"]);
    told(dressed(user.command(IODYNO), quick(&secret)))
        .refused(&["secret: it cannot be read: permission denied"]);
    assert_eq!(names(&closed), [""; 0]);
    Ok(())
}

fn without_io_uring() -> Outcome {
    let home = scratch();
    let mut command = iodyno(quick(home.path()));
    seccomp_forbid_io_uring(&mut command)?;
    let said = told(command);
    card(&said, &["libaio stands in for io_uring"]);
    assert!(said.err.contains("stands in for io_uring"), "{said}");
    let mut command = iodyno(quick(home.path()));
    seccomp_forbid_io_uring(command.args(["--engine", "io_uring"]))?;
    told(command).refused(&["--engine io_uring", "leave --engine out"]);
    let text = "[target.a]\nfile = \"a\"\nsize = \"1MiB\"\nprepare = \"filled\"\n[[phase]]\n[[phase.job]]\non = \"a\"\n\
                do = \"read\"\nengine = \"io_uring\"\n";
    let mut command = iodyno(["run"]);
    command.arg(crate::program::plan(home.path(), text)).current_dir(home.path());
    seccomp_forbid_io_uring(&mut command)?;
    told(command).refused(&["engine io_uring", "libaio"]);
    assert_eq!(names(home.path()), ["plan.toml"]);
    Ok(())
}

fn stopped(signal: i32) -> Outcome {
    let home = scratch();
    let results = scratch();
    let json = results.path().join("r.json");
    let mut command = iodyno(["measure", "--time", "150ms", "--size", "16MiB", "--json"]);
    command.arg(&json).arg(home.path());
    let mut running = Running::start(command);
    // The append file is made by the last cell of the first pass: everything before has been measured.
    running.until("the appends", || names(home.path()).iter().any(|name| name.ends_with(".append.tmp")));
    running.signal(signal);
    let told = running.end();
    told.expect(128 + signal, &[&format!("stopped by signal {signal} in measurement"), "SEQ1M Q8T1"]);
    assert_eq!(names(home.path()), [""; 0], "{told}");
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(json)?)?;
    assert_eq!((&record["stopped_by"], &record["completed"]), (&signal.into(), &false.into()));
    assert!(record["phases"].as_array().is_some_and(|phases| phases.len() > 4));
    Ok(())
}

fn stopped_in_layout() -> Outcome {
    let home = scratch();
    let mut command = iodyno(["measure", "--size", "4GiB"]);
    command.arg(home.path());
    let mut running = Running::start(command);
    running.until("the file", || !names(home.path()).is_empty());
    running.signal(libc::SIGINT);
    let told = running.end();
    told.expect(130, &["before anything was measured"]);
    assert_eq!(names(home.path()), [""; 0], "{told}");
    Ok(())
}

fn killed() -> Outcome {
    let home = scratch();
    let mut command = iodyno(["measure", "--time", "600s", "--size", "16MiB"]);
    command.arg(home.path());
    let mut first = Running::start(command);
    first.until("the file", || names(home.path()).iter().any(|name| name.ends_with(".tmp")));
    // Of a run that goes on nothing is taken away.
    let beside = told(iodyno(quick(home.path())));
    card(&beside, &[]);
    assert!(!beside.err.contains("killed"), "{beside}");
    let left = names(home.path());
    assert_eq!(left.len(), 1, "{left:?}");
    first.signal(libc::SIGKILL);
    first.end();
    assert_eq!(names(home.path()), left);
    let older = ".iodyno-measure-18a3f0.tmp";
    std::fs::write(home.path().join(older), [7; 4096])?;
    let next = told(iodyno(quick(home.path())));
    card(&next, &[]);
    next.expect(0, &[&left[0], "left by a run that was killed", "removed"]);
    next.expect(0, &["made by another `iodyno measure`", &format!("rm {}/{older}", home.path().display())]);
    assert_eq!(names(home.path()), [older], "{next}");
    Ok(())
}

fn result_files() -> Outcome {
    let (home, results) = (scratch(), scratch());
    let (json, csv) = (results.path().join("r.json"), results.path().join("r.csv"));
    let with = |json: &std::path::Path, csv: &std::path::Path| {
        let mut command = iodyno(quick(home.path()));
        command.arg("--json").arg(json).arg("--csv").arg(csv);
        command
    };
    told(with(&json, &csv)).expect(0, &[]);
    let record: serde_json::Value = serde_json::from_slice(&std::fs::read(&json)?)?;
    assert_eq!((&record["schema"], &record["completed"]), (&"iodyno.record/1".into(), &true.into()));
    let text = std::fs::read_to_string(&csv)?;
    let columns = text.lines().next().map_or(0, |line| line.split(',').count());
    assert!(
        columns > 20
            && text.lines().count() == record["phases"].as_array().map_or(0, Vec::len) + mixed(&text) + 1
    );
    let before = (fingerprint(&json), fingerprint(&csv));
    let fresh = results.path().join("fresh");
    told(with(&json, &fresh)).refused(&["r.json: it exists already", "does not exist yet"]);
    told(with(&fresh, &csv)).refused(&["r.csv: it exists already"]);
    told(with(&results.path().join("no/such"), &fresh)).refused(&["such: No such file or directory"]);
    assert_eq!((fingerprint(&json), fingerprint(&csv)), before);
    assert_eq!(names(results.path()), ["r.csv", "r.json"], "a refusal leaves nothing");
    // A refused run takes back what it made, but never a device.
    let mut command = iodyno(["run", "/dev/null", "--json", "/dev/null"]);
    command.current_dir(home.path());
    told(command);
    assert!(std::path::Path::new("/dev/null").exists());
    Ok(())
}

/// Rows beyond one for each phase: the mix has one for reads and one for writes, appends one for their syncs.
fn mixed(csv: &str) -> usize {
    let mut seen = std::collections::HashSet::new();
    let extra = csv.lines().skip(1).filter(|line| {
        let key: Vec<_> = line.splitn(4, ',').take(3).collect();
        !seen.insert(key.join(","))
    });
    extra.count()
}

fn closed_pipe() -> Outcome {
    let home = scratch();
    let mut command = iodyno(["measure", "--size", "16MiB"]);
    command.arg(home.path());
    let (reader, writer) = std::io::pipe()?;
    let running = Program::new(command).out(writer).start();
    let mut head = String::new();
    BufReader::new(reader).read_line(&mut head)?;
    assert!(head.starts_with("measuring "), "{head}");
    // Nobody reads the rest: the minute that the whole card takes would be wasted.
    let told = running.end();
    assert_eq!(told.code(), 128 + libc::SIGPIPE, "{told}");
    assert!(!told.err.contains("error") && !told.err.contains("panicked"), "{told}");
    assert!(passes(&told.err).is_none_or(|(done, all)| done < all / 2), "it went on for nobody: {told}");
    assert_eq!(names(home.path()), [""; 0]);
    for words in [&["--help"][..], &[], &["engines"], &["nonsense"], &["measure", "--nonsense"]] {
        closed_at_once(words)?;
    }
    Ok(())
}

/// The last `5/63` of its progress, if it came so far.
fn passes(err: &str) -> Option<(u64, u64)> {
    let pair = |line: &str| {
        let (done, all) = line.split(' ').next()?.split_once('/')?;
        Some((done.parse().ok()?, all.parse().ok()?))
    };
    err.lines().rev().find_map(pair)
}

/// Both streams are pipes whose reader is gone before the program says a word.
fn closed_at_once(words: &[&str]) -> Outcome {
    let (reader, writer) = std::io::pipe()?;
    drop(reader);
    let status = Program::new(iodyno(words)).out(writer.try_clone()?).err(writer).run().status;
    assert_ne!(status.code(), Some(101), "it panicked on {words:?}");
    assert!(status.code().is_some(), "it died of {status} on {words:?}");
    Ok(())
}

fn full_report() -> Outcome {
    let home = scratch();
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full")?;
    let told = Program::new(iodyno(quick(home.path()))).out(full).run();
    assert_eq!(told.code(), 1, "{told}");
    assert!(told.err.contains("the report could not be written: No space left on device"), "{told}");
    assert_eq!(names(home.path()), [""; 0]);
    Ok(())
}
