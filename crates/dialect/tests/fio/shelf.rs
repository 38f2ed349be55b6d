//! A small world: files held in memory, two processors, one variable. Nothing is read from the disk.

use iodyno_dialect::{Loader, PathFacts};
use iodyno_model::{Machine, WorldFacts};

/// The files, by name.
pub struct Shelf(Vec<(String, Vec<u8>)>, Option<WorldFacts>);

impl Shelf {
    /// A world with these files.
    pub fn of(files: &[(&str, &str)]) -> Self {
        Shelf(files.iter().map(|(name, text)| (name.to_string(), text.as_bytes().to_vec())).collect(), None)
    }

    /// The same under a launcher.
    pub fn within(self, world: WorldFacts) -> Self {
        Shelf(self.0, Some(world))
    }

    /// A world with one file.
    pub fn bytes(name: &str, bytes: &[u8]) -> Self {
        Shelf(vec![(name.to_string(), bytes.to_vec())], None)
    }
}

impl Loader for Shelf {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        let file = self.0.iter().find(|(name, _)| name == path);
        file.map(|(_, bytes)| bytes.clone()).ok_or_else(|| "no such file or directory".to_string())
    }
    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        self.read("-")
    }
    fn variable(&self, name: &str) -> Option<String> {
        (name == "HOME").then(|| "/people/ada".to_string())
    }
    fn machine(&self) -> Machine {
        Machine { cpus: 2, memory_bytes: 4 << 30, ..Machine::default() }
    }
    fn look(&self, path: &str) -> Option<PathFacts> {
        self.0.iter().any(|(name, _)| name == path).then(PathFacts::default)
    }
    fn world(&self) -> WorldFacts {
        self.1.clone().unwrap_or_else(|| WorldFacts::alone("here"))
    }
    fn now_unix_ns(&self) -> u64 {
        0
    }
}
