//! Findings in fio's own options: the advice that a job file can follow.
//!
//! It refuses to judge: what was found stays as it was found.

use iodyno_model::Finding;

use crate::advice::{self, Said};

/// Advice by a finding's code, and by a word of the plan's that it names where one code has several.
const ADVICE: &[Said] = &[
    (31, "", "give each job a file of its own: leave filename= out, or use filename_format=$jobname.$jobnum"),
    (
        8,
        "",
        "run longer (time_based with a longer runtime=), or leave the fast part out with a ramp_time= of at least its \
            length; tell both rates",
    ),
    (
        9,
        "",
        "read `lat_intended_ns` (under `iodyno` in the JSON), which counts from when each I/O was due; clat leaves the \
            waiting out",
    ),
    (
        10,
        "`payload`",
        "leave refill_buffers, buffer_compress_percentage, dedupe_percentage and verify= out of what is \
                      measured, or add numjobs",
    ),
    (10, "a cheaper engine", "add numjobs, use ioengine=io_uring, or a larger bs="),
    (
        10,
        "as many `workers`",
        "lower numjobs to the number of processors, and raise iodepth for more in flight",
    ),
    (
        11,
        "`placement`",
        "stop what else runs on this machine, or keep processors for the jobs (cpus_allowed=)",
    ),
    (12, "`finish", "add end_fsync=1 to the job that writes before, exec_prerun=sync, or a startdelay="),
    (
        14,
        "look at each worker",
        "leave group_reporting out to see each job: what has its file, device or processor that the \
                                 others have not",
    ),
    (
        14,
        "`stop",
        "give all jobs the same time (time_based and runtime=) rather than the same size=, or end with the first \
                   (exitall)",
    ),
    (23, "", "run longer (time_based with a longer runtime=), or give a larger size= or io_size="),
    (
        26,
        "",
        "read max and the high percentiles of clat beside its mean, and write_lat_log= for when they came; look for \
             garbage collection, snapshots, or who else uses the machine at that distance",
    ),
    (20, "`span`", "lay the file out first (overwrite=1, or a job with rw=write), or lower size= or bs="),
    (22, "`intent", "name a directory= on the storage you mean"),
    (22, "`--full`", "write all of size= before measuring: a job with rw=write, and stonewall in the next"),
    (1, "", "add direct=1, or a size= larger than memory with invalidate=1"),
    (
        2,
        "`passes",
        "write each place once (a size= as large as what is written, without time_based and loops), sync more often \
         (fsync=1), or add direct=1",
    ),
    (2, "", "add end_fsync=1, so that the flush is part of the time, or direct=1"),
    (
        3,
        "",
        "lay the file out with data before it is read: a job with rw=write and stonewall in the next, or overwrite=1; \
         fallocate= alone reserves space without data",
    ),
    (
        4,
        "",
        "leave zero_buffers, buffer_pattern, buffer_compress_percentage and dedupe_percentage out and add refill_buffers=1, \
         or mount without compression",
    ),
    (
        5,
        "",
        "make size= several times larger than any cache before the storage, or read each place once (without time_based \
         and loops)",
    ),
    (
        6,
        "",
        "run longer (time_based with a longer runtime=) or give a larger io_size=, or read the median instead",
    ),
    (
        7,
        "",
        "run longer (time_based with a longer runtime=) behind a ramp_time=, or until steadystate= is reached",
    ),
    (
        16,
        "",
        "use a bs= that is a multiple of the file system's and the device's block (4k and more), aligned (ba=)",
    ),
    (
        19,
        "nothing to merge",
        "iodepth=1 or rw=randread leaves nothing to merge; /sys/block/*/queue/nomerges keeps the kernel from it",
    ),
    (
        19,
        "takes whole",
        "use a bs= that the device takes whole (/sys/block/*/queue/max_sectors_kb), with iodepth= instead of size",
    ),
    (19, "", "add direct=1, so that each I/O is a request of its own"),
    (
        21,
        "",
        "drop the caches before the job that looks, twice, as once leaves what a journal holds \
         (exec_prerun='sync; sysctl vm.drop_caches=3; sysctl vm.drop_caches=3'), or raise nrfiles=",
    ),
    (24, "", "raise iodepth= or numjobs= until the IOPS rise no more"),
    (
        13,
        "nr_requests",
        "lower iodepth or numjobs to what the device takes, or let it take more (/sys/block/*/queue/nr_requests, the \
         queue depth of its driver)",
    ),
    (
        13,
        "`prepare",
        "lay the file out first (overwrite=1: writes that extend it are done as they are handed over), raise numjobs, \
         or lower iodepth to what is reached",
    ),
    (
        13,
        "`direct = true`",
        "add direct=1 (buffered I/O is done as it is handed over), raise numjobs, or lower iodepth to what is reached",
    ),
    (13, "operations are over", "raise numjobs, or lower iodepth to what is reached"),
    (13, "", "use ioengine=io_uring or libaio, or iodepth=1 and as many numjobs"),
];

/// A finding whose advice names fio's options.
pub fn translate(finding: Finding) -> Option<Finding> {
    advice::of(finding, ADVICE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::translated;

    fn said(code: u8, advice: &str) -> String {
        translated(code, advice, translate).unwrap_or_default()
    }

    #[test]
    fn advice_names_options_of_fio() {
        assert!(said(1, "set `direct = true` for the target").contains("direct=1"));
        assert!(said(20, "(`prepare = \"filled\"`), or lower `span` or `block`").contains("size="));
        assert_eq!(said(20, "mend what fails first"), "mend what fails first");
        assert!(said(22, "write all of the span (`--full`)").contains("stonewall"));
        assert!(said(22, "if memory is meant, say `intent = \"cache\"`").contains("directory="));
        assert_eq!(said(22, "compare with the storage below it"), "compare with the storage below it");
    }
}
