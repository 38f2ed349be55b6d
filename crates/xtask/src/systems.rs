//! Other systems: the program is type-checked for them, which compiles the macros and build scripts once.
//!
//! `ci` checks FreeBSD, which differs from Linux where macOS does too, and in little else; `cargo xtask against systems`
//! checks all. Claims no more than was tried: nothing is linked or run. A target that cannot be had is skipped, never
//! passed. Linux on aarch64 is this system on another processor: `cargo xtask against aarch64` builds for it and runs what
//! it built under an emulator.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::ci::BUILT_ONCE;
use crate::emulated;
use crate::shell;

/// What `ci` checks.
pub const SAMPLE: &[&str] = &["x86_64-unknown-freebsd"];
const ALL: &[&str] = &["x86_64-unknown-freebsd", "aarch64-apple-darwin"];
const CHECK_LIMIT: Duration = Duration::from_secs(40 * 60);

/// The targets of a list that can be had, and those that cannot with the reason.
pub fn to_be_had(targets: &[&'static str]) -> (Vec<&'static str>, Vec<(&'static str, String)>) {
    let mut had = Vec::new();
    let mut missing = Vec::new();
    for target in targets {
        match emulated::add_target(target) {
            Ok(()) => had.push(*target),
            Err(reason) => missing.push((*target, reason)),
        }
    }
    (had, missing)
}

/// The command that type-checks the program for these targets at once.
pub fn check(root: &Path, targets: &[&str]) -> Command {
    let mut check = shell::cargo();
    check.current_dir(root).args(["check", "-p", "iodyno"]);
    check.args(targets.iter().flat_map(|target| ["--target", target]));
    check.env("CARGO_TERM_COLOR", "never").envs(BUILT_ONCE);
    // What is not linked needs no SQLite, which a C compiler for that system would have to build.
    check.env("LIBSQLITE3_SYS_USE_PKG_CONFIG", "1").env("SQLITE3_LIB_DIR", "/nowhere");
    check
}

/// `cargo xtask against systems`: checks all of them; true when those that could be had passed.
///
/// # Errors
/// cargo that cannot be started.
pub fn chore(root: &Path) -> Result<bool, String> {
    let (had, missing) = to_be_had(ALL);
    missing.iter().for_each(|(target, why)| println!("skipped: {target}: {why}"));
    let mut passed = 0;
    for target in &had {
        let log = root.join(format!("target/against/check-{target}.log"));
        let outcome = shell::run(check(root, &[target]), Some(&log), CHECK_LIMIT)?;
        match outcome.success {
            true => passed += 1,
            false => println!("failed: {target}: {}", outcome.last_words()),
        }
    }
    println!("{passed} passed, {} failed, {} skipped", had.len() - passed, missing.len());
    Ok(passed == had.len())
}
