//! Findings in iozone's own options; a table of sizes shows no percentiles.
//!
//! It refuses to judge: what was found stays as it was found, unless it concerns nothing that is printed.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names iozone's own options.
    translate {
        R::BypassPageCache | R::FindCacheHolder | R::ReadOnAnotherNode =>
            "-I reads past the page cache, or a file (-s) of twice the memory does not fit in it; -U empties it",
        R::IncludeFlush => "-e counts flushing (and -c closing) in the time of writes",
        R::WriteOnce => "-I past the page cache, or -o: each write is durable before the next",
        R::FillBeforeReading => "write the file first (-i 0): what has no blocks is read as zeros",
        R::WriteRandomData =>
            "leave -+X, -+Z, -V, -+a, -+w, -+y and -+C out, or mount without compression",
        R::OutgrowDeviceCache => "a file (-s, -g) several times larger than any cache before the storage",
        R::SettleFirst | R::RepeatMoreOften =>
            "larger files (-s, -n), or more passes (--also confidence=95:5)",
        R::OutlastBurst => "larger files (-s), so that the fast part no longer matters; tell both rates",
        R::CheapenData =>
            "leave -+d, -V, -+a, -+w, -+y and -+C out of what is measured, or use more streams (-t)",
        R::AddWorkers => "more streams (-t), or larger records (-r)",
        R::MatchProcessors => "no more streams (-t) than there are processors",
        R::FlushBefore => "-e, so that what was written is on the storage, or a pause between tests (-+q)",
        R::UseAsynchronousEngine | R::KeepDepthWithWorkers | R::LayOutFirst =>
            "as many streams (-t), each with one operation",
        R::KeepDepthDirect | R::SubmitDirect =>
            "-I: buffered operations complete as they are handed over; or a lower -H or -k",
        R::FitDeviceQueue => "a lower -H or -k: the queue of the device takes no more",
        R::EndTogether => "larger files (-s); without -x the first stream that is done ends the test",
        R::AlignBlocks => "records (-r) that are a multiple of the file system's block (4 and more)",
        R::SyncLess => "-+D rather than -o, where the data alone must be durable",
        R::EnlargeTarget => "write the file first (-i 0 -w), as large as it is read",
        R::ChooseStorage => "name a file (-f, -F) on the storage you mean",
        R::FillVolume => "write the file first (-i 0), as large as it is read",
        R::RunLonger => "larger files (-s, -n): a test is to last ten times as long as its start and stop",
        R::SweepFurther => "go on to more streams (-u), larger records (-q) or more in flight (-H)",
        R::RaiseDepth => "more streams (-t), or more in flight (-H)",
        R::SeparateFiles => "give each process a file of its own (-F)",
    }
    general { remedies!(everywhere clocks errors flows) | R::PrepareData | R::ReserveProcessors
        | R::CompareWorkers | R::TimeBatches | R::DropCaches | R::ReadTail }
    unprinted { remedies!(percentiles schedules requests stores accelerators) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::advice::translated;

    #[test]
    fn advice_names_options_of_iozone() {
        assert!(translated(R::BypassPageCache, translate).unwrap().starts_with("-I "));
        assert!(translated(R::RunLonger, translate).unwrap().contains("-s"));
        assert_eq!(translated(R::ReadLowerPercentile, translate), None);
        // Every finding whose own advice is in the plan's words has another one here.
        for remedy in R::ALL
            .iter()
            .filter(|remedy| [1, 2, 3, 4, 5, 7, 8, 13, 16, 23, 24].contains(&remedy.kind().number()))
        {
            let said = translated(*remedy, translate).unwrap();
            assert!(!said.contains('`'), "{remedy:?}: {said}");
        }
    }
}
