//! Findings in bonnie++'s own options; its tables show rates, processor time and the longest latency.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names bonnie++'s own options.
    translate {
        R::BypassPageCache | R::FindCacheHolder | R::ReadOnAnotherNode =>
            "a file (-s) of twice the memory does not fit in it; -r 0 takes that protection away",
        R::IncludeFlush | R::WriteOnce =>
            "-b makes each change durable; the file itself is made durable inside the time of each test",
        R::FillBeforeReading | R::EnlargeTarget | R::FillVolume => "a larger file (-s), which the tests write before they read it",
        R::WriteRandomData =>
            "bonnie++ writes nearly nothing but zeros, which compress: compare on storage that does not compress, or use fio",
        R::OutgrowDeviceCache => "a file (-s) several times larger than any cache before the storage",
        R::SettleFirst | R::RepeatMoreOften => "a larger file (-s), more files (-n), or more runs (-x)",
        R::OutlastBurst => "a larger file (-s), so that the fast part no longer matters; tell both rates",
        R::PrepareData | R::CheapenData | R::AddWorkers => "more seeking processes (-s SIZE:CHUNK:SEEKS:SEEKERS), or larger chunks",
        R::MatchProcessors => "no more seeking processes (-s SIZE:CHUNK:SEEKS:SEEKERS) than there are processors",
        R::UseAsynchronousEngine | R::KeepDepthWithWorkers | R::LayOutFirst | R::KeepDepthDirect | R::SubmitDirect
        | R::RaiseDepth | R::SweepFurther =>
            "more seeking processes (-s SIZE:CHUNK:SEEKS:SEEKERS), each with one operation",
        R::FitDeviceQueue => "fewer seeking processes (-s SIZE:CHUNK:SEEKS:SEEKERS)",
        R::EndTogether => "more seeks (-s SIZE:CHUNK:SEEKS), so that the end matters less",
        R::AlignBlocks => "chunks (-s SIZE:CHUNK) that are a multiple of the file system's block (4096 and more)",
        R::SyncLess => "leave -b out",
        R::DropCaches => "more files (-n), or a larger file (-s), than memory holds: the tests read what they have just written",
        R::ChooseStorage => "name a directory (-d) on the storage you mean",
        R::RunLonger => "a larger file (-s), more seeks (-s SIZE:CHUNK:SEEKS) or more files (-n): a test is to last ten times as \
                         long as its start and stop",
        R::SeparateFiles => "one seeking process (-s SIZE:CHUNK:SEEKS:1): all of them share the file",
        R::ReadTail => "read the line of latencies: the longest of each test; look for who else uses the storage",
    }
    general { remedies!(everywhere clocks errors flows) | R::ReserveProcessors | R::FlushBefore | R::CompareWorkers | R::TimeBatches }
    unprinted { remedies!(percentiles schedules requests stores accelerators) }
}
