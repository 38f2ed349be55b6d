//! Joins the barriers of all ranks, so that workers of different ranks wait for each other.
//!
//! Every rank takes part in the same barriers in the same order, even where its workers have ended or it has none: otherwise the
//! other ranks would wait for ever. With one rank there is nothing to do; the barrier in memory is enough.

use iodyno_model::Phase;

use crate::start_barrier::{BarrierPoint, StartBarrier};
use crate::world::{Reduce, Reduction, World};

/// How soon it is asked again whether the other ranks have come, ns.
const ASK_AGAIN_NS: u64 = 200_000;

/// The meetings of a phase that are still to be held.
pub struct Barriers<'a> {
    world: &'a World,
    /// The next one last.
    left: Vec<BarrierPoint>,
    under_way: Option<Reduction>,
}

impl<'a> Barriers<'a> {
    /// Those that any job of the phase has.
    pub fn new(world: &'a World, phase: &Phase) -> Self {
        let held =
            |meeting: &BarrierPoint| !world.is_alone() && phase.jobs.iter().any(|job| meeting.has(job));
        Barriers { world, left: BarrierPoint::ALL.into_iter().rev().filter(held).collect(), under_way: None }
    }

    /// Goes as far as it can without waiting. When a rank is gone nobody waits any more.
    pub fn look(&mut self, barrier: &StartBarrier) {
        while let Some(meeting) = self.left.last().copied() {
            match self.hold(meeting, barrier) {
                Ok(true) => drop(self.left.pop()),
                Ok(false) => return,
                Err(_) => {
                    self.left.clear();
                    barrier.stop();
                }
            }
        }
    }

    fn hold(
        &mut self,
        meeting: BarrierPoint,
        barrier: &StartBarrier,
    ) -> Result<bool, crate::world::BrokenWorld> {
        if self.under_way.is_none() && barrier.is_full(meeting) {
            self.under_way = Some(self.world.begin(Reduce::Most, barrier.brought(meeting))?);
        }
        let Some(reduction) = &mut self.under_way else { return Ok(false) };
        let Some(agreed) = self.world.poll(reduction)? else { return Ok(false) };
        barrier.adjourn(meeting, &agreed);
        self.under_way = None;
        Ok(true)
    }

    /// Whether all have been held.
    pub fn are_over(&self) -> bool {
        self.left.is_empty()
    }

    /// How long the conductor may sleep before it looks again, ns.
    pub fn patience_ns(&self) -> u64 {
        if self.under_way.is_some() { ASK_AGAIN_NS } else { u64::MAX }
    }
}

#[cfg(test)]
mod tests {
    use iodyno_model::{Job, Pattern, Pick, Verb, Workload};

    use super::*;

    #[test]
    fn meetings_are_held_in_order_even_without_workers() {
        let workload = Workload::Pattern(Box::new(Pattern::of(Verb::Read, Pick::Sequential, 1)));
        let mut job = Job::new("j", "null", Vec::new(), workload);
        (job.start.barrier, job.limit.wear_out) = (true, true);
        let world = World::alone();
        let mut meetings = Barriers { world: &world, left: Vec::new(), under_way: None };
        let barrier = StartBarrier::new(&[0]).unwrap().with_meetings(std::slice::from_ref(&job), false);
        meetings.left = vec![BarrierPoint::TimeUp, BarrierPoint::Opened];
        meetings.look(&barrier);
        assert!(meetings.are_over());
        let barrier = StartBarrier::new(&[1]).unwrap().with_meetings(std::slice::from_ref(&job), false);
        meetings.left = vec![BarrierPoint::TimeUp, BarrierPoint::Opened];
        meetings.look(&barrier);
        assert_eq!(meetings.left.len(), 2, "the worker has not come");
        barrier.leave(0, 0);
        meetings.look(&barrier);
        assert!(meetings.are_over());
    }
}
