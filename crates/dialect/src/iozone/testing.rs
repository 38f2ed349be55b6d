//! A world without anything in it, for tests of this dialect.

use iodyno_model::Machine;

use crate::{Loader, PathFacts};

/// Nothing is anywhere.
pub struct Nowhere;

impl Loader for Nowhere {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        match path {
            "nodes" => {
                Ok(b"n1 /mnt/a iozone\nn2 /mnt/b iozone\nn1 /mnt/c iozone own\nn2 /mnt/d iozone /mnt/e/own\n"
                    .to_vec())
            }
            _ => Err("no such file or directory".into()),
        }
    }

    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Ok(Vec::new())
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }

    fn machine(&self) -> Machine {
        Machine { host: "here".into(), kernel: "Linux 6.1".into(), ..Machine::default() }
    }

    fn look(&self, _path: &str) -> Option<PathFacts> {
        None
    }

    fn now_unix_ns(&self) -> u64 {
        0
    }
}
