//! Options about the direction of I/O, its block sizes and its random numbers.
//!
//! Refuses the preconditioning scheme of one maker's disks (sprandom): it needs to know the disk from inside.

use super::{
    ENDLESS, JobOption, MOST, ValueType, decimals, flag, option, switch, tailed, text, triple, whole, word,
    words,
};

const NOT_INSIDE: &str = "it models the inside of one maker's disks";
const FILL_TWICE: &str = "write the device twice over with rw=randwrite and loops=2";

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
    flag("sprandom", "precondition a disk by a model of its inside").below(1).refused(NOT_INSIDE, FILL_TWICE),
    whole("spr_num_regions", 0, MOST, "regions of sprandom").or("100").below(2).refused(NOT_INSIDE, FILL_TWICE),
    decimals("spr_op", 0, 1, "spare share of sprandom").or("0.15").below(2).refused(NOT_INSIDE, FILL_TWICE),
    text("spr_cs", "BYTES", "cache size of sprandom").or("0").below(2).refused(NOT_INSIDE, FILL_TWICE),
    text("ignore_error", "ERROR[:ERROR…][,…]", "errors that do not count, by name: reads, writes, checks").below(1),
    word("rw_sequencer", words::SEQUENCERS, "what rw=WORD:N does with the offset").or("sequential"),
];
