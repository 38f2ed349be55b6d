//! Devices that somebody may still need are not written to, unless they were named.

use std::ffi::CString;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::Command;

use testbed::sandbox::{LoopDevice, Mount};
use testbed::{Case, Need, Outcome, Skip};

use crate::program::{IODYNO, ProgramOutput, fingerprint, iodyno, plan, run, scratch, told};

pub fn cases() -> Vec<Case> {
    let mkfs = Need::Tool("mkfs.ext4");
    vec![
        Case::new("a signed device is refused until it is named", &[Need::Loop, mkfs], signed),
        Case::new("a mounted device is refused, given up or not", &[Need::Loop, mkfs], mounted),
        Case::new("fio writes to a mounted device that its own option names", &[Need::Loop, mkfs], allowed),
        Case::new(
            "a device is not mounted because another's name begins like its own",
            &[Need::Loop, mkfs],
            namesake,
        ),
        Case::new(
            "a disk is refused while a partition of it is mounted",
            &[Need::Loop, mkfs, Need::Tool("losetup")],
            partitioned,
        ),
        Case::new(
            "a device that fstab names is refused, given up or not",
            &[Need::Loop, Need::Tool("unshare"), Need::That(fstab)],
            counted_on,
        ),
        Case::new("each worker's own device is looked at", &[Need::Loop, mkfs], each),
        Case::new("a device that is held is refused", &[Need::Loop], held),
        Case::new("a device beneath a loop device is refused", &[Need::Loop, Need::Tool("losetup")], beneath),
        Case::new("a device that nobody needs is written to", &[Need::Loop], free),
    ]
}

fn write_to(device: &Path, arguments: &[&str]) -> ProgramOutput {
    let home = scratch();
    let device = device.display();
    let text = format!(
        "[target.d]\ndevice = \"{device}\"\n[[phase]]\n[[phase.job]]\non = \"d\"\ndo = \"write\"\n\
         until = {{ operations = 16 }}\nfinish = \"fsync\"\n"
    );
    run(home.path(), &text, arguments)
}

/// The drop-in writes what its original would write, but for devices in use.
fn dd_to(device: &Path, also: &[&str]) -> ProgramOutput {
    let of = format!("of={}", device.display());
    let mut command = iodyno(["dd", "if=/dev/zero", &of, "bs=4k", "count=10", "oflag=direct"]);
    command.args(also).env_remove("IODYNO_ALSO");
    told(command)
}

fn signed() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    device.mkfs("ext4")?;
    let before = fingerprint(device.path());
    let name = device.path().display().to_string();
    let way_out = format!("--destroy {name}");
    write_to(device.path(), &[]).refused(&["plan.toml:1:", "an ext2/3/4 file system", &way_out]);
    write_to(device.path(), &["--destroy", &format!("{name}0")])
        .refused(&["an ext2/3/4 file system", &way_out]);
    write_to(device.path(), &["--destroy", "/dev/null"]).refused(&[&way_out]);
    assert_eq!(fingerprint(device.path()), before, "refused, and yet written");
    let anew = format!("mkfs.ext4 {name} && mount {name} /mnt");
    write_to(device.path(), &["--destroy", &name])
        .expect(0, &["64 KiB", "an ext2/3/4 file system was on it", &anew]);
    assert_ne!(fingerprint(device.path()), before);
    Ok(())
}

fn mounted() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    device.mkfs("ext4")?;
    let mount = Mount::new(device.path(), "ext4", "")?;
    let way_out = format!("umount {}", mount.path().display());
    let name = device.path().display().to_string();
    write_to(device.path(), &[]).refused(&["it is mounted", &way_out]);
    write_to(device.path(), &["--destroy", &name]).refused(&["it is mounted", &way_out]);
    dd_to(device.path(), &[]).expect(1, &["it is mounted", &way_out]);
    dd_to(device.path(), &["--also", &format!("destroy={name}")]).expect(1, &["it is mounted", &way_out]);
    drop(mount);
    dd_to(device.path(), &[]).expect(0, &["10+0 records out", "40960 bytes"]);
    Ok(())
}

fn allowed() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    device.mkfs("ext4")?;
    let mount = Mount::new(device.path(), "ext4", "")?;
    let name = format!("--filename={}", device.path().display());
    let fio = |more: &[&str]| {
        let job = ["fio", "--name=j", &name, "--rw=write", "--bs=4k", "--size=64k", "--offset=8m"];
        let mut command = iodyno([&job, more].concat());
        command.env_remove("IODYNO_ALSO");
        told(command)
    };
    fio(&[]).expect(1, &["it is mounted"]);
    fio(&["--allow_mounted_write=1"]).expect(0, &["total=0,16,0,0"]);
    drop(mount);
    Ok(())
}

/// Nodes of two devices, called so that the name of one begins that of the other.
fn namesake() -> Outcome {
    let (device, other) = (LoopDevice::new(16 << 20)?, LoopDevice::new(16 << 20)?);
    other.mkfs("ext4")?;
    let home = scratch();
    let node = |name: &str, device: &LoopDevice| {
        let path = home.path().join(name);
        let number = device.path().metadata().expect("a device").rdev();
        let text = CString::new(path.as_os_str().as_bytes()).expect("no zero byte");
        // SAFETY: the path is zero-terminated.
        assert_eq!(unsafe { libc::mknod(text.as_ptr(), libc::S_IFBLK | 0o600, number) }, 0);
        path
    };
    let (one, eleven) = (node("loop1", &device), node("loop11", &other));
    let mount = Mount::new(&eleven, "ext4", "")?;
    write_to(&eleven, &[]).refused(&["it is mounted"]);
    write_to(&one, &[]).expect(0, &["64 KiB"]);
    drop(mount);
    Ok(())
}

/// A table of one partition, as PCs have them: its first sector and how many.
fn partition_table(first: u32, sectors: u32) -> [u8; 512] {
    let mut table = [0; 512];
    table[0x1BE + 4] = 0x83;
    table[0x1BE + 8..][..4].copy_from_slice(&first.to_le_bytes());
    table[0x1BE + 12..][..4].copy_from_slice(&sectors.to_le_bytes());
    table[510..].copy_from_slice(&[0x55, 0xAA]);
    table
}

fn partitioned() -> Outcome {
    let image = tempfile::NamedTempFile::new()?;
    image.as_file().set_len(64 << 20)?;
    image.as_file().write_all_at(&partition_table(2048, 100_000), 0)?;
    let mut losetup = Command::new("losetup");
    losetup.args(["-P", "-f", "--show"]).arg(image.path());
    let disk = Attached(told(losetup).out.trim().to_string());
    let part = format!("{}p1", disk.0);
    if !Path::new(&part).exists() {
        return Err(Skip::new("the kernel shows no partitions of loop devices").into());
    }
    let mut mkfs = Command::new("mkfs.ext4");
    mkfs.args(["-q", "-F", &part]);
    assert_eq!(told(mkfs).code(), 0);
    let mount = Mount::new(&part, "ext4", "")?;
    let disk_path = Path::new(&disk.0);
    write_to(disk_path, &["--destroy", &disk.0]).refused(&[&format!("it is mounted ({part} on "), "umount "]);
    drop(mount);
    write_to(disk_path, &[]).refused(&["a partition table", "--destroy"]);
    Ok(())
}

fn fstab() -> Result<(), Skip> {
    match Path::new("/etc/fstab").exists() {
        true => Ok(()),
        false => Err(Skip::new("there is no /etc/fstab to lay another over")),
    }
}

/// In a namespace of its own, where another table lies over the machine's.
fn counted_on() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    let name = device.path().display().to_string();
    let (table, home) = (tempfile::NamedTempFile::new()?, scratch());
    std::fs::write(table.path(), format!("# data\n{name}\t/srv/my\\040data xfs noauto 0 0\n"))?;
    let text = format!(
        "[target.d]\ndevice = \"{name}\"\n[[phase]]\n[[phase.job]]\non = \"d\"\ndo = \"write\"\n\
                        until = {{ operations = 16 }}\n"
    );
    let plan = plan(home.path(), &text);
    let run = |more: &[&str]| {
        let script = "mount --bind \"$0\" /etc/fstab && exec \"$@\"";
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", script]).arg(table.path()).args([IODYNO, "run", "--quiet"]);
        command.arg(&plan).args(more).current_dir(home.path());
        told(command)
    };
    for more in [&[][..], &["--destroy", &name]] {
        run(more).refused(&["/etc/fstab names it for /srv/my data", "take it out of /etc/fstab"]);
    }
    std::fs::write(table.path(), format!("#{name} / ext4\n"))?;
    run(&[]).expect(0, &["64 KiB"]);
    Ok(())
}

/// A name with the worker's number is no device before it is resolved.
fn each() -> Outcome {
    let (free, mounted) = (LoopDevice::new(16 << 20)?, LoopDevice::new(16 << 20)?);
    mounted.mkfs("ext4")?;
    let mount = Mount::new(mounted.path(), "ext4", "")?;
    let before = fingerprint(free.path());
    let file = format!("{{worker:{}|{}}}", free.path().display(), mounted.path().display());
    let home = scratch();
    let text = format!(
        "[target.d]\nfile = \"{file}\"\n[[phase]]\n[[phase.job]]\non = \"d\"\ndo = \"write\"\nworkers = 2\n\
         until = {{ operations = 16 }}\n"
    );
    run(home.path(), &text, &[]).refused(&["it is mounted", &mounted.path().display().to_string()]);
    assert_eq!(fingerprint(free.path()), before);
    drop(mount);
    Ok(())
}

fn held() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    let holder = File::options().read(true).write(true).custom_flags(libc::O_EXCL).open(device.path())?;
    write_to(device.path(), &[]).refused(&["it is in use"]);
    drop(holder);
    write_to(device.path(), &[]).expect(0, &[]);
    Ok(())
}

/// Detached when dropped, as the device that it is attached to could not be otherwise.
struct Attached(String);

impl Drop for Attached {
    fn drop(&mut self) {
        let _ = Command::new("losetup").args(["-d", &self.0]).status();
    }
}

fn beneath() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    let mut losetup = Command::new("losetup");
    losetup.args(["-f", "--show"]).arg(device.path());
    let attached = told(losetup);
    let above = Attached(attached.out.trim().to_string());
    assert!(above.0.starts_with("/dev/loop"), "{attached}");
    write_to(device.path(), &[])
        .refused(&[&format!("{} lies on it", above.0), &format!("losetup -d {}", above.0)]);
    Ok(())
}

fn free() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    let before = fingerprint(device.path());
    write_to(device.path(), &[]).expect(0, &["64 KiB"]);
    assert_ne!(fingerprint(device.path()), before);
    Ok(())
}
