//! Advice about time, the machine, workers and the network, in the words of the tool that was asked.
//!
//! A finding's own advice names words of the plan; a tool has others, or none. Refuses to judge: what was found stays as
//! it was found, unless it concerns nothing that the tool prints.

use iodyno_model::Finding;

/// A code, a word of the plan's own advice that tells it from others of the code (empty: any), and the advice instead;
/// empty: the finding concerns nothing that the tool prints.
pub type Said = (u8, &'static str, &'static str);

/// The finding with the first advice that fits; where none does, with its own.
pub fn said(finding: Finding, advice: &[Said]) -> Option<Finding> {
    let fits = |(code, word, _): &&Said| *code == finding.code && finding.advice.contains(word);
    match advice.iter().find(fits) {
        Some((_, _, "")) => None,
        Some((_, _, advice)) => Some(Finding { advice: (*advice).into(), ..finding }),
        None => Some(finding),
    }
}

/// What can be said about the machine without any tool's words.
const MACHINE: &[Said] = &[
    (
        11,
        "`placement`",
        "stop what else runs on this machine, or keep processors for this run (taskset, isolcpus)",
    ),
    (12, "`finish", "flush what is in memory before the run (sync), or wait a while"),
    (
        14,
        "look at each worker",
        "see what the slow ones' file, device or processor has that the others have not",
    ),
];

/// For what was asked with fio's options.
pub const FIO: &[Said] = &[
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
];

/// For what was asked with IOR's options; it prints no latencies.
pub const IOR: &[Said] = &[
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
];

/// For what was asked with mdtest's options; it prints no latencies.
pub const MDTEST: &[Said] = &[
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
];

/// For what was asked with io500's configuration; it prints no latencies.
pub const IO500: &[Said] = &[
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
    (23, "", "raise `stonewall-time`: only 300 s make a result valid"),
];

/// For what was asked with dd's operands; it prints a time and a rate.
pub const DD: &[Said] = &[
    (7, "", "copy more (a larger count=), and see who else uses the machine"),
    (8, "", "copy more (a larger count=), so that the fast part no longer matters, and tell both rates"),
    (10, "a cheaper engine", "use a larger bs="),
    (12, "`finish", "run sync before"),
    (15, "time batches", ""),
    (23, "", "copy more: a larger count="),
    (26, "", "add status=progress to see when it stalls, and copy more (a larger count=)"),
];

/// For what was asked with hdparm's options; it prints a rate.
pub const HDPARM: &[Said] = &[
    (7, "", "repeat it two or three times on a system without other work, as hdparm's manual says"),
    (8, "", "repeat it two or three times, and read the last rate rather than the first"),
    (12, "`finish", "run sync before"),
    (15, "time batches", ""),
    (26, "", "repeat it two or three times on a system without other work, as hdparm's manual says"),
];

/// For what was asked with iperf 2's options; it prints rates.
pub const IPERF: &[Said] = &[
    (7, "", "run longer (-t), and see who else uses the network"),
    (8, "", "run longer (-t), so that the fast part no longer matters, and tell both rates"),
    (9, "", ""),
    (10, "", "use more streams (-P), or larger writes (-l)"),
    (
        14,
        "look at each worker",
        "see each stream's row (-i), and what its path has that the others' have not",
    ),
    (15, "time batches", ""),
    (23, "", "run longer (-t)"),
    (26, "", "read the rows (-i) beside the total"),
];

/// For what was asked with options of `iodyno measure`.
pub const MEASURE: &[Said] = &[
    (8, "", "measure longer (--full, or --time 60s): the rate after the fall is the one that lasts"),
    (10, "", "use an engine that takes less of the processor: --engine io_uring"),
    (12, "`finish", "flush what is in memory before (sync), or wait a while"),
    (23, "", "measure longer: --full, or --time 5s"),
    (
        26,
        "",
        "read the maximum beside the median, and measure longer (--full); look for garbage collection, snapshots, or who \
             else uses the machine at that distance",
    ),
];

/// For what was asked in words of the plan itself, whose report shows latency from the intended start, and no p99.9 of too
/// few samples.
pub const NATIVE: &[Said] = &[(6, "read p99 instead", ""), (9, "`service`", "")];

/// The finding in a tool's words, and what they do not say without any tool's.
pub fn of(finding: Finding, tool: &[Said]) -> Option<Finding> {
    let finding = said(finding, tool)?;
    if tool == NATIVE { Some(finding) } else { said(finding, MACHINE) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use iodyno_model::Severity;

    fn told(code: u8, advice: &str, tool: &[Said]) -> Option<String> {
        let finding = Finding {
            code,
            severity: Severity::Note,
            phase: String::new(),
            job: None,
            sentence: String::new(),
            figures: Vec::new(),
            advice: advice.into(),
        };
        of(finding, tool).map(|finding| finding.advice)
    }

    #[test]
    fn each_tool_is_told_its_own_options() {
        let placed = "keep processors for the workers (`cpus` in `placement`)";
        assert!(told(11, placed, FIO).unwrap().contains("cpus_allowed="));
        assert!(told(11, placed, IOR).unwrap().contains("mpirun"));
        assert!(told(11, placed, DD).unwrap().contains("taskset"));
        assert_eq!(told(11, placed, NATIVE).unwrap(), placed);
        assert_eq!(told(11, "the machine is hot", FIO).unwrap(), "the machine is hot");
        assert!(told(14, "let the first end (`stop = \"first done\"`)", MDTEST).unwrap().contains("-W"));
        assert!(told(23, "run longer (`time`)", DD).unwrap().contains("count="));
    }

    #[test]
    fn what_a_tool_does_not_print_is_no_matter() {
        assert_eq!(told(9, "set `open_loop = true`", IOR), None);
        assert_eq!(told(9, "read `latency`, and not `service`", NATIVE), None);
        assert!(told(9, "set `open_loop = true`", NATIVE).is_some());
        assert_eq!(told(15, "read the rate, or time batches", DD), None);
        assert_eq!(told(6, "more samples", IO500), None);
    }
}
