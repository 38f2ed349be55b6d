//! `iodyno tune`: what it found on a disk is there again, however it ends.

use std::fs;
use std::path::Path;

use testbed::sandbox::{LoopDevice, Mount};
use testbed::{Case, Need, Outcome, Skip};

use crate::program::{IODYNO, ProgramOutput, Running, dressed, fingerprint, iodyno, scratch, told};

pub fn cases() -> Vec<Case> {
    let needs = [Need::Root, Need::Loop, Need::That(adjustable)];
    vec![
        Case::new("tune prints a table of each workload and restores", &needs, tables),
        Case::new("tune tries combinations, and writes what was given up", &needs, combinations),
        Case::new("tune restores after Ctrl-C", &needs, interrupted),
        // Whatever of ours is started meanwhile would restore it.
        Case::new("tune that was killed is restored by the next start", &needs, killed).alone(),
        Case::new("tune refuses what it cannot do, and changes nothing", &needs, refused),
        Case::new(
            "tune refuses a device in use until it is named",
            &[Need::Root, Need::Loop, Need::That(adjustable), Need::Tool("mkfs.ext4")],
            in_use,
        ),
    ]
}

/// Whether settings of loop devices may be changed here: in a container /sys is often read-only.
fn adjustable() -> Result<(), Skip> {
    let device = LoopDevice::new(1 << 20)?;
    let file = setting(device.path(), "read_ahead_kb");
    match fs::File::options().write(true).open(&file) {
        Ok(_) => Ok(()),
        Err(error) => Err(Skip::new(format!("{file}: {error}"))),
    }
}

fn setting(device: &Path, name: &str) -> String {
    let disk = device.file_name().expect("a device's name").to_string_lossy().into_owned();
    format!("/sys/block/{disk}/queue/{name}")
}

/// All settings that are tried, as sysfs says them.
fn settings(device: &Path) -> Vec<String> {
    let read = |name| fs::read_to_string(setting(device, name)).unwrap_or_default();
    ["scheduler", "nr_requests", "max_sectors_kb", "read_ahead_kb"].map(read).into()
}

fn tune(device: &Path, arguments: &[&str]) -> std::process::Command {
    let mut command = iodyno(["tune"]);
    command.arg(device).args(["--passes", "2", "--time", "20ms"]).args(arguments);
    command
}

/// What lies where journals lie, of devices that only this test has.
fn journals(device: &Path) -> usize {
    let disk = format!("\"{}\"", device.file_name().expect("a name").to_string_lossy());
    let files = fs::read_dir("/run/iodyno").into_iter().flatten().flatten();
    files.filter(|file| fs::read_to_string(file.path()).is_ok_and(|text| text.contains(&disk))).count()
}

fn tables() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    let (before, content) = (settings(device.path()), fingerprint(device.path()));
    let output = told(tune(device.path(), &["--try", "max_sectors_kb=64,256", "--try", "read_ahead_kb=0"]));
    output.expect(
        0,
        &[
            &format!("iodyno tune {}", device.path().display()),
            "found: scheduler=",
            "sequential reads of 1 MiB, depth 8",
            "random reads of 4 KiB, depth 32",
            "sequential reads of 128 KiB, depth 1, through the page cache",
            "as found",
            "max_sectors_kb=64",
            "max_sectors_kb=256",
            "read_ahead_kb=0",
            "is as it was found.",
        ],
    );
    assert!(output.out.lines().all(|line| line.chars().count() <= 80), "{output}");
    assert_eq!(settings(device.path()), before);
    assert_eq!(fingerprint(device.path()), content, "tune wrote to a device that was not given up");
    assert_eq!(journals(device.path()), 0);
    Ok(())
}

fn combinations() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    let before = settings(device.path());
    let name = device.path().display().to_string();
    let words = [
        "--try",
        "max_sectors_kb=64,128",
        "--try",
        "read_ahead_kb=64",
        "--combine",
        "--json",
        "--destroy",
        &name,
    ];
    let output = told(tune(device.path(), &words));
    output.expect(
        0,
        &["iodyno.tuning/1", "max_sectors_kb=64 read_ahead_kb=64", "sequential writes of 1 MiB, depth 8"],
    );
    assert_eq!(output.out.matches("\"max_sectors_kb=128 read_ahead_kb=64\"").count(), 5, "{output}");
    assert_eq!(settings(device.path()), before);
    Ok(())
}

/// A command that runs long, at a moment when the setting is changed.
fn changed(device: &Path) -> Running {
    let mut command = iodyno(["tune"]);
    command.arg(device).args(["--passes", "100", "--time", "100ms", "--try", "read_ahead_kb=252"]);
    let mut running = Running::start(command);
    let file = setting(device, "read_ahead_kb");
    running
        .until("a setting is changed", || fs::read_to_string(&file).is_ok_and(|text| text.trim() == "252"));
    running
}

fn interrupted() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    let before = settings(device.path());
    let running = changed(device.path());
    running.signal(libc::SIGINT);
    running.end().expect(130, &[]);
    assert_eq!(settings(device.path()), before);
    assert_eq!(journals(device.path()), 0);
    Ok(())
}

fn killed() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    let before = settings(device.path());
    let kill = || {
        let running = changed(device.path());
        running.signal(libc::SIGKILL);
        assert!(!running.end().status.success());
        assert_eq!(journals(device.path()), 1);
        assert_ne!(settings(device.path()), before, "nothing was left to restore");
    };
    kill();
    let note = "an iodyno tune that was killed left its queue changed; restored: scheduler=";
    told(iodyno(["--version"])).expect(0, &["iodyno ", note]);
    assert_eq!((settings(device.path()), journals(device.path())), (before.clone(), 0));
    // By the name of an original it restores, and says only what that would say.
    kill();
    let home = scratch();
    std::os::unix::fs::symlink(IODYNO, home.path().join("dd"))?;
    let output = told(dressed(std::process::Command::new(home.path().join("dd")), ["--version"]));
    assert_eq!((output.code(), output.err.as_str()), (0, ""), "{output}");
    assert_eq!((settings(device.path()), journals(device.path())), (before.clone(), 0));
    Ok(())
}

fn refused() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    let before = settings(device.path());
    let wrong = |words: &[&str]| -> ProgramOutput { told(tune(device.path(), words)) };
    wrong(&["--try", "max_sectors_kb=3"]).refused(&["`3` is no max_sectors_kb of loop", "from 4 to "]);
    wrong(&["--try", "scheduler=fast"]).refused(&["`fast` is no scheduler of loop", "one of "]);
    wrong(&["--try", "rotational=1"])
        .refused(&["`rotational` is no setting that is tried", "one of scheduler, "]);
    wrong(&["--try", "scheduler"]).refused(&["expected NAME=VALUE", "--try max_sectors_kb=128,1024"]);
    wrong(&["--try", "read_ahead_kb=64", "--engine", "psync"])
        .refused(&["no engine of that name", "io_uring"]);
    wrong(&["--try", "read_ahead_kb=64", "--destroy", "/dev/null"])
        .refused(&["is not what is measured", "--destroy /dev/loop"]);
    wrong(&[]).refused(&["--try"]);
    let mut file = iodyno(["tune"]);
    file.arg(device.image()).args(["--try", "read_ahead_kb=64"]);
    told(file).refused(&["no block device with a queue", "lsblk"]);
    assert_eq!(settings(device.path()), before);
    Ok(())
}

fn in_use() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    device.mkfs("ext4")?;
    let mount = Mount::new(device.path(), "ext4", "")?;
    let before = settings(device.path());
    let name = device.path().display().to_string();
    let way_out = format!("--in-use {name}");
    let words = ["--try", "read_ahead_kb=64"];
    told(tune(device.path(), &words)).refused(&["it is mounted", "umount ", &way_out]);
    told(tune(device.path(), &[&words[..], &["--in-use", "/dev/sda"]].concat())).refused(&[&way_out]);
    told(tune(device.path(), &[&words[..], &["--in-use", &name]].concat()))
        .expect(0, &["is as it was found"]);
    assert_eq!(settings(device.path()), before);
    // Writing is another matter.
    told(tune(device.path(), &[&words[..], &["--in-use", &name, "--destroy", &name]].concat()))
        .expect(2, &["it is mounted"]);
    assert_eq!(settings(device.path()), before);
    drop(mount);
    Ok(())
}
