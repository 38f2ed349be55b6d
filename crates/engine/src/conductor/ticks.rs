//! The conductor's ticks where all clocks of a phase are virtual: how it stands is told at exact times of those clocks, the
//! same on every run, and whoever is steady is stopped at one of them.
//!
//! Workers wait at the next tick until it was told (`start_barrier::horizon`). Where nothing is to be told there are no ticks, and
//! nobody waits. What is kept for the case of a crash is none of this: it follows the system's clock.

use std::sync::atomic::Ordering::Relaxed;

use super::progress::Progress;
use super::steadiness::Steadiness;
use super::{Emit, Options, PhaseContext, Ranks};
use crate::clock::{NEVER, Tick};

/// Live figures of one phase before they are told half as often: a simulated year is told in thousands, not in millions.
const LIVE_MOST: u32 = 2048;

/// The ticks of one phase.
pub struct Ticks {
    options: Options,
    lives: u32,
    next: Tick,
}

impl Ticks {
    /// Those of a phase whose barrier is not open yet; none: it goes by the system's clock, or nothing is to be reported.
    pub fn of(
        context: &PhaseContext,
        is_alone: bool,
        options: &Options,
        steadiness: &Steadiness,
    ) -> Option<Ticks> {
        if !is_alone || !context.is_virtual() {
            return None;
        }
        let options = Options { keep_ns: 0, ..options.clone() };
        let mut ticks = Ticks { options, lives: 0, next: NEVER };
        ticks.next = ticks.due([0; 2], steadiness);
        (ticks.next < NEVER).then(|| {
            context.barrier.raise_horizon(ticks.next);
            ticks
        })
    }

    /// The next point in time, with what was due last: live and interim, 0 before the first.
    fn due(&self, next: [Tick; 2], steadiness: &Steadiness) -> Tick {
        let every = [self.options.live_ns, self.options.interim_ns];
        let wanted = next.into_iter().zip(every).filter(|(_, every_ns)| *every_ns > 0);
        let told = wanted.map(|(next, every_ns)| if next == 0 { every_ns } else { next });
        told.chain(steadiness.next()).min().unwrap_or(NEVER)
    }

    /// Tells all ticks that every worker has come to, as long as no further worker is over than is known.
    pub fn look(
        &mut self,
        context: &PhaseContext,
        over: u32,
        steadiness: &mut Steadiness,
        progress: &mut Progress<'_>,
        ranks: &mut Ranks<'_>,
        emit: Emit<'_>,
    ) {
        if !context.barrier.all_at_horizon()
            || context.barrier.over() != over
            || over as usize >= context.seats.len()
        {
            return;
        }
        let now = self.next;
        context.ticked.store(now, Relaxed);
        steadiness.look(context, now);
        if progress.tell_at(&self.options, now, ranks, emit) {
            self.lives += 1;
            if self.lives.is_multiple_of(LIVE_MOST) {
                self.options.live_ns = self.options.live_ns.saturating_mul(2);
            }
        }
        self.next = self.due(progress.due(), steadiness).max(now + 1);
        context.barrier.raise_horizon(self.next);
    }
}
