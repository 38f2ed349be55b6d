//! The collective loop: before every operation the workers of all ranks agree whether it is the last. A collective call
//! that one of them does not make is never over for the others.

use std::sync::atomic::Ordering::Relaxed;

use super::{InFlight, Worker};
use crate::engines::{Engine, Failure};

/// As the plain loop. Answers whether the workers agreed on the end.
///
/// # Errors
/// When the engine breaks.
#[inline(always)]
pub(super) fn collective_loop<E: Engine, const INSTRUMENTED: bool>(
    worker: &mut Worker<'_>,
    engine: &mut E,
    flight: &mut InFlight<'_>,
) -> Result<bool, Failure> {
    let mut now = engine.now();
    loop {
        let stopped = flight.stop.load(Relaxed) != 0;
        let agreed = engine.agree(stopped || now >= flight.deadline);
        // Waiting for the others is no part of an operation.
        now = engine.now();
        match flight.step::<E, INSTRUMENTED>(worker, engine, now, stopped, agreed && !stopped)? {
            Some(later) => now = later,
            None => return Ok(agreed),
        }
    }
}
