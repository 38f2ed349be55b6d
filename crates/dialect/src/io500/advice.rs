//! Findings in words of io500's configuration; it prints no latencies.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names words of io500's configuration.
    translate {
        R::BypassPageCache | R::FindCacheHolder =>
            "run on at least two nodes, or make what is read larger than their memory (`stonewall-time`)",
        R::ReadOnAnotherNode =>
            "run on at least two nodes: on one, each task reads what its own cache has",
        R::IncludeFlush | R::WriteOnce =>
            "raise `stonewall-time`: what is written must be larger than the nodes' memory",
        R::FillBeforeReading => "let the phases that write run before those that read",
        R::SettleFirst | R::RepeatMoreOften => "raise `stonewall-time`, and see who else uses the storage",
        R::OutlastBurst => "raise `stonewall-time`, so that the fast part no longer matters",
        R::PrepareData | R::CheapenData | R::AddWorkers | R::MatchProcessors =>
            "use more tasks, at most as many as there are processors",
        R::ReserveProcessors =>
            "stop what else runs on the nodes, or bind the tasks to processors (mpirun --bind-to core)",
        R::FlushBefore => "flush what is in memory before the run (sync)",
        R::CompareWorkers | R::EndTogether =>
            "see what the slow tasks' nodes have that the others have not: a score counts what all of them did",
        R::ChooseStorage => "name a `datadir` on the storage you mean",
        R::FillVolume => "write all of the volume before the run",
        R::RunLonger => "raise `stonewall-time`: only 300 s make a result valid",
    }
    general { remedies!(everywhere clocks errors flows peaks) | R::WriteRandomData | R::OutgrowDeviceCache
        | R::EnlargeTarget | R::DropCaches | R::ReadTail }
    // Its hard phases share a file by the rules of the benchmark.
    unprinted { remedies!(depth percentiles schedules requests stores accelerators) | R::TimeBatches | R::AlignBlocks | R::SyncLess
        | R::SeparateFiles }
}
