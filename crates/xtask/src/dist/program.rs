//! The program that packages are made of: built for glibc 2.28 by zig's linker, or taken as it is.
//!
//! Zig and its cargo command come from PyPI into a folder below `target`. Paths of this machine are left out of the program, so that
//! two builds of a commit are equal.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use super::Release;
use super::elf::{self, Processor};
use super::external::{lines, lines_of, read_bytes, write};
use crate::{emulated, shell};

/// The oldest glibc that it is to start with: that of the tag manylinux_2_28.
pub const GLIBC_MINOR: u32 = 28;
/// What links, pinned so that the same commit gives the same program.
const PINNED: [&str; 2] = ["ziglang==0.17.1", "cargo-zigbuild==0.24.1"];
/// The profile of Cargo.toml: that of `--release`, stripped.
const PROFILE: &str = "dist";
/// With TLS, which a default build leaves out for its cost.
const FEATURES: &str = "tls";
const BUILD_LIMIT: Duration = Duration::from_secs(90 * 60);

/// A program, and what it says of itself.
pub struct ProgramFile {
    pub path: PathBuf,
    pub processor: Processor,
    pub bytes: Vec<u8>,
}

impl ProgramFile {
    /// Reads one.
    ///
    /// # Errors
    /// It is none for Linux on a known processor, or needs a newer glibc than packages promise.
    pub fn read(path: &Path) -> Result<ProgramFile, String> {
        let place = |why: String| format!("{}: {why}", path.display());
        let path = std::path::absolute(path).map_err(|error| place(error.to_string()))?;
        let bytes = read_bytes(&path)?;
        let processor = elf::processor(&bytes).map_err(place)?;
        let newest = elf::newest_glibc(&bytes).unwrap_or(0);
        if newest > GLIBC_MINOR {
            return Err(format!(
                "{}: it needs glibc 2.{newest}, packages promise 2.{GLIBC_MINOR}\n hint: build it with `cargo xtask dist`",
                path.display()
            ));
        }
        Ok(ProgramFile { path, processor, bytes })
    }
}

/// The programs that were named, or those that are built for processors; none named: all.
///
/// # Errors
/// What does not build, or is no program.
pub fn of(
    release: &Release,
    processors: &[Processor],
    named: &[PathBuf],
) -> Result<Vec<ProgramFile>, String> {
    if !named.is_empty() {
        return named.iter().map(|path| ProgramFile::read(path)).collect();
    }
    let all = [Processor::X86_64, Processor::Aarch64];
    let wanted = if processors.is_empty() { &all[..] } else { processors };
    let folder = release.scratch.join("build");
    wanted.iter().map(|processor| build(release, *processor, &release.root, &folder)).collect()
}

/// Builds the source in a folder for a processor, with all that the build makes below `folder`.
///
/// # Errors
/// What cannot be had, or what the compiler said.
pub fn build(
    release: &Release,
    processor: Processor,
    source: &Path,
    folder: &Path,
) -> Result<ProgramFile, String> {
    let tools = tools(release)?;
    emulated::add_target(&processor.target())?;
    println!("building for {processor}; the first time takes some minutes");
    let mut command = Command::new(tools.join("cargo-zigbuild"));
    command.arg("zigbuild").current_dir(source);
    command.args(["--locked", "--package", "iodyno", "--features", FEATURES, "--profile", PROFILE]);
    command.args(["--target", &format!("{}.2.{GLIBC_MINOR}", processor.target())]);
    command.env("PATH", path_with(&tools)).env("CARGO_TARGET_DIR", folder).env("CARGO_INCREMENTAL", "0");
    command.env("SOURCE_DATE_EPOCH", release.epoch.to_string());
    command.env("CARGO_ENCODED_RUSTFLAGS", flags(source)).env_remove("RUSTFLAGS");
    command.env_remove("RUSTC_WORKSPACE_WRAPPER").env_remove("RUSTC_WRAPPER");
    let log = release.scratch.join(format!("build-{processor}.log"));
    let ended = shell::run(command, Some(&log), BUILD_LIMIT)?;
    if !ended.success {
        let from = ended.lines.len().saturating_sub(20);
        return Err(format!(
            "it does not build for {processor}: {}\n    {}",
            log.display(),
            ended.lines[from..].join("\n    ")
        ));
    }
    let built = folder.join(processor.target()).join(PROFILE).join("iodyno");
    println!("built in {:.0} s", ended.duration.as_secs_f64());
    ProgramFile::read(&built)
}

/// Paths that a program would otherwise have in its messages: the source's and the registry's.
fn flags(source: &Path) -> String {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cargo")));
    let mut flags = vec![format!("--remap-path-prefix={}=/iodyno", source.display())];
    flags.extend(home.map(|home| format!("--remap-path-prefix={}=/cargo", home.display())));
    flags.join("\x1f")
}

fn path_with(folder: &Path) -> std::ffi::OsString {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::iter::once(folder.to_path_buf()).chain(std::env::split_paths(&rest));
    std::env::join_paths(folders).unwrap_or(rest)
}

/// The folder of zig's Python and of its cargo command, which pip fills once.
fn tools(release: &Release) -> Result<PathBuf, String> {
    let folder = release.scratch.join("tools");
    let (bin, mark, pinned) = (folder.join("bin"), folder.join("pinned"), PINNED.join("\n"));
    if std::fs::read_to_string(&mark).is_ok_and(|text| text == pinned) {
        return Ok(bin);
    }
    let python = shell::find("python3").ok_or("python3 is not installed, so zig cannot be had from PyPI")?;
    let python = python.display().to_string();
    lines_of(&python, &["-m", "venv", "--clear", &folder.display().to_string()], &release.root)?;
    let mut pip = Command::new(bin.join("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--only-binary=:all:"])
        .args(PINNED);
    lines(pip).map_err(|why| format!("zig cannot be had from PyPI: {why}"))?;
    write(&mark, pinned.as_bytes())?;
    Ok(bin)
}
