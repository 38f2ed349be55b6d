//! What is complete, told by the library's threads to the worker that waits for it.

use std::ffi::c_void;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::calls::{Calls, Handle};
use crate::clock::{self, NEVER, Tick};
use crate::io::Slot;

/// The slots whose operations are complete and not yet taken back.
pub struct Completions {
    complete: Mutex<Vec<Slot>>,
    changed: Condvar,
    /// What the library's calls are handed, one for each slot; they stay where they are.
    tickets: Box<[Ticket]>,
}

/// Which slot an operation has, and whom to tell.
struct Ticket {
    completions: *const Completions,
    slot: Slot,
}

// SAFETY: a ticket is written once, before any operation begins, and leads to what outlives all operations.
unsafe impl Send for Ticket {}
// SAFETY: as above.
unsafe impl Sync for Ticket {}

impl Completions {
    pub fn new(depth: u32) -> Arc<Completions> {
        Arc::new_cyclic(|completions| Completions {
            complete: Mutex::new(Vec::with_capacity(depth as usize)),
            changed: Condvar::new(),
            tickets: (0..depth).map(|slot| Ticket { completions: completions.as_ptr(), slot }).collect(),
        })
    }

    /// What an operation of a slot is begun with.
    ///
    /// # Errors
    /// The library's, as a result.
    pub fn begin(&self, calls: &Calls, slot: Slot, silent: bool) -> Result<Handle, i64> {
        let mut completion = std::ptr::null_mut();
        let ticket = (&raw const self.tickets[slot as usize]).cast_mut().cast::<c_void>();
        // SAFETY: there is room for the handle, and the ticket stays until the operation is complete.
        let made = unsafe {
            match silent {
                true => (calls.begin)(std::ptr::null_mut(), None, &raw mut completion),
                false => (calls.begin)(ticket, Some(complete), &raw mut completion),
            }
        };
        if made < 0 { Err(i64::from(made)) } else { Ok(completion) }
    }

    /// Moves what is complete to the end of a list.
    pub fn take(&self, to: &mut Vec<Slot>) {
        to.append(&mut self.lock());
    }

    /// Waits until something is complete; false: the time was over before.
    pub fn wait(&self, until: Tick) -> bool {
        let mut complete = self.lock();
        while complete.is_empty() {
            let now = clock::now();
            if now >= until {
                return false;
            }
            complete = match until {
                NEVER => self.changed.wait(complete).unwrap_or_else(PoisonError::into_inner),
                _ => {
                    let left = Duration::from_nanos(until - now);
                    self.changed.wait_timeout(complete, left).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        true
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Slot>> {
        self.complete.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// On a thread of the library.
extern "C" fn complete(_completion: Handle, ticket: *mut c_void) {
    // SAFETY: the library hands back what the operation was begun with; the worker keeps both until it is complete.
    let (completions, slot) = unsafe {
        let ticket = &*ticket.cast_const().cast::<Ticket>();
        (&*ticket.completions, ticket.slot)
    };
    completions.lock().push(slot);
    completions.changed.notify_one();
}
