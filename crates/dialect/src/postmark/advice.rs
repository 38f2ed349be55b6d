//! Findings in postmark's own commands; its report shows counts, rates and bytes, and no latency.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names postmark's own commands.
    translate {
        R::BypassPageCache | R::FindCacheHolder | R::ReadOnAnotherNode | R::DropCaches | R::FillBeforeReading | R::EnlargeTarget
        | R::FillVolume =>
            "more files (set number) or longer ones (set size) than memory holds: postmark reads what it has just written",
        R::IncludeFlush | R::WriteOnce | R::OutlastBurst =>
            "postmark never makes data durable: more files (set number) and transactions than memory takes, or mount with -o sync",
        R::WriteRandomData =>
            "postmark writes the same printable text to every file: compare on storage that neither compresses nor deduplicates",
        R::OutgrowDeviceCache => "more files (set number) than any cache before the storage holds",
        R::SettleFirst | R::RepeatMoreOften => "more transactions (set transactions), or several runs (run, again)",
        R::PrepareData | R::CheapenData | R::AddWorkers | R::MatchProcessors | R::UseAsynchronousEngine | R::KeepDepthWithWorkers
        | R::LayOutFirst | R::KeepDepthDirect | R::SubmitDirect | R::RaiseDepth | R::SweepFurther | R::FitDeviceQueue =>
            "postmark is one process that does one thing at a time: start several, each in a location of its own (set location)",
        R::EndTogether => "more transactions (set transactions), so that the end matters less",
        R::AlignBlocks => "blocks that are a multiple of the file system's (set write 4096), without a buffer (set buffering false)",
        R::SyncLess => "mount the file system without -o sync",
        R::ChooseStorage => "name a directory on the storage you mean (set location)",
        R::RunLonger => "more transactions (set transactions): times are counted in whole seconds",
        R::SeparateFiles => "a location for each process (set location)",
        R::ReadTail => "look for who else uses the storage: postmark prints no latency",
    }
    general { remedies!(everywhere clocks errors flows) | R::ReserveProcessors | R::FlushBefore | R::CompareWorkers | R::TimeBatches }
    unprinted { remedies!(percentiles schedules requests stores accelerators) }
}
