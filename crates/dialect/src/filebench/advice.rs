//! Findings in the words of the workload language; a table of flowops shows means and extremes, no percentiles.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names words of the script.
    translate {
        R::BypassPageCache | R::FindCacheHolder | R::ReadOnAnotherNode =>
            "`directio` on the flowops goes past the page cache, or a fileset (entries=, size=) of twice the memory \
             does not fit in it; `cached=false` begins a file cold",
        R::IncludeFlush => "`fsync` after the writes, or `dsync` on them",
        R::WriteOnce => "`fsync` more often, `dsync` on the writes, or larger files than are written",
        R::FillBeforeReading => "`prealloc` the fileset: what has no blocks is read as zeros",
        R::OutgrowDeviceCache =>
            "a fileset (entries=, size=) several times larger than any cache before the storage",
        R::SettleFirst | R::RepeatMoreOften =>
            "a longer run (`run SECONDS`), or several (`--also confidence=95:5`)",
        R::OutlastBurst => "a longer run (`run SECONDS`), so that the fast part no longer matters",
        remedies!(peaks) | R::AddWorkers => "more threads (instances=)",
        R::MatchProcessors => "no more threads (instances=) than there are processors",
        R::FlushBefore => "`sync` (system \"sync\") before the run, or a `sleep`",
        R::UseAsynchronousEngine | R::KeepDepthWithWorkers | R::LayOutFirst | R::FitDeviceQueue =>
            "as many threads (instances=), each with one operation",
        R::KeepDepthDirect | R::SubmitDirect =>
            "`directio`: buffered operations complete as they are handed over",
        R::EndTogether =>
            "`set mode quit timeout`: with `alldone` or `firstdone` the threads do unequal work",
        R::AlignBlocks | R::SyncLess => "an `iosize` that is a multiple of the file system's block",
        R::EnlargeTarget => "`prealloc` the fileset, as large as it is read",
        R::ChooseStorage => "set $dir to a directory of the storage you mean",
        R::FillVolume => "`prealloc` the fileset, so that every block is there before it is measured",
        R::RunLonger => "a longer run (`run SECONDS`): ten times as long as its start and stop",
        R::SeparateFiles => "let each thread write a file of its own: a fileset instead of one file",
    }
    general { remedies!(everywhere clocks errors flows) | R::WriteRandomData | R::PrepareData | R::CheapenData
        | R::ReserveProcessors | R::CompareWorkers | R::TimeBatches | R::DropCaches | R::ReadTail }
    unprinted { remedies!(percentiles schedules requests stores accelerators) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::translated;

    #[test]
    fn advice_names_words_of_the_script() {
        assert!(translated(R::BypassPageCache, translate).unwrap().starts_with("`directio`"));
        assert!(translated(R::RunLonger, translate).unwrap().contains("run SECONDS"));
        assert!(translated(R::ChooseStorage, translate).unwrap().contains("$dir"));
        assert_eq!(translated(R::ReadLowerPercentile, translate), None);
        assert_eq!(translated(R::ReadIntendedLatency, translate), None);
    }
}
