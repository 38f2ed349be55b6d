//! The file system that breaks rules: it keeps them all when told to, breaks the one it is told, and always goes away.

use std::fs::{self, Permissions};
use std::io::Write;
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use testbed::rogue::{Fault, Rogue, Terms, Troubles};
use testbed::{Case, Need, Outcome};

pub fn cases() -> Vec<Case> {
    vec![
        Case::new("rogue_without_a_fault_keeps_files", &[Need::Fuse], keeps_files),
        Case::new("rogue_without_a_fault_keeps_names", &[Need::Fuse], keeps_names),
        Case::new("rogue_breaks_what_it_is_told", &[Need::Fuse], breaks_what_it_is_told),
        Case::new("rogue_dies_when_told", &[Need::Fuse], dies_when_told),
        Case::new("rogue_hangs_when_told", &[Need::Fuse], hangs_when_told),
    ]
}

fn is_mounted(place: &Path) -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    mounts.contains(&format!(" {} ", place.display()))
}

fn keeps_files() -> Outcome {
    let rogue = Rogue::mount(None)?;
    let path = rogue.path().join("file");
    let mut file = fs::File::options().create_new(true).read(true).write(true).open(&path)?;
    file.write_all(b"what is written")?;
    file.write_all_at(b"far away", 1 << 40)?;
    file.set_len(20)?;
    assert_eq!(fs::read(&path)?, b"what is written\0\0\0\0\0");
    fs::set_permissions(&path, Permissions::from_mode(0o640))?;
    let before = file.metadata()?;
    fs::hard_link(&path, rogue.path().join("other"))?;
    fs::remove_file(&path)?;
    let after = file.metadata()?;
    assert_eq!((after.mode() & 0o7777, after.nlink(), after.ino()), (0o640, 1, before.ino()));
    assert!((after.ctime(), after.ctime_nsec()) > (before.ctime(), before.ctime_nsec()));
    Ok(())
}

fn keeps_names() -> Outcome {
    let place = {
        let rogue = Rogue::mount(None)?;
        let directory = rogue.path().join("directory");
        fs::create_dir(&directory)?;
        for number in 0..300 {
            fs::write(directory.join(format!("{number}")), "")?;
        }
        symlink("nowhere", directory.join("link"))?;
        assert_eq!(fs::read_link(directory.join("link"))?, Path::new("nowhere"));
        assert_eq!(fs::read_dir(&directory)?.count(), 301);
        assert!(fs::remove_dir(&directory).is_err());
        fs::rename(&directory, rogue.path().join("moved"))?;
        fs::remove_dir_all(rogue.path().join("moved"))?;
        assert_eq!(fs::read_dir(rogue.path())?.count(), 0);
        rogue.path().to_path_buf()
    };
    assert!(!is_mounted(&place));
    assert!(!place.exists());
    Ok(())
}

fn breaks_what_it_is_told() -> Outcome {
    let rogue = Rogue::mount(Some(Fault::ChmodKeepsChanged))?;
    let path = rogue.path().join("file");
    fs::write(&path, "")?;
    let before = fs::metadata(&path)?;
    fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    let after = fs::metadata(&path)?;
    assert_eq!(after.mode() & 0o777, 0o600);
    assert_eq!((after.ctime(), after.ctime_nsec()), (before.ctime(), before.ctime_nsec()));
    Ok(())
}

fn dies_when_told() -> Outcome {
    let troubles = Troubles { die_after: Some(20), hang_after: None };
    let rogue = Rogue::with(Terms { troubles, ..Terms::default() })?;
    let death = (0..1000).find_map(|number| fs::write(rogue.path().join(format!("{number}")), "").err());
    assert!(death.is_some(), "it lives");
    let place = rogue.path().to_path_buf();
    drop(rogue);
    assert!(!is_mounted(&place));
    Ok(())
}

/// What it leaves unanswered stays so until the server goes: the first failure comes after that has begun.
fn hangs_when_told() -> Outcome {
    let troubles = Troubles { hang_after: Some(20), die_after: None };
    let mut rogue = Rogue::with(Terms { troubles, ..Terms::default() })?;
    let place = rogue.path().to_path_buf();
    let there = place.clone();
    let going = Arc::new(AtomicBool::new(false));
    let goes = going.clone();
    let writer = std::thread::spawn(move || {
        let failed = (0..1000).any(|number| fs::write(there.join(format!("{number}")), "").is_err());
        (failed, goes.load(SeqCst))
    });
    rogue.await_hang()?;
    going.store(true, SeqCst);
    drop(rogue);
    assert_eq!(writer.join().ok(), Some((true, true)), "it answered");
    assert!(!is_mounted(&place));
    Ok(())
}
