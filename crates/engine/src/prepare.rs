//! What must be there before the start line: names resolved, files laid out, sets populated, everything opened; and
//! what must be gone afterwards. Only what this run made is ever removed, and nothing that existed is overwritten
//! here: a file that is too short is extended.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::os::fd::RawFd;

use iodyno_model::{
    Action, Diagnostic, Direct, Extent, Items, Job, Open, OpenMode, OpenSync, Phase, Plan, Prepare, Size,
    Step, Target, TargetKind, Verb, Workload,
};

use crate::failure::Failure;
use crate::io::{Files, Handle, Names, PathBuffer, c_path};
use crate::memory::{Memory, errno};

/// Bytes written at once while a file is laid out.
const LAYOUT_BYTES: usize = 1 << 20;

/// Who asks for a name: what templates may refer to.
#[derive(Clone, Copy, Debug)]
pub struct Asker<'a> {
    /// The job's name.
    pub job: &'a str,
    /// The worker's number within the job.
    pub worker: u32,
    /// Which repetition of the phase.
    pub repetition: u32,
}

/// The name a template gives to one worker.
pub fn resolve(template: &str, asker: Asker<'_>) -> String {
    template
        .replace("{job}", asker.job)
        .replace("{worker}", &asker.worker.to_string())
        .replace("{rank}", "0")
        .replace("{node}", "0")
        .replace("{repetition}", &asker.repetition.to_string())
}

/// What the run has made. Dropping it removes what is to be removed, newest first.
#[derive(Debug, Default)]
pub struct Made {
    files: Vec<String>,
    trees: Vec<String>,
    seen: BTreeSet<String>,
}

impl Made {
    fn file(&mut self, path: &str, remove: bool) {
        if remove && !self.files.iter().any(|file| file == path) {
            self.files.push(path.into());
        }
    }

    fn tree(&mut self, path: &str, remove: bool) {
        if remove {
            self.trees.push(path.into());
        }
    }

    /// Removes everything now; what cannot be removed is told.
    pub fn remove(&mut self) -> Vec<String> {
        let files =
            self.files.drain(..).rev().map(|path| (std::fs::remove_file(&path), path)).collect::<Vec<_>>();
        let trees =
            self.trees.drain(..).rev().map(|path| (std::fs::remove_dir_all(&path), path)).collect::<Vec<_>>();
        let gone = |error: &std::io::Error| error.kind() == std::io::ErrorKind::NotFound;
        let failed = |(result, path): (std::io::Result<()>, String)| match result {
            Err(error) if !gone(&error) => Some(format!("{path}: {error}")),
            _ => None,
        };
        files.into_iter().chain(trees).filter_map(failed).collect()
    }
}

impl Drop for Made {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Tells how far a layout has come (name, bytes so far, bytes in all); the answer `false` stops it.
pub type Progress<'a> = &'a mut dyn FnMut(&str, u64, u64) -> bool;

/// Makes everything ready that a phase needs and that no earlier phase has made ready.
///
/// # Errors
/// One diagnostic for each target that cannot be had.
pub fn prepare(
    plan: &Plan,
    phase: &Phase,
    made: &mut Made,
    progress: Progress<'_>,
) -> Result<(), Vec<Diagnostic>> {
    let mut wrong = Vec::new();
    for job in &phase.jobs {
        for index in &job.targets {
            let target = &plan.targets[*index];
            let workers = if is_per_worker(target) { job.workers } else { 1 };
            for worker in 0..workers {
                let asker = Asker { job: &job.name, worker, repetition: phase.repetition };
                if let Err(failure) = prepare_target(plan, target, asker, made, progress) {
                    let mut diagnostic = Diagnostic::error(&target.origin, failure.message);
                    diagnostic.hint = failure.hint;
                    wrong.push(diagnostic);
                    break;
                }
            }
        }
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

fn is_per_worker(target: &Target) -> bool {
    match &target.kind {
        TargetKind::File { path, .. } => path.contains("{worker}"),
        TargetKind::FileSet { root, items } => items.own || root.contains("{worker}"),
        _ => false,
    }
}

fn prepare_target(
    plan: &Plan,
    target: &Target,
    asker: Asker<'_>,
    made: &mut Made,
    progress: Progress<'_>,
) -> Result<(), Failure> {
    match &target.kind {
        TargetKind::File { path, size } => {
            let path = resolve(path, asker);
            let key = format!("{path}\0{:?}\0{size:?}", target.prepare);
            if !made.seen.insert(key) {
                return Ok(());
            }
            prepare_file(plan.seed, target, &path, *size, made, progress)
        }
        TargetKind::FileSet { root, items } => {
            let root = set_root(root, items, asker);
            // A set is made anew for each repetition: the phases before have used it up.
            match made.seen.insert(format!("{root}\0{}\0{}", target.name, asker.repetition)) {
                true => prepare_set(target, &root, items, made),
                false => Ok(()),
            }
        }
        TargetKind::Bucket { .. } => Err(Failure::new("object stores are not served yet")),
        TargetKind::Endpoint { .. } => Err(Failure::new("network endpoints are not served yet")),
        TargetKind::Device { .. } | TargetKind::Descriptor { .. } | TargetKind::Nothing { .. } => Ok(()),
    }
}

fn set_root(root: &str, items: &Items, asker: Asker<'_>) -> String {
    let root = resolve(root, asker);
    if items.own { format!("{root}/w{}", asker.worker) } else { root }
}

fn prepare_file(
    seed: u64,
    target: &Target,
    path: &str,
    size: Extent,
    made: &mut Made,
    progress: Progress<'_>,
) -> Result<(), Failure> {
    let facts = std::fs::metadata(path);
    let reason = facts.as_ref().err().and_then(std::io::Error::raw_os_error).unwrap_or(libc::ENOENT);
    let there = facts.ok();
    let existing = there.as_ref().map_or(0, std::fs::Metadata::len);
    if there.as_ref().is_some_and(|facts| !facts.is_file())
        || (target.prepare == Prepare::AsItIs && there.is_some())
    {
        return Ok(());
    }
    let wanted = match size {
        Extent::Bytes(bytes) => bytes,
        Extent::Percent(percent) => (free_bytes(path) as f64 * percent / 100.0) as u64,
        Extent::Rest => existing,
    };
    if there.is_none() {
        made.file(path, target.remove);
    }
    match target.prepare {
        Prepare::AsItIs | Prepare::Empty if target.open.create || target.prepare == Prepare::Empty => {
            // Made at opening time; nothing to lay out.
            if target.prepare == Prepare::Empty && there.is_none() { create(path).map(drop) } else { Ok(()) }
        }
        Prepare::AsItIs | Prepare::Empty => {
            Err(Failure::new(format!("{path}: {}", strerror(reason))).hint("name a file that exists"))
        }
        _ if wanted <= existing => match there {
            Some(_) => Ok(()),
            None => Err(Failure::new(format!("{path}: it does not exist, and no size was given for it"))
                .hint("give the target a size, e.g. size = \"1GiB\"")),
        },
        Prepare::Sparse => with_file(path, |fd| grow(fd, wanted)),
        Prepare::Reserved => with_file(path, |fd| reserve(fd, existing, wanted)),
        Prepare::Filled => fill(seed, target, path, existing, wanted, progress),
    }
}

fn create(path: &str) -> Result<std::fs::File, Failure> {
    std::fs::OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(|error| Failure::new(format!("{path}: {}", strerror(error.raw_os_error().unwrap_or(0)))))
}

fn with_file(path: &str, work: impl FnOnce(RawFd) -> Result<(), i32>) -> Result<(), Failure> {
    use std::os::fd::AsRawFd;
    let file = create(path)?;
    work(file.as_raw_fd()).map_err(|errno| space_failure(path, errno))
}

fn space_failure(path: &str, errno: i32) -> Failure {
    let failure = Failure::new(format!("{path}: {}", strerror(errno)));
    match errno {
        libc::ENOSPC | libc::EDQUOT => failure.hint("choose a smaller size, or free some space"),
        _ => failure,
    }
}

fn grow(fd: RawFd, bytes: u64) -> Result<(), i32> {
    // SAFETY: the call takes no pointers.
    if unsafe { libc::ftruncate(fd, bytes as libc::off_t) } < 0 { Err(errno()) } else { Ok(()) }
}

fn reserve(fd: RawFd, from: u64, to: u64) -> Result<(), i32> {
    #[cfg(not(any(target_os = "macos", target_os = "ios")))]
    // SAFETY: the call takes no pointers.
    match unsafe { libc::posix_fallocate(fd, from as libc::off_t, (to - from) as libc::off_t) } {
        0 => Ok(()),
        errno => Err(errno),
    }
    #[cfg(any(target_os = "macos", target_os = "ios"))]
    {
        let _ = from;
        grow(fd, to)
    }
}

/// Writes incompressible data from the end of what exists, past the cache where that is how the file will be used.
fn fill(
    seed: u64,
    target: &Target,
    path: &str,
    from: u64,
    to: u64,
    progress: Progress<'_>,
) -> Result<(), Failure> {
    let past_cache = target.open.direct != Direct::No && from.is_multiple_of(4096);
    let direct = if past_cache { o_direct() } else { 0 };
    let fd = open(path, libc::O_WRONLY | libc::O_CREAT | direct)
        .or_else(|_| open(path, libc::O_WRONLY | libc::O_CREAT))
        .map_err(|errno| space_failure(path, errno))?;
    let files = Files { handles: vec![Handle { fd, target: 0, bytes: to, base: 0, names: None }] };
    let memory = Memory::new(1, LAYOUT_BYTES).map_err(|errno| Failure::call("mmap", errno))?;
    let mut at = from;
    while at < to {
        if !progress(&target.name, at, to) {
            return Err(Failure::new("stopped while a file was laid out"));
        }
        let bytes = LAYOUT_BYTES.min((to - at) as usize);
        // SAFETY: the buffer belongs to this function and is `LAYOUT_BYTES` long.
        let buffer = unsafe { std::slice::from_raw_parts_mut(memory.buffer(0), LAYOUT_BYTES) };
        incompressible(buffer, seed ^ at);
        if past_cache && !bytes.is_multiple_of(4096) {
            clear_direct(files.fd(0));
        }
        // SAFETY: the buffer is at least `bytes` long.
        let written = unsafe { libc::pwrite(files.fd(0), buffer.as_ptr().cast(), bytes, at as libc::off_t) };
        match written {
            0.. => at += written as u64,
            _ if errno() == libc::EINTR => {}
            _ if errno() == libc::EINVAL && past_cache => clear_direct(files.fd(0)),
            _ => return Err(space_failure(path, errno())),
        }
    }
    // SAFETY: the call takes no pointers.
    if unsafe { libc::fsync(files.fd(0)) } < 0 {
        return Err(space_failure(path, errno()));
    }
    progress(&target.name, to, to);
    Ok(())
}

/// Bytes that neither compress nor repeat, from a seed (xorshift64*, Vigna 2014).
fn incompressible(buffer: &mut [u8], seed: u64) {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    for word in buffer.chunks_exact_mut(8) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        word.copy_from_slice(&state.wrapping_mul(0x2545_F491_4F6C_DD1D).to_le_bytes());
    }
}

fn clear_direct(fd: RawFd) {
    // SAFETY: the calls take no pointers.
    unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        libc::fcntl(fd, libc::F_SETFL, flags & !o_direct());
    }
}

/// Makes the directories of a set, and the items that exist at the start.
fn prepare_set(target: &Target, root: &str, items: &Items, made: &mut Made) -> Result<(), Failure> {
    if std::fs::metadata(root).is_err() {
        std::fs::create_dir_all(root).map_err(|error| Failure::new(format!("{root}: {error}")))?;
        made.tree(root, target.remove);
    }
    if target.prepare == Prepare::AsItIs {
        return Ok(());
    }
    let names = names(items);
    let fd = open(root, libc::O_RDONLY | libc::O_DIRECTORY).map_err(|errno| space_failure(root, errno))?;
    let files = Files { handles: vec![Handle { fd, target: 0, bytes: 0, base: 0, names: None }] };
    directories(fd, items.depth, u64::from(items.branch), &mut String::new())
        .map_err(|e| space_failure(root, e))?;
    let present = match target.prepare {
        Prepare::Empty => 0,
        _ => (items.count as f64 * items.present_percent / 100.0).round() as u64,
    };
    let mut path = PathBuffer::default();
    for item in 0..present {
        make_item(files.fd(0), names.path(item, &mut path), items, names.item_bytes)
            .map_err(|errno| space_failure(root, errno))?;
    }
    Ok(())
}

fn directories(root: RawFd, depth: u32, branch: u64, at: &mut String) -> Result<(), i32> {
    if depth == 0 {
        return Ok(());
    }
    for number in 0..branch.max(1) {
        let length = at.len();
        at.push_str(&format!("d{number}"));
        let path = c_path(at)?;
        // SAFETY: the path is zero-terminated and lives until after the call.
        if unsafe { libc::mkdirat(root, path.as_ptr(), 0o755) } < 0 && errno() != libc::EEXIST {
            return Err(errno());
        }
        at.push('/');
        directories(root, depth - 1, branch, at)?;
        at.truncate(length);
    }
    Ok(())
}

fn make_item(root: RawFd, path: &CStr, items: &Items, bytes: u64) -> Result<(), i32> {
    if items.directories {
        // SAFETY: the path is zero-terminated and lives until after the call.
        let made = unsafe { libc::mkdirat(root, path.as_ptr(), 0o755) } == 0;
        return if made || errno() == libc::EEXIST { Ok(()) } else { Err(errno()) };
    }
    // SAFETY: the path is zero-terminated and lives until after the call.
    let fd =
        unsafe { libc::openat(root, path.as_ptr(), libc::O_CREAT | libc::O_WRONLY | libc::O_CLOEXEC, 0o644) };
    if fd < 0 {
        return Err(errno());
    }
    let data = vec![0x5a; bytes as usize];
    // SAFETY: the descriptor is ours, the data is valid for reading.
    let written = unsafe { libc::write(fd, data.as_ptr().cast(), data.len()) };
    let failed = if written < bytes as isize { Err(errno()) } else { Ok(()) };
    // SAFETY: the descriptor is ours and is closed once.
    unsafe { libc::close(fd) };
    failed
}

/// How the items of a set are named.
pub fn names(items: &Items) -> Names {
    let (prefix, suffix) = items.name.split_once("{item}").unwrap_or((&items.name, ""));
    Names {
        prefix: prefix.into(),
        suffix: suffix.into(),
        depth: items.depth,
        branch: u64::from(items.branch),
        count: items.count,
        item_bytes: match &items.size {
            Size::Fixed(bytes) => *bytes,
            size => size.most_bytes().unwrap_or(0),
        },
    }
}

/// Opens everything a worker needs, in the order of its job's targets.
///
/// # Errors
/// The first that cannot be opened, with the system's reason.
pub fn open_files(plan: &Plan, job: &Job, asker: Asker<'_>, touches_files: bool) -> Result<Files, Failure> {
    let mut files = Files::default();
    for (position, index) in job.targets.iter().enumerate() {
        let target = &plan.targets[*index];
        let needs = needs(job, position);
        let handle = match &target.kind {
            TargetKind::Nothing { bytes } => bare(-1, *bytes),
            TargetKind::File { size, .. } if !touches_files => bare(-1, pretended(*size)),
            _ if !touches_files => bare(-1, 1 << 30),
            TargetKind::File { path, size } => open_one(&resolve(path, asker), target, needs, *size)?,
            TargetKind::Device { path } => open_one(path, target, needs, Extent::Rest)?,
            TargetKind::Descriptor { number } => open_descriptor(*number, target)?,
            TargetKind::FileSet { root, items } => {
                let root = set_root(root, items, asker);
                let fd =
                    open(&root, libc::O_RDONLY | libc::O_DIRECTORY).map_err(|errno| told(&root, errno))?;
                Handle { names: Some(Box::new(names(items))), ..bare(fd, items.count) }
            }
            TargetKind::Bucket { .. } | TargetKind::Endpoint { .. } => {
                return Err(Failure::new(format!("target {}: not served yet", target.name)));
            }
        };
        let span = span(job, asker.worker, handle.bytes);
        files.handles.push(match handle.names {
            Some(_) => Handle { target: *index as u32, ..handle },
            None => Handle { target: *index as u32, base: span.0, bytes: span.1, ..handle },
        });
    }
    Ok(files)
}

fn bare(fd: RawFd, bytes: u64) -> Handle {
    Handle { fd, target: 0, bytes, base: 0, names: None }
}

fn pretended(size: Extent) -> u64 {
    match size {
        Extent::Bytes(bytes) => bytes,
        _ => 1 << 30,
    }
}

/// A drawn workload's part of a target: its first byte and its length.
fn span(job: &Job, worker: u32, bytes: u64) -> (u64, u64) {
    let Workload::Pattern(pattern) = &job.workload else { return (0, bytes) };
    let of = |extent: Extent, rest: u64| match extent {
        Extent::Bytes(bytes) => bytes,
        Extent::Percent(percent) => (bytes as f64 * percent / 100.0) as u64,
        Extent::Rest => rest,
    };
    let start = of(pattern.span.offset, 0) + of(pattern.span.increment, 0) * u64::from(worker);
    let start = start.min(bytes);
    (start, of(pattern.span.length, bytes - start).min(bytes - start))
}

/// Whether a job reads, and whether it writes, its target at a position of its list.
fn needs(job: &Job, position: usize) -> (bool, bool) {
    let mut needs = (false, false);
    let mut note = |verb: Verb| match verb {
        Verb::Read => needs.0 = true,
        _ if verb.changes() => needs.1 = true,
        _ => {}
    };
    match &job.workload {
        Workload::Pattern(pattern) => {
            pattern.mix.shares.iter().filter(|share| share.weight > 0.0).for_each(|share| note(share.verb));
        }
        Workload::Trace(trace) => {
            trace.entries.iter().filter(|entry| entry.target == position).for_each(|entry| note(entry.verb));
        }
        Workload::Script(script) => note_steps(&script.steps, position, &mut note),
    }
    if job.payload.verify.is_some() && needs.1 {
        needs.0 = true;
    }
    needs
}

fn note_steps(steps: &[Step], position: usize, note: &mut dyn FnMut(Verb)) {
    for step in steps {
        match &step.action {
            Action::Do(operation) if operation.target == Some(position) => note(operation.verb),
            Action::Do(_) => {}
            Action::Block(steps) => note_steps(steps, position, note),
        }
    }
}

/// The flags a target is opened with.
fn flags(open: &Open, needs: (bool, bool)) -> i32 {
    let mode = match (open.mode, needs) {
        (OpenMode::Read, _) | (OpenMode::AsNeeded, (_, false)) => libc::O_RDONLY,
        (OpenMode::Write, _) | (OpenMode::AsNeeded, (false, true)) => libc::O_WRONLY,
        (OpenMode::ReadWrite, _) | (OpenMode::AsNeeded, (true, true)) => libc::O_RDWR,
    };
    let sync = match open.sync {
        OpenSync::No => 0,
        OpenSync::Data => libc::O_DSYNC,
        OpenSync::All => libc::O_SYNC,
    };
    let flag = |wanted: bool, flag: i32| if wanted { flag } else { 0 };
    mode | sync
        | libc::O_CLOEXEC
        | flag(open.create, libc::O_CREAT)
        | flag(open.exclusive, libc::O_EXCL)
        | flag(open.truncate && open.truncate_bytes == 0, libc::O_TRUNC)
        | flag(open.append, libc::O_APPEND)
        | flag(open.nonblock, libc::O_NONBLOCK)
        | flag(open.nofollow, libc::O_NOFOLLOW)
        | flag(open.directory, libc::O_DIRECTORY)
        | flag(open.noctty, libc::O_NOCTTY)
        | flag(open.noatime, o_noatime())
}

#[cfg(target_os = "linux")]
fn o_noatime() -> i32 {
    libc::O_NOATIME
}

#[cfg(not(target_os = "linux"))]
fn o_noatime() -> i32 {
    0
}

#[cfg(not(any(target_os = "macos", target_os = "ios")))]
fn o_direct() -> i32 {
    libc::O_DIRECT
}

#[cfg(any(target_os = "macos", target_os = "ios"))]
fn o_direct() -> i32 {
    0
}

fn open(path: &str, flags: i32) -> Result<RawFd, i32> {
    let path = c_path(path)?;
    // SAFETY: the path is zero-terminated and lives until after the call.
    let fd = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, 0o666) };
    if fd < 0 { Err(errno()) } else { Ok(fd) }
}

fn told(path: &str, errno: i32) -> Failure {
    Failure::new(format!("cannot open {path}: {}", strerror(errno)))
}

/// The system's text for an error number, without Rust's suffix.
pub fn strerror(errno: i32) -> String {
    let text = std::io::Error::from_raw_os_error(errno).to_string();
    text.split(" (os error").next().unwrap_or(&text).to_string()
}

fn open_one(path: &str, target: &Target, needs: (bool, bool), size: Extent) -> Result<Handle, Failure> {
    let flags = flags(&target.open, needs);
    let direct = if target.open.direct == Direct::No { 0 } else { o_direct() };
    let fd = match open(path, flags | direct) {
        Err(libc::EINVAL) if target.open.direct == Direct::IfPossible => open(path, flags),
        Err(libc::EINVAL) if direct != 0 => {
            return Err(told(path, libc::EINVAL)
                .hint("this file system refuses direct I/O; use direct = \"if possible\", or false"));
        }
        // A file that lies in a cache of its own (tmpfs of old kernels, FUSE) may refuse noatime to strangers.
        Err(libc::EPERM) if target.open.noatime => open(path, (flags | direct) & !o_noatime()),
        answer => answer,
    }
    .map_err(|errno| told(path, errno))?;
    no_cache(fd, target.open.direct);
    let handle = bare(fd, 0);
    let files = Files { handles: vec![handle] };
    if target.open.truncate && target.open.truncate_bytes > 0 {
        grow(fd, target.open.truncate_bytes).map_err(|errno| space_failure(path, errno))?;
    }
    let length = length(fd).map_err(|errno| told(path, errno))?;
    let bytes = match (length, size) {
        // What is written may grow; what is only read ends where it ends.
        (length, Extent::Bytes(bytes)) if needs.1 && length.is_some() => {
            bytes.max(length.unwrap_or(0).min(bytes))
        }
        (Some(length), Extent::Bytes(bytes)) => length.min(bytes),
        (Some(length), _) if length > 0 => length,
        // Character devices and pipes have no end.
        _ => u64::MAX >> 1,
    };
    let mut files = files;
    let mut handle = files.handles.remove(0);
    handle.bytes = bytes;
    Ok(handle)
}

#[cfg(any(target_os = "macos", target_os = "ios"))]
fn no_cache(fd: RawFd, direct: Direct) {
    if direct != Direct::No {
        // SAFETY: the call takes no pointers.
        unsafe { libc::fcntl(fd, libc::F_NOCACHE, 1) };
    }
}

#[cfg(not(any(target_os = "macos", target_os = "ios")))]
fn no_cache(_fd: RawFd, _direct: Direct) {}

/// A descriptor the program was started with, duplicated so that closing ours leaves it alone.
fn open_descriptor(number: u32, target: &Target) -> Result<Handle, Failure> {
    // SAFETY: the call takes no pointers.
    let fd = unsafe { libc::fcntl(number as RawFd, libc::F_DUPFD_CLOEXEC, 3) };
    if fd < 0 {
        return Err(told(&target.name, errno()));
    }
    let wanted = flags(&target.open, (false, false)) & (libc::O_NONBLOCK | libc::O_APPEND);
    if wanted != 0 || target.open.direct == Direct::Yes {
        let direct = if target.open.direct == Direct::Yes { o_direct() } else { 0 };
        // SAFETY: the calls take no pointers.
        unsafe { libc::fcntl(fd, libc::F_SETFL, libc::fcntl(fd, libc::F_GETFL) | wanted | direct) };
    }
    Ok(bare(fd, length(fd).ok().flatten().filter(|bytes| *bytes > 0).unwrap_or(u64::MAX >> 1)))
}

/// How long a file or device is; `None`: it has no length.
fn length(fd: RawFd) -> Result<Option<u64>, i32> {
    let mut stat = std::mem::MaybeUninit::<libc::stat>::uninit();
    // SAFETY: `stat` is valid for writing, and read only after success.
    let stat = unsafe {
        if libc::fstat(fd, stat.as_mut_ptr()) < 0 {
            return Err(errno());
        }
        stat.assume_init()
    };
    match stat.st_mode & libc::S_IFMT {
        libc::S_IFREG => Ok(Some(stat.st_size as u64)),
        libc::S_IFBLK => {
            // SAFETY: the call takes no pointers. The end of a block device is its size; reads give their own offset.
            let end = unsafe { libc::lseek(fd, 0, libc::SEEK_END) };
            // SAFETY: as above.
            unsafe { libc::lseek(fd, 0, libc::SEEK_SET) };
            if end < 0 { Err(errno()) } else { Ok(Some(end as u64)) }
        }
        _ => Ok(None),
    }
}

/// Free space for this user where a path lies, in bytes; 0 where it cannot be told.
#[allow(clippy::unnecessary_cast)] // the types differ between systems
pub fn free_bytes(path: &str) -> u64 {
    let path = std::path::Path::new(path);
    let there = path.ancestors().find(|path| path.exists()).unwrap_or(path);
    let there = if there.as_os_str().is_empty() { std::path::Path::new(".") } else { there };
    let Ok(path) = c_path(&there.to_string_lossy()) else { return 0 };
    let mut facts = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the path is zero-terminated; the structure is valid for writing, and read only after success.
    unsafe {
        match libc::statvfs(path.as_ptr(), facts.as_mut_ptr()) {
            0 => {
                let facts = facts.assume_init();
                facts.f_bavail as u64 * facts.f_frsize as u64
            }
            _ => 0,
        }
    }
}

/// Writes back and drops a file's cached pages. Best effort: what stays is for the witness to say.
pub fn invalidate(files: &Files) {
    for handle in files.handles.iter().filter(|handle| handle.fd >= 0 && handle.names.is_none()) {
        // SAFETY: the calls take no pointers.
        unsafe {
            libc::fsync(handle.fd);
            #[cfg(target_os = "linux")]
            libc::posix_fadvise(handle.fd, 0, 0, libc::POSIX_FADV_DONTNEED);
        }
    }
}
