//! `cargo xtask against publish`: every crate that is shipped, packed as for a registry, and the program installed from those packages.
//!
//! It uploads nothing. A crate whose package lacks a file, or names a sibling without its version, fails here and not in front of
//! everybody.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use super::Release;
use super::external::{empty_folder, lines_of, lines_within};

const LIMIT: Duration = Duration::from_secs(60 * 60);
/// What a registry asks for, or shows.
const ASKED: [&str; 4] = ["license", "description", "repository", "readme"];

/// Packs and installs; true when all went well.
///
/// # Errors
/// cargo is not to be had, or says nothing of the workspace.
pub fn chore(root: &Path) -> Result<bool, String> {
    let release = Release::of(root, None)?;
    let shipped = shipped(root)?;
    let (mut passed, mut failed) = (0, 0);
    for package in &shipped {
        let lacking: Vec<&str> = ASKED.iter().copied().filter(|field| package[*field].is_null()).collect();
        if lacking.is_empty() {
            passed += 1;
        } else {
            failed += 1;
            println!("failed: {} lacks {}", package["name"], lacking.join(", "));
        }
    }
    let names: Vec<&str> = shipped.iter().filter_map(|package| package["name"].as_str()).collect();
    for (what, step) in
        [("pack", pack(root, &names)), ("install from the packages", install(&release, &names))]
    {
        match step {
            Ok(()) => passed += 1,
            Err(why) => {
                failed += 1;
                println!("failed: {what}: {why}");
                break;
            }
        }
    }
    println!("{passed} passed, {failed} failed, 0 skipped");
    Ok(failed == 0)
}

/// The crates that go to a registry: those that a manifest does not keep back.
fn shipped(root: &Path) -> Result<Vec<Value>, String> {
    let words = ["metadata", "--format-version", "1", "--no-deps", "--locked"];
    let said = lines_of("cargo", &words, root)?;
    let said = said.iter().find(|line| line.starts_with('{')).ok_or("cargo metadata says nothing")?;
    let facts: Value = serde_json::from_str(said).map_err(|error| format!("cargo metadata: {error}"))?;
    let packages = facts["packages"].as_array().cloned().unwrap_or_default();
    let is_kept_back = |package: &Value| package["publish"].as_array().is_some_and(Vec::is_empty);
    Ok(packages.into_iter().filter(|package| !is_kept_back(package)).collect())
}

/// Writes the `.crate` files; that they build is seen when they are installed.
fn pack(root: &Path, names: &[&str]) -> Result<(), String> {
    let mut command = Command::new("cargo");
    command.args(["package", "--locked", "--no-verify", "--allow-dirty"]).current_dir(root);
    names.iter().for_each(|name| {
        command.args(["--package", name]);
    });
    lines_within(command, LIMIT).map(|_| ())
}

/// Unpacks them beside each other, and installs the program from there, each crate from its package.
fn install(release: &Release, names: &[&str]) -> Result<(), String> {
    let (folder, packages) = (release.scratch.join("crates"), release.root.join("target/package"));
    empty_folder(&folder)?;
    let mut command = Command::new("cargo");
    command.args(["install", "--debug", "--locked", "--offline", "--path"]);
    command.arg(folder.join(format!("iodyno-{}", release.version)));
    command.arg("--root").arg(release.scratch.join("installed"));
    command.env("CARGO_TARGET_DIR", release.scratch.join("install"));
    for name in names {
        let whole = format!("{name}-{}", release.version);
        let packed = packages.join(format!("{whole}.crate")).display().to_string();
        lines_of("tar", &["-xzf", &packed], &folder)?;
        if *name != "iodyno" {
            let place = folder.join(&whole).display().to_string();
            command.args(["--config", &format!("patch.crates-io.{name}.path={place:?}")]);
        }
    }
    lines_within(command, LIMIT)?;
    let mut program = Command::new(release.scratch.join("installed/bin/iodyno"));
    program.arg("--version");
    let said = lines_within(program, LIMIT)?;
    let expected = format!("iodyno {}", release.version);
    if said.first() == Some(&expected) { Ok(()) } else { Err(format!("it says {said:?}")) }
}
