//! Options about the direction of I/O, its block sizes and its random numbers.
//!
//! Refuses nothing.

use super::{
    ENDLESS, JobOption, MOST, ValueType, bytes, decimals, flag, option, switch, tailed, text, triple, whole,
    word, words,
};

#[rustfmt::skip]
pub const OPTIONS: &[JobOption] = &[
    tailed("rw", words::DIRECTIONS, "WORD[:N]", "what is done; :N goes N blocks before a new place, or so many on").also(&["readwrite"])
        .or("read"),
    triple("bs", "BYTES[,BYTES[,BYTES]]", 1, ENDLESS, "size of an I/O: reads, writes, trims").also(&["blocksize"]).or("4096").below(1),
    triple("ba", "BYTES[,BYTES[,BYTES]]", 1, ENDLESS, "offsets are multiples of this").also(&["blockalign"]).below(1),
    option("bsrange", "LOW-HIGH[,…]", ValueType::Ranges, "sizes between these, drawn evenly").also(&["blocksize_range"]).below(1),
    option("bssplit", "BYTES/PERCENT[:…][,…]", ValueType::Splits, "sizes, each with its share").below(1),
    switch("bs_unaligned", "sizes need not be multiples of the sector").also(&["blocksize_unaligned"]).below(1),
    flag("bs_is_seq_rand", "bs=A,B is for sequential and random I/O rather than reads and writes").below(1),
    flag("randrepeat", "the same random numbers in every run").also(&["allrandrepeat"]).or("1").below(1),
    option("randseed", "N", ValueType::Whole(0, ENDLESS), "where random numbers begin").bounded(false).or("0x89").below(1),
    switch("norandommap", "random blocks may come twice, and others never").below(1),
    flag("softrandommap", "go on without a map of visited blocks if there is no memory for it").below(1)
        .ignored("the order of random blocks is computed and needs no map"),
    flag("sprandom", "precondition an SSD: random writes that leave it as endless ones would, in one pass").below(1),
    whole("spr_num_regions", 0, MOST, "regions of sprandom; each overwrites a part of the one before").or("100").below(2),
    decimals("spr_op", 0, 1, "the SSD's spare capacity as a part of what it shows, for sprandom").or("0.15").below(2),
    bytes("spr_cs", 0, ENDLESS, "the SSD's write cache: with one, regions of sprandom overwrite at their end").or("0").below(2),
    text("ignore_error", "ERROR[:ERROR…][,…]", "errors that do not count, by name: reads, writes, checks").below(1),
    word("rw_sequencer", words::SEQUENCERS, "what rw=WORD:N does with the offset").or("sequential"),
];
