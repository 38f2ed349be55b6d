//! What a guest's first file system is unpacked from: an archive in cpio's `newc` format, which every kernel reads.

use std::path::Path;

/// Modes of a directory and of a program (`inode(7)`).
const DIRECTORY: u32 = 0o040_755;
const PROGRAM: u32 = 0o100_755;

/// An archive that is being made.
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    count: u32,
}

impl Archive {
    pub fn directory(&mut self, name: &str) {
        self.entry(name, DIRECTORY, &[]);
    }

    pub fn program(&mut self, name: &str, content: &[u8]) {
        self.entry(name, PROGRAM, content);
    }

    /// A file of this machine, under another name.
    pub fn copy(&mut self, name: &str, from: &Path) -> Result<(), String> {
        let content = std::fs::read(from).map_err(|error| format!("{}: {error}", from.display()))?;
        self.program(name, &content);
        Ok(())
    }

    fn entry(&mut self, name: &str, mode: u32, content: &[u8]) {
        self.count += 1;
        let length = name.len() as u32 + 1;
        // Number, mode, owners, links, time, length, devices, the name's length, a sum that is not used.
        let fields = [self.count, mode, 0, 0, 1, 0, content.len() as u32, 0, 0, 0, 0, length, 0];
        self.bytes.extend(b"070701");
        self.bytes.extend(fields.iter().flat_map(|field| format!("{field:08x}").into_bytes()));
        self.bytes.extend(name.as_bytes());
        self.bytes.push(0);
        self.pad();
        self.bytes.extend(content);
        self.pad();
    }

    fn pad(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }

    /// The whole, with its end.
    pub fn done(mut self) -> Vec<u8> {
        self.entry("TRAILER!!!", 0, &[]);
        self.bytes
    }
}
