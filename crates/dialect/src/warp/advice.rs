//! Findings in warp's own options.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names warp's own options.
    translate {
        R::RunLonger | R::OutlastBurst | R::SettleFirst => "run longer (--duration)",
        R::RepeatMoreOften => "run several times, and hold the files of results against each other (warp cmp)",
        R::AddWorkers | R::PrepareData | R::CheapenData | R::MatchProcessors =>
            "name more hosts (--host: each has a thread of its own), leave out what costs the client (--checksum, \
             --disable-sha256-payload), or run on several machines (--also hosts=HOST,HOST)",
        R::CompareWorkers => "see what the slow host has that the others have not (--analyze.v, --analyze.host)",
        R::EndTogether => "run for a time that the slowest host needs, too (--duration)",
        R::RaiseDepth | R::SweepFurther => "raise --concurrent until more brings no more",
        R::UseAsynchronousEngine | R::KeepDepthWithWorkers | R::KeepDepthDirect =>
            "lower --concurrent to what is reached, or name more hosts",
        R::FlushBefore => "wait a while before the run (--syncstart)",
        R::ReserveProcessors => "stop what else runs on this machine, or let the store run on another one",
        R::ReadTail => "read the slowest request beside the mean; look for who else uses the store",
        R::LowerConcurrency => "lower --concurrent until nothing is turned away, or quote the share together with the rate",
        R::SpreadPrefixes => "leave --noprefix out: each operation in flight has a prefix of its own then",
        R::AskStoreDirectly => "name the store itself (--host), or switch off what the proxy tries again",
        R::BypassStoreCache => "name the store itself (--host), behind the cache, or read more objects (--objects)",
        R::CheckContent => "add --checksum NAME, and compare with clients that do the same",
        R::EnlargeParts => "write longer parts (--part.size)",
        R::AddConnections => "raise --concurrent",
        R::WriteRandomData => "leave --obj.generator out: objects are random bytes then",
    }
    general { remedies!(everywhere clocks flows errors percentiles schedules) | R::KeepConnections | R::SpareCiphers }
    unprinted {
        remedies!(requests accelerators)
            | R::BypassPageCache
            | R::FindCacheHolder
            | R::ReadOnAnotherNode
            | R::IncludeFlush
            | R::WriteOnce
            | R::FillBeforeReading
            | R::OutgrowDeviceCache
            | R::AlignBlocks
            | R::SyncLess
            | R::EnlargeTarget
            | R::DropCaches
            | R::ChooseStorage
            | R::FillVolume
            | R::SeparateFiles
            | R::SubmitDirect
            | R::LayOutFirst
            | R::FitDeviceQueue
            | R::TimeBatches
    }
}
