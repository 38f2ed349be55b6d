//! One operation of an exercise, as data and as a line of a script.
//!
//! A line says everything: where, how much, which bytes, and through which engine. So what a random run did can be
//! written down, done again, and shortened. It refuses what it does not know rather than skip it.

use std::fmt;

use iodyno_engine::random::{GOLDEN, mix};

/// What is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OpKind {
    Read,
    Write,
    MappedRead,
    MappedWrite,
    DirectRead,
    DirectWrite,
    Append,
    Truncate,
    Fallocate,
    KeepSize,
    PunchHole,
    ZeroRange,
    ZeroKeepSize,
    CollapseRange,
    InsertRange,
    Copy,
    Clone,
    Dedupe,
    Sendfile,
    Splice,
    Fsync,
    Fdatasync,
    SyncRange,
    Reopen,
    DropCache,
    Readahead,
    Seek,
    Check,
}

/// Which numbers a line has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LineShape {
    /// Where it begins and how many bytes.
    Range,
    /// How many bytes, or which size.
    Bytes,
    /// Where from, where to, how many bytes.
    Pair,
    Offset,
    /// None.
    Bare,
}

use OpKind::*;

/// All kinds with their names, as weights and scripts use them.
pub const KINDS: [(OpKind, &str, LineShape); 28] = [
    (Read, "read", LineShape::Range),
    (Write, "write", LineShape::Range),
    (MappedRead, "mapped_read", LineShape::Range),
    (MappedWrite, "mapped_write", LineShape::Range),
    (DirectRead, "direct_read", LineShape::Range),
    (DirectWrite, "direct_write", LineShape::Range),
    (Append, "append", LineShape::Bytes),
    (Truncate, "truncate", LineShape::Bytes),
    (Fallocate, "fallocate", LineShape::Range),
    (KeepSize, "fallocate_keep_size", LineShape::Range),
    (PunchHole, "punch_hole", LineShape::Range),
    (ZeroRange, "zero_range", LineShape::Range),
    (ZeroKeepSize, "zero_range_keep_size", LineShape::Range),
    (CollapseRange, "collapse_range", LineShape::Range),
    (InsertRange, "insert_range", LineShape::Range),
    (Copy, "copy_file_range", LineShape::Pair),
    (Clone, "clone_range", LineShape::Pair),
    (Dedupe, "dedupe_range", LineShape::Pair),
    (Sendfile, "sendfile", LineShape::Pair),
    (Splice, "splice", LineShape::Pair),
    (Fsync, "fsync", LineShape::Bare),
    (Fdatasync, "fdatasync", LineShape::Bare),
    (SyncRange, "sync_file_range", LineShape::Range),
    (Reopen, "reopen", LineShape::Bare),
    (DropCache, "drop_cache", LineShape::Bare),
    (Readahead, "readahead", LineShape::Range),
    (Seek, "seek", LineShape::Offset),
    (Check, "check", LineShape::Bare),
];

impl OpKind {
    /// Its place in [`KINDS`].
    pub fn index(self) -> usize {
        self as usize
    }

    pub fn name(self) -> &'static str {
        KINDS[self.index()].1
    }

    /// The numbers it has.
    pub fn shape(self) -> LineShape {
        KINDS[self.index()].2
    }

    /// The kind of that name.
    pub fn of(name: &str) -> Option<OpKind> {
        KINDS.iter().find(|(_, known, _)| *known == name).map(|(kind, ..)| *kind)
    }

    /// Whether an engine carries it out.
    pub fn has_way(self) -> bool {
        matches!(self, Read | Write | DirectRead | DirectWrite)
    }

    /// Whether it writes bytes made from a seed.
    pub fn has_seed(self) -> bool {
        matches!(self, Write | MappedWrite | DirectWrite | Append)
    }

    /// Whether it goes past the page cache.
    pub fn is_direct(self) -> bool {
        matches!(self, DirectRead | DirectWrite)
    }

    /// Whether it can change what is in a file, or how long it is.
    pub fn changes(self) -> bool {
        let only_looks = matches!(self, Read | MappedRead | DirectRead | Fsync | Fdatasync | SyncRange);
        !only_looks && !matches!(self, Reopen | DropCache | Readahead | Seek | Check | Dedupe | KeepSize)
    }
}

/// Through which engine reads and writes go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Way {
    /// One positioned call.
    #[default]
    Psync,
    /// One positioned call with several pieces of memory.
    Pvsync,
    /// A mapping.
    Mmap,
    Libaio,
    Uring,
    Posixaio,
}

/// All ways with the names of their engines.
pub const WAYS: [(Way, &str); 6] = [
    (Way::Psync, "psync"),
    (Way::Pvsync, "pvsync"),
    (Way::Mmap, "mmap"),
    (Way::Libaio, "libaio"),
    (Way::Uring, "io_uring"),
    (Way::Posixaio, "posixaio"),
];

impl Way {
    /// The engine's name.
    pub fn name(self) -> &'static str {
        WAYS[self as usize].1
    }

    pub fn of(name: &str) -> Option<Way> {
        WAYS.iter().find(|(_, known)| *known == name).map(|(way, _)| *way)
    }

    /// Whether it takes an operation and is asked for the outcome later.
    pub fn is_asynchronous(self) -> bool {
        matches!(self, Way::Libaio | Way::Uring | Way::Posixaio)
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// What is done.
    pub kind: OpKind,
    /// On which file: 0 or 1.
    pub file: usize,
    /// Where, in bytes; of copies: where from.
    pub offset: u64,
    /// How many bytes; of truncate: the new size.
    pub bytes: u64,
    /// Of copies: to which file.
    pub to: usize,
    /// Of copies: where to, in bytes.
    pub target: u64,
    /// What the bytes written are made from.
    pub seed: u64,
    /// Through which engine.
    pub way: Way,
    /// Of mapped writes: followed by msync.
    pub sync: bool,
    /// The next operation does not wait for this one.
    pub beside: bool,
}

impl Operation {
    /// An operation on the first file.
    pub fn new(kind: OpKind, offset: u64, bytes: u64) -> Self {
        let way = Way::Psync;
        Operation { kind, file: 0, offset, bytes, to: 0, target: 0, seed: 0, way, sync: false, beside: false }
    }

    /// Where its range ends; of copies: the range it reads.
    pub fn end(&self) -> u64 {
        self.offset.saturating_add(self.bytes)
    }

    /// The file and the range that it changes, or may: up to its end.
    pub fn reach(&self, size: u64) -> (usize, u64, u64) {
        match self.kind {
            Copy | Clone | Dedupe | Sendfile | Splice => (self.to, self.target, self.target + self.bytes),
            Append => (self.file, size, size + self.bytes),
            Truncate => (self.file, size.min(self.bytes), size.max(self.bytes)),
            CollapseRange | InsertRange => (self.file, self.offset, size + self.bytes),
            _ => (self.file, self.offset, self.end()),
        }
    }

    /// Reads a line of a script.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(line: &str) -> Result<Operation, String> {
        let mut words = line.split_whitespace().peekable();
        let beside = words.next_if_eq(&"&").is_some();
        let name = words.next().unwrap_or("");
        let kind = OpKind::of(name).ok_or_else(|| {
            let near = nearest(name, KINDS.iter().map(|(_, name, _)| *name));
            format!("`{name}` is no operation of an exercise{near}")
        })?;
        let mut operation = Operation { beside, ..Operation::new(kind, 0, 0) };
        let mut numbers = Vec::new();
        for word in words {
            match word.split_once('=') {
                Some((name, value)) => operation.set(name, value)?,
                None if word == "msync" => operation.sync = true,
                None => numbers.push(number(word)?),
            }
        }
        operation.place(&numbers)?;
        Ok(operation)
    }

    fn set(&mut self, name: &str, value: &str) -> Result<(), String> {
        match name {
            "seed" => self.seed = number(value)?,
            "on" => self.file = file(value)?,
            "to" => self.to = file(value)?,
            "via" => {
                let near = || nearest(value, WAYS.iter().map(|(_, name)| *name));
                self.way =
                    Way::of(value).ok_or_else(|| format!("`via={value}`: no such engine here{}", near()))?;
            }
            _ => return Err(format!("`{name}=`: lines know seed=, via=, on= and to=")),
        }
        Ok(())
    }

    fn place(&mut self, numbers: &[u64]) -> Result<(), String> {
        match (self.kind.shape(), numbers) {
            (LineShape::Range, [offset, bytes]) => (self.offset, self.bytes) = (*offset, *bytes),
            (LineShape::Bytes, [bytes]) => self.bytes = *bytes,
            (LineShape::Offset, [offset]) => self.offset = *offset,
            (LineShape::Pair, [offset, target, bytes]) => {
                (self.offset, self.target, self.bytes) = (*offset, *target, *bytes);
            }
            (LineShape::Bare, []) => {}
            (shape, _) => return Err(format!("`{}` wants {}", self.kind.name(), wants(shape))),
        }
        Ok(())
    }
}

/// A line of a script, or all of it but comments and empty lines.
///
/// # Errors
/// The first line that is wrong, with its number.
pub fn parse_all(lines: &[String]) -> Result<Vec<Operation>, String> {
    let is_one = |(_, line): &(usize, &String)| !line.trim().is_empty() && !line.trim().starts_with('#');
    let parse = |(index, line): (usize, &String)| {
        Operation::parse(line).map_err(|wrong| format!("line {}: {wrong}", index + 1))
    };
    lines.iter().enumerate().filter(is_one).map(parse).collect()
}

impl fmt::Display for Operation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.beside { "& " } else { "" })?;
        f.write_str(self.kind.name())?;
        match self.kind.shape() {
            LineShape::Range => write!(f, " {} {}", self.offset, self.bytes)?,
            LineShape::Bytes => write!(f, " {}", self.bytes)?,
            LineShape::Offset => write!(f, " {}", self.offset)?,
            LineShape::Pair => write!(f, " {} {} {}", self.offset, self.target, self.bytes)?,
            LineShape::Bare => {}
        }
        if self.kind.has_seed() {
            write!(f, " seed={}", self.seed)?;
        }
        if self.kind.has_way() {
            write!(f, " via={}", self.way.name())?;
        }
        if self.file == 1 {
            f.write_str(" on=b")?;
        }
        if self.kind.shape() == LineShape::Pair && self.to == 1 {
            f.write_str(" to=b")?;
        }
        f.write_str(if self.sync { " msync" } else { "" })
    }
}

/// The bytes that a seed stands for: none of them is zero, so that a hole is never mistaken for data.
pub fn fill(buffer: &mut [u8], seed: u64) {
    let start = seed.wrapping_mul(GOLDEN);
    for (index, piece) in buffer.chunks_mut(8).enumerate() {
        let word = mix(start.wrapping_add(index as u64)) | 0x8080_8080_8080_8080;
        piece.copy_from_slice(&word.to_le_bytes()[..piece.len()]);
    }
}

fn wants(shape: LineShape) -> &'static str {
    match shape {
        LineShape::Range => "an offset and a number of bytes",
        LineShape::Bytes => "a number of bytes",
        LineShape::Offset => "an offset",
        LineShape::Pair => "where from, where to, and a number of bytes",
        LineShape::Bare => "no number",
    }
}

fn number(word: &str) -> Result<u64, String> {
    word.parse().map_err(|_| format!("`{word}` is no whole number"))
}

fn file(word: &str) -> Result<usize, String> {
    match word {
        "a" => Ok(0),
        "b" => Ok(1),
        _ => Err(format!("`{word}`: the files are a and b")),
    }
}

/// A hint at the nearest of some names.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> String {
    let best = names.map(|name| (strsim::jaro_winkler(word, name), name)).max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|(score, _)| *score > 0.8).map_or(String::new(), |(_, name)| format!(" (`{name}`?)"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_as_they_were() {
        for line in [
            "write 4096 512 seed=7 via=io_uring",
            "& direct_read 0 4096 via=libaio on=b",
            "truncate 100",
            "append 5 seed=3",
            "clone_range 0 4096 8192 to=b",
            "mapped_write 1 2 seed=9 msync",
            "seek 17",
            "fsync on=b",
        ] {
            assert_eq!(Operation::parse(line).unwrap().to_string(), line);
        }
        KINDS.iter().enumerate().for_each(|(index, (kind, ..))| assert_eq!(kind.index(), index));
        WAYS.iter().enumerate().for_each(|(index, (way, _))| assert_eq!(*way as usize, index));
    }

    #[test]
    fn what_a_line_lacks_is_said() {
        let wrong = |line: &str| Operation::parse(line).unwrap_err();
        assert_eq!(wrong("wirte 1 2"), "`wirte` is no operation of an exercise (`write`?)");
        assert_eq!(wrong("write 1"), "`write` wants an offset and a number of bytes");
        assert_eq!(wrong("fsync 1"), "`fsync` wants no number");
        assert!(wrong("write 1 2 via=uring").starts_with("`via=uring`: no such engine"));
        let lines = ["# first".to_string(), "read 0 x".into()];
        assert_eq!(parse_all(&lines).unwrap_err(), "line 2: `x` is no whole number");
    }

    #[test]
    fn bytes_of_a_seed_are_never_zero() {
        let (mut one, mut other) = ([0; 100], [0; 100]);
        fill(&mut one, 1);
        fill(&mut other, 2);
        assert!(one.iter().all(|byte| *byte != 0) && one != other);
    }
}
