//! Where the launcher's library may be: beside the launcher itself, and where the system's loader looks.
//!
//! The launcher is an ancestor of this process, so its own installation is known even where no path was set. Nothing
//! is opened here.

use std::path::{Path, PathBuf};

use super::launcher::Family;

/// The file names of a family's library, the likeliest first. Names without a version are links for compilers, and
/// may be anybody's.
#[cfg(not(target_os = "macos"))]
fn names(family: Family) -> &'static [&'static str] {
    match family {
        Family::OpenMpi => &["libmpi.so.40", "libmpi_ibm.so.3", "libmpi.so", "libmpi_abi.so.1"],
        Family::Mpich => &[
            "libmpi.so.12",
            "libmpich.so.12",
            "libmpi_cray.so.12",
            "libmpi_abi.so.1",
            "libmpich.so",
            "libmpi.so",
        ],
    }
}

#[cfg(target_os = "macos")]
fn names(family: Family) -> &'static [&'static str] {
    match family {
        Family::OpenMpi => &["libmpi.40.dylib", "libmpi.dylib", "libmpi_abi.1.dylib"],
        Family::Mpich => &["libmpi.12.dylib", "libmpi_abi.1.dylib", "libmpi.dylib"],
    }
}

/// Where libraries lie in an installation.
const FOLDERS: &[&str] = &["lib", "lib64", "lib/release"];

/// Programs that start ranks.
const LAUNCHERS: &[&str] =
    &["mpirun", "mpiexec", "orterun", "orted", "prte", "prterun", "prted", "hydra_pmi_proxy"];

/// What to open, in this order: whole paths of files that exist, then names for the system's loader.
pub(crate) fn candidates(families: &[Family]) -> Vec<String> {
    let folders = folders();
    let beside = families
        .iter()
        .flat_map(|family| names(family.to_owned()))
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)).filter(|path| path.is_file()));
    let plain = families.iter().flat_map(|family| names(*family)).map(|name| name.to_string());
    let mut all: Vec<String> = beside.map(|path| path.to_string_lossy().into_owned()).collect();
    all.extend(plain);
    let mut seen = std::collections::HashSet::new();
    all.retain(|name| seen.insert(name.clone()));
    all
}

fn folders() -> Vec<PathBuf> {
    let own = std::env::var_os("OMPI_LIBDIR_LOC").map(PathBuf::from);
    let roots = ["OPAL_PREFIX", "PMIX_PREFIX", "I_MPI_ROOT"].into_iter().filter_map(std::env::var_os);
    let roots = ancestors().into_iter().chain(roots.map(PathBuf::from));
    own.into_iter()
        .chain(roots.flat_map(|root| FOLDERS.iter().map(move |folder| root.join(folder))))
        .collect()
}

/// The installations of the launchers that are ancestors of this process, the nearest first.
#[cfg(target_os = "linux")]
fn ancestors() -> Vec<PathBuf> {
    /// A script, a shell and a tool that measures may stand between.
    const NEAR: usize = 6;
    let up = |pid: &u32| parent(*pid).filter(|pid| *pid > 1);
    std::iter::successors(parent(std::process::id()), up)
        .take(NEAR)
        .filter_map(|pid| prefix(&std::fs::read_link(format!("/proc/{pid}/exe")).ok()?))
        .collect()
}

#[cfg(not(target_os = "linux"))]
fn ancestors() -> Vec<PathBuf> {
    Vec::new()
}

#[cfg(target_os = "linux")]
fn parent(pid: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    text.lines().find_map(|line| line.strip_prefix("PPid:"))?.trim().parse().ok()
}

/// The installation that a launcher's program file belongs to.
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
fn prefix(program: &Path) -> Option<PathBuf> {
    let name = program.file_name()?.to_str()?;
    let is_launcher = LAUNCHERS.iter().any(|known| name == *known || name.starts_with(&format!("{known}.")));
    is_launcher.then(|| program.parent()?.parent().map(Path::to_owned)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_installation_is_known_by_its_launcher() {
        let of = |path: &str| prefix(Path::new(path)).map(|path| path.display().to_string());
        assert_eq!(of("/opt/openmpi/bin/prterun").as_deref(), Some("/opt/openmpi"));
        assert_eq!(of("/opt/mpich/bin/mpiexec.hydra").as_deref(), Some("/opt/mpich"));
        assert_eq!(of("/usr/bin/bash"), None);
    }

    #[test]
    fn each_name_is_tried_once_and_the_likeliest_first() {
        let all = candidates(&[Family::Mpich, Family::OpenMpi]);
        let place = |end: &str| all.iter().position(|name| name == end);
        assert!(place(names(Family::Mpich)[0]) < place(names(Family::OpenMpi)[0]));
        assert_eq!(all.iter().filter(|name| *name == names(Family::OpenMpi)[1]).count(), 1);
    }
}
