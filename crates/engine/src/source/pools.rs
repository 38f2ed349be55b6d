//! Which items of a set exist, for all workers of a phase that pick from it: two bytes an item, no lock.
//!
//! A worker claims what it makes or removes and holds what it has open, so that nobody looks for what is just going away
//! and nobody removes what is in use. A count for each block of items says where looking is worth it, so that picking one
//! of the few that are missing among a million costs no walk over all of them. It refuses to look at the directory: what
//! failed is settled as it was before, and it is given what is there at the start.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, AtomicU32, Ordering::Relaxed};

use iodyno_model::{Item, Items, Job, Operation, Phase, Plan, TargetKind, Workload};

use super::random::mix;
use super::script::compile::operations;
use crate::memory::Mapping;

/// The item is there.
const EXISTS: u16 = 1 << 15;
/// Somebody makes or removes it.
const CLAIMED: u16 = 1 << 14;
/// How many have it open.
const USERS: u16 = CLAIMED - 1;
/// Items of a block, whose counts are kept.
const BLOCK: u64 = 512;
/// How many places are tried at random before blocks are looked through.
const TRIES: u64 = 8;

/// What of a set exists at the start, where that is not the part that its plan says: a bit for each item.
pub type Found = Box<[u64]>;

/// The pools of a phase. A clone is another view of the same pools.
#[derive(Clone, Debug)]
pub struct Pools {
    mapping: Arc<Mapping>,
    sets: Arc<[Set]>,
}

/// Where a set's items and blocks lie.
#[derive(Clone, Copy, Debug)]
struct Set {
    target: usize,
    /// Of its items, and of its first block's counts; both in the whole mapping.
    cells: u64,
    counts: u64,
    items: u64,
    /// Whether one worker alone picks from it.
    alone: bool,
}

/// A worker's view of one pool.
#[derive(Clone, Debug)]
pub struct SharedPool {
    mapping: Arc<Mapping>,
    set: Set,
}

/// What a count of a block counts.
#[derive(Clone, Copy)]
enum ItemClass {
    Missing = 0,
    Existing = 1,
}

/// The targets whose items the jobs of a phase pick, in order; sets that each worker has for itself are none of them.
pub fn picked(plan: &Plan, phase: &Phase) -> Vec<usize> {
    let mut targets: Vec<usize> = phase.jobs.iter().flat_map(picked_by).collect();
    targets.sort_unstable();
    targets.dedup();
    targets.retain(|target| items(plan, *target).is_some_and(|items| !items.own));
    targets
}

fn items(plan: &Plan, target: usize) -> Option<&Items> {
    match plan.targets.get(target).map(|target| &target.kind) {
        Some(TargetKind::FileSet { items, .. } | TargetKind::Bucket { items, .. }) => Some(items),
        _ => None,
    }
}

/// How many items exist at the start, as the plan says.
pub fn present(items: &Items) -> u64 {
    (items.count as f64 * items.present_percent / 100.0).round() as u64
}

impl Pools {
    /// Pools for the sets that scripts pick from; a worker's own sets have none. `found` says what of a target exists,
    /// where somebody looked. To be made before any worker exists.
    ///
    /// # Errors
    /// The system's error number.
    pub fn new(
        plan: &Plan,
        phase: &Phase,
        mut found: impl FnMut(usize) -> Option<Found>,
    ) -> Result<Self, i32> {
        let workers = |target: usize| -> u32 {
            let users = phase.jobs.iter().filter(|job| picked_by(job).contains(&target));
            users.fold(0, |sum, job| sum.saturating_add(job.workers))
        };
        let (mut sets, mut cells, mut counts) = (Vec::new(), 0, 0);
        for target in picked(plan, phase) {
            let count = items(plan, target).map_or(0, |items| items.count);
            sets.push(Set { target, cells, counts, items: count, alone: workers(target) < 2 });
            cells += count.next_multiple_of(BLOCK);
            counts += count.div_ceil(BLOCK) * 2;
        }
        for set in &mut sets {
            // Counts lie behind all items, in units of their own size.
            set.counts += cells / 2;
        }
        let bytes = usize::try_from((cells * 2 + counts * 4).max(2)).map_err(|_| libc::ENOMEM)?;
        let pools = Pools { mapping: Arc::new(Mapping::shared(bytes)?), sets: sets.into() };
        for set in pools.sets.iter() {
            let present = items(plan, set.target).map_or(0, present);
            let pool = SharedPool { mapping: Arc::clone(&pools.mapping), set: *set };
            match found(set.target) {
                Some(found) => pool.fill(|item| found[(item / 64) as usize] >> (item % 64) & 1 == 1),
                None => pool.fill(|item| item < present),
            }
        }
        Ok(pools)
    }

    /// The pool of a target.
    pub fn of(&self, target: usize) -> Option<SharedPool> {
        let set = *self.sets.iter().find(|set| set.target == target)?;
        Some(SharedPool { mapping: Arc::clone(&self.mapping), set })
    }
}

/// The plan's targets that a job's script picks items of.
fn picked_by(job: &Job) -> Vec<usize> {
    let Workload::Script(script) = &job.workload else { return Vec::new() };
    let picks = |item: &Item| matches!(item, Item::Existing(_) | Item::Missing(_) | Item::Drawn(_));
    let wants = |operation: &&Operation| {
        picks(&operation.item) || operation.other.as_ref().is_some_and(|(_, item)| picks(item))
    };
    let of = |operation: &Operation| job.targets.get(operation.target?).copied();
    operations(&script.steps).into_iter().filter(wants).filter_map(of).collect()
}

impl SharedPool {
    /// Whether one worker alone picks from it.
    pub fn is_alone(&self) -> bool {
        self.set.alone
    }

    fn cell(&self, item: u64) -> &AtomicU16 {
        assert!(item < self.set.items);
        // SAFETY: the mapping holds two bytes for each item of each set (the index is checked), is zeroed and aligned to
        // pages, and zero is a value of an atomic.
        unsafe { &*self.mapping.start().cast::<AtomicU16>().add((self.set.cells + item) as usize) }
    }

    /// How many items of a block are of a class. A hint: it follows the items by a moment.
    fn count(&self, block: u64, class: ItemClass) -> &AtomicU32 {
        assert!(block * BLOCK < self.set.items);
        // SAFETY: behind the items the mapping holds two counts for each block of each set (the index is checked), in
        // whole blocks of items and so aligned; zero is a value of an atomic.
        unsafe {
            let place = self.set.counts + block * 2 + class as u64;
            &*self.mapping.start().cast::<AtomicU32>().add(place as usize)
        }
    }

    fn fill(&self, exists: impl Fn(u64) -> bool) {
        for item in 0..self.set.items {
            let exists = exists(item);
            self.cell(item).store(if exists { EXISTS } else { 0 }, Relaxed);
            self.more(item, if exists { ItemClass::Existing } else { ItemClass::Missing });
        }
    }

    fn more(&self, item: u64, class: ItemClass) {
        self.count(item / BLOCK, class).fetch_add(1, Relaxed);
    }

    fn fewer(&self, item: u64, class: ItemClass) {
        self.count(item / BLOCK, class).fetch_sub(1, Relaxed);
    }

    /// An item whose state can be moved on. In order it is the first from there on, around the end; else any, so that
    /// neighbours of what cannot be had are not had more often than others.
    fn find(
        &self,
        from: u64,
        in_order: bool,
        class: ItemClass,
        step: impl Fn(u16) -> Option<u16>,
    ) -> Option<u64> {
        let count = self.set.items;
        let from = if from < count { from } else { 0 };
        let moves = |item: &u64| self.cell(*item).fetch_update(Relaxed, Relaxed, &step).is_ok();
        if count == 0 || moves(&from) {
            return (count > 0).then_some(from);
        }
        let from = match in_order || count <= BLOCK {
            true => from,
            false => {
                let tries = (1..=TRIES).map(|number| mix(from ^ number << 48) % count);
                let mut last = from;
                for item in tries {
                    if moves(&item) {
                        return Some(item);
                    }
                    last = item;
                }
                last
            }
        };
        let blocks = count.div_ceil(BLOCK);
        let first = from / BLOCK;
        let whole = |block: u64| block * BLOCK..((block + 1) * BLOCK).min(count);
        let some = |block: &u64| self.count(*block, class).load(Relaxed) > 0;
        (from..whole(first).end)
            .find(moves)
            .or_else(|| {
                (first + 1..blocks).chain(0..first).filter(some).find_map(|block| whole(block).find(moves))
            })
            .or_else(|| (whole(first).start..from).find(moves))
    }

    /// An item that exists, held until it is [released](Self::release).
    pub fn hold(&self, from: u64, in_order: bool) -> Option<u64> {
        self.find(from, in_order, ItemClass::Existing, |state| {
            (state & (EXISTS | CLAIMED) == EXISTS && state & USERS < USERS).then_some(state + 1)
        })
    }

    /// An item that exists and that nobody uses, claimed until it is [settled](Self::settle).
    pub fn take(&self, from: u64, in_order: bool) -> Option<u64> {
        let free = |state| (state == EXISTS).then_some(EXISTS | CLAIMED);
        let found = self.find(from, in_order, ItemClass::Existing, free);
        found.inspect(|item| self.fewer(*item, ItemClass::Existing))
    }

    /// An item that does not exist, claimed until it is [settled](Self::settle).
    pub fn make(&self, from: u64, in_order: bool) -> Option<u64> {
        let none = |state| (state == 0).then_some(CLAIMED);
        let found = self.find(from, in_order, ItemClass::Missing, none);
        found.inspect(|item| self.fewer(*item, ItemClass::Missing))
    }

    /// What was claimed exists now, or does not; held by whoever claimed it, or not.
    pub fn settle(&self, item: u64, exists: bool, held: bool) {
        if item < self.set.items {
            let state = if exists { EXISTS } else { 0 };
            self.cell(item).store(state | u16::from(held), Relaxed);
            self.more(item, if exists { ItemClass::Existing } else { ItemClass::Missing });
        }
    }

    /// What was held is no longer.
    pub fn release(&self, item: u64) {
        if item < self.set.items {
            let less = |state: u16| (state & USERS > 0).then(|| state - 1);
            if self.cell(item).fetch_update(Relaxed, Relaxed, less) == Ok(1) {
                self.more(item, ItemClass::Missing);
            }
        }
    }

    /// Whether what is held by this and perhaps other workers still has its name, which is now this worker's to remove.
    /// Once it has lost it, it is free as soon as nobody holds it.
    pub fn lose(&self, item: u64) -> bool {
        if item >= self.set.items {
            return false;
        }
        let before = self.cell(item).fetch_and(!EXISTS, Relaxed);
        if before & EXISTS != 0 {
            self.fewer(item, ItemClass::Existing);
        }
        if before == EXISTS {
            self.more(item, ItemClass::Missing);
        }
        before & EXISTS != 0
    }

    /// What was to [lose](Self::lose) its name has kept it.
    pub fn keep(&self, item: u64) {
        if item < self.set.items && self.cell(item).fetch_or(EXISTS, Relaxed) & EXISTS == 0 {
            self.more(item, ItemClass::Existing);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::{Items, Pick, Script, Target, Verb};

    fn pool(count: u64, present_percent: f64) -> SharedPool {
        let items = Items { count, present_percent, ..Items::default() };
        let kind = TargetKind::FileSet { root: "d".into(), items };
        let target = Target {
            name: "set".into(),
            kind,
            open: Default::default(),
            prepare: Default::default(),
            remove: false,
            origin: Default::default(),
        };
        let open = Operation { item: Item::Existing(Pick::Uniform), ..Operation::on(Verb::Open, 0) };
        let script = Script { actors: Vec::new(), steps: vec![open.step("open")] };
        let job = Job { workers: 2, ..Job::new("j", "psync", vec![0], Workload::Script(script)) };
        let phase = Phase { jobs: vec![job], ..Phase::default() };
        let plan = Plan { targets: vec![target], ..Plan::default() };
        Pools::new(&plan, &phase, |_| None).unwrap().of(0).unwrap()
    }

    #[test]
    fn what_is_claimed_or_held_is_left_alone() {
        let pool = pool(4, 50.0);
        assert_eq!([pool.hold(0, true), pool.hold(1, true), pool.hold(2, true)], [Some(0), Some(1), Some(0)]);
        assert_eq!(pool.take(0, true), None, "both are open");
        pool.release(1);
        assert_eq!([pool.take(0, true), pool.hold(1, true)], [Some(1), Some(0)]);
        pool.settle(1, false, false);
        assert_eq!(
            [pool.make(1, true), pool.make(1, true), pool.make(1, true), pool.make(0, true)],
            [Some(1), Some(2), Some(3), None]
        );
        pool.settle(2, true, true);
        assert_eq!(pool.take(2, true), None);
        assert!(pool.lose(2));
        pool.keep(2);
        assert!(pool.lose(2) && !pool.lose(2), "one of those that hold it removes it");
        pool.release(2);
        assert_eq!(pool.make(0, true), Some(2));
    }

    #[test]
    fn workers_together_take_each_item_once() {
        let pool = pool(10_000, 100.0);
        let taken: Vec<Vec<u64>> = std::thread::scope(|scope| {
            let worker = |number: u64| {
                let pool = pool.clone();
                scope.spawn(move || (0..).map_while(|_| pool.take(number * 2500, false)).collect())
            };
            let workers: Vec<_> = (0..4).map(worker).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        let mut all: Vec<u64> = taken.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (0..10_000).collect::<Vec<_>>());
    }

    #[test]
    fn the_few_that_are_missing_are_found_and_none_is_preferred() {
        let pool = pool(100_000, 99.9);
        let mut made: Vec<u64> = (0..).map_while(|from| pool.make(from * 7919 % 100_000, false)).collect();
        assert_eq!(pool.make(5, false), None);
        made.sort_unstable();
        assert_eq!(made, (99_900..100_000).collect::<Vec<_>>());
        pool.settle(99_950, false, false);
        assert_eq!([pool.make(3, true), pool.make(3, true)], [Some(99_950), None]);
    }
}
