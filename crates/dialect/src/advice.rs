//! How advice is said in the words of the tool that was asked: each tool has a table of its own, most of them in its own
//! folder.
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

/// For what was asked in words of the plan itself, whose report shows latency from the intended start, and no p99.9 of too
/// few samples.
pub const NATIVE: &[Said] = &[(6, "read p99 instead", ""), (9, "`service`", "")];

/// The finding in a tool's words, and what they do not say without any tool's.
pub fn of(finding: Finding, tool: &[Said]) -> Option<Finding> {
    said(said(finding, tool)?, MACHINE)
}

/// The advice of a finding of this code, said as `translate` says it; `None` where the finding is left out.
#[cfg(test)]
pub fn translated(code: u8, advice: &str, translate: crate::Translate) -> Option<String> {
    let finding = Finding {
        code,
        severity: iodyno_model::Severity::Note,
        phase: String::new(),
        job: None,
        sentence: String::new(),
        figures: Vec::new(),
        advice: advice.into(),
        explained_by: None,
    };
    translate(finding).map(|finding| finding.advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Translate;
    use crate::dd::advice::translate as dd;
    use crate::fio::lower::advice::translate as fio;
    use crate::hdparm::advice::translate as hdparm;
    use crate::io500::advice::translate as io500;
    use crate::ior::lower::advice::translate as ior;
    use crate::mdtest::advice::translate as mdtest;
    use crate::measure::advice::translate as measure;

    const NATIVE: Translate = |finding| said(finding, super::NATIVE);

    #[test]
    fn each_tool_is_told_its_own_options() {
        let placed = "keep processors for the workers (`cpus` in `placement`)";
        assert!(translated(11, placed, fio).unwrap().contains("cpus_allowed="));
        assert!(translated(11, placed, ior).unwrap().contains("mpirun"));
        assert!(translated(11, placed, dd).unwrap().contains("taskset"));
        assert_eq!(translated(11, placed, NATIVE).unwrap(), placed);
        assert_eq!(translated(11, "the machine is hot", fio).unwrap(), "the machine is hot");
        assert!(
            translated(14, "let the first end (`stop = \"first done\"`)", mdtest).unwrap().contains("-W")
        );
        assert!(translated(23, "run longer (`time`)", dd).unwrap().contains("count="));
        assert!(translated(1, "any", measure).unwrap().contains("--size"));
    }

    /// What the plan's own advice says, and no tool understands.
    const WORDS: &[(u8, &str)] = &[
        (1, "set `direct = true` for the target, or say `intent = \"cache\"`"),
        (1, "run on at least two nodes, or go past the cache: `direct = true`, or `invalidate = true`"),
        (2, "end the job with `finish = { sync = \"fsync\" }`, or say `intent = \"cache\"`"),
        (2, "write each place once (`passes = 1`), or set `direct = true`; say `intent = \"cache\"`"),
        (3, "lay the target out with data first (`prepare = \"filled\"`)"),
        (13, "set `direct = true` (buffered operations are done as they are handed over)"),
        (13, "lay the file out first (`prepare = \"filled\"`: writes that extend it wait)"),
        (16, "use a `block` that is a multiple, or lay the file out first (`prepare = \"filled\"`)"),
        (19, "set `direct = true` for the target"),
        (22, "choose a directory; if memory is what you measure, say `intent = \"cache\"`"),
        (22, "write all of the span before measuring (`prepare = \"filled\"`, `--full`)"),
        (31, "give each worker a file of its own (`{worker}` in the path)"),
    ];

    #[test]
    fn no_tool_is_told_words_of_the_plan() {
        use crate::filebench::advice::translate as filebench;
        use crate::iometer::advice::translate as iometer;
        use crate::iozone::advice::translate as iozone;
        let tools: [(&str, Translate); 10] = [
            ("dd", dd),
            ("filebench", filebench),
            ("fio", fio),
            ("hdparm", hdparm),
            ("io500", io500),
            ("iometer", iometer),
            ("ior", ior),
            ("iozone", iozone),
            ("mdtest", mdtest),
            ("measure", measure),
        ];
        let plan =
            ["`direct = ", "`intent", "`prepare", "`passes", "`finish", "`invalidate", "`block`", "`{worker"];
        for (tool, translate) in tools {
            for (code, advice) in WORDS {
                let told = translated(*code, advice, translate).unwrap_or_default();
                let word = plan.iter().find(|word| told.contains(**word));
                assert_eq!(word, None, "{tool} [{code}]: {told}");
            }
        }
    }

    #[test]
    fn advice_does_not_contradict_what_was_asked() {
        // Past the cache already, and on one node.
        let split = "use a `block` that the device takes whole (`/sys/block/*/queue/max_sectors_kb`)";
        assert!(!translated(19, split, fio).unwrap().contains("direct=1"));
        assert!(
            !translated(13, "lay the file out first (`prepare = \"filled\"`)", fio)
                .unwrap()
                .contains("direct=1")
        );
        let alone = translated(1, "run on at least two nodes, or go past the cache", ior).unwrap();
        assert!(alone.starts_with("run on at least two nodes"), "{alone}");
        let overwritten = translated(2, "write each place once (`passes = 1`)", fio).unwrap();
        assert!(!overwritten.contains("end_fsync"), "{overwritten}");
    }

    #[test]
    fn what_a_tool_does_not_print_is_no_matter() {
        assert_eq!(translated(9, "set `open_loop = true`", ior), None);
        assert_eq!(translated(9, "read `latency`, and not `service`", NATIVE), None);
        assert!(translated(9, "set `open_loop = true`", NATIVE).is_some());
        assert_eq!(translated(15, "read the rate, or time batches", dd), None);
        assert_eq!(translated(6, "more samples", io500), None);
        assert_eq!(translated(13, "deeper", hdparm), None);
    }
}
