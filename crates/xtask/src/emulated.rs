//! `cargo xtask against aarch64`: the program is built for that processor, and runs an example under an emulator.
//!
//! It is built without optimisation and without spreadsheets, and runs on the simulated device, in virtual time: its answers
//! are known, and the emulator's speed does not matter. Claims nothing of real hardware.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::shell;

pub const TARGET: &str = "aarch64-unknown-linux-gnu";
const LINKER: &str = "aarch64-linux-gnu-gcc";
/// Where Debian's cross packages keep the loader and libraries of the other processor.
const ROOT: &str = "/usr/aarch64-linux-gnu";
/// Programs and the packages of Debian that bring them.
const INSTALLED: [(&str, &str); 2] = [(LINKER, "gcc-aarch64-linux-gnu"), ("qemu-aarch64", "qemu-user")];
const LIBRARY: &str = "libc6-dev-arm64-cross";
/// Packages that `dev` optimises. For one short run under an emulator that would take longer than it gains. It is `dev` with
/// these changes rather than a profile of its own, since the macros of that are compiled already.
const OPTIMISED: &[&str] =
    &["iodyno-engine", "iodyno-conformance", "iodyno-dialect", "iodyno-trace", "fuser"];
const EXAMPLE: &str = "examples/sim-disk.toml";
/// A target is a download: where it hangs, it is not to be had.
const TARGET_LIMIT: Duration = Duration::from_secs(180);
const INSTALL_LIMIT: Duration = Duration::from_secs(5 * 60);
const BUILD_LIMIT: Duration = Duration::from_secs(40 * 60);
/// Emulated, a tiny job takes seconds.
const RUN_LIMIT: Duration = Duration::from_secs(180);

/// Builds and runs; true when both went well.
///
/// # Errors
/// What cannot be had.
pub fn chore(root: &Path) -> Result<bool, String> {
    add_target(TARGET)?;
    for (program, package) in INSTALLED {
        if shell::find(program).is_none() {
            install(package)?;
        }
    }
    if !Path::new(ROOT).join("lib").is_dir() {
        install(LIBRARY)?;
    }
    let mut build = shell::cargo();
    build.current_dir(root).args(["build", "-p", "iodyno", "--no-default-features", "--target", TARGET]);
    for package in OPTIMISED {
        build.args(["--config", &format!("profile.dev.package.{package}.opt-level=0")]);
    }
    build.env("CARGO_PROFILE_DEV_DEBUG", "false").env("CARGO_INCREMENTAL", "0");
    build.env("CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER", LINKER);
    let mut run = Command::new("qemu-aarch64");
    run.current_dir(root).args(["-L", ROOT]).env("IODYNO_HISTORY", "off");
    run.arg(root.join("target").join(TARGET).join("debug/iodyno")).args(["run", EXAMPLE]);
    let mut passed = 0;
    for (name, command, limit) in [("build", build, BUILD_LIMIT), ("run", run, RUN_LIMIT)] {
        let outcome =
            shell::run(command, Some(&root.join(format!("target/against/aarch64-{name}.log"))), limit)?;
        if !outcome.success {
            println!("failed: {name}: {}", outcome.last_words());
            break;
        }
        outcome.lines.iter().filter(|_| name == "run").for_each(|line| println!("{line}"));
        passed += 1;
    }
    println!("{passed} passed, {} failed, 0 skipped", usize::from(passed < 2));
    Ok(passed == 2)
}

fn install(package: &str) -> Result<(), String> {
    let mut command = Command::new("apt-get");
    command.args(["-q", "install", "-y", "--no-install-recommends", package]);
    let outcome = shell::run(command, None, INSTALL_LIMIT)?;
    if outcome.success {
        Ok(())
    } else {
        Err(format!("{package} cannot be installed: {}", outcome.last_words()))
    }
}

/// Makes sure that the standard library of a target is here.
///
/// # Errors
/// Why it cannot be had.
pub fn add_target(target: &str) -> Result<(), String> {
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
