//! Findings in hdparm's own options; it prints a rate: no percentiles and no depth.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names hdparm's own options.
    translate {
        R::BypassPageCache | R::FindCacheHolder | R::ReadOnAnotherNode =>
            "add --direct to read past the page cache, or use -t on a device nobody else reads",
        R::FillBeforeReading =>
            "the device answers blocks that were never written by itself: write it first, or read another",
        R::OutgrowDeviceCache => "the device's own cache answered: read more of it",
        R::SettleFirst | R::RepeatMoreOften | R::ReadTail =>
            "repeat it two or three times on a system without other work, as hdparm's manual says",
        R::OutlastBurst => "repeat it two or three times, and read the last rate rather than the first",
        R::FlushBefore => "run sync before",
        R::ChooseStorage => "name the device that you mean",
        R::FillVolume => "write the device first: blocks that were never written are answered without it",
        R::SeparateFiles => "give each worker a file of its own",
    }
    general { remedies!(everywhere clocks errors flows schedules) | R::WriteRandomData | R::PrepareData
        | R::CheapenData | R::AddWorkers | R::MatchProcessors | R::ReserveProcessors | R::CompareWorkers
        | R::EndTogether | R::EnlargeTarget | R::DropCaches | R::RunLonger }
    unprinted { remedies!(depth percentiles requests peaks stores accelerators) | R::IncludeFlush | R::WriteOnce | R::TimeBatches
        | R::AlignBlocks | R::SyncLess }
}
