//! Findings in smallfile's own options; it prints files, calls and MiB per second of all threads together.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names smallfile's own options.
    translate {
        R::BypassPageCache | R::FindCacheHolder | R::ReadOnAnotherNode | R::DropCaches =>
            "more files (--files) than memory holds, or drop caches between writing and reading; --permute-host-dirs Y reads what another \
             host wrote",
        R::IncludeFlush | R::WriteOnce => "--fsync Y makes each file durable inside its time",
        R::FillBeforeReading | R::EnlargeTarget | R::FillVolume => "more or larger files (--files, --file-size)",
        R::WriteRandomData => "--incompressible Y writes bytes that do not compress",
        R::OutgrowDeviceCache => "more files (--files), until they are several times larger than any cache before the storage",
        R::SettleFirst | R::RepeatMoreOften | R::RunLonger | R::OutlastBurst => "more files (--files)",
        R::PrepareData | R::CheapenData | R::AddWorkers | R::UseAsynchronousEngine | R::KeepDepthWithWorkers | R::LayOutFirst
        | R::KeepDepthDirect | R::SubmitDirect | R::RaiseDepth | R::SweepFurther => "more threads (--threads), each with one file",
        R::MatchProcessors | R::FitDeviceQueue => "fewer threads (--threads)",
        R::EndTogether => "more files (--files); --stonewall Y leaves out what comes after the first thread's end",
        R::AlignBlocks => "sizes (--record-size) that are a multiple of 4 KiB",
        R::SyncLess => "leave --fsync out",
        R::ChooseStorage => "name a directory (--top) on the storage you mean",
        R::SeparateFiles => "each thread has files of its own; --same-dir N gives it directories of its own, too",
        R::ReadTail => "--response-times Y writes each operation's time",
    }
    general { remedies!(everywhere clocks errors flows) | R::ReserveProcessors | R::FlushBefore | R::CompareWorkers | R::TimeBatches }
    unprinted { remedies!(percentiles schedules requests stores accelerators) }
}
