//! Findings about stores in the options of `iodyno measure`.

use iodyno_model::Remedy as R;

use crate::advice::{remedies, wording};

wording! {
    /// A finding whose advice names what `iodyno measure` takes for a store.
    translate {
        remedies!(percentiles) | R::RunLonger => "measure longer: --full, or --time 5s",
        R::SettleFirst | R::RepeatMoreOften =>
            "measure longer (--full), when nobody else uses the store, the network and this machine",
        R::OutlastBurst =>
            "measure longer (--full, or --time 60s): the rate after the fall is the one that lasts",
        R::PrepareData | R::CheapenData | R::AddWorkers | R::MatchProcessors =>
            "the client is the limit: run it on a machine with faster processors, or on several: --hosts A,B",
        remedies!(peaks) => "sweep further with --full; the last concurrency is no limit of the store",
        R::ReadTail => "read the maximum beside the median, and measure longer (--full)",
        R::LowerConcurrency =>
            "quote the rate together with the share turned away; --setting retries=3 tries again, which counts as a request too",
        R::SpreadPrefixes => "measure below several prefixes at once, one run each",
        R::AskStoreDirectly => "name the store's own --endpoint, or switch off what the proxy tries again",
        R::BypassStoreCache => "name the store's own --endpoint, behind the cache; --full reads more objects",
        R::CheckContent => "add --setting checksum=crc64nvme, and compare with clients that do the same",
        R::EnlargeParts => "write longer parts: --setting part_size=16777216",
        R::AddConnections => "read the cells with more in flight beside this one",
    }
    general { remedies!(everywhere clocks errors flows schedules storage depth requests)
        | R::ReserveProcessors | R::CompareWorkers | R::EndTogether | R::TimeBatches | R::KeepConnections | R::SpareCiphers }
    unprinted { remedies!(accelerators) }
}
