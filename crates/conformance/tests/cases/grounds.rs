//! What cases stand on: views, another file system, a small one; and file systems of several types.

use std::path::Path;

use iodyno_model::Case as Script;
use testbed::sandbox::{LoopDevice, Mount};
use testbed::{Case, Need, Outcome};

use crate::rules::{all_pass, case, is_empty, outcome, verdicts};

pub fn cases() -> Vec<Case> {
    let ext4 = &[Need::Root, Need::Loop, Need::FileSystem("ext4"), Need::Tool("mkfs.ext4")];
    let xfs = &[Need::Root, Need::Loop, Need::FileSystem("xfs"), Need::Tool("mkfs.xfs")];
    let btrfs = &[Need::Root, Need::Loop, Need::FileSystem("btrfs"), Need::Tool("mkfs.btrfs")];
    let overlay = &[Need::Root, Need::Mount, Need::FileSystem("overlay")];
    vec![
        Case::new("tmpfs: views, another and a small file system", &[Need::Root, Need::Mount], on_tmpfs),
        Case::new("ext4: views, another and a small file system", ext4, || on_disk("ext4", 64 << 20)),
        Case::new("xfs: views, another and a small file system", xfs, || on_disk("xfs", 304 << 20)),
        Case::new("btrfs: views, another and a small file system", btrfs, || on_disk("btrfs", 128 << 20)),
        Case::new("overlay: views, another and a small file system", overlay, on_overlay),
        Case::new("flags that forbid removal do not keep anything", ext4, flags),
        Case::new("locks in the background block and are granted", &[], locks),
        Case::new("a small file system of a type that cannot be made", &[Need::Fuse], no_small),
        Case::new("what a directory inherits is not passed on", ext4, inherited),
    ]
}

/// Scripts that use all of it.
fn scripts() -> Vec<Script> {
    let small = Script {
        alone: true,
        ..case(
            "small",
            "create $small/f 0644 -> ok
             exhaust $small -> ok
             create $small/g 0644 -> ENOSPC
             refund $small -> ok
             create $small/g 0644 -> ok
             === again
             lstat $small/g -> ENOENT
             create $small/g 0644 -> ok",
        )
    };
    vec![
        case(
            "read-only",
            "create f 0644 -> ok
             create $ro/g 0644 -> EROFS
             chmod $ro/f 0600 -> EROFS
             lstat $ro/f -> mode=0644
             owner: lstat $ro/f -> uid=0
             create g 0644 -> ok",
        ),
        case(
            "elsewhere",
            "create f 0644 -> ok
             rename f $elsewhere/f -> EXDEV
             rename f $view/g -> EXDEV
             lstat $view/f -> ok
             create $elsewhere/f 0600 -> ok
             === again
             lstat $elsewhere/f -> ENOENT",
        ),
        case(
            "mount point",
            "mkdir d 0755 -> ok
             mount_tmpfs d
             rmdir d -> EBUSY
             umount d
             rmdir d -> ok",
        ),
        small,
    ]
}

fn runs_all(directory: &Path) -> Outcome {
    let mounts = std::fs::read_to_string("/proc/self/mountinfo")?.lines().count();
    let records = outcome(directory, scripts())?;
    all_pass(&records)?;
    is_empty(directory)?;
    let after = std::fs::read_to_string("/proc/self/mountinfo")?;
    if after.contains("iodyno-posix") || (after.lines().count() > mounts + 20) {
        return Err(format!("mounts are left: {after}").into());
    }
    Ok(())
}

fn on_tmpfs() -> Outcome {
    let mount = Mount::tmpfs(64 << 20)?;
    runs_all(mount.path())
}

fn on_disk(kind: &'static str, bytes: u64) -> Outcome {
    let device = LoopDevice::new(bytes)?;
    device.mkfs(kind)?;
    let mount = Mount::new(device.path(), kind, "")?;
    runs_all(mount.path())
}

fn on_overlay() -> Outcome {
    let layer = Mount::tmpfs(64 << 20)?;
    let lower = tempfile::tempdir()?;
    let mount = Mount::overlay(lower.path(), layer.path())?;
    runs_all(mount.path())
}

fn flags() -> Outcome {
    let device = LoopDevice::new(64 << 20)?;
    device.mkfs("ext4")?;
    let mount = Mount::new(device.path(), "ext4", "")?;
    let records = outcome(
        mount.path(),
        vec![case(
            "immutable",
            "mkdir d 0755
             create d/f 0644
             setflags d/f +i -> ok
             unlink d/f -> EPERM
             setflags d +a -> ok
             chmod d 0000 -> EPERM
             mkdir e 0000 -> ok",
        )],
    )?;
    all_pass(&records)?;
    Ok(is_empty(mount.path())?)
}

fn locks() -> Outcome {
    let folder = tempfile::tempdir()?;
    let records = outcome(
        folder.path(),
        vec![case(
            "locks",
            "h = open f O_RDWR|O_CREAT 0666
             fcntl_lock h wr 0 10 -> ok
             p1: k = open f O_RDWR 0
             p1: fcntl_lock k wr 0 10 -> EAGAIN|EACCES
             p1&: fcntl_lockw k wr 0 10
             blocked p1 -> ok
             fcntl_lock h un 0 10 -> ok
             p1: await -> ok
             p2: k = open f O_RDWR 0
             p2&: fcntl_lockw k wr 100 10
             p2: await -> ok
             p2&: fcntl_lockw k wr 200 10
             tick
             blocked p2 -> ok",
        )],
    )?;
    let wanted = vec!["6: blocked p2: expected success, got its call has come back already".to_string()];
    if verdicts(&records[0]) == wanted { Ok(()) } else { Err(format!("{:#?}", records[0]).into()) }
}

fn no_small() -> Outcome {
    let rogue = testbed::rogue::Rogue::mount(None)?;
    let records = outcome(rogue.path(), scripts())?;
    let told = verdicts(&records[3]);
    if !told
        .iter()
        .all(|verdict| verdict.contains("not applicable: small: no small file system of type fuse"))
    {
        return Err(format!("{told:?}").into());
    }
    all_pass(&records[..2])?;
    Ok(is_empty(rogue.path())?)
}

fn inherited() -> Outcome {
    let device = LoopDevice::new(64 << 20)?;
    device.mkfs("ext4")?;
    let mount = Mount::new(device.path(), "ext4", "")?;
    let directory = mount.path().join("d");
    std::fs::create_dir(&directory)?;
    std::os::unix::fs::chown(&directory, None, Some(4321))?;
    std::fs::set_permissions(&directory, std::os::unix::fs::PermissionsExt::from_mode(0o2777))?;
    let set = std::process::Command::new("setfacl").args(["-d", "-m", "u:1234:rwx"]).arg(&directory).status();
    if !set.is_ok_and(|status| status.success()) {
        println!("setfacl is not installed: the default list is not looked at");
    }
    let text = "lstat . -> mode=0755 gid=$self.gid uid=$self.uid\nmkdir d 0700 -> ok\nlstat d -> mode=0700 gid=$self.gid";
    all_pass(&outcome(&directory, vec![case("plain", text)])?)?;
    Ok(())
}
