//! A small world that lowering may ask: what the comments of a golden case say is there.
//!
//! `# file: PATH LINE|LINE`, `# there: PATH BYTES`, `# ranks: NODE NODE …`, `# also: WORD VALUE`, `# variable: NAME VALUE`.

use iodyno_dialect::{Loader, PathFacts};
use iodyno_model::{Machine, WorldFacts};

/// The world of one case.
#[derive(Default)]
pub struct World {
    lines: Vec<(String, String)>,
}

impl World {
    /// What a case's comments say.
    pub fn of(text: &str) -> World {
        let said = text.lines().filter_map(|line| line.strip_prefix("# ")?.split_once(": "));
        World { lines: said.map(|(key, value)| (key.into(), value.into())).collect() }
    }

    fn said<'a>(&'a self, key: &'a str) -> impl Iterator<Item = &'a str> {
        self.lines.iter().filter(move |(known, _)| known == key).map(|(_, value)| value.as_str())
    }

    fn pair(&self, key: &str, name: &str) -> Option<String> {
        let pairs = self.said(key).filter_map(|pair| pair.split_once(' '));
        pairs.filter(|(known, _)| *known == name).map(|(_, value)| value.to_string()).next()
    }
}

impl Loader for World {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        let lines = self.pair("file", path).ok_or("no such file or directory")?;
        Ok(lines.replace('|', "\n").into_bytes())
    }

    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Ok(Vec::new())
    }

    fn variable(&self, name: &str) -> Option<String> {
        self.pair("variable", name)
    }

    fn machine(&self) -> Machine {
        Machine {
            host: "here".into(),
            kernel: "Linux 6.1.0".into(),
            memory_bytes: 8 << 30,
            ..Machine::default()
        }
    }

    fn look(&self, path: &str) -> Option<PathFacts> {
        let bytes = self.pair("there", path)?.parse().ok()?;
        Some(PathFacts { bytes, readable: true, writable: true, ..PathFacts::default() })
    }

    fn now_unix_ns(&self) -> u64 {
        1_700_000_000_000_000_000
    }

    fn also(&self, word: &str) -> Option<String> {
        self.pair("also", word)
    }

    fn world(&self) -> WorldFacts {
        let Some(nodes) = self.said("ranks").next() else { return WorldFacts::alone("here") };
        let nodes: Vec<u32> = nodes.split(' ').map(|node| node.parse().unwrap()).collect();
        let hosts = (0..=nodes.iter().copied().max().unwrap_or(0)).map(|node| format!("n{node}")).collect();
        WorldFacts { hosts, nodes, library: Some("Open MPI 4.1.4".into()), ..WorldFacts::default() }
    }
}
