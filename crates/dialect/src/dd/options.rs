//! dd's operands and options, each exactly once, with what we do about it.

use super::command::{Operands, Wrong, add_symbols};
use crate::option::{Entry, Kind, Setter, Spelling, Table, Word, entries, switch};

/// Symbols of `conv=`.
pub const CONVERSIONS: &[Word] = &[
    Word::new("ascii", "EBCDIC to ASCII; implies unblock"),
    Word::new("ebcdic", "ASCII to EBCDIC; implies block"),
    Word::new("ibm", "ASCII to another EBCDIC; implies block"),
    Word::new("block", "lines to records of cbs bytes, filled up with blanks; without cbs nothing"),
    Word::new("unblock", "records of cbs bytes to lines; without cbs nothing"),
    Word::new("lcase", "upper case to lower case"),
    Word::new("ucase", "lower case to upper case"),
    Word::new("swab", "swap each pair of bytes"),
    Word::new("sparse", "seek over blocks that are all zeros"),
    Word::new("sync", "fill every short input block with zeros; of block and unblock with blanks"),
    Word::new("excl", "the output must not exist yet"),
    Word::new("nocreat", "the output must exist already"),
    Word::new("notrunc", "leave the output's length alone"),
    Word::new("noerror", "go on after a failed read"),
    Word::new("fdatasync", "the data is on stable storage before the end, and that counts"),
    Word::new("fsync", "the same, with the metadata"),
];

macro_rules! flags {
    ($($word:expr),* ; $($extra:expr),*) => { &[$($extra,)* $($word,)*] };
}
macro_rules! both_ways {
    ($($extra:expr),*) => {
        flags![
            Word::new("append", "write at the end (output)"),
            Word::new("direct", "past the page cache"),
            Word::new("directory", "fail unless it is a directory"),
            Word::new("dsync", "each write is durable: data"),
            Word::new("sync", "each write is durable: data and metadata"),
            Word::new("nonblock", "open without blocking"),
            Word::new("noatime", "leave the access time alone"),
            Word::new("nocache", "drop cached pages of what was copied"),
            Word::new("noctty", "take no controlling terminal"),
            Word::new("nofollow", "follow no symbolic link"),
            Word::new("count_bytes", "count is in bytes (input)"),
            Word::new("skip_bytes", "skip is in bytes (input)"),
            Word::new("seek_bytes", "seek is in bytes (output)");
            $($extra),*
        ]
    };
}

/// Symbols of `iflag=`.
pub const INPUT_FLAGS: &[Word] = both_ways![Word::new("fullblock", "read on until a block is full")];
/// Symbols of `oflag=`.
pub const OUTPUT_FLAGS: &[Word] = both_ways![];

/// Words of `status=`.
pub const LEVELS: &[Word] = &[
    Word::new("none", "only errors"),
    Word::new("noxfer", "no transfer line"),
    Word::new("progress", "a transfer line each second"),
];

pub const TABLE: Table =
    Table { tool: "dd", spelling: Spelling::Assigned, entries: &entries::<_, { SETTERS.len() }>(SETTERS) };

const fn bytes(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Bytes, "BYTES", help)
}

const fn blocks(name: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Bytes, "N", help)
}

const fn symbols(name: &'static str, words: &'static [Word], help: &'static str) -> Entry {
    Entry::new(name, Kind::Words(words), "LIST", help)
}

/// Every operand with what it sets.
#[rustfmt::skip]
pub const SETTERS: &[Setter<Operands, Wrong>] = &[
    Entry::new("if", Kind::Path, "FILE", "read FILE rather than standard input").text(|o, path| o.input = Some(path.into())),
    Entry::new("of", Kind::Path, "FILE", "write FILE rather than standard output").text(|o, path| o.output = Some(path.into())),
    bytes("bs", "size of a read and of its write; wins over ibs and obs")
        .parsed(|o, text| o.block_size(text).map(|bytes| o.block_bytes = Some(bytes))),
    bytes("ibs", "size of a read").or("512").parsed(|o, text| o.block_size(text).map(|bytes| o.input_block_bytes = Some(bytes))),
    bytes("obs", "size of a write; reads are gathered until it is full").or("512")
        .parsed(|o, text| o.block_size(text).map(|bytes| o.output_block_bytes = Some(bytes))),
    bytes("cbs", "record size of conv=block and unblock")
        .parsed(|o, text| o.block_size(text).map(|bytes| o.record_bytes = Some(bytes))),
    blocks("count", "end after N input blocks, or N bytes if N ends in B")
        .parsed(|o, text| o.number(text).map(|count| o.count = Some(count))),
    blocks("skip", "begin N input blocks into the input (bytes if N ends in B)").also(&["iseek"])
        .parsed(|o, text| o.number(text).map(|skip| o.skip = skip)),
    blocks("seek", "begin N output blocks into the output (bytes if N ends in B)").also(&["oseek"])
        .parsed(|o, text| o.number(text).map(|seek| o.seek = seek)),
    symbols("conv", CONVERSIONS, "what is done to blocks and to the output")
        .parsed(|o, list| add_symbols(&mut o.conversions, list, CONVERSIONS, "conversion")),
    symbols("iflag", INPUT_FLAGS, "how the input is opened and read")
        .parsed(|o, list| add_symbols(&mut o.input_flags, list, INPUT_FLAGS, "input flag")),
    symbols("oflag", OUTPUT_FLAGS, "how the output is opened and written")
        .parsed(|o, list| add_symbols(&mut o.output_flags, list, OUTPUT_FLAGS, "output flag")),
    Entry::new("status", Kind::Word(LEVELS), "WORD", "how much is said on standard error").parsed(
        |o, list| {
            let mut levels = Vec::new();
            add_symbols(&mut levels, list, LEVELS, "status level").map(|()| o.level = levels.last().copied())
        },
    ),
    switch("--help", "print this and end").inert(),
    switch("--version", "print the version and end").inert(),
];

/// The text of `dd --help`, in our words.
pub fn help() -> String {
    format!(
        "Usage: dd [OPERAND]...\n  or:  dd OPTION\nCopies a file block by block and says how fast that went.\n\n{}\n\
         N and BYTES take a suffix: c 1, w 2, b 512, kB 1000, K or KiB 1024, MB, M, GB, G, and on to T, P, E;\n\
         and products such as 2x512. SIGUSR1 prints the figures so far.\n",
        TABLE.help()
    )
}

/// The page `docs/dd.md`, generated.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_operand_once() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
        assert!(help().contains("count=N") && document().contains("| `conv` `lcase` |"));
    }
}
