//! The other systems and processors: what can be type-checked is, what can be emulated is run.
//!
//! Claims no more than was tried: FreeBSD and macOS are type-checked only, aarch64 Linux is built and run under
//! qemu. A target, linker or emulator that cannot be had makes the step skipped, never passed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::{Run, examples, is_synthetic};
use crate::shell;

const AARCH64: &str = "aarch64-unknown-linux-gnu";
const AARCH64_LINKER: &str = "aarch64-linux-gnu-gcc";
/// Where Debian's cross packages keep the loader and libraries of the other processor.
const AARCH64_ROOT: &str = "/usr/aarch64-linux-gnu";
/// Type-checked only: nothing here can run them.
const CHECKED_ONLY: &[&str] = &["x86_64-unknown-freebsd", "aarch64-apple-darwin"];
/// A target is a download: where it hangs, it is not to be had.
const TARGET_LIMIT: Duration = Duration::from_secs(180);
/// Emulated, a tiny job takes seconds.
const EMULATED_LIMIT: Duration = Duration::from_secs(180);

/// Every portability step.
pub fn check(run: &mut Run) {
    for target in CHECKED_ONLY {
        check_target(run, target, &["-p", "iodyno"]);
    }
    if check_target(run, AARCH64, &["--workspace"]) {
        build_and_emulate(run);
    } else {
        run.skip("aarch64 under qemu", "it does not type-check here");
    }
}

fn check_target(run: &mut Run, target: &str, packages: &[&str]) -> bool {
    let name = format!("check {target}");
    if let Err(reason) = add_target(target) {
        run.skip(&name, &reason);
        return false;
    }
    let mut check = run.cargo_command(&[&["check", "--target", target], packages].concat());
    if CHECKED_ONLY.contains(&target) {
        // What is not linked needs no SQLite, which a C compiler for that system would have to build.
        check.env("LIBSQLITE3_SYS_USE_PKG_CONFIG", "1").env("SQLITE3_LIB_DIR", "/nowhere");
    }
    run.step(&name, check, run.remaining())
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

fn build_and_emulate(run: &mut Run) {
    let missing = [AARCH64_LINKER, "qemu-aarch64"].into_iter().find(|program| shell::find(program).is_none());
    if let Some(program) = missing {
        return run.skip("aarch64 under qemu", &format!("{program} is not installed"));
    }
    let mut build = run.cargo_command(&["build", "-p", "iodyno", "--target", AARCH64]);
    build.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", AARCH64_LINKER);
    if !run.step("build aarch64", build, run.remaining()) {
        return run.skip("aarch64 under qemu", "it does not build");
    }
    run.step("aarch64: iodyno --version", emulated(&run.root, &["--version"]), EMULATED_LIMIT);
    let runnable: Vec<PathBuf> =
        examples(&run.root).into_iter().filter(|e| is_synthetic(&run.root.join(e))).collect();
    if runnable.is_empty() {
        run.skip("aarch64: an example", "no example runs on null or sim");
    }
    for example in runnable {
        let name = format!("aarch64: run {}", example.display());
        let command = emulated(&run.root, &["run", &example.to_string_lossy()]);
        run.step(&name, command, EMULATED_LIMIT);
    }
}

fn emulated(root: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new("qemu-aarch64");
    command.current_dir(root).args(["-L", AARCH64_ROOT]);
    command.arg(root.join("target").join(AARCH64).join("debug/iodyno")).args(arguments);
    command
}
