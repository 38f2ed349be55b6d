//! Findings in the words of parameter files.
//!
//! It refuses to judge: what was found stays as it was found.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names parameters.
    translate {
        R::BypassPageCache | R::FindCacheHolder | R::ReadOnAnotherNode =>
            "say openflags=o_direct, or make size= twice the memory",
        R::IncludeFlush | R::WriteOnce => "say openflags=o_direct, or openflags=fsync with a longer elapsed=",
        R::FillBeforeReading | R::FillVolume => "write it in full before: formatsds=yes for files, seekpct=eof,rdpct=0 for devices",
        remedies!(percentiles) => "a longer elapsed= has more samples in its tail",
        remedies!(depth) => "fewer threads=, or more storage definitions",
        R::AlignBlocks | R::SyncLess => "an xfersize= that is a multiple of the file system's and the device's block",
        remedies!(requests) => "say openflags=o_direct: through the page cache the kernel makes other requests",
        R::ChooseStorage => "name a lun= or an anchor= on the storage you mean",
        R::SeparateFiles => "give each workload a storage definition of its own",
        R::RunLonger | R::OutlastBurst => "a longer elapsed=",
        R::SettleFirst => "a longer warmup=",
        R::RepeatMoreOften => "repeat it: -l 5, or loop=5",
        R::MatchProcessors => "threads= no larger than what the processors can do",
        R::PrepareData | R::CheapenData => "leave compratio= and dedupratio= out, or use more threads=",
        R::AddWorkers => "more threads=",
        R::WriteRandomData => "leave compratio= and dedupratio= out",
        R::EnlargeTarget => "a larger size=, or range= over more of it",
    }
    general { remedies!(everywhere clocks errors flows schedules peaks) | R::OutgrowDeviceCache
        | R::ReserveProcessors | R::FlushBefore | R::CompareWorkers | R::EndTogether
        | R::TimeBatches | R::DropCaches | R::ReadTail }
    unprinted { remedies!(stores accelerators) }
}
