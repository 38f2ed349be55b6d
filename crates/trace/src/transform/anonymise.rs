//! A trace that can be shown to others: names and digests become numbers that only the key explains.

use sha3::{Digest, Sha3_256};

use crate::transform::{Adapter, Source, Transform};
use crate::{Batch, RecordSource, RecordedContent, Tables, TraceError, TraceHeader};

/// What becomes of a path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NameStyle {
    /// One number for all of it.
    #[default]
    Whole,
    /// A number for each of its parts, so that it is seen which files lie in one directory, and how deep.
    Parts,
}

/// Replaces names of files and commands, and digests of content. With the same key the same becomes the same, in other
/// traces too; lengths are not seen. Notes are left out, because they may name files. Numbers of processes and devices,
/// sizes, offsets and times stay as they are.
pub struct Anonymise {
    key: [u8; 32],
    style: NameStyle,
    tables: Tables,
}

impl Anonymise {
    pub fn of(source: Source, key: [u8; 32], style: NameStyle) -> impl RecordSource + Send {
        Adapter::new(source, Anonymise { key, style, tables: Tables::default() })
    }

    /// The key in any bytes that a user keeps.
    pub fn key(secret: &[u8]) -> [u8; 32] {
        Sha3_256::digest(secret).into()
    }

    /// A number of 256 bits for a thing of a kind. SHA-3 with the key in front is a MAC (Keccak has no length extension).
    fn number(&self, kind: u8, parts: [&[u8]; 2]) -> [u8; 32] {
        let mut hash = Sha3_256::new();
        hash.update(self.key);
        hash.update([kind]);
        parts.iter().for_each(|part| hash.update(part));
        hash.finalize().into()
    }

    fn file(&self, name: &str) -> String {
        match self.style {
            NameStyle::Whole => hexadecimal(&self.number(b'f', [&[], name.as_bytes()])),
            NameStyle::Parts => {
                let mut before = [0; 32];
                let parts = name.split('/').map(|part| match part {
                    "" | "." | ".." => part.to_string(),
                    part => {
                        // The same name in another directory is another number.
                        before = self.number(b'p', [&before, part.as_bytes()]);
                        hexadecimal(&before)
                    }
                });
                parts.collect::<Vec<_>>().join("/")
            }
        }
    }

    fn follow(&mut self, tables: &Tables, from: usize) {
        self.tables.files.truncate(from);
        for file in &tables.files[from.min(tables.files.len())..] {
            let mut file = file.clone();
            file.name = self.file(&file.name);
            self.tables.files.push(file);
        }
        for thread in tables.threads.iter().skip(self.tables.threads.len()) {
            let mut thread = thread.clone();
            if !thread.name.is_empty() {
                thread.name = hexadecimal(&self.number(b'c', [&[], thread.name.as_bytes()]));
            }
            self.tables.threads.push(thread);
        }
    }
}

/// The first 64 bits.
fn hexadecimal(number: &[u8; 32]) -> String {
    number[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Transform for Anonymise {
    fn records(&mut self, batch: &mut Batch, tables: &Tables) -> Result<bool, TraceError> {
        self.follow(tables, self.tables.files.len());
        if batch.is_empty() {
            for (ours, theirs) in self.tables.files.iter_mut().zip(&tables.files) {
                ours.bytes = theirs.bytes;
            }
        }
        for record in batch {
            if let Some(RecordedContent::Digest(digest)) = &mut record.content {
                let number = self.number(b'd', [&[], &*digest]);
                digest.copy_from_slice(&number[..16]);
            }
        }
        Ok(true)
    }

    fn tables(&self) -> Option<&Tables> {
        Some(&self.tables)
    }

    fn header(&self, header: &mut TraceHeader) {
        let notes = header.notes.len();
        header.notes.clear();
        header.notes.push("Names and digests were replaced by numbers.".into());
        if notes > 0 {
            header
                .notes
                .push(format!("{notes} notes of the source were left out, because they may hold names."));
        }
    }
}
