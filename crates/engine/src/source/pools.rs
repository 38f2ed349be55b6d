//! Which items of a set exist, for all workers of a phase that pick from it: two bytes an item, no lock.
//!
//! A worker claims what it makes or removes and holds what it has open, so that nobody looks for what is just going away
//! and nobody removes what is in use. It refuses to look at the directory: what failed is settled as it was before.

use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering::Relaxed};

use iodyno_model::{Item, Job, Operation, Phase, Plan, TargetKind, Workload};

use super::script::compile::operations;
use crate::memory::Mapping;

/// The item is there.
const EXISTS: u16 = 1 << 15;
/// Somebody makes or removes it.
const CLAIMED: u16 = 1 << 14;
/// How many have it open.
const USERS: u16 = CLAIMED - 1;

/// The pools of a phase. A clone is another view of the same pools.
#[derive(Clone, Debug)]
pub struct Pools {
    mapping: Arc<Mapping>,
    /// Target, where its items begin, and how many there are.
    sets: Arc<[(usize, u64, u64)]>,
}

/// A worker's view of one pool.
#[derive(Clone, Debug)]
pub struct SharedPool {
    mapping: Arc<Mapping>,
    start: u64,
    count: u64,
}

impl Pools {
    /// Pools for the sets that several workers' scripts pick from; a worker's own sets have none. To be made before any
    /// worker exists.
    ///
    /// # Errors
    /// The system's error number.
    pub fn new(plan: &Plan, phase: &Phase) -> Result<Self, i32> {
        let mut targets: Vec<usize> = phase.jobs.iter().flat_map(picked).collect();
        targets.sort_unstable();
        targets.dedup();
        let workers = |target: usize| -> u32 {
            let users = phase.jobs.iter().filter(|job| picked(job).contains(&target));
            users.fold(0, |sum, job| sum.saturating_add(job.workers))
        };
        targets.retain(|target| workers(*target) > 1);
        let (mut sets, mut present, mut start) = (Vec::new(), Vec::new(), 0);
        for target in targets {
            let Some(TargetKind::FileSet { items, .. }) = plan.targets.get(target).map(|target| &target.kind)
            else {
                continue;
            };
            if !items.own {
                sets.push((target, start, items.count));
                present.push((items.count as f64 * items.present_percent / 100.0).round() as u64);
                start += items.count;
            }
        }
        let bytes = usize::try_from(start.max(1) * 2).map_err(|_| libc::ENOMEM)?;
        let pools = Pools { mapping: Arc::new(Mapping::shared(bytes)?), sets: sets.into() };
        for ((target, ..), present) in pools.sets.iter().zip(present) {
            let pool = pools.of(*target);
            pool.iter().for_each(|pool| {
                (0..present.min(pool.count)).for_each(|item| pool.cell(item).store(EXISTS, Relaxed));
            });
        }
        Ok(pools)
    }

    /// The pool of a target.
    pub fn of(&self, target: usize) -> Option<SharedPool> {
        let (_, start, count) = *self.sets.iter().find(|(known, ..)| *known == target)?;
        Some(SharedPool { mapping: Arc::clone(&self.mapping), start, count })
    }
}

/// The plan's targets that a job's script picks items of.
fn picked(job: &Job) -> Vec<usize> {
    let Workload::Script(script) = &job.workload else { return Vec::new() };
    let picks = |item: &Item| matches!(item, Item::Existing(_) | Item::Missing(_));
    let wants = |operation: &&Operation| {
        picks(&operation.item) || operation.other.as_ref().is_some_and(|(_, item)| picks(item))
    };
    let of = |operation: &Operation| job.targets.get(operation.target?).copied();
    operations(&script.steps).into_iter().filter(wants).filter_map(of).collect()
}

impl SharedPool {
    fn cell(&self, item: u64) -> &AtomicU16 {
        assert!(item < self.count);
        // SAFETY: the mapping holds two bytes for each item of each set (the index is checked), is zeroed and aligned to
        // pages, and zero is a value of an atomic.
        unsafe { &*self.mapping.start().cast::<AtomicU16>().add((self.start + item) as usize) }
    }

    /// The first item from there on, around the end, whose state can be moved on.
    fn find(&self, from: u64, step: impl Fn(u16) -> Option<u16>) -> Option<u64> {
        let from = if from < self.count { from } else { 0 };
        (from..self.count)
            .chain(0..from)
            .find(|item| self.cell(*item).fetch_update(Relaxed, Relaxed, &step).is_ok())
    }

    /// An item that exists, held until it is [released](Self::release).
    pub fn hold(&self, from: u64) -> Option<u64> {
        self.find(from, |state| {
            (state & (EXISTS | CLAIMED) == EXISTS && state & USERS < USERS).then_some(state + 1)
        })
    }

    /// An item that exists and that nobody uses, claimed until it is [settled](Self::settle).
    pub fn take(&self, from: u64) -> Option<u64> {
        self.find(from, |state| (state == EXISTS).then_some(EXISTS | CLAIMED))
    }

    /// An item that does not exist, claimed until it is [settled](Self::settle).
    pub fn make(&self, from: u64) -> Option<u64> {
        self.find(from, |state| (state == 0).then_some(CLAIMED))
    }

    /// What was claimed exists now, or does not; held by whoever claimed it, or not.
    pub fn settle(&self, item: u64, exists: bool, held: bool) {
        if item < self.count {
            let state = if exists { EXISTS } else { 0 };
            self.cell(item).store(state | u16::from(held), Relaxed);
        }
    }

    /// What was held is no longer.
    pub fn release(&self, item: u64) {
        if item < self.count {
            let less = |state: u16| (state & USERS > 0).then(|| state - 1);
            let _ = self.cell(item).fetch_update(Relaxed, Relaxed, less);
        }
    }

    /// What is held by this and perhaps other workers has lost its name; it is free once nobody holds it.
    pub fn lose(&self, item: u64) {
        if item < self.count {
            self.cell(item).fetch_and(!EXISTS, Relaxed);
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
        Pools::new(&plan, &phase).unwrap().of(0).unwrap()
    }

    #[test]
    fn what_is_claimed_or_held_is_left_alone() {
        let pool = pool(4, 50.0);
        assert_eq!([pool.hold(0), pool.hold(1), pool.hold(2)], [Some(0), Some(1), Some(0)]);
        assert_eq!(pool.take(0), None, "both are open");
        pool.release(1);
        assert_eq!([pool.take(0), pool.hold(1)], [Some(1), Some(0)]);
        pool.settle(1, false, false);
        assert_eq!(
            [pool.make(1), pool.make(1), pool.make(1), pool.make(0)],
            [Some(1), Some(2), Some(3), None]
        );
        pool.settle(2, true, true);
        assert_eq!(pool.take(2), None);
        pool.lose(2);
        pool.release(2);
        assert_eq!(pool.make(0), Some(2));
    }

    #[test]
    fn workers_together_take_each_item_once() {
        let pool = pool(10_000, 100.0);
        let taken: Vec<Vec<u64>> = std::thread::scope(|scope| {
            let worker = |number: u64| {
                let pool = pool.clone();
                scope.spawn(move || (0..).map_while(|_| pool.take(number * 2500)).collect())
            };
            let workers: Vec<_> = (0..4).map(worker).collect();
            workers.into_iter().map(|worker| worker.join().unwrap()).collect()
        });
        let mut all: Vec<u64> = taken.into_iter().flatten().collect();
        all.sort_unstable();
        assert_eq!(all, (0..10_000).collect::<Vec<_>>());
    }
}
