//! The package of Fedora, RHEL and SUSE, built by rpmbuild.

use std::process::Command;

use super::contents::{Contents, InstalledEntry, stage};
use super::deb::{HOMEPAGE, LINK_TOOLS, MAINTAINER, UNLINK_TOOLS};
use super::external::{empty_folder, files, lines, write};
use super::program::{GLIBC_MINOR, ProgramFile};
use super::{Made, Release, Unmade};
use crate::shell;

/// Folders that go with the last package that has a file in them; not all systems have those of every shell.
const FOLDERS: [&str; 9] = [
    "lib/iodyno",
    "lib/iodyno/tools",
    "share/doc/iodyno",
    "share/bash-completion",
    "share/bash-completion/completions",
    "share/fish",
    "share/fish/vendor_completions.d",
    "share/zsh",
    "share/zsh/site-functions",
];

/// Writes the package.
///
/// # Errors
/// There is no rpmbuild (a skip), or what it said.
pub fn make(release: &Release, program: &ProgramFile, contents: &Contents) -> Made {
    if shell::find("rpmbuild").is_none() {
        return Err(Unmade::Skipped(format!(".rpm for {}: rpmbuild is not installed", program.processor)));
    }
    let folder = stage(release, program, "rpm");
    contents.lay_out(release, &folder, &|path| Some(format!("usr/{path}")))?;
    let top = release.scratch.join("rpm");
    empty_folder(&top)?;
    let specification = top.join("iodyno.spec");
    write(&specification, text(release, contents).as_bytes())?;
    let mut build = Command::new("rpmbuild");
    build.args(["-bb", "--quiet", "--target", &format!("{}-linux", program.processor)]);
    let defined = [
        format!("_topdir {}", top.display()),
        format!("stage {}", folder.display()),
        // No step of this system's that strips, packs or judges what is there.
        "__os_install_post %{nil}".into(),
        "__spec_install_pre %{nil}".into(),
        "debug_package %{nil}".into(),
        "_build_id_links none".into(),
        "_binary_payload w6.xzdio".into(),
        "_binary_filedigest_algorithm 8".into(),
        "_buildhost iodyno".into(),
        "use_source_date_epoch_as_buildtime 1".into(),
        "clamp_mtime_to_source_date_epoch 1".into(),
        "build_mtime_policy clamp_to_source_date_epoch".into(),
    ];
    for definition in &defined {
        build.args(["--define", definition]);
    }
    build.arg(&specification).env("SOURCE_DATE_EPOCH", release.epoch.to_string());
    lines(build)?;
    let made = top.join("RPMS").join(program.processor.name());
    let name = files(&made)?.pop().ok_or_else(|| format!("{}: rpmbuild made nothing", made.display()))?;
    let path = release.into.join(&name);
    std::fs::copy(made.join(&name), &path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(path)
}

/// What rpmbuild reads.
fn text(release: &Release, contents: &Contents) -> String {
    let owned: String = contents
        .entries
        .iter()
        .map(|(path, entry)| match entry {
            InstalledEntry::File { is_program: true, .. } => format!("%attr(755, root, root) /usr/{path}\n"),
            InstalledEntry::File { .. } if path.starts_with("share/man/") => {
                format!("%attr(644, root, root) %doc /usr/{path}.gz\n")
            }
            InstalledEntry::File { .. } => format!("%attr(644, root, root) /usr/{path}\n"),
            InstalledEntry::Link(_) => format!("/usr/{path}\n"),
        })
        .collect();
    let shared: String = FOLDERS.iter().map(|folder| format!("%dir /usr/{folder}\n")).collect();
    format!(
        "Name: iodyno\nVersion: {}\nRelease: 1\nSummary: Measures storage and networks, and says what may be wrong with the figures\n\
         License: MIT OR Apache-2.0\nURL: {HOMEPAGE}\nPackager: {MAINTAINER}\nAutoReqProv: no\n\
         Requires: glibc >= 2.{GLIBC_MINOR}\nRequires(post): %{{_sbindir}}/update-alternatives\n\
         Requires(preun): %{{_sbindir}}/update-alternatives\nProvides: iodyno(%{{_target_cpu}}) = {}\n\n\
         %description\nOne program measures disks, file systems, object stores and networks, and says which of its figures\n\
         may mislead and why. It takes the command lines and job files of fio, IOR, mdtest and others.\n\n\
         %install\nmkdir -p %{{buildroot}}\ncp -a %{{stage}}/. %{{buildroot}}/\n\n\
         %post\n{LINK_TOOLS}\n%preun\nif [ \"$1\" = 0 ]; then\n{UNLINK_TOOLS}fi\n\n\
         %files\n{shared}{owned}",
        release.version, release.version
    )
}
