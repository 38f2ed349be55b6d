//! Findings in dbench's own options; it prints a throughput, and of each operation the mean and the longest latency.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names dbench's own options.
    translate {
        R::BypassPageCache | R::FindCacheHolder | R::ReadOnAnotherNode =>
            "what the clients of a load work on fits in memory: -s and -F write through it, and more processes fill it",
        R::IncludeFlush | R::WriteOnce => "-s, or -F, makes each write durable, -S each change of names",
        R::FillBeforeReading | R::EnlargeTarget | R::FillVolume =>
            "more processes, or a load (-c) of larger files: clients write before they read",
        R::WriteRandomData =>
            "dbench writes nothing but zeros, which compress: compare on storage that does not compress, or use fio",
        R::OutgrowDeviceCache => "more processes, until their trees are several times larger than any cache before the storage",
        R::SettleFirst | R::RepeatMoreOften | R::RunLonger | R::OutlastBurst =>
            "a longer time (-t), of which a fifth comes before as a warm-up",
        R::PrepareData | R::CheapenData | R::AddWorkers | R::UseAsynchronousEngine | R::KeepDepthWithWorkers | R::LayOutFirst
        | R::KeepDepthDirect | R::SubmitDirect | R::RaiseDepth | R::SweepFurther => "more processes, each with one operation",
        R::MatchProcessors | R::FitDeviceQueue => "fewer processes",
        R::EndTogether => "a longer time (-t), so that the end matters less",
        R::AlignBlocks => "a load (-c) with transfers that are a multiple of the file system's block",
        R::SyncLess => "leave -s, -S and -F out",
        R::DropCaches => "more processes, or a load (-c) of more files, than memory holds",
        R::ChooseStorage => "name a directory (-D) on the storage you mean",
        R::SeparateFiles => "each client has files of its own: what they share is the directory (-D)",
        R::ReadTail => "read the column MaxLat: the longest of each operation; look for who else uses the storage",
    }
    general { remedies!(everywhere clocks errors flows) | R::ReserveProcessors | R::FlushBefore | R::CompareWorkers | R::TimeBatches }
    unprinted { remedies!(percentiles schedules requests stores accelerators) }
}
