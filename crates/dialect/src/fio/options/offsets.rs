//! Options about sizes, offsets and how places are drawn.
//!
//! Refuses nothing.

use super::{
    ENDLESS, JobOption, MOST, NOT_DONE, ValueType, amount, flag, option, tailed, triple, whole, word, words,
};

#[rustfmt::skip]
pub const OPTIONS: &[JobOption] = &[
    amount("size", "how much of its files each worker covers"),
    amount("io_size", "how much each worker moves").also(&["io_limit"]),
    flag("fill_device", "write until the device is full").also(&["fill_fs"]),
    option("filesize", "BYTES[-BYTES]", ValueType::Range, "size of each file, or drawn from between"),
    flag("file_append", "begin at the end of the file"),
    amount("offset", "where I/O begins").also(&["fileoffset"]).or("0"),
    amount("offset_increment", "how much further each clone begins").or("0").below(1),
    whole("offset_align", 0, MOST, "offsets are rounded down to a multiple of this").or("0"),
    whole("num_range", 0, 256, "ranges that one trim command carries").or("1")
        .refused(NOT_DONE, "leave it out: each trim carries one range"),
    whole("number_ios", 0, ENDLESS, "end after so many I/Os").or("0").bounded(false),
    word("random_generator", words::GENERATORS, "how random places are made").or("tausworthe"),
    tailed("random_distribution", words::DISTRIBUTIONS, "WORD[:…]", "how likely each place is").or("random"),
    triple("percentage_random", "PERCENT[,…]", 0, 100, "how many places are random, the rest in sequence").or("100,100,100"),
    triple("percentage_sequential", "PERCENT[,…]", 0, 100, "how many places are in sequence")
        .refused("fio itself no longer has it", "use percentage_random"),
    flag("random_sequence_stride", "each time through random_distribution=sequence lies one list further on"),
];
