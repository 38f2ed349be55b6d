//! `cargo xtask against dist`: what `cargo xtask dist` made is installed as its users do it, run, and removed.
//!
//! A clean root of Debian gets the .deb, the tarball and the .rpm; a fresh Python gets the wheel by pip and by uvx; the image is started
//! by buildah. It needs root and a network, and takes minutes. A part for which this machine lacks something is counted as a skip.

mod debian;
mod image;
mod python;
mod start;

use std::path::{Path, PathBuf};
use std::process::Command;

use super::elf::Processor;
use super::external::{files, lines, lines_of};
use super::{Release, SUMS, Unmade};
use crate::shell;

/// What a part came to.
type Tried = Result<String, Unmade>;
type Part = (&'static str, fn(&Trial) -> Tried);

/// All of them, in the order in which they run.
const PARTS: &[Part] = &[
    ("checksums", checksums),
    ("start", start::of_the_program),
    ("deb", debian::package),
    ("deb names", debian::names),
    ("tarball", debian::tarball),
    ("rpm", debian::rpm),
    ("wheel", python::wheel),
    ("uvx", python::uvx),
    ("container", image::container),
];

/// Where everything is.
pub struct Trial {
    release: Release,
    processor: Processor,
}

impl Trial {
    /// The only file of `dist/` that ends so.
    fn made(&self, end: &str) -> Result<PathBuf, Unmade> {
        let names = files(&self.release.into)?;
        let found: Vec<&String> = names.iter().filter(|name| name.ends_with(end)).collect();
        match found[..] {
            [name] => Ok(self.release.into.join(name)),
            [] => Err(Unmade::Skipped(format!("dist/ has no file that ends in {end}"))),
            _ => {
                Err(Unmade::Failed(format!("dist/ has several files that end in {end}: remove the old ones")))
            }
        }
    }

    fn folder(&self, name: &str) -> PathBuf {
        self.release.scratch.join("trial").join(name)
    }
}

/// Tries all parts, or those whose names are given; true where none failed.
///
/// # Errors
/// There is nothing to try.
pub fn chore(root: &Path, wanted: Option<&str>) -> Result<bool, String> {
    let release = Release::of(root, None)?;
    if !release.into.is_dir() {
        return Err("there is no dist/\n hint: cargo xtask dist".into());
    }
    let processor = Processor::here().ok_or("packages are not made for this processor")?;
    let parts: Vec<&Part> =
        PARTS.iter().filter(|(name, _)| wanted.is_none_or(|part| name.starts_with(part))).collect();
    if parts.is_empty() {
        let names: Vec<&str> = PARTS.iter().map(|(name, _)| *name).collect();
        return Err(format!("against dist: no such part\n hint: parts are {}", names.join(", ")));
    }
    let trial = Trial { release, processor };
    let (mut passed, mut failed, mut skipped) = (0, 0, 0);
    for (name, part) in parts {
        match part(&trial) {
            Ok(said) => {
                passed += 1;
                println!("ok       {name}: {said}");
            }
            Err(Unmade::Skipped(why)) => {
                skipped += 1;
                println!("skipped: {name}: {why}");
            }
            Err(Unmade::Failed(why)) => {
                failed += 1;
                println!("failed: {name}: {why}");
            }
        }
    }
    println!("{passed} passed, {failed} failed, {skipped} skipped");
    Ok(failed == 0)
}

fn checksums(trial: &Trial) -> Tried {
    let said = lines_of("sha256sum", &["--check", "--strict", SUMS], &trial.release.into)?;
    Ok(format!("{} files are as {SUMS} says", said.len()))
}

/// Runs a script by a shell and returns what it printed; a command of it that fails ends it.
fn script(shell: &str, text: &str) -> Result<Vec<String>, Unmade> {
    let mut command = Command::new(shell);
    command.args(["-e", "-c", text]);
    Ok(lines(command)?)
}

/// A part that needs a program of this machine.
fn needs(program: &str) -> Result<(), Unmade> {
    match shell::find(program) {
        Some(_) => Ok(()),
        None => Err(Unmade::Skipped(format!("{program} is not installed"))),
    }
}

/// That a text is among what was printed.
fn expect(lines: &[String], text: &str) -> Result<(), Unmade> {
    if lines.iter().any(|line| line.contains(text)) {
        return Ok(());
    }
    let from = lines.len().saturating_sub(10);
    Err(Unmade::Failed(format!("`{text}` is not in what was printed:\n    {}", lines[from..].join("\n    "))))
}
