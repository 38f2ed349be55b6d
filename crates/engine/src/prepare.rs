//! What must be there before the start line: files laid out, sets populated; and what must be gone afterwards.
//!
//! Only what this run made is ever removed, and nothing that existed is overwritten here: a file that is too short is
//! extended.

use std::collections::BTreeSet;
use std::os::fd::RawFd;
use std::path::{Path, PathBuf};

use iodyno_model::{
    Diagnostic, Direct, Extent, Job, Payload, Phase, Plan, Prepare, RecordedTree, Stop, Target, TargetKind,
};

use crate::check::CheckedPlan;
use crate::failure::{Failure, strerror};
use crate::io::{Files, Handle};
use crate::memory::{Memory, errno};
use crate::names::templates::{Asker, resolve, set_root, split, tells_apart};
use crate::open::{grow, o_direct, open_made, space_failure, whole_tree};
use crate::payload::{BlockAddress, Filler};
use crate::source::replay::tree;
use crate::witness::identity;
use crate::world::World;
use crate::world::rank_share::part;

mod formatted;
mod objects;
mod recorded;
pub mod sets;

/// Bytes written at once while a file is laid out.
const LAYOUT_BYTES: usize = 1 << 20;

/// What the run has made. Dropping it removes what is to be removed, newest first.
#[derive(Debug, Default)]
pub struct MadeFiles {
    files: Vec<String>,
    /// Directories that were made for files that are removed, those above first.
    folders: Vec<PathBuf>,
    trees: Vec<PathBuf>,
    /// Objects that are removed.
    objects: Vec<objects::MadeObjects>,
    /// Buckets that were not there before.
    buckets: BTreeSet<String>,
    /// Directories that were made, to be removed or not.
    made_trees: Vec<PathBuf>,
    /// Sets that the present phase laid out where nothing was, by their targets' index in the plan: what is in them is
    /// what their plan says.
    pub fresh: Vec<usize>,
    /// The trees of traces that the present phase made.
    pub recorded: Vec<RecordedTree>,
    seen: BTreeSet<String>,
}

impl MadeFiles {
    fn file(&mut self, path: &str, remove: bool) {
        if remove && !self.files.iter().any(|file| file == path) {
            self.files.push(path.into());
        }
    }

    /// Makes the directories above a file that are missing. They go with it, once nothing else lies in them.
    fn parents(&mut self, path: &str, remove: bool) -> std::io::Result<()> {
        let Some(parent) = Path::new(path).parent() else { return Ok(()) };
        let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let mut missing: Vec<_> = parent.ancestors().take_while(missing).map(Path::to_path_buf).collect();
        std::fs::create_dir_all(parent)?;
        if remove {
            missing.reverse();
            self.folders.append(&mut missing);
        }
        Ok(())
    }

    /// Makes a directory with all that is missing above it, and remembers the topmost.
    fn tree(&mut self, path: &str, remove: bool) -> std::io::Result<()> {
        let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let top = Path::new(path).ancestors().take_while(missing).last();
        std::fs::create_dir_all(path)?;
        let top = top.unwrap_or(Path::new(path)).to_path_buf();
        self.made_trees.push(top.clone());
        if remove {
            self.trees.push(top);
        }
        Ok(())
    }

    /// Takes a directory that is not there yet for this run's own, whichever rank will make it.
    fn expect(&mut self, path: &str) {
        let missing = |path: &&Path| !path.as_os_str().is_empty() && !path.exists();
        let top = Path::new(path).ancestors().take_while(missing).last();
        self.made_trees.extend(top.map(Path::to_path_buf));
    }

    /// Takes a directory that is not there yet, and that a job is to make, for this run's own.
    fn awaited(&mut self, path: &str) {
        self.made_trees.push(path.into());
        self.trees.push(path.into());
    }

    /// Whether a directory is this run's own.
    fn is_ours(&self, path: &str) -> bool {
        self.made_trees.iter().any(|tree| Path::new(path).starts_with(tree))
    }

    /// Removes everything now; what cannot be removed is reported. Directories that are not empty are left for another call.
    pub fn remove(&mut self) -> Vec<String> {
        let files = self.files.drain(..).rev().map(PathBuf::from);
        let files: Vec<_> = files.map(|path| (std::fs::remove_file(&path), path)).collect();
        let trees = self.trees.drain(..).rev();
        let trees: Vec<_> = trees.map(|path| (std::fs::remove_dir_all(&path), path)).collect();
        // What somebody put there keeps its directory; it may be another rank, which is still at it.
        let keeps = |path: &PathBuf| {
            std::fs::remove_dir(path)
                .is_err_and(|error| error.kind() == std::io::ErrorKind::DirectoryNotEmpty)
        };
        let mut kept: Vec<_> = self.folders.drain(..).rev().filter(keeps).collect();
        kept.reverse();
        self.folders = kept;
        let failed = |(result, path): (std::io::Result<()>, PathBuf)| {
            // Where a file was there may be a directory now, of which another line takes care.
            let gone = [std::io::ErrorKind::NotFound, std::io::ErrorKind::IsADirectory];
            let error = result.err().filter(|error| !gone.contains(&error.kind()))?;
            Some(format!("{}: {error}", path.display()))
        };
        let left = self.objects.drain(..).rev().flat_map(|made| made.remove());
        files.into_iter().chain(trees).filter_map(failed).chain(left).collect()
    }
}

impl Drop for MadeFiles {
    fn drop(&mut self) {
        self.remove();
    }
}

/// Tells how far a layout has come (name, bytes so far, bytes in all); the answer `false` stops it.
pub type Progress<'a> = &'a mut dyn FnMut(&str, u64, u64) -> bool;

/// A target that could not be made ready.
#[derive(Clone, Debug)]
pub struct Unready {
    /// The job that wants it, by index in the phase.
    pub job: usize,
    /// The worker whose it is; none: everybody's.
    pub worker: Option<u32>,
    /// The target, by index in the plan.
    pub target: usize,
    /// Why.
    pub failure: Failure,
}

impl Unready {
    /// For the user, where one that is not ready keeps all from starting.
    pub fn diagnostic(&self, plan: &Plan) -> Diagnostic {
        self.failure.clone().diagnostic(&plan.targets[self.target].origin, "")
    }
}

/// Which targets are made ready.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// Everybody's and each worker's own.
    All,
    /// Those that are everybody's.
    Everybodys,
    /// Those that are each worker's own.
    Own,
}

impl Whose {
    fn includes(self, own: bool) -> bool {
        self == Whose::All || (self == Whose::Own) == own
    }
}

/// Ranks that make ready what is everybody's, one after the other: of each node the first that has a part in it. File
/// systems may be each node's own, and those that are not must not be filled by two at once.
pub fn leaders(world: &World, plan: &Plan, phase: &Phase) -> Vec<u32> {
    let everybodys = |job: &&Job| {
        job.targets.iter().map(|index| &plan.targets[*index]).any(|target| {
            let laid_out = matches!(
                target.kind,
                TargetKind::File { .. } | TargetKind::FileSet { .. } | TargetKind::Bucket { .. }
            );
            laid_out && !is_per_worker(target)
        })
    };
    let jobs: Vec<&Job> = phase.jobs.iter().filter(everybodys).collect();
    (0..world.size()).filter(|rank| jobs.iter().any(|job| leads(world, job, *rank))).collect()
}

/// The directories that workers of several ranks have their items in and that are not there yet become the run's own,
/// whoever will make them; every rank looks before any makes one. Whether there was anything to look for.
pub fn expect(world: &World, plan: &Plan, phase: &Phase, made: &mut MadeFiles) -> bool {
    let mut any = false;
    for job in &phase.jobs {
        let (owners, all) = (world.owners(plan, phase, job), world.part(job).all);
        let removed = job.targets.iter().map(|index| &plan.targets[*index]).filter(|target| target.remove);
        for target in removed {
            let TargetKind::FileSet { root, items } = &target.kind else { continue };
            any = true;
            for worker in workers(world, job, true) {
                let asker =
                    Asker { job: &job.name, owner: owners.of(worker), all, repetition: phase.repetition };
                made.expect(&set_root(root, items, asker));
            }
        }
    }
    any
}

/// Whether a rank is the first of its node that has workers of a job.
fn leads(world: &World, job: &Job, rank: u32) -> bool {
    let facts = world.facts();
    let has_part = |rank: &u32| part(job.ranks, job.workers, *rank, world.size()).here > 0;
    let node = facts.node(rank);
    (0..world.size()).find(|other| facts.node(*other) == node && has_part(other)) == Some(rank)
}

/// Whether this rank makes a target ready that is everybody's. A bucket is the same one from every node.
fn makes(world: &World, job: &Job, target: &Target) -> bool {
    let has_part = |rank: &u32| part(job.ranks, job.workers, *rank, world.size()).here > 0;
    match target.kind {
        TargetKind::Bucket { .. } => (0..world.size()).find(has_part) == Some(world.rank()),
        _ => leads(world, job, world.rank()),
    }
}

/// Makes everything ready that a phase needs and that no earlier phase has made ready. What could not be is reported: where
/// each worker stands [alone](Stop::Alone), for each worker of its own, else the first of each target. Every rank makes
/// ready what its own workers own, whoever works on it.
pub fn prepare(
    world: &World,
    checked: &CheckedPlan,
    phase: &Phase,
    whose: Whose,
    made: &mut MadeFiles,
    progress: Progress<'_>,
) -> Vec<Unready> {
    let (plan, mut wrong) = (&checked.plan, Vec::new());
    for (number, job) in phase.jobs.iter().enumerate().filter(|(_, job)| is_real(checked, job)) {
        let (owners, all) = (world.owners(plan, phase, job), world.part(job).all);
        for index in &job.targets {
            let target = &plan.targets[*index];
            if matches!(target.kind, TargetKind::FileSet { .. }) && !checked.engines.of(job).facts.uses_files
            {
                continue;
            }
            let own = is_per_worker(target);
            if !whose.includes(own) || (!own && !makes(world, job, target)) {
                continue;
            }
            for worker in workers(world, job, own) {
                let asker =
                    Asker { job: &job.name, owner: owners.itself(worker), all, repetition: phase.repetition };
                let tree = job.targets.iter().position(|other| other == index);
                let ready = match tree.is_some_and(|position| whole_tree(job, position)) {
                    true => prepare_ground(target, asker, made),
                    false => match tree::of(job) {
                        Some(trace) => checked.surveys.of(trace).and_then(|survey| {
                            recorded::prepare(plan.seed, (trace, &survey), target, asker, made, progress)
                        }),
                        None => prepare_target(checked, job, *index, asker, made, progress),
                    },
                };
                let Err(failure) = ready else { continue };
                wrong.push(Unready { job: number, worker: own.then_some(worker), target: *index, failure });
                if phase.stop != Stop::Alone {
                    break;
                }
            }
        }
    }
    wrong
}

/// Whether a job works on the machine: what runs in virtual time touches nothing of it, and needs nothing made ready.
fn is_real(checked: &CheckedPlan, job: &Job) -> bool {
    !checked.engines.of(job).facts.is_virtual
}

/// What is to be made or extended before a phase begins: a job's index, how many files, and what they will hold in all;
/// of each worker, where its files are its own.
pub fn outstanding(world: &World, checked: &CheckedPlan, phase: &Phase) -> Vec<(usize, u64, u64)> {
    let (plan, mut seen) = (&checked.plan, BTreeSet::new());
    let mut found = Vec::new();
    for (number, job) in phase.jobs.iter().enumerate().filter(|(_, job)| is_real(checked, job)) {
        let own = job.targets.iter().any(|index| is_per_worker(&plan.targets[*index]));
        if !own && !leads(world, job, world.rank()) {
            continue;
        }
        let (owners, all) = (world.owners(plan, phase, job), world.part(job).all);
        for worker in workers(world, job, own) {
            let asker =
                Asker { job: &job.name, owner: owners.itself(worker), all, repetition: phase.repetition };
            let short = job.targets.iter().filter_map(|index| short(&plan.targets[*index], asker));
            let new: Vec<u64> = short.filter(|(path, _)| seen.insert(path.clone())).map(|(_, b)| b).collect();
            if !new.is_empty() {
                found.push((number, new.len() as u64, new.iter().sum()));
            }
        }
    }
    found
}

/// The workers for whom this rank makes a target ready: its own, or any one where the target is everybody's.
fn workers(world: &World, job: &Job, own: bool) -> std::ops::Range<u32> {
    let part = world.part(job);
    let count = if own { part.here } else { part.here.min(1) };
    part.first..part.first + count
}

/// A file that is missing or too short, and what it will hold.
fn short(target: &Target, asker: Asker<'_>) -> Option<(String, u64)> {
    let TargetKind::File { path, size: Extent::Bytes(wanted) } = &target.kind else { return None };
    if target.prepare == Prepare::AsItIs {
        return None;
    }
    let path = resolve(path, asker);
    let enough = std::fs::metadata(&path).is_ok_and(|facts| !facts.is_file() || facts.len() >= *wanted);
    (!enough).then_some((path, *wanted))
}

fn is_per_worker(target: &Target) -> bool {
    match &target.kind {
        TargetKind::File { path, .. } => tells_apart(path),
        TargetKind::FileSet { root, items } | TargetKind::Bucket { url: root, items } => {
            items.own || tells_apart(root) || tells_apart(&items.name)
        }
        _ => false,
    }
}

fn prepare_target(
    checked: &CheckedPlan,
    job: &Job,
    index: usize,
    asker: Asker<'_>,
    made: &mut MadeFiles,
    progress: Progress<'_>,
) -> Result<(), Failure> {
    let plan = &checked.plan;
    let target = &plan.targets[index];
    match &target.kind {
        TargetKind::File { path, size } => {
            let path = resolve(path, asker);
            let key = format!("{path}\0{:?}\0{size:?}", target.prepare);
            if made.seen.contains(&key) && target.prepare != Prepare::Absent {
                return Ok(());
            }
            prepare_file(plan.seed, target, &path, *size, made, progress)?;
            made.seen.insert(key);
            Ok(())
        }
        TargetKind::FileSet { root, items } => {
            let root = set_root(root, items, asker);
            let name = resolve(&items.name, asker);
            match made.seen.insert(format!("{root}\0{name}\0{}\0{}", target.name, asker.repetition)) {
                true => {
                    if sets::prepare(plan.seed, target, (&root, items), asker, made, progress)? {
                        made.fresh.push(index);
                    }
                    Ok(())
                }
                false => Ok(()),
            }
        }
        TargetKind::Bucket { .. } => objects::prepare(checked, job, index, asker, made, progress),
        TargetKind::Device { .. }
        | TargetKind::Descriptor { .. }
        | TargetKind::Endpoint { .. }
        | TargetKind::Nothing { .. } => Ok(()),
    }
}

/// Where a job makes or removes a whole tree, only the directory above it must be there.
fn prepare_ground(target: &Target, asker: Asker<'_>, made: &mut MadeFiles) -> Result<(), Failure> {
    let TargetKind::FileSet { root, items } = &target.kind else { return Ok(()) };
    let root = set_root(root, items, asker);
    let (above, _) = split(&root);
    if std::fs::metadata(above).is_ok() {
        if target.remove && std::fs::symlink_metadata(&root).is_err() {
            made.awaited(&root);
        }
        return Ok(());
    }
    let failure = |error: std::io::Error| space_failure(above, error.raw_os_error().unwrap_or(libc::EIO));
    made.tree(above, target.remove).map_err(failure)
}

fn prepare_file(
    seed: u64,
    target: &Target,
    path: &str,
    size: Extent,
    made: &mut MadeFiles,
    progress: Progress<'_>,
) -> Result<(), Failure> {
    if target.prepare == Prepare::Absent {
        take_away(path)?;
    }
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
        Extent::Percent(percent) => (identity::free_bytes(path) as f64 * percent / 100.0) as u64,
        Extent::Rest => existing,
    };
    if there.is_none() {
        made.file(path, target.remove);
        if target.open.parents {
            let failure =
                |error: std::io::Error| space_failure(path, error.raw_os_error().unwrap_or(libc::EIO));
            made.parents(path, target.remove).map_err(failure)?;
        }
    }
    match target.prepare {
        // Made at opening time.
        Prepare::Absent => Ok(()),
        Prepare::AsItIs | Prepare::Empty if target.open.create || target.prepare == Prepare::Empty => {
            // Made at opening time; nothing to lay out.
            if target.prepare == Prepare::Empty && there.is_none() {
                create(path, target).map(drop)
            } else {
                Ok(())
            }
        }
        Prepare::AsItIs | Prepare::Empty => Err(Failure::new(format!("{path}: {}", strerror(reason)))
            .errno(reason)
            .hint("name a file that exists")),
        _ if wanted <= existing => match there {
            Some(_) => Ok(()),
            None => Err(Failure::new(format!("{path}: it does not exist, and no size was given for it"))
                .hint("give the target a size, e.g. size = \"1GiB\"")),
        },
        Prepare::Sparse => with_file(path, target, |fd| grow(fd, wanted)),
        Prepare::Reserved => with_file(path, target, |fd| reserve(fd, existing, wanted)),
        Prepare::ReservedBeyondEnd => with_file(path, target, |fd| reserve_beyond_end(fd, existing, wanted)),
        Prepare::Filled => fill(seed, target, path, existing, wanted, progress),
    }
}

/// Removes a regular file that is there; nothing else is ever removed.
fn take_away(path: &str) -> Result<(), Failure> {
    if !std::fs::symlink_metadata(path).is_ok_and(|facts| facts.is_file()) {
        return Ok(());
    }
    let failure = |error: &std::io::Error| {
        let errno = error.raw_os_error().unwrap_or(libc::EIO);
        Failure::new(format!("{path}: it could not be removed: {}", strerror(errno))).errno(errno)
    };
    match std::fs::remove_file(path) {
        // Another rank was faster.
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(failure(&error)),
        _ => Ok(()),
    }
}

fn create(path: &str, target: &Target) -> Result<std::fs::File, Failure> {
    use std::os::unix::fs::OpenOptionsExt;
    std::fs::OpenOptions::new()
        .mode(target.open.permissions.unwrap_or(0o666))
        .create(true)
        .truncate(false)
        .write(true)
        .open(path)
        .map_err(|error| space_failure(path, error.raw_os_error().unwrap_or(libc::EIO)))
}

fn with_file(
    path: &str,
    target: &Target,
    work: impl FnOnce(RawFd) -> Result<(), i32>,
) -> Result<(), Failure> {
    use std::os::fd::AsRawFd;
    let file = create(path, target)?;
    work(file.as_raw_fd()).map_err(|errno| space_failure(path, errno))
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

/// Reserves space without making the file longer. A file system that cannot leaves it as it was made.
fn reserve_beyond_end(fd: RawFd, from: u64, to: u64) -> Result<(), i32> {
    #[cfg(target_os = "linux")]
    {
        let (at, bytes) = (from as libc::off_t, (to - from) as libc::off_t);
        // SAFETY: the call takes no pointers.
        let refused = unsafe { libc::fallocate(fd, libc::FALLOC_FL_KEEP_SIZE, at, bytes) } < 0;
        match errno() {
            _ if !refused => Ok(()),
            libc::EOPNOTSUPP | libc::ENOSYS => Ok(()),
            errno => Err(errno),
        }
    }
    #[cfg(not(target_os = "linux"))]
    {
        let _ = (fd, from, to);
        Ok(())
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
    let open = |more: i32| open_made(path, libc::O_WRONLY | libc::O_CREAT | more, target.open.permissions);
    let fd = open(direct).or_else(|_| open(0)).map_err(|errno| space_failure(path, errno))?;
    let files = Files::of(vec![Handle { fd, target: 0, bytes: to, base: 0, names: None }]);
    let memory = Memory::new(1, LAYOUT_BYTES).map_err(|errno| Failure::call("mmap", errno))?;
    let filler = filler(seed)?;
    let file = BlockAddress::file_id(path);
    let mut at = from;
    while at < to {
        if !progress(&target.name, at, to) {
            return Err(Failure::new("stopped while a file was laid out"));
        }
        let bytes = LAYOUT_BYTES.min((to - at) as usize);
        // SAFETY: the buffer belongs to this function and is `LAYOUT_BYTES` long.
        let buffer = unsafe { std::slice::from_raw_parts_mut(memory.buffer(0), LAYOUT_BYTES) };
        filler.fill(buffer, BlockAddress { file, offset: at, generation: 0 });
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

/// What files are laid out with: it neither compresses nor repeats.
fn filler(seed: u64) -> Result<Filler, Failure> {
    Filler::new(&Payload::default(), seed, LAYOUT_BYTES).map_err(|wrong| Failure::new(wrong.message))
}

fn clear_direct(fd: RawFd) {
    // SAFETY: the calls take no pointers.
    unsafe {
        let flags = libc::fcntl(fd, libc::F_GETFL);
        libc::fcntl(fd, libc::F_SETFL, flags & !o_direct());
    }
}
