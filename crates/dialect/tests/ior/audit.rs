//! No option is silently ignored: each one that the table calls done is read somewhere, by its name.

use std::path::Path;

use iodyno_dialect::ior::options::TABLE;
use iodyno_dialect::option::Status;

/// All text of the dialect but its table, without tests.
fn sources(path: &Path) -> String {
    if path.ends_with("options") {
        return String::new();
    }
    if path.is_file() {
        let text = std::fs::read_to_string(path).unwrap_or_default();
        return text.split("#[cfg(test)]").next().unwrap_or_default().to_string();
    }
    let entries = std::fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    entries.map(|path| sources(&path)).collect()
}

#[test]
fn what_is_done_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    // The options that go to a file system's client are read for all programs of the package.
    let text = sources(&folder.join("ior")) + &sources(&folder.join("file_system_hints.rs"));
    assert!(text.len() > 30_000, "the sources are where they were: {}", text.len());
    let done = TABLE.entries.iter().filter(|entry| entry.status == Status::Done).map(|entry| entry.name);
    let silent: Vec<_> = done.filter(|name| !text.contains(&format!("\"{name}\""))).collect();
    assert!(silent.is_empty(), "read nowhere, so silently ignored: {silent:?}");
}
