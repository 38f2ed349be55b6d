//! Workers that take turns on one thread, each on a stack of its own: a switch takes some ten nanoseconds where one between
//! threads takes microseconds.
//!
//! Workers of a simulated device share one virtual clock, so only one of them can ever do something. What would let a thread
//! sleep lets such a worker pause instead: for a time of the virtual clock, or until a word in memory changes (`futex`).

use std::cell::{Cell, RefCell};
use std::io;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, Ordering::Acquire};

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, Yielder};

/// What a worker pauses for.
#[derive(Clone, Copy, Debug)]
pub enum Pause {
    /// A time of the virtual clock, ns; what else ends the pause, whoever resumes it knows.
    Until(u64),
    /// Another value of the word.
    Word(WaitedWord),
    /// That all who pass the start line with it have come to it: they go on in their order.
    Line,
}

/// A word in memory and the value that it has.
#[derive(Clone, Copy, Debug)]
pub struct WaitedWord {
    word: *const AtomicU32,
    value: u32,
}

impl WaitedWord {
    /// Whether the word has another value by now.
    pub fn has_changed(&self) -> bool {
        self.word().load(Acquire) != self.value
    }

    /// The word, and the value that is waited to change.
    pub fn word(&self) -> &AtomicU32 {
        // SAFETY: whoever waits borrows the word until its pause ends, and pauses as long as this value is used.
        unsafe { &*self.word }
    }

    pub fn value(&self) -> u32 {
        self.value
    }
}

thread_local! {
    /// That of the worker which runs on this thread; null: none runs on a coroutine.
    static RUNNING: Cell<*const Yielder<(), Pause>> = const { Cell::new(std::ptr::null()) };
    /// Whether somebody woke those who wait for a word since this was last asked.
    static WOKEN: Cell<bool> = const { Cell::new(false) };
    /// Where shared objects were changed since this was last asked.
    static CHANGED: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
    /// Where the worker that pauses next waits for such a change; 0: nowhere.
    static ASKS: Cell<usize> = const { Cell::new(0) };
    /// Where the stack of the worker that paused last ends, nearly.
    static STACK_END: Cell<usize> = const { Cell::new(0) };
    /// What the worker that runs has said it needs in each turn, and how much of that is said.
    static NEEDED: Cell<([usize; NEEDED_MOST], usize)> = const { Cell::new(([0; NEEDED_MOST], 0)) };
}

/// Lets the others have their turn; `false`: this thread has no coroutines, it may sleep.
#[inline(never)]
pub fn pause(reason: Pause) -> bool {
    let yielder = RUNNING.get();
    if yielder.is_null() {
        return false;
    }
    STACK_END.set((&raw const reason).addr());
    // SAFETY: `resume` has put it there for the coroutine that runs now, whose stack it lies on.
    unsafe { &*yielder }.suspend(reason);
    true
}

/// Who came first to the start line depends on the threads that opened it; who goes on first must not.
pub fn line_up() {
    pause(Pause::Line);
}

/// Pauses until a word has another value; `false` as above.
pub fn pause_for(word: &AtomicU32, value: u32) -> bool {
    if RUNNING.get().is_null() {
        return false;
    }
    word.load(Acquire) != value || pause(Pause::Word(WaitedWord { word, value }))
}

/// A word was changed that somebody may wait for.
pub fn wake() {
    WOKEN.set(true);
}

/// What workers share was changed. On threads of their own they ask again by themselves.
pub fn shared_changed<T>(what: &T) {
    if !RUNNING.get().is_null() {
        CHANGED.with_borrow_mut(|changed| changed.push(std::ptr::from_ref(what).addr()));
    }
}

/// Moves there where anything was changed since this was last asked.
pub fn move_changed(to: &mut Vec<usize>) {
    CHANGED.with_borrow_mut(|changed| to.append(changed));
}

/// The worker that runs pauses next because what it shares does not let it go on.
pub fn ask_after_change<T>(what: &T) {
    if !RUNNING.get().is_null() {
        ASKS.set(std::ptr::from_ref(what).addr());
    }
}

/// Whether the worker that runs has said so.
pub fn is_asking() -> bool {
    ASKS.get() != 0
}

/// Where the worker that paused waits for a change; 0: nowhere.
pub fn asks_after_change() -> usize {
    ASKS.replace(0)
}

/// Bytes of a stack that a worker needs between two pauses, above and below where it paused.
const STACK_NEEDED: (usize, usize) = (1792, 128);

/// Places besides that it can name.
pub const NEEDED_MOST: usize = 7;

/// Bytes of a line of the processor's caches.
const LINE_BYTES: usize = 64;

/// The worker that runs needs what lies there in each of its turns. A thread without coroutines has its caches for itself.
pub fn will_need<T: ?Sized>(what: &T) {
    if RUNNING.get().is_null() {
        return;
    }
    let (mut all, count) = NEEDED.get();
    if let Some(place) = all.get_mut(count) {
        *place = std::ptr::from_ref(what).addr();
        NEEDED.set((all, count + 1));
    }
}

/// Adds what the worker that ran last has said since this was last asked.
pub fn add_needed(known: &mut [usize; NEEDED_MOST]) {
    let (all, count) = NEEDED.get();
    if count > 0 {
        NEEDED.set(([0; NEEDED_MOST], 0));
        let free = known.iter_mut().filter(|place| **place == 0);
        free.zip(&all[..count]).for_each(|(place, added)| *place = *added);
    }
}

/// Where the stack of the worker that paused last ends, nearly.
pub fn stack_end() -> usize {
    STACK_END.get()
}

/// Has what a worker needs fetched into the processor's caches. Ten thousand workers have no room there; when their turns
/// are known a little before they come, nobody waits.
#[inline]
pub fn fetch(stack_end: usize, needed: &[usize; NEEDED_MOST]) {
    let (above, below) = STACK_NEEDED;
    needed.iter().for_each(|place| fetch_line(*place));
    fetch_all(stack_end.wrapping_sub(below), above + below);
}

/// The same of so many bytes from an address on.
#[inline]
pub fn fetch_all(begin: usize, bytes: usize) {
    (0..bytes).step_by(LINE_BYTES).for_each(|line| fetch_line(begin.wrapping_add(line)));
}

#[inline(always)]
fn fetch_line(address: usize) {
    #[cfg(target_arch = "x86_64")]
    {
        use core::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
        // SAFETY: to fetch reads nothing and faults nowhere, whatever the address is.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::without_provenance(address)) };
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

/// Whether a word was changed on this thread since this was last asked.
pub fn was_woken() -> bool {
    WOKEN.replace(false)
}

/// A worker with a stack of its own.
pub struct WorkerCoroutine {
    coroutine: Coroutine<(), Pause, ()>,
    yielder: Rc<Cell<*const Yielder<(), Pause>>>,
}

impl WorkerCoroutine {
    /// One that has yet to begin.
    ///
    /// # Errors
    /// There is no memory for its stack.
    pub fn new(stack_bytes: usize, task: impl FnOnce() + 'static) -> io::Result<Self> {
        let yielder = Rc::new(Cell::new(std::ptr::null()));
        let own = Rc::clone(&yielder);
        let coroutine = Coroutine::with_stack(DefaultStack::new(stack_bytes)?, move |yielder, ()| {
            own.set(std::ptr::from_ref(yielder));
            RUNNING.set(own.get());
            task();
        });
        Ok(WorkerCoroutine { coroutine, yielder })
    }

    /// Runs it until it pauses; none: it is over.
    pub fn resume(&mut self) -> Option<Pause> {
        RUNNING.set(self.yielder.get());
        let result = self.coroutine.resume(());
        RUNNING.set(std::ptr::null());
        match result {
            CoroutineResult::Yield(pause) => Some(pause),
            CoroutineResult::Return(()) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering::Release;

    use super::*;

    #[test]
    fn workers_take_turns_where_threads_would_sleep() {
        let (word, told) = (Rc::new(AtomicU32::new(0)), Rc::new(Cell::new(Vec::new())));
        let tell = |told: &Cell<Vec<u32>>, what| {
            let mut all = told.take();
            all.push(what);
            told.set(all);
        };
        let (waits, hears) = (Rc::clone(&word), Rc::clone(&told));
        let mut first = WorkerCoroutine::new(64 << 10, move || {
            crate::futex::wait(&waits, 0, 1_000_000_000);
            tell(&hears, 1);
        })
        .unwrap();
        let (wakes, hears) = (Rc::clone(&word), Rc::clone(&told));
        let mut second = WorkerCoroutine::new(64 << 10, move || {
            assert!(pause(Pause::Until(7)));
            wakes.store(1, Release);
            crate::futex::wake(&wakes);
            tell(&hears, 2);
        })
        .unwrap();
        let Some(Pause::Word(waited)) = first.resume() else { panic!("it waits for the word") };
        assert!(!waited.has_changed());
        assert!(matches!(second.resume(), Some(Pause::Until(7))));
        assert!(second.resume().is_none());
        assert!(was_woken() && !was_woken() && waited.has_changed());
        assert!(first.resume().is_none());
        assert_eq!(told.take(), [2, 1]);
        assert!(!pause(Pause::Until(0)), "a thread without coroutines may sleep");
    }
}
