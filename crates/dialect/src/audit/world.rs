//! The host that measured, as far as a pasted text tells of it: what a command names is there, and it has memory enough.
//!
//! Refuses to look at the machine that it runs on: that is another one. Only files that a command names (job files, scripts)
//! are read here.

use iodyno_model::{Machine, WorldFacts};

use super::{Known, Told};
use crate::{Loader, PathFacts, PathKind};

/// So much memory and so large targets let every command be lowered.
const PLENTY_BYTES: u64 = 1 << 40;

/// Somebody else's host.
pub struct ForeignHost<'a> {
    ranks: u32,
    hosts: u32,
    memory_bytes: u64,
    /// Files and devices that are read.
    read: Vec<String>,
    folders: Vec<String>,
    job_file: Option<String>,
    files: &'a mut dyn Loader,
}

impl<'a> ForeignHost<'a> {
    pub fn new(told: &Told, known: Known, files: &'a mut dyn Loader) -> Self {
        let behind = |start: &str| {
            told.words.iter().filter_map(|word| word.strip_prefix(start)).map(String::from).collect()
        };
        let ranks = told.tasks.or_else(|| launched(&told.launcher)).unwrap_or(1).clamp(1, 1 << 16);
        ForeignHost {
            ranks,
            hosts: told.hosts.unwrap_or(1).clamp(1, ranks),
            memory_bytes: known.memory_bytes.unwrap_or(PLENTY_BYTES),
            read: behind("if="),
            folders: behind("--directory="),
            job_file: told.job_file.clone(),
            files,
        }
    }
}

/// The ranks that a launcher was told to start.
fn launched(words: &[String]) -> Option<u32> {
    let options = ["-np", "-n", "--np", "--ntasks"];
    let follows = words.windows(2).find(|pair| options.contains(&pair[0].as_str()));
    let joined =
        words.iter().find_map(|word| word.strip_prefix("--ntasks=").or_else(|| word.strip_prefix("-n")));
    follows.map(|pair| pair[1].as_str()).or(joined)?.parse().ok()
}

impl Loader for ForeignHost<'_> {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        self.files.read(path)
    }

    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        self.job_file.clone().map(String::into_bytes).ok_or_else(|| "it was not pasted".into())
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }

    /// Always the same: nothing is run by what it draws.
    fn entropy(&mut self) -> Result<[u8; 32], String> {
        Ok([0; 32])
    }

    fn machine(&self) -> Machine {
        Machine { host: "host".into(), cpus: 64, memory_bytes: self.memory_bytes, ..Machine::default() }
    }

    fn look(&self, path: &str) -> Option<PathFacts> {
        let is_character = ["/dev/zero", "/dev/null", "/dev/urandom", "/dev/random"].contains(&path);
        let is_device = path.starts_with("/dev/") && !path.starts_with("/dev/shm");
        let (kind, bytes) = match path {
            _ if is_character => (PathKind::CharacterDevice, 0),
            _ if is_device => (PathKind::BlockDevice, PLENTY_BYTES),
            _ if self.read.iter().any(|read| read == path) => (PathKind::File, PLENTY_BYTES),
            _ if self.folders.iter().any(|folder| folder == path) => (PathKind::Directory, 0),
            _ => return None,
        };
        Some(PathFacts { kind, bytes, readable: true, writable: true, ..PathFacts::default() })
    }

    fn now_unix_ns(&self) -> u64 {
        0
    }

    fn world(&self) -> WorldFacts {
        if self.ranks == 1 {
            return WorldFacts::alone("host");
        }
        let hosts = (0..self.hosts).map(|host| format!("host{host}")).collect();
        let nodes = (0..self.ranks).map(|rank| rank * self.hosts / self.ranks).collect();
        WorldFacts { hosts, nodes, library: Some("MPI".into()), ..WorldFacts::default() }
    }
}
