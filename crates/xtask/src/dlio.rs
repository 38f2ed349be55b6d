//! What DLIO is run with: PyTorch and MPI of Debian; its own packages the tests install from PyPI.
//!
//! Programs are installed by apt where we are root and they are missing. It refuses to fail the run: what cannot be had is a
//! sentence, and the cases count themselves as skipped.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::shell;

/// Names the folder of its environment to the tests.
pub const FOLDER: &str = "IODYNO_DLIO";
/// A folder of each package, and the package.
const INSTALLED: [(&str, &str); 2] = [
    ("/usr/lib/python3/dist-packages/torch", "python3-torch"),
    ("/usr/lib/python3/dist-packages/mpi4py", "python3-mpi4py"),
];
const LIMIT: Duration = Duration::from_secs(10 * 60);

/// The folder for its environment.
///
/// # Errors
/// There can be no folder.
pub fn folder(root: &Path) -> Result<PathBuf, String> {
    let missing: Vec<&str> =
        INSTALLED.iter().filter(|(folder, _)| !Path::new(folder).is_dir()).map(|found| found.1).collect();
    if !missing.is_empty() {
        let mut install = Command::new("apt-get");
        install.args(["install", "-y", "--no-install-recommends"]).args(&missing);
        install.env("DEBIAN_FRONTEND", "noninteractive");
        match shell::run(install, None, LIMIT) {
            Ok(outcome) if outcome.success => {}
            Ok(outcome) => {
                println!("{} cannot be installed: {}", missing.join(" and "), outcome.last_words())
            }
            Err(why) => println!("{} cannot be installed: {why}", missing.join(" and ")),
        }
    }
    let folder = root.join("target/dlio");
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(folder)
}
