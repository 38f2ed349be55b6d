//! Findings in fio's own options: the advice that a job file can follow.
//!
//! It refuses to judge: what was found stays as it was found.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names fio's options.
    translate {
        R::BypassPageCache | R::FindCacheHolder | R::ReadOnAnotherNode =>
            "add direct=1, or a size= larger than memory with invalidate=1",
        R::IncludeFlush => "add end_fsync=1, so that the flush is part of the time, or direct=1",
        R::WriteOnce =>
            "write each place once (a size= as large as what is written, without time_based and loops), sync more often \
             (fsync=1), or add direct=1",
        R::FillBeforeReading =>
            "lay the file out with data before it is read: a job with rw=write and stonewall in the next, or \
             overwrite=1; fallocate= alone reserves space without data",
        R::WriteRandomData =>
            "leave zero_buffers, buffer_pattern, buffer_compress_percentage and dedupe_percentage out and add \
             refill_buffers=1, or mount without compression",
        R::OutgrowDeviceCache =>
            "make size= several times larger than any cache before the storage, or read each place once (without \
             time_based and loops)",
        remedies!(percentiles) =>
            "run longer (time_based with a longer runtime=) or give a larger io_size=, or read the median instead",
        R::SettleFirst | R::RepeatMoreOften =>
            "run longer (time_based with a longer runtime=) behind a ramp_time=, or until steadystate= is reached",
        R::OutlastBurst =>
            "run longer (time_based with a longer runtime=), or leave the fast part out with a ramp_time= of at least \
             its length; tell both rates",
        remedies!(schedules) =>
            "read `lat_intended_ns` (under `iodyno` in the JSON), which counts from when each I/O was due; clat leaves \
             the waiting out",
        R::CheapenData =>
            "leave refill_buffers, buffer_compress_percentage, dedupe_percentage and verify= out of what is measured, \
             or add numjobs",
        R::AddWorkers => "add numjobs, use ioengine=io_uring, or a larger bs=",
        R::MatchProcessors =>
            "lower numjobs to the number of processors, and raise iodepth for more in flight",
        R::ReserveProcessors =>
            "stop what else runs on this machine, or keep processors for the jobs (cpus_allowed=)",
        R::FlushBefore =>
            "add end_fsync=1 to the job that writes before, exec_prerun=sync, or a startdelay=",
        R::UseAsynchronousEngine => "use ioengine=io_uring or libaio, or iodepth=1 and as many numjobs",
        R::KeepDepthDirect | R::SubmitDirect =>
            "add direct=1 (buffered I/O is done as it is handed over), raise numjobs, or lower iodepth to what is \
             reached",
        R::KeepDepthWithWorkers => "raise numjobs, or lower iodepth to what is reached",
        R::LayOutFirst =>
            "lay the file out first (overwrite=1: writes that extend it are done as they are handed over), raise \
             numjobs, or lower iodepth to what is reached",
        R::FitDeviceQueue =>
            "lower iodepth or numjobs to what the device takes, or let it take more (/sys/block/*/queue/nr_requests, \
             the queue depth of its driver)",
        R::CompareWorkers =>
            "leave group_reporting out to see each job: what has its file, device or processor that the others have not",
        R::EndTogether =>
            "give all jobs the same time (time_based and runtime=) rather than the same size=, or end with the first \
             (exitall)",
        R::AlignBlocks | R::SyncLess =>
            "use a bs= that is a multiple of the file system's and the device's block (4k and more), aligned (ba=)",
        R::AvoidReadAhead => "add direct=1, so that each I/O is a request of its own",
        R::AvoidMerges =>
            "iodepth=1 or rw=randread leaves nothing to merge; /sys/block/*/queue/nomerges keeps the kernel from it",
        R::ShrinkBlocks =>
            "use a bs= that the device takes whole (/sys/block/*/queue/max_sectors_kb), with iodepth= instead of size",
        R::EnlargeTarget =>
            "lay the file out first (overwrite=1, or a job with rw=write), or lower size= or bs=",
        R::DropCaches =>
            "drop the caches before the job that looks, twice, as once leaves what a journal holds (exec_prerun='sync; \
             sysctl vm.drop_caches=3; sysctl vm.drop_caches=3'), or raise nrfiles=",
        R::ChooseStorage => "name a directory= on the storage you mean",
        R::FillVolume =>
            "write all of size= before measuring: a job with rw=write, and stonewall in the next",
        R::RunLonger =>
            "run longer (time_based with a longer runtime=), or give a larger size= or io_size=",
        remedies!(peaks) => "raise iodepth= or numjobs= until the IOPS rise no more",
        R::ReadTail =>
            "read max and the high percentiles of clat beside its mean, and write_lat_log= for when they came; look for \
             garbage collection, snapshots, or who else uses the machine at that distance",
        R::SeparateFiles =>
            "give each job a file of its own: leave filename= out, or use filename_format=$jobname.$jobnum",
        R::LowerConcurrency =>
            "lower iodepth= or numjobs= until nothing is turned away, or set rate_iops=: quote the rate together with the share \
             turned away",
        R::SpreadPrefixes => "give each job a filename= with a prefix of its own",
        R::AskStoreDirectly =>
            "name the store's own http_host=, or switch off what the proxy tries again, and read its own counters beside these",
        R::BypassStoreCache =>
            "read more objects than the cache holds, each once (without time_based and loops), or name the store's own http_host=",
        R::CheckContent => "add verify=crc32c, and compare with clients that check as much",
        R::EnlargeParts => "use a bs= that goes in one request",
        R::AddConnections => "add numjobs, or raise iodepth",
    }
    general { remedies!(everywhere clocks errors flows) | R::KeepConnections | R::SpareCiphers | R::PrepareData | R::TimeBatches }
    unprinted { remedies!(accelerators) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::translated;

    fn said(remedy: R) -> String {
        translated(remedy, translate).unwrap_or_default()
    }

    #[test]
    fn advice_names_options_of_fio() {
        assert!(said(R::BypassPageCache).contains("direct=1"));
        assert!(said(R::EnlargeTarget).contains("size="));
        assert_eq!(said(R::FixFailures), R::FixFailures.words());
        assert!(said(R::FillVolume).contains("stonewall"));
        assert!(said(R::ChooseStorage).contains("directory="));
        assert_eq!(said(R::CompareStorageBelow), R::CompareStorageBelow.words());
    }
}
