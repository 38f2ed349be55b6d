//! A small world for mdtest to look at: one machine, a few directories, one status file.

use iodyno_dialect::{Loader, PathFacts, PathKind};
use iodyno_model::{Machine, TargetFacts};

/// Knows no clock.
pub struct World {
    pub also: Vec<(String, String)>,
}

impl Loader for World {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "reached" => Ok(b"27823".to_vec()),
            "options" => Ok(b"# twice as many\nthreads=8\nsize=8k\nwrite=1\npath=dir\n".to_vec()),
            "odd" => Ok(b"threads=4\nthreds=4\n".to_vec()),
            _ => Err("no such file or directory".into()),
        }
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Err("nothing is read here".into())
    }
    fn variable(&self, name: &str) -> Option<String> {
        (name == "PWD").then(|| "/home/me".into())
    }
    fn machine(&self) -> Machine {
        Machine { host: "here".into(), ..Machine::default() }
    }
    fn look(&self, path: &str) -> Option<PathFacts> {
        let kind = match path {
            "dir" | "a" | "b" | "." => PathKind::Directory,
            "tiny" | "big1" | "big2" => PathKind::File,
            "vdz" => PathKind::BlockDevice,
            _ => return None,
        };
        let target = TargetFacts {
            size_bytes: Some(25_232_932_864),
            free_bytes: Some(25_106_768_200),
            inodes: Some(3_040_870),
            inodes_free: Some(3_040_800),
            ..TargetFacts::default()
        };
        let bytes = if path.starts_with("big") || path == "vdz" { 64 << 20 } else { 0 };
        Some(PathFacts { kind, bytes, writable: true, target, ..PathFacts::default() })
    }
    fn now_unix_ns(&self) -> u64 {
        1_795_287_492_000_000_000
    }
    fn also(&self, word: &str) -> Option<String> {
        self.also.iter().find(|(name, _)| name == word).map(|(_, value)| value.clone())
    }
}
