//! Engines by what they do, in one place, for dialects whose original's options name none.

/// Calls at a position, one after the other.
pub const POSITIONED_CALLS: &str = "psync";

/// Engines for files that keep several operations in flight by themselves, the best first.
pub const ASYNCHRONOUS: [&str; 3] = ["io_uring", "libaio", "posixaio"];

/// Engines for files that make one operation at a time, the best first.
pub const SYNCHRONOUS: [&str; 6] = [POSITIONED_CALLS, "pvsync", "mmap", "sync", "vsync", "pvsync2"];

/// Engines that an exercise goes through where none is named.
pub const EXERCISED: [&str; 5] = [POSITIONED_CALLS, "pvsync", "mmap", "libaio", "io_uring"];

/// Whether an engine keeps several operations in flight by itself; those without a device are among them.
pub fn keeps_depth(engine: &str) -> bool {
    ASYNCHRONOUS.contains(&engine) || ["sim", "null"].contains(&engine)
}
