//! Options about which figures are kept and how they are reported.
//!
//! Refuses nothing; what only made fio's own clock cheaper is accepted without effect.

use super::{JobOption, MOST, decimals, flag, whole, word, words};

#[rustfmt::skip]
pub const OPTIONS: &[JobOption] = &[
    flag("clat_percentiles", "percentiles from hand-over to completion").or("1"),
    flag("lat_percentiles", "percentiles of the whole latency"),
    flag("slat_percentiles", "percentiles of handing over"),
    decimals("percentile_list", 0, 100, "which percentiles").or("1:5:10:20:30:40:50:60:70:80:90:95:99:99.5:99.9:99.95:99.99"),
    whole("significant_figures", 1, 10, "digits of the normal report").or("4"),
    flag("disk_util", "what the disks' counters say").or("1"),
    flag("gtod_reduce", "no latencies and no bandwidth samples"),
    flag("disable_lat", "no whole latencies").below(1),
    flag("disable_clat", "no latencies from hand-over to completion").below(1),
    flag("disable_slat", "no latencies of handing over").below(1),
    flag("disable_bw_measurement", "no bandwidth samples").also(&["disable_bw"]).below(1),
    whole("gtod_cpu", 0, MOST, "a thread on this processor that reads the clock").ignored("reading the clock is cheap here"),
    word("unified_rw_reporting", words::UNIFICATIONS, "whether directions are reported as one").or("none"),
    flag("block_error_percentiles", "a histogram of errors of trimmed blocks")
        .refused("fio 3.33 ends itself by an assertion at its first trim, so what it would print is not known",
            "leave it out; continue_on_error=io counts trims that fail"),
    word("kb_base", words::KILOS, "what k is worth").or("1024"),
    word("unit_base", words::UNITS, "bits or bytes in reports"),
];
