//! The import arrows between crates, read from their manifests.
//!
//! Cargo enforces whatever the manifests say; this says what they may say. Only what ships counts: a test may import
//! sideways. The crate of test assets is the exception: it may be imported by tests only.

use super::{Tree, Violation};
use toml::Table;

/// Each crate's folder and the folders it may import. A crate that is not listed has no place in the house.
const ARROWS: &[(&str, &[&str])] = &[
    ("reflect", &[]),
    ("model", &["reflect"]),
    ("truth", &["model"]),
    ("trace", &["model"]),
    ("s3", &[]),
    ("simulation", &["model"]),
    ("engine", &["model", "truth", "trace", "s3", "simulation"]),
    ("conformance", &["model", "engine", "s3"]),
    ("report", &["model", "truth", "trace", "simulation"]),
    ("history", &["model", "truth"]),
    ("dialect", &["model", "report", "trace"]),
    ("studio", &["model", "dialect"]),
    ("fuse", &["model"]),
    ("block", &["model"]),
    ("crash", &["model", "simulation", "fuse", "block"]),
    ("recorder", &["model", "trace", "fuse"]),
    (
        "iodyno",
        &[
            "model",
            "truth",
            "trace",
            "engine",
            "conformance",
            "report",
            "history",
            "dialect",
            "studio",
            "recorder",
            "crash",
            "fuse",
            "simulation",
        ],
    ),
    ("xtask", &[]),
    (TEST_ASSETS, &["model", "truth", "engine", "trace", "recorder", "fuse", "block", "s3"]),
];
/// Fake devices and the like, which no shipped crate may carry.
const TEST_ASSETS: &str = "testbed";

const ARROW_HINT: &str = "the arrows are in ARCHITECTURE.md: move the code to where it may import what it needs, or \
                          move the shared type into model";
const PLACE_HINT: &str =
    "give the crate its place: a line in crates/xtask/src/tidy/arrows.rs and in ARCHITECTURE.md";
const LINTS_HINT: &str =
    "add `[lints]` with `workspace = true`, which is what denies unsafe code outside the engine";

struct Manifest {
    folder: String,
    path: String,
    text: String,
    table: Table,
}

pub fn check(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut manifests = Vec::new();
    for (path, text) in &tree.files {
        let Some(folder) = path.strip_prefix("crates/").and_then(|rest| rest.strip_suffix("/Cargo.toml"))
        else {
            continue;
        };
        match text.parse::<Table>() {
            Ok(table) => {
                manifests.push(Manifest {
                    folder: folder.into(),
                    path: path.clone(),
                    text: text.clone(),
                    table,
                });
            }
            Err(error) => {
                violations.push(Violation::new(
                    path,
                    1,
                    format!("not TOML: {}", error.message()),
                    ARROW_HINT,
                ));
            }
        }
    }
    violations.extend(manifests.iter().flat_map(|manifest| judge(manifest, &manifests)));
    violations
}

fn judge(manifest: &Manifest, all: &[Manifest]) -> Vec<Violation> {
    let Some((_, allowed)) = ARROWS.iter().find(|(folder, _)| *folder == manifest.folder) else {
        let message = format!("the crate `{}` is not in the table of arrows", manifest.folder);
        return vec![Violation::new(&manifest.path, 1, message, PLACE_HINT)];
    };
    let mut violations = Vec::new();
    if !inherits_lints(&manifest.table) {
        violations.push(Violation::new(
            &manifest.path,
            1,
            "does not inherit the workspace's lints",
            LINTS_HINT,
        ));
    }
    for (name, package) in shipped_dependencies(&manifest.table) {
        let Some(folder) = folder_of(&package, all) else { continue };
        if !allowed.contains(&folder.as_str()) {
            let line = line_of_key(&manifest.text, &name);
            let message = format!("{} must not import {folder}", manifest.folder);
            violations.push(Violation::new(&manifest.path, line, message, ARROW_HINT));
        }
    }
    violations
}

fn inherits_lints(manifest: &Table) -> bool {
    let lints = manifest.get("lints").and_then(|lints| lints.get("workspace"));
    lints.and_then(toml::Value::as_bool).unwrap_or(false)
}

/// `(key, package)` of everything that is built into what ships, for whichever target.
fn shipped_dependencies(manifest: &Table) -> Vec<(String, String)> {
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let tables = targets.into_iter().flatten().filter_map(|(_, table)| table.as_table()).chain([manifest]);
    let kinds = tables.flat_map(|table| ["dependencies", "build-dependencies"].map(|kind| table.get(kind)));
    let entries = kinds.flatten().filter_map(toml::Value::as_table).flatten();
    let package = |(key, value): (&String, &toml::Value)| {
        let renamed = value.get("package").and_then(toml::Value::as_str);
        (key.clone(), renamed.unwrap_or(key).to_string())
    };
    entries.map(package).collect()
}

/// The folder of one of our own packages.
fn folder_of(package: &str, all: &[Manifest]) -> Option<String> {
    let name = |manifest: &Manifest| Some(manifest.table.get("package")?.get("name")?.as_str()? == package);
    all.iter().find(|manifest| name(manifest) == Some(true)).map(|manifest| manifest.folder.clone())
}

/// Where a key is written; 1 when it cannot be found.
fn line_of_key(text: &str, key: &str) -> usize {
    let starts =
        |line: &str| line.trim_start().starts_with(key) || line.contains(&format!("dependencies.{key}]"));
    1 + text.lines().position(starts).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{places, planted};

    fn manifest(name: &str, rest: &str) -> String {
        format!("[package]\nname = \"{name}\"\n[lints]\nworkspace = true\n{rest}")
    }

    fn places_of(rest: &str) -> Vec<String> {
        let model = manifest("iodyno-model", "");
        let engine =
            manifest("iodyno-engine", "[dependencies]\niodyno-model.workspace = true\nlibc = \"0.2\"\n");
        let assets = manifest("iodyno-testbed", "");
        let dialect = manifest("iodyno-dialect", rest);
        let files = [
            ("crates/model/Cargo.toml", model.as_str()),
            ("crates/engine/Cargo.toml", &engine),
            ("crates/testbed/Cargo.toml", &assets),
            ("crates/dialect/Cargo.toml", &dialect),
        ];
        places(&check(&planted(&files)))
    }

    #[test]
    fn a_dialect_that_imports_the_engine_is_found_however_it_is_written() {
        let found = ["crates/dialect/Cargo.toml:6"];
        assert_eq!(places_of("[dependencies]\niodyno-engine.workspace = true"), found);
        assert_eq!(
            places_of("[dependencies]\nroom = { package = \"iodyno-engine\", path = \"../engine\" }"),
            found
        );
        assert_eq!(places_of("[target.'cfg(unix)'.dependencies]\niodyno-engine.workspace = true"), found);
        assert_eq!(places_of("\n[dependencies.iodyno-engine]\npath = \"../engine\""), found);
    }

    #[test]
    fn tests_may_import_sideways_and_use_the_assets() {
        let dev = "[dev-dependencies]\niodyno-engine.workspace = true\niodyno-testbed.workspace = true";
        assert_eq!(places_of(dev), Vec::<String>::new());
        assert_eq!(
            places_of("[dependencies]\niodyno-testbed.workspace = true"),
            ["crates/dialect/Cargo.toml:6"]
        );
    }

    #[test]
    fn a_crate_without_a_place_or_without_lints_is_found() {
        let stranger = manifest("iodyno-annex", "");
        let files = [("crates/annex/Cargo.toml", stranger.as_str())];
        assert_eq!(places(&check(&planted(&files))), ["crates/annex/Cargo.toml:1"]);
        let files = [("crates/model/Cargo.toml", "[package]\nname = \"iodyno-model\"\n")];
        assert_eq!(places(&check(&planted(&files))), ["crates/model/Cargo.toml:1"]);
        let files = [("crates/model/Cargo.toml", "[package\n")];
        assert_eq!(places(&check(&planted(&files))), ["crates/model/Cargo.toml:1"]);
    }
}
