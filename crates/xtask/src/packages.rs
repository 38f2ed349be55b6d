//! Packages of Debian that a comparison needs and `ci` does without.
//!
//! Installed where we are root and they are missing. It refuses to fail the run: what cannot be had is a sentence, and the cases
//! count themselves as skipped.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use crate::shell;

const LIMIT: Duration = Duration::from_secs(10 * 60);

/// A file or folder of each package, and the package.
pub type Installed = (&'static str, &'static str);

/// A controller, a node and the clients of Slurm, its authentication, and an MPI that speaks its PMI.
pub const SLURM: [Installed; 5] = [
    ("/usr/sbin/slurmctld", "slurmctld"),
    ("/usr/sbin/slurmd", "slurmd"),
    ("/usr/bin/srun", "slurm-client"),
    ("/usr/sbin/munged", "munge"),
    ("/usr/bin/mpiexec.hydra", "mpich"),
];

/// PyTorch and MPI for DLIO.
pub const DLIO: [Installed; 2] = [
    ("/usr/lib/python3/dist-packages/torch", "python3-torch"),
    ("/usr/lib/python3/dist-packages/mpi4py", "python3-mpi4py"),
];

/// Installs what is missing.
pub fn install(packages: &[Installed]) {
    let missing: Vec<&str> =
        packages.iter().filter(|(place, _)| !Path::new(place).exists()).map(|(_, name)| *name).collect();
    if missing.is_empty() {
        return;
    }
    let names = missing.join(" and ");
    let mut install = Command::new("apt-get");
    install.args(["install", "-y", "--no-install-recommends"]).args(&missing);
    // Daemons are started by the tests, on ports of their own.
    install.env("DEBIAN_FRONTEND", "noninteractive").env("RUNLEVEL", "1");
    match shell::run(install, None, LIMIT) {
        Ok(outcome) if outcome.success => {}
        Ok(outcome) => println!("{names} cannot be installed: {}", outcome.last_words()),
        Err(why) => println!("{names} cannot be installed: {why}"),
    }
}
