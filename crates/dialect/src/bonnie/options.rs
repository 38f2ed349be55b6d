//! bonnie++'s options, each exactly once, with what is done about it.
//!
//! All are letters. The same table makes `docs/bonnie.md`.

use crate::option::{Entry, Kind, Spelling, Table, switch};

pub const TABLE: Table = Table { tool: "bonnie++", spelling: Spelling::Dashed, entries: ENTRIES };

const ALONE: &str = "tests of several programs that wait for each other are one plan here";
const ALONE_HINT: &str = "a plan whose phases have several jobs starts all of them together: iodyno run PLAN";

const fn text(name: &'static str, value: &'static str, help: &'static str) -> Entry {
    Entry::new(name, Kind::Text, value, help)
}

#[rustfmt::skip]
const ENTRIES: &[Entry] = &[
    Entry::new("d", Kind::Path, "DIRECTORY", "where the test file and the test directory are made; of several each begins at the one \
         before")
        .or("."),
    text("c", "N", "how many copies of the program run at once, 1 to 200: part of the report, and of what is twice the \
         memory")
        .or("1"),
    text("s", "MIB[:CHUNK[:SEEKS[:SEEKERS]]]", "the file's size in MiB (`g`: GiB, `t`: TiB), bytes of a chunk (`k`: KiB), how \
         many seeks and how many processes seek; 0: no test of a file").or("2 x memory:8192:8192:5"),
    text("n", "KFILES[:MAX[:MIN[:DIRECTORIES[:CHUNK]]]]", "how many files are made, in units of 1024 (`m`: of 1048576), their \
         sizes in bytes (`k`, `m`, `g`; MAX -1: hard links, -2: symbolic links), in how many directories, and \
         bytes of a chunk; 0: no test of files")
        .or("16:0:0:1:8192"),
    text("m", "NAME", "the name of the machine in the report").or("the host's"),
    text("r", "MIB", "memory of the machine in MiB; 0: no size of the file is too small").or("what there is"),
    text("x", "N", "how many times all tests are done; each prints a line of values, several of them after a heading; there are no tables"),
    text("u", "USER[:GROUP]", "the user who does the tests; root must say one"),
    text("g", "GROUP", "the group that does the tests"),
    switch("q", "the tables go to standard error, values alone to standard output, and nothing tells how far it is"),
    Entry::new("f", Kind::Text, "[MIB]", "MiB that are written and read byte by byte; without a number none").or("3"),
    switch("b", "each change is made durable: updates of chunks, files that are made, and their directory"),
    text("p", "N", "how many programs wait for each other before each test").refused(ALONE, ALONE_HINT),
    text("y", "s|p", "wait for the others before each test, by a semaphore or by a prompt").refused(ALONE, ALONE_HINT),
    text("z", "SEED", "the seed of all that is drawn, as the report says it").or("drawn"),
    Entry::new("Z", Kind::Path, "FILE", "a file of random numbers, which decides all that is drawn"),
    switch("D", "write the file past the page cache; the original opens it so for the writing tests only"),
    text("l", "TEXT", "taken by the original and used for nothing").ignored("the original does nothing with it either"),
    switch("h", "print this").also(&["help"]),
    switch("version", "print the version"),
];

/// The page about bonnie++, with a table of its options.
pub fn document() -> String {
    format!("{}\n{}", include_str!("introduction.md"), TABLE.markdown())
}

pub fn help() -> String {
    format!("usage: bonnie++ [OPTIONS]\n\n{}", TABLE.help())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_option_is_there_once_and_has_help() {
        assert_eq!(TABLE.defects(), Vec::<String>::new());
    }
}
