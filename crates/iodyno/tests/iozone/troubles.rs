//! What goes wrong: a disk that is full in the middle, Ctrl-C, files that were there before, memory, mount points.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::path::Path;

use testbed::sandbox::{FullDisk, LoopDevice, Mount};
use testbed::{Case, Need, Outcome};

use crate::program::{Running, iodyno};
use crate::runs::{iozone, left};

pub fn cases() -> Vec<Case> {
    let loops = &[Need::Loop, Need::Tool("mkfs.ext4")];
    vec![
        Case::new("iozone_a_disk_that_fills_up_ends_it_with_what_was_measured", &[Need::Mount], full),
        Case::new("iozone_ctrl_c_leaves_nothing_behind", &[], stopped),
        Case::new("iozone_files_that_were_there_stay", &[], there),
        Case::new("iozone_memory_does_not_grow_with_the_file", &[], memory),
        Case::new("iozone_mounts_anew_between_tests", loops, remounted),
        Case::new("iozone_mounts_nothing_anew_that_would_be_lost", &[Need::Mount], lost),
        Case::new("iozone_a_file_that_somebody_locked_is_told", &[], locked),
    ]
}

fn full() -> Outcome {
    let disk = FullDisk::tmpfs(1 << 20)?;
    let before = left(disk.path());
    let told = iozone(disk.path(), "-a -n 256k -g 4m -y 64k -q 64k -i 0 -i 1 -R");
    told.expect(1, &["256 64", "512 64", "No space left on device", "\"Writer report\""]);
    // What did not fit has no figure, and every test that broke off is told with its place.
    assert!(
        told.err.contains("initial write of iozone.tmp (2048 kB, records of 64 kB): write at byte"),
        "{told}"
    );
    assert!(!told.out.lines().any(|line| line.starts_with("            2048")), "{told}");
    assert_eq!(left(disk.path()), before);
    Ok(())
}

fn begun(home: &Path, line: &str) -> Running {
    let mut command = iodyno(["iozone"].into_iter().chain(line.split_whitespace()));
    command.env("IODYNO_FINDINGS", "0").current_dir(home);
    Running::start(command)
}

fn stopped() -> Outcome {
    let home = tempfile::tempdir()?;
    for (line, made) in
        [("-s 64m -r 4k -i 0 -i 2 -J 5", "iozone.tmp"), ("-t 2 -s 64m -r 4k -i 0 -J 5", "iozone.DUMMY.1")]
    {
        let mut running = begun(home.path(), line);
        running.until("its file is there", || {
            std::fs::metadata(home.path().join(made)).is_ok_and(|facts| facts.len() > 0)
        });
        running.signal(libc::SIGINT);
        let told = running.end();
        assert_eq!(told.code(), 128 + libc::SIGINT, "{line}: {told}");
        assert!(left(home.path()).is_empty(), "{line}: {:?}", left(home.path()));
    }
    Ok(())
}

fn there() -> Outcome {
    let home = tempfile::tempdir()?;
    let own = home.path().join("own");
    std::fs::write(&own, vec![7; 1 << 20])?;
    iozone(home.path(), "-f own -s 128 -i 0 -i 1").expect(0, &[]);
    assert_eq!(std::fs::metadata(&own)?.len(), 128 << 10);
    // Not truncated, and read alone: what was there is there.
    std::fs::write(&own, vec![7; 1 << 20])?;
    iozone(home.path(), "-f own -s 128 -i 0 -+N").expect(0, &[]);
    assert_eq!(std::fs::metadata(&own)?.len(), 1 << 20);
    std::fs::write(&own, vec![7; 1 << 20])?;
    iozone(home.path(), "-f own -+E -s 1m -i 1 -i 0").expect(1, &["nothing is written"]);
    iozone(home.path(), "-f own -+E -s 1m").expect(1, &["most of them write"]);
    iozone(home.path(), "-f own -+E -s 1m -i 1 -i 2 -i 3").expect(0, &[]);
    assert!(std::fs::read(&own)?.iter().all(|byte| *byte == 7));
    assert_eq!(left(home.path()), ["own"]);
    Ok(())
}

/// What the program has used at most so far, kB.
fn peak_kb(pid: i32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(0)
}

/// Bytes that it has read so far.
fn read_bytes(pid: i32) -> u64 {
    let counts = std::fs::read_to_string(format!("/proc/{pid}/io")).unwrap_or_default();
    let line = counts.lines().find_map(|line| line.strip_prefix("rchar: "));
    line.and_then(|count| count.parse().ok()).unwrap_or(0)
}

/// Random reads of a file with nothing in it; the original keeps 8 bytes for each record, of the larger file 2 GiB.
fn memory() -> Outcome {
    let home = tempfile::tempdir()?;
    let peak = |bytes: u64| -> Result<u64, std::io::Error> {
        File::create(home.path().join("f"))?.set_len(bytes)?;
        let mut running = begun(home.path(), &format!("-t 1 -T -F f -+E -i 2 -s {} -r 4k", bytes >> 10));
        let pid = running.pid();
        running.until("it reads", || read_bytes(pid) > 100 << 20);
        let peak = peak_kb(pid);
        running.signal(libc::SIGINT);
        assert_eq!(running.end().code(), 128 + libc::SIGINT);
        Ok(peak)
    };
    let (small, large) = (peak(16 << 30)?, peak(1 << 40)?);
    assert!(small > 0 && large < small + (256 << 10), "{small} kB of 16 GiB, {large} kB of a TiB");
    Ok(())
}

fn remounted() -> Outcome {
    let device = LoopDevice::new(64 << 20)?;
    device.mkfs("ext4")?;
    let mount = Mount::new(device.path(), "ext4", "")?;
    let home = tempfile::tempdir()?;
    let file = mount.path().join("f");
    let point = mount.path().display();
    let line = format!("-f {} -s 4m -r 64k -i 0 -i 1 -i 2 -w -V 9 -U {point}", file.display());
    iozone(home.path(), &line).expect(0, &["iozone test complete."]);
    assert!(std::fs::read(&file)?.iter().all(|byte| *byte == 9));
    // Somebody is in it.
    let held = File::open(&file)?;
    let told = iozone(home.path(), &format!("-f {} -s 4m -i 1 -U {point}", file.display()));
    told.expect(1, &["cannot be unmounted"]);
    drop(held);
    Ok(())
}

fn lost() -> Outcome {
    let mount = Mount::tmpfs(16 << 20)?;
    let home = tempfile::tempdir()?;
    let (point, file) = (mount.path().display(), mount.path().join("f"));
    std::fs::write(mount.path().join("own"), "precious")?;
    let told = iozone(home.path(), &format!("-f {} -s 64 -i 0 -U {point}", file.display()));
    told.expect(1, &["cannot be mounted anew", "tmpfs"]);
    assert_eq!(std::fs::read(mount.path().join("own"))?, b"precious");
    let told = iozone(home.path(), &format!("-s 64 -i 0 -U {}", home.path().display()));
    told.expect(1, &["no mount point"]);
    assert!(left(home.path()).is_empty());
    Ok(())
}

fn locked() -> Outcome {
    let home = tempfile::tempdir()?;
    let file = File::create(home.path().join("f"))?;
    // SAFETY: the call takes no pointers.
    assert_eq!(unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX) }, 0);
    iozone(home.path(), "-f f -s 64 -i 0 -W").expect(1, &["cannot be locked"]);
    drop(file);
    iozone(home.path(), "-f f -s 64 -i 0 -W").expect(0, &[]);
    Ok(())
}
