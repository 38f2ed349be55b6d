//! What a user can do about a finding.
//!
//! A remedy is chosen by the check that finds something, and each dialect has words for it, or none where it prints nothing
//! that the finding concerns. Its own words here name the plan's keys: they are what the record keeps.

use crate::FindingKind;
use crate::reflect::Reflect;

macro_rules! remedies {
    ($($kind:ident { $($remedy:ident $words:literal;)* })*) => {
        /// What a user can do about a finding.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Reflect)]
        #[allow(missing_docs)]
        pub enum Remedy {
            $($($remedy,)*)*
        }

        impl Remedy {
            /// All of them, by the number of their finding.
            pub const ALL: &'static [Remedy] = &[$($(Remedy::$remedy,)*)*];

            /// The finding that it is a remedy for.
            pub fn kind(self) -> FindingKind {
                match self {
                    $($(Remedy::$remedy)|* => FindingKind::$kind,)*
                }
            }

            /// What to do, in the plan's own keys.
            pub fn words(self) -> &'static str {
                match self {
                    $($(Remedy::$remedy => $words,)*)*
                }
            }
        }
    };
}

remedies! {
    CachedReads {
        BypassPageCache "set `direct = true` for the target, or `invalidate = true` and a span larger than memory; if the \
            cache is what you measure, say `intent = \"cache\"`";
        FindCacheHolder "see what else has these files open or mapped; `direct = true` does without the cache, `drop_caches` \
            in the phase (as root) empties it, and a span larger than memory outgrows it";
        ReadOnAnotherNode "run on at least two nodes, or go past the cache: `direct = true`, or `invalidate = true` where the \
            data is read";
    }
    UnflushedWrites {
        IncludeFlush "end the job with `finish = { sync = \"fsync\" }`, so that the flush is part of the time, or set \
            `direct = true` for the target; if the cache is what you measure, say `intent = \"cache\"`";
        WriteOnce "write each place once (a `span` or `size` as large as what is written, `passes = 1`), sync more \
            often (`every = { fsync = 1 }`), or set `direct = true` for the target; if the cache is what you \
            measure, say `intent = \"cache\"`";
    }
    UnwrittenReads {
        FillBeforeReading "lay the target out with data first (`prepare = \"filled\"`), or let the plan write all of the span \
            before it reads; space that is only reserved is read as zeros without touching the storage";
    }
    ReducibleData {
        WriteRandomData "write data that neither compresses nor repeats (`payload = \"random\"`, which is the default; of a \
            job that says so: no `compress`, `dedupe` or `same_in_every_write`), or mount without compression; \
            if your data is like this, say how much of it with `payload = { compress = 50 }`";
    }
    DeviceCacheReads {
        OutgrowDeviceCache "read a span several times larger than any cache before the storage (`span`, `size`), or each place \
            once (`passes = 1`); the first pass is the storage's own";
    }
    FewSamples {
        ReadMedian "run longer (`time`) or do more operations (`operations`), or read the median instead";
        ReadLowerPercentile "run longer (`time`) or do more operations (`operations`), or read p99 instead";
    }
    UnsteadyRate {
        SettleFirst "let it settle with a longer `ramp`, precondition the device, and run longer (`time`)";
        RepeatMoreOften "repeat it more often (`repeat`), precondition the device, and see who else uses the machine";
    }
    FallingRate {
        OutlastBurst "run until the fast part no longer matters (a longer `time`), or leave it out with a `ramp` of at \
            least its length; tell both rates";
    }
    CoordinatedOmission {
        ReadIntendedLatency "read `latency`, which counts from the intended start, and not `service`, which leaves out the \
            waiting";
        SetOpenLoop "set `open_loop = true`, so that latency counts from when each operation was due";
    }
    GeneratorBound {
        PrepareData "copy data prepared beforehand (a file in memory), or let `iodyno measure PATH` write data of its own";
        CheapenData "make the data cheaper (a `payload` without compress and dedupe, no `verify` in the measured phase), \
            or use more `workers`";
        AddWorkers "use more `workers`, a cheaper engine (`engine = \"io_uring\"`), or larger `block`s";
        MatchProcessors "use as many `workers` as there are processors, and a `depth` for more in flight";
        SpareCiphers "run on a processor with instructions for AES, or name the store's http port: what TLS costs without them is no \
            figure of the store";
        AddConnections "read over several connections (`depth`, `workers`), or parts of an object by several (`block` less than its \
            `size`)";
    }
    SharedMachine {
        UseDedicatedProcessors "measure on dedicated processors, or at another time: other guests have this machine too";
        RaiseCpuLimit "raise or leave out the control group's limit (`--cpus` of a container, `cpu.max`)";
        RaiseIoLimit "raise or leave out the control group's limit of I/O (`io.max`, `blkio.throttle`), or read the figure \
            as that of the limit";
        ReserveProcessors "stop what else runs on this machine, or keep processors for the workers (`cpus` in `placement`, \
            `isolcpus` of the kernel)";
        FreeMemory "leave the machine more memory: stop what else runs, or raise the control group's limit";
        CoolDown "let the machine cool down, or measure with a fixed, lower frequency";
    }
    SharedDevice {
        StopOtherIo "stop what else uses this device (`iodyno iostat`, `pidstat -d` and `iotop` show who it is), or \
            measure at another time";
        FlushBefore "flush before the phase begins (`sync`, or `finish = { sync = \"fsync\" }` in the phase that writes), \
            or add a `pause` before it";
    }
    DepthNotReached {
        UseAsynchronousEngine "set `engine = \"io_uring\"`, or `depth = 1` and as many `workers`";
        KeepDepthDirect "set `direct = true` (buffered operations complete as they are handed over), raise `workers`, or \
            lower `depth` to what is reached";
        KeepDepthWithWorkers "raise `workers`: operations are over before one worker has handed the next ones over; or lower \
            `depth` to what is reached";
        SubmitDirect "set `direct = true` (buffered operations are done as they are handed over), raise `workers`, or \
            lower `depth` to what is reached";
        LayOutFirst "lay the file out first (`prepare = \"filled\"`: writes that extend it are done as they are handed \
            over), raise `workers`, or lower `depth` to what is reached";
        FitDeviceQueue "lower `depth` or `workers` to what the device takes, or let it take more \
            (`/sys/block/*/queue/nr_requests`, the queue depth of its driver)";
    }
    UnevenWorkers {
        CompareWorkers "look at each worker (`each = true` in `measure`): see what its file, device or processor has that \
            the others have not";
        EndTogether "let all workers work for the same time (`time`) rather than for the same amount, or let the first \
            one that is done end the phase (`stop = \"first done\"`)";
    }
    UnreliableClock {
        KeepClockUnset "let no one set the clock while a run goes on (stop `ntpdate` and the like; chrony and ntpd slew); \
            times of day in this record and in logs of it do not agree with other machines";
        ChangeClockSource "choose another clock source of the kernel (`clocksource`), or another machine: every time and every \
            rate is off by as much";
        TimeBatches "read the rate rather than the latencies, or time batches: one operation is too short for this clock";
        LengthenPhases "use a quicker network between the hosts, or longer phases: starts and ends of different hosts are \
            known no better";
        SynchroniseClock "set the clock of this machine or of the store (NTP)";
    }
    WriteAmplification {
        AlignBlocks "use a `block` that is a multiple of the file system's and the device's block (4 KiB and more), \
            aligned to it (`align`)";
        SyncLess "lay the file out first (`prepare = \"filled\"`), so that a sync need not write the file system's \
            journal as well, use `fdatasync`, or sync less often";
    }
    IneffectiveFlushes {
        EnableBarriers "mount with barriers (not `nobarrier` or `barrier=0`), switch the device's write cache to what it \
            really keeps (`/sys/block/*/queue/write_cache`), and see that no layer (libeatmydata, a hypervisor's \
            `cache=unsafe`) swallows syncs";
    }
    NetworkBound {
        WidenLink "use a quicker link or several of them, or measure on the storage's own host; what the storage itself \
            can do is not in these figures";
        RemoveShaper "take the queue discipline away (`tc qdisc show dev NAME`), or raise its rate; until then the figures \
            are its own";
    }
    ReshapedRequests {
        AvoidReadAhead "set `direct = true` for the target, so that each operation is a request of its own; for reads \
            through the cache, `advise = true` or `pick = \"random\"` keeps the kernel from reading ahead, \
            `/sys/block/*/queue/nomerges` from merging";
        AvoidMerges "`pick = \"random\"` or `depth = 1` leaves nothing to merge; `/sys/block/*/queue/nomerges` keeps the \
            kernel from it";
        ShrinkBlocks "use a `block` that the device takes whole (`/sys/block/*/queue/max_sectors_kb`), with `depth` \
            instead of size";
    }
    FailedOperations {
        FixFailures "mend what fails first: no figure of this run speaks of the storage's work";
        EnlargeTarget "make the target at least as large as the span (`prepare = \"filled\"`), or lower `span` or `block`";
        ReadWorkerError "see the error of the worker; the figures are those of the others";
        DistrustStorage "do not trust this storage: what was read is not what was written";
    }
    CachedNames {
        DropCaches "drop the caches before the phase (`drop_caches = true`, as root), or look at far more names than \
            memory holds; what one machine made, another one looks at uncached (`place = { shift_nodes = 1 }`, \
            mdtest -N); if the caches are what you measure, say `intent = \"cache\"`";
    }
    DisguisedTarget {
        ChooseStorage "choose a directory on the storage you mean; if memory is what you measure, say `intent = \"cache\"`";
        LeaveOverlay "choose a directory that is mounted from the storage itself (a volume of the container)";
        SetUpDirectLoop "measure the file's own device, or set up the loop device with direct I/O";
        MeasureBackingDevice "measure the file's own device to see what the layer costs";
        CompareStorageBelow "compare with the storage below it to see what the layer costs";
        ReadAsWholePath "read the figures as those of client, network and server together";
        FillVolume "write all of the span before measuring (`prepare = \"filled\"`, `--full`)";
    }
    ShortPhase {
        RunLonger "run longer (`time`), or do more (`operations`, `bytes`, a larger `span`): at least ten times what \
            the edges take";
    }
    BelowPeak {
        SweepFurther "sweep further (`[[sweep]] depth = { from = 1, to = 256, times = 2 }`, or more `workers`) until more \
            depth brings no more; the last point is no limit of the device";
        RaiseDepth "raise `depth` or `workers` until the device is busy all the time; what held it up meanwhile is the \
            program's or the machine's, not the device's";
    }
    ShortStroke {
        CoverWholeTarget "leave out `span` (or give it `\"rest\"`), give a sequential job no `time` before it has been \
            through, or say `intent = \"device\"` if a part is what you mean";
    }
    LatencySpikes {
        ReadTail "read the maximum and p99.9 beside the mean, and the rows of the series for when they came; look for \
            garbage collection, snapshots, or who else uses the machine at that distance";
    }
    SmallReceiveBuffer {
        RaiseReceiveBuffer "raise the receiver's buffer (`receive_buffer_bytes`, and `net.core.rmem_max` of its kernel), or send \
            at a rate that it can take";
    }
    ProcessorBound {
        AddFlows "use more flows (`workers`), each on a processor of its own, larger blocks, or a method that copies \
            less; until then the figure is that of a processor, not of the network";
    }
    BurstLoss {
        SmoothBursts "send in smaller blocks, lower the rate, or give the sender a processor of its own (`placement`)";
    }
    SmallWindow {
        RaiseReceiveWindow "raise the receiver's buffer (`window_bytes`, `net.ipv4.tcp_rmem`), or use more flows (`workers`)";
        RaiseSendWindow "raise the sender's buffer (`window_bytes`, `net.ipv4.tcp_wmem`), or use more flows (`workers`)";
    }
    SharedFile {
        SeparateFiles "give each worker a file of its own (`{worker}` in the path): what one shared file can take is a \
            figure of the file system's locks";
    }
    ImplausibleRate {
        DistrustFigure "do not quote this figure: look for what answers on this side of the link (the page cache, a cache of \
            the client, compression, data that were never written), or correct the ceiling";
    }
    LateReplay {
        SlowReplay "replay it slower (`timing = { scaled = 0.5 }`), raise `depth`, or choose a target that keeps up: latencies of \
            this replay count from the recorded times, and hold its waiting";
        QuickenReplay "leave the machine to the replay, make a trace of ours of the file first (`iodyno trace import`), or divide \
            it among more `workers`: the target was not what held it up";
    }
    StoreThrottled {
        LowerConcurrency "ask for less at a time (`depth`, `workers`, a `rate`) until nothing is turned away, or let it be tried \
            again (`settings.retries`), which counts as a request too: quote the rate together with the share turned away";
    }
    CrowdedShard {
        SpreadPrefixes "spread the keys over more prefixes (several targets, or `{worker}` in the bucket's address): a store \
            divides what one prefix gets only after a while";
    }
    HiddenRetries {
        AskStoreDirectly "name the store's own endpoint (`settings.endpoint`), or switch off what the proxy tries again, and read \
            its own counters beside these";
    }
    CachedAnswers {
        BypassStoreCache "read more objects than the cache holds, each once (`passes = 1`), or name the store's own endpoint; if \
            the cache is what you measure, say `intent = \"cache\"`";
    }
    FreshConnections {
        KeepConnections "let the store and what is before it keep connections (keep-alive, its time and its number of requests): \
            what is measured now is connecting";
    }
    UncheckedContent {
        CheckContent "ask for checksums (`settings.checksum = \"crc64nvme\"`) or `verify = true`, and compare with clients that do \
            the same";
    }
    SmallParts {
        EnlargeParts "write longer parts (`settings.part_size`, 16 MiB or more), and more of them at once \
            (`settings.parts_at_once`)";
    }
    StarvedAccelerators {
        FeedFewer "feed fewer accelerators (`accelerators`), or choose a faster storage: this one was full; more `readers` \
            only lengthen its queue";
        WidenFeed "give the way to the storage more network: a faster link, several of them, or the accelerators on more hosts \
            (ranks)";
        RelieveReaders "run on more processors or on more hosts (ranks), with as many `readers` as there are processors, or larger \
            reads (`transfer`): what is measured is this machine";
        RelieveServers "look at the servers of this file system and at the network to them: processors and links here had time to \
            spare";
        ReadFurtherAhead "read further ahead (`readers`, `prefetch`): nothing here was full, so too little was in flight at a time";
    }
}

impl Remedy {
    /// The remedy with these words: for records that name none.
    pub fn worded(words: &str) -> Option<Remedy> {
        Remedy::ALL.iter().copied().find(|remedy| remedy.words() == words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_remedies_apart() {
        for remedy in Remedy::ALL {
            assert_eq!(Remedy::worded(remedy.words()), Some(*remedy));
        }
    }

    #[test]
    fn every_finding_has_a_remedy() {
        for kind in FindingKind::ALL {
            assert!(Remedy::ALL.iter().any(|remedy| remedy.kind() == *kind), "{kind:?}");
        }
    }
}
