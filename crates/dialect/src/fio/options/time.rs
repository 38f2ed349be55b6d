//! Options about how often and how long jobs run, and what their buffers lie in.
//!
//! Refuses nothing.

use super::{JobOption, MOST, ValueType, option, seconds, switch, tailed, whole, word, words};

pub const OPTIONS: &[JobOption] = &[
    whole("loops", 0, MOST, "how often the job is run").or("1"),
    whole("numjobs", 0, MOST, "how many clones run it").or("1"),
    option("startdelay", "TIME[-TIME]", ValueType::Times, "how long after the others it begins").or("0"),
    seconds("runtime", "how long it runs at most").also(&["timeout"]).or("0"),
    switch("time_based", "run for the whole runtime, from the beginning again if need be"),
    switch("verify_only", "check what an earlier run wrote, and write nothing"),
    seconds("ramp_time", "how long it runs before figures count"),
    option("ramp_size", "BYTES|N%", ValueType::Amount, "how much it moves before figures count"),
    word("clocksource", words::CLOCKS, "which clock is read").ignored("iodyno reads the fastest exact clock"),
    whole("job_start_clock_id", 0, MOST, "the clock of `job_start` in JSON (clock_gettime's number)").or("0"),
    tailed("mem", words::MEMORIES, "WORD[:FILE]", "what buffers lie in").also(&["iomem"]).or("malloc"),
    whole("iomem_align", 0, MOST, "buffers begin at multiples of this").also(&["mem_align"]).or("0"),
];
