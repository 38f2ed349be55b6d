//! Findings in mdtest's own options; it prints no latencies.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names mdtest's own options.
    translate {
        R::BypassPageCache | R::FindCacheHolder =>
            "read what another node wrote (-N 1, on two nodes or more), or drop caches between runs with -C and -E",
        R::ReadOnAnotherNode => "run on at least two nodes: on one, -N reads what its own cache has",
        R::IncludeFlush | R::WriteOnce => "add -y or -Y",
        R::FillBeforeReading => "create and write the files (-C, -w) before they are read (-E)",
        R::SettleFirst | R::RepeatMoreOften => "use more items (-n or -I), or repeat more often (-i)",
        R::OutlastBurst =>
            "use more items (-n or -I), so that the fast part no longer matters, and tell both rates",
        R::PrepareData | R::CheapenData | R::AddWorkers => "use more tasks",
        R::MatchProcessors => "start no more tasks than there are processors",
        R::ReserveProcessors =>
            "stop what else runs on the nodes, or bind the tasks to processors (mpirun --bind-to core)",
        R::FlushBefore => "add -y, so that what was written is on the storage, or sync between the runs",
        R::CompareWorkers =>
            "give each task a directory of its own (-u), and see what the slow ones' node has that the others have not",
        R::EndTogether => "let all tasks create for the same time (-W SECONDS) rather than as many items",
        R::AlignBlocks | R::SyncLess => "make -w and -e multiples of the file system's block (4096)",
        R::DropCaches =>
            "look at what another node made (-N 1), or drop the caches between -C and -T (two runs with -C and -T), \
             twice, as once leaves what a journal holds",
        R::ChooseStorage => "name a directory (-d) on the storage you mean",
        R::FillVolume => "write the files (-w) before they are read",
        R::RunLonger =>
            "use more items (-n or -I): a phase is to last ten times as long as its start and stop",
        R::ReadTail =>
            "repeat (-i) and read the least rate beside the largest; look for who else uses the storage at that \
             distance",
        R::SeparateFiles => "give each worker a file of its own",
        R::LowerConcurrency => "run fewer tasks: quote the rate together with the share turned away",
        R::SpreadPrefixes => "give each task a directory of its own (-u)",
        R::AskStoreDirectly =>
            "name the store's own host (--S3.host), or switch off what the proxy tries again, and read its own counters beside \
             these",
        R::BypassStoreCache => "look at what another node made (-N 1), or name the store's own host (--S3.host)",
    }
    general { remedies!(everywhere clocks flows) | R::KeepConnections | R::SpareCiphers | R::WriteRandomData | R::OutgrowDeviceCache }
    unprinted { remedies!(errors depth percentiles schedules requests peaks accelerators) | R::TimeBatches | R::EnlargeTarget
        | R::CheckContent | R::EnlargeParts | R::AddConnections }
}
