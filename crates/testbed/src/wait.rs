//! The only way in which a test waits: it looks until the condition itself is true.
//!
//! Why: a fixed sleep is too short on a busy machine and too long on an idle one, and a limit of time blames the test
//! for what the machine did. The limit here is a number of looks: a starved process looks less often, so its limit
//! moves with the machine. One constant serves all; a condition that is still false then will not come true.
//! It refuses to say how long anything took.

use std::thread::sleep;
use std::time::Duration;

/// After so many looks nothing more is expected: five minutes on a machine that does nothing else.
const LOOKS: u32 = 100_000;
/// After so many looks an original that is known to hang is given up.
const LOOKS_AT_AN_ORIGINAL: u32 = LOOKS / 5;
/// Between the first looks; it doubles four times, each time after so many looks more.
const FIRST_PAUSE: Duration = Duration::from_micros(200);
const LOOKS_PER_PACE: u32 = 64;

/// Waits until something is true of the world.
///
/// # Errors
/// A sentence with `what`, when it never came true.
pub fn until(what: &str, mut is: impl FnMut() -> bool) -> Result<(), String> {
    for_some(what, || is().then_some(()))
}

/// Waits until there is something to be had.
///
/// # Errors
/// A sentence with `what`, when it never came.
pub fn for_some<T>(what: &str, look: impl FnMut() -> Option<T>) -> Result<T, String> {
    within(LOOKS, look).ok_or_else(|| format!("{what} never came"))
}

/// The same for the end of an original that is known to hang: it is given up earlier, and its case is skipped.
///
/// # Errors
/// A sentence with `what`, when it never came.
pub fn for_an_original<T>(what: &str, look: impl FnMut() -> Option<T>) -> Result<T, String> {
    within(LOOKS_AT_AN_ORIGINAL, look).ok_or_else(|| format!("{what} never came"))
}

fn within<T>(looks: u32, mut look: impl FnMut() -> Option<T>) -> Option<T> {
    (0..looks).find_map(|number| {
        let found = look();
        if found.is_none() {
            sleep(FIRST_PAUSE * (1 << (number / LOOKS_PER_PACE).min(4)));
        }
        found
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn it_ends_with_the_look_that_sees_it() {
        let looks = Cell::new(0);
        let seen = for_some("a third look", || {
            looks.set(looks.get() + 1);
            (looks.get() == 3).then_some("there")
        });
        assert_eq!((seen, looks.get()), (Ok("there"), 3));
        assert_eq!(until("the truth", || true), Ok(()));
    }

    #[test]
    fn what_never_comes_is_given_up_after_a_number_of_looks() {
        let looks = Cell::new(0);
        let seen: Option<()> = within(40, || {
            looks.set(looks.get() + 1);
            None
        });
        assert_eq!((seen, looks.get()), (None, 40));
    }
}
