//! Findings in iozone's own options; a table of sizes shows no percentiles.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Finding;

use crate::advice::{self, Said};

/// Advice by a finding's code, and by a word of the plan's that it names where one code has several.
const ADVICE: &[Said] = &[
    (31, "", "give each process a file of its own (-F)"),
    (
        1,
        "",
        "-I reads past the page cache, or a file (-s) of twice the memory does not fit in it; -U empties it",
    ),
    (2, "`passes", "-I past the page cache, or -o: each write is durable before the next"),
    (2, "", "-e counts flushing (and -c closing) in the time of writes"),
    (3, "", "write the file first (-i 0): what has no blocks is read as zeros"),
    (4, "", "leave -+X, -+Z, -V, -+a, -+w, -+y and -+C out, or mount without compression"),
    (5, "", "a file (-s, -g) several times larger than any cache before the storage"),
    (6, "", ""),
    (7, "", "larger files (-s, -n), or more passes (--also confidence=95:5)"),
    (8, "", "larger files (-s), so that the fast part no longer matters; tell both rates"),
    (9, "", ""),
    (
        10,
        "`payload`",
        "leave -+d, -V, -+a, -+w, -+y and -+C out of what is measured, or use more streams (-t)",
    ),
    (10, "a cheaper engine", "more streams (-t), or larger records (-r)"),
    (10, "as many `workers`", "no more streams (-t) than there are processors"),
    (12, "`finish", "-e, so that what was written is on the storage, or a pause between tests (-+q)"),
    (13, "nr_requests", "a lower -H or -k: the queue of the device takes no more"),
    (13, "`direct", "-I: buffered operations complete as they are handed over; or a lower -H or -k"),
    (13, "", "as many streams (-t), each with one operation"),
    (14, "`stop", "larger files (-s); without -x the first stream that is done ends the test"),
    (16, "`fdatasync`", "-+D rather than -o, where the data alone must be durable"),
    (16, "", "records (-r) that are a multiple of the file system's block (4 and more)"),
    (19, "", ""),
    (20, "`span`", "write the file first (-i 0 -w), as large as it is read"),
    (22, "`intent", "name a file (-f, -F) on the storage you mean"),
    (22, "`prepare", "write the file first (-i 0), as large as it is read"),
    (23, "", "larger files (-s, -n): a test is to last ten times as long as its start and stop"),
    (24, "[[sweep]]", "go on to more streams (-u), larger records (-q) or more in flight (-H)"),
    (24, "", "more streams (-t), or more in flight (-H)"),
];

/// A finding whose advice names iozone's own options.
pub fn translate(finding: Finding) -> Option<Finding> {
    advice::of(finding, ADVICE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::translated;

    #[test]
    fn advice_names_options_of_iozone() {
        assert!(translated(1, "set `direct = true`", translate).unwrap().starts_with("-I "));
        assert!(translated(23, "run longer (`time`)", translate).unwrap().contains("-s"));
        assert_eq!(translated(6, "read p99 instead", translate), None);
        // Every code whose own advice is in the plan's words has another one here.
        for code in [1, 2, 3, 4, 5, 7, 8, 13, 16, 23, 24] {
            let said = translated(code, "a `word` of the plan", translate).unwrap();
            assert!(!said.contains('`'), "{code}: {said}");
        }
    }
}
