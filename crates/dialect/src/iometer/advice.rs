//! Findings in the words of a configuration file.
//!
//! It refuses to judge: what was found stays as it was found.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names entries of the file.
    translate {
        R::BypassPageCache | R::FindCacheHolder | R::ReadOnAnotherNode =>
            "a `Disk maximum size` of twice the memory does not fit in the page cache",
        R::IncludeFlush | R::WriteOnce =>
            "name a device as target: what is written there goes past the page cache",
        R::FillBeforeReading | R::FillVolume => "let the test file be written in full before the test",
        remedies!(percentiles) => "a longer `Run Time` has more samples in its tail",
        remedies!(depth) => "fewer `# of Outstanding I/Os`, or more workers",
        R::AlignBlocks | R::SyncLess =>
            "a `size` that is a multiple of the file system's and the device's block",
        remedies!(requests) =>
            "name a device as target: through the page cache the kernel makes other requests",
        R::WriteRandomData => "a `Data pattern` of 2 writes new random bytes each time",
        R::ChooseStorage => "name a target on the storage you mean",
        R::SeparateFiles => "give each worker a target of its own",
    }
    general { remedies!(everywhere clocks errors flows schedules peaks)
        | R::OutgrowDeviceCache | R::SettleFirst | R::RepeatMoreOften | R::OutlastBurst | R::PrepareData
        | R::CheapenData | R::AddWorkers | R::MatchProcessors | R::ReserveProcessors | R::FlushBefore
        | R::CompareWorkers | R::EndTogether | R::TimeBatches | R::EnlargeTarget | R::DropCaches
        | R::RunLonger | R::ReadTail }
    unprinted { remedies!(stores accelerators) }
}
