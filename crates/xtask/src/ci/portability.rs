//! The other systems and processors: all are type-checked, and one is run.
//!
//! Claims no more than was tried: FreeBSD and macOS are type-checked only. For aarch64 Linux the program is built without
//! optimisation and without spreadsheets, and runs one example on the simulated device under qemu. A target, linker or
//! emulator that cannot be had makes the step skipped, never passed.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::CiRun;
use crate::shell;

const AARCH64: &str = "aarch64-unknown-linux-gnu";
const AARCH64_LINKER: &str = "aarch64-linux-gnu-gcc";
/// Where Debian's cross packages keep the loader and libraries of the other processor.
const AARCH64_ROOT: &str = "/usr/aarch64-linux-gnu";
/// Packages that `dev` optimises. For one short run under an emulator that would take longer than it gains. It is `dev` with
/// these changes rather than a profile of its own, since the macros of that are compiled already.
const OPTIMISED: &[&str] =
    &["iodyno-engine", "iodyno-conformance", "iodyno-dialect", "iodyno-trace", "fuser"];
/// What the emulator runs: virtual time, so that its answers are known and its speed does not matter.
const EXAMPLE: &str = "examples/sim-disk.toml";
/// Type-checked only: nothing here can run them.
const CHECKED_ONLY: &[&str] = &["x86_64-unknown-freebsd", "aarch64-apple-darwin"];
/// A target is a download: where it hangs, it is not to be had.
const TARGET_LIMIT: Duration = Duration::from_secs(180);
/// Emulated, a tiny job takes seconds.
const EMULATED_LIMIT: Duration = Duration::from_secs(180);

/// Every portability step.
pub fn check(run: &mut CiRun) {
    CHECKED_ONLY.iter().for_each(|target| check_target(run, target));
    emulate(run);
}

fn check_target(run: &mut CiRun, target: &str) {
    let name = format!("check {target}");
    if let Err(reason) = add_target(target) {
        return run.skip(&name, &reason);
    }
    let mut check = run.cargo_command(&["check", "--target", target, "-p", "iodyno"]);
    check.env("CARGO_PROFILE_DEV_DEBUG", "false");
    // What is not linked needs no SQLite, which a C compiler for that system would have to build.
    check.env("LIBSQLITE3_SYS_USE_PKG_CONFIG", "1").env("SQLITE3_LIB_DIR", "/nowhere");
    run.step(&name, check, run.remaining());
}

/// Makes sure that the standard library of a target is here.
fn add_target(target: &str) -> Result<(), String> {
    let rustup = |arguments: &[&str]| {
        let mut command = Command::new("rustup");
        command.args(["target"]).args(arguments);
        shell::run(command, None, TARGET_LIMIT)
    };
    let here = rustup(&["list", "--installed"]).map_err(|_| "rustup is not here".to_string())?;
    if here.lines.iter().any(|line| line == target) {
        return Ok(());
    }
    let added = rustup(&["add", target])?;
    if added.success { Ok(()) } else { Err(format!("rustup target add: {}", added.last_words())) }
}

/// Builds for aarch64, which type-checks it as well, and runs what was built.
fn emulate(run: &mut CiRun) {
    let name = format!("build {AARCH64}");
    if let Err(reason) = add_target(AARCH64) {
        return run.skip(&name, &reason);
    }
    let missing = [AARCH64_LINKER, "qemu-aarch64"].into_iter().find(|program| shell::find(program).is_none());
    if let Some(program) = missing {
        return run.skip(&name, &format!("{program} is not installed"));
    }
    let words = ["build", "-p", "iodyno", "--no-default-features", "--target", AARCH64];
    let mut build = run.cargo_command(&words);
    for package in OPTIMISED {
        build.args(["--config", &format!("profile.dev.package.{package}.opt-level=0")]);
    }
    // As in the build of the tests, whose macros are used.
    build.env("CARGO_PROFILE_DEV_DEBUG", "false");
    build.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", AARCH64_LINKER);
    if !run.step(&name, build, run.remaining()) {
        return run.skip("aarch64 under qemu", "it does not build");
    }
    let command = emulated(&run.root, &["run", EXAMPLE]);
    run.step(&format!("aarch64: run {EXAMPLE}"), command, EMULATED_LIMIT);
}

fn emulated(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("qemu-aarch64");
    command.current_dir(root).args(["-L", AARCH64_ROOT]).env("IODYNO_HISTORY", "off");
    let program = root.join("target").join(AARCH64).join("debug/iodyno");
    command.arg(program).args(arguments);
    command
}
