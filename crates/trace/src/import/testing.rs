//! Inputs in memory for the tests of the importers.

use super::{ImportOptions, Importer, Input, import};
use crate::{MemorySource, TraceError};

/// An input in memory that can be opened again.
pub fn input(name: &str, bytes: impl Into<Vec<u8>>) -> Input {
    let bytes: std::sync::Arc<[u8]> = bytes.into().into();
    let open = move || -> std::io::Result<Box<dyn std::io::Read + Send>> {
        Ok(Box::new(std::io::Cursor::new(bytes.clone())))
    };
    Input { name: name.into(), open: Box::new(open), is_seekable: true }
}

/// All records of one input, with the messages of the import.
pub fn read_all(
    inputs: &[Input],
    options: &ImportOptions,
) -> Result<(MemorySource, Vec<String>), TraceError> {
    let mut importer: Importer = import(inputs, options)?;
    let source = MemorySource::of(&mut importer)?;
    Ok((source, importer.take_messages()))
}

/// All records of a text, by the format that it has.
pub fn read_text(text: &str, options: &ImportOptions) -> Result<MemorySource, TraceError> {
    read_all(&[input("f", text)], options).map(|(source, _)| source)
}

/// Options that say the format.
pub fn named(format: &str) -> ImportOptions {
    ImportOptions { format: Some(format.into()), ..ImportOptions::default() }
}
