//! Options about the engine and its depth, the mix of directions, think time, rates and latency targets.
//!
//! Refuses nothing by itself; the engines that cannot be had are refused by their names.

use super::{
    ENDLESS, JobOption, MOST, ValueType, decimals, flag, micros, option, seconds, tailed, triple, whole,
    word, words,
};

/// The engine and how many I/Os are in flight.
#[rustfmt::skip]
pub const DEPTH: &[JobOption] = &[
    tailed("ioengine", words::ENGINES, "ENGINE", "how I/O reaches the kernel").or("psync"),
    whole("iodepth", 1, MOST, "I/Os kept in flight").or("1"),
    whole("iodepth_batch", 0, MOST, "I/Os submitted together").also(&["iodepth_batch_submit"]).or("1").below(1),
    whole("iodepth_batch_complete_min", 0, MOST, "I/Os to wait for at least; 0: for one after each").also(&["iodepth_batch_complete"])
        .or("1").below(1),
    whole("iodepth_batch_complete_max", 0, MOST, "I/Os to fetch at most").below(1),
    whole("iodepth_low", 0, MOST, "once full, drain to this before more is sent").below(1),
    flag("serialize_overlap", "wait for I/Os in flight that touch the same bytes").below(1),
    word("io_submit_mode", words::SUBMIT_MODES, "who submits").or("inline"),
];

/// How much of what, and how fast.
#[rustfmt::skip]
pub const OPTIONS: &[JobOption] = &[
    whole("rwmixread", 0, 100, "percentage of a mix that is reads").or("50"),
    whole("rwmixwrite", 0, 100, "percentage of a mix that is writes").or("50"),
    whole("rwmixcycle", 0, MOST, "how often the mix was looked at, in ms")
        .refused("fio itself no longer has it", "leave it out: every I/O is drawn anew"),
    micros("thinktime", "pause between I/Os").or("0").bounded(true),
    micros("thinktime_spin", "how much of the pause burns the processor").or("0").below(1).bounded(true),
    whole("thinktime_blocks", 0, MOST, "I/Os between pauses").or("1").below(1),
    word("thinktime_blocks_type", words::THINK_SIDES, "which I/Os thinktime_blocks counts").or("complete").below(1),
    seconds("thinktime_iotime", "time of I/O between pauses").or("0").below(1).bounded(true),
    whole("thinkcycles", 0, MOST, "cycles of computing between I/Os").or("0").below(1),
    triple("rate", "BYTES[,BYTES[,BYTES]]", 0, ENDLESS, "most bytes a second"),
    triple("rate_min", "BYTES[,…]", 0, ENDLESS, "fewest bytes a second, or the job ends").also(&["ratemin"]).below(1),
    word("rate_process", words::RATE_PROCESSES, "when I/Os are sent at a rate").or("linear").below(1),
    whole("rate_cycle", 0, MOST, "over how many ms a least rate is judged").also(&["ratecycle"]).or("1000").below(1),
    flag("rate_ignore_thinktime", "pauses do not count against the rate").or("").below(1),
    triple("rate_iops", "N[,N[,N]]", 0, MOST, "most I/Os a second"),
    triple("rate_iops_min", "N[,N[,N]]", 0, MOST, "fewest I/Os a second, or the job ends").below(1),
    option("max_latency", "US[,US[,US]]", ValueType::Latencies, "the job ends with an error when an I/O takes longer").bounded(true),
    micros("latency_target", "find the depth that keeps this latency"),
    micros("latency_window", "over how long the target is judged"),
    decimals("latency_percentile", 0, 100, "percentage of I/Os that must keep the target").or("100"),
    flag("latency_run", "keep on at the depth that was found"),
];
