//! How advice is said in the words of the tool that was asked: each tool has a table of its own, most of them in its own
//! folder.
//!
//! A remedy's own words name keys of the plan; a tool has others, or none. Every table decides on every remedy, or the
//! compiler refuses it. Refuses to judge: what was found stays as it was found, unless it concerns nothing that the tool
//! prints.

use iodyno_model::{Finding, Remedy};

use Remedy as R;

/// How a tool words a remedy.
pub enum Wording {
    /// In words of its own.
    Own(&'static str),
    /// As it is said where no tool was asked.
    General,
    /// Not at all: the finding concerns nothing that the tool prints.
    Unprinted,
}

/// A function that words findings for a tool, from its table of remedies: those that it has words for, those whose general
/// words do, and those of findings that it does not print.
macro_rules! wording {
    (
        $(#[$doc:meta])*
        $name:ident { $($remedy:pat => $text:literal,)* }
        general { $general:pat }
        $(unprinted { $unprinted:pat })?
    ) => {
        $(#[$doc])*
        pub fn $name(finding: iodyno_model::Finding) -> Option<iodyno_model::Finding> {
            use crate::advice::Wording;
            crate::advice::worded(finding, |remedy| match remedy {
                $($remedy => Wording::Own($text),)*
                $general => Wording::General,
                $($unprinted => Wording::Unprinted,)?
            })
        }
    };
}
pub(crate) use wording;

/// Groups of remedies on which several tools decide alike, as a pattern.
macro_rules! remedies {
    (everywhere) => {
        R::UseDedicatedProcessors
            | R::RaiseCpuLimit
            | R::RaiseIoLimit
            | R::FreeMemory
            | R::CoolDown
            | R::StopOtherIo
            | R::EnableBarriers
            | R::WidenLink
            | R::RemoveShaper
            | R::LeaveOverlay
            | R::SetUpDirectLoop
            | R::MeasureBackingDevice
            | R::CompareStorageBelow
            | R::ReadAsWholePath
            | R::CoverWholeTarget
            | R::DistrustFigure
            | R::SlowReplay
            | R::QuickenReplay
    };
    (clocks) => {
        R::KeepClockUnset
            | R::ChangeClockSource
            | R::LengthenPhases
            | R::SynchroniseClock
    };
    (errors) => {
        R::FixFailures
            | R::ReadWorkerError
            | R::DistrustStorage
    };
    (flows) => {
        R::RaiseReceiveBuffer
            | R::AddFlows
            | R::SmoothBursts
            | R::RaiseReceiveWindow
            | R::RaiseSendWindow
    };
    (depth) => {
        R::UseAsynchronousEngine
            | R::KeepDepthDirect
            | R::KeepDepthWithWorkers
            | R::SubmitDirect
            | R::LayOutFirst
            | R::FitDeviceQueue
    };
    (percentiles) => {
        R::ReadMedian
            | R::ReadLowerPercentile
    };
    (schedules) => {
        R::ReadIntendedLatency
            | R::SetOpenLoop
    };
    (requests) => {
        R::AvoidReadAhead
            | R::AvoidMerges
            | R::ShrinkBlocks
    };
    (peaks) => {
        R::SweepFurther
            | R::RaiseDepth
    };
    (stores) => {
        R::LowerConcurrency
            | R::SpreadPrefixes
            | R::AskStoreDirectly
            | R::BypassStoreCache
            | R::KeepConnections
            | R::CheckContent
            | R::EnlargeParts
            | R::AddConnections
            | R::SpareCiphers
    };
    (storage) => {
        R::BypassPageCache
            | R::FindCacheHolder
            | R::ReadOnAnotherNode
            | R::IncludeFlush
            | R::WriteOnce
            | R::FillBeforeReading
            | R::WriteRandomData
            | R::OutgrowDeviceCache
            | R::FlushBefore
            | R::AlignBlocks
            | R::SyncLess
            | R::EnlargeTarget
            | R::DropCaches
            | R::ChooseStorage
            | R::FillVolume
            | R::SeparateFiles
    };
    (accelerators) => {
        R::FeedFewer
            | R::WidenFeed
            | R::RelieveReaders
            | R::RelieveServers
            | R::ReadFurtherAhead
    };
    ($($group:ident)+) => {
        $(remedies!($group))|+
    };
}
pub(crate) use remedies;

/// The finding as a tool words it. One whose remedy is unknown keeps its words.
pub fn worded(finding: Finding, wording: fn(Remedy) -> Wording) -> Option<Finding> {
    let Some(remedy) = finding.remedy() else { return Some(finding) };
    match wording(remedy) {
        Wording::Own(words) => Some(Finding { advice: words.into(), ..finding }),
        Wording::General => Some(Finding { advice: general(remedy).into(), ..finding }),
        Wording::Unprinted => None,
    }
}

/// A remedy without any tool's words, where there are such.
fn general(remedy: Remedy) -> &'static str {
    match remedy {
        R::ReserveProcessors => {
            "stop what else runs on this machine, or keep processors for this run (taskset, isolcpus)"
        }
        R::FlushBefore => "flush what is in memory before the run (sync), or wait a while",
        R::CompareWorkers => "see what the slow ones' file, device or processor has that the others have not",
        remedy => remedy.words(),
    }
}

/// For what was asked in words of the plan itself, whose report shows latency from the intended start, and no p99.9 of too
/// few samples.
pub fn native(finding: Finding) -> Option<Finding> {
    let is_printed = !matches!(finding.remedy(), Some(R::ReadLowerPercentile | R::ReadIntendedLatency));
    is_printed.then_some(finding)
}

/// The tools that word findings of storage, with how they do.
pub const WORDINGS: &[(&str, crate::Translate)] = &[
    ("bonnie++", crate::bonnie::advice::translate),
    ("postmark", crate::postmark::advice::translate),
    ("dbench", crate::dbench::advice::translate),
    ("dd", crate::dd::advice::translate),
    ("diskspd", crate::diskspd::advice::translate),
    ("elbencho", crate::elbencho::advice::translate),
    ("filebench", crate::filebench::advice::translate),
    ("fio", crate::fio::lower::advice::translate),
    ("hdparm", crate::hdparm::advice::translate),
    ("io500", crate::io500::advice::translate),
    ("iometer", crate::iometer::advice::translate),
    ("ior", crate::ior::lower::advice::translate),
    ("iozone", crate::iozone::advice::translate),
    ("md-workbench", crate::md_workbench::advice::translate),
    ("mdtest", crate::mdtest::advice::translate),
    ("measure", crate::measure::advice::translate),
    ("smallfile", crate::smallfile::advice::translate),
    ("vdbench", crate::vdbench::advice::translate),
    ("warp", crate::warp::advice::translate),
];

/// What to do about a finding in the words of a tool; `None` where the finding is left out.
pub fn translated(remedy: Remedy, translate: crate::Translate) -> Option<String> {
    let (severity, phase, sentence) = (iodyno_model::Severity::Note, String::new(), String::new());
    let finding = Finding::new(remedy.kind(), severity, phase, sentence, Vec::new());
    let finding = Finding { remedy: Some(remedy), advice: remedy.words().into(), ..finding };
    translate(finding).map(|finding| finding.advice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dd::advice::translate as dd;
    use crate::fio::lower::advice::translate as fio;
    use crate::hdparm::advice::translate as hdparm;
    use crate::io500::advice::translate as io500;
    use crate::ior::lower::advice::translate as ior;
    use crate::mdtest::advice::translate as mdtest;
    use crate::measure::advice::translate as measure;

    #[test]
    fn each_tool_is_told_its_own_options() {
        let placed = R::ReserveProcessors;
        assert!(translated(placed, fio).unwrap().contains("cpus_allowed="));
        assert!(translated(placed, ior).unwrap().contains("mpirun"));
        assert!(translated(placed, dd).unwrap().contains("taskset"));
        assert_eq!(translated(placed, native).unwrap(), placed.words());
        assert_eq!(translated(R::CoolDown, fio).unwrap(), R::CoolDown.words());
        assert!(translated(R::EndTogether, mdtest).unwrap().contains("-W"));
        assert!(translated(R::RunLonger, dd).unwrap().contains("count="));
        assert!(translated(R::BypassPageCache, measure).unwrap().contains("--size"));
    }

    #[test]
    fn a_finding_of_before_is_known_by_its_words() {
        let (severity, phase, sentence) = (iodyno_model::Severity::Note, String::new(), String::new());
        let found = Finding::new(R::RunLonger.kind(), severity, phase, sentence, Vec::new());
        let found = Finding { kind: None, advice: R::RunLonger.words().into(), ..found };
        assert!(dd(found.clone()).unwrap().advice.contains("count="));
        let unknown = Finding { advice: "wait".into(), ..found };
        assert_eq!(dd(unknown).unwrap().advice, "wait");
    }

    /// Remedies whose own words no tool understands.
    const WORDS: &[Remedy] = &[
        R::BypassPageCache,
        R::ReadOnAnotherNode,
        R::IncludeFlush,
        R::WriteOnce,
        R::FillBeforeReading,
        R::KeepDepthDirect,
        R::SubmitDirect,
        R::LayOutFirst,
        R::AlignBlocks,
        R::SyncLess,
        R::AvoidReadAhead,
        R::ChooseStorage,
        R::FillVolume,
        R::SeparateFiles,
        R::LowerConcurrency,
        R::SpreadPrefixes,
        R::AskStoreDirectly,
        R::BypassStoreCache,
        R::CheckContent,
        R::EnlargeParts,
        R::AddConnections,
    ];

    #[test]
    fn no_tool_is_told_words_of_the_plan() {
        let plan = [
            "`direct = ",
            "`intent",
            "`prepare",
            "`passes",
            "`finish",
            "`invalidate",
            "`block`",
            "`{worker",
            "`settings",
            "`depth`",
        ];
        for (tool, translate) in WORDINGS {
            for remedy in WORDS {
                let told = translated(*remedy, *translate).unwrap_or_default();
                let word = plan.iter().find(|word| told.contains(**word));
                assert_eq!(word, None, "{tool} {remedy:?}: {told}");
            }
        }
    }

    #[test]
    fn advice_does_not_contradict_what_was_asked() {
        // Past the cache already, and on one node.
        assert!(!translated(R::ShrinkBlocks, fio).unwrap().contains("direct=1"));
        assert!(!translated(R::LayOutFirst, fio).unwrap().contains("direct=1"));
        let alone = translated(R::ReadOnAnotherNode, ior).unwrap();
        assert!(alone.starts_with("run on at least two nodes"), "{alone}");
        let overwritten = translated(R::WriteOnce, fio).unwrap();
        assert!(!overwritten.contains("end_fsync"), "{overwritten}");
    }

    #[test]
    fn what_a_tool_does_not_print_is_no_matter() {
        assert_eq!(translated(R::SetOpenLoop, ior), None);
        assert_eq!(translated(R::ReadIntendedLatency, native), None);
        assert!(translated(R::SetOpenLoop, native).is_some());
        assert_eq!(translated(R::TimeBatches, dd), None);
        assert_eq!(translated(R::ReadMedian, io500), None);
        assert_eq!(translated(R::UseAsynchronousEngine, hdparm), None);
    }
}
