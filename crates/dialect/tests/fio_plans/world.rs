//! A small world that lowering may ask: one job file, and what its comments say is there.

use iodyno_dialect::{Loader, PathFacts, PathKind};
use iodyno_model::Machine;

/// The world of one case.
pub struct World {
    name: String,
    text: String,
    there: Vec<(String, PathFacts)>,
    files: Vec<(String, String)>,
}

impl World {
    /// A job file, and what it says is there: `# there: PATH KIND BYTES`, `# file: PATH LINE|LINE`.
    pub fn of(name: &str, text: &str) -> World {
        let said = text.lines().filter_map(|line| line.strip_prefix("# there: ")).map(|line| {
            let mut words = line.split_whitespace();
            let path = words.next().unwrap().to_string();
            let kind = match words.next().unwrap() {
                "device" => PathKind::BlockDevice,
                "directory" => PathKind::Directory,
                "character" => PathKind::CharacterDevice,
                "pipe" => PathKind::Pipe,
                _ => PathKind::File,
            };
            let bytes = words.next().map_or(0, |bytes| bytes.parse().unwrap());
            (path, PathFacts { kind, bytes, readable: true, writable: true, ..PathFacts::default() })
        });
        let files = text.lines().filter_map(|line| line.strip_prefix("# file: ")?.split_once(' '));
        let files = files.map(|(path, lines)| (path.to_string(), lines.replace('|', "\n"))).collect();
        World { name: name.into(), text: text.into(), there: said.collect(), files }
    }

    /// The same world with another job file in it.
    pub fn holding(self, text: &str) -> World {
        World { text: text.into(), ..self }
    }
}

impl Loader for World {
    fn read(&mut self, path: &str) -> Result<Vec<u8>, String> {
        let file = self.files.iter().find(|(name, _)| name == path).map(|(_, text)| text);
        match file.or((path == self.name).then_some(&self.text)) {
            Some(text) => Ok(text.clone().into_bytes()),
            None => Err("no such file or directory".into()),
        }
    }

    fn standard_input(&mut self) -> Result<Vec<u8>, String> {
        Ok(self.text.clone().into_bytes())
    }

    fn variable(&self, _name: &str) -> Option<String> {
        None
    }

    fn machine(&self) -> Machine {
        Machine { cpus: 4, memory_bytes: 8 << 30, ..Machine::default() }
    }

    fn look(&self, path: &str) -> Option<PathFacts> {
        self.there.iter().find(|(there, _)| there == path).map(|(_, facts)| facts.clone())
    }

    fn now_unix_ns(&self) -> u64 {
        1_700_000_000_000_000_000
    }
}

/// The words of a line, as a shell splits them where there are double quotes.
pub fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted, mut any) = (Vec::new(), String::new(), false, false);
    for letter in line.chars() {
        match letter {
            '"' => (quoted, any) = (!quoted, true),
            ' ' if !quoted => {
                if any {
                    words.push(std::mem::take(&mut word));
                }
                any = false;
            }
            letter => {
                word.push(letter);
                any = true;
            }
        }
    }
    if any {
        words.push(word);
    }
    words
}
