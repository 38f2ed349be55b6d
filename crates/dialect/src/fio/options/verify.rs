//! Options about checking what was written, and about trimming while doing so.
//!
//! Refuses nothing.

use super::{ENDLESS, JobOption, MOST, flag, text, whole, word, words};

#[rustfmt::skip]
pub const OPTIONS: &[JobOption] = &[
    word("verify", words::CHECKSUMS, "how blocks are checked when they are read back").or("0"),
    flag("do_verify", "read back after writing").or("1").below(1),
    flag("verifysort", "read back in order of offset").or("1").below(1).ignored("fio itself ignores it since version 3.0"),
    whole("verifysort_nr", 0, 131_072, "how many blocks are sorted at once").or("1024").below(1)
        .ignored("fio itself ignores it since version 3.0"),
    whole("verify_interval", 80, MOST, "a header every so many bytes").below(1),
    whole("verify_offset", 40, MOST, "where in its interval the header lies").below(1),
    text("verify_pattern", "PATTERN", "what buffers are filled with: 0xff, \"text\", 'file', %o").below(1),
    whole("verify_pattern_interval", 0, MOST, "a new pattern every so many bytes").below(1),
    flag("verify_fatal", "the first difference ends the job").below(1),
    flag("verify_dump", "write both blocks to files when they differ").below(1),
    whole("verify_async", 0, MOST, "threads that check beside the job").or("0").below(1),
    text("verify_async_cpus", "CPUS", "where those threads run").below(2),
    whole("verify_backlog", 0, ENDLESS, "check after so many writes").bounded(false).below(1),
    whole("verify_backlog_batch", 0, MOST, "check so many at once").below(1),
    flag("experimental_verify", "generate the I/Os again instead of remembering them").or("").below(1)
        .ignored("the same blocks are checked; how they are remembered is iodyno's affair"),
    flag("verify_state_load", "take up where an interrupted run stopped").or("").below(1),
    flag("verify_state_save", "remember where the run stopped").or("1").below(1),
    flag("verify_write_sequence", "check the number of the write as well").or("1").below(1),
    flag("verify_header_seed", "check the seed in the header as well").or("1").below(1),
    word("verify_policy", words::VERIFY_POLICIES, "which writes are read back at the end").below(1),
    whole("trim_percentage", 0, 100, "percentage of written blocks that are trimmed").or("0").below(1),
    flag("trim_verify_zero", "trimmed blocks must read as zeros").or("1").below(2),
    whole("trim_backlog", 0, ENDLESS, "trim after so many writes").bounded(false).below(2),
    whole("trim_backlog_batch", 0, MOST, "trim so many at once").below(2),
];
