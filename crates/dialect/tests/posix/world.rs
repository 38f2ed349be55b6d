//! A small world for posix to look at: two directories, a few rules, and files by their texts.

use std::collections::BTreeMap;

use iodyno_dialect::{Loader, PathFacts, PathKind};
use iodyno_model::{Machine, TargetFacts};

/// Files by name.
#[derive(Default)]
pub struct World {
    /// Their texts.
    pub files: BTreeMap<String, String>,
}

impl World {
    /// The rules of `golden/posix`, and no other file.
    pub fn golden() -> Self {
        let mut world = World::default();
        for name in ["rules.toml", "wrong.toml", "known.toml", "load.fio"] {
            let path = super::root().join("golden/posix").join(name);
            let folder = if name == "wrong.toml" { "wrong" } else { "rules" };
            let folder = if matches!(name, "known.toml" | "load.fio") { "other" } else { folder };
            world.files.insert(format!("{folder}/{name}"), std::fs::read_to_string(path).unwrap());
        }
        world
    }
}

impl Loader for World {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.files
            .get(path)
            .map(|text| text.clone().into_bytes())
            .ok_or_else(|| "no such file or directory".into())
    }
    fn list(&mut self, path: &str) -> Result<Vec<String>, String> {
        let names =
            self.files.keys().filter_map(|name| name.strip_prefix(path)?.strip_prefix('/').map(String::from));
        let names: Vec<_> = names.collect();
        if names.is_empty() { Err("no such file or directory".into()) } else { Ok(names) }
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Err("nothing is read here".into())
    }
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
    fn machine(&self) -> Machine {
        Machine { host: "here".into(), ..Machine::default() }
    }
    fn look(&self, path: &str) -> Option<PathFacts> {
        let (kind, file_system) = match path {
            "dir" => (PathKind::Directory, "ext4"),
            "dir2" | "ro" => (PathKind::Directory, "tmpfs"),
            "file" => (PathKind::File, "ext4"),
            _ => return None,
        };
        let target = TargetFacts { file_system: Some(file_system.into()), ..TargetFacts::default() };
        Some(PathFacts { kind, writable: path != "ro", target, ..PathFacts::default() })
    }
    fn now_unix_ns(&self) -> u64 {
        1_795_287_492_000_000_000
    }
}
