//! Findings in fio's own options: the advice that a job file can follow.
//!
//! It refuses to judge: what was found stays as it was found.

use iodyno_model::Finding;

use crate::{advice, advised};

/// Advice by a finding's code.
const BY_CODE: &[(u8, &str)] = &[
    (1, "add direct=1, or a size= larger than memory with invalidate=1"),
    (2, "add end_fsync=1, so that the flush is part of the time, or direct=1"),
    (
        3,
        "lay the file out with data before it is read: a job with rw=write and stonewall in the next, or overwrite=1; \
         fallocate= alone reserves space without data",
    ),
    (
        4,
        "leave zero_buffers, buffer_pattern, buffer_compress_percentage and dedupe_percentage out and add refill_buffers=1, \
         or mount without compression",
    ),
    (
        5,
        "make size= several times larger than any cache before the storage, or read each place once (without time_based \
         and loops)",
    ),
    (
        6,
        "run longer (time_based with a longer runtime=) or give a larger io_size=, or read the median instead",
    ),
    (
        7,
        "run longer (time_based with a longer runtime=) behind a ramp_time=, or until steadystate= is reached",
    ),
    (
        16,
        "use a bs= that is a multiple of the file system's and the device's block (4k and more), aligned (ba=)",
    ),
    (
        19,
        "add direct=1, so that each I/O is a request of its own, with a bs= that the device takes whole \
         (/sys/block/*/queue/max_sectors_kb)",
    ),
    (
        21,
        "drop the caches before the job that looks (exec_prerun='sysctl vm.drop_caches=3'), or raise nrfiles=",
    ),
    (24, "raise iodepth= or numjobs= until the IOPS rise no more"),
    (
        13,
        "add direct=1 (buffered I/O completes as it is handed over), use ioengine=io_uring or libaio, raise \
         numjobs, or lower iodepth to what is reached",
    ),
];

/// Advice by a word of the plan's that it names, where one code has several.
const BY_WORD: [(u8, &str, &str); 3] = [
    (20, "`span`", "lay the file out first (overwrite=1, or a job with rw=write), or lower size= or bs="),
    (22, "`intent", "name a directory= on the storage you mean"),
    (22, "`--full`", "write all of size= before measuring: a job with rw=write, and stonewall in the next"),
];

/// A finding whose advice names fio's options.
pub fn translate(finding: Finding) -> Option<Finding> {
    let finding = advice::of(finding, advice::FIO)?;
    let named = |(code, word, _): &&(u8, &str, &str)| *code == finding.code && finding.advice.contains(word);
    match BY_WORD.iter().find(named) {
        Some((_, _, advice)) => Some(Finding { advice: (*advice).into(), ..finding }),
        None => advised(finding, BY_CODE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::Severity;

    fn said(code: u8, advice: &str) -> String {
        let finding = Finding {
            code,
            severity: Severity::Note,
            phase: String::new(),
            job: None,
            sentence: String::new(),
            figures: Vec::new(),
            advice: advice.into(),
        };
        translate(finding).map(|finding| finding.advice).unwrap_or_default()
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
