//! A place for the sessions of Open MPI's launchers that several of them can use at once.
//!
//! Why: each launcher makes the directory `ompi.HOST.USER` unless it is there, and the last one removes it; one that
//! looks before another makes it, or makes it while another removes it, fails. Where something lies in it, it stays,
//! and nobody has to make it. It refuses to clear away what a killed launcher has left there: another may use it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The setting of Open MPI's that names the place.
const VARIABLE: &str = "OMPI_MCA_orte_tmpdir_base";

/// Lets a launcher of Open MPI 4 keep its sessions below a directory that stays; others do not hear of it.
///
/// # Errors
/// Nothing can be made there.
pub fn keep_sessions<'a>(command: &'a mut Command, kept: &Path) -> std::io::Result<&'a mut Command> {
    let base = kept.join("mpi-sessions");
    for name in session_names() {
        std::fs::create_dir_all(base.join(name).join("kept"))?;
    }
    Ok(command.env(VARIABLE, PathBuf::from(&base)))
}

/// What a launcher may call its directory: by the whole name of the host, or by the first part of it.
fn session_names() -> [String; 2] {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    // SAFETY: geteuid takes nothing, touches no memory and cannot fail.
    let user = unsafe { libc::geteuid() };
    [host, host.split('.').next().unwrap_or(host)].map(|name| format!("ompi.{name}.{user}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_directory_is_there_and_not_empty() {
        let kept = tempfile::tempdir().unwrap();
        let mut command = Command::new("mpirun");
        keep_sessions(&mut command, kept.path()).unwrap();
        let base = kept.path().join("mpi-sessions");
        assert!(command.get_envs().any(|(name, place)| name == VARIABLE && place == Some(base.as_os_str())));
        for name in session_names() {
            assert!(base.join(name).join("kept").is_dir());
        }
    }
}
