//! What the witnesses saw: facts without opinion, and a row of them for each second.
//!
//! A [`Sighting`] sums up a phase; a [`Sample`] is one interval of it, for charts and for who only watches. What a fact
//! means for a result is a [`Finding`](crate::Finding), and none of this file's business.

use crate::reflect::Reflect;

use crate::health::HealthActivity;
use crate::target::TargetFacts;

/// What a witness saw during a phase.
#[derive(Clone, Debug, PartialEq, Reflect)]
pub enum Sighting {
    /// What the kernel says a block device did between start line and stop.
    Device(DeviceActivity),
    /// How much of a target's span was in the page cache.
    Residency {
        /// The target's name.
        target: String,
        /// Bytes looked at.
        span_bytes: u64,
        /// Bytes in the cache before the phase.
        before_bytes: u64,
        /// Bytes in the cache after it.
        after_bytes: u64,
    },
    /// How much of a target's files waited in memory to be written when the phase was over. Source: `cachestat`.
    Dirty {
        /// The target's name.
        target: String,
        /// Bytes that were dirty or being written.
        bytes: u64,
    },
    /// Memory of the machine, in bytes.
    Memory {
        /// All of it.
        total_bytes: u64,
        /// Available before the phase.
        available_bytes: u64,
        /// Dirty and in write-back before.
        dirty_before_bytes: u64,
        /// Dirty and in write-back after.
        dirty_after_bytes: u64,
    },
    /// CPU time of the machine during the phase, as shares of all CPUs in percent.
    Cpu {
        /// Busy in user space.
        user_percent: f64,
        /// Busy in the kernel.
        system_percent: f64,
        /// Waiting for I/O.
        iowait_percent: f64,
        /// Taken by the hypervisor.
        steal_percent: f64,
        /// CPUs.
        cpus: u32,
    },
    /// What this program itself made the storage move, on all devices together. Source: `/proc/self/io`.
    Own {
        /// Bytes read.
        read_bytes: u64,
        /// Bytes written, or left in the page cache to be written.
        write_bytes: u64,
    },
    /// Workers that waited for the lock of a file. Source: `/proc/PID/task/*/wchan`.
    Locks {
        /// How many of them waited at once, the mean of all looks.
        waiting: f64,
        /// Looks.
        looks: u64,
    },
    /// Who else wanted the processors, and how fast they ran.
    Processors(ProcessorActivity),
    /// For how long work waited for something.
    Pressure(Pressure),
    /// What the control group allowed, and how often it held us back.
    Control(ControlActivity),
    /// What a network interface moved.
    Interface(InterfaceActivity),
    /// What the kernel says of a connection.
    Connection(Box<ConnectionActivity>),
    /// What a drive says of its own health, where a job asks for it.
    Health(Box<HealthActivity>),
    /// What the client of a network file system says that it moved.
    Mount(MountActivity),
    /// Where a target's bytes lie, and whether there are any.
    Layout(Layout),
    /// The tree that a trace of files works in, before its first record.
    Tree(RecordedTree),
    /// Names and inodes that the kernel kept in memory.
    Names(NameCache),
    /// How the clocks behaved.
    Clock(ClockFacts),
    /// Pages that were to leave the cache before the phase began, and did not.
    Undropped {
        /// The job whose files they are of; empty: the whole machine's.
        of: String,
        /// Bytes that were still there.
        left_bytes: u64,
        /// Why.
        reason: String,
    },
    /// What a target is.
    Target(Box<TargetFacts>),
    /// A witness that had nothing to read, and why.
    CannotTell {
        /// Which witness.
        witness: String,
        /// Why.
        reason: String,
    },
}

/// How a TCP connection fares; counters since the phase began. Source: `TCP_INFO` (`linux/tcp.h`).
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct ConnectionActivity {
    /// The target's name.
    pub target: String,
    /// The job, by index in the phase.
    pub job: usize,
    /// The worker's number within the job.
    pub worker: u32,
    /// Congestion control (`cubic`, `bbr`).
    pub congestion: String,
    /// Segments sent again.
    pub retransmits: u64,
    /// Congestion window, bytes.
    pub cwnd_bytes: u64,
    /// The peer's window, bytes; 0: the kernel does not tell.
    pub peer_window_bytes: u64,
    /// Round-trip time, smoothed, its variation, and the least seen, µs.
    pub rtt_us: u32,
    /// Variation of the round-trip time, µs.
    pub rtt_variation_us: u32,
    /// Least round-trip time, µs; 0: none.
    pub rtt_least_us: u32,
    /// Path MTU, bytes.
    pub path_mtu: u32,
    /// Largest segment sent, bytes.
    pub mss: u32,
    /// How far segments overtook each other, as the kernel estimates it.
    pub reordering: u32,
    /// What the network delivered lately, bytes per second; 0: the kernel does not tell.
    pub delivery_bps: u64,
    /// The pace at which the kernel lets segments go, bytes per second; 0: none.
    pub pacing_bps: u64,
    /// Time with data in flight or waiting, µs.
    pub busy_us: u64,
    /// Of it, time in which the peer's window was full, µs.
    pub window_limited_us: u64,
    /// Of it, time in which our own send buffer was too small, µs.
    pub buffer_limited_us: u64,
    /// Bytes that the peer has acknowledged.
    pub acked_bytes: u64,
    /// Bytes received in order; Linux counts the end of the stream as one more.
    pub received_bytes: u64,
}

/// A block device's counters over a phase. Source: `/proc/diskstats`, kernel documentation `iostats`.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct DeviceActivity {
    /// Kernel name.
    pub device: String,
    /// Reads completed.
    pub reads: u64,
    /// Reads merged.
    pub reads_merged: u64,
    /// Bytes read.
    pub read_bytes: u64,
    /// Writes completed.
    pub writes: u64,
    /// Writes merged.
    pub writes_merged: u64,
    /// Bytes written.
    pub write_bytes: u64,
    /// Discards completed.
    pub discards: u64,
    /// Flushes completed.
    pub flushes: u64,
    /// Time with at least one request in flight, ns.
    pub busy_ns: u64,
    /// Time in flight summed over requests, ns.
    pub weighted_ns: u64,
    /// The interval these counters cover, ns.
    pub interval_ns: u64,
    /// Time that reads took, summed over them, ns.
    #[reflect(default)]
    pub read_ns: u64,
    /// Time that writes took, summed over them, ns.
    #[reflect(default)]
    pub write_ns: u64,
    /// Discards merged.
    #[reflect(default)]
    pub discards_merged: u64,
    /// Bytes discarded.
    #[reflect(default)]
    pub discard_bytes: u64,
    /// Time that discards took, summed over them, ns.
    #[reflect(default)]
    pub discard_ns: u64,
    /// Time that flushes took, summed over them, ns.
    #[reflect(default)]
    pub flush_ns: u64,
    /// Requests in flight at the end of the interval.
    #[reflect(default)]
    pub in_flight: u64,
    /// The devices it is made of (of a mapper's or an array's device).
    #[reflect(default)]
    pub beneath: Vec<DeviceActivity>,
}

/// What the client of a network file system moved to and from its servers over a phase. Sources: NFS
/// `/proc/self/mountstats`, SMB `/proc/fs/cifs/Stats`, Lustre `osc.*.stats`, GPFS `mmpmon`.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct MountActivity {
    /// Where it is mounted.
    pub mount_point: String,
    /// `nfs4`, `cifs`, `lustre`, …
    pub file_system: String,
    /// Bytes read from the servers.
    pub read_bytes: u64,
    /// Bytes written to the servers.
    pub write_bytes: u64,
    /// The client counts what its own cache served and took as well (GPFS), so that nothing follows about the servers.
    #[reflect(default)]
    pub includes_cache: bool,
}

/// Who else wanted the processors, and how fast they ran. Sources: `/proc/stat`, `getrusage`, cpufreq,
/// `thermal_throttle`, `/sys/devices/system/node`.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct ProcessorActivity {
    /// Processors that may be used.
    pub cpus: u32,
    /// Time that this program took of them, user and kernel, ns.
    pub own_ns: u64,
    /// Time that everybody took of all of them, ns.
    pub busy_ns: u64,
    /// Time taken by the hypervisor, all processors, ns.
    pub steal_ns: u64,
    /// Time without work, ns; waiting for I/O is without work.
    pub idle_ns: u64,
    /// Tasks that wanted to run, the mean of samples; ours are among them. None: there were no samples.
    #[reflect(default)]
    pub runnable: Option<f64>,
    /// How fast they ran before and after, the mean, MHz, and how fast they may at most.
    #[reflect(default)]
    pub mhz: Option<[f64; 3]>,
    /// What decides on the frequency: `performance`, `powersave`, …
    #[reflect(default)]
    pub governor: Option<String>,
    /// How often heat slowed one down.
    #[reflect(default)]
    pub throttled: Option<u64>,
    /// NUMA nodes of the machine.
    #[reflect(default)]
    pub numa_nodes: u32,
    /// Each processor that may be used, of one machine; of several: none.
    #[reflect(omit_empty)]
    pub each: Vec<ProcessorShare>,
    /// The interval all this covers, ns.
    pub interval_ns: u64,
}

/// A processor's time, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Reflect)]
pub struct ProcessorShare {
    /// The system's number of it.
    pub number: u32,
    /// In user space, at any priority.
    pub user_percent: f64,
    /// In the kernel.
    pub system_percent: f64,
    /// In interrupts, those that are put off included; a part of the kernel's time.
    pub interrupt_percent: f64,
}

/// Time during which some, or all, of the work waited, ns. Source: `/proc/pressure` or the control group's own files.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub struct Pressure {
    /// Somebody waited for a processor.
    pub cpu_some_ns: u64,
    /// Somebody waited for memory.
    pub memory_some_ns: u64,
    /// Everybody waited for memory.
    pub memory_full_ns: u64,
    /// Somebody waited for I/O.
    pub io_some_ns: u64,
    /// Everybody waited for I/O.
    pub io_full_ns: u64,
    /// The interval all this covers, ns.
    pub interval_ns: u64,
}

/// The limits of this process's control groups (version 1 or 2), and what they did.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct ControlActivity {
    /// Which group.
    pub group: String,
    /// Processors' worth of time it may use; none: no limit.
    pub cpu_quota: Option<f64>,
    /// Scheduling periods during the phase.
    pub periods: u64,
    /// Of these, how many ended with the group held back.
    pub throttled_periods: u64,
    /// Time it was held back, summed over processors, ns.
    pub throttled_ns: u64,
    /// Memory it may use, page cache included; none: no limit.
    pub memory_limit_bytes: Option<u64>,
    /// Memory it used at the end.
    pub memory_bytes: u64,
    /// How often it ran into that limit.
    pub memory_failures: u64,
    /// Limits of its I/O.
    pub io: Vec<IoLimit>,
    /// The interval all this covers, ns.
    pub interval_ns: u64,
}

/// What a control group may do to a device each second; none: no limit. Sources: `blkio.throttle.*`, `io.max`.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct IoLimit {
    /// The device's kernel name.
    pub device: String,
    /// Bytes read.
    pub read_bytes: Option<u64>,
    /// Bytes written.
    pub write_bytes: Option<u64>,
    /// Reads.
    pub reads: Option<u64>,
    /// Writes.
    pub writes: Option<u64>,
}

/// What a network interface moved. Sources: `/sys/class/net/*/statistics`, `speed`, and its queue discipline by
/// rtnetlink.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct InterfaceActivity {
    /// Its name.
    pub name: String,
    /// What the link carries, bit/s; none: it does not say.
    pub link_bits: Option<u64>,
    /// Bytes received.
    pub received_bytes: u64,
    /// Bytes sent.
    pub sent_bytes: u64,
    /// Packets received.
    pub received: u64,
    /// Packets sent.
    pub sent: u64,
    /// Packets dropped and faulty ones, both ways.
    pub dropped: u64,
    /// What holds packets back before they are sent.
    #[reflect(default)]
    pub queue: Option<QueueActivity>,
    /// The interval all this covers, ns.
    pub interval_ns: u64,
}

/// A queue discipline. Source: rtnetlink, `TCA_STATS2`.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct QueueActivity {
    /// `tbf`, `fq_codel`, …
    pub kind: String,
    /// The rate it lets through, bit/s, where it has one.
    pub rate_bits: Option<u64>,
    /// Bytes that waited at the end; of samples, the most.
    pub backlog_bytes: u64,
    /// How often something had to wait for the rate.
    pub overlimits: u64,
    /// Packets dropped.
    pub dropped: u64,
}

/// What a trace of files needs and does not make itself: what of it was made before the first record, and what was found.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct RecordedTree {
    /// The target's name.
    pub target: String,
    pub made_directories: u64,
    pub made_files: u64,
    /// Symbolic links.
    pub made_links: u64,
    /// Lengths of the files that were made, bytes.
    pub made_bytes: u64,
    pub found_directories: u64,
    pub found_files: u64,
    pub found_links: u64,
    /// Lengths of the files that were found, bytes.
    pub found_bytes: u64,
}

/// Where a target's bytes lie, of the span that is touched. Sources: `FIEMAP`, `SEEK_HOLE`, `stat`; of a target of many
/// files, of those looked at.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Layout {
    /// The target's name.
    pub target: String,
    /// Files looked at.
    pub files: u64,
    /// Bytes of them.
    pub file_bytes: u64,
    /// Bytes with data of their own.
    pub data_bytes: u64,
    /// Bytes that are allocated and were never written.
    pub unwritten_bytes: u64,
    /// Bytes without anything.
    pub hole_bytes: u64,
    /// Bytes that lie there compressed or otherwise encoded.
    pub encoded_bytes: u64,
    /// Bytes shared with other files.
    pub shared_bytes: u64,
    /// Bytes the files take on their file system (`st_blocks`).
    pub allocated_bytes: u64,
    /// Extents.
    pub extents: u64,
    /// From the first byte on the device to the last one, where that is reported.
    #[reflect(default)]
    pub reach_bytes: Option<u64>,
}

/// Names and inodes in memory. Sources: `/proc/sys/fs/dentry-state`, `inode-nr`, `/proc/vmstat`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub struct NameCache {
    /// Names before and after.
    pub dentries: (u64, u64),
    /// Inodes before and after.
    pub inodes: (u64, u64),
    /// Whether the caches had been emptied since the objects were made.
    pub dropped: bool,
}

/// How the clocks behaved during a phase.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct ClockFacts {
    /// Which one times operations.
    pub clock: String,
    /// What one reading costs, ns.
    pub cost_ns: f64,
    /// The least difference that it shows, ns.
    pub resolution_ns: f64,
    /// How much more the wall clock went on than the steady one: it was set, or slewed, ns.
    pub stepped_ns: i64,
    /// How far the timing clock and the kernel's steady one came apart, parts per million.
    pub drift_ppm: f64,
    /// The interval all this covers, ns.
    pub interval_ns: u64,
}

/// One interval as the witnesses saw it.
#[derive(Clone, Debug, Default, PartialEq, Reflect)]
pub struct Sample {
    /// Its end, ns after the start line.
    pub at_ns: u64,
    /// Its length, ns; 0: everything since the machine was started.
    pub interval_ns: u64,
    /// Wall-clock time of its end, ns since 1970.
    #[reflect(default)]
    pub at_unix_ns: u64,
    /// What the devices did.
    #[reflect(omit_empty)]
    pub devices: Vec<DeviceActivity>,
    /// What the interfaces moved.
    #[reflect(omit_empty)]
    pub interfaces: Vec<InterfaceActivity>,
    /// The processors' time.
    #[reflect(omit_empty)]
    pub cpu: Option<CpuShares>,
    /// The machine's memory.
    #[reflect(omit_empty)]
    pub memory: Option<MemoryLevels>,
    /// For how long work waited.
    #[reflect(omit_empty)]
    pub pressure: Option<Pressure>,
    /// How workers' TCP connections fared by its end; counters since the phase began.
    #[reflect(omit_empty)]
    pub connections: Vec<ConnectionActivity>,
}

/// Shares of the time of all processors, in percent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Reflect)]
pub struct CpuShares {
    /// In user space, at normal priority.
    pub user_percent: f64,
    /// In user space, at a lower one.
    pub nice_percent: f64,
    /// In the kernel, interrupts included.
    pub system_percent: f64,
    /// Idle while I/O was under way.
    pub iowait_percent: f64,
    /// Taken by the hypervisor.
    pub steal_percent: f64,
    /// Idle.
    pub idle_percent: f64,
    /// Tasks that wanted to run at the end.
    #[reflect(default)]
    pub runnable: u64,
}

/// The machine's memory at one moment, bytes. Source: `/proc/meminfo`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Reflect)]
pub struct MemoryLevels {
    /// What can be had without swapping.
    pub available_bytes: u64,
    /// The page cache.
    pub cached_bytes: u64,
    /// Waiting to be written.
    pub dirty_bytes: u64,
    /// Being written.
    pub writeback_bytes: u64,
}
