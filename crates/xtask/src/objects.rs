//! What object stores are started from: Debian's packages of Ceph.
//!
//! Programs are installed by apt where we are root and they are missing. It refuses to fail the run: what cannot be had is a
//! sentence, and the cases count themselves as skipped.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::shell;

/// Names the folder to the tests.
pub const FETCHED: &str = "IODYNO_OBJECTS";
/// A program of each package, and the package. fio has the engine `rados`.
const INSTALLED: [(&str, &str); 4] =
    [("ceph-mon", "ceph-mon"), ("ceph-osd", "ceph-osd"), ("rados", "ceph-common"), ("fio", "fio")];
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// The folder for what is fetched, once everything is there that can be had; what cannot is told.
///
/// # Errors
/// There can be no folder.
pub fn fetched(root: &Path) -> Result<PathBuf, String> {
    let missing: Vec<&str> =
        INSTALLED.iter().filter(|(program, _)| shell::find(program).is_none()).map(|found| found.1).collect();
    if !missing.is_empty()
        && let Err(why) = install(&missing)
    {
        println!("{} cannot be installed: {why}", missing.join(" and "));
    }
    let folder = root.join("target/objects");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}

fn install(packages: &[&str]) -> Result<(), String> {
    for arguments in [&["update"][..], &[&["install", "-y", "--no-install-recommends"], packages].concat()] {
        let mut command = Command::new("apt-get");
        command.args(["-q", "-o", "DPkg::Lock::Timeout=120"]).args(arguments);
        command.env("DEBIAN_FRONTEND", "noninteractive");
        let outcome = shell::run(command, None, LIMIT)?;
        // An old list may do.
        if !outcome.success && arguments != ["update"] {
            return Err(outcome.last_words().to_string());
        }
    }
    Ok(())
}
