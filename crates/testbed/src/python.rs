//! Virtual environments with what PyPI has: programs of others that read what ours print, or drive it.
//!
//! Each is made once and kept with the build; without a network that is a counted skip. Who comes while it is made waits
//! for the lock of who makes it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::Skip;

/// The environment of that name below `kept` with these packages, made where it is not there yet.
///
/// # Errors
/// A skip with pip's last line, where it cannot be made.
pub fn environment(kept: &Path, name: &str, packages: &[&str]) -> Result<PathBuf, Skip> {
    let lock = std::fs::File::create(kept.join(format!("{name}.lock"))).and_then(|file| {
        file.lock()?;
        Ok(file)
    });
    let _lock = lock.map_err(|error| Skip::new(format!("{}: {error}", kept.display())))?;
    let home = kept.join(name);
    if home.join("complete").is_file() {
        return Ok(home);
    }
    // Without compiling all modules ahead: a test imports few of them.
    let pip = "-m pip install --quiet --no-compile --disable-pip-version-check --timeout 20 --retries 1";
    let mut install = Command::new(home.join("bin/python"));
    install.args(pip.split(' ')).args(packages);
    for step in [Command::new("python3").args(["-m", "venv", "--clear"]).arg(&home), &mut install] {
        let done = step.output().map_err(|error| Skip::new(error.to_string()))?;
        let said = String::from_utf8_lossy(&done.stderr);
        let last = said.trim().lines().last().unwrap_or("no reason given");
        if !done.status.success() {
            let packages = packages.join(" and ");
            return Err(Skip::new(format!("{packages} cannot be installed from PyPI: {last}")));
        }
    }
    std::fs::write(home.join("complete"), "").map_err(|error| Skip::new(error.to_string()))?;
    Ok(home)
}
