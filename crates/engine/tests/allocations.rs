//! The hot loop allocates nothing: ten times the operations, not one allocation more.

#![allow(unsafe_code)]

mod stand;

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

use stand::Stand;
use testbed::{Case, Outcome, Skip};

thread_local! {
    static COUNT: Cell<u64> = const { Cell::new(0) };
}

/// The system's allocator, counting the calls of each thread.
struct Counting;

// SAFETY: every call is handed on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        COUNT.set(COUNT.get() + 1);
        // SAFETY: as the caller promises.
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const FILE_BYTES: u64 = 1 << 20;

/// Allocations of one drive of so many operations.
fn allocations(
    entry: &iodyno_engine::EngineEntry,
    operations: u64,
    settings: &[&str],
) -> Result<u64, String> {
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let path = folder.path().join("file");
    std::fs::write(&path, vec![7; FILE_BYTES as usize]).map_err(|error| error.to_string())?;
    let stand = Stand::new(&path, FILE_BYTES, operations, 16, settings);
    let mut count = 0;
    let outcome = stand.run(entry, |drive| {
        let before = COUNT.get();
        drive();
        count = COUNT.get() - before;
    });
    let tally = outcome.map_err(|failure| failure.message)?;
    match tally.lines.first().map(|line| (line.operations, line.failed)) {
        Some((done, 0)) if done == operations => Ok(count),
        other => Err(format!("{operations} operations wanted, done and failed: {other:?}")),
    }
}

fn the_loop_allocates_nothing(entry: &iodyno_engine::EngineEntry, settings: &[&str]) -> Result<(), String> {
    let (few, many) = (allocations(entry, 1_000, settings)?, allocations(entry, 10_000, settings)?);
    if few == many {
        Ok(())
    } else {
        Err(format!("{few} allocations for 1,000 operations, {many} for 10,000"))
    }
}

fn the_counter_counts() -> Outcome {
    let before = COUNT.get();
    drop(std::hint::black_box(vec![1u8; 100]));
    if COUNT.get() > before { Ok(()) } else { Err("it does not".into()) }
}

fn of_engine(name: &str, settings: &[&str]) -> Outcome {
    let entry = iodyno_engine::engine(name).ok_or_else(|| Skip::new("this system has no such engine"))?;
    (entry.facts.available)().map_err(|failure| Skip::new(failure.message))?;
    Ok(the_loop_allocates_nothing(entry, settings)?)
}

fn main() -> std::process::ExitCode {
    let wanted: [(&str, &[&str]); 7] = [
        ("null", &[]),
        ("psync", &[]),
        ("pvsync", &[]),
        ("mmap", &[]),
        ("libaio", &[]),
        ("io_uring", &[]),
        ("io_uring", &["fixed_buffers=1", "fixed_files=1"]),
    ];
    let of_engines = wanted.map(|(name, settings)| {
        let title = format!("{name} {}", settings.join(" "));
        Case::new(title.trim_end(), &[], move || of_engine(name, settings))
    });
    let counter = Case::new("the counter counts", &[], the_counter_counts);
    testbed::run(std::iter::once(counter).chain(of_engines).collect())
}
