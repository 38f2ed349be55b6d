//! Findings in dd's own operands; it prints a time and a rate, no percentiles: what spoils those is no matter here.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names dd's own operands.
    translate {
        R::BypassPageCache | R::FindCacheHolder | R::ReadOnAnotherNode =>
            "add iflag=direct to read past the page cache",
        R::IncludeFlush | R::WriteOnce =>
            "add conv=fdatasync, so that the flush is part of the time, or oflag=direct",
        R::FillBeforeReading =>
            "read a file that holds data: what was reserved or skipped (seek=, conv=sparse) is read as zeros",
        R::WriteRandomData => "copy data that does not compress: /dev/zero is all alike",
        R::OutgrowDeviceCache => "copy more (count=) than any cache before the storage holds",
        R::SettleFirst | R::RepeatMoreOften =>
            "copy more (a larger count=), and see who else uses the machine",
        R::OutlastBurst =>
            "copy more (a larger count=), so that the fast part no longer matters, and tell both rates",
        R::AddWorkers => "use a larger bs=",
        R::FlushBefore => "run sync before",
        R::AlignBlocks | R::SyncLess => "use bs=4k or a multiple of it",
        R::ChooseStorage => "name a file on the storage you mean",
        R::FillVolume => "write all of the file before (a first dd without conv=sparse or seek=)",
        R::RunLonger => "copy more: a larger count=",
        R::ReadTail => "add status=progress to see when it stalls, and copy more (a larger count=)",
        R::SeparateFiles => "give each worker a file of its own",
    }
    general { remedies!(everywhere clocks flows schedules) | R::PrepareData | R::CheapenData | R::MatchProcessors
        | R::ReserveProcessors | R::CompareWorkers | R::EndTogether | R::DropCaches }
    // The last block of a file is short, and pipes give what they have.
    unprinted { remedies!(errors depth percentiles requests peaks stores accelerators) | R::TimeBatches | R::EnlargeTarget }
}
