//! Findings in IOR's own options.

use iodyno_model::Finding;

use crate::advice::{self, Said};

/// Advice by a finding's code, and by a word of the plan's that it names where one code has several; IOR prints neither
/// latencies nor depths.
const ADVICE: &[Said] = &[
    (31, "", "give each task a file of its own (-F); one shared file measures the file system's locks"),
    (8, "", "make -b or -s larger, so that the fast part no longer matters, and tell both rates"),
    (9, "", ""),
    (10, "`payload`", "leave the checks (-R, -W) out of what is measured, or use more tasks"),
    (10, "a cheaper engine", "use more tasks, or larger transfers (-t)"),
    (10, "as many `workers`", "start no more tasks than there are processors"),
    (
        11,
        "`placement`",
        "stop what else runs on the nodes, or bind the tasks to processors (mpirun --bind-to core)",
    ),
    (12, "`finish", "add -e, so that what was written is on the storage, or a pause between tests (-d)"),
    (
        14,
        "look at each worker",
        "compare the tasks (-v -v -v): see what the slow ones' node or file has that the others have \
                                 not",
    ),
    (14, "`stop", "let all tasks write for the same time (-D SECONDS) rather than the same amount"),
    (15, "time batches", ""),
    (23, "", "make -b or -s larger: a phase is to last ten times as long as its start and stop"),
    (
        26,
        "",
        "repeat (-i) and read the least rate beside the largest; look for garbage collection, snapshots, or who else uses \
             the storage at that distance",
    ),
    (
        20,
        "`span`",
        "write the file first, as large as it is read (-w -k, then -r), or make -b, -s or -N smaller",
    ),
    (22, "`prepare", "write all of the file before it is read (-w -k, then -r)"),
    (22, "`intent", "name a file (-o) on the storage you mean"),
    (
        1,
        "two nodes",
        "run on at least two nodes: on one, -C and -Z read what its own cache has; or add --posix.odirect",
    ),
    (
        1,
        "",
        "read what another node wrote (-C, on two nodes or more), add --posix.odirect, or make -b or -s so large that the files are larger \
         than memory; -M takes memory away from the cache",
    ),
    (2, "`passes", "make -b or -s larger, so that each place is written once, or add --posix.odirect"),
    (2, "", "add -e, so that the flush is part of the time, or --posix.odirect"),
    (
        3,
        "",
        "write the file with data before it is read (-w -k, then -r); what was only reserved is read as zeros",
    ),
    (4, "", "write data that does not compress or repeat: -l random"),
    (5, "", "make -b or -s several times larger than any cache before the storage"),
    (16, "", "make -t a multiple of the file system's block (4k and more)"),
    (19, "", ""),
    (24, "", ""),
    (6, "", ""),
    (7, "", "make -b or -s larger, or repeat more often (-i)"),
    (13, "", ""),
];

/// A finding whose advice names IOR's options.
pub fn translate(finding: Finding) -> Option<Finding> {
    advice::of(finding, ADVICE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::translated;

    #[test]
    fn advice_names_options_of_ior() {
        assert!(
            translated(1, "set `direct = true`", translate)
                .is_some_and(|advice| advice.contains("--posix.odirect"))
        );
        assert!(translated(2, "end the job", translate).is_some_and(|advice| advice.contains("-e")));
        assert_eq!(translated(6, "more samples", translate), None);
        assert_eq!(
            translated(20, "mend what fails first", translate).as_deref(),
            Some("mend what fails first")
        );
        assert!(translated(20, "lower `span`", translate).is_some_and(|advice| advice.contains("-w -k")));
    }
}
