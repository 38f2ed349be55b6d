//! Single files: written back and dropped, by one worker or by shares, and told where they stay.

use std::fs::File;
use std::os::fd::{AsRawFd, IntoRawFd};
use std::path::Path;

use iodyno_engine::cache::{WorkerShare, drop_pages, drop_targets};
use iodyno_engine::io::{Files, Handle, Names};
use iodyno_model::{Items, Open, Plan, Prepare, Target, TargetKind};
use testbed::{Case, Need, Outcome, Skip};

use crate::ground::{folder, locked, resident, storage};

const MIB: u64 = 1 << 20;
/// Items of the set; one more is named, which does not exist and is no mistake.
const ITEMS: u64 = 4;

pub fn cases() -> Vec<Case> {
    let on_storage = &[Need::That(storage)];
    vec![
        Case::new("pages_go", on_storage, go),
        Case::new("the_items_of_a_set_go_by_shares", on_storage, shares),
        Case::new("pages_that_are_held_are_told", on_storage, held),
        Case::new("memory_is_not_waited_for", &[Need::That(memory)], in_memory),
    ]
}

fn memory() -> Result<(), Skip> {
    match Path::new("/dev/shm").is_dir() {
        true => Ok(()),
        false => Err(Skip::new("there is no /dev/shm here")),
    }
}

/// A file of so many bytes that were just written.
fn written(path: &Path, bytes: u64) -> std::io::Result<File> {
    std::fs::write(path, vec![7; bytes as usize])?;
    File::options().read(true).write(true).open(path)
}

fn go() -> Outcome {
    let folder = folder()?;
    let path = folder.path().join("f");
    let file = written(&path, 8 * MIB)?;
    let before = resident(&path)?;
    if before == 0 {
        return Err(Skip::new("the kernel reclaims: what was just written is not in the page cache").into());
    }
    let dropped = drop_pages(file.as_raw_fd());
    assert_eq!((dropped.is_memory, dropped.left_bytes), (false, Some(0)));
    assert_eq!(resident(&path)?, 0);
    Ok(())
}

/// The handle of a set of named items, and the plan that says what becomes of its cache.
fn set(root: &Path) -> std::io::Result<(Plan, Files)> {
    let handle = Handle {
        fd: File::open(root)?.into_raw_fd(),
        target: 0,
        bytes: MIB,
        base: 0,
        names: Some(Box::new(Names::flat("", "", ITEMS + 1))),
    };
    let target = Target {
        name: "set".into(),
        kind: TargetKind::FileSet { root: root.display().to_string(), items: Items::default() },
        open: Open { invalidate: true, ..Open::default() },
        prepare: Prepare::AsItIs,
        remove: false,
        origin: Default::default(),
    };
    Ok((Plan { targets: vec![target], ..Plan::default() }, Files::of(vec![handle])))
}

/// The second of two workers drops the items of its share. What it must not touch is held against a file beside them:
/// where that loses pages too, it is the kernel that takes them.
fn shares() -> Outcome {
    let folder = folder()?;
    let path = |item: u64| folder.path().join(item.to_string());
    for item in 0..ITEMS {
        written(&path(item), MIB)?;
    }
    let beside = folder.path().join("beside");
    written(&beside, MIB)?;
    let seen = || (0..ITEMS).map(|item| resident(&path(item))).collect::<Result<Vec<u64>, Skip>>();
    let (plan, files) = set(folder.path())?;
    let share = WorkerShare { number: 1, of: 2 };
    let stopped_bytes = drop_targets(&plan, &files, share, &|| true);
    let stopped = seen()?;
    let left_bytes = drop_targets(&plan, &files, share, &|| false);
    let dropped = seen()?;
    let untouched = resident(&beside)?;
    if untouched < MIB {
        let why = format!("the kernel reclaims: a file that nobody touched lost {} bytes", MIB - untouched);
        return Err(Skip::new(why).into());
    }
    assert_eq!((stopped_bytes, stopped), (0, vec![MIB; 4]), "it was stopped at once");
    assert_eq!((left_bytes, dropped), (0, vec![MIB, 0, MIB, 0]));
    Ok(())
}

/// It gives up, and says what stayed.
fn held() -> Outcome {
    let folder = folder()?;
    let path = folder.path().join("f");
    let file = written(&path, 4 * MIB)?;
    let _locked = locked(&path, MIB)?;
    let dropped = drop_pages(file.as_raw_fd());
    assert!(dropped.left_bytes.is_some_and(|left| left >= MIB), "{dropped:?}");
    Ok(())
}

fn in_memory() -> Outcome {
    let folder = tempfile::tempdir_in("/dev/shm")?;
    let file = written(&folder.path().join("f"), MIB)?;
    let dropped = drop_pages(file.as_raw_fd());
    assert!(dropped.is_memory && dropped.left_bytes != Some(0), "{dropped:?}");
    Ok(())
}
