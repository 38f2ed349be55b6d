//! A small world of files and devices for dialects to look at.

use iodyno_dialect::{Loader, PathFacts, PathKind};
use iodyno_model::Machine;

/// Knows a dozen paths and no clock.
pub struct World;

impl Loader for World {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "load.txt" => Ok(include_bytes!("../../../../suites/dbench/short.txt").to_vec()),
            "odd.txt" => Ok(b"# odd\nClose 1 NT_STATUS_OK\nFrob 1 NT_STATUS_OK\nReadX 1 0\n".to_vec()),
            "bad.txt" => Ok(b"Close 1 NT_STATUS_OK\nUnlink \"\\..\\x\" 1 NT_STATUS_OK\n".to_vec()),
            "test.yaml" => {
                Ok(b"top: dir\noperation: read\nfiles: 50\nfile-size: 4\nverify-read: false\n".to_vec())
            }
            "bad.yaml" => Ok(b"top: dir\nfiles: few\nspeed: 9\n".to_vec()),
            "empty.txt" => Ok(Vec::new()),
            _ => Err("nothing is read here".into()),
        }
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Err("nothing is read here".into())
    }
    fn variable(&self, _name: &str) -> Option<String> {
        None
    }
    fn machine(&self) -> Machine {
        Machine { memory_bytes: 16 << 30, ..Machine::default() }
    }
    fn look(&self, path: &str) -> Option<PathFacts> {
        let (kind, bytes) = match path {
            "in.img" | "old.img" => (PathKind::File, 1 << 20),
            "tiny" => (PathKind::File, 5),
            "dir" | "dir/" => (PathKind::Directory, 0),
            "/dev/sdz" | "/dev/sdy" => (PathKind::BlockDevice, 1 << 40),
            "/dev/zero" | "/dev/null" | "/dev/urandom" => (PathKind::CharacterDevice, 0),
            _ => return None,
        };
        Some(PathFacts { kind, bytes, writable: true, ..PathFacts::default() })
    }
    fn now_unix_ns(&self) -> u64 {
        0
    }
}
