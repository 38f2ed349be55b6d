//! Opening what a worker needs: names resolved for it, flags from its verbs, spans cut to its part.
//!
//! Lays nothing out and removes nothing; that is `prepare`'s.

use std::os::fd::RawFd;
use std::sync::Arc;

use iodyno_model::{
    Action, Advice, Direct, Extent, FileLock, Item, Job, Open, OpenMode, OpenSync, Operation, Pick, Plan,
    Prepare, Step, Target, TargetKind, Verb, Workload, WriteLife,
};

use crate::facts::EngineFacts;
use crate::failure::{Failure, strerror};
use crate::file_system_client::{self, Existing, FileCreation, FileSystemClient};
use crate::io::{Files, Handle, ReopenedFile, c_path, length};
use crate::memory::errno;
use crate::names::templates::{Asker, names, resolve, set_root, split};
use crate::objects::{self, ObjectSet};
use crate::source::{self, segments};

/// Opens the root of a set; where a job makes or removes the whole tree, the directory above it.
fn open_set(plan: &Plan, job: &Job, position: usize, asker: Asker<'_>) -> Result<Handle, Failure> {
    let target = &plan.targets[job.targets[position]];
    let TargetKind::FileSet { root, items } = &target.kind else {
        return Err(Failure::new(format!("target {}: no set", target.name)));
    };
    let root = set_root(root, items, asker);
    let mut names = names(items, asker);
    names.reuses = target.open.create;
    names.permissions = target.open.permissions;
    names.locks_ranges = target.open.lock == FileLock::Range;
    let direct = if target.open.direct == Direct::No { 0 } else { o_direct() };
    let of_file = libc::O_CREAT | libc::O_EXCL | libc::O_TRUNC | libc::O_DIRECTORY;
    // What verbs need of an item is theirs to say, unless the plan says it.
    let mode = if target.open.mode == OpenMode::AsNeeded { libc::O_ACCMODE } else { 0 };
    names.open_flags = (flags(&target.open, (false, false)) | direct) & !(of_file | mode);
    let path = match whole_tree(job, position) {
        true => {
            let (above, own) = split(&root);
            names.root = own.into();
            names = names.spelled(&resolve(&items.name, asker));
            above.to_string()
        }
        false => root.clone(),
    };
    if !names.fit() {
        return Err(Failure::new(format!("{root}: its names are too long, or hold a zero byte"))
            .hint("shorten them, or make the tree less deep"));
    }
    names.client = client(target, &path)?;
    let fd = open(&path, libc::O_RDONLY | libc::O_DIRECTORY).map_err(|errno| open_failure(&path, errno))?;
    let makes = source::labels(job).iter().any(|(_, verb)| *verb == Verb::Create);
    if let Some(client) = names.client.as_ref().filter(|_| makes) {
        let shared = client.share_creation(fd).inspect_err(|_| drop(Files::of(vec![bare(fd, 0)])));
        names.shared_creation = shared?.map(Arc::new);
    }
    Ok(Handle { names: Some(Box::new(names)), ..bare(fd, items.count) })
}

/// Who is asked for what a target's hints say.
fn client(target: &Target, path: &str) -> Result<Option<Arc<FileSystemClient>>, Failure> {
    target.open.hints.as_ref().map(|hints| FileSystemClient::of(hints, path)).transpose()
}

/// Whether a job makes or removes the whole tree of a set, so that its root need not be there.
pub fn whole_tree(job: &Job, position: usize) -> bool {
    let Workload::Script(script) = &job.workload else { return false };
    any_operation(&script.steps, &|operation| {
        operation.target == Some(position)
            && operation.item == Item::Whole
            && matches!(operation.verb, Verb::Mkdir | Verb::Rmdir)
    })
}

fn any_operation(steps: &[Step], is: &dyn Fn(&Operation) -> bool) -> bool {
    steps.iter().any(|step| match &step.action {
        Action::Do(operation) => is(operation),
        Action::Block(steps) => any_operation(steps, is),
        Action::Call(_) => false,
    })
}

/// Opens everything a worker needs, in the order of its job's targets.
///
/// # Errors
/// The first that cannot be opened, with the system's reason.
pub fn open_files(plan: &Plan, job: &Job, asker: Asker<'_>, engine: &EngineFacts) -> Result<Files, Failure> {
    let mut files = Files::default();
    for (position, index) in job.targets.iter().enumerate() {
        let target = &plan.targets[*index];
        let (reads, writes) = needs(job, position);
        let needs = (reads || (writes && engine.reads_to_write), writes || (reads && engine.writes_to_read));
        let handle = match &target.kind {
            TargetKind::Nothing { bytes } => bare(-1, *bytes),
            TargetKind::Bucket { .. } => bucket(job, target, asker)?,
            TargetKind::Endpoint { .. } if engine.connects => bare(-1, u64::MAX >> 1),
            TargetKind::File { size, .. } if !engine.uses_files => bare(-1, pretended(*size)),
            TargetKind::File { path, size } if engine.opens_files => {
                bare(-1, expected(&resolve(path, asker), *size))
            }
            TargetKind::FileSet { items, .. } if !engine.uses_files => {
                Handle { names: Some(Box::new(names(items, asker))), ..bare(-1, items.count) }
            }
            _ if !engine.uses_files => bare(-1, 1 << 30),
            _ if engine.opens_files => {
                let message = format!("target {}: engine {} works on files alone", target.name, job.engine);
                return Err(Failure::new(message).hint("name a file"));
            }
            TargetKind::File { path, size } => open_one(&resolve(path, asker), target, needs, *size)?,
            TargetKind::Device { path } => open_one(path, target, needs, Extent::Rest)?,
            TargetKind::Descriptor { number } => open_descriptor(*number, target)?,
            TargetKind::FileSet { .. } => open_set(plan, job, position, asker)?,
            TargetKind::Endpoint { .. } => {
                return Err(Failure::new(format!("target {}: not served yet", target.name)));
            }
        };
        if handle.fd >= 0 && handle.names.is_none() {
            advise(job, target.open.advice, handle.fd);
        }
        if let (Some(life), 0..) = (target.open.write_life, handle.fd) {
            tell_life(&target.name, life, handle.fd)?;
        }
        let handle = match path_of(target, asker) {
            Some(path) if reopens(job) && handle.fd >= 0 => {
                files.reopened.resize_with(files.handles.len(), || None);
                let (handle, known) = closed_again(handle, &path)?;
                files.reopened.push(Some(known));
                handle
            }
            _ => handle,
        };
        let span = span(job, target, asker, handle.bytes);
        files.handles.push(match handle.names {
            Some(_) => Handle { target: *index as u32, ..handle },
            None => Handle { target: *index as u32, base: span.0, bytes: span.1, ..handle },
        });
    }
    Ok(files)
}

/// A bucket's objects: as items, or as one range of bytes after the other.
fn bucket(job: &Job, target: &Target, asker: Asker<'_>) -> Result<Handle, Failure> {
    let Some(set) = ObjectSet::of(target, asker) else { return Ok(bare(-1, 0)) };
    if !set.names.fit() {
        return Err(Failure::new(format!("{}: its names are too long, or hold a zero byte", set.url))
            .hint("shorten them, or make the tree less deep"));
    }
    Ok(match objects::by_items(&source::labels(job)) {
        true => {
            let count = set.names.count;
            Handle { names: Some(Box::new(set.names)), ..bare(-1, count) }
        }
        false => bare(-1, set.bytes()),
    })
}

/// Whether a job opens and closes its targets where its trace does.
fn reopens(job: &Job) -> bool {
    matches!(&job.workload, Workload::Trace(trace) if trace.replay.opens)
}

fn path_of(target: &Target, asker: Asker<'_>) -> Option<String> {
    match &target.kind {
        TargetKind::File { path, .. } => Some(resolve(path, asker)),
        TargetKind::Device { path } => Some(path.clone()),
        _ => None,
    }
}

/// A target that can be opened, closed until its trace opens it.
fn closed_again(handle: Handle, path: &str) -> Result<(Handle, ReopenedFile), Failure> {
    // SAFETY: the call takes no pointers.
    let flags = unsafe { libc::fcntl(handle.fd, libc::F_GETFL) };
    let path = c_path(path).map_err(|errno| open_failure(path, errno))?;
    let known = ReopenedFile { path, flags: flags | libc::O_CLOEXEC };
    // SAFETY: the descriptor is ours, and nobody uses it after this.
    unsafe { libc::close(handle.fd) };
    Ok((Handle { fd: -1, ..handle }, known))
}

/// The files of a worker that exist already, opened to read, as long as nothing is done with them.
pub fn there_already(plan: &Plan, job: &Job, asker: Asker<'_>) -> Files {
    let opened = |index: &usize| {
        let target = &plan.targets[*index];
        let TargetKind::File { path, .. } = &target.kind else { return None };
        let fd = open(&resolve(path, asker), libc::O_RDONLY | libc::O_NONBLOCK).ok()?;
        Some(Handle { target: *index as u32, ..bare(fd, 0) })
    };
    Files::of(job.targets.iter().filter_map(opened).collect())
}

/// The names of what a worker of a job opens, in the order of its handles.
pub fn paths(plan: &Plan, job: &Job, asker: Asker<'_>) -> Vec<String> {
    let path = |target: &Target| match &target.kind {
        TargetKind::File { path, .. } => resolve(path, asker),
        TargetKind::Device { path } => path.clone(),
        TargetKind::FileSet { root, items } => set_root(root, items, asker),
        _ => target.name.clone(),
    };
    job.targets.iter().map(|index| path(&plan.targets[*index])).collect()
}

/// Tells the kernel how a file will be used; it may listen or not.
#[cfg(target_os = "linux")]
fn advise(job: &Job, advice: Advice, fd: RawFd) {
    use iodyno_model::Pick;
    let in_order =
        |pick: &Pick| matches!(pick, Pick::Sequential | Pick::Stream | Pick::Append | Pick::Gap(_));
    let advice = match (advice, &job.workload) {
        (Advice::No, _) => return,
        (Advice::Random, _) => libc::POSIX_FADV_RANDOM,
        (Advice::NoReuse, _) => libc::POSIX_FADV_NOREUSE,
        (Advice::AsPicked, Workload::Pattern(pattern)) if !in_order(&pattern.pick.read) => {
            libc::POSIX_FADV_RANDOM
        }
        _ => libc::POSIX_FADV_SEQUENTIAL,
    };
    // SAFETY: the call takes no pointers.
    unsafe { libc::posix_fadvise(fd, 0, 0, advice) };
}

#[cfg(not(target_os = "linux"))]
fn advise(_job: &Job, _advice: Advice, _fd: RawFd) {}

/// Tells the kernel how long what is written will live.
#[cfg(target_os = "linux")]
fn tell_life(name: &str, life: WriteLife, fd: RawFd) -> Result<(), Failure> {
    let hint: u64 = match life {
        WriteLife::No => 1,
        WriteLife::Short => 2,
        WriteLife::Medium => 3,
        WriteLife::Long => 4,
        WriteLife::Extreme => 5,
    };
    /// linux/fcntl.h, `F_LINUX_SPECIFIC_BASE + 12`.
    const SET_HINT: libc::c_int = 1036;
    // SAFETY: the call reads one 64-bit number, which is valid for it.
    match unsafe { libc::fcntl(fd, SET_HINT, &raw const hint) } {
        0.. => Ok(()),
        _ => Err(Failure::call(&format!("{name}: write life"), errno()).hint("leave it out here")),
    }
}

#[cfg(not(target_os = "linux"))]
fn tell_life(_name: &str, _life: WriteLife, _fd: RawFd) -> Result<(), Failure> {
    Err(Failure::new("a write life is a Linux option").hint("leave it out here"))
}

fn bare(fd: RawFd, bytes: u64) -> Handle {
    Handle { fd, target: 0, bytes, base: 0, names: None }
}

/// How long a file is that an engine opens itself: what is said, or what it has.
fn expected(path: &str, size: Extent) -> u64 {
    match size {
        Extent::Bytes(bytes) => bytes,
        _ => std::fs::metadata(path).map_or(0, |facts| facts.len()),
    }
}

fn pretended(size: Extent) -> u64 {
    match size {
        Extent::Bytes(bytes) => bytes,
        _ => 1 << 30,
    }
}

/// The part of a file that a drawn workload touches, as far as it is known before it is opened: its first byte and its
/// length. None: any part of it, or it is no file.
pub fn reach(job: &Job, target: &Target, asker: Asker<'_>, path: &str) -> Option<(u64, u64)> {
    let (Workload::Pattern(pattern), TargetKind::File { size, .. }) = (&job.workload, &target.kind) else {
        return None;
    };
    let picks = [&pattern.pick.read, &pattern.pick.write, &pattern.pick.trim];
    let wanders = pattern.window.is_some() || picks.iter().any(|pick| matches!(pick, Pick::Gap(_)));
    // Gaps and windows go on to the file's end.
    (!(pattern.span.overhang && wanders)).then(|| span(job, target, asker, expected(path, *size)))
}

/// A drawn workload's part of a target: its first byte and its length.
fn span(job: &Job, target: &Target, asker: Asker<'_>, bytes: u64) -> (u64, u64) {
    let Workload::Pattern(pattern) = &job.workload else { return (0, bytes) };
    let of = |extent: Extent, rest: u64| match extent {
        Extent::Bytes(bytes) => bytes,
        Extent::Percent(percent) => (bytes as f64 * percent / 100.0) as u64,
        Extent::Rest => rest,
    };
    let aligned = |extent: Extent| match (extent, pattern.span.align_bytes) {
        (Extent::Percent(_), align @ 1..) => of(extent, 0).next_multiple_of(align),
        _ => of(extent, 0),
    };
    let laid = segments::of_job(job, Some(target), asker);
    let begin = laid.and_then(|laid| laid.begin);
    let increment = || aligned(pattern.span.increment).saturating_mul(u64::from(asker.owner.worker));
    let start = aligned(pattern.span.offset).saturating_add(begin.unwrap_or_else(increment));
    // How many segments there are is said; what the file holds so far cuts none of them off.
    if let Some(wanted) = laid.and_then(|laid| laid.bytes) {
        return (start, of(pattern.span.length, wanted).min(wanted));
    }
    let start = start.min(bytes);
    (start, of(pattern.span.length, bytes - start).min(bytes - start))
}

/// Whether a job reads, and whether it changes, its target at a position of its list.
pub fn needs(job: &Job, position: usize) -> (bool, bool) {
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
        // What a file of records holds is not known where nobody has read it.
        Workload::Trace(trace) if trace.path.is_some() && trace.replay.facts.verbs.is_empty() => {
            [Verb::Read, Verb::Write].into_iter().for_each(note)
        }
        Workload::Trace(trace) if trace.path.is_some() => {
            trace.replay.facts.verbs.iter().copied().for_each(note);
        }
        Workload::Trace(trace) => {
            trace.entries.iter().filter(|entry| entry.target == position).for_each(|entry| note(entry.verb));
        }
        Workload::Script(script) => note_steps(&script.steps, position, &mut note),
        Workload::Cases(_) | Workload::Exercise(_) => {}
    }
    if job.payload.verify.is_some() && needs.1 {
        needs.0 = true;
    }
    needs
}

fn note_steps(steps: &[Step], position: usize, note: &mut dyn FnMut(Verb)) {
    for step in steps {
        match &step.action {
            Action::Do(operation) => {
                let other = operation.other.as_ref().is_some_and(|(target, _)| *target == position);
                if operation.target == Some(position) || other {
                    note(operation.verb);
                }
            }
            Action::Block(steps) => note_steps(steps, position, note),
            Action::Call(_) => {}
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

/// The flag that goes past the page cache; 0 where there is none.
#[cfg(not(any(target_os = "macos", target_os = "ios")))]
pub fn o_direct() -> i32 {
    libc::O_DIRECT
}

/// The flag that goes past the page cache; 0 where there is none.
#[cfg(any(target_os = "macos", target_os = "ios"))]
pub fn o_direct() -> i32 {
    0
}

/// Opens a path; what it makes is readable and writable for all that the umask lets.
///
/// # Errors
/// The system's error number.
pub fn open(path: &str, flags: i32) -> Result<RawFd, i32> {
    open_made(path, flags, None)
}

/// Opens a path; what it makes has the mode that a target says, less the umask.
///
/// # Errors
/// The system's error number.
pub fn open_made(path: &str, flags: i32, permissions: Option<u32>) -> Result<RawFd, i32> {
    let path = c_path(path)?;
    let mode = permissions.unwrap_or(0o666) as libc::c_uint;
    // SAFETY: the path is zero-terminated and lives until after the call.
    let fd = unsafe { libc::open(path.as_ptr(), flags | libc::O_CLOEXEC, mode) };
    if fd < 0 { Err(errno()) } else { Ok(fd) }
}

fn open_failure(path: &str, errno: i32) -> Failure {
    Failure::new(format!("cannot open {path}: {}", strerror(errno))).errno(errno)
}

fn open_one(path: &str, target: &Target, needs: (bool, bool), size: Extent) -> Result<Handle, Failure> {
    let flags = flags(&target.open, needs);
    let direct = if target.open.direct == Direct::No { 0 } else { o_direct() };
    let client = client(target, path)?;
    let open = |flags: i32| match &client {
        Some(client) if flags & libc::O_CREAT != 0 => {
            let existing =
                if target.prepare == Prepare::Absent { Existing::Shared } else { Existing::Refused };
            let mode = target.open.permissions.unwrap_or(0o666);
            let path = &c_path(path)?;
            client.create(&FileCreation { folder: libc::AT_FDCWD, path, flags, mode, existing })
        }
        _ => open_made(path, flags, target.open.permissions),
    };
    let fd = match open(flags | direct) {
        Err(libc::EINVAL) if target.open.direct == Direct::IfPossible => open(flags),
        Err(libc::EINVAL) if direct != 0 => {
            return Err(open_failure(path, libc::EINVAL)
                .hint("this file system refuses direct I/O; use direct = \"if possible\", or false"));
        }
        // A file that lies in a cache of its own (tmpfs of old kernels, FUSE) may refuse noatime to strangers.
        Err(libc::EPERM) if target.open.noatime => open((flags | direct) & !o_noatime()),
        answer => answer,
    }
    .map_err(|errno| match (&client, errno) {
        (Some(_), libc::EEXIST) => open_failure(path, errno).hint(
            "a file that exists keeps its stripes: remove it first (IOR: leave -E out), or leave them out",
        ),
        (Some(_), libc::EINVAL) => open_failure(path, errno).hint(
            "its stripes may be refused: a stripe is a multiple of 64 KiB, and targets and pool must exist",
        ),
        _ => open_failure(path, errno),
    })?;
    let files = Files::of(vec![bare(fd, 0)]);
    if let Some(client) = &client {
        let settled = client.settle(fd, flags & libc::O_CREAT != 0);
        settled.map_err(|(what, errno)| file_system_client::refused(&format!("{path}: {what}"), errno))?;
    }
    no_cache(fd, target.open.direct);
    if target.open.lock == FileLock::Whole {
        lock_whole(path, fd, needs.1)?;
    }
    if target.open.truncate && target.open.truncate_bytes > 0 {
        grow(fd, target.open.truncate_bytes).map_err(|errno| space_failure(path, errno))?;
    }
    let length = length(fd).map_err(|errno| open_failure(path, errno))?;
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

/// Locks a file until its descriptor is closed; nobody is waited for, as whoever has it might wait for us.
fn lock_whole(path: &str, fd: RawFd, writes: bool) -> Result<(), Failure> {
    let how = if writes { libc::LOCK_EX } else { libc::LOCK_SH };
    // SAFETY: the call takes no pointers.
    if unsafe { libc::flock(fd, how | libc::LOCK_NB) } == 0 {
        return Ok(());
    }
    let errno = errno();
    let failure = Failure::new(format!("{path} cannot be locked: {}", strerror(errno))).errno(errno);
    Err(failure.hint("somebody else has it locked, or its file system knows no locks"))
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
        return Err(open_failure(&target.name, errno()));
    }
    let wanted = flags(&target.open, (false, false)) & (libc::O_NONBLOCK | libc::O_APPEND);
    if wanted != 0 || target.open.direct == Direct::Yes {
        let direct = if target.open.direct == Direct::Yes { o_direct() } else { 0 };
        // SAFETY: the calls take no pointers.
        unsafe { libc::fcntl(fd, libc::F_SETFL, libc::fcntl(fd, libc::F_GETFL) | wanted | direct) };
    }
    Ok(bare(fd, length(fd).ok().flatten().filter(|bytes| *bytes > 0).unwrap_or(u64::MAX >> 1)))
}

/// A failure on a path, with what helps where there is no room.
pub fn space_failure(path: &str, errno: i32) -> Failure {
    let failure = Failure::new(format!("{path}: {}", strerror(errno))).errno(errno);
    match errno {
        libc::ENOSPC | libc::EDQUOT => failure.hint("choose a smaller size, or free some space"),
        _ => failure,
    }
}

/// Sets a file's length.
///
/// # Errors
/// The system's error number.
pub fn grow(fd: RawFd, bytes: u64) -> Result<(), i32> {
    // SAFETY: the call takes no pointers.
    if unsafe { libc::ftruncate(fd, bytes as libc::off_t) } < 0 { Err(errno()) } else { Ok(()) }
}
