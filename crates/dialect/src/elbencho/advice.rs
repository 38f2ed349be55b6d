//! Findings in elbencho's own options.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names elbencho's own options.
    translate {
        R::BypassPageCache | R::FindCacheHolder =>
            "add --direct, drop what was read or written (--sync --dropcache), or make the files together larger than memory \
             (-s, -N, -n)",
        R::ReadOnAnotherNode => "let other hosts read what one wrote (--hosts, --rotatehosts 1)",
        R::IncludeFlush | R::WriteOnce =>
            "add --direct; --sync writes dirty pages out in a phase of its own, whose time is not in the rate",
        R::FillBeforeReading | R::FillVolume => "write all of the files before they are read (-w, then -r)",
        R::WriteRandomData => "leave --blockvarpct at 100",
        R::OutgrowDeviceCache => "make the files several times larger than any cache before the storage (-s, -N)",
        R::SettleFirst | R::OutlastBurst => "run for longer (--infloop --timelimit SECONDS), and tell both rates",
        R::RepeatMoreOften => "repeat (-i)",
        R::RunLonger => "make it longer (-s, -N, -n, or --infloop --timelimit SECONDS)",
        R::PrepareData | R::CheapenData => "leave --verify out of what is measured, lower --blockvarpct, or use more threads (-t)",
        R::AddWorkers => "use more threads (-t)",
        R::MatchProcessors => "use no more threads than there are processors (-t), and --iodepth for more in flight",
        R::ReserveProcessors => "stop what else runs on this machine, or bind the threads (--cores)",
        R::FlushBefore => "add --sync, which writes dirty pages out between phases",
        R::CompareWorkers => "compare the threads (--allelapsed): see what the slow ones have that the others have not",
        R::EndTogether => "read FIRST DONE beside LAST DONE, or run for a time (--infloop --timelimit SECONDS)",
        R::RaiseDepth | R::SweepFurther => "raise --iodepth or -t until more brings no more",
        R::UseAsynchronousEngine | R::KeepDepthDirect | R::SubmitDirect =>
            "add --direct: buffered reads and writes are not asynchronous",
        R::KeepDepthWithWorkers => "use threads (-t) in place of --iodepth",
        R::LayOutFirst => "write the files first (-w)",
        R::FitDeviceQueue => "lower --iodepth or -t to what the device takes at once",
        R::AlignBlocks | R::SyncLess => "make -b a multiple of the file system's block (4k and more)",
        R::EnlargeTarget => "larger or more files (-s, -N, -n)",
        R::DropCaches => "add --dropcache, as root",
        R::ChooseStorage => "name a path on the storage you mean",
        R::ReadTail => "add --latpercent --latpercent9s 2, and look for who else uses the storage",
        R::SeparateFiles => "give each thread files of its own: name a directory",
        R::LowerConcurrency => "use fewer threads (-t), or quote the share that was turned away with the rate",
        R::SpreadPrefixes => "leave --dirsharing out: each thread has a prefix of its own then",
        R::AskStoreDirectly => "name the store itself (--s3endpoints), or switch off what the proxy tries again",
        R::BypassStoreCache => "name the store itself (--s3endpoints), behind the cache, or use more objects (-n, -N)",
        R::CheckContent => "add --s3chksumalgo NAME, and compare with clients that do the same",
        R::EnlargeParts => "write longer parts (-b)",
        R::AddConnections => "use more threads (-t)",
        R::TimeBatches => "use larger blocks (-b)",
        R::AvoidReadAhead => "add --direct; for reads through the cache, --rand or --fadv rand keeps the kernel from reading ahead",
        R::AvoidMerges => "add --rand, or --iodepth 1: then nothing is merged",
        R::ShrinkBlocks => "use blocks that the device takes whole (-b), with --iodepth in place of size",
    }
    general { remedies!(everywhere clocks flows errors percentiles schedules) | R::KeepConnections | R::SpareCiphers }
    unprinted { remedies!(accelerators) }
}
