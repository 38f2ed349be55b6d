//! Names, lengths and space.

#[cfg(target_os = "linux")]
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use iodyno_model::{Extent, FileLock, Kind, TargetKind, Verb};
#[cfg(target_os = "linux")]
use testbed::fuse::now_ns;
use testbed::{Case, wait};

use crate::plans::{job, plan, refused, set, tallies, target};
use crate::{Outcome, holds};

pub fn cases() -> Vec<Case> {
    let mut cases = vec![
        Case::new("names: made, asked for and removed", &[], names_come_and_go),
        Case::new("names: a foreign verb is refused", &[], a_foreign_verb_is_refused),
        Case::new("turns: operations take turns with the lock", &[], operations_take_turns),
        Case::new("ftruncate: lengths follow offsets", &[], lengths_follow_offsets),
    ];
    #[cfg(target_os = "linux")]
    cases.extend([
        Case::new("turns: operations wait for the lock", &[], operations_wait_for_the_lock),
        Case::new("sg: a file is no SCSI device", &[], a_file_is_no_scsi_device),
        Case::new("falloc: space comes and goes", &[], space_comes_and_goes),
    ]);
    cases
}

fn entries(folder: &Path) -> usize {
    std::fs::read_dir(folder).map_or(0, Iterator::count)
}

fn names_come_and_go() -> Outcome {
    let folder = tempfile::tempdir()?;
    let root = folder.path().display().to_string();
    let steps = [
        ("filecreate", Verb::Create, false, &[][..], 7),
        ("filestat", Verb::Stat, false, &[], 7),
        ("filestat", Verb::Stat, false, &["stat_type=lstat"], 7),
        ("filestat", Verb::Stat, false, &["stat_type=statx"], 7),
        ("filecreate", Verb::Create, false, &[], 7),
        ("filedelete", Verb::Unlink, false, &[], 0),
        ("dircreate", Verb::Mkdir, true, &[], 7),
        ("dirstat", Verb::Stat, true, &["stat_type=statx"], 7),
        ("dirdelete", Verb::Rmdir, true, &[], 0),
    ];
    for (engine, verb, directories, settings, left) in steps {
        let plan =
            plan(vec![target("set", set(&root, 7, directories))], vec![job(engine, settings, 0, verb, 4096)]);
        let tally = tallies(&plan)?.remove(0);
        let counts = (tally.operations(Kind::Metadata), tally.failed(), entries(folder.path()));
        holds(counts == (7, 0, left), format!("{engine} {settings:?}: {counts:?}, {left} left expected"))?;
    }
    Ok(())
}

fn a_foreign_verb_is_refused() -> Outcome {
    let plan =
        plan(vec![target("set", set("/nowhere", 1, false))], vec![job("filestat", &[], 0, Verb::Unlink, 1)]);
    let wrong = refused(&plan)?;
    holds(wrong.contains("`unlink`"), wrong)
}

fn on_file(path: &Path, bytes: u64, create: bool) -> iodyno_model::Target {
    let kind = TargetKind::File { path: path.display().to_string(), size: Extent::Bytes(bytes) };
    let mut target = target("file", kind);
    target.open.create = create;
    target
}

fn lengths_follow_offsets() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    let tally =
        tallies(&plan(vec![on_file(&path, 16384, true)], vec![job("ftruncate", &[], 0, Verb::Write, 4096)]))?;
    let counts =
        (tally[0].operations(Kind::Write), tally[0].bytes(Kind::Write), std::fs::metadata(&path)?.len());
    holds(counts == (4, 16384, 12288), format!("{counts:?}"))
}

/// All that is to be done is done, whoever else takes the lock.
fn operations_take_turns() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    std::fs::write(&path, vec![0; 65536])?;
    for (lock, engine) in
        [(FileLock::Exclusive, "psync"), (FileLock::ReadWrite, "sync"), (FileLock::Range, "psync")]
    {
        let mut file = on_file(&path, 65536, false);
        file.open.lock = lock;
        let (mut writers, mut readers) =
            (job(engine, &[], 0, Verb::Write, 65536), job(engine, &[], 0, Verb::Read, 65536));
        (writers.workers, readers.workers) = (2, 2);
        writers.limit.operations = Some(50);
        readers.limit.operations = Some(50);
        (writers.name, readers.name) = ("writers".into(), "readers".into());
        let tally = tallies(&plan(vec![file], vec![writers, readers]))?;
        let counts = (tally[0].operations(Kind::Write), tally[1].operations(Kind::Read));
        holds(counts == (100, 100), format!("{counts:?}"))?;
    }
    Ok(())
}

/// Somebody else holds the lock: nothing is read before it is given back, and the wait is part of the latency. The holder
/// has seen that it is waited for, and holds it on for a while: the latency cannot be less.
#[cfg(target_os = "linux")]
fn operations_wait_for_the_lock() -> Outcome {
    waits_for(FileLock::Exclusive, |other, held| if held { other.lock() } else { other.unlock() })?;
    // Half of the bytes that are read, locked by another open file of the same process.
    waits_for(FileLock::Range, |other, held| {
        // SAFETY: numbers only, for which 0 is right.
        let mut range: libc::flock = unsafe { std::mem::zeroed() };
        range.l_type = if held { libc::F_WRLCK } else { libc::F_UNLCK } as _;
        (range.l_start, range.l_len) = (32768, 65536);
        // SAFETY: the range lives as long as the call.
        match unsafe { libc::fcntl(other.as_raw_fd(), libc::F_OFD_SETLK, &raw const range) } {
            0 => Ok(()),
            _ => Err(std::io::Error::last_os_error()),
        }
    })
}

#[cfg(target_os = "linux")]
fn waits_for(lock: FileLock, hold: fn(&std::fs::File, bool) -> std::io::Result<()>) -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    std::fs::write(&path, vec![0; 65536])?;
    let mut file = on_file(&path, 65536, false);
    file.open.lock = lock;
    let other = std::fs::File::options().read(true).write(true).open(&path)?;
    hold(&other, true)?;
    let inode = other.metadata()?.ino();
    let holder = std::thread::spawn(move || -> Result<(), String> {
        wait::until("somebody who waits for the lock", || is_waited_for(inode))?;
        let seen_ns = now_ns();
        wait::until("the end of the hold", || now_ns() >= seen_ns + HELD_NS)?;
        hold(&other, false).map_err(|error| error.to_string())
    });
    let mut read = job("psync", &[], 0, Verb::Read, 65536);
    read.limit.operations = Some(1);
    let tally = tallies(&plan(vec![file], vec![read]))?;
    holder.join().map_err(|_| "the holder panicked")??;
    holds(tally[0].latency(Kind::Read).min >= HELD_NS, format!("{} ns", tally[0].latency(Kind::Read).min))
}

/// For how long the lock is held while somebody waits for it, ns.
#[cfg(target_os = "linux")]
const HELD_NS: u64 = 20_000_000;

/// Whether somebody waits for the lock of a file. Source: `/proc/locks`, where an arrow leads to who waits.
#[cfg(target_os = "linux")]
fn is_waited_for(inode: u64) -> bool {
    let place = format!(":{inode} ");
    let table = std::fs::read_to_string("/proc/locks").unwrap_or_default();
    table.lines().any(|line| line.contains("->") && line.contains(&place))
}

#[cfg(target_os = "linux")]
fn a_file_is_no_scsi_device() -> Outcome {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    std::fs::write(&path, vec![0; 8192])?;
    let plan = plan(vec![on_file(&path, 8192, false)], vec![job("sg", &[], 0, Verb::Read, 4096)]);
    let errors = crate::plans::record(&plan)?.errors;
    let told = errors.iter().any(|error| error.message.contains("no SCSI generic") && error.hint.is_some());
    holds(told, format!("{errors:?}"))
}

#[cfg(target_os = "linux")]
fn space_comes_and_goes() -> Outcome {
    // Beside the build: a temporary directory may lie on a file system that cannot reserve.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let path = folder.path().join("f");
    let mut seen = Vec::new();
    for verb in [Verb::Read, Verb::Write, Verb::Trim] {
        let plan = plan(vec![on_file(&path, 1 << 20, true)], vec![job("falloc", &[], 0, verb, 65536)]);
        let tally = tallies(&plan)?;
        let about = std::fs::metadata(&path)?;
        seen.push((tally[0].bytes(verb.kind()), about.len(), about.blocks() * 512 >= 1 << 20));
    }
    // Reserved behind the end; the same with a length; the length stays, the space is gone.
    let expected = [(1 << 20, 0, true), (1 << 20, 1 << 20, true), (1 << 20, 1 << 20, false)];
    holds(seen == expected, format!("{seen:?}"))
}
