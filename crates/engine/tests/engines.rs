//! Every engine equals `call`: the same random script through an engine and through `call`, on twin files and twin
//! directories, gives the same results, the same bytes read and the same content in the end.
//!
//! An engine that this machine does not have is skipped, said so, and counted as ignored.

#![allow(unsafe_code)]

mod twins;

use std::os::fd::{AsRawFd, IntoRawFd, RawFd};
use std::path::Path;

use iodyno_engine::clock;
use iodyno_engine::engines::{
    Engine, Synchronous, mmap::Mmap, null::Null, psync::Psync, pvsync, sync::Sync, vsync::Vsync,
};
use iodyno_engine::io::{AT_POSITION, Io};
use iodyno_model::Verb;
use testbed::{Case, Skip};
use twins::{Bench, Failed, Random, Twins, handle, set};

/// Random offsets of a script end below this; its file begins with half of it.
const SPAN: u64 = 256 << 10;

/// One operation of a script on files, and whether nothing else may be in flight with it.
fn draw_file_operation(random: &mut Random, file_bytes: u64) -> (Io, bool) {
    let offset = random.below(SPAN);
    let bytes = [1, 100, 4096, 5000, 16384][random.below(5) as usize].min(SPAN - offset);
    let io = |verb, offset, bytes, other| Io { verb, offset, bytes, other, ..Io::default() };
    let near_end = offset + bytes > file_bytes;
    let page = offset - offset % 4096;
    match random.below(60) {
        0..=28 => (io(Verb::Read, offset, bytes, 0), near_end),
        29..=52 => (io(Verb::Write, offset, bytes, 0), near_end),
        53 => (io(Verb::Fsync, 0, 0, 0), false),
        54 => (io(Verb::Fdatasync, 0, 0, 0), false),
        55 => (io(Verb::Truncate, 0, offset, 0), true),
        56 => (io(Verb::Fallocate, page, 8192, random.below(2)), true),
        _ => match random.below(3) {
            0 => (io(Verb::Trim, page, 4096, 0), true),
            1 => (io(Verb::SyncFileRange, page, 65536, 0), false),
            _ => (io(Verb::Fstat, 0, 0, 0), false),
        },
    }
}

/// One operation of a script on the items of a set. Pipes are left out: an open would wait for the other end.
fn draw_item_operation(random: &mut Random) -> (Io, bool) {
    let verbs = [
        Verb::Create,
        Verb::Create,
        Verb::Create,
        Verb::Open,
        Verb::Stat,
        Verb::Lstat,
        Verb::Unlink,
        Verb::Mkdir,
        Verb::Rmdir,
        Verb::Rename,
        Verb::Link,
        Verb::Symlink,
        Verb::Readlink,
        Verb::Access,
        Verb::Chmod,
        Verb::Utimens,
        Verb::Truncate,
        Verb::Mknod,
        Verb::Setxattr,
        Verb::Getxattr,
        Verb::Listxattr,
        Verb::Removexattr,
        Verb::Readdir,
        Verb::Chown,
    ];
    let verb = verbs[random.below(verbs.len() as u64) as usize];
    let (bytes, other) = match verb {
        Verb::Rename | Verb::Link | Verb::Symlink => (0, random.below(twins::ITEMS)),
        Verb::Access => (0, random.below(8)),
        Verb::Chmod => (0, 0o600 + random.below(64)),
        Verb::Utimens => (0, 1_000_000_000 * random.below(1_000_000)),
        Verb::Truncate => (random.below(10_000), 0),
        Verb::Setxattr => (1 + random.below(50), 0),
        Verb::Getxattr | Verb::Listxattr | Verb::Readlink => (200, 0),
        Verb::Chown => (0, u64::MAX),
        _ => (0, 0),
    };
    let io = Io { verb, offset: random.below(twins::ITEMS), bytes, other, ..Io::default() };
    (io, verb == Verb::Readdir)
}

fn files_equal<E: Engine>(settings: &[&str], depth: u32, seed: u64) -> Result<(), Failed> {
    let mut twins = Twins::files(SPAN / 2)?;
    let mut random = Random(seed);
    twins.play::<E>(settings, depth, 400, |twins| draw_file_operation(&mut random, twins.file_bytes()))?;
    twins.same_content()
}

fn items_equal<E: Engine>(settings: &[&str], depth: u32, seed: u64) -> Result<(), Failed> {
    let mut twins = Twins::sets()?;
    let mut random = Random(seed);
    twins.play::<E>(settings, depth, 400, |_| draw_item_operation(&mut random))?;
    twins.same_names()
}

/// Wrong descriptors, wrong access and the end of the file answer as `call` does.
fn errors_equal<E: Engine>(settings: &[&str], _depth: u32, _seed: u64) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    std::fs::write(&path, vec![5; 10_000])?;
    let open = |read, write| -> std::io::Result<RawFd> {
        Ok(std::fs::OpenOptions::new().read(read).write(write).open(&path)?.into_raw_fd())
    };
    let handles = vec![handle(-1), handle(open(true, false)?), handle(open(true, true)?)];
    let mut bench = Bench::<E>::new(settings, 4, handles)?;
    let of = |verb, file, offset, bytes| Io { verb, file, offset, bytes, ..Io::default() };
    let cases = [
        (of(Verb::Read, 0, 0, 100), -libc::EBADF),
        (of(Verb::Write, 0, 0, 100), -libc::EBADF),
        (of(Verb::Fsync, 0, 0, 0), -libc::EBADF),
        (of(Verb::Fdatasync, 0, 0, 0), -libc::EBADF),
        (of(Verb::Close, 0, 0, 0), -libc::EBADF),
        (of(Verb::Write, 1, 0, 100), -libc::EBADF),
        (of(Verb::Read, 2, 9_000, 4096), 1000),
        (of(Verb::Read, 2, 10_000, 4096), 0),
        (of(Verb::Read, 2, 1 << 40, 4096), 0),
        (of(Verb::Read, 2, 0, 0), 0),
        (of(Verb::Stat, 2, 0, 0), -libc::ENOTDIR),
        (of(Verb::Connect, 2, 0, 0), -libc::EOPNOTSUPP),
        (of(Verb::Read, 2, AT_POSITION, 6000), 6000),
        (of(Verb::Read, 2, AT_POSITION, 6000), 4000),
        (of(Verb::Close, 1, 0, 0), 0),
        (of(Verb::Read, 1, 0, 10), -libc::EBADF),
    ];
    for (io, expected) in cases {
        let result = bench.perform(io)?;
        if result != i64::from(expected) {
            return Err(format!(
                "{} of handle {} at {}: {result}, not {expected}",
                io.verb, io.file, io.offset
            )
            .into());
        }
    }
    Ok(())
}

/// A file opened during the run is used through its new handle, and not through what was registered before.
fn kept_handles_work<E: Engine>(settings: &[&str], _depth: u32, _seed: u64) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for item in 0..2u8 {
        std::fs::write(folder.path().join(format!("f.{item}")), vec![item + 1; 4096])?;
    }
    let mut bench = Bench::<E>::new(settings, 2, vec![set(folder.path())?, handle(-1)])?;
    for item in [0, 1, 0] {
        let keep = iodyno_engine::io::KEEP;
        let open = Io { verb: Verb::Open, flags: keep, offset: item, other: 1, ..Io::default() };
        let results = (
            bench.perform(open)?,
            bench.perform(Io { verb: Verb::Read, file: 1, bytes: 4096, ..Io::default() })?,
            bench.buffer(0)[0],
            bench.perform(Io { verb: Verb::Close, file: 1, ..Io::default() })?,
        );
        if results != (0, 4096, item as u8 + 1, 0) {
            return Err(format!("open, read, first byte, close: {results:?}").into());
        }
    }
    Ok(())
}

/// Unaligned direct I/O is refused in the same way.
fn direct_errors_equal<E: Engine>(settings: &[&str]) -> Result<(), Failed> {
    // Beside the build, since a temporary directory is often in memory and may know no direct I/O.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let file = folder.path().join("direct");
    std::fs::write(&file, vec![3; 65536])?;
    let fd = direct(&file).map_err(|error| Skip::new(format!("O_DIRECT here: {error}")))?;
    let mut bench = Bench::<E>::new(settings, 2, vec![handle(fd)])?;
    let io = |verb, offset, bytes| Io { verb, offset, bytes, ..Io::default() };
    for io in
        [io(Verb::Read, 1, 4096), io(Verb::Read, 0, 100), io(Verb::Write, 7, 4096), io(Verb::Read, 0, 4096)]
    {
        let (expected, result) = (bench.call(io), bench.perform(io)?);
        if result != expected {
            return Err(format!(
                "{} of {} bytes at {}: {result}, not {expected}",
                io.verb, io.bytes, io.offset
            )
            .into());
        }
    }
    Ok(())
}

fn direct(file: &Path) -> std::io::Result<RawFd> {
    use std::os::unix::fs::OpenOptionsExt;
    #[cfg(target_os = "linux")]
    let flags = libc::O_DIRECT;
    #[cfg(not(target_os = "linux"))]
    let flags = 0;
    Ok(std::fs::OpenOptions::new().read(true).write(true).custom_flags(flags).open(file)?.into_raw_fd())
}

/// A page that vanishes under the mapping fails one operation, not the process.
fn a_cut_file_is_an_error() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("f");
    std::fs::write(&path, vec![9; 65536])?;
    let file = std::fs::OpenOptions::new().read(true).write(true).open(&path)?;
    let mut bench = Bench::<Synchronous<Mmap>>::new(&[], 1, vec![handle(file.as_raw_fd())])?;
    let read = Io { verb: Verb::Read, offset: 32768, bytes: 4096, ..Io::default() };
    let mut results = vec![bench.perform(read)?];
    file.set_len(4096)?;
    results.extend([bench.perform(read)?, bench.perform(read)?, bench.perform(Io { offset: 0, ..read })?]);
    bench.files.handles.clear();
    match results[..] {
        [4096, error, 0, 4096] if error == -i64::from(libc::EIO) => Ok(()),
        _ => Err(format!("whole, cut, cut again, what is left: {results:?}").into()),
    }
}

/// What the cache holds is read at once; the rest, and what the cache holds in part, by a call that waits.
#[cfg(target_os = "linux")]
fn cached_reads_are_told_apart() -> Result<(), Failed> {
    // Beside the build: in memory nothing ever waits.
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let path = folder.path().join("f");
    std::fs::write(&path, vec![5; 8 << 20])?;
    let file = std::fs::File::open(&path)?;
    file.sync_all()?;
    let fd = file.into_raw_fd();
    // SAFETY: the call takes no pointers.
    unsafe { libc::posix_fadvise(fd, 0, 0, libc::POSIX_FADV_DONTNEED) };
    let mut bench =
        Bench::<Synchronous<iodyno_engine::engines::nowait::Nowait>>::new(&[], 1, vec![handle(fd)])?;
    let mut results = Vec::new();
    for _ in 0..2 {
        results.push(bench.perform(Io {
            verb: Verb::Read,
            offset: 4 << 20,
            bytes: 4096,
            ..Io::default()
        })?);
    }
    match (&results[..], &bench.engine.facts()[..]) {
        ([4096, 4096], [("reads_at_once", 1), ("reads_waited", 1)]) => Ok(()),
        (_, [("reads_at_once", 2), _]) => Err(Skip::new("the file system kept the page in memory").into()),
        (results, facts) => Err(format!("{results:?} {facts:?}").into()),
    }
}

/// A wait ends at its time, and an engine with something in flight can be dropped.
#[cfg(target_os = "linux")]
fn waits_end_and_drops_cancel() -> Result<(), Failed> {
    let (reader, _writer) = std::io::pipe()?;
    let fd = std::os::fd::OwnedFd::from(reader).into_raw_fd();
    let mut bench = Bench::<iodyno_engine::engines::io_uring::Uring>::new(&[], 4, vec![handle(fd)])?;
    bench.push(0, Io { verb: Verb::Read, offset: AT_POSITION, bytes: 100, ..Io::default() });
    let until = clock::now() + 30_000_000;
    let done = bench.poll(1, until)?;
    if !done.is_empty() || clock::now() < until {
        return Err(format!("came back {} ns early with {done:?}", until.saturating_sub(clock::now())).into());
    }
    drop(bench);
    Ok(())
}

/// Where a filter forbids the call, as containers do, the refusal says so and names a way out.
#[cfg(target_os = "linux")]
fn a_forbidden_ring_says_so() -> Result<(), Failed> {
    let forbidden = std::thread::spawn(|| {
        forbid(libc::SYS_io_uring_setup as u32)?;
        Ok((iodyno_engine::engines::io_uring::Uring::FACTS.available)())
    });
    match forbidden.join().map_err(|_| "the thread panicked")? {
        Err(error) => Err(std::io::Error::into(error)),
        Ok(Err(failure)) if failure.message.contains("forbidden") && failure.hint.is_some() => Ok(()),
        Ok(other) => Err(format!("{other:?}").into()),
    }
}

/// Makes one system call fail with EPERM for this thread, for good.
#[cfg(target_os = "linux")]
fn forbid(call: u32) -> std::io::Result<()> {
    let step = |code: u32, jt, jf, k| libc::sock_filter { code: code as u16, jt, jf, k };
    let mut steps = [
        // The call's number is the first word of what a filter sees.
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, call),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: steps.len() as u16, filter: steps.as_mut_ptr() };
    // SAFETY: the program and its steps are valid for the call.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0
    };
    if failed { Err(std::io::Error::last_os_error()) } else { Ok(()) }
}

/// A case that is skipped where the engine cannot be had.
fn case<E: Engine>(what: &str, test: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Case {
    Case::new(what, &[], || {
        (E::FACTS.available)().map_err(|failure| Skip::new(failure.message))?;
        test()
    })
}

/// All cases of one engine.
fn of<E: Engine + 'static>(settings: &'static [&'static str]) -> Vec<Case> {
    let name = format!("{} {}", E::FACTS.name, settings.join(" ")).trim_end().to_string();
    type Test = fn(&[&str], u32, u64) -> Result<(), Failed>;
    let tests: [(&str, Test, &[u32]); 4] = [
        ("files", files_equal::<E>, &[1, 4, 16]),
        ("items", items_equal::<E>, &[1, 8]),
        ("errors", errors_equal::<E>, &[1]),
        ("kept handles", kept_handles_work::<E>, &[1]),
    ];
    let mut cases = Vec::new();
    for (what, test, depths) in tests {
        for depth in depths.iter().copied().filter(|depth| *depth <= E::FACTS.most_depth) {
            let run =
                move || (1..=3).try_for_each(|seed| test(settings, depth, seed * 77 + u64::from(depth)));
            cases.push(case::<E>(&format!("{name}: {what} at depth {depth}"), run));
        }
    }
    // A mapping has no direct I/O.
    if E::FACTS.name != <Synchronous<Mmap>>::FACTS.name {
        cases.push(case::<E>(&format!("{name}: direct errors"), || direct_errors_equal::<E>(settings)));
    }
    cases
}

/// The engines that every system has.
fn everywhere() -> Vec<Case> {
    let mut cases = of::<Synchronous<Psync>>(&[]);
    cases.extend(of::<Synchronous<pvsync::Pvsync>>(&[]));
    cases.extend(of::<Synchronous<pvsync::Pvsync2>>(&["hipri_percentage=50"]));
    cases.extend(of::<Synchronous<Sync>>(&[]));
    cases.extend(of::<Vsync>(&[]));
    cases.extend(of::<Synchronous<Mmap>>(&[]));
    #[cfg(any(all(target_os = "linux", target_env = "gnu"), target_os = "macos", target_os = "freebsd"))]
    cases.extend(of::<iodyno_engine::engines::posixaio::Posixaio>(&[]));
    cases.push(Case::new("mmap: a cut file is an error", &[], a_cut_file_is_an_error));
    #[cfg(target_os = "linux")]
    {
        cases.extend(of::<Synchronous<iodyno_engine::engines::nowait::Nowait>>(&[]));
        cases.push(Case::new("nowait: cached reads are told apart", &[], cached_reads_are_told_apart));
    }
    cases.push(Case::new("null completes everything", &[], || {
        let result =
            Bench::<Null>::new(&[], 1, vec![handle(-1)])?.perform(Io { bytes: 77, ..Io::default() })?;
        if result == 77 { Ok(()) } else { Err(format!("{result}").into()) }
    }));
    cases
}

#[cfg(target_os = "linux")]
fn of_linux() -> Vec<Case> {
    use iodyno_engine::engines::{io_uring::Uring, libaio::Libaio, splice::Splice};
    const PRIORITY: &[&str] = &["priority_percent=50", "priority_class=2", "priority=4"];
    const MANY: &[&str] =
        &["force_async=3", "iopoll=off", "priority_percent=50", "priority_class=2", "priority=4"];
    let mut cases = of::<Synchronous<Splice>>(&[]);
    for settings in [&[][..], &["userspace_reap=off"], PRIORITY] {
        cases.extend(of::<Libaio>(settings));
    }
    let plain: [&[&str]; 4] =
        [&[], &["fixed_buffers", "fixed_files"], &["vectored", "defer_taskrun=off"], &["force_async"]];
    for settings in plain.into_iter().chain([MANY, &["sqpoll", "sqpoll_idle_ms=10"]]) {
        cases.extend(of::<Uring>(settings));
    }
    cases.push(Case::new("io_uring: a forbidden ring says so", &[], a_forbidden_ring_says_so));
    cases.push(case::<Uring>("io_uring: waits end and drops cancel", waits_end_and_drops_cancel));
    cases
}

fn main() -> std::process::ExitCode {
    let mut cases = everywhere();
    #[cfg(target_os = "linux")]
    cases.extend(of_linux());
    testbed::run(cases)
}
