//! A guest without hardware acceleration: what it is started from, and what it said on its console.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::archive::Archive;

/// What a guest says last.
const OVER: &str = "== over\n";
/// Longer than a guest takes on a busy machine, s.
const LIMIT_S: &str = "900";

/// The libraries that a program is linked with, as the loader finds them.
fn libraries(program: &Path) -> Result<Vec<PathBuf>, String> {
    let said = Command::new("ldd").arg(program).output().map_err(|error| format!("ldd: {error}"))?;
    let text = String::from_utf8_lossy(&said.stdout);
    Ok(text.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect())
}

/// Programs, by their names in `bin`, with the libraries that they are linked with and others.
pub fn add_programs(
    archive: &mut Archive,
    programs: &[(&str, PathBuf)],
    libraries_besides: Vec<PathBuf>,
) -> Result<(), String> {
    let mut needed = libraries_besides;
    for (name, path) in programs {
        archive.copy(&format!("bin/{name}"), path)?;
        needed.extend(libraries(path)?);
    }
    let mut taken = Vec::new();
    for path in needed {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if !taken.contains(&name) {
            let folder = if path.starts_with("/lib64") { "lib64" } else { "lib" };
            archive.copy(&format!("{folder}/{name}"), &path)?;
            taken.push(name);
        }
    }
    Ok(())
}

/// Boots the kernel of a folder with a first file system, in so many MiB of memory; what the guest said until its end.
pub fn boot(parts: &Path, first: &[u8], memory_mib: u32) -> Result<String, Box<dyn std::error::Error>> {
    let home = tempfile::tempdir()?;
    let unpacked = home.path().join("first.cpio");
    std::fs::write(&unpacked, first)?;
    let memory = memory_mib.to_string();
    let mut command = Command::new("timeout");
    command.args([LIMIT_S, "qemu-system-x86_64", "-accel", "tcg", "-m", &memory, "-smp", "1"]);
    command.args(["-nodefaults", "-display", "none", "-no-reboot", "-serial", "stdio", "-monitor", "none"]);
    command.args(["-append", "console=ttyS0 quiet panic=-1 mitigations=off"]);
    command.arg("-kernel").arg(parts.join("vmlinuz")).arg("-initrd").arg(&unpacked);
    let said = command.stdin(Stdio::null()).stderr(Stdio::null()).output()?.stdout;
    let said = String::from_utf8_lossy(&said).replace('\r', "");
    match said.contains(OVER) {
        true => Ok(said),
        false => Err(format!("the guest did not come to its end:\n{said}").into()),
    }
}
