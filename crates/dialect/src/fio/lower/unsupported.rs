//! What the option table takes and no plan can say yet: refused by name where it would change anything, never ignored.
//!
//! Each line leaves this file when it is built.

use super::option_reader::OptionReader;

/// Options that are refused when they are given and not 0, with what to do instead.
const LATER: [(&str, &str); 11] = [
    ("opendir", "name the files with filename=A:B:C"),
    ("verify_pattern_interval", "leave it out: the pattern is repeated in each block"),
    ("verify_policy", "leave it out: blocks are checked by their checksums"),
    ("block_error_percentiles", "leave it out"),
    ("num_range", "leave it out: each trim carries one range"),
    ("random_sequence_stride", "use rw=randread:N for runs"),
    ("unlink_each_loop", "use unlink=1"),
    ("exit_on_io_done", "give the job a runtime, or say exitall in the job that does I/O"),
    ("dataplacement", "leave it out: the device places data as it likes"),
    ("error_dump", "read the counts of errors in the report"),
    ("filetype", "use ioengine=dircreate, dirstat or dirdelete for directories"),
];

/// Refuses what would otherwise be left out in silence.
pub fn check(ask: &mut OptionReader<'_>) {
    for (name, hint) in LATER {
        let means = ask.has(name) && !matches!(ask.text(name), Some("0" | "none" | "file" | "checksum"));
        if means {
            ask.refuse(name, format!("`{name}` is not served yet"), hint);
        }
    }
}
