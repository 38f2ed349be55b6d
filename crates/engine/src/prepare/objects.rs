//! Objects laid out and removed, by the engine that works on them: this file knows verbs, and no store.
//!
//! What is there already stays as it is. With `remove`, nothing may lie below the prefix before, so that nothing is ever
//! removed that the run did not make; what is removed are the names of the plan, and nothing is listed. Where a plan has
//! more names than a run will use (objects that are made until time is up), all that lies below the prefix goes.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::sync::Arc;

use iodyno_model::{Job, Plan, Prepare, Setting, Target, TargetKind, Verb};

use super::{MadeFiles, Progress, filler};
use crate::check::CheckedPlan;
use crate::engines::{Live, Setup, setting, whole_number};
use crate::failure::{Failure, strerror};
use crate::io::{Files, Io};
use crate::memory::Memory;
use crate::names::templates::Asker;
use crate::objects::{ANSWER, BUCKET, ObjectSet, SWEPT};
use crate::payload::BlockAddress;
use crate::registry::{EngineEntry, connect_store};
use crate::source;
use crate::source::pools::present;
use crate::source::sizes::ItemSizes;
use crate::store_client::{missing_directories, remove_made};

/// Requests at a time.
const DEPTH: u32 = 16;
/// Buffers of all of them, bytes, as long as one object fits.
const BUFFERS_BYTES: u64 = 256 << 20;
/// The longest object whose bytes all differ: it lies in memory.
const OBJECT_BYTES_MOST: u64 = 1 << 30;
/// Of a longer one these are repeated. An odd number of pages, so that parts of a store's own length are not alike.
const PERIOD_BYTES: usize = (64 << 20) + 4096;

/// The engine's setting for attempts after an answer that says too busy, and how many are made here at least: nothing is
/// measured, and what is not laid out or not removed costs more than a wait.
const RETRIES: (&str, u32) = ("retries", 8);
/// The engine's setting for the bucket itself.
const REMOVE_BUCKET: &str = "remove_bucket";
const PREFLIGHT: &str = "preflight";
/// Those by which it would be made.
const MAKING: [&str; 2] = ["make_bucket", PREFLIGHT];
/// The engine's setting for how many items are versions of one object, and how often it is tried to remove all of them.
const VERSIONS: &str = "versions";
const PASSES: u32 = 4;
/// From so many names on, those that are there are listed and removed, where there is a prefix.
const LISTED_FROM: u64 = 1 << 20;

/// Objects that a run made and removes.
#[derive(Debug)]
pub struct MadeObjects {
    store: Store,
    count: u64,
    /// Directories that were not there before, the lowest first.
    directories: Vec<String>,
    /// Whether the bucket itself goes, if nobody else has something in it.
    with_bucket: bool,
}

impl MadeObjects {
    /// Removes them; what could not be removed.
    pub fn remove(&self) -> Vec<String> {
        let mut left = self.remove_objects();
        if !self.directories.is_empty()
            && let Some(Ok(mut client)) = connect_store(&self.store.job, &self.store.set.url)
        {
            remove_made(&mut *client, &self.directories);
        }
        if left.is_empty() && self.with_bucket {
            left.extend(self.store.remove_bucket().err().map(|failure| failure.message));
        }
        left
    }

    fn remove_objects(&self) -> Vec<String> {
        if self.count >= LISTED_FROM && self.store.can_sweep() {
            return self.store.sweep().err().map(|failure| failure.message).into_iter().collect();
        }
        let versions = self.store.versions();
        let mut passes = if versions > 1 { PASSES } else { 1 };
        loop {
            passes -= 1;
            // Of one object one version at a time, as far as can be: stores move the one before to its place.
            let all = &mut (0..versions).flat_map(|version| (version..self.count).step_by(versions as usize));
            let removed =
                self.store.carry_out(Verb::Unlink, all, 0, &mut |_, _| (), &mut |_, result| is_gone(result));
            let left = removed.and_then(|()| match versions > 1 && self.store.check_empty().is_err() {
                true => Err(Failure::new(format!("{}: versions are left", self.store.set.url))),
                false => Ok(()),
            });
            match left {
                Ok(()) => return Vec::new(),
                Err(failure) if passes == 0 => return vec![failure.message],
                Err(_) => {}
            }
        }
    }
}

fn is_gone(result: i64) -> bool {
    result >= 0 || result == -i64::from(libc::ENOENT)
}

/// A bucket as one worker of a job reaches it.
#[derive(Debug)]
struct Store {
    plan: Arc<Plan>,
    /// The job with the bucket as its one target.
    job: Job,
    entry: &'static EngineEntry,
    set: ObjectSet,
}

/// Makes a bucket ready for a worker.
///
/// # Errors
/// What could not be made, or what is in the way.
pub fn prepare(
    checked: &CheckedPlan,
    job: &Job,
    index: usize,
    asker: Asker<'_>,
    made: &mut MadeFiles,
    progress: Progress<'_>,
) -> Result<(), Failure> {
    let (entry, target) = (checked.engines.of(job), &checked.plan.targets[index]);
    let (Some(set), Some(_)) = (ObjectSet::of(target, asker), entry.carry_out) else { return Ok(()) };
    let seen = format!("{}\0{}\0{}\0{:?}", set.url, target.name, set.address(0), target.prepare);
    let absent = target.prepare == Prepare::Absent;
    let first = made.seen.insert(seen);
    if !first && !absent {
        return Ok(());
    }
    let own = Job { targets: vec![index], settings: patient(job, entry), ..job.clone() };
    let store = Store { plan: Arc::clone(&checked.plan), job: own, entry, set };
    let count = store.set.names.count;
    let with_bucket = target.remove && first && store.removes_bucket(&mut made.buckets);
    if absent {
        let is_fine = &mut |_: &Io, result| is_gone(result);
        store.carry_out(Verb::Unlink, &mut (0..count), 0, &mut |_, _| (), is_fine)?;
        // What has these names from now on is the run's own.
        if target.remove && first {
            made.objects.push(MadeObjects { store, count, directories: Vec::new(), with_bucket });
        }
        return Ok(());
    }
    if target.remove {
        store.check_empty()?;
        let directories = store.missing_directories()?;
        let (plan, job, set) = (Arc::clone(&store.plan), store.job.clone(), store.set.clone());
        // Copies have the names that follow.
        let copied = drawn(&plan, index).any(|verb| verb == Verb::Clone);
        let count = if copied { count * 2 } else { count };
        let store = Store { plan, job, entry, set };
        made.objects.push(MadeObjects { store, count, directories, with_bucket });
    }
    match target.prepare {
        Prepare::AsItIs | Prepare::Empty => Ok(()),
        _ => fill(&store, target, progress),
    }
}

/// A job's settings, with further attempts where its engine knows them.
fn patient(job: &Job, entry: &EngineEntry) -> Vec<Setting> {
    let mut settings = job.settings.clone();
    let (name, least) = RETRIES;
    if entry.facts.settings.iter().any(|setting| setting.name == name) {
        let asked = settings.iter().find(|setting| setting.name == name);
        let asked = asked.and_then(|setting| setting.value.parse().ok()).unwrap_or(0);
        settings.retain(|setting| setting.name != name);
        settings.push(Setting::new(name, least.max(asked)));
    }
    settings
}

/// What the jobs of a plan do to a target.
fn drawn(plan: &Plan, target: usize) -> impl Iterator<Item = Verb> {
    let jobs =
        plan.phases.iter().flat_map(|phase| &phase.jobs).filter(move |job| job.targets.contains(&target));
    jobs.flat_map(source::labels).map(|(_, verb)| verb)
}

/// Makes the objects that are missing.
fn fill(store: &Store, target: &Target, progress: Progress<'_>) -> Result<(), Failure> {
    let TargetKind::Bucket { items, .. } = &target.kind else { return Ok(()) };
    if items.format.is_some() {
        let failure = Failure::new("objects are laid out with random bytes, not in a format of data sets");
        return Err(failure.hint("leave the format out, or copy the files of a data set into the bucket"));
    }
    let sizes = ItemSizes::new(&items.size, store.plan.seed, &target.name)
        .map_err(|wrong| Failure::new(wrong.message))?;
    let count = present(items);
    let missing = match target.remove {
        // Nothing lay below the prefix a moment ago.
        true => (0..count).collect(),
        false => store.missing(count)?,
    };
    let most = missing.iter().map(|item| sizes.of(*item)).max().unwrap_or(0);
    let total: u64 = missing.iter().map(|item| sizes.of(*item)).sum();
    let filler = filler(store.plan.seed)?;
    let (mut done_bytes, mut stopped) = (0, false);
    let mut write = |item: u64, io: &mut Io| {
        io.bytes = sizes.of(item);
        let own = if most > OBJECT_BYTES_MOST { io.bytes.min(PERIOD_BYTES as u64) } else { io.bytes };
        // SAFETY: the slot's buffer holds the longest object, and nothing is in flight on it.
        let buffer = unsafe { std::slice::from_raw_parts_mut(io.buffer, own as usize) };
        filler.fill(buffer, BlockAddress { file: item, offset: 0, generation: 0 });
    };
    let outcome =
        store.carry_out(Verb::Create, &mut missing.into_iter(), most, &mut write, &mut |io, result| {
            done_bytes += io.bytes;
            stopped |= !progress(&target.name, done_bytes, total);
            result >= 0 && !stopped
        });
    match stopped {
        true => Err(Failure::new("stopped while objects were laid out")),
        false => outcome,
    }
}

impl Store {
    fn can_sweep(&self) -> bool {
        self.entry.facts.sweeps_prefixes && !self.set.parts().2.is_empty()
    }

    /// Of each object; 1: items are objects.
    fn versions(&self) -> u64 {
        whole_number(&self.job, VERSIONS).unwrap_or(1).max(1)
    }

    /// Whether the bucket goes at the end. `made` has the buckets that were not there before.
    fn removes_bucket(&self, made: &mut BTreeSet<String>) -> bool {
        match setting(&self.job, REMOVE_BUCKET) {
            Some("on") => true,
            Some("made") => {
                let name = self.set.parts().1.to_string();
                if self.is_bucket_missing() {
                    made.insert(name.clone());
                }
                made.contains(&name)
            }
            _ => false,
        }
    }

    /// Asked by a client that makes none.
    fn is_bucket_missing(&self) -> bool {
        let mut job = self.job.clone();
        job.settings.retain(|setting| !MAKING.contains(&setting.name.as_str()));
        job.settings.push(Setting::new(PREFLIGHT, "off"));
        let (plan, set) = (Arc::clone(&self.plan), self.set.clone());
        let mut is_missing = false;
        let one = &mut |_: u64, io: &mut Io| io.bytes = 1;
        let asked = Store { plan, job, entry: self.entry, set };
        let _ = asked.carry_out(Verb::Readdir, &mut (0..1), 0, one, &mut |_, result| {
            is_missing = is_gone(result) && result < 0;
            true
        });
        is_missing
    }

    /// Removes the bucket, unless somebody else has something in it.
    fn remove_bucket(&self) -> Result<(), Failure> {
        let is_fine = &mut |_: &Io, result| is_gone(result) || result == -i64::from(libc::ENOTEMPTY);
        self.carry_out(Verb::Rmdir, &mut (BUCKET..BUCKET + 1), 0, &mut |_, _| (), is_fine)
    }

    /// Removes everything below the prefix.
    fn sweep(&self) -> Result<(), Failure> {
        self.carry_out(Verb::Rmdir, &mut (SWEPT..SWEPT + 1), 0, &mut |_, _| (), &mut |_, result| {
            is_gone(result)
        })
    }

    /// The directory of the objects and those above it that are not there, where the store has any.
    fn missing_directories(&self) -> Result<Vec<String>, Failure> {
        if !self.entry.facts.verbs.has(Verb::Mkdir) {
            return Ok(Vec::new());
        }
        let Some(client) = connect_store(&self.job, &self.set.url) else { return Ok(Vec::new()) };
        missing_directories(&mut *client?, &self.set.parts().2)
            .map_err(|errno| Failure::call(&self.set.url, errno))
    }

    /// Whether nothing lies below the prefix.
    fn check_empty(&self) -> Result<(), Failure> {
        let mut found = 0;
        let one = &mut |_: u64, io: &mut Io| io.bytes = 1;
        self.carry_out(Verb::Readdir, &mut (0..1), 0, one, &mut |_, result| {
            found = result.max(0);
            is_gone(result)
        })?;
        if found == 0 {
            return Ok(());
        }
        let what = format!(
            "{}: objects are there already, and could not be told from what the run makes",
            self.set.url
        );
        Err(Failure::new(what).hint("name a prefix that is not in use, or leave remove out"))
    }

    /// Those of the first so many objects that are not there.
    fn missing(&self, count: u64) -> Result<Vec<u64>, Failure> {
        let mut missing = Vec::new();
        self.carry_out(Verb::Stat, &mut (0..count), 0, &mut |_, _| (), &mut |io, result| {
            if result == -i64::from(libc::ENOENT) {
                missing.push(io.offset);
            }
            is_gone(result)
        })?;
        missing.sort_unstable();
        Ok(missing)
    }

    /// Does one verb to objects. `ready` completes an operation on an item, `is_fine` judges its result; the first that is
    /// not fine ends it.
    fn carry_out(
        &self,
        verb: Verb,
        items: &mut dyn Iterator<Item = u64>,
        most_bytes: u64,
        ready: &mut dyn FnMut(u64, &mut Io),
        is_fine: &mut dyn FnMut(&Io, i64) -> bool,
    ) -> Result<(), Failure> {
        let Some(carry_out) = self.entry.carry_out else { return Ok(()) };
        let fit = (BUFFERS_BYTES / most_bytes.max(1)).clamp(1, u64::from(DEPTH)) as u32;
        let depth = fit.min(self.entry.facts.most_depth);
        let memory = if most_bytes > OBJECT_BYTES_MOST {
            Memory::repeating(most_bytes, PERIOD_BYTES).map_err(|errno| {
                Failure::call(&format!("{}: objects of {most_bytes} bytes", self.set.url), errno)
                    .hint("the system has too few mappings for them: write them by a job")
            })?
        } else {
            Memory::new(depth, most_bytes.max(1) as usize).map_err(|errno| Failure::call("mmap", errno))?
        };
        let (files, objects) = (Files::default(), [Some(self.set.clone())]);
        let setup = Setup {
            plan: &self.plan,
            job: &self.job,
            depth,
            files: &files,
            memory: &memory,
            seed: self.plan.seed,
            paths: &[],
            objects: &objects,
            worker: 0,
            seat: 0,
            seats: 1,
            priorities: None,
            live: Live::alone(),
        };
        let wrong = RefCell::new(None);
        let mut next = |_, io: &mut Io| match items.next() {
            Some(item) => {
                (io.verb, io.offset) = (verb, item);
                ready(item, io);
                true
            }
            None => false,
        };
        let counts = carry_out(&setup, &mut next, &mut |io, result| {
            let fine = is_fine(io, result);
            if !fine && result < 0 {
                wrong.borrow_mut().get_or_insert((io.offset, -result as i32));
            }
            fine
        })?;
        let Some((item, errno)) = wrong.into_inner() else { return Ok(()) };
        // The answer in the store's own words says more than a number of the system.
        let words: Vec<_> = counts
            .iter()
            .filter(|(name, _)| name.starts_with(ANSWER))
            .map(|(name, _)| &name[ANSWER.len()..])
            .collect();
        let words = if words.is_empty() {
            strerror(errno)
        } else {
            format!("{} ({})", strerror(errno), words.join(", "))
        };
        Err(Failure::new(format!("{}: {verb}: {words}", self.set.address(item))).errno(errno))
    }
}
