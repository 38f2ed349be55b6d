//! Findings in md-workbench's own options.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names md-workbench's own options.
    translate {
        R::BypassPageCache | R::FindCacheHolder =>
            "let another node read what was written (-O 1, on two nodes or more), or make the working set larger than memory \
             (-P, -D, -S)",
        R::ReadOnAnotherNode => "run on at least two nodes: on one, -O reads what its own cache has",
        R::IncludeFlush | R::WriteOnce => "make the working set larger than what the cache may hold back (-P, -D, -S)",
        R::FillBeforeReading => "precreate the objects (-1) before they are read (-2)",
        R::SettleFirst | R::RepeatMoreOften => "go through more objects (-I), or repeat more often (-R)",
        R::OutlastBurst => "go through more objects (-I), so that the fast part no longer matters, and tell both rates",
        R::PrepareData | R::CheapenData | R::AddWorkers => "use more tasks",
        R::MatchProcessors => "start no more tasks than there are processors",
        R::ReserveProcessors =>
            "stop what else runs on the nodes, or bind the tasks to processors (mpirun --bind-to core)",
        R::FlushBefore => "sync between precreation (-1) and benchmark (-2)",
        R::CompareWorkers => "see what the slow ones' node has that the others have not (--process-reports)",
        R::EndTogether => "let all tasks run for the same time (-w SECONDS -W) rather than over as many objects",
        R::AlignBlocks | R::SyncLess => "make -S a multiple of the file system's block (4096)",
        R::DropCaches => "drop the caches between precreation (-1) and benchmark (-2)",
        R::ChooseStorage => "name a directory (-o) on the storage you mean",
        R::FillVolume => "precreate the objects (-1) before they are read",
        R::RunLonger => "go through more objects (-I): a phase is to last ten times as long as its start and stop",
        R::ReadTail => "read the last figures of each latency (99 % and the longest); look for who else uses the storage",
        R::SeparateFiles => "give each worker a file of its own",
    }
    general { remedies!(everywhere clocks flows percentiles) | R::WriteRandomData | R::OutgrowDeviceCache }
    unprinted { remedies!(errors depth schedules requests peaks stores accelerators) | R::TimeBatches | R::EnlargeTarget }
}
