//! The package of Debian and Ubuntu, built by dpkg-deb.
//!
//! Names of tools become links by update-alternatives, and only where no other package and no other program has that name: nothing
//! that is installed is diverted or replaced.

use std::path::Path;

use super::contents::{Contents, DOCUMENTS, ZSH, ZSH_DEBIAN, permit, set_times, stage};
use super::external::{lines, read, write};
use super::program::{GLIBC_MINOR, ProgramFile};
use super::{Made, Release, Unmade};
use crate::shell;

/// What runs when the package is configured and when it goes; rpm's scripts are the same.
pub const LINK_TOOLS: &str = include_str!("link-tools.sh");
pub const UNLINK_TOOLS: &str = include_str!("unlink-tools.sh");

/// Writes the package.
///
/// # Errors
/// There is no dpkg-deb (a skip), or what it said.
pub fn make(release: &Release, program: &ProgramFile, contents: &Contents) -> Made {
    if shell::find("dpkg-deb").is_none() {
        return Err(Unmade::Skipped(format!(".deb for {}: dpkg-deb is not installed", program.processor)));
    }
    let folder = stage(release, program, "deb");
    contents.lay_out(release, &folder, &|path| Some(format!("usr/{}", debian_place(path))))?;
    let documents = folder.join("usr").join(DOCUMENTS);
    write(&documents.join("copyright"), copyright(&release.root)?.as_bytes())?;
    write(&folder.join("DEBIAN/control"), control(release, program, contents).as_bytes())?;
    for (name, text) in [("postinst", postinst()), ("prerm", prerm())] {
        let path = folder.join("DEBIAN").join(name);
        write(&path, text.as_bytes())?;
        permit(&path, 0o755)?;
    }
    set_times(release, &folder)?;
    let name = format!("iodyno_{}_{}.deb", release.version, program.processor.debian());
    let path = release.into.join(name);
    let mut build = std::process::Command::new("dpkg-deb");
    build.args(["--root-owner-group", "-Zxz", "--threads-max=1", "--build"]).arg(&folder).arg(&path);
    build.env("SOURCE_DATE_EPOCH", release.epoch.to_string());
    lines(build)?;
    Ok(path)
}

/// Where Debian has a file.
fn debian_place(path: &str) -> String {
    if path == ZSH { ZSH_DEBIAN.to_string() } else { path.to_string() }
}

fn control(release: &Release, program: &ProgramFile, contents: &Contents) -> String {
    let length = |entry: &super::contents::InstalledEntry| match entry {
        super::contents::InstalledEntry::File { bytes, .. } => bytes.len().div_ceil(1024),
        super::contents::InstalledEntry::Link(_) => 1,
    };
    let installed: usize = contents.entries.iter().map(|(_, entry)| length(entry)).sum();
    format!(
        "Package: iodyno\nVersion: {}\nArchitecture: {}\nMaintainer: {}\nInstalled-Size: {installed}\n\
         Depends: libc6 (>= 2.{GLIBC_MINOR})\nSuggests: fuse3, openmpi-bin\nSection: admin\nPriority: optional\n\
         Homepage: {HOMEPAGE}\nDescription: measure storage and networks, and what may be wrong with the figures\n\
         {DESCRIPTION}",
        release.version,
        program.processor.debian(),
        MAINTAINER,
    )
}

pub const HOMEPAGE: &str = "https://github.com/iodyno/iodyno";
pub const MAINTAINER: &str = "The iodyno developers <iodyno@users.noreply.github.com>";
const DESCRIPTION: &str =
    " One program measures disks, file systems, object stores and networks, and says which
 of its figures may mislead and why. It takes the command lines and job files of
 fio, IOR, mdtest, iozone, filebench, iperf3, netperf and others.
 .
 Where no other program has the name of such a tool, a link of that name is made
 by update-alternatives; links of all of them are in /usr/lib/iodyno/tools.
";

fn postinst() -> String {
    format!(
        "#!/bin/sh\nset -e\ncase \"$1\" in\nconfigure | abort-upgrade | abort-remove | abort-deconfigure)\n{LINK_TOOLS}    ;;\nesac\n"
    )
}

fn prerm() -> String {
    format!("#!/bin/sh\nset -e\ncase \"$1\" in\nremove | deconfigure)\n{UNLINK_TOOLS}    ;;\nesac\n")
}

/// Debian's form of the licences.
fn copyright(root: &Path) -> Result<String, String> {
    let mit = read(&root.join("LICENSE-MIT"))?;
    let indented: String = mit
        .lines()
        .map(|line| if line.trim().is_empty() { " .\n".to_string() } else { format!(" {line}\n") })
        .collect();
    Ok(format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: iodyno\nSource: {HOMEPAGE}\n\n\
         Files: *\nCopyright: the iodyno developers\nLicense: Apache-2.0 or Expat\n\n\
         License: Expat\n{indented}\nLicense: Apache-2.0\n The full text is in /usr/share/common-licenses/Apache-2.0.\n\n\
         Comment: licences of what the program is linked with are in {}.\n",
        super::licences::NAME
    ))
}

#[cfg(test)]
mod tests {
    use super::super::contents::TOOLS;
    use super::*;

    #[test]
    fn scripts_name_the_folder_of_the_links() {
        for script in [postinst(), prerm()] {
            assert!(script.contains(&format!("/usr/{TOOLS}/")), "{script}");
            assert!(script.contains("update-alternatives") && script.ends_with("esac\n"));
        }
    }

    #[test]
    fn completions_of_zsh_lie_where_debian_looks() {
        assert_eq!(debian_place(ZSH), ZSH_DEBIAN);
        assert_eq!(debian_place("bin/iodyno"), "bin/iodyno");
    }
}
