//! The world that a parser may ask: every file holds the same, and it depends on the input alone what is where.

use std::io::{Cursor, Read};

use iodyno_dialect::{Loader, PathFacts, PathKind};
use iodyno_model::{Machine, WorldFacts};
use iodyno_trace::import::{ImportOptions, Input, import};
use iodyno_trace::{RecordSource, TraceError};

/// Files that are read before the rest are missing: an include of itself comes to its end.
const FILES: u32 = 64;

/// The world of one input.
pub struct World<'a> {
    rest: &'a [u8],
    also: Vec<(String, String)>,
    files: u32,
    ranks: u32,
}

impl<'a> World<'a> {
    /// The arguments in the first line, and the world that the rest makes. Of the arguments, `also:WORD=VALUE` is said to us
    /// instead, and `ranks:N` is how many run it.
    pub fn of(input: &'a [u8]) -> (Vec<String>, World<'a>) {
        let end = input.iter().position(|byte| *byte == b'\n').unwrap_or(input.len());
        let rest = input.get(end + 1..).unwrap_or_default();
        let (mut arguments, mut world) =
            (Vec::new(), World { rest, also: Vec::new(), files: FILES, ranks: 1 });
        for word in String::from_utf8_lossy(&input[..end]).split_whitespace() {
            if let Some(said) = word.strip_prefix("also:") {
                let (word, value) = said.split_once('=').unwrap_or((said, ""));
                world.also.push((word.into(), value.into()));
            } else if let Some(ranks) = word.strip_prefix("ranks:") {
                world.ranks = ranks.parse().unwrap_or(1).clamp(1, 9);
            } else {
                arguments.push(word.into());
            }
        }
        (arguments, world)
    }

    /// What every file holds.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl Loader for World<'_> {
    fn read(&mut self, _path: &str) -> Result<Vec<u8>, String> {
        self.files = self.files.checked_sub(1).ok_or("no such file or directory")?;
        Ok(self.rest.to_vec())
    }

    fn trace(&mut self, path: &str, format: &str) -> Result<Box<dyn RecordSource + Send>, TraceError> {
        let bytes = self.rest.to_vec();
        let open =
            move || -> std::io::Result<Box<dyn Read + Send>> { Ok(Box::new(Cursor::new(bytes.clone()))) };
        let input = Input { name: path.into(), open: Box::new(open), is_seekable: true };
        let format = Some(format.to_string()).filter(|format| !format.is_empty());
        Ok(Box::new(import(&[input], &ImportOptions { format, ..ImportOptions::default() })?))
    }

    fn list(&mut self, _path: &str) -> Result<Vec<String>, String> {
        Ok(vec!["a.toml".into(), "b".into()])
    }

    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Ok(self.rest.to_vec())
    }

    fn variable(&self, name: &str) -> Option<String> {
        (name.len().is_multiple_of(2)).then(|| "7".into())
    }

    fn machine(&self) -> Machine {
        Machine { host: "here".into(), cpus: 2, memory_bytes: 8 << 30, ..Machine::default() }
    }

    fn look(&self, path: &str) -> Option<PathFacts> {
        let kind = match path.len() % 4 {
            0 => return None,
            1 => PathKind::Directory,
            2 if path.starts_with("/dev/") => PathKind::BlockDevice,
            _ => PathKind::File,
        };
        Some(PathFacts { kind, bytes: 1 << 20, readable: true, writable: true, ..PathFacts::default() })
    }

    fn now_unix_ns(&self) -> u64 {
        1_700_000_000_000_000_000
    }

    fn entropy(&mut self) -> Result<[u8; 32], String> {
        Ok([7; 32])
    }

    fn world(&self) -> WorldFacts {
        if self.ranks == 1 {
            return WorldFacts::alone("here");
        }
        let nodes: Vec<u32> = (0..self.ranks).map(|rank| rank % 2).collect();
        let hosts = vec!["n0".into(), "n1".into()];
        WorldFacts { hosts, nodes, library: Some("Open MPI 4.1.4".into()), ..WorldFacts::default() }
    }

    fn also(&self, word: &str) -> Option<String> {
        self.also.iter().find(|(known, _)| known == word).map(|(_, value)| value.clone())
    }

    fn talks(&self) -> bool {
        self.rest.len().is_multiple_of(2)
    }
}
