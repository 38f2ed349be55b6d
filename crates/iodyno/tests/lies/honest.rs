//! Honest runs, each a real one of a dialect on disks of known speed with a file system, that nobody may accuse.
//!
//! None of them runs on `sim`: the checks of storage do not look at it, so such a run could not fail. What is doubted of a run
//! is a false alarm, unless figures prove that the machine did it: then the run is skipped with them. A note is true of a run
//! of a second or two, and no alarm. A test run takes one in four of them, `cargo xtask lies honest` all.

use std::path::Path;

use testbed::{Case, Need, Outcome, Skip};

use crate::ground::{DEEP, Disk};
use crate::hidden::{NEIGHBOURS, neighboured};
use crate::program;
use crate::stage::{self, Told, heard};

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
}

use Ground::{Apart, On, Shared, Two};

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
fn on(ground: Ground, run: &str) -> Told {
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

/// Runs it and hears its findings.
fn real(here: &Path, there: &Path, run: &str) -> Told {
    let home = tempfile::TempDir::new()?;
    let json = home.path().join("honest.json");
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
