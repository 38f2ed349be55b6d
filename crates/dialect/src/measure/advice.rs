//! Findings in the options of `iodyno measure`.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names the options of `iodyno measure`.
    translate {
        R::BypassPageCache | R::FindCacheHolder | R::ReadOnAnotherNode | R::IncludeFlush | R::WriteOnce
        | R::KeepDepthDirect | R::SubmitDirect =>
            "this file system takes no direct I/O: choose a --size well above memory, or measure the device beneath",
        R::FillBeforeReading =>
            "the span was laid out with data: see what else writes or punches these files",
        R::OutgrowDeviceCache =>
            "measure a larger --size than any cache before the storage holds, e.g. --full",
        remedies!(percentiles) | R::RunLonger => "measure longer: --full, or --time 5s",
        R::SettleFirst | R::RepeatMoreOften =>
            "measure longer (--full), when nobody else uses the machine; a new SSD needs filling first",
        R::OutlastBurst =>
            "measure longer (--full, or --time 60s): the rate after the fall is the one that lasts",
        R::PrepareData | R::CheapenData | R::AddWorkers | R::MatchProcessors =>
            "use an engine that takes less of the processor: --engine io_uring",
        R::FlushBefore => "flush what is in memory before (sync), or wait a while",
        R::UseAsynchronousEngine | R::KeepDepthWithWorkers | R::LayOutFirst =>
            "use an engine that keeps a depth: --engine io_uring or libaio",
        R::FitDeviceQueue =>
            "the deepest points of the sweep wait in the host: read it up to what the device takes, or let it take more \
             (/sys/block/*/queue/nr_requests, the queue depth of its driver)",
        R::AlignBlocks | R::SyncLess =>
            "the smallest blocks are less than the file system's: read the larger ones",
        remedies!(requests) =>
            "past the page cache the device got other requests than were asked: a limit of its queue",
        R::ChooseStorage => "name a directory, a file or a device on the storage you mean",
        R::FillVolume => "measure with --full, which writes all of the span before",
        remedies!(peaks) => "sweep deeper with --full; the last depth is no limit of the device",
        R::ReadTail =>
            "read the maximum beside the median, and measure longer (--full); look for garbage collection, snapshots, \
             or who else uses the machine at that distance",
        R::SeparateFiles => "give each worker a file of its own",
    }
    general { remedies!(everywhere clocks errors flows schedules) | R::WriteRandomData | R::ReserveProcessors
        | R::CompareWorkers | R::EndTogether | R::TimeBatches | R::EnlargeTarget | R::DropCaches }
    unprinted { remedies!(stores accelerators) }
}
