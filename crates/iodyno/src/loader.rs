//! What dialects may ask of the world: files, standard input, the environment, the machine.

use std::fs;
use std::io::{IsTerminal, Read};
use std::os::unix::fs::FileTypeExt;

use iodyno_dialect::{Loader, PathFacts, PathKind};
use iodyno_engine::world::World;
use iodyno_engine::{clock, witness};
use iodyno_model::{Machine, WorldFacts};

/// The real world.
pub struct Machinery {
    /// Whether the report goes to a terminal that takes colour.
    pub colour: bool,
    /// Words of ours beside an original's command line, with their values.
    pub also: Vec<(String, String)>,
    /// The ranks that will run what is asked for.
    pub world: WorldFacts,
}

impl Machinery {
    /// This machine, in a world.
    pub fn new(world: &World) -> Self {
        let colour = std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
        Machinery { colour, also: Vec::new(), world: world.facts().clone() }
    }
}

impl Loader for Machinery {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        fs::read(path).map_err(|error| plain(&error))
    }

    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).map_err(|error| plain(&error))?;
        Ok(bytes)
    }

    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }

    fn machine(&self) -> Machine {
        witness::machine()
    }

    fn look(&self, path: &str) -> Option<PathFacts> {
        let facts = fs::metadata(path).ok()?;
        let kind = match facts.file_type() {
            kind if kind.is_file() => PathKind::File,
            kind if kind.is_dir() => PathKind::Directory,
            kind if kind.is_block_device() => PathKind::BlockDevice,
            kind if kind.is_char_device() => PathKind::CharacterDevice,
            kind if kind.is_fifo() => PathKind::Pipe,
            _ => PathKind::Other,
        };
        let target = witness::identity::facts(path);
        let bytes = match kind {
            PathKind::BlockDevice => target.size_bytes.unwrap_or(0),
            _ => facts.len(),
        };
        let (readable, writable) = (witness::identity::readable(path), witness::identity::writable(path));
        Some(PathFacts { kind, bytes, readable, writable, target })
    }

    fn now_unix_ns(&self) -> u64 {
        clock::unix_ns()
    }

    fn engine_available(&self, name: &str) -> Result<(), String> {
        let entry = iodyno_engine::engine(name).ok_or_else(|| format!("no engine `{name}`"))?;
        (entry.available)().map_err(|failure| failure.message)
    }

    fn page_bytes(&self) -> u64 {
        witness::page_bytes()
    }

    fn world(&self) -> WorldFacts {
        self.world.clone()
    }

    fn colour(&self) -> bool {
        self.colour
    }

    fn also(&self, word: &str) -> Option<String> {
        self.also.iter().rev().find(|(name, _)| name == word).map(|(_, value)| value.clone())
    }

    fn terminals(&self) -> (bool, bool) {
        (std::io::stdout().is_terminal(), std::io::stderr().is_terminal())
    }
}

/// An error's text without Rust's suffix.
pub fn plain(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_string()
}
