//! Operations outside a run: what is laid out before it and removed after it, by the engine that a job names.

use crate::clock::NEVER;
use crate::engines::{Engine, Failure, Setup};
use crate::io::{Files, Io, Slot};

/// Counts of an engine's own, by name.
pub type EngineCounts = Vec<(&'static str, u64)>;

/// Carries out operations, as many at a time as the set-up's depth. `next` writes the operation of a slot, whose buffer is
/// there already; the answer `false`: there are no more. `done` gets each with its result; `false` stops it once what is in
/// flight is done. The answer is what the engine counted of its own.
///
/// # Errors
/// The engine cannot start, or breaks.
pub type CarryOut = fn(
    &Setup<'_>,
    &mut dyn FnMut(Slot, &mut Io) -> bool,
    &mut dyn FnMut(&Io, i64) -> bool,
) -> Result<EngineCounts, Failure>;

/// [`CarryOut`] by an engine.
///
/// # Errors
/// As there.
pub fn carry_out<E: Engine>(
    setup: &Setup<'_>,
    next: &mut dyn FnMut(Slot, &mut Io) -> bool,
    done: &mut dyn FnMut(&Io, i64) -> bool,
) -> Result<EngineCounts, Failure> {
    let mut engine = E::start(setup)?;
    // Objects have no descriptor that an operation could open or close.
    let mut files = Files::default();
    let mut slots = vec![Io::default(); setup.depth as usize];
    let mut free: Vec<Slot> = (0..setup.depth).rev().collect();
    let mut goes_on = true;
    loop {
        while goes_on && let Some(slot) = free.last().copied() {
            let io = &mut slots[slot as usize];
            *io = Io { buffer: setup.memory.buffer(slot), ..Io::default() };
            goes_on = next(slot, io);
            if goes_on {
                engine.push(slot, io, &mut files);
                free.pop();
            }
        }
        if free.len() == slots.len() {
            let counts = engine.facts();
            return engine.close().map(|()| counts);
        }
        engine.poll(1, NEVER, |slot, result, _| {
            free.push(slot);
            goes_on &= done(&slots[slot as usize], result);
        })?;
    }
}
