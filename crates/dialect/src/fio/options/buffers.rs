//! Options about what is in the buffers that are written.
//!
//! Refuses nothing.

use super::{JobOption, MOST, flag, switch, text, whole, word, words};

pub const OPTIONS: &[JobOption] = &[
    switch("zero_buffers", "zeros"),
    switch("refill_buffers", "new random bytes for each I/O"),
    flag("scramble_buffers", "change a few bytes of each I/O").or("1"),
    text("buffer_pattern", "PATTERN", "a pattern: 0xff, \"text\", 'file'"),
    whole("buffer_compress_percentage", 0, 100, "how much of a buffer compresses away"),
    whole("buffer_compress_chunk", 0, MOST, "in pieces of this size").or("512").below(1),
    whole("dedupe_percentage", 0, 100, "how many buffers are copies"),
    word("dedupe_mode", words::DEDUPES, "copies of which").or("repeat").below(1),
    whole("dedupe_working_set_percentage", 0, 100, "size of the set they are copied from").or("5").below(1),
    flag("dedupe_global", "copies of other jobs' buffers too"),
];
