//! `cargo xtask against reproducible`: two builds of a commit, in two places, are the same to the byte, and so are their packages.
//!
//! It judges what is committed: uncommitted changes are left out, and said.

use std::path::Path;
use std::process::Command;

use super::elf::Processor;
use super::external::{empty_folder, files, lines, lines_of, sha256};
use super::{Release, program};

/// Builds twice and compares; true when nothing differs.
///
/// # Errors
/// What does not build.
pub fn chore(root: &Path) -> Result<bool, String> {
    let release = Release::of(root, None)?;
    let processor = Processor::here().ok_or("packages are not made for this processor")?;
    if !lines_of("git", &["status", "--porcelain"], root)?.is_empty() {
        println!("changes that are not committed are left out");
    }
    let mut sums = Vec::new();
    // Names of different lengths: a path that is in the program would change its size, too.
    for name in ["once", "a-second-time"] {
        let folder = release.scratch.join("reproducible").join(name);
        empty_folder(&folder)?;
        let source = folder.join("source");
        let from = root.display().to_string();
        let to = source.display().to_string();
        lines_of("git", &["clone", "--quiet", "--no-hardlinks", &from, &to], root)?;
        let built = program::build(&release, processor, &source, &folder.join("build"))?;
        let packages = folder.join("dist");
        let mut pack = Command::new(std::env::current_exe().map_err(|error| error.to_string())?);
        pack.arg("dist").arg("--program").arg(&built.path).arg("--into").arg(&packages);
        lines(pack)?;
        let mut found = vec![("the program".to_string(), sha256(&built.path)?)];
        for name in files(&packages)? {
            found.push((name.clone(), sha256(&packages.join(name))?));
        }
        sums.push(found);
    }
    let (mut passed, mut failed) = (0, 0);
    for (one, other) in sums[0].iter().zip(&sums[1]) {
        if one == other {
            passed += 1;
            println!("equal: {} {}", one.1, one.0);
        } else {
            failed += 1;
            println!("failed: {}: {} and {}", one.0, one.1, other.1);
        }
    }
    failed += u64::from(sums[0].len() != sums[1].len());
    println!("{passed} passed, {failed} failed, 0 skipped");
    Ok(failed == 0)
}
