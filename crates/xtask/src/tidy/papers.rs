//! The dependencies and their reasons: one table in the workspace's manifest, one line of reason for each.
//!
//! It does not judge a reason; it sees that there is one, and that none outlived its dependency.

use std::collections::BTreeSet;
use toml::Table;

use super::{Tree, Violation};

const MANIFEST: &str = "Cargo.toml";
const REASONS: &str = "docs/decisions/0001-dependencies.md";

const REASON_HINT: &str = "add a row `| name | why |` to docs/decisions/0001-dependencies.md";
const STALE_HINT: &str = "remove the row, or the dependency is missing from [workspace.dependencies]";
const TABLE_HINT: &str =
    "write `name.workspace = true` and put version and features into the workspace's Cargo.toml";

pub fn check(tree: &Tree) -> Vec<Violation> {
    let Ok(workspace) = tree.text(MANIFEST).parse::<Table>() else { return Vec::new() };
    let table = workspace
        .get("workspace")
        .and_then(|table| table.get("dependencies"))
        .and_then(toml::Value::as_table);
    let foreign = table.into_iter().flatten().filter(|(_, value)| value.get("path").is_none());
    let wanted: BTreeSet<&str> = foreign.map(|(name, _)| name.as_str()).collect();
    let reasons = reasons(tree.text(REASONS));
    let explained: BTreeSet<&str> = reasons.iter().map(|(_, name)| *name).collect();
    let unexplained = wanted.difference(&explained).map(|name| {
        Violation::new(MANIFEST, 1, format!("the dependency `{name}` has no reason"), REASON_HINT)
    });
    let stale = reasons
        .iter()
        .filter(|(_, name)| !wanted.contains(name))
        .map(|(line, name)| Violation::new(REASONS, *line, format!("`{name}` is no dependency"), STALE_HINT));
    unexplained
        .chain(stale)
        .chain(tree.files.iter().flat_map(|(path, text)| own_versions(path, text)))
        .collect()
}

/// `(line, name)` of every row of the table with a reason in it.
fn reasons(text: &str) -> Vec<(usize, &str)> {
    let rows = text.lines().enumerate().filter_map(|(index, line)| {
        let mut cells = line.strip_prefix('|')?.split('|').map(str::trim);
        let (name, why) = (cells.next()?, cells.next()?);
        let is_entry = !why.is_empty() && name != "dependency" && !name.starts_with('-');
        is_entry.then_some((index + 1, name))
    });
    rows.collect()
}

/// Dependencies of a crate that do not come from the workspace's table.
fn own_versions(path: &str, text: &str) -> Vec<Violation> {
    if !(path.starts_with("crates/") && path.ends_with("/Cargo.toml")) {
        return Vec::new();
    }
    let Ok(manifest) = text.parse::<Table>() else { return Vec::new() };
    let targets = manifest.get("target").and_then(toml::Value::as_table);
    let tables = targets.into_iter().flatten().filter_map(|(_, table)| table.as_table()).chain([&manifest]);
    let kinds = ["dependencies", "dev-dependencies", "build-dependencies"];
    let entries = tables.flat_map(|table| kinds.map(|kind| table.get(kind))).flatten();
    let entries = entries.filter_map(toml::Value::as_table).flatten();
    let own =
        entries.filter(|(_, value)| value.get("workspace").and_then(toml::Value::as_bool) != Some(true));
    own.map(|(name, _)| Violation::new(path, 1, format!("`{name}` is not the workspace's"), TABLE_HINT))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::{places, planted};

    const WORKSPACE: &str =
        "[workspace.dependencies]\nlibc = \"0.2\"\niodyno-model = { path = \"crates/model\" }\n";

    #[test]
    fn every_dependency_has_its_reason_and_none_outlives_it() {
        let found = |reasons| places(&check(&planted(&[(MANIFEST, WORKSPACE), (REASONS, reasons)])));
        assert_eq!(found("| dependency | why |\n|---|---|\n| libc | calls |"), Vec::<String>::new());
        assert_eq!(found("| libc | |"), ["Cargo.toml:1"]);
        assert_eq!(found("| libc | calls |\n| nix | gone |"), [format!("{REASONS}:2")]);
    }

    #[test]
    fn a_crate_takes_its_versions_from_the_workspace() {
        let found =
            |manifest| places(&check(&planted(&[("crates/model/Cargo.toml", manifest), (MANIFEST, "")])));
        assert_eq!(found("[dependencies]\nlibc.workspace = true"), Vec::<String>::new());
        assert_eq!(found("[dev-dependencies]\nlibc = \"0.2\""), ["crates/model/Cargo.toml:1"]);
        assert_eq!(
            found("[target.x.dependencies]\nlibc = { version = \"0.2\" }"),
            ["crates/model/Cargo.toml:1"]
        );
    }
}
