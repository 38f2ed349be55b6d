//! Findings in the words of the workload language; a table of flowops shows means and extremes, no percentiles.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Finding;

use crate::advice::{self, Said};

/// Advice by a finding's code, and by a word of the plan's that it names where one code has several.
const ADVICE: &[Said] = &[
    (31, "", "let each thread write a file of its own: a fileset instead of one file"),
    (
        1,
        "",
        "`directio` on the flowops goes past the page cache, or a fileset (entries=, size=) of twice the memory does not \
         fit in it; `cached=false` begins a file cold",
    ),
    (2, "`passes", "`fsync` more often, `dsync` on the writes, or larger files than are written"),
    (2, "", "`fsync` after the writes, or `dsync` on them"),
    (3, "", "`prealloc` the fileset: what has no blocks is read as zeros"),
    (5, "", "a fileset (entries=, size=) several times larger than any cache before the storage"),
    (6, "", ""),
    (7, "", "a longer run (`run SECONDS`), or several (`--also confidence=95:5`)"),
    (8, "", "a longer run (`run SECONDS`), so that the fast part no longer matters"),
    (9, "", ""),
    (10, "a cheaper engine", "more threads (instances=)"),
    (10, "as many `workers`", "no more threads (instances=) than there are processors"),
    (12, "`finish", "`sync` (system \"sync\") before the run, or a `sleep`"),
    (13, "`direct", "`directio`: buffered operations complete as they are handed over"),
    (13, "", "as many threads (instances=), each with one operation"),
    (14, "`stop", "`set mode quit timeout`: with `alldone` or `firstdone` the threads do unequal work"),
    (16, "", "an `iosize` that is a multiple of the file system's block"),
    (19, "", ""),
    (20, "`span`", "`prealloc` the fileset, as large as it is read"),
    (22, "`intent", "set $dir to a directory of the storage you mean"),
    (22, "`prepare", "`prealloc` the fileset, so that every block is there before it is measured"),
    (23, "", "a longer run (`run SECONDS`): ten times as long as its start and stop"),
    (24, "", "more threads (instances=)"),
];

/// A finding whose advice names words of the script.
pub fn translate(finding: Finding) -> Option<Finding> {
    advice::of(finding, ADVICE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::translated;

    #[test]
    fn advice_names_words_of_the_script() {
        assert!(translated(1, "set `direct = true`", translate).unwrap().starts_with("`directio`"));
        assert!(translated(23, "run longer (`time`)", translate).unwrap().contains("run SECONDS"));
        assert!(translated(22, "say `intent = cache`", translate).unwrap().contains("$dir"));
        assert_eq!(translated(6, "read p99 instead", translate), None);
        assert_eq!(translated(9, "`service`", translate), None);
    }
}
