//! Lists the files of the conformance suites, so that a new one is embedded without being named anywhere.
//!
//! Reads nothing but names; what is in the files is read by `src/posix`.

use std::fmt::Write as _;
use std::path::Path;
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let suites = Path::new(&env::var("CARGO_MANIFEST_DIR").unwrap_or_default()).join("suites");
    let mut text = String::new();
    for (suite, name) in [("posix", "POSIX"), ("s3", "S3")] {
        let folder = suites.join(suite);
        let (rules, profiles) = (list(&folder)?, list(&folder.join("profiles"))?);
        let _ = writeln!(
            text,
            "/// The suite of that name.\npub const {name}: BuiltInSuite = BuiltInSuite {{ name: {suite:?}, rules: &[{rules}], profiles: \
             &[{profiles}] }};"
        );
    }
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("suite.rs"), text)
}

/// The files of a directory, in the order of their names, each with what is in it.
fn list(folder: &Path) -> io::Result<String> {
    println!("cargo::rerun-if-changed={}", folder.display());
    let paths: Result<Vec<_>, _> =
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect();
    let mut paths = paths?;
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "toml"));
    paths.sort();
    let mut text = String::new();
    for path in paths {
        println!("cargo::rerun-if-changed={}", path.display());
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let _ = write!(text, "({name:?}, include_str!({:?})),", path.display().to_string());
    }
    Ok(text)
}
