//! Tar archives that are the same to the byte wherever they are made, and the tarball of a release.

use std::path::Path;

use super::contents::{Contents, stage};
use super::external::{lines_of, write};
use super::program::ProgramFile;
use super::{Made, Release};

/// Packs the content of a folder, owned by root, with the time of the commit, in order of names.
///
/// # Errors
/// What tar said.
pub fn tar(release: &Release, folder: &Path, member: &str, into: &Path) -> Result<(), String> {
    let time = format!("--mtime=@{}", release.epoch);
    let packed = into.display().to_string();
    let words = [
        "--create",
        "--format=gnu",
        "--sort=name",
        "--owner=root:0",
        "--group=root:0",
        &time,
        "--file",
        &packed,
        member,
    ];
    write(into, b"")?;
    lines_of("tar", &words, folder).map(|_| ())
}

/// Packs a file by gzip, without its name and time; the file with `.gz` behind its name takes its place.
///
/// # Errors
/// What gzip said.
pub fn gzip(path: &Path) -> Result<(), String> {
    lines_of("gzip", &["-n", "-9", "-f", "--", &path.display().to_string()], Path::new("/")).map(|_| ())
}

/// `iodyno-VERSION-PROCESSOR-linux-gnu.tar.gz`: a folder to unpack anywhere, or over `/usr/local`.
///
/// # Errors
/// What could not be written.
pub fn tarball(release: &Release, program: &ProgramFile, contents: &Contents) -> Made {
    let name = format!("iodyno-{}-{}-linux-gnu", release.version, program.processor);
    let folder = stage(release, program, "tarball");
    contents.lay_out(release, &folder, &|path| Some(format!("{name}/{path}")))?;
    let path = release.into.join(format!("{name}.tar"));
    tar(release, &folder, &name, &path)?;
    gzip(&path)?;
    Ok(release.into.join(format!("{name}.tar.gz")))
}
