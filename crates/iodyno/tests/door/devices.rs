//! Devices that somebody may still need are not written to, unless they were named.

use std::fs::File;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::Command;

use testbed::sandbox::{LoopDevice, Mount};
use testbed::{Case, Need, Outcome};

use crate::program::{Told, fingerprint, iodyno, run, scratch, told};

pub fn cases() -> Vec<Case> {
    let mkfs = Need::Tool("mkfs.ext4");
    vec![
        Case::new("a signed device is refused until it is named", &[Need::Loop, mkfs], signed),
        Case::new("a mounted device is refused", &[Need::Loop, mkfs], mounted),
        Case::new("a device that is held is refused", &[Need::Loop], held),
        Case::new("a device beneath a loop device is refused", &[Need::Loop, Need::Tool("losetup")], beneath),
        Case::new("a device that nobody needs is written to", &[Need::Loop], free),
    ]
}

fn write_to(device: &Path, arguments: &[&str]) -> Told {
    let home = scratch();
    let device = device.display();
    let text = format!(
        "[target.d]\ndevice = \"{device}\"\n[[phase]]\n[[phase.job]]\non = \"d\"\ndo = \"write\"\n\
         until = {{ operations = 16 }}\nfinish = \"fsync\"\n"
    );
    run(home.path(), &text, arguments)
}

/// The drop-in writes what its original would write, but for devices in use.
fn dd_to(device: &Path, also: &[&str]) -> Told {
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
    write_to(device.path(), &["--destroy", &name]).expect(0, &["64 KiB"]);
    assert_ne!(fingerprint(device.path()), before);
    Ok(())
}

fn mounted() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    device.mkfs("ext4")?;
    let mount = Mount::new(device.path(), "ext4", "")?;
    let place = mount.path().display().to_string();
    write_to(device.path(), &[]).refused(&["it is mounted", &place]);
    let name = device.path().display().to_string();
    let way_out = format!("--also destroy={name}");
    dd_to(device.path(), &[]).expect(1, &["it is mounted", "unmount it", &way_out]);
    dd_to(device.path(), &["--also", "destroy=/dev/null"]).expect(1, &["it is mounted"]);
    dd_to(device.path(), &[&format!("--also=destroy={name}0")]).expect(1, &["it is mounted"]);
    dd_to(device.path(), &["--also", &format!("destroy={name}")]).expect(0, &["10+0 records out"]);
    drop(mount);
    dd_to(device.path(), &[]).expect(0, &["10+0 records out", "40960 bytes"]);
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
    write_to(device.path(), &[]).refused(&[&format!("{} lies on it", above.0)]);
    Ok(())
}

fn free() -> Outcome {
    let device = LoopDevice::new(16 << 20)?;
    let before = fingerprint(device.path());
    write_to(device.path(), &[]).expect(0, &["64 KiB"]);
    assert_ne!(fingerprint(device.path()), before);
    Ok(())
}
