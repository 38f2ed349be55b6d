//! Findings in fio's own options: the advice that a job file can follow.
//!
//! It refuses to judge: what was found stays as it was found.

use iodyno_model::Finding;

use crate::advised;

/// A finding whose advice names fio's options.
pub fn translate(finding: Finding) -> Option<Finding> {
    advised(
        finding,
        &[
            (1, "add direct=1, or a size= larger than memory with invalidate=1"),
            (2, "add end_fsync=1, so that the flush is part of the time, or direct=1"),
            (
                6,
                "run longer (time_based with a longer runtime=) or give a larger io_size=, or read the median instead",
            ),
            (
                7,
                "run longer (time_based with a longer runtime=) behind a ramp_time=, or until steadystate= is reached",
            ),
            (10, "leave buffer_compress_percentage and dedupe_percentage out, or add numjobs"),
            (
                13,
                "add direct=1 (buffered I/O completes as it is handed over), use ioengine=io_uring or libaio, raise \
                 numjobs, or lower iodepth to what is reached",
            ),
        ],
    )
}
