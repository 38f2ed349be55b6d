//! Findings in IOR's own options.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names IOR's options.
    translate {
        R::BypassPageCache | R::FindCacheHolder =>
            "read what another node wrote (-C, on two nodes or more), add --posix.odirect, or make -b or -s so large \
             that the files are larger than memory; -M takes memory away from the cache",
        R::ReadOnAnotherNode =>
            "run on at least two nodes: on one, -C and -Z read what its own cache has; or add --posix.odirect",
        R::IncludeFlush => "add -e, so that the flush is part of the time, or --posix.odirect",
        R::WriteOnce => "make -b or -s larger, so that each place is written once, or add --posix.odirect",
        R::FillBeforeReading =>
            "write the file with data before it is read (-w -k, then -r); what was only reserved is read as zeros",
        R::WriteRandomData => "write data that does not compress or repeat: -l random",
        R::OutgrowDeviceCache => "make -b or -s several times larger than any cache before the storage",
        R::SettleFirst | R::RepeatMoreOften => "make -b or -s larger, or repeat more often (-i)",
        R::OutlastBurst =>
            "make -b or -s larger, so that the fast part no longer matters, and tell both rates",
        R::CheapenData => "leave the checks (-R, -W) out of what is measured, or use more tasks",
        R::AddWorkers => "use more tasks, or larger transfers (-t)",
        R::MatchProcessors => "start no more tasks than there are processors",
        R::ReserveProcessors =>
            "stop what else runs on the nodes, or bind the tasks to processors (mpirun --bind-to core)",
        R::FlushBefore =>
            "add -e, so that what was written is on the storage, or a pause between tests (-d)",
        R::CompareWorkers =>
            "compare the tasks (-v -v -v): see what the slow ones' node or file has that the others have not",
        R::EndTogether => "let all tasks write for the same time (-D SECONDS) rather than the same amount",
        R::AlignBlocks | R::SyncLess => "make -t a multiple of the file system's block (4k and more)",
        R::EnlargeTarget =>
            "write the file first, as large as it is read (-w -k, then -r), or make -b, -s or -N smaller",
        R::ChooseStorage => "name a file (-o) on the storage you mean",
        R::FillVolume => "write all of the file before it is read (-w -k, then -r)",
        R::RunLonger => "make -b or -s larger: a phase is to last ten times as long as its start and stop",
        R::ReadTail =>
            "repeat (-i) and read the least rate beside the largest; look for garbage collection, snapshots, or who \
             else uses the storage at that distance",
        R::SeparateFiles =>
            "give each task a file of its own (-F); one shared file measures the file system's locks",
        R::LowerConcurrency => "run fewer tasks (-N): quote the rate together with the share turned away",
        R::SpreadPrefixes => "give each task an object of its own (-F) below a directory of its own (-u)",
        R::AskStoreDirectly =>
            "name the store's own host (--S3.host), or switch off what the proxy tries again, and read its own counters beside \
             these",
        R::BypassStoreCache =>
            "read what another task wrote (-C or -Z) and more than the cache holds (-b, -s), or name the store's own host \
             (--S3.host)",
        R::CheckContent => "add -W or -R, and compare with clients that check as much",
        R::EnlargeParts => "make -t 16m or larger: each transfer is a part",
        R::AddConnections => "run more tasks (-N)",
    }
    general { remedies!(everywhere clocks errors flows) | R::KeepConnections | R::SpareCiphers | R::PrepareData | R::DropCaches }
    unprinted { remedies!(depth percentiles schedules requests peaks accelerators) | R::TimeBatches }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::translated;

    #[test]
    fn advice_names_options_of_ior() {
        assert!(
            translated(R::BypassPageCache, translate)
                .is_some_and(|advice| advice.contains("--posix.odirect"))
        );
        assert!(translated(R::IncludeFlush, translate).is_some_and(|advice| advice.contains("-e")));
        assert_eq!(translated(R::ReadMedian, translate), None);
        assert_eq!(translated(R::FixFailures, translate).as_deref(), Some(R::FixFailures.words()));
        assert!(translated(R::EnlargeTarget, translate).is_some_and(|advice| advice.contains("-w -k")));
    }
}
