//! Joins the barriers of all ranks, so that workers of different ranks wait for each other.
//!
//! Every rank takes part in the same barriers in the same order, even where its workers have ended or it has none: otherwise the
//! other ranks would wait for ever. With one rank there is nothing to do; the barrier in memory is enough.

use iodyno_model::Phase;

use crate::clock::{self, Tick};
use crate::source::SharedObjects;
use crate::start_barrier::{BarrierPoint, StartBarrier};
use crate::world::{BrokenWorld, Reduce, Reduction, World};

/// How soon it is asked again whether the other ranks have come, ns: at first, and at most.
const ASK_AGAIN_NS: (u64, u64) = (20_000, 200_000);
/// And this part of the time that it has taken.
const ASKED_PART: u64 = 16;

/// The meetings of a phase that are still to be held.
///
/// First all open, then come the barriers of the workers' steps, again and again until nobody is left, then the end: this order is
/// the same on all ranks, as that of MPI's collectives must be.
pub struct Barriers<'a> {
    world: &'a World,
    /// The next one last.
    left: Vec<BarrierPoint>,
    under_way: Option<Reduction>,
    /// What workers share whose steps begin together on all ranks; none: no steps do, or nobody is left.
    steps: Option<SharedObjects>,
    /// When what is under way was begun.
    since: Tick,
}

impl<'a> Barriers<'a> {
    /// Those that any job of the phase has, and those that its workers share.
    pub fn new(world: &'a World, phase: &Phase, shared: &SharedObjects) -> Self {
        let held =
            |meeting: &BarrierPoint| !world.is_alone() && phase.jobs.iter().any(|job| meeting.has(job));
        Barriers {
            world,
            left: BarrierPoint::ALL.into_iter().rev().filter(held).collect(),
            under_way: None,
            steps: shared.has_common_barriers().then(|| shared.clone()),
            since: 0,
        }
    }

    /// Goes as far as it can without waiting. When a rank is gone nobody waits any more.
    pub fn look(&mut self, barrier: &StartBarrier) {
        if self.go_on(barrier).is_err() {
            self.left.clear();
            self.steps = None;
            barrier.stop();
        }
    }

    fn go_on(&mut self, barrier: &StartBarrier) -> Result<(), BrokenWorld> {
        loop {
            let next = self.left.last().copied();
            if next != Some(BarrierPoint::Opened) && self.steps.is_some() {
                if !self.step()? {
                    return Ok(());
                }
                continue;
            }
            let Some(meeting) = next else { return Ok(()) };
            if !self.hold(meeting, barrier)? {
                return Ok(());
            }
            self.left.pop();
        }
    }

    /// Brings the steps of all ranks together; whether anything came of it.
    fn step(&mut self) -> Result<bool, BrokenWorld> {
        let Some(shared) = &self.steps else { return Ok(false) };
        if self.under_way.is_none() {
            let Some(brought) = shared.barriers_brought() else { return Ok(false) };
            self.under_way = Some(self.world.begin(Reduce::Sum, brought)?);
            self.since = clock::now();
        }
        let Some(reduction) = &mut self.under_way else { return Ok(false) };
        let Some(told) = self.world.poll(reduction)? else { return Ok(false) };
        self.under_way = None;
        if shared.open_barriers(&told) {
            self.steps = None;
        }
        Ok(true)
    }

    fn hold(&mut self, meeting: BarrierPoint, barrier: &StartBarrier) -> Result<bool, BrokenWorld> {
        if self.under_way.is_none() && barrier.is_full(meeting) {
            self.under_way = Some(self.world.begin(Reduce::Most, barrier.brought(meeting))?);
            self.since = clock::now();
        }
        let Some(reduction) = &mut self.under_way else { return Ok(false) };
        let Some(agreed) = self.world.poll(reduction)? else { return Ok(false) };
        barrier.adjourn(meeting, &agreed);
        self.under_way = None;
        Ok(true)
    }

    /// Whether all have been held.
    pub fn are_over(&self) -> bool {
        self.left.is_empty() && self.steps.is_none()
    }

    /// How long the conductor may sleep before it looks again, ns.
    pub fn patience_ns(&self) -> u64 {
        let asked_ns = || clock::now().saturating_sub(self.since) / ASKED_PART;
        self.under_way.as_ref().map_or(u64::MAX, |_| asked_ns().clamp(ASK_AGAIN_NS.0, ASK_AGAIN_NS.1))
    }
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Job, Pattern, Pick, SharedKind, SharedObject, SharedUse, Verb, Workload};

    use super::*;
    use crate::source::shared::Answer;

    fn meetings(world: &World, left: Vec<BarrierPoint>) -> Barriers<'_> {
        Barriers { world, left, under_way: None, steps: None, since: 0 }
    }

    #[test]
    fn meetings_are_held_in_order_even_without_workers() {
        let workload = Workload::Pattern(Box::new(Pattern::of(Verb::Read, Pick::Sequential, 1)));
        let mut job = Job::new("j", "null", Vec::new(), workload);
        (job.start.barrier, job.limit.wear_out) = (true, true);
        let world = World::alone();
        let both = vec![BarrierPoint::TimeUp, BarrierPoint::Opened];
        let mut meetings = meetings(&world, both.clone());
        let barrier = StartBarrier::new(&[0]).unwrap().with_meetings(std::slice::from_ref(&job), false);
        meetings.look(&barrier);
        assert!(meetings.are_over());
        let barrier = StartBarrier::new(&[1]).unwrap().with_meetings(std::slice::from_ref(&job), false);
        meetings.left = both;
        meetings.look(&barrier);
        assert_eq!(meetings.left.len(), 2, "the worker has not come");
        barrier.leave(0, 0);
        meetings.look(&barrier);
        assert!(meetings.are_over());
    }

    #[test]
    fn steps_come_between_the_opening_and_the_end() {
        let start = StartBarrier::new(&[1]).unwrap();
        let kinds = [SharedObject::new("steps", SharedKind::Barrier)];
        let shared = SharedObjects::new(&kinds).unwrap().over_ranks(Some(start.bell()));
        let world = World::alone();
        let mut meetings =
            Barriers { steps: Some(shared.clone()), ..meetings(&world, vec![BarrierPoint::TimeUp]) };
        let member = &mut Vec::new();
        let mut step = shared.object(&SharedUse::new("steps", 1)).unwrap().join(member).unwrap();
        assert_eq!(step.take(1, 0), Answer::Wait);
        meetings.look(&start);
        assert_eq!((step.take(1, 0), meetings.left.len()), (Answer::Granted, 1), "a step is no end");
        drop(step);
        member.clear();
        meetings.look(&start);
        assert!(meetings.are_over(), "nobody comes any more");
    }
}
