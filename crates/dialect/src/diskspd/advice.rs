//! Findings in diskspd's own options.
//!
//! It refuses to judge: what was found stays as it was found.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names diskspd's own options.
    translate {
        R::BypassPageCache | R::FindCacheHolder | R::ReadOnAnotherNode =>
            "go past the page cache with -Su, or make the file (-c) larger than twice the memory",
        R::IncludeFlush | R::WriteOnce =>
            "write through with -Sw, or past the cache and through with -Sh",
        R::FillBeforeReading | R::FillVolume => "let the file be made and filled in full by -c",
        R::WriteRandomData => "write random bytes with -Zr",
        R::OutgrowDeviceCache => "make the file (-c) larger than the device's cache",
        R::RunLonger | R::OutlastBurst => "measure longer with -d, after a longer warm-up with -W",
        R::SettleFirst => "warm up longer with -W",
        R::AddWorkers => "use more threads with -t",
        remedies!(percentiles) => "a longer -d has more samples in its tail",
        remedies!(depth) => "fewer operations in flight with -o, or more threads with -t",
        R::AlignBlocks | R::SyncLess =>
            "a -b (and the alignment of -r) that is a multiple of the file system's and the device's block",
        remedies!(requests) => "go past the page cache with -Su: through it the kernel makes other requests",
        R::MatchProcessors => "fewer threads with -t, or -n to bind none to a processor",
        R::ChooseStorage => "name a target on the storage you mean",
        R::SeparateFiles => "name a target for each thread",
        R::EnlargeTarget => "a larger file with -c, or more of it with -f",
    }
    general { remedies!(everywhere clocks errors flows schedules peaks) | R::RepeatMoreOften | R::PrepareData
        | R::CheapenData | R::ReserveProcessors | R::FlushBefore
        | R::CompareWorkers | R::EndTogether | R::TimeBatches | R::DropCaches | R::ReadTail }
    unprinted { remedies!(stores accelerators) }
}
