//! The other systems are type-checked, in one step, which compiles the macros and build scripts once.
//!
//! Claims no more than was tried: nothing is linked or run. A target that cannot be had is skipped, never passed. Linux on
//! aarch64 is this system on another processor, so little of the source differs: `cargo xtask against aarch64` builds for it
//! and runs what it built under an emulator.

use super::{CiRun, tests};
use crate::emulated;

const TARGETS: [&str; 2] = ["x86_64-unknown-freebsd", "aarch64-apple-darwin"];

/// Type-checks the program for every target that can be had.
pub fn check(run: &mut CiRun) {
    let mut arguments = vec!["check", "-p", "iodyno"];
    for target in TARGETS {
        match emulated::add_target(target) {
            Ok(()) => arguments.extend(["--target", target]),
            Err(reason) => run.skip(&format!("check {target}"), &reason),
        }
    }
    let emulator = "only `cargo xtask against aarch64` builds and runs it";
    run.skip(emulated::TARGET, emulator);
    if !arguments.contains(&"--target") {
        return;
    }
    let mut check = run.cargo_command(&arguments);
    check.envs(tests::BUILT_ONCE);
    // What is not linked needs no SQLite, which a C compiler for that system would have to build.
    check.env("LIBSQLITE3_SYS_USE_PKG_CONFIG", "1").env("SQLITE3_LIB_DIR", "/nowhere");
    let checked = arguments.iter().skip(3).filter(|word| !word.starts_with('-'));
    let name = format!("check {}", checked.copied().collect::<Vec<_>>().join(", "));
    run.step(&name, check, run.remaining());
}
