//! What `call` makes of the verbs that no random script plays: each does what its name says, or says that the file
//! system cannot.

#![allow(unsafe_code)]

use std::os::fd::IntoRawFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use iodyno_engine::call;
use iodyno_engine::io::{Files, Handle, Io, KEEP, Names};
use iodyno_model::{Kind, Verb};

fn open(path: &Path) -> Handle {
    let file =
        std::fs::OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path).unwrap();
    Handle { fd: file.into_raw_fd(), target: 0, bytes: 0, base: 0, names: None }
}

fn set(root: &Path, depth: u32) -> Handle {
    let names = Names::flat("f.", ".x", 8).in_leaves(depth, 2);
    let fd = std::fs::File::open(root).unwrap().into_raw_fd();
    Handle { fd, target: 0, bytes: 0, base: 0, names: Some(Box::new(names)) }
}

fn perform(files: &mut Files, io: Io) -> i64 {
    call::perform(&io, files)
}

/// Whether it was done, or refused in the way a file system refuses what it does not have.
fn done_or_unsupported(result: i64, what: &str) -> bool {
    let refused =
        [libc::EOPNOTSUPP, libc::EXDEV, libc::EINVAL, libc::ENOTTY].map(|number| -i64::from(number));
    assert!(result >= 0 || refused.contains(&result), "{what}: {result}");
    if result < 0 {
        println!("{what}: not supported by this file system");
    }
    result >= 0
}

#[test]
fn ranges_are_copied_cloned_zeroed_and_trimmed() {
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a"), folder.path().join("b"));
    std::fs::write(&from, vec![7; 16384]).unwrap();
    let mut files = Files::of(vec![open(&from), open(&to)]);
    let io = |verb, offset, bytes| Io { verb, file: 0, other: 1, offset, bytes, ..Io::default() };
    if done_or_unsupported(perform(&mut files, io(Verb::CopyFileRange, 4096, 4096)), "copy_file_range") {
        let copied = std::fs::read(&to).unwrap();
        assert_eq!((&copied[..4096], &copied[4096..]), (&[0; 4096][..], &[7; 4096][..]));
    }
    if done_or_unsupported(perform(&mut files, io(Verb::Clone, 0, 0)), "clone") {
        assert_eq!(std::fs::read(&to).unwrap(), vec![7; 16384]);
    }
    if done_or_unsupported(perform(&mut files, io(Verb::WriteZeroes, 0, 4096)), "write_zeroes") {
        assert_eq!(std::fs::read(&from).unwrap()[4095..4097], [0, 7]);
    }
    if done_or_unsupported(perform(&mut files, io(Verb::Trim, 8192, 4096)), "trim") {
        assert_eq!(std::fs::read(&from).unwrap()[8191..8193], [7, 0]);
    }
    assert_eq!(perform(&mut files, io(Verb::Statfs, 0, 0)), 0);
    assert_eq!(
        perform(&mut files, Io { verb: Verb::Statfs, file: 7, ..Io::default() }),
        -i64::from(libc::EBADF)
    );
    // A file is no device.
    assert_eq!(perform(&mut files, io(Verb::Discard, 0, 4096)), -i64::from(libc::ENOTTY));
    assert!(
        done_or_unsupported(perform(&mut files, io(Verb::Syncfs, 0, 0)), "syncfs")
            || cfg!(not(target_os = "linux"))
    );
}

/// Whether somebody waits for a lock of a file. Source: `/proc/locks`, where an arrow leads to who waits.
#[cfg(target_os = "linux")]
fn is_waited_for(path: &Path) -> bool {
    let place = format!(":{} ", std::fs::metadata(path).unwrap().ino());
    let table = std::fs::read_to_string("/proc/locks").unwrap();
    table.lines().any(|line| line.contains("->") && line.contains(&place))
}

#[test]
#[cfg(target_os = "linux")]
fn a_lock_keeps_another_open_file_out() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a");
    let mut files = Files::of(vec![open(&path), open(&path)]);
    assert_eq!(perform(&mut files, Io { verb: Verb::Lock, bytes: 100, ..Io::default() }), 0);
    let waits = std::sync::atomic::AtomicBool::new(true);
    let other = files.handles.pop().unwrap();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut files = Files::of(vec![other]);
            assert_eq!(
                perform(&mut files, Io { verb: Verb::Lock, offset: 50, bytes: 1, ..Io::default() }),
                0
            );
            waits.store(false, std::sync::atomic::Ordering::Release);
        });
        testbed::wait::until("somebody who waits for the lock", || is_waited_for(&path)).unwrap();
        assert!(waits.load(std::sync::atomic::Ordering::Acquire), "the lock kept nobody out");
        assert_eq!(perform(&mut files, Io { verb: Verb::Unlock, bytes: 100, ..Io::default() }), 0);
    });
    assert!(!waits.into_inner());
}

#[test]
fn items_lie_in_their_directories() {
    let folder = tempfile::tempdir().unwrap();
    for directory in ["d0/d0", "d0/d1", "d1/d0", "d1/d1"] {
        std::fs::create_dir_all(folder.path().join(directory)).unwrap();
    }
    let mut files = Files::of(vec![set(folder.path(), 2), open(&folder.path().join("spare"))]);
    let mut on = |verb, offset, other| perform(&mut files, Io { verb, offset, other, ..Io::default() });
    assert_eq!((on(Verb::Create, 0, 0), on(Verb::Create, 4, 0), on(Verb::Create, 1, 0)), (0, 0, 0));
    // Items 0 and 4 share a directory of four; item 1 has another.
    assert_eq!((on(Verb::Readdir, 0, 0), on(Verb::Readdir, 1, 0), on(Verb::Readdir, 2, 0)), (2, 1, 0));
    assert_eq!((on(Verb::Symlink, 8, 4), on(Verb::Stat, 8, 0)), (0, 0), "a link leads to its neighbour");
    assert_eq!(on(Verb::Create, 0, 0), -i64::from(libc::EEXIST));
    if on(Verb::Mkfifo, 3, 0) == 0 {
        assert!(std::fs::metadata(folder.path().join("d1/d1/f.3.x")).unwrap().file_type().is_fifo());
    }
    assert_eq!((on(Verb::Chmod, 1, 0o640), on(Verb::Utimens, 1, 5_000_000_000)), (0, 0));
    let about = std::fs::metadata(folder.path().join("d1/d0/f.1.x")).unwrap();
    assert_eq!((about.mode() & 0o777, about.mtime()), (0o640, 5));
}

#[test]
fn a_kept_file_takes_the_place_of_the_one_before() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = Files::of(vec![set(folder.path(), 0), open(&folder.path().join("spare"))]);
    let before = files.fd(1);
    let create = |item| Io { verb: Verb::Create, flags: KEEP, offset: item, other: 1, ..Io::default() };
    assert_eq!(perform(&mut files, create(0)), 0);
    assert_ne!(files.fd(1), -1);
    // SAFETY: the call takes no pointers.
    assert_eq!(unsafe { libc::fcntl(before, libc::F_GETFD) }, -1, "the one before is closed");
    assert_eq!(perform(&mut files, Io { other: 9, ..create(1) }), -i64::from(libc::EMFILE));
    assert_eq!(perform(&mut files, Io { verb: Verb::Close, file: 1, ..Io::default() }), 0);
}

#[test]
fn what_is_no_verb_of_files_is_refused() {
    let mut files = Files::of(vec![Handle { fd: -1, target: 0, bytes: 0, base: 0, names: None }]);
    for verb in Verb::ALL.iter().filter(|verb| matches!(verb.kind(), Kind::Network | Kind::Control)) {
        let result = perform(&mut files, Io { verb: *verb, ..Io::default() });
        assert_eq!(result, -i64::from(libc::EOPNOTSUPP), "{verb}");
    }
}
