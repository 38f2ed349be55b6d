//! Sandboxes hold what they promise, and are gone afterwards.

use crate::raw::{Aligned, mounted_below, open_direct};
use std::fs;
use std::io::{ErrorKind, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use testbed::sandbox::{
    FullDisk, LoopDevice, LoopOptions, Mount, NOBODY, UnprivilegedUser, Zram, seccomp_forbid_io_uring,
};
use testbed::{Case, Need, Outcome};

pub fn cases() -> Vec<Case> {
    let (root, mount, disk) = (Need::Root, Need::Mount, Need::Loop);
    let mut cases = vec![
        Case::new("a_loop_device_reads_back_and_detaches", &[disk], loop_device),
        Case::new("loop_devices_race_and_all_win", &[disk], loop_race),
        Case::new("a_read_only_loop_device_refuses_writes", &[disk], loop_read_only),
        Case::new("a_tmpfs_has_its_size_and_goes_away", &[mount], tmpfs),
        Case::new("a_mount_in_use_goes_away_too", &[mount], mount_in_use),
        Case::new("a_read_only_mount_refuses_writes", &[mount], read_only),
        Case::new("an_overlay_leaves_its_lower_layer_alone", &[mount, Need::FileSystem("overlay")], overlay),
        Case::new("a_full_tmpfs_is_full", &[mount], || full(&FullDisk::tmpfs(256 << 10)?, 256 << 10)),
        Case::new("a_full_ext4_is_full", &[disk, Need::Tool("mkfs.ext4")], || {
            full(&FullDisk::ext4(1 << 20)?, 1 << 20)
        }),
        Case::new("nobody_is_nobody", &[root], nobody),
        Case::new("a_program_out_of_reach_is_run_from_a_copy", &[root], out_of_reach),
        Case::new("seccomp_forbids_io_uring_and_nothing_else", &[Need::IoUring], seccomp),
        Case::new("zram_gets_a_size_and_loses_it", &[Need::Zram], zram),
    ];
    for (file_system, tool, mebibytes) in [
        ("ext4", "mkfs.ext4", 16),
        ("xfs", "mkfs.xfs", 300),
        ("btrfs", "mkfs.btrfs", 128),
        ("vfat", "mkfs.vfat", 16),
    ] {
        let needs = [disk, Need::Tool(tool), Need::FileSystem(file_system)];
        cases.push(Case::new(format!("{file_system}_on_a_loop_device"), &needs, move || {
            file_system_on_loop(file_system, mebibytes << 20)
        }));
    }
    cases
}

fn backing_file(device: &Path) -> Option<String> {
    let name = device.file_name()?.to_str()?;
    fs::read_to_string(format!("/sys/block/{name}/loop/backing_file")).ok()
}

fn loop_device() -> Outcome {
    let options = LoopOptions { bytes: 4 << 20, prefill: Some(0x5A), direct_io: true, ..Default::default() };
    let device = LoopDevice::with(&options)?;
    let (path, image) = (device.path().to_path_buf(), device.image().to_path_buf());
    let ours =
        |path: &Path| backing_file(path).is_some_and(|file| file.contains(image.to_str().unwrap_or("?")));
    assert!(ours(&path));
    let file = open_direct(&path)?;
    let mut buffer = Aligned::new(4096);
    file.read_exact_at(&mut buffer, (4 << 20) - 4096)?;
    assert!(buffer.iter().all(|byte| *byte == 0x5A));
    file.write_all_at(&Aligned::filled(4096, 0x11), 0)?;
    file.sync_all()?;
    assert_eq!(fs::read(&image)?[..4096], [0x11; 4096]);
    drop(file);
    drop(device);
    assert!(!image.exists() && !ours(&path));
    Ok(())
}

fn loop_race() -> Outcome {
    let attach = |_| std::thread::spawn(|| LoopDevice::new(1 << 20));
    let racers: Vec<_> = (0..6).map(attach).collect();
    let mut devices = Vec::new();
    for racer in racers {
        devices.push(racer.join().map_err(|_| "a racer panicked")??);
    }
    let mut paths: Vec<_> = devices.iter().map(|device| device.path()).collect();
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), 6);
    Ok(())
}

fn loop_read_only() -> Outcome {
    let device = LoopDevice::with(&LoopOptions { bytes: 1 << 20, read_only: true, ..Default::default() })?;
    let refused = open_direct(device.path()).and_then(|file| file.write_all_at(&Aligned::new(4096), 0));
    let error = refused.expect_err("a write to a read-only device");
    assert!(matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES | libc::EROFS)), "{error}");
    Ok(())
}

fn file_system_on_loop(file_system: &str, bytes: u64) -> Outcome {
    let device = LoopDevice::new(bytes)?;
    device.mkfs(file_system)?;
    let mount = Mount::new(device.path(), file_system, "noatime")?;
    fs::write(mount.path().join("file"), b"content")?;
    assert_eq!(fs::read(mount.path().join("file"))?, b"content");
    let place = mount.path().to_path_buf();
    drop(mount);
    assert!(!mounted_below(&place));
    let again = Mount::new(device.path(), file_system, "ro")?;
    assert_eq!(fs::read(again.path().join("file"))?, b"content");
    refuses_writes(again.path());
    Ok(())
}

fn refuses_writes(place: &Path) {
    let error = fs::write(place.join("new"), b"x").expect_err("a write to a read-only mount");
    assert_eq!(error.raw_os_error(), Some(libc::EROFS));
}

fn tmpfs() -> Outcome {
    let mount = Mount::tmpfs(1 << 20)?;
    let place = mount.path().to_path_buf();
    assert!(mounted_below(&place));
    let error = fs::write(place.join("big"), vec![1; 2 << 20]).expect_err("twice what fits");
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    drop(mount);
    assert!(!mounted_below(&place) && !place.exists());
    Ok(())
}

fn mount_in_use() -> Outcome {
    let mount = Mount::tmpfs(1 << 20)?;
    let place = mount.path().to_path_buf();
    let _user = fs::File::create(place.join("open"))?;
    drop(mount);
    assert!(!mounted_below(&place));
    Ok(())
}

fn read_only() -> Outcome {
    let directory = tempfile::tempdir()?;
    fs::write(directory.path().join("old"), b"seen")?;
    let mount = Mount::read_only(directory.path())?;
    assert_eq!(fs::read(mount.path().join("old"))?, b"seen");
    refuses_writes(mount.path());
    let writable = Mount::tmpfs(1 << 20)?;
    fs::write(writable.path().join("old"), b"x")?;
    writable.remount("ro")?;
    refuses_writes(writable.path());
    Ok(())
}

fn overlay() -> Outcome {
    let (lower, layer) = (tempfile::tempdir()?, Mount::tmpfs(1 << 20)?);
    fs::write(lower.path().join("file"), b"lower")?;
    let mount = Mount::overlay(lower.path(), layer.path())?;
    fs::write(mount.path().join("file"), b"upper")?;
    assert_eq!(fs::read(mount.path().join("file"))?, b"upper");
    assert_eq!(fs::read(lower.path().join("file"))?, b"lower");
    Ok(())
}

fn full(disk: &FullDisk, free_bytes: u64) -> Outcome {
    let mut file = fs::File::create(disk.path().join("more"))?;
    let mut written = 0;
    let error = loop {
        match file.write(&[1; 4096]).and_then(|bytes| file.sync_data().map(|()| bytes)) {
            Ok(bytes) => written += bytes as u64,
            Err(error) => break error,
        }
        assert!(written <= free_bytes + 4096, "{written} bytes went onto a disk with {free_bytes} left");
    };
    assert_eq!(error.kind(), ErrorKind::StorageFull);
    assert!(written >= free_bytes / 2, "only {written} of {free_bytes} bytes were left");
    Ok(())
}

fn nobody() -> Outcome {
    let user = UnprivilegedUser::new()?;
    let output = user.command("id").arg("-u").output()?;
    assert_eq!(String::from_utf8(output.stdout)?.trim(), NOBODY.to_string());
    let groups = user.command("id").arg("-G").output()?;
    assert_eq!(String::from_utf8(groups.stdout)?.trim(), NOBODY.to_string());
    assert!(user.command("touch").arg("mine").status()?.success());
    assert!(user.directory().join("mine").exists());
    let private = tempfile::tempdir()?;
    let refused = user.command("touch").arg(private.path().join("x")).output()?;
    assert!(!refused.status.success());
    Ok(())
}

fn out_of_reach() -> Outcome {
    let private = tempfile::tempdir()?;
    let program = private.path().join("whoever");
    fs::copy("/bin/true", &program)?;
    let user = UnprivilegedUser::new()?;
    assert!(user.command(&program).status()?.success());
    Ok(())
}

/// The child asks the kernel for a ring itself, through this very program: see `probe_io_uring` in `main`.
fn seccomp() -> Outcome {
    let probe = || {
        let mut command = Command::new("/proc/self/exe");
        command.env("TESTBED_PROBE_IO_URING", "1");
        command
    };
    assert_eq!(probe().status()?.code(), Some(0), "io_uring works without the filter");
    let mut forbidden = probe();
    assert_eq!(seccomp_forbid_io_uring(&mut forbidden)?.status()?.code(), Some(libc::EPERM));
    let mut other = Command::new("true");
    assert!(seccomp_forbid_io_uring(&mut other)?.status()?.success());
    Ok(())
}

/// Ends a process that was started to try io_uring, with the errno as its exit code.
pub fn probe_io_uring() {
    if std::env::var_os("TESTBED_PROBE_IO_URING").is_none() {
        return;
    }
    let mut params = [0u64; 15];
    // SAFETY: the kernel writes at most 120 bytes into `params`.
    let fd = unsafe { libc::syscall(libc::SYS_io_uring_setup, 1, params.as_mut_ptr()) };
    let errno = std::io::Error::last_os_error().raw_os_error().unwrap_or(255);
    std::process::exit(if fd >= 0 { 0 } else { errno });
}

fn zram() -> Outcome {
    let size = || fs::read_to_string("/sys/block/zram0/disksize").map(|text| text.trim().to_string());
    let disk = Zram::new(8 << 20)?;
    assert_eq!(size()?, (8 << 20).to_string());
    let file = open_direct(disk.path())?;
    file.write_all_at(&Aligned::filled(4096, 3), 4096)?;
    let mut buffer = Aligned::new(4096);
    file.read_exact_at(&mut buffer, 4096)?;
    assert!(buffer.iter().all(|byte| *byte == 3));
    drop(file);
    drop(disk);
    assert_eq!(size()?, "0");
    Ok(())
}
