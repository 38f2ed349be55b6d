//! File systems that keep their promises: nothing may be found, and nothing may be left.

use std::path::Path;

use testbed::sandbox::{LoopDevice, Mount};
use testbed::{Case, Need, Outcome};

use crate::plans::{all, clean, exercise, left, races};

const OPERATIONS: u64 = 6000;
const RACES: u64 = 3000;

/// Exercises a directory with several seeds; nothing may be found.
fn sound(directory: &Path, name: &str, refused: &[&str]) -> Outcome {
    for seed in [1, 2, 3] {
        let record = exercise(directory, &all(OPERATIONS), seed)?;
        println!("{name}, seed {seed}: refused {:?}", record.refused);
        clean(&record)?;
        // xfs fails direct reads that meet pages on their way to the device.
        if record.failed.iter().any(|(name, _)| !name.starts_with("direct_read")) {
            return Err(format!("seed {seed}: {:?}", record.failed).into());
        }
        for refusal in &record.refused {
            assert!(refused.contains(&refusal.0.as_str()), "{name} has no {refusal:?}");
        }
        let done: u64 = record.done.iter().map(|(_, count)| count).sum();
        assert!(done >= OPERATIONS, "{done} operations done");
        assert!(record.through.iter().all(|(_, count)| *count > 0) && record.through.len() > 4);
        assert_eq!(left(directory), Vec::<String>::new());
    }
    clean(&exercise(directory, &races(RACES), 1)?)?;
    assert_eq!(left(directory), Vec::<String>::new());
    Ok(())
}

fn tmpfs() -> Outcome {
    let mount = Mount::tmpfs(64 << 20)?;
    let refused = ["zero_range", "zero_range_keep_size", "collapse_range", "insert_range", "clone_range"];
    sound(mount.path(), "tmpfs", &[&refused[..], &["dedupe_range"]].concat())
}

fn on_loop(file_system: &'static str, bytes: u64, refused: &'static [&'static str]) -> Outcome {
    let device = LoopDevice::new(bytes)?;
    device.mkfs(file_system)?;
    let mount = Mount::new(device.path(), file_system, "")?;
    sound(mount.path(), file_system, refused)
}

fn ext4() -> Outcome {
    on_loop("ext4", 64 << 20, &["clone_range", "dedupe_range"])
}

fn xfs() -> Outcome {
    on_loop("xfs", 320 << 20, &[])
}

fn btrfs() -> Outcome {
    on_loop("btrfs", 256 << 20, &["collapse_range", "insert_range"])
}

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("tmpfs_is_sound", &[Need::Mount], tmpfs),
        Case::new("ext4_is_sound", &[Need::Loop, Need::Tool("mkfs.ext4")], ext4),
        Case::new("xfs_is_sound", &[Need::Loop, Need::Tool("mkfs.xfs")], xfs),
        Case::new("btrfs_is_sound", &[Need::Loop, Need::Tool("mkfs.btrfs")], btrfs),
    ]
}
