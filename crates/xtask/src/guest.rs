//! What a guest with a feature that this machine's kernel lacks is started from: Debian's kernel with its modules, a shell that
//! needs no library, and the feature's own program or library.
//!
//! The packages are fetched by apt and unpacked into a folder of `target`; nothing of them is installed. The emulator, and the
//! original where there is one, are installed where we are root and they are missing. It refuses to fail the run: what cannot be
//! had is a sentence, and the case counts itself as skipped.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use crate::shell;

/// What a guest needs for a feature.
pub struct GuestFeature {
    /// The tool that `against` is asked for, and the folder below `target`.
    pub name: &'static str,
    /// Names the folder to the test.
    pub variable: &'static str,
    /// Programs of this machine and their packages.
    installed: &'static [(&'static str, &'static str)],
    /// Packages beside the kernel.
    packages: &'static [&'static str],
    /// Files of the packages, by the end of their path.
    wanted: &'static [&'static str],
}

/// SCTP between ours and the original.
pub const SCTP: GuestFeature = GuestFeature {
    name: "sctp",
    variable: "IODYNO_SCTP_GUEST",
    installed: &[EMULATOR, ("iperf3", "iperf3")],
    packages: &["busybox-static", "libsctp1"],
    wanted: &[
        "bin/busybox",
        "libsctp.so.1",
        "crypto/crc32c_generic.ko",
        "lib/libcrc32c.ko",
        "net/ipv4/udp_tunnel.ko",
        "net/ipv6/ip6_udp_tunnel.ko",
        "net/sctp/sctp.ko",
    ],
};

/// Arrays of the kernel's md.
pub const RAID: GuestFeature = GuestFeature {
    name: "raid",
    variable: "IODYNO_RAID_GUEST",
    installed: &[EMULATOR],
    packages: &["busybox-static", "mdadm"],
    wanted: &[
        "bin/busybox",
        "sbin/mdadm",
        "crypto/crc32c_generic.ko",
        "lib/libcrc32c.ko",
        "crypto/xor.ko",
        "lib/raid6/raid6_pq.ko",
        "async_tx/async_tx.ko",
        "async_tx/async_memcpy.ko",
        "async_tx/async_xor.ko",
        "async_tx/async_pq.ko",
        "async_tx/async_raid6_recov.ko",
        "md/md-mod.ko",
        "md/raid0.ko",
        "md/raid456.ko",
        "block/loop.ko",
    ],
};

const EMULATOR: (&str, &str) = ("qemu-system-x86_64", "qemu-system-x86");
/// The package that depends on the kernel of the day.
const KERNEL: &str = "linux-image-amd64";
const LIMIT: Duration = Duration::from_secs(5 * 60);

/// The folder with the parts, which are fetched unless they are there.
///
/// # Errors
/// Why they cannot be had.
pub fn parts(root: &Path, feature: &GuestFeature) -> Result<PathBuf, String> {
    for (program, package) in feature.installed {
        if shell::find(program).is_none() {
            run("apt-get", &["-q", "install", "-y", "--no-install-recommends", package], root)?;
        }
    }
    let folder = root.join("target").join(feature.name);
    if folder.join("vmlinuz").is_file() {
        return Ok(folder);
    }
    let packages = folder.join("packages");
    fs::create_dir_all(packages.join("unpacked")).map_err(|error| error.to_string())?;
    let dependencies = run("apt-cache", &["depends", KERNEL], &packages)?;
    let kernel = dependencies.iter().find_map(|line| line.trim().strip_prefix("Depends: linux-image-"));
    let kernel = format!("linux-image-{}", kernel.ok_or("apt knows no kernel")?);
    run("apt-get", &[&["-q", "download", &kernel], feature.packages].concat(), &packages)?;
    for entry in fs::read_dir(&packages).map_err(|error| error.to_string())?.flatten() {
        if entry.path().extension().is_some_and(|extension| extension == "deb") {
            run("dpkg-deb", &["-x", &entry.path().display().to_string(), "unpacked"], &packages)?;
        }
    }
    let unpacked = packages.join("unpacked");
    for wanted in feature.wanted {
        let name = wanted.rsplit('/').next().unwrap_or(wanted);
        take(&unpacked, &|path| path.ends_with(wanted), &folder.join(name))?;
    }
    // The last, so that a folder with it is whole.
    let is_kernel = |path: &Path| {
        path.parent().is_some_and(|boot| boot.ends_with("boot"))
            && path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vmlinuz-"))
    };
    take(&unpacked, &is_kernel, &folder.join("vmlinuz"))?;
    fs::remove_dir_all(&packages).map_err(|error| error.to_string())?;
    Ok(folder)
}

fn run(program: &str, arguments: &[&str], folder: &Path) -> Result<Vec<String>, String> {
    let mut command = Command::new(program);
    command.args(arguments).current_dir(folder).env("DEBIAN_FRONTEND", "noninteractive");
    let outcome = shell::run(command, None, LIMIT)?;
    match outcome.success {
        true => Ok(outcome.lines),
        false => Err(format!("{program}: {}", outcome.last_words())),
    }
}

/// Copies the first file below a folder that is the one.
fn take(folder: &Path, is: &dyn Fn(&Path) -> bool, to: &Path) -> Result<(), String> {
    let found = first(folder, is).ok_or_else(|| format!("{} is in none of the packages", to.display()))?;
    fs::copy(&found, to).map(drop).map_err(|error| format!("{}: {error}", found.display()))
}

fn first(folder: &Path, is: &dyn Fn(&Path) -> bool) -> Option<PathBuf> {
    let mut entries: Vec<PathBuf> = fs::read_dir(folder).ok()?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries.into_iter().find_map(|path| match fs::symlink_metadata(&path).ok()?.is_dir() {
        true => first(&path, is),
        false => is(&path).then_some(path),
    })
}
