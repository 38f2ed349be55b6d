//! Findings in mdtest's own options; it prints no latencies.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Finding;

use crate::advice::{self, Said};

/// Advice by a finding's code, and by a word of the plan's that it names where one code has several.
const ADVICE: &[Said] = &[
    (31, "", "give each worker a file of its own"),
    (6, "", ""),
    (7, "", "use more items (-n or -I), or repeat more often (-i)"),
    (8, "", "use more items (-n or -I), so that the fast part no longer matters, and tell both rates"),
    (9, "", ""),
    (10, "as many `workers`", "start no more tasks than there are processors"),
    (10, "", "use more tasks"),
    (
        11,
        "`placement`",
        "stop what else runs on the nodes, or bind the tasks to processors (mpirun --bind-to core)",
    ),
    (12, "`finish", "add -y, so that what was written is on the storage, or sync between the runs"),
    (
        14,
        "look at each worker",
        "give each task a directory of its own (-u), and see what the slow ones' node has that the \
                                 others have not",
    ),
    (14, "`stop", "let all tasks create for the same time (-W SECONDS) rather than as many items"),
    (15, "time batches", ""),
    (23, "", "use more items (-n or -I): a phase is to last ten times as long as its start and stop"),
    (
        26,
        "",
        "repeat (-i) and read the least rate beside the largest; look for who else uses the storage at that distance",
    ),
    (1, "two nodes", "run on at least two nodes: on one, -N reads what its own cache has"),
    (
        1,
        "",
        "read what another node wrote (-N 1, on two nodes or more), or drop caches between runs with -C and -E",
    ),
    (2, "", "add -y or -Y"),
    (3, "", "create and write the files (-C, -w) before they are read (-E)"),
    (22, "`intent", "name a directory (-d) on the storage you mean"),
    (22, "`prepare", "write the files (-w) before they are read"),
    (16, "", "make -w and -e multiples of the file system's block (4096)"),
    (19, "", ""),
    (
        21,
        "",
        "look at what another node made (-N 1), or drop the caches between -C and -T (two runs with -C and -T), twice, \
         as once leaves what a journal holds",
    ),
    (24, "", ""),
    (13, "", ""),
    (20, "", ""),
];

/// A finding whose advice names mdtest's own options.
pub fn translate(finding: Finding) -> Option<Finding> {
    advice::of(finding, ADVICE)
}
