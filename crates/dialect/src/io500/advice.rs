//! Findings in words of io500's configuration; it prints no latencies.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Finding;

use crate::advice::{self, Said};

/// Advice by a finding's code, and by a word of the plan's that it names where one code has several.
const ADVICE: &[Said] = &[
    // Its hard phases share a file by the rules of the benchmark.
    (31, "", ""),
    (6, "", ""),
    (7, "", "raise `stonewall-time`, and see who else uses the storage"),
    (8, "", "raise `stonewall-time`, so that the fast part no longer matters"),
    (9, "", ""),
    (10, "", "use more tasks, at most as many as there are processors"),
    (
        11,
        "`placement`",
        "stop what else runs on the nodes, or bind the tasks to processors (mpirun --bind-to core)",
    ),
    (12, "`finish", "flush what is in memory before the run (sync)"),
    (
        14,
        "",
        "see what the slow tasks' nodes have that the others have not: a score counts what all of them did",
    ),
    (15, "time batches", ""),
    (1, "two nodes", "run on at least two nodes: on one, each task reads what its own cache has"),
    (1, "", "run on at least two nodes, or make what is read larger than their memory (`stonewall-time`)"),
    (2, "", "raise `stonewall-time`: what is written must be larger than the nodes' memory"),
    (3, "", "let the phases that write run before those that read"),
    (13, "", ""),
    (16, "", ""),
    (19, "", ""),
    (22, "`intent", "name a `datadir` on the storage you mean"),
    (22, "`prepare", "write all of the volume before the run"),
    (23, "", "raise `stonewall-time`: only 300 s make a result valid"),
];

/// A finding whose advice names words of io500's configuration.
pub fn translate(finding: Finding) -> Option<Finding> {
    advice::of(finding, ADVICE)
}
