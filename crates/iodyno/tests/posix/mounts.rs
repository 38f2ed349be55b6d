//! Real file systems: what each of them does against the rules is in its profile, with a reason, and there is nothing else.

use super::report::{iodyno, judge, judged};
use super::traces::Trace;
use std::path::Path;
use testbed::sandbox::{LoopDevice, Mount};
use testbed::{Case, Need, Outcome, Skip};

/// Fewer would not be the suite that it claims to be.
const CHECKS_MIN: u64 = 9_000;

pub fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for (name, file_system, tool) in [
        ("on_ext3", "ext3", "mkfs.ext3"),
        ("on_ext4", "ext4", "mkfs.ext4"),
        ("on_xfs", "xfs", "mkfs.xfs"),
        ("on_btrfs", "btrfs", "mkfs.btrfs"),
    ] {
        let needs = [Need::Root, Need::Loop, Need::FileSystem(file_system), Need::Tool(tool)];
        let case = Case::new(name, &needs, move || on_a_loop_device(file_system));
        // Half a minute each: continuous integration takes ext4, and one of the others.
        cases.push(if file_system == "ext4" { case } else { case.against() });
    }
    let overlay = [Need::Root, Need::Mount, Need::FileSystem("overlay")];
    let ntfs = [Need::Root, Need::Loop, Need::Fuse, Need::Tool("ntfs-3g"), Need::Tool("mkfs.ntfs")];
    // One process serves all its calls: two minutes, where the others take 10 to 25 s.
    cases.push(Case::new("on_ntfs_3g", &ntfs, on_ntfs).against());
    cases.push(Case::new("on_tmpfs", &[Need::Root, Need::Mount], on_tmpfs));
    cases.push(Case::new("on_overlay_on_tmpfs", &overlay, on_overlay_on_tmpfs).against());
    cases.push(Case::new("on_overlay_on_ext4", &overlay, on_overlay_on_ext4).against());
    cases
}

/// Runs everything there; the count of checks that passed.
#[track_caller]
fn clean(what: &str, directory: &Path) -> u64 {
    let mut command = iodyno(["posix"]);
    command.arg(directory);
    let trace = Trace::of(&mut command, directory);
    let report = judged(command);
    report.is_clean(what);
    trace.vanishes(what);
    report.total("pass")
}

fn device(file_system: &str) -> Result<LoopDevice, Skip> {
    // mkfs.xfs makes nothing smaller than 300 MiB.
    let device = LoopDevice::new(512 << 20)?;
    device.mkfs(file_system)?;
    Ok(device)
}

fn on_a_loop_device(file_system: &str) -> Outcome {
    let device = device(file_system)?;
    let mount = Mount::new(device.path(), file_system, "")?;
    let passed = clean(file_system, mount.path());
    assert!(passed >= CHECKS_MIN || file_system != "ext4", "{passed} checks passed");
    Ok(())
}

fn on_tmpfs() -> Outcome {
    let mount = Mount::tmpfs(512 << 20)?;
    let passed = clean("tmpfs", mount.path());
    assert!(passed >= CHECKS_MIN, "{passed} checks passed");
    Ok(())
}

fn on_ntfs() -> Outcome {
    let device = device("ntfs")?;
    let mount = Mount::ntfs(&device)?;
    // The kernel calls it `fuseblk`, as it calls others.
    let report = judge(mount.path(), &["--profile", "ntfs-3g"]);
    assert!(report.total("pass") >= CHECKS_MIN, "{} checks passed", report.total("pass"));
    let unexplained = report.total("fail") + report.total("could_not_run");
    match unexplained {
        0 => report.is_clean("ntfs-3g"),
        _ => {
            return Err(
                Skip::new(format!("{unexplained} checks have no reason in ntfs-3g's profile yet")).into()
            );
        }
    }
    Ok(())
}

fn overlay_on(below: &Mount, what: &str) -> Outcome {
    let lower = below.path().join("lower");
    let layer = below.path().join("layer");
    std::fs::create_dir(&lower)?;
    std::fs::create_dir(&layer)?;
    std::fs::write(lower.join("from-below"), "lower")?;
    let mount = Mount::overlay(&lower, &layer)?;
    clean(what, mount.path());
    Ok(())
}

fn on_overlay_on_tmpfs() -> Outcome {
    overlay_on(&Mount::tmpfs(512 << 20)?, "overlay on tmpfs")
}

fn on_overlay_on_ext4() -> Outcome {
    let device = device("ext4")?;
    let below = Mount::new(device.path(), "ext4", "")?;
    overlay_on(&below, "overlay on ext4")
}
